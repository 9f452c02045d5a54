//! The page of a repository: what stands where for each server, when backups and drills were made, and how
//! sizes, durations and costs developed.
//!
//! `servers` sorts the listing by server; everything is drawn (`drawings`) on a `calendar`, one mark for each backup,
//! and the same data stands in tables below.

mod calendar;
mod drawings;
mod servers;
#[cfg(test)]
mod tests;

use super::page::Page;
use super::quantity::sane;
use super::{layout, tables};
use crate::record::{Cell, Column, Table};
use base::units::{bytes, count};
use calendar::Calendar;
use drawings::{chart, timeline};
use jiff::Timestamp;
use repository::{BackupKind, Entry, Listing};
use servers::{Server, servers};
use std::collections::BTreeSet;

/// Backups of a server that are drawn and listed: the newest.
const MOST: usize = 400;

/// Servers that are drawn.
const SERVERS: usize = 60;

/// The page of a repository at this moment.
pub fn page(place: &str, l: &Listing, now: Timestamp) -> String {
    let servers = servers(l);
    let mut p = Page::default();
    layout::begin(&mut p, |p| {
        p.raw("Backups in ").text(place);
    });
    p.raw("<article><header><p class='kind'>penstock repository</p><h1>")
        .text(place)
        .raw("</h1><p class='when'>as it was on ")
        .text(&moment(now))
        .raw("</p></header>");
    tiles(&mut p, l, &servers, now);
    troubles(&mut p, l, &servers);
    if l.entries.is_empty() {
        p.raw("<p class='story'>There is no backup.</p>");
    } else {
        p.raw("<section><h2>Servers</h2>");
        tables::table(&mut p, &overview(&servers, now));
        p.raw("</section>");
        let calendar = Calendar::of(l, now);
        p.raw("<section><h2>Backups and drills</h2>");
        timeline(&mut p, &servers, &calendar);
        p.raw("</section>");
        for server in servers.iter().take(SERVERS) {
            of_server(&mut p, server, &calendar);
        }
        if servers.len() > SERVERS {
            p.raw("<p class='note'>")
                .text(&format!(
                    "{SERVERS} of {} servers are shown one by one; --server-name NAME shows another.",
                    servers.len()
                ))
                .raw("</p>");
        }
    }
    p.raw("</article>");
    layout::end(&mut p, "penstock list");
    p.into_string()
}

