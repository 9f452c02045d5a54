//! Changes of a server's settings, in the summary of a load.

use super::{Item, Line, Summary, Table};
use crate::record::{self, Cell, Column, Section};
use instance::tune::{ChangedSetting, Level, Report};
use serde_json::{Value, json};

/// Adds the tuning of a load. Session settings get no line.
pub(super) fn add(s: &mut Summary, r: &Report) {
    s.add(Item::keys().key("tuning", json(r)));
    if !r.changes.is_empty() {
        s.sections.push(section(r));
    }
    if r.level != Level::Max {
        return;
    }
    let back = |c: &&ChangedSetting| c.after.as_ref() == Some(&c.before);
    let (all, again) = (r.changes.len(), r.changes.iter().filter(back).count());
    s.add(Item::new("tuned").line(format!(
        "--tune=max: {all} settings changed for the load, {again} put back"
    )));
    if r.restarts > 0 {
        let times = if r.restarts == 1 { "once" } else { "twice" };
        s.add(Item::new("").line(format!("the server was restarted {times}")));
    }
    if all > 0 {
        let head = ["", "before", "during", "after"]
            .map(str::to_owned)
            .to_vec();
        let row = |c: &ChangedSetting| {
            let after = c.after.as_deref().unwrap_or("unknown");
            [&*c.name, &*c.before, &*c.during, after]
                .map(str::to_owned)
                .to_vec()
        };
        let rows = std::iter::once(head).chain(r.changes.iter().map(row));
        s.add(Item::keys().with(Line::Table(Table {
            indent: 4,
            numbers: false,
            rows: rows.collect(),
        })));
    }
    s.add(Item::new("not changed").list(&r.not_changed));
    if !r.restart.is_empty() {
        let title = "for more speed, settings that need a restart (my.cnf):";
        let lines = std::iter::once("[mysqld]").chain(r.restart.iter().map(String::as_str));
        s.add(lines.fold(
            Item::keys().with(Line::Plain(title.to_owned())),
            |item, line| item.with(Line::Plain(format!("  {line}"))),
        ));
    }
}

fn json(r: &Report) -> Value {
    let change = |c: &ChangedSetting| json!({"name": c.name, "before": c.before, "during": c.during, "after": c.after});
    json!({
        "level": r.level.name(), "changes": r.changes.iter().map(change).collect::<Vec<_>>(),
        "not_changed": r.not_changed, "restart": r.restart, "restarts": r.restarts, "left": r.not_reverted,
    })
}

fn section(r: &Report) -> Section {
    let row = |c: &ChangedSetting| {
        let after = c.after.clone().map_or(Cell::None, Cell::Text);
        vec![
            Cell::text(&*c.name),
            Cell::text(&*c.before),
            Cell::text(&*c.during),
            after,
        ]
    };
    let columns = ["setting", "before", "during the load", "after"];
    Section {
        title: "Settings of the server".to_owned(),
        text: if r.not_reverted.is_empty() {
            vec!["Changed for the load, and put back.".to_owned()]
        } else {
            r.not_reverted.clone()
        },
        tables: vec![record::Table {
            columns: columns.map(|name| Column::new(name, "")).to_vec(),
            rows: r.changes.iter().map(row).collect(),
            ..record::Table::default()
        }],
        ..Section::default()
    }
}
