//! The state of a connection's conversation.

use crate::error::Error;
use std::io;

/// The state of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// We send next.
    Ready,
    /// The server sends rows.
    Rows,
    /// Shut down.
    Closed,
}

/// The error of every call on a connection that was shut down.
pub(crate) fn closed() -> Error {
    Error::Io(io::Error::new(
        io::ErrorKind::NotConnected,
        "the connection was closed before",
    ))
}
