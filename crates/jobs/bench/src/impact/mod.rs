//! What a backup costs the online load: a TPC-C workload measured alone and
//! while backups are taken, with each of several methods, from the same state.
//!
//! Steps, each a file: `scene` makes the starting state anew and stands a
//! replica behind it, `backup` takes backups by a `method`, `window` measures;
//! `figures` puts the runs together. The window with backups stands between two
//! windows alone: a machine drifts by more than a backup costs, and the middle of
//! the two is free of that. The method "alone" has nothing in any of them, and
//! shows what is left.
//! Invariant: nothing is dropped but the schema that this measurement made.

mod backup;
mod figures;
mod method;
mod scene;
mod window;

pub use backup::{Finished, Taken};
pub use figures::{MethodResult, Spread};
pub use method::{Method, OfReplica, Programs};
pub use window::Window;

use super::tpcc::{self, Second, Workload};
use backup::Backups;
use base::{Error, Kind, Result};
use method::Login;
use run::Run;
use run::connect;
use scene::Scene;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server; its other users will feel it.
    pub server: wire::Options,
    /// A replica of it, for methods that take their backup there.
    pub replica: Option<wire::Options>,
    /// Schema to make; it must not exist.
    pub schema: String,
    /// Warehouses of the workload.
    pub warehouses: u32,
    /// Connections of the workload.
    pub connections: usize,
    /// Time before the first window of a run.
    pub ramp: Duration,
    /// Each of the two windows alone.
    pub reference: Duration,
    /// The window with backups; it lasts until one backup is through.
    pub measure: Duration,
    /// The longest that a window may last for that.
    pub longest: Duration,
    /// Runs of each method.
    pub runs: u32,
    /// The methods.
    pub methods: Vec<Method>,
    /// Whether a method whose program is not there is an error; otherwise it is left out, by name.
    pub all: bool,
    /// The programs.
    pub programs: Programs,
    /// Where backups go while they are measured.
    pub scratch: PathBuf,
}

/// One run of one method.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Alone, right before and right after.
    pub alone: Window,
    /// While backups were taken.
    pub during: Window,
    /// The backups.
    pub taken: Taken,
    /// The workload, second by second, from the begin of the first window.
    pub seconds: Vec<Second>,
    /// When backups began and ended, in seconds on the same clock; nothing for "alone".
    pub span: Option<(f64, f64)>,
}

/// What was found out.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The server, in words.
    pub server: String,
    /// Warehouses.
    pub warehouses: u32,
    /// Connections.
    pub connections: usize,
    /// Bytes of rows at the start of each run.
    pub bytes: u64,
    /// The windows that were asked for.
    pub windows: (Duration, Duration),
    /// Each method with its runs, in the order asked for.
    pub methods: Vec<MethodResult>,
    /// Methods that could not be measured, and why.
    pub left_out: Vec<(String, String)>,
}

/// Measures.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let (mut conn, id) = connect::open(run, &options.server)?;
    run.observer
        .note(format!("server: {id} at {}", options.server.endpoint));
    let mut left_out = Vec::new();
    let methods = possible(run, options, &mut left_out)?;
    let mut scene = Scene::new(run, options, &mut conn, &methods)?;
    let scratch = scratch(options)?;
    let folder = scratch.path().join("backup");
    let logins = Logins {
        source: Arc::new(Login::new(&options.server)?),
        replica: options
            .replica
            .as_ref()
            .map(Login::new)
            .transpose()?
            .map(Arc::new),
    };
    let mut results: Vec<Vec<Measured>> = vec![Vec::new(); methods.len()];
    let all = options.runs as usize * methods.len();
    let mut outcome = Ok(());
    'runs: for n in 0..options.runs as usize {
        for at in 0..methods.len() {
            // Another one is first in each run: what comes later finds another machine.
            let at = (at + n) % methods.len();
            let done: usize = results.iter().map(Vec::len).sum();
            run.observer
                .note(format!("run {} of {all}: {}", done + 1, methods[at]));
            match one(run, options, &mut scene, &methods[at], &logins, &folder) {
                Ok(measured) => {
                    run.observer.note(format!("  {}", said(&measured)));
                    results[at].push(measured);
                }
                Err(e) => {
                    outcome = Err(e.context(format!("method {}", methods[at])));
                    break 'runs;
                }
            }
        }
    }
    // Whatever happened: what was made is taken away again.
    scene.leave();
    outcome?;
    let bytes = scene.bytes();
    Ok(Summary {
        server: format!("{id} at {}", options.server.endpoint),
        warehouses: options.warehouses,
        connections: options.connections,
        bytes,
        windows: (options.reference, options.measure),
        methods: methods
            .into_iter()
            .zip(results)
            .map(|(method, runs)| MethodResult::new(method, runs, bytes))
            .collect(),
        left_out,
    })
}

struct Logins {
    source: Arc<Login>,
    replica: Option<Arc<Login>>,
}

