//! The page of a repository: what stands where for each server, when backups and drills were made, and how
//! sizes, durations and costs developed.
//!
//! Everything is drawn on a calendar (UTC), one mark for each backup; the same data stands in tables below.

use super::page::Page;
use super::quantity::{Axis, sane, show};
use super::{layout, tables};
use crate::record::{Cell, Column, Table};
use base::units::{bytes, count, seconds};
use jiff::Timestamp;
use repository::{Entry, Listing, Proof};
use std::collections::BTreeMap;

/// Backups of a server that are drawn and listed: the newest.
const MOST: usize = 400;

/// Servers that are drawn.
const SERVERS: usize = 60;

/// Height of a server's line in the timeline.
const LINE: f64 = 30.0;

/// Height of a chart.
const HEIGHT: f64 = 110.0;

/// What is known of one server, in the order of time.
struct Server<'a> {
    name: &'a str,
    entries: Vec<&'a Entry>,
    drills: Vec<&'a Proof>,
    unfinished: usize,
}

impl Server<'_> {
    fn proven(&self, entry: &Entry) -> Option<bool> {
        let last = self.drills.iter().rfind(|p| p.id.as_str() == entry.id);
        last.map(|p| p.proven)
    }

    /// The newest backup that a drill has proven: when it began.
    fn last_proven(&self) -> Option<Timestamp> {
        let proven = self.drills.iter().filter(|p| p.proven);
        proven.map(|p| p.id.time()).max()
    }
}

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

fn servers(l: &Listing) -> Vec<Server<'_>> {
    let mut all: BTreeMap<&str, Server<'_>> = BTreeMap::new();
    fn of<'a, 'm>(all: &'m mut BTreeMap<&'a str, Server<'a>>, name: &'a str) -> &'m mut Server<'a> {
        all.entry(name).or_insert_with(|| Server {
            name,
            entries: Vec::new(),
            drills: Vec::new(),
            unfinished: 0,
        })
    }
    for entry in &l.entries {
        of(&mut all, &entry.server).entries.push(entry);
    }
    for proof in &l.proofs {
        of(&mut all, proof.server.as_str()).drills.push(proof);
    }
    for left in l.unlisted.iter().filter(|u| !u.running) {
        of(&mut all, left.server.as_str()).unfinished += 1;
    }
    all.into_values().collect()
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

/// A time axis with dates.
struct Calendar {
    from: Timestamp,
    seconds: f64,
}

impl Calendar {
    fn of(l: &Listing, now: Timestamp) -> Calendar {
        let begins = l.entries.iter().filter_map(Entry::begin);
        let times: Vec<Timestamp> = begins.chain(l.proofs.iter().map(|p| p.at)).collect();
        let from = times.iter().min().copied().unwrap_or(now);
        let to = times.iter().max().copied().unwrap_or(now).max(now);
        // Room for the marks at both ends.
        let room = ((to.as_second() - from.as_second()) / 40).max(60);
        let second = |t: i64| Timestamp::from_second(t).unwrap_or(now);
        let from = second(from.as_second() - room);
        Calendar {
            seconds: (to.as_second() + room - from.as_second()) as f64,
            from,
        }
    }

    /// Where a moment is, in per cent.
    fn percent(&self, at: Timestamp) -> f64 {
        let since = at.as_second() - self.from.as_second();
        (since as f64 / self.seconds * 100.0).clamp(0.0, 100.0)
    }

