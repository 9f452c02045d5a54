//! After the commands of `penstock binlog`.

use super::shared::things;
use super::{Item, Line, Summary};
use crate::transactions::{one_line, title};
use base::units::{bytes, count, printable, seconds};
use binlog_archive::show::Summary as Shown;
use binlog_archive::undo::Summary as Undone;
use binlog_archive::{Changes, Found, Searched, Summary as Archived, shown_time};
use repository::ServerName;
use serde_json::json;

/// Describes what was archived of a binary log.
pub fn binlog_archive(server: &ServerName, d: &Archived) -> Summary {
    let heading = match (d.segments + d.mended.len() as u64, d.exceptions.is_empty()) {
        (0, true) => "Binary log: nothing new",
        (_, true) => "Binary log archived",
        (_, false) => "Binary log archived, with exceptions",
    };
    let mut s = Summary::new("binlog archive", heading);
    s.add(
        Item::new("server")
            .shown(server.as_str())
            .key("server", server.as_str()),
    );
    let source = printable(&d.source);
    s.add(Item::new("source").shown(&source).key("source", &source));
    let place = |place: &Option<(String, u64)>| {
        place
            .as_ref()
            .map(|(file, at)| printable(&format!("{file}:{at}")))
    };
    if let (Some(from), Some(to)) = (place(&d.from), place(&d.to)) {
        s.add(
            Item::new("archived")
                .line(format!("{from} to {to}"))
                .key("from", from)
                .key("to", to),
        );
        s.add(
            Item::new("stored")
                .line(format!(
                    "{} of the log in {}, {} ({})",
                    bytes(d.bytes),
                    bytes(d.stored),
                    things(d.segments, "segment"),
                    things(d.transactions, "transaction"),
                ))
                .key("bytes", d.bytes)
                .key("stored_bytes", d.stored)
                .key("segments", d.segments)
                .key("transactions", d.transactions)
                .key("timeline", d.timeline),
        );
    }
    let last = d.last_time.and_then(|t| i64::try_from(t).ok());
    if let Some(last) = last.and_then(|t| jiff::Timestamp::from_microsecond(t).ok()) {
        let last = last.to_string();
        s.add(
            Item::new("last transaction")
                .shown(&last)
                .key("last_transaction", &last),
        );
    }
    if !d.mended.is_empty() {
        let mended: Vec<String> = d.mended.iter().map(|m| printable(m)).collect();
        s.add(
            Item::new("archived again, as it was lost or damaged")
                .list(&mended)
                .key("archived_again", &mended),
        );
    }
    if d.acknowledged > 0 {
        s.add(
            Item::new("acknowledged")
                .line(format!(
                    "{} times that commits were stored",
                    count(d.acknowledged)
                ))
                .key("acknowledged", d.acknowledged),
        );
    }
    if d.not_waited > 0 {
        s.add(
            Item::new("did not wait")
                .line(format!(
                    "{} commits, which the server confirmed before they were stored",
                    count(d.not_waited)
                ))
                .key("not_waited", d.not_waited),
        );
    }
    if d.reconnects > 0 {
        s.add(
            Item::new("reconnected")
                .line(format!("{} times", count(d.reconnects)))
                .key("reconnects", d.reconnects),
        );
    }
    s.add(
        Item::new("duration")
            .line(seconds(d.seconds))
            .key("seconds", json!(d.seconds)),
    );
    let exceptions: Vec<String> = d.exceptions.iter().map(|e| printable(e)).collect();
    s.add(
        Item::new("exceptions")
            .list(&exceptions)
            .key("exceptions", &exceptions),
    );
    s
}

/// Describes the transactions that were found.
pub fn binlog_find(server: &str, d: &Searched) -> Summary {
    let heading = match (d.found.len() as u64, d.more) {
        (0, _) => "No transaction found".to_owned(),
        (n, false) => format!("{} found", things(n, "transaction")),
        (n, true) => format!("The first {} found", things(n, "transaction")),
    };
    let mut s = Summary::new("binlog find", heading);
    s.add(Item::keys().key("server", server).key("more", d.more));
    let json: Vec<serde_json::Value> = d.found.iter().map(found_json).collect();
    let mut item = Item::keys().key("transactions", json);
    for found in &d.found {
        item = item
            .with(Line::Blank)
            .with(Line::Plain(printable(&title(found))));
        for (_, statement) in &found.statements {
            item = item.with(Line::Plain(printable(&format!(
                "  {}",
                one_line(statement)
            ))));
        }
        for ((schema, table), changes) in &found.changes {
            item = item.with(Line::Plain(printable(&format!(
                "  {schema}.{table}: {}",
                changed(changes)
            ))));
        }
    }
    s.add(item.with(Line::Blank));
    s.add(searched(d));
    s
}

