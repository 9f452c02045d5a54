//! The verbs of a repository.

use super::around::{Job, Outcome, around};
use super::forecast::Forecasts;
use super::{After, exceptions, metrics, point_in_time, show};
use crate::args::encryption::Rekey;
use crate::args::repository::{
    Backup, Check, Drill, DrillLog, Init, List, OfKind, Prune, Restore, Where,
};
use crate::screen::Screen;
use crate::settings::config::Config;
use crate::settings::scratch::Scratch;
use crate::settings::{self, place};
use ::report::html;
use ::report::record::{self, settings as recorded};
use ::report::summary;
use base::{Error, Kind, Result};
use encryption::Place;
use repository::{
    BackupKind, Behind, How, Made, Planned, Policies, Purpose, Repository, ServerName,
};
use run::{Run, failure};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Location;

fn open(place: &Where) -> Result<Repository> {
    Repository::open(&place::location("--repository", &place.repository)?)
}

fn is_of(wanted: Option<OfKind>, entry: &repository::Entry) -> bool {
    kind(wanted).is_none_or(|kind| kind == entry.kind)
}

fn kind(kind: Option<OfKind>) -> Option<BackupKind> {
    kind.map(BackupKind::from)
}

pub(super) fn server(name: Option<&String>) -> Result<Option<ServerName>> {
    name.map(|n| ServerName::parse(n)).transpose()
}

/// `penstock init`.
pub fn init(a: &Init, screen: &Screen) -> Result<u8> {
    let repository = Repository::init(&place::location("REPO", &a.repository)?, a.encrypted)?;
    screen.summary(&summary::init(&repository));
    Ok(0)
}

/// `penstock backup`.
pub fn backup(a: &Backup, config: Option<&Config>, run: &Run, screen: &Screen) -> Result<u8> {
    let Some(name) = &a.name else {
        return Err(Error::new(Kind::Usage, "no server is named").hint(
            "penstock backup NAME, or describe servers in a configuration: docs/configuration.md",
        ));
    };
    let name = ServerName::parse(name)?;
    let place = place::location("--repository", &a.place.repository)?;
    let planned = Planned::new(&place, &name);
    let id = planned.id().to_string();
    let how = settings::backup(planned.place().clone(), Some(id), a)?;
    settings::limit(run, &a.how.limits, Some(&a.how.store_limits));
    let job = Job {
        command: "backup",
        server: Some(name.as_str()),
        repository: &place.to_string(),
    };
    let outcome = around(config, job, || {
        let repository = Repository::open(&place)?;
        let about = format!("of {name} into {place}");
        let _listens = super::control::listen(run, "backup", about);
        let file = a.how.recording.record.as_deref();
        let job = |run: &Run| repository::backup(run, &repository, &planned, &how);
        let mut kept = match &how {
            How::Dump(options, _) => {
                let mut forecasts = Forecasts::of_dump(run, &a.how, options);
                record::keep(
                    run,
                    file,
                    || recorded::dump(options),
                    job,
                    |done| {
                        let mut shown = summary::backup(done);
                        if let Made::Dump(done) = &done.made {
                            shown.add(forecasts.dumped(done));
                        }
                        shown
                    },
                )?
            }
            How::Snapshot(_) => {
                let done = job(run).map_err(|e| settings::in_words_of_backup(a, e))?;
                let summary = summary::backup(&done);
                let lost = None;
                record::Kept {
                    done,
                    summary,
                    lost,
                }
            }
        };
        show(run, screen, &mut kept.summary);
        let code = exceptions(kept.done.made.exceptions());
        let summary = kept.summary.json();
        let code = super::report::code(&kept, code, run);
        Ok(Outcome { code, summary })
    });
    with_metrics(&a.place, outcome)
}

