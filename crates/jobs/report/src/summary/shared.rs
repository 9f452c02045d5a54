//! Figures that several jobs have.

use super::{Item, Summary};
use crate::record::{Bar, Bars, Better, Section};
pub(crate) use base::units::things;
use base::units::{bytes, count, printable, rounded, seconds};
use run::bottleneck::{self, Suggestion};
use run::throttle;
use serde_json::{Map, Value, json};

/// "1 schema, 16 tables"; what there is none of is left out.
pub(super) fn several(parts: &[(u64, &str)]) -> String {
    let there = parts.iter().filter(|(n, _)| *n > 0);
    let named: Vec<String> = there.map(|(n, word)| things(*n, word)).collect();
    named.join(", ")
}

/// "91.44 MB/s".
pub(super) fn rate(amount: u64, time: f64) -> String {
    format!("{}/s", bytes(per_second(amount, time) as u64))
}

/// Below a millisecond a rate says nothing.
fn per_second(amount: u64, time: f64) -> f64 {
    amount as f64 / time.max(0.001)
}

/// How long a job took, and its rows.
pub(super) fn duration_with_rows(all: f64, rows: f64, of_what: &str) -> Item {
    let part = format!("{} for {of_what}", seconds(rows));
    Item::new("duration")
        .line(format!("{} ({part})", seconds(all)))
        .number("duration", all)
        .number("rows_duration", rows)
        .figure_with_note(all, "s", Better::Lower, part)
}

/// How long threads waited for the network to an archive, if there is one.
pub(super) fn link(waited: Option<f64>) -> Item {
    let item = Item::new("link");
    match waited {
        Some(waited) => item.number("link_waited", waited).shown(format!(
            "all threads together waited {} for the link to the archive's place, or the host there",
            seconds(waited)
        )),
        None => item,
    }
}

/// Row data per second.
pub(super) fn throughput(raw: u64, rows_seconds: f64, workers: usize) -> Item {
    let by = format!("of row data, {}", things(workers as u64, "worker"));
    Item::new("throughput")
        .line(format!("{} {by}", rate(raw, rows_seconds)))
        .key("workers", workers)
        .figure_with_note(per_second(raw, rows_seconds), "B/s", Better::Higher, by)
}

/// How long reading took, with its speed.
pub(super) fn duration_at(time: f64, amount: u64, of_what: &str) -> [Item; 2] {
    [
        Item::new("duration")
            .line(match amount {
                0 => seconds(time),
                amount => format!("{} ({}{of_what})", seconds(time), rate(amount, time)),
            })
            .number("duration", time)
            .figure(time, "s", Better::Lower),
        Item::new("throughput").figure(per_second(amount, time), "B/s", Better::Higher),
    ]
}

/// Schemas, tables and views.
pub(super) fn objects(schemas: u64, tables: u64, views: u64) -> Item {
    Item::new("objects").shown(several(&[
        (schemas, "schema"),
        (tables, "table"),
        (views, "view"),
    ]))
}

/// The count of rows.
pub(super) fn rows(n: u64) -> Item {
    Item::new("rows")
        .line(count(n))
        .key("rows", n)
        .figure(n as f64, "", Better::Neither)
}

/// What a job that lists exceptions says about their number.
pub(super) fn exceptions_sentence(n: usize) -> Option<String> {
    match n {
        0 => None,
        1 => Some("There is one exception, listed below.".to_owned()),
        n => Some(format!("There are {n} exceptions, listed below.")),
    }
}

impl Summary {
    /// The bottleneck, and what could be faster: lines, an object, and bars in the record.
    pub(super) fn add_bottleneck(&mut self, report: Option<&bottleneck::Report>) {
        let mut item = Item::new("bottleneck").key("bottleneck", report.map(bottleneck_json));
        if let Some(r) = report {
            item = item.line(&r.sentence);
            self.sections.push(bottleneck_section(r));
        }
        self.add(item);
        for s in report.iter().flat_map(|r| &r.suggestions) {
            self.add(Item::new("suggestion").line(suggestion(s)));
        }
    }

    /// What an archive lacks since it was dumped: notes of this run, not its exceptions.
    pub(super) fn add_dumped_with(&mut self, exceptions: &[String]) {
        let item = Item::new("dumped with exceptions");
        let item = exceptions.iter().fold(item, Item::fact).list(exceptions);
        self.add(item.key("dumped_with_exceptions", exceptions));
    }

    /// Objects that were not done.
    pub(super) fn add_exceptions(&mut self, exceptions: &[String]) {
        let list = Item::new("exceptions").list(exceptions);
        self.add(list.key("exceptions", exceptions));
        self.exceptions = exceptions.to_vec();
    }
}

/// One suggestion with its gain.
fn suggestion(s: &Suggestion) -> String {
    let gain = (s.gain * 100.0).round();
    format!(
        "{}: up to {gain} % less time for the rows ({})",
        s.what, s.why
    )
}

