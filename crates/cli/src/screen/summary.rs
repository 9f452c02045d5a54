//! The summary at the end of a run: aligned lines for people, in the manner of MySQL Shell, and one
//! JSON object for programs.

use super::round;
use base::units::{bytes, count, printable, seconds};
use dump::{self, Compression};
use run::bottleneck::Report;
use run::throttle;

mod control;
mod impact;
mod tpcc;
mod tuning;
pub use control::{
    limits, limits_json, run_line, runs, runs_json, silent_line, stopped, stopped_json,
};
pub use impact::{impact, impact_json};
pub use tpcc::{tpcc_check, tpcc_check_json, tpcc_load, tpcc_load_json, tpcc_run, tpcc_run_json};
pub use tuning::{doctor, doctor_json};

use serde_json::{Value, json};
use std::fmt::Write;

/// Builds aligned `name: value` lines.
struct Lines(String);

impl Lines {
    fn new(title: &str) -> Lines {
        Lines(format!("\n{title}\n"))
    }

    fn throughput(&mut self, bytes: u64, time: f64, workers: usize) {
        let workers = things(&[(workers as u64, "worker")]);
        self.add(
            "throughput",
            format!("{} of row data, {workers}", rate(bytes, time)),
        );
    }

    fn objects(&mut self, schemas: u64, tables: u64, views: u64, rows: u64) {
        let objects = [(schemas, "schema"), (tables, "table"), (views, "view")];
        self.add("objects", things(&objects));
        self.add("rows", count(rows));
    }

    fn add(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "  {name:<20}{}", printable(&value.to_string()));
    }

    /// The bottleneck, and what could be faster.
    fn bottleneck(&mut self, report: Option<&Report>) {
        let Some(r) = report else { return };
        self.add("bottleneck", &r.sentence);
        for s in &r.suggestions {
            self.add("suggestion", report::figures::suggestion(s));
        }
    }

    /// The impact on the server's other users.
    fn impact(&mut self, report: Option<&throttle::Report>) {
        let Some(r) = report else { return };
        if let Some(effect) = r.effect {
            let before = r.baseline.and_then(|u| u.mean);
            let before = before.map_or(String::new(), |m| {
                format!("; {:.2} ms per statement before", m * 1e3)
            });
            self.add(
                "impact",
                format!(
                    "{:.1} % of latency and throughput{before}",
                    effect.max(0.0) * 100.0
                ),
            );
        }
        if let Some(s) = r.baseline_shift.filter(|s| *s >= LEAST_SHIFT) {
            self.add(
                "baseline shift",
                format!(
                    "statements took {:.0} % longer in pauses of the dump than before it: the cost of the open snapshot, or a workload that grew",
                    s * 100.0
                ),
            );
        }
        if r.rested + r.paused >= 0.5 {
            let mut parts = vec![format!("{} to measure the impact", seconds(r.rested))];
            if r.paused > 0.0 {
                parts.push(format!("{} because of a limit", seconds(r.paused)));
            }
            self.add("paused for", parts.join(", "));
        }
        if let Some(n) = r.history {
            self.add("history list", format!("{} at most", count(n)));
        }
        if let Some(s) = r.lag {
            self.add("replica lag", format!("{s:.0} s at most"));
        }
    }

    fn list(&mut self, title: &str, items: &[String]) {
        if !items.is_empty() {
            let _ = writeln!(self.0, "  {title}:");
            for item in items {
                let _ = writeln!(self.0, "    - {}", printable(item));
            }
        }
    }
}

fn rate(amount: u64, time: f64) -> String {
    format!("{}/s", bytes((amount as f64 / time.max(0.001)) as u64))
}

fn things(parts: &[(u64, &str)]) -> String {
    parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{} {word}{}", count(*n), if *n == 1 { "" } else { "s" }))
        .collect::<Vec<_>>()
        .join(", ")
}

fn method(c: Compression) -> String {
    match c {
        Compression::None => "none".to_owned(),
        Compression::Zstd(level) => format!("zstd:{level}"),
        Compression::Gzip => "gzip".to_owned(),
    }
}