/// `penstock list`.
pub fn list(a: &List, json: bool, screen: &Screen) -> Result<u8> {
    settings::rules::list(a, json)?;
    let place = match &a.archive {
        Some(named) => {
            let at = place::location("PLACE", named)?;
            // A place that holds a repository is one, however it is named.
            if Repository::open(&at).is_err() {
                settings::an_archive(&at, "list")?;
                return describe(
                    Place::new(at, settings::keys::opening(&a.encryption)?),
                    screen,
                );
            }
            named.clone()
        }
        None => place::repository(a.repository.as_deref())?,
    };
    let at = Where {
        repository: place,
        metrics_file: a.metrics_file.clone(),
    };
    let repository = open(&at)?;
    let mut listing = repository.list(server(a.server_name.as_ref())?.as_ref())?;
    if let Some(kind) = kind(a.kind) {
        listing.only(kind);
    }
    if let Some(file) = &a.html {
        let page = html::of_repository(&repository.place().absolute(), &listing);
        if file.as_os_str() == "-" {
            screen.document(&page)?;
            return with_metrics(&at, Ok(0));
        }
        html::replace(file, &page)?;
    }
    screen.summary(&summary::list(&repository, &listing));
    with_metrics(&at, Ok(0))
}

/// `penstock list ARCHIVE`.
fn describe(archive: Place, screen: &Screen) -> Result<u8> {
    let described = ::rows::description::describe(&archive).map_err(|e| match e.hint {
        None if e.kind == Kind::Archive => {
            e.hint("an archive is a directory with @.json in it; penstock list --repository REPO lists the backups of a repository")
        }
        _ => e,
    })?;
    screen.summary(&summary::archive(&described));
    match described.damaged.is_empty() {
        true => Ok(0),
        false => Ok(Kind::Archive.exit_code()),
    }
}

/// `penstock check`.
pub fn check(a: &Check, config: Option<&Config>, run: &Run, screen: &Screen) -> Result<u8> {
    settings::rules::check(a)?;
    let keys = settings::keys::opening(&a.encryption)?;
    let server = server(a.server_name.as_ref())?;
    let place = place::location("--repository", &a.place.repository)?;
    let job = Job {
        command: "check",
        server: a.server_name.as_deref(),
        repository: &place.to_string(),
    };
    let outcome = around(config, job, || {
        let repository = Repository::open(&place)?;
        let (entries, damaged) = match &a.backup {
            Some(name) => {
                let of = (server.as_ref(), kind(a.kind));
                (vec![repository.find(of, name)?], Vec::new())
            }
            None => repository.entries(server.as_ref())?,
        };
        let entries: Vec<_> = entries.into_iter().filter(|e| is_of(a.kind, e)).collect();
        for name in &damaged {
            run.observer.warn(base::units::printable(&format!(
                "the catalog's entry {name} cannot be read, so its backup is not checked; remove that file: the next backup or prune lists the archive again"
            )));
        }
        let _listens = super::control::listen(run, "check", format!("of {place}"));
        let threads = settings::threads(a.threads);
        let done = repository::check(run, &repository, &entries, threads, !a.files_only, &keys)?;
        if a.backup.is_some() && done.is_empty() {
            return Err(Error::new(Kind::Usage, "the backup has just been removed")
                .hint("penstock list shows what there is"));
        }
        let checked = match (&a.backup, a.kind) {
            (None, None) => repository.check_logs(run, server.as_ref(), (&keys, a.files_only)),
            _ => Ok(Vec::new()),
        };
        // What was found of backups is shown all the same.
        let (logs, unread_log) = match checked {
            Ok(logs) => (logs, None),
            Err(e) => (Vec::new(), Some(e)),
        };
        let shown = summary::check(&done, &logs);
        screen.summary(&shown);
        let unread = done.iter().find_map(|c| c.outcome.as_ref().err());
        let code = match unread {
            _ if !damaged.is_empty() => Kind::Archive.exit_code(),
            _ if logs.iter().any(|l| !l.damage.is_empty()) => Kind::Archive.exit_code(),
            None => match unread_log {
                None => 0,
                Some(e) => return Err(e),
            },
            Some(_) if done.iter().any(|c| c.is_damaged()) => Kind::Archive.exit_code(),
            Some(e) => e.kind.exit_code(),
        };
        let summary = shown.json();
        Ok(Outcome { code, summary })
    });
    with_metrics(&a.place, outcome)
}

