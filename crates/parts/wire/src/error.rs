//! What can go wrong on a connection, as values a caller can act upon.

use std::io;

/// A wire result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error packet from the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (error {code}, SQL state {state})")]
pub struct ServerError {
    /// Number, as in the server's manual (1045, 1205, …).
    pub code: u16,
    /// Five characters.
    pub state: String,
    /// The server's own text.
    pub message: String,
}

/// Why a connection or a statement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused; the connection is still good.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The connection could not be made.
    #[error("cannot connect to {endpoint}: {source}")]
    Connect {
        /// Host and port, or socket path.
        endpoint: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The login failed for a reason the client found (plugin, policy).
    #[error("login: {0}")]
    Auth(String),
    /// TLS could not be set up, or its rules forbid continuing.
    #[error("TLS: {0}")]
    Tls(String),
    /// The server's certificate could not be traced to an authority that was given.
    #[error("TLS: {0}")]
    Untrusted(String),
    /// The connection broke in the middle of something.
    #[error("connection lost: {0}")]
    Io(#[from] io::Error),
    /// The server was silent for longer than the read timeout.
    #[error("no answer from the server for {0} s")]
    Timeout(u64),
    /// The server sent something that the protocol does not allow here.
    #[error("protocol violation by the server: {0}")]
    Protocol(String),
    /// The server asked for a file although no LOAD statement of ours is open.
    #[error("the server asked for a local file; nothing was sent and the connection is closed")]
    LocalFile,
    /// Our own stream for a LOAD statement failed; the connection is closed so that the statement rolls back.
    #[error("the stream being loaded failed: {0}")]
    Source(#[source] io::Error),
}

impl Error {
    /// The server's error number, if the server said one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Server(e) => Some(e.code),
            _ => None,
        }
    }
}
