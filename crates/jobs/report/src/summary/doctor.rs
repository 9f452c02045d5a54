//! After `penstock doctor`.

use super::{Item, Line, Summary};
use instance::doctor::{self, Left};
use serde_json::{Value, json};

/// Describes what was found and done.
pub fn doctor(d: &doctor::Summary) -> Summary {
    let heading = match (d.left.is_empty(), d.done.is_empty()) {
        (false, _) => "Settings are left changed",
        (true, false) => "Settings were put back",
        (true, true) if !d.in_use.is_empty() => "Settings are in use",
        (true, true) => "Nothing is left changed",
    };
    let mut s = Summary::new("doctor", heading);
    s.add(
        Item::new("looked at")
            .line(&d.looked_at)
            .key("looked_at", &d.looked_at),
    );
    s.add(left(&d.left));
    let in_use = d.in_use.iter().fold(Item::new("in use"), Item::line);
    s.add(in_use.key("in_use", &d.in_use));
    s.add(Item::new("done").list(&d.done).key("done", &d.done));
    s.add(Item::new("notes").list(&d.notes).key("notes", &d.notes));
    let commands = d.commands.iter().fold(Item::keys(), |item, command| {
        item.with(Line::Plain(format!("put them back with: {command}")))
    });
    s.add(commands.key("commands", &d.commands));
    s
}

/// Settings that are not as they were, server by server.
fn left(all: &[Left]) -> Item {
    let one = |l: &Left| json!({"server": l.server, "name": l.name, "before": l.before, "during": l.during, "now": l.now});
    let json: Vec<Value> = all.iter().map(one).collect();
    let mut item = Item::new("server").key("left", json);
    let mut server = "";
    for l in all {
        if server != l.server {
            server = &l.server;
            item = item.line(server);
        }
        let now = l.now.as_deref().unwrap_or("not checked");
        item = item.with(Line::Plain(format!(
            "  {:<32}before {}, load {}, now {now}",
            l.name, l.before, l.during
        )));
    }
    item
}
