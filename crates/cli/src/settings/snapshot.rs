//! What `penstock snapshot` shall do.

use super::{LOCK_WAIT, keys, place, rules, state, threads};
use crate::args::dump::Dump;
use crate::args::encryption::Encrypting;
use crate::args::limits::StoreLimits;
use crate::args::repository::{self, Backup};
use crate::args::snapshot::{Clean, Method, Prove, Restore, Take};
use base::{Error, Kind, Result};
use encryption::Place;
use snapshot::{CleanOptions, RestoreOptions, Server, TakeOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::Location;

/// The share of the file system that stays free, where nothing else was said.
const KEEP_FREE: f64 = 0.05;

/// Where snapshots are recorded.
pub fn records() -> Result<PathBuf> {
    state::directory().ok_or_else(|| {
        Error::new(
            Kind::Usage,
            "no directory is known for records of snapshots",
        )
        .hint("set PENSTOCK_STATE, or HOME")
    })
}

/// What to take.
pub fn take(a: &Take) -> Result<TakeOptions> {
    let to =
        a.to.as_ref()
            .map(|to| place::location("--to", to))
            .transpose()?;
    take_to(to, a)
}

/// What to take as a backup of a repository: `id` is its identifier, `to` its place.
pub fn backup(to: Location, id: Option<String>, a: &Backup, method: Method) -> Result<TakeOptions> {
    let (of, how) = (&a.snapshot, &a.how);
    let take = Take {
        source: a.source.clone(),
        method,
        to: None,
        keep: false,
        at: of.at.clone(),
        datadir: of.datadir.clone(),
        lock_wait: how.lock_wait,
        keep_free: of.keep_free.unwrap_or(KEEP_FREE),
        snapshot_size: of.snapshot_size,
        compression: Some(how.compression),
        threads: how.threads,
        max_rate: how.limits.max_rate,
        store_limits: how.store_limits.clone(),
        encryption: how.encryption.clone(),
        connection: how.connection.clone(),
    };
    Ok(TakeOptions {
        id,
        ..take_to(Some(to), &take)?
    })
}

/// The snapshot whose files a dump reads.
pub fn of_dump(a: &Dump, source: &wire::Options, method: Method) -> Result<TakeOptions> {
    let (files, how) = (&a.files, &a.how);
    let take = Take {
        source: a.source.clone(),
        method,
        to: None,
        keep: true,
        at: files.at.clone(),
        datadir: None,
        lock_wait: how.lock_wait,
        keep_free: files.keep_free.unwrap_or(KEEP_FREE),
        snapshot_size: files.snapshot_size,
        compression: None,
        threads: None,
        max_rate: None,
        store_limits: StoreLimits::default(),
        encryption: Encrypting::default(),
        connection: how.connection.clone(),
    };
    rules::snapshot(&take)?;
    // The password is asked for once.
    take_of(Server::Running(Box::new(source.clone())), None, &take)
}

fn take_to(to: Option<Location>, a: &Take) -> Result<TakeOptions> {
    rules::snapshot(a)?;
    let server = match &a.datadir {
        Some(datadir) => Server::Stopped(datadir.clone()),
        None => Server::Running(Box::new(a.connection.resolve(a.source.as_deref())?)),
    };
    take_of(server, to, a)
}

/// `penstock snapshot take` and `penstock dump` call one option by different names.
pub fn in_words_of_dump(e: Error) -> Error {
    let renamed = |text: String| text.replace("--method ", "--from-snapshot ");
    Error {
        what: renamed(e.what),
        hint: e.hint.map(renamed),
        ..e
    }
}

fn take_of(server: Server, to: Option<Location>, a: &Take) -> Result<TakeOptions> {
    let encrypted = keys::encrypting(&a.encryption)?;
    for (option, path) in [("--at", &a.at), ("--datadir", &a.datadir)] {
        if let Some(path) = path {
            place::local(option, path)?;
        }
    }
    Ok(TakeOptions {
        id: None,
        server,
        method: match a.method {
            Method::Reflink => snapshot::Method::Reflink,
            Method::Btrfs => snapshot::Method::Btrfs,
            Method::Lvm => snapshot::Method::Lvm,
            Method::LvmThin => snapshot::Method::LvmThin,
            Method::Zfs => snapshot::Method::Zfs,
            Method::Clone => snapshot::Method::Clone,
            Method::Copy => snapshot::Method::Copy,
        },
        to: to.map(|to| Place::new(to, encrypted)),
        at: a.at.clone(),
        state: records()?,
        lock_wait: Duration::from_secs(a.lock_wait.unwrap_or(LOCK_WAIT).max(1)),
        threads: threads(a.threads),
        compression: a.compression.unwrap_or(dump::Compression::Zstd(1)),
        keep_free: a.keep_free,
        size: a.snapshot_size,
    })
}

/// What to restore.
pub fn restore(a: &Restore) -> Result<RestoreOptions> {
    place::local("--datadir", &a.datadir)?;
    Ok(RestoreOptions {
        from: Place::new(
            place::location("FROM", &a.from)?,
            keys::opening(&a.encryption)?,
        ),
        datadir: a.datadir.clone(),
        program: a.mysqld.clone(),
        options: a.mysqld_option.clone(),
        prove: proof(a.prove),
        threads: threads(a.threads),
        when_proven: None,
    })
}

fn proof(asked: Prove) -> snapshot::Prove {
    match asked {
        Prove::Check => snapshot::Prove::Check,
        Prove::Open => snapshot::Prove::Open,
        Prove::Start => snapshot::Prove::Start,
    }
}

/// How the backup of a repository that turned out to be a snapshot is restored.
pub fn of_repository(from: Location, a: &repository::Restore) -> Result<RestoreOptions> {
    let how = &a.how;
    let datadir = rules::restored_snapshot(a)?;
    Ok(RestoreOptions {
        from: Place::new(from, keys::opening(&how.encryption)?),
        datadir: datadir.to_owned(),
        program: how.new_server.mysqld.clone(),
        options: how.new_server.mysqld_option.clone(),
        prove: proof(a.prove.unwrap_or(Prove::Check)),
        threads: threads(how.threads),
        when_proven: None,
    })
}

/// How it is restored for proof.
pub fn drill(from: Place, datadir: &Path, a: &repository::Drill) -> RestoreOptions {
    RestoreOptions {
        from,
        datadir: datadir.to_owned(),
        program: a.mysqld.clone(),
        options: a.mysqld_option.clone(),
        prove: snapshot::Prove::Check,
        threads: threads(a.threads),
        when_proven: None,
    }
}

/// What to remove.
pub fn clean(a: &Clean) -> CleanOptions {
    CleanOptions {
        ids: a.id.clone(),
        all: a.all,
        dry_run: a.dry_run,
        at: a.at.clone(),
    }
}
