//! Results of TPC-C.

use super::shared::{duration_with_rows, things, throughput};
use super::{Item, Line, Summary, Table, tuning};
use crate::record::{Better, Chart, Section, Series, Timeline};
use base::units::{bytes, count, rounded, seconds};
use bench::tpcc::{Constraint, Figures, Measured, Second, Transaction, check, load, run};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// After the tables were filled.
pub fn tpcc_load(d: &load::Summary) -> Summary {
    let mut s = Summary::new("bench tpcc load", "TPC-C is loaded");
    s.add(place("into", &d.server, &d.schema));
    s.add(warehouses(d.warehouses));
    s.add(super::shared::rows(d.rows));
    s.add(
        Item::new("row data")
            .line(bytes(d.bytes))
            .key("raw_bytes", d.bytes)
            .figure(d.bytes as f64, "B", Better::Neither),
    );
    s.add(duration_with_rows(
        d.seconds,
        d.rows_seconds,
        "rows and keys",
    ));
    s.add(throughput(d.bytes, d.rows_seconds, d.threads));
    tuning::add(&mut s, &d.tuning);
    s
}

/// After a measurement.
pub fn tpcc_run(d: &run::Summary) -> Summary {
    let f = &d.figures;
    let mut s = Summary::new("bench tpcc run", "TPC-C, not an audited result");
    s.title = format!("TPC-C on {}", d.server);
    s.story = vec![format!(
        "{} with {} in schema {}, no keying and think time: {:.1} New-Orders a minute. Not an audited result.",
        things(d.connections as u64, "connection"),
        things(d.warehouses.into(), "warehouse"),
        d.schema,
        f.tpmc()
    )];
    s.only_own_sections = true;
    s.sections = vec![over_time(d)];
    s.add(place("server", &d.server, &d.schema));
    s.add(warehouses(d.warehouses));
    s.add(
        Item::new("connections")
            .line(d.connections)
            .key("connections", d.connections),
    );
    s.add(
        Item::new("measured")
            .line(format!(
                "{} after a ramp of {}, no keying and think time",
                seconds(f.length.as_secs_f64()),
                seconds(d.ramp.as_secs_f64())
            ))
            .number("ramp", d.ramp.as_secs_f64())
            .number("from", f.from.as_secs_f64())
            .number("measured", f.length.as_secs_f64()),
    );
    s.add(
        Item::new("tpmC")
            .line(format!("{:.1}", f.tpmc()))
            .number("tpmc", f.tpmc())
            .figure(f.tpmc(), "tpmC", Better::Higher),
    );
    let order = f.of(Transaction::NewOrder).quantile(0.95);
    let item = Item::new("p95 of New-Order");
    s.add(match order {
        Some(p95) => item.figure(millis(p95), "ms", Better::Lower),
        None => item,
    });
    add_counts(&mut s, f);
    let each = Transaction::ALL
        .into_iter()
        .map(|t| (t.key().to_owned(), transaction_json(f.of(t))));
    s.add(
        Item::keys()
            .with(Line::Blank)
            .with(Line::Table(latencies(f)))
            .key("transactions", Value::Object(each.collect::<Map<_, _>>()))
            .key("p95_ms", ms(f.quantile(0.95))),
    );
    let constraints = f.constraints();
    let json: Vec<Value> = constraints.iter().map(constraint_json).collect();
    let item = Item::keys()
        .with(Line::Blank)
        .with(Line::Plain("constraints".to_owned()))
        .key("constraints", json);
    s.add(
        constraints
            .iter()
            .fold(item, |item, c| item.with(Line::Plain(constraint_line(c)))),
    );
    let seconds: Vec<Value> = d.seconds.iter().map(second_json).collect();
    s.add(Item::keys().key("seconds_each", seconds));
    s
}

/// The workload second by second.
fn over_time(d: &run::Summary) -> Section {
    let line = |f: &dyn Fn(&Second) -> Option<f64>| {
        d.seconds.iter().map(|s| (s.at as f64, f(s))).collect()
    };
    let chart = |title: &str, unit: &str, points| Chart {
        title: title.to_owned(),
        unit: unit.to_owned(),
        series: vec![Series::line(title, points)],
        ..Chart::default()
    };
    Section {
        title: "Second by second".to_owned(),
        timelines: vec![Timeline {
            charts: vec![
                chart(
                    "Throughput",
                    "tpmC",
                    line(&|s| Some(s.new_orders as f64 * 60.0)),
                ),
                chart(
                    "95th percentile of New-Order",
                    "ms",
                    line(&|s| ms(s.p95_new_order)),
                ),
            ],
            ..Timeline::default()
        }],
        ..Section::default()
    }
}

