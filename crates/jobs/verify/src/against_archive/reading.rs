//! How the tables of a comparison are read: whole or by partition, in the ranges that they were dumped in.

use crate::compare::{Expected, Piece, Plans};
use archive::manifest::{ChunkEntry, TableRecord};
use archive::{Archive, RowDigest};
use base::units::printable;
use rows::key_ranges::KeyRange;
use rows::table_plan::{RowChoice, TablePlan};
use server::{Catalog, Identity, quote};

/// How the tables of a comparison are read.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) plans: Vec<Plans>,
    pub(super) pieces: Vec<Piece>,
    /// By plan: which of the tables it is of.
    pub(super) of_plan: Vec<usize>,
    /// By plan: about how many bytes its rows have.
    pub(super) sizes: Vec<u64>,
    /// How many tables can be compared.
    pub(super) tables: u64,
}

/// What may be on the server besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leeway {
    /// Rows that the condition of a dump did not choose. They are not compared.
    pub rows: bool,
    /// Columns that the archive does not have: the table was there before its rows were loaded.
    pub columns: bool,
}

/// A table's place among those to compare, and how it differs.
pub(super) type Differences = Vec<(usize, String)>;

/// Bytes of its rows.
pub(super) fn bytes(record: &TableRecord) -> u64 {
    record.chunks.iter().map(|c| c.raw_bytes).sum()
}

impl Reading {
    /// How each table is read, and what can be said without reading it.
    pub(super) fn of(
        archive: &Archive,
        (id, catalog): (&Identity, &Catalog),
        tables: &[(&TableRecord, Option<RowDigest>)],
        leeway: Leeway,
    ) -> (Reading, Differences) {
        let from = archive.manifest().map(|m| m.source.flavour.as_str());
        // Another flavour may put rows into other partitions, even if the names are the same.
        let alike = from == Some(&id.flavour.to_string());
        let (mut reading, mut differences) = (Reading::default(), Vec::new());
        for (number, (record, taken)) in tables.iter().enumerate() {
            let qualified = printable(&quote::qualified(&record.schema, &record.table));
            let Some(table) = find_table(catalog, id, record) else {
                differences.push((number, format!("{qualified}: not on the server")));
                continue;
            };
            let plan = match leeway.columns {
                true => TablePlan::of_some_names(table, &record.columns),
                false => TablePlan::of_names(table, &record.columns),
            };
            let mut plan = match plan {
                Ok(plan) => plan,
                Err(why) => {
                    let what = format!("{qualified}: on the server it {}", printable(&why));
                    differences.push((number, what));
                    continue;
                }
            };
            if leeway.rows {
                plan.choice = RowChoice::of_record(record);
                // By other partitions the rows that were chosen cannot be told from the others.
                let has = |name: &String| table.partitions.iter().any(|p| p.name == *name);
                let by_name = record.chunks.iter().any(|c| c.partition.is_some());
                let lacking = plan.choice.partitions.iter().find(|name| !has(name));
                if let Some(lacking) = lacking.filter(|_| by_name || table.partitions.is_empty()) {
                    let what = format!(
                        "{qualified}: on the server it has no partition {}, whose rows were dumped (--partitions)",
                        printable(&quote::ident(lacking))
                    );
                    differences.push((number, what));
                    continue;
                }
            }
            let parts = if let Some(digest) = taken {
                // Rows were written by another tool: read them as it did.
                let charset = record.row_expressions.as_ref().and_then(|v| v.first());
                plan.as_client(charset.map_or("utf8mb4", String::as_str));
                vec![(plan, vec![(KeyRange::whole(), *digest)])]
            } else {
                by_partition(record, table, plan, alike)
            };
            reading.tables += 1;
            for (plan, ranges) in parts {
                reading.add(number, record, plan, ranges);
            }
        }
        (reading, differences)
    }

