//! One backup: a dump into a place of its own, and its entry in the catalog as the last step.

use crate::catalog::Entry;
use crate::layout::{BackupId, ServerName, backup_place, random};
use crate::lock::{Lock, Purpose};
use crate::repo::Repository;
use base::{Result, failpoint};
use run::Run;
use store::Location;

/// A backup that was made.
#[derive(Debug)]
pub struct Backup {
    /// As it is listed.
    pub entry: Entry,
    /// The dump.
    pub dump: dump::Summary,
    /// Whole backups that earlier runs had not listed before they were killed.
    pub adopted: Vec<Entry>,
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
}

/// Makes a planned backup; `options` dump into its place.
pub fn backup(
    run: &Run,
    repository: &Repository,
    planned: &Planned,
    options: &dump::Options,
) -> Result<Backup> {
    let Planned { server, id, place } = planned;
    if repository.encrypted && !options.to.keys().can_encrypt() {
        let what = format!(
            "the repository {} takes encrypted backups only",
            repository.place()
        );
        return Err(base::Error::new(base::Kind::Usage, what)
            .hint("add --encrypt-to RECIPIENT or --passphrase-file FILE"));
    }
    let adopted = repository.adopt_before_backup(server)?;
    let lock = Lock::take(&repository.locks, (server, id), Purpose::Backup)?;
    let dump = match dump::run(run, options) {
        Ok(dump) => dump,
        Err(e) => {
            // The dump has removed its files.
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
            "the dump has ended, and its archive is not whole",
        )
    })?;
    entry.impact = dump.impact.as_ref().and_then(|report| report.effect);
    let (entries, _) = repository.entries(Some(server))?;
    entry.sequence = 1 + entries.iter().map(|e| e.sequence).max().unwrap_or(0);
    repository.add(&entry)?;
    failpoint::reached("the backup is listed");
    drop(lock);
    repository.copy_catalog();
    Ok(Backup {
        entry,
        dump,
        adopted,
    })
}