/// After a dump.
pub fn dump(d: &dump::Summary) -> String {
    let title = if d.exceptions.is_empty() {
        "Dump complete"
    } else {
        "Dump complete, with exceptions"
    };
    let mut l = Lines::new(title);
    l.add("from", &d.source);
    l.objects(d.schemas, d.tables, d.views, d.rows);
    l.add("row data", bytes(d.raw_bytes));
    let ratio = d.raw_bytes as f64 / d.stored_bytes.max(1) as f64;
    l.add(
        "stored",
        format!(
            "{} in {} (ratio {ratio:.1}, {})",
            bytes(d.stored_bytes),
            things(&[(d.chunks, "chunk")]),
            method(d.compression)
        ),
    );
    l.add("consistency", &d.achieved.mode);
    if d.achieved.lock_ms > 0.0 {
        l.add(
            "read lock",
            format!(
                "held {:.1} ms, waited for {:.1} ms",
                d.achieved.lock_ms, d.achieved.wait_ms
            ),
        );
    }
    let p = &d.achieved.position;
    if let (Some(file), Some(at)) = (&p.binlog_file, p.binlog_position) {
        l.add("binary log", format!("{file}:{at}"));
    }
    if let Some(gtid) = p.gtid_executed.as_ref().or(p.gtid_binlog_pos.as_ref()) {
        l.add("GTID", gtid);
    }
    l.add(
        "duration",
        format!(
            "{} ({} for the rows)",
            seconds(d.seconds),
            seconds(d.rows_seconds)
        ),
    );
    l.throughput(d.raw_bytes, d.rows_seconds, d.threads);
    l.bottleneck(d.bottleneck.as_ref());
    l.impact(d.impact.as_ref());
    l.list("exceptions", &d.exceptions);
    l.add("archive", d.path.display());
    l.0
}

/// The same for programs.
pub fn dump_json(d: &dump::Summary) -> Value {
    let p = &d.achieved.position;
    json!({
        "event": "summary", "job": "dump", "archive": d.path, "source": d.source,
        "schemas": d.schemas, "tables": d.tables, "views": d.views, "rows": d.rows,
        "raw_bytes": d.raw_bytes, "stored_bytes": d.stored_bytes, "chunks": d.chunks,
        "duration": round(d.seconds), "rows_duration": round(d.rows_seconds), "workers": d.threads,
        "compression": method(d.compression), "consistency": d.achieved.mode,
        "lock_ms": round(d.achieved.lock_ms), "lock_wait_ms": round(d.achieved.wait_ms),
        "binlog_file": p.binlog_file, "binlog_position": p.binlog_position,
        "gtid_executed": p.gtid_executed, "gtid_binlog_pos": p.gtid_binlog_pos,
        "bottleneck": d.bottleneck.as_ref().map(bottleneck_json),
        "impact": d.impact.as_ref().map(impact_json_of),
        "exceptions": d.exceptions,
    })
}

/// The impact on others, and the pauses.
fn impact_json_of(r: &throttle::Report) -> Value {
    json!({
        "latency_from": r.source,
        "baseline": r.baseline.map(|u| json!({"statements_per_second": round(u.statements), "mean_seconds": u.mean, "p95_seconds": u.p95})),
        "effect": r.effect.map(round), "baseline_shift": r.baseline_shift.map(round), "paused_seconds": round(r.paused), "compared_seconds": round(r.rested),
        "history_list": r.history, "replica_lag_seconds": r.lag,
    })
}

/// After a load.
pub fn load(d: &load::Summary) -> String {
    let title = if d.exceptions.is_empty() {
        "Load complete"
    } else {
        "Load complete, with exceptions"
    };
    let mut l = Lines::new(title);
    l.add("into", &d.target);
    l.add("from", &d.archive);
    // For another tool's dump these are known only after it has been read.
    if d.schemas > 0 || !d.already_complete {
        l.objects(d.schemas, d.tables, d.views, d.rows);
    }
    if d.already_complete {
        l.add(
            "loaded",
            "nothing to do: the interrupted load had already completed",
        );
    }
    let all = bytes(d.raw_bytes + d.already_loaded_bytes);
    match d.already_loaded_bytes {
        0 => l.add("row data", all),
        there => l.add(
            "row data",
            format!("{all}, of which {} were already loaded", bytes(there)),
        ),
    }
    l.add(
        "duration",
        format!(
            "{} ({} for the rows)",
            seconds(d.seconds),
            seconds(d.rows_seconds)
        ),
    );
    // All rows may have been loaded before.
    if d.raw_bytes > 0 {
        l.throughput(d.raw_bytes, d.rows_seconds, d.threads);
    }
    match &d.verified {
        Some(v) => l.add(
            "verified",
            format!(
                "equal: {} in {} have the archive's digests ({})",
                things(&[(v.rows, "row")]),
                things(&[(v.tables, "table")]),
                seconds(v.seconds)
            ),
        ),
        None if !d.digests => l.add("verified", COUNTED),
        None => l.add(
            "verified",
            "NOT VERIFIED (--no-verify): the target's rows were not compared with the archive",
        ),
    }
    add_import(&mut l, &d.import);
    if let Some(own) = &d.managed {
        add_datadir(&mut l, own);
    }
    for c in &d.batch_sizes {
        let found = match (c.chunks, c.gain) {
            (1, _) => "one at a time is the fastest".to_owned(),
            (n, gain) => format!("{n} at a time, {gain} % faster than one at a time"),
        };
        let tried: Vec<String> = c.tried.iter().map(|(n, _)| n.to_string()).collect();
        let found = format!("{found} (tried {})", tried.join(", "));
        l.add("batch size", format!("{}: {found}", printable(&c.table)));
    }
    l.bottleneck(d.bottleneck.as_ref());
    tuning::add(&mut l, &d.tuning);
    l.list("adapted", &d.notes);
    l.list("exceptions", &d.exceptions);
    l.0
}

