//! The impact of backups on a running workload: a table for people, one object for programs.

use super::{Lines, round};
use base::units::{bytes, count, printable, seconds};
use bench::impact::{MethodResult, Spread, Summary};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

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

fn mean(values: &[f64]) -> Option<f64> {
    Spread::of(values).map(|s| s.mean)
}

/// For people.
pub fn impact(d: &Summary, page: Option<&Path>) -> String {
    let mut l = Lines::new("Impact of a backup");
    l.add("server", &d.server);
    l.add(
        "workload",
        format!(
            "TPC-C, {} warehouses ({} of rows), {} connections, no think time",
            count(d.warehouses.into()),
            bytes(d.bytes),
            d.connections
        ),
    );
    let rows: Vec<[String; 7]> = d.methods.iter().map(row).collect();
    let head = [
        "method",
        "tpmC alone",
        "tpmC during",
        "loss %",
        "p95 New-Order ms",
        "backup",
        "tpmC·s lost per GB",
    ];
    let mut width = head.map(|h| h.chars().count());
    for row in &rows {
        for (w, cell) in width.iter_mut().zip(row) {
            *w = (*w).max(cell.chars().count());
        }
    }
    let line = |cells: &[String; 7]| {
        let mut text = format!("  {:<w$}", cells[0], w = width[0]);
        for (cell, w) in cells.iter().zip(width).skip(1) {
            let _ = write!(text, "  {cell:>w$}");
        }
        text + "\n"
    };
    l.0 += "\n";
    l.0 += &line(&head.map(str::to_owned));
    for row in &rows {
        l.0 += &line(row);
    }
    for (method, why) in &d.left_out {
        let _ = writeln!(l.0, "  skipped: {}: {}", printable(method), printable(why));
    }
    if let Some(page) = page {
        l.0 += "\n";
        l.add("report", page.display());
    }
    l.0
}

fn row(m: &MethodResult) -> [String; 7] {
    let percent: Vec<f64> = m.loss().iter().map(|l| l * 100.0).collect();
    let p95 = |during: bool| {
        mean(&m.each(|r| {
            let window = if during { &r.during } else { &r.alone };
            let order = window.figures.of(bench::tpcc::Transaction::NewOrder);
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
    [
        printable(&m.method.to_string()),
        spread(&m.alone(), 0),
        spread(&m.during(), 0),
        spread(&percent, 1),
        latency,
        backup,
        spread(&m.price(), 0),
    ]
}

/// For programs.
pub fn impact_json(d: &Summary, page: Option<&Path>) -> Value {
    let each = |values: Vec<f64>| values.into_iter().map(round).collect::<Vec<_>>();
    let methods: Vec<Value> = d
        .methods
        .iter()
        .map(|m| {
            json!({
                "method": m.method.to_string(), "tpmc_alone": each(m.alone()), "tpmc_during": each(m.during()),
                "loss": each(m.loss()), "tpmc_seconds_per_gb": each(m.price()),
                "backup_seconds": each(m.duration()), "backup_bytes": each(m.size()),
            })
        })
        .collect();
    json!({
        "event": "summary", "job": "bench impact", "server": d.server, "warehouses": d.warehouses,
        "connections": d.connections, "raw_bytes": d.bytes, "methods": methods,
        "skipped_methods": d.left_out.iter().map(|(m, why)| json!({"method": m, "why": why})).collect::<Vec<_>>(),
        "report": page,
    })
}
