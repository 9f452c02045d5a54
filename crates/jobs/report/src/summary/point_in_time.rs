//! A restore to a point in time: the plan, and what was applied.

use super::shared::{rate, things};
use super::{Foreseen, Item, Summary, foreseen};
use base::units::{bytes, count, printable, seconds};
use binlog_archive::{Target, shown_time};
use repository::Plan;
use serde_json::json;

/// Describes a plan that was not carried out, and the target that was looked at.
pub fn plan(p: &Plan, target: Option<&str>, time: Option<&Foreseen>) -> Summary {
    let mut s = Summary::new("restore plan", "This would be restored");
    described(&mut s, p);
    let accounts = p.accounts_needed();
    s.add(
        match target {
            Some(target) => Item::new("target").line(printable(target)),
            None => Item::new("target").line("none was named, so none was looked at"),
        }
        .key("target", target),
    );
    for item in foreseen(time) {
        s.add(item);
    }
    if target.is_none() {
        s.add(
            Item::new(
                "accounts that the target must have, for the log changes them and the accounts of a dump are not restored with it",
            )
            .list(&accounts)
            .key("accounts_needed", &accounts),
        );
    }
    s
}

/// The state that was asked for; a time as it was meant here, with its zone, and in that of the log.
fn asked(target: &Target) -> String {
    match target {
        Target::Latest => "everything that is archived".to_owned(),
        Target::Time(time) => {
            let at = i64::try_from(*time).ok();
            let at = at.and_then(|t| jiff::Timestamp::from_microsecond(t).ok());
            let here = at.map(|t| t.to_zoned(jiff::tz::TimeZone::system()));
            let here = here.map_or_else(String::new, |z| {
                z.strftime(" (%Y-%m-%d %H:%M:%S%.f%:z)").to_string()
            });
            format!(
                "every transaction committed until {}{here}",
                shown_time(*time)
            )
        }
        Target::After(gtid) => format!("everything up to {gtid}, and it"),
        Target::Before(gtid) => format!("everything before {gtid}"),
        Target::Position(place) => format!("everything before {place}"),
    }
}

fn described(s: &mut Summary, p: &Plan) {
    let backup = format!("{}@{}", p.backup.server, p.backup.id);
    s.add(
        Item::new("backup")
            .line(format!("{backup}, of {}", p.backup.begin))
            .key("backup", backup),
    );
    let state = asked(&p.target);
    s.add(Item::new("state").line(&state).key("state", &state));
    let legs: Vec<String> = p
        .route
        .legs
        .iter()
        .map(|leg| {
            let timeline = p.kept.timelines[leg.timeline].timeline.number;
            format!("{} to {} (timeline {timeline})", leg.from, leg.to)
        })
        .collect();
    let mut log = Item::new("binary log");
    for leg in &legs {
        log = log.line(leg);
    }
    s.add(log.key("binary_log", &legs));
    s.add(
        Item::new("to apply")
            .line(bytes(p.route.bytes))
            .key("log_bytes", p.route.bytes),
    );
    if let Some((file, next)) = &p.route.next {
        s.add(next_item(file, next));
    }
    let missing: Vec<String> = p.route.missing.iter().map(|m| printable(m)).collect();
    s.add(Item::new("missing").list(&missing).key("missing", &missing));
}

fn next_item(file: &str, next: &binlog::Transaction) -> Item {
    let place = printable(&format!("{file}:{}", next.start));
    let name = next.gtid.as_ref().map(ToString::to_string);
    let shown = match &name {
        Some(name) => format!("{name} at {place}, of {}", shown_time(next.time)),
        None => format!("the one at {place}, of {}", shown_time(next.time)),
    };
    Item::new("next transaction").line(shown).key(
        "next",
        json!({"gtid": name, "place": place, "time": shown_time(next.time)}),
    )
}

/// Describes what was applied to a restored backup.
pub fn replayed(p: &Plan, done: &[replay::Summary]) -> Summary {
    let heading = match p.route.missing.is_empty() {
        true => "Restored to the point in time",
        false => "Restored to the point in time, across a gap",
    };
    let mut s = Summary::new("restore", heading);
    described(&mut s, p);
    let transactions = done.iter().map(|d| d.transactions).sum::<u64>();
    let skipped = done.iter().map(|d| d.skipped).sum::<u64>();
    let log = done.iter().map(|d| d.bytes).sum::<u64>();
    let time = done.iter().map(|d| d.seconds).sum::<f64>();
    s.add(
        Item::new("applied")
            .line(format!(
                "{}, {} in {} ({})",
                things(transactions, "transaction"),
                bytes(log),
                seconds(time),
                rate(log, time)
            ))
            .key("transactions", transactions)
            .key("applied_bytes", log)
            .key("seconds", time),
    );
    if skipped > 0 {
        s.add(
            Item::new("left out")
                .line(format!("{} that were applied before", count(skipped)))
                .key("skipped", skipped),
        );
    }
    if let Some(end) = done.last() {
        if let Some(last) = &end.last {
            let name = last.gtid.as_ref().map(ToString::to_string);
            let shown = name
                .clone()
                .unwrap_or_else(|| format!("the one that ends at {}", end.to));
            s.add(
                Item::new("last transaction")
                    .line(format!("{shown}, of {}", shown_time(last.time)))
                    .key("last", json!({"gtid": name, "time": shown_time(last.time)})),
            );
        }
        s.add(
            Item::new("stands at")
                .line(end.to.to_string())
                .key("stands_at", end.to.to_string()),
        );
        if !end.gtids.is_empty() {
            s.add(Item::new("GTID").line(&end.gtids).key("gtids", &end.gtids));
        }
    }
    s
}
