//! The recent rate of a counter, and the remaining time: over the last seconds,
//! not since the start, so that a changed limit shows soon.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The period of the rate.
const WINDOW: Duration = Duration::from_secs(10);

/// Least time between two samples.
const STEP: Duration = Duration::from_millis(250);

/// Samples of a growing number.
#[derive(Debug, Default)]
pub struct Pace(VecDeque<(Instant, u64)>);

impl Pace {
    /// Starts now.
    pub fn new(now: Instant) -> Pace {
        Pace(VecDeque::from([(now, 0)]))
    }

    /// The number now. Called at least every few seconds.
    pub fn mark(&mut self, now: Instant, n: u64) {
        if self
            .0
            .back()
            .is_none_or(|(at, _)| now.saturating_duration_since(*at) >= STEP)
        {
            self.0.push_back((now, n));
        }
        // One sample from before the period stays, so that the period is covered.
        while self
            .0
            .get(1)
            .is_some_and(|(at, _)| now.saturating_duration_since(*at) >= WINDOW)
        {
            self.0.pop_front();
        }
    }

    /// The recent rate per second if the number is `n` now; `None` before there are samples.
    pub fn rate(&self, now: Instant, n: u64) -> Option<f64> {
        let (at, before) = self.0.front()?;
        let time = now.saturating_duration_since(*at);
        // Bytes of a failed attempt are subtracted: the number can fall.
        (time >= Duration::from_secs(1))
            .then(|| n.saturating_sub(*before) as f64 / time.as_secs_f64())
    }

    /// Seconds until the number is `all`.
    pub fn eta(&self, now: Instant, n: u64, all: u64) -> Option<f64> {
        let rate = self.rate(now, n).filter(|r| *r > 0.0)?;
        (all > n).then(|| (all - n) as f64 / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_seconds_count() {
        let start = Instant::now();
        let at = |s: u64| start + Duration::from_secs(s);
        let mut pace = Pace::new(start);
        assert_eq!((pace.rate(start, 0), pace.eta(start, 0, 9)), (None, None));
        for s in 1..=60 {
            pace.mark(at(s), s * 1000);
        }
        assert_eq!(pace.rate(at(60), 60_000), Some(1000.0));
        assert_eq!(pace.eta(at(60), 60_000, 70_000), Some(10.0));
        for s in 61..=80 {
            pace.mark(at(s), 60_000);
        }
        assert_eq!(pace.rate(at(80), 60_000), Some(0.0));
        assert_eq!(pace.eta(at(80), 60_000, 70_000), None);
        assert_eq!(pace.rate(at(80), 10), Some(0.0), "it fell");
    }
}