    /// Moments with round dates or times, and their labels.
    fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        const HOUR: i64 = 3600;
        const DAY: i64 = 24 * HOUR;
        let steps = [
            60,
            300,
            900,
            HOUR,
            3 * HOUR,
            6 * HOUR,
            12 * HOUR,
            DAY,
            2 * DAY,
            7 * DAY,
            14 * DAY,
            28 * DAY,
            91 * DAY,
            182 * DAY,
            364 * DAY,
        ];
        let wanted = (self.seconds / most as f64) as i64;
        let found = steps.into_iter().find(|s| *s >= wanted);
        let step = found.unwrap_or(wanted / (364 * DAY) * 364 * DAY + 364 * DAY);
        let begin = self.from.as_second();
        let end = begin + self.seconds as i64;
        // 1970-01-01 was a Thursday; weeks begin on Monday.
        let offset = if step >= 7 * DAY { 4 * DAY } else { 0 };
        let first = begin - (begin - offset).rem_euclid(step) + step;
        let mut ticks = Vec::new();
        let mut at = first;
        while at < end && ticks.len() <= most + 1 {
            let Ok(t) = Timestamp::from_second(at) else {
                break;
            };
            let label = match step {
                s if s >= DAY => t.strftime("%Y-%m-%d"),
                _ if at.rem_euclid(DAY) == 0 => t.strftime("%m-%d"),
                _ => t.strftime("%H:%M"),
            };
            ticks.push((self.percent(t), label.to_string()));
            at += step;
        }
        ticks
    }

    /// Draws the axis below a drawing of this height.
    fn axis(&self, p: &mut Page, height: f64, most: usize) {
        for (x, label) in self.ticks(most) {
            p.raw("<line class='grid' x1='")
                .number(x)
                .raw("%' x2='")
                .number(x)
                .raw("%' y1='0' y2='")
                .number(height + 5.0)
                .raw("'/><text class='tick' text-anchor='middle' x='")
                .number(x)
                .raw("%' y='")
                .number(height + 19.0)
                .raw("'>")
                .text(&label)
                .raw("</text>");
        }
        p.raw("<line class='axis' x1='0' x2='100%' y1='")
            .number(height)
            .raw("' y2='")
            .number(height)
            .raw("'/>");
    }
}

/// One line for each server: its backups, and its drills below them.
fn timeline(p: &mut Page, servers: &[Server<'_>], calendar: &Calendar) {
    let shown = servers.len().min(SERVERS);
    let height = LINE * shown as f64;
    p.raw("<figure><figcaption><span class='key'>")
        .raw("<svg width='12' height='12' aria-hidden='true'><circle class='backup' cx='6' cy='6' r='4'/></svg>backup</span>")
        .raw("<span class='key'><svg width='12' height='12' aria-hidden='true'><circle class='backup warned' cx='6' cy='6' r='4'/></svg>with exceptions</span>")
        .raw("<span class='key'><svg width='14' height='14' aria-hidden='true'><circle class='backup' cx='7' cy='7' r='4'/><circle class='ring' cx='7' cy='7' r='6'/></svg>proven by a drill</span>")
        .raw("<span class='key'><svg width='12' height='12' aria-hidden='true'><path class='held' d='M2 10 6 2 10 10Z'/></svg>drill</span>")
        .raw("<span class='key'><svg width='12' height='12' aria-hidden='true'><path class='broken' d='M2 2 10 10M10 2 2 10'/></svg>drill that failed</span>")
        .raw("</figcaption><div class='frame names'><svg class='plot' role='img' height='")
        .number(height + 24.0)
        .raw("' aria-label='backups and drills of each server over time'>");
    calendar.axis(p, height, 7);
    for (n, server) in servers.iter().take(SERVERS).enumerate() {
        let y = LINE * n as f64 + 11.0;
        p.raw("<text class='name' text-anchor='end' x='-12' y='")
            .number(y + 4.0)
            .raw("'>")
            .text(&short(server.name))
            .raw("<title>")
            .text(server.name)
            .raw("</title></text>");
        for entry in newest(&server.entries) {
            let Some(begin) = entry.begin() else { continue };
            let x = calendar.percent(begin);
            let proven = server.proven(entry) == Some(true);
            if proven {
                p.raw("<circle class='ring' cx='")
                    .number(x)
                    .raw("%' cy='")
                    .number(y)
                    .raw("' r='6'/>");
            }
            p.raw(match entry.exceptions.is_empty() {
                true => "<circle class='backup' cx='",
                false => "<circle class='backup warned' cx='",
            })
            .number(x)
            .raw("%' cy='")
            .number(y)
            .raw("' r='4'><title>")
            .text(&spoken(entry, proven))
            .raw("</title></circle>");
        }
        for drill in server.drills.iter().rev().take(MOST) {
            // An SVG of its own: a path cannot be placed by per cent.
            p.raw("<svg overflow='visible' x='")
                .number(calendar.percent(drill.at))
                .raw("%' y='")
                .number(y + 8.0)
                .raw(match drill.proven {
                    true => "'><path class='held' d='M-4 8 0 0 4 8Z'><title>",
                    false => "'><path class='broken' d='M-4 0 4 8M4 0-4 8'><title>",
                })
                .text(&format!(
                    "drill of {} on {}: {}",
                    drill.id,
                    moment(drill.at),
                    if drill.proven { "proven" } else { "failed" }
                ))
                .raw("</title></path></svg>");
        }
    }
    p.raw("</svg></div></figure>");
    if servers.iter().any(|s| s.entries.len() > MOST) {
        p.raw("<p class='note'>")
            .text(&format!(
                "The newest {MOST} backups of each server are drawn."
            ))
            .raw("</p>");
    }
}

/// A long name does not fit beside its line.
fn short(name: &str) -> String {
    const LONGEST: usize = 16;
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST - 1).chain(['…']).collect()
}