/// `penstock drill`.
pub fn drill(a: &Drill, config: Option<&Config>, run: &Run, screen: &Screen) -> Result<u8> {
    let server = server(a.server_name.as_ref())?;
    let place = place::location("--repository", &a.place.repository)?;
    let checks = settings::checks(a)?;
    if let Some(scratch) = &a.scratch {
        place::local("--scratch", scratch)?;
    }
    let job = Job {
        command: "drill",
        server: a.server_name.as_deref(),
        repository: &place.to_string(),
    };
    let outcome = around(config, job, || {
        let repository = Repository::open(&place)?;
        let entries = match &a.backup {
            Some(name) => vec![repository.find((server.as_ref(), kind(a.kind)), name)?],
            None => {
                let (mut entries, _) = repository.entries(server.as_ref())?;
                entries.retain(|e| is_of(a.kind, e));
                repository::candidates(&entries, a.random)
            }
        };
        if entries.is_empty() {
            let of = server.as_ref();
            let of = of.map_or_else(String::new, |s| format!(" of the server {s}"));
            let what = format!("there is no backup{of} in {place}");
            return Err(Error::new(Kind::Usage, what).hint("penstock list shows what there is"));
        }
        let _listens = super::control::listen(run, "drill", format!("of {place}"));
        let (mut drilled, mut not_held) = (Vec::new(), None);
        for entry in &entries {
            run.check()?;
            match drill_one(a, run, &repository, entry, &checks) {
                Ok(done) => drilled.push(done),
                // What prevents this drill may not prevent that of another server.
                Err(e) if entries.len() > 1 && e.kind != Kind::Interrupted => {
                    run.observer.warn(base::units::printable(&format!(
                        "{}@{} was not tried: {}",
                        entry.server, entry.id, e.what
                    )));
                    not_held.get_or_insert(e);
                }
                Err(e) => return Err(e),
            }
        }
        let shown = summary::drill(&drilled);
        screen.summary(&shown);
        let failed = drilled.iter().find_map(repository::drill_failure);
        let failed = failed.or(not_held);
        let with_exceptions =
            |d: &repository::Drilled| d.restored.as_ref().is_ok_and(|r| !r.exceptions.is_empty());
        let code = match failed {
            Some(e) => e.kind.exit_code(),
            None if drilled.iter().any(with_exceptions) => Kind::Exceptions.exit_code(),
            None => 0,
        };
        let summary = shown.json();
        Ok(Outcome { code, summary })
    });
    with_metrics(&a.place, outcome)
}

/// Restores one backup for proof, in a directory that is removed.
fn drill_one(
    a: &Drill,
    run: &Run,
    repository: &Repository,
    entry: &repository::Entry,
    checks: &[String],
) -> Result<repository::Drilled> {
    let name = format!("{}@{}", entry.server, entry.id);
    run.observer.note(format!("restoring {name} for proof"));
    let directory = Scratch::new(a.scratch.as_deref(), "penstock-drill-", 0o711)?;
    let data = directory.path().join("data");
    let mut load = settings::drill(repository.place_of(entry)?, &data, a)?;
    let mut of_server = Vec::new();
    let log = match a.log {
        None => None,
        Some(behind) => {
            let behind = match behind {
                DrillLog::Latest => Behind::Latest,
                DrillLog::Random => Behind::Random,
            };
            let keys = settings::keys::opening(&a.encryption)?;
            let plan = match repository::plan_behind(run, repository, entry, behind, &keys) {
                Err(e) if e.kind == Kind::Archive => {
                    return repository::drill_of_damaged_log(repository, entry, e);
                }
                plan => plan?,
            };
            repository::check_target(run, &plan, &repository::At::NewServer)?;
            of_server = settings::point_in_time::plan_options(&plan);
            if !entry.encrypted {
                // The keys are for the binary log alone.
                load.from = Place::from(repository.place_of(entry)?);
            }
            Some(repository::DrillLog {
                plan: Arc::new(plan),
                state: directory.path().join("state"),
            })
        }
    };
    let restore = match entry.kind {
        BackupKind::Snapshot => {
            let mut options = settings::snapshot::drill(load.from, &data, a);
            options.options.extend(of_server);
            repository::Restore::Snapshot(Box::new(options))
        }
        BackupKind::Logical => {
            if let Some(managed) = &mut load.managed {
                managed.options.extend(of_server);
            }
            repository::Restore::Load(Box::new(load))
        }
    };
    let options = repository::DrillOptions {
        restore,
        checks: checks.to_vec(),
        check_timeout: a.check_timeout,
        log,
    };
    let done = repository::drill(&run.below(), repository, entry, &options)?;
    if let Some(e) = repository::drill_failure(&done) {
        run.observer
            .warn(format!("{name} is not proven: {}", e.what));
    }
    Ok(done)
}

