//! Compares tables of an archive with those of a server: all of a table, or a sample of it.

use super::reading::{Differences, Leeway, Reading, bytes};
use crate::Comparison;
use crate::compare::{Expected, Outcome, Pair, Piece, compare, reader};
use crate::generated;
use crate::reading_order::{self, reading_order};
use archive::manifest::TableRecord;
use archive::open::Table;
use archive::{Archive, RowDigest};
use base::{Counters, Result};
use rows::archives;
use run::Run;
use server::{Catalog, Identity, quote};
use std::collections::BTreeSet;
use std::time::Instant;

/// Compares tables of an archive that has digests, each as soon as it is loaded.
pub struct TableVerifier<'a> {
    /// The context of the job.
    pub run: &'a Run,
    /// What was dumped.
    pub archive: &'a Archive,
    /// What it was loaded into.
    pub server: &'a wire::Options,
    /// What the server is.
    pub id: &'a Identity,
    /// Its tables.
    pub catalog: &'a Catalog,
    /// Connections that read a table.
    pub threads: usize,
    /// Tables that one connection reads, by schema and name.
    pub single_reader: BTreeSet<(String, String)>,
    /// What may be on the server besides.
    pub leeway: Leeway,
}

/// Of tables that are compared at the same time, those that one connection reads whole, without ranges.
pub fn single_reader_tables<'t>(
    archive: &Archive,
    tables: impl Iterator<Item = &'t Table>,
    threads: usize,
) -> BTreeSet<(String, String)> {
    let Some(manifest) = archive.manifest() else {
        return BTreeSet::new();
    };
    let records: Vec<&TableRecord> = tables
        .filter_map(|t| manifest.table(&t.schema, &t.name))
        .collect();
    let costs: Vec<Option<u64>> = records
        .iter()
        .map(|r| Some(reading_order::cost(r.rows, bytes(r))))
        .collect();
    let all = costs
        .iter()
        .flatten()
        .fold(0u64, |a, c| a.saturating_add(*c));
    let whole = reading_order::single_reader(&costs, all, threads);
    let name = |n: usize| (records[n].schema.clone(), records[n].table.clone());
    whole.into_iter().map(name).collect()
}

impl TableVerifier<'_> {
    fn reading(&self, tables: &[(&TableRecord, Option<RowDigest>)]) -> (Reading, Differences) {
        Reading::of(self.archive, (self.id, self.catalog), tables, self.leeway)
    }

    fn record(&self, table: &Table) -> Option<&TableRecord> {
        self.archive.manifest()?.table(&table.schema, &table.name)
    }

    /// Compares a table; says how it differs, if it does.
    pub fn table(
        &self,
        table: &Table,
        counters: &Counters,
    ) -> Result<(Comparison, Option<String>)> {
        let record = self.record(table);
        let wanted: Vec<_> = record.iter().map(|r| (*r, None)).collect();
        let name = (table.schema.clone(), table.name.clone());
        let threads = if self.single_reader.contains(&name) {
            1
        } else {
            self.threads
        };
        let (compared, differences) = self.compare(&wanted, threads, counters)?;
        let what = match record {
            None => Some("the archive has no digest of it".to_owned()),
            Some(_) => differences.into_iter().next().map(|(_, what)| what),
        };
        Ok((compared, what))
    }

    /// Compares a part of a table, one of the ranges that it was dumped in; says how it differs, if it does. For a table
    /// whose rows were all compared in its files: what is left to see is that the server reads them as they are.
    pub fn sample(
        &self,
        table: &Table,
        counters: &Counters,
    ) -> Result<(Comparison, Option<String>)> {
        let Some(record) = self.record(table) else {
            return self.table(table, counters);
        };
        let start = Instant::now();
        let (mut reading, differences) = self.reading(&[(record, None)]);
        if let Some((_, what)) = differences.into_iter().next() {
            return Ok((self.compared(record, None, start), Some(what)));
        }
        // From the middle: the first and the last rows are those that a mistake would spare.
        let filled = |p: &Piece| matches!(&p.expected, Expected::Digest(d) if d.rows() > 0);
        reading.pieces.retain(filled);
        let middle = reading.pieces.len() / 2;
        reading.pieces = reading.pieces.into_iter().skip(middle).take(1).collect();
        let outcome = self.read(&reading, 1, counters)?;
        let what = outcome.differences.into_iter().next().map(|(_, what)| what);
        Ok((self.compared(record, Some(outcome.rows), start), what))
    }

    /// What was compared of a table in its files, and how many of its rows on the server.
    fn compared(&self, record: &TableRecord, sampled: Option<u64>, start: Instant) -> Comparison {
        Comparison {
            left: self.archive.store().describe(),
            right: format!("{} at {}", self.id, self.server.endpoint),
            tables: 1,
            rows: record.rows,
            bytes: bytes(record),
            seconds: start.elapsed().as_secs_f64(),
            chunks_unread: true,
            from_files: 1,
            sampled_rows: sampled.unwrap_or(0),
            indexes_not_compared: generated::not_compared(std::iter::once((
                quote::qualified(&record.schema, &record.table),
                record.indexes_without_digest.as_slice(),
            ))),
            dumped_with: archives::dumped_with(self.archive),
            definitions: None,
        }
    }
}

