//! Opening a repository, and what it lists.

use crate::catalog::{Copies, Entry};
use crate::layout::{
    self, BACKUPS, BackupId, CATALOG, COPIES, LOCKS, REPOSITORY, ServerName, entry_name,
    parse_entry_name,
};
use crate::lock::{self, Lock, Purpose};
use archive::{FileRecord, Manifest, marker};
use base::{Error, Kind, Result};
use run::failure;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use store::{EntryKind, Location, Store};

const FORMAT: &str = "penstock-repository";
const VERSION: u32 = 1;

/// An entry of the catalog larger than this is none, in bytes.
const ENTRY_LIMIT: u64 = 16 << 20;

/// Small files that are read at a time.
const READERS: usize = 16;

/// What `repository.json` says.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    /// Tells repositories apart.
    id: String,
    created: String,
    /// Whether it takes encrypted backups only.
    #[serde(default)]
    encrypted: bool,
}

/// An open repository.
pub struct Repository {
    place: Location,
    /// Whether it takes encrypted backups only.
    pub encrypted: bool,
    root: Arc<dyn Store>,
    catalog: Arc<dyn Store>,
    pub(crate) locks: Arc<dyn Store>,
}

/// What a repository holds.
#[derive(Debug, Default)]
pub struct Listing {
    /// Backups that are whole, by server and the order they were taken.
    pub entries: Vec<Entry>,
    /// Entries that cannot be read, by name.
    pub damaged: Vec<String>,
    /// What lies in the place of backups and is not in the catalog.
    pub unlisted: Vec<Unlisted>,
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
}

fn storage(doing: &str, e: &store::Error) -> Error {
    failure::store(doing, e)
}

impl Repository {
    /// Makes a repository of an empty place.
    ///
    /// `encrypted`: it takes no others than encrypted backups.
    pub fn init(place: &Location, encrypted: bool) -> Result<Repository> {
        let root = place.create(None).map_err(|e| {
            if e.source.kind() == std::io::ErrorKind::DirectoryNotEmpty {
                let what =
                    format!("{place} is not empty, and a repository needs a place of its own");
                return Error::new(Kind::Target, what).hint("name a new directory or prefix");
            }
            storage(&format!("cannot make a repository in {place}"), &e)
        })?;
        for below in [CATALOG, LOCKS, BACKUPS] {
            place
                .join(below)
                .create(None)
                .map_err(|e| storage("cannot make the repository", &e))?;
        }
        let head = Head {
            format: FORMAT.to_owned(),
            version: VERSION,
            id: blake3::hash(
                format!(
                    "{:?} {}",
                    std::time::SystemTime::now(),
                    crate::layout::random()
                )
                .as_bytes(),
            )
            .to_hex()[..32]
                .to_owned(),
            encrypted,
            created: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
        };
        let text = serde_json::to_string_pretty(&head).unwrap_or_default() + "\n";
        root.put_new(REPOSITORY, text.as_bytes())
            .and_then(|()| root.sync())
            .map_err(|e| storage("cannot make the repository", &e))?;
        Repository::open(place)
    }

    /// Opens one.
    pub fn open(place: &Location) -> Result<Repository> {
        let open = |place: &Location| {
            place
                .open(None)
                .map_err(|e| storage(&format!("cannot open the repository {place}"), &e))
        };
        let root = open(place)?;
        let none = || {
            Error::new(
                Kind::Usage,
                format!("{place} is not a repository: it has no {REPOSITORY}"),
            )
            .hint(format!("penstock init {place} makes one of an empty place"))
        };
        let bytes = match root.read_all(REPOSITORY, ENTRY_LIMIT) {
            Ok(bytes) => bytes,
            Err(e) if e.not_found() => return Err(none()),
            Err(e) => return Err(storage(&format!("cannot read {REPOSITORY} of {place}"), &e)),
        };
        let head: Head = serde_json::from_slice(&bytes).map_err(|e| {
            Error::new(
                Kind::Archive,
                format!("{REPOSITORY} of {place} cannot be read: {e}"),
            )
            .hint("the backups are whole archives all the same: penstock load reads them")
        })?;
        if head.format != FORMAT {
            return Err(none());
        }
        if head.version > VERSION {
            let what = format!(
                "{place} is a repository of version {}, and {VERSION} is the newest known",
                head.version
            );
            return Err(Error::new(Kind::Archive, what).hint("use a newer version of penstock"));
        }
        Ok(Repository {
            encrypted: head.encrypted,
            catalog: open(&place.join(CATALOG))?,
            locks: open(&place.join(LOCKS))?,
            root,
            place: place.clone(),
        })
    }

