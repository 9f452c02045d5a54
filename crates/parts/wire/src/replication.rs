//! The binary log as a stream: what a replica asks for, and the events that come.
//!
//! Invariants: an event is handed out as the bytes that came, neither decoded nor checked; a stream that failed, or that was
//! dropped before its end, has closed its connection, because a server ends it in no other way.
//!
//! Protocol: MySQL source documentation, "Replication Protocol"; MariaDB documentation, "Replication Protocol".

use crate::buffer::LONGEST;
use crate::state::State;
use crate::statement::timed_out;
use crate::{Conn, Error, Result, payload};
use std::io::Write;
use std::time::Duration;

const COM_BINLOG_DUMP: u8 = 0x12;
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
}

/// A stream of events.
#[derive(Debug)]
pub struct Events<'c> {
    conn: &'c mut Conn,
    silence: Option<Duration>,
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
        let packet = match self.conn.buffer.packet(&mut self.conn.stream, LONGEST) {
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
        let event = packet.range.start + 1..packet.range.end;
        Ok(Some(self.conn.buffer.bytes(event)))
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
