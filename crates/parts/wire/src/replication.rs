//! The binary log as a stream: what a replica asks for, and the events that come.
//!
//! Invariants: an event is handed out as the bytes that came, neither decoded nor checked; a stream that failed, or that was
//! dropped before its end, has closed its connection, because a server ends it in no other way.
//!
//! Protocol: MySQL source documentation, "Replication Protocol"; MariaDB documentation, "Replication Protocol" and
//! "Semi-Sync Replication".

use crate::buffer::LONGEST;
use crate::state::State;
use crate::statement::timed_out;
use crate::{Conn, Error, Result, payload};
use std::io::Write;
use std::time::Duration;

const COM_BINLOG_DUMP: u8 = 0x12;
/// In front of each event of a semi-synchronous stream, with flags behind it; and of each reply.
const SEMI_SYNC: u8 = 0xEF;
/// The flag of an event after which the source waits.
const WAITS: u8 = 0x01;
const COM_REGISTER_REPLICA: u8 = 0x15;
/// End the stream where the log ends now.
const NON_BLOCK: u16 = 0x01;
/// MariaDB: the statements of row events, too.
const ANNOTATE_ROWS: u16 = 0x02;

/// What to send, and as whom.
#[derive(Clone, Debug)]
pub struct LogRequest {
    /// Number of this replica; a server ends the stream of an older one with the same.
    pub server_id: u32,
    /// File to begin with.
    pub file: String,
    /// Offset of the first event in it: 4, or the end of an event.
    pub position: u32,
    /// Whether to wait for more at the end of the log.
    pub follow: bool,
    /// Longest silence before the connection counts as lost.
    pub silence: Option<Duration>,
    /// The session has asked for semi-synchronous replication: each event says whether a commit waits for this replica.
    pub semi_sync: bool,
}

/// A stream of events.
#[derive(Debug)]
pub struct Events<'c> {
    conn: &'c mut Conn,
    silence: Option<Duration>,
    semi_sync: bool,
    wants_reply: bool,
    ended: bool,
}

impl Conn {
    /// Registers as a replica, so that the source lists it (`SHOW REPLICAS`).
    pub fn register_replica(&mut self, server_id: u32, name: &str) -> Result<()> {
        self.prepare()?;
        let mut packet = vec![COM_REGISTER_REPLICA];
        packet.extend_from_slice(&server_id.to_le_bytes());
        let name = name.as_bytes();
        let name = &name[..name.len().min(60)];
        packet.push(name.len() as u8);
        packet.extend_from_slice(name);
        packet.extend_from_slice(&[0, 0]); // no user, no password: they would be shown to others
        packet.extend_from_slice(&[0; 2 + 4 + 4]); // port, rank, source id
        self.command(&packet)?;
        match self.answer()? {
            crate::statement::Answer::Done(ok) => self.finish(ok),
            _ => Err(self.fail(Error::Protocol("no end of a registration".into()))),
        }
    }

    /// Asks for the binary log.
    pub fn binary_log(&mut self, request: &LogRequest) -> Result<Events<'_>> {
        self.prepare()?;
        let mut flags = ANNOTATE_ROWS;
        if !request.follow {
            flags |= NON_BLOCK;
        }
        let mut packet = vec![COM_BINLOG_DUMP];
        packet.extend_from_slice(&request.position.to_le_bytes());
        packet.extend_from_slice(&flags.to_le_bytes());
        packet.extend_from_slice(&request.server_id.to_le_bytes());
        packet.extend_from_slice(request.file.as_bytes());
        self.command(&packet)?;
        self.state = State::Rows;
        if let Some(socket) = self.stream.socket()
            && let Err(e) = socket.read_timeout(request.silence)
        {
            return Err(self.fail(Error::Io(e)));
        }
        Ok(Events {
            conn: self,
            silence: request.silence,
            semi_sync: request.semi_sync,
            wants_reply: false,
            ended: false,
        })
    }

    /// Sends a command of one packet.
    fn command(&mut self, body: &[u8]) -> Result<()> {
        let mut packet = (body.len() as u32).to_le_bytes().to_vec();
        packet.extend_from_slice(body);
        match self.stream.write_all(&packet) {
            Ok(()) => {
                self.buffer.set_seq(1);
                Ok(())
            }
            Err(e) => Err(self.write_failed(e)),
        }
    }
}

impl Events<'_> {
    /// All bytes of the next event; `None` at the end of a log that is not followed.
    #[allow(clippy::should_implement_trait)] // The event borrows the buffer.
    pub fn next(&mut self) -> Result<Option<&[u8]>> {
        if self.ended {
            return Ok(None);
        }
        let (buffer, stream) = (&mut self.conn.buffer, &mut self.conn.stream);
        // MySQL, and MariaDB before 11, count from the beginning behind each event that they want an answer to.
        let restarted = match self.wants_reply {
            true => buffer.may_restart(stream, 1),
            false => Ok(()),
        };
        let packet = match restarted.and_then(|()| buffer.packet(stream, LONGEST)) {
            Ok(packet) => packet,
            Err(e) => return Err(self.fail(e)),
        };
        let bytes = self.conn.buffer.bytes(packet.range.clone());
        match bytes.first() {
            Some(0x00) => {}
            Some(0xFE) if bytes.len() < 9 => {
                self.ended = true;
                self.conn.state = State::Ready;
                return Ok(None);
            }
            Some(0xFF) => {
                let said = payload::err(bytes);
                return Err(match said {
                    Ok(said) => self.fail(Error::Server(said)),
                    Err(e) => self.fail(e),
                });
            }
            _ => return Err(self.fail(Error::Protocol("no event where one was due".into()))),
        }
        let mut begin = packet.range.start + 1;
        if self.semi_sync {
            self.wants_reply = match bytes.get(1..3) {
                Some([SEMI_SYNC, flags]) => flags & WAITS != 0,
                _ => {
                    let what =
                        "an event without what a semi-synchronous source puts in front of it";
                    return Err(self.fail(Error::Protocol(what.into())));
                }
            };
            begin += 2;
        }
        let event = begin..packet.range.end;
        Ok(Some(self.conn.buffer.bytes(event)))
    }

    /// Whether the source waits until the last event, and everything before it, is acknowledged.
    pub fn wants_reply(&self) -> bool {
        self.wants_reply
    }

    /// Whether the next event is here already, or on its way.
    pub fn has_next(&self) -> bool {
        let socket = self.conn.stream.socket();
        self.conn.buffer.has_packet() || socket.is_some_and(crate::socket::Socket::has_bytes)
    }

    /// Tells a semi-synchronous source that everything before this offset of a file is safe.
    pub fn acknowledge(&mut self, file: &str, offset: u64) -> Result<()> {
        let mut reply = vec![SEMI_SYNC];
        reply.extend_from_slice(&offset.to_le_bytes());
        reply.extend_from_slice(file.as_bytes());
        // Its sequence numbers are those of a new command, and the stream's go on.
        let mut packet = (reply.len() as u32).to_le_bytes().to_vec();
        packet.extend_from_slice(&reply);
        match self.conn.stream.write_all(&packet) {
            Ok(()) => Ok(()),
            Err(e) => Err(self.fail(Error::Io(e))),
        }
    }

    fn fail(&mut self, e: Error) -> Error {
        self.ended = true;
        let e = timed_out(e, self.silence);
        self.conn.fail(e)
    }
}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.conn.quit_stream();
        }
    }
}
