//! The store itself: names and contents of an archive on one side, encrypted files in another store on the other.
//!
//! Files get numbers in the order they are begun. Which is which is written by [`Store::complete`], at the end of a
//! dump, so an archive that was not finished has no names and no key: it is nothing but files that nobody can open.

use crate::names::{INDEX, LIMIT, NAMES, Names, Stored, damaged};
use crate::{KEY, Keys, Result, key, names};
use age::x25519::{Identity, Recipient};
use age::{Decryptor, Encryptor};
use archive::{ArchiveError, FileRecord, marker};
use std::io::{self, BufReader, Read, Write};
use std::sync::{Arc, Mutex};
use store::{Entry, EntryKind, Link, Store, Writer};

/// An encrypted archive.
pub struct Encrypted {
    inner: Arc<dyn Store>,
    key: Identity,
    state: Arc<Mutex<State>>,
}

struct State {
    names: Names,
    /// The number of the next file.
    next: u64,
    /// The key file, until it is written.
    wrapped: Option<Vec<u8>>,
    /// Whether something changed since names were written.
    changed: bool,
}

/// Files that are stored as they are.
fn is_plain(name: &str) -> bool {
    name == marker::INCOMPLETE
}

/// Files of the encryption itself.
pub fn is_own(name: &str) -> bool {
    matches!(name, KEY | NAMES | INDEX)
}

impl Encrypted {
    /// An archive with a new key, to be written into an empty store.
    pub(crate) fn new(inner: Arc<dyn Store>, keys: &Keys) -> Result<Encrypted> {
        let key = Identity::generate();
        let wrapped = Some(key::wrap(&key, keys)?);
        Ok(Encrypted::with(inner, key, Names::new(), wrapped))
    }

    /// The archive in this store, which has this key.
    pub(crate) fn open(inner: Arc<dyn Store>, key: Identity) -> Result<Encrypted> {
        let empty = Encrypted::with(inner, key, Names::new(), None);
        let mut bytes = Vec::new();
        let read = match empty.decrypted(NAMES, NAMES) {
            Ok(file) => file.take(LIMIT).read_to_end(&mut bytes),
            Err(e) => Err(e.source),
        };
        read.map_err(|e| match e.downcast::<ArchiveError>() {
            Ok(ArchiveError::Damaged { what, .. }) => damaged(NAMES, what),
            Ok(e) => damaged(NAMES, e),
            Err(e) if e.kind() == io::ErrorKind::NotFound => damaged(NAMES, "it is missing"),
            Err(e) => store::Error::new("read", NAMES, e).into(),
        })?;
        let names = Names::parse(&bytes)?;
        Ok(Encrypted::with(empty.inner, empty.key, names, None))
    }

    fn with(
        inner: Arc<dyn Store>,
        key: Identity,
        names: Names,
        wrapped: Option<Vec<u8>>,
    ) -> Encrypted {
        let next = names.files.len() as u64 + 1;
        Encrypted {
            inner,
            key,
            state: Arc::new(Mutex::new(State {
                names,
                next,
                changed: wrapped.is_some(),
                wrapped,
            })),
        }
    }

    fn stored(&self, name: &str) -> Option<Stored> {
        base::lock(&self.state).names.files.get(name).cloned()
    }

    /// The decrypted contents of a stored file; `name` is what errors call it.
    fn decrypted(&self, object: &str, name: &str) -> store::Result<Decrypted> {
        Ok(Decrypted {
            name: name.to_owned(),
            state: Reading::Head(self.inner.open(object)?, self.key.clone()),
        })
    }

    /// A file that is encrypted to the archive's key.
    fn encrypting(&self, object: &str) -> store::Result<age::stream::StreamWriter<Counted>> {
        let fail = |e: io::Error| store::Error::new("write", object, e);
        let to: Recipient = self.key.to_public();
        let encryptor = Encryptor::with_recipients(std::iter::once(&to as &dyn age::Recipient))
            .map_err(|e| fail(io::Error::other(e.to_string())))?;
        let out = Counted {
            inner: self.inner.create(object)?,
            hasher: blake3::Hasher::new(),
        };
        encryptor.wrap_output(out).map_err(fail)
    }

