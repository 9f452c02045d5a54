//! One backup: a dump, or a snapshot of the server's files, into a place of its own, and its entry in the catalog as
//! the last step.

use crate::catalog::Entry;
use crate::incremental::Incremental;
use crate::layout::{BackupId, ServerName, backup_place, random};
use crate::lock::{Lock, Purpose};
use crate::prune::clear;
use crate::repo::Repository;
use base::{Result, failpoint};
use encryption::Place;
use run::Run;
use store::Location;

/// A backup that was made.
#[derive(Debug)]
pub struct Backup {
    /// As it is listed.
    pub entry: Entry,
    /// The dump or snapshot.
    pub made: Made,
    /// Whole backups that earlier runs had not listed before they were killed.
    pub adopted: Vec<Entry>,
}

/// How a backup is made.
#[derive(Clone, Debug)]
pub enum How {
    /// By a dump; an incremental one takes over what the last backup has.
    Dump(Box<dump::Options>, Option<Incremental>),
    /// By a snapshot of the server's files.
    Snapshot(Box<snapshot::TakeOptions>),
}

impl How {
    /// Where it goes to.
    fn to(&self) -> Option<&Place> {
        match self {
            How::Dump(options, _) => Some(&options.to),
            How::Snapshot(options) => options.to.as_ref(),
        }
    }
}

/// What was made.
#[derive(Debug)]
pub enum Made {
    /// A dump.
    Dump(Box<dump::Summary>),
    /// A snapshot.
    Snapshot(Box<snapshot::Taken>),
}

impl Made {
    /// What it lacks.
    pub fn exceptions(&self) -> &[String] {
        match self {
            Made::Dump(done) => &done.exceptions,
            Made::Snapshot(done) => &done.manifest.exceptions,
        }
    }
}

/// A backup that is about to be made: nothing is written yet.
#[derive(Clone, Debug)]
pub struct Planned {
    server: ServerName,
    id: BackupId,
    place: Location,
}

impl Planned {
    /// A backup of this server that begins now.
    pub fn new(repository: &Location, server: &ServerName) -> Planned {
        let id = BackupId::new(jiff::Timestamp::now(), random());
        Planned {
            place: backup_place(repository, server, &id),
            server: server.clone(),
            id,
        }
    }

    /// Where its archive will be.
    pub fn place(&self) -> &Location {
        &self.place
    }

    /// What it is called.
    pub fn id(&self) -> &BackupId {
        &self.id
    }
}

/// Makes a planned backup; `how` is into its place.
pub fn backup(run: &Run, repository: &Repository, planned: &Planned, how: &How) -> Result<Backup> {
    let Planned { server, id, place } = planned;
    let encrypts = how.to().is_some_and(|to| to.keys().can_encrypt());
    if repository.encrypted && !encrypts {
        let what = format!(
            "the repository {} takes encrypted backups only",
            repository.place()
        );
        return Err(base::Error::new(base::Kind::Usage, what)
            .hint("add --encrypt-to RECIPIENT or --passphrase-file FILE"));
    }
    let adopted = repository.adopt_before_backup(server)?;
    let lock = Lock::take(&repository.locks, (server, id), Purpose::Backup)?;
    // Locked until this backup is listed: only then a prune knows what it refers to.
    let earlier = match how {
        How::Dump(options, Some(how)) => {
            repository.earlier(run, server, options.to.keys(), *how)?
        }
        _ => None,
    };
    failpoint::reached("the last backup is locked");
    let made = match how {
        How::Dump(options, _) => {
            let base = earlier.as_ref().map(|earlier| earlier.base.clone());
            let options = dump::Options {
                base,
                ..(**options).clone()
            };
            dump::run(run, &options).map(|d| Made::Dump(Box::new(d)))
        }
        How::Snapshot(options) => snapshot::take(run, options).map(|t| Made::Snapshot(Box::new(t))),
    };
    let made = match made {
        Ok(made) => made,
        Err(e) => {
            // It has removed its files.
            if let Ok(store) = place.open(None) {
                let _ = store.remove_place();
            }
            return Err(e);
        }
    };
    failpoint::reached("the backup is whole");
    let mut entry = repository.entry_of(server, id)?.ok_or_else(|| {
        base::Error::new(
            base::Kind::Internal,
            "the backup has ended, and it is not whole",
        )
    })?;
    if let Err(e) = repository.check_references(server, id) {
        // It would be listed by the next run, and could not be restored.
        clear(place, None)?;
        return Err(e);
    }
    if let Made::Dump(dump) = &made {
        entry.impact = dump.impact.as_ref().and_then(|report| report.effect);
    }
    let (entries, _) = repository.entries(Some(server))?;
    entry.sequence = 1 + entries.iter().map(|e| e.sequence).max().unwrap_or(0);
    repository.add(&entry)?;
    failpoint::reached("the backup is listed");
    drop((lock, earlier));
    repository.copy_catalog();
    Ok(Backup {
        entry,
        made,
        adopted,
    })
}
