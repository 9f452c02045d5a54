//! After a copy from server to server.

use super::continues::{Copy, continues};
use super::dump::{amounts, consistency};
use super::load::{import, not_compared, verified};
use super::shared::{
    duration_with_rows, impact_on_others, indexes_not_compared, not_in_archives, objects, rows,
    throughput,
};
use super::{Item, Summary, tuning};
use base::units::{rounded, seconds};
use copy::via::Dumped;
use copy::{servers, via};
use serde_json::json;

/// Describes a copy that is complete but for its exceptions.
pub fn copied_servers(d: &servers::Summary) -> Summary {
    let exceptions = d.exceptions();
    let mut s = Summary::new("copy", heading(&exceptions));
    let read = &d.dump;
    add_source(&mut s, read);
    s.add(duration_with_rows(d.seconds, d.rows_seconds(), "the rows"));
    s.add(throughput(read.raw_bytes, d.rows_seconds(), read.threads));
    s.add(slower_side(d));
    for item in impact_on_others(read.impact.as_ref()) {
        s.add(item);
    }
    add_targets(&mut s, &d.loads, d.partial);
    s.add(not_in_archives(false, read.histograms.is_some()));
    let not_seen = Item::new("not seen").list(&read.not_seen);
    s.add(not_seen.key("not_seen", &read.not_seen));
    s.add_exceptions(&exceptions);
    s
}

/// What was read, and of which moment.
fn add_source(s: &mut Summary, read: &dump::Summary) {
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
}

/// Describes a copy by way of an archive.
pub fn copied_via(d: &via::Summary) -> Summary {
    let exceptions = d.exceptions();
    let mut s = Summary::new("copy", heading(&exceptions));
    match &d.dumped {
        Dumped::Now(read) => {
            add_source(&mut s, read);
            s.add(
                Item::new("dumped in")
                    .line(seconds(read.seconds))
                    .number("dump_seconds", read.seconds),
            );
            for item in impact_on_others(read.impact.as_ref()) {
                s.add(item);
            }
        }
        Dumped::Over(_) => {
            s.add(Item::new("copied").line(
                "nothing to do: an earlier run had completed the copy; what it had left of the archive is removed",
            ));
        }
        Dumped::Earlier(earlier) => {
            let from = format!(
                "{}, by an archive that an earlier run had made at {}",
                earlier.server, earlier.moment
            );
            s.add(
                Item::new("from")
                    .shown(&from)
                    .key("source", &earlier.server)
                    .key("moment", &earlier.moment),
            );
            if let Some(load) = d.loads.first() {
                s.add(objects(load.schemas, load.tables, load.views));
                s.add(rows(load.rows));
            }
        }
    }
    let longest = d.loads.iter().map(|l| l.seconds).fold(0.0, f64::max);
    s.add(duration_with_rows(d.seconds, longest, "loading"));
    add_targets(&mut s, &d.loads, d.partial);
    let not_seen = match &d.dumped {
        Dumped::Now(read) => {
            s.add(not_in_archives(false, read.histograms.is_some()));
            &read.not_seen
        }
        Dumped::Earlier(earlier) => &earlier.not_seen,
        Dumped::Over(_) => &Vec::new(),
    };
    s.add(
        Item::new("not seen")
            .list(not_seen)
            .key("not_seen", not_seen),
    );
    s.add_exceptions(&exceptions);
    s
}

fn heading(exceptions: &[String]) -> &'static str {
    match exceptions.is_empty() {
        true => "Copy complete",
        false => "Copy complete, with exceptions",
    }
}

/// Each target, and how one of them becomes a replica.
fn add_targets(s: &mut Summary, loads: &[load::Summary], partial: bool) {
    for load in loads {
        target(s, load);
    }
    let targets = loads.iter().map(|l| {
        json!({
            "target": l.target, "rows": l.rows, "duration": rounded(l.seconds),
            "verified": l.verified.as_ref().map(|v| json!({"tables": v.tables, "rows": v.rows})),
            "tablespaces": l.import.tables, "exceptions": l.exceptions,
        })
    });
    s.add(Item::keys().key("targets", targets.collect::<Vec<_>>()));
    match loads.first().and_then(|l| l.source.as_ref()) {
        Some((position, source)) if !partial => {
            // Of several targets those that can follow.
            let follows = |l: &&load::Summary| {
                let flavour = l.flavour.map(|f| f.to_string());
                flavour.is_some_and(|f| f.eq_ignore_ascii_case(&source.flavour))
            };
            let first = loads.iter().find(follows).or(loads.first());
            let flavour = first.and_then(|l| l.flavour);
            s.add(continues(position, source, Copy::Rows(flavour)));
        }
        Some(_) => s.add(Item::new("not a replica").line(
            "a part of the source was copied, and its binary log changes more than that: to follow it, a replica would need filters",
        )),
        None => {}
    }
}

fn target(s: &mut Summary, d: &load::Summary) {
    s.add(Item::new("into").shown(&d.target));
    // Their keys are in the list of targets.
    s.add(verified(d).without_keys());
    s.add(not_compared(&d.not_compared).without_keys());
    for item in import(&d.import) {
        s.add(item.without_keys());
    }
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
