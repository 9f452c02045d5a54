//! A drill: a backup is restored into a temporary server, compared (the rows of an archive) or checked (the tables of a
//! snapshot), and asked questions; then the server is removed. What came of it is written into the repository: that a backup can be restored is proven by
//! restoring it.
//!
//! With a log behind the backup ([`Log`]), that server applies it before it is asked: to its end, or to a random moment.
//!
//! A drill that could not be held (no room, no server program) says nothing about the backup, and is not
//! written down.

use crate::carry_on::carry_on;
use crate::catalog::{BackupKind, Entry};
use crate::layout::{self, ServerName};
use crate::lock::Purpose;
use crate::point_in_time::{Plan, plan};
use crate::repo::{Repository, names};
use crate::{proof, question};
use base::{Error, Kind, Result};
use binlog_archive::Target;
use encryption::Keys;
use jiff::Timestamp;
use run::Run;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How a backup is restored for proof.
#[derive(Clone, Debug)]
pub enum Restore {
    /// An archive is loaded into a managed instance, and compared.
    Load(Box<load::Options>),
    /// A snapshot is restored, recovered, and its tables are checked.
    Snapshot(Box<snapshot::RestoreOptions>),
}

/// What was restored for proof.
#[derive(Clone, Debug, Default)]
pub struct Restored {
    /// Rows that were loaded and compared.
    pub rows: u64,
    /// Tables of a snapshot that the server has checked.
    pub tables: u64,
    /// What was not restored, or not checked.
    pub exceptions: Vec<String>,
}

/// How much of the log behind a backup is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// All that is archived.
    Latest,
    /// Up to a moment between the backup and the last transaction.
    Random,
}

/// The log behind the backup.
#[derive(Clone)]
pub struct Log {
    /// The way to the state.
    pub plan: Arc<Plan>,
    /// Where the journal of settings of the temporary server is.
    pub state: PathBuf,
}

/// How a drill is held.
#[derive(Clone)]
pub struct Options {
    /// The restore, into a temporary server.
    pub restore: Restore,
    /// Statements that must be true of what was restored.
    pub checks: Vec<String>,
    /// How long each of them may take.
    pub check_timeout: Option<Duration>,
    /// What is applied before they are asked.
    pub log: Option<Log>,
}

/// What was applied of the log.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The state, in words.
    pub to: String,
    /// Transactions.
    pub transactions: u64,
}

/// A drill that was held.
#[derive(Debug)]
pub struct Drilled {
    /// The backup.
    pub entry: Entry,
    /// Whether it is a snapshot.
    pub is_of_files: bool,
    /// When it began.
    pub at: Timestamp,
    /// The restore, or why it failed.
    pub restored: Result<Restored>,
    /// What was applied of the log behind it, if that was asked for.
    pub applied: Option<Applied>,
    /// Seconds until the server had all of it, and it was compared.
    pub seconds: f64,
    /// Each statement, and why it is not true.
    pub checks: Vec<(String, Option<String>)>,
}

impl Drilled {
    /// Whether the backup was restored, equal, and every check was true.
    pub fn is_proven(&self) -> bool {
        self.restored.is_ok() && self.checks.iter().all(|(_, wrong)| wrong.is_none())
    }
}

/// What came of the server that was restored into.
#[derive(Default)]
struct Loaded {
    /// Seconds until it had all of it, and it was compared.
    seconds: Option<f64>,
    /// What it applied of the log, or why it did not.
    applied: Option<Result<Applied>>,
    /// The statements that were asked.
    checks: Vec<(String, Option<String>)>,
    /// Why not all of them were.
    not_asked: Option<Error>,
}

/// Writes down that a backup cannot be restored with the log behind it, because that is damaged.
pub fn drill_of_damaged_log(
    repository: &Repository,
    entry: &Entry,
    error: Error,
) -> Result<Drilled> {
    let drilled = Drilled {
        entry: entry.clone(),
        is_of_files: entry.kind == BackupKind::Snapshot,
        at: Timestamp::now(),
        restored: Err(error.context("the log behind the backup cannot be applied")),
        applied: None,
        seconds: 0.0,
        checks: Vec::new(),
    };
    proof::write_down(repository, names(entry)?, drilled.at, came_of(&drilled))?;
    repository.copy_catalog();
    Ok(drilled)
}

