//! Results of TPC-C: tables for people, one object for programs.

use super::{Lines, rate, round, tuning};
use base::units::{bytes, count, printable, seconds};
use bench::tpcc::{Constraint, Figures, Measured, Second, Transaction, check, load, run};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::time::Duration;

/// After the tables were filled.
pub fn tpcc_load(d: &load::Summary) -> String {
    let mut l = Lines::new("TPC-C is loaded");
    l.add("into", format!("{}, schema {}", d.server, d.schema));
    l.add("warehouses", count(d.warehouses.into()));
    l.add("rows", count(d.rows));
    l.add("row data", bytes(d.bytes));
    l.add(
        "duration",
        format!(
            "{} ({} for rows and keys)",
            seconds(d.seconds),
            seconds(d.rows_seconds)
        ),
    );
    l.add(
        "throughput",
        format!(
            "{} of row data, {}",
            rate(d.bytes, d.rows_seconds),
            super::things(&[(d.threads as u64, "worker")])
        ),
    );
    tuning::add(&mut l, &d.tuning);
    l.0
}

/// The same for programs.
pub fn tpcc_load_json(d: &load::Summary) -> Value {
    json!({
        "event": "summary", "job": "bench tpcc load", "server": d.server, "schema": d.schema,
        "warehouses": d.warehouses, "rows": d.rows, "raw_bytes": d.bytes, "workers": d.threads,
        "duration": round(d.seconds), "rows_duration": round(d.rows_seconds), "tuning": tuning::json(&d.tuning),
    })
}

/// After a measurement.
pub fn tpcc_run(d: &run::Summary) -> String {
    let mut l = Lines::new("TPC-C, not an audited result");
    let f = &d.figures;
    l.add("server", format!("{}, schema {}", d.server, d.schema));
    l.add("warehouses", count(d.warehouses.into()));
    l.add("connections", d.connections);
    l.add(
        "measured",
        format!(
            "{} after a ramp of {}, no keying and think time",
            seconds(f.length.as_secs_f64()),
            seconds(d.ramp.as_secs_f64())
        ),
    );
    l.add("tpmC", format!("{:.1}", f.tpmc()));
    l.add(
        "transactions",
        format!(
            "{} ({:.1} per second), {} retries after a deadlock or a lock wait",
            count(f.completed()),
            f.completed() as f64 / f.length.as_secs_f64().max(0.001),
            count(f.retries())
        ),
    );
    if f.skipped_deliveries > 0 {
        let text = format!(
            "{} districts without an order to deliver",
            count(f.skipped_deliveries)
        );
        l.add("deliveries", text);
    }
    // Longer than any usual transaction: the server is stalled.
    if let Some(stalled) = f.under_way.filter(|u| *u > Duration::from_secs(1)) {
        l.add(
            "unfinished",
            format!(
                "a transaction that started {} before the end has not finished",
                seconds(stalled.as_secs_f64())
            ),
        );
    }
    let _ = writeln!(
        l.0,
        "\n  {:<14}{:>9}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "latency in ms", "count", "share", "mean", "p50", "p95", "p99", "max"
    );
    for t in Transaction::ALL {
        latencies(&mut l.0, f, t);
    }
    let _ = writeln!(l.0, "\n  constraints");
    for c in f.constraints() {
        constraint(&mut l.0, &c);
    }
    l.0
}

fn latencies(out: &mut String, f: &Figures, t: Transaction) {
    let m = f.of(t);
    let ms =
        |d: Option<Duration>| d.map_or_else(|| "-".to_owned(), |d| format!("{:.1}", millis(d)));
    let share = f
        .share(t)
        .map_or_else(|| "-".to_owned(), |s| format!("{s:.2} %"));
    let _ = writeln!(
        out,
        "  {:<14}{:>9}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}",
        t.name(),
        count(m.completed()),
        share,
        ms(m.mean()),
        ms(m.quantile(0.5)),
        ms(m.quantile(0.95)),
        ms(m.quantile(0.99)),
        ms(m.max())
    );
}

fn constraint(out: &mut String, c: &Constraint) {
    let found = c
        .found
        .map_or_else(|| "none finished".to_owned(), |f| format!("{f:.2} %"));
    let what = if c.response_time {
        format!("within {} s", c.transaction.limit().as_secs())
    } else {
        "share of the mix".to_owned()
    };
    let _ = writeln!(
        out,
        "  {}  {:<14}{what:<18}{found:>10}  (at least {:.0} %)",
        verdict(c.is_kept()),
        c.transaction.name(),
        c.least
    );
}

