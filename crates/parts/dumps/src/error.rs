//! The errors of reading another tool's dump, one variant for each thing that a
//! caller can do about it. Texts taken from a dump are not made safe for a
//! terminal here; the caller that shows them does it.

use std::io;
use std::path::PathBuf;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A dump could not be opened, read or understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system failed.
    #[error("{what}: {source}")]
    Io {
        /// The file or directory, or what was done with the stream.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A compressed stream ends before its end mark.
    #[error("the {format} data ends too early: the file is truncated")]
    Truncated {
        /// `gzip`, `zstd`, `bzip2` or `xz`.
        format: &'static str,
    },
    /// A compressed stream violates its format.
    #[error("the {format} data is damaged: {why}")]
    Damaged {
        /// `gzip`, `zstd`, `bzip2` or `xz`.
        format: &'static str,
        /// The error of the decoder.
        why: String,
    },
    /// The input is not text.
    #[error("it is {what}")]
    Binary {
        /// What it is, and what the user can do with it.
        what: &'static str,
    },
    /// The script ends inside a statement.
    #[error("the script ends within {what} that begins at line {line} (byte {offset})")]
    UnexpectedEnd {
        /// `a statement`, `a string`, `a quoted name` or `a comment`.
        what: &'static str,
        /// Line where it begins, from 1.
        line: u64,
        /// Its first byte in the uncompressed script, from 0.
        offset: u64,
    },
    /// A statement is larger than the limit.
    #[error("the statement at line {line} (byte {offset}) is larger than {limit} bytes")]
    TooLarge {
        /// The largest allowed statement in bytes.
        limit: usize,
        /// Line where it begins, from 1.
        line: u64,
        /// Its first byte in the uncompressed script, from 0.
        offset: u64,
    },
    /// The tool that wrote a directory did not finish.
    #[error("the dump in {} is incomplete: {why}", path.display())]
    Incomplete {
        /// The directory.
        path: PathBuf,
        /// What shows it.
        why: String,
    },
    /// A directory contains directories that are archives or dumps of their own.
    #[error("{} is no dump: it holds {}", path.display(), names.join(", "))]
    Parent {
        /// The directory.
        path: PathBuf,
        /// The names of the directories in it, sorted.
        names: Vec<String>,
    },
    /// A directory contains no dump of a known kind.
    #[error("{} holds no dump of a known kind", path.display())]
    Unknown {
        /// The directory.
        path: PathBuf,
    },
}

impl Error {
    /// The error of a failed read: the one that [`crate::input`] wrapped in
    /// the [`io::Error`], or else an error of the operating system.
    pub fn from_read(e: io::Error) -> Self {
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
