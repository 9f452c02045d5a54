//! The runs of each pattern put together: median and spread, latencies, the rate over time, what was not steady.
//!
//! [`Volume`] is all that is known about a directory; a forecast can read it.

use super::Settled;
use super::pattern::Pattern;
use super::place::Place;
use super::window::{NOISE, STEADY, Tally, change_of_halves};
use hdrhistogram::Histogram;
use run::file_system::FileSystem;
use std::path::PathBuf;
use std::time::Duration;

/// One run of one pattern.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Units per second, the last sync included.
    pub rate: f64,
    /// How long it took, the last sync included.
    pub seconds: f64,
    /// Bytes that were read or written.
    pub bytes: u64,
    /// Latencies of the operations, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// Units per second over time.
    pub curve: Vec<(f64, f64)>,
    /// How much more the second half was than the first.
    pub change: Option<f64>,
    /// Other figures, by name.
    pub more: Vec<(&'static str, f64)>,
}

impl Measured {
    /// Of what was counted; operations ended at `elapsed`, and the last sync at `all`, in seconds.
    pub fn new(tally: Tally, elapsed: f64, all: f64) -> Measured {
        let curve = tally.curve(elapsed);
        Measured {
            rate: tally.units as f64 / all.max(1e-6),
            seconds: all,
            bytes: tally.bytes,
            change: change_of_halves(&curve),
            curve,
            latencies: tally.latencies,
            more: Vec::new(),
        }
    }

    /// With another figure.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: f64) -> Measured {
        self.more.push((name, value));
        self
    }
}

/// Median, least and most of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The one in the middle.
    pub median: f64,
    /// Least.
    pub low: f64,
    /// Most.
    pub high: f64,
}

impl Spread {
    /// Of runs; `None` without any.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let (a, b) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Spread {
            median: f64::midpoint(a, b),
            low,
            high,
        })
    }

    /// Multiplied.
    #[must_use]
    pub fn times(self, factor: f64) -> Spread {
        Spread {
            median: self.median * factor,
            low: self.low * factor,
            high: self.high * factor,
        }
    }

    /// How far apart the runs are, as a share of the median.
    pub fn width(self) -> f64 {
        (self.high - self.low) / self.median.max(1e-12)
    }
}

/// Latencies of all runs of a pattern, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Half took no longer.
    pub p50: f64,
    /// 95 % took no longer.
    pub p95: f64,
    /// 99 % took no longer.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// A part of a histogram of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// From this many seconds …
    pub from: f64,
    /// … to this many.
    pub to: f64,
    /// The share of all operations.
    pub share: f64,
}

/// The runs of one pattern.
#[derive(Clone, Debug)]
struct Runs {
    pattern: Pattern,
    runs: Vec<Measured>,
    ended: Vec<Duration>,
}

/// What is known about a directory.
#[derive(Clone, Debug)]
pub struct Volume {
    /// What it is called: its path, and what a server has there.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// What it is on.
    pub file_system: FileSystem,
    /// Bytes of the file that was read and written.
    pub size: u64,
    /// Whether the page cache was gone around.
    pub direct: bool,
    runs: Vec<Runs>,
    settled: Vec<(Pattern, Settled)>,
}

/// The bound of the first bucket of latencies, in nanoseconds; each of the others is twice the one before.
const FIRST_BUCKET: u64 = 16_000;

impl Volume {
    pub(super) fn new(place: &Place, size: u64) -> Volume {
        Volume {
            name: place.name(),
            path: place.path().to_owned(),
            file_system: place.file_system.clone(),
            size,
            direct: false,
            runs: Vec::new(),
            settled: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, pattern: Pattern, measured: Measured, ended: Duration) {
        match self.runs.iter_mut().find(|r| r.pattern == pattern) {
            Some(runs) => {
                runs.runs.push(measured);
                runs.ended.push(ended);
            }
            None => self.runs.push(Runs {
                pattern,
                runs: vec![measured],
                ended: vec![ended],
            }),
        }
    }

    pub(super) fn settled(&mut self, pattern: Pattern, settled: Settled) {
        self.settled.push((pattern, settled));
    }

    /// How long a pattern was done until it was steady; none if that was not waited for.
    pub fn settled_after(&self, pattern: Pattern) -> Option<Settled> {
        let found = self.settled.iter().find(|(p, _)| *p == pattern);
        found.map(|(_, settled)| *settled)
    }

    /// Whether the rate of a pattern may be relied on: there are several runs, and they agree more or less.
    pub fn is_reliable(&self, pattern: Pattern) -> bool {
        const RUNS: usize = 3;
        const WIDTH: f64 = 0.5;
        let width = self.spread(pattern).map(Spread::width);
        self.runs(pattern).len() >= RUNS && width.is_some_and(|w| w <= WIDTH)
    }

    /// Whether the runs of a pattern were steady; none if they were too short to see it.
    pub fn is_steady(&self, pattern: Pattern) -> Option<bool> {
        let runs = self.runs(pattern);
        let seen = !runs.is_empty() && runs.iter().all(|m| m.change.is_some());
        match self.unsteady(pattern).is_empty() {
            false => Some(false),
            true => seen.then_some(true),
        }
    }

    /// The patterns that were measured, in their order.
    pub fn patterns(&self) -> impl Iterator<Item = Pattern> + '_ {
        self.runs.iter().map(|r| r.pattern)
    }

    /// The runs of a pattern.
    pub fn runs(&self, pattern: Pattern) -> &[Measured] {
        let found = self.runs.iter().find(|r| r.pattern == pattern);
        found.map_or(&[], |r| &r.runs)
    }

