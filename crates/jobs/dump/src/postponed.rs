//! Tasks that could not begin because their table was locked.
//!
//! Whoever wants to change a table waits until all who have read it end their transactions, and whoever wants to read it then waits
//! behind them. A reader keeps what it has read locked until the end of the dump. So the change waits for one reader, and a second
//! reader would wait for the change: for ever, and with it everybody who uses the table. Readers therefore do not wait long:
//! they leave the task to the others. The one that has read of the table may continue with it. Where none has, the change is not
//! held up by the dump, and the task is tried again until it is over.

use super::plan::Task;
use base::units::printable;
use base::{Observer, lock};
use std::collections::{HashMap, HashSet};
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
    tasks: Vec<Task>,
    active: usize,
    /// When which reader has waited for which table in vain.
    locked: HashMap<(String, u32), Instant>,
    named: HashSet<String>,
}

impl State {
    fn is_locked(&self, task: &Task, reader: u32) -> bool {
        let key = (task.series().plan.name.clone(), reader);
        let since = self.locked.get(&key);
        since.is_some_and(|since| since.elapsed() < PAUSE)
    }
}

impl Postponed {
    /// The reader looks for a task, and counts as active until [`Postponed::rest`].
    pub fn look(&self) {
        lock(&self.0).active += 1;
    }

    /// The reader has no task any more.
    pub fn rest(&self) {
        lock(&self.0).active -= 1;
    }

    /// A task that this reader may try now.
    pub fn next(&self, reader: u32) -> Option<Task> {
        let mut state = lock(&self.0);
        let at = state
            .tasks
            .iter()
            .position(|task| !state.is_locked(task, reader))?;
        Some(state.tasks.remove(at))
    }

    /// Whether there is nothing left, and nobody has a task that may be postponed.
    pub fn is_done(&self) -> bool {
        let state = lock(&self.0);
        state.tasks.is_empty() && state.active == 0
    }

    /// Keeps a task of a table that this reader has just waited for in vain: it does not wait for each of them.
    pub fn unless_locked(&self, task: Task, reader: u32) -> Option<Task> {
        let mut state = lock(&self.0);
        if !state.is_locked(&task, reader) {
            return Some(task);
        }
        state.tasks.push(task);
        None
    }

    /// Keeps a task of a table that was locked.
    pub fn keep(&self, task: Task, reader: u32, observer: &dyn Observer) {
        let name = task.series().plan.name.clone();
        let mut state = lock(&self.0);
        state.tasks.push(task);
        state.locked.insert((name.clone(), reader), Instant::now());
        if state.named.insert(name.clone()) {
            observer.warn(waits(&name));
        }
    }
}

/// What is said of a table that is locked.
pub fn waits(name: &str) -> String {
    printable(&format!(
        "table {name}: another session locks or changes it, or waits to; its rows are read as soon as that is possible"
    ))
}