/// Tables imported as tablespaces, and why the others were not.
fn add_import(l: &mut Lines, d: &load::tablespace::ImportSummary) {
    if !d.tables.is_empty() {
        l.add(
            "as tablespaces",
            format!(
                "{}, {} of row data, {} of files, built, imported and verified in {} ({}){}",
                things(&[(d.tables.len() as u64, "table")]),
                bytes(d.raw_bytes),
                bytes(d.bytes),
                seconds(d.seconds),
                rate(d.bytes, d.seconds),
                d.downtime_seconds.map_or_else(String::new, |down| format!(
                    "; the server was stopped for {} of it",
                    seconds(down)
                )),
            ),
        );
    }
    for (why, tables) in &d.reasons {
        let shown: Vec<String> = tables.iter().take(3).map(|t| printable(t)).collect();
        let more = match tables.len().saturating_sub(3) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        l.add(
            "by SQL",
            format!("{}{more}: {}", shown.join(", "), printable(why)),
        );
    }
    for key in &d.indexes_built_by_server {
        l.add(
            "index",
            format!("{}: built by the server after import", printable(key)),
        );
    }
}

/// A baseline shift below this share gets no line.
const LEAST_SHIFT: f64 = 0.03;

/// What is known of rows without digests.
const COUNTED: &str = "counted: the server stored every row that was sent, without a warning; this kind of dump has no digests to compare with";