/// Restores a backup into a temporary server, and writes down what came of it.
pub fn drill(
    run: &Run,
    repository: &Repository,
    entry: &Entry,
    options: &Options,
) -> Result<Drilled> {
    let _lock = repository.lock(&*run.observer, entry, Purpose::Drill)?;
    let start = Instant::now();
    let at = Timestamp::now();
    let loaded = Arc::new(Mutex::new(Loaded::default()));
    let use_it: Arc<dyn Fn(&wire::Options) + Send + Sync> = Arc::new({
        let (loaded, checks) = (Arc::clone(&loaded), options.checks.clone());
        let limit = options.check_timeout;
        let (run, log) = (run.clone(), options.log.clone());
        move |server| {
            if let Some(log) = &log {
                let applied = apply(&run, log, server);
                let failed = applied.is_err();
                base::lock(&loaded).applied = Some(applied);
                if failed {
                    return;
                }
            }
            base::lock(&loaded).seconds = Some(start.elapsed().as_secs_f64());
            // A worker, so that a stop closes its connection.
            let asked = run.workers(vec![()], |_, (), stop| {
                for sql in &checks {
                    stop.check()?;
                    let wrong = question::wrong(&run, server, sql, limit);
                    base::lock(&loaded).checks.push((sql.clone(), wrong));
                }
                Ok(())
            });
            base::lock(&loaded).not_asked = asked.err();
        }
    });
    let restored = restore(run, &options.restore, use_it).map_err(|e| Error {
        // Its directory is removed: there is nothing to resume.
        hint: e.hint.filter(|hint| !hint.contains("--resume")),
        ..e
    });
    if let Err(e) = &restored
        && !says_something(e)
    {
        return Err(e.clone());
    }
    let loaded = std::mem::take(&mut *base::lock(&loaded));
    let (applied, restored) = match (loaded.applied.transpose(), restored) {
        // What is not about the backup or its log says nothing about them.
        (Err(e), Ok(_)) if !says_something(&e) => return Err(e),
        (Err(e), Ok(_)) => (
            None,
            Err(e.context("the backup is restored, and the log behind it cannot be applied")),
        ),
        (applied, restored) => (applied.ok().flatten(), restored),
    };
    // A stop in the middle of the checks: nothing is said of the backup.
    if let (Ok(_), Some(e)) = (&restored, loaded.not_asked) {
        return Err(e);
    }
    let drilled = Drilled {
        entry: entry.clone(),
        is_of_files: matches!(options.restore, Restore::Snapshot(_)),
        at,
        restored,
        applied,
        seconds: loaded
            .seconds
            .unwrap_or_else(|| start.elapsed().as_secs_f64()),
        checks: loaded.checks,
    };
    proof::write_down(repository, names(entry)?, at, came_of(&drilled))?;
    repository.copy_catalog();
    Ok(drilled)
}

/// Restores it, and has its server used before that is gone.
fn restore(
    run: &Run,
    how: &Restore,
    use_it: Arc<dyn Fn(&wire::Options) + Send + Sync>,
) -> Result<Restored> {
    match how {
        Restore::Load(options) => {
            let options = load::Options {
                when_loaded: Some(load::WhenLoaded(use_it)),
                ..(**options).clone()
            };
            let done = load::run(run, &options)?;
            Ok(Restored {
                rows: done.rows,
                tables: 0,
                exceptions: done.exceptions,
            })
        }
        Restore::Snapshot(options) => {
            let options = snapshot::RestoreOptions {
                when_proven: Some(snapshot::WhenProven(use_it)),
                ..(**options).clone()
            };
            let proof = snapshot::restore(run, &options)?.proof.unwrap_or_default();
            let not_checked = |t: &String| format!("table {t} cannot be checked by the server");
            Ok(Restored {
                rows: 0,
                tables: proof.tables - proof.unchecked.len() as u64,
                exceptions: proof.unchecked.iter().map(not_checked).collect(),
            })
        }
    }
}

/// Whether an error is about the backup, and not about the drill.
fn says_something(e: &Error) -> bool {
    matches!(e.kind, Kind::Archive | Kind::Differs | Kind::Failed)
}

