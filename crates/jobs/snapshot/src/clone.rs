//! Files that share their blocks with others of the same file system (`FICLONE`), and the removal of what was made.
//!
//! Invariant: a source is opened for reading only, and never through a link; a clone is a new file that only its owner
//! may read.

use base::units::printable;
use base::{Error, Kind, Result};
use run::state::storage;
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Clones a file as it is at one moment; a clone that is there already is replaced.
pub(crate) fn clone_file(from: &Path, to: &Path) -> Result<()> {
    let source = File::options()
        .read(true)
        .custom_flags(run::NO_LINK)
        .open(from)
        .map_err(|e| storage("read", from, &e))?;
    let made = || -> io::Result<File> {
        match fs::remove_file(to) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mode = source.metadata()?.permissions().mode() & 0o777;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(to)
    };
    let target = made().map_err(|e| storage("create", to, &e))?;
    let length = |file: &File| file.metadata().map(|m| m.len());
    let before = length(&source).map_err(|e| storage("read", from, &e))?;
    rustix::fs::ioctl_ficlone(&target, &source).map_err(|e| {
        let text = format!("cannot clone {}: {e}", from.display());
        let error = Error::new(Kind::Storage, printable(&text));
        match e {
            Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL => error.hint(
                "its file system cannot share blocks between files: XFS (made with reflink=1) and btrfs can",
            ),
            Errno::XDEV => error.hint(
                "the snapshot must be on the file system of the data directory: name a directory there with --at",
            ),
            _ => error,
        }
    })?;
    // Success, and only the beginning of a file, is what ZFS 2.2.0 makes of it.
    let is_whole = || Ok(length(&target)? >= before.min(length(&source)?));
    match is_whole().map_err(|e: io::Error| storage("read", to, &e))? {
        true => Ok(()),
        false => {
            let what = format!("the clone of {} ends early", from.display());
            Err(Error::new(Kind::Storage, printable(&what))
                .hint("its file system does not clone files as it should: use another --method"))
        }
    }
}

/// Removes a file or a directory with all that is in it, if it is there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let outcome = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    match outcome {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(storage("remove", path, &e)),
        _ => Ok(()),
    }
}
