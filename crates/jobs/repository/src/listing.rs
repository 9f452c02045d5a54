//! What a repository holds: the catalog, read in one or a few requests, and what lies beside it.

use crate::catalog::{BackupKind, Copies, Copy, Entry};
use crate::layout::{BACKUPS, BackupId, COPIES, ServerName, entry_name, parse_entry_name};
use crate::lock;
use crate::proof::Proof;
use crate::repo::{Repository, storage};
use crate::small_files::read_each;
use crate::window::Window;
use base::{Error, Kind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use store::{EntryKind, Location};

/// An entry of the catalog larger than this is none, in bytes.
const ENTRY_LIMIT: u64 = 16 << 20;

/// What a repository holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// Backups that are whole, by server and the order they were taken.
    pub entries: Vec<Entry>,
    /// Entries that cannot be read, by name.
    pub damaged: Vec<String>,
    /// What lies in the place of backups and is not in the catalog.
    pub unlisted: Vec<Unlisted>,
    /// What is left of backups that were pruned, because others refer to their files, with the bytes of it.
    pub held: Vec<(Unlisted, u64)>,
    /// Drills, the oldest first.
    pub proofs: Vec<Proof>,
    /// Files of drills that say something else than their names, and do not count.
    pub damaged_drills: Vec<String>,
    /// From when to when servers can be restored by their binary logs.
    pub windows: Vec<Window>,
    /// Why the binary log of a server is not among these.
    pub damaged_logs: Vec<String>,
}

impl Listing {
    /// Leaves backups of other kinds out.
    pub fn only(&mut self, kind: BackupKind) {
        self.entries.retain(|e| e.kind == kind);
    }

    /// The last drill that proved this backup.
    pub fn proof_of(&self, entry: &Entry) -> Option<&Proof> {
        let of =
            |p: &&Proof| p.proven && p.server.as_str() == entry.server && p.id.as_str() == entry.id;
        self.proofs.iter().rev().find(of)
    }
}

/// Something in the place of a backup that is not in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// The server.
    pub server: ServerName,
    /// The backup.
    pub id: BackupId,
    /// Whether a run is making it now.
    pub running: bool,
    /// Whether backups in the catalog refer to it: of one that was pruned their files are left.
    pub held: bool,
}

impl Repository {
    /// The backups in the catalog, of one server or of all, and the names of entries that cannot be read.
    pub fn entries(&self, server: Option<&ServerName>) -> Result<(Vec<Entry>, Vec<String>)> {
        self.entries_with(server, self.copies())
    }

    fn entries_with(
        &self,
        server: Option<&ServerName>,
        copies: Copies,
    ) -> Result<(Vec<Entry>, Vec<String>)> {
        let (copies, damaged) = self.read_catalog(server, copies)?;
        let mut entries: Vec<Entry> = copies.into_iter().map(|c| c.entry).collect();
        entries.sort_by(|a, b| (&a.server, a.order()).cmp(&(&b.server, b.order())));
        Ok((entries, damaged))
    }

    /// Writes the copies of the catalog again. They only save time, so a failure is none.
    pub(crate) fn copy_catalog(&self) {
        let proofs = self.proofs(None, &self.copies());
        if let Ok((copies, _)) = self.read_catalog(None, self.copies()) {
            let drills = proofs.map(|p| p.seen).unwrap_or_default();
            let text = Copies::new(copies, drills).to_text();
            let _ = self.root.put(COPIES, text.as_bytes());
        }
    }

    /// On a full disk not even a lock can be written, and so nothing could be removed: what can be made again goes.
    pub(crate) fn make_room(&self) {
        /// What a prune writes before it has removed anything is smaller.
        const ROOM: u64 = 64 << 10;
        let Some(path) = self.place.path() else {
            return;
        };
        let free = rustix::fs::statvfs(path).map(|s| s.f_bavail.saturating_mul(s.f_frsize));
        if free.is_ok_and(|free| free < ROOM) {
            let _ = self.root.remove(COPIES);
        }
    }

