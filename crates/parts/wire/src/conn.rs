//! A connection: login, statements, result sets, LOAD DATA LOCAL.
//!
//! Invariants: a connection whose bytes can no longer be trusted (lost, out of
//! order, hostile, or a stream of ours that failed half way) is shut down at
//! once and answers nothing but "closed" from then on. An answer is read to its
//! end before the next statement is sent.

use crate::buffer::Buffer;
use crate::payload::OkPacket;
use crate::socket::Socket;
use crate::state::{State, closed};
use crate::statement::{Answer, timed_out};
use crate::stream::Stream;
use crate::{Column, Error, Options, Result, Rows, login};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Length of a statement that makes the server's buffer big. Measured with `examples/drain.rs`; see there.
const BULK: usize = 256 * 1024;

/// What the server says at the end of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows changed.
    pub affected: u64,
    /// Warnings raised; the server counts no further than 65535.
    pub warnings: u16,
    /// Free text, e.g. `Records: 5  Deleted: 0  Skipped: 0  Warnings: 0`.
    pub info: String,
}

impl From<OkPacket> for Done {
    fn from(ok: OkPacket) -> Self {
        Done {
            affected: ok.affected,
            warnings: ok.warnings,
            info: ok.info,
        }
    }
}

/// An open, logged-in connection.
#[derive(Debug)]
pub struct Conn {
    pub(crate) buffer: Buffer,
    pub(crate) columns: Vec<Column>,
    pub(crate) stream: Stream,
    pub(crate) state: State,
    id: u32,
    version: String,
    pub(crate) deprecate_eof: bool,
    local_infile: bool,
    pub(crate) statements: Arc<AtomicU64>,
    pub(crate) read_timeout: Option<Duration>,
    pub(crate) answer_timeout: Option<Duration>,
    pub(crate) write_timeout: Option<Duration>,
    pub(crate) done: Done,
    /// The packet that loads are written through; allocated by the first.
    pub(crate) out: Vec<u8>,
}

/// Breaks a connection from another thread: a blocked read or write returns at once.
#[derive(Debug)]
pub struct Closer {
    socket: Socket,
}

impl Closer {
    /// Shuts the socket down in both directions.
    pub fn close(&self) {
        self.socket.shutdown();
    }
}

impl Conn {
    /// Connects and logs in.
    pub fn connect(options: &Options) -> Result<Conn> {
        let session =
            login::login(options).map_err(|e| timed_out(e, Some(options.connect_timeout)))?;
        Ok(Conn {
            buffer: session.buffer,
            columns: Vec::new(),
            stream: session.stream,
            state: State::Ready,
            id: session.id,
            version: session.version,
            deprecate_eof: session.deprecate_eof,
            local_infile: options.local_infile,
            statements: options.statements.clone(),
            read_timeout: options.read_timeout,
            answer_timeout: options.answer_timeout,
            write_timeout: options.write_timeout,
            done: Done::default(),
            out: Vec::new(),
        })
    }

    /// The server's number for this connection.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The version text of the handshake, without MariaDB's `5.5.5-` prefix.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// Time spent so far in reading from the server and in sending data to it:
    /// what a worker did not spend on its own work. Statements are too short to count.
    pub fn waited(&self) -> Duration {
        self.buffer.waited.saturating_sub(self.limited())
    }

    /// Time that this connection has waited for the limiter.
    pub fn limited(&self) -> Duration {
        self.stream.socket().map_or(Duration::ZERO, Socket::held)
    }

    /// Whether bytes wait for the limiter of [`Options::limited`] from now on, or are only counted.
    ///
    /// Never while a lock is held that others wait for.
    pub fn set_limited(&mut self, waits: bool) {
        if let Some(socket) = self.stream.socket_mut() {
            socket.wait_at_gate(waits);
        }
    }

    /// The process that listens at the other end of a unix socket, as the kernel knows it.
    pub fn peer_process(&self) -> Option<u32> {
        self.stream.socket()?.peer_process()
    }