fn newest<T>(all: &[T]) -> &[T] {
    &all[all.len().saturating_sub(MOST)..]
}

fn spoken(e: &Entry, proven: bool) -> String {
    let mut text = format!(
        "{}: {} in {}",
        e.id,
        bytes(e.stored_bytes),
        seconds(e.seconds())
    );
    if !e.exceptions.is_empty() {
        text += &format!(", {} exceptions", e.exceptions.len());
    }
    if proven {
        text += ", proven";
    }
    text
}

/// Charts and the table of one server.
fn of_server(p: &mut Page, server: &Server<'_>, calendar: &Calendar) {
    if server.entries.is_empty() {
        return;
    }
    p.raw("<section><h2>").text(server.name).raw("</h2>");
    let entries = newest(&server.entries);
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
    chart(p, "Row data per byte stored", "", calendar, &of(&ratio));
    chart(
        p,
        "Cost to other sessions, as measured",
        "%",
        calendar,
        &of(&|e| e.impact.map(|i| i * 100.0)),
    );
    p.raw("</div>");
    let columns = [
        ("backup", ""),
        ("began (UTC)", ""),
        ("took", "s"),
        ("rows", ""),
        ("row data", "B"),
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
            Cell::text(e.begin().map_or_else(String::new, moment)),
            Cell::Number(e.seconds()),
            known(e, e.rows as f64),
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

/// One value for each backup, as stems from zero.
fn chart(
    p: &mut Page,
    title: &'static str,
    unit: &'static str,
    calendar: &Calendar,
    points: &[(Timestamp, f64)],
) {
    if points.is_empty() {
        return;
    }
    let most = points.iter().map(|(_, v)| *v).fold(0.0, f64::max);
    let axis = Axis::new(most, unit, 3);
    let y = |v: f64| HEIGHT - (v / axis.top).clamp(0.0, 1.0) * HEIGHT;
    p.raw("<figure><figcaption><b>").raw(title).raw("</b>");
    if !axis.unit.is_empty() {
        p.raw(" <span class='unit'>")
            .text(&axis.unit)
            .raw("</span>");
    }
    p.raw("</figcaption><div class='frame'><svg class='plot' role='img' height='")
        .number(HEIGHT + 24.0)
        .raw("' aria-label='")
        .raw(title)
        .raw(" of each backup'>");
    calendar.axis(p, HEIGHT, 4);
    for (v, label) in &axis.ticks {
        p.raw("<line class='grid' x1='0' x2='100%' y1='")
            .number(y(*v))
            .raw("' y2='")
            .number(y(*v))
            .raw("'/><text class='tick' x='-8' text-anchor='end' y='")
            .number(y(*v) + 4.0)
            .raw("'>")
            .text(label)
            .raw("</text>");
    }
    for (at, value) in points {
        let (x, y) = (calendar.percent(*at), y(*value));
        p.raw("<line class='stem' x1='")
            .number(x)
            .raw("%' x2='")
            .number(x)
            .raw("%' y1='")
            .number(HEIGHT)
            .raw("' y2='")
            .number(y)
            .raw("'/><circle class='backup' cx='")
            .number(x)
            .raw("%' cy='")
            .number(y)
            .raw("' r='3'><title>")
            .text(&format!("{}: {}", moment(*at), show(*value, unit)))
            .raw("</title></circle>");
    }
    p.raw("</svg></div></figure>");
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

#[cfg(test)]
mod tests {
    use super::*;
    use repository::{BackupId, ServerName};
    use serde_json::json;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn entry(server: &str, day: u32, exception: &str) -> Entry {
        let text = format!("2026-11-{day:02}T02:00:00Z");
        let position = serde_json::to_value(archive::manifest::Position::default()).unwrap();
        serde_json::from_value(json!({
            "version": 1, "server": server, "id": format!("202611{day:02}T020000Z-00ff"), "sequence": day,
            "flavour": "MySQL", "server_version": "9.7.0", "begin": text, "end": text, "tables": 1, "rows": 10,
            "raw_bytes": 3000, "stored_bytes": 1000, "files": 9, "position": position, "impact": 0.031,
            "exceptions": if exception.is_empty() { vec![] } else { vec![exception] },
            "manifest": {"bytes": 1, "blake3": ""},
        }))
        .unwrap()
    }

    fn proof(server: &str, id: &str, time: &str, proven: bool) -> Proof {
        Proof {
            server: ServerName::parse(server).unwrap(),
            id: BackupId::parse(id).unwrap(),
            at: at(time),
            proven,
        }
    }

    #[test]
    fn what_needs_a_person_comes_first() {
        let l = Listing {
            entries: vec![
                entry("crm", 1, ""),
                entry("shop", 1, ""),
                entry("shop", 2, "<img src=x> is not of one moment"),
            ],
            proofs: vec![
                proof(
                    "shop",
                    "20261101T020000Z-00ff",
                    "2026-11-01T05:00:00Z",
                    true,
                ),
                proof(
                    "shop",
                    "20261102T020000Z-00ff",
                    "2026-11-02T05:00:00Z",
                    false,
                ),
            ],
            ..Listing::default()
        };
        let page = page("s3://b/<script>", &l, at("2026-11-03T02:30:00Z"));
        for there in [
            "never proven",
            "1 server without a drill that proved a backup",
            "2 d 0 h",
            "crm, the oldest of all servers",
            "did not prove the backup",
            "&lt;img src=x&gt; is not of one moment",
            "s3://b/&lt;script&gt;",
            "3.1 %",
            "class='ring'",
            "class='broken' d='M-4",
        ] {
            assert!(page.contains(there), "{there}\n{page}");
        }
        assert!(!page.contains("<script") && !page.contains("<img"));
    }

    #[test]
    fn nothing_and_much_are_shown() {
        let now = at("2026-11-03T02:30:00Z");
        let none = page("/r", &Listing::default(), now);
        assert!(none.contains("There is no backup"));
        let entries = (0..3000).map(|n| entry("shop", n % 28 + 1, "")).collect();
        let much = page(
            "/r",
            &Listing {
                entries,
                ..Listing::default()
            },
            now,
        );
        assert!(much.contains("The newest 400 of 3000"));
        assert!(much.len() < 1 << 20, "{}", much.len());
    }

    #[test]
    fn ticks_are_round() {
        let calendar = |from: &str, to: &str| {
            let (from, to) = (at(from), at(to));
            let seconds = (to.as_second() - from.as_second()) as f64;
            let ticks = Calendar { from, seconds }.ticks(7);
            ticks
                .into_iter()
                .map(|(_, label)| label)
                .collect::<Vec<_>>()
        };
        // Mondays.
        let weeks = calendar("2026-10-01T10:00:00Z", "2026-11-12T00:00:00Z");
        assert_eq!(weeks[..2], ["2026-10-05", "2026-10-12"]);
        let hours = calendar("2026-10-01T22:30:00Z", "2026-10-02T01:10:00Z");
        assert_eq!(hours, ["23:00", "10-02", "01:00"]);
        assert!(calendar("2000-01-01T00:00:00Z", "2026-10-02T01:10:00Z").len() <= 9);
        assert!(calendar("2026-10-01T00:00:00Z", "2026-10-01T00:00:01Z").len() <= 2);
    }
}
