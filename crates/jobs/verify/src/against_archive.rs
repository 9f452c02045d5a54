//! Verifies an archive offline, and compares an archive with a server.

use super::Comparison;
use super::compare::{Expected, Outcome, Pair, Piece, Plans, compare, differs, reader};
use super::definitions::{self, Outcome as Definitions};
use super::generated::{self, OtherValues};
use super::reading_order::{self, reading_order};
use super::visible;
use archive::manifest::{ChunkEntry, TableRecord};
use archive::open::Table;
use archive::{Archive, CheckOptions, RowDigest};
use base::units::printable;
use base::{Counters, Error, Kind, Result};
use encryption::Place;
use rows::archives;
use rows::key_ranges::KeyRange;
use rows::renaming;
use rows::selection::check_matched;
use rows::table_plan::TablePlan;
use run::Run;
use run::connect;
use run::failure;
use server::{Catalog, Filter, Identity, NameMap, quote, session};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// An archive that was found intact.
#[derive(Clone, Debug)]
pub struct Offline {
    /// Its directory.
    pub path: String,
    /// Files read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows decoded.
    pub rows: u64,
    /// Accounts that it has, if it has any.
    pub accounts: Option<u64>,
    /// Whether it has digests.
    pub digests: bool,
    /// Seconds it took.
    pub seconds: f64,
    /// Time that all threads together waited for the network to the archive, if there is one.
    pub link_seconds: Option<f64>,
    /// What the archive lacks: the exceptions of its dump.
    pub dumped_with: Vec<String>,
    /// Whether it is encrypted, and was checked without a key: then nothing of its contents is known.
    pub locked: bool,
}

/// Checks every byte of an archive without a server.
pub fn offline(run: &Run, from: &Place, threads: usize, rows: bool) -> Result<Offline> {
    let start = Instant::now();
    let store = match from.open(None) {
        Err(encryption::Error::Locked { .. }) if !rows => return locked(run, from, threads),
        opened => opened.map_err(|e| archives::place_error(from, &e))?,
    };
    let phase = run.phase("checking the archive", threads);
    let options = CheckOptions { threads, rows };
    let report = archive::check(
        &*store,
        &options,
        &|p| progress(&phase.counters, &p),
        &run.cancel,
    )
    .map_err(|e| {
        archives::nothing(from, &*store)
            .unwrap_or_else(|| failure::archive(format_args!("cannot check {from}"), &e))
    })?;
    drop(phase);
    run.check()?;
    for note in &report.notes {
        run.observer.note(note.clone());
    }
    for warning in &report.warnings {
        run.observer.warn(warning.clone());
    }
    if !report.problems.is_empty() {
        let problems: Vec<String> = report.problems.iter().map(describe_problem).collect();
        return Err(damaged(from, &problems));
    }
    let archive = archives::open_in(from, Arc::clone(&store))?;
    Ok(Offline {
        locked: false,
        accounts: archive.root().users.as_ref().map(|u| u.len() as u64),
        path: from.absolute(),
        files: report.files,
        bytes: report.bytes,
        rows: report.rows,
        digests: report.has_manifest,
        seconds: start.elapsed().as_secs_f64(),
        link_seconds: store.link().map(|l| l.waited().as_secs_f64()),
        dumped_with: archives::dumped_with(&archive),
    })
}

/// Checks the files of an encrypted archive without a key.
fn locked(run: &Run, from: &Place, threads: usize) -> Result<Offline> {
    let start = Instant::now();
    let store = from
        .location()
        .open(None)
        .map_err(|e| archives::open_error(from, &e))?;
    let phase = run.phase("checking the encrypted files", threads);
    let progress = |bytes: u64| phase.counters.stored.add(bytes);
    let found = encryption::check_files(&*store, threads, &progress, &run.cancel)
        .map_err(|e| archives::place_error(from, &e))?;
    drop(phase);
    run.check()?;
    for name in &found.strays {
        let name = printable(name);
        run.observer
            .warn(format!("{name} is not part of the archive"));
    }
    if !found.problems.is_empty() {
        return Err(damaged(from, &found.problems));
    }
    Ok(Offline {
        path: from.absolute(),
        accounts: None,
        files: found.files,
        bytes: found.bytes,
        rows: 0,
        digests: true,
        seconds: start.elapsed().as_secs_f64(),
        link_seconds: store.link().map(|l| l.waited().as_secs_f64()),
        dumped_with: Vec::new(),
        locked: true,
    })
}

