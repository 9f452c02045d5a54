//! Making and opening a repository, and the two steps that change its catalog.

use crate::catalog::{Copies, Entry};
use crate::layout::{
    self, BACKUPS, BackupId, CATALOG, COPIES, DRILLS, LOCKS, REPOSITORY, ServerName, entry_name,
};
use crate::lock::{Lock, Purpose};
use base::{Error, Kind, Observer, Result, failpoint};
use run::failure;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{EntryKind, Location, Store};

const FORMAT: &str = "penstock-repository";
const VERSION: u32 = 1;

/// `repository.json` is no larger than this, in bytes.
const HEAD_LIMIT: u64 = 1 << 20;

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
    pub(crate) place: Location,
    /// Whether it takes encrypted backups only.
    pub encrypted: bool,
    pub(crate) root: Arc<dyn Store>,
    pub(crate) catalog: Arc<dyn Store>,
    pub(crate) locks: Arc<dyn Store>,
}

pub(crate) fn storage(doing: &str, e: &store::Error) -> Error {
    failure::store(doing, e)
}

impl Repository {
    /// Makes a repository of an empty place.
    ///
    /// `encrypted`: it takes no others than encrypted backups.
    pub fn init(place: &Location, encrypted: bool) -> Result<Repository> {
        if let Some(path) = place.path() {
            run::places::not_in_a_data_directory(path)?;
        }
        let cannot = |e| storage(&format!("cannot make a repository in {place}"), &e);
        let root = match place.create(None) {
            Err(e) if e.source.kind() == std::io::ErrorKind::DirectoryNotEmpty => {
                if !begun(place).map_err(cannot)? {
                    let what =
                        format!("{place} is not empty, and a repository needs a place of its own");
                    let e = Error::new(Kind::Target, what);
                    return Err(e.hint("name a new directory or prefix"));
                }
                place.open(None)
            }
            made => made,
        };
        let root = root.map_err(cannot)?;
        for below in [CATALOG, LOCKS, DRILLS, BACKUPS] {
            place
                .join(below)
                .create(None)
                .map_err(|e| storage("cannot make the repository", &e))?;
        }
        failpoint::reached("the directories of the repository are made");
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
        let bytes = match root.read_all(REPOSITORY, HEAD_LIMIT) {
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

    /// The copies of the catalog, as far as they can be believed.
    pub(crate) fn copies(&self) -> Copies {
        match self.root.read_all(COPIES, 1 << 30) {
            Ok(bytes) => Copies::parse(&bytes),
            Err(_) => Copies::default(),
        }
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

    /// Locks a backup that is about to be read, and makes sure that it is still there.
    pub fn lock(&self, observer: &dyn Observer, entry: &Entry, purpose: Purpose) -> Result<Lock> {
        let lock = self.lock_if_there(observer, entry, purpose)?;
        lock.ok_or_else(|| {
            let what = format!(
                "the backup {}@{} has just been removed",
                entry.server, entry.id
            );
            Error::new(Kind::Usage, what).hint("penstock list shows what there is")
        })
    }

    /// The same; `None` if a prune has removed it.
    pub(crate) fn lock_if_there(
        &self,
        observer: &dyn Observer,
        entry: &Entry,
        purpose: Purpose,
    ) -> Result<Option<Lock>> {
        let (server, id) = names(entry)?;
        let lock = Lock::take(&self.locks, (&server, &id), purpose)?;
        if !lock.is_written() {
            observer.warn(format!(
                "{} is read-only here, so {server}@{id} is not locked: a prune by another host could remove it while it is read",
                self.place
            ));
        }
        // A prune looks for locks after it has taken the entry away: one of the two sees the other.
        let there = self
            .catalog
            .size(&entry_name(&server, &id))
            .map_err(|e| storage("cannot read the catalog", &e))?;
        Ok(there.map(|_| lock))
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
}

/// Whether all that lies here are the empty directories that an `init` had made when it was killed.
fn begun(place: &Location) -> store::Result<bool> {
    for found in place.open(None)?.list()? {
        let ours = [CATALOG, LOCKS, DRILLS, BACKUPS].contains(&found.name.as_str());
        if !ours || found.kind == EntryKind::File {
            return Ok(false);
        }
        match place.join(&found.name).open(None)?.list() {
            Ok(below) if below.is_empty() => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The names of an entry.
pub(crate) fn names(entry: &Entry) -> Result<(ServerName, BackupId)> {
    let id = BackupId::parse(&entry.id)
        .ok_or_else(|| Error::new(Kind::Archive, "an entry of the catalog names no backup"))?;
    Ok((ServerName::parse(&entry.server)?, id))
}
