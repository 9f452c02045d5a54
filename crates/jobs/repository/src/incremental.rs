//! The backup that an incremental one is compared with, and what prunes leave for those that refer to it.
//!
//! An incremental backup refers to the files of rows that it has taken over, in the archives that hold them (`archive::references`), so
//! no chain of backups has to be followed to restore one. The backups that it refers to may be pruned: their entries go, and those
//! of their files stay that a listed backup refers to, in a directory that is marked as incomplete.

use crate::catalog::{BackupKind, Entry};
use crate::layout::{BackupId, ServerName, parse_entry_name};
use crate::lock::{Lock, Purpose};
use crate::repo::{Repository, names, storage};
use archive::{FileRecord, Manifest, References};
use base::{Error, Kind, Result};
use dump::{Base, EarlierRows, Held};
use encryption::{Keys, Place};
use run::{Run, failure};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use store::EntryKind;

/// How an incremental backup is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Incremental {
    /// Read a sample of what is taken over, and compare it.
    pub paranoid: bool,
}

/// The last backup, locked so that no prune removes it meanwhile.
pub(crate) struct Earlier {
    pub(crate) base: Base,
    _lock: Lock,
}

impl Repository {
    /// The backup that the next one of this server is compared with: the last one, of the whole server if there is one. `None`: there
    /// is none that can be used, which is said.
    pub(crate) fn earlier(
        &self,
        run: &Run,
        server: &ServerName,
        keys: &Keys,
        how: Incremental,
    ) -> Result<Option<Earlier>> {
        let (entries, _) = self.entries(Some(server))?;
        let mut logical = entries
            .into_iter()
            .filter(|e| e.kind == BackupKind::Logical)
            .collect::<Vec<_>>();
        logical.sort_by(|a, b| a.order().cmp(&b.order()));
        let whole = logical.iter().rposition(|e| e.selection.is_none());
        let last = whole.or(logical.len().checked_sub(1));
        let Some(entry) = last.map(|at| logical.swap_remove(at)) else {
            run.observer
                .note("this is the first backup, so everything is read".into());
            return Ok(None);
        };
        let name = format!("{}@{}", entry.server, entry.id);
        if entry.encrypted != keys.can_encrypt() {
            let is = if entry.encrypted { "is" } else { "is not" };
            run.observer
                .warn(format!("{name} {is} encrypted, so everything is read"));
            return Ok(None);
        }
        let Some(lock) = self.lock_if_there(&*run.observer, &entry, Purpose::Restore)? else {
            run.observer.warn(format!(
                "{name} was removed meanwhile, so everything is read"
            ));
            return Ok(None);
        };
        match self.base(&entry, &name, keys, how) {
            Ok(base) => Ok(Some(Earlier { base, _lock: lock })),
            Err(e) if e.kind == Kind::Archive => {
                run.observer.warn(format!("{}: everything is read", e.what));
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    fn base(&self, entry: &Entry, name: &str, keys: &Keys, how: Incremental) -> Result<Base> {
        let (server, id) = names(entry)?;
        let location = self.backup_place(&server, &id);
        let keys = match entry.encrypted {
            true => keys.clone(),
            false => Keys::default(),
        };
        let place = Place::new(location.clone(), keys);
        let doing = format!("cannot read the backup {name}");
        let locked = |e: encryption::Error| match &e {
            encryption::Error::Locked { .. } | encryption::Error::WrongKey { .. } => {
                let e = failure::encryption(&doing, &e);
                e.hint("an incremental backup is compared with the last one: name what opens that, with --identity FILE or --passphrase-file FILE, or leave --incremental out")
            }
            _ => failure::encryption(&doing, &e),
        };
        let read = |e: &archive::ArchiveError| failure::archive(&doing, e);
        let store = place.open(None).map_err(locked)?;
        let bytes = store.read_all(archive::manifest::MANIFEST, 1 << 30);
        let bytes = bytes.map_err(|e| match e.not_found() {
            true => Error::new(Kind::Archive, format!("{doing}: it has no manifest")),
            false => failure::store(&doing, &e),
        })?;
        if !entry.encrypted && FileRecord::of(&bytes) != entry.manifest {
            let what = format!("the archive of {name} is not the one that was listed");
            return Err(Error::new(Kind::Archive, what));
        }
        let manifest = Manifest::parse(&bytes).map_err(|e| read(&e))?;
        let raw = location.open(None);
        let raw = raw.map_err(|e| failure::store(&doing, &e))?;
        let references = References::read(&*raw).map_err(|e| read(&e))?;
        let mut files = HashMap::new();
        let mut add = |directory: &str, meant: Option<&BTreeSet<String>>| -> Result<()> {
            let Some(beside) = location.beside(directory) else {
                return Ok(());
            };
            let held = match place.moved(beside).open_held(None) {
                Ok(held) => held,
                Err(encryption::Error::Store(e)) if e.not_found() => return Ok(()),
                Err(e) => return Err(failure::encryption(&doing, &e)),
            };
            for file in held.list().map_err(|e| failure::store(&doing, &e))? {
                let wanted = manifest.files.get(&file.name);
                let Some(stored) = held.stored_name(&file.name) else {
                    continue;
                };
                let is_meant = meant.is_none_or(|meant| meant.contains(&stored));
                if file.kind == EntryKind::File
                    && is_meant
                    && wanted.is_some_and(|w| w.bytes == file.size)
                {
                    let directory = directory.to_owned();
                    files.insert(file.name, Held { directory, stored });
                }
            }
            Ok(())
        };
        add(id.as_str(), None)?;
        for (directory, meant) in references.iter().flat_map(References::directories) {
            add(directory, Some(meant))?;
        }
        Ok(Base {
            name: name.to_owned(),
            manifest: Arc::new(manifest),
            rows: EarlierRows::Referred {
                files: Arc::new(files),
                paranoid: how.paranoid,
            },
        })
    }

    /// By directory: the files of this server's backups that others refer to, which are listed or will be. What was read before is in
    /// `known`: references never change once they are there.
    pub(crate) fn needed(
        &self,
        server: &ServerName,
        known: &mut KnownReferences,
    ) -> Result<BTreeMap<String, Needed>> {
        let (entries, damaged) = self.entries(Some(server))?;
        let referring = entries.iter().filter(|e| !e.refers_to.is_empty());
        let mut referring = referring
            .map(|e| Ok((names(e)?.1, Some(&e.refers_to[..]))))
            .collect::<Result<Vec<_>>>()?;
        // Of these only the archive says whether they refer to others. One that is whole is listed when a run comes to it.
        let damaged = damaged.iter().filter_map(|name| parse_entry_name(name));
        referring.extend(damaged.map(|(_, id)| (id, None)));
        let unlisted = self.unlisted(Some(server), &entries)?;
        referring.extend(unlisted.into_iter().map(|u| (u.id, None)));
        let mut needed: BTreeMap<String, Needed> = BTreeMap::new();
        for (id, refers_to) in referring {
            let of = (server.clone(), id);
            if !known.contains_key(&of)
                && let Some(read) = self.references_of(server, &of.1)?
            {
                known.insert(of.clone(), read);
            }
            let references = known.get(&of);
            let all = references.into_iter().flat_map(References::directories);
            for (directory, files) in all {
                let all = needed.entry(directory.to_owned()).or_default();
                all.files.extend(files.iter().cloned());
            }
            // What is damaged will perhaps be mended.
            let unread = refers_to.unwrap_or_default().iter();
            let unread = unread.filter(|d| references.is_none_or(|r| r.of(d).is_none()));
            for directory in unread {
                needed.entry(directory.clone()).or_default().everything = true;
            }
        }
        Ok(needed)
    }

    /// The references of a backup; `None` if it has none that can be read.
    fn references_of(&self, server: &ServerName, id: &BackupId) -> Result<Option<References>> {
        let cannot =
            |e: &store::Error| storage(&format!("cannot read the backup {server}@{id}"), e);
        let store = match self.backup_place(server, id).open(None) {
            Ok(store) => store,
            Err(e) if e.not_found() => return Ok(None),
            Err(e) => return Err(cannot(&e)),
        };
        match References::read(&*store) {
            Err(archive::ArchiveError::Store(e)) => Err(cannot(&e)),
            read => Ok(read.ok().flatten()),
        }
    }

    /// Whether a backup that is about to be listed has all files that it refers to: a host that slept for long has lost its lock on them.
    pub(crate) fn check_references(&self, server: &ServerName, id: &BackupId) -> Result<()> {
        let references = self.references_of(server, id)?;
        for (directory, files) in references.iter().flat_map(References::directories) {
            let held = BackupId::parse(directory).map(|held| self.backup_place(server, &held));
            let there: BTreeSet<String> = match held.map(|place| place.open(None)).transpose() {
                Ok(store) => store
                    .map_or_else(|| Ok(Vec::new()), |s| s.list())
                    .map_err(|e| storage("cannot list the files that are taken over", &e))?
                    .into_iter()
                    .map(|e| e.name)
                    .collect(),
                Err(e) if e.not_found() => BTreeSet::new(),
                Err(e) => return Err(storage("cannot list the files that are taken over", &e)),
            };
            if !files.is_subset(&there) {
                let what = format!(
                    "files of {server}@{directory} that were taken over have been removed meanwhile"
                );
                return Err(Error::new(Kind::Target, what).hint("make the backup again"));
            }
        }
        Ok(())
    }

    /// What is left of backups that were pruned, because others refer to their files.
    pub fn held(&self, server: Option<&ServerName>) -> Result<Vec<(ServerName, BackupId)>> {
        let (entries, _) = self.entries(server)?;
        let unlisted = self.unlisted(server, &entries)?;
        let held = unlisted.into_iter().filter(|u| u.held);
        Ok(held.map(|u| (u.server, u.id)).collect())
    }
}

/// References that were read.
pub(crate) type KnownReferences = HashMap<(ServerName, BackupId), References>;

/// What of a backup others need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needed {
    everything: bool,
    files: BTreeSet<String>,
}

impl Needed {
    /// Whether a file has to stay, as it is stored.
    pub(crate) fn keeps(&self, stored: &str) -> bool {
        // Without its key and its names no file of an encrypted archive can be read.
        let own = encryption::is_own(stored);
        self.everything || own || self.files.contains(stored)
    }
}
