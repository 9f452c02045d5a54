//! Partitions: each comes as the file of a table of its own, which then changes
//! places with the empty partition. The server looks at every row of it before
//! it does, so that none gets where it does not belong.

use super::datadir::{Datadir, TablePaths};
use super::import::{self, Outcome};
use super::template::{self, ImportTarget};
use super::{LoadPlan, MethodPlan};
use crate::Target;
use crate::journal::Journal;
use archive::FileRecord;
use archive::open::Table;
use base::{Result, failpoint};
use run::failure;
use server::{ddl, quote};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use wire::Conn;

/// A partition that is on its way.
pub struct PartitionImport {
    /// The whole table, quoted, qualified.
    pub whole: String,
    /// Its name in the archive.
    pub partition: String,
    /// With those of the same table.
    shared: Arc<Mutex<Shared>>,
}

/// What has become of the partitions of a table.
struct Shared {
    /// How many are on their way.
    left: usize,
    /// Of the files that the server has taken.
    bytes: u64,
    /// What the first that failed came to.
    failed: Option<Outcome>,
}

impl PartitionImport {
    fn shared(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another one has failed, so that this one is not needed.
    pub fn is_in_vain(&self) -> bool {
        self.shared().failed.is_some()
    }

    /// This one is there, with a file of so many bytes, or has failed. `Some` from the last one: what all came to.
    pub fn ended(
        &self,
        outcome: std::result::Result<u64, Option<Outcome>>,
    ) -> Option<std::result::Result<u64, Outcome>> {
        let mut shared = self.shared();
        shared.left -= 1;
        match outcome {
            Ok(bytes) => shared.bytes += bytes,
            Err(Some(outcome)) if shared.failed.is_none() => shared.failed = Some(outcome),
            Err(_) => {}
        }
        (shared.left == 0).then(|| match shared.failed.take() {
            Some(outcome) => Err(outcome),
            None => Ok(shared.bytes),
        })
    }
}

/// The partitions that an archive has rows of.
fn partitions(table: &Table) -> BTreeSet<&str> {
    let with_rows = table.chunks.iter().filter(|c| c.rows != Some(0));
    with_rows.filter_map(|c| c.partition.as_deref()).collect()
}

/// Whether an archive has the rows of a table partition by partition.
pub fn has(table: &Table) -> bool {
    table.chunks.iter().any(|c| c.partition.is_some())
}

/// How many of them have rows.
pub fn count(table: &Table) -> u64 {
    partitions(table).len() as u64
}

/// The name of the table that takes a partition's rows first.
fn aside(table: &Table, partition: &str) -> String {
    let name = format!(
        "{}.{}",
        quote::qualified(&table.schema, &table.name),
        quote::ident(partition)
    );
    let digest = FileRecord::of(name.as_bytes()).blake3;
    format!("penstock_part_{}", &digest[..24])
}

/// Where the server has a table that took the rows of a partition, by its quoted, qualified name.
pub fn place_of(
    plan: &LoadPlan,
    site: &Datadir,
    lower_case: bool,
    name: &str,
) -> Option<TablePaths> {
    plan.tables().find_map(|table| {
        let mut asides = partitions(table).into_iter().map(|p| aside(table, p));
        let aside = asides.find(|a| quote::qualified(&table.schema, a) == *name)?;
        site.place(lower_case, &table.schema, &aside)
    })
}

/// As [`ready::ready`], for one table: all of its partitions that have rows.
pub fn ready<'p>(
    t: &mut Target<'_>,
    roads: &MethodPlan,
    journal: &Journal,
    table: &'p Table,
) -> Result<std::result::Result<Vec<ImportTarget<'p>>, Outcome>> {
    let whole = quote::qualified(&table.schema, &table.name);
    let Some(site) = roads.site() else {
        return Ok(Err(Outcome::Unfit(
            "the server's files are not known".into(),
        )));
    };
    // From the first partition to the last one it is neither empty nor whole.
    let path = |name: &str| site.building(name).display().to_string();
    journal.begin_file(&mut t.conn, &whole, &path(&whole))?;
    // As one statement: a server that is killed between LIKE and REMOVE PARTITIONING can keep files of neither.
    let create = ddl::read(&mut t.conn, ddl::Object::Table, &table.schema, &table.name)
        .map_err(|e| failure::server("cannot read a definition", e))?
        .sql;
    let names = partitions(table);
    let shared = Arc::new(Mutex::new(Shared {
        left: names.len(),
        bytes: 0,
        failed: None,
    }));
    let mut all: Vec<ImportTarget<'p>> = Vec::new();
    for partition in names {
        t.run.check()?;
        let aside = aside(table, partition);
        let name = quote::qualified(&table.schema, &aside);
        let Some(create) = ddl::without_partitions(&create, &name) else {
            return Ok(Err(Outcome::Unfit(
                "they have partitions in the archive, and none on the server".into(),
            )));
        };
        journal.begin_file(&mut t.conn, &name, &path(&name))?;
        let refused = match t.conn.execute(create) {
            Ok(_) => None,
            Err(wire::Error::Server(e)) => Some(Outcome::Unfit(format!(
                "the server does not make a table like one of their partitions: {e}"
            ))),
            Err(e) => return Err(failure::wire(format_args!("cannot create {name}"), e)),
        };
        failpoint::reached("a partition has a table aside");
        let part = PartitionImport {
            whole: whole.clone(),
            partition: partition.to_owned(),
            shared: shared.clone(),
        };
        let made = match refused {
            Some(outcome) => Err(outcome),
            None => template::one_ready(t, roads, journal, table, Some((part, &aside)))?,
        };
        match made {
            Ok(ready) => all.push(ready),
            Err(outcome) => {
                let place = site.place(roads.lower_case(), &table.schema, &aside);
                import::drop_table(t, &name, place)?;
                journal.forget_file(&mut t.conn, &name)?;
                for ready in &all {
                    remove(&mut t.conn, journal, ready)?;
                }
                return Ok(Err(outcome));
            }
        }
    }
    Ok(Ok(all))
}

/// Has the table that took the rows change places with the partition. `Some` says why the server does not.
pub fn exchange(conn: &mut Conn, part: &PartitionImport, name: &str) -> Result<Option<String>> {
    let sql = format!(
        "ALTER TABLE {} EXCHANGE PARTITION {} WITH TABLE {name}",
        part.whole,
        quote::ident(&part.partition)
    );
    let outcome = match conn.execute(sql) {
        Ok(_) => None,
        Err(wire::Error::Server(e)) => Some(format!(
            "its partition {} was not taken: {e}",
            quote::ident(&part.partition)
        )),
        Err(e) => return Err(import::lost(&part.whole, e)),
    };
    failpoint::reached("a partition is exchanged");
    Ok(outcome)
}

/// Drops the table aside, with what it has by now: nothing, or rows that are not wanted.
pub fn remove(conn: &mut Conn, journal: &Journal, ready: &ImportTarget<'_>) -> Result<()> {
    import::dropped(conn, ready)?;
    journal.forget_file(conn, &ready.name)
}
