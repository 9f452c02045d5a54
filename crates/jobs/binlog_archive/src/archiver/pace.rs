//! When to read: close behind the server its log is read in bursts.
//!
//! A server wakes a thread for each group of commits that it sends, and that wakes the archiver: at some hundred commits a second
//! this costs more than the bytes do. While nothing is read the connection fills up, the server's thread waits, and then both
//! move much at once.
//! Invariant: who is behind does not rest. The times of events show it (the caller looks at them), and where the server's clock is
//! ahead the rate does: a server that has more sends on at once.

use std::time::{Duration, Instant};

/// Longest time in which nothing is read.
const LONGEST: Duration = Duration::from_millis(200);
/// Behind a burst is read without rest for this long, to see how much comes.
const LOOK: Duration = Duration::from_millis(10);
/// Bytes a second, above which the archiver may be behind: half of what one core takes in is far above it.
const FAST: f64 = 8e6;

pub(crate) struct Pace {
    rest: Duration,
    /// Since when it is read without rest, and bytes since then; `None` until what came during the last rest is read.
    looking: Option<(Instant, u64)>,
}

impl Pace {
    /// Rests that are short beside `max_age`.
    pub(crate) fn new(max_age: Duration) -> Pace {
        Pace {
            rest: LONGEST.min(max_age / 10),
            looking: None,
        }
    }

    /// Longest time in which nothing is read.
    pub(crate) fn longest(&self) -> Duration {
        self.rest
    }

    /// Bytes came.
    pub(crate) fn took(&mut self, bytes: usize) {
        if let Some((_, seen)) = &mut self.looking {
            *seen += bytes as u64;
        }
    }

    /// Everything that came is read; how long to rest now.
    pub(crate) fn at_end(&mut self, now: Instant) -> Option<Duration> {
        let Some((since, bytes)) = self.looking else {
            self.looking = Some((now, 0));
            return None;
        };
        let seconds = now.saturating_duration_since(since).as_secs_f64();
        if seconds < LOOK.as_secs_f64() {
            return None;
        }
        if bytes as f64 / seconds > FAST {
            self.looking = Some((now, 0));
            return None;
        }
        self.looking = None;
        Some(self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads at a rate for a second, with an empty connection every millisecond; how long it rested.
    fn rested(bytes_a_second: f64) -> Duration {
        let mut pace = Pace::new(Duration::from_secs(10));
        let begin = Instant::now();
        let mut now = begin;
        let mut rested = Duration::ZERO;
        while now < begin + Duration::from_secs(1) {
            now += Duration::from_millis(1);
            pace.took((bytes_a_second / 1000.0) as usize);
            if let Some(rest) = pace.at_end(now) {
                rested += rest;
                now += rest;
            }
        }
        rested
    }

    #[test]
    fn it_rests_unless_much_comes() {
        assert!(rested(0.0) > Duration::from_millis(800));
        assert!(rested(3e6) > Duration::from_millis(800));
        assert_eq!(rested(2e7), Duration::ZERO);
    }

    #[test]
    fn a_rest_is_short_beside_the_age() {
        assert_eq!(Pace::new(Duration::from_secs(10)).longest(), LONGEST);
        let short = Pace::new(Duration::from_millis(100)).longest();
        assert_eq!(short, Duration::from_millis(10));
    }
}
