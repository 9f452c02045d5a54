//! `penstock restore` to a point in time: a backup of either kind, and the binary log behind it.

use super::around::Outcome;
use super::forecast::Forecasts;
use super::snapshot::restored;
use super::{After, run_load};
use crate::args::repository::Restore;
use crate::screen::Screen;
use crate::settings;
use ::forecast::{Job, Work};
use ::report::summary::{self, Foreseen};
use base::{Error, Kind, Result};
use repository::BackupKind;
use run::Run;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Applies the log to a server that holds the backup, and keeps what came of it.
struct CarryOn {
    plan: Arc<repository::Plan>,
    applied: Arc<Mutex<Option<Applied>>>,
}

/// What came of it, and the seconds that it took.
type Applied = (Result<Vec<replay::Summary>>, f64);

impl CarryOn {
    fn new(plan: repository::Plan) -> CarryOn {
        CarryOn {
            plan: Arc::new(plan),
            applied: Arc::default(),
        }
    }

    /// What is done with the server.
    fn work(&self, a: &Restore, run: &Run) -> Arc<dyn Fn(&wire::Options) + Send + Sync> {
        let (plan, applied) = (Arc::clone(&self.plan), Arc::clone(&self.applied));
        let (run, how) = (run.clone(), a.how.clone());
        Arc::new(move |server| {
            let began = Instant::now();
            let done = settings::point_in_time::replay(server.clone(), &how)
                .and_then(|options| repository::carry_on(&run, &plan, &options));
            *base::lock(&applied) = Some((done, began.elapsed().as_secs_f64()));
        })
    }

    /// The options of a temporary server that can apply the log.
    fn server_options(&self) -> Vec<String> {
        settings::point_in_time::plan_options(&self.plan)
    }

    /// Shows what was done; `restored` is the restore of the backup.
    fn end(self, a: &Restore, run: &Run, screen: &Screen, restored: &Outcome) -> Result<Outcome> {
        let applied = base::lock(&self.applied).take();
        let (applied, seconds) = applied.ok_or_else(|| {
            let what = "the backup is restored, and the log was not applied";
            Error::new(Kind::Internal, what)
        })?;
        // The last words must not sound as if all was done.
        let applied = applied.map_err(|e| {
            e.context(
                "the backup is restored, but the binary log behind it is not applied to its end",
            )
        })?;
        let mut shown = summary::replayed(&self.plan, &applied);
        let mut forecasts = Forecasts::of_replay(run, &a.how);
        let work = log(a, &self.plan)?;
        shown.add(forecasts.replayed(&work, seconds));
        screen.summary(&shown);
        Ok(Outcome {
            code: match self.plan.route.missing.is_empty() {
                true => restored.code,
                false => Kind::Exceptions.exit_code(),
            },
            summary: shown.json(),
        })
    }
}

/// Looks at what is restored into, before anything is restored. Returns what it is; `None` if only the plan is asked for and no target
/// was named.
pub fn target_of(
    a: &Restore,
    run: &Run,
    plan: &repository::Plan,
    options: &load::Options,
) -> Result<Option<String>> {
    if let Some(datadir) = &a.how.new_server.datadir {
        repository::check_target(run, plan, &repository::At::NewServer)?;
        if a.moment.dry_run && holds_something(datadir) {
            let what = format!("{} is not empty", datadir.display());
            return Err(Error::new(Kind::Target, base::units::printable(&what))
                .hint("name a new directory with --datadir"));
        }
        return Ok(Some(format!("a new server in {}", datadir.display())));
    }
    let named = a.how.into.is_some() || a.how.connection.names_a_server();
    if a.moment.dry_run && !named {
        return Ok(None);
    }
    repository::check_target(run, plan, &repository::At::Server(&options.target))?;
    if a.moment.dry_run {
        load::check(run, options)?;
    }
    Ok(Some(options.target.endpoint.to_string()))
}

/// How long it will take: the backup, if it is a logical one and it is known what it is restored into, and the log.
pub fn forecast(
    a: &Restore,
    run: &Run,
    plan: &repository::Plan,
    options: &load::Options,
) -> Result<Option<Foreseen>> {
    if plan.backup.kind == BackupKind::Snapshot {
        // How long files take is not known.
        return Ok(None);
    }
    let named = a.how.into.is_some() || a.how.connection.names_a_server();
    let work = match named || options.managed.is_some() {
        true => load::work(run, options)?,
        false => return Ok(None),
    };
    let mut forecasts = Forecasts::of_load(run, &a.how, options);
    let backup = forecasts.forecast(&work);
    let applied = forecasts.forecast(&log(a, plan)?);
    Ok(Some(Foreseen {
        forecast: backup.clone().and(applied.clone()),
        parts: vec![("the backup", backup), ("the log", applied)],
        by_mode: Vec::new(),
    }))
}

/// What the log is to a forecast.
fn log(a: &Restore, plan: &repository::Plan) -> Result<Work> {
    let server = match &a.how.new_server.datadir {
        Some(_) => ::forecast::own_server(),
        None => {
            let server = a.how.connection.resolve(a.how.into.as_deref())?;
            ::forecast::server_at(&server.endpoint)
        }
    };
    Ok(Work {
        job: Job::Replay,
        flavour: match plan.is_mariadb() {
            true => "mariadb".to_owned(),
            false => "mysql".to_owned(),
        },
        server,
        place: "repository".to_owned(),
        workers: 1,
        cores: run::host::cores() as u64,
        stored: plan.route.bytes,
        ..Work::default()
    })
}

fn holds_something(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut all| all.next().is_some())
}

/// Loads a backup, and has the server apply the log behind it.
pub fn load(
    a: &Restore,
    run: &Run,
    screen: &Screen,
    mut options: load::Options,
    plan: repository::Plan,
) -> Result<Outcome> {
    let carry_on = CarryOn::new(plan);
    let work = carry_on.work(a, run);
    // The log would change rows that are not there.
    options.all_rows = true;
    if let Some(managed) = &mut options.managed {
        managed.options.extend(carry_on.server_options());
        options.when_loaded = Some(load::WhenLoaded(Arc::clone(&work)));
    }
    let loaded = run_load(run, screen, &options, &a.how, After::Log)?;
    if options.managed.is_none() {
        work(&options.target);
    }
    carry_on.end(a, run, screen, &loaded)
}

/// The same with a snapshot, whose server applies the log before it is shut down.
pub fn snapshot(
    a: &Restore,
    run: &Run,
    screen: &Screen,
    mut options: snapshot::RestoreOptions,
    plan: repository::Plan,
) -> Result<Outcome> {
    let carry_on = CarryOn::new(plan);
    options.options.extend(carry_on.server_options());
    options.when_proven = Some(snapshot::WhenProven(carry_on.work(a, run)));
    let restored = restored(run, screen, &options, After::Log)?;
    carry_on.end(a, run, screen, &restored)
}
