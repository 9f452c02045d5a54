//! The place that a new archive is written to: the errors of one that cannot be used, and its cleaning after a
//! failure.

use base::{Error, Kind};
use run::failure;
use rustix::fs::Access;
use std::io::ErrorKind;
use store::{Location, Store};

/// Removes what a failed dump has written. The directory was empty, so all of it is ours; the marker is removed
/// last, so that what remains after a second failure is still marked.
///
/// A directory that this dump has made goes too.
pub fn clear(store: &dyn Store) {
    let Ok(entries) = store.list() else { return };
    for e in entries
        .iter()
        .filter(|e| e.name != archive::marker::INCOMPLETE)
    {
        let _ = store.remove(&e.name);
    }
    let _ = store.remove(archive::marker::INCOMPLETE);
    if store.made_place() {
        let _ = store.remove_place();
    }
}

/// Refuses a directory of this host that could not be written, before anything is made there. The store looks again when it
/// makes it.
pub fn check(to: &Location) -> base::Result<()> {
    let Some(path) = to.path() else {
        return Ok(());
    };
    run::places::not_in_a_data_directory(path)?;
    let refused = |e: std::io::Error| {
        let e = store::Error::new("create directory", &path.display().to_string(), e);
        create_error(to, &encryption::Error::Store(e))
    };
    match std::fs::read_dir(path) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(not_empty(to));
            }
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        Err(e) => return Err(refused(e)),
    }
    let absolute = std::path::absolute(path).map_err(refused)?;
    match absolute.ancestors().find(|p| p.exists()) {
        Some(there) => {
            let access = Access::WRITE_OK | Access::EXEC_OK;
            rustix::fs::access(there, access).map_err(|e| refused(e.into()))
        }
        None => Ok(()),
    }
}

/// The error of a directory that cannot be created or is not empty.
pub fn create_error(to: &Location, e: &encryption::Error) -> Error {
    let e = match e {
        encryption::Error::Store(e) => e,
        e => return failure::encryption(format_args!("cannot write the dump to {to}"), e),
    };
    if e.source.kind() == ErrorKind::DirectoryNotEmpty {
        return not_empty(to);
    }
    if e.source.kind() == ErrorKind::WouldBlock {
        return busy(to);
    }
    // Errors of a place elsewhere name it themselves, and have their own way out.
    if e.is_far() {
        return failure::store("cannot write the dump", e);
    }
    let error = failure::store(format_args!("cannot write the dump to {to}"), e);
    match e.source.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => error.hint(
            "a dump is written into a new or empty directory, and there is a file of that name: choose another one",
        ),
        ErrorKind::ReadOnlyFilesystem => {
            error.hint("choose a directory on a disk that can be written to")
        }
        _ => error,
    }
}

/// The error of a dump that could not be written, with the place.
pub fn write_error(to: &Location, e: Error) -> Error {
    if e.kind != Kind::Storage {
        return e;
    }
    Error {
        what: base::units::printable(&format!("the dump into {to} failed: {}", e.what)),
        ..e
    }
}

/// The error of a directory that another dump, which began at the same time, has taken first.
pub fn busy(to: &Location) -> Error {
    Error::new(Kind::Target, format!("another dump is writing into {to}"))
        .hint("choose another directory; a directory holds one dump, and the other dump continues")
}

/// The error of a directory that already has files in it.
pub fn not_empty(to: &Location) -> Error {
    let marker = to
        .open(None)
        .ok()
        .and_then(|d| archive::marker::get(&*d).ok().flatten());
    match marker {
        Some(m) => Error::new(
            Kind::Target,
            format!(
                "{to} holds a dump that began at {} (process {}) and has not finished",
                base::units::printable(&m.started),
                m.pid
            ),
        )
        .hint("if that process is gone, penstock dump … --resume continues a dump; else remove the directory, or choose another"),
        None => Error::new(Kind::Target, format!("{to} is not empty")).hint(
            "a dump needs a new or empty directory; an earlier dump is never overwritten",
        ),
    }
}
