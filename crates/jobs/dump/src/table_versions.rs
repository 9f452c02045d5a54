//! Verifies that tables did not change during the dump, for servers whose definitions cannot be locked.
//!
//! If a table is rebuilt while a snapshot is open, newer servers refuse to read it (error 1412), older
//! ones show it empty, and a table that was swapped by RENAME is read in place of the other on all of
//! them. So what identifies a table is read before the snapshot and compared after the last row.

use base::{Error, Kind, Result};
use run::failure;
use server::catalog::Table;
use server::ddl::{self, Object};
use server::{Catalog, quote};
use wire::Conn;

/// What identifies a table.
#[derive(Clone, Debug)]
pub struct TableVersion {
    /// The time of its creation. A MariaDB does not always say: seen of tables with keys of virtual columns that were just filled.
    created: Option<Vec<u8>>,
    /// Its definition without the counter that moves with every row; none if there is no such table.
    definition: Option<String>,
}

impl TableVersion {
    /// Whether it is that of another table, or of one that is something else now.
    fn differs(&self, from: &TableVersion) -> bool {
        let known = self.created.is_some() && from.created.is_some();
        self.definition != from.definition || known && self.created != from.created
    }
}

/// What identifies each table of the catalog, in order.
pub fn read_versions(conn: &mut Conn, catalog: &Catalog) -> Result<Vec<TableVersion>> {
    let mut marks = Vec::new();
    for table in catalog.tables() {
        marks.push(read_version(conn, table)?);
    }
    Ok(marks)
}

fn read_version(conn: &mut Conn, table: &Table) -> Result<TableVersion> {
    let sql = format!(
        "SELECT create_time FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
        quote::text(&table.schema),
        quote::text(&table.name)
    );
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot check whether tables have changed", e))?;
    let created = rows
        .into_iter()
        .next()
        .and_then(|r| r.into_iter().next().flatten());
    let definition = match ddl::read(conn, Object::Table, &table.schema, &table.name) {
        Ok(d) => Some(without_auto_increment(&d.sql)),
        Err(server::Error::Gone { .. }) => None,
        // It cannot be opened, and is left out of the dump.
        Err(e) if e.code().is_some() && !e.is_privilege() => None,
        Err(e) => {
            return Err(failure::server(
                "cannot check whether tables have changed",
                e,
            ));
        }
    };
    Ok(TableVersion {
        created,
        definition,
    })
}

/// The definition without ` AUTO_INCREMENT=n`.
fn without_auto_increment(definition: &str) -> String {
    const WORD: &str = " AUTO_INCREMENT=";
    match definition.rfind(WORD) {
        Some(at) => {
            let tail =
                definition[at + WORD.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{}{tail}", &definition[..at])
        }
        None => definition.to_owned(),
    }
}

/// Fails if any table is not what it was.
pub fn compare(catalog: &Catalog, before: &[TableVersion], after: &[TableVersion]) -> Result<()> {
    let changed: Vec<String> = catalog
        .tables()
        .zip(before.iter().zip(after))
        .filter(|(_, (a, b))| b.differs(a))
        .map(|(t, _)| t.qualified())
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        Kind::Failed,
        base::units::printable(&format!(
            "altered, replaced or dropped while the dump ran, so its rows are not of one point in time: {}",
            changed.join(", ")
        )),
    )
    .hint("run the dump again while no table is being changed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_creation_time_is_not_a_difference() {
        let mark = |created: Option<&str>, definition: Option<&str>| TableVersion {
            created: created.map(|c| c.as_bytes().to_vec()),
            definition: definition.map(str::to_owned),
        };
        let (now, t) = (Some("2026-11-23 06:53:35"), Some("CREATE TABLE t"));
        assert!(!mark(now, t).differs(&mark(now, t)));
        assert!(!mark(None, t).differs(&mark(now, t)));
        assert!(!mark(now, t).differs(&mark(None, t)));
        assert!(mark(Some("2026-11-23 06:53:36"), t).differs(&mark(now, t)));
        assert!(mark(None, Some("CREATE TABLE t (a INT)")).differs(&mark(now, t)));
        assert!(mark(None, None).differs(&mark(now, t)));
    }

    #[test]
    fn the_auto_increment_counter_is_left_out() {
        let a = without_auto_increment(
            "CREATE TABLE `t` (`a` int) ENGINE=InnoDB AUTO_INCREMENT=12 DEFAULT CHARSET=latin1",
        );
        assert_eq!(
            a,
            "CREATE TABLE `t` (`a` int) ENGINE=InnoDB DEFAULT CHARSET=latin1"
        );
    }
}
