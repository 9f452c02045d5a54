//! Sending a statement and reading its answer, and how each of them can end.
//!
//! Invariant: after every function here the connection is ready, in the middle
//! of rows, or shut down; never in between.

use crate::buffer::{FULL, LONGEST, Packet};
use crate::payload::{self, Cursor, MORE_RESULTS, OkPacket};
use crate::state::{State, closed};
use crate::{Conn, Done, Error, Result, ServerError};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// MySQL allows 4096 columns in a table and in a result.
const MAX_COLUMNS: u64 = 4096;
/// A definition is a handful of names.
const COLUMN_LIMIT: usize = 1 << 20;
/// COM_QUERY.
const QUERY: u8 = 3;

/// How an answer begins.
#[derive(Debug)]
pub(crate) enum Answer {
    Done(OkPacket),
    Columns(u64),
    File(Range<usize>),
}

impl Conn {
    /// Sends a statement and reads its answer up to the first row.
    pub(crate) fn start(&mut self, sql: &[u8]) -> Result<()> {
        self.prepare()?;
        self.send_query(sql)?;
        match self.answer()? {
            Answer::Done(ok) => self.finish(ok),
            Answer::File(_) => Err(self.fail(Error::LocalFile)),
            Answer::Columns(count) => self.read_columns(count).map_err(|e| match e {
                // An error packet in sequence: the connection stays usable; see `refused`.
                Error::Server(_) => e,
                _ => self.fail(e),
            }),
        }
    }

