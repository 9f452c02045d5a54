//! What a job tells while it runs. Jobs never print: they call an [`Observer`],
//! and the terminal decides what a person, a log or a program sees.

use crate::Counters;
use std::sync::Arc;

/// Something worth telling.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A phase begins; `counters` move until the next phase or the end.
    Phase {
        /// Shown to people and used as the name in `--json`, e.g. "rows".
        name: &'static str,
        /// Figures of this phase.
        counters: Arc<Counters>,
        /// Workers that the phase may use.
        workers: usize,
    },
    /// The phase that was running is over.
    PhaseEnd {
        /// As in [`Event::Phase`].
        name: &'static str,
        /// How long it took.
        seconds: f64,
    },
    /// A fact for the reader, in one line.
    Note(String),
    /// Something the reader should act upon or know about; the run goes on.
    Warning(String),
    /// What the job is waiting for, or `None` once it goes on.
    Waiting(Option<String>),
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

/// An observer that hears nothing, for tests and embedded use.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: Event) {}
}
