//! What `penstock snapshot` shall do.

use super::{LOCK_WAIT, keys, place, rules, state, threads};
use crate::args::snapshot::{Clean, Method, Prove, Restore, Take};
use base::{Error, Kind, Result};
use encryption::Place;
use snapshot::{CleanOptions, RestoreOptions, Server, TakeOptions};
use std::path::PathBuf;
use std::time::Duration;

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
    rules::snapshot(a)?;
    let to =
        a.to.as_ref()
            .map(|to| place::location("--to", to))
            .transpose()?;
    let encrypted = keys::encrypting(&a.encryption)?;
    for (option, path) in [("--at", &a.at), ("--datadir", &a.datadir)] {
        if let Some(path) = path {
            place::local(option, path)?;
        }
    }
    Ok(TakeOptions {
        server: match &a.datadir {
            Some(datadir) => Server::Stopped(datadir.clone()),
            None => Server::Running(Box::new(a.connection.resolve(a.source.as_deref())?)),
        },
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
        prove: match a.prove {
            Prove::Check => snapshot::Prove::Check,
            Prove::Open => snapshot::Prove::Open,
            Prove::Start => snapshot::Prove::Start,
        },
        threads: threads(a.threads),
    })
}

/// What to remove.
pub fn clean(a: &Clean) -> CleanOptions {
    CleanOptions {
        ids: a.id.clone(),
        all: a.all,
        dry_run: a.dry_run,
    }
}
