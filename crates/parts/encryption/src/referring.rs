//! An archive some of whose files lie in other archives beside it (`archive::references`), as one store.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::sync::Arc;
use store::{Entry, Link, Result, Store, Writer};

/// The archive's own files, and those of others that belong to it. It is only read.
pub(crate) struct Referring {
    own: Arc<dyn Store>,
    /// Each with the files that are meant, as they are stored.
    beside: Vec<(Arc<dyn Store>, BTreeSet<String>)>,
}

impl Referring {
    pub(crate) fn new(
        own: Arc<dyn Store>,
        beside: Vec<(Arc<dyn Store>, BTreeSet<String>)>,
    ) -> Referring {
        Referring { own, beside }
    }

    /// The store that has a file.
    fn holder(&self, name: &str) -> &Arc<dyn Store> {
        let mut beside = self.beside.iter();
        let held = beside.find(|(store, files)| is_meant(&**store, files, name));
        held.map_or(&self.own, |(store, _)| store)
    }
}

fn is_meant(store: &dyn Store, files: &BTreeSet<String>, name: &str) -> bool {
    let stored = store.stored_name(name);
    stored.is_some_and(|stored| files.contains(&stored))
}

impl Store for Referring {
    fn create(&self, name: &str) -> Result<Box<dyn Writer>> {
        let why = "an archive that refers to others is only read";
        let why = io::Error::new(io::ErrorKind::Unsupported, why);
        Err(store::Error::new("create", name, why))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        self.holder(name).open(name)
    }

    fn open_once(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        self.holder(name).open_once(name)
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        self.holder(name).size(name)
    }

    fn list(&self) -> Result<Vec<Entry>> {
        let mut all = self.own.list()?;
        all.retain(|e| !archive::references::is_references(e));
        for (store, files) in &self.beside {
            let held = store.list()?;
            all.extend(
                held.into_iter()
                    .filter(|e| is_meant(&**store, files, &e.name)),
            );
        }
        Ok(all)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.own.remove(name)
    }

    fn sync(&self) -> Result<()> {
        self.own.sync()
    }

    fn link(&self) -> Option<Arc<Link>> {
        self.own.link()
    }

    fn describe(&self) -> String {
        self.own.describe()
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.own.put_new(name, bytes)
    }
}
