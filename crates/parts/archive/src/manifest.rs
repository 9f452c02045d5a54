//! `penstock.json`: the account of every byte of an archive.
//!
//! It names every other file with size and BLAKE3 digest, every table with its
//! row count and row digest, every chunk; what the source was, which position
//! the rows belong to, and how consistent they are. It is written last, in one
//! step, after everything it names is durable.
//!
//! The last lines of the file hold the digest of all bytes before them, so an
//! edit or a flipped bit in the manifest itself is found too. That is no
//! signature: whoever can rewrite the file can compute the digest as well.

mod io;
mod seal;
#[cfg(test)]
mod tests;

use crate::{FileRecord, RowDigest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Name of the manifest.
pub const MANIFEST: &str = "penstock.json";
/// Value of its `format`.
pub const FORMAT: &str = "penstock-manifest";
/// The version that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// The manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// Name of the tool that wrote the archive.
    pub tool: String,
    /// Its version.
    pub tool_version: String,
    /// When.
    pub created: Created,
    /// From which server.
    pub source: Source,
    /// How far the rows belong to one moment.
    pub consistency: Consistency,
    /// Which moment of the binary log that is.
    #[serde(default)]
    pub position: Position,
    /// General tablespaces (MySQL) that tables are in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tablespaces: Vec<Tablespace>,
    /// How many accounts `@.users.sql` has, if the archive has accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounts: Option<u64>,
    /// Options of the dump, for information.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// How row digests are made: [`crate::digest::ROW_DIGEST_NAME`].
    pub row_digest: String,
    /// Sums over all tables.
    pub totals: Totals,
    /// Tables that have rows in the archive.
    pub tables: Vec<TableRecord>,
    /// Every file of the archive except this one.
    #[serde(deserialize_with = "io::files")]
    pub files: BTreeMap<String, FileRecord>,
}

/// Begin and end of the dump: UTC, RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// Before the first statement.
    pub begin: String,
    /// When the last file was durable.
    pub end: String,
}

/// The server that was dumped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// `mysql` or `mariadb`.
    pub flavour: String,
    /// Version as the server says it.
    pub version: String,
    /// `server_uuid` or `server_uid`; empty if it has none.
    #[serde(default)]
    pub uuid: String,
    /// Its own name.
    #[serde(default)]
    pub hostname: String,
    /// Its TCP port; 0 if none.
    #[serde(default)]
    pub port: u16,
    /// Path of its socket, as the server says it.
    #[serde(default)]
    pub socket: String,
    /// Path of its data, as the server says it.
    #[serde(default)]
    pub datadir: String,
    /// Its settings that generated columns may depend on, where there are such columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// What the snapshot promises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consistency {
    /// How it was taken, in a word.
    pub mode: String,
    /// How long writers were locked out, in milliseconds.
    #[serde(default)]
    pub lock_ms: u64,
    /// What does not belong to the moment, one line each.
    #[serde(default)]
    pub exceptions: Vec<String>,
    /// Tables of which there are no rows, because they could not be read, or changed meanwhile; quoted and qualified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables_without_rows: Vec<String>,
}

/// The snapshot's place in the binary log; a server without one has none of these.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Binary log file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog_file: Option<String>,
    /// Position in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binlog_position: Option<u64>,
    /// The server's clock then, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_time: Option<u64>,
    /// GTID set (MySQL).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtid_executed: Option<String>,
    /// GTID position (MariaDB).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtid_binlog_pos: Option<String>,
    /// GTID position that was reached as a replica (MariaDB).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtid_slave_pos: Option<String>,
    /// On a replica, its place in the logs of its sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourcePosition>,
}

/// The snapshot's place in the binary log of a server that the source is a replica of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePosition {
    /// Channel or connection; empty for the unnamed one.
    #[serde(default)]
    pub channel: String,
    /// Host.
    #[serde(default)]
    pub host: String,
    /// Port.
    #[serde(default)]
    pub port: u64,
    /// Its `server_id`; 0 if it was never connected, and in archives of earlier versions.
    #[serde(default)]
    pub server_id: u64,
    /// Its `server_uuid` (MySQL).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_uuid: Option<String>,
    /// Binary log file; empty if nothing was received yet.
    #[serde(default)]
    pub file: String,
    /// Position in it.
    #[serde(default)]
    pub position: u64,
    /// Whether every change before it is in the rows, and none after it.
    #[serde(default)]
    pub exact: bool,
}

