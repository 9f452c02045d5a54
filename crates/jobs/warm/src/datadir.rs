//! The data directory of a server, as it is seen from here.

use base::Result;
use run::places;
use server::Identity;
use std::path::{Path, PathBuf};

/// Where a server's files are. What is not there, or is another server's, is refused.
pub fn of(id: &Identity, said: Option<&Path>) -> Result<PathBuf> {
    places::data_directory(
        id,
        said,
        "the keys of hot pages are in the server's files: run penstock on its host (--datadir names the directory where that is \
         another one from here); without its files, read whole indexes on the new server: penstock warm load --whole-indexes \
         --include-tables …",
    )
}
