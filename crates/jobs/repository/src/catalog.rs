//! The catalog: what is known of each backup without reading its archive.
//!
//! One small file for each backup, written once and never changed, so that no two runs write the same file.
//! Because a thousand small files are slow to read from afar, one file holds copies of them; it is only ever
//! believed about entries that are listed with the size and time that they had when they were copied, so it may
//! be old, missing or damaged.

use crate::layout::{BackupId, ServerName};
use crate::selection::Selection;
use archive::manifest::Position;
use archive::{Manifest, References};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::SystemTime;

/// Version of the entry of a logical backup.
const VERSION: u32 = 1;

/// Of a snapshot. Who knows only logical backups then says that it cannot read the entry, and leaves the backup alone.
const VERSION_WITH_KIND: u32 = 2;

/// Of a backup that refers to files of others. Who does not know of that says that it cannot read the entry.
const VERSION_WITH_REFERENCES: u32 = 3;

/// Version of the copies; others are not read.
const COPIES_VERSION: u32 = 3;

/// What a backup is made of.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum BackupKind {
    /// Definitions and rows: an archive.
    #[default]
    Logical,
    /// The files of the server.
    Snapshot,
}

impl BackupKind {
    /// As it is typed, listed and stored.
    pub fn name(self) -> &'static str {
        match self {
            BackupKind::Logical => "logical",
            BackupKind::Snapshot => "snapshot",
        }
    }

    fn is_logical(&self) -> bool {
        *self == BackupKind::Logical
    }
}

/// A backup, as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Format of the entry.
    pub version: u32,
    /// Under which name the server is kept.
    pub server: String,
    /// The backup.
    pub id: String,
    /// What it is made of.
    #[serde(default, skip_serializing_if = "BackupKind::is_logical")]
    pub kind: BackupKind,
    /// How a snapshot was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// One more than the highest of this server's backups when it was written. Clocks jump; this does not.
    /// Of a backup that was listed again, that of the one before it.
    pub sequence: u64,
    /// `mysql` or `mariadb`.
    pub flavour: String,
    /// Version of the server.
    pub server_version: String,
    /// Its UUID, which says whose binary logs continue the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_uuid: Option<String>,
    /// Begin: UTC, RFC 3339.
    pub begin: String,
    /// End.
    pub end: String,
    /// Tables with rows.
    pub tables: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes before compression: of rows, or of files without their holes.
    pub raw_bytes: u64,
    /// Bytes of all files.
    pub stored_bytes: u64,
    /// Files.
    pub files: u64,
    /// The place in the binary log.
    pub position: Position,
    /// How long commits were kept out for it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_ms: Option<f64>,
    /// How long changes of definitions were kept out for a snapshot, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definitions_lock_ms: Option<f64>,
    /// What it cost other sessions, as a part of their throughput or latency, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<f64>,
    /// Whether it is encrypted. Of such a backup only times and sizes are known here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub encrypted: bool,
    /// Which part of the server it holds, if not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The backups of the same server that hold files of it: it is incremental.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refers_to: Vec<String>,
    /// What is not part of the backup, or not of one moment with the rest.
    #[serde(default)]
    pub exceptions: Vec<String>,
    /// Tables of which it has no rows, because they could not be read, or changed meanwhile; quoted and qualified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables_without_rows: Vec<String>,
    /// The archive's manifest, so that an exchanged archive is noticed; the list of its files if it is encrypted.
    pub manifest: archive::FileRecord,
}

impl Entry {
    /// What an archive's manifest says, in short; `stored` is the manifest as a file.
    pub(crate) fn of(
        (server, id): (&ServerName, &BackupId),
        manifest: &Manifest,
        stored: archive::FileRecord,
        references: Option<&References>,
    ) -> Entry {
        let elsewhere: BTreeSet<&str> = references
            .iter()
            .flat_map(|r| r.directories())
            .flat_map(|(_, files)| files.iter().map(String::as_str))
            .collect();
        let own = manifest.files.iter();
        let own = own.filter(|(name, _)| !elsewhere.contains(name.as_str()));
        let (files, bytes) = own.fold((1, stored.bytes), |(n, bytes), (_, f)| {
            (n + 1, bytes + f.bytes)
        });
        let refers_to = referred(references);
        Entry {
            version: version_of(BackupKind::Logical, &refers_to),
            refers_to,
            server: server.to_string(),
            id: id.to_string(),
            kind: BackupKind::Logical,
            method: None,
            sequence: 0,
            flavour: manifest.source.flavour.clone(),
            server_version: manifest.source.version.clone(),
            server_uuid: known(&manifest.source.uuid),
            begin: manifest.created.begin.clone(),
            end: manifest.created.end.clone(),
            tables: manifest.tables.len() as u64,
            rows: manifest.totals.rows,
            raw_bytes: manifest.totals.raw_bytes,
            stored_bytes: bytes,
            files,
            position: manifest.position.clone(),
            lock_ms: Some(manifest.consistency.lock_ms as f64),
            definitions_lock_ms: None,
            selection: Selection::of(manifest),
            exceptions: manifest.consistency.exceptions.clone(),
            tables_without_rows: manifest.consistency.tables_without_rows.clone(),
            impact: None,
            encrypted: false,
            manifest: stored,
        }
    }

