//! What can be wrong with an archive, grouped by what a caller can do
//! about it. Texts taken from an archive are made safe for a terminal.

use crate::row::RowError;
use base::units::printable;
use std::io;

/// This crate's result.
pub type Result<T, E = ArchiveError> = std::result::Result<T, E>;

/// An archive could not be written, read or believed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The store failed: disk full, missing file, I/O error.
    #[error("{0}")]
    Store(#[source] store::Error),
    /// The dump that made it never finished, or is still running.
    #[error("the archive is incomplete: {why}")]
    Incomplete {
        /// How that shows.
        why: String,
    },
    /// Written by a later version than this one reads.
    #[error("{what} has version {found}; this penstock reads up to {supported}")]
    NewerVersion {
        /// Which file.
        what: String,
        /// The version in the file.
        found: String,
        /// The newest version known here.
        supported: String,
    },
    /// Needs something of its reader that this one does not have.
    #[error(
        "the archive needs the capability {id} ({description}), known since MySQL Shell {version_required}"
    )]
    UnknownCapability {
        /// The capability's name.
        id: String,
        /// In words, as the archive says it.
        description: String,
        /// The MySQL Shell that has it.
        version_required: String,
    },
    /// A file is not what it should be.
    #[error("{file} is damaged: {what}")]
    Damaged {
        /// The file.
        file: String,
        /// What does not fit.
        what: String,
    },
    /// A file is in a form that this version does not read.
    #[error("{file} cannot be read: {what}")]
    Unsupported {
        /// The file.
        file: String,
        /// The form.
        what: String,
    },
    /// A row could not be written.
    #[error("{file}: {source}")]
    Row {
        /// The data file it was meant for.
        file: String,
        /// What is wrong with it.
        source: RowError,
    },
    /// Stopped on request.
    #[error("interrupted")]
    Interrupted,
}

impl ArchiveError {
    /// A file that is not what it should be.
    pub fn damaged(file: &str, what: impl AsRef<str>) -> Self {
        Self::Damaged {
            file: printable(file),
            what: printable(what.as_ref()),
        }
    }

    /// The typed error inside an I/O error that a [`crate::ChunkReader`] gave,
    /// or else the store's failure to read `file`.
    pub fn from_io(file: &str, error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(inner) => inner,
            Err(other) => Self::Store(store::Error::new("read", file, other)),
        }
    }

    /// Whether a store ran out of room.
    pub fn full(&self) -> bool {
        matches!(self, Self::Store(e) if e.full())
    }
}

impl From<store::Error> for ArchiveError {
    /// A store that finds out itself that a file is damaged says so in the words of this crate.
    fn from(error: store::Error) -> Self {
        if !error.source.get_ref().is_some_and(|e| e.is::<Self>()) {
            return Self::Store(error);
        }
        let store::Error { op, name, source } = error;
        match source.downcast::<Self>() {
            Ok(inner) => inner,
            Err(source) => Self::Store(store::Error { op, name, source }),
        }
    }
}

impl From<ArchiveError> for io::Error {
    fn from(error: ArchiveError) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}
