//! Waiting until the new server has applied what its source wrote meanwhile.

use crate::check::Side;
use base::units::{bytes, seconds};
use base::{Error, Kind, Result};
use run::{Run, failure};
use server::replication::{self, Channel, LogPlace};
use std::time::{Duration, Instant};

/// How often both are looked at.
const EVERY: Duration = Duration::from_millis(250);
/// How often it is said how far it is.
const SAID_EVERY: Duration = Duration::from_secs(15);
/// A receiver that has not connected after this long will not.
const CONNECTS_WITHIN: Duration = Duration::from_secs(20);
/// What another attempt does not change: access denied, an unknown host, TLS, a plugin for logging in.
const FINAL: [u64; 6] = [1045, 2005, 2026, 2059, 2061, 1698];

/// How it caught up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaughtUp {
    /// Seconds it took.
    pub seconds: f64,
    /// Bytes of the log behind the copy that are applied.
    pub bytes: u64,
    /// How far it is behind: seconds since the source was where it is now.
    pub behind: f64,
    /// The place.
    pub place: String,
}

/// The channel of the new server.
pub(crate) fn channel(new: &mut Side, name: &str) -> Result<Channel> {
    let all = replication::channels(&mut new.conn, &new.id)
        .map_err(|e| failure::server("cannot read the replication status", e))?;
    all.into_iter().find(|c| c.name == name).ok_or_else(|| {
        Error::new(
            Kind::Target,
            "the channel of the new server is gone: another session has removed it",
        )
    })
}

/// Where the source writes now.
fn source_place(source: &mut Side) -> Result<LogPlace> {
    let position = server::Position::read(&mut source.conn, &source.id)
        .map_err(|e| failure::server("cannot read the source's position", e))?;
    Ok(LogPlace {
        file: position.binlog_file.unwrap_or_default(),
        offset: position.binlog_position.unwrap_or(0),
    })
}

/// Why a channel does not go on, if it does not; `patient`: a receiver may still be connecting.
pub(crate) fn broken(channel: &Channel, patient: bool) -> Option<Error> {
    if let Some((number, text)) = channel.why_not_applied() {
        let what =
            format!("the new server cannot apply the log of its source: {text} (error {number})");
        return Some(
            Error::new(Kind::Failed, base::units::printable(&what)).hint(
                "penstock replica status shows it; penstock replica abort removes what was made",
            ),
        );
    }
    if !channel.applies {
        return Some(Error::new(
            Kind::Failed,
            "the applier of the new server was stopped by another session",
        ));
    }
    let (number, text) = channel.receive_error.as_ref()?;
    let fatal = !channel.receives() || FINAL.contains(number);
    if !fatal && patient {
        return None;
    }
    let what = format!("the new server cannot read the log of its source: {text} (error {number})");
    let hint = match number {
        // Purged, or a GTID that is not there any more.
        1236 | 13114 => {
            "the source has removed what was needed: penstock replica abort, have it keep its binary logs for longer, and begin again"
        }
        1045 => {
            "check from where the account may come (--replication-host); an account of the source without a user name ('') for the new server's host is taken before it: drop that one"
        }
        _ => {
            "check that the new server reaches the source (--source-address), and that the account may come from there (--replication-host)"
        }
    };
    Some(Error::new(Kind::Connection, base::units::printable(&what)).hint(hint))
}

/// Bytes of the source's log between two places.
fn between(logs: &[(String, u64)], from: &LogPlace, to: &LogPlace) -> u64 {
    let mut all = 0u64;
    for (name, size) in logs {
        let begin = LogPlace {
            file: name.clone(),
            offset: 0,
        };
        if begin.order() < (from.file.len(), &from.file, 0) || begin.order() > to.order() {
            continue;
        }
        let end = if *name == to.file { to.offset } else { *size };
        let first = if *name == from.file { from.offset } else { 0 };
        all += end.saturating_sub(first);
    }
    all
}

