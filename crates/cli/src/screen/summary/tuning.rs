//! Changes of a server's settings, in the summary of a load and in that of doctor.

use super::Lines;
use base::units::printable;
use instance::doctor;
use instance::tune::{Level, Report};
use serde_json::{Value, json};
use std::fmt::Write;

/// Adds the tuning of a load. Session settings get no line.
pub(super) fn add(l: &mut Lines, r: &Report) {
    if r.level != Level::Max {
        return;
    }
    let back = |c: &&instance::tune::ChangedSetting| c.after.as_ref() == Some(&c.before);
    let (all, again) = (r.changes.len(), r.changes.iter().filter(back).count());
    l.add(
        "tuned",
        format!("--tune=max: {all} settings changed for the load, {again} put back"),
    );
    if r.restarts > 0 {
        let times = if r.restarts == 1 { "once" } else { "twice" };
        l.add("", format!("the server was restarted {times}"));
    }
    if all > 0 {
        let rows = r.changes.iter().map(|c| {
            let after = c.after.as_deref().unwrap_or("unknown");
            [&*c.name, &*c.before, &*c.during, after].map(printable)
        });
        table(
            l,
            ["", "before", "during", "after"].map(str::to_owned),
            rows,
        );
    }
    l.list("not changed", &r.not_changed);
    if !r.restart.is_empty() {
        let mut lines = vec!["[mysqld]".to_owned()];
        lines.extend(r.restart.iter().cloned());
        let _ = writeln!(
            l.0,
            "  for more speed, settings that need a restart (my.cnf):"
        );
        for line in lines {
            let _ = writeln!(l.0, "    {}", printable(&line));
        }
    }
}

fn table(l: &mut Lines, head: [String; 4], rows: impl Iterator<Item = [String; 4]>) {
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let width = |at: usize| {
        rows.iter()
            .map(|r| r[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    for [name, before, during, after] in &rows {
        let _ = writeln!(
            l.0,
            "    {name:<0$}  {before:<1$}  {during:<2$}  {after}",
            widths[0], widths[1], widths[2]
        );
    }
}

/// The same for programs.
pub(super) fn json(r: &Report) -> Value {
    let changes: Vec<Value> = r
        .changes
        .iter()
        .map(|c| json!({"name": c.name, "before": c.before, "during": c.during, "after": c.after}))
        .collect();
    json!({
        "level": r.level.name(), "changes": changes, "not_changed": r.not_changed,
        "restart": r.restart, "restarts": r.restarts, "left": r.not_reverted,
    })
}

/// After doctor.
pub fn doctor(d: &doctor::Summary) -> String {
    let title = match (d.left.is_empty(), d.done.is_empty()) {
        (false, _) => "Settings are left changed",
        (true, false) => "Settings were put back",
        (true, true) if !d.in_use.is_empty() => "Settings are in use",
        (true, true) => "Nothing is left changed",
    };
    let mut l = Lines::new(title);
    l.add("looked at", &d.looked_at);
    let mut server = "";
    for left in &d.left {
        if server != left.server {
            server = &left.server;
            l.add("server", server);
        }
        let now = left.now.as_deref().unwrap_or("not checked");
        let text = format!("before {}, load {}, now {now}", left.before, left.during);
        let _ = writeln!(l.0, "    {:<32}{}", printable(&left.name), printable(&text));
    }
    for load in &d.in_use {
        l.add("in use", load);
    }
    l.list("done", &d.done);
    l.list("notes", &d.notes);
    for command in &d.commands {
        let _ = writeln!(l.0, "  put them back with: {command}");
    }
    l.0
}

/// The same for programs.
pub fn doctor_json(d: &doctor::Summary) -> Value {
    let left: Vec<Value> = d
        .left
        .iter()
        .map(|l| {
            json!({"server": l.server, "name": l.name, "before": l.before, "during": l.during, "now": l.now})
        })
        .collect();
    json!({
        "event": "summary", "job": "doctor", "looked_at": d.looked_at, "left": left,
        "done": d.done, "notes": d.notes, "in_use": d.in_use, "commands": d.commands,
    })
}
