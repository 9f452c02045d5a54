//! Removing backups that the policy does not keep, and what killed runs left behind.
//!
//! The order of a removal: the entry leaves the catalog, locks are looked at once more, the archive is marked
//! as incomplete, its files go, the mark goes last. Killed in between, what is left is not listed and not
//! whole, and the next prune removes it. Nobody else lists a backup again meanwhile: the lock of the catalog
//! keeps them apart.

use crate::catalog::{BackupKind, Entry};
use crate::incremental::{KnownReferences, Needed};
use crate::layout::{BackupId, ServerName};
use crate::listing::Unlisted;
use crate::lock::{self, Lock};
use crate::repo::{Repository, names};
use crate::retention::{Keep, Policies, judge};
use archive::marker;
use base::{Error, Kind, Result, failpoint};
use binlog_archive::PrunedLog;
use run::{Run, failure};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};
use store::{Location, Store};

/// A clock that differs by more than this from the store's is wrong.
const CLOCKS: Duration = Duration::from_secs(3600);

/// What happened to a backup.
#[derive(Clone, Debug, PartialEq)]
pub struct Removal {
    /// The backup, and what keeps it.
    pub keep: Keep,
    /// Whether it is or would be removed.
    pub removed: bool,
    /// Why it stays although no rule keeps it.
    pub why: Option<String>,
    /// Bytes of its files that stay, because other backups need them.
    pub needed_bytes: u64,
}

/// What a prune did, or would do.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Each backup, by server, the newest first.
    pub backups: Vec<Removal>,
    /// Unfinished leftovers that were removed.
    pub leftovers: Vec<Unlisted>,
    /// Whole backups that were not listed, and are now.
    pub adopted: Vec<Entry>,
    /// Files of binary logs that no backup needs any more.
    pub logs: Vec<PrunedLog>,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Why a prune without `--force` would refuse; of a dry run only.
    pub refusals: Vec<String>,
}

