//! Verifies that tables did not change during the dump, for servers whose definitions cannot be locked.
//!
//! If a table is rebuilt while a snapshot is open, newer servers refuse to read it (error 1412), older
//! ones show it empty, and a table that was swapped by RENAME is read in place of the other on all of
//! them. So what identifies a table is read before the snapshot and compared after the last row. Columns are read in
//! between, so that they are those of the definition that is compared.
//!
//! Tables of one definition that were created in the same second are told apart by InnoDB's numbers of them. Where the account
//! does not see those, the server's counts of statements say whether any table may have been exchanged.

use crate::unchanged;
use base::Result;
use run::failure;
use server::catalog::{Schema, Table};
use server::ddl::{self, Object};
use server::{Catalog, Identity, quote};
use std::collections::{BTreeMap, HashMap, HashSet};
use wire::Conn;

/// What identifies a table.
#[derive(Clone, Debug)]
struct TableVersion {
    /// The time of its creation. A MariaDB does not always say: seen of tables with keys of virtual columns that were just filled.
    created: Option<Vec<u8>>,
    /// Its definition without the counter that moves with every row; none if there is no such table.
    definition: Option<String>,
    /// InnoDB's numbers of it and its partitions; none where it is of another engine, or the account does not see them.
    numbers: Option<String>,
}

impl TableVersion {
    /// Whether it is that of another table, or of one that is something else now.
    fn differs(&self, from: &TableVersion) -> bool {
        let known = self.created.is_some() && from.created.is_some();
        let numbered = self.numbers.is_some() && from.numbers.is_some();
        self.definition != from.definition
            || known && self.created != from.created
            || numbered && self.numbers != from.numbers
    }
}

/// What there is before and behind a snapshot.
pub struct Known {
    /// It.
    pub catalog: Catalog,
    /// What else there is or was, in words.
    pub said: Vec<String>,
    /// The tables among what was, quoted and qualified.
    pub gone: Vec<String>,
}

/// What there is before a snapshot, where nothing keeps definitions still.
pub struct Before {
    catalog: Catalog,
    /// What identifies each table, in order.
    versions: Vec<TableVersion>,
    /// How many statements the server has run that may give a table another name.
    renames: Option<u64>,
}

impl Before {
    /// Looks at the tables of a catalog.
    pub fn look(conn: &mut Conn, id: &Identity, catalog: Catalog) -> Result<Before> {
        let renames = renames(conn)?;
        let numbers = unchanged::identities([&mut *conn], id)?.unwrap_or_default();
        let versions = read_versions(conn, &catalog, &numbers)?;
        Ok(Before {
            catalog,
            versions,
            renames,
        })
    }

    /// The part of a catalog, which was read behind the snapshot, that was there before it. What else is there now may be
    /// older or younger than the snapshot, and what is gone as well: it is named.
    pub fn known(&self, mut fresh: Catalog) -> Known {
        let gone = self.catalog.tables();
        let gone = gone.filter(|t| fresh.table(&t.schema, &t.name).is_none());
        let gone: Vec<String> = gone.map(Table::qualified).collect();
        let mut said: Vec<String> = gone
            .iter()
            .map(|table| {
                base::units::printable(&format!(
                    "table {table} was dropped or renamed while the snapshot was taken: it is not in the archive; dump it again if it is needed"
                ))
            })
            .collect();
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
        Known {
            catalog: fresh,
            said,
            gone,
        }
    }

    /// The tables that are not what they were; and, in words, what cannot be known.
    pub fn changed(
        &self,
        conn: &mut Conn,
        readers: &mut [Conn],
        id: &Identity,
    ) -> Result<(Vec<String>, Vec<String>)> {
        let sessions = std::iter::once(&mut *conn).chain(readers.iter_mut());
        let numbers = unchanged::identities(sessions, id)?;
        let none = unchanged::Identities::new();
        let after = read_versions(conn, &self.catalog, numbers.as_ref().unwrap_or(&none))?;
        let changed = differing(&self.catalog, &self.versions, &after);
        let again = renames(conn)?;
        let unknown = match again.is_some() && again == self.renames {
            true => Vec::new(),
            false => self.perhaps_exchanged(numbers.is_some()),
        };
        Ok((changed, unknown))
    }

