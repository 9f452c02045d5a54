//! What the network to a store cost: how long threads waited for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The way to a store on another host; shared by all its readers and writers.
#[derive(Debug, Default)]
pub struct Link {
    nanoseconds: AtomicU64,
}

impl Link {
    /// Time that all threads together have waited for pieces of files to arrive, on either side.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    /// Counts the time of this call as waiting.
    pub(crate) fn waiting<T>(&self, call: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = call();
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(took, Ordering::Relaxed);
        done
    }
}
