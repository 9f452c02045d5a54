//! Keeps a job within the impact that the operator allows, while it runs.
//!
//! A separate thread (`control_loop`) measures the server on its own connection (`probe`), estimates
//! what the run costs the application (`effect`, `controller`), checks the other limits (`limits`), and
//! moves the run's rate limiter; the limits may change meanwhile (`Setpoints`). It measures the
//! server's baseline before the run takes a lock or a snapshot, and if a limit is already broken the
//! run waits there, with nothing locked.
//!
//! Invariants: the rate limiter is open when the thread has ended, however it ended; a limit that stays
//! broken ends the run with an error that names the figure, never silently.
//!
//! Not here: the rate that the operator sets (`--max-rate`), which the rate limiter keeps itself.

mod control_loop;
mod controller;
mod effect;
pub mod limits;
mod probe;
mod timeline;

pub use limits::{LIMIT_TIMEOUT, Limit, LimitKind};
pub use timeline::{Baseline, Report};

use crate::Run;
use base::{Counters, Error, Kind, Result, lock};
use control_loop::{ControlLoop, MIN_INTERVAL};
use controller::Controller;
use limits::Replica;
use probe::Probe;
use server::Identity;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use timeline::Timeline;

/// A server that does not answer the probe for this long counts as stalled.
const STALLED: Duration = Duration::from_secs(3);

/// Default of the lowest rate under an impact budget, in bytes per second.
pub const FLOOR: u64 = 1 << 20;

/// The limits on a run's impact.
#[derive(Clone, Debug)]
pub struct Options {
    /// Effect on the application's latency and throughput: 0.05 is five per cent.
    pub impact: Option<f64>,
    /// The rate that the budget never goes below, in bytes per second.
    pub floor: u64,
    /// The greatest lag of the slowest replica, in seconds.
    pub max_lag: Option<f64>,
    /// The replicas; if empty: the server itself, which then must be a replica.
    pub replicas: Vec<wire::Options>,
    /// The most statements running on the server, without the run's own.
    pub max_threads_running: Option<u64>,
    /// The greatest length of the history list. Only the end of the run's snapshot shortens it, so a
    /// run that exceeds this limit ends.
    pub max_history_list: Option<u64>,
    /// Limits that end the run at once.
    pub abort_if: Vec<Limit>,
    /// How long a limit may pause the run before the run ends.
    pub limit_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            impact: None,
            floor: FLOOR,
            max_lag: None,
            replicas: Vec::new(),
            max_threads_running: None,
            max_history_list: None,
            abort_if: Vec::new(),
            limit_timeout: LIMIT_TIMEOUT,
        }
    }
}

impl Options {
    /// Whether no limit is set.
    pub fn is_empty(&self) -> bool {
        self.impact.is_none()
            && self.max_lag.is_none()
            && self.max_threads_running.is_none()
            && self.max_history_list.is_none()
            && self.abort_if.is_empty()
    }

    fn wants_lag(&self) -> bool {
        self.max_lag.is_some() || self.abort_if.iter().any(|l| l.what == LimitKind::Lag)
    }

    fn wants_impact(&self) -> bool {
        self.impact.is_some() || self.abort_if.iter().any(|l| l.what == LimitKind::Impact)
    }
}

/// A running throttle; ends with [`Throttle::finish`], or when dropped.
pub struct Throttle {
    run: Run,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    end: AtomicBool,
    counters: Mutex<Option<Arc<Counters>>>,
    timeline: Mutex<Timeline>,
}

impl Shared {
    fn busy(&self) -> u64 {
        let counters = lock(&self.counters);
        counters.as_ref().map_or(0, |c| c.busy.get())
    }

    fn timeline(&self) -> std::sync::MutexGuard<'_, Timeline> {
        lock(&self.timeline)
    }
}

impl Throttle {
    /// Measures the baseline, waits until no limit is broken, and starts the control loop. `None` if no
    /// limit is set.
    pub fn begin(
        run: &Run,
        options: &Options,
        server: &wire::Options,
        id: &Identity,
        workers: usize,
    ) -> Result<Option<Throttle>> {
        if options.is_empty() {
            return Ok(None);
        }
        let replicas = open_replicas(options, server)?;
        let watcher = probe_options(server);
        let probe = Probe::open(&watcher, id).map_err(|why| {
            Error::new(Kind::Failed, format!("cannot watch the server: {why}")).hint(
                "limits on the impact need one more connection; allow it, or leave the limits out",
            )
        })?;
        if options.wants_impact() {
            run.observer
                .note(format!("latency is measured by {}", probe.source()));
        }
        let shared = Arc::new(Shared {
            end: AtomicBool::new(false),
            counters: Mutex::default(),
            timeline: Mutex::new(Timeline::new(probe.source())),
        });
        run.setpoints.set_watched(true);
        run.setpoints.set_impact(options.impact);
        run.setpoints
            .set_max_threads_running(options.max_threads_running);
        let mut control = Controller::new(options.impact.unwrap_or(f64::INFINITY), options.floor);
        if !probe.is_exact() {
            control.use_coarse_target();
        }
        let mut control_loop = ControlLoop {
            run: run.clone(),
            limiter: run.limiter.clone(),
            options: options.clone(),
            server: watcher,
            id: id.clone(),
            controller: control,
            probe: Some(probe),
            replicas,
            lag: None,
            shared: shared.clone(),
            interval: MIN_INTERVAL,
            workers,
            paused_since: None,
            lag_measured: None,
            reported_mode: None,
        };
        control_loop.measure_baseline()?;
        control_loop.wait_for_limits()?;
        let spawned = std::thread::Builder::new()
            .name("throttle".into())
            .spawn(move || control_loop.run())
            .map_err(|e| Error::new(Kind::Failed, format!("cannot start a thread: {e}")))?;
        Ok(Some(Throttle {
            run: run.clone(),
            shared,
            thread: Some(spawned),
        }))
    }

    /// The rows begin to move; these counters tell how many workers are busy.
    pub fn rows_started(&self, counters: &Arc<Counters>) {
        *lock(&self.shared.counters) = Some(counters.clone());
    }

    /// Ends the throttle; returns its report. An effect above the budget is a warning: the dump is
    /// complete, but others paid more for it than was allowed.
    pub fn finish(mut self) -> Report {
        self.end();
        let report = Report {
            // It may have been changed during the run.
            budget: self.run.setpoints.impact(),
            ..self.shared.timeline().report()
        };
        if let (Some(effect), Some(budget)) = (report.effect, report.over_budget()) {
            self.run.observer.warn(format!(
                "the impact was {:.1} %, above the {:.1} % of --max-impact: a short run ends before the control has measured enough, and --min-rate is never gone below; a lower --min-rate or a time with less load helps",
                effect * 100.0,
                budget * 100.0
            ));
        }
        report
    }

    fn end(&mut self) {
        self.shared.end.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        self.end();
    }
}

/// Options of a connection that measures: not limited, and never waiting without end.
fn probe_options(server: &wire::Options) -> wire::Options {
    wire::Options {
        read_timeout: Some(STALLED),
        answer_timeout: Some(STALLED),
        connect_timeout: server.connect_timeout.min(STALLED),
        limited: None,
        local_infile: false,
        ..server.clone()
    }
}

fn open_replicas(options: &Options, server: &wire::Options) -> Result<Vec<Replica>> {
    if !options.wants_lag() {
        return Ok(Vec::new());
    }
    if options.replicas.is_empty() {
        return Ok(vec![Replica::open(&probe_options(server))?]);
    }
    let each = options.replicas.iter();
    each.map(|o| Replica::open(&probe_options(o))).collect()
}