    /// Adds a table, or a partition of it.
    fn add(&mut self, number: usize, record: &TableRecord, plan: TablePlan, ranges: Ranges) {
        let at = self.plans.len();
        let rows: u64 = ranges.iter().map(|(_, digest)| digest.rows()).sum();
        self.sizes
            .push(rows.saturating_mul(bytes(record) / record.rows.max(1)));
        self.pieces
            .extend(ranges.into_iter().map(|(range, digest)| Piece {
                table: at,
                range,
                expected: Expected::Digest(digest),
            }));
        self.plans.push(Plans {
            left: plan,
            right: None,
        });
        self.of_plan.push(number);
    }
}

/// The table of a record on the server.
pub(super) fn find_table<'c>(
    catalog: &'c Catalog,
    id: &Identity,
    record: &TableRecord,
) -> Option<&'c server::catalog::Table> {
    let folds = id.lower_case_table_names != 0;
    catalog.table_folded(&record.schema, &record.table, folds)
}

/// Ranges of rows, with what each amounts to.
type Ranges = Vec<(KeyRange, RowDigest)>;

/// How the table is read: partition by partition, if it was dumped so and has them on the server too, and that is `alike`.
fn by_partition(
    record: &TableRecord,
    table: &server::catalog::Table,
    mut plan: TablePlan,
    alike: bool,
) -> Vec<(TablePlan, Ranges)> {
    let mut parts: Vec<(&str, Vec<&ChunkEntry>)> = Vec::new();
    for chunk in &record.chunks {
        let partition = chunk.partition.as_deref().unwrap_or_default();
        match parts.iter_mut().find(|p| p.0 == partition) {
            Some((_, chunks)) => chunks.push(chunk),
            None => parts.push((partition, vec![chunk])),
        }
    }
    let all: Vec<&ChunkEntry> = record.chunks.iter().collect();
    let there = |name: &str| alike && table.partitions.iter().any(|p| p.name == name);
    let choice = plan.choice.clone();
    let expected = match choice.partitions.len() {
        0 => table.partitions.len(),
        n => n,
    };
    let unnamed = parts.iter().all(|(name, _)| name.is_empty());
    if unnamed || parts.len() != expected || !parts.iter().all(|(name, _)| there(name)) {
        if !unnamed {
            // Other partitions: each of the archive's has ranges of its own over the same keys.
            plan.key = None;
        }
        plan.choose(&choice);
        let ranges = ranges(record, &all, &mut plan);
        return vec![(plan, ranges)];
    }
    let of_part = |(name, chunks): (&str, Vec<&ChunkEntry>)| {
        let mut plan = plan.of_partition(name);
        let ranges = ranges(record, &chunks, &mut plan);
        (plan, ranges)
    };
    parts.into_iter().map(of_part).collect()
}

/// The ranges that these chunks were dumped in, with what each amounts to. Several
/// files of one range count together; without a common key it is all of them.
fn ranges(record: &TableRecord, chunks: &[&ChunkEntry], plan: &mut TablePlan) -> Ranges {
    let whole = || {
        let mut all = RowDigest::new();
        for digest in chunks.iter().filter_map(|c| c.digest()) {
            all.merge(&digest);
        }
        vec![(KeyRange::whole(), all)]
    };
    let Some(key) = plan.key.as_ref().filter(|k| k.names() == record.key) else {
        plan.key = None;
        return whole();
    };
    let mut list: Vec<(KeyRange, RowDigest)> = Vec::new();
    for chunk in chunks {
        let (Some(range), Some(digest)) = (
            KeyRange::of_record(chunk.from.as_deref(), chunk.to.as_deref(), key),
            chunk.digest(),
        ) else {
            return whole();
        };
        match list.iter_mut().find(|(r, _)| *r == range) {
            Some((_, sum)) => sum.merge(&digest),
            None => list.push((range, digest)),
        }
    }
    // The empty chunk that closes a series says "whole", and holds nothing.
    if list.len() > 1 {
        list.retain(|(r, d)| !r.is_whole() || d.rows() > 0);
    }
    if list.iter().any(|(r, _)| r.is_whole()) && list.len() > 1 {
        return whole();
    }
    list
}
