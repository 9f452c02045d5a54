//! Watches the applier until everything that was to be applied is, or it fails.

use crate::log::LogFiles;
use crate::state::State;
use crate::status;
use base::{Error, Kind, Result, units::printable};
use binlog::gtid::Gtid;
use run::{Phase, Run, failure};
use server::replication::Channel;
use server::{Identity, quote};
use std::time::{Duration, Instant};
use wire::Conn;

/// How often the target is asked, as long as there is much to do, and at the end.
const OFTEN: Duration = Duration::from_millis(100);
const AT_THE_END: Duration = Duration::from_millis(20);
/// How long the target may fail to connect to us.
const CONNECTS: Duration = Duration::from_secs(20);

/// What is watched.
pub(crate) struct Watch<'a> {
    pub(crate) run: &'a Run,
    pub(crate) id: &'a Identity,
    pub(crate) log: &'a dyn LogFiles,
    pub(crate) state: &'a State,
    /// The first byte of the log that is applied, counted as the state counts.
    pub(crate) first: u64,
}

impl Watch<'_> {
    /// Returns when the last transaction is applied.
    pub(crate) fn wait(&self, conn: &mut Conn, phase: &Phase<'_>) -> Result<()> {
        let mut failing_since = None;
        loop {
            self.run.check()?;
            let status = self.look(conn)?;
            let applied = self.state.applied();
            let bytes = self.state.bytes(applied).saturating_sub(self.first);
            phase.counters.bytes.set(bytes);
            if let Some(shown) = status.apply_error {
                let (number, text) = status::first_failure(conn, self.id).unwrap_or(shown);
                return Err(apply_error(number, &text));
            }
            // What cannot be served ends the replay only when everything before it is applied: then it is known where
            // the target stands.
            let sent = self.state.sent();
            let failure = self.state.failure();
            let all = sent.finished || failure.is_some();
            if all && (applied >= sent.whole || self.has(conn, &sent)?) {
                return failure.map_or(Ok(()), Err);
            }
            if !status.applies || !status.receives() && failure.is_none() {
                return Err(stopped(&status));
            }
            match &status.receive_error {
                Some((number, text)) if failure.is_none() => {
                    let since = *failing_since.get_or_insert_with(Instant::now);
                    if !status.receives() || since.elapsed() > CONNECTS {
                        return Err(receive_error(*number, text));
                    }
                }
                _ => failing_since = None,
            }
            self.run.cancel.sleep(if all { AT_THE_END } else { OFTEN });
        }
    }

    /// Reads the status and notes how far everything is applied.
    pub(crate) fn look(&self, conn: &mut Conn) -> Result<Channel> {
        self.note(status::ours(conn, self.id)?)
    }

    fn note(&self, found: Option<Channel>) -> Result<Channel> {
        let status = found.ok_or_else(|| {
            Error::new(
                Kind::Failed,
                "another session has removed the channel of the replay",
            )
        })?;
        if let Some(place) = self
            .state
            .place(self.log, &status.applied.file, status.applied.offset)
        {
            self.state.set_applied(place);
        }
        Ok(status)
    }

    /// Whether the last transaction is applied, for servers that note places only from time to time. They commit in the
    /// log's order, so everything before it is applied too.
    fn has(&self, conn: &mut Conn, sent: &crate::state::Sent) -> Result<bool> {
        let Some(Gtid::MySql(gtid)) = sent.last.as_ref().and_then(|t| t.gtid.clone()) else {
            return Ok(false);
        };
        let set = quote::text(&gtid.to_string());
        let sql = format!("SELECT GTID_SUBSET({set}, @@GLOBAL.gtid_executed)");
        let rows = conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot read the target's GTIDs", e))?;
        Ok(matches!(rows.first().and_then(|r| r.first()), Some(Some(v)) if v == b"1"))
    }

    /// As [`Watch::look`], once the channel is stopped: then the place is exact.
    pub(crate) fn look_at_end(&self, conn: &mut Conn) -> Result<Channel> {
        self.note(status::at_end(conn, self.id)?)
    }
}

/// The server's own words. Where the target stands is added once it is stopped: the transaction that follows is the one
/// that failed.
fn apply_error(number: u64, text: &str) -> Error {
    let text = format!("the target could not apply a transaction: {text} (error {number})");
    let mut e = Error::new(Kind::Failed, printable(&text)).hint(
        "the target's data is not what the log begins with, or not only one server wrote the log; everything before the transaction is applied, and nothing after it",
    );
    e.server_error = u16::try_from(number).ok();
    e
}

fn stopped(status: &Channel) -> Error {
    match &status.receive_error {
        Some((number, text)) => receive_error(*number, text),
        None => Error::new(
            Kind::Failed,
            "another session has stopped the replay's channel on the target",
        ),
    }
}

fn receive_error(number: u64, text: &str) -> Error {
    let text = format!("the target cannot read the log from this host: {text} (error {number})");
    let e = Error::new(Kind::Connection, printable(&text));
    match number {
        2002 | 2003 | 2005 | 2013 => e.hint("the target has to reach this host by TCP, at the address from which this host reaches it: firewalls and containers may prevent that"),
        _ => e,
    }
}
