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

mod control;
mod effect;
mod keeper;
pub mod limits;
mod probe;
mod story;

pub use limits::{Limit, PATIENCE, What};
pub use story::{Report, Usual};

use crate::Run;
use base::{Counters, Error, Kind, Result};
use control::Control;
use keeper::{Keeper, SHORTEST};
use limits::Replica;
use probe::Probe;
use server::Identity;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use story::Story;

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
    pub lag_of: Vec<wire::Options>,
    /// Statements under way on the server, without the run's own.
    pub max_running: Option<u64>,
    /// Length of the history list. Only the end of the run's snapshot shortens it, so over this the run ends.
    pub max_history: Option<u64>,
    /// What ends the run at once.
    pub abort_if: Vec<Limit>,
    /// How long a limit may hold the run before it gives up.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            impact: None,
            floor: FLOOR,
            max_lag: None,
            lag_of: Vec::new(),
            max_running: None,
            max_history: None,
            abort_if: Vec::new(),
            patience: PATIENCE,
        }
    }
}

impl Options {
    /// Whether anything is asked for at all.
    pub fn is_empty(&self) -> bool {
        self.impact.is_none()
            && self.max_lag.is_none()
            && self.max_running.is_none()
            && self.max_history.is_none()
            && self.abort_if.is_empty()
    }

    fn wants_lag(&self) -> bool {
        self.max_lag.is_some() || self.abort_if.iter().any(|l| l.what == What::Lag)
    }

    fn wants_impact(&self) -> bool {
        self.impact.is_some() || self.abort_if.iter().any(|l| l.what == What::Impact)
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
    story: Mutex<Story>,
}

impl Shared {
    fn busy(&self) -> u64 {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.as_ref().map_or(0, |c| c.busy.get())
    }

    fn story(&self) -> std::sync::MutexGuard<'_, Story> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner)
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
        let replicas = replicas(options, server)?;
        let watcher = watching(server);
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
            story: Mutex::new(Story::new(probe.source())),
        });
        run.wishes.watch(true);
        run.wishes.set_impact(options.impact);
        run.wishes.set_max_running(options.max_running);
        let mut control = Control::new(options.impact.unwrap_or(f64::INFINITY), options.floor);
        if !probe.is_exact() {
            control.trust_less();
        }
        let mut keeper = Keeper {
            run: run.clone(),
            gate: run.gate.clone(),
            options: options.clone(),
            server: watcher,
            id: id.clone(),
            control,
            probe: Some(probe),
            replicas,
            lag: None,
            shared: shared.clone(),
            slot: SHORTEST,
            workers,
            held_since: None,
            last_lag: None,
            doing: None,
        };
        keeper.learn()?;
        keeper.calm()?;
        let spawned = std::thread::Builder::new()
            .name("throttle".into())
            .spawn(move || keeper.keep())
            .map_err(|e| Error::new(Kind::Failed, format!("cannot start a thread: {e}")))?;
        Ok(Some(Throttle {
            shared,
            thread: Some(spawned),
        }))
    }

    /// The rows begin to move: these figures tell how many workers are at it.
    pub fn moving(&self, counters: &Arc<Counters>) {
        *self
            .shared
            .counters
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(counters.clone());
    }

    /// The run is through; what happened.
    pub fn finish(mut self) -> Report {
        self.end();
        self.shared.story().report()
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
fn watching(server: &wire::Options) -> wire::Options {
    wire::Options {
        read_timeout: Some(STALLED),
        answer_timeout: Some(STALLED),
        connect_timeout: server.connect_timeout.min(STALLED),
        gated: None,
        local_infile: false,
        ..server.clone()
    }
}

fn replicas(options: &Options, server: &wire::Options) -> Result<Vec<Replica>> {
    if !options.wants_lag() {
        return Ok(Vec::new());
    }
    if options.lag_of.is_empty() {
        return Ok(vec![Replica::open(&watching(server))?]);
    }
    let each = options.lag_of.iter();
    each.map(|o| Replica::open(&watching(o))).collect()
}