/// After the conditions were checked.
pub fn tpcc_check(d: &check::Summary) -> Summary {
    let heading = if d.holds() {
        "All consistency conditions hold"
    } else {
        "Consistency conditions are broken"
    };
    let mut s = Summary::new("bench tpcc check", heading);
    s.add(place("server", &d.server, &d.schema));
    s.add(warehouses(d.warehouses));
    s.add(
        Item::new("duration")
            .line(seconds(d.seconds))
            .number("duration", d.seconds),
    );
    let conditions: Vec<Value> = d
        .conditions
        .iter()
        .map(|c| json!({"number": c.number, "text": c.text, "broken": c.broken, "ok": c.broken == 0}))
        .collect();
    let item = Item::keys()
        .key("holds", d.holds())
        .key("conditions", conditions);
    s.add(d.conditions.iter().fold(item, |item, c| {
        let places = match c.broken {
            0 => String::new(),
            n => format!(": broken in {}", things(n, "place")),
        };
        item.with(Line::Plain(format!(
            "{}  {:>2}  {}{places}",
            verdict(c.broken == 0),
            c.number,
            c.text
        )))
    }));
    s
}

fn place(label: &'static str, server: &str, schema: &str) -> Item {
    Item::new(label)
        .shown(format!("{server}, schema {schema}"))
        .key("server", server)
        .key("schema", schema)
}

fn warehouses(n: u32) -> Item {
    Item::new("warehouses")
        .shown(count(n.into()))
        .key("warehouses", n)
}

fn add_counts(s: &mut Summary, f: &Figures) {
    s.add(
        Item::new("transactions")
            .line(format!(
                "{} ({:.1} per second), {} retries after a deadlock or a lock wait",
                count(f.completed()),
                f.completed() as f64 / f.length.as_secs_f64().max(0.001),
                count(f.retries())
            ))
            .key("completed", f.completed())
            .key("retries", f.retries()),
    );
    let skipped = Item::new("deliveries").key("skipped_deliveries", f.skipped_deliveries);
    s.add(match f.skipped_deliveries {
        0 => skipped,
        n => skipped.line(format!(
            "{} districts without an order to deliver",
            count(n)
        )),
    });
    let under_way = Item::new("unfinished").key("under_way_ms", ms(f.under_way));
    // Longer than any usual transaction: the server is stalled.
    s.add(match f.under_way.filter(|u| *u > Duration::from_secs(1)) {
        None => under_way,
        Some(stalled) => under_way.line(format!(
            "a transaction that started {} before the end has not finished",
            seconds(stalled.as_secs_f64())
        )),
    });
}

fn latencies(f: &Figures) -> Table {
    let text =
        |d: Option<Duration>| d.map_or_else(|| "-".to_owned(), |d| format!("{:.1}", millis(d)));
    let head = [
        "latency in ms",
        "count",
        "share",
        "mean",
        "p50",
        "p95",
        "p99",
        "max",
    ];
    let row = |t: Transaction| {
        let m = f.of(t);
        let share = f.share(t).map(|s| format!("{s:.2} %"));
        vec![
            t.name().to_owned(),
            count(m.completed()),
            share.unwrap_or_else(|| "-".to_owned()),
            text(m.mean()),
            text(m.quantile(0.5)),
            text(m.quantile(0.95)),
            text(m.quantile(0.99)),
            text(m.max()),
        ]
    };
    let head = std::iter::once(head.map(str::to_owned).to_vec());
    Table {
        indent: 2,
        numbers: true,
        rows: head.chain(Transaction::ALL.into_iter().map(row)).collect(),
    }
}

fn constraint_line(c: &Constraint) -> String {
    let found = c.found.map(|f| format!("{f:.2} %"));
    let what = if c.response_time {
        format!("within {} s", c.transaction.limit().as_secs())
    } else {
        "share of the mix".to_owned()
    };
    format!(
        "{}  {:<14}{what:<18}{:>10}  (at least {:.0} %)",
        verdict(c.is_kept()),
        c.transaction.name(),
        found.unwrap_or_else(|| "none finished".to_owned()),
        c.least
    )
}

fn constraint_json(c: &Constraint) -> Value {
    json!({
        "transaction": c.transaction.key(), "about": if c.response_time { "response_time" } else { "mix" },
        "percent": c.found.map(rounded), "least": c.least, "limit_s": c.response_time.then(|| c.transaction.limit().as_secs()),
        "ok": c.is_kept(),
    })
}

fn verdict(good: bool) -> &'static str {
    if good { "[OK]" } else { "[NG]" }
}

fn millis(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

fn ms(d: Option<Duration>) -> Option<f64> {
    d.map(|d| rounded(millis(d)))
}

fn transaction_json(m: &Measured) -> Value {
    json!({
        "count": m.completed(), "committed": m.committed, "rolled_back": m.rolled_back, "retries": m.retries,
        "mean_ms": ms(m.mean()), "p50_ms": ms(m.quantile(0.5)), "p95_ms": ms(m.quantile(0.95)),
        "p99_ms": ms(m.quantile(0.99)), "max_ms": ms(m.max()),
    })
}

fn second_json(s: &Second) -> Value {
    json!({
        "at": s.at, "tpmc": s.new_orders * 60, "transactions": s.transactions, "retries": s.retries,
        "p95_new_order_ms": ms(s.p95_new_order), "p95_ms": ms(s.p95),
    })
}
