//! The result of a dump, for the screen, `--json` and the record.

use crate::snapshot::Achieved;
use crate::unchanged::TakenOver;
use archive::chunk::Compression;
use run::{bottleneck, throttle};

/// Which tables of a data directory were read from its files.
#[derive(Clone, Debug)]
pub struct FilesRead {
    /// How many.
    pub tables: u64,
    /// The others, each with the reason.
    pub by_sql: Vec<String>,
}

/// The rows of a table that were chosen (`--where`, `--partitions`).
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The table, quoted and qualified.
    pub table: String,
    /// Rows that match.
    pub rows: u64,
    /// Rows of the table, as the server estimates them.
    pub rows_estimate: u64,
}

/// The result of a dump.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The archive's directory, absolute.
    pub path: String,
    /// The server that was dumped.
    pub source: String,
    /// Schemas.
    pub schemas: u64,
    /// Tables.
    pub tables: u64,
    /// Views.
    pub views: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of rows before compression.
    pub raw_bytes: u64,
    /// Bytes of chunks as stored, of those that this run has written.
    pub stored_bytes: u64,
    /// How many these are.
    pub chunks: u64,
    /// The whole run, in seconds.
    pub seconds: f64,
    /// Reading and writing rows, in seconds.
    pub rows_seconds: f64,
    /// What the rows waited for, if they took long enough to measure it.
    pub bottleneck: Option<bottleneck::Report>,
    /// The impact on other sessions and what was done about it, if it was limited.
    pub impact: Option<throttle::Report>,
    /// The snapshot and the lock.
    pub achieved: Achieved,
    /// What is not part of one consistent snapshot, by name.
    pub exceptions: Vec<String>,
    /// Whether definitions alone were dumped.
    pub without_rows: bool,
    /// What is not wanted, besides the rows of all tables, in words.
    pub not_chosen: Vec<String>,
    /// How many rows were chosen, of tables with a choice.
    pub chosen: Vec<Chosen>,
    /// Accounts and roles in the archive, if it has them.
    pub accounts: Option<u64>,
    /// Columns with histograms, if the account may read them.
    pub histograms: Option<u64>,
    /// What the account may not have seen, and so is not in the archive.
    pub not_seen: Vec<String>,
    /// What was taken over from an earlier dump, if there is one.
    pub taken_over: Option<TakenOver>,
    /// What was read from files, if a data directory was dumped.
    pub files_read: Option<FilesRead>,
    /// Connections that read.
    pub threads: usize,
    /// How chunks were compressed.
    pub compression: Compression,
    /// What there was to do, as it was estimated when the rows began.
    pub work: forecast::Work,
}