    /// What the manifest of a snapshot says, in short.
    pub(crate) fn of_snapshot(
        (server, id): (&ServerName, &BackupId),
        manifest: &snapshot::Manifest,
        stored: archive::FileRecord,
    ) -> Entry {
        let (_, data, bytes) = manifest.sizes();
        let pieces = manifest.files.iter().map(|f| f.pieces.len() as u64);
        Entry {
            version: version_of(BackupKind::Snapshot, &[]),
            refers_to: Vec::new(),
            server: server.to_string(),
            id: id.to_string(),
            kind: BackupKind::Snapshot,
            method: Some(manifest.method.clone()),
            sequence: 0,
            flavour: manifest.source.flavour.clone(),
            server_version: manifest.source.version.clone(),
            server_uuid: known(&manifest.source.uuid),
            begin: manifest.created.begin.clone(),
            end: manifest.created.end.clone(),
            tables: 0,
            rows: 0,
            raw_bytes: data,
            stored_bytes: bytes + stored.bytes,
            files: pieces.sum::<u64>() + 1,
            position: manifest.position.clone(),
            lock_ms: Some(manifest.locks.commits_ms),
            definitions_lock_ms: Some(manifest.locks.definitions_ms),
            selection: None,
            exceptions: manifest.exceptions.clone(),
            tables_without_rows: Vec::new(),
            impact: None,
            encrypted: false,
            manifest: stored,
        }
    }

    /// What is known of an encrypted backup without a key.
    pub(crate) fn of_encrypted(
        (server, id): (&ServerName, &BackupId),
        listed: encryption::Listed,
        references: Option<&References>,
    ) -> Entry {
        let begin = id.time();
        let end = listed
            .written
            .and_then(|t| jiff::Timestamp::try_from(t).ok());
        let text = |t: jiff::Timestamp| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let kind = match listed.snapshot {
            true => BackupKind::Snapshot,
            false => BackupKind::Logical,
        };
        let refers_to = referred(references);
        Entry {
            version: version_of(kind, &refers_to),
            refers_to,
            server: server.to_string(),
            id: id.to_string(),
            kind,
            method: None,
            sequence: 0,
            flavour: String::new(),
            server_version: String::new(),
            server_uuid: None,
            begin: text(begin),
            end: text(end.unwrap_or(begin).max(begin)),
            tables: 0,
            rows: 0,
            raw_bytes: 0,
            stored_bytes: listed.bytes,
            files: listed.files,
            position: Position::default(),
            lock_ms: None,
            definitions_lock_ms: None,
            selection: None,
            exceptions: Vec::new(),
            tables_without_rows: Vec::new(),
            impact: None,
            encrypted: true,
            manifest: listed.index,
        }
    }

    /// Reads an entry; `None` if it is none of this version.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Entry> {
        let entry: Entry = serde_json::from_slice(bytes).ok()?;
        let names = ServerName::parse(&entry.server).is_ok()
            && BackupId::parse(&entry.id).is_some()
            && entry
                .refers_to
                .iter()
                .all(|id| BackupId::parse(id).is_some());
        let version = version_of(entry.kind, &entry.refers_to);
        (entry.version == version && names && entry.begin().is_some()).then_some(entry)
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

    /// The backups that it is one of: those of its server, of its kind. Retention and drills look at each by itself.
    pub fn series(&self) -> (&str, BackupKind) {
        (&self.server, self.kind)
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

fn version_of(kind: BackupKind, refers_to: &[String]) -> u32 {
    match kind {
        BackupKind::Logical if refers_to.is_empty() => VERSION,
        BackupKind::Logical => VERSION_WITH_REFERENCES,
        BackupKind::Snapshot => VERSION_WITH_KIND,
    }
}

fn referred(references: Option<&References>) -> Vec<String> {
    let all = references.iter().flat_map(|r| r.directories());
    all.map(|(directory, _)| directory.to_owned()).collect()
}

fn known(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|t| !t.is_empty())
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