    /// Where it is.
    pub fn place(&self) -> &Location {
        &self.place
    }

    /// Where a backup's archive is.
    pub fn backup_place(&self, server: &ServerName, id: &BackupId) -> Location {
        layout::backup_place(&self.place, server, id)
    }

    /// Where the archive of this backup is.
    pub fn place_of(&self, entry: &Entry) -> Result<Location> {
        let (server, id) = names(entry)?;
        Ok(self.backup_place(&server, &id))
    }

    /// The backups in the catalog; of one server, or of all.
    pub fn entries(&self, server: Option<&ServerName>) -> Result<(Vec<Entry>, Vec<String>)> {
        let listed = self
            .catalog
            .list()
            .map_err(|e| storage("cannot list the catalog", &e))?;
        let mut wanted: BTreeSet<String> = listed
            .into_iter()
            .filter(|e| e.kind == EntryKind::File)
            .filter(|e| {
                parse_entry_name(&e.name).is_some_and(|(s, _)| server.is_none_or(|of| *of == s))
            })
            .map(|e| e.name)
            .collect();
        let copies = match self.root.read_all(COPIES, 1 << 30) {
            Ok(bytes) => Copies::parse(&bytes),
            Err(_) => Copies::default(),
        };
        let mut entries = Vec::new();
        for copy in copies.entries {
            let name = match (ServerName::parse(&copy.server), BackupId::parse(&copy.id)) {
                (Ok(server), Some(id)) => entry_name(&server, &id),
                _ => continue,
            };
            if wanted.remove(&name) {
                entries.push(copy);
            }
        }
        let left = Mutex::new(wanted.into_iter().collect::<Vec<String>>());
        let read = Mutex::new((Vec::new(), Vec::new(), None));
        std::thread::scope(|scope| {
            let readers = READERS.min(base::lock(&left).len());
            for _ in 0..readers {
                scope.spawn(|| {
                    loop {
                        let Some(name) = base::lock(&left).pop() else {
                            return;
                        };
                        let bytes = self.catalog.read_all(&name, ENTRY_LIMIT);
                        let mut read = base::lock(&read);
                        match bytes {
                            Ok(bytes) => match Entry::parse(&bytes) {
                                Some(entry) => read.0.push(entry),
                                None => read.1.push(name),
                            },
                            // Pruned since it was listed.
                            Err(e) if e.not_found() => {}
                            Err(e) => {
                                read.2 = Some(e);
                                return;
                            }
                        }
                    }
                });
            }
        });
        let (fresh, damaged, failed) = base::lock::into_inner(read);
        if let Some(e) = failed {
            return Err(storage("cannot read the catalog", &e));
        }
        entries.extend(fresh);
        entries.sort_by(|a, b| (&a.server, a.sequence, &a.id).cmp(&(&b.server, b.sequence, &b.id)));
        Ok((entries, damaged))
    }

