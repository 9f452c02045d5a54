//! Room for copy-on-write, watched while a snapshot exists.
//!
//! What the server writes while its blocks are shared takes new room. Invariant: the run gives its snapshot up before the
//! server runs out of room because of it.

use crate::volume::Volume;
use base::units::{bytes, printable};
use base::{Cancel, Error, Kind, Result};
use run::Run;
use run::state::storage;
use std::path::Path;
use std::time::Duration;

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(1);

/// The share of an LVM snapshot's own room at which it is given up: when it is full, it is invalid.
const MOST: f64 = 0.9;

/// Fails if less than this share of the file system is free, or the snapshot's own room is nearly used.
pub(crate) fn check(datadir: &Path, volume: Option<&Volume>, keep_free: f64) -> Result<()> {
    let stat = rustix::fs::statvfs(datadir).map_err(|e| storage("read", datadir, &e.into()))?;
    let free = stat.f_bavail as f64 / (stat.f_blocks as f64).max(1.0);
    if free < keep_free {
        let what = format!(
            "the file system of {} has {} left, which is {:.1} %: less than the {:.1} % of --keep-free",
            datadir.display(),
            bytes(stat.f_bavail.saturating_mul(stat.f_frsize)),
            free * 100.0,
            keep_free * 100.0
        );
        return Err(Error::new(Kind::Storage, printable(&what)).hint(
            "no snapshot is left: what the server writes while one exists takes new room; free some, or lower --keep-free",
        ));
    }
    let used = match volume {
        Some(volume) => volume.used()?,
        None => None,
    };
    match used {
        Some(used) if used >= MOST => {
            let what = format!("{:.0} % of the snapshot's room is used", used * 100.0);
            Err(Error::new(Kind::Storage, what)
                .hint("the snapshot was given up before it was full: give it more with --snapshot-size, or read it faster"))
        }
        _ => Ok(()),
    }
}

/// Does the work, and ends the run if room gets short meanwhile.
pub(crate) fn watched<T>(
    run: &Run,
    datadir: &Path,
    volume: Option<&Volume>,
    keep_free: f64,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let done = Cancel::new();
    std::thread::scope(|scope| {
        let watch = || {
            while !done.sleep(EVERY) {
                if let Err(e) = check(datadir, volume, keep_free) {
                    run.abort(e);
                    return;
                }
            }
        };
        scope.spawn(watch);
        let outcome = work();
        done.raise();
        outcome
    })
}
