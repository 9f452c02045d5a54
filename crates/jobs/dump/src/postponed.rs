//! Tasks that could not begin because their table was locked.
//!
//! Whoever wants to change a table waits until all who have read it end their transactions, and whoever wants to read it then waits
//! behind them. A reader keeps what it has read locked until the end of the dump. So the change waits for one reader, and a second
//! reader would wait for the change: for ever, and with it everybody who uses the table. Readers therefore do not wait long:
//! they leave the task to the others. The one that has read of the table may continue with it. Where none has, the change is not
//! held up by the dump, and the task is tried again until it is over.

use super::plan::Task;
use base::units::printable;
use base::{Error, Observer, lock};
use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Seconds that a reader waits for a lock on a table.
pub const PATIENCE: u64 = 2;

/// The server's number for a wait that was too long.
pub const TOO_LONG: u16 = 1205;

/// How long a reader leaves a task to the others.
const PAUSE: Duration = Duration::from_secs(1);

/// The tasks, and how many others readers have or look for.
#[derive(Default)]
pub struct Postponed(Mutex<State>);

#[derive(Default)]
struct State {
    tasks: Vec<(Task, u32, Instant)>,
    active: usize,
    named: HashSet<String>,
}

impl Postponed {
    /// A task that this reader may begin. Until [`Postponed::rest`] it counts as active, with a task or without.
    pub fn begin(&self, reader: u32) -> Option<Task> {
        let mut state = lock(&self.0);
        state.active += 1;
        let mut tasks = state.tasks.iter();
        let at = tasks.position(|(_, by, when)| *by != reader || when.elapsed() >= PAUSE)?;
        Some(state.tasks.remove(at).0)
    }

    /// The reader has no task any more.
    pub fn rest(&self) {
        lock(&self.0).active -= 1;
    }

    /// Whether there is nothing left, and nobody has a task that may be postponed.
    pub fn is_done(&self) -> bool {
        let state = lock(&self.0);
        state.tasks.is_empty() && state.active == 0
    }

    /// Keeps a task if this is the error of a table that was locked; gives the error back if not.
    pub fn keep(
        &self,
        task: Task,
        reader: u32,
        error: Error,
        observer: &dyn Observer,
    ) -> Option<(Task, Error)> {
        if error.server_error != Some(TOO_LONG) {
            return Some((task, error));
        }
        let name = task.series().plan.name.clone();
        let mut state = lock(&self.0);
        state.tasks.push((task, reader, Instant::now()));
        if state.named.insert(name.clone()) {
            observer.warn(printable(&format!(
                "table {name}: another session locks or changes it, or waits to; its rows are read as soon as that is possible"
            )));
        }
        None
    }
}
