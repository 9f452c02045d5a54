//! After the making of a replica, and about one that runs.

use super::dump::amounts;
use super::load::{import, verified};
use super::shared::{duration_with_rows, objects, rows, things};
use super::{Item, Summary};
use base::units::{bytes, printable, rounded, seconds};
use replica::{Aborted, Status};
use serde_json::json;
use server::replication::Channel;

/// What the reading of the source was to others.
fn add_reading(s: &mut Summary, read: &dump::Summary) {
    let lock = format!("held {:.1} ms", read.achieved.lock_ms);
    s.add(
        Item::new("read lock")
            .line(lock)
            .number("lock_ms", read.achieved.lock_ms),
    );
    for item in super::shared::impact_on_others(read.impact.as_ref()) {
        s.add(item);
    }
}

/// Describes a new replica.
pub fn replica(d: &replica::Summary) -> Summary {
    let heading = match (d.exceptions.is_empty(), &d.compared) {
        (true, Some(_)) => "Replica ready: caught up, and equal to its source",
        (true, None) => "Replica ready: caught up, and NOT COMPARED with its source",
        (false, _) => "Replica ready, with exceptions",
    };
    let mut s = Summary::new("replica", heading);
    s.add(
        Item::new("source")
            .shown(&d.source)
            .key("source", &d.source),
    );
    s.add(
        Item::new("replica")
            .shown(&d.replica)
            .key("replica", &d.replica),
    );
    if let Some(copied) = &d.copied {
        let read = &copied.dump;
        for item in amounts(read) {
            s.add(item);
        }
        s.add(
            Item::new("copied in")
                .line(seconds(copied.seconds))
                .number("copy_seconds", copied.seconds),
        );
        add_reading(&mut s, read);
    }
    if let Some(dumped) = &d.dumped {
        s.add(
            Item::new("dumped in")
                .line(seconds(dumped.seconds))
                .number("dump_seconds", dumped.seconds),
        );
        add_reading(&mut s, dumped);
    }
    if let Some(loaded) = &d.loaded {
        s.add(
            Item::new("archive")
                .shown(&loaded.archive)
                .key("archive", &loaded.archive),
        );
        s.add(objects(loaded.schemas, loaded.tables, loaded.views));
        s.add(rows(loaded.rows));
        s.add(verified(loaded));
        for item in import(&loaded.import) {
            s.add(item);
        }
        s.add(
            Item::new("loaded in")
                .line(seconds(loaded.seconds))
                .number("load_seconds", loaded.seconds),
        );
    }
    s.add(
        Item::new("follows from")
            .shown(&d.follows_from)
            .key("follows_from", &d.follows_from),
    );
    let tls = match d.tls {
        true => "with TLS",
        false => "WITHOUT TLS",
    };
    s.add(
        Item::new("logs in as")
            .shown(format!("{} ({tls})", d.account))
            .key("account", &d.account)
            .key("tls", d.tls),
    );
    let mut accounts = Item::new("accounts")
        .key("accounts_made", d.accounts)
        .key("accounts_kept", &d.accounts_kept);
    if d.copied.is_some() || d.loaded.is_some() {
        let kept = match d.accounts_kept.is_empty() {
            true => String::new(),
            false => format!(
                "; it had, and keeps as they were: {}",
                d.accounts_kept.join(", ")
            ),
        };
        accounts = accounts.line(format!("{} of the source were made{kept}", d.accounts));
    }
    s.add(accounts);
    let c = &d.caught_up;
    s.add(
        Item::new("caught up")
            .line(format!(
                "{} of the log in {}; now {} behind, at {}",
                bytes(c.bytes),
                seconds(c.seconds),
                seconds(c.behind),
                c.place
            ))
            .key(
                "caught_up",
                json!({"seconds": rounded(c.seconds), "bytes": c.bytes, "behind": rounded(c.behind), "place": c.place}),
            ),
    );
    let compared = Item::new("compared").key(
        "compared",
        d.compared
            .as_ref()
            .map(|v| json!({"tables": v.tables, "rows": v.rows, "duration": rounded(v.seconds)})),
    );
    s.add(match &d.compared {
        Some(v) => compared.line(format!(
            "equal at one moment: {} in {} ({})",
            things(v.rows, "row"),
            things(v.tables, "table"),
            seconds(v.seconds)
        )),
        None => compared.line("NO (--no-verify): penstock replica verify does it"),
    });
    if let Some(w) = &d.warmed {
        s.add(
            Item::new("warm")
                .line(format!(
                    "{} of hot ranges of {} were read into its memory in {}",
                    bytes(w.bytes),
                    things(w.indexes, "index"),
                    seconds(w.seconds)
                ))
                .key(
                    "warmed",
                    json!({"bytes": w.bytes, "indexes": w.indexes, "duration": rounded(w.seconds)}),
                ),
        );
    }
    s.add(duration_with_rows(
        d.seconds,
        d.caught_up.seconds,
        "catching up",
    ));
    let began = Item::new("notes").key("began_again", d.began_again);
    s.add(match d.began_again {
        true => began.line(
            "nothing had been begun that --resume could continue: this run began at the beginning",
        ),
        false => began,
    });
    s.add_exceptions(&d.exceptions);
    s
}

