//! Places where a test may end the process, to see what it leaves behind.
//!
//! Each call of [`reached`] is a place. `PENSTOCK_KILL_AT=n` kills the process
//! at the n-th one as `kill -9` would; `PENSTOCK_STOP_AT=n` stops it there as
//! `kill -STOP` would, so that a test can kill the server and let it go on.
//! Release builds do not have this.

#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicU64, Ordering};

/// Marks a place in the code; the name is for its reader.
#[cfg(debug_assertions)]
pub fn reached(_place: &str) {
    static REACHED: AtomicU64 = AtomicU64::new(0);
    let n = REACHED.fetch_add(1, Ordering::SeqCst) + 1;
    let asked = |name: &str| {
        let n: Option<u64> = std::env::var(name).ok()?.parse().ok();
        n
    };
    let signal = if asked("PENSTOCK_KILL_AT") == Some(n) {
        rustix::process::Signal::KILL
    } else if asked("PENSTOCK_STOP_AT") == Some(n) {
        rustix::process::Signal::STOP
    } else {
        return;
    };
    let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
}

/// Marks a place in the code.
#[cfg(not(debug_assertions))]
#[inline]
pub fn reached(_place: &str) {}
