//! What to dump, and how: the resolved options of a dump.

use archive::chunk::Compression;
use run::throttle;
use server::Filter;
use std::time::Duration;

/// How much consistency is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// One snapshot for all workers.
    Lock,
    /// None; for accounts that may not lock.
    None,
}

/// What to dump, and how.
#[derive(Debug)]
pub struct Options {
    /// The server.
    pub source: wire::Options,
    /// The directory to write.
    pub to: encryption::Place,
    /// Connections that read rows.
    pub threads: usize,
    /// How chunks are compressed.
    pub compression: Compression,
    /// Target size of a chunk, in bytes of rows.
    pub chunk_bytes: u64,
    /// How much consistency.
    pub consistency: Consistency,
    /// Longest wait for locks.
    pub lock_wait: Duration,
    /// Whether to dump procedures and functions.
    pub routines: bool,
    /// Whether to dump events.
    pub events: bool,
    /// Whether to dump triggers.
    pub triggers: bool,
    /// Refuse an account that may not see everything that is selected.
    pub require_all: bool,
    /// Which schemas and tables.
    pub filter: Filter,
    /// The limits on its impact on other sessions.
    pub throttle: throttle::Options,
}