/// The error of an archive with these problems.
fn damaged(from: &Place, problems: &[String]) -> Error {
    let n = problems.len();
    let mut text = format!(
        "the archive {from} is damaged in {}:",
        if n == 1 {
            "one place".to_owned()
        } else {
            format!("{n} places")
        }
    );
    for p in problems.iter().take(50) {
        text += &format!("\n  {p}");
    }
    if n > 50 {
        text += &format!("\n  … and {} more", n - 50);
    }
    Error::new(Kind::Archive, text)
        .hint("do not rely on it: dump again, or copy the archive again from another copy")
}

/// Names file, table and chunk, and what is wrong.
fn describe_problem(p: &archive::Problem) -> String {
    let mut text = p.file.clone();
    if let (Some(schema), Some(table)) = (&p.schema, &p.table) {
        text += &format!(" (table {}", printable(&quote::qualified(schema, table)));
        if let Some(chunk) = p.chunk {
            text += &format!(", chunk {chunk}");
        }
        text += ")";
    }
    let what = p.what.strip_prefix(&p.file).unwrap_or(&p.what);
    format!("{text}: {}", what.trim_start_matches([':', ' ']))
}

fn progress(counters: &Counters, p: &archive::Progress) {
    counters.bytes.add(p.raw_bytes);
    counters.stored.add(p.stored_bytes);
    counters.rows.add(p.rows);
}

/// Compares an archive with a server: rows, and the definitions if they are asked for.
pub fn against(
    run: &Run,
    from: &Place,
    server: &wire::Options,
    threads: usize,
    filter: &Filter,
    names: &NameMap,
    definitions: bool,
) -> Result<Comparison> {
    let mut archive = archives::open(from)?;
    let Some(manifest) = archive.manifest() else {
        return Err(Error::new(Kind::Archive, format!("{from} has no row digests: penstock did not write it"))
            .hint("load it into a server (the load verifies what it loads), then compare two servers with --server A --server B"));
    };
    let mut wanted: BTreeSet<(String, String)> = BTreeSet::new();
    for t in manifest.tables.iter() {
        if filter.table(&t.schema, &t.table) {
            wanted.insert(names.table(&t.schema, &t.table));
        }
    }
    check_matched(filter)?;
    renaming::check(&archive, names, filter)?;
    renaming::rename(&mut archive, names, filter);
    let tables = archive.manifest().map_or(&[][..], |m| &m.tables);
    let wanted: Vec<(&TableRecord, Option<RowDigest>)> = tables
        .iter()
        .filter(|t| wanted.contains(&(t.schema.clone(), t.table.clone())))
        .map(|t| (t, None))
        .collect();
    let (mut compared, mut differences) = compare_tables(run, &archive, &wanted, server, threads)?;
    let equal = wanted.iter().enumerate();
    let equal = equal.filter(|(n, _)| !differences.iter().any(|(number, _)| number == n));
    let equal: Vec<&TableRecord> = equal.map(|(_, (record, _))| *record).collect();
    let kept = generated_columns(run, &equal, server, threads)?;
    differences.extend(kept.into_iter().map(|other| (wanted.len(), other.what)));
    if definitions {
        let mut found = match names.is_empty() {
            true => {
                let sides = (compared.left.as_str(), compared.right.as_str());
                compare_definitions(run, &archive, filter, server, sides)?
            }
            false => Definitions::none(
                "definitions: the archive was loaded under other names".to_owned(),
            ),
        };
        let known: Vec<String> = differences.iter().map(|(_, what)| what.clone()).collect();
        let new = found.not_named_in(&known).into_iter();
        differences.extend(new.map(|what| (wanted.len(), what)));
        compared.definitions = Some(Box::new(found));
    }
    all_equal((compared, differences))
}

