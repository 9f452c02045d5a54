//! What the application sees, from the server's own counters.
//!
//! On MySQL: the statement histogram of performance_schema, which says how many statements ended and
//! how long they took. Where there is none (MariaDB, an account that may not read it, a server that
//! does not collect it), latency follows from what any account may see: running statements divided by
//! statements per second (Little's law), and from a statement that does nothing, sent many times a
//! second, which waits for a core as the application's statements do.
//!
//! Invariant: the run's own statements, on this connection and on its others, are subtracted.

use super::controller::Sample;
use crate::server_counters;
use server::Identity;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use wire::{Conn, Options};

/// Counters that any account may read.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Threads_running', 'Innodb_history_list_length')";

/// Statements by latency; times are picoseconds.
const HISTOGRAM: &str = "SELECT BUCKET_NUMBER, BUCKET_TIMER_LOW, BUCKET_TIMER_HIGH, COUNT_BUCKET FROM performance_schema.events_statements_histogram_global WHERE COUNT_BUCKET > 0";

/// A statement that does nothing.
const PING: &str = "DO 1";

/// Time between two pings.
const PING_EVERY: Duration = Duration::from_millis(12);

/// Running statements are counted once in this many pings.
const COUNT_EVERY: u32 = 4;

/// Share of the slowest statements that the mean leaves out: the run's own are among them.
const TRIMMED_SHARE: f64 = 0.005;

/// The server's counters at one time.
#[derive(Clone, Debug, Default)]
struct Counters {
    questions: u64,
    running: u64,
    history: Option<u64>,
    /// By number of the bucket: middle in seconds, count.
    buckets: Vec<(u32, f64, u64)>,
}

/// Figures of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// What the application saw.
    pub sample: Sample,
    /// Running statements, without the run's own.
    pub threads_running: u64,
    /// Length of the history list, if it can be read.
    pub history_list: Option<u64>,
}

/// A connection that measures the server.
pub struct Probe {
    conn: Conn,
    histogram: bool,
    /// Why there is no histogram, if there is none.
    no_histogram: Option<String>,
    /// The history list needs its own query.
    history: bool,
    last: (Instant, Counters),
    /// Threads that the server counts as running although they run no statement.
    background_threads: u64,
    /// Statements that the run has sent so far, and until the last reading.
    sent: Arc<AtomicU64>,
    sent_before: u64,
    /// A typical latency, to which the probe's delay is added.
    typical_latency: f64,
}

impl Probe {
    /// Connects; the error is a text.
    pub fn open(options: &Options, id: &Identity) -> Result<Probe, String> {
        let mut options = options.clone();
        options.local_infile = false;
        let mut conn = server::session::connect(&options).map_err(|e| e.to_string())?;
        // The session must not time out, and its reads must not wait for locks.
        for sql in [
            "SET SESSION wait_timeout = 86400",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        ] {
            let _ = conn.execute(sql);
        }
        let (histogram, reason) = if id.is_mysql() {
            match conn.fetch(HISTOGRAM) {
                Ok(rows) if !rows.is_empty() => (true, None),
                Ok(_) => (
                    false,
                    Some("performance_schema collects no statement histogram".to_owned()),
                ),
                Err(e) => (
                    false,
                    Some(format!("the statement histogram may not be read ({e})")),
                ),
            }
        } else {
            (false, Some("MariaDB has no statement histogram".to_owned()))
        };
        let history = id.is_mysql() && server_counters::history_list_length(&mut conn).is_some();
        // The event scheduler counts as a running thread for as long as it exists.
        let scheduler = conn.fetch("SELECT @@global.event_scheduler").ok();
        let scheduler = scheduler.and_then(|rows| text(rows.first()?.first()));
        let daemons = u64::from(scheduler.as_deref() == Some("ON"));
        let mut probe = Probe {
            conn,
            histogram,
            no_histogram: reason,
            history,
            last: (Instant::now(), Counters::default()),
            background_threads: daemons,
            sent: options.statements.clone(),
            sent_before: 0,
            typical_latency: 0.0,
        };
        let raw = probe
            .counters()
            .ok_or("the server does not show its counters")?;
        probe.last = (Instant::now(), raw);
        probe.sent_before = probe.sent.load(Ordering::Relaxed);
        Ok(probe)
    }

