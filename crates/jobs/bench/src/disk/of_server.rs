//! The directories of a running server on this host: data, redo log, binary log, temporary files.

use base::{Error, Kind, Result};
use run::host::Process;
use run::{Run, connect, places};
use server::Identity;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A directory and its use.
pub struct Named {
    /// What a server has there.
    pub use_: Option<&'static str>,
    /// Its path.
    pub path: PathBuf,
}

/// A server and its directories.
pub struct Found {
    /// The server, in words.
    pub server: String,
    /// What it has where.
    pub directories: Vec<Named>,
}

/// Asks the server.
pub fn directories(run: &Run, options: &wire::Options) -> Result<Found> {
    let (conn, id) = connect::open(run, options)?;
    let Some(process) = Process::of(&conn, &options.endpoint, &id) else {
        let what = format!(
            "the server at {} is not a mysqld or mariadbd of this host, as far as can be seen",
            options.endpoint
        );
        return Err(Error::new(Kind::Target, what)
            .hint("run this on the server's own host, as an account that may look at its process; or name its directories"));
    };
    if !process.shows_mounts() {
        run.observer.warn(
            "whether the server has mounts of its own (a container, PrivateTmp) cannot be seen by this account: then these are other directories than the server's"
                .into(),
        );
    }
    let all = places::of(&id);
    for named in &all {
        is_ours(process, &named.path)?;
    }
    let directories = all
        .into_iter()
        .map(|n| Named {
            use_: Some(n.use_),
            path: beside(&id, &n.path),
        })
        .collect();
    Ok(Found {
        server: format!("{id} at {}", options.endpoint),
        directories,
    })
}

/// Refuses a directory that the server sees as another one than this process does: it would be the wrong disk.
fn is_ours(process: Process, path: &Path) -> Result<()> {
    let seen = process.sees(path);
    let of = |p: &Path| std::fs::metadata(p).map(|m| (m.dev(), m.ino())).ok();
    if seen == path || of(&seen).is_some() && of(&seen) == of(path) {
        return Ok(());
    }
    let what = format!(
        "the server has mounts of its own (a container, or a service with PrivateTmp): {} is another directory there than here",
        base::units::printable(&path.display().to_string())
    );
    Err(Error::new(Kind::Target, what).hint(format!(
        "run this where the server runs (nsenter --target {} --mount, or inside the container), or name the directories",
        process.id()
    )))
}

/// A directory on the same file system that the server does not look into: MariaDB and old versions of MySQL take each
/// directory in the data directory for a schema.
fn beside(id: &Identity, path: &Path) -> PathBuf {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let data = std::fs::canonicalize(&id.datadir).ok();
    if data.as_deref() != Some(&real) {
        return real;
    }
    let device = |p: &Path| std::fs::metadata(p).map(|m| m.dev()).ok();
    let writable = |p: &Path| rustix::fs::access(p, rustix::fs::Access::WRITE_OK).is_ok();
    match real.parent() {
        Some(parent) if device(parent) == device(&real) && writable(parent) => parent.to_owned(),
        // A mount of its own, for example; the place itself warns then.
        _ => real,
    }
}
