//! What a run says about itself: which job it is, its phase, and the bytes that passed its rate limiters.

use crate::PhaseTraffic;
use base::pace::Pace;
use base::{Counters, lock};
use std::sync::{Arc, Mutex};
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

/// What the run does now.
pub(crate) struct Progress {
    pub(crate) job: String,
    pub(crate) about: String,
    /// Seconds since the run began.
    pub(crate) seconds: f64,
    pub(crate) phase: Option<PhaseProgress>,
}

/// The running phase.
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

/// What is kept about the running phase.
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
    /// Sets which job this is, and what it works on.
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

    /// Ends the phase; `network` and `disk` are what passed the run's two rate limiters.
    pub(crate) fn end_phase(&self, network: PhaseTraffic, disk: PhaseTraffic) {
        self.with(|i| {
            i.phase = None;
            i.traffic.push((network, disk));
        });
    }

    /// What passed the rate limiter and the disk's rate limiter, for each finished phase.
    pub fn traffic(&self) -> Vec<(PhaseTraffic, PhaseTraffic)> {
        self.with(|i| i.traffic.clone())
    }

    /// Updates the pace from the counters; called a few times each second.
    pub(crate) fn tick(&self) {
        self.with(|i| {
            if let Some(p) = &mut i.phase {
                p.pace.mark(Instant::now(), p.counters.bytes.get());
            }
        });
    }

    /// What the run does now.
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
        f(&mut lock(&self.inner))
    }
}