/// Writes the metrics, whatever came of the command.
pub(super) fn with_metrics(place: &Where, outcome: Result<u8>) -> Result<u8> {
    metrics::with(place, outcome, "")
}

/// `penstock restore`.
pub fn restore(a: &Restore, config: Option<&Config>, run: &Run, screen: &Screen) -> Result<u8> {
    settings::rules::point_in_time(&a.moment, &a.how)?;
    let server = server(a.server_name.as_ref())?;
    let place = place::location("--repository", &a.place.repository)?;
    // Which archive is known later; whether the options are sound does not depend on it.
    let options = settings::restore(place.clone(), &a.how)?;
    let job = Job {
        command: "restore",
        server: a.server_name.as_deref(),
        repository: &place.to_string(),
    };
    let outcome = around(config, job, || {
        let repository = Repository::open(&place)?;
        let mut entry = repository.find((server.as_ref(), kind(a.kind)), &a.backup)?;
        let plan = match settings::point_in_time::target(&a.moment) {
            None => None,
            Some(target) => {
                let of = ServerName::parse(&entry.server)?;
                let asked = (a.backup != "latest").then_some(&entry);
                // A snapshot needs a data directory; without one only rows can be restored.
                let only = kind(a.kind).or(match &a.how.new_server.datadir {
                    Some(_) => None,
                    None => Some(BackupKind::Logical),
                });
                let gap = a.moment.across_gap;
                let keys = settings::keys::opening(&a.how.encryption)?;
                let of_kind = (asked, only);
                let plan = repository::plan(run, &repository, &of, of_kind, &target, gap, &keys)?;
                for why in &plan.passed_over {
                    run.observer.warn(format!("an older backup is used: {why}"));
                }
                entry = plan.backup.clone();
                Some(plan)
            }
        };
        let mut from = options.from.moved(repository.place_of(&entry)?);
        // The keys may be for the binary log alone.
        let only_log = plan.is_some() && !entry.encrypted;
        if only_log {
            from = Place::from(repository.place_of(&entry)?);
        }
        if let Some(plan) = &plan {
            let options = load::Options {
                from: from.clone(),
                ..options.clone()
            };
            let looked_at = point_in_time::target_of(a, run, plan, &options)?;
            if a.moment.dry_run {
                let time = point_in_time::forecast(a, run, plan, &options)?;
                let shown = summary::plan(plan, looked_at.as_deref(), time.as_ref());
                screen.summary(&shown);
                let summary = shown.json();
                return Ok(Outcome { code: 0, summary });
            }
        }
        let of_snapshot = match entry.kind {
            BackupKind::Snapshot => {
                let place = repository.place_of(&entry)?;
                let mut options = settings::snapshot::of_repository(place, a)?;
                if only_log {
                    options.from = from.clone();
                }
                Some(options)
            }
            BackupKind::Logical => {
                settings::rules::restored_archive(a)?;
                None
            }
        };
        if a.moment.dry_run {
            let options = load::Options { from, ..options };
            let (code, shown) = super::preview(run, screen, &options, &a.how)?;
            let summary = shown.json();
            return Ok(Outcome { code, summary });
        }
        let _lock = repository.lock(&*run.observer, &entry, Purpose::Restore)?;
        run.observer.note(format!(
            "restoring {}@{}, of {}",
            entry.server, entry.id, entry.begin
        ));
        let about = format!("of {}@{}", entry.server, entry.id);
        if let Some(options) = of_snapshot {
            let _listens = super::control::listen(run, "snapshot restore", about);
            settings::limit(run, &a.how.limits, None);
            return match plan {
                None => super::snapshot::restored(run, screen, &options, After::Nothing),
                Some(plan) => point_in_time::snapshot(a, run, screen, options, plan),
            };
        }
        let options = load::Options { from, ..options };
        let _listens = super::control::listen(run, "load", about);
        match plan {
            None => super::run_load(run, screen, &options, &a.how, After::Nothing),
            Some(plan) => point_in_time::load(a, run, screen, options, plan),
        }
    });
    with_metrics(&a.place, outcome)
}

