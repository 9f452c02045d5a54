//! How large the files may be: asked for before anything is written.
//!
//! Invariant: a tenth of a file system stays free, also where several directories are on one.

use super::Options;
use super::pages::BLOCK;
use super::pattern::Pattern;
use super::place::Place;
use super::random::room;
use base::units::{bytes, printable};
use base::{Error, Kind, Result};

/// The size of the large file, if there is room: more than the caches of most devices, and written within seconds.
const USUAL: u64 = 1 << 30;

/// The smallest that is chosen: less would fit into the cache of any device.
const LEAST: u64 = 64 << 20;

/// The part of a file system that stays free.
const FREE: f64 = 0.1;

/// The size of the large file in each directory.
pub fn divide(places: &[Place], options: &Options) -> Result<Vec<u64>> {
    places.iter().map(|p| size(p, places, options)).collect()
}

fn size(place: &Place, all: &[Place], options: &Options) -> Result<u64> {
    let shared = |p: &&Place| p.file_system.device == place.file_system.device;
    let places = all.iter().filter(shared).count() as u64;
    let fs = &place.file_system;
    let kept = (fs.size as f64 * FREE) as u64;
    let usable = match (fs.size, options.size) {
        // Some file systems in memory do not say it; then whoever names a size says that there is room.
        (0, Some(_)) => u64::MAX,
        _ => fs.free.saturating_sub(kept) / places.max(1),
    };
    let fits = |size: u64| room(size, &options.patterns) <= usable;
    let chosen = match options.size {
        // Whole blocks, as direct I/O wants them.
        Some(size) => Some(size / BLOCK as u64 * BLOCK as u64).filter(|s| fits(*s)),
        None => chosen(&options.patterns, usable),
    };
    chosen.ok_or_else(|| {
        let needed = room(options.size.unwrap_or(LEAST), &options.patterns) * places;
        let what = format!(
            "{}: {} are needed, and of {} free {} are usable, for a tenth of the file system ({}) stays free",
            printable(&place.path().to_string_lossy()),
            bytes(needed),
            bytes(fs.free),
            bytes(fs.free.saturating_sub(kept)),
            bytes(kept)
        );
        Error::new(Kind::Storage, what).hint(match options.size {
            Some(_) => "nothing was written; free some space, or measure with less: --size",
            None => "nothing was written; free some space, or name a smaller size: --size 16M (it fits into any device's cache)",
        })
    })
}

/// The usual size, or the half, or the quarter, … of it that fits.
fn chosen(patterns: &[Pattern], usable: u64) -> Option<u64> {
    let mut size = USUAL;
    while room(size, patterns) > usable {
        size /= 2;
        if size < LEAST {
            return None;
        }
    }
    Some(size)
}

/// The smallest size that can be asked for: a batch of pages has to have different places.
pub const SMALLEST: u64 = 4 * BLOCK as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_follows_the_free_space() {
        let all = Pattern::all();
        assert_eq!(chosen(&all, 100 << 30), Some(USUAL));
        assert_eq!(chosen(&all, 2 << 30), Some(USUAL / 2));
        assert_eq!(chosen(&all, 100 << 20), None);
        // Without a second file of its size, it may be larger.
        assert_eq!(chosen(&[Pattern::Read], 1100 << 20), Some(USUAL));
    }
}
