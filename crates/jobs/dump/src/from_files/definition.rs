//! How the rows of a table of MariaDB lie, from the server's catalog.

use innodb::read::mariadb::{self, Definition, KeyKind};
use rows::mariadb_files;
use server::catalog::{Key, Table};

/// The definition; the error says why it does not tell.
pub fn of_mariadb(table: &Table) -> Result<Definition, String> {
    if table.columns.iter().any(|c| c.versioning) {
        return Err("system versioning".to_owned());
    }
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
    keys.extend(mariadb_files::full_text(table));
    Ok(Definition {
        name: table.qualified(),
        columns: table.columns.iter().map(mariadb_files::column).collect(),
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