/// Compares what an archive defines with what a server does.
fn compare_definitions(
    run: &Run,
    archive: &Archive,
    filter: &Filter,
    server: &wire::Options,
    names: (&str, &str),
) -> Result<Definitions> {
    let _phase = run.phase("comparing definitions", 1);
    let ours = definitions::of_archive(archive, filter)?;
    let schemas = archive.schemas().iter().map(|s| s.name.as_str());
    let schemas = schemas.filter(|name| filter.schema(name));
    let (id, catalog) = catalog(run, server, schemas)?;
    let mut conn = connect::connection(run, server)?;
    connect::prepared(session::for_catalog(&mut conn, &id))?;
    Ok(
        match definitions::of_server(run, &mut conn, &id, &catalog)? {
            Ok(theirs) => definitions::compare(ours, theirs, names, definitions::More::Allowed),
            Err(why) => Definitions::none(why),
        },
    )
}

/// The generated columns and indexes of a loaded archive in which the server has other values than the source. All other columns are known to be equal.
pub fn loaded_generated_columns(
    run: &Run,
    archive: &Archive,
    tables: &[&Table],
    server: &wire::Options,
    threads: usize,
) -> Result<Vec<OtherValues>> {
    let Some(manifest) = archive.manifest() else {
        return Ok(Vec::new());
    };
    let records = tables
        .iter()
        .filter_map(|t| manifest.table(&t.schema, &t.name));
    generated_columns(run, &records.collect::<Vec<_>>(), server, threads)
}

fn generated_columns(
    run: &Run,
    records: &[&TableRecord],
    server: &wire::Options,
    threads: usize,
) -> Result<Vec<OtherValues>> {
    let having: Vec<&TableRecord> = records
        .iter()
        .copied()
        .filter(|r| !r.generated.is_empty())
        .collect();
    if having.is_empty() {
        return Ok(Vec::new());
    }
    let (id, catalog) = catalog(run, server, having.iter().map(|r| r.schema.as_str()))?;
    let _phase = run.phase("comparing generated columns", threads);
    let server = generated::Server {
        options: server,
        id: &id,
        catalog: &catalog,
    };
    generated::against(run, &having, &server, threads)
}

/// Compares what was just loaded. An archive of penstock has its digests; for other archives the
/// digests were taken while the rows were loaded.
pub fn loaded(
    run: &Run,
    archive: &Archive,
    tables: &[(&Table, RowDigest)],
    server: &wire::Options,
    threads: usize,
) -> Result<Comparison> {
    if let Some(manifest) = archive.manifest() {
        let wanted: Vec<_> = tables
            .iter()
            .filter_map(|(t, _)| manifest.table(&t.schema, &t.name).map(|r| (r, None)))
            .collect();
        return all_equal(compare_tables(run, archive, &wanted, server, threads)?);
    }
    let records: Vec<(TableRecord, RowDigest)> = tables
        .iter()
        .filter(|(t, _)| t.meta.includes_data && t.meta.is_default_dialect())
        .map(|(t, digest)| {
            let record = TableRecord {
                schema: t.schema.clone(),
                table: t.name.clone(),
                columns: t.meta.options.columns.clone(),
                row_expressions: Some(vec![t.meta.options.default_character_set.clone()]),
                key: Vec::new(),
                rows: digest.rows(),
                row_digest: digest.to_hex(),
                chunks: Vec::new(),
                generated: Vec::new(),
                indexes_without_digest: Vec::new(),
            };
            (record, *digest)
        })
        .collect();
    let wanted: Vec<_> = records.iter().map(|(r, d)| (r, Some(*d))).collect();
    all_equal(compare_tables(run, archive, &wanted, server, threads)?)
}

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

fn bytes(record: &TableRecord) -> u64 {
    record.chunks.iter().map(|c| c.raw_bytes).sum()
}

impl TableVerifier<'_> {
    /// Compares a table; says how it differs, if it does.
    pub fn table(
        &self,
        table: &Table,
        counters: &Counters,
    ) -> Result<(Comparison, Option<String>)> {
        let manifest = self.archive.manifest();
        let record = manifest.and_then(|m| m.table(&table.schema, &table.name));
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
}