/// The same for programs.
pub fn load_json(d: &load::Summary) -> Value {
    json!({
        "event": "summary", "job": "load", "archive": d.archive, "target": d.target,
        "schemas": d.schemas, "tables": d.tables, "views": d.views, "rows": d.rows,
        "raw_bytes": d.raw_bytes, "already_loaded_bytes": d.already_loaded_bytes, "already_complete": d.already_complete, "skipped_statements": d.skipped_statements,
        "duration": round(d.seconds), "rows_duration": round(d.rows_seconds), "workers": d.threads,
        "verified": d.verified.as_ref().map(|v| json!({"tables": v.tables, "rows": v.rows, "duration": round(v.seconds)})),
        "bottleneck": d.bottleneck.as_ref().map(bottleneck_json),
        "import": json!({
            "files": d.import.tables, "raw_bytes": d.import.raw_bytes, "bytes": d.import.bytes, "duration": round(d.import.seconds),
            "rows": d.import.reasons.iter().map(|(why, tables)| json!({"reason": why, "tables": tables})).collect::<Vec<_>>(),
            "indexes_built_by_server": d.import.indexes_built_by_server, "downtime_seconds": d.import.downtime_seconds.map(round),
        }),
        "batch_size": d.batch_sizes.iter().map(|c| json!({
            "table": c.table, "chunks": c.chunks, "gain_percent": c.gain,
            "tried": c.tried.iter().map(|(n, rate)| json!({"chunks": n, "bytes_per_second": rate})).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "digests": d.digests,
        "adapted": d.notes, "exceptions": d.exceptions, "tuning": tuning::json(&d.tuning),
        "datadir": d.managed.as_ref().map(|own| json!({
            "directory": own.folder, "program": own.program, "made": own.made.map(round), "root_has_password": own.password,
        })),
    })
}

/// The data directory that a load has initialized.
fn add_datadir(l: &mut Lines, made: &instance::managed::Summary) {
    let initialized = made
        .made
        .map(|s| format!("; initialized in {}", seconds(s)));
    let directory = printable(&made.folder.display().to_string());
    l.add(
        "data directory",
        format!(
            "{directory}: its temporary server is shut down, start your service on it{}",
            initialized.unwrap_or_default()
        ),
    );
    if !made.password {
        l.add(
            "root",
            "HAS NO PASSWORD there: a password given with -p or PENSTOCK_PASSWORD becomes root's",
        );
    }
}

/// After an offline check.
pub fn offline(d: &verify::Offline) -> String {
    let mut l = Lines::new("Archive is intact");
    l.add("archive", d.path.display());
    l.add("files", format!("{}, {}", count(d.files), bytes(d.bytes)));
    l.add("rows", count(d.rows));
    if !d.digests {
        l.add(
            "digests",
            "none: penstock did not write it, so only structure, sizes and counts were checked",
        );
    }
    l.add(
        "duration",
        format!("{} ({})", seconds(d.seconds), rate(d.bytes, d.seconds)),
    );
    l.0
}

/// The same for programs.
pub fn offline_json(d: &verify::Offline) -> Value {
    json!({
        "event": "summary", "job": "verify", "archive": d.path, "files": d.files, "bytes": d.bytes,
        "rows": d.rows, "digests": d.digests, "duration": round(d.seconds), "equal": true,
    })
}

/// After a check of tablespace files.
pub fn tablespaces(d: &verify::Tablespaces) -> String {
    let title = if d.files.len() == 1 {
        "Tablespace is intact"
    } else {
        "Tablespaces are intact"
    };
    let mut l = Lines::new(title);
    for f in &d.files {
        l.add("file", printable(&f.path.display().to_string()));
        if let Some(table) = &f.table {
            l.add("table", printable(table));
        }
        l.add("pages", count(f.pages.into()));
        for i in &f.indexes {
            let name = match &i.name {
                Some(name) => printable(name),
                None if i.id == u64::MAX => "(dictionary)".to_owned(),
                None => format!("number {}", i.id),
            };
            let amount = |n: u64, word: &str| {
                format!("{} {word}{}", count(n), if n == 1 { "" } else { "s" })
            };
            let mut text = format!(
                "{name}: {} in {}",
                amount(i.records, "record"),
                amount(i.pages.into(), "page")
            );
            if i.outside > 0 {
                text += &format!(", {} of long values", amount(i.outside.into(), "page"));
            }
            text += &format!(", {}", amount(i.levels.into(), "level"));
            match (i.ordered, i.unordered) {
                (0, 0) => {}
                (_, 0) => text += ", in order",
                (_, n) => {
                    text += &format!(
                        ", in order except for {} with an unknown collation",
                        amount(n, "pair")
                    );
                }
            }
            l.add("index", text);
        }
    }
    l.add(
        "duration",
        format!("{} ({})", seconds(d.seconds), rate(d.bytes, d.seconds)),
    );
    l.0
}

/// The same for programs.
pub fn tablespaces_json(d: &verify::Tablespaces) -> Value {
    json!({
        "event": "summary", "job": "verify", "duration": round(d.seconds), "bytes": d.bytes, "equal": true,
        "tablespaces": d.files.iter().map(|f| json!({
            "path": f.path, "table": f.table, "pages": f.pages,
            "indexes": f.indexes.iter().map(|i| json!({
                "id": i.id, "name": i.name, "root": i.root, "levels": i.levels, "pages": i.pages,
                "outside_pages": i.outside, "records": i.records, "ordered": i.ordered, "unordered": i.unordered,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

/// After a comparison that found everything equal.
pub fn compared(d: &verify::Comparison) -> String {
    let mut l = Lines::new("Equal");
    l.add("left", &d.left);
    l.add("right", &d.right);
    l.add("compared", things(&[(d.tables, "table"), (d.rows, "row")]));
    l.add(
        "duration",
        format!(
            "{} ({} of row data)",
            seconds(d.seconds),
            rate(d.bytes, d.seconds)
        ),
    );
    l.0
}

/// The same for programs.
pub fn compared_json(d: &verify::Comparison) -> Value {
    json!({
        "event": "summary", "job": "verify", "left": d.left, "right": d.right, "tables": d.tables,
        "rows": d.rows, "bytes": d.bytes, "duration": round(d.seconds), "equal": true,
    })
}

/// The bottleneck, for programs.
fn bottleneck_json(r: &Report) -> Value {
    let shares: serde_json::Map<String, Value> = r
        .shares
        .iter()
        .map(|s| (s.class.name().to_owned(), round(s.share).into()))
        .collect();
    json!({
        "dominant": r.dominant.name(), "sentence": r.sentence, "seconds": round(r.seconds), "cores": r.cores,
        "client_cpu": round(r.client_cpu), "server_cpu": r.server_cpu.map(round), "other_cpu": r.other_cpu.map(round),
        "worker_time": shares,
        "suggestions": r.suggestions.iter().map(|a| json!({"try": a.what, "why": a.why, "gain_up_to": round(a.gain)})).collect::<Vec<_>>(),
        "not_measured": r.not_measured,
    })
}
