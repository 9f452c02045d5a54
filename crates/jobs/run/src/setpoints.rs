//! The limits that the throttle keeps and that may change while a job runs: a run has them from its start, and
//! `penstock set` writes into them.

use base::lock;
use std::sync::{Mutex, MutexGuard};

/// See the module.
#[derive(Debug, Default)]
pub struct Setpoints(Mutex<Values>);

#[derive(Clone, Debug, Default)]
struct Values {
    watched: bool,
    activity: Option<String>,
    impact: Option<f64>,
    max_threads_running: Option<u64>,
}

impl Setpoints {
    /// Sets whether a throttle enforces these limits.
    pub(crate) fn set_watched(&self, watched: bool) {
        self.lock().watched = watched;
    }

    /// What the throttle does at the moment, in a few words.
    pub fn activity(&self) -> Option<String> {
        self.lock().activity.clone()
    }

    pub(crate) fn set_activity(&self, text: Option<String>) {
        self.lock().activity = text;
    }

    /// Whether a throttle enforces these limits.
    pub fn is_watched(&self) -> bool {
        self.lock().watched
    }

    /// Sets the impact budget as a share; `None`: no budget.
    pub fn set_impact(&self, share: Option<f64>) {
        self.lock().impact = share;
    }

    /// Sets how many statements may run on the server; `None`: no limit.
    pub fn set_max_threads_running(&self, most: Option<u64>) {
        self.lock().max_threads_running = most;
    }

    /// The impact budget, as a share.
    pub fn impact(&self) -> Option<f64> {
        self.lock().impact
    }

    /// How many statements may run on the server.
    pub fn max_threads_running(&self) -> Option<u64> {
        self.lock().max_threads_running
    }

    fn lock(&self) -> MutexGuard<'_, Values> {
        lock(&self.0)
    }
}
