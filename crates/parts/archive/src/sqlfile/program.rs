//! Events, routines and triggers: statements with a body, and with the
//! settings they were made under, which are part of what they mean.

use super::quote;
use base::units::printable;
use std::fmt::Write;

/// Which kind of stored program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramKind {
    /// An event.
    Event,
    /// A function.
    Function,
    /// A procedure.
    Procedure,
    /// A trigger.
    Trigger,
    /// A package (MariaDB).
    Package,
    /// A package body (MariaDB).
    PackageBody,
}

impl ProgramKind {
    /// The word for it: "package body".
    pub fn word(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Function => "function",
            Self::Procedure => "procedure",
            Self::Trigger => "trigger",
            Self::Package => "package",
            Self::PackageBody => "package body",
        }
    }
}

/// A stored program as SHOW CREATE and information_schema describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What it is.
    pub kind: ProgramKind,
    /// Its name.
    pub name: String,
    /// The CREATE statement.
    pub create: String,
    /// `sql_mode` it was made under.
    pub sql_mode: String,
    /// `character_set_client` it was made under; empty if unknown.
    pub character_set_client: String,
    /// `collation_connection` it was made under; empty if unknown.
    pub collation_connection: String,
    /// Collation of the schema when it was made; empty if unknown.
    pub database_collation: String,
    /// `time_zone` it was made under; empty except for events.
    pub time_zone: String,
}

impl Program {
    /// Whether the object gets its own `character_set_client` back. The files
    /// are UTF-8, so one with other than ASCII text that was made under
    /// another character set is made again under utf8mb4.
    pub fn keeps_charset(&self) -> bool {
        keeps_charset(&self.create, &self.character_set_client)
    }

    pub(super) fn write(&self, schema: &str, collation: &str, out: &mut String) {
        let word = self.kind.word();
        let quoted = quote(&self.name);
        let shown = printable(&format!("{}.{quoted}", quote(schema)));
        let _ = writeln!(out, "\n-- begin {word} {shown}");
        let upper = word.to_uppercase();
        let _ = writeln!(out, "/*!50003 DROP {upper} IF EXISTS {quoted} */;");
        // The literal default collation of variables and parameters is the
        // schema's at the time; it is put back after the object.
        let other = &self.database_collation;
        let moved = !other.is_empty() && !collation.is_empty() && other != collation;
        if moved {
            alter_collation(schema, other, out);
        }
        save_charset(
            &self.create,
            &self.character_set_client,
            &self.collation_connection,
            out,
        );
        out.push_str("/*!50003 SET @saved_sql_mode       = @@sql_mode */;\n");
        let mode = literal(&self.sql_mode);
        let _ = writeln!(out, "/*!50003 SET sql_mode              = {mode} */;");
        if !self.time_zone.is_empty() {
            let zone = literal(&self.time_zone);
            out.push_str("/*!50106 SET @saved_time_zone      = @@time_zone */;\n");
            let _ = writeln!(out, "/*!50106 SET time_zone             = {zone} */;");
        }
        let delimiter = delimiter_for(&self.create);
        // A body may end in a line comment, which would hide a delimiter in its line, and the last
        // semicolon may be part of it.
        let create = self.create.trim_end();
        let _ = writeln!(
            out,
            "DELIMITER {delimiter}\n{create}\n{delimiter}\nDELIMITER ;"
        );
        if !self.time_zone.is_empty() {
            out.push_str("/*!50106 SET time_zone             = @saved_time_zone */;\n");
        }
        out.push_str("/*!50003 SET sql_mode              = @saved_sql_mode */;\n");
        restore_charset(out);
        if moved {
            alter_collation(schema, collation, out);
        }
        let _ = writeln!(out, "-- end {word} {shown}");
    }
}

fn alter_collation(schema: &str, collation: &str, out: &mut String) {
    let collation = word_only(collation);
    let _ = writeln!(out, "ALTER DATABASE {} COLLATE {collation};", quote(schema));
}

/// A delimiter that occurs nowhere in `text`.
fn delimiter_for(text: &str) -> String {
    let mut delimiter = ";;".to_owned();
    let mut n = 0;
    // A text of n bytes cannot hold n + 1 different delimiters.
    while text.contains(&delimiter) {
        delimiter = format!("//{n}//");
        n += 1;
    }
    delimiter
}

/// A string literal that means the same under every sql_mode; meant for
/// settings, none of which holds a quote or a backslash.
fn literal(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|c| c.is_ascii_graphic() && !"'\\*".contains(*c) || *c == ' ')
        .collect();
    format!("'{plain}'")
}

/// The name of a character set or collation, which is letters, digits and `_`.
fn word_only(name: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    name.chars().filter(plain).collect()
}

/// Whether an object that was made under this character set can be made again under it from a file in UTF-8.
pub fn keeps_charset(create: &str, charset: &str) -> bool {
    charset.is_empty() || charset.starts_with("utf8") || create.is_ascii()
}

/// Sets what an object was made under, keeping what the session has.
pub(super) fn save_charset(create: &str, client: &str, collation: &str, out: &mut String) {
    let kept = keeps_charset(create, client) && !client.is_empty();
    let client = if kept {
        word_only(client)
    } else {
        "utf8mb4".to_owned()
    };
    out.push_str("/*!50003 SET @saved_cs_client      = @@character_set_client */;\n");
    out.push_str("/*!50003 SET @saved_col_connection = @@collation_connection */;\n");
    let _ = writeln!(out, "/*!50003 SET character_set_client  = {client} */;");
    if !collation.is_empty() {
        let collation = word_only(collation);
        let _ = writeln!(out, "/*!50003 SET collation_connection  = {collation} */;");
    }
}

pub(super) fn restore_charset(out: &mut String) {
    out.push_str("/*!50003 SET character_set_client  = @saved_cs_client */;\n");
    out.push_str("/*!50003 SET collation_connection  = @saved_col_connection */;\n");
}