    /// Our address and the server's, if the connection is TCP.
    pub fn tcp_addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.stream.socket()?.tcp_addresses()
    }

    /// Whether the connection runs over TLS.
    pub fn is_tls(&self) -> bool {
        self.stream.is_tls()
    }

    /// Whether the connection was shut down, by an error or by us.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Runs a statement and discards any result set.
    pub fn execute(&mut self, sql: impl AsRef<[u8]>) -> Result<Done> {
        self.start(sql.as_ref())?;
        self.read_away()?;
        Ok(std::mem::take(&mut self.done))
    }

    /// Runs a statement and returns its rows.
    pub fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<Rows<'_>> {
        self.start(sql.as_ref())?;
        let open = self.state == State::Rows;
        Ok(Rows { conn: self, open })
    }

    /// As [`Conn::query`], for big results: the server is made to write in big pieces.
    ///
    /// A server collects rows in the buffer that it read the statement into, 16 KiB
    /// unless the statement was longer, and every such piece wakes the reader. So the
    /// statement is sent with trailing blanks: the buffer grows, both sides make a
    /// tenth of the system calls, and as servers cut blanks off before they look,
    /// their logs show none (seen on MySQL 5.5 and 9.7, MariaDB 10.11). Needs a
    /// `max_allowed_packet` above 256 KiB; the smallest default is 1 MiB.
    pub fn query_bulk(&mut self, sql: impl AsRef<[u8]>) -> Result<Rows<'_>> {
        let mut sql = sql.as_ref().to_vec();
        sql.resize(sql.len().max(BULK), b' ');
        self.query(sql)
    }

    /// All rows as owned cells; for small results (catalog, settings), never for data.
    pub fn fetch(&mut self, sql: impl AsRef<[u8]>) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
        let mut rows = self.query(sql)?;
        let width = rows.columns().len();
        let mut all = Vec::new();
        let wrong = loop {
            let Some(row) = rows.next()? else {
                return Ok(all);
            };
            let cells = row
                .cells()
                .map(|cell| cell.map(|c| c.map(<[u8]>::to_vec)))
                .collect::<Result<Vec<_>>>();
            match cells {
                Ok(cells) if cells.len() == width => all.push(cells),
                Ok(cells) => {
                    break Error::Protocol(format!(
                        "a row of {} cells under {width} columns",
                        cells.len()
                    ));
                }
                Err(e) => break e,
            }
        };
        Err(self.fail(wrong))
    }

    /// Runs one LOAD DATA LOCAL INFILE statement and answers its file request from `source`.
    ///
    /// The server must ask for a name that `sql` holds, and only once. If `source`
    /// fails the socket is shut down, so that the server rolls the statement back.
    pub fn load(&mut self, sql: impl AsRef<[u8]>, source: &mut dyn Read) -> Result<Done> {
        let sql = sql.as_ref();
        self.prepare()?;
        self.send_query(sql)?;
        let asked = match self.answer()? {
            Answer::File(asked) => self.buffer.bytes(asked),
            Answer::Done(_) | Answer::Columns(_) => {
                return Err(self.fail(Error::Protocol(
                    "the statement was done without asking for the data to load".into(),
                )));
            }
        };
        let ours = !asked.is_empty() && sql.windows(asked.len()).any(|w| w == asked);
        if !self.local_infile || !ours {
            return Err(self.fail(Error::LocalFile));
        }
        self.send_file(source)?;
        match self.answer()? {
            Answer::Done(ok) => self.finish(ok)?,
            Answer::File(_) => return Err(self.fail(Error::LocalFile)),
            Answer::Columns(_) => {
                return Err(self.fail(Error::Protocol("rows as the answer to LOAD DATA".into())));
            }
        }
        Ok(std::mem::take(&mut self.done))
    }

    /// Ends the session; every later call says that the connection is closed.
    pub fn quit(&mut self) {
        if self.state == State::Ready {
            // COM_QUIT: the server then does not count an aborted connection.
            let _ = self.stream.write_all(&[1, 0, 0, 0, 1]);
        }
        self.state = State::Closed;
        self.stream.shutdown();
    }

    /// Ends a stream of events, which nothing but the end of the connection ends.
    pub(crate) fn quit_stream(&mut self) {
        self.state = State::Closed;
        self.stream.shutdown();
    }

    /// A handle that another thread can use to break this connection.
    pub fn closer(&self) -> Result<Closer> {
        let socket = self.stream.socket().ok_or_else(closed)?.try_clone()?;
        Ok(Closer { socket })
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        self.set_limited(false);
        self.quit();
    }
}
