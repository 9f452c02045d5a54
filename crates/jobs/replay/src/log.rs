//! The log that is replayed: files in an order, and places in them.

use base::{Error, Kind, units::printable};
use std::fmt;
use std::io::{self, Read};

/// Where the first event of a file is.
pub const FIRST: u64 = binlog::MAGIC.len() as u64;

/// One file of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Its name, as the server that wrote it calls it. All names of a log differ.
    pub name: String,
    /// Its length in bytes, if it is known.
    pub length: Option<u64>,
}

/// The files of a log, oldest first, each as its server wrote it.
pub trait LogFiles: Send + Sync {
    /// All of them.
    fn files(&self) -> &[LogFile];

    /// The bytes of one from this offset on.
    fn open(&self, file: usize, offset: u64) -> io::Result<Box<dyn Read + Send + '_>>;
}

/// A place in a log: an offset in one of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Which file.
    pub file: usize,
    /// Offset in it.
    pub offset: u64,
}

/// A place as it is shown: `binlog.000012:345`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPlace {
    /// The file's name.
    pub file: String,
    /// Offset in it.
    pub offset: u64,
}

impl fmt::Display for NamedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", printable(&self.file), self.offset)
    }
}

/// The name of a place.
pub(crate) fn named(log: &dyn LogFiles, place: Place) -> NamedPlace {
    NamedPlace {
        file: log
            .files()
            .get(place.file)
            .map(|f| f.name.clone())
            .unwrap_or_default(),
        offset: place.offset,
    }
}

/// The error of a log that cannot be served from here on.
pub(crate) fn broken(log: &dyn LogFiles, place: Place, why: impl fmt::Display) -> Error {
    let text = format!("binary log {}: {why}", named(log, place));
    Error::new(Kind::Archive, printable(&text))
}