    /// Reads the entries; those that were copied, and have not been written again since, from the copies.
    fn read_catalog(
        &self,
        server: Option<&ServerName>,
        copies: Copies,
    ) -> Result<(Vec<Copy>, Vec<String>)> {
        let listed = self
            .catalog
            .list()
            .map_err(|e| storage("cannot list the catalog", &e))?;
        let mut wanted: BTreeMap<String, store::Entry> = listed
            .into_iter()
            .filter(|e| e.kind == EntryKind::File)
            .filter(|e| {
                parse_entry_name(&e.name).is_some_and(|(s, _)| server.is_none_or(|of| *of == s))
            })
            .map(|e| (e.name.clone(), e))
            .collect();
        let mut entries = Vec::new();
        for copy in copies.entries {
            let name = match (
                ServerName::parse(&copy.entry.server),
                BackupId::parse(&copy.entry.id),
            ) {
                (Ok(server), Some(id)) => entry_name(&server, &id),
                _ => continue,
            };
            if wanted.get(&name).is_some_and(|file| copy.is_of(file)) {
                wanted.remove(&name);
                entries.push(copy);
            }
        }
        let read = Mutex::new((Vec::new(), Vec::new()));
        let left = wanted.into_values().collect();
        read_each(&*self.catalog, left, ENTRY_LIMIT, |file, bytes| {
            let mut read = base::lock(&read);
            match Entry::parse(&bytes) {
                Some(entry) => read.0.push(Copy::new(entry, file)),
                None => read.1.push(file.name.clone()),
            }
        })
        .map_err(|e| storage("cannot read the catalog", &e))?;
        let (fresh, damaged) = base::lock::into_inner(read);
        entries.extend(fresh);
        Ok((entries, damaged))
    }

    /// Everything, with what is not in the catalog.
    pub fn list(&self, server: Option<&ServerName>) -> Result<Listing> {
        let copies = self.copies();
        let proofs = self.proofs(server, &copies)?;
        let (entries, damaged) = self.entries_with(server, copies)?;
        let (held, unlisted): (Vec<_>, Vec<_>) = self
            .unlisted(server, &entries)?
            .into_iter()
            .partition(|u| u.held);
        let held = held.into_iter().map(|u| {
            let store = self.backup_place(&u.server, &u.id).open(None);
            let files = match store.and_then(|s| s.list()) {
                // A prune has removed it meanwhile.
                Err(e) if e.not_found() => Vec::new(),
                files => files.map_err(|e| storage("cannot list the backups", &e))?,
            };
            Ok((u, files.iter().map(|f| f.size).sum()))
        });
        let held = held.collect::<Result<Vec<_>>>()?;
        let (mut windows, mut damaged_logs) = (Vec::new(), Vec::new());
        for of in self.servers_with_logs()? {
            if server.is_some_and(|s| *s != of) {
                continue;
            }
            // One that cannot be read does not hide the others.
            match self.windows(&of, &entries) {
                Ok(found) => windows.extend(found),
                Err(e) => damaged_logs.push(format!("{of}: {}", e.what)),
            }
        }
        Ok(Listing {
            windows,
            damaged_logs,
            entries,
            damaged,
            unlisted,
            held,
            proofs: proofs.counted,
            damaged_drills: proofs.damaged,
        })
    }

