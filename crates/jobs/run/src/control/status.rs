//! The status of a run as it goes over the control socket.

use super::TUNABLES;
use crate::Run;
use serde::{Deserialize, Serialize};

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

/// The status of a run now.
pub fn status(run: &Run) -> Status {
    let standing = run.status.progress();
    let mut status = Status {
        pid: std::process::id(),
        job: standing.job,
        about: standing.about,
        seconds: standing.seconds,
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
    if let Some(p) = standing.phase {
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
