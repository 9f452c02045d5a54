//! Definitions of objects: reading them exactly, and the few changes that are
//! ever made to them.
//!
//! A definition is the server's own `SHOW CREATE` text together with the
//! settings under which it was created, because a trigger means something else
//! under another `sql_mode`. Text is read under utf8mb4 (the session must be one
//! of [`crate::session::for_catalog`]); literals with other bytes become
//! hexadecimal ones, and what is not UTF-8 even then is an error, never a guess. Whether a definition may be run on a target is
//! not judged here.

mod adapt;
mod collate;
mod create;
mod keys;
mod literals;
mod rejects;
mod shape;
mod show;
mod versioned;

pub use adapt::{adapt, sql_mode_for};
pub use collate::collation_for;
pub use create::{
    CreateTable, add_if_not_exists, column_charsets, columns_of_type, strip_foreign_keys,
};
pub use keys::{all_keys, key_name, missing_keys, strip_keys_of_server, strip_secondary_keys};
pub use rejects::rejects;
pub use shape::{
    auto_increment, auto_increment_column, general_tablespace, has_data_directory, has_partitions,
    has_partitions_by_key, keeps_history, no_file, without_partitions, without_tablespaces,
};
pub use show::{read, read_routine, sequence_next};

use crate::{Identity, quote};

/// Sorts of object that have a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A schema.
    Database,
    /// A base table.
    Table,
    /// A view.
    View,
    /// A trigger.
    Trigger,
    /// A stored procedure.
    Procedure,
    /// A stored function.
    Function,
    /// An event.
    Event,
    /// A MariaDB sequence.
    Sequence,
    /// The declaration of a MariaDB package.
    Package,
    /// The body of a MariaDB package.
    PackageBody,
    /// A MySQL library (9.2 and later).
    Library,
}

impl Object {
    /// The words for it in SQL: `PACKAGE BODY`.
    pub fn keyword(self) -> &'static str {
        match self {
            Object::Database => "DATABASE",
            Object::Table => "TABLE",
            Object::View => "VIEW",
            Object::Trigger => "TRIGGER",
            Object::Procedure => "PROCEDURE",
            Object::Function => "FUNCTION",
            Object::Event => "EVENT",
            Object::Sequence => "SEQUENCE",
            Object::Package => "PACKAGE",
            Object::PackageBody => "PACKAGE BODY",
            Object::Library => "LIBRARY",
        }
    }
}

/// How an object is defined. The settings are `None` for objects that have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The kind of object.
    pub object: Object,
    /// Its schema; for a schema, its own name.
    pub schema: String,
    /// Its name; for a schema, empty.
    pub name: String,
    /// The statement as the server gives it, without a final semicolon.
    pub sql: String,
    /// `sql_mode` under which it was created and always runs.
    pub sql_mode: Option<String>,
    /// `character_set_client` at its creation.
    pub character_set_client: Option<String>,
    /// `collation_connection` at its creation.
    pub collation_connection: Option<String>,
    /// Collation of its schema at its creation.
    pub database_collation: Option<String>,
    /// Time zone of an event.
    pub time_zone: Option<String>,
}

impl Definition {
    /// The settings under which `sql` must be run to create the same object,
    /// as SET statements; the statement is to be sent as UTF-8.
    ///
    /// Plain ASCII means the same in every client character set, so the
    /// recorded one is used and the object comes out equal in that too. Other
    /// text is sent as utf8mb4; a recorded character set that then differs is
    /// named in the notes. Literals in the object still mean the same.
    pub fn context(&self, target: &Identity) -> (Vec<String>, Vec<String>) {
        let (mut list, mut notes) = (Vec::new(), Vec::new());
        if let Some(mode) = &self.sql_mode {
            let (mode, dropped) = sql_mode_for(target, mode);
            list.push(format!("SET SESSION sql_mode = {}", quote::text(&mode)));
            if !dropped.is_empty() {
                notes.push(format!(
                    "sql_mode of {} loses {}",
                    self.title(),
                    dropped.join(", ")
                ));
            }
        }
        if let Some(charset) = &self.character_set_client {
            let unicode = matches!(charset.as_str(), "utf8" | "utf8mb3" | "utf8mb4");
            let used = if self.sql.is_ascii() || (unicode && !has_wide(&self.sql)) {
                charset.as_str()
            } else {
                "utf8mb4"
            };
            if used != charset {
                notes.push(format!(
                    "{} was created under character set {charset}, and is created again under utf8mb4",
                    self.title()
                ));
            }
            list.push(format!("SET SESSION character_set_client = {used}"));
        }
        if let Some(collation) = &self.collation_connection {
            let collation = collation_for(target, collation);
            list.push(format!("SET SESSION collation_connection = {collation}"));
        }
        if let Some(zone) = &self.time_zone {
            list.push(format!("SET SESSION time_zone = {}", quote::text(zone)));
        }
        (list, notes)
    }

    /// The object in words: "trigger `s`.`t`".
    pub fn title(&self) -> String {
        title(self.object, &self.schema, &self.name)
    }
}

fn title(object: Object, schema: &str, name: &str) -> String {
    let word = object.keyword().to_ascii_lowercase();
    if object == Object::Database {
        format!("{word} {}", quote::ident(schema))
    } else {
        format!("{word} {}", quote::qualified(schema, name))
    }
}

/// Characters that utf8mb3 cannot hold.
fn has_wide(text: &str) -> bool {
    text.chars().any(|c| c as u32 > 0xffff)
}

/// A placeholder for a view, so that other views can be created before it: it has
/// the same column names, and no row.
pub fn view_stand_in(schema: Option<&str>, view: &crate::catalog::View) -> String {
    let name = match schema {
        Some(schema) => quote::qualified(schema, &view.name),
        None => quote::ident(&view.name),
    };
    let mut columns: Vec<String> = view
        .columns
        .iter()
        .map(|c| format!("1 AS {}", quote::ident(c)))
        .collect();
    if columns.is_empty() {
        // The server cannot resolve the view; a view must have some column.
        columns.push("1 AS `unknown`".into());
    }
    format!("CREATE VIEW {name} AS SELECT {}", columns.join(", "))
}
