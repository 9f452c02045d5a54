//! How the archive stands to the server, for whoever watches: how far it is behind, what could be lost now, and when the last event was written.

use base::units::seconds;
use base::{Event, Observer, Standing};
use std::time::{Duration, Instant};

/// Names in `--json`; metrics are made of them.
pub const LAG: &str = "lag_seconds";
/// Age of the oldest byte that is not stored; while there is no connection, of the last sign of life.
pub const AT_RISK: &str = "at_risk_seconds";
/// When the last event was written, by the server's clock: seconds since 1970.
pub const LAST_EVENT: &str = "last_event_time";
/// 1 while commits of the source wait for the archive, 0 while they should and do not.
pub const WAITS: &str = "commits_wait";
/// 1 while the server is followed, else 0.
pub const CONNECTED: &str = "connected";

/// It is reported this often.
const EVERY: Duration = Duration::from_millis(500);

pub(crate) struct Standings {
    reported: Option<Instant>,
    /// The last event or heartbeat.
    heard: Instant,
    /// When the event was written that came since the clock was looked at last.
    came: Option<u32>,
    lag: Option<f64>,
    last_event: Option<u32>,
    connected: bool,
    waits: Option<bool>,
}

impl Standings {
    pub(crate) fn new() -> Standings {
        Standings {
            reported: None,
            heard: Instant::now(),
            came: None,
            lag: None,
            last_event: None,
            connected: false,
            waits: None,
        }
    }

    /// Whether commits of the source wait for the archive.
    pub(crate) fn waits(&mut self, waits: bool) {
        self.waits = Some(waits);
    }

    /// An event of the log. The clock is looked at later, once for many of them.
    pub(crate) fn event(&mut self, timestamp: u32) {
        // Events that servers make themselves have none.
        if timestamp > 0 || self.came.is_none() {
            self.came = Some(timestamp);
        }
    }

    fn look(&mut self) {
        let Some(timestamp) = self.came.take() else {
            return;
        };
        self.alive();
        if timestamp > 0 {
            self.last_event = Some(timestamp);
            let now = jiff::Timestamp::now().as_millisecond() as f64 / 1000.0;
            self.lag = Some((now - f64::from(timestamp)).max(0.0));
        }
    }

    /// The server has nothing more to send.
    pub(crate) fn idle(&mut self) {
        self.look();
        self.alive();
        self.lag = Some(0.0);
    }

    fn alive(&mut self) {
        self.heard = Instant::now();
        self.connected = true;
    }

    /// Whether the archive is close behind the server, as its clock and this one say it: times of events are whole seconds.
    pub(crate) fn is_near(&self) -> bool {
        self.lag.is_some_and(|lag| lag < 2.0)
    }

    /// The connection is lost.
    pub(crate) fn lost(&mut self) {
        self.look();
        self.connected = false;
        self.waits = self.waits.map(|_| false);
        self.lag = None;
        self.reported = None;
    }

    /// Reports it, if that is due; `unstored` is the age of the oldest byte that is not stored.
    pub(crate) fn report(&mut self, observer: &dyn Observer, unstored: Option<Duration>) {
        self.look();
        if self.reported.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.reported = Some(Instant::now());
        let silent = (!self.connected).then(|| self.heard.elapsed());
        let at_risk = unstored.max(silent).unwrap_or_default().as_secs_f64();
        let lag = match self.lag {
            Some(lag) => format!("{} behind", seconds(lag)),
            None => "not connected".to_owned(),
        };
        let last = self.last_event.map_or_else(String::new, |t| {
            let at = jiff::Timestamp::from_second(i64::from(t));
            at.map_or_else(|_| String::new(), |at| format!(", last event of {at}"))
        });
        let mut values = vec![
            (AT_RISK, at_risk),
            (CONNECTED, f64::from(u8::from(self.connected))),
        ];
        values.extend(self.waits.map(|waits| (WAITS, f64::from(u8::from(waits)))));
        values.extend(self.lag.map(|lag| (LAG, lag)));
        values.extend(self.last_event.map(|t| (LAST_EVENT, f64::from(t))));
        observer.event(Event::Standing(Standing {
            text: format!("{lag}, {} at risk{last}", seconds(at_risk)),
            values,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Last(Mutex<Standing>);

    impl Observer for Last {
        fn event(&self, event: Event) {
            if let Event::Standing(standing) = event {
                *base::lock(&self.0) = standing;
            }
        }
    }

    #[test]
    fn what_could_be_lost_is_said() {
        let last = Last::default();
        let value = |name: &str| {
            let all = base::lock(&last.0).values.clone();
            all.into_iter().find(|(n, _)| *n == name).map(|(_, v)| v)
        };
        let mut standings = Standings::new();
        standings.event(1_000_000_000);
        standings.report(&last, Some(Duration::from_secs(4)));
        assert_eq!(value(AT_RISK), Some(4.0));
        assert_eq!(value(LAST_EVENT), Some(1_000_000_000.0));
        assert!(value(LAG).is_some_and(|l| l > 1e8));
        standings.idle();
        standings.reported = None;
        standings.report(&last, None);
        assert_eq!(
            (value(LAG), value(AT_RISK), value(CONNECTED)),
            (Some(0.0), Some(0.0), Some(1.0))
        );
        standings.lost();
        standings.report(&last, None);
        assert_eq!((value(LAG), value(CONNECTED)), (None, Some(0.0)));
        assert!(value(AT_RISK).is_some_and(|r| r > 0.0));
    }
}
