//! `warm check`: queries of the live server are replayed, on it and on a new one: how long they take there, and how
//! much they have to read from disk.
//!
//! `logs` and `samples` say which queries there are, `read_only` and `functions` which of them may be replayed, `sample`
//! keeps a bounded number, `replay` runs them.
//!
//! Invariant: only queries that read are sent, in sessions that are read-only.

mod functions;
mod logs;
mod read_only;
mod replay;
mod sample;
mod samples;

use base::units::printable;
use base::{Error, Kind, Result};
use dumps::Dialect;
pub(crate) use replay::{Outcome, Replayer, pages_read, quantile};
use run::Run;
pub(crate) use sample::Query;
use sample::Sample;
use server::{Identity, session};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Statements of a summary at most.
const STATEMENTS: usize = 200;

/// Points of what is read over time, at least so many seconds apart.
const APART: f64 = 0.25;

/// Refusals that are named at most.
const NAMED: usize = 50;

/// Where queries come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file of queries; all of them have to be replayable.
    Queries(PathBuf),
    /// A server's slow log.
    SlowLog(PathBuf),
    /// A server's general log.
    GeneralLog(PathBuf),
    /// What the first server remembers.
    Samples,
}

/// What is replayed, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// One server, or the live one and the new one.
    pub servers: Vec<wire::Options>,
    /// Where queries come from.
    pub from: Source,
    /// The schema of queries that do not say it.
    pub schema: Option<String>,
    /// How many queries at most.
    pub most: usize,
    /// How long a query may take.
    pub longest: Duration,
}

/// One server.
#[derive(Clone, Debug)]
pub struct Side {
    /// In words.
    pub server: String,
    /// Seconds of all queries together.
    pub seconds: f64,
    /// Seconds that half of them took at most.
    pub p50: f64,
    /// Seconds that 95 % took at most.
    pub p95: f64,
    /// Seconds that 99 % took at most.
    pub p99: f64,
    /// Pages that the server read from disk meanwhile.
    pub reads: u64,
    /// The same over time: seconds since the first query, pages since the point before.
    pub over_time: Vec<(f64, u64)>,
    /// Seconds of a statement that does nothing, which are in all of the others.
    pub round_trip: f64,
}

/// Queries that differ in their values only.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Without values.
    pub text: String,
    /// How many.
    pub queries: u64,
    /// Of each server: seconds of all of them.
    pub seconds: Vec<f64>,
    /// Of each server: pages read from disk meanwhile.
    pub reads: Vec<u64>,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Where queries came from.
    pub from: String,
    /// Queries that may be replayed.
    pub seen: u64,
    /// Queries that were answered by each server.
    pub replayed: u64,
    /// What was not replayed, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// The servers.
    pub sides: Vec<Side>,
    /// Statements, those first that cost most on the last server.
    pub statements: Vec<Statement>,
    /// Queries that a server refused.
    pub exceptions: Vec<String>,
    /// Seconds it took.
    pub seconds: f64,
}

