//! What the figures mean for TPC-C: the reads, writes and syncs that one New-Order causes in a server.
//!
//! The numbers are counted, not derived: status counters of servers during `penstock bench tpcc run`, divided by the
//! New-Orders committed (docs/disk.md says on which servers and how). They depend on the buffer pool above all.

use super::Volume;
use super::figures::{Latency, Spread};
use super::pattern::Pattern;

/// What one New-Order causes, with the part of the other transactions that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Pages read from the disk.
    pub reads: f64,
    /// Pages written to their places; each is written to the doublewrite file before.
    pub writes: f64,
    /// Transactions that wait for their commit.
    pub commits: f64,
    /// Syncs that each of those waits for: redo log and binary log.
    pub syncs: u32,
    /// Bytes of each of the two logs for a commit, rounded up to blocks of 512.
    pub redo: usize,
}

/// The model: between MySQL 9.7 and MariaDB 10.11 with about a quarter of the data in the buffer pool.
pub const MODEL: Model = Model {
    reads: 4.5,
    writes: 10.0,
    commits: 2.06,
    syncs: 2,
    redo: 6144,
};

/// What a volume carries, in words' worth of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carries {
    /// A commit of one session.
    pub commit: Option<Latency>,
    /// Durable commits a second of one session.
    pub one: Option<Spread>,
    /// The same of the most sessions that were measured together.
    pub many: Option<(usize, Spread)>,
    /// TPC-C New-Orders a minute.
    pub new_orders: Option<Spread>,
}

/// Of a volume.
pub fn carries(v: &Volume) -> Carries {
    let one = Pattern::Commit(1);
    let most = super::pattern::SESSIONS.into_iter().max().unwrap_or(1);
    Carries {
        commit: v.latency(one),
        one: v.spread(one),
        many: v.spread(Pattern::Commit(most)).map(|s| (most, s)),
        new_orders: v.spread(Pattern::Mixed).map(|s| s.times(60.0)),
    }
}
