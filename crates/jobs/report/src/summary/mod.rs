//! The end of a run, described once: each figure with its line for people, its JSON keys and its place
//! in the record. The screen, `--json` and `--record` are rendered from this description.
//!
//! Invariant: a figure is formatted in one place, so the three cannot disagree. What this module does
//! not do: measure or judge; the job has done that.

mod binlog;
mod compare;
mod configuration;
mod continues;
mod copied_servers;
mod copy;
mod description;
mod disk;
mod doctor;
mod dump;
mod forecast;
mod impact;
mod load;
mod point_in_time;
mod preflight;
mod preview;
mod preview_dump;
mod replica;
mod repository;
mod rescue;
mod shared;
mod snapshot;
mod text;
mod tpcc;
mod traffic;
mod tuning;
mod verify;
mod warm;
mod warm_check;
mod warm_pages;
mod warm_ramp;
mod warm_server;

pub use binlog::{binlog_archive, binlog_find, binlog_show, binlog_undo};
pub use compare::compare;
pub use configuration::{Completed, Configuration, configuration, servers};
pub use copied_servers::{copied_servers, copied_via};
pub use copy::copy;
pub use description::archive;
pub use disk::disk;
pub use doctor::doctor;
pub use dump::dump;
pub use forecast::{Foreseen, foreseen, judged};
pub use impact::impact;
pub use load::load;
pub use point_in_time::{plan, replayed};
pub use preflight::{preflight, preflight_list, stripe};
pub use preview::preview;
pub use preview_dump::preview_dump;
pub use replica::{replica, replica_abort, replica_status};
pub use repository::{backup, check, drill, init, list, prune, rekey};
pub use rescue::rescue;
pub(crate) use shared::things;
pub use snapshot::{snapshot_check, snapshot_clean, snapshot_restore, snapshot_take, snapshots};
pub use text::lines;
pub use tpcc::{tpcc_check, tpcc_load, tpcc_run};
pub use traffic::traffic;
pub use verify::{compared, offline, tablespaces};
pub use warm::{warm_copy, warm_load, warm_save, warm_status};
pub use warm_check::warm_check;
pub use warm_pages::{warm_load_pages, warm_save_pages};
pub use warm_ramp::warm_ramp;
pub use warm_server::warm_server;

use crate::record::{Better, Figure, Record, Section};
use base::units::rounded;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Display;

/// What is said at the end of one run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The job, for programs: "dump", "bench tpcc run".
    pub job: &'static str,
    /// The first line for people.
    pub heading: String,
    /// Title of the record.
    pub title: String,
    /// The record's story.
    pub story: Vec<String>,
    /// The figures, in the order of the screen.
    pub items: Vec<Item>,
    /// Charts and tables of the record alone.
    pub sections: Vec<Section>,
    /// Objects that were not done.
    pub exceptions: Vec<String>,
    /// Whether the sections replace what was recorded about this process during the run.
    pub only_own_sections: bool,
}