/// Replays.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let mut opened = Vec::new();
    for server in &options.servers {
        opened.push(run::connect::open(run, server)?);
    }
    if let [(_, live), (_, new)] = &opened[..]
        && live.same_server(new)
    {
        return Err(Error::new(
            Kind::Target,
            format!("both names lead to the same server, {live}"),
        )
        .hint("name another server as the second, or only one"));
    }
    let Some((conn, live)) = opened.first_mut() else {
        return Err(Error::new(Kind::Internal, "no server is named"));
    };
    let sql_mode = mode_of_queries(live.variable("sql_mode").unwrap_or_default());
    let dialect = Dialect::default().with_mode(&sql_mode);
    let mut sample = Sample::new(options.most, dialect);
    let schema = options.schema.as_deref();
    let phase = run.phase("reading queries", 1);
    match &options.from {
        Source::Queries(path) => logs::list(path, schema, dialect, &mut sample)?,
        Source::SlowLog(path) => logs::slow(path, schema, dialect, &mut sample)?,
        Source::GeneralLog(path) => logs::general(path, schema, dialect, &mut sample)?,
        Source::Samples => {
            run::connect::prepared(session::for_rows(conn, live))?;
            samples::add(run, conn, live, schema, &mut sample)?;
        }
    }
    drop(phase);
    let from = in_words(&options.from);
    let queries = sample.take();
    if queries.is_empty() {
        return Err(nothing(&from, &sample));
    }
    let mut replayers = Vec::new();
    for ((_, id), server) in opened.iter().zip(&options.servers) {
        let opened = Replayer::open(run, server, id, &sql_mode, options.longest)?;
        replayers.push(opened);
    }
    drop(opened);
    let found = replay_all(run, &queries, &mut replayers, dialect)?;
    Ok(Summary {
        from,
        seen: sample.seen,
        replayed: found.replayed,
        left_out: sample.left_out,
        sides: found.sides,
        statements: found.statements,
        exceptions: found.exceptions,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The modes of the live server that say what a query means. Both flavours know them, and both servers get them.
fn mode_of_queries(mode: &str) -> String {
    const KEPT: [&str; 7] = [
        "ANSI_QUOTES",
        "HIGH_NOT_PRECEDENCE",
        "IGNORE_SPACE",
        "NO_BACKSLASH_ESCAPES",
        "NO_UNSIGNED_SUBTRACTION",
        "PIPES_AS_CONCAT",
        "REAL_AS_FLOAT",
    ];
    let kept = mode.split(',').filter(|m| KEPT.contains(m));
    kept.collect::<Vec<_>>().join(",")
}

/// The queries of a list, and the modes in which they are read.
pub(crate) fn queries_of_list(
    path: &Path,
    schema: Option<&str>,
    id: &Identity,
    most: usize,
) -> Result<(Vec<Query>, String)> {
    let mode = mode_of_queries(id.variable("sql_mode").unwrap_or_default());
    let dialect = Dialect::default().with_mode(&mode);
    let mut sample = Sample::new(most, dialect);
    logs::list(path, schema, dialect, &mut sample)?;
    Ok((sample.take(), mode))
}

fn in_words(source: &Source) -> String {
    let file = |what: &str, path: &PathBuf| format!("{what} {}", path.display());
    printable(&match source {
        Source::Queries(path) => file("the queries of", path),
        Source::SlowLog(path) => file("the slow log", path),
        Source::GeneralLog(path) => file("the general log", path),
        Source::Samples => "performance_schema".to_owned(),
    })
}

fn nothing(from: &str, sample: &Sample) -> Error {
    let reasons = sample.left_out.iter().map(|(why, n)| format!("{n}: {why}"));
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    let what = match reasons.is_empty() {
        true => format!("{from}: there is no query"),
        false => format!("{from}: no query can be replayed ({reasons})"),
    };
    Error::new(Kind::Failed, what)
        .hint("replayed are SELECTs that read tables, lock nothing and call no function that may have an effect")
}

/// Points of what is read over time at most.
const POINTS: usize = 2000;

/// Adds pages to the last point, or begins another one if that is `apart` seconds long.
fn add_point(points: &mut Vec<(f64, u64)>, now: f64, pages: u64, apart: f64) {
    let from = points.len().checked_sub(2).map_or(0.0, |n| points[n].0);
    match points.last_mut() {
        Some(last) if now - from < apart => *last = (now, last.1 + pages),
        _ => points.push((now, pages)),
    }
}

/// Makes one of two points.
fn thin(points: &mut Vec<(f64, u64)>) {
    let joined = points.chunks(2).map(|two| match two {
        [a, b] => (b.0, a.1 + b.1),
        _ => two[0],
    });
    *points = joined.collect();
}

/// What became of all queries.
#[derive(Default)]
struct Found {
    replayed: u64,
    sides: Vec<Side>,
    statements: Vec<Statement>,
    exceptions: Vec<String>,
}

fn replay_all(
    run: &Run,
    queries: &[Query],
    replayers: &mut [Replayer],
    dialect: Dialect,
) -> Result<Found> {
    let phase = run.phase("queries", replayers.len());
    phase.counters.rows_expected.set(queries.len() as u64);
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); replayers.len()];
    let mut reads = vec![0u64; replayers.len()];
    let mut over_time: Vec<Vec<(f64, u64)>> = vec![vec![(0.0, 0)]; replayers.len()];
    let (begin, mut apart) = (Instant::now(), APART);
    let mut statements: HashMap<String, Statement> = HashMap::new();
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    for query in queries {
        run.check()?;
        let mut outcomes = Vec::new();
        for replayer in replayers.iter_mut() {
            outcomes.push(replayer.replay(query)?);
        }
        phase.counters.rows.add(1);
        // A long run has points that are further apart.
        if over_time.iter().any(|points| points.len() > POINTS) {
            apart *= 2.0;
            over_time.iter_mut().for_each(thin);
        }
        let text = read_only::fingerprint(&query.text, dialect);
        let mut done = Vec::new();
        for (replayer, outcome) in replayers.iter().zip(outcomes) {
            match outcome {
                Outcome::Done(seconds, pages) => done.push((seconds, pages)),
                Outcome::Refused(why) => {
                    let what = printable(&format!("{}: {why} (in {text})", replayer.server));
                    *refused.entry(what).or_default() += 1;
                }
            }
        }
        // What one of them did not answer cannot be compared.
        if done.len() < replayers.len() {
            continue;
        }
        let of = statements.entry(text).or_insert_with_key(|text| Statement {
            text: text.clone(),
            queries: 0,
            seconds: vec![0.0; done.len()],
            reads: vec![0; done.len()],
        });
        of.queries += 1;
        for (n, (seconds, pages)) in done.into_iter().enumerate() {
            times[n].push(seconds);
            reads[n] += pages;
            let now = begin.elapsed().as_secs_f64();
            add_point(&mut over_time[n], now, pages, apart);
            of.seconds[n] += seconds;
            of.reads[n] += pages;
        }
    }
    drop(phase);
    let mut found = Found {
        replayed: times.first().map_or(0, |t| t.len() as u64),
        ..Found::default()
    };
    let measured = times.into_iter().zip(reads).zip(over_time);
    for (replayer, ((mut times, reads), over_time)) in replayers.iter().zip(measured) {
        times.sort_by(f64::total_cmp);
        found.sides.push(Side {
            server: replayer.server.clone(),
            seconds: times.iter().sum::<f64>().max(0.0),
            p50: quantile(&times, 0.5),
            p95: quantile(&times, 0.95),
            p99: quantile(&times, 0.99),
            reads,
            over_time,
            round_trip: replayer.round_trip,
        });
    }
    found.statements = statements.into_values().collect();
    let cost = |s: &Statement| s.seconds.last().copied().unwrap_or(0.0);
    found.statements.sort_by(|a, b| {
        cost(b)
            .total_cmp(&cost(a))
            .then_with(|| a.text.cmp(&b.text))
    });
    found.statements.truncate(STATEMENTS);
    let all = refused.len();
    found.exceptions = (refused.into_iter().take(NAMED))
        .map(|(what, n)| match n {
            1 => what,
            n => format!("{what}: {n} queries"),
        })
        .collect();
    if all > NAMED {
        let rest = format!("and {} more kinds of refusals", all - NAMED);
        found.exceptions.push(rest);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_keep_all_pages() {
        let mut points = vec![(0.0, 0)];
        for n in 1..=10 {
            add_point(&mut points, f64::from(n) * 0.1, 1, 0.25);
        }
        let all = |points: &[(f64, u64)]| points.iter().map(|p| p.1).sum::<u64>();
        assert_eq!(all(&points), 10);
        assert!((3..=6).contains(&points.len()), "{points:?}");
        assert!(
            points.windows(2).all(|two| two[0].0 < two[1].0),
            "{points:?}"
        );
        let before = points.len();
        thin(&mut points);
        assert_eq!((all(&points), points.len()), (10, before.div_ceil(2)));
    }
}
