//! The impact of backups on a running workload.

mod charts;

use super::shared::things;
use super::{Item, Line, Summary, Table};
use crate::record::Better;
use base::units::{bytes, count, rounded, seconds};
use bench::impact::{Method, MethodResult, Spread};
use bench::tpcc::Transaction;
use serde_json::{Value, json};

/// Describes the benchmark.
pub fn impact(d: &bench::impact::Summary) -> Summary {
    let mut s = Summary::new("bench impact", "Impact of a backup");
    s.title = format!("Impact of a backup of {}", d.server);
    s.story = story(d);
    s.add(
        Item::new("server")
            .shown(&d.server)
            .key("server", &d.server),
    );
    s.add(
        Item::new("workload")
            .line(format!(
                "TPC-C, {} warehouses ({} of rows), {} connections, no think time",
                count(d.warehouses.into()),
                bytes(d.bytes),
                d.connections
            ))
            .key("warehouses", d.warehouses)
            .key("connections", d.connections),
    );
    s.add(
        Item::new("rows at the start")
            .fact(bytes(d.bytes))
            .key("raw_bytes", d.bytes),
    );
    for m in costly(d) {
        s.items.extend(loss(m));
    }
    let methods: Vec<Value> = d.methods.iter().map(method_json).collect();
    s.add(
        Item::keys()
            .with(Line::Blank)
            .with(Line::Table(table(d)))
            .key("methods", methods),
    );
    let skipped = d.left_out.iter();
    let json = skipped.map(|(m, why)| json!({"method": m, "why": why}));
    let item = Item::new("skipped").key("skipped_methods", json.collect::<Vec<_>>());
    s.add(d.left_out.iter().fold(item, |item, (method, why)| {
        let text = format!("{method}: {why}");
        item.with(Line::Plain(format!("skipped: {text}")))
            .fact(text)
    }));
    // The figures of this process itself say nothing here.
    s.only_own_sections = true;
    s.sections = charts::sections(d);
    s
}

fn mean(values: &[f64]) -> Option<f64> {
    Spread::of(values).map(|s| s.mean)
}

/// Methods that take backups.
fn costly(d: &bench::impact::Summary) -> impl Iterator<Item = &MethodResult> {
    d.methods.iter().filter(|m| m.method != Method::Alone)
}

/// The main figure of a method.
fn loss(m: &MethodResult) -> Option<Item> {
    let mut item = Item::keys();
    let mut figure = crate::record::Figure::new(
        &format!("loss, {}", m.method),
        mean(&m.loss())? * 100.0,
        "%",
        Better::Lower,
    );
    figure.note = things(m.runs.len() as u64, "run");
    item.figures.push(figure);
    Some(item)
}

fn story(d: &bench::impact::Summary) -> Vec<String> {
    let mut story = vec![format!(
        "TPC-C on {}: {} and {} without think time, {} of rows, measured alone and during backups.",
        d.server,
        things(d.warehouses.into(), "warehouse"),
        things(d.connections as u64, "connection"),
        bytes(d.bytes),
    )];
    let of = |m: &MethodResult| {
        let loss = mean(&m.loss())?;
        let took = mean(&m.duration())?;
        Some(format!(
            "{}: {:.1} % of the throughput for {} per backup",
            m.method,
            loss * 100.0,
            seconds(took)
        ))
    };
    let lines: Vec<String> = costly(d).filter_map(of).collect();
    if !lines.is_empty() {
        story.push(format!("Backups cost: {}.", lines.join("; ")));
    }
    let alone = d.methods.iter().find(|m| m.method == Method::Alone);
    if let Some(spread) = alone.and_then(|m| Spread::of(&m.loss())) {
        story.push(format!(
            "Without a backup, the window in the middle differed from the others by {:+.1} to {:+.1} %: differences of that size mean nothing.",
            -spread.high * 100.0,
            -spread.low * 100.0
        ));
    }
    story
}

/// A mean, followed by the least and the most if there are several runs.
fn spread(values: &[f64], decimals: usize) -> String {
    match Spread::of(values) {
        None => "-".to_owned(),
        Some(s) if values.len() == 1 => format!("{:.decimals$}", s.mean),
        Some(s) => format!(
            "{:.decimals$} ({:.decimals$} … {:.decimals$})",
            s.mean, s.low, s.high
        ),
    }
}

fn table(d: &bench::impact::Summary) -> Table {
    let head = [
        "method",
        "tpmC alone",
        "tpmC during",
        "loss %",
        "p95 New-Order ms",
        "backup",
        "tpmC·s lost per GB",
    ];
    let head = std::iter::once(head.map(str::to_owned).to_vec());
    Table {
        indent: 2,
        numbers: true,
        rows: head.chain(d.methods.iter().map(row)).collect(),
    }
}

fn row(m: &MethodResult) -> Vec<String> {
    let percent: Vec<f64> = m.loss().iter().map(|l| l * 100.0).collect();
    let p95 = |during: bool| {
        mean(&m.each(|r| {
            let window = if during { &r.during } else { &r.alone };
            let order = window.figures.of(Transaction::NewOrder);
            order.quantile(0.95).map(|d| d.as_secs_f64() * 1e3)
        }))
    };
    let latency = match (p95(false), p95(true)) {
        (Some(a), Some(b)) => format!("{a:.1} → {b:.1}"),
        _ => "-".to_owned(),
    };
    let backup = match (mean(&m.duration()), mean(&m.size())) {
        (Some(time), Some(size)) => format!("{}, {}", seconds(time), bytes(size as u64)),
        _ => "-".to_owned(),
    };
    vec![
        m.method.to_string(),
        spread(&m.alone(), 0),
        spread(&m.during(), 0),
        spread(&percent, 1),
        latency,
        backup,
        spread(&m.price(), 0),
    ]
}

fn method_json(m: &MethodResult) -> Value {
    let each = |values: Vec<f64>| values.into_iter().map(rounded).collect::<Vec<_>>();
    json!({
        "method": m.method.to_string(), "tpmc_alone": each(m.alone()), "tpmc_during": each(m.during()),
        "loss": each(m.loss()), "tpmc_seconds_per_gb": each(m.price()),
        "backup_seconds": each(m.duration()), "backup_bytes": each(m.size()),
    })
}
