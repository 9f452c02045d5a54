//! The limits of a run, and what was measured under them.

use super::Item;
use super::shared::rate;
use base::units::rounded;
use run::PhaseTraffic;
use serde_json::{Value, json};

/// One line for each limit and phase, without the phases that moved next to nothing.
pub fn traffic(flows: &[(PhaseTraffic, PhaseTraffic)]) -> Vec<Item> {
    let limiters: [(&'static str, Vec<&PhaseTraffic>); 2] = [
        ("rate limit", flows.iter().map(|(g, _)| g).collect()),
        ("disk rate limit", flows.iter().map(|(_, d)| d).collect()),
    ];
    let mut items = vec![Item::keys().key("traffic", json(flows))];
    for (label, flows) in limiters {
        let most = flows.iter().map(|f| f.bytes).max().unwrap_or(0);
        let large = flows.iter().filter(|f| f.bytes * 20 > most);
        items.extend(large.filter_map(|f| Some(Item::new(label).line(line(f)?))));
    }
    items
}

fn line(f: &PhaseTraffic) -> Option<String> {
    let limit = match f.limit {
        Some(limit) => base::units::rate(limit),
        None if f.changed => "removed".to_owned(),
        None => return None,
    };
    let changed = if f.changed && f.limit.is_some() {
        " (changed during the run)"
    } else {
        ""
    };
    let mean = rate(f.bytes, f.seconds);
    Some(format!("{limit}{changed}; {}: {mean} on average", f.phase))
}

fn json(flows: &[(PhaseTraffic, PhaseTraffic)]) -> Value {
    let one =
        |f: &PhaseTraffic| json!({"bytes": f.bytes, "limit": f.limit, "limit_changed": f.changed});
    let list = flows.iter().filter(|(g, d)| g.bytes + d.bytes > 0).map(|(g, d)| {
        json!({"phase": g.phase, "seconds": rounded(g.seconds), "server": one(g), "disk": one(d)})
    });
    Value::Array(list.collect())
}