fn bottleneck_json(r: &bottleneck::Report) -> Value {
    let share = |s: &bottleneck::Share| (s.class.name().to_owned(), rounded(s.share).into());
    let shares: Map<String, Value> = r.shares.iter().map(share).collect();
    json!({
        "dominant": r.dominant.name(), "sentence": r.sentence, "seconds": rounded(r.seconds), "cores": r.cores,
        "client_cpu": rounded(r.client_cpu), "server_cpu": r.server_cpu.map(rounded), "other_cpu": r.other_cpu.map(rounded),
        "worker_time": shares,
        "suggestions": r.suggestions.iter().map(|a| json!({"try": a.what, "why": a.why, "gain_up_to": rounded(a.gain)})).collect::<Vec<_>>(),
        "not_measured": r.not_measured,
    })
}

fn bottleneck_section(r: &bottleneck::Report) -> Section {
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
    Section {
        title: "Where the workers' time went".to_owned(),
        text,
        bars: vec![Bars {
            unit: "%".to_owned(),
            items: bars.collect(),
            ..Bars::default()
        }],
        ..Section::default()
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|c| c.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

/// A baseline shift below this share gets no line.
const LEAST_SHIFT: f64 = 0.03;

/// The impact on the server's other users, and the pauses.
pub(super) fn impact_on_others(report: Option<&throttle::Report>) -> Vec<Item> {
    let item = Item::new("impact").key("impact", report.map(impact_json));
    let Some(r) = report else { return vec![item] };
    let mut items = Vec::new();
    items.push(match r.effect {
        Some(effect) => {
            let mean = r.baseline.and_then(|u| u.mean);
            let before = mean.map(|m| format!("; {:.2} ms per statement before", m * 1e3));
            let over = r
                .over_budget()
                .map(|budget| format!(", ABOVE the {:.0} % of --max-impact", budget * 100.0));
            let text = format!(
                "{:.1} % of latency and throughput{}{}",
                effect.max(0.0) * 100.0,
                over.as_deref().unwrap_or_default(),
                before.unwrap_or_default()
            );
            match over {
                Some(_) => item.shown(text),
                None => item.line(text),
            }
        }
        None => item,
    });
    if let Some(s) = r.baseline_shift.filter(|s| *s >= LEAST_SHIFT) {
        items.push(Item::new("baseline shift").line(format!(
            "statements took {:.0} % longer in pauses of the dump than before it: the cost of the open snapshot, or a workload that grew",
            s * 100.0
        )));
    }
    if r.rested + r.paused >= 0.5 {
        let mut parts = vec![format!("{} to measure the impact", seconds(r.rested))];
        if r.paused > 0.0 {
            parts.push(format!("{} because of a limit", seconds(r.paused)));
        }
        items.push(Item::new("paused for").line(parts.join(", ")));
    }
    if let Some(n) = r.history {
        items.push(Item::new("history list").line(format!("{} at most", count(n))));
    }
    if let Some(s) = r.lag {
        items.push(Item::new("replica lag").line(format!("{s:.0} s at most")));
    }
    items
}

fn impact_json(r: &throttle::Report) -> Value {
    json!({
        "latency_from": r.source,
        "baseline": r.baseline.map(|u| json!({"statements_per_second": rounded(u.statements), "mean_seconds": u.mean, "p95_seconds": u.p95})),
        "effect": r.effect.map(rounded), "budget": r.budget.map(rounded), "over_budget": r.over_budget().is_some(), "baseline_shift": r.baseline_shift.map(rounded), "paused_seconds": rounded(r.paused), "compared_seconds": rounded(r.rested),
        "history_list": r.history, "replica_lag_seconds": r.lag,
    })
}

/// What a server has and an archive does not always have.
const ACCOUNTS: &str = "accounts, roles and their grants";

/// What a server has, and may show to other accounts alone.
const HISTOGRAMS: &str = "histograms of columns, which the account may not read";

/// Says what is not in an archive, so that nobody counts on it.
pub(super) fn not_in_archives(accounts: bool, histograms: bool) -> Item {
    let all = [(accounts, ACCOUNTS), (histograms, HISTOGRAMS)];
    let what: Vec<&str> = all
        .iter()
        .filter(|(there, _)| !there)
        .map(|(_, w)| *w)
        .collect();
    let item = Item::new("not included").key("not_included", &what);
    match what.is_empty() {
        true => item,
        false => item.line(what.join("; ")),
    }
}

/// Columns with histograms, where there are any.
pub(super) fn histograms(columns: Option<u64>) -> Item {
    let item = Item::new("histograms").key("histograms", columns);
    match columns {
        Some(n) if n > 0 => item.line(format!("of {}", things(n, "column"))),
        _ => item,
    }
}

/// The first of a list, and how many more there are.
pub(super) fn some(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(3).map(|n| printable(n)).collect();
    let more = match names.len().saturating_sub(3) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// Indexes with computed values that could not be compared.
pub(super) fn indexes_not_compared(indexes: &[String]) -> Item {
    let item = Item::new("not compared").key("indexes_not_compared", indexes);
    match indexes.len() as u64 {
        0 => item,
        n => item.line(format!(
            "the values in {} index{} ({}): on an expression or a part of a virtual column, which no statement reads",
            count(n),
            if n == 1 { "" } else { "es" },
            some(indexes)
        )),
    }
}