    /// Everything, with what is not in the catalog.
    pub fn list(&self, server: Option<&ServerName>) -> Result<Listing> {
        let (entries, damaged) = self.entries(server)?;
        let unlisted = self.unlisted(server, &entries)?;
        Ok(Listing {
            entries,
            damaged,
            unlisted,
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
        let locks = lock::in_use(&self.locks)?;
        let running =
            |of: &(ServerName, BackupId)| locks.iter().any(|l| l.backup.as_ref() == Some(of));
        Ok(found
            .into_iter()
            .map(|of| Unlisted {
                running: running(&of),
                server: of.0,
                id: of.1,
            })
            .collect())
    }

    /// One backup: by its identifier, the beginning of one, or "latest".
    pub fn find(&self, server: Option<&ServerName>, name: &str) -> Result<Entry> {
        let (entries, _) = self.entries(server)?;
        let servers: BTreeSet<&str> = entries.iter().map(|e| e.server.as_str()).collect();
        let servers = servers.into_iter().collect::<Vec<_>>().join(", ");
        let none =
            |what: String| Error::new(Kind::Usage, what).hint("penstock list shows what there is");
        if entries.is_empty() {
            let of = server.map_or_else(String::new, |s| format!(" of the server {s}"));
            return Err(none(format!("there is no backup{of} in {}", self.place)));
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

    /// Locks a backup that is about to be read, and makes sure that it is still there.
    pub fn lock(&self, entry: &Entry, purpose: Purpose) -> Result<Lock> {
        let (server, id) = names(entry)?;
        let lock = Lock::take(&self.locks, (&server, &id), purpose)?;
        // A prune looks for locks after it has taken the entry away: one of the two sees the other.
        let there = self
            .catalog
            .size(&entry_name(&server, &id))
            .map_err(|e| storage("cannot read the catalog", &e))?;
        if there.is_none() {
            return Err(Error::new(
                Kind::Usage,
                format!("the backup {server}@{id} has just been removed"),
            )
            .hint("penstock list shows what there is"));
        }
        Ok(lock)
    }

    /// The entry of an archive that is whole; `None` if it is not.
    pub(crate) fn entry_of(
        &self,
        server: &ServerName,
        id: &BackupId,
        sequence: u64,
    ) -> Result<Option<Entry>> {
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
                let of = (server, id, sequence);
                return Ok(Some(Entry::of_encrypted(of, listed)));
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
        let bytes = match archive.read_all(archive::manifest::MANIFEST, 1 << 30) {
            Ok(bytes) => bytes,
            Err(e) if e.not_found() => return Ok(None),
            Err(e) => return Err(cannot(&e)),
        };
        let manifest = Manifest::parse(&bytes)
            .map_err(|e| failure::archive(format_args!("the backup {server}@{id}"), &e))?;
        Ok(Some(Entry::of(
            (server, id, sequence),
            &manifest,
            FileRecord::of(&bytes),
        )))
    }

    /// Lists a backup: from here on it counts.
    pub(crate) fn add(&self, entry: &Entry) -> Result<()> {
        let (server, id) = names(entry)?;
        let put = self
            .catalog
            .put(&entry_name(&server, &id), entry.to_text().as_bytes());
        put.and_then(|()| self.catalog.sync()).map_err(|e| {
            storage(
                &format!("cannot list the backup {server}@{id}, which is whole"),
                &e,
            )
        })
    }

    /// Takes a backup off the list: from here on it does not count.
    pub(crate) fn unlist(&self, entry: &Entry) -> Result<()> {
        let (server, id) = names(entry)?;
        match self.catalog.remove(&entry_name(&server, &id)) {
            Ok(()) => self
                .catalog
                .sync()
                .map_err(|e| storage("cannot change the catalog", &e)),
            Err(e) if e.not_found() => Ok(()),
            Err(e) => Err(storage("cannot change the catalog", &e)),
        }
    }

    /// Puts whole backups into the catalog that are missing there: a run was killed between the two. Returns them.
    pub(crate) fn adopt(&self, server: Option<&ServerName>) -> Result<Vec<Entry>> {
        let (entries, _) = self.entries(server)?;
        let mut next = next_sequences(&entries);
        let mut adopted = Vec::new();
        for left in self
            .unlisted(server, &entries)?
            .into_iter()
            .filter(|u| !u.running)
        {
            let sequence = next.entry(left.server.to_string()).or_insert(1);
            let found = match self.entry_of(&left.server, &left.id, *sequence) {
                // Damaged: it stays where it is, and keeps nobody from making backups.
                Err(e) if e.kind == Kind::Archive => None,
                found => found?,
            };
            if let Some(entry) = found {
                self.add(&entry)?;
                *sequence += 1;
                adopted.push(entry);
            }
        }
        Ok(adopted)
    }

    /// Writes the copies of the catalog again. They only save time, so a failure is none.
    pub(crate) fn copy_catalog(&self) {
        if let Ok((entries, _)) = self.entries(None) {
            let text = Copies::new(entries).to_text();
            let _ = self.root.put(COPIES, text.as_bytes());
        }
    }
}

/// The next number of each server.
pub(crate) fn next_sequences(entries: &[Entry]) -> BTreeMap<String, u64> {
    let mut next = BTreeMap::new();
    for e in entries {
        let of = next.entry(e.server.clone()).or_insert(1);
        *of = (*of).max(e.sequence + 1);
    }
    next
}

/// The names of an entry.
pub(crate) fn names(entry: &Entry) -> Result<(ServerName, BackupId)> {
    let id = BackupId::parse(&entry.id)
        .ok_or_else(|| Error::new(Kind::Archive, "an entry of the catalog names no backup"))?;
    Ok((ServerName::parse(&entry.server)?, id))
}
