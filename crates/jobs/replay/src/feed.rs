//! Sends a log to one connection of the replica: from the place that it asks for up to the stop, and not a byte more.
//!
//! Invariants: every event is verified before it is sent; what is sent is what is stored, but for the three events that
//! a source makes itself; after the stop only heartbeats follow. Reading ahead of the applier is bounded, so that relay
//! logs do not fill the target's disk; but a transaction that has begun is always sent whole.

use crate::log::{FIRST, LogFiles, Place, broken, named};
use crate::state::State;
use base::{Cancel, Error, Kind};
use binlog::gtid::Executed;
use binlog::{Boundaries, Checksum, Event, Mark, made};
use std::io::{self, BufReader};
use std::time::{Duration, Instant};
use wire::serve::Sender;

/// How long to sleep where there is nothing to send.
const MOMENT: Duration = Duration::from_millis(10);
/// Silence after which a heartbeat is sent, if the replica does not ask for more.
const SILENCE: Duration = Duration::from_secs(1);
/// What is read at once.
const READ: usize = 1 << 20;
/// A transaction up to this size is sent only when it is whole. MySQL's applier waits a minute for the rest of one that
/// it has begun.
const HELD: usize = 16 << 20;

/// What is sent, and how.
pub(crate) struct Feed<'a> {
    pub(crate) log: &'a dyn LogFiles,
    pub(crate) state: &'a State,
    pub(crate) from: Place,
    pub(crate) to: Place,
    /// Transactions that the target has, and does not recognize by itself.
    pub(crate) executed: Option<&'a Executed>,
    /// The number of the server that we claim to be.
    pub(crate) server_id: u32,
    /// The number of the target, whose events it would ignore.
    pub(crate) target_id: u32,
    /// Most bytes that are sent and not applied.
    pub(crate) ahead: u64,
    pub(crate) cancel: &'a Cancel,
}

/// Why a connection is not served any longer.
pub(crate) enum Ended {
    /// The replica hung up; it may come again.
    Connection(io::Error),
    /// The log cannot be served.
    Log(Error),
}

impl From<io::Error> for Ended {
    fn from(e: io::Error) -> Ended {
        Ended::Connection(e)
    }
}

impl From<Error> for Ended {
    fn from(e: Error) -> Ended {
        Ended::Log(e)
    }
}

/// One connection.
struct Link<'a, 'b> {
    feed: &'a Feed<'b>,
    sender: &'a mut Sender,
    checksum: Checksum,
    /// The end of the last event that was sent.
    sent: Place,
    spoke: Instant,
    silence: Duration,
    /// Events of a transaction that is not whole yet, and where each ends.
    held: Vec<u8>,
    ends: Vec<usize>,
}

impl Feed<'_> {
    /// Serves one connection until the replica hangs up or a stop is requested.
    pub(crate) fn serve(
        &self,
        sender: &mut Sender,
        from: Place,
        checksum: Checksum,
        heartbeat: Option<Duration>,
    ) -> Result<(), Ended> {
        let mut link = Link {
            feed: self,
            sender,
            checksum,
            sent: from,
            spoke: Instant::now(),
            silence: heartbeat.map_or(SILENCE, |h| (h / 2).min(SILENCE)),
            held: Vec::new(),
            ends: Vec::new(),
        };
        for file in from.file..=self.to.file {
            let start = if file == from.file {
                from.offset
            } else {
                FIRST
            };
            link.file(file, start)?;
        }
        self.state.finish();
        loop {
            link.idle()?;
        }
    }
}

