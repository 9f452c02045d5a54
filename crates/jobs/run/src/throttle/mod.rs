//! Holds a run to what the operator allows it to cost, while it runs.
//!
//! A thread of its own (`keeper`) watches the server on a connection of its own
//! (`probe`), works out what the run costs the application (`effect`,
//! `control`), looks at plain limits (`limits`), and moves the run's gate; what
//! is asked for may change meanwhile (`wishes`). It learns the server's
//! usual figures before the run takes a lock or a snapshot, and where a limit
//! is already broken the run waits there, with nothing locked.
//! Invariants: the gate is open when the thread has ended, however it ended;
//! a limit that stays broken ends the run with the figure, never silently.
//! Not here: the rate that the operator asks for, which is the gate's own.

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

/// A server that does not answer the probe for so long counts as stalled.
const STALLED: Duration = Duration::from_secs(3);

/// Lowest rate under a budget, unless asked otherwise, in bytes per second.
pub const FLOOR: u64 = 1 << 20;

/// What a run may cost.
#[derive(Clone, Debug)]
pub struct Options {
    /// Effect on the application's latency and throughput: 0.05 is five per cent.
    pub impact: Option<f64>,
    /// The rate that a budget never goes below, in bytes per second.
    pub floor: u64,
    /// Seconds that the slowest of the replicas may be behind.
    pub max_lag: Option<f64>,
    /// The replicas; none: the server itself, which then must be one.
    pub replicas: Vec<wire::Options>,
    /// Statements under way on the server, without the run's own.
    pub max_threads_running: Option<u64>,
    /// Length of the history list. Only the end of the run's snapshot shortens it, so over this the run ends.
    pub max_history_list: Option<u64>,
    /// What ends the run at once.
    pub abort_if: Vec<Limit>,
    /// How long a limit may hold the run before it gives up.
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
    /// Whether anything is asked for at all.
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

/// A throttle at work; ends with [`Throttle::finish`], or when dropped.
pub struct Throttle {
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
    /// Learns what is usual, waits until no limit is broken, and begins to hold the gate.
    /// `None` if nothing is asked for.
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
                "limits on what a run costs need a connection more; leave them out, or allow one",
            )
        })?;
        if options.wants_impact() {
            run.observer
                .note(format!("latency is taken from {}", probe.source()));
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
        let mut keeper = ControlLoop {
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
        keeper.measure_baseline()?;
        keeper.wait_for_limits()?;
        let spawned = std::thread::Builder::new()
            .name("throttle".into())
            .spawn(move || keeper.run())
            .map_err(|e| Error::new(Kind::Failed, format!("cannot start a thread: {e}")))?;
        Ok(Some(Throttle {
            shared,
            thread: Some(spawned),
        }))
    }

    /// The rows begin to move: these figures tell how many workers are at it.
    pub fn rows_started(&self, counters: &Arc<Counters>) {
        *lock(&self.shared.counters) = Some(counters.clone());
    }

    /// The run is through; what happened.
    pub fn finish(mut self) -> Report {
        self.end();
        self.shared.timeline().report()
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

/// A connection that is not the run's: not in its budget, and not waiting without end.
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