    /// How latency is measured, as a text.
    pub fn source(&self) -> String {
        match &self.no_histogram {
            None => "the statement histogram of performance_schema".to_owned(),
            Some(why) => format!("running statements, throughput and a light probe: {why}"),
        }
    }

    /// Whether the server reports the latency of every statement.
    pub fn is_exact(&self) -> bool {
        self.histogram
    }

    /// Measures one interval. `busy` is how many of the running statements are the run's, `passed` its
    /// bytes so far. `None` if the server no longer answers.
    pub fn measure(
        &mut self,
        interval: Duration,
        busy: impl Fn() -> u64,
        passed: impl Fn() -> u64,
        stop: impl Fn() -> bool,
    ) -> Option<Reading> {
        let end = Instant::now() + interval;
        let before = passed();
        let (mut pings, mut delay, mut counts, mut running) = (0u32, 0.0, 0u32, 0.0);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || stop() {
                break;
            }
            if self.histogram {
                std::thread::sleep(left.min(Duration::from_millis(50)));
                continue;
            }
            std::thread::sleep(left.min(PING_EVERY));
            let asked = Instant::now();
            self.conn.execute(PING).ok()?;
            delay += asked.elapsed().as_secs_f64();
            pings += 1;
            if pings.is_multiple_of(COUNT_EVERY) {
                let raw = self.status()?;
                counts += 1;
                running += raw.running.saturating_sub(busy()) as f64;
            }
        }
        let raw = self.counters()?;
        let now = Instant::now();
        let sent = self.sent.load(Ordering::Relaxed);
        let own = sent.saturating_sub(self.sent_before);
        let seconds = (now - self.last.0).as_secs_f64().max(1e-3);
        let others = raw.running.saturating_sub(busy());
        let mut look = Sample {
            seconds,
            statements: raw
                .questions
                .saturating_sub(self.last.1.questions)
                .saturating_sub(own) as f64,
            bytes: passed().saturating_sub(before),
            under_way: others,
            ..Sample::default()
        };
        if self.histogram {
            let moved = bucket_deltas(&self.last.1.buckets, &raw.buckets, own);
            look.statements = moved.iter().map(|(_, n)| *n).sum::<u64>() as f64;
            look.mean = trimmed_mean(&moved);
            look.p95 = quantile(&moved, 0.95);
        } else if look.statements > 0.0 && pings > 0 {
            let under_way = if counts > 0 {
                running / f64::from(counts)
            } else {
                others as f64
            };
            let mean = under_way.max(0.05) * seconds / look.statements;
            self.typical_latency = if self.typical_latency == 0.0 {
                mean
            } else {
                0.98 * self.typical_latency + 0.02 * mean
            };
            look.mean = Some(mean);
            // What a typical statement would take if it were delayed as the probe was.
            look.p95 = Some(self.typical_latency + delay / f64::from(pings));
        }
        let seen = Reading {
            sample: look,
            threads_running: others,
            history_list: raw.history,
        };
        self.last = (now, raw);
        self.sent_before = sent;
        Some(seen)
    }

    fn status(&mut self) -> Option<Counters> {
        let mut raw = Counters::default();
        for (name, value) in server_counters::pairs(&mut self.conn, STATUS)? {
            match (name.as_str(), value.parse().ok()) {
                ("questions", Some(n)) => raw.questions = n,
                // This statement is among them.
                ("threads_running", Some(n)) => {
                    raw.running = u64::saturating_sub(n, 1 + self.background_threads);
                }
                ("innodb_history_list_length", n) => raw.history = n,
                _ => {}
            }
        }
        Some(raw)
    }

    fn counters(&mut self) -> Option<Counters> {
        let mut raw = self.status()?;
        if self.histogram {
            let rows = self.conn.fetch(HISTOGRAM).ok()?;
            raw.buckets = rows.iter().filter_map(|r| bucket(r)).collect();
        }
        if self.history {
            raw.history = server_counters::history_list_length(&mut self.conn);
        }
        Some(raw)
    }
}

fn text(cell: Option<&Option<Vec<u8>>>) -> Option<String> {
    Some(String::from_utf8_lossy(cell?.as_deref()?).into_owned())
}