    /// Makes the connection ready for a statement.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        if self.state == State::Rows {
            // Abandoned rows: how that statement ended no longer matters, unless
            // it took the connection with it.
            match self.read_away() {
                Ok(()) | Err(Error::Server(_)) => {}
                Err(e) => return Err(e),
            }
        }
        if self.state == State::Closed {
            return Err(closed());
        }
        self.columns.clear();
        self.done = Done::default();
        if !self.buffer.is_empty() {
            return Err(
                self.last_words(Error::Protocol("bytes behind the end of an answer".into()))
            );
        }
        self.buffer.relax();
        Ok(())
    }

    /// Sends COM_QUERY, in as many packets as it takes.
    pub(crate) fn send_query(&mut self, sql: &[u8]) -> Result<()> {
        self.statements.fetch_add(1, Ordering::Relaxed);
        match self.write_packets(QUERY, sql) {
            Ok(()) => Ok(()),
            Err(e) => Err(self.write_failed(e)),
        }
    }

    fn write_packets(&mut self, command: u8, sql: &[u8]) -> io::Result<()> {
        let mut seq = 0u8;
        let mut rest = sql;
        let mut lead: &[u8] = &[command];
        loop {
            let room = FULL - lead.len();
            let (now, later) = rest.split_at(rest.len().min(room));
            let len = lead.len() + now.len();
            let header = (len as u32 | u32::from(seq) << 24).to_le_bytes();
            // One system call for the usual statement, no copy for a huge one.
            if now.len() <= 64 * 1024 {
                self.stream.write_all(&[&header, lead, now].concat())?;
            } else {
                self.stream.write_all(&[&header, lead].concat())?;
                self.stream.write_all(now)?;
            }
            seq = seq.wrapping_add(1);
            rest = later;
            lead = &[];
            // A full packet says that another follows, even if that one is empty.
            if len < FULL {
                break;
            }
        }
        self.buffer.set_seq(seq);
        Ok(())
    }

    /// Reads the first packet of an answer; the wait for it is bounded only where that was asked for:
    /// statements take their time.
    pub(crate) fn answer(&mut self) -> Result<Answer> {
        self.set_read_timeout(self.answer_timeout)?;
        let packet = self.next_packet(LONGEST)?;
        self.set_read_timeout(self.read_timeout)?;
        let payload = self.buffer.bytes(packet.range.clone());
        let answer = match payload.first() {
            None => Err(Error::Protocol("an empty answer".into())),
            Some(0x00) => payload::ok(payload).map(Answer::Done),
            Some(0xFB) => Ok(Answer::File(packet.range.start + 1..packet.range.end)),
            Some(0xFF) => return Err(self.refused(packet)),
            Some(_) => {
                let mut c = Cursor::new(payload, "a column count");
                c.lenenc().map(Answer::Columns)
            }
        };
        answer.map_err(|e| self.fail(e))
    }

    /// One setsockopt per change, and none without a timeout.
    fn set_read_timeout(&mut self, limit: Option<Duration>) -> Result<()> {
        if (self.read_timeout.is_some() || self.answer_timeout.is_some())
            && let Some(socket) = self.stream.socket()
            && let Err(e) = socket.read_timeout(limit)
        {
            return Err(self.fail(Error::Io(e)));
        }
        Ok(())
    }

    fn read_columns(&mut self, count: u64) -> Result<()> {
        if count == 0 || count > MAX_COLUMNS {
            return Err(Error::Protocol(format!("a result of {count} columns")));
        }
        for _ in 0..count {
            let packet = self.buffer.packet(&mut self.stream, COLUMN_LIMIT)?;
            let payload = self.buffer.bytes(packet.range.clone());
            match payload.first() {
                Some(0xFF) => return Err(self.refused(packet)),
                _ => self.columns.push(payload::column(payload)?),
            }
        }
        if !self.deprecate_eof {
            let packet = self.buffer.packet(&mut self.stream, COLUMN_LIMIT)?;
            let payload = self.buffer.bytes(packet.range.clone());
            match payload.first() {
                Some(0xFE) if payload.len() < 9 => {}
                Some(0xFF) => return Err(self.refused(packet)),
                _ => return Err(Error::Protocol("no end behind the columns".into())),
            }
        }
        self.state = State::Rows;
        Ok(())
    }

    /// The slow path of [`Rows::next`]: rows that are not complete in the buffer, and everything that is not a row.
    #[cold]
    pub(crate) fn next_row(&mut self) -> Result<Option<Range<usize>>> {
        let packet = self.next_packet(LONGEST)?;
        let payload = self.buffer.bytes(packet.range.clone());
        let end = match payload.first() {
            Some(0xFF) => return Err(self.refused(packet)),
            Some(0xFE) if payload.len() < 9 && !self.deprecate_eof => payload::eof(payload),
            Some(0xFE) if payload.len() < FULL && self.deprecate_eof => payload::ok(payload),
            Some(_) => return Ok(Some(packet.range)),
            None => Err(Error::Protocol("an empty row".into())),
        };
        let end = end.map_err(|e| self.fail(e))?;
        self.finish(OkPacket { affected: 0, ..end })?;
        Ok(None)
    }

    fn next_packet(&mut self, limit: usize) -> Result<Packet> {
        match self.buffer.packet(&mut self.stream, limit) {
            Ok(packet) => Ok(packet),
            Err(e) => Err(self.fail(e)),
        }
    }

    pub(crate) fn read_away(&mut self) -> Result<()> {
        while self.state == State::Rows {
            while self.buffer.whole_row().is_some() {}
            self.next_row()?;
        }
        Ok(())
    }

    /// Ends a statement that went well.
    pub(crate) fn finish(&mut self, ok: OkPacket) -> Result<()> {
        if ok.status & MORE_RESULTS != 0 {
            return Err(self.fail(Error::Protocol(
                "a second result, though one is all that was asked for".into(),
            )));
        }
        self.state = State::Ready;
        self.done = ok.into();
        Ok(())
    }

    /// Ends a statement that the server refused.
    fn refused(&mut self, packet: Packet) -> Error {
        match payload::err(self.buffer.bytes(packet.range)) {
            Ok(e) if packet.in_order => {
                self.state = State::Ready;
                Error::Server(e)
            }
            // Out of sequence: the server closes the connection after it.
            Ok(e) => self.fail(Error::Server(e)),
            Err(e) => self.fail(e),
        }
    }

    /// Shuts the connection down and says why.
    pub(crate) fn fail(&mut self, e: Error) -> Error {
        if let (State::Closed, Error::Io(_)) = (self.state, &e) {
            return e;
        }
        self.state = State::Closed;
        self.stream.shutdown();
        timed_out(e, self.read_timeout)
    }

    /// A write failed: the server may have said why before it hung up.
    pub(crate) fn write_failed(&mut self, e: io::Error) -> Error {
        match e.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                self.last_words(Error::Io(e))
            }
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                let e = timed_out(Error::Io(e), self.write_timeout);
                self.fail(e)
            }
            _ => self.fail(Error::Io(e)),
        }
    }

    /// Closes the connection with the error the server sent last, or else with `e`.
    fn last_words(&mut self, e: Error) -> Error {
        let said = self.read_last_words();
        self.fail(said.map_or(e, Error::Server))
    }

    fn read_last_words(&mut self) -> Option<ServerError> {
        let socket = self.stream.socket()?;
        socket.read_timeout(Some(Duration::from_millis(200))).ok()?;
        let packet = self.buffer.packet(&mut self.stream, COLUMN_LIMIT).ok()?;
        let payload = self.buffer.bytes(packet.range);
        (payload.first() == Some(&0xFF))
            .then(|| payload::err(payload).ok())
            .flatten()
    }
}

/// Maps the kernel's error for an expired timeout to ours.
pub(crate) fn timed_out(e: Error, limit: Option<Duration>) -> Error {
    match e {
        Error::Io(io)
            if matches!(
                io.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
            ) =>
        {
            Error::Timeout(limit.map_or(0, |l| l.as_secs().max(1)))
        }
        other => other,
    }
}
