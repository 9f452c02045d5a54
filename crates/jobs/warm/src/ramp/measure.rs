//! What a ramp looks at: how long queries take, and how much the server reads from disk.

use crate::check::{Outcome, Query, Replayer, quantile};
use base::{Error, Kind, Result};
use run::{Run, failure};
use server::{Identity, session};
use std::time::{Duration, Instant};
use wire::Conn;

/// Time between two queries of a sample: the measurement shall be no load.
const PACE: Duration = Duration::from_millis(20);

/// SELECTs that all sessions have run, and their picoseconds.
const SELECTS: &str = "SELECT COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_statements_summary_global_by_event_name \
                       WHERE EVENT_NAME = 'statement/sql/select'";

/// What an interval showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Seconds of a query: 95 % of the sample took at most that, or the mean of what sessions ran. `None`: nothing ran.
    pub latency: Option<f64>,
    /// Pages that the server read from disk a second because a statement wanted them.
    pub reads: f64,
    /// Why a query of the sample was not answered.
    pub refused: Option<String>,
}

/// Measures a server.
pub enum Meter {
    /// By queries that it sends.
    Sample {
        /// Their session.
        replayer: Box<Replayer>,
        /// The queries, again and again.
        queries: Vec<Query>,
        /// The next one.
        next: usize,
    },
    /// By what performance_schema counts.
    Counted {
        /// A session.
        conn: Box<Conn>,
        /// The counters before, where the server has them.
        before: Option<(u64, u64)>,
    },
}

impl Meter {
    /// By what the server counts; where it does not count what latency is `needed` for, that is refused.
    pub fn counted(mut conn: Conn, id: &Identity, needed: bool) -> Result<Meter> {
        run::connect::prepared(session::for_catalog(&mut conn, id))?;
        let off = || {
            Error::new(
                Kind::Target,
                format!("{id} does not count how long statements take: performance_schema is off or may not be read"),
            )
            .hint("give a sample of queries to measure with: --queries FILE")
        };
        let before = selects(&mut conn).ok().flatten();
        if needed && before.is_none() {
            return Err(off());
        }
        Ok(Meter::Counted {
            conn: Box::new(conn),
            before,
        })
    }

    /// Measures for so long; a stop ends it early.
    pub fn measure(&mut self, run: &Run, interval: Duration) -> Result<Reading> {
        let begin = Instant::now();
        let before = self.pages_read()?;
        let mut reading = match self {
            Meter::Sample {
                replayer,
                queries,
                next,
            } => {
                let mut times = Vec::new();
                let mut refused = None;
                // At least one, however long it takes.
                while times.is_empty() && refused.is_none() || begin.elapsed() < interval {
                    if run.check().is_err() {
                        break;
                    }
                    let Some(query) = queries.get(*next % queries.len().max(1)) else {
                        break;
                    };
                    *next += 1;
                    match replayer.replay(query)? {
                        Outcome::Done(seconds, _) => times.push(seconds),
                        Outcome::Refused(why) => refused = Some(why),
                    }
                    std::thread::sleep(PACE.min(interval));
                }
                times.sort_by(f64::total_cmp);
                Reading {
                    latency: (!times.is_empty()).then(|| quantile(&times, 0.95)),
                    reads: 0.0,
                    refused,
                }
            }
            Meter::Counted { conn, before } => {
                while begin.elapsed() < interval && run.check().is_ok() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                let mut latency = None;
                if let Some((count, time)) = *before {
                    let now = selects(conn)
                        .map_err(|e| failure::wire("cannot read performance_schema", e))?
                        .unwrap_or((count, time));
                    *before = Some(now);
                    // One of them was ours.
                    let count = now.0.saturating_sub(count);
                    let time = now.1.saturating_sub(time) as f64 / 1e12;
                    latency = (count > 1).then(|| time / count as f64);
                }
                Reading {
                    latency,
                    ..Reading::default()
                }
            }
        };
        let pages = self.pages_read()?.saturating_sub(before);
        reading.reads = pages as f64 / begin.elapsed().as_secs_f64().max(1e-3);
        Ok(reading)
    }

    fn pages_read(&mut self) -> Result<u64> {
        match self {
            Meter::Sample { replayer, .. } => replayer.pages_read(),
            Meter::Counted { conn, .. } => crate::check::pages_read(conn),
        }
    }
}

fn selects(conn: &mut Conn) -> Result<Option<(u64, u64)>, wire::Error> {
    let rows = conn.fetch(SELECTS)?;
    let number = |at: usize| -> Option<u64> {
        let cell = rows.first()?.get(at)?.as_deref()?;
        std::str::from_utf8(cell).ok()?.parse().ok()
    };
    Ok(number(0).zip(number(1)))
}