impl Link<'_, '_> {
    fn file(&mut self, index: usize, start: u64) -> Result<(), Ended> {
        let (log, state) = (self.feed.log, self.feed.state);
        let at = |offset| Place {
            file: index,
            offset,
        };
        let fail = |offset, why: &dyn std::fmt::Display| Ended::Log(broken(log, at(offset), why));
        let open = |offset| {
            log.open(index, offset)
                .map(|r| BufReader::with_capacity(READ, r))
                .map_err(|e| fail(offset, &e))
        };
        let mut file = binlog::file::File::open(open(0)?).map_err(|e| fail(0, &e))?;
        let description = match file.next().map_err(|e| fail(FIRST, &e))? {
            Some((_, event)) if event.header.kind == binlog::kind::FORMAT_DESCRIPTION => {
                made::description(event.bytes(), start <= FIRST).map_err(|e| fail(FIRST, &e))?
            }
            _ => return Err(fail(FIRST, &"it does not begin with a format description")),
        };
        let name = &log.files()[index].name;
        // Under the checksums of the file before: the replica learns of others from the description.
        let rotation = made::rotate(self.feed.server_id, name, start, self.checksum);
        self.sender.event(&rotation)?;
        self.sender.event(&description)?;
        self.checksum = file.description().checksum;
        if start > file.position() {
            file = binlog::file::File::from(open(start)?, start, file.description().clone());
        }
        self.sent = at(start.max(FIRST));
        if start <= FIRST {
            self.sent = at(file.position());
        }
        state.sent_event(self.sent);

        let last = index == self.feed.to.file;
        let limit = if last { self.feed.to.offset } else { u64::MAX };
        let mut boundaries = Boundaries::new();
        // A transaction that the target has is being left out.
        let mut skipping = false;
        let mut skipped = false;
        while file.position() < limit {
            let here = file.position();
            let Some((offset, event)) = file.next().map_err(|e| fail(here, &e))? else {
                break;
            };
            let end = offset + event.bytes().len() as u64;
            if end > limit {
                let why = format!("the stop at {limit} is within an event");
                return Err(fail(offset, &why));
            }
            self.check(&event, end).map_err(|why| fail(offset, &why))?;
            let mark = boundaries
                .take(offset, &event)
                .map_err(|e| fail(offset, &e))?;
            if let Some(begun) = boundaries.begun().filter(|b| b.start == offset) {
                if let (Some(executed), Some(gtid)) = (self.feed.executed, &begun.gtid) {
                    skipping = executed.contains(gtid);
                }
                if !skipping {
                    self.wait_for_room()?;
                }
            }
            if skipping {
                skipped = true;
                if mark == Mark::End {
                    skipping = false;
                    state.skipped();
                }
                continue;
            }
            if std::mem::take(&mut skipped) {
                // The replica counts bytes; this tells it where it is.
                let rotation = made::rotate(self.feed.server_id, name, offset, self.checksum);
                self.sender.event(&rotation)?;
                let description =
                    made::description(&description, false).map_err(|e| fail(FIRST, &e))?;
                self.sender.event(&description)?;
            }
            self.held.extend_from_slice(event.bytes());
            self.ends.push(self.held.len());
            if mark == Mark::Inside && self.held.len() < HELD {
                continue;
            }
            self.release(at(end))?;
            if mark == Mark::End {
                state.sent_transaction(at(end), boundaries.ended());
            }
        }
        let end = file.position();
        state.file_ended(index, end);
        if last && limit != u64::MAX && end != limit {
            let why = format!("it ends here, before the stop at {limit}");
            return Err(fail(end, &why));
        }
        if last && let Some(open) = boundaries.begun() {
            let which = open
                .gtid
                .as_ref()
                .map_or_else(String::new, |g| format!(" {g}"));
            let why = format!(
                "the stop is within transaction{which}, which begins at {}",
                open.start
            );
            return Err(fail(end, &why));
        }
        self.sender.flush()?;
        Ok(())
    }

    /// Sends the events that are held, of which the last ends here.
    fn release(&mut self, end: Place) -> Result<(), Ended> {
        let mut from = 0;
        for to in self.ends.drain(..) {
            self.sender.event(&self.held[from..to])?;
            from = to;
        }
        self.held.clear();
        // A huge event may have made it huge.
        self.held.shrink_to(2 * HELD);
        self.sent = end;
        self.feed.state.sent_event(end);
        Ok(())
    }

    /// Refuses what the replica would not apply as it is meant.
    fn check(&self, event: &Event<'_>, end: u64) -> Result<(), String> {
        let header = event.header;
        if header.end != 0 && header.end != end as u32 {
            return Err(format!(
                "an event that ends at {end} says that it ends at {}",
                header.end
            ));
        }
        if header.server_id == self.feed.target_id && header.server_id != 0 {
            return Err(format!(
                "its events are of server number {}, which is the target's: the target would ignore them",
                header.server_id
            ));
        }
        Ok(())
    }

    /// Waits until the applier has less to do.
    fn wait_for_room(&mut self) -> Result<(), Ended> {
        if self.feed.state.ahead() <= self.feed.ahead {
            return Ok(());
        }
        self.sender.flush()?;
        while self.feed.state.ahead() > self.feed.ahead {
            self.idle()?;
        }
        Ok(())
    }

    /// Nothing to send: notices a replica that has hung up, and says now and then that we are here.
    fn idle(&mut self) -> Result<(), Ended> {
        if self.feed.cancel.sleep(MOMENT) {
            return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into());
        }
        if self.sender.has_ended() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        if self.spoke.elapsed() >= self.silence {
            let place = named(self.feed.log, self.sent);
            let id = self.feed.server_id;
            let event = made::heartbeat(id, &place.file, place.offset, self.checksum);
            self.sender.event(&event)?;
            self.sender.flush()?;
            self.spoke = Instant::now();
        }
        Ok(())
    }
}

/// The error of a replica that asks for what it should not.
pub(crate) fn unexpected(file: &str, offset: u64) -> Error {
    let text =
        format!("the target asked for the binary log {file}:{offset}, which is not replayed");
    Error::new(Kind::Failed, base::units::printable(&text))
}
