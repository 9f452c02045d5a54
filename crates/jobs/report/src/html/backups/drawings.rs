//! Backups and drills drawn on the calendar: one line for each server, and one value for each backup.

use super::calendar::Calendar;
use super::servers::Server;
use super::{MOST, SERVERS, moment, newest};
use crate::html::page::Page;
use crate::html::quantity::{Axis, show};
use base::units::{bytes, seconds};
use jiff::Timestamp;
use repository::Entry;

/// Height of a server's line in the timeline.
const LINE: f64 = 30.0;

/// Height of a chart.
const HEIGHT: f64 = 110.0;

/// One line for each server: its backups, and its drills below them.
pub fn timeline(p: &mut Page, servers: &[Server<'_>], calendar: &Calendar) {
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

/// One value for each backup, as stems from zero.
pub fn chart(
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