impl TableVerifier<'_> {
    /// Compares a part of a table, one of the ranges that it was dumped in; says how it differs, if it does. For a table
    /// whose rows were all compared in its files: what is left to see is that the server reads them as they are.
    pub fn sample(
        &self,
        table: &Table,
        counters: &Counters,
    ) -> Result<(Comparison, Option<String>)> {
        let manifest = self.archive.manifest();
        let record = manifest.and_then(|m| m.table(&table.schema, &table.name));
        let Some(record) = record else {
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

/// Fails if anything differs.
fn all_equal((compared, differences): (Comparison, Differences)) -> Result<Comparison> {
    if differences.is_empty() {
        return Ok(compared);
    }
    let texts: Vec<String> = differences.into_iter().map(|(_, what)| what).collect();
    Err(differs(&compared.left, &compared.right, &texts))
}

/// Compares tables; what differs comes with its place among them.
fn compare_tables(
    run: &Run,
    archive: &Archive,
    tables: &[(&TableRecord, Option<RowDigest>)],
    server: &wire::Options,
    threads: usize,
) -> Result<(Comparison, Differences)> {
    let schemas = tables.iter().map(|(t, _)| t.schema.as_str());
    let (id, catalog) = catalog(run, server, schemas)?;
    let missing: Vec<(&str, &str)> = tables
        .iter()
        .filter(|(record, _)| find_table(&catalog, &id, record).is_none())
        .map(|(record, _)| (record.schema.as_str(), record.table.as_str()))
        .collect();
    visible::check(run, server, &id, &catalog, &missing)?;
    let phase = run.phase("comparing rows", threads);
    for (record, _) in tables {
        phase.counters.rows_expected.add(record.rows);
        phase.counters.bytes_expected.add(bytes(record));
    }
    let verifier = TableVerifier {
        run,
        archive,
        server,
        id: &id,
        catalog: &catalog,
        threads,
        single_reader: BTreeSet::new(),
    };
    verifier.compare(tables, threads, &phase.counters)
}

/// What a server is, and the tables of these schemas on it.
pub fn catalog<'s>(
    run: &Run,
    server: &wire::Options,
    schemas: impl Iterator<Item = &'s str>,
) -> Result<(Identity, Catalog)> {
    let (mut conn, id) = connect::open(run, server)?;
    connect::prepared(session::for_catalog(&mut conn, &id))?;
    let mut patterns: Vec<String> = schemas.map(quote::ident).collect();
    patterns.sort();
    patterns.dedup();
    let filter = Filter::new(&patterns, &[], &[], &[])
        .map_err(|e| failure::server("cannot select schemas", e))?;
    let catalog = Catalog::read(&mut conn, &id, &filter)
        .map_err(|e| failure::server("cannot read the catalog", e))?;
    Ok((id, catalog))
}

/// How the tables of a comparison are read.
#[derive(Default)]
struct Reading {
    plans: Vec<Plans>,
    pieces: Vec<Piece>,
    /// By plan: which of the tables it is of.
    of_plan: Vec<usize>,
    /// By plan: about how many bytes its rows have.
    sizes: Vec<u64>,
    /// How many tables can be compared.
    tables: u64,
}

/// A table's place among those to compare, and how it differs.
type Differences = Vec<(usize, String)>;

impl TableVerifier<'_> {
    /// Compares tables; `threads` connections read them.
    fn compare(
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

    /// How each table is read, and what can be said without reading it.
    fn reading(&self, tables: &[(&TableRecord, Option<RowDigest>)]) -> (Reading, Differences) {
        let from = self.archive.manifest().map(|m| m.source.flavour.as_str());
        // Another flavour may put rows into other partitions, even if the names are the same.
        let alike = from == Some(&self.id.flavour.to_string());
        let (mut reading, mut differences) = (Reading::default(), Vec::new());
        for (number, (record, taken)) in tables.iter().enumerate() {
            let qualified = printable(&quote::qualified(&record.schema, &record.table));
            let Some(table) = find_table(self.catalog, self.id, record) else {
                differences.push((number, format!("{qualified}: not on the server")));
                continue;
            };
            let mut plan = match TablePlan::of_names(table, &record.columns) {
                Ok(plan) => plan,
                Err(why) => {
                    let what = format!("{qualified}: on the server it {}", printable(&why));
                    differences.push((number, what));
                    continue;
                }
            };
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

impl Reading {
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

fn find_table<'c>(
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
    if parts.iter().all(|(name, _)| name.is_empty()) {
        let ranges = ranges(record, &all, &mut plan);
        return vec![(plan, ranges)];
    }
    if parts.len() != table.partitions.len() || !parts.iter().all(|(name, _)| there(name)) {
        // Other partitions: each of the archive's has ranges of its own over the same keys.
        plan.key = None;
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