/// Applies a policy to the backups of one server, or of each; to each kind of backup by itself, or only to one.
pub fn prune(
    run: &Run,
    repository: &Repository,
    (server, of_kind): (Option<&ServerName>, Option<BackupKind>),
    policies: &Policies,
    dry_run: bool,
    force: bool,
) -> Result<Pruned> {
    let lock = match dry_run {
        true => None,
        false => {
            repository.make_room();
            Some(Lock::catalog(&repository.locks)?)
        }
    };
    let adopted = match &lock {
        Some(lock) => repository.adopt(server, lock)?,
        None => repository.adoptable(server)?,
    };
    let (mut entries, damaged) = repository.entries(server)?;
    if dry_run {
        entries.extend(adopted.iter().cloned());
    }
    for name in damaged {
        run.observer.warn(format!(
            "the catalog's entry {name} cannot be read; its backup is left alone"
        ));
    }
    let mut refusals = Vec::new();
    let mut refuse = |refusal: Option<Error>| match refusal {
        Some(e) if dry_run => {
            refusals.push(e.what);
            Ok(())
        }
        Some(e) => Err(e),
        None => Ok(()),
    };
    if !force {
        refuse(clocks(repository, &entries)?)?;
    }
    let servers: BTreeSet<&str> = entries.iter().map(|e| e.server.as_str()).collect();
    for name in servers.iter().filter(|s| policies.of(s).is_empty()) {
        // Not even the newest alone: nothing was said of this server.
        run.observer
            .warn(format!("{name} has no rule, and keeps all of its backups"));
    }
    let mut judged: Vec<Keep> = Vec::new();
    let series: BTreeSet<(&str, BackupKind)> = entries.iter().map(Entry::series).collect();
    for (name, kind) in series {
        let policy = policies.of(name);
        if policy.is_empty() || of_kind.is_some_and(|wanted| wanted != kind) {
            continue;
        }
        let of = entries.iter().filter(|e| e.series() == (name, kind));
        let keeps = judge(policy, of.cloned().collect());
        let going = keeps.iter().filter(|k| k.reasons.is_empty()).count();
        if going > 4 && going * 2 > keeps.len() && !force {
            let kind = match kind {
                BackupKind::Logical => "",
                BackupKind::Snapshot => "snapshot ",
            };
            let what = format!(
                "{going} of the {} {kind}backups of {name} would be removed at once",
                keeps.len()
            );
            refuse(Some(Error::new(Kind::Usage, what).hint(
                "look at --dry-run; if that is what you want, add --force",
            )))?;
        }
        judged.extend(keeps);
    }
    let used = lock::in_use(&repository.locks)?;
    let mut done = Pruned {
        adopted,
        dry_run,
        refusals,
        ..Pruned::default()
    };
    let mut known = KnownReferences::new();
    for keep in judged {
        run.check()?;
        let mut removal = Removal {
            removed: false,
            why: None,
            needed_bytes: 0,
            keep,
        };
        if removal.keep.reasons.is_empty() {
            let of = names(&removal.keep.entry)?;
            if used.iter().any(|l| l.backup.as_ref() == Some(&of)) {
                removal.why = Some("in use".to_owned());
            } else if dry_run {
                removal.removed = true;
            } else {
                if let Some(lock) = &lock {
                    lock.check()?;
                }
                match remove(repository, &removal.keep.entry, &mut known)? {
                    Some(left) => (removal.removed, removal.needed_bytes) = (true, left),
                    None => removal.why = Some("in use".to_owned()),
                }
            }
        }
        done.backups.push(removal);
    }
    let (mut entries, _) = repository.entries(server)?;
    if dry_run {
        entries.extend(done.adopted.iter().cloned());
    }
    for left in repository.unlisted(server, &entries)? {
        if left.running {
            continue;
        }
        match repository.entry_of(&left.server, &left.id) {
            Ok(None) => {}
            // Whole, and listed with the next run.
            Ok(Some(_)) => continue,
            // Only what is known not to be whole is removed.
            Err(e) => {
                let name = format!("{}@{}", left.server, left.id);
                run.observer
                    .warn(format!("{name} is not listed, and is left alone: {e}"));
                continue;
            }
        }
        run.check()?;
        if let Some(lock) = &lock {
            lock.check()?;
            let of = (left.server.clone(), left.id.clone());
            if clear_unneeded(repository, &of, &mut known)? > 0 {
                continue;
            }
        } else if left.held {
            continue;
        }
        done.leftovers.push(left);
    }
    let stay: Vec<Entry> = match dry_run {
        false => entries.clone(),
        true => {
            let going = |e: &Entry| {
                let removed = done.backups.iter().filter(|r| r.removed);
                let mut removed = removed.map(|r| &r.keep.entry);
                removed.any(|r| r.server == e.server && r.id == e.id)
            };
            entries.iter().filter(|e| !going(e)).cloned().collect()
        }
    };
    if dry_run {
        // How many of their bytes stay is known when they are gone.
        let referred = |id: &String| stay.iter().any(|e| e.refers_to.contains(id));
        let going = done.backups.iter_mut().filter(|r| r.removed);
        for removal in going.filter(|r| referred(&r.keep.entry.id)) {
            removal.why = Some("but for the files that other backups need".to_owned());
        }
    }
    for of in repository.servers_with_logs()? {
        if server.is_some_and(|s| *s != of) {
            continue;
        }
        run.check()?;
        if let Some(lock) = &lock {
            lock.check()?;
        }
        done.logs.extend(repository.prune_log(&of, &stay, dry_run)?);
    }
    if !dry_run {
        lock::remove_stale(&repository.locks)?;
        let (entries, _) = repository.entries(None)?;
        repository.forget_drills(&entries);
        repository.copy_catalog();
    }
    Ok(done)
}

