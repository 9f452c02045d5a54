//! After the commands of `penstock snapshot`.

use super::continues::{Copy, continues};
use super::shared::{duration_at, rate, several, things};
use super::{Item, Summary};
use archive::manifest::Position;
use base::units::{bytes, count, printable, seconds};
use encryption::Place;
use serde_json::json;
use snapshot::{Checked, Cleaned, Listed, Manifest, Outcome, State, Taken};
use std::collections::BTreeSet;

/// Describes a snapshot that was taken.
pub fn snapshot_take(d: &Taken) -> Summary {
    let m = &d.manifest;
    let heading = match (&d.to, m.exceptions.is_empty()) {
        (Some(_), true) => "Snapshot stored",
        (Some(_), false) => "Snapshot stored, with exceptions",
        (None, true) => "Snapshot taken, and kept",
        (None, false) => "Snapshot taken with exceptions, and kept",
    };
    let mut s = Summary::new("snapshot take", heading);
    s.add(Item::new("from").shown(&d.from).key("source", &d.from));
    s.add(Item::new("snapshot").shown(&m.id).key("id", &m.id));
    s.add(
        Item::new("method")
            .shown(&m.method)
            .key("method", &m.method),
    );
    for item in locks(m) {
        s.add(item);
    }
    for item in position(&m.position, m.position_remark.as_deref()) {
        s.add(item);
    }
    if d.to.is_some() {
        let (size, data, stored) = m.sizes();
        s.add(
            Item::new("files")
                .line(format!(
                    "{}, {}",
                    things(m.files.len() as u64, "file"),
                    bytes(size)
                ))
                .key("files", m.files.len()),
        );
        s.add(Item::keys().key("bytes", size).key("data_bytes", data));
        let ratio = data as f64 / stored.max(1) as f64;
        s.add(
            Item::new("stored")
                .line(format!(
                    "{} (ratio {ratio:.1}, {})",
                    bytes(stored),
                    m.compression
                ))
                .key("stored_bytes", stored)
                .key("compression", &m.compression),
        );
        s.add(
            Item::new("duration")
                .line(format!(
                    "{} ({} for the files, {})",
                    seconds(d.seconds.0),
                    seconds(d.seconds.1),
                    rate(data, d.seconds.1)
                ))
                .number("duration", d.seconds.0)
                .number("files_duration", d.seconds.1),
        );
    } else {
        s.add(
            Item::new("duration")
                .line(seconds(d.seconds.0))
                .number("duration", d.seconds.0),
        );
    }
    s.add(
        Item::new("not in it")
            .list(&m.left_out)
            .key("left_out", &m.left_out),
    );
    s.add_exceptions(&m.exceptions);
    if let Some(to) = &d.to {
        s.add(Item::new("place").shown(to).key("place", to));
    }
    if let Some(kept) = &d.kept {
        let files = kept.files.display().to_string();
        let directory = kept.directory.display().to_string();
        s.add(
            Item::new("kept")
                .shown(printable(&files))
                .key("kept", files),
        );
        let line = format!("penstock snapshot restore {directory} --datadir DIR");
        let item = Item::new("restore it").line(printable(&line));
        s.add(item.key("directory", directory));
        s.add(Item::new("remove it").line(format!("penstock snapshot clean {}", m.id)));
    }
    s
}

fn locks(m: &Manifest) -> Vec<Item> {
    let l = &m.locks;
    let mut held = Vec::new();
    if l.commits_ms > 0.0 {
        held.push(format!("commits for {:.1} ms", l.commits_ms));
    }
    if l.definitions_ms > 0.0 {
        held.push(format!(
            "changes of definitions for {:.1} ms",
            l.definitions_ms
        ));
    }
    let mut item = Item::new("kept out")
        .number("lock_ms", l.commits_ms)
        .number("definitions_lock_ms", l.definitions_ms)
        .number("lock_wait_ms", l.waited_ms);
    if !held.is_empty() {
        item = item.line(format!(
            "{}; waited for {:.1} ms",
            held.join(", "),
            l.waited_ms
        ));
    }
    vec![
        Item::new("locks").shown(&l.mode).key("locks", &l.mode),
        item,
    ]
}

