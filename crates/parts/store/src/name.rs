//! Which names a store accepts. An archive is one flat directory, and a name
//! from an archive's metadata may have been written by an attacker,
//! so anything that could mean a path is refused before the system sees it.

use crate::{Error, Result};
use std::io;

/// What an object's name ends with while it is being written.
pub const PARTIAL_SUFFIX: &str = ".dumping";

/// The longest name that common file systems accept, in bytes.
const NAME_MAX: usize = 255;

/// Whether `name` is one plain file name: not empty, no separator, no NUL, not
/// `.` or `..`, at most 255 bytes.
pub fn valid_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_MAX
        && name != "."
        && name != ".."
        && !name.contains(['/', '\\', '\0'])
}

/// The name, or the error that refuses it.
pub fn check_name<'n>(op: &'static str, name: &'n str) -> Result<&'n str> {
    if valid_name(name) {
        return Ok(name);
    }
    let why = io::Error::new(io::ErrorKind::InvalidInput, "not a plain file name");
    Err(Error::new(op, name, why))
}

/// As [`check_name`], for a name that is about to be written.
pub fn check_new_name<'n>(op: &'static str, name: &'n str) -> Result<&'n str> {
    check_name(op, name)?;
    if name.ends_with(PARTIAL_SUFFIX) {
        let why = io::Error::new(
            io::ErrorKind::InvalidInput,
            "the ending is kept for unfinished files",
        );
        return Err(Error::new(op, name, why));
    }
    Ok(name)
}
