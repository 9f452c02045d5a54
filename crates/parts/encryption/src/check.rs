//! The check that needs no key: every stored file against the list of sizes and digests.

use crate::names::{INDEX, Index, damaged};
use crate::{KEY, Result};
use base::Cancel;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::{EntryKind, Store};

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Files that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What is wrong, a line each.
    pub problems: Vec<String>,
    /// Files that are not part of the archive.
    pub strays: Vec<String>,
}

/// Reads every file of an encrypted archive, or these, which others refer to; `progress` gets the bytes.
pub fn check_files(
    store: &dyn Store,
    only: Option<&BTreeSet<String>>,
    threads: usize,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &Cancel,
) -> Result<Found> {
    let (index, _) = Index::read(store)?
        .ok_or_else(|| damaged(INDEX, "it is missing, so nothing can be checked"))?;
    let there: BTreeMap<String, u64> = store
        .list()?
        .into_iter()
        .filter(|e| e.kind == EntryKind::File)
        .map(|e| (e.name, e.size))
        .collect();
    let mut strays: Vec<String> = there.keys().cloned().collect();
    let own = [KEY, INDEX, archive::references::REFERENCES];
    strays.retain(|n| only.is_none() && !own.contains(&n.as_str()) && !index.files.contains_key(n));
    let found = Mutex::new(Found {
        strays,
        ..Found::default()
    });
    let names = index.files.iter();
    let all: Vec<_> = names
        .filter(|(name, _)| only.is_none_or(|only| only.contains(*name)))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((name, wanted)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            if cancel.is_raised() {
                return;
            }
            let wrong = match there.get(*name) {
                None => Some("it is missing".to_owned()),
                Some(size) if *size != wanted.bytes => {
                    Some(format!("it has {size} bytes instead of {}", wanted.bytes))
                }
                Some(_) => match digest(store, name, progress, cancel) {
                    Ok(digest) if digest == wanted.blake3 => None,
                    Ok(_) => Some("its bytes differ from what was written".to_owned()),
                    Err(e) => Some(e.to_string()),
                },
            };
            let mut found = base::lock(&found);
            found.files += 1;
            found.bytes += wanted.bytes;
            if let Some(what) = wrong {
                found
                    .problems
                    .push(format!("{}: {what}", base::units::printable(name)));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    let mut found = base::lock::into_inner(found);
    let unknown = only.into_iter().flatten();
    let unknown = unknown.filter(|name| !index.files.contains_key(*name));
    found.problems.extend(unknown.map(|name| {
        let name = base::units::printable(name);
        format!("{name}: it is not in the list of the archive that holds it")
    }));
    // Its digest is in no list, because a new key replaces it; but without it the rest is lost.
    match key(store) {
        Ok(bytes) => {
            found.files += 1;
            found.bytes += bytes;
        }
        Err(crate::Error::Store(e)) if !e.not_found() => return Err(e.into()),
        Err(crate::Error::Store(_)) => found.problems.push(format!("{KEY}: it is missing")),
        Err(e) => found.problems.push(e.to_string()),
    }
    found.problems.sort();
    Ok(found)
}

/// Whether the file of the key is there and is one; its size.
pub(crate) fn key(store: &dyn Store) -> Result<u64> {
    let mut bytes = Vec::new();
    let read = store
        .open(KEY)?
        .take(crate::key::LIMIT)
        .read_to_end(&mut bytes);
    read.map_err(|e| store::Error::new("read", KEY, e))?;
    age::Decryptor::new_buffered(&bytes[..]).map_err(|_| damaged(KEY, "it is not an age file"))?;
    Ok(bytes.len() as u64)
}

fn digest(
    store: &dyn Store,
    name: &str,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &Cancel,
) -> io::Result<String> {
    let mut file = store.open_once(name).map_err(|e| e.source)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        if cancel.is_raised() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize().to_hex().to_string()),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                progress(n as u64);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
