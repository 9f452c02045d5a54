//! The counters of a running job, written by workers and read by the screen.
//!
//! Each is a relaxed atomic: they are for display, and no decision of a job
//! depends on them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of one phase of a job.
#[derive(Debug, Default)]
pub struct Counters {
    /// Rows read, written or compared so far.
    pub rows: Counter,
    /// Bytes of row data, before compression.
    pub bytes: Counter,
    /// Bytes as stored, after compression.
    pub stored: Counter,
    /// Rows expected in all (an estimate while dumping); 0 when unknown.
    pub rows_expected: Counter,
    /// Bytes of row data expected in all; 0 when unknown.
    pub bytes_expected: Counter,
    /// Tables finished.
    pub tables: Counter,
    /// Workers that are moving data at this moment.
    pub busy: Counter,
}

/// One number that many threads add to.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Takes `n` away.
    pub fn sub(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    /// Replaces the number.
    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// The number now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