/// Sums over all tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Rows.
    pub rows: u64,
    /// Bytes of row data before compression.
    pub raw_bytes: u64,
    /// Bytes of data files as stored.
    pub stored_bytes: u64,
}

/// A general tablespace of MySQL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tablespace {
    /// Its name.
    pub name: String,
    /// The name of its file, without a directory.
    pub file: String,
    /// Bytes of a compressed page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_size: Option<u64>,
    /// Bytes by which the file grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoextend_size: Option<u64>,
    /// Whether it is encrypted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub encrypted: bool,
}

/// A table's rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRecord {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub table: String,
    /// Columns in the order of the data and of the digested rows.
    pub columns: Vec<String>,
    /// The expressions that were selected, where they differ from the bare columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_expressions: Option<Vec<String>>,
    /// Columns of the key that the table was divided by; empty if it was not.
    #[serde(default)]
    pub key: Vec<String>,
    /// The condition that its rows were chosen by; none: all rows.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The partitions whose rows these are; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<String>,
    /// Rows in all chunks.
    pub rows: u64,
    /// Digest of all rows.
    pub row_digest: String,
    /// The chunks, in order.
    pub chunks: Vec<ChunkEntry>,
    /// Values of generated columns that the server keeps; the data files have none of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generated: Vec<GeneratedRecord>,
    /// Indexes that keep computed values of which there is no digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes_without_digest: Vec<String>,
    /// What identified the table in the server: another text is another table, or one that was emptied, exchanged or altered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// The values of a generated column that is stored, or of a virtual one in an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedRecord {
    /// The column.
    pub column: String,
    /// The index that the values were read from; none for a stored column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Columns that each value was digested with: the primary key.
    #[serde(default)]
    pub key: Vec<String>,
    /// Values.
    pub rows: u64,
    /// Digest of all of them.
    pub row_digest: String,
}

impl GeneratedRecord {
    /// The digest; `None` if its text is not one.
    pub fn digest(&self) -> Option<RowDigest> {
        RowDigest::from_hex(&self.row_digest, self.rows)
    }
}

/// One data file of a table; its stored size and digest are in [`Manifest::files`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkEntry {
    /// Name of the data file.
    pub file: String,
    /// The partition it belongs to, if data files are per partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Rows in it.
    pub rows: u64,
    /// Bytes of row data before compression.
    pub raw_bytes: u64,
    /// Digest of its rows.
    pub row_digest: String,
    /// Lower end of its key range as text, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Upper end of its key range as text, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl ChunkEntry {
    /// The entry of a finished chunk.
    pub fn of(record: &crate::ChunkRecord) -> Self {
        Self {
            file: record.file.clone(),
            partition: None,
            rows: record.rows,
            raw_bytes: record.raw_bytes,
            row_digest: record.row_digest.to_hex(),
            from: None,
            to: None,
        }
    }

    /// The row digest; `None` if its text is not one.
    pub fn digest(&self) -> Option<RowDigest> {
        RowDigest::from_hex(&self.row_digest, self.rows)
    }
}

impl TableRecord {
    /// The row digest; `None` if its text is not one.
    pub fn digest(&self) -> Option<RowDigest> {
        RowDigest::from_hex(&self.row_digest, self.rows)
    }

    /// Sets rows and digest to the sums over the chunks.
    pub fn sum_up(&mut self) {
        let mut all = RowDigest::new();
        for digest in self.chunks.iter().filter_map(ChunkEntry::digest) {
            all.merge(&digest);
        }
        self.rows = all.rows();
        self.row_digest = all.to_hex();
    }
}

/// The options of a dump that leave something out, by their names in its manifest.
const SELECTIONS: [(&str, &str); 13] = [
    ("includeSchemas", "--include-schemas"),
    ("excludeSchemas", "--exclude-schemas"),
    ("includeTables", "--include-tables"),
    ("excludeTables", "--exclude-tables"),
    ("includeTriggers", "--include-triggers"),
    ("excludeTriggers", "--exclude-triggers"),
    ("includeRoutines", "--include-routines"),
    ("excludeRoutines", "--exclude-routines"),
    ("includeEvents", "--include-events"),
    ("excludeEvents", "--exclude-events"),
    ("ddlOnly", "--ddl-only"),
    ("where", "--where"),
    ("partitions", "--partitions"),
];

