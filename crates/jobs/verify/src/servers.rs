//! Compares one server with another: ranges are planned on the first server and read on both.

use super::Comparison;
use super::compare::{Expected, Pair, Piece, Plans, compare, differs, reader};
use super::definitions;
use super::generated;
use super::narrow::TableDifference;
use super::visible;
use base::{Error, Kind, Result};
use rows::generated::unread_indexes;
use rows::key_ranges::{ChunkKey, KeyRange, Splitter, split};
use rows::selection::check_matched;
use rows::table_plan::TablePlan;
use run::Run;
use run::connect;
use run::failure;
use server::{Catalog, Filter, Identity, session};
use std::time::Instant;

/// Rows of a range when two servers are compared: small enough to locate a difference, large enough to
/// be fast.
const RANGE_ROWS: u64 = 100_000;

/// A difference between two servers, as it is found.
#[derive(Clone, Debug)]
pub enum Different {
    /// Rows of a table.
    Rows(TableDifference),
    /// Anything else, in words.
    Else(String),
}

/// Compares two servers, each as it is now: the rows of all tables, and the definitions if they are asked for.
pub fn servers(
    run: &Run,
    left: &wire::Options,
    right: &wire::Options,
    threads: usize,
    filter: &Filter,
    definitions: bool,
) -> Result<Comparison> {
    let readers = |lid: &Identity, rid: &Identity, count| {
        let pair = |_| {
            Ok(Pair {
                left: reader(run, left, lid)?,
                right: Some(reader(run, right, rid)?),
            })
        };
        (0..count).map(pair).collect()
    };
    let (mut compared, mut differences) =
        compare_rows(run, (left, right), threads, filter, readers, &mut |_| {})?;
    if definitions {
        let names = (compared.left.as_str(), compared.right.as_str());
        let mut found = compare_definitions(run, (left, right), filter, names)?;
        differences.extend(found.not_named_in(&differences));
        compared.definitions = Some(Box::new(found));
    }
    all_equal(compared, &differences)
}

fn compare_definitions(
    run: &Run,
    (left, right): (&wire::Options, &wire::Options),
    filter: &Filter,
    names: (&str, &str),
) -> Result<definitions::Outcome> {
    let _phase = run.phase("comparing definitions", 1);
    let side = |options: &wire::Options| {
        let (mut conn, id, catalog) = look(run, options, filter)?;
        definitions::of_server(run, &mut conn, &id, &catalog)
    };
    let more = definitions::More::Differs;
    Ok(match (side(left)?, side(right)?) {
        (Ok(ours), Ok(theirs)) => definitions::compare(ours, theirs, names, more),
        (Err(why), _) | (_, Err(why)) => definitions::Outcome::none(why),
    })
}

/// A server, and what it has of what the filter takes.
fn look(
    run: &Run,
    options: &wire::Options,
    filter: &Filter,
) -> Result<(wire::Conn, Identity, Catalog)> {
    let (mut conn, id) = connect::open(run, options)?;
    connect::prepared(session::for_catalog(&mut conn, &id))?;
    let catalog = Catalog::read(&mut conn, &id, filter)
        .map_err(|e| failure::server("cannot read the catalog", e))?;
    Ok((conn, id, catalog))
}

/// Compares the rows of all tables of two servers; `readers` makes so many pairs of connections, which see the moment to
/// compare; `different` gets what differs.
pub fn servers_at(
    run: &Run,
    (left, right): (&wire::Options, &wire::Options),
    threads: usize,
    filter: &Filter,
    readers: impl FnOnce(&Identity, &Identity, usize) -> Result<Vec<Pair>>,
    different: &mut dyn FnMut(Different),
) -> Result<Comparison> {
    let (compared, differences) =
        compare_rows(run, (left, right), threads, filter, readers, different)?;
    all_equal(compared, &differences)
}

/// Fails if anything differs.
fn all_equal(compared: Comparison, differences: &[String]) -> Result<Comparison> {
    match differences {
        [] => Ok(compared),
        _ => Err(differs(&compared.left, &compared.right, differences)),
    }
}

