//! Whether the server that answers is the one whose files are on this host.
//!
//! Invariant: a snapshot is never taken of another server's files: the process that has the data directory's system
//! tablespace locked is the one at the other end of the socket, or the one that the server's own files name.

use base::units::printable;
use base::{Error, Kind, Result};
use run::state::storage;
use rustix::process::{Flock, FlockType};
use server::Identity;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use wire::Conn;

/// The file that every server holds a lock on.
pub(crate) const SYSTEM: &str = "ibdata1";

/// The process that has a data directory in use: by its lock, or by its open files. The kernel drops the lock of a server
/// that closes another descriptor of the file, as MySQL does when it clones itself.
pub(crate) fn owner(datadir: &Path) -> Result<Option<i32>> {
    let locked = locked_by(datadir)?;
    Ok(locked.or_else(|| opened_by(datadir)))
}

/// Another process that has the system tablespace open, among those whose files this account may see.
pub(crate) fn opened_by(datadir: &Path) -> Option<i32> {
    let path = datadir.join(SYSTEM);
    process_with(|file| file == path)
}

/// Another process that has a file open in this directory, also one that is removed already.
pub(crate) fn used_by(directory: &Path) -> Option<i32> {
    process_with(|file| file.starts_with(directory))
}

/// Another process that has such a file open.
fn process_with(is_it: impl Fn(&Path) -> bool) -> Option<i32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = processes.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let own = i32::try_from(std::process::id()).ok();
    numbers.find(|pid| {
        let files = fs::read_dir(format!("/proc/{pid}/fd"));
        let mut files = files.into_iter().flatten().flatten();
        Some(*pid) != own && files.any(|f| fs::read_link(f.path()).is_ok_and(|to| is_it(&to)))
    })
}

fn locked_by(datadir: &Path) -> Result<Option<i32>> {
    let path = datadir.join(SYSTEM);
    let file = File::open(&path).map_err(|e| {
        let error = storage("read", &path, &e);
        match e.kind() {
            std::io::ErrorKind::NotFound => error.hint(
                "a snapshot is taken on the host of the server, and of a data directory of InnoDB",
            ),
            _ => error.hint("run penstock as root, or as the account that the server runs as"),
        }
    })?;
    let lock = Flock::from(FlockType::WriteLock);
    let found = rustix::process::fcntl_getlk(&file, &lock)
        .map_err(|e| storage("look at the lock of", &path, &e.into()))?;
    Ok(found.map(|l| l.pid.map_or(0, |p| p.as_raw_nonzero().get())))
}

/// The data directory of this server, on this host.
pub(crate) fn datadir(conn: &Conn, id: &Identity) -> Result<PathBuf> {
    let named = Path::new(&id.datadir);
    let datadir = fs::canonicalize(named).map_err(|e| {
        storage("read", named, &e).hint("a snapshot is taken on the host of the server")
    })?;
    let not = |why: &str| {
        let what = format!(
            "the files in {} may not be those of the server that answers: {why}",
            datadir.display()
        );
        Error::new(Kind::Target, printable(&what))
            .hint("run penstock on the server's host, and connect by its socket")
    };
    let Some(owner) = owner(&datadir)? else {
        return Err(not("no server has them in use"));
    };
    if conn
        .peer_process()
        .is_some_and(|peer| i32::try_from(peer) == Ok(owner))
    {
        return Ok(datadir);
    }
    // By TCP, or where process numbers differ: what only this server has in its files.
    let uuid = fs::read_to_string(datadir.join("auto.cnf")).unwrap_or_default();
    if let Some(own) = id.uuid.as_deref().filter(|u| !u.is_empty())
        && uuid.contains(own)
    {
        return Ok(datadir);
    }
    let pid = id.variable("pid_file").map(|f| datadir.join(f));
    let pid = pid.and_then(|f| fs::read_to_string(f).ok());
    if owner != 0 && pid.and_then(|p| p.trim().parse().ok()) == Some(owner) {
        return Ok(datadir);
    }
    Err(not("another process has them in use"))
}