impl Manifest {
    /// The options of its dump that left a part of the server out, if any did.
    pub fn selections(&self) -> Vec<&'static str> {
        let given = SELECTIONS
            .into_iter()
            .filter(|(key, _)| self.options.contains_key(*key));
        given.map(|(_, option)| option).collect()
    }

    /// The options of its dump that chose schemas, tables and other objects, as they were given.
    pub fn selected(&self) -> Vec<String> {
        let words = |value: &Value| -> Vec<String> {
            let list = value.as_array().into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let lists = SELECTIONS.into_iter().filter_map(|(key, option)| {
            let words = words(self.options.get(key)?);
            (!words.is_empty()).then(|| format!("{option} {}", words.join(",")))
        });
        lists
            .chain(self.without_kinds().map(|(_, option)| option.to_owned()))
            .collect()
    }

    /// The kinds of objects that its dump left out, in words, and the options that did.
    pub fn without_kinds(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let kinds = [
            ("views", "views", "--no-views"),
            ("routines", "procedures and functions", "--no-routines"),
            ("events", "events", "--no-events"),
            ("triggers", "triggers", "--no-triggers"),
        ];
        let without = |key: &str| self.options.get(key) == Some(&Value::Bool(false));
        let without = kinds.into_iter().filter(move |(key, ..)| without(key));
        without.map(|(_, what, option)| (what, option))
    }

    /// Whether its dump left the rows of all tables out.
    pub fn is_without_rows(&self) -> bool {
        self.options.get("ddlOnly") == Some(&Value::Bool(true))
    }

    /// Whether its dump left rows of some tables out, or of all.
    pub fn lacks_rows(&self) -> bool {
        !self.why_rows_lack().is_empty()
    }

    /// Why it lacks rows of its tables: the options of its dump that left them out, and the tables
    /// whose rows could not be dumped. Nothing if it has all of them.
    pub fn why_rows_lack(&self) -> Vec<String> {
        let any = |chosen: fn(&TableRecord) -> bool| self.tables.iter().any(chosen);
        let options = [
            (self.is_without_rows(), "--ddl-only"),
            (any(|t| t.condition.is_some()), "--where"),
            (any(|t| !t.partitions.is_empty()), "--partitions"),
        ];
        let given = options.into_iter().filter(|(given, _)| *given);
        let mut why: Vec<String> = given.map(|(_, o)| format!("dumped with {o}")).collect();
        for table in &self.consistency.tables_without_rows {
            why.push(format!("no rows of {table} could be dumped"));
        }
        why
    }

    /// A manifest of this version without content.
    pub fn new(tool: &str, tool_version: &str) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            tool: tool.to_owned(),
            tool_version: tool_version.to_owned(),
            created: Created::default(),
            source: Source::default(),
            consistency: Consistency::default(),
            position: Position::default(),
            tablespaces: Vec::new(),
            accounts: None,
            options: Map::new(),
            row_digest: crate::digest::ROW_DIGEST_NAME.to_owned(),
            totals: Totals::default(),
            tables: Vec::new(),
            files: BTreeMap::new(),
        }
    }

    /// Takes a finished chunk's files into [`files`](Self::files).
    pub fn add_files_of(&mut self, record: &crate::ChunkRecord) {
        self.files
            .insert(record.file.clone(), record.stored.clone());
        if let Some((name, index)) = &record.index {
            self.files.insert(name.clone(), index.clone());
        }
    }

    /// Sets the totals to the sums over the tables.
    pub fn sum_up(&mut self) {
        let mut totals = Totals::default();
        for chunk in self.tables.iter().flat_map(|t| &t.chunks) {
            totals.rows += chunk.rows;
            totals.raw_bytes += chunk.raw_bytes;
            totals.stored_bytes += self.files.get(&chunk.file).map_or(0, |f| f.bytes);
        }
        self.totals = totals;
    }

    /// The records of all tables with their names.
    pub fn by_name(&self) -> impl Iterator<Item = ((&str, &str), &TableRecord)> {
        let tables = self.tables.iter();
        tables.map(|t| ((t.schema.as_str(), t.table.as_str()), t))
    }

    /// The record of a table; for many tables use [`by_name`](Self::by_name).
    pub fn table(&self, schema: &str, table: &str) -> Option<&TableRecord> {
        self.tables
            .iter()
            .find(|t| t.schema == schema && t.table == table)
    }
}
