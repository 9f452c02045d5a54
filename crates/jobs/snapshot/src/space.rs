//! Room for copy-on-write, watched while a snapshot exists.
//!
//! What the server writes while its blocks are shared takes new room. Invariant: the run gives its snapshot up before the
//! server runs out of room because of it.

use crate::room::Room;
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

/// Fails if less than this share of the file system is free.
pub(crate) fn check(datadir: &Path, keep_free: f64) -> Result<()> {
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
    Ok(())
}

/// Fails if the snapshot's own room is nearly used, or will be before it is looked at again. `before` is what was used
/// the last time.
fn check_room(room: &Room, before: &mut f64) -> Result<()> {
    let used = room.used()?;
    let why = verdict(std::mem::replace(before, used), used);
    why.map_or(Ok(()), |what| {
        Err(Error::new(Kind::Storage, what).hint(
            "the snapshot is given up: give it more room with --snapshot-size, or read it faster; nothing of it is left",
        ))
    })
}

/// Why a snapshot is given up of which so much of its room was used before, and is used now.
fn verdict(before: f64, now: f64) -> Option<String> {
    let percent = now * 100.0;
    // At the speed of the last interval, until the one after the next: a look itself takes a while.
    let expected = now + 2.0 * (now - before).max(0.0);
    match now {
        _ if now >= 1.0 => {
            Some("the snapshot's room is full, and the snapshot is invalid".to_owned())
        }
        _ if now >= MOST => Some(format!("{percent:.0} % of the snapshot's room is used")),
        _ if expected >= 1.0 => Some(format!(
            "{percent:.0} % of the snapshot's room is used, and the rest would be within seconds"
        )),
        _ => None,
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
    let room = volume.map(Volume::room).transpose()?.flatten();
    std::thread::scope(|scope| {
        let watch = || {
            let mut used = 0.0;
            while !done.sleep(EVERY) {
                let left = room.as_ref().map_or(Ok(()), |r| check_room(r, &mut used));
                if let Err(e) = left.and_then(|()| check(datadir, keep_free)) {
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

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn a_snapshot_is_given_up_before_its_room_is_used() {
        for (before, now) in [(0.0, 0.0), (0.0, 0.3), (0.5, 0.6), (0.85, 0.88), (0.8, 0.2)] {
            assert_eq!(verdict(before, now), None, "{before} {now}");
        }
        assert!(verdict(0.89, 0.9).is_some());
        // A third in one interval: the next ones would fill it.
        assert!(verdict(0.2, 0.53).unwrap().contains("within seconds"));
        assert!(verdict(0.9, 1.0).unwrap().contains("is full"));
    }
}
