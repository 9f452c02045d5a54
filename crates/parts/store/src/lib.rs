//! Where the bytes of an archive are kept: a flat set of named objects that appear
//! complete or not at all. A [`Location`] names such a place: a directory of this host or,
//! through ssh, of another, or a prefix of an object store.
//!
//! Invariants every store keeps, and `conformance` checks:
//! * a name becomes visible only when its writer has finished, in one step;
//! * a writer dropped before that leaves nothing behind;
//! * names are flat, and a name can never reach outside the store;
//! * after [`Store::sync`] (or a durable finish followed by it) finished
//!   objects survive a loss of power.
//!
//! A store does not know what the bytes mean: digests, formats and retries are
//! added by its callers.

pub mod direct;
mod directory;
mod error;
mod invalid;
mod location;
mod memory;
mod name;
mod object;
mod remote;
mod ssh;
pub mod stream;

#[cfg(any(test, debug_assertions))]
mod conformance;
#[cfg(any(test, debug_assertions))]
mod fault;

pub use directory::Directory;
pub use error::{Error, Result, is_full};
pub use invalid::Invalid;
pub use location::Location;
pub use memory::Memory;
pub use name::{PARTIAL_SUFFIX, check_name, check_new_name, valid_name};
pub use object::{ObjectPlace, Objects};
pub use remote::Link;
pub use ssh::{SshDirectory, SshPlace};

#[cfg(any(test, debug_assertions))]
pub use conformance::conformance;
#[cfg(any(test, debug_assertions))]
pub use fault::{Failure, Fault};

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::SystemTime;

/// What a name in a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Ordinary bytes; the only kind that can be opened.
    File,
    /// A directory, link, pipe, device, or a name that is not UTF-8: never touched.
    Other,
}

/// One name found in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name; lossy when it is not UTF-8 (the kind is then [`EntryKind::Other`]).
    pub name: String,
    /// Size in bytes; 0 for anything that is not a file.
    pub size: u64,
    /// File or not.
    pub kind: EntryKind,
    /// When it was written, by the clock of whoever keeps it, where that is known.
    pub modified: Option<SystemTime>,
}

/// A flat set of named objects.
pub trait Store: Send + Sync {
    /// Starts an object; it appears under `name` (replacing an older one) only on [`Writer::finish`].
    fn create(&self, name: &str) -> Result<Box<dyn Writer>>;

    /// Opens an object for reading from its start.
    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>>;

    /// The same for an object that is read for the last time: its pages leave the page cache.
    fn open_once(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        self.open(name)
    }

    /// The size of an object in bytes; `None` if there is none of that name.
    fn size(&self, name: &str) -> Result<Option<u64>>;

    /// What an object of this name is called where it is kept, without looking there; `None` if it is known that there is none.
    fn stored_name(&self, name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    /// Every name in the store, in no particular order, unfinished objects
    /// (ending in [`PARTIAL_SUFFIX`]) included where the store can see them.
    fn list(&self) -> Result<Vec<Entry>>;

    /// Removes an object; an error if it is not there.
    fn remove(&self, name: &str) -> Result<()>;

    /// Has the next [`Store::sync`] make an object durable that another process has written.
    fn not_durable(&self, _name: &str) {}

    /// Makes every object finished so far durable, contents and names.
    fn sync(&self) -> Result<()>;

    /// Called once, when every file of what is being written is there: a store that keeps something about its own
    /// files writes it now.
    fn complete(&self) -> Result<()> {
        Ok(())
    }

    /// The network to it, where there is one: reading a file twice then costs twice.
    fn link(&self) -> Option<Arc<Link>> {
        None
    }

    /// The store in words, for messages, e.g. its path.
    fn describe(&self) -> String;

    /// Removes the empty place itself, where it is a thing of its own (a directory); does nothing where it is not.
    fn remove_place(&self) -> Result<()> {
        Ok(())
    }

    /// Whether the place itself was made when this store was created: it then goes with what was written there.
    fn made_place(&self) -> bool {
        false
    }

    /// Writes a small object that must not exist yet, durably: of several writers exactly one succeeds, the
    /// others get [`Error::busy`]. Unlike others it may be visible before it is whole; one that could not be written
    /// is removed again.
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<()>;

    /// Writes a small object: create, write, durable finish.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut writer = self.create(name)?;
        writer
            .write_all(bytes)
            .map_err(|e| Error::new("write", name, e))?;
        writer.finish(true).map(|_| ())
    }

    /// Reads a whole object, refusing one of more than `limit` bytes.
    fn read_all(&self, name: &str, limit: u64) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.open(name)?
            .take(limit.saturating_add(1))
            .read_to_end(&mut out)
            .map_err(|e| Error::new("read", name, e))?;
        if out.len() as u64 > limit {
            let what = format!("larger than the {limit} bytes allowed here");
            return Err(Error::new("read", name, std::io::Error::other(what)));
        }
        Ok(out)
    }
}

/// An object being written. Dropped without [`finish`](Writer::finish) it leaves nothing behind.
pub trait Writer: Write + Send {
    /// Completes the object and makes it visible; returns its size in bytes.
    ///
    /// With `durable` its contents are on stable storage before the name
    /// appears; without, they are after the next [`Store::sync`]. The name
    /// itself is durable after [`Store::sync`] in either case.
    fn finish(self: Box<Self>, durable: bool) -> Result<u64>;
}
