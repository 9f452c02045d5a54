//! Compares what servers keep of generated columns: an archive has only digests of it.
//!
//! Only for tables whose other columns are equal: otherwise these values differ as well, and say nothing.

use super::compare::reader;
use archive::manifest::{GeneratedRecord, TableRecord};
use base::{Result, lock};
use rows::generated::{Kept, Reading, readings};
use rows::table_plan::RowChoice;
use run::Run;
use server::catalog::Table;
use server::{Catalog, Identity};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use wire::Options;

/// A server whose tables are compared.
pub(crate) struct Server<'a> {
    pub options: &'a Options,
    pub id: &'a Identity,
    pub catalog: &'a Catalog,
    /// Whether it may have rows that the dump did not choose, which are not compared.
    pub chosen: bool,
}

/// Values of a generated column that differ from those of the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherValues {
    /// Schema and table in the archive.
    pub table: (String, String),
    /// The table on the server, quoted and qualified.
    pub name: String,
    /// What differs, in words.
    pub what: String,
}

/// The values that differ from those of the archive.
pub(crate) fn against(
    run: &Run,
    records: &[&TableRecord],
    server: &Server<'_>,
    threads: usize,
) -> Result<Vec<OtherValues>> {
    let folds = server.id.lower_case_table_names != 0;
    let mut list = Vec::new();
    for record in records.iter().filter(|r| !r.generated.is_empty()) {
        let table = server
            .catalog
            .table_folded(&record.schema, &record.table, folds);
        list.extend(table.map(|table| (*record, table)));
    }
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, OtherValues)>> = Mutex::default();
    let open = |_| reader(run, server.options, server.id);
    let workers = (0..threads.min(list.len()))
        .map(open)
        .collect::<Result<Vec<_>>>()?;
    run.workers(workers, |_, mut conn, stop| {
        loop {
            stop.check()?;
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((record, table)) = list.get(at) else {
                return Ok(());
            };
            for reading in of_record(record, table, server.chosen) {
                for (kept, digest) in reading.digests(&mut conn, || stop.check())? {
                    let same =
                        |g: &&GeneratedRecord| g.column == kept.column && g.index == kept.index;
                    let wanted = record.generated.iter().find(same);
                    if wanted.is_some_and(|g| g.digest() != Some(digest)) {
                        let name = table.qualified();
                        let other = OtherValues {
                            table: (record.schema.clone(), record.table.clone()),
                            what: kept.differs(&name),
                            name,
                        };
                        lock(&found).push((at, other));
                    }
                }
            }
        }
    })?;
    let mut found = base::lock::into_inner(found);
    found.sort();
    Ok(found.into_iter().map(|(_, other)| other).collect())
}

/// Indexes of tables whose values are not compared, for the user.
pub(crate) fn not_compared<'a>(
    tables: impl IntoIterator<Item = (String, &'a [String])>,
) -> Vec<String> {
    let tables = tables.into_iter();
    let named = tables.flat_map(|(table, indexes)| {
        let of = move |index: &String| format!("{} of {table}", server::quote::ident(index));
        indexes.iter().map(of)
    });
    named.collect()
}

/// How the values of a record are read again.
fn of_record(record: &TableRecord, table: &Table, chosen: bool) -> Vec<Reading> {
    let key = record.generated.first().map(|g| &g.key);
    let key: Vec<&str> = key.into_iter().flatten().map(String::as_str).collect();
    let mut all = readings(table, &key);
    let choice = RowChoice::of_record(record);
    if chosen && !choice.is_all() {
        for reading in &mut all {
            reading.choose(&choice);
        }
    }
    all
}

/// The values of a table that differ between two servers, one line each.
pub(crate) fn between(
    run: &Run,
    (left, right): (&mut wire::Conn, &mut wire::Conn),
    (table, other): (&Table, &Table),
) -> Result<Vec<String>> {
    let key = table.primary_columns();
    let mut digests = Vec::new();
    for reading in readings(other, &key) {
        digests.extend(reading.digests(right, || run.check())?);
    }
    let mut lines = Vec::new();
    for reading in readings(table, &key) {
        for (kept, digest) in reading.digests(left, || run.check())? {
            let same = |(k, _): &&(Kept, _)| *k == kept;
            if digests.iter().find(same).is_some_and(|(_, d)| *d != digest) {
                lines.push(kept.differs(&table.qualified()));
            }
        }
    }
    Ok(lines)
}
