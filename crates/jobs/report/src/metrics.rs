//! Metrics for a monitoring system.

use jiff::Timestamp;
use repository::{BackupKind, Entry, Listing, Proof, Unlisted};
use std::collections::BTreeSet;

/// How the archive of a server's binary log stands, in the same format.
pub fn binlog(server: &str, standing: &base::Standing) -> String {
    use binlog_archive::standing::{AT_RISK, CONNECTED, LAG, LAST_EVENT, WAITS};
    let gauges = [
        (
            CONNECTED,
            "penstock_binlog_connected",
            "1 while the server's binary log is followed, else 0.",
        ),
        (
            LAG,
            "penstock_binlog_lag_seconds",
            "How far the archive is behind the server.",
        ),
        (
            AT_RISK,
            "penstock_binlog_at_risk_seconds",
            "Age of what would be lost with the server now.",
        ),
        (
            WAITS,
            "penstock_binlog_commits_wait",
            "1 while commits of the server wait for the archive, 0 while they should and do not.",
        ),
        (
            LAST_EVENT,
            "penstock_binlog_last_event_timestamp_seconds",
            "When the last event that came was written.",
        ),
    ];
    let mut text = String::new();
    for (key, name, help) in gauges {
        let value = standing.values.iter().find(|(k, _)| *k == key);
        if let Some((_, value)) = value {
            text.push_str(&format!(
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name}{{server=\"{server}\"}} {value}\n"
            ));
        }
    }
    text
}

/// The state of a repository as text of Prometheus' exposition format, version 0.0.4
/// (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
pub fn repository(l: &Listing, now: Timestamp) -> String {
    let servers: BTreeSet<&str> = l
        .entries
        .iter()
        .map(|e| e.server.as_str())
        .chain(l.proofs.iter().map(|p| p.server.as_str()))
        .chain(l.unlisted.iter().map(|u| u.server.as_str()))
        .collect();
    let of =
        |server: &str| -> Vec<&Entry> { l.entries.iter().filter(|e| e.server == server).collect() };
    let last = |server: &str| l.entries.iter().rfind(|e| e.server == server);
    let proofs = |server: &str| -> Vec<&Proof> {
        let all = l.proofs.iter();
        all.filter(|p| p.server.as_str() == server).collect()
    };
    let unix = |t: Timestamp| t.as_second() as f64;
    type Gauge<'a> = (&'a str, &'a str, Box<dyn Fn(&str) -> Option<f64> + 'a>);
    let gauges: Vec<Gauge<'_>> = vec![
        (
            "penstock_backups",
            "Backups of the server.",
            Box::new(|s| Some(of(s).len() as f64)),
        ),
        (
            "penstock_backups_stored_bytes",
            "Bytes of all backups of the server.",
            Box::new(|s| Some(of(s).iter().map(|e| e.stored_bytes).sum::<u64>() as f64)),
        ),
        (
            "penstock_backups_unfinished",
            "What killed runs left of the server.",
            Box::new(|s| {
                let left = |u: &&Unlisted| u.server.as_str() == s && !u.running;
                Some(l.unlisted.iter().filter(left).count() as f64)
            }),
        ),
        (
            "penstock_last_backup_begin_timestamp_seconds",
            "When the newest backup began: what it has is of that time.",
            Box::new(move |s| last(s).and_then(Entry::begin).map(unix)),
        ),
        (
            "penstock_last_backup_duration_seconds",
            "How long the newest backup took.",
            Box::new(move |s| last(s).map(Entry::seconds)),
        ),
        (
            "penstock_last_backup_stored_bytes",
            "Bytes of the newest backup.",
            Box::new(move |s| last(s).map(|e| e.stored_bytes as f64)),
        ),
        (
            "penstock_last_backup_exceptions",
            "Exceptions of the newest backup.",
            Box::new(move |s| last(s).map(|e| e.exceptions.len() as f64)),
        ),
        (
            "penstock_last_drill_timestamp_seconds",
            "When the last drill began.",
            Box::new(move |s| proofs(s).last().map(|p| unix(p.at))),
        ),
        (
            "penstock_last_drill_proven",
            "1 if the last drill proved its backup, else 0.",
            Box::new(move |s| proofs(s).last().map(|p| f64::from(u8::from(p.proven)))),
        ),
        (
            "penstock_last_proof_timestamp_seconds",
            "When the last drill began that proved a backup.",
            Box::new(move |s| proofs(s).iter().rfind(|p| p.proven).map(|p| unix(p.at))),
        ),
        (
            "penstock_last_proven_backup_timestamp_seconds",
            "When the newest backup began that a drill has proven.",
            Box::new(move |s| {
                let proofs = proofs(s);
                let proven = proofs.iter().filter(|p| p.proven);
                proven.map(|p| unix(p.id.time())).reduce(f64::max)
            }),
        ),
    ];
    let mut text = String::new();
    let mut write = |name: &str, help: &str, values: &[(String, f64)]| {
        text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n"));
        for (labels, value) in values {
            text.push_str(&format!("{name}{labels} {value}\n"));
        }
    };
    for (name, help, value) in gauges {
        // Names of servers have no character that must be escaped.
        let label = |s: &&str| Some((format!("{{server=\"{s}\"}}"), value(s)?));
        let values: Vec<(String, f64)> = servers.iter().filter_map(label).collect();
        write(name, help, &values);
    }
    // The backups of each kind by themselves: a new dump says nothing of the age of the snapshots.
    let series: BTreeSet<(&str, BackupKind)> = l.entries.iter().map(Entry::series).collect();
    let of = |series: (&str, BackupKind)| -> Vec<&Entry> {
        l.entries.iter().filter(|e| e.series() == series).collect()
    };
    type OfSeries<'a> = (&'a str, &'a str, Box<dyn Fn(&[&Entry]) -> Option<f64> + 'a>);
    let by_kind: Vec<OfSeries<'_>> = vec![
        (
            "penstock_backups_by_kind",
            "Backups of the server, of this kind.",
            Box::new(|all| Some(all.len() as f64)),
        ),
        (
            "penstock_backups_by_kind_stored_bytes",
            "Bytes of these backups.",
            Box::new(|all| Some(all.iter().map(|e| e.stored_bytes).sum::<u64>() as f64)),
        ),
        (
            "penstock_last_backup_by_kind_begin_timestamp_seconds",
            "When the newest backup of this kind began.",
            Box::new(move |all| all.last().and_then(|e| e.begin()).map(unix)),
        ),
        (
            "penstock_last_backup_by_kind_lock_seconds",
            "How long commits were kept out for the newest backup of this kind.",
            Box::new(|all| all.last().and_then(|e| e.lock_ms).map(|ms| ms / 1000.0)),
        ),
        (
            "penstock_last_proven_backup_by_kind_timestamp_seconds",
            "When the newest backup of this kind began that is still there and that a drill has proven.",
            Box::new(move |all| {
                let proven = all.iter().rfind(|e| l.proof_of(e).is_some());
                proven.and_then(|e| e.begin()).map(unix)
            }),
        ),
    ];
    for (name, help, value) in by_kind {
        let label = |s: &(&str, BackupKind)| {
            let labels = format!("{{server=\"{}\",kind=\"{}\"}}", s.0, s.1.name());
            Some((labels, value(&of(*s))?))
        };
        let values: Vec<(String, f64)> = series.iter().filter_map(label).collect();
        write(name, help, &values);
    }
    write(
        "penstock_metrics_timestamp_seconds",
        "When these metrics were written.",
        &[(String::new(), unix(now))],
    );
    text
}
