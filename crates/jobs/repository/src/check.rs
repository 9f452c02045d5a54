//! Reading backups through: every file against its digest, and if asked every row of an archive, or everything that is
//! compressed in a snapshot.

use crate::catalog::{BackupKind, Entry};
use crate::lock::Purpose;
use crate::recover::references;
use crate::repo::{Repository, names};
use archive::FileRecord;
use base::{Error, Kind, Result, failpoint};
use encryption::{Keys, Place};
use run::Run;

/// What was read of a backup that is intact.
#[derive(Clone, Copy, Debug, Default)]
pub struct Intact {
    /// Files that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows that were decoded.
    pub rows: u64,
    /// Seconds it took.
    pub seconds: f64,
}

/// What a check found of one backup.
#[derive(Debug)]
pub struct Checked {
    /// The backup.
    pub entry: Entry,
    /// What was read, or why it is not intact or could not be read.
    pub outcome: Result<Intact>,
}

impl Checked {
    /// Whether it was read, and is damaged.
    pub fn is_damaged(&self) -> bool {
        matches!(&self.outcome, Err(e) if e.kind == Kind::Archive)
    }
}

/// Checks these backups; one that is damaged or cannot be reached does not end it, and one that a prune removes
/// meanwhile is left out.
pub fn check(
    run: &Run,
    repository: &Repository,
    entries: &[Entry],
    threads: usize,
    rows: bool,
    keys: &Keys,
) -> Result<Vec<Checked>> {
    if let Some(locked) = entries
        .iter()
        .find(|e| rows && e.encrypted && !keys.can_open())
    {
        let what = format!(
            "the backup {}@{} is encrypted, and no key is named",
            locked.server, locked.id
        );
        return Err(Error::new(Kind::Usage, what).hint(
            "add --identity FILE or --passphrase-file FILE, or --files-only, which needs none",
        ));
    }
    let mut done = Vec::new();
    for entry in entries {
        run.check()?;
        let (server, id) = names(entry)?;
        let Some(_lock) = repository.lock_if_there(&*run.observer, entry, Purpose::Check)? else {
            run.observer
                .note(format!("{server}@{id} was removed meanwhile"));
            continue;
        };
        failpoint::reached("a backup is about to be read");
        let keys = if entry.encrypted {
            keys.clone()
        } else {
            Keys::default()
        };
        let place = Place::new(repository.backup_place(&server, &id), keys);
        run.observer.note(format!("checking {server}@{id}"));
        let outcome = manifest(repository, entry)
            .and_then(|()| read_through(run, entry, &place, threads, rows));
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
    // A key that fits none of them is a wrong option.
    let of_options = |c: &Checked| matches!(&c.outcome, Err(e) if e.kind == Kind::Usage);
    if let Some(Err(e)) = done.first().map(|c| &c.outcome)
        && done.iter().all(of_options)
    {
        return Err(e.clone());
    }
    Ok(done)
}

/// Reads one of them, as it has to be read.
fn read_through(
    run: &Run,
    entry: &Entry,
    place: &Place,
    threads: usize,
    rows: bool,
) -> Result<Intact> {
    // Without a key all that is known of an encrypted backup are its files.
    let only_files = entry.encrypted && !rows;
    if entry.kind == BackupKind::Snapshot && !only_files {
        let done = snapshot::check(run, place, threads, rows)?;
        return Ok(Intact {
            files: done.objects,
            bytes: done.bytes,
            rows: 0,
            seconds: done.seconds,
        });
    }
    let done = verify::offline(run, place, threads, rows)?;
    Ok(Intact {
        files: done.files,
        bytes: done.bytes,
        rows: done.rows,
        seconds: done.seconds,
    })
}

/// Whether the archive is the one that was listed.
fn manifest(repository: &Repository, entry: &Entry) -> Result<()> {
    let (server, id) = names(entry)?;
    let store = repository
        .backup_place(&server, &id)
        .open(None)
        .map_err(|e| match e.not_found() {
            true => Error::new(Kind::Archive, format!("the backup {server}@{id} is gone")),
            false => run::failure::store(format_args!("cannot open the backup {server}@{id}"), &e),
        })?;
    if entry.encrypted {
        let doing = format!("cannot read the backup {server}@{id}");
        let listed =
            encryption::listed(&*store).map_err(|e| run::failure::encryption(doing, &e))?;
        return match listed {
            Some(listed) if listed.index == entry.manifest => Ok(()),
            _ => Err(exchanged(&format!("{server}@{id}"))),
        };
    }
    let (name, limit) = match entry.kind {
        BackupKind::Snapshot => (snapshot::manifest::MANIFEST, snapshot::manifest::LIMIT),
        _ => (archive::manifest::MANIFEST, 1 << 30),
    };
    let bytes = store
        .read_all(name, limit)
        .map_err(|e| match e.not_found() {
            true => {
                let what = format!("the backup {server}@{id} has no manifest: {e}");
                Error::new(Kind::Archive, what)
            }
            false => {
                let doing = format_args!("cannot read the manifest of {server}@{id}");
                run::failure::store(doing, &e)
            }
        })?;
    let stored = FileRecord::of(&bytes);
    if stored == entry.manifest {
        let doing = format!("cannot read the manifest of {server}@{id}");
        let of = match entry.kind {
            BackupKind::Snapshot => {
                let manifest = snapshot::Manifest::parse(&bytes)
                    .map_err(|e| Error::new(Kind::Archive, format!("{doing}: {e}")))?;
                Entry::of_snapshot((&server, &id), &manifest, stored)
            }
            _ => {
                let manifest = archive::Manifest::parse(&bytes)
                    .map_err(|e| run::failure::archive(doing, &e))?;
                let references = references(&*store, &server, &id)?;
                Entry::of((&server, &id), &manifest, stored, references.as_ref())
            }
        };
        // What is not of the archive stays as it is; what entries did not have once is not missed.
        let of = Entry {
            version: entry.version,
            sequence: entry.sequence,
            impact: entry.impact,
            server_uuid: entry.server_uuid.as_ref().and(of.server_uuid),
            lock_ms: entry.lock_ms.and(of.lock_ms),
            selection: entry.selection.as_ref().and(of.selection),
            ..of
        };
        if of == *entry {
            return Ok(());
        }
        let what = format!("the catalog says something else of {server}@{id} than its archive");
        return Err(Error::new(Kind::Archive, what).hint(
            "remove its entry in catalog/: the next backup or prune lists the archive again",
        ));
    }
    Err(exchanged(&format!("{server}@{id}")))
}

fn exchanged(backup: &str) -> Error {
    let what = format!("the archive of {backup} is not the one that was listed");
    Error::new(Kind::Archive, what).hint("it was exchanged or changed after it was made")
}
