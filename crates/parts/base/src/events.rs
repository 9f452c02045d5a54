//! What a job reports while it runs. Jobs never print: they call an [`Observer`],
//! and the terminal decides what a person, a log or a program sees.

use crate::Counters;
use std::sync::Arc;

/// An event of a running job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A phase begins; `counters` move until the next phase or the end.
    Phase {
        /// Shown to people and used as the name in `--json`, e.g. "rows".
        name: &'static str,
        /// The counters of this phase.
        counters: Arc<Counters>,
        /// Workers that the phase may use.
        workers: usize,
    },
    /// The current phase has ended.
    PhaseEnd {
        /// As in [`Event::Phase`].
        name: &'static str,
        /// How long it took.
        seconds: f64,
    },
    /// A fact for the reader, in one line.
    Note(String),
    /// Something the reader should act upon or know about; the run continues.
    Warning(String),
    /// What the job is waiting for, or `None` once it continues.
    Waiting(Option<String>),
    /// What a controller does to keep the run within its impact limit, in a few words; `None` when it stops.
    Steering(Option<String>),
    /// How a job that runs until it is stopped stands now.
    Standing(Standing),
    /// What the job changed about its own pace, and why, with the figure; for the record of the run.
    Decision(String),
    /// What was measured now; for the record of the run.
    Measured(Vec<Measure>),
    /// A table is done.
    Table {
        /// Schema name.
        schema: String,
        /// Table name.
        table: String,
        /// Rows moved.
        rows: u64,
        /// Bytes of row data.
        bytes: u64,
    },
}

/// How a job stands: until the next one is reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// In a few words, for the progress line.
    pub text: String,
    /// The same for programs: names in `--json`, and values.
    pub values: Vec<(&'static str, f64)>,
}

/// One value of a line that is drawn over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The chart that it belongs to, e.g. "Rate"; lines of one chart share a unit.
    pub chart: &'static str,
    /// The line's name, e.g. "ceiling".
    pub name: &'static str,
    /// `B/s`, `ms`, `%`, `workers` or any other word.
    pub unit: &'static str,
    /// The value now.
    pub value: f64,
    /// Whether the value holds until the next one is reported.
    pub steps: bool,
}

/// Receives events; called from any thread.
pub trait Observer: Send + Sync {
    /// Takes note of one event; must not block for long.
    fn event(&self, event: Event);

    /// A fact for the reader.
    fn note(&self, text: String) {
        self.event(Event::Note(text));
    }

    /// A warning for the reader.
    fn warn(&self, text: String) {
        self.event(Event::Warning(text));
    }
}

/// An observer that ignores all events, for tests and embedded use.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: Event) {}
}
