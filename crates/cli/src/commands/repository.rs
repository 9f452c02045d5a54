//! The verbs of a repository.

use super::{exceptions, show};
use crate::args::encryption::Rekey;
use crate::args::repository::{Backup, Check, Init, List, Prune, Restore, Where};
use crate::screen::Screen;
use crate::settings::{self, place};
use ::report::record::{self, settings as recorded};
use ::report::summary;
use base::{Error, Kind, Result};
use encryption::Place;
use repository::{Planned, Policy, Purpose, Repository, ServerName};
use run::{Run, failure};
use store::Location;

fn open(place: &Where) -> Result<Repository> {
    Repository::open(&place::location("--repository", &place.repository)?)
}

fn server(name: Option<&String>) -> Result<Option<ServerName>> {
    name.map(|n| ServerName::parse(n)).transpose()
}

/// `penstock init`.
pub fn init(a: &Init, screen: &Screen) -> Result<u8> {
    let repository = Repository::init(&place::location("REPO", &a.repository)?, a.encrypted)?;
    screen.summary(&summary::init(&repository));
    Ok(0)
}

/// `penstock backup`.
pub fn backup(a: &Backup, run: &Run, screen: &Screen) -> Result<u8> {
    let name = ServerName::parse(&a.name)?;
    let place = place::location("--repository", &a.place.repository)?;
    let planned = Planned::new(&place, &name);
    let options = settings::dump_to(planned.place().clone(), a.source.as_deref(), &a.how)?;
    settings::limit(run, &a.how.limits, Some(&a.how.store_limits));
    let repository = Repository::open(&place)?;
    let about = format!("of {name} into {place}");
    let _listens = super::control::listen(run, "backup", about);
    let mut kept = record::keep(
        run,
        a.how.recording.record.as_deref(),
        || recorded::dump(&options),
        |run| repository::backup(run, &repository, &planned, &options),
        summary::backup,
    )?;
    show(run, screen, &mut kept.summary);
    let code = exceptions(&kept.done.dump.exceptions);
    Ok(super::report::code(&kept, code, run))
}

/// `penstock list`.
pub fn list(a: &List, screen: &Screen) -> Result<u8> {
    let repository = open(&a.place)?;
    let listing = repository.list(server(a.server_name.as_ref())?.as_ref())?;
    screen.summary(&summary::list(&repository, &listing));
    Ok(0)
}

/// `penstock check`.
pub fn check(a: &Check, run: &Run, screen: &Screen) -> Result<u8> {
    let keys = settings::keys::opening(&a.encryption)?;
    let repository = open(&a.place)?;
    let server = server(a.server_name.as_ref())?;
    let entries = match &a.backup {
        Some(name) => vec![repository.find(server.as_ref(), name)?],
        None => {
            let (entries, damaged) = repository.entries(server.as_ref())?;
            if let Some(name) = damaged.first() {
                let what = format!("the catalog's entry {name} cannot be read");
                return Err(Error::new(Kind::Archive, what)
                    .hint("remove that file: the next backup or prune lists the archive again"));
            }
            entries
        }
    };
    let _listens = super::control::listen(run, "check", format!("of {}", repository.place()));
    let threads = settings::threads(a.threads);
    let done = repository::check(run, &repository, &entries, threads, !a.files_only, &keys)?;
    if a.backup.is_some() && done.is_empty() {
        return Err(Error::new(Kind::Usage, "the backup has just been removed")
            .hint("penstock list shows what there is"));
    }
    screen.summary(&summary::check(&done));
    let unread = done.iter().find_map(|c| c.outcome.as_ref().err());
    Ok(match unread {
        None => 0,
        Some(_) if done.iter().any(|c| c.is_damaged()) => Kind::Archive.exit_code(),
        Some(e) => e.kind.exit_code(),
    })
}

/// `penstock restore`.
pub fn restore(a: &Restore, run: &Run, screen: &Screen) -> Result<u8> {
    let repository = open(&a.place)?;
    let entry = repository.find(server(a.server_name.as_ref())?.as_ref(), &a.backup)?;
    let _lock = repository.lock(&entry, Purpose::Restore)?;
    let place = repository.place_of(&entry)?;
    run.observer.note(format!(
        "restoring {}@{}, of {}",
        entry.server, entry.id, entry.begin
    ));
    let options = settings::restore(place, &a.how)?;
    super::run_load(run, screen, &options, &a.how)
}

/// `penstock rekey`.
pub fn rekey(a: &Rekey, screen: &Screen) -> Result<u8> {
    let (old, new) = settings::keys::rekey(a)?;
    let rekeyed = |place: Location| {
        let doing = format!("cannot change the key of {place}");
        let place = Place::new(place, old.clone());
        place
            .rekey(&new)
            .map_err(|e| failure::encryption(doing, &e))
    };
    let mut done = Vec::new();
    if let Some(archive) = &a.archive {
        let place = place::location("DIR", archive)?;
        rekeyed(place.clone())?;
        done.push(place.absolute());
    }
    if let Some(place) = &a.repository {
        let repository = Repository::open(&place::location("--repository", place)?)?;
        let (entries, _) = repository.entries(server(a.server_name.as_ref())?.as_ref())?;
        for entry in entries.iter().filter(|e| e.encrypted) {
            let _lock = repository.lock(entry, Purpose::Check)?;
            rekeyed(repository.place_of(entry)?).map_err(|e| {
                let n = done.len();
                Error {
                    what: format!("{} (backups that have the new key already: {n})", e.what),
                    ..e
                }
            })?;
            done.push(format!("{}@{}", entry.server, entry.id));
        }
        if done.is_empty() {
            let what = format!("{} holds no encrypted backup", repository.place());
            return Err(Error::new(Kind::Usage, what).hint("penstock list shows what there is"));
        }
    }
    screen.summary(&summary::rekey(&done));
    Ok(0)
}

/// `penstock prune`.
pub fn prune(a: &Prune, run: &Run, screen: &Screen) -> Result<u8> {
    let policy = Policy {
        last: a.keep_last,
        hourly: a.keep_hourly,
        daily: a.keep_daily,
        weekly: a.keep_weekly,
        monthly: a.keep_monthly,
        yearly: a.keep_yearly,
        within: a.keep_within,
    };
    if policy.is_empty() {
        return Err(Error::new(Kind::Usage, "no rule says which backups to keep")
            .hint("add --keep-daily 7 --keep-weekly 5 --keep-monthly 12, for instance, and --dry-run to see what that means"));
    }
    let repository = open(&a.place)?;
    let server = server(a.server_name.as_ref())?;
    let done = repository::prune(
        run,
        &repository,
        server.as_ref(),
        &policy,
        a.dry_run,
        a.force,
    )?;
    screen.summary(&summary::prune(&done));
    Ok(0)
}