/// Why nothing should be removed by these clocks: the store's tells, and the newest backup cannot be of tomorrow.
fn clocks(repository: &Repository, entries: &[Entry]) -> Result<Option<Error>> {
    let here = SystemTime::now();
    let apart = |a: SystemTime, b: SystemTime| {
        a.duration_since(b)
            .or_else(|_| b.duration_since(a))
            .unwrap_or_default()
    };
    if let Some(there) = lock::now(&repository.locks)?
        && apart(here, there) > CLOCKS
    {
        let what = "the clock of this host and that of the place differ by more than an hour";
        let e = Error::new(Kind::Usage, what);
        return Ok(Some(e.hint("set the clock; --force prunes all the same")));
    }
    let future = |e: &&Entry| {
        e.begin()
            .is_some_and(|begin| SystemTime::from(begin) > here + CLOCKS)
    };
    if let Some(e) = entries.iter().find(future) {
        let what = format!(
            "the backup {}@{} is of the future ({}): the clock of this host is wrong, or was",
            e.server, e.id, e.begin
        );
        let hint = "set the clock; if it is right now, --force prunes: a backup of the future then counts as made \
                    with the one after it";
        return Ok(Some(Error::new(Kind::Usage, what).hint(hint)));
    }
    Ok(None)
}

/// Removes a backup, and says how many bytes of it others need; `None` if somebody has begun to use it.
fn remove(
    repository: &Repository,
    entry: &Entry,
    known: &mut KnownReferences,
) -> Result<Option<u64>> {
    let of = names(entry)?;
    repository.unlist(entry)?;
    failpoint::reached("the backup is off the list");
    if lock::in_use(&repository.locks)?
        .iter()
        .any(|l| l.backup.as_ref() == Some(&of))
    {
        repository.add(entry)?;
        return Ok(None);
    }
    clear_unneeded(repository, &of, known).map(Some)
}

/// Removes the files of a backup that is not listed, but for those that others need; returns the bytes of these.
fn clear_unneeded(
    repository: &Repository,
    (server, id): &(ServerName, BackupId),
    known: &mut KnownReferences,
) -> Result<u64> {
    // Read when its own entry is gone: no backup that comes now refers to it.
    let needed = repository.needed(server, known)?;
    clear(
        &repository.backup_place(server, id),
        needed.get(id.as_str()),
    )
}

/// Removes the files of an archive but for those that others need, so that at no moment it looks whole; returns the bytes of these.
pub(crate) fn clear(place: &Location, needed: Option<&Needed>) -> Result<u64> {
    let fail = |e: store::Error| failure::store(format_args!("cannot remove {place}"), &e);
    let store = match place.open(None) {
        Ok(store) => store,
        Err(e) if e.not_found() => return Ok(0),
        Err(e) => return Err(fail(e)),
    };
    if store.size(marker::INCOMPLETE).map_err(fail)?.is_none()
        && !store.list().map_err(fail)?.is_empty()
    {
        marker::set(&*store, env!("CARGO_PKG_VERSION"))
            .map_err(|e| failure::archive(format_args!("cannot remove {place}"), &e))?;
    }
    failpoint::reached("the backup is marked");
    let mut left = 0;
    for entry in store.list().map_err(fail)? {
        if needed.is_some_and(|needed| needed.keeps(&entry.name)) {
            left += entry.size;
        } else if entry.name != marker::INCOMPLETE {
            forget(&*store, &entry.name).map_err(fail)?;
        }
    }
    failpoint::reached("the files are gone");
    if left > 0 {
        return Ok(left);
    }
    forget(&*store, marker::INCOMPLETE).map_err(fail)?;
    store.remove_place().map_err(fail)?;
    Ok(0)
}

fn forget(store: &dyn Store, name: &str) -> store::Result<()> {
    match store.remove(name) {
        Err(e) if e.not_found() => Ok(()),
        done => done,
    }
}