/// Waits until the new server is no more than `behind` behind its source.
pub(crate) fn catch_up(
    run: &Run,
    source: &mut Side,
    new: &mut Side,
    (name, from): (&str, &LogPlace),
    behind: Duration,
    limit: Duration,
) -> Result<CaughtUp> {
    let begin = Instant::now();
    let of_source = |e| failure::of_server("the source", e);
    let phase = run.phase("catching up", 1);
    // Places of the source, and when it was there.
    let mut seen: std::collections::VecDeque<(Instant, LogPlace)> = Default::default();
    let mut first: Option<u64> = None;
    let (mut said, mut connected) = (Instant::now(), false);
    loop {
        run.check()?;
        let place = source_place(source).map_err(of_source)?;
        let now = Instant::now();
        if seen.back().is_none_or(|(_, last)| *last != place) {
            seen.push_back((now, place.clone()));
        }
        let mut channel =
            channel(new, name).map_err(|e| failure::of_server("the new server", e))?;
        // By GTID it begins to count at the source's first file.
        if channel.applied.order() < from.order() {
            channel.applied = from.clone();
        }
        connected |= channel.is_connected();
        let patient = connected || begin.elapsed() < CONNECTS_WITHIN;
        if let Some(e) = broken(&channel, patient) {
            return Err(e);
        }
        // The newest place of the source that is applied, and since when the source has gone on.
        while seen.len() > 1 && channel.applied.order() >= seen[1].1.order() {
            seen.pop_front();
        }
        let reached = seen
            .front()
            .is_some_and(|(_, at)| channel.applied.order() >= at.order());
        let late = seen.get(1).map_or(Duration::ZERO, |(s, _)| s.elapsed());
        let logs = replication::binary_logs(&mut source.conn)
            .map_err(|e| failure::server("cannot look at its binary logs", e))
            .map_err(of_source)?;
        let left = between(&logs, &channel.applied, &place);
        let all = *first.get_or_insert(left);
        let done = all.saturating_sub(left);
        phase.counters.bytes.set(done);
        phase.counters.bytes_expected.set(all.max(done + left));
        if connected && reached && late <= behind {
            return Ok(CaughtUp {
                seconds: begin.elapsed().as_secs_f64(),
                // An archive of another server has no place in this log.
                bytes: match from.file.is_empty() {
                    true => done,
                    false => between(&logs, from, &channel.applied),
                },
                behind: late.as_secs_f64(),
                place: channel.applied.to_string(),
            });
        }
        if begin.elapsed() > limit {
            if let Some(e) = broken(&channel, false) {
                return Err(e);
            }
            let what = format!(
                "the new server has not caught up within {}: {} of the source's log are left",
                seconds(limit.as_secs_f64()),
                bytes(left)
            );
            return Err(Error::new(Kind::Limit, what)
                .hint("it goes on by itself; penstock replica create … --resume waits on and compares, with a longer --catch-up-timeout"));
        }
        if said.elapsed() >= SAID_EVERY {
            said = Instant::now();
            run.observer.note(progress(left, done, begin.elapsed()));
        }
        std::thread::sleep(EVERY);
    }
}

/// How far it is, and how long it will take as things are.
fn progress(left: u64, done: u64, since: Duration) -> String {
    let rate = done as f64 / since.as_secs_f64().max(0.001);
    let rest = match rate > 1.0 {
        true => format!(", about {} as it goes now", seconds(left as f64 / rate)),
        false => {
            ", and it does not come closer: the source writes as fast as it applies".to_owned()
        }
    };
    format!("{} of the source's log are left{rest}", bytes(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: &str, offset: u64) -> LogPlace {
        LogPlace {
            file: file.into(),
            offset,
        }
    }

    #[test]
    fn bytes_between_places_of_several_files() {
        let logs = [
            ("b.000001".to_owned(), 100),
            ("b.000002".to_owned(), 200),
            ("b.000003".to_owned(), 300),
        ];
        let all = |from, to| between(&logs, &from, &to);
        assert_eq!(
            all(place("b.000001", 40), place("b.000003", 50)),
            60 + 200 + 50
        );
        assert_eq!(all(place("b.000002", 40), place("b.000002", 90)), 50);
        assert_eq!(all(place("b.000003", 50), place("b.000003", 50)), 0);
    }

    #[test]
    fn an_applier_that_failed_is_an_error_at_once() {
        let channel = Channel {
            receiver: "Yes".into(),
            applies: false,
            apply_error: Some((1062, "Duplicate entry".into())),
            ..Channel::default()
        };
        assert!(broken(&channel, true).is_some());
        let connecting = Channel {
            receiver: "Connecting".into(),
            applies: true,
            receive_error: Some((2003, "refused".into())),
            ..Channel::default()
        };
        assert!(broken(&connecting, true).is_none());
        assert!(broken(&connecting, false).is_some());
    }
}
