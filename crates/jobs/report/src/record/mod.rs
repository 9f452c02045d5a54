//! A run as data: the story in words, the main figures, charts over time, bars, tables, settings. One
//! JSON file; `html` makes pages of it.
//!
//! Invariants: a record holds no secret (settings are written from resolved options, never from the
//! command line); names are stored unchanged, with their control characters: code that shows a record
//! escapes them. Readers of version 1 skip fields that they do not know; a change that they would
//! misread is version 2. What this module does not do: judge or draw anything.

mod file;
mod keep;
mod recorder;
mod samples;
pub mod settings;
#[cfg(test)]
mod tests;

pub use file::{LARGEST, NAME, Part, Place, open, read};
pub use keep::{Kept, keep};
pub use recorder::Recorder;

use serde::{Deserialize, Serialize};

/// The value of [`Record::format`].
pub const FORMAT: &str = "penstock-record";

/// The version that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// One run, however it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// Which job.
    pub kind: Kind,
    /// One line, e.g. "Dump of MySQL 9.7.4 at /run/mysqld/mysqld.sock".
    pub title: String,
    /// Version of penstock.
    pub penstock: String,
    /// When it began: RFC 3339, UTC.
    pub begin: String,
    /// When it ended: RFC 3339, UTC.
    pub end: String,
    /// Duration by the monotonic clock.
    pub seconds: f64,
    /// How it ended.
    pub outcome: Outcome,
    /// The story in a few plain sentences: what, how much, how fast, what it cost, verified or not.
    pub story: Vec<String>,
    /// The main figures, the most important first; runs side by side are compared by them.
    pub figures: Vec<Figure>,
    /// Charts, bars and tables.
    pub sections: Vec<Section>,
    /// Facts, as name and value.
    pub facts: Vec<(String, String)>,
    /// Settings, as name and value; never a secret.
    pub settings: Vec<(String, String)>,
}

/// Which job a record is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// `penstock dump`.
    Dump,
    /// `penstock load`.
    Load,
    /// `penstock verify`.
    Verify,
    /// `penstock rescue`.
    Rescue,
    /// `penstock warm check`.
    Check,
    /// `penstock preflight`.
    Preflight,
    /// `penstock bench tpcc run`.
    Tpcc,
    /// `penstock bench impact`.
    Impact,
    /// `penstock bench disk`.
    Disk,
    /// `penstock bench compare`; only pages are made of it.
    Compare,
    /// `./dev article`: the means of a published article beside penstock's.
    Article,
    /// One that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// In one word.
    pub state: State,
    /// The exit code.
    pub code: u8,
    /// What went wrong; empty if nothing did.
    pub message: String,
    /// The way out, if there is one to name.
    pub hint: String,
    /// Objects that were not done or are wrong, by name.
    pub exceptions: Vec<String>,
}

/// How a run ended, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Everything asked for is done.
    Complete,
    /// Done, except for the listed objects.
    Exceptions,
    /// Stopped on request.
    Interrupted,
    /// Not done.
    #[default]
    #[serde(other)]
    Failed,
}

/// One main figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    /// What it is, e.g. "throughput"; equal names of several runs are compared.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit: see [`Chart::unit`].
    pub unit: String,
    /// A short note, e.g. "2 workers".
    pub note: String,
    /// Which direction is an improvement.
    pub better: Better,
}

/// Which direction is an improvement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
    /// Neither; the figure describes the run.
    #[default]
    #[serde(other)]
    Neither,
}

/// A part of the page with a heading.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Section {
    /// Heading; empty for the only section of a run.
    pub title: String,
    /// Sentences below the heading.
    pub text: Vec<String>,
    /// Bars that compare a few things, drawn first.
    pub bars: Vec<Bars>,
    /// One is drawn in full width; several are drawn small, side by side, charts of one title on one scale.
    pub timelines: Vec<Timeline>,
    /// Numbers.
    pub tables: Vec<Table>,
}

/// Charts that share a time axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeline {
    /// What it shows, where there are several: the method, the run.
    pub title: String,
    /// How long the time axis is, in seconds; 0: as long as the data.
    pub seconds: f64,
    /// One below the other.
    pub charts: Vec<Chart>,
    /// Intervals of time.
    pub spans: Vec<Span>,
    /// Points in time.
    pub marks: Vec<Mark>,
}

/// Lines over time in one unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chart {
    /// What is drawn, e.g. "Throughput".
    pub title: String,
    /// `B`, `B/s`, `s`, `ms`, `%` (0 to 100), `cores`, `rows/s`, `tpmC` or any other word.
    pub unit: String,
    /// A few words below it.
    pub note: String,
    /// The lines; more than six are hard to distinguish.
    pub series: Vec<Series>,
    /// Horizontal lines: a budget, a ceiling that never moved, the mean when alone.
    pub limits: Vec<Limit>,
}

