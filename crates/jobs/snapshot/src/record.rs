//! What was made for a snapshot, written on this host before it is made: the tag by which leftovers are found.
//!
//! A record is a file of the state directory that the run has locked for as long as it lives. Invariants: nothing of a
//! snapshot exists without its record; a record goes last. So a record whose lock is free is a snapshot that was kept, or
//! one of a run that was killed.

use crate::Method;
use crate::volume::Volume;
use base::{Error, Kind, Result};
use run::state::{self, Failure, LockedFile, Opened, StateDir};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Bytes of a record: always the same, so that it is never torn.
const SIZE: usize = 16 << 10;

/// How the file is called.
const PREFIX: &str = "snapshot-";
const SUFFIX: &str = ".json";

/// What a record says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Version of this format.
    pub version: u32,
    /// The snapshot.
    pub id: String,
    /// How it was taken.
    pub method: Method,
    /// When it began: UTC, RFC 3339.
    pub begin: String,
    /// The server, for people.
    pub server: String,
    /// Its data directory.
    pub datadir: PathBuf,
    /// The directory that was made for it.
    pub directory: PathBuf,
    /// Where its files are.
    pub root: PathBuf,
    /// What else belongs to it: a volume or a snapshot of a file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// Whether it was made whole and is kept.
    pub kept: bool,
}

/// A record of this run.
#[derive(Debug)]
pub(crate) struct Record {
    file: LockedFile,
    pub(crate) content: Content,
}

/// A record that was found.
#[derive(Debug)]
pub(crate) enum Found {
    /// No run has it.
    Free(Box<Record>),
    /// A run is at work.
    Busy(PathBuf),
    /// It cannot be read: a run was killed before it had written it, and nothing was made yet.
    Empty(LockedFile),
}

impl Record {
    /// Writes a new one.
    pub(crate) fn create(state: &Path, content: Content) -> Result<Record> {
        StateDir(state).create().map_err(Failure::error)?;
        let path = state.join(format!("{PREFIX}{}{SUFFIX}", content.id));
        let Opened::Ours(file) = state::create_exclusive(&path).map_err(Failure::error)? else {
            let what = format!("another run has the record {}", path.display());
            return Err(Error::new(Kind::Lock, what).hint("run again"));
        };
        let mut record = Record { file, content };
        record.write()?;
        Ok(record)
    }

    /// Writes what changed; it is on the disk after that.
    pub(crate) fn write(&mut self) -> Result<()> {
        let written = self.file.overwrite(&self.content, SIZE);
        written.map_err(Failure::error)
    }

    /// Removes it: nothing of the snapshot is left.
    pub(crate) fn forget(self) -> Result<()> {
        self.file.remove().map_err(Failure::error)
    }

    /// Identifiers of all records of a state directory, whatever they say.
    pub(crate) fn ids(state: &Path) -> Result<BTreeSet<String>> {
        let files = StateDir(state).files(PREFIX, SUFFIX);
        let files = files.map_err(Failure::error)?.into_iter();
        let id = |path: PathBuf| {
            let name = path.file_name()?.to_str()?;
            let id = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
            Some(id.to_owned())
        };
        Ok(files.filter_map(id).collect())
    }

    /// All records of a state directory.
    pub(crate) fn all(state: &Path) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for path in StateDir(state)
            .files(PREFIX, SUFFIX)
            .map_err(Failure::error)?
        {
            match state::open_current(&path).map_err(Failure::error)? {
                None | Some(Opened::Removed) => {}
                Some(Opened::Busy(_)) => found.push(Found::Busy(path)),
                Some(Opened::Ours(file)) => found.push(match file.read_json(SIZE as u64) {
                    Ok(content) => Found::Free(Box::new(Record { file, content })),
                    Err(_) => Found::Empty(file),
                }),
            }
        }
        Ok(found)
    }

    /// What a record says that a run has locked.
    pub(crate) fn peek(path: &Path) -> Option<Content> {
        state::read_json(path, SIZE as u64).ok()
    }
}