/// One method from the starting state: ramp, alone, with backups.
fn one(
    run: &Run,
    options: &Options,
    scene: &mut Scene<'_>,
    method: &Method,
    logins: &Logins,
    folder: &std::path::Path,
) -> Result<Measured> {
    scene.reset(method.needs_replica())?;
    let workload = Workload::start(
        run,
        &tpcc::Options {
            server: options.server.clone(),
            schema: options.schema.clone(),
            connections: options.connections,
            seed: 1,
            rate: None,
        },
    )?;
    let phase = run.phase("ramping up", options.connections);
    workload.wait(options.ramp)?;
    drop(phase);
    let from = workload.elapsed().as_secs();
    let before = alone(run, options, scene, &workload)?;

    let phase = run.phase("measuring with backups", options.connections);
    scene.before(method)?;
    let login = match (method, &logins.replica) {
        (Method::Replica(_), Some(replica)) => replica.clone(),
        _ => logins.source.clone(),
    };
    let meter = scene.meter()?;
    let begin = Instant::now();
    let began = workload.elapsed().as_secs_f64();
    workload.open_window();
    let backups = Backups::start(method, &options.programs, login, &options.schema, folder)?;
    loop {
        workload.wait(Duration::from_millis(100))?;
        let through = backups.finished()? > 0 || method.is_endless();
        if begin.elapsed() >= options.measure && through {
            break;
        }
        if begin.elapsed() >= options.measure.max(options.longest) {
            return Err(Error::new(
                Kind::Failed,
                format!(
                    "no backup was through within {}",
                    base::units::seconds(begin.elapsed().as_secs_f64())
                ),
            )
            .hint("allow a longer window (--longest), or take fewer warehouses"));
        }
    }
    let during = meter.close(workload.close_window()?)?;
    let ended = workload.elapsed().as_secs_f64();
    let taken = backups.stop()?;
    scene.after(method)?;
    drop(phase);
    let behind = alone(run, options, scene, &workload)?;
    let over = workload.elapsed().as_secs_f64();
    let seconds = workload
        .seconds()
        .into_iter()
        .filter(|s| s.at >= from && (s.at as f64) < over)
        .map(|s| Second {
            at: s.at - from,
            ..s
        })
        .collect();
    workload.stop()?;
    let on_clock = |t: f64| t - from as f64;
    Ok(Measured {
        alone: before.and(&behind),
        during,
        taken,
        seconds,
        span: (*method != Method::Alone).then(|| (on_clock(began), on_clock(ended))),
    })
}

/// A window without backups.
fn alone(
    run: &Run,
    options: &Options,
    scene: &mut Scene<'_>,
    workload: &Workload,
) -> Result<Window> {
    let _phase = run.phase("measuring alone", options.connections);
    let meter = scene.meter()?;
    workload.open_window();
    workload.wait(options.reference)?;
    meter.close(workload.close_window()?)
}

/// One run in a line.
fn said(m: &Measured) -> String {
    let (alone, during) = (m.alone.figures.tpmc(), m.during.figures.tpmc());
    let backups = match (m.taken.count(), m.taken.duration()) {
        (Some(n), Some(seconds)) => {
            format!(", {n:.1} backups of {} each", base::units::seconds(seconds))
        }
        _ => String::new(),
    };
    format!(
        "{alone:.0} tpmC alone, {during:.0} during ({:+.1} %){backups}",
        (during / alone.max(1e-9) - 1.0) * 100.0
    )
}

/// The methods whose programs are here; the others go into `left_out`.
fn possible(
    run: &Run,
    options: &Options,
    left_out: &mut Vec<(String, String)>,
) -> Result<Vec<Method>> {
    let mut methods = Vec::new();
    for method in &options.methods {
        let why = if method.needs_replica() && options.replica.is_none() {
            Some("no replica is named (--replica SERVER)".to_owned())
        } else {
            options.programs.missing(method)
        };
        match why {
            None => methods.push(method.clone()),
            Some(why) if options.all => {
                return Err(Error::new(
                    Kind::Usage,
                    format!("method {method} cannot be measured: {why}"),
                )
                .hint("leave it out, or name its program (--mysqldump, --mydumper)"));
            }
            Some(why) => {
                run.observer.note(format!("left out: {method} ({why})"));
                left_out.push((method.to_string(), why));
            }
        }
    }
    if methods.is_empty() {
        return Err(Error::new(Kind::Usage, "there is no method to measure"));
    }
    Ok(methods)
}

/// A folder of our own in the one that was named, until it is dropped.
fn scratch(options: &Options) -> Result<tempfile::TempDir> {
    let made = tempfile::Builder::new()
        .prefix("penstock-impact-")
        .tempdir_in(&options.scratch);
    made.map_err(|e| {
        Error::new(
            Kind::Storage,
            format!(
                "no directory for the backups in {}: {e}",
                options.scratch.display()
            ),
        )
        .hint("name one with room for a backup: --scratch DIR")
    })
}