    /// When each run of a pattern ended, since the benchmark began.
    pub fn ended(&self, pattern: Pattern) -> &[Duration] {
        let found = self.runs.iter().find(|r| r.pattern == pattern);
        found.map_or(&[], |r| &r.ended)
    }

    /// The rate of each run.
    pub fn rates(&self, pattern: Pattern) -> Vec<f64> {
        self.runs(pattern).iter().map(|m| m.rate).collect()
    }

    /// Median and spread of the rates.
    pub fn spread(&self, pattern: Pattern) -> Option<Spread> {
        Spread::of(&self.rates(pattern))
    }

    /// The latencies of all runs.
    pub fn histogram(&self, pattern: Pattern) -> Option<Histogram<u64>> {
        let mut runs = self.runs(pattern).iter();
        let mut all = runs.next()?.latencies.clone();
        for m in runs {
            // All have the same bounds.
            let _ = all.add(&m.latencies);
        }
        (!all.is_empty()).then_some(all)
    }

    /// Latencies of all runs.
    pub fn latency(&self, pattern: Pattern) -> Option<Latency> {
        let all = self.histogram(pattern)?;
        let at = |q: f64| all.value_at_quantile(q) as f64 / 1e9;
        Some(Latency {
            mean: all.mean() / 1e9,
            p50: at(0.50),
            p95: at(0.95),
            p99: at(0.99),
            max: all.max() as f64 / 1e9,
        })
    }

    /// The histogram of the latencies of all runs, without empty ends.
    pub fn buckets(&self, pattern: Pattern) -> Vec<Bucket> {
        let Some(all) = self.histogram(pattern) else {
            return Vec::new();
        };
        let mut buckets = Vec::new();
        let (mut from, mut to, mut seen) = (0, FIRST_BUCKET, 0);
        while seen < all.len() {
            let below = match to > all.high() {
                true => all.len(),
                false => all.count_between(0, to),
            };
            buckets.push(Bucket {
                from: from as f64 / 1e9,
                to: to as f64 / 1e9,
                share: (below - seen) as f64 / all.len() as f64,
            });
            (from, to, seen) = (to, to * 2, below);
        }
        let empty = buckets.iter().take_while(|b| b.share == 0.0).count();
        buckets.drain(..empty);
        buckets
    }

    /// How far apart the runs of a pattern are, if that is more than [`NOISE`]; there have to be two.
    pub fn noise(&self, pattern: Pattern) -> Option<f64> {
        let several = self.runs(pattern).len() > 1;
        let width = self.spread(pattern)?.width();
        (several && width > NOISE).then_some(width)
    }

    /// Runs whose second half differs by more than [`STEADY`] from their first: by how much.
    pub fn unsteady(&self, pattern: Pattern) -> Vec<f64> {
        let changes = self.runs(pattern).iter().filter_map(|m| m.change);
        changes.filter(|c| c.abs() > STEADY).collect()
    }

    /// A figure of a pattern by its name, of each run.
    pub fn more(&self, pattern: Pattern, name: &str) -> Vec<f64> {
        let of = |m: &Measured| m.more.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        self.runs(pattern).iter().filter_map(of).collect()
    }

    /// The rate over the time that was measured, one run after the other; a gap between two.
    pub fn curve(&self, pattern: Pattern) -> Vec<(f64, Option<f64>)> {
        let mut points = Vec::new();
        let mut begin = 0.0;
        for m in self.runs(pattern) {
            if begin > 0.0 {
                points.push((begin, None));
            }
            points.extend(m.curve.iter().map(|(t, v)| (begin + t, Some(*v))));
            begin += m.seconds;
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::Window;
    use super::*;
    use std::time::Instant;

    fn volume(rates: &[f64]) -> Volume {
        let window = Window {
            begin: Instant::now(),
            end: Instant::now() + Duration::from_secs(1),
        };
        let mut v = Volume {
            name: "/a".to_owned(),
            path: "/a".into(),
            file_system: FileSystem::default(),
            size: 1,
            direct: true,
            runs: Vec::new(),
            settled: Vec::new(),
        };
        for rate in rates {
            let mut tally = Tally::new(window).unwrap();
            for us in [20, 30, 700, 5000] {
                tally.latencies.record(us * 1000).unwrap();
            }
            let mut m = Measured::new(tally, 1.0, 1.0);
            m.rate = *rate;
            v.add(Pattern::Read, m, Duration::ZERO);
        }
        v
    }

    #[test]
    fn runs_have_a_median_a_spread_and_noise() {
        assert_eq!(Spread::of(&[]), None);
        let s = Spread::of(&[4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((s.median, s.low, s.high), (2.5, 1.0, 4.0));
        assert_eq!(volume(&[100.0, 104.0]).noise(Pattern::Read), None);
        assert!(volume(&[100.0, 120.0]).noise(Pattern::Read) > Some(0.1));
        assert_eq!(volume(&[100.0]).noise(Pattern::Read), None);
        assert_eq!(volume(&[]).spread(Pattern::Read), None);
    }

    #[test]
    fn a_histogram_has_all_operations() {
        let v = volume(&[1.0, 2.0]);
        let buckets = v.buckets(Pattern::Read);
        assert!((buckets.iter().map(|b| b.share).sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(buckets[0].share, 0.5, "{buckets:?}");
        assert!(buckets.last().unwrap().to > 0.005);
        let l = v.latency(Pattern::Read).unwrap();
        assert!(l.p50 <= l.p95 && l.p99 <= l.max, "{l:?}");
        let curve = v.curve(Pattern::Read);
        assert_eq!(curve.iter().filter(|p| p.1.is_none()).count(), 1);
    }
}
