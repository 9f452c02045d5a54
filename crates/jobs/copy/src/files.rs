//! The files of an archive in a place, copied by several threads.

use archive::{FileRecord, manifest, marker};
use base::units::printable;
use base::{Counters, Error, Kind, Result};
use rows::archives;
use run::{Run, Stop, failure};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use store::{EntryKind, Location, PARTIAL_SUFFIX, Store};

/// Bytes that are moved at a time.
const PIECE: usize = 256 << 10;

/// The archive that is copied.
pub(crate) struct Source {
    from: Location,
    pub(crate) store: Arc<dyn Store>,
    /// Every file, with its size.
    files: Vec<(String, u64)>,
    /// What was recorded of files.
    records: BTreeMap<String, FileRecord>,
    /// What lies beside them and is not copied.
    others: Vec<String>,
}

impl Source {
    /// Opens what is there, and refuses what is no whole archive.
    pub(crate) fn open(from: &Location) -> Result<Source> {
        let store = crate::opened(from)?;
        let damaged = |e: archive::ArchiveError| {
            failure::archive(format_args!("cannot copy the archive {from}"), &e)
        };
        if marker::get(&*store).map_err(damaged)?.is_some() {
            let what = format!("{from} holds a dump that has not finished");
            return Err(Error::new(Kind::Archive, what).hint("copy it when it has, or dump again"));
        }
        let mut records = match encryption::stored(&*store) {
            Ok(records) => records.unwrap_or_default(),
            Err(e) => return Err(failure::encryption(format_args!("cannot copy {from}"), &e)),
        };
        if records.is_empty()
            && let Some(manifest) = archive::Manifest::read(&*store).map_err(damaged)?
        {
            records = manifest.files;
        }
        let (mut files, mut others) = (Vec::new(), Vec::new());
        let entries = store.list().map_err(|e| archives::open_error(from, &e))?;
        // What the archive does not list is nothing of it, and may be the stream that is being written.
        let listed = |name: &str| {
            records.is_empty()
                || records.contains_key(name)
                || [manifest::MANIFEST, encryption::KEY, encryption::INDEX].contains(&name)
        };
        for e in entries {
            let is_file = e.kind == EntryKind::File && !e.name.ends_with(PARTIAL_SUFFIX);
            if is_file && listed(&e.name) {
                files.push((e.name, e.size));
            } else {
                others.push(e.name);
            }
        }
        let names: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let has = |name: &str| names.contains(name);
        if let Some(missing) = records.keys().find(|name| !has(name)) {
            return Err(damaged(archive::ArchiveError::damaged(missing, "missing")));
        }
        if !has(manifest::MANIFEST) && !has(encryption::KEY) && !has(archive::meta::ROOT) {
            return Err(archives::nothing(from, &*store).unwrap_or_else(|| {
                Error::new(Kind::Archive, format!("there is no archive in {from}"))
                    .hint("name the directory or URL that penstock dump wrote")
            }));
        }
        if records.is_empty() {
            // Without digests its own metadata says what belongs to it, and whether that is there.
            archive::Archive::open(Arc::clone(&store)).map_err(damaged)?;
        }
        // The largest first, so that no thread has one alone at the end; what makes an archive of them last.
        files.sort_by_key(|(name, size)| (makes_whole(name), std::cmp::Reverse(*size)));
        Ok(Source {
            from: from.clone(),
            store,
            files,
            records,
            others,
        })
    }

    /// Whether there is anything to compare the bytes with.
    pub(crate) fn has_digests(&self) -> bool {
        !self.records.is_empty()
    }

    /// Copies every file; returns their number and bytes.
    pub(crate) fn copy(
        &self,
        run: &Run,
        to: &dyn Store,
        threads: usize,
        counters: &Counters,
    ) -> Result<(u64, u64)> {
        for other in &self.others {
            let other = printable(other);
            run.observer
                .warn(format!("{other} is no file of the archive, and not copied"));
        }
        let all = self.files.iter().map(|(_, size)| size).sum();
        counters.bytes_expected.set(all);
        let first = self.files.partition_point(|(name, _)| !makes_whole(name));
        let bytes = AtomicU64::new(0);
        let next = AtomicUsize::new(0);
        run.workers(vec![(); threads], |_, (), stop| {
            while let Some((name, size)) =
                self.files[..first].get(next.fetch_add(1, Ordering::Relaxed))
            {
                let done = self.file(run, to, (name, *size), stop, counters)?;
                bytes.fetch_add(done, Ordering::Relaxed);
            }
            Ok(())
        })?;
        run.workers(vec![()], |_, (), stop| {
            for (name, size) in &self.files[first..] {
                let done = self.file(run, to, (name, *size), stop, counters)?;
                bytes.fetch_add(done, Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok((self.files.len() as u64, bytes.into_inner()))
    }

    /// Copies one file, and compares it with its record.
    fn file(
        &self,
        run: &Run,
        to: &dyn Store,
        (name, size): (&str, u64),
        stop: &Stop<'_>,
        counters: &Counters,
    ) -> Result<u64> {
        let wrong =
            |e: store::Error| failure::store(format_args!("cannot copy from {}", self.from), &e);
        let mut reader = self.store.open_once(name).map_err(wrong)?;
        let mut writer = to
            .create(name)
            .map_err(|e| failure::store("cannot write", &e))?;
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; PIECE];
        counters.busy.add(1);
        let done = loop {
            if stop.is_requested() {
                break Err(run.interrupted());
            }
            let n = match reader.read(&mut buffer) {
                Ok(0) => break Ok(()),
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => break Err(wrong(store::Error::new("read", name, e))),
            };
            if !run.limiter.acquire_all(n) {
                break Err(run.interrupted());
            }
            hasher.update(&buffer[..n]);
            counters.bytes.add(n as u64);
            counters.stored.add(n as u64);
            if let Err(e) = writer.write_all(&buffer[..n]) {
                let e = store::Error::new("write", name, e);
                break Err(failure::store("cannot write", &e));
            }
        };
        counters.busy.sub(1);
        stop.release_slot();
        done?;
        let found = FileRecord {
            bytes: hasher.count(),
            blake3: hasher.finalize().to_hex().to_string(),
        };
        let same = match self.records.get(name) {
            Some(record) => *record == found,
            None => size == found.bytes,
        };
        if !same {
            let what = "its bytes are not those that were written: the archive is damaged";
            let e = archive::ArchiveError::damaged(name, what);
            return Err(failure::archive(
                format_args!("cannot copy {}", self.from),
                &e,
            ));
        }
        writer
            .finish(false)
            .map_err(|e| failure::store("cannot write", &e))
    }
}

/// Files without which the others are no archive: they come last, so that a copy that ends in the middle can never
/// be taken for one.
fn makes_whole(name: &str) -> bool {
    name == manifest::MANIFEST || name == encryption::KEY || name == archive::meta::ROOT
}
