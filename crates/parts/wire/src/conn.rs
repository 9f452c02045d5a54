//! A connection: login, statements, result sets, LOAD DATA LOCAL.

use crate::{Options, Result, Rows};
use std::io::Read;

/// What the server says at the end of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows changed.
    pub affected: u64,
    /// Warnings raised.
    pub warnings: u16,
    /// Free text, e.g. `Records: 5  Deleted: 0  Skipped: 0  Warnings: 0`.
    pub info: String,
}

/// An open, logged-in connection.
#[derive(Debug)]
pub struct Conn {}

/// Breaks a connection from another thread: a blocked read or write returns at once.
#[derive(Debug)]
pub struct Closer {}

impl Closer {
    /// Shuts the socket down in both directions.
    pub fn close(&self) {}
}

impl Conn {
    /// Connects and logs in.
    pub fn connect(_options: &Options) -> Result<Conn> {
        unimplemented!()
    }

    /// The server's number for this connection.
    pub fn id(&self) -> u32 {
        unimplemented!()
    }

    /// The version text of the handshake, without MariaDB's `5.5.5-` prefix.
    pub fn server_version(&self) -> &str {
        unimplemented!()
    }

    /// Whether the connection runs over TLS.
    pub fn is_tls(&self) -> bool {
        unimplemented!()
    }

    /// Runs a statement and reads any result set away.
    pub fn execute(&mut self, _sql: impl AsRef<[u8]>) -> Result<Done> {
        unimplemented!()
    }

    /// Runs a statement and hands out its rows.
    pub fn query(&mut self, _sql: impl AsRef<[u8]>) -> Result<Rows<'_>> {
        unimplemented!()
    }

    /// Runs one LOAD DATA LOCAL INFILE statement and answers its file request from `source`.
    pub fn load(&mut self, _sql: impl AsRef<[u8]>, _source: &mut dyn Read) -> Result<Done> {
        unimplemented!()
    }

    /// All rows as owned cells; for small results (catalog, settings), never for data.
    pub fn fetch(&mut self, _sql: impl AsRef<[u8]>) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
        unimplemented!()
    }

    /// A handle that another thread can use to break this connection.
    pub fn closer(&self) -> Result<Closer> {
        unimplemented!()
    }
}
