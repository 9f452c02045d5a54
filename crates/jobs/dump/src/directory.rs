//! The directory that a dump writes: the errors of one that cannot be used, and its cleaning after a failure.

use base::{Error, Kind};
use run::failure;
use store::{Location, Store};

/// Removes what a failed dump has written. The directory was empty, so all of it is ours; the marker is removed
/// last, so that what remains after a second failure is still marked.
pub fn clear(store: &dyn Store) {
    let Ok(entries) = store.list() else { return };
    for e in entries
        .iter()
        .filter(|e| e.name != archive::marker::INCOMPLETE)
    {
        let _ = store.remove(&e.name);
    }
    let _ = store.remove(archive::marker::INCOMPLETE);
}

/// The error of a directory that cannot be created or is not empty.
pub fn create_error(to: &Location, e: &store::Error) -> Error {
    if e.source.kind() == std::io::ErrorKind::DirectoryNotEmpty {
        return not_empty(to);
    }
    if e.source.kind() == std::io::ErrorKind::WouldBlock {
        return busy(to);
    }
    failure::store("cannot write the dump", e)
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
        .hint("if that process is gone, nothing in the directory is usable: remove it, or choose another"),
        None => Error::new(Kind::Target, format!("{to} is not empty")).hint(
            "a dump needs a new or empty directory; an earlier dump is never overwritten",
        ),
    }
}