/// The same, with what differs.
fn compare_rows(
    run: &Run,
    (left, right): (&wire::Options, &wire::Options),
    threads: usize,
    filter: &Filter,
    readers: impl FnOnce(&Identity, &Identity, usize) -> Result<Vec<Pair>>,
    different: &mut dyn FnMut(Different),
) -> Result<(Comparison, Vec<String>)> {
    let start = Instant::now();
    let (mut cutter, lid, lcat) = look(run, left, filter)?;
    let (_, rid, rcat) = look(run, right, filter)?;
    check_matched(filter)?;
    let names = (
        format!("{lid} at {}", left.endpoint),
        format!("{rid} at {}", right.endpoint),
    );
    if lid.same_server(&rid) {
        return Err(Error::new(
            Kind::Usage,
            format!(
                "{} and {} are the same server",
                left.endpoint, right.endpoint
            ),
        ));
    }
    connect::prepared(session::for_rows(&mut cutter, &lid))?;
    let folds = [&lid, &rid].iter().any(|id| id.lower_case_table_names != 0);
    for (options, id, catalog, others) in [(right, &rid, &rcat, &lcat), (left, &lid, &lcat, &rcat)]
    {
        let missing: Vec<(&str, &str)> = others
            .tables()
            .filter(|t| catalog.table_folded(&t.schema, &t.name, folds).is_none())
            .map(|t| (t.schema.as_str(), t.name.as_str()))
            .collect();
        visible::check(run, options, id, catalog, &missing)?;
    }
    let mut differences = Vec::new();
    let (mut plans, mut pieces, mut both) = (Vec::new(), Vec::new(), Vec::new());
    let phase = run.phase("comparing rows", threads);
    for table in lcat.tables() {
        let Some(other) = rcat.table_folded(&table.schema, &table.name, folds) else {
            differences.push(format!("{}: not on {}", table.qualified(), names.1));
            continue;
        };
        let plan = TablePlan::of(table);
        let theirs = match TablePlan::of_names(other, &plan.columns) {
            Ok(mut p) => {
                // Bounds are the first server's values: its column types, the second's index.
                p.key = match (p.key.take(), &plan.key) {
                    (Some(theirs), Some(ours)) if ours.covers(&theirs) => Some(ChunkKey {
                        columns: ours.columns.clone(),
                        ..theirs
                    }),
                    _ => None,
                };
                p
            }
            Err(why) => {
                differences.push(format!("{}: on {} it {why}", table.qualified(), names.1));
                continue;
            }
        };
        let at = plans.len();
        let mut add = |range: KeyRange, _: u64| -> Result<()> {
            pieces.push(Piece {
                table: at,
                range,
                expected: Expected::Other,
            });
            Ok(())
        };
        match (&plan.key, &theirs.key) {
            (Some(key), Some(_)) => {
                let mut splitter = Splitter {
                    conn: &mut cutter,
                    cancel: &run.cancel,
                    table: &plan.name,
                    key,
                    target: RANGE_ROWS,
                    explain: split::explain(&lid),
                };
                splitter.split(&KeyRange::whole(), &mut add)?;
            }
            _ => add(KeyRange::whole(), 0)?,
        }
        phase.counters.bytes_expected.add(table.data_bytes);
        plans.push(Plans {
            left: plan,
            right: Some(theirs),
        });
        both.push((table, other));
    }
    for table in rcat.tables() {
        let there = lcat.table_folded(&table.schema, &table.name, folds);
        if there.is_none() {
            differences.push(format!("{}: not on {}", table.qualified(), names.0));
        }
    }
    let mut workers = readers(&lid, &rid, threads + 1)?;
    // One pair is kept for what is read last.
    let mut last = workers.pop();
    let outcome = compare(run, &phase.counters, &plans, &pieces, workers)?;
    drop(phase);
    for (at, (table, other)) in both.iter().enumerate() {
        let equal = !outcome.differences.iter().any(|(plan, _)| *plan == at);
        if equal
            && table.columns.iter().any(|c| c.generated)
            && let Some(Pair {
                left,
                right: Some(right),
            }) = &mut last
        {
            differences.extend(generated::between(run, (left, right), (table, other))?);
        }
    }
    let unread: Vec<(String, Vec<String>)> = both
        .iter()
        .map(|(table, _)| (table.qualified(), unread_indexes(table)))
        .collect();
    for what in &differences {
        different(Different::Else(what.clone()));
    }
    let pieces = outcome.pieces.iter().map(|at| &pieces[*at]);
    let found: Vec<(&Piece, String)> = pieces
        .zip(outcome.differences.into_iter().map(|(_, what)| what))
        .collect();
    let phase = (!found.is_empty()).then(|| run.phase("looking for the rows that differ", 1));
    for of_table in found.chunk_by(|a, b| a.0.table == b.0.table) {
        let Some((first, _)) = of_table.first() else {
            continue;
        };
        let (plans, table) = (&plans[first.table], both[first.table].1);
        let mut rows = TableDifference::of(table, &plans.left.columns);
        for (piece, what) in of_table {
            let places = match &mut last {
                Some(pair) => rows.narrow(run, pair, plans, &piece.range)?,
                None => Vec::new(),
            };
            let lines = places.iter().map(|place| format!("\n    {place}"));
            differences.push(format!("{what}{}", lines.collect::<String>()));
        }
        different(Different::Rows(rows));
    }
    drop(phase);
    let compared = Comparison {
        left: names.0,
        right: names.1,
        tables: plans.len() as u64,
        rows: outcome.rows,
        bytes: outcome.bytes,
        seconds: start.elapsed().as_secs_f64(),
        chunks_unread: false,
        from_files: 0,
        sampled_rows: 0,
        indexes_not_compared: generated::not_compared(
            unread
                .iter()
                .map(|(name, list)| (name.clone(), list.as_slice())),
        ),
        dumped_with: Vec::new(),
        definitions: None,
    };
    Ok((compared, differences))
}
