//! Two runs of a benchmark beside each other.

use super::{Item, Line, Summary, Table};
use crate::compare::{self, FEWEST, Sample, Verdict};
use crate::html::show;
use crate::record::{Bar, Bars, Cell, Column, Section, Table as Shown};
use base::units::rounded;
use serde_json::{Value, json};

/// Describes the comparison.
pub fn compare(d: &compare::Summary) -> Summary {
    let [a, b] = &d.sides;
    let mut s = Summary::new("bench compare", format!("{}: B against A", a.benchmark));
    s.add(Item::new("A").line(&a.name).key("a", &a.name));
    s.add(Item::new("B").line(&b.name).key("b", &b.name));
    s.add(Item::keys().key("benchmark", &a.benchmark));
    let unknown = || "not recorded".to_owned();
    let differing = d.differing.iter().map(|(name, [a, b])| {
        let text = |v: &Option<String>| v.clone().unwrap_or_else(unknown);
        format!("{name}: {} → {}", text(a), text(b))
    });
    let differing: Vec<String> = differing.collect();
    let json: Vec<Value> = d
        .differing
        .iter()
        .map(|(name, [a, b])| json!({"name": name, "a": a, "b": b}))
        .collect();
    s.add(
        Item::new("circumstances that differ")
            .list(&differing)
            .key("differing", json),
    );
    let lines: Vec<Value> = d.lines.iter().map(line_json).collect();
    s.add(
        Item::keys()
            .with(Line::Blank)
            .with(Line::Table(table(d)))
            .with(Line::Blank)
            .key("figures", lines),
    );
    s.title = format!("{}: {} against {}", a.benchmark, b.name, a.name);
    s.story = conclusions(d);
    for text in conclusions(d) {
        s.add(Item::keys().with(Line::Plain(text)));
    }
    s.sections = sections(d, &differing);
    for (i, (label, key)) in [("only in A", "only_a"), ("only in B", "only_b")]
        .into_iter()
        .enumerate()
    {
        s.add(Item::new(label).list(&d.alone[i]).key(key, &d.alone[i]));
    }
    s
}

fn table(d: &compare::Summary) -> Table {
    let head = ["figure", "A", "B", "B is", "which is"]
        .map(str::to_owned)
        .to_vec();
    let row = |l: &compare::Line| {
        vec![
            l.a.name.clone(),
            sample(&l.a),
            sample(&l.b),
            change(l.change),
            verdict(l),
        ]
    };
    Table {
        indent: 2,
        numbers: false,
        rows: std::iter::once(head)
            .chain(d.lines.iter().map(row))
            .collect(),
    }
}

/// The page: the table, and a pair of bars for each figure.
fn sections(d: &compare::Summary, differing: &[String]) -> Vec<Section> {
    let mut rows = table(d).rows.into_iter();
    let head = rows.next().unwrap_or_default();
    let cells = |row: Vec<String>| row.into_iter().map(Cell::Text).collect();
    let bar = |label: &str, s: &Sample| Bar {
        label: label.to_owned(),
        mean: Some(s.middle),
        low: Some(s.low),
        high: Some(s.high),
        n: u32::try_from(s.n).unwrap_or(u32::MAX),
        runs: s.runs.clone(),
        strong: false,
    };
    let bars = |l: &compare::Line| Bars {
        title: format!("{}: {}", l.a.name, verdict(l)),
        unit: l.a.unit.clone(),
        better: l.a.better,
        to_first: true,
        median: true,
        items: vec![bar("A", &l.a), bar("B", &l.b)],
        ..Bars::default()
    };
    let mut sections = vec![Section {
        title: "A and B".to_owned(),
        text: d
            .sides
            .iter()
            .zip(["A", "B"])
            .map(|(s, n)| format!("{n}: {}", s.name))
            .collect(),
        bars: d.lines.iter().map(bars).collect(),
        tables: vec![Shown {
            columns: head.iter().map(|name| Column::new(name, "")).collect(),
            rows: rows.map(cells).collect(),
            ..Shown::default()
        }],
        ..Section::default()
    }];
    if !differing.is_empty() {
        sections.insert(
            0,
            Section {
                title: "Circumstances that differ".to_owned(),
                text: differing.to_vec(),
                ..Section::default()
            },
        );
    }
    sections
}

fn sample(s: &Sample) -> String {
    let middle = show(s.middle, &s.unit);
    match s.n {
        1 => format!("{middle}, 1 run"),
        n => {
            // Bytes and times choose a prefix by their size; of other units one is enough.
            let own = ["B", "B/s", "s", "ms"].contains(&s.unit.as_str());
            let low = show(s.low, if own { &s.unit } else { "" });
            format!(
                "{middle} ({} … {}), {n} runs",
                low.trim(),
                show(s.high, &s.unit)
            )
        }
    }
}

fn change(share: Option<f64>) -> String {
    match share {
        Some(c) => format!("{:+.1} %", c * 100.0),
        None => "-".to_owned(),
    }
}

fn verdict(l: &compare::Line) -> String {
    let which = match l.improves() {
        Some(true) => "better",
        Some(false) => "worse",
        None => "different",
    };
    match &l.verdict {
        Verdict::Differs(p) => format!("{which} (p = {p:.3})"),
        Verdict::Apart => format!("{which} (the ranges do not overlap)"),
        Verdict::Noise(Some(p)) => format!("noise (p = {p:.2})"),
        Verdict::Noise(None) => "noise (the ranges overlap)".to_owned(),
        Verdict::Undecided(n) => {
            let runs = if *n == 1 {
                "1 run".to_owned()
            } else {
                format!("{n} runs")
            };
            format!("undecided: only {runs}")
        }
    }
}

/// How to read the table.
fn conclusions(d: &compare::Summary) -> Vec<String> {
    let count = |f: fn(&Verdict) -> bool| d.lines.iter().filter(|l| f(&l.verdict)).count();
    let tested = count(|v| v.p().is_some());
    let by_ranges = count(|v| matches!(v, Verdict::Apart | Verdict::Noise(None)));
    let untold = count(|v| matches!(v, Verdict::Undecided(_)));
    let differ = count(Verdict::is_a_difference);
    let mut texts = vec![format!(
        "{differ} of {} figures differ by more than noise.",
        d.lines.len()
    )];
    if tested > 0 {
        let chance = tested as f64 * 0.05;
        texts.push(format!(
            "By the rank-sum test, two-sided, at 5 %; of {tested} such tests about {chance:.1} say \"different\" by chance alone."
        ));
    }
    if by_ranges > 0 {
        texts.push("Where there are three runs, or only least and most are known: different if the ranges do not overlap, which three runs each do by chance once in ten times.".to_owned());
    }
    if untold > 0 {
        texts.push(format!("With fewer than {FEWEST} runs on a side a difference cannot be distinguished from noise; the records of a directory count as its runs."));
    }
    texts
}

fn line_json(l: &compare::Line) -> Value {
    let side = |s: &Sample| {
        let runs: Vec<f64> = s.runs.iter().copied().map(rounded).collect();
        json!({"middle": rounded(s.middle), "low": rounded(s.low), "high": rounded(s.high), "n": s.n, "runs": runs})
    };
    json!({
        "figure": l.a.name, "unit": l.a.unit, "a": side(&l.a), "b": side(&l.b), "change": l.change.map(rounded),
        "verdict": l.verdict.name(), "p": l.verdict.p().map(rounded), "better": l.improves(),
    })
}
