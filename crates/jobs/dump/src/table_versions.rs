//! Verifies that tables did not change during the dump, for servers whose definitions cannot be locked.
//!
//! If a table is rebuilt while a snapshot is open, newer servers refuse to read it (error 1412), older
//! ones show it empty, and a table that was swapped by RENAME is read in place of the other on all of
//! them. So what identifies a table is read before the snapshot and compared after the last row. Columns are read in
//! between, so that they are those of the definition that is compared.

use base::{Error, Kind, Result};
use run::failure;
use server::catalog::Table;
use server::ddl::{self, Object};
use server::{Catalog, quote};
use std::collections::HashSet;
use wire::Conn;

/// What identifies a table.
#[derive(Clone, Debug)]
struct TableVersion {
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

/// What there is before a snapshot, where nothing keeps definitions still.
pub struct Before {
    catalog: Catalog,
    /// What identifies each table, in order.
    versions: Vec<TableVersion>,
}

impl Before {
    /// Looks at the tables of a catalog.
    pub fn look(conn: &mut Conn, catalog: Catalog) -> Result<Before> {
        let versions = read_versions(conn, &catalog)?;
        Ok(Before { catalog, versions })
    }

    /// The part of a catalog, which was read behind the snapshot, that was there before it. What else is there now may be
    /// older or younger than the snapshot, and what is gone as well: it is named. A table that is gone ends the dump.
    pub fn known(&self, mut fresh: Catalog) -> Result<(Catalog, Vec<String>)> {
        if let Some(gone) = self
            .catalog
            .tables()
            .find(|t| fresh.table(&t.schema, &t.name).is_none())
        {
            let what = format!("table {}", gone.qualified());
            return Err(failure::server(
                "cannot read the definitions",
                server::Error::Gone { what },
            ));
        }
        let mut said = Vec::new();
        let mut created = |word: &str, name: String| {
            said.push(base::units::printable(&format!(
                "{word} {name} was created while the snapshot was taken: it is not in the archive, and may be missing in the binary log behind it"
            )));
        };
        fresh.schemas.retain_mut(|schema| {
            let Some(before) = self.catalog.schema(&schema.name) else {
                created("schema", quote::ident(&schema.name));
                return false;
            };
            let name = |n: &str| quote::qualified(&schema.name, n);
            let tables: HashSet<&str> = before.tables.iter().map(|t| t.name.as_str()).collect();
            schema.tables.retain(|t| {
                let known = tables.contains(t.name.as_str());
                if !known {
                    created("table", t.qualified());
                }
                known
            });
            let views: HashSet<&str> = before.views.iter().map(|v| v.name.as_str()).collect();
            schema.views.retain(|v| {
                let known = views.contains(v.name.as_str());
                if !known {
                    created("view", name(&v.name));
                }
                known
            });
            schema.routines.retain(|r| {
                let known = before.routines.contains(r);
                if !known {
                    created("routine", name(&r.name));
                }
                known
            });
            schema.events.retain(|e| {
                let known = before.events.contains(e);
                if !known {
                    created("event", name(e));
                }
                known
            });
            true
        });
        for schema in &self.catalog.schemas {
            let name = |n: &str| quote::qualified(&schema.name, n);
            let Some(now) = fresh.schema(&schema.name) else {
                continue;
            };
            let views = schema
                .views
                .iter()
                .filter(|v| !now.views.iter().any(|n| n.name == v.name));
            let routines = schema.routines.iter().filter(|r| !now.routines.contains(r));
            let events = schema.events.iter().filter(|e| !now.events.contains(e));
            let gone = views
                .map(|v| ("view", name(&v.name)))
                .chain(routines.map(|r| ("routine", name(&r.name))))
                .chain(events.map(|e| ("event", name(e))));
            said.extend(gone.map(|(word, name)| {
                base::units::printable(&format!(
                    "{word} {name} was dropped while the snapshot was taken: it is not in the archive"
                ))
            }));
        }
        Ok((fresh, said))
    }

    /// Fails if any table is not what it was.
    pub fn check_unchanged(&self, conn: &mut Conn) -> Result<()> {
        let after = read_versions(conn, &self.catalog)?;
        compare(&self.catalog, &self.versions, &after)
    }
}

/// What identifies each table of the catalog, in order.
fn read_versions(conn: &mut Conn, catalog: &Catalog) -> Result<Vec<TableVersion>> {
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
fn compare(catalog: &Catalog, before: &[TableVersion], after: &[TableVersion]) -> Result<()> {
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
