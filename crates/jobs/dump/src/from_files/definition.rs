//! How the rows of a table of MariaDB lie, from the server's catalog.

use innodb::read::mariadb::{self, Defined, Definition, KeyKind};
use innodb::read::types::{Server, Type};
use innodb::read::{Column, Values};
use server::catalog::{Key, Table};

/// The definition; the error says why it does not tell.
pub fn of_mariadb(table: &Table) -> Result<Definition, String> {
    if table.columns.iter().any(|c| c.versioning) {
        return Err("system versioning".to_owned());
    }
    let columns = table.columns.iter().map(|c| {
        let values = if c.generated && !c.stored {
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
    });
    let mut keys = Vec::new();
    if let Some(key) = clustered(table)? {
        let place = |name: &str| table.columns.iter().position(|c| c.name == name);
        let parts = key.columns().map(|name| Some((place(name)?, 0)));
        keys.push(mariadb::Key {
            name: key.name.clone(),
            kind: match key.primary {
                true => KeyKind::Primary,
                false => KeyKind::Unique,
            },
            parts: parts
                .collect::<Option<_>>()
                .ok_or("its key has a column that it lacks")?,
        });
    }
    // It makes a column of its own.
    let full_text = |k: &&Key| k.index_type.eq_ignore_ascii_case("FULLTEXT");
    keys.extend(table.keys.iter().find(full_text).map(|k| mariadb::Key {
        name: k.name.clone(),
        kind: KeyKind::FullText,
        parts: Vec::new(),
    }));
    Ok(Definition {
        name: table.qualified(),
        columns: columns.collect(),
        keys,
    })
}

/// The key that rows lie in the order of: the primary key, or the first unique key without NULL and prefixes. The catalog
/// does not say which of several is the first.
fn clustered(table: &Table) -> Result<Option<&Key>, String> {
    let whole = |k: &&Key| {
        k.parts
            .iter()
            .all(|p| p.column.is_some() && p.prefix.is_none())
    };
    if let Some(primary) = table.keys.iter().find(|k| k.primary) {
        return match whole(&primary) {
            true => Ok(Some(primary)),
            false => Err("its primary key has parts of columns".to_owned()),
        };
    }
    let fits = |k: &&Key| {
        k.unique && !k.nullable() && k.index_type.eq_ignore_ascii_case("BTREE") && whole(k)
    };
    let mut keys = table.keys.iter().filter(fits);
    match (keys.next(), keys.next()) {
        (_, Some(_)) => Err("it has no primary key, and several unique ones".to_owned()),
        (key, None) => Ok(key),
    }
}
