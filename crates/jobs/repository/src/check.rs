//! Reading backups through: every file against its digest, and if asked every row.

use crate::catalog::Entry;
use crate::lock::Purpose;
use crate::repo::{Repository, names};
use archive::FileRecord;
use base::{Error, Kind, Result};
use run::Run;

/// What a check found of one backup.
#[derive(Debug)]
pub struct Checked {
    /// The backup.
    pub entry: Entry,
    /// What was read, or what is wrong with it.
    pub outcome: Result<verify::Offline>,
}

/// Checks these backups; a damaged one does not end it.
pub fn check(
    run: &Run,
    repository: &Repository,
    entries: &[Entry],
    threads: usize,
    rows: bool,
) -> Result<Vec<Checked>> {
    let mut done = Vec::new();
    for entry in entries {
        run.check()?;
        let _lock = repository.lock(entry, Purpose::Check)?;
        let (server, id) = names(entry)?;
        let place = repository.backup_place(&server, &id);
        run.observer.note(format!("checking {server}@{id}"));
        let outcome =
            manifest(repository, entry).and_then(|()| verify::offline(run, &place, threads, rows));
        if let Err(e) = &outcome
            && e.kind == Kind::Interrupted
        {
            return Err(e.clone());
        }
        done.push(Checked {
            entry: entry.clone(),
            outcome,
        });
    }
    Ok(done)
}

/// Whether the archive is the one that was listed.
fn manifest(repository: &Repository, entry: &Entry) -> Result<()> {
    let (server, id) = names(entry)?;
    let store = repository
        .backup_place(&server, &id)
        .open(None)
        .map_err(|e| {
            run::failure::store(format_args!("cannot open the backup {server}@{id}"), &e)
        })?;
    let bytes = store
        .read_all(archive::manifest::MANIFEST, 1 << 30)
        .map_err(|e| {
            Error::new(
                Kind::Archive,
                format!("the backup {server}@{id} has no manifest: {e}"),
            )
        })?;
    if FileRecord::of(&bytes) == entry.manifest {
        return Ok(());
    }
    Err(Error::new(
        Kind::Archive,
        format!("the manifest of {server}@{id} is not the one that was listed"),
    )
    .hint("the archive was exchanged or changed after it was made"))
}
