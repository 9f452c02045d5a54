//! The status of a job, as it is sent over the control socket.

use super::TUNABLES;
use crate::Run;
use serde::{Deserialize, Serialize};

/// The status of a job. Its texts may come from any process that listens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Its process id.
    pub pid: u32,
    /// `dump`, `load`, `verify`.
    pub job: String,
    /// What it works on.
    pub about: String,
    /// Seconds since its start.
    pub seconds: f64,
    /// What it does now; empty between phases.
    pub phase: String,
    /// Seconds since the phase began.
    pub phase_seconds: f64,
    /// Rows of this phase so far.
    pub rows: u64,
    /// Bytes of row data of this phase so far.
    pub bytes: u64,
    /// Bytes of row data expected; 0 when unknown.
    pub bytes_expected: u64,
    /// Bytes of row data per second, over the last ten seconds.
    pub bytes_per_second: Option<f64>,
    /// Seconds until the phase ends, at that rate.
    pub seconds_to_go: Option<f64>,
    /// Busy workers.
    pub busy: u64,
    /// All workers.
    pub workers: u64,
    /// Bytes that passed the rate limiter since the job began.
    pub passed: u64,
    /// Whether the operator has paused it.
    pub paused: bool,
    /// Whether it has been asked to stop.
    pub stopping: bool,
    /// What it waits for.
    pub waiting: Option<String>,
    /// What the throttle does to keep the impact within its budget.
    pub steering: Option<String>,
    /// The tunables, with their current values.
    pub settings: Vec<(String, Option<String>)>,
}

/// The current status of a run.
pub fn status(run: &Run) -> Status {
    let progress = run.status.progress();
    let mut status = Status {
        pid: std::process::id(),
        job: progress.job,
        about: progress.about,
        seconds: progress.seconds,
        passed: run.limiter.passed(),
        paused: run.limiter.paused(),
        stopping: run.cancel.is_raised(),
        waiting: run.waiting(),
        steering: run.setpoints.activity(),
        settings: TUNABLES
            .iter()
            .map(|k| (k.name.to_owned(), (k.get)(run)))
            .collect(),
        ..Status::default()
    };
    if let Some(p) = progress.phase {
        p.name.clone_into(&mut status.phase);
        status.phase_seconds = p.seconds;
        status.rows = p.counters.rows.get();
        status.bytes = p.bytes;
        status.bytes_expected = p.bytes_expected;
        status.bytes_per_second = p.bytes_per_second;
        status.seconds_to_go = p.seconds_to_go;
        status.busy = p.counters.busy.get();
        status.workers = p.workers;
    }
    status
}
