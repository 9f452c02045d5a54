//! The place of the archive: never in a directory that is read, nor in the data directory of a server.

use crate::input::Found;
use base::{Error, Kind, Result};
use encryption::Place;

/// Refuses an archive in such a directory.
pub fn outside(to: &Place, found: &Found) -> Result<()> {
    let Some(path) = to.path() else { return Ok(()) };
    let path = run::places::resolved(path);
    match found.places.iter().find(|p| path.starts_with(p)) {
        None => run::places::not_in_a_data_directory(&path),
        Some(place) => Err(Error::new(
            Kind::Usage,
            base::units::printable(&format!("{to} is inside {}, whose files are rescued", place.display())),
        )
        .hint("write the archive to another directory, better to another disk: nothing is written where data is rescued from")),
    }
}