    fn write_names(&self) -> store::Result<()> {
        let mut state = base::lock(&self.state);
        if !state.changed {
            return Ok(());
        }
        if let Some(wrapped) = &state.wrapped {
            self.inner.put(KEY, wrapped)?;
            state.wrapped = None;
        }
        let mut out = self.encrypting(NAMES)?;
        let fail = |e: io::Error| store::Error::new("write", NAMES, e);
        out.write_all(state.names.to_text().as_bytes())
            .map_err(fail)?;
        let names = out.finish().map_err(fail)?.finish(true)?;
        let files = state.names.files.values();
        let mut files: std::collections::BTreeMap<_, _> = files
            .map(|f| (f.object.clone(), f.stored.clone()))
            .collect();
        files.insert(NAMES.to_owned(), names);
        let snapshot = state.names.files.contains_key(archive::SNAPSHOT);
        let index = names::Index::new(snapshot, files);
        self.inner.put(INDEX, index.to_text().as_bytes())?;
        state.changed = false;
        Ok(())
    }
}

impl Store for Encrypted {
    fn create(&self, name: &str) -> store::Result<Box<dyn Writer>> {
        store::check_new_name("create", name)?;
        let object = {
            let mut state = base::lock(&self.state);
            state.next += 1;
            format!("{:06}.age", state.next - 1)
        };
        Ok(Box::new(File {
            out: self.encrypting(&object)?,
            bytes: 0,
            name: name.to_owned(),
            object,
            inner: Arc::clone(&self.inner),
            state: Arc::clone(&self.state),
        }))
    }

    fn open(&self, name: &str) -> store::Result<Box<dyn Read + Send>> {
        store::check_name("open", name)?;
        if is_plain(name) {
            return self.inner.open(name);
        }
        let stored = self.stored(name).ok_or_else(|| not_there("open", name))?;
        Ok(Box::new(self.decrypted(&stored.object, name)?))
    }

    fn open_once(&self, name: &str) -> store::Result<Box<dyn Read + Send>> {
        let Some(stored) = self.stored(name) else {
            return self.open(name);
        };
        Ok(Box::new(Decrypted {
            name: name.to_owned(),
            state: Reading::Head(self.inner.open_once(&stored.object)?, self.key.clone()),
        }))
    }

    fn size(&self, name: &str) -> store::Result<Option<u64>> {
        store::check_name("look at", name)?;
        if is_plain(name) {
            return self.inner.size(name);
        }
        let Some(stored) = self.stored(name) else {
            return Ok(None);
        };
        let there = self.inner.size(&stored.object)?;
        Ok(there.map(|there| stored.size_if(there)))
    }

    fn stored_name(&self, name: &str) -> Option<String> {
        match is_plain(name) {
            true => Some(name.to_owned()),
            false => self.stored(name).map(|stored| stored.object),
        }
    }

    fn list(&self) -> store::Result<Vec<Entry>> {
        let names = base::lock(&self.state).names.files.clone();
        let by_object: std::collections::HashMap<&str, (&String, &Stored)> =
            names.iter().map(|f| (f.1.object.as_str(), f)).collect();
        let mut all = self.inner.list()?;
        all.retain(|e| !is_own(&e.name) || e.kind != EntryKind::File);
        for entry in &mut all {
            if let Some((name, stored)) = by_object.get(entry.name.as_str())
                && entry.kind == EntryKind::File
            {
                entry.name.clone_from(name);
                entry.size = stored.size_if(entry.size);
            }
        }
        Ok(all)
    }

