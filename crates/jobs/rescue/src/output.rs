//! The place of the archive: never in a directory that is read, nor in the data directory of a server.

use crate::input::Found;
use base::{Error, Kind, Result};
use encryption::Place;
use std::path::{Path, PathBuf};

/// Refuses an archive in such a directory.
pub fn outside(to: &Place, found: &Found) -> Result<()> {
    let Some(path) = to.path() else { return Ok(()) };
    let path = resolved(path);
    match found.places.iter().find(|p| path.starts_with(p)) {
        None => Ok(()),
        Some(place) => Err(Error::new(
            Kind::Usage,
            base::units::printable(&format!("{to} is inside {}, whose files are rescued", place.display())),
        )
        .hint("write the archive to another directory, better to another disk: nothing is written where data is rescued from")),
    }
}

/// Without links, as far as there is something.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return real.join(rest);
        }
    }
    path
}