    /// What lies in the place of backups without being among these.
    pub(crate) fn unlisted(
        &self,
        server: Option<&ServerName>,
        entries: &[Entry],
    ) -> Result<Vec<Unlisted>> {
        let known: BTreeSet<(&str, &str)> = entries
            .iter()
            .map(|e| (e.server.as_str(), e.id.as_str()))
            .collect();
        let mut found = Vec::new();
        let backups = self.place.join(BACKUPS);
        let below = |place: &Location| -> Result<Vec<String>> {
            let store = match place.open(None) {
                Ok(store) => store,
                Err(e) if e.not_found() => return Ok(Vec::new()),
                Err(e) => return Err(storage("cannot list the backups", &e)),
            };
            let all = store
                .list()
                .map_err(|e| storage("cannot list the backups", &e))?;
            Ok(all
                .into_iter()
                .filter(|e| e.kind == EntryKind::Other)
                .map(|e| e.name)
                .collect())
        };
        for name in below(&backups)? {
            let Ok(of) = ServerName::parse(&name) else {
                continue;
            };
            if server.is_some_and(|s| *s != of) {
                continue;
            }
            for id in below(&backups.join(&name))? {
                if let Some(id) = BackupId::parse(&id)
                    && !known.contains(&(of.as_str(), id.as_str()))
                {
                    found.push((of.clone(), id));
                }
            }
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let held: BTreeSet<(&str, &str)> = entries
            .iter()
            .flat_map(|e| {
                e.refers_to
                    .iter()
                    .map(|id| (e.server.as_str(), id.as_str()))
            })
            .collect();
        let locks = lock::in_use(&self.locks)?;
        let running =
            |of: &(ServerName, BackupId)| locks.iter().any(|l| l.backup.as_ref() == Some(of));
        Ok(found
            .into_iter()
            .map(|of| Unlisted {
                running: running(&of),
                held: held.contains(&(of.0.as_str(), of.1.as_str())),
                server: of.0,
                id: of.1,
            })
            .collect())
    }

    /// One backup: by its identifier, the beginning of one, or "latest".
    ///
    /// With a kind only a backup of that kind.
    pub fn find(
        &self,
        (server, kind): (Option<&ServerName>, Option<BackupKind>),
        name: &str,
    ) -> Result<Entry> {
        // As lists and messages write it: SERVER@BACKUP.
        let (of, name) = match name.split_once('@') {
            Some((of, id)) => match ServerName::parse(of) {
                Ok(of) if server.is_none_or(|s| *s == of) => (Some(of), id),
                _ => (server.cloned(), name),
            },
            None => (server.cloned(), name),
        };
        let server = of.as_ref();
        let (mut entries, _) = self.entries(server)?;
        entries.retain(|e| kind.is_none_or(|k| k == e.kind));
        let servers: BTreeSet<&str> = entries.iter().map(|e| e.server.as_str()).collect();
        let servers = servers.into_iter().collect::<Vec<_>>().join(", ");
        let none =
            |what: String| Error::new(Kind::Usage, what).hint("penstock list shows what there is");
        if entries.is_empty() {
            let of = server.map_or_else(String::new, |s| format!(" of the server {s}"));
            let what = match kind {
                Some(BackupKind::Snapshot) => "snapshot backup",
                Some(BackupKind::Logical) => "logical backup",
                _ => "backup",
            };
            return Err(none(format!("there is no {what}{of} in {}", self.place)));
        }
        let mut fits: Vec<&Entry> = entries
            .iter()
            .filter(|e| name == "latest" || e.id.starts_with(name))
            .collect();
        if name == "latest" {
            if servers.contains(", ") {
                return Err(Error::new(
                    Kind::Usage,
                    format!("there are backups of several servers: {servers}"),
                )
                .hint("name one with --server-name"));
            }
            fits = fits.split_off(fits.len().saturating_sub(1));
        }
        match fits.as_slice() {
            [one] => Ok((*one).clone()),
            [] if entries.iter().any(|e| e.server == name) => {
                let shown = base::units::printable(name);
                let what = format!("{shown} is a server in {}, and not a backup", self.place);
                Err(Error::new(Kind::Usage, what).hint(format!(
                    "--server-name {shown} names the server, with the identifier of a backup, latest, or a point in time"
                )))
            }
            [] => Err(none(format!(
                "there is no backup '{}' in {}",
                base::units::printable(name),
                self.place
            ))),
            [first, second, ..] => Err(Error::new(
                Kind::Usage,
                format!(
                    "'{}' fits {}@{} and {}@{}",
                    base::units::printable(name),
                    first.server,
                    first.id,
                    second.server,
                    second.id
                ),
            )
            .hint("write more of the identifier, or name the server with --server-name")),
        }
    }
}
