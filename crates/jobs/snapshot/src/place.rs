//! The place that a snapshot is stored in: filled as an archive is, with the marker first and the manifest last.

use crate::manifest::{LIMIT, MANIFEST, Manifest};
use archive::{ArchiveError, marker};
use base::{Error, Kind, Result, failpoint};
use encryption::Place;
use rows::new_archive;
use run::{Run, failure};
use std::sync::Arc;
use store::Store;

/// A place that is being filled.
pub(crate) struct Target {
    store: Arc<dyn Store>,
}

impl Target {
    /// Marks an empty place as one that is not finished.
    pub(crate) fn begin(run: &Run, to: &Place) -> Result<Target> {
        if let Some(path) = to.path() {
            run::places::not_in_a_data_directory(path)?;
        }
        let store = to
            .create(Some(&run.disk_limiter))
            .map_err(|e| new_archive::create_error(to, &e))?;
        match marker::set(&*store, env!("CARGO_PKG_VERSION")) {
            Err(ArchiveError::Store(e)) if e.busy() => return Err(new_archive::busy(to)),
            Err(e) => {
                new_archive::clear(&*store);
                return Err(failure::archive("cannot begin to store the snapshot", &e));
            }
            Ok(()) => {}
        }
        failpoint::reached("a place is marked");
        Ok(Target { store })
    }

    /// Its store.
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// All files are there: they are made durable, then the manifest is written, then the mark goes.
    pub(crate) fn finish(&self, manifest: &Manifest) -> Result<()> {
        let wrong = |e: &store::Error| failure::store("cannot finish the snapshot", e);
        self.store.sync().map_err(|e| wrong(&e))?;
        let text = manifest.to_text();
        self.store
            .put(MANIFEST, text.as_bytes())
            .map_err(|e| wrong(&e))?;
        self.store.sync().map_err(|e| wrong(&e))?;
        failpoint::reached("the manifest of a snapshot is written");
        marker::clear(&*self.store).map_err(|e| failure::archive("cannot finish the snapshot", &e))
    }

    /// Removes what was written.
    pub(crate) fn give_up(self) {
        new_archive::clear(&*self.store);
    }
}

/// A stored snapshot, and its manifest.
pub(crate) fn open(from: &Place) -> Result<(Arc<dyn Store>, Manifest)> {
    let store = from.open(None).map_err(|e| match &e {
        encryption::Error::Store(e) => failure::store(format_args!("cannot open {from}"), e),
        e => failure::encryption(format_args!("cannot open {from}"), e),
    })?;
    let manifest = read(&*store, &from.to_string())?;
    Ok((store, manifest))
}

/// Whether a place holds a snapshot, and not an archive. Of an encrypted one only a key shows that.
pub fn holds_one(from: &Place) -> Result<bool> {
    let store = from.open(None).map_err(|e| match &e {
        encryption::Error::Store(e) => failure::store(format_args!("cannot open {from}"), e),
        e => failure::encryption(format_args!("cannot open {from}"), e),
    })?;
    let size = store
        .size(MANIFEST)
        .map_err(|e| failure::store(format_args!("cannot read {from}"), &e))?;
    Ok(size.is_some())
}

/// The manifest of a snapshot in this store.
pub fn read(store: &dyn Store, from: &str) -> Result<Manifest> {
    let damaged = |why: String| {
        Error::new(
            Kind::Archive,
            format!("{MANIFEST} in {from} cannot be read: {why}"),
        )
    };
    let unfinished = store.size(marker::INCOMPLETE);
    let unfinished =
        unfinished.map_err(|e| failure::store(format_args!("cannot open {from}"), &e))?;
    if unfinished.is_some() {
        let what = format!("{from} holds a snapshot that was not stored to its end");
        return Err(
            Error::new(Kind::Archive, what).hint("take another one; this one can be removed")
        );
    }
    match store.read_all(MANIFEST, LIMIT) {
        Ok(bytes) => Manifest::parse(&bytes).map_err(damaged),
        Err(e) if e.not_found() => Err(Error::new(Kind::Archive, format!("there is no snapshot in {from}"))
            .hint("penstock snapshot take --to writes one; an archive of penstock dump is loaded with penstock load")),
        Err(e) => Err(failure::store(format_args!("cannot read {from}"), &e)),
    }
}