/// Has the server that holds the backup apply the log behind it.
fn apply(run: &Run, log: &Log, server: &wire::Options) -> Result<Applied> {
    let options = replay::Options {
        tune: true,
        ..replay::Options::new(server.clone(), log.state.clone())
    };
    let done = carry_on(run, &log.plan, &options)?;
    let end = done.last().map(|d| d.to.to_string());
    Ok(Applied {
        to: end.unwrap_or_else(|| "the end of the backup".to_owned()),
        transactions: done.iter().map(|d| d.transactions).sum(),
    })
}

/// The way from a backup to the end of the archived log, or to a random moment on it.
pub fn plan_behind(
    run: &Run,
    repository: &Repository,
    entry: &Entry,
    behind: Behind,
    keys: &Keys,
) -> Result<Plan> {
    let server = ServerName::parse(&entry.server)?;
    let to = |target: &Target| {
        let of = (Some(entry), None);
        plan(run, repository, &server, of, target, false, keys).map_err(|e| match e.hint {
            Some(ref hint) if hint.contains("--across-gap") => {
                e.hint("a backup that is made now begins behind the gap; penstock list shows from when to when a server can be restored")
            }
            _ => e,
        })
    };
    let latest = to(&Target::Latest)?;
    if behind == Behind::Latest {
        return Ok(latest);
    }
    let begin = entry
        .end()
        .and_then(|t| u64::try_from(t.as_microsecond()).ok());
    let files = latest.kept.timelines.iter().flat_map(|t| &t.files);
    let heads = files.flat_map(|f| &f.segments);
    let last = heads.filter_map(|h| h.last_time).max();
    let span = begin
        .zip(last)
        .and_then(|(begin, last)| Some((begin, last.checked_sub(begin)?)));
    match span {
        Some((begin, span)) => {
            let part = (0..4).fold(0_u64, |n, _| (n << 16) | u64::from(layout::random()));
            let at = ((u128::from(span) * u128::from(part)) >> 64) as u64;
            match to(&Target::Time(begin + at)) {
                // Between two clocks, or beside the way to the end.
                Err(e) if e.kind == Kind::Usage => Ok(latest),
                found => found,
            }
        }
        // Nothing came behind it.
        None => Ok(latest),
    }
}

/// What is written down of it.
fn came_of(drilled: &Drilled) -> proof::CameOf {
    let done = drilled.restored.as_ref();
    let check = |(sql, wrong): &(String, Option<String>)| proof::Check {
        sql: sql.clone(),
        wrong: wrong.clone(),
    };
    proof::CameOf {
        seconds: base::units::rounded(drilled.seconds),
        rows: done.map_or(0, |d| d.rows),
        tables: done.map_or(0, |d| d.tables),
        error: done.err().map(|e| e.what.clone()),
        exceptions: done.map_or(Vec::new(), |d| d.exceptions.clone()),
        log_to: drilled.applied.as_ref().map(|a| a.to.clone()),
        transactions: drilled.applied.as_ref().map_or(0, |a| a.transactions),
        checks: drilled.checks.iter().map(check).collect(),
    }
}

/// The backup that a drill takes of each server and each kind of backup: the newest, or a random one.
pub fn candidates(entries: &[Entry], random: bool) -> Vec<Entry> {
    let series: BTreeSet<(&str, BackupKind)> = entries.iter().map(Entry::series).collect();
    let of = |series: (&str, BackupKind)| {
        let all: Vec<&Entry> = entries.iter().filter(|e| e.series() == series).collect();
        let at = match random {
            true => usize::from(crate::layout::random()) % all.len().max(1),
            false => all.len().saturating_sub(1),
        };
        all.get(at).map(|e| (*e).clone())
    };
    series.into_iter().filter_map(of).collect()
}

/// A drill failed: what its exit code says.
pub fn failure(drilled: &Drilled) -> Option<Error> {
    if let Err(e) = &drilled.restored {
        return Some(e.clone());
    }
    let (sql, wrong) = drilled
        .checks
        .iter()
        .find_map(|(sql, wrong)| Some((sql, wrong.as_ref()?)))?;
    let what = format!(
        "a check of {}@{} is not true: {wrong}: {sql}",
        drilled.entry.server, drilled.entry.id
    );
    Some(Error::new(Kind::Differs, base::units::printable(&what)))
}