/// One line of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// Seconds since the beginning of the timeline, and the value there; `null` is a gap.
    pub points: Vec<(f64, Option<f64>)>,
    /// Whether a value holds until the next one (a ceiling, a number of workers) instead of being joined to it.
    pub steps: bool,
}

/// A horizontal line in a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// Beside the line.
    pub label: String,
    /// Where.
    pub value: f64,
}

/// An interval of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Span {
    /// What it was.
    pub name: String,
    /// Its kind.
    pub kind: SpanKind,
    /// Seconds since the beginning of the timeline.
    pub from: f64,
    /// Seconds since the beginning of the timeline.
    pub to: f64,
}

/// What a span is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanKind {
    /// A backup was running: shaded.
    Backup,
    /// The job waited or was paused for a limit: shaded in another way.
    Waiting,
    /// A step of the job; steps are drawn as a strip above the charts.
    #[default]
    #[serde(other)]
    Phase,
}

/// A point in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mark {
    /// Seconds since the beginning of the timeline.
    pub at: f64,
    /// What happened.
    pub text: String,
}

/// Horizontal bars that compare a few things by one measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bars {
    /// What is compared.
    pub title: String,
    /// As [`Chart::unit`].
    pub unit: String,
    /// A few words below: how it was measured.
    pub note: String,
    /// Which direction is an improvement.
    pub better: Better,
    /// Whether the first item is what the others are compared with ("−36 %").
    pub to_first: bool,
    /// Whether a bar is the median of its runs, and not their mean.
    pub median: bool,
    /// The bars, in the order in which they are drawn.
    pub items: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bar {
    /// What it is of.
    pub label: String,
    /// How long it is; `None` if it could not be measured.
    pub mean: Option<f64>,
    /// Least of the runs.
    pub low: Option<f64>,
    /// Most of the runs.
    pub high: Option<f64>,
    /// How many runs; 0 if that means nothing here.
    pub n: u32,
    /// The result of each run, where it was kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<f64>,
    /// Drawn in a strong colour.
    pub strong: bool,
}

/// Numbers with names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Table {
    /// Above it.
    pub title: String,
    /// A few words below it.
    pub note: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each as long as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Unit of its numbers, as [`Chart::unit`]; empty for text and bare counts.
    pub unit: String,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// Nothing is known.
    #[default]
    None,
    /// A number in the column's unit.
    Number(f64),
    /// Text as it is.
    Text(String),
    /// Several runs: mean, least, most, in the column's unit.
    Spread(f64, f64, f64),
}

impl Record {
    /// A record of a run that begins now, with nothing in it yet.
    pub fn new(kind: Kind, title: impl Into<String>) -> Record {
        Record {
            format: FORMAT.to_owned(),
            version: VERSION,
            kind,
            title: title.into(),
            penstock: env!("CARGO_PKG_VERSION").to_owned(),
            begin: now(),
            ..Record::default()
        }
    }
}

/// The time now, to the millisecond.
fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

impl Figure {
    /// A figure; `better` says which direction is an improvement.
    pub fn new(name: &str, value: f64, unit: &str, better: Better) -> Figure {
        Figure {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            note: String::new(),
            better,
        }
    }

    /// With a short note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Figure {
        self.note = note.into();
        self
    }
}

impl Series {
    /// A line through these points.
    pub fn line(name: &str, points: Vec<(f64, Option<f64>)>) -> Series {
        Series {
            name: name.to_owned(),
            points,
            steps: false,
        }
    }

    /// Values of which each holds until the next.
    pub fn steps(name: &str, points: Vec<(f64, Option<f64>)>) -> Series {
        Series {
            steps: true,
            ..Series::line(name, points)
        }
    }
}

impl Bar {
    /// The bar of several runs' results, none if there are none.
    pub fn of(label: &str, runs: &[f64]) -> Bar {
        let least = runs.iter().copied().reduce(f64::min);
        Bar {
            label: label.to_owned(),
            mean: least.map(|_| runs.iter().sum::<f64>() / runs.len() as f64),
            low: least,
            high: runs.iter().copied().reduce(f64::max),
            n: u32::try_from(runs.len()).unwrap_or(u32::MAX),
            runs: runs.to_vec(),
            strong: false,
        }
    }
}

impl Column {
    /// A column of numbers in this unit, or of text.
    pub fn new(name: &str, unit: &str) -> Column {
        Column {
            name: name.to_owned(),
            unit: unit.to_owned(),
        }
    }
}

impl Cell {
    /// Text.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// Mean, least and most of several runs; nothing if there are none.
    pub fn spread(runs: &[f64]) -> Cell {
        match Bar::of("", runs) {
            Bar {
                mean: Some(mean),
                low: Some(low),
                high: Some(high),
                ..
            } => Cell::Spread(mean, low, high),
            _ => Cell::None,
        }
    }
}
