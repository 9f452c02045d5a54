//! What InnoDB's dictionary says of tablespaces: which table or partition each holds, in which file, and where the
//! indexes have their roots.

use base::Result;
use innodb::names::of_file_name;
use run::failure;
use server::Identity;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use wire::Conn;

/// A table, or a partition of one, with its file.
#[derive(Clone, Debug)]
pub struct Part {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub table: String,
    /// Partition, or subpartition.
    pub partition: Option<String>,
    /// The number of the tablespace.
    pub space: u32,
    /// Its file.
    pub path: PathBuf,
    /// The indexes: name, page of the root, whether it holds the rows.
    pub roots: Vec<Root>,
}

/// Where an index begins.
#[derive(Clone, Debug)]
pub struct Root {
    /// Its name.
    pub index: String,
    /// Its root page.
    pub page: u32,
    /// Whether it holds the rows.
    pub clustered: bool,
}

/// Bit of an index's type that it holds the rows (`DICT_CLUSTERED`, dict0mem.h).
const CLUSTERED: u32 = 1;

/// Reads it; needs the PROCESS privilege.
pub fn read(conn: &mut Conn, id: &Identity, datadir: &Path) -> Result<Vec<Part>> {
    let view = |name: &str| match id.is_mariadb() {
        true => format!("information_schema.INNODB_SYS_{name}"),
        false => format!("information_schema.INNODB_{name}"),
    };
    let mut ask = |sql: String| {
        conn.fetch(sql)
            .map_err(|e| failure::wire("cannot read InnoDB's dictionary", e))
    };
    let tables = ask(format!(
        "SELECT TABLE_ID, SPACE, NAME FROM {}",
        view("TABLES")
    ))?;
    let indexes = ask(format!(
        "SELECT TABLE_ID, PAGE_NO, TYPE, NAME FROM {}",
        view("INDEXES")
    ))?;
    let files = match (id.is_mariadb(), id.mariadb_at_least(10, 6, 0)) {
        (true, true) => format!("SELECT SPACE, FILENAME FROM {}", view("TABLESPACES")),
        _ => format!("SELECT SPACE, PATH FROM {}", view("DATAFILES")),
    };
    let files: HashMap<u32, String> = (ask(files)?.iter())
        .filter_map(|row| Some((number(row, 0)? as u32, text(row, 1)?)))
        .collect();
    let mut roots: HashMap<u64, Vec<Root>> = HashMap::new();
    for row in &indexes {
        if let (Some(table), Some(page), Some(kind), Some(index)) =
            (number(row, 0), number(row, 1), number(row, 2), text(row, 3))
        {
            roots.entry(table).or_default().push(Root {
                index,
                page: page as u32,
                clustered: kind as u32 & CLUSTERED != 0,
            });
        }
    }
    let parts = tables.iter().filter_map(|row| {
        let (table, space, name) = (number(row, 0)?, number(row, 1)? as u32, text(row, 2)?);
        let (schema, table_name, partition) = names(&name)?;
        let path = match files.get(&space) {
            Some(path) => datadir.join(path),
            None => datadir.join(format!("{name}.ibd")),
        };
        Some(Part {
            schema,
            table: table_name,
            partition,
            space,
            path,
            roots: roots.remove(&table).unwrap_or_default(),
        })
    });
    Ok(parts.collect())
}

/// The names in `schema/table#p#partition#sp#subpartition`, which is written as file names are.
pub fn names(name: &str) -> Option<(String, String, Option<String>)> {
    let (schema, rest) = name.split_once('/')?;
    let mark = rest
        .as_bytes()
        .windows(3)
        .position(|w| w.eq_ignore_ascii_case(b"#p#"));
    let (table, partition) = match mark {
        Some(at) => (&rest[..at], rest.rsplit('#').next()),
        None => (rest, None),
    };
    Some((
        of_file_name(schema),
        of_file_name(table),
        partition.map(of_file_name),
    ))
}

fn number(row: &[Option<Vec<u8>>], at: usize) -> Option<u64> {
    text(row, at)?.parse().ok()
}

fn text(row: &[Option<Vec<u8>>], at: usize) -> Option<String> {
    let cell = row.get(at)?.as_deref()?;
    Some(String::from_utf8_lossy(cell).into_owned())
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_of_tables_and_partitions_are_read() {
        let of = |name| names(name).expect("a name");
        let plain = |s: &str, t: &str, p: Option<&str>| (s.into(), t.into(), p.map(Into::into));
        assert_eq!(of("w/t"), plain("w", "t", None));
        assert_eq!(of("a@002db/tab@0060le"), plain("a-b", "tab`le", None));
        assert_eq!(of("w/t#p#p0"), plain("w", "t", Some("p0")));
        assert_eq!(of("w/t#P#p0#SP#p0s1"), plain("w", "t", Some("p0s1")));
        assert_eq!(names("SYS_FOREIGN"), None);
    }
}
