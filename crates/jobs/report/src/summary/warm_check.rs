//! After `penstock warm check`.

use super::{Item, Line, Summary, Table};
use crate::record::{Better, Chart, Section, Series, Timeline};
use base::units::{count, printable, rounded, seconds};
use serde_json::json;
use warm::check;

/// Statements that are shown to people.
const MOST: usize = 10;

/// Describes what was replayed.
pub fn warm_check(d: &check::Summary) -> Summary {
    let mut s = Summary::new("warm check", "Queries were replayed");
    let chosen = match d.seen > d.replayed {
        true => format!("{} of {}", count(d.replayed), count(d.seen)),
        false => count(d.replayed),
    };
    s.add(
        Item::new("queries")
            .line(format!("{chosen}, from {}", d.from))
            .key("from", &d.from)
            .key("queries", d.replayed)
            .key("queries_seen", d.seen),
    );
    let mut left_out = Item::new("left out").key("left_out", &d.left_out);
    if !d.left_out.is_empty() {
        let all: u64 = d.left_out.values().sum();
        left_out = left_out.line(format!("{} statements that are not replayed", count(all)));
    }
    for (why, n) in &d.left_out {
        left_out = left_out.with(Line::Plain(format!(
            "  {:>12}  {}",
            count(*n),
            printable(why)
        )));
    }
    s.add(left_out);
    s.add(sides(d));
    if let ([live, new], true) = (&d.sides[..], d.replayed > 0) {
        let ratio = new.seconds / live.seconds.max(1e-9);
        s.add(
            Item::new("the new server")
                .line(format!("takes {ratio:.2} times as long as the live one"))
                .key("ratio", rounded(ratio))
                .figure(ratio, "", Better::Lower),
        );
    }
    if d.replayed > 0 {
        s.add(statements(d));
    }
    s.add(
        Item::new("duration")
            .line(seconds(d.seconds))
            .number("duration", d.seconds),
    );
    s.add_exceptions(&d.exceptions);
    s.title = format!("Queries replayed, from {}", d.from);
    s.sections.push(over_time(d));
    s
}

/// Pages from disk over time, a line for each server.
fn over_time(d: &check::Summary) -> Section {
    let series = names(d).into_iter().zip(&d.sides).map(|(name, side)| {
        let rates = side.over_time.windows(2).map(|two| {
            let seconds = (two[1].0 - two[0].0).max(1e-3);
            (two[1].0, Some(two[1].1 as f64 / seconds))
        });
        Series {
            name,
            points: rates.collect(),
            steps: false,
        }
    });
    Section {
        title: "Disk reads while the queries were replayed".to_owned(),
        timelines: vec![Timeline {
            charts: vec![Chart {
                title: "Pages read from disk a second".to_owned(),
                unit: "pages/s".to_owned(),
                series: series.collect(),
                ..Chart::default()
            }],
            ..Timeline::default()
        }],
        ..Section::default()
    }
}

/// The names of the servers in tables.
fn names(d: &check::Summary) -> Vec<String> {
    match d.sides.len() {
        2 => vec!["live".to_owned(), "new".to_owned()],
        _ => vec!["server".to_owned()],
    }
}

fn sides(d: &check::Summary) -> Item {
    let mut item = Item::keys();
    if let Some(last) = d.sides.last() {
        item = Item::new("pages from disk").figure(last.reads as f64, "pages", Better::Lower);
    }
    for (name, side) in names(d).iter().zip(&d.sides) {
        let text = format!("{name}: {}", printable(&side.server));
        item = item.with(Line::Plain(format!("  {text}")));
    }
    let head = [
        "",
        "in all",
        "p50",
        "p95",
        "p99",
        "pages from disk",
        "per query",
        "round trip",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, side) in names(d).iter().zip(&d.sides) {
        rows.push(vec![
            name.clone(),
            seconds(side.seconds),
            milliseconds(side.p50),
            milliseconds(side.p95),
            milliseconds(side.p99),
            count(side.reads),
            format!("{:.3}", side.reads as f64 / d.replayed.max(1) as f64),
            milliseconds(side.round_trip),
        ]);
    }
    let all: Vec<_> = (d.sides.iter())
        .map(|side| {
            json!({
                "server": side.server, "seconds": rounded(side.seconds), "p50_ms": ms(side.p50), "p95_ms": ms(side.p95),
                "p99_ms": ms(side.p99), "pages_read": side.reads, "round_trip_ms": ms(side.round_trip),
            })
        })
        .collect();
    let item = item.key("servers", all);
    if d.replayed == 0 {
        return item;
    }
    item.with(Line::Blank).with(Line::Table(Table {
        indent: 2,
        numbers: true,
        rows,
    }))
}

/// The statements that cost most on the last server.
fn statements(d: &check::Summary) -> Item {
    let names = names(d);
    let mut head = vec!["statement".to_owned(), "queries".to_owned()];
    head.extend(names.iter().map(|n| format!("{n}, mean")));
    head.extend(names.iter().map(|n| format!("{n}, pages")));
    let mut rows = vec![head];
    for s in d.statements.iter().take(MOST) {
        let mut row = vec![shortened(&printable(&s.text)), count(s.queries)];
        let each = s.queries.max(1) as f64;
        row.extend(s.seconds.iter().map(|t| milliseconds(t / each)));
        row.extend(s.reads.iter().map(|r| count(*r)));
        rows.push(row);
    }
    let all: Vec<_> = (d.statements.iter())
        .map(|s| {
            let times: Vec<f64> = s.seconds.iter().map(|t| ms(*t)).collect();
            json!({"statement": s.text, "queries": s.queries, "ms": times, "pages_read": s.reads})
        })
        .collect();
    Item::keys()
        .key("statements", all)
        .with(Line::Blank)
        .with(Line::Table(Table {
            indent: 2,
            numbers: true,
            rows,
        }))
}

fn ms(seconds: f64) -> f64 {
    rounded(seconds * 1e3)
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

/// A statement that fits a line.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 70;
    match text.chars().count() > LONGEST {
        false => text.to_owned(),
        true => text.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}
