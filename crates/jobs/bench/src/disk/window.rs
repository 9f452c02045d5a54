//! The time that is measured, and what happened in it: operations, their latencies, and the rate over time.

use base::{Counters, Error, Kind, Result};
use hdrhistogram::Histogram;
use run::Run;
use std::time::{Duration, Instant};

/// Two halves of a window, or two runs, that differ by more than this differ for a reason.
pub const STEADY: f64 = 0.10;

/// The spread of runs from which on a machine is called noisy.
pub const NOISE: f64 = 0.10;

/// Intervals of the rate over time that a window has about.
const INTERVALS: u32 = 40;

/// Intervals are not shorter than this: fewer operations make no rate.
const LEAST_INTERVAL: Duration = Duration::from_millis(50);

/// The longest latency that is told from longer ones, in nanoseconds.
const LONGEST: u64 = 600_000_000_000;

/// The time that is measured, after a ramp that is not.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// When the measurement begins.
    pub begin: Instant,
    /// When no more operations begin.
    pub end: Instant,
}

impl Window {
    /// Begins now, with the ramp.
    pub fn new(ramp: Duration, measure: Duration) -> Window {
        let begin = Instant::now() + ramp;
        Window {
            begin,
            end: begin + measure,
        }
    }

    /// The same without a ramp, for what begins with an empty file.
    pub fn at_once(self) -> Window {
        Window {
            begin: Instant::now(),
            end: Instant::now() + (self.end - self.begin),
        }
    }

    /// Whether it is over, or the run is to stop.
    pub fn is_over(&self, run: &Run) -> bool {
        Instant::now() >= self.end || run.cancel.is_raised()
    }

    fn interval(&self) -> Duration {
        ((self.end - self.begin) / INTERVALS).max(LEAST_INTERVAL)
    }
}

/// What one thread did in a window.
pub struct Tally {
    window: Window,
    interval: Duration,
    /// Latencies in nanoseconds.
    pub latencies: Histogram<u64>,
    /// Units that were done in each interval.
    pub intervals: Vec<u64>,
    /// Units that were done: operations, or what one of them holds.
    pub units: u64,
    /// Bytes that were read or written.
    pub bytes: u64,
}

/// A histogram for latencies: two digits, as more would not be repeatable.
pub fn histogram() -> Result<Histogram<u64>> {
    Histogram::new_with_bounds(1_000, LONGEST, 2)
        .map_err(|e| Error::new(Kind::Internal, format!("no histogram: {e}")))
}

impl Tally {
    /// Nothing yet.
    pub fn new(window: Window) -> Result<Tally> {
        Ok(Tally {
            window,
            interval: window.interval(),
            latencies: histogram()?,
            intervals: Vec::new(),
            units: 0,
            bytes: 0,
        })
    }

    /// An operation that began then has ended now; one that ended during the ramp does not count.
    pub fn done(&mut self, began: Instant, units: u64, bytes: u64) {
        let now = Instant::now();
        if now < self.window.begin {
            return;
        }
        let took = now.saturating_duration_since(began).as_nanos();
        self.latencies
            .saturating_record(u64::try_from(took).unwrap_or(LONGEST));
        self.units += units;
        self.bytes += bytes;
        let at = (now - self.window.begin).as_nanos() / self.interval.as_nanos().max(1);
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(1 << 16);
        if self.intervals.len() <= at {
            self.intervals.resize(at + 1, 0);
        }
        self.intervals[at] += units;
    }

    /// With what another thread did.
    #[must_use]
    pub fn and(mut self, other: &Tally) -> Tally {
        // Both have the same bounds.
        let _ = self.latencies.add(&other.latencies);
        self.units += other.units;
        self.bytes += other.bytes;
        if self.intervals.len() < other.intervals.len() {
            self.intervals.resize(other.intervals.len(), 0);
        }
        for (a, b) in self.intervals.iter_mut().zip(&other.intervals) {
            *a += b;
        }
        self
    }

    /// Of several threads.
    pub fn sum(window: Window, all: &[Tally]) -> Result<Tally> {
        let empty = Tally::new(window)?;
        Ok(all.iter().fold(empty, Tally::and))
    }

    /// The rate over time: seconds since the window's beginning, and units per second, up to the window's end or to
    /// `until`, if that was earlier. Operations that were under way then are in no interval.
    pub fn curve(&self, until: f64) -> Vec<(f64, f64)> {
        let length = (self.window.end - self.window.begin).as_secs_f64();
        let each = self.interval.as_secs_f64();
        let whole = ((length.min(until) + 1e-6) / each).floor() as usize;
        let of = |i: usize| self.intervals.get(i).copied().unwrap_or(0) as f64;
        (0..whole.min(1 << 16))
            .map(|i| ((i as f64 + 0.5) * each, of(i) / each))
            .collect()
    }

    /// Seconds since the window's beginning.
    pub fn elapsed(&self) -> f64 {
        self.window.begin.elapsed().as_secs_f64()
    }
}

/// How much more, or less, the second half of a curve is than the first; `None` for too short a curve.
pub fn change_of_halves(curve: &[(f64, f64)]) -> Option<f64> {
    const FEWEST: usize = 8;
    if curve.len() < FEWEST {
        return None;
    }
    let (a, b) = curve.split_at(curve.len() / 2);
    let mean = |half: &[(f64, f64)]| half.iter().map(|p| p.1).sum::<f64>() / half.len() as f64;
    let (a, b) = (mean(a), mean(b));
    (a > 0.0).then(|| b / a - 1.0)
}

/// Waits for the rate limit; then counts the bytes for the screen. An error if the run is to stop.
pub fn pass(run: &Run, counters: &Counters, n: usize) -> Result<()> {
    let mut passed = 0;
    while passed < n {
        run.check()?;
        match run.disk_limiter.acquire(n - passed) {
            0 => return Err(run.interrupted()),
            some => passed += some,
        }
    }
    counters.bytes.add(n as u64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_compared() {
        let flat: Vec<(f64, f64)> = (0..20).map(|i| (f64::from(i), 100.0)).collect();
        assert_eq!(change_of_halves(&flat), Some(0.0));
        let mut falls = flat.clone();
        falls.iter_mut().skip(10).for_each(|p| p.1 = 50.0);
        assert_eq!(change_of_halves(&falls), Some(-0.5));
        assert_eq!(change_of_halves(&flat[..4]), None);
    }

    #[test]
    fn a_ramp_does_not_count() {
        let now = Instant::now();
        let ahead = Window {
            begin: now + Duration::from_secs(60),
            end: now + Duration::from_secs(61),
        };
        let mut tally = Tally::new(ahead).unwrap();
        tally.done(now, 1, 10);
        assert_eq!((tally.units, tally.bytes), (0, 0));
        let open = Window {
            begin: now,
            end: now + Duration::from_secs(60),
        };
        let mut tally = Tally::new(open).unwrap();
        tally.done(now, 1, 10);
        let both = Tally::sum(open, &[tally, Tally::new(open).unwrap()]).unwrap();
        assert_eq!((both.units, both.bytes, both.latencies.len()), (1, 10, 1));
        assert!(both.curve(60.0).len() == 40 && both.curve(3.1).len() == 2);
    }
}
