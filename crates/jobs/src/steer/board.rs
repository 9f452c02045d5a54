//! What a run tells of itself: which job, where it stands, and what passed its gates.

use super::KNOBS;
use crate::Run;
use crate::run::Flow;
use base::Counters;
use base::pace::Pace;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// See the module.
#[derive(Debug)]
pub struct Board {
    start: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    job: String,
    about: String,
    phase: Option<Now>,
    flows: Vec<(Flow, Flow)>,
}

/// The phase that runs.
#[derive(Debug)]
struct Now {
    name: &'static str,
    counters: Arc<Counters>,
    workers: usize,
    start: Instant,
    pace: Pace,
}

impl Default for Board {
    fn default() -> Self {
        Board {
            start: Instant::now(),
            inner: Mutex::default(),
        }
    }
}

/// How a run stands. Text in it may come from anywhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// `dump`, `load`, `verify`.
    pub job: String,
    /// Of what, in words.
    pub about: String,
    /// Seconds since it began.
    pub seconds: f64,
    /// What it does now; empty between phases.
    pub phase: String,
    /// Since how many seconds.
    pub phase_seconds: f64,
    /// Rows of this phase so far.
    pub rows: u64,
    /// Bytes of row data of this phase so far.
    pub bytes: u64,
    /// Bytes of row data expected; 0 when unknown.
    pub bytes_expected: u64,
    /// Bytes of row data in a second, over the last ten seconds.
    pub bytes_per_second: Option<f64>,
    /// Seconds until the phase is through, at that rate.
    pub seconds_to_go: Option<f64>,
    /// Workers at work, and in all.
    pub busy: u64,
    /// Workers in all.
    pub workers: u64,
    /// Bytes that passed the gate since the run began.
    pub passed: u64,
    /// Whether the operator has paused it.
    pub paused: bool,
    /// Whether it has been asked to stop.
    pub stopping: bool,
    /// What it waits for.
    pub waiting: Option<String>,
    /// What is being done to keep it to a budget.
    pub steering: Option<String>,
    /// What can be set, and to what it is set now.
    pub settings: Vec<(String, Option<String>)>,
}

impl Board {
    /// Which job it is, and of what.
    pub fn job(&self, job: &str, about: String) {
        self.with(|i| {
            i.job = job.to_owned();
            i.about = about;
        });
    }

    /// A phase begins.
    pub(crate) fn begin(&self, name: &'static str, counters: &Arc<Counters>, workers: usize) {
        let now = Instant::now();
        let phase = Now {
            name,
            counters: counters.clone(),
            workers,
            start: now,
            pace: Pace::new(now),
        };
        self.with(|i| i.phase = Some(phase));
    }

    /// It is over, and this passed the run's gates.
    pub(crate) fn end(&self, gate: Flow, disk: Flow) {
        self.with(|i| {
            i.phase = None;
            i.flows.push((gate, disk));
        });
    }

    /// What passed the gate, and the disk's, in each phase that is over.
    pub fn flows(&self) -> Vec<(Flow, Flow)> {
        self.with(|i| i.flows.clone())
    }

    /// Keeps up with the counters; called a few times in a second.
    pub(super) fn tick(&self) {
        self.with(|i| {
            if let Some(p) = &mut i.phase {
                p.pace.mark(Instant::now(), p.counters.bytes.get());
            }
        });
    }

    /// How the run stands.
    pub fn status(&self, run: &Run) -> Status {
        let mut status = Status {
            pid: std::process::id(),
            seconds: self.start.elapsed().as_secs_f64(),
            passed: run.gate.passed(),
            paused: run.gate.paused(),
            stopping: run.cancel.is_raised(),
            waiting: run.waiting(),
            steering: run.wishes.told(),
            settings: KNOBS
                .iter()
                .map(|k| (k.name.to_owned(), (k.get)(run)))
                .collect(),
            ..Status::default()
        };
        let now = Instant::now();
        self.with(|i| {
            status.job.clone_from(&i.job);
            status.about.clone_from(&i.about);
            let Some(p) = &i.phase else { return };
            let c = &p.counters;
            status.phase = p.name.to_owned();
            status.phase_seconds = p.start.elapsed().as_secs_f64();
            status.rows = c.rows.get();
            status.bytes = c.bytes.get();
            status.bytes_expected = c.bytes_expected.get();
            status.bytes_per_second = p.pace.rate(now, status.bytes);
            status.seconds_to_go = p.pace.eta(now, status.bytes, status.bytes_expected);
            status.busy = c.busy.get();
            status.workers = p.workers as u64;
        });
        status
    }

    fn with<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> R {
        f(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