/// `penstock rekey`.
pub fn rekey(a: &Rekey, screen: &Screen) -> Result<u8> {
    settings::rules::rekey(a)?;
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
            let _lock = repository.lock(screen, entry, Purpose::Check)?;
            rekeyed(repository.place_of(entry)?).map_err(|e| {
                let n = done.len();
                Error {
                    what: format!("{} (backups that have the new key already: {n})", e.what),
                    ..e
                }
            })?;
            done.push(format!("{}@{}", entry.server, entry.id));
        }
        let of = server(a.server_name.as_ref())?;
        // What was pruned, and is needed by others, has a key of its own.
        for (server, id) in repository.held(of.as_ref())? {
            let place = repository.backup_place(&server, &id);
            let doing = format!("cannot read what is left of {server}@{id}");
            let key = place.open(None).and_then(|s| s.size(encryption::KEY));
            if key.map_err(|e| failure::store(doing, &e))?.is_some() {
                rekeyed(place)?;
                done.push(format!("{server}@{id}"));
            }
        }
        done.extend(repository.rekey_logs(of.as_ref(), &old, &new)?);
        if done.is_empty() {
            let what = format!("{} holds no encrypted backup or log", repository.place());
            return Err(Error::new(Kind::Usage, what).hint("penstock list shows what there is"));
        }
    }
    screen.summary(&summary::rekey(&done));
    Ok(0)
}

/// `penstock prune`.
pub fn prune(a: &Prune, config: Option<&Config>, run: &Run, screen: &Screen) -> Result<u8> {
    let mut policies = Policies {
        usual: a.policy(),
        of_server: BTreeMap::new(),
    };
    if let Some(config) = config
        && a.server_name.is_none()
    {
        for name in config.servers().map(|s| s.name.clone()) {
            let own = settings::config::prune_of(config, std::env::args_os().collect(), &name)?;
            policies.of_server.insert(name.to_string(), own);
        }
    }
    if policies.is_empty() {
        return Err(Error::new(Kind::Usage, "no rule says which backups to keep")
            .hint("add --keep-daily 7 --keep-weekly 5 --keep-monthly 12, for instance, and --dry-run to see what that means"));
    }
    let server = server(a.server_name.as_ref())?;
    let place = place::location("--repository", &a.place.repository)?;
    let job = Job {
        command: "prune",
        server: a.server_name.as_deref(),
        repository: &place.to_string(),
    };
    let outcome = around(config, job, || {
        let repository = Repository::open(&place)?;
        let (dry_run, force) = (a.dry_run, a.force);
        let of = (server.as_ref(), kind(a.kind));
        let done = repository::prune(run, &repository, of, &policies, dry_run, force)?;
        let shown = summary::prune(&done);
        screen.summary(&shown);
        let summary = shown.json();
        Ok(Outcome { code: 0, summary })
    });
    with_metrics(&a.place, outcome)
}
