//! What an archive says of itself.

use super::continues::{Copy, continues};
use super::shared::{objects, things};
use super::{Item, Line, Summary, Table};
use base::units::{bytes, count, printable};
use rows::description::{Description, SchemaDescription, TableDescription};
use serde_json::{Value, json};

/// Describes an archive.
pub fn archive(d: &Description) -> Summary {
    let mut s = Summary::new("list", "Archive");
    s.add(
        Item::new("archive")
            .shown(&d.place)
            .key("archive", &d.place),
    );
    let digests = match d.digests {
        true => "",
        false => "; without digests",
    };
    s.add(
        Item::new("written by")
            .shown(format!("{}{digests}", d.tool))
            .key("tool", &d.tool)
            .key("digests", d.digests),
    );
    s.add(from(d));
    s.add(made(d));
    let tables = d.schemas.iter().map(|s| s.tables.len() as u64).sum();
    let views = d.schemas.iter().map(|s| s.views.len() as u64).sum();
    s.add(objects(d.schemas.len() as u64, tables, views));
    let rows = d.rows();
    let known = |n: Option<u64>| n.map_or_else(|| "not known".to_owned(), count);
    s.add(Item::new("rows").line(known(rows)).key("rows", rows));
    let raw = d.raw_bytes();
    let size = raw.map_or_else(|| "not known".to_owned(), bytes);
    s.add(Item::new("row data").line(size).key("raw_bytes", raw));
    let stored = d.stored_bytes();
    s.add(
        Item::new("stored")
            .line(bytes(stored))
            .key("stored_bytes", stored),
    );
    s.add(
        Item::new("consistency")
            .shown(&d.consistency)
            .key("consistency", &d.consistency),
    );
    let selected = Item::new("selection").key("selection", &d.selected);
    s.add(match d.selected.is_empty() {
        true => selected,
        false => selected.shown(printable(&d.selected.join(" "))),
    });
    for item in position(d) {
        s.add(item);
    }
    s.add(accounts(d.accounts.as_deref()));
    s.add(schemas(&d.schemas));
    s.add(
        Item::new("damaged")
            .list(&d.damaged)
            .key("damaged", &d.damaged),
    );
    s.add_dumped_with(&d.exceptions);
    s
}

/// From which server.
fn from(d: &Description) -> Item {
    let of = &d.source;
    let mut server = of.version.clone();
    if !of.flavour.is_empty() {
        server = format!("{} {server}", of.flavour);
    }
    if !of.hostname.is_empty() {
        server = format!("{server} on {}", of.hostname);
        if of.port > 0 {
            server = format!("{server}:{}", of.port);
        }
    }
    Item::new("from").shown(server).key(
        "source",
        json!({
            "flavour": of.flavour, "version": of.version, "uuid": of.uuid,
            "host": of.hostname, "port": of.port,
        }),
    )
}

/// When, to the second.
fn made(d: &Description) -> Item {
    let when = |text: &str| printable(&text.chars().take(19).collect::<String>().replace('T', " "));
    Item::new("made")
        .shown(format!("{} to {} (UTC)", when(&d.begin), when(&d.end)))
        .key("begin", &d.begin)
        .key("end", &d.end)
}

/// The place in the binary log.
fn position(d: &Description) -> Vec<Item> {
    let p = &d.position;
    let mut binlog = Item::new("binary log")
        .key("binlog_file", &p.binlog_file)
        .key("binlog_position", p.binlog_position);
    if let (Some(file), Some(at)) = (&p.binlog_file, p.binlog_position) {
        binlog = binlog.shown(format!("{file}:{at}"));
    }
    let mut gtid = Item::new("GTID")
        .key("gtid_executed", &p.gtid_executed)
        .key("gtid_binlog_pos", &p.gtid_binlog_pos);
    if let Some(set) = p.gtid_executed.as_ref().or(p.gtid_binlog_pos.as_ref()) {
        gtid = gtid.shown(set);
    }
    let mut of = Item::new("replica of").key("sources", &p.sources);
    for s in &p.sources {
        let place = match (s.file.as_str(), s.exact) {
            ("", _) => "nothing was received from it yet".to_owned(),
            (file, true) => format!("at {file}:{}", s.position),
            (file, false) => format!("at {file}:{}, or a little later", s.position),
        };
        of = of.shown(printable(&format!("{}:{}, {place}", s.host, s.port)));
    }
    let mut as_replica = Item::new("GTID as replica").key("gtid_slave_pos", &p.gtid_slave_pos);
    if let Some(set) = &p.gtid_slave_pos {
        as_replica = as_replica.shown(set);
    }
    let mut all = vec![binlog, gtid, of, as_replica];
    // What MySQL Shell writes does not say which flavour and version of statements fits; without all rows it is no beginning.
    if d.digests && !d.lacks_rows {
        all.push(continues(p, &d.source, Copy::Rows(None)));
    }
    all
}

fn accounts(accounts: Option<&[String]>) -> Item {
    let item = Item::new("accounts").key("accounts", accounts);
    match accounts {
        None => item.line("none: penstock load has none to make"),
        Some(all) => item.line(things(all.len() as u64, "account")).list(all),
    }
}

/// A table of the schemas, and all of their tables for programs.
fn schemas(all: &[SchemaDescription]) -> Item {
    let of_table = |t: &TableDescription| {
        json!({
            "name": t.name, "rows": t.rows, "raw_bytes": t.raw_bytes, "stored_bytes": t.stored_bytes,
            "chunks": t.chunks, "triggers": t.triggers,
        })
    };
    let json: Vec<Value> = all
        .iter()
        .map(|s| {
            let tables: Vec<Value> = s.tables.iter().map(of_table).collect();
            json!({"name": s.name, "tables": tables, "views": s.views, "routines": s.routines, "events": s.events})
        })
        .collect();
    let head = [
        "schema", "tables", "views", "routines", "triggers", "events", "rows", "data", "stored",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for s in all {
        let sum = |of: fn(&TableDescription) -> Option<u64>| -> Option<u64> {
            s.tables.iter().map(of).sum()
        };
        let known =
            |n: Option<u64>, text: fn(u64) -> String| n.map_or_else(|| "?".to_owned(), text);
        rows.push(vec![
            printable(&s.name),
            count(s.tables.len() as u64),
            count(s.views.len() as u64),
            count(s.routines),
            count(s.tables.iter().map(|t| t.triggers).sum()),
            count(s.events),
            known(sum(|t| t.rows), count),
            known(sum(|t| t.raw_bytes), bytes),
            bytes(s.tables.iter().map(|t| t.stored_bytes).sum()),
        ]);
    }
    Item::keys()
        .key("schemas", json)
        .with(Line::Blank)
        .with(Line::Table(Table {
            indent: 2,
            numbers: false,
            rows,
        }))
}
