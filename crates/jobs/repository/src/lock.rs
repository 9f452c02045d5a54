//! What is in use, and by whom.
//!
//! A lock is a small file that its owner writes again every minute. Whether its owner still lives is judged by
//! the store's own clock: a lock that is more than ten minutes older than one just written is stale. A host
//! whose clock is wrong can therefore neither keep others out for ever nor have its locks taken away. Of an
//! owner on this host the process itself is looked for, so that after a kill nobody waits.

use crate::layout::{BACKUPS, BackupId, LOCKS, ServerName, random};
use base::process;
use base::{Error, Kind, Result, failpoint};
use run::failure;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use store::{EntryKind, Store};

/// How often an owner writes its lock again.
const REFRESH: Duration = Duration::from_secs(60);

/// How much older than a fresh one a lock is when nobody owns it any more.
const STALE: Duration = Duration::from_secs(600);

/// How the lock of the catalog begins, which one run has at a time: a prune, or a run that lists backups again.
const CATALOG: &str = "catalog@";

/// How the lock of a server's binary log begins.
const BINLOG: &str = "binlog@";

/// How often two runs that want that lock at the same moment make way for each other.
const TRIES: u32 = 5;

/// What a backup is in use for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It is being made.
    Backup,
    /// It is being restored or compared.
    Restore,
    /// It is being read through.
    Check,
    /// It is being restored for proof.
    Drill,
}

impl Purpose {
    /// Whether nothing is written into the place but the lock.
    fn only_reads(self) -> bool {
        matches!(self, Purpose::Restore | Purpose::Check)
    }

    fn word(self) -> &'static str {
        match self {
            Purpose::Backup => "backup",
            Purpose::Restore => "restore",
            Purpose::Check => "check",
            Purpose::Drill => "drill",
        }
    }
}

/// Who owns a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Owner {
    host: String,
    pid: u32,
    /// When the process began, by its system; a number is used again by another process.
    started: u64,
    /// The boot and the process namespace: only there the number means anything.
    namespace: String,
    /// UTC, RFC 3339, for people.
    since: String,
}

impl Owner {
    fn me() -> Owner {
        let host = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        let pid = std::process::id();
        Owner {
            host,
            pid,
            started: process::started(pid).unwrap_or(0),
            namespace: process::namespace(),
            since: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
        }
    }

    /// Whether the process is known to be gone; on another host nothing is known.
    fn is_gone(&self) -> bool {
        process::is_gone(self.pid, self.started, &self.namespace).unwrap_or(false)
    }

    fn words(&self) -> String {
        base::units::printable(&format!(
            "process {} on {}, since {}",
            self.pid, self.host, self.since
        ))
    }
}

/// A lock of this process, kept fresh until it is dropped.
pub struct Lock {
    store: Arc<dyn Store>,
    name: String,
    /// Whether there is a file: in a place that is read-only there is none.
    written: bool,
    stop: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

/// A lock that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) name: String,
    /// The backup it is about.
    pub(crate) backup: Option<(ServerName, BackupId)>,
    modified: Option<SystemTime>,
}

impl Lock {
    /// Says that a backup is in use.
    pub(crate) fn take(
        store: &Arc<dyn Store>,
        (server, id): (&ServerName, &BackupId),
        purpose: Purpose,
    ) -> Result<Lock> {
        let word = purpose.word();
        let run = format!("{:04x}{:04x}", random(), random());
        let name = format!("{server}@{id}@{word}@{run}.json");
        match Lock::write(store, name.clone(), purpose.only_reads()) {
            // Nobody can remove a backup through this file system.
            Err(e) if purpose.only_reads() && is_read_only(&e) => Ok(Lock {
                store: Arc::clone(store),
                name,
                written: false,
                stop: None,
                keeper: None,
            }),
            written => written.map_err(|e| failed(&e)),
        }
    }

    /// Whether others can see it.
    pub(crate) fn is_written(&self) -> bool {
        self.written
    }

    /// The lock under which backups are removed, or listed again.
    ///
    /// Each run writes a lock with a name of its own and looks for others then: of two that come at the same
    /// moment at least one sees the other. A run that sees another takes its lock back. So nobody ever takes
    /// a lock of others away, which two could do at once.
    pub(crate) fn catalog(store: &Arc<dyn Store>) -> Result<Lock> {
        let busy = "another run is removing backups, or listing them again";
        let lock = Lock::alone(store, CATALOG, busy)?;
        failpoint::reached("the catalog is locked");
        Ok(lock)
    }

    /// The lock under which a server's binary log is archived.
    pub(crate) fn binlog(store: &Arc<dyn Store>, server: &ServerName) -> Result<Lock> {
        let busy = format!("another run archives the binary log of {server}");
        Lock::alone(store, &format!("{BINLOG}{server}@"), &busy)
    }