/// Describes the channels of a server.
pub fn replica_status(d: &Status) -> Summary {
    let heading = match d.channels.len() {
        0 => "It is no replica: it has no channel".to_owned(),
        n => things(n as u64, "channel"),
    };
    let mut s = Summary::new("replica status", heading);
    s.add(
        Item::new("server")
            .shown(&d.server)
            .key("server", &d.server),
    );
    let read_only = if d.read_only { "ON" } else { "OFF" };
    s.add(
        Item::new("read_only")
            .line(read_only)
            .key("read_only", d.read_only),
    );
    if !d.gtids.is_empty() {
        s.add(Item::new("executed").line(printable(&d.gtids)));
    }
    s.add(Item::keys().key("gtids", &d.gtids));
    for channel in &d.channels {
        add_channel(&mut s, channel);
    }
    if let Some(compared) = &d.compared {
        s.add(Item::new("comparison").line(printable(compared)));
    }
    s.add(Item::keys().key("comparison", &d.compared));
    let all: Vec<_> = d.channels.iter().map(channel_json).collect();
    s.add(Item::keys().key("channels", all));
    s
}

fn add_channel(s: &mut Summary, c: &Channel) {
    let name = match c.name.as_str() {
        "" => String::new(),
        name => format!(" (channel {name})"),
    };
    s.add(Item::new("follows").line(printable(&format!(
        "{}:{}{name}, as {}",
        c.host, c.port, c.user
    ))));
    let received = format!("{}, up to {}", c.receiver, c.received);
    s.add(Item::new("receives").line(printable(&received)));
    let applies = if c.applies { "Yes" } else { "NO" };
    s.add(Item::new("applies").line(format!("{applies}, up to {}", c.applied)));
    let behind = match c.seconds_behind {
        Some(n) => seconds(n as f64),
        None => "unknown".to_owned(),
    };
    s.add(Item::new("behind").line(behind));
    let how = if c.by_gtid {
        "GTID"
    } else {
        "file and position"
    };
    let tls = if c.tls { "with TLS" } else { "without TLS" };
    s.add(Item::new("by").line(format!("{how}, {tls}")));
    for (what, error) in [
        ("receive error", &c.receive_error),
        ("apply error", &c.apply_error),
    ] {
        if let Some((number, text)) = error {
            s.add(Item::new(what).line(printable(&format!("{text} (error {number})"))));
        }
    }
    for (number, text) in &c.worker_errors {
        let line = format!("{text} (error {number})");
        s.add(Item::new("worker error").line(printable(&line)));
    }
}

fn channel_json(c: &Channel) -> serde_json::Value {
    let said = |(n, t): &(u64, String)| json!({"number": n, "message": t});
    let error = |e: &Option<(u64, String)>| e.as_ref().map(said);
    json!({
        "name": c.name, "host": c.host, "port": c.port, "user": c.user, "receiver": c.receiver, "applies": c.applies,
        "received": c.received.to_string(), "applied": c.applied.to_string(), "seconds_behind": c.seconds_behind,
        "by_gtid": c.by_gtid, "tls": c.tls, "receive_error": error(&c.receive_error), "apply_error": error(&c.apply_error),
        "worker_errors": c.worker_errors.iter().map(said).collect::<Vec<_>>(),
    })
}

/// Describes what was undone.
pub fn replica_abort(d: &Aborted) -> Summary {
    let heading = match (d.left.is_empty(), d.removed.is_empty()) {
        (true, false) => "Removed",
        (true, true) => "There was nothing to remove",
        (false, _) => "Removed, and not everything",
    };
    let mut s = Summary::new("replica abort", heading);
    s.add(
        Item::new("server")
            .shown(&d.server)
            .key("server", &d.server),
    );
    s.add(
        Item::new("removed")
            .list(&d.removed)
            .key("removed", &d.removed),
    );
    s.add(Item::new("kept").list(&d.kept).key("kept", &d.kept));
    let left = Item::new("left").list(&d.left);
    s.add(left.key("left", &d.left));
    s.exceptions.clone_from(&d.left);
    s
}
