//! What can be wrong with what another tool wrote, told apart by what a caller
//! can do about it. Texts taken from a dump are made safe for a terminal by
//! whoever shows them.

use std::io;
use std::path::PathBuf;

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A dump could not be opened, read or understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system failed.
    #[error("{what}: {source}")]
    Io {
        /// The file or folder, or what was done with the stream.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A compressed stream ends before its own end mark.
    #[error("the {format} data ends too early: the file was cut")]
    Truncated {
        /// `gzip`, `zstd`, `bzip2` or `xz`.
        format: &'static str,
    },
    /// A compressed stream does not hold what its format asks for.
    #[error("the {format} data is damaged: {why}")]
    Damaged {
        /// `gzip`, `zstd`, `bzip2` or `xz`.
        format: &'static str,
        /// What the decoder said.
        why: String,
    },
    /// It is no text at all.
    #[error("it is {what}")]
    Binary {
        /// What it is, and what to do with it.
        what: &'static str,
    },
    /// The script ends in the middle of something.
    #[error("the script ends within {what} that begins at line {line} (byte {offset})")]
    Cut {
        /// `a statement`, `a string`, `a quoted name` or `a comment`.
        what: &'static str,
        /// Line on which it begins, from 1.
        line: u64,
        /// Its first byte in the uncompressed script, from 0.
        offset: u64,
    },
    /// A statement is larger than the limit.
    #[error("the statement at line {line} (byte {offset}) is larger than {limit} bytes")]
    TooLarge {
        /// Most bytes a statement may have.
        limit: usize,
        /// Line on which it begins, from 1.
        line: u64,
        /// Its first byte in the uncompressed script, from 0.
        offset: u64,
    },
    /// The tool that wrote a folder did not finish.
    #[error("the dump in {} is incomplete: {why}", path.display())]
    Incomplete {
        /// The folder.
        path: PathBuf,
        /// How that shows.
        why: String,
    },
    /// A folder holds no dump of a kind that is known here.
    #[error("{} holds no dump of a known kind", path.display())]
    Unknown {
        /// The folder.
        path: PathBuf,
    },
    /// A folder's files do not fit together.
    #[error("the dump in {} does not fit together: {why}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
}

impl Error {
    /// As [`Error::from_read`], for those who read an input themselves.
    pub fn of_read(e: io::Error) -> Self {
        Self::from_read(e)
    }

    /// Out of a reader: the errors that [`crate::input`] put into an
    /// [`io::Error`] come out again, all others are the system's.
    pub(crate) fn from_read(e: io::Error) -> Self {
        if e.get_ref().is_some_and(|inner| inner.is::<Error>()) {
            match e.into_inner().map(|inner| inner.downcast::<Error>()) {
                Some(Ok(ours)) => *ours,
                Some(Err(other)) => Error::io("reading the script", io::Error::other(other)),
                None => Error::io("reading the script", io::Error::other("unknown")),
            }
        } else {
            Error::io("reading the script", e)
        }
    }

    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        let what = what.into();
        Error::Io { what, source }
    }
}