/// The place in the binary log that files belong to.
fn position(p: &Position, remark: Option<&str>) -> Vec<Item> {
    let mut binlog = Item::new("binary log")
        .key("binlog_file", &p.binlog_file)
        .key("binlog_position", p.binlog_position);
    match (&p.binlog_file, p.binlog_position, remark) {
        (Some(file), Some(at), _) => binlog = binlog.shown(format!("{file}:{at}")),
        (_, _, Some(remark)) => binlog = binlog.line(remark),
        _ => {}
    }
    let set = p.gtid_executed.as_ref().or(p.gtid_binlog_pos.as_ref());
    let mut gtid = Item::new("GTID")
        .key("gtid_executed", &p.gtid_executed)
        .key("gtid_binlog_pos", &p.gtid_binlog_pos)
        .key("gtid_slave_pos", &p.gtid_slave_pos);
    if let Some(set) = set {
        gtid = gtid.shown(printable(set));
    }
    let mut sources = Item::new("replica of").key("sources", json!(p.sources));
    for s in &p.sources {
        let doubt = if s.exact || p.gtid_executed.is_some() {
            ""
        } else {
            ", OR A LITTLE LATER: its applier has several workers, and how far each of them is is unknown"
        };
        let text = format!("{}:{} at {}:{}{doubt}", s.host, s.port, s.file, s.position);
        sources = sources.shown(printable(&text));
    }
    vec![binlog, gtid, sources]
}

/// Describes a stored snapshot that was read through.
pub fn snapshot_check(d: &Checked, place: &Place) -> Summary {
    let m = &d.manifest;
    let mut s = Summary::new("verify", "The snapshot is intact");
    let path = place.absolute();
    s.add(Item::new("archive").shown(&path).key("archive", &path));
    s.add(Item::new("snapshot").line(&m.id).key("id", &m.id));
    let (size, ..) = m.sizes();
    s.add(
        Item::new("files")
            .line(format!(
                "{}, {}; every digest fits",
                things(m.files.len() as u64, "file"),
                bytes(size)
            ))
            .key("files", m.files.len())
            .key("bytes", size),
    );
    for item in position(&m.position, m.position_remark.as_deref()) {
        s.add(item);
    }
    let [duration, throughput] = duration_at(d.seconds, d.bytes, " as stored");
    s.add(duration);
    s.add(throughput);
    s
}

/// Describes a restored snapshot.
pub fn snapshot_restore(d: &Outcome) -> Summary {
    let m = &d.manifest;
    let wrong = d.proof.as_ref().is_some_and(|p| !p.unchecked.is_empty());
    let heading = match wrong {
        false => "Snapshot restored, and recovered",
        true => "Snapshot restored, and recovered; not every table was checked",
    };
    let mut s = Summary::new("snapshot restore", heading);
    s.add(Item::new("from").shown(&d.from).key("from", &d.from));
    s.add(
        Item::new("snapshot")
            .shown(format!(
                "{} of {} {}",
                m.id,
                m.source.flavour,
                printable(&m.source.version)
            ))
            .key("id", &m.id),
    );
    let (size, data, _) = m.sizes();
    if d.compared {
        s.add(
            Item::new("files")
                .line(format!(
                    "{}, {}; every digest fits",
                    things(m.files.len() as u64, "file"),
                    bytes(size)
                ))
                .key("files", m.files.len())
                .key("bytes", size),
        );
    }
    s.add(Item::keys().key("digests", d.compared));
    let mut proof = Item::new("proven");
    if let Some(p) = &d.proof {
        let of = match p.tables {
            0 => "a server has recovered the files; no table was looked at".to_owned(),
            n => format!(
                "a server has recovered the files, and {} of {} are well",
                count(n - p.unchecked.len() as u64),
                things(n, "table")
            ),
        };
        proof = proof.line(of).key("tables", p.tables);
    }
    s.add(proof);
    let unchecked = d
        .proof
        .as_ref()
        .map(|p| p.unchecked.clone())
        .unwrap_or_default();
    s.add(
        Item::new("not checked")
            .list(&unchecked)
            .key("not_checked", &unchecked),
    );
    let mut p = m.position.clone();
    if let Some((file, at)) = d.proof.as_ref().and_then(|p| p.binlog.clone()) {
        (p.binlog_file, p.binlog_position) = (Some(file), Some(at));
    }
    if p.gtid_executed.is_none() {
        p.gtid_executed = d.proof.as_ref().and_then(|p| p.gtid.clone());
    }
    for item in position(&p, m.position_remark.as_deref()) {
        s.add(item);
    }
    s.add(continues(&p, &m.source, Copy::Files));
    let [duration, throughput] = duration_at(d.seconds.0, data, "");
    s.add(duration);
    s.add(throughput);
    s.add(
        Item::new("of that")
            .line(format!(
                "{} for the files, {} to recover, {} for the proof",
                seconds(d.seconds.1),
                seconds(d.seconds.2),
                seconds(d.seconds.3)
            ))
            .number("files_duration", d.seconds.1)
            .number("recovery_duration", d.seconds.2)
            .number("proof_duration", d.seconds.3),
    );
    let datadir = printable(&d.datadir.display().to_string());
    s.add(
        Item::new("data directory")
            .shown(&datadir)
            .key("datadir", &datadir),
    );
    s
}

