//! `penstock.references.json`: the files of an archive that lie in other archives beside it.
//!
//! An incremental backup takes rows that did not change from an earlier backup. Their files stay where they are; this file,
//! which is never encrypted, names them as they are stored there, so that whoever removes backups can leave them without a
//! key. Each file is named in the archive that holds it: a reference never leads to another reference.

use crate::{ArchiveError, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use store::{EntryKind, Store};

/// Its name.
pub const REFERENCES: &str = "penstock.references.json";

/// It is no larger than this, in bytes.
const LIMIT: u64 = 1 << 30;

const FORMAT: &str = "penstock-references";
const VERSION: u32 = 1;

/// Which files of other archives belong to one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct References {
    format: String,
    version: u32,
    /// By the name of the directory beside the archive's own: the files there, as they are stored.
    #[serde(rename = "files")]
    beside: BTreeMap<String, BTreeSet<String>>,
}

impl Default for References {
    fn default() -> References {
        References {
            format: FORMAT.to_owned(),
            version: VERSION,
            beside: BTreeMap::new(),
        }
    }
}

impl References {
    /// Adds a file that is stored under this name in a directory beside.
    pub fn add(&mut self, directory: &str, stored: &str) {
        let files = self.beside.entry(directory.to_owned()).or_default();
        files.insert(stored.to_owned());
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.beside.is_empty()
    }

    /// The directories beside, each with the files that are meant there.
    pub fn directories(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.beside
            .iter()
            .map(|(name, files)| (name.as_str(), files))
    }

    /// The files that are meant in a directory beside.
    pub fn of(&self, directory: &str) -> Option<&BTreeSet<String>> {
        self.beside.get(directory)
    }

    /// Those of the archive in this store, as it is stored; `None` if all of it lies there.
    pub fn read(store: &dyn Store) -> Result<Option<References>> {
        let bytes = match store.read_all(REFERENCES, LIMIT) {
            Ok(bytes) => bytes,
            Err(e) if e.not_found() => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        References::parse(&bytes).map(Some)
    }

    fn parse(bytes: &[u8]) -> Result<References> {
        let damaged = |what: String| ArchiveError::damaged(REFERENCES, what);
        let read: References = serde_json::from_slice(bytes).map_err(|e| damaged(e.to_string()))?;
        if read.format != FORMAT || read.version > VERSION {
            return Err(damaged(format!(
                "version {} is not supported",
                read.version
            )));
        }
        // Both become parts of paths.
        let names = read.beside.iter();
        let names = names.flat_map(|(directory, files)| files.iter().chain([directory]));
        for name in names {
            if !store::valid_name(name) {
                let shown = base::units::printable(name);
                return Err(damaged(format!("'{shown}' is not a plain name")));
            }
        }
        Ok(read)
    }

    /// Writes them beside the files of an archive.
    pub fn write(&self, store: &dyn Store) -> Result<()> {
        store.put(REFERENCES, crate::meta::to_json(self).as_bytes())?;
        store.sync()?;
        Ok(())
    }
}

/// Whether an entry of a listing is the file of references.
pub fn is_references(entry: &store::Entry) -> bool {
    entry.kind == EntryKind::File && entry.name == REFERENCES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_back() {
        let store = store::Memory::new("references");
        assert_eq!(References::read(&store).unwrap(), None);
        let mut references = References::default();
        references.add("20261127T010000Z-00ab", "shop@t@@0.tsv.zst");
        references.add("20261127T010000Z-00ab", "shop@t@@0.tsv.zst.idx");
        references.write(&store).unwrap();
        assert_eq!(References::read(&store).unwrap(), Some(references));
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for text in [
            r#"{"format":"penstock-references","version":1,"files":{"..":["a"]}}"#,
            r#"{"format":"penstock-references","version":1,"files":{"a/b":["a"]}}"#,
            r#"{"format":"penstock-references","version":1,"files":{"a":["../a"]}}"#,
            r#"{"format":"penstock-references","version":2,"files":{}}"#,
            r#"{"format":"other","version":1,"files":{}}"#,
            "{",
        ] {
            assert!(References::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
