//! How the records of a table's indexes lie: of MySQL from its file, of MariaDB from the catalog and the dictionary.

use crate::dictionary::{Part, Root};
use base::units::printable;
use innodb::read::mariadb::{self, Definition, KeyKind};
use innodb::read::sdi::Sdi;
use innodb::read::{Error, Table, Tablespace};
use rows::mariadb_files;
use server::catalog;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// How often a file is opened that its server is writing to.
const OPENS: usize = 4;
const BETWEEN: Duration = Duration::from_millis(10);

/// Runs `of` on the tablespace of a file; the error names it.
pub fn with_space<T>(
    path: &Path,
    mut of: impl FnMut(&Tablespace<'_>) -> Result<T, Error>,
) -> Result<T, String> {
    let shown = || printable(&path.display().to_string());
    let file = File::open(path).map_err(|e| format!("{}: {e}", shown()))?;
    let mut opens = 0;
    loop {
        let outcome = Tablespace::open(&file).and_then(|space| of(&space));
        opens += 1;
        match outcome {
            Err(Error::Damaged { .. }) if opens < OPENS => std::thread::sleep(BETWEEN),
            outcome => return outcome.map_err(|e| format!("{}: {e}", shown())),
        }
    }
}

/// MySQL's description of a table, which is in one of its files.
pub fn dictionary_information(parts: &[Part]) -> Result<Sdi, String> {
    for part in parts {
        let sdi = with_space(&part.path, Sdi::read)?;
        if !sdi.json().is_empty() {
            return Ok(sdi);
        }
    }
    Err("its files do not describe it; those of a new table do once the server has written its pages".to_owned())
}

/// The table as a tablespace has it.
pub fn of_mysql(sdi: &Sdi, name: &str, space: u32) -> Result<Table, String> {
    // A general tablespace describes several tables.
    let tables = (0..sdi.json().len()).filter_map(|n| sdi.nth(n, space));
    let mut why = "its file does not describe it".to_owned();
    for table in tables {
        match table {
            Ok(table) if table.name.eq_ignore_ascii_case(name) => return Ok(table),
            Ok(_) => {}
            Err(e) => why = e.to_string(),
        }
    }
    Err(why)
}

/// The table as a file of MariaDB has it.
pub fn of_mariadb(
    space: &Tablespace<'_>,
    table: &catalog::Table,
    roots: &[Root],
) -> Result<Table, Error> {
    let definition = Definition {
        name: table.qualified(),
        columns: table.columns.iter().map(mariadb_files::column).collect(),
        keys: Vec::new(),
    };
    // The dictionary says which key the rows lie in the order of; without one they have numbers of their own.
    let rows = roots.iter().find(|r| r.clustered);
    let of_rows = rows.and_then(|r| table.keys.iter().find(|k| k.name == r.index));
    let mut keys: Vec<mariadb::Key> = mariadb_files::full_text(table).into_iter().collect();
    if let Some(key) = of_rows {
        keys.push(mariadb_key(table, key, KeyKind::Primary)?);
    }
    let mut read = mariadb::table(space, &Definition { keys, ..definition })?;
    if let Some(rows) = rows {
        read.clustered.name.clone_from(&rows.index);
    }
    read.unread.clear();
    for root in roots.iter().filter(|r| !r.clustered) {
        let Some(key) = table.keys.iter().find(|k| k.name == root.index) else {
            read.unread
                .push((root.index.clone(), "not known".to_owned()));
            continue;
        };
        if !key.index_type.eq_ignore_ascii_case("BTREE") {
            let why = format!("an index of type {}", key.index_type);
            read.unread.push((root.index.clone(), why));
            continue;
        }
        let index = mariadb_key(table, key, KeyKind::Plain)
            .and_then(|key| mariadb::secondary(&read, &key, root.page));
        match index {
            Ok(index) => read.secondary.push(index),
            Err(_) => read
                .unread
                .push((root.index.clone(), "an index on virtual columns".to_owned())),
        }
    }
    Ok(read)
}

fn mariadb_key(
    table: &catalog::Table,
    key: &catalog::Key,
    kind: KeyKind,
) -> Result<mariadb::Key, Error> {
    let part = |p: &catalog::KeyPart| {
        let name = p.column.as_deref().unwrap_or_default();
        let place = table.columns.iter().position(|c| c.name == name)?;
        let column = &table.columns[place];
        // The catalog counts characters, the index bytes.
        let most = match (p.prefix, &column.charset) {
            (None, _) => 0,
            (Some(n), None) => n,
            (Some(n), Some(set)) => n * u32::from(innodb::read::bytes_of_character(set)?),
        };
        Some((place, most))
    };
    let parts: Option<_> = key.parts.iter().map(part).collect();
    Ok(mariadb::Key {
        name: key.name.clone(),
        kind,
        parts: parts.ok_or_else(|| {
            Error::Unsupported(format!("index {}, on what is no column,", key.name))
        })?,
    })
}