fn json_of(l: &Listed) -> serde_json::Value {
    let state = word(l.state);
    match &l.content {
        Some(c) => json!({
            "id": c.id, "state": state, "method": c.method.name(), "begin": c.begin, "server": c.server,
            "datadir": c.datadir.display().to_string(), "files": c.root.display().to_string(),
            "directory": c.directory.display().to_string(),
        }),
        None => json!({ "state": state }),
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Kept => "kept",
        State::InUse => "in use",
        State::Leftover => "leftover",
    }
}

fn line(l: &Listed) -> String {
    match &l.content {
        Some(c) => printable(&format!(
            "{} ({}, {}): {}, files in {}",
            c.id,
            word(l.state),
            c.method.name(),
            c.server,
            c.root.display()
        )),
        None => "a record that a killed run had not written yet".to_owned(),
    }
}

/// Lists the snapshots on this host.
pub fn snapshots(found: &[Listed]) -> Summary {
    let n = |state: State| found.iter().filter(|l| l.state == state).count() as u64;
    let leftovers = n(State::Leftover);
    let of = several(&[
        (n(State::Kept), "kept snapshot"),
        (n(State::InUse), "snapshot in use"),
        (leftovers, "leftover"),
    ]);
    let heading = if of.is_empty() {
        "No snapshot on this host".to_owned()
    } else {
        of
    };
    let mut s = Summary::new("snapshot list", heading);
    let lines: Vec<String> = found.iter().map(line).collect();
    let list = Item::new("snapshots").list(&lines);
    s.add(list.key("snapshots", found.iter().map(json_of).collect::<Vec<_>>()));
    if leftovers > 0 {
        s.add(Item::new("leftovers").line("penstock snapshot clean removes them"));
    }
    s
}

/// What was cleaned.
pub fn snapshot_clean(d: &Cleaned) -> Summary {
    // One without a record may have several parts.
    let parts = d.without_record.iter();
    let ids: BTreeSet<&String> = parts.clone().map(|(id, _)| id).collect();
    let parts: Vec<String> = parts.map(|(_, part)| part.clone()).collect();
    let what = things((d.removed.len() + ids.len()) as u64, "snapshot");
    let heading = match d.dry_run {
        true => format!("{what} would be removed"),
        false => format!("{what} removed"),
    };
    let mut s = Summary::new("snapshot clean", heading);
    let lines: Vec<String> = d.removed.iter().map(line).collect();
    let removed = Item::new(if d.dry_run { "would go" } else { "removed" }).list(&lines);
    s.add(removed.key("removed", d.removed.iter().map(json_of).collect::<Vec<_>>()));
    s.add(
        Item::new("without a record")
            .list(&parts)
            .key("without_record", &parts),
    );
    s.add(Item::new("left").list(&d.left).key("left", &d.left));
    s
}
