//! Backups that are whole and not listed: a run was killed before it wrote the entry, or the catalog was lost.
//!
//! Their entries are made again from their archives or snapshots. Nothing in one says after which others it was
//! made, so its place among them comes from the times in the archives: it goes behind the newest listed
//! backup that began no later.
//!
//! Whoever lists a backup again must know that no prune is removing it: the two exclude each other by the
//! lock of the catalog.

use crate::catalog::Entry;
use crate::layout::{BackupId, ServerName};
use crate::lock::Lock;
use crate::repo::{Repository, names, storage};
use archive::{FileRecord, Manifest, References, marker};
use base::{Error, Kind, Result};
use encryption::{Keys, Place};
use run::failure;
use snapshot::manifest;
use store::Store;

impl Repository {
    /// Lists whole backups again, unless a prune is at work, which does the same.
    pub(crate) fn adopt_before_backup(&self, server: &ServerName) -> Result<Vec<Entry>> {
        if self.adoptable(Some(server))?.is_empty() {
            return Ok(Vec::new());
        }
        match Lock::catalog(&self.locks) {
            Ok(lock) => self.adopt(Some(server), &lock),
            Err(e) if e.kind == Kind::Lock => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }

    /// Lists whole backups again. Returns them.
    pub(crate) fn adopt(&self, server: Option<&ServerName>, _lock: &Lock) -> Result<Vec<Entry>> {
        let found = self.adoptable(server)?;
        for entry in &found {
            self.add(entry)?;
        }
        Ok(found)
    }

    /// The entries of whole backups that are not listed and that no run is making.
    pub(crate) fn adoptable(&self, server: Option<&ServerName>) -> Result<Vec<Entry>> {
        let (entries, _) = self.entries(server)?;
        let mut found = Vec::new();
        for left in self.unlisted(server, &entries)? {
            if left.running {
                continue;
            }
            match self.entry_of(&left.server, &left.id) {
                // Damaged: it stays where it is, and keeps nobody from making backups.
                Err(e) if e.kind == Kind::Archive => {}
                entry => found.extend(entry?),
            }
        }
        for entry in &mut found {
            entry.sequence = entries
                .iter()
                .filter(|e| e.server == entry.server && e.begin() <= entry.begin())
                .map(|e| e.sequence)
                .max()
                .unwrap_or(0);
        }
        found.sort_by(|a, b| (&a.server, a.order()).cmp(&(&b.server, b.order())));
        Ok(found)
    }

    /// The entry of an archive that is whole, still without its place in the order; `None` if it is not whole.
    pub(crate) fn entry_of(&self, server: &ServerName, id: &BackupId) -> Result<Option<Entry>> {
        let cannot =
            |e: &store::Error| storage(&format!("cannot read the backup {server}@{id}"), e);
        let archive = self
            .backup_place(server, id)
            .open(None)
            .map_err(|e| cannot(&e))?;
        let declared = archive.size(marker::INCOMPLETE).map_err(|e| cannot(&e))?;
        if declared.is_some() {
            return Ok(None);
        }
        match encryption::listed(&*archive) {
            Ok(Some(listed)) => {
                let references = references(&*archive, server, id)?;
                let of = (server, id);
                return Ok(Some(Entry::of_encrypted(of, listed, references.as_ref())));
            }
            Ok(None)
                if archive
                    .size(encryption::KEY)
                    .map_err(|e| cannot(&e))?
                    .is_none() => {}
            Ok(None) => {
                let what =
                    format!("the encrypted backup {server}@{id} has lost the list of its files");
                return Err(Error::new(Kind::Archive, what));
            }
            Err(e) => {
                let doing = format_args!("cannot read the backup {server}@{id}");
                return Err(failure::encryption(doing, &e));
            }
        }
        entry_in(&*archive, server, id)
    }

    /// The same entry with what only the backup itself says where it is encrypted.
    pub(crate) fn opened(&self, entry: Entry, keys: &Keys) -> Result<Entry> {
        if !entry.encrypted {
            return Ok(entry);
        }
        let (server, id) = names(&entry)?;
        let doing = format!("cannot read the backup {server}@{id}");
        let place = Place::new(self.backup_place(&server, &id), keys.clone());
        let archive = place
            .open(None)
            .map_err(|e| failure::encryption(&doing, &e))?;
        let of = entry_in(&*archive, &server, &id)?;
        let of =
            of.ok_or_else(|| Error::new(Kind::Archive, format!("{doing}: it is not whole")))?;
        Ok(Entry {
            sequence: entry.sequence,
            encrypted: true,
            manifest: entry.manifest,
            // Whoever opens the archive sees all of its files, wherever they lie.
            version: entry.version,
            refers_to: entry.refers_to,
            stored_bytes: entry.stored_bytes,
            files: entry.files,
            ..of
        })
    }
}

/// The entry of what is in this store; `None` if it has no manifest.
fn entry_in(archive: &dyn Store, server: &ServerName, id: &BackupId) -> Result<Option<Entry>> {
    let cannot = |e: &store::Error| storage(&format!("cannot read the backup {server}@{id}"), e);
    let read = |name: &str, limit: u64| match archive.read_all(name, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.not_found() => Ok(None),
        Err(e) => Err(cannot(&e)),
    };
    let Some(bytes) = read(archive::manifest::MANIFEST, 1 << 30)? else {
        let Some(bytes) = read(manifest::MANIFEST, manifest::LIMIT)? else {
            return Ok(None);
        };
        let of = snapshot::Manifest::parse(&bytes).map_err(|e| {
            let what = format!("the manifest of the backup {server}@{id} cannot be read: {e}");
            Error::new(Kind::Archive, what)
        })?;
        let stored = FileRecord::of(&bytes);
        return Ok(Some(Entry::of_snapshot((server, id), &of, stored)));
    };
    let manifest = Manifest::parse(&bytes)
        .map_err(|e| failure::archive(format_args!("the backup {server}@{id}"), &e))?;
    let references = references(archive, server, id)?;
    Ok(Some(Entry::of(
        (server, id),
        &manifest,
        FileRecord::of(&bytes),
        references.as_ref(),
    )))
}

/// The files of a backup that others hold.
pub(crate) fn references(
    archive: &dyn Store,
    server: &ServerName,
    id: &BackupId,
) -> Result<Option<References>> {
    let read = References::read(archive);
    read.map_err(|e| failure::archive(format_args!("the backup {server}@{id}"), &e))
}