fn verdict(good: bool) -> &'static str {
    if good { "[OK]" } else { "[NG]" }
}

fn millis(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

/// The same for programs.
pub fn tpcc_run_json(d: &run::Summary) -> Value {
    let mut value = figures_json(&d.figures);
    let head = json!({
        "event": "summary", "job": "bench tpcc run", "server": d.server, "schema": d.schema,
        "warehouses": d.warehouses, "connections": d.connections, "ramp": round(d.ramp.as_secs_f64()),
    });
    if let (Some(map), Value::Object(mut all)) = (value.as_object_mut(), head) {
        all.append(map);
        all.insert("seconds_each".into(), seconds_json(&d.seconds));
        return Value::Object(all);
    }
    value
}

/// The figures of a window.
pub fn figures_json(f: &Figures) -> Value {
    let ms = |d: Option<Duration>| d.map(|d| round(millis(d)));
    let one = |m: &Measured| {
        json!({
            "count": m.completed(), "committed": m.committed, "rolled_back": m.rolled_back, "retries": m.retries,
            "mean_ms": ms(m.mean()), "p50_ms": ms(m.quantile(0.5)), "p95_ms": ms(m.quantile(0.95)),
            "p99_ms": ms(m.quantile(0.99)), "max_ms": ms(m.max()),
        })
    };
    let each: Map<String, Value> = Transaction::ALL
        .into_iter()
        .map(|t| (t.key().to_owned(), one(f.of(t))))
        .collect();
    let constraints: Vec<Value> = f
        .constraints()
        .iter()
        .map(|c| {
            json!({
                "transaction": c.transaction.key(), "about": if c.response_time { "response_time" } else { "mix" },
                "percent": c.found.map(round), "least": c.least, "limit_s": c.response_time.then(|| c.transaction.limit().as_secs()),
                "ok": c.is_kept(),
            })
        })
        .collect();
    json!({
        "from": round(f.from.as_secs_f64()), "measured": round(f.length.as_secs_f64()), "tpmc": round(f.tpmc()),
        "transactions": each, "completed": f.completed(), "retries": f.retries(), "p95_ms": ms(f.quantile(0.95)),
        "skipped_deliveries": f.skipped_deliveries, "under_way_ms": ms(f.under_way), "constraints": constraints,
    })
}

/// A sample for each second.
pub fn seconds_json(all: &[Second]) -> Value {
    let ms = |d: Option<Duration>| d.map(|d| round(millis(d)));
    let one = |s: &Second| {
        json!({
            "at": s.at, "tpmc": s.new_orders * 60, "transactions": s.transactions, "retries": s.retries,
            "p95_new_order_ms": ms(s.p95_new_order), "p95_ms": ms(s.p95),
        })
    };
    all.iter().map(one).collect()
}

/// After the conditions were checked.
pub fn tpcc_check(d: &check::Summary) -> String {
    let mut l = Lines::new(if d.holds() {
        "All consistency conditions hold"
    } else {
        "Consistency conditions are broken"
    });
    l.add("server", format!("{}, schema {}", d.server, d.schema));
    l.add("warehouses", count(d.warehouses.into()));
    l.add("duration", seconds(d.seconds));
    for c in &d.conditions {
        let places = match c.broken {
            0 => String::new(),
            n => format!(": broken in {}", super::things(&[(n, "place")])),
        };
        let text = format!(
            "{}  {:>2}  {}{places}",
            verdict(c.broken == 0),
            c.number,
            c.text
        );
        let _ = writeln!(l.0, "  {}", printable(&text));
    }
    l.0
}

/// The same for programs.
pub fn tpcc_check_json(d: &check::Summary) -> Value {
    let conditions: Vec<Value> = d
        .conditions
        .iter()
        .map(|c| json!({"number": c.number, "text": c.text, "broken": c.broken, "ok": c.broken == 0}))
        .collect();
    json!({
        "event": "summary", "job": "bench tpcc check", "server": d.server, "schema": d.schema,
        "warehouses": d.warehouses, "holds": d.holds(), "conditions": conditions, "duration": round(d.seconds),
    })
}