impl TableVerifier<'_> {
    /// Compares tables; `threads` connections read them.
    pub(super) fn compare(
        &self,
        tables: &[(&TableRecord, Option<RowDigest>)],
        threads: usize,
        counters: &Counters,
    ) -> Result<(Comparison, Differences)> {
        let start = Instant::now();
        let (reading, mut differences) = self.reading(tables);
        let outcome = self.read(&reading, threads, counters)?;
        let found = outcome.differences.into_iter();
        differences.extend(found.map(|(plan, what)| (reading.of_plan[plan], what)));
        let compared = Comparison {
            left: self.archive.store().describe(),
            right: format!("{} at {}", self.id, self.server.endpoint),
            tables: reading.tables,
            rows: outcome.rows,
            bytes: outcome.bytes,
            seconds: start.elapsed().as_secs_f64(),
            chunks_unread: true,
            from_files: 0,
            sampled_rows: 0,
            indexes_not_compared: generated::not_compared(tables.iter().map(|(t, _)| {
                let name = quote::qualified(&t.schema, &t.table);
                (name, t.indexes_without_digest.as_slice())
            })),
            dumped_with: archives::dumped_with(self.archive),
            definitions: None,
        };
        Ok((compared, differences))
    }

    /// Reads the tables, what differs a second time in small pieces, to name the place.
    fn read(&self, reading: &Reading, threads: usize, counters: &Counters) -> Result<Outcome> {
        let workers = |pieces: &[Piece]| -> Result<Vec<Pair>> {
            let worker = |_| {
                Ok(Pair {
                    left: reader(self.run, self.server, self.id)?,
                    right: None,
                })
            };
            (0..threads.min(pieces.len().max(1))).map(worker).collect()
        };
        let compared = |pieces: &[Piece]| {
            let workers = workers(pieces)?;
            compare(self.run, counters, &reading.plans, pieces, workers)
        };
        let coarse = reading_order(reading.pieces.clone(), &reading.sizes, threads);
        let mut outcome = compared(&coarse.pieces)?;
        let differ: Vec<usize> = outcome.differences.iter().map(|d| d.0).collect();
        let again = coarse.pieces_of(&differ);
        if !again.is_empty() {
            let places = compared(&again)?.differences;
            // A table that differs as a whole and in no piece, because it changes or has rows outside of them, still differs.
            let whole = |plan: usize| again.iter().any(|p| p.table == plan);
            let named = |plan: usize| places.iter().any(|p| p.0 == plan);
            outcome.differences.retain(|d| !whole(d.0) || !named(d.0));
            outcome.differences.extend(places);
            outcome.differences.sort_by_key(|d| d.0);
        }
        Ok(outcome)
    }
}
