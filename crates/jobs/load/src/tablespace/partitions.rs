//! Partitions: each is imported as the tablespace of a separate table, which is then exchanged with the
//! empty partition.
//!
//! The server checks every row of that table before it exchanges them, so that no row gets into the wrong
//! partition.

use super::MethodPlan;
use super::datadir::{Datadir, TablePaths};
use super::drop_table::{drop_table, drop_target};
use super::outcome::{UNKNOWN_PLACE, Verdict, import_error};
use super::targets::{ImportTarget, PartitionGroup, PartitionImport};
use super::template;
use crate::journal::Journal;
use crate::{LoadPlan, Target};
use archive::FileRecord;
use archive::open::Table;
use base::{Result, failpoint};
use run::failure;
use server::{ddl, quote};
use std::collections::BTreeSet;
use wire::Conn;

/// The partitions that have rows in the archive.
fn with_rows(table: &Table) -> BTreeSet<&str> {
    let chunks = table.chunks.iter().filter(|c| c.rows != Some(0));
    chunks.filter_map(|c| c.partition.as_deref()).collect()
}

/// Whether an archive has the rows of a table partition by partition.
pub fn are_separate(table: &Table) -> bool {
    table.chunks.iter().any(|c| c.partition.is_some())
}

/// How many partitions have rows.
pub fn count(table: &Table) -> u64 {
    with_rows(table).len() as u64
}

/// The name of the table that takes a partition's rows first.
fn exchange_table(table: &Table, partition: &str) -> String {
    let name = format!(
        "{}.{}",
        quote::qualified(&table.schema, &table.name),
        quote::ident(partition)
    );
    let digest = FileRecord::of(name.as_bytes()).blake3;
    format!("penstock_part_{}", &digest[..24])
}

/// Where the server has an exchange table, by its quoted, qualified name.
pub fn exchange_table_paths(
    plan: &LoadPlan,
    datadir: &Datadir,
    lower_case: bool,
    name: &str,
) -> Option<TablePaths> {
    plan.tables().find_map(|table| {
        let mut all = with_rows(table)
            .into_iter()
            .map(|p| exchange_table(table, p));
        let found = all.find(|t| quote::qualified(&table.schema, t) == *name)?;
        datadir.paths(lower_case, &table.schema, &found)
    })
}

/// As [`template::prepare`], for all partitions of a table that have rows.
pub fn prepare<'p>(
    t: &mut Target<'_>,
    methods: &MethodPlan,
    journal: &Journal,
    table: &'p Table,
) -> Result<Verdict<Vec<ImportTarget<'p>>>> {
    let whole = quote::qualified(&table.schema, &table.name);
    let Some(datadir) = methods.datadir() else {
        return Ok(Verdict::use_sql(UNKNOWN_PLACE));
    };
    // From the first partition to the last the table is neither empty nor complete.
    let path = |name: &str| datadir.build_path(name).display().to_string();
    journal.begin_tablespace(&mut t.conn, &whole, &path(&whole))?;
    // One statement: a server that is killed between LIKE and REMOVE PARTITIONING can keep files of neither
    // table.
    let create = ddl::read(&mut t.conn, ddl::Object::Table, &table.schema, &table.name)
        .map_err(|e| failure::server("cannot read a definition", e))?
        .sql;
    let names = with_rows(table);
    let group = PartitionGroup::new(names.len());
    let mut all: Vec<ImportTarget<'p>> = Vec::new();
    for partition in names {
        t.run.check()?;
        let own_name = exchange_table(table, partition);
        let name = quote::qualified(&table.schema, &own_name);
        let Some(create) = ddl::without_partitions(&create, &name) else {
            return Ok(Verdict::use_sql(
                "they have partitions in the archive, and none on the server",
            ));
        };
        journal.begin_tablespace(&mut t.conn, &name, &path(&name))?;
        let refused = match t.conn.execute(create) {
            Ok(_) => None,
            Err(wire::Error::Server(e)) => Some(format!(
                "the server cannot create a table like one of their partitions: {e}"
            )),
            Err(e) => return Err(failure::wire(format_args!("cannot create {name}"), e)),
        };
        failpoint::reached("a partition has a table aside");
        let member = group.member(&whole, partition);
        let prepared = match refused {
            Some(why) => Verdict::use_sql(why),
            None => template::prepare(t, methods, journal, table, Some((member, &own_name)))?,
        };
        match prepared {
            Verdict::Ready(target) => all.push(target),
            Verdict::Rejected(why) => {
                let paths = datadir.paths(methods.lower_case(), &table.schema, &own_name);
                drop_table(t, &name, paths)?;
                journal.forget_tablespace(&mut t.conn, &name)?;
                for target in &all {
                    remove(&mut t.conn, journal, target)?;
                }
                return Ok(Verdict::Rejected(why));
            }
        }
    }
    Ok(Verdict::Ready(all))
}

/// Exchanges the partition with the table that has its rows.
pub fn exchange(conn: &mut Conn, partition: &PartitionImport, name: &str) -> Result<Verdict<()>> {
    let ident = quote::ident(&partition.partition);
    let sql = format!(
        "ALTER TABLE {} EXCHANGE PARTITION {ident} WITH TABLE {name}",
        partition.whole
    );
    let verdict = match conn.execute(sql) {
        Ok(_) => Verdict::Ready(()),
        Err(wire::Error::Server(e)) => {
            Verdict::suspect(format!("EXCHANGE PARTITION failed for {ident}: {e}"))
        }
        Err(e) => return Err(import_error(&partition.whole, e)),
    };
    failpoint::reached("a partition is exchanged");
    Ok(verdict)
}

/// Drops the exchange table with its content: by now no rows, or rows that are not needed.
pub fn remove(conn: &mut Conn, journal: &Journal, target: &ImportTarget<'_>) -> Result<()> {
    drop_target(conn, target)?;
    journal.forget_tablespace(conn, &target.name)
}
