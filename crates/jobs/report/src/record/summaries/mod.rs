//! The part of a record that is written from the options and the summary of a job: story, main
//! figures, facts and settings.
//!
//! Invariant: settings are written one by one from resolved options, so that a new option cannot bring
//! in a secret by itself.

mod dump;
mod impact;
mod load;
mod verify;

pub use dump::{dump, dump_begins};
pub use impact::{impact, impact_begins};
pub use load::{load, load_begins};
pub use verify::{compared, offline, verify_begins};

use super::{Bar, Bars, Better, Figure, Record, Section};
use crate::figures::{suggestion, things};
use base::units::{bytes, seconds};
use run::bottleneck;
use server::Filter;

/// "91.44 MB/s".
fn rate(amount: u64, time: f64) -> String {
    format!("{}/s", bytes(per_second(amount, time) as u64))
}

/// Below a millisecond a rate says nothing.
fn per_second(amount: u64, time: f64) -> f64 {
    amount as f64 / time.max(0.001)
}

/// "0.39 s", "3m04s".
fn duration(record: &Record) -> String {
    seconds(record.seconds)
}

/// The figures of every job that moves rows: how long, how fast, how much.
fn moved(record: &mut Record, rows: u64, raw: u64, rows_seconds: f64, workers: usize) {
    let throughput = per_second(raw, rows_seconds);
    record.figures = vec![
        Figure::new("duration", record.seconds, "s", Better::Lower)
            .note(format!("{} for the rows", seconds(rows_seconds))),
        Figure::new("throughput", throughput, "B/s", Better::Higher)
            .note(format!("of row data, {}", things(workers as u64, "worker"))),
        Figure::new("row data", raw as f64, "B", Better::Neither),
        Figure::new("rows", rows as f64, "", Better::Neither),
    ];
}

fn setting(record: &mut Record, name: &str, value: impl std::fmt::Display) {
    record.settings.push((name.to_owned(), value.to_string()));
}

fn fact(record: &mut Record, name: &str, value: impl std::fmt::Display) {
    record.facts.push((name.to_owned(), value.to_string()));
}

fn filter(record: &mut Record, filter: &Filter) {
    if filter.is_empty() {
        setting(record, "selection", "everything");
    }
    for (name, list) in filter.lists() {
        setting(record, name, list.join(", "));
    }
}

fn yes(what: bool) -> &'static str {
    if what { "yes" } else { "no" }
}

/// The bottleneck: a sentence, bars, and suggestions.
fn bottleneck(record: &mut Record, report: Option<&bottleneck::Report>) {
    let Some(r) = report else { return };
    let mut text = vec![format!("{}.", capital(&r.sentence))];
    let suggestions = r.suggestions.iter().map(suggestion);
    text.extend(suggestions.map(|s| format!("Suggestion: {s}.")));
    text.extend(r.not_measured.iter().map(|u| format!("Not measured: {u}.")));
    let bars = r.shares.iter().filter(|s| s.share >= 0.005).map(|s| Bar {
        label: s.class.words().to_owned(),
        mean: Some(s.share * 100.0),
        strong: s.class == r.dominant,
        ..Bar::default()
    });
    record.sections.push(Section {
        title: "Where the workers' time went".to_owned(),
        text,
        bars: vec![Bars {
            unit: "%".to_owned(),
            items: bars.collect(),
            ..Bars::default()
        }],
        ..Section::default()
    });
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|c| c.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}