/// One figure, or a few that belong to one line.
#[derive(Clone, Debug, Default)]
pub struct Item {
    label: &'static str,
    lines: Vec<Line>,
    keys: Vec<(&'static str, Value)>,
    figures: Vec<Figure>,
    facts: Vec<(&'static str, String)>,
}

/// Something below the heading.
#[derive(Clone, Debug)]
enum Line {
    /// `label   value`.
    Value(&'static str, String),
    /// A title, and one dash for each item.
    List(String, Vec<String>),
    /// A line as it is, indented.
    Plain(String),
    /// Rows of equal length; the first is the head.
    Table(Table),
    /// An empty line.
    Blank,
}

/// A table on the screen; its columns are as wide as their widest cell.
#[derive(Clone, Debug)]
struct Table {
    indent: usize,
    /// Numbers stand to the right; the first column stands to the left.
    numbers: bool,
    rows: Vec<Vec<String>>,
}

impl Summary {
    /// A summary without figures yet.
    pub fn new(job: &'static str, heading: impl Into<String>) -> Summary {
        Summary {
            job,
            heading: heading.into(),
            ..Summary::default()
        }
    }

    /// Adds a figure.
    pub fn add(&mut self, item: Item) {
        self.items.push(item);
    }

    /// Says that the binary log follows: what was done is not all, and the copy will not stand where it stands now.
    pub fn goes_on(&mut self) {
        self.heading = "The backup is restored, which is the first of two steps".to_owned();
        self.items.retain(|item| item.label != continues::LABEL);
    }

    /// One object for programs.
    pub fn json(&self) -> Value {
        let mut all = Map::new();
        all.insert("event".to_owned(), "summary".into());
        all.insert("job".to_owned(), self.job.into());
        for (key, value) in self.items.iter().flat_map(|i| &i.keys) {
            all.insert((*key).to_owned(), value.clone());
        }
        Value::Object(all)
    }

    /// Adds title, story, figures, facts and sections to the record of the run.
    pub fn record(&self, record: &mut Record) {
        record.title.clone_from(&self.title);
        record.story.clone_from(&self.story);
        let figures = self.items.iter().flat_map(|i| &i.figures);
        record.figures = figures.cloned().collect();
        // The most important first.
        record.figures.sort_by_key(|f| match f.name.as_str() {
            "duration" => 0,
            "throughput" => 1,
            _ => 2,
        });
        let facts = self.items.iter().flat_map(|i| &i.facts);
        let owned = facts.map(|(name, value)| ((*name).to_owned(), value.clone()));
        record.facts.extend(owned);
        if self.only_own_sections {
            record.sections.clear();
        }
        record.sections.extend(self.sections.iter().cloned());
        record.outcome.exceptions.clone_from(&self.exceptions);
    }
}

impl Item {
    /// A figure with this label; nothing of it is shown yet.
    pub fn new(label: &'static str) -> Item {
        Item {
            label,
            ..Item::default()
        }
    }

    /// Keys without a line.
    fn keys() -> Item {
        Item::default()
    }

    /// A line on the screen.
    #[must_use]
    pub fn line(mut self, text: impl Display) -> Item {
        self.lines.push(Line::Value(self.label, text.to_string()));
        self
    }

    /// A fact of the record.
    #[must_use]
    fn fact(mut self, text: impl Display) -> Item {
        self.facts.push((self.label, text.to_string()));
        self
    }

    /// The same on the screen and as a fact of the record.
    #[must_use]
    fn shown(self, text: impl Display) -> Item {
        let text = text.to_string();
        self.fact(&text).line(text)
    }

    /// A list on the screen, if there is anything in it.
    #[must_use]
    fn list(mut self, items: &[String]) -> Item {
        if !items.is_empty() {
            let list = Line::List(self.label.to_owned(), items.to_vec());
            self.lines.push(list);
        }
        self
    }

    /// Anything else on the screen.
    #[must_use]
    fn with(mut self, line: Line) -> Item {
        self.lines.push(line);
        self
    }

    /// A value for programs.
    #[must_use]
    pub fn key(mut self, key: &'static str, value: impl Serialize) -> Item {
        // A path that is not UTF-8 has no JSON; callers give its text.
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.keys.push((key, value));
        self
    }

    /// The lines alone.
    #[must_use]
    fn without_keys(mut self) -> Item {
        self.keys.clear();
        self
    }

    /// A number for programs, to three decimals.
    #[must_use]
    fn number(self, key: &'static str, value: impl Into<Option<f64>>) -> Item {
        self.key(key, value.into().map(rounded))
    }

    /// A main figure of the record, which runs are compared by.
    #[must_use]
    fn figure(self, value: f64, unit: &str, better: Better) -> Item {
        self.figure_with_note(value, unit, better, "")
    }

    /// The same with a few words.
    #[must_use]
    fn figure_with_note(
        mut self,
        value: f64,
        unit: &str,
        better: Better,
        note: impl Into<String>,
    ) -> Item {
        let figure = Figure::new(self.label, value, unit, better).note(note);
        self.figures.push(figure);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Kind, Record};

    #[test]
    fn an_impact_above_its_budget_is_in_all_three() {
        let report = run::throttle::Report {
            effect: Some(0.146),
            budget: Some(0.05),
            ..run::throttle::Report::default()
        };
        let mut s = Summary::new("dump", "Done");
        for item in shared::impact_on_others(Some(&report)) {
            s.add(item);
        }
        let said = "14.6 % of latency and throughput, ABOVE the 5 % of --max-impact";
        assert!(lines(&s).contains(said), "{}", lines(&s));
        assert_eq!(s.json()["impact"]["over_budget"], true);
        let mut r = Record::new(Kind::Dump, "before");
        s.record(&mut r);
        assert_eq!(r.facts, [("impact".to_owned(), said.to_owned())]);
    }

    #[test]
    fn one_description_gives_screen_json_and_record() {
        let mut s = Summary::new("dump", "Done");
        s.title = "A title".to_owned();
        s.add(Item::new("rows").shown("1,000").key("rows", 1000).figure(
            1000.0,
            "",
            Better::Neither,
        ));
        s.add(Item::keys().number("rate", 0.123_456).number("lag", None));
        s.add(Item::new("notes").list(&["a\u{7}b".to_owned()]));
        s.add(Item::new("none").list(&[]));
        assert_eq!(
            lines(&s),
            "\nDone\n  rows                1,000\n  notes:\n    - a\\u{7}b\n"
        );
        assert_eq!(
            s.json().to_string(),
            r#"{"event":"summary","job":"dump","rows":1000,"rate":0.123,"lag":null}"#
        );
        let mut r = Record::new(Kind::Dump, "before");
        s.record(&mut r);
        assert_eq!((r.title.as_str(), r.figures.len()), ("A title", 1));
        assert_eq!(r.facts, [("rows".to_owned(), "1,000".to_owned())]);
    }
}