    fn remove(&self, name: &str) -> store::Result<()> {
        store::check_name("remove", name)?;
        let Some(stored) = self.stored(name) else {
            // Also what is left of a file that was not finished.
            return self.inner.remove(name);
        };
        self.inner.remove(&stored.object)?;
        let mut state = base::lock(&self.state);
        state.names.files.remove(name);
        state.changed = true;
        // The last file takes with it what describes files.
        if state.names.files.is_empty() {
            for own in [INDEX, NAMES, KEY] {
                match self.inner.remove(own) {
                    Err(e) if !e.not_found() => return Err(e),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn sync(&self) -> store::Result<()> {
        self.inner.sync()
    }

    fn complete(&self) -> store::Result<()> {
        self.write_names()?;
        self.inner.sync()?;
        self.inner.complete()
    }

    fn link(&self) -> Option<Arc<Link>> {
        self.inner.link()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn made_place(&self) -> bool {
        self.inner.made_place()
    }

    fn remove_place(&self) -> store::Result<()> {
        self.inner.remove_place()
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> store::Result<()> {
        store::check_new_name("create", name)?;
        if is_plain(name) {
            return self.inner.put_new(name, bytes);
        }
        let mut writer = self.create(name)?;
        writer
            .write_all(bytes)
            .map_err(|e| store::Error::new("write", name, e))?;
        // One process writes an archive, so that the first of its threads wins is enough.
        let mut state = base::lock(&self.state);
        if state.names.files.contains_key(name) {
            let why = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(store::Error::new("create", name, why));
        }
        // Taken; what is stored follows.
        state.names.files.insert(name.to_owned(), Stored::nothing());
        drop(state);
        let done = writer.finish(true);
        if done.is_err() {
            base::lock(&self.state).names.files.remove(name);
        }
        done.map(drop)
    }
}

impl Stored {
    /// A name that is taken, before its file is finished.
    fn nothing() -> Stored {
        Stored {
            object: String::new(),
            bytes: 0,
            stored: FileRecord::of(b""),
        }
    }

    /// The size of the file, given that of what is stored. If that is not what was written, neither is the answer.
    fn size_if(&self, there: u64) -> u64 {
        if there == self.stored.bytes {
            self.bytes
        } else {
            there.max(self.bytes + 1)
        }
    }
}

fn not_there(op: &'static str, name: &str) -> store::Error {
    store::Error::new(op, name, io::Error::from(io::ErrorKind::NotFound))
}

/// What is stored, counted and digested on its way.
struct Counted {
    inner: Box<dyn Writer>,
    hasher: blake3::Hasher,
}

impl Counted {
    fn finish(self, durable: bool) -> store::Result<FileRecord> {
        let bytes = self.inner.finish(durable)?;
        Ok(FileRecord {
            bytes,
            blake3: self.hasher.finalize().to_hex().to_string(),
        })
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A file that is being written.
struct File {
    out: age::stream::StreamWriter<Counted>,
    bytes: u64,
    name: String,
    object: String,
    inner: Arc<dyn Store>,
    state: Arc<Mutex<State>>,
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Writer for File {
    fn finish(self: Box<Self>, durable: bool) -> store::Result<u64> {
        let file = *self;
        let out = file.out.finish();
        let out = out.map_err(|e| store::Error::new("write", &file.name, e))?;
        let stored = Stored {
            stored: out.finish(durable)?,
            object: file.object,
            bytes: file.bytes,
        };
        let mut state = base::lock(&file.state);
        state.changed = true;
        let before = state.names.files.insert(file.name, stored);
        drop(state);
        if let Some(before) = before.filter(|b| !b.object.is_empty()) {
            file.inner.remove(&before.object)?;
        }
        Ok(file.bytes)
    }
}

/// A stored file as it was before it was encrypted. Its head is read with its first byte, so that a damaged one is
/// reported like damage further on.
struct Decrypted {
    name: String,
    state: Reading,
}

enum Reading {
    Head(Box<dyn Read + Send>, Identity),
    Body(Box<age::stream::StreamReader<BufReader<Box<dyn Read + Send>>>>),
    Failed,
}

impl Decrypted {
    fn failed(&self, e: io::Error) -> io::Error {
        match e.kind() {
            // The library's words for what does not fit its key, and for an end that comes too early.
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => ArchiveError::damaged(
                &self.name,
                "its encrypted bytes differ from what was written",
            )
            .into(),
            _ => e,
        }
    }
}

impl Read for Decrypted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if matches!(self.state, Reading::Head(..))
            && let Reading::Head(from, key) = std::mem::replace(&mut self.state, Reading::Failed)
        {
            let opened = Decryptor::new_buffered(BufReader::with_capacity(1 << 16, from))
                .and_then(|file| file.decrypt(std::iter::once(&key as &dyn age::Identity)));
            match opened {
                Ok(body) => self.state = Reading::Body(Box::new(body)),
                Err(age::DecryptError::Io(e)) => return Err(self.failed(e)),
                Err(_) => return Err(self.failed(io::ErrorKind::InvalidData.into())),
            }
        }
        match &mut self.state {
            Reading::Body(body) => match body.read(buffer) {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(self.failed(e)),
                done => done,
            },
            Reading::Head(..) | Reading::Failed => {
                Err(self.failed(io::ErrorKind::InvalidData.into()))
            }
        }
    }
}
