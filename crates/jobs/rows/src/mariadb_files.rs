//! What the catalog of MariaDB says about the records in a table's files; of MySQL the files say it themselves.

use innodb::read::mariadb::{Defined, Key, KeyKind};
use innodb::read::types::{Server, Type};
use innodb::read::{Column, Values};
use server::catalog::{self, Table};

/// A column as records have it.
pub fn column(c: &catalog::Column) -> Defined {
    let values = if c.generated && !c.stored && !c.versioning {
        Values::Virtual
    } else {
        match Type::of(&c.column_type, c.charset.as_deref(), None, Server::MariaDb) {
            Ok(of) => Values::Stored(of),
            Err(why) => Values::Unread(why.to_string()),
        }
    };
    Defined {
        column: Column {
            name: c.name.clone(),
            values,
            hidden: false,
        },
        nullable: c.nullable,
        charset: c.charset.clone(),
    }
}

/// The first full-text key, if there is one: it makes a column of its own.
pub fn full_text(table: &Table) -> Option<Key> {
    let is = |k: &&catalog::Key| k.index_type.eq_ignore_ascii_case("FULLTEXT");
    table.keys.iter().find(is).map(|k| Key {
        name: k.name.clone(),
        kind: KeyKind::FullText,
        parts: Vec::new(),
    })
}
