//! What a run says about itself: which job it is, its phase, and the bytes that passed its rate limiters.

use crate::PhaseTraffic;
use base::Counters;
use base::pace::Pace;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// See the module.
#[derive(Debug)]
pub struct RunStatus {
    start: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    job: String,
    about: String,
    phase: Option<RunningPhase>,
    traffic: Vec<(PhaseTraffic, PhaseTraffic)>,
}

/// What the run does now, as data.
pub(crate) struct Progress {
    pub(crate) job: String,
    pub(crate) about: String,
    /// Seconds since the run began.
    pub(crate) seconds: f64,
    pub(crate) phase: Option<PhaseProgress>,
}

/// The running phase, as data.
pub(crate) struct PhaseProgress {
    pub(crate) name: &'static str,
    pub(crate) seconds: f64,
    pub(crate) counters: Arc<Counters>,
    pub(crate) bytes: u64,
    pub(crate) bytes_expected: u64,
    pub(crate) bytes_per_second: Option<f64>,
    pub(crate) seconds_to_go: Option<f64>,
    pub(crate) workers: u64,
}

/// The phase that runs.
#[derive(Debug)]
struct RunningPhase {
    name: &'static str,
    counters: Arc<Counters>,
    workers: usize,
    start: Instant,
    pace: Pace,
}

impl Default for RunStatus {
    fn default() -> Self {
        RunStatus {
            start: Instant::now(),
            inner: Mutex::default(),
        }
    }
}

impl RunStatus {
    /// Which job it is, and of what.
    pub fn job(&self, job: &str, about: String) {
        self.with(|i| {
            i.job = job.to_owned();
            i.about = about;
        });
    }

    /// A phase begins.
    pub(crate) fn begin_phase(&self, name: &'static str, counters: &Arc<Counters>, workers: usize) {
        let now = Instant::now();
        let phase = RunningPhase {
            name,
            counters: counters.clone(),
            workers,
            start: now,
            pace: Pace::new(now),
        };
        self.with(|i| i.phase = Some(phase));
    }

    /// It is over, and this passed the run's gates.
    pub(crate) fn end_phase(&self, gate: PhaseTraffic, disk: PhaseTraffic) {
        self.with(|i| {
            i.phase = None;
            i.traffic.push((gate, disk));
        });
    }

    /// What passed the gate, and the disk's, in each phase that is over.
    pub fn traffic(&self) -> Vec<(PhaseTraffic, PhaseTraffic)> {
        self.with(|i| i.traffic.clone())
    }

    /// Keeps up with the counters; called a few times in a second.
    pub(crate) fn tick(&self) {
        self.with(|i| {
            if let Some(p) = &mut i.phase {
                p.pace.mark(Instant::now(), p.counters.bytes.get());
            }
        });
    }

    /// Hands over what the run does now.
    pub(crate) fn progress(&self) -> Progress {
        let seconds = self.start.elapsed().as_secs_f64();
        let now = Instant::now();
        self.with(|i| Progress {
            job: i.job.clone(),
            about: i.about.clone(),
            seconds,
            phase: i.phase.as_ref().map(|p| {
                let bytes = p.counters.bytes.get();
                let expected = p.counters.bytes_expected.get();
                PhaseProgress {
                    name: p.name,
                    seconds: p.start.elapsed().as_secs_f64(),
                    counters: p.counters.clone(),
                    bytes,
                    bytes_expected: expected,
                    bytes_per_second: p.pace.rate(now, bytes),
                    seconds_to_go: p.pace.eta(now, bytes, expected),
                    workers: p.workers as u64,
                }
            }),
        })
    }

    fn with<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> R {
        f(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
