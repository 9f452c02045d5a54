//! What the steps of a load record while it runs; [`crate::Summary`] is made of it at the end.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What came of accounts.
#[derive(Clone, Debug, Default)]
pub struct AccountsMade {
    /// Those that this load made.
    pub made: Vec<String>,
    /// Those that an earlier load of the archive made, whose exceptions this one repairs.
    pub earlier: Vec<String>,
    /// Those that were there, and were left as they were.
    pub kept: Vec<String>,
}

/// Statistics that were taken at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Analyzed {
    /// Of so many tables.
    pub tables: u64,
    /// In so many seconds.
    pub seconds: f64,
}

/// A table of which not all rows were wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// Quoted, qualified.
    pub table: String,
    /// The rows that it has now.
    pub rows: u64,
    /// The rows that the archive has of it, where that is known.
    pub of: Option<u64>,
    /// The options that chose.
    pub by: Vec<String>,
}

/// Histograms that were made, in columns.
#[derive(Clone, Copy, Debug, Default)]
pub struct HistogramsMade {
    /// As they were on the source.
    pub exact: u64,
    /// From the loaded rows.
    pub taken_again: u64,
}

/// What the steps of a load record.
#[derive(Default)]
pub struct LoadReport {
    /// Changes that the target made necessary.
    pub notes: Vec<String>,
    /// What else the user should know; nothing was changed for it.
    pub remarks: Vec<String>,
    /// Objects that could not be created or loaded completely.
    pub exceptions: Vec<String>,
    /// Whether the target refused an object that it may take later.
    pub repairable: bool,
    /// How many objects of each kind were made after the rows.
    pub made: BTreeMap<&'static str, u64>,
    /// Views that the target refused.
    pub refused_views: u64,
    /// What came of the accounts, if they were asked for.
    pub accounts: Option<AccountsMade>,
    /// Those that this run made.
    pub new_accounts: BTreeSet<String>,
    /// The statistics, if they were asked for.
    pub analyzed: Option<Analyzed>,
    /// The histograms, if the source had any.
    pub histograms: Option<HistogramsMade>,
    /// The statement that made GTIDs known, or why none was needed.
    pub gtids: Option<String>,
    /// Schemas that this load created.
    pub created: Vec<String>,
    /// Whether this load has created anything.
    pub touched: bool,
    /// Whether tables are imported as tablespaces.
    pub physical: bool,
    /// Batch sizes that were measured.
    pub batch_sizes: Vec<BatchSize>,
    /// Tables of which not all rows were wanted.
    pub chosen: Vec<Chosen>,
}

/// How many chunks of a table were best loaded together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// Quoted, qualified.
    pub table: String,
    /// Chunks in one statement and transaction.
    pub chunks: usize,
    /// How much faster that was than one by one, in per cent.
    pub gain: u64,
    /// Each number that was tried, with its bytes a second.
    pub tried: Vec<(usize, u64)>,
}