fn searched(d: &Searched) -> Item {
    Item::new("searched")
        .line(format!(
            "{} of {} of the log{}",
            things(d.looked_at, "transaction"),
            bytes(d.kept),
            match d.live {
                true => "",
                false => ", the others by their descriptions",
            }
        ))
        .key("looked_at", d.looked_at)
        .key("kept_bytes", d.kept)
}

/// Describes what was shown.
pub fn binlog_show(server: &str, found: &Searched, d: &Shown) -> Summary {
    let heading = match (d.transactions, found.more) {
        (0, _) => "No transaction found".to_owned(),
        (n, false) => format!("{} shown", things(n, "transaction")),
        (n, true) => format!("The first {} shown", things(n, "transaction")),
    };
    let mut s = Summary::new("binlog show", heading);
    s.add(
        Item::keys()
            .key("server", server)
            .key("transactions", d.transactions)
            .key("statements", d.statements)
            .key("more", found.more),
    );
    let left = match d.left {
        0 => String::new(),
        n => format!(", {} not shown", count(n)),
    };
    s.add(
        Item::new("rows")
            .line(format!("{}{left}", count(d.rows)))
            .key("rows", d.rows)
            .key("rows_left", d.left),
    );
    s.add(columns_by(&d.named_by));
    let unnamed = d.unnamed.iter();
    let unnamed: Vec<String> = unnamed
        .map(|(table, why)| printable(&format!("{table}: {why}")))
        .collect();
    s.add(
        Item::new("columns without names")
            .list(&unnamed)
            .key("unnamed", &d.unnamed),
    );
    s.add(searched(found));
    s
}

/// Where names of columns are from that the log lacks.
fn columns_by(by: &std::collections::BTreeMap<String, String>) -> Item {
    let all = by.iter();
    let all: Vec<String> = all
        .map(|(table, by)| printable(&format!("{table}: {by}")))
        .collect();
    Item::new("names of columns by")
        .list(&all)
        .key("named_by", by)
}

/// Describes the statements that take changes back.
pub fn binlog_undo(server: &str, d: &Undone) -> Summary {
    let heading = match d.statements {
        0 => "No change of a row found, and no file written",
        _ => "Statements written, and none of them run",
    };
    let mut s = Summary::new("binlog show", heading);
    s.add(Item::keys().key("server", server));
    if let Some(file) = &d.file {
        s.add(Item::new("file").shown(file).key("file", file));
    }
    s.add(
        Item::new("takes back")
            .line(format!(
                "{}, {}",
                things(d.transactions, "transaction"),
                things(d.statements, "change")
            ))
            .key("transactions", d.transactions)
            .key("statements", d.statements),
    );
    if let Some((first, last)) = &d.range {
        s.add(Item::new("from").shown(first).key("first", first));
        s.add(Item::new("to").shown(last).key("last", last));
    }
    let tables: Vec<String> = d
        .tables
        .iter()
        .map(|(table, n)| printable(&format!("{table}: {}", things(*n, "change"))))
        .collect();
    s.add(Item::new("tables").list(&tables).key("tables", &d.tables));
    s.add(
        Item::new("left out")
            .line(format!(
                "{} and {} about anything else",
                things(d.left, "row"),
                things(d.left_statements, "statement")
            ))
            .key("rows_left", d.left)
            .key("statements_left", d.left_statements),
    );
    let notes: Vec<String> = d.notes.iter().map(|n| printable(n)).collect();
    s.add(Item::new("notes").list(&notes).key("notes", &notes));
    s
}

fn changed(c: &Changes) -> String {
    let parts = [
        (c.inserted, "inserted"),
        (c.updated, "changed"),
        (c.deleted, "deleted"),
    ];
    let parts = parts.iter().filter(|(n, _)| *n > 0);
    let words: Vec<String> = parts
        .map(|(n, what)| format!("{} {what}", things(*n, "row")))
        .collect();
    words.join(", ")
}

fn found_json(f: &Found) -> serde_json::Value {
    let changes = f.changes.iter().map(|((schema, table), c)| {
        json!({
            "schema": schema, "table": table,
            "inserted": c.inserted, "updated": c.updated, "deleted": c.deleted,
        })
    });
    json!({
        "gtid": f.transaction.gtid.as_ref().map(ToString::to_string),
        "time": shown_time(f.transaction.time),
        "timeline": f.timeline,
        "file": f.file,
        "start": f.transaction.start,
        "end": f.transaction.end,
        "session": f.thread,
        "statements": f.statements.iter().map(|(_, s)| s).collect::<Vec<_>>(),
        "changes": changes.collect::<Vec<_>>(),
    })
}
