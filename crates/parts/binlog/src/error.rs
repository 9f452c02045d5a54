//! What can be wrong with a binary log.

use std::io;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a binary log cannot be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes that cannot be an event, or cannot be what the event says it is.
    #[error("{what}: {why}")]
    Malformed {
        /// Which event or field.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The event's own checksum does not fit its bytes.
    #[error(
        "the checksum of the {kind} event is wrong: {stored:08x} is stored, {computed:08x} is right"
    )]
    Checksum {
        /// Kind of the event, as far as it can be believed.
        kind: String,
        /// What the event says.
        stored: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// The file is encrypted by the server.
    #[error("the file is encrypted by the server")]
    Encrypted,
    /// The file does not begin as a binary log does.
    #[error("the file does not begin as a binary log does")]
    NotALog,
    /// The file ends inside an event.
    #[error("the file ends inside an event, after {0} bytes")]
    Cut(u64),
    /// The bytes could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// The error of bytes that are no `what`, and why.
    pub fn malformed(what: &'static str, why: impl Into<String>) -> Error {
        Error::Malformed {
            what,
            why: why.into(),
        }
    }
}
