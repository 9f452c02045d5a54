//! How fast something goes lately, and when it will be through: over the last
//! seconds, not since the beginning, so that a changed limit is soon seen.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What "lately" means.
const WINDOW: Duration = Duration::from_secs(10);

/// Least time between two marks that are kept.
const STEP: Duration = Duration::from_millis(250);

/// Marks of a number that grows.
#[derive(Debug, Default)]
pub struct Pace(VecDeque<(Instant, u64)>);

impl Pace {
    /// Begins at this moment.
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
        // One mark from before the window stays, so that it is covered whole.
        while self
            .0
            .get(1)
            .is_some_and(|(at, _)| now.saturating_duration_since(*at) >= WINDOW)
        {
            self.0.pop_front();
        }
    }

    /// So many in a second, lately, if it is `n` now; `None` before there is anything to judge by.
    pub fn rate(&self, now: Instant, n: u64) -> Option<f64> {
        let (at, before) = self.0.front()?;
        let time = now.saturating_duration_since(*at);
        // What was sent in vain is taken back: the number can fall.
        (time >= Duration::from_secs(1))
            .then(|| n.saturating_sub(*before) as f64 / time.as_secs_f64())
    }

    /// Seconds until it is `all`.
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