    /// A lock whose name begins with this, while there is no other such.
    fn alone(store: &Arc<dyn Store>, begins: &str, what: &str) -> Result<Lock> {
        for tried in 1.. {
            if let Some(other) = other_lock(store, begins, "")? {
                return Err(busy(store, &other, what));
            }
            let name = format!("{begins}{:04x}{:04x}.json", random(), random());
            let lock = Lock::write(store, name, false).map_err(|e| failed(&e))?;
            match other_lock(store, begins, &lock.name)? {
                None => return Ok(lock),
                Some(other) if tried == TRIES => return Err(busy(store, &other, what)),
                Some(_) => {}
            }
            drop(lock);
            std::thread::sleep(Duration::from_millis(u64::from(random() % 512)));
        }
        unreachable!("the last try returns")
    }

    /// Makes sure that it was not taken for stale and removed while this process was stopped.
    pub(crate) fn check(&self) -> Result<()> {
        match self.store.size(&self.name).map_err(|e| failed(&e))? {
            Some(_) => Ok(()),
            None => Err(Error::new(
                Kind::Lock,
                "the lock of this run was removed: it was stopped for more than ten minutes",
            )
            .hint("run it again")),
        }
    }

    /// `or_empty`: without its owner if there is no room for that. A lock that cannot be read is a lock all the same.
    fn write(store: &Arc<dyn Store>, name: String, or_empty: bool) -> store::Result<Lock> {
        let text = serde_json::to_string(&Owner::me()).unwrap_or_default();
        store
            .put_new(&name, text.as_bytes())
            .or_else(|e| match or_empty && e.full() {
                true => store.put_new(&name, b""),
                false => Err(e),
            })?;
        let (stop, stopped) = channel::<()>();
        let (kept, again) = (Arc::clone(store), name.clone());
        let keeper = std::thread::Builder::new()
            .name("lock".into())
            .spawn(move || {
                while stopped.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
                    // Another run may hold the catalog by now.
                    if again.starts_with(CATALOG) && kept.size(&again).is_ok_and(|s| s.is_none()) {
                        return;
                    }
                    // A store that is away for a moment: the next time will do.
                    let put = kept.put(&again, text.as_bytes());
                    if put.is_err_and(|e| e.full()) {
                        let _ = kept.put(&again, b"");
                    }
                }
            });
        Ok(Lock {
            store: Arc::clone(store),
            name,
            written: true,
            stop: Some(stop),
            keeper: keeper.ok(),
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
        if self.written {
            // If it stays it becomes stale.
            let _ = self.store.remove(&self.name);
        }
    }
}

fn is_read_only(e: &store::Error) -> bool {
    e.source.kind() == std::io::ErrorKind::ReadOnlyFilesystem
}

fn failed(e: &store::Error) -> Error {
    let error = failure::store(format_args!("cannot lock in the repository ({LOCKS}/)"), e);
    let refused = e.source.kind() == std::io::ErrorKind::PermissionDenied;
    if !e.full() && !is_read_only(e) && !refused {
        return error;
    }
    error.hint(format!(
        "make room there, or make it writable; penstock load and penstock verify read an archive without the repository: they take its directory, {BACKUPS}/SERVER/BACKUP"
    ))
}

fn owner(store: &dyn Store, name: &str) -> Option<Owner> {
    let bytes = store.read_all(name, 64 * 1024).ok()?;
    // A lock that cannot be read is a lock all the same.
    Some(serde_json::from_slice(&bytes).unwrap_or_default())
}

/// A living lock of the catalog other than `mine`.
fn other_lock(store: &Arc<dyn Store>, begins: &str, mine: &str) -> Result<Option<String>> {
    let mut found = all(store)?;
    found.retain(|f| f.name.starts_with(begins) && f.name != mine);
    Ok(live(store, found)?.into_iter().next().map(|f| f.name))
}

fn busy(store: &Arc<dyn Store>, name: &str, what: &str) -> Error {
    let who = match owner(&**store, name) {
        Some(owner) if !owner.host.is_empty() => owner.words(),
        _ => format!("the owner of {LOCKS}/{name}"),
    };
    let what = format!("{what}: {who}");
    Error::new(Kind::Lock, what)
        .hint("wait for it; a lock that is not renewed for ten minutes counts no more")
}

fn all(store: &Arc<dyn Store>) -> Result<Vec<Found>> {
    let entries = store.list().map_err(|e| failed(&e))?;
    let files = entries.into_iter().filter(|e| e.kind == EntryKind::File);
    Ok(files
        .filter(|e| !e.name.ends_with(store::PARTIAL_SUFFIX))
        .map(|e| {
            let mut parts = e.name.split('@');
            let server = parts.next().and_then(|s| ServerName::parse(s).ok());
            let id = parts.next().and_then(BackupId::parse);
            Found {
                backup: server.zip(id),
                name: e.name,
                modified: e.modified,
            }
        })
        .collect())
}

/// Those of the locks whose owners live, or may live.
fn live(store: &Arc<dyn Store>, found: Vec<Found>) -> Result<Vec<Found>> {
    if found.is_empty() {
        return Ok(found);
    }
    let now = now(store)?;
    Ok(found
        .into_iter()
        .filter(|f| {
            let age = now
                .zip(f.modified)
                .and_then(|(now, then)| now.duration_since(then).ok());
            let old = age.is_some_and(|age| age > STALE);
            !old && !owner(&**store, &f.name).is_some_and(|o| o.is_gone())
        })
        .collect())
}

/// The locks whose owners live.
pub(crate) fn in_use(store: &Arc<dyn Store>) -> Result<Vec<Found>> {
    live(store, all(store)?)
}

/// Removes locks whose owners are gone.
pub(crate) fn remove_stale(store: &Arc<dyn Store>) -> Result<()> {
    let found = all(store)?;
    let live = live(store, found.clone())?;
    for stale in found
        .iter()
        .filter(|f| !live.iter().any(|l| l.name == f.name))
    {
        let _ = store.remove(&stale.name);
    }
    Ok(())
}

/// The time by the store's clock, if it has one.
pub(crate) fn now(store: &Arc<dyn Store>) -> Result<Option<SystemTime>> {
    let name = format!("clock-{:04x}{:04x}.json", random(), random());
    // Empty: there is room for it on a full disk, too.
    store.put(&name, b"").map_err(|e| failed(&e))?;
    let listed = store.list().map_err(|e| failed(&e));
    let _ = store.remove(&name);
    let mine = listed?.into_iter().find(|e| e.name == name);
    Ok(mine.and_then(|e| e.modified))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Directory;

    fn store() -> (tempfile::TempDir, Arc<dyn Store>) {
        let dir = tempfile::tempdir().unwrap();
        let store = Directory::open(dir.path()).unwrap();
        (dir, Arc::new(store))
    }

    #[test]
    fn a_backup_is_in_use_while_its_lock_lives() {
        let (_dir, store) = store();
        let server = ServerName::parse("s").unwrap();
        let id = BackupId::new(jiff::Timestamp::UNIX_EPOCH, 1);
        let first = Lock::take(&store, (&server, &id), Purpose::Restore).unwrap();
        let second = Lock::take(&store, (&server, &id), Purpose::Check).unwrap();
        assert_eq!(in_use(&store).unwrap().len(), 2);
        drop(first);
        let left = in_use(&store).unwrap();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].backup, Some((server, id)));
        drop(second);
        assert!(in_use(&store).unwrap().is_empty());
        assert!(store.list().unwrap().is_empty());
    }

    #[test]
    fn one_run_has_the_catalog_and_a_dead_one_does_not() {
        let (dir, store) = store();
        let lock = Lock::catalog(&store).unwrap();
        lock.check().unwrap();
        let e = Lock::catalog(&store).err().unwrap();
        assert_eq!(e.kind, Kind::Lock);
        let me = format!("process {} on", std::process::id());
        assert!(e.what.contains(&me), "{e}");
        // Taken for stale and removed: its owner notices.
        store.remove(&lock.name).unwrap();
        assert_eq!(lock.check().err().unwrap().kind, Kind::Lock);
        drop(lock);
        // The owner's process does not exist: nobody waits.
        let dead = Owner {
            pid: u32::MAX,
            started: 1,
            ..Owner::me()
        };
        let name = format!("{CATALOG}00000000.json");
        let write = |owner: &Owner| {
            let text = serde_json::to_string(owner).unwrap();
            store.put(&name, text.as_bytes()).unwrap();
        };
        write(&dead);
        drop(Lock::catalog(&store).unwrap());
        // Of another host only the age is known.
        write(&Owner {
            namespace: "another".to_owned(),
            ..dead
        });
        assert_eq!(Lock::catalog(&store).err().unwrap().kind, Kind::Lock);
        let mut writing = std::fs::File::options();
        let file = writing.write(true).open(dir.path().join(&name)).unwrap();
        file.set_modified(SystemTime::now() - STALE - Duration::from_secs(5))
            .unwrap();
        drop(Lock::catalog(&store).unwrap());
        // What is not even written to its end is a lock.
        store.put(&name, b"").unwrap();
        let e = Lock::catalog(&store).err().unwrap();
        assert!(e.what.contains(&name), "{e}");
    }

    /// Several threads that want it at the same moment: never two have it.
    #[test]
    fn never_two_have_the_catalog() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let (_dir, store) = store();
        let (inside, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let Ok(lock) = Lock::catalog(&store) else {
                            continue;
                        };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                        taken.fetch_add(1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(taken.load(Ordering::SeqCst) > 0);
    }
}
