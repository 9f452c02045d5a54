//! Where an archive is, with the keys for it.

use crate::key::LIMIT;
use crate::names::{NAMES, damaged};
use crate::referring::Referring;
use crate::{Encrypted, Error, KEY, Keys, Result, key};
use age::x25519::Identity;
use archive::{References, marker};
use base::RateLimiter;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use store::{Location, Store};

/// A key file, and the key in it.
type Opened = (Vec<u8>, Identity);

/// The place of an archive, and the keys that were named for it.
#[derive(Clone)]
pub struct Place {
    location: Location,
    /// What it is called for the user, if not by its location.
    called: Option<&'static str>,
    keys: Arc<Keys>,
    /// The file of the key that was opened last, and the key: opening with a passphrase takes a second.
    opened: Arc<Mutex<Option<Opened>>>,
}

impl Place {
    /// This place, with these keys.
    pub fn new(location: Location, keys: Keys) -> Place {
        Place {
            location,
            called: None,
            keys: Arc::new(keys),
            opened: Arc::default(),
        }
    }

    /// Another place, with the same keys.
    pub fn moved(&self, location: Location) -> Place {
        Place {
            location,
            ..self.clone()
        }
    }

    /// The same place, called this for the user: where a file is kept for a while says nothing to anybody.
    #[must_use]
    pub fn called(self, name: &'static str) -> Place {
        Place {
            called: Some(name),
            ..self
        }
    }

    /// The place in words that mean the same from everywhere.
    pub fn absolute(&self) -> String {
        match self.called {
            Some(name) => name.to_owned(),
            None => self.location.absolute(),
        }
    }

    /// The keys that were named for it.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The place alone.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// An empty place for a new archive; encrypted if there are keys to encrypt with.
    pub fn create(&self, limiter: Option<&Arc<RateLimiter>>) -> Result<Arc<dyn Store>> {
        let inner = self.location.create(limiter)?;
        if !self.keys.can_encrypt() {
            return Ok(inner);
        }
        Ok(Arc::new(Encrypted::new(inner, &self.keys)?))
    }

    /// The archive that is there, decrypted if it is encrypted, with the files that it refers to in archives beside it.
    pub fn open(&self, limiter: Option<&Arc<RateLimiter>>) -> Result<Arc<dyn Store>> {
        self.opened(limiter, false)
    }

    /// The same; files of archives beside it that are not there are missing, and no error.
    pub fn open_tolerant(&self) -> Result<Arc<dyn Store>> {
        self.opened(None, true)
    }

    fn opened(&self, limiter: Option<&Arc<RateLimiter>>, tolerant: bool) -> Result<Arc<dyn Store>> {
        let inner = self.location.open(limiter)?;
        // Of an archive that is not finished there is nothing to open, and that is said by whoever reads it.
        if inner.size(marker::INCOMPLETE)?.is_some() {
            return Ok(inner);
        }
        let references = References::read(&*inner).map_err(unreadable)?;
        let own = self.decrypted(inner)?;
        let Some(references) = references else {
            return Ok(own);
        };
        let mut beside = Vec::new();
        for (directory, files) in references.directories() {
            let place = self.location.beside(directory);
            let there = place.map(|place| self.moved(place).open_held(limiter));
            match there.transpose() {
                Ok(store) => beside.extend(store.map(|s| (s, files.clone()))),
                Err(Error::Store(e)) if e.not_found() && tolerant => {}
                Err(Error::Store(e)) if e.not_found() => {
                    return Err(Error::NotBeside(directory.to_owned()));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(Arc::new(Referring::new(own, beside)))
    }

    /// The files of an archive that others refer to; it need not be whole, for a prune leaves of it what they need.
    pub fn open_held(&self, limiter: Option<&Arc<RateLimiter>>) -> Result<Arc<dyn Store>> {
        self.decrypted(self.location.open(limiter)?)
    }

    /// The same store, decrypted if it is encrypted.
    fn decrypted(&self, inner: Arc<dyn Store>) -> Result<Arc<dyn Store>> {
        let bytes = match inner.read_all(KEY, LIMIT) {
            Ok(bytes) => bytes,
            Err(e) if e.not_found() && inner.size(NAMES)?.is_some() => {
                return Err(damaged(
                    KEY,
                    "it is missing, and nothing else opens the archive",
                ));
            }
            Err(e) if e.not_found() && self.keys.can_open() => return Err(Error::NotEncrypted),
            Err(e) if e.not_found() => return Ok(inner),
            Err(e) => return Err(e.into()),
        };
        let key = self.unlocked(bytes)?;
        Ok(Arc::new(Encrypted::open(inner, key)?))
    }

    /// The key in this key file.
    fn unlocked(&self, bytes: Vec<u8>) -> Result<Identity> {
        let mut opened = base::lock(&self.opened);
        if let Some((of, key)) = &*opened
            && *of == bytes
        {
            return Ok(key.clone());
        }
        let key = key::unwrap(&bytes, &self.keys)?;
        *opened = Some((bytes, key.clone()));
        Ok(key)
    }

    /// Replaces the file of the archive's key: opened with the keys of this place, encrypted with these. Nothing
    /// else changes.
    pub fn rekey(&self, to: &Keys) -> Result<()> {
        let inner = self.location.open(None)?;
        let bytes = match inner.read_all(KEY, LIMIT) {
            Ok(bytes) => bytes,
            Err(e) if e.not_found() => return Err(Error::NotEncrypted),
            Err(e) => return Err(e.into()),
        };
        let wrapped = key::wrap(&key::unwrap(&bytes, &self.keys)?, to)?;
        inner.put(KEY, &wrapped)?;
        inner.sync()?;
        Ok(())
    }
}

impl From<Location> for Place {
    fn from(location: Location) -> Place {
        Place::new(location, Keys::default())
    }
}

impl Deref for Place {
    type Target = Location;

    fn deref(&self) -> &Location {
        &self.location
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.location).finish()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.called {
            Some(name) => f.write_str(name),
            None => self.location.fmt(f),
        }
    }
}

fn unreadable(e: archive::ArchiveError) -> Error {
    match e {
        archive::ArchiveError::Store(e) => Error::Store(e),
        e => damaged(archive::references::REFERENCES, e),
    }
}
