//! How a job opens an archive.

use archive::Archive;
use base::units::printable;
use base::{Error, Kind, Result};
use run::failure;
use std::path::Path;
use std::sync::Arc;

/// Opens an archive's directory.
pub fn open(from: &Path) -> Result<Archive> {
    let directory = store::Directory::open(from).map_err(|e| open_error(from, &e))?;
    Archive::open(Arc::new(directory))
        .map_err(|e| failure::archive(format_args!("cannot use {}", from.display()), &e))
}

/// What the archive itself says it lacks: the exceptions of its dump, and a weaker consistency.
pub fn dumped_with(archive: &Archive) -> Vec<String> {
    match archive.manifest() {
        Some(manifest) => manifest.consistency.exceptions.clone(),
        // MySQL Shell says no more than this.
        None if !archive.root().consistent => vec![
            "it was dumped without a consistent snapshot: tables may be of different points in time"
                .to_owned(),
        ],
        None => Vec::new(),
    }
}

/// The error of an archive's directory that cannot be opened; it says nothing about the archive in it.
pub fn open_error(from: &Path, e: &store::Error) -> Error {
    Error::new(
        Kind::Storage,
        printable(&format!("cannot open the archive {}: {e}", from.display())),
    )
    .hint("check the path and the permissions")
}
