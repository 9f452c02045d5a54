//! The record of what a run has made: for a run that goes on after it, and for `abort`.
//!
//! It is written before each step that it names. It has no password.

use base::{Error, Kind, Result};
use run::state::{self, LockedFile, Opened, StateDir};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const VERSION: u32 = 1;
const MAX_SIZE: u64 = 1 << 20;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) version: u32,
    /// The new server, as it is reached.
    pub(crate) target: String,
    /// The source.
    pub(crate) source: String,
    /// What tells it from another server at the same address; empty in records of earlier versions.
    #[serde(default)]
    pub(crate) source_id: String,
    /// When: UTC, RFC 3339.
    pub(crate) began: String,
    /// The account that was made on the source, as user and host.
    pub(crate) account: Option<(String, String)>,
    /// The copy has begun.
    pub(crate) copying: bool,
    /// The archive that is loaded, if the source is not copied.
    #[serde(default)]
    pub(crate) archive: Option<Loaded>,
    /// The same once the rows are there, and the accounts perhaps not.
    #[serde(default)]
    pub(crate) copied: Option<From>,
    /// Of the source's accounts at that time: nothing else of them may be kept.
    #[serde(default)]
    pub(crate) accounts_digest: String,
    /// What the copy lacks, by name: for a run that continues.
    #[serde(default)]
    pub(crate) exceptions: Vec<String>,
    /// From where the new server is to follow: the copy is complete.
    pub(crate) from: Option<From>,
    /// Schemas that the copy made.
    pub(crate) schemas: Vec<String>,
    /// Accounts that were made on the new server, as user and host.
    pub(crate) accounts: Vec<(String, String)>,
    /// Those that it had before, with the host in small letters; none in records of earlier versions.
    #[serde(default)]
    pub(crate) accounts_before: Option<BTreeSet<(String, String)>>,
    /// The channel that was made there.
    pub(crate) channel: Option<String>,
}

impl Made {
    /// Whether all rows are there.
    pub(crate) fn is_copied(&self) -> bool {
        self.from.is_some() || self.copied.is_some()
    }
}

/// An archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Loaded {
    /// Where it is, in words.
    pub(crate) name: String,
    /// Of its manifest: tells it from another one at the same place.
    pub(crate) digest: String,
}

/// The place of a copy in the log of its source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct From {
    pub(crate) file: String,
    pub(crate) position: u64,
    /// MySQL: everything that was executed.
    pub(crate) gtid_executed: Option<String>,
    /// MariaDB: the last transaction of each domain.
    pub(crate) gtid_binlog_pos: Option<String>,
}

/// The record, kept locked while it is used.
pub(crate) struct Record {
    file: LockedFile,
    pub(crate) made: Made,
}

fn path(directory: &Path, target: &str) -> PathBuf {
    StateDir(directory).hashed("replica-", target, 16, ".json")
}

fn locked(opened: Opened, target: &str) -> Result<LockedFile> {
    match opened {
        Opened::Ours(file) => Ok(file),
        _ => Err(Error::new(
            Kind::Target,
            format!("another penstock is making {target} a replica"),
        )
        .hint("wait until it has finished")),
    }
}

impl Record {
    /// A record that is there.
    pub(crate) fn open(directory: &Path, target: &str) -> Result<Option<Record>> {
        let path = path(directory, target);
        let Some(opened) = state::open_current(&path).map_err(|e| e.error())? else {
            return Ok(None);
        };
        let file = locked(opened, target)?;
        let made: Made = file.read_json(MAX_SIZE).map_err(|e| e.error())?;
        if made.version != VERSION {
            let what = format!("{} is of another version of penstock", path.display());
            return Err(Error::new(Kind::Storage, what).hint("use that version to go on or abort"));
        }
        Ok(Some(Record { file, made }))
    }

    /// A new one, in which nothing is made yet.
    pub(crate) fn begin(directory: &Path, target: &str, source: &str) -> Result<Record> {
        StateDir(directory).create().map_err(|e| e.error())?;
        let opened = state::create(&path(directory, target)).map_err(|e| e.error())?;
        let mut record = Record {
            file: locked(opened, target)?,
            made: Made {
                version: VERSION,
                target: target.to_owned(),
                source: source.to_owned(),
                began: jiff::Timestamp::now().to_string(),
                ..Made::default()
            },
        };
        record.write(|_| {})?;
        Ok(record)
    }

    /// Changes it; it is on the disk when this returns.
    pub(crate) fn write(&mut self, change: impl FnOnce(&mut Made)) -> Result<()> {
        change(&mut self.made);
        self.file.put_json(&self.made).map_err(|e| e.error())
    }

    /// Nothing is left to undo, or nothing shall be undone.
    pub(crate) fn remove(self) -> Result<()> {
        self.file.remove().map_err(|e| e.error())
    }
}
