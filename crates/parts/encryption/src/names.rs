//! What an encrypted archive knows of its own files: their names, which are encrypted, and for everybody the
//! sizes and digests of what is stored.

use crate::{Error, Result};
use archive::FileRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::Store;

/// Which file is which; encrypted.
pub(crate) const NAMES: &str = "penstock.names.age";
/// Sizes and digests of all encrypted files but [`crate::KEY`].
pub const INDEX: &str = "penstock.encrypted.json";

/// A larger list is refused, in bytes.
pub(crate) const LIMIT: u64 = 1 << 30;

const VERSION: u32 = 1;
const FORMAT: &str = "penstock encrypted archive";

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// Under which name it is stored.
    pub(crate) object: String,
    /// Its size, in bytes.
    pub(crate) bytes: u64,
    /// What is stored.
    pub(crate) stored: FileRecord,
}

/// The files by name.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Names {
    pub(crate) version: u32,
    pub(crate) files: BTreeMap<String, Stored>,
}

impl Names {
    pub(crate) fn new() -> Names {
        Names {
            version: VERSION,
            files: BTreeMap::new(),
        }
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Names> {
        let names: Names = serde_json::from_slice(bytes).map_err(|e| damaged(NAMES, e))?;
        check(NAMES, names.version)?;
        let plain = |(name, stored): (&String, &Stored)| {
            store::valid_name(name) && store::valid_name(&stored.object)
        };
        if !names.files.iter().all(plain) {
            return Err(damaged(NAMES, "it lists a name that is none"));
        }
        Ok(names)
    }
}

/// What is stored, for whoever has no key.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Index {
    format: String,
    version: u32,
    /// Whether it is a snapshot of a server's files, and no archive: what a repository keeps by other rules.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) snapshot: bool,
    pub(crate) files: BTreeMap<String, FileRecord>,
}

impl Index {
    pub(crate) fn new(snapshot: bool, files: BTreeMap<String, FileRecord>) -> Index {
        Index {
            format: FORMAT.to_owned(),
            version: VERSION,
            snapshot,
            files,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads it, with its bytes; `None` if there is none.
    pub(crate) fn read(store: &dyn Store) -> Result<Option<(Index, Vec<u8>)>> {
        let bytes = match store.read_all(INDEX, LIMIT) {
            Ok(bytes) => bytes,
            Err(e) if e.not_found() => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let index: Index = serde_json::from_slice(&bytes).map_err(|e| damaged(INDEX, e))?;
        check(INDEX, index.version)?;
        if index.format != FORMAT || !index.files.keys().all(|n| store::valid_name(n)) {
            return Err(damaged(INDEX, "it is not a list of encrypted files"));
        }
        Ok(Some((index, bytes)))
    }
}

fn check(file: &'static str, version: u32) -> Result<()> {
    if version == VERSION {
        return Ok(());
    }
    let what = format!("it has version {version}; this penstock reads version {VERSION}");
    Err(damaged(file, what))
}

pub(crate) fn damaged(file: &'static str, what: impl std::fmt::Display) -> Error {
    Error::Damaged {
        file,
        what: base::units::printable(&what.to_string()),
    }
}
