//! After a dump.

use super::shared::{
    duration_with_rows, exceptions_sentence, histograms, impact_on_others, not_in_archives,
    objects, rate, rows, things, throughput,
};
use super::{Item, Summary};
use crate::record::Better;
use base::units::{bytes, count, printable, seconds};
use serde_json::json;

/// Describes a dump that is complete but for its exceptions.
pub fn dump(d: &dump::Summary) -> Summary {
    let heading = if d.exceptions.is_empty() {
        "Dump complete"
    } else {
        "Dump complete, with exceptions"
    };
    let mut s = Summary::new("dump", heading);
    s.title = format!("Dump of {}", d.source);
    s.story = story(d);
    s.add(Item::new("from").shown(&d.source).key("source", &d.source));
    for item in amounts(d) {
        s.add(item);
    }
    s.add(stored(d));
    if let Some(taken) = &d.taken_over {
        for item in taken_over(taken) {
            s.add(item);
        }
    }
    for item in consistency(d) {
        s.add(item);
    }
    if let Some(read) = &d.files_read {
        let from_files = Item::new("read from files").line(things(read.tables, "table"));
        s.add(from_files.key("tables_from_files", read.tables));
        let by_sql = Item::new("read by SQL").list(&read.by_sql);
        s.add(by_sql.key("read_by_sql", &read.by_sql));
    }
    s.add(duration_with_rows(d.seconds, d.rows_seconds, "the rows"));
    s.add(throughput(read_bytes(d), d.rows_seconds, d.threads));
    s.add_bottleneck(d.bottleneck.as_ref());
    for item in impact_on_others(d.impact.as_ref()) {
        s.add(item);
    }
    s.add(accounts(d.accounts));
    s.add(left_out(d.without_rows, &d.not_chosen));
    s.add(rows_that_match(&d.chosen));
    s.add(histograms(d.histograms));
    s.add(not_in_archives(
        d.accounts.is_some(),
        d.histograms.is_some(),
    ));
    let not_seen = Item::new("not seen").list(&d.not_seen);
    s.add(not_seen.key("not_seen", &d.not_seen));
    s.add_exceptions(&d.exceptions);
    let path = d.path.clone();
    s.add(Item::new("archive").shown(&path).key("archive", path));
    s
}

/// So many tables that were read again are shown, each with its reason.
const READ_AGAIN: usize = 20;

/// Bytes of rows that were read, and not taken over.
fn read_bytes(d: &dump::Summary) -> u64 {
    let taken = d.taken_over.as_ref().map_or(0, |t| t.raw_bytes);
    // What was kept of a table that cannot be read any more is not in the archive.
    d.raw_bytes.saturating_sub(taken)
}

/// What is the same as in an earlier backup, and what had to be read again.
fn taken_over(t: &dump::TakenOver) -> [Item; 2] {
    let mut taken = Item::new("taken over").key(
        "taken_over",
        json!({
            "from": t.from, "tables": t.tables, "rows": t.rows, "raw_bytes": t.raw_bytes, "stored_bytes": t.stored_bytes,
            "nothing": t.nothing, "compared_rows": t.compared_rows,
        }),
    );
    taken = match &t.nothing {
        Some(why) => taken.shown(printable(&format!("nothing of {}: {why}", t.from))),
        None => taken.shown(format!(
            "{} with {} ({}) of {}, unchanged by the binary log",
            things(t.tables, "table"),
            things(t.rows, "row"),
            bytes(t.raw_bytes),
            t.from
        )),
    };
    if let Some(rows) = t.compared_rows {
        taken = taken.line(format!(
            "{} of them were read and are equal",
            things(rows, "row")
        ));
    }
    let mut lines = t.read_again.clone();
    if lines.len() > READ_AGAIN {
        let more = (lines.len() - READ_AGAIN) as u64;
        lines.truncate(READ_AGAIN);
        lines.push(format!(
            "and {} more (--json names them)",
            things(more, "table")
        ));
    }
    let again = Item::new("read again").list(&lines);
    [taken, again.key("read_again", &t.read_again)]
}

/// The rows that are not wanted: all, or those that do not match a condition.
pub(super) fn left_out(without_rows: bool, not_chosen: &[String]) -> Item {
    let rows = without_rows.then(|| "the rows of all tables (--ddl-only)".to_owned());
    let all: Vec<String> = rows.into_iter().chain(not_chosen.iter().cloned()).collect();
    Item::new("left out").list(&all).key("left_out", &all)
}

/// How many rows match the condition of a table.
fn rows_that_match(chosen: &[dump::Chosen]) -> Item {
    let line = |c: &dump::Chosen| {
        let (rows, all) = (things(c.rows, "row"), count(c.rows_estimate));
        format!("{rows} of {}, of about {all}", c.table)
    };
    let json = |c: &dump::Chosen| json!({"table": c.table, "rows": c.rows, "rows_estimate": c.rows_estimate});
    let lines: Vec<String> = chosen.iter().map(line).collect();
    let keys: Vec<_> = chosen.iter().map(json).collect();
    Item::new("rows that match")
        .list(&lines)
        .key("rows_that_match", keys)
}

/// Accounts that are in the archive.
pub(super) fn accounts(accounts: Option<u64>) -> Item {
    let item = Item::new("accounts").key("accounts", accounts);
    match accounts {
        Some(n) => item.line(format!(
            "{}, with the hashes of their passwords",
            things(n, "account or role").replace("account or roles", "accounts and roles")
        )),
        None => item,
    }
}

