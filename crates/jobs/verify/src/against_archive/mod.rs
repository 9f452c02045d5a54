//! Compares an archive with a server: an existing one, or what was just loaded. `tables` compares tables, `reading` says how each
//! is read.

mod reading;
mod tables;

pub use reading::Leeway;
pub use tables::{TableVerifier, single_reader_tables};

use super::Comparison;
use super::compare::differs;
use super::definitions::{self, Outcome as Definitions};
use super::generated::{self, OtherValues};
use super::visible;
use archive::manifest::TableRecord;
use archive::open::Table;
use archive::{Archive, RowDigest};
use base::{Error, Kind, Result};
use encryption::Place;
use reading::{Differences, bytes, find_table};
use rows::archives;
use rows::renaming;
use rows::selection::check_matched;
use run::Run;
use run::connect;
use run::failure;
use server::{Catalog, Filter, Identity, NameMap, quote, session};
use std::collections::BTreeSet;

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
    // One without rows has no record, and is selected all the same: its definition is compared.
    for table in archive.tables() {
        filter.table(&table.schema, &table.name);
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
    // A condition has the names of the source. Under others there is a copy, which has no rows besides.
    let chosen = names.is_empty();
    let leeway = Leeway {
        rows: chosen,
        columns: false,
    };
    let (mut compared, mut differences) =
        compare_tables(run, &archive, &wanted, server, threads, leeway)?;
    let equal = wanted.iter().enumerate();
    let equal = equal.filter(|(n, _)| !differences.iter().any(|(number, _)| number == n));
    let equal: Vec<&TableRecord> = equal.map(|(_, (record, _))| *record).collect();
    let kept = generated_columns(run, &equal, server, threads, chosen)?;
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
    let catalog = definitions::within(catalog, &ours, &id);
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
    generated_columns(run, &records.collect::<Vec<_>>(), server, threads, false)
}

fn generated_columns(
    run: &Run,
    records: &[&TableRecord],
    server: &wire::Options,
    threads: usize,
    chosen: bool,
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
        chosen,
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
    leeway: Leeway,
) -> Result<Comparison> {
    if let Some(manifest) = archive.manifest() {
        let wanted: Vec<_> = tables
            .iter()
            .filter_map(|(t, _)| manifest.table(&t.schema, &t.name).map(|r| (r, None)))
            .collect();
        return all_equal(compare_tables(
            run, archive, &wanted, server, threads, leeway,
        )?);
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
                condition: None,
                partitions: Vec::new(),
                rows: digest.rows(),
                row_digest: digest.to_hex(),
                chunks: Vec::new(),
                generated: Vec::new(),
                indexes_without_digest: Vec::new(),
                identity: None,
            };
            (record, *digest)
        })
        .collect();
    let wanted: Vec<_> = records.iter().map(|(r, d)| (r, Some(*d))).collect();
    all_equal(compare_tables(
        run, archive, &wanted, server, threads, leeway,
    )?)
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
    leeway: Leeway,
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
        leeway,
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