fn bucket(row: &[Option<Vec<u8>>]) -> Option<(u32, f64, u64)> {
    let number = |at: usize| text(row.get(at))?.parse::<u64>().ok();
    let (low, high) = (number(1)? as f64 / 1e12, number(2)? as f64 / 1e12);
    // The last bucket has no end.
    let middle = if high > 10.0 * low.max(1e-5) {
        low.max(1e-6)
    } else {
        (low + high) / 2.0
    };
    Some((u32::try_from(number(0)?).ok()?, middle, number(3)?))
}

/// The growth of each bucket, in order of latency, without `own` statements of the run.
fn bucket_deltas(from: &[(u32, f64, u64)], to: &[(u32, f64, u64)], own: u64) -> Vec<(f64, u64)> {
    let before: std::collections::HashMap<u32, u64> =
        from.iter().map(|(n, _, count)| (*n, *count)).collect();
    let mut list: Vec<(f64, u64)> = to
        .iter()
        .map(|(n, middle, count)| (*middle, count.saturating_sub(*before.get(n).unwrap_or(&0))))
        .filter(|(_, count)| *count > 0)
        .collect();
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The run's own statements read counters, which takes milliseconds, or chunks, which takes longer,
    // so they are subtracted from the slow end.
    let mut own = own;
    for (_, count) in list.iter_mut().rev() {
        let cut = own.min(*count);
        *count -= cut;
        own -= cut;
        if own == 0 {
            break;
        }
    }
    list.retain(|(_, count)| *count > 0);
    list
}

/// Mean without the slowest few.
fn trimmed_mean(buckets: &[(f64, u64)]) -> Option<f64> {
    let all: u64 = buckets.iter().map(|(_, n)| n).sum();
    let mut left = all as f64 * (1.0 - TRIMMED_SHARE);
    let (mut sum, mut count) = (0.0, 0.0);
    for (middle, n) in buckets {
        let take = (*n as f64).min(left);
        sum += middle * take;
        count += take;
        left -= take;
    }
    (count > 0.0).then(|| sum / count)
}

/// Each bucket is wider than the one before by this factor: the 50th root of ten.
const BUCKET_RATIO: f64 = 1.047_128_5;

/// The value below which this share of all statements lies; inside a bucket they are assumed to be
/// evenly distributed.
fn quantile(buckets: &[(f64, u64)], share: f64) -> Option<f64> {
    let all: u64 = buckets.iter().map(|(_, n)| n).sum();
    let want = all as f64 * share;
    let mut seen = 0.0;
    for (middle, n) in buckets {
        let n = *n as f64;
        if seen + n >= want {
            let place = ((want - seen) / n).clamp(0.0, 1.0);
            return Some(middle * BUCKET_RATIO.powf(place - 0.5));
        }
        seen += n;
    }
    buckets.last().map(|(middle, _)| *middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_gives_count_mean_and_quantile_of_new_statements() {
        let from = [(1, 0.001, 100), (5, 0.010, 4)];
        let to = [(1, 0.001, 1_000), (5, 0.010, 104), (9, 1.0, 1)];
        let new = bucket_deltas(&from, &to, 0);
        assert_eq!(new, [(0.001, 900), (0.010, 100), (1.0, 1)]);
        // The one slow statement is in the half per cent that is trimmed.
        let mean = trimmed_mean(&new).unwrap();
        assert!((mean - 0.0018).abs() < 0.0001, "{mean}");
        let p95 = quantile(&new, 0.95).unwrap();
        assert!((0.0098..=0.0102).contains(&p95), "{p95}");
        // A third of the way into the first bucket.
        assert!((0.00098..0.001).contains(&quantile(&new, 0.3).unwrap()));
        // The probe's own statements are the slow ones.
        assert_eq!(
            bucket_deltas(&from, &to, 3)[..],
            [(0.001, 900), (0.010, 98)]
        );
        assert_eq!(trimmed_mean(&[]), None);
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_last_bucket_counts_at_its_lower_end() {
        let cell = |v: &str| Some(v.as_bytes().to_vec());
        let row = [
            cell("449"),
            cell("1000000000000"),
            cell("30000000000000000"),
            cell("2"),
        ];
        assert_eq!(bucket(&row), Some((449, 1.0, 2)));
        let row = [cell("0"), cell("0"), cell("10000000"), cell("7")];
        let first = bucket(&row).unwrap();
        assert!((first.1 - 5e-6).abs() < 1e-9, "{first:?}");
        assert_eq!(bucket(&[None]), None);
    }
}