/// What was read of the source.
pub(super) fn amounts(d: &dump::Summary) -> [Item; 3] {
    [
        objects(d.schemas, d.tables, d.views)
            .key("schemas", d.schemas)
            .key("tables", d.tables)
            .key("views", d.views),
        rows(d.rows),
        Item::new("row data")
            .line(bytes(d.raw_bytes))
            .key("raw_bytes", d.raw_bytes)
            .figure(d.raw_bytes as f64, "B", Better::Neither),
    ]
}

/// How many times smaller the archive is.
fn ratio(d: &dump::Summary) -> f64 {
    read_bytes(d) as f64 / d.stored_bytes.max(1) as f64
}

fn stored(d: &dump::Summary) -> Item {
    let chunks = things(d.chunks, "chunk");
    let method = d.compression.to_string();
    Item::new("stored")
        .line(format!(
            "{} in {chunks} (ratio {:.1}, {method})",
            bytes(d.stored_bytes),
            ratio(d)
        ))
        .key("stored_bytes", d.stored_bytes)
        .key("chunks", d.chunks)
        .key("compression", &method)
        .figure_with_note(
            d.stored_bytes as f64,
            "B",
            Better::Lower,
            format!("{chunks}, {method}"),
        )
}

/// How the snapshot was taken, and at which position.
pub(super) fn consistency(d: &dump::Summary) -> Vec<Item> {
    let a = &d.achieved;
    let p = &a.position;
    let mut lock = Item::new("read lock")
        .number("lock_ms", a.lock_ms)
        .number("lock_wait_ms", a.wait_ms);
    if a.lock_ms > 0.0 {
        let waited = format!("waited for {:.1} ms", a.wait_ms);
        lock = lock
            .line(format!("held {:.1} ms, {waited}", a.lock_ms))
            .figure_with_note(a.lock_ms, "ms", Better::Lower, waited);
    }
    let mut binlog = Item::new("binary log")
        .key("binlog_file", &p.binlog_file)
        .key("binlog_position", p.binlog_position);
    if let (Some(file), Some(at)) = (&p.binlog_file, p.binlog_position) {
        binlog = binlog.shown(format!("{file}:{at}"));
    }
    if let Some(why) = &a.no_position {
        binlog = binlog.line(why.clone()).key("no_position", why);
    }
    let mut gtid = Item::new("GTID")
        .key("gtid_executed", &p.gtid_executed)
        .key("gtid_binlog_pos", &p.gtid_binlog_pos);
    if let Some(set) = p.gtid_executed.as_ref().or(p.gtid_binlog_pos.as_ref()) {
        gtid = gtid.shown(set);
    }
    let mode = Item::new("consistency").shown(&a.mode);
    let mut all = vec![mode.key("consistency", &a.mode), lock, binlog, gtid];
    all.extend(sources(p));
    all
}

/// On a replica, the place in the logs of its sources.
fn sources(p: &server::Position) -> Vec<Item> {
    let json = p.sources.iter().map(|s| {
        let mut of = json!({
            "channel": s.channel, "host": s.host, "port": s.port, "server_id": s.server_id, "file": s.file,
            "position": s.position, "exact": s.exact,
        });
        if let Some(uuid) = &s.server_uuid {
            of["server_uuid"] = json!(uuid);
        }
        of
    });
    let mut places = Item::new("replica of").key("sources", json.collect::<Vec<_>>());
    for s in &p.sources {
        let channel = match s.channel.as_str() {
            "" => String::new(),
            name => format!(" (channel {name})"),
        };
        let place = match s.file.as_str() {
            "" => "nothing was received from it yet".to_owned(),
            file => format!("at {file}:{}", s.position),
        };
        // With GTIDs the set says it exactly.
        let doubt = if s.exact || p.gtid_executed.is_some() {
            ""
        } else {
            ", OR A LITTLE LATER: how far each worker of its applier is is unknown, or nothing was locked when it was read"
        };
        let text = format!("{}:{}{channel}, {place}{doubt}", s.host, s.port);
        places = places.shown(printable(&text));
    }
    if let Some(grant) = &p.sources_hidden {
        places = places.line(format!(
            "unknown: to see whether this server is a replica, and where it stands, the account needs {grant}"
        ));
    }
    let mut gtid = Item::new("GTID as replica").key("gtid_slave_pos", &p.gtid_slave_pos);
    if let Some(set) = &p.gtid_slave_pos {
        gtid = gtid.shown(set);
    }
    vec![places, gtid]
}

fn story(d: &dump::Summary) -> Vec<String> {
    let smaller = if ratio(d) < 1.05 || d.taken_over.is_some() {
        String::new()
    } else {
        format!(", {:.1} times smaller", ratio(d))
    };
    let snapshot = match exceptions_sentence(d.exceptions.len()) {
        Some(sentence) => sentence,
        None if d.achieved.lock_ms > 0.0 => format!(
            "It is one consistent snapshot; the read lock for it was granted after {:.1} ms and held for {:.1} ms.",
            d.achieved.wait_ms, d.achieved.lock_ms
        ),
        None => format!("Consistency: {}.", d.achieved.mode),
    };
    if d.without_rows {
        return vec![
            format!(
                "The definitions of {} were dumped, without their rows.",
                things(d.tables, "table")
            ),
            snapshot,
        ];
    }
    vec![
        format!(
            "{} in {} ({} of row data) were dumped in {}, at {} by {}; they are stored as {}{smaller}.",
            things(d.rows, "row"),
            things(d.tables, "table"),
            bytes(d.raw_bytes),
            seconds(d.seconds),
            rate(read_bytes(d), d.rows_seconds),
            things(d.threads as u64, "worker"),
            bytes(d.stored_bytes),
        ),
        snapshot,
        "Every file has a digest in the archive; the archive has not been loaded yet.".to_owned(),
    ]
}