/// The figures that people watch.
fn tiles(p: &mut Page, l: &Listing, servers: &[Server<'_>], now: Timestamp) {
    let with_backups = || servers.iter().filter(|s| !s.entries.is_empty());
    let newest = |s: &Server<'_>| s.entries.last().and_then(|e| e.begin());
    // The worst of all servers: one of them is what an operator has to see.
    let oldest = with_backups()
        .filter_map(|s| Some((newest(s)?, s.name)))
        .min();
    let unproven = with_backups().filter(|s| s.last_proven().is_none()).count();
    let proven = with_backups()
        .filter_map(|s| Some((s.last_proven()?, s.name)))
        .min();
    let stored: u64 = l.entries.iter().map(|e| e.stored_bytes).sum();
    let of = |name: &str| match servers.len() {
        1 => String::new(),
        _ => format!("{name}, the oldest of all servers"),
    };
    let mut all = vec![
        (
            "backups",
            count(l.entries.len() as u64),
            servers_text(servers.len()),
        ),
        ("stored", bytes(stored), String::new()),
    ];
    if let Some((at, name)) = oldest {
        all.push(("age of the last backup", age(at, now), of(name)));
    }
    all.push(match proven {
        _ if unproven > 0 => (
            "age of the last proven backup",
            "never proven".to_owned(),
            format!(
                "{} without a drill that proved a backup",
                servers_text(unproven)
            ),
        ),
        Some((at, name)) => ("age of the last proven backup", age(at, now), of(name)),
        None => (
            "age of the last proven backup",
            "–".to_owned(),
            String::new(),
        ),
    });
    p.raw("<div class='tiles'>");
    for (name, number, note) in all {
        p.raw("<div class='tile'><span class='name'>")
            .raw(name)
            .raw("</span><span class='number'>")
            .text(&number)
            .raw("</span><span class='note'>")
            .text(&note)
            .raw("</span></div>");
    }
    p.raw("</div>");
}

fn servers_text(n: usize) -> String {
    format!(
        "{} {}",
        count(n as u64),
        if n == 1 { "server" } else { "servers" }
    )
}

/// What needs a person.
fn troubles(p: &mut Page, l: &Listing, servers: &[Server<'_>]) {
    let mut all: Vec<String> = Vec::new();
    for s in servers {
        if let Some(last) = s.drills.last()
            && !last.proven
        {
            all.push(format!(
                "{}: the last drill, of {} on {}, did not prove the backup",
                s.name,
                last.id,
                moment(last.at)
            ));
        }
        if let Some(e) = s.entries.last().filter(|e| !e.exceptions.is_empty()) {
            let n = e.exceptions.len();
            all.push(format!(
                "{}: the newest backup has {n} exception{}: {}",
                s.name,
                if n == 1 { "" } else { "s" },
                e.exceptions.first().map_or("", String::as_str)
            ));
        }
        if s.unfinished > 0 {
            all.push(format!(
                "{}: {} left by runs that were killed; the next backup or prune settles it",
                s.name, s.unfinished
            ));
        }
    }
    all.extend(
        l.damaged
            .iter()
            .map(|n| format!("{n} in the catalog cannot be read")),
    );
    all.extend(
        l.damaged_drills.iter().map(|n| {
            format!("{n} in drills/ says something else than its name, and does not count")
        }),
    );
    if all.is_empty() {
        return;
    }
    p.raw("<div class='trouble warn'><b>To look at</b><ul>");
    for trouble in all.iter().take(MOST) {
        p.raw("<li>").text(trouble).raw("</li>");
    }
    p.raw("</ul></div>");
}

fn overview(servers: &[Server<'_>], now: Timestamp) -> Table {
    let columns = [
        ("server", ""),
        ("backups", ""),
        ("stored", "B"),
        ("last backup", ""),
        ("age", ""),
        ("took", "s"),
        ("last proven backup", ""),
        ("age of that", ""),
        ("last drill", ""),
    ];
    let when = |t: Option<Timestamp>| t.map_or(Cell::None, |t| Cell::text(moment(t)));
    let old = |t: Option<Timestamp>| t.map_or(Cell::None, |t| Cell::text(age(t, now)));
    let row = |s: &Server<'_>| {
        let last = s.entries.last();
        let stored: u64 = s.entries.iter().map(|e| e.stored_bytes).sum();
        let begin = last.and_then(|e| e.begin());
        vec![
            Cell::text(s.name),
            Cell::Number(s.entries.len() as f64),
            Cell::Number(stored as f64),
            when(begin),
            old(begin),
            last.map_or(Cell::None, |e| Cell::Number(e.seconds())),
            when(s.last_proven()),
            old(s.last_proven()),
            s.drills.last().map_or(Cell::None, |d| {
                let word = if d.proven { "proven" } else { "failed" };
                Cell::text(format!("{word}, {}", moment(d.at)))
            }),
        ]
    };
    Table {
        columns: columns.map(|(name, unit)| Column::new(name, unit)).to_vec(),
        rows: servers.iter().map(row).collect(),
        note: "Times are UTC. The age of the last proven backup is what could be lost for certain."
            .to_owned(),
        ..Table::default()
    }
}

fn kind_title(kind: BackupKind) -> &'static str {
    match kind {
        BackupKind::Logical => "Logical backups",
        BackupKind::Snapshot => "Snapshots",
    }
}

/// Backups of one kind over time: what is of another has other sizes and durations.
fn charts(p: &mut Page, entries: &[&Entry], calendar: &Calendar) {
    p.raw("<div class='grid2'>");
    let of = |value: &dyn Fn(&Entry) -> Option<f64>| -> Vec<(Timestamp, f64)> {
        let points = entries.iter().filter_map(|e| Some((e.begin()?, value(e)?)));
        points.filter(|(_, v)| sane(*v)).collect()
    };
    chart(
        p,
        "Stored",
        "B",
        calendar,
        &of(&|e| Some(e.stored_bytes as f64)),
    );
    chart(p, "Duration", "s", calendar, &of(&|e| Some(e.seconds())));
    chart(p, "Data per byte stored", "", calendar, &of(&ratio));
    chart(
        p,
        "Cost to other sessions, as measured",
        "%",
        calendar,
        &of(&|e| e.impact.map(|i| i * 100.0)),
    );
    chart(p, "Commits kept out", "ms", calendar, &of(&|e| e.lock_ms));
    p.raw("</div>");
}

/// Charts and the table of one server.
fn of_server(p: &mut Page, server: &Server<'_>, calendar: &Calendar) {
    if server.entries.is_empty() {
        return;
    }
    p.raw("<section><h2>").text(server.name).raw("</h2>");
    let entries = newest(&server.entries);
    let kinds: BTreeSet<BackupKind> = entries.iter().map(|e| e.kind).collect();
    for kind in &kinds {
        if kinds.len() > 1 {
            p.raw("<h3>").text(kind_title(*kind)).raw("</h3>");
        }
        let of_kind: Vec<&Entry> = entries
            .iter()
            .filter(|e| e.kind == *kind)
            .copied()
            .collect();
        charts(p, &of_kind, calendar);
    }
    let columns = [
        ("backup", ""),
        ("kind", ""),
        ("began (UTC)", ""),
        ("took", "s"),
        ("rows", ""),
        ("data", "B"),
        ("stored", "B"),
        ("ratio", ""),
        ("cost", "%"),
        ("drill", ""),
        ("", ""),
    ];
    let known = |e: &Entry, v: f64| match e.encrypted {
        true => Cell::None,
        false => Cell::Number(v),
    };
    let row = |e: &&Entry| {
        vec![
            Cell::text(&e.id),
            Cell::text(e.kind.name()),
            Cell::text(e.begin().map_or_else(String::new, moment)),
            Cell::Number(e.seconds()),
            match e.kind {
                BackupKind::Logical => known(e, e.rows as f64),
                _ => Cell::None,
            },
            known(e, e.raw_bytes as f64),
            Cell::Number(e.stored_bytes as f64),
            ratio(e).map_or(Cell::None, Cell::Number),
            e.impact.map_or(Cell::None, |i| Cell::Number(i * 100.0)),
            match server.proven(e) {
                None => Cell::None,
                Some(true) => Cell::text("proven"),
                Some(false) => Cell::text("failed"),
            },
            Cell::text(notes(e)),
        ]
    };
    let table = Table {
        columns: columns.map(|(name, unit)| Column::new(name, unit)).to_vec(),
        rows: entries.iter().rev().map(row).collect(),
        note: match server.entries.len() {
            n if n > MOST => format!("The newest {MOST} of {n}."),
            _ => String::new(),
        },
        ..Table::default()
    };
    tables::table(p, &table);
    p.raw("</section>");
}

fn notes(e: &Entry) -> String {
    let mut all = Vec::new();
    if e.encrypted {
        all.push("encrypted".to_owned());
    } else {
        all.push(format!("{} {}", e.flavour, e.server_version));
        all.extend(e.method.as_ref().map(|m| format!("by {m}")));
    }
    match e.exceptions.len() {
        0 => {}
        1 => all.push("1 exception".to_owned()),
        n => all.push(format!("{n} exceptions")),
    }
    all.join(", ")
}

fn ratio(e: &Entry) -> Option<f64> {
    (e.raw_bytes > 0 && e.stored_bytes > 0).then(|| e.raw_bytes as f64 / e.stored_bytes as f64)
}

fn newest<T>(all: &[T]) -> &[T] {
    &all[all.len().saturating_sub(MOST)..]
}

fn moment(t: Timestamp) -> String {
    t.strftime("%Y-%m-%d %H:%M").to_string()
}

/// How long ago something was, with two units at most.
fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - at.as_second();
    match seconds {
        ..0 => "in the future".to_owned(),
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}
