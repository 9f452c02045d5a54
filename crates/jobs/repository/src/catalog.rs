//! The catalog: what is known of each backup without reading its archive.
//!
//! One small file for each backup, written once and never changed, so that no two runs write the same file.
//! Because a thousand small files are slow to read from afar, one file holds copies of them; it is only ever
//! believed about entries that are listed with the size and time that they had when they were copied, so it may
//! be old, missing or damaged.

use crate::layout::{BackupId, ServerName};
use archive::Manifest;
use archive::manifest::Position;
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// Version of an entry.
const VERSION: u32 = 1;

/// Version of the copies; others are not read.
const COPIES_VERSION: u32 = 2;

/// A backup, as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Format of the entry.
    pub version: u32,
    /// Under which name the server is kept.
    pub server: String,
    /// The backup.
    pub id: String,
    /// One more than the highest of this server's backups when it was written. Clocks jump; this does not.
    /// Of a backup that was listed again, that of the one before it.
    pub sequence: u64,
    /// `mysql` or `mariadb`.
    pub flavour: String,
    /// Version of the server.
    pub server_version: String,
    /// Begin: UTC, RFC 3339.
    pub begin: String,
    /// End.
    pub end: String,
    /// Tables with rows.
    pub tables: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of rows before compression.
    pub raw_bytes: u64,
    /// Bytes of all files.
    pub stored_bytes: u64,
    /// Files.
    pub files: u64,
    /// The place in the binary log.
    pub position: Position,
    /// What it cost other sessions, as a part of their throughput or latency, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<f64>,
    /// Whether it is encrypted. Of such a backup only times and sizes are known here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub encrypted: bool,
    /// What is not part of the backup, or not of one moment with the rest.
    #[serde(default)]
    pub exceptions: Vec<String>,
    /// The archive's manifest, so that an exchanged archive is noticed; the list of its files if it is encrypted.
    pub manifest: archive::FileRecord,
}

impl Entry {
    /// What an archive's manifest says, in short; `stored` is the manifest as a file.
    pub(crate) fn of(
        (server, id): (&ServerName, &BackupId),
        manifest: &Manifest,
        stored: archive::FileRecord,
    ) -> Entry {
        Entry {
            version: VERSION,
            server: server.to_string(),
            id: id.to_string(),
            sequence: 0,
            flavour: manifest.source.flavour.clone(),
            server_version: manifest.source.version.clone(),
            begin: manifest.created.begin.clone(),
            end: manifest.created.end.clone(),
            tables: manifest.tables.len() as u64,
            rows: manifest.totals.rows,
            raw_bytes: manifest.totals.raw_bytes,
            stored_bytes: manifest.files.values().map(|f| f.bytes).sum::<u64>() + stored.bytes,
            files: manifest.files.len() as u64 + 1,
            position: manifest.position.clone(),
            exceptions: manifest.consistency.exceptions.clone(),
            impact: None,
            encrypted: false,
            manifest: stored,
        }
    }

    /// What is known of an encrypted archive without a key.
    pub(crate) fn of_encrypted(
        (server, id): (&ServerName, &BackupId),
        listed: encryption::Listed,
    ) -> Entry {
        let begin = id.time();
        let end = listed
            .written
            .and_then(|t| jiff::Timestamp::try_from(t).ok());
        let text = |t: jiff::Timestamp| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Entry {
            version: VERSION,
            server: server.to_string(),
            id: id.to_string(),
            sequence: 0,
            flavour: String::new(),
            server_version: String::new(),
            begin: text(begin),
            end: text(end.unwrap_or(begin).max(begin)),
            tables: 0,
            rows: 0,
            raw_bytes: 0,
            stored_bytes: listed.bytes,
            files: listed.files,
            position: Position::default(),
            exceptions: Vec::new(),
            impact: None,
            encrypted: true,
            manifest: listed.index,
        }
    }

    /// Reads an entry; `None` if it is none of this version.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Entry> {
        let entry: Entry = serde_json::from_slice(bytes).ok()?;
        let names =
            ServerName::parse(&entry.server).is_ok() && BackupId::parse(&entry.id).is_some();
        (entry.version == VERSION && names && entry.begin().is_some()).then_some(entry)
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Sorts the backups of a server by the order in which they were taken.
    pub fn order(&self) -> impl Ord + '_ {
        (self.sequence, self.begin(), self.end(), &self.id)
    }

    /// When it began.
    pub fn begin(&self) -> Option<jiff::Timestamp> {
        self.begin.parse().ok()
    }

    /// When it ended.
    pub fn end(&self) -> Option<jiff::Timestamp> {
        self.end.parse().ok()
    }

    /// How long it took, in seconds.
    pub fn seconds(&self) -> f64 {
        match (self.begin(), self.end()) {
            (Some(begin), Some(end)) => end.duration_since(begin).as_secs_f64().max(0.0),
            _ => 0.0,
        }
    }
}

/// Copies of entries.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Copies {
    version: u32,
    pub(crate) entries: Vec<Copy>,
    /// The files of drills that were read, and say what their names say.
    #[serde(default)]
    drills: Vec<Seen>,
}

/// A file that was read.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Seen {
    name: String,
    /// Its size.
    bytes: u64,
    /// When it was written, by the clock of the place: nanoseconds since 1970.
    modified: Option<u128>,
}

impl Seen {
    pub(crate) fn new(file: &store::Entry) -> Seen {
        Seen {
            name: file.name.clone(),
            bytes: file.size,
            modified: nanoseconds(file),
        }
    }
}

/// The copy of an entry, and which file it was.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Copy {
    pub(crate) entry: Entry,
    /// Size of the entry's file.
    bytes: u64,
    /// When the file was written, by the clock of the place: nanoseconds since 1970.
    modified: Option<u128>,
}

impl Copy {
    pub(crate) fn new(entry: Entry, file: &store::Entry) -> Copy {
        Copy {
            entry,
            bytes: file.size,
            modified: nanoseconds(file),
        }
    }

    /// Whether it is a copy of this file, as it is now.
    pub(crate) fn is_of(&self, file: &store::Entry) -> bool {
        self.modified.is_some() && (self.bytes, self.modified) == (file.size, nanoseconds(file))
    }
}

fn nanoseconds(file: &store::Entry) -> Option<u128> {
    let since = file.modified?.duration_since(SystemTime::UNIX_EPOCH);
    since.ok().map(|t| t.as_nanos())
}

impl Copies {
    pub(crate) fn new(entries: Vec<Copy>, mut drills: Vec<Seen>) -> Copies {
        drills.sort();
        Copies {
            version: COPIES_VERSION,
            entries,
            drills,
        }
    }

    /// Whether this file of a drill was read, and is as it was then.
    pub(crate) fn has_seen(&self, file: &store::Entry) -> bool {
        let seen = Seen::new(file);
        seen.modified.is_some() && self.drills.binary_search(&seen).is_ok()
    }

    /// What can be believed of these bytes.
    pub(crate) fn parse(bytes: &[u8]) -> Copies {
        let copies: Option<Copies> = serde_json::from_slice(bytes).ok();
        let mut copies = copies
            .filter(|c| c.version == COPIES_VERSION)
            .unwrap_or_default();
        copies.drills.sort();
        copies
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
