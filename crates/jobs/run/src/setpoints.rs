//! What a throttle is asked for, which may change while it is at work: a run has
//! one of these from its beginning, and `penstock set` writes into it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What may change while the run goes on.
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
    /// Somebody sees to it that these wishes come true.
    pub(crate) fn set_watched(&self, watched: bool) {
        self.lock().watched = watched;
    }

    /// What is being done about them, in a few words.
    pub fn activity(&self) -> Option<String> {
        self.lock().activity.clone()
    }

    pub(crate) fn set_activity(&self, text: Option<String>) {
        self.lock().activity = text;
    }

    /// Whether anybody does.
    pub fn is_watched(&self) -> bool {
        self.lock().watched
    }

    /// Another budget; `None`: none at all.
    pub fn set_impact(&self, share: Option<f64>) {
        self.lock().impact = share;
    }

    /// Another most of statements under way.
    pub fn set_max_threads_running(&self, most: Option<u64>) {
        self.lock().max_threads_running = most;
    }

    /// The budget.
    pub fn impact(&self) -> Option<f64> {
        self.lock().impact
    }

    /// The most of statements under way.
    pub fn max_threads_running(&self) -> Option<u64> {
        self.lock().max_threads_running
    }

    fn lock(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
