//! Compares one server with another: ranges are planned on the first server and read on both.

use super::Comparison;
use super::compare::{Expected, Pair, Piece, Plans, compare, differs, reader};
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

/// Compares the rows of all tables of two servers, each as it is now.
pub fn servers(
    run: &Run,
    left: &wire::Options,
    right: &wire::Options,
    threads: usize,
    filter: &Filter,
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
    servers_at(run, (left, right), threads, filter, readers, &mut |_| {})
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
    let start = Instant::now();
    let side = |options: &wire::Options| -> Result<(wire::Conn, Identity, Catalog)> {
        let (mut conn, id) = connect::open(run, options)?;
        connect::prepared(session::for_catalog(&mut conn, &id))?;
        let catalog = Catalog::read(&mut conn, &id, filter)
            .map_err(|e| failure::server("cannot read the catalog", e))?;
        Ok((conn, id, catalog))
    };
    let (mut cutter, lid, lcat) = side(left)?;
    let (_, rid, rcat) = side(right)?;
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
                    (Some(theirs), Some(ours)) if theirs.names() == ours.names() => {
                        Some(ChunkKey {
                            columns: ours.columns.clone(),
                            ..theirs
                        })
                    }
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
    if !differences.is_empty() {
        return Err(differs(&names.0, &names.1, &differences));
    }
    Ok(Comparison {
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
    })
}
