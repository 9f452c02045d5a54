//! After a copy from server to server.

use super::continues::{Copy, continues};
use super::dump::{amounts, consistency};
use super::load::{not_compared, verified};
use super::shared::{
    duration_with_rows, impact_on_others, indexes_not_compared, not_in_archives, throughput,
};
use super::{Item, Summary, tuning};
use base::units::rounded;
use copy::servers;
use serde_json::json;

/// Describes a copy that is complete but for its exceptions.
pub fn copied_servers(d: &servers::Summary) -> Summary {
    let exceptions = d.exceptions();
    let heading = match exceptions.is_empty() {
        true => "Copy complete",
        false => "Copy complete, with exceptions",
    };
    let mut s = Summary::new("copy", heading);
    let read = &d.dump;
    s.add(
        Item::new("from")
            .shown(&read.source)
            .key("source", &read.source),
    );
    for item in amounts(read) {
        s.add(item);
    }
    for item in consistency(read) {
        s.add(item);
    }
    s.add(duration_with_rows(d.seconds, d.rows_seconds(), "the rows"));
    s.add(throughput(read.raw_bytes, d.rows_seconds(), read.threads));
    s.add(slower_side(d));
    for item in impact_on_others(read.impact.as_ref()) {
        s.add(item);
    }
    for load in &d.loads {
        target(&mut s, load);
    }
    let targets = d.loads.iter().map(|l| {
        json!({
            "target": l.target, "rows": l.rows, "duration": rounded(l.seconds),
            "verified": l.verified.as_ref().map(|v| json!({"tables": v.tables, "rows": v.rows})),
            "exceptions": l.exceptions,
        })
    });
    s.add(Item::keys().key("targets", targets.collect::<Vec<_>>()));
    match d.loads.first().and_then(|l| l.source.as_ref()) {
        Some((position, source)) if !d.partial => {
            // Of several targets those that can follow.
            let follows = |l: &&load::Summary| {
                let flavour = l.flavour.map(|f| f.to_string());
                flavour.is_some_and(|f| f.eq_ignore_ascii_case(&source.flavour))
            };
            let first = d.loads.iter().find(follows).or(d.loads.first());
            let flavour = first.and_then(|l| l.flavour);
            s.add(continues(position, source, Copy::Rows(flavour)));
        }
        Some(_) => s.add(Item::new("not a replica").line(
            "a part of the source was copied, and its binary log changes more than that: to follow it, a replica would need filters",
        )),
        None => {}
    }
    s.add(not_in_archives(false, read.histograms.is_some()));
    let not_seen = Item::new("not seen").list(&read.not_seen);
    s.add(not_seen.key("not_seen", &read.not_seen));
    s.add_exceptions(&exceptions);
    s
}

fn target(s: &mut Summary, d: &load::Summary) {
    s.add(Item::new("into").shown(&d.target));
    // Their keys are in the list of targets.
    s.add(verified(d).without_keys());
    s.add(not_compared(&d.not_compared).without_keys());
    let indexes = d
        .verified
        .iter()
        .flat_map(|v| v.indexes_not_compared.clone());
    s.add(indexes_not_compared(&indexes.collect::<Vec<_>>()).without_keys());
    tuning::add(s, &d.tuning);
    s.add(Item::new("adapted").list(&d.notes));
    s.add(Item::new("notes").list(&d.remarks));
}

/// Which side the rows waited for.
fn slower_side(d: &servers::Summary) -> Item {
    let item = Item::new("slower side").number("waited_for_targets", d.waited_for_targets);
    match d.slow_target() {
        Some(target) => item
            .key("slower_side", "target")
            .line(format!("the target: {}", target.target)),
        None => item.key("slower_side", "source").line("the source"),
    }
}