    /// Tables of which nothing says whether one was exchanged with another, in words.
    fn perhaps_exchanged(&self, numbered: bool) -> Vec<String> {
        let mut alike: BTreeMap<(&[u8], String), Vec<String>> = BTreeMap::new();
        for (table, version) in self.catalog.tables().zip(&self.versions) {
            let Some(definition) = &version.definition else {
                continue;
            };
            let of_innodb = table.engine.eq_ignore_ascii_case("InnoDB");
            if of_innodb && !(numbered && version.numbers.is_some()) {
                let created = version.created.as_deref().unwrap_or_default();
                let mut body = definition.replacen(&quote::ident(&table.name), "", 1);
                // Names that the server has made of the table's.
                for generated in ["_ibfk_", "_chk_"] {
                    body = body.replace(&format!("`{}{generated}", table.name), generated);
                }
                alike
                    .entry((created, body))
                    .or_default()
                    .push(table.qualified());
            }
        }
        let several = alike.into_values().filter(|tables| tables.len() > 1);
        let said = several.map(|tables| {
            base::units::printable(&format!(
                "tables {}: they have one definition and were created in the same second, and the server altered or renamed tables while the dump ran: whether these were exchanged is not known (the privilege PROCESS would show it)",
                tables.join(", ")
            ))
        });
        said.collect()
    }
}

/// What identifies each table of the catalog, in order.
fn read_versions(
    conn: &mut Conn,
    catalog: &Catalog,
    numbers: &unchanged::Identities,
) -> Result<Vec<TableVersion>> {
    let mut marks = Vec::new();
    for schema in &catalog.schemas {
        let created = read_created(conn, schema)?;
        for table in &schema.tables {
            marks.push(TableVersion {
                created: created.get(table.name.as_bytes()).cloned(),
                definition: read_definition(conn, table)?,
                numbers: numbers
                    .get(&(table.schema.clone(), table.name.clone()))
                    .cloned(),
            });
        }
    }
    Ok(marks)
}

/// So many tables of a schema are asked for by their names: the rest of it may be large.
const FEW: usize = 20;

/// When the tables of a schema were created.
fn read_created(conn: &mut Conn, schema: &Schema) -> Result<HashMap<Vec<u8>, Vec<u8>>> {
    let names: Vec<String> = schema.tables.iter().map(|t| quote::text(&t.name)).collect();
    let these = match names.len() {
        0 => return Ok(HashMap::new()),
        n if n <= FEW => format!(" AND table_name IN ({})", names.join(", ")),
        _ => String::new(),
    };
    let sql = format!(
        "SELECT table_name, create_time FROM information_schema.tables WHERE table_schema = {}{these}",
        quote::text(&schema.name)
    );
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot check whether tables have changed", e))?;
    let pair = |row: Vec<Option<Vec<u8>>>| {
        let mut cells = row.into_iter();
        Some((cells.next()??, cells.next()??))
    };
    Ok(rows.into_iter().filter_map(pair).collect())
}

/// How many statements have run that may exchange tables; every account sees that.
fn renames(conn: &mut Conn) -> Result<Option<u64>> {
    let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_rename_table', 'Com_alter_table')";
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot check whether tables have changed", e))?;
    let counts: Vec<u64> = rows
        .iter()
        .filter_map(|r| String::from_utf8_lossy(r.get(1)?.as_deref()?).parse().ok())
        .collect();
    Ok((counts.len() == 2).then(|| counts.iter().sum()))
}

/// The definition of a table without its counter; none if there is no such table, or it cannot be opened and is left out of the
/// dump.
fn read_definition(conn: &mut Conn, table: &Table) -> Result<Option<String>> {
    match ddl::read(conn, Object::Table, &table.schema, &table.name) {
        Ok(d) => Ok(Some(without_auto_increment(&d.sql))),
        Err(server::Error::Gone { .. }) => Ok(None),
        // Locked out or stopped, it says nothing about the table.
        Err(e)
            if !matches!(
                e.code(),
                None | Some(1053 | 1205 | 1213 | 1317 | 1969 | 3024)
            ) && !e.is_privilege() =>
        {
            Ok(None)
        }
        Err(e) => Err(failure::server(
            "cannot check whether tables have changed",
            e,
        )),
    }
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

/// The tables that are not what they were, quoted and qualified.
fn differing(catalog: &Catalog, before: &[TableVersion], after: &[TableVersion]) -> Vec<String> {
    catalog
        .tables()
        .zip(before.iter().zip(after))
        .filter(|(_, (a, b))| b.differs(a))
        .map(|(t, _)| t.qualified())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_creation_time_is_not_a_difference() {
        let mark = |created: Option<&str>, definition: Option<&str>| TableVersion {
            created: created.map(|c| c.as_bytes().to_vec()),
            definition: definition.map(str::to_owned),
            numbers: None,
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
