//! After the verbs of a repository.

use super::shared::{rows, things};
use super::{Item, Line, Summary, Table};
use base::units::{bytes, count, printable, seconds};
use binlog_archive::CheckedLog;
use repository::{
    Backup, BackupKind, Checked, Drilled, Entry, Listing, Made, Proof, Pruned, Removal, Repository,
    Unlisted,
};
use serde_json::{Value, json};

/// Describes a new repository.
pub fn init(r: &Repository) -> Summary {
    let mut s = Summary::new("init", "Repository made");
    let place = r.place().absolute();
    s.add(
        Item::new("repository")
            .shown(&place)
            .key("repository", &place),
    );
    s.add(Item::new("next").line(format!("penstock backup NAME --repository {place} …")));
    s
}

/// Describes a backup: its dump or snapshot, and how it is listed.
pub fn backup(b: &Backup) -> Summary {
    let mut s = match &b.made {
        Made::Dump(done) => {
            let s = super::dump(done);
            let heading = s.heading.replacen("Dump", "Backup", 1);
            Summary { heading, ..s }
        }
        Made::Snapshot(done) => {
            let s = super::snapshot_take(done);
            let heading = match done.manifest.exceptions.is_empty() {
                true => "Backup complete: a snapshot",
                false => "Backup complete, with exceptions: a snapshot",
            };
            Summary {
                heading: heading.to_owned(),
                ..s
            }
        }
    };
    s.job = "backup";
    s.title = format!("Backup of {}", b.entry.server);
    let name = format!("{}@{}", b.entry.server, b.entry.id);
    s.add(
        Item::new("backup")
            .shown(name)
            .key("backup", entry_json(&b.entry)),
    );
    s.add(adopted(&b.adopted));
    s
}

/// Describes the backups of a repository.
pub fn list(r: &Repository, l: &Listing) -> Summary {
    let n = l.entries.len() as u64;
    let heading = match n {
        0 => "No backups".to_owned(),
        _ => things(n, "backup"),
    };
    let mut s = Summary::new("list", heading);
    let place = r.place().absolute();
    s.add(
        Item::new("repository")
            .line(&place)
            .key("repository", &place),
    );
    let head = [
        "server",
        "backup",
        "kind",
        "began (UTC)",
        "took",
        "rows",
        "data",
        "stored",
        "source",
        "proven",
        "",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    table.extend(l.entries.iter().map(|e| cells(e, l.proof_of(e))));
    let json = |e: &Entry| {
        let mut json = entry_json(e);
        json["proven"] = l.proof_of(e).map(|p| p.at.to_string()).into();
        json
    };
    let json: Vec<Value> = l.entries.iter().map(json).collect();
    let mut item = Item::keys().key("backups", json);
    if n > 0 {
        let rows = table;
        item = item.with(Line::Blank).with(Line::Table(Table {
            indent: 2,
            numbers: false,
            rows,
        }));
        let stored = l.entries.iter().map(|e| e.stored_bytes).sum();
        item = item
            .with(Line::Blank)
            .with(Line::Plain(format!("{} in all", bytes(stored))));
    }
    if !l.held.is_empty() {
        let (n, held) = (l.held.len() as u64, l.held.iter().map(|(_, n)| n).sum());
        item = item.with(Line::Plain(format!(
            "and {} of {} that were removed, which others need",
            bytes(held),
            things(n, "backup")
        )));
    }
    let held = l.held.iter().map(
        |(u, bytes)| json!({"server": u.server.as_str(), "id": u.id.as_str(), "bytes": bytes}),
    );
    item = item.key("held", held.collect::<Vec<_>>());
    s.add(item);
    let windows: Vec<String> = l.windows.iter().map(window).collect();
    let json = l.windows.iter().map(|w| {
        json!({
            "server": w.server, "backup": w.backup, "from": w.from, "to": w.to,
            "end": w.end.to_string(), "missing": w.missing,
        })
    });
    s.add(
        Item::new("to any moment")
            .list(&windows)
            .key("windows", json.collect::<Vec<Value>>()),
    );
    let logs: Vec<String> = l.damaged_logs.iter().map(|d| printable(d)).collect();
    s.add(
        Item::new("damaged logs")
            .list(&logs)
            .key("damaged_logs", &logs),
    );
    s.add(unlisted(&l.unlisted));
    let damaged: Vec<String> = l
        .damaged
        .iter()
        .map(|n| format!("{n} in the catalog cannot be read"))
        .collect();
    s.add(
        Item::new("damaged")
            .list(&damaged)
            .key("damaged", &l.damaged),
    );
    let drills: Vec<String> = l.damaged_drills.iter().map(damaged_drill).collect();
    s.add(
        Item::new("damaged drills")
            .list(&drills)
            .key("damaged_drills", &l.damaged_drills),
    );
    s
}

/// From when to when a server can be restored.
fn window(w: &repository::Window) -> String {
    let from = w.from.get(..19).unwrap_or(&w.from);
    let to =
        w.to.as_deref()
            .unwrap_or("the same moment: nothing came after it");
    let gap = match w.missing.is_empty() {
        true => String::new(),
        false => format!("; then a gap: {}", w.missing.join("; ")),
    };
    printable(&format!(
        "{}: from {from}Z ({}) to {to}, {}{gap}",
        w.server, w.backup, w.end
    ))
}

/// What is said of the file of a drill that does not count.
fn damaged_drill(name: &String) -> String {
    format!("{name} in drills/ says something else than its name, and does not count")
}

fn cells(e: &Entry, proof: Option<&Proof>) -> Vec<String> {
    let proven = proof.map_or_else(
        || "-".to_owned(),
        |p| p.at.strftime("%Y-%m-%d %H:%M").to_string(),
    );
    let begin = e.begin.get(..16).unwrap_or(&e.begin).replace('T', " ");
    let incremental = (!e.refers_to.is_empty()).then(|| "incremental".to_owned());
    let lacks = e.exceptions.len() as u64;
    let lacks = (lacks > 0).then(|| things(lacks, "exception"));
    let unknown = || "-".to_owned();
    let of_rows = |text: String| match e.encrypted || e.kind != BackupKind::Logical {
        true => unknown(),
        false => text,
    };
    let encrypted = e.encrypted.then(|| "encrypted".to_owned());
    let (data, source) = match e.encrypted {
        true => (unknown(), unknown()),
        false => {
            let source = format!("{} {}", e.flavour, e.server_version);
            (bytes(e.raw_bytes), source)
        }
    };
    let notes = [encrypted, incremental, lacks].into_iter().flatten();
    vec![
        e.server.clone(),
        e.id.clone(),
        e.kind.name().to_owned(),
        begin,
        seconds(e.seconds()),
        of_rows(count(e.rows)),
        data,
        bytes(e.stored_bytes),
        source,
        proven,
        notes.collect::<Vec<_>>().join(", "),
    ]
}

fn entry_json(e: &Entry) -> Value {
    json!({
        "server": e.server, "id": e.id, "kind": e.kind.name(), "method": e.method, "sequence": e.sequence, "begin": e.begin, "end": e.end,
        "duration": base::units::rounded(e.seconds()), "flavour": e.flavour, "server_version": e.server_version,
        "server_uuid": e.server_uuid, "lock_ms": e.lock_ms.map(base::units::rounded),
        "definitions_lock_ms": e.definitions_lock_ms.map(base::units::rounded),
        "tables": e.tables, "rows": e.rows, "raw_bytes": e.raw_bytes, "stored_bytes": e.stored_bytes,
        "files": e.files, "position": e.position, "exceptions": e.exceptions, "encrypted": e.encrypted,
        "impact": e.impact, "refers_to": e.refers_to,
    })
}

fn unlisted(all: &[Unlisted]) -> Item {
    let running: Vec<String> = all.iter().filter(|u| u.running).map(name).collect();
    let left: Vec<String> = all
        .iter()
        .filter(|u| !u.running)
        .map(|u| {
            format!(
                "{} is not whole, or was not listed yet; prune or the next backup settles it",
                name(u)
            )
        })
        .collect();
    let json: Vec<Value> = all
        .iter()
        .map(|u| json!({"server": u.server.as_str(), "id": u.id.as_str(), "running": u.running}))
        .collect();
    let item = Item::new("left over").list(&left).key("unlisted", json);
    running.iter().fold(item, |item, name| {
        item.with(Line::Plain(format!("{name} is being made")))
    })
}

fn name(u: &Unlisted) -> String {
    format!("{}@{}", u.server, u.id)
}

fn adopted(all: &[Entry]) -> Item {
    let names: Vec<String> = all
        .iter()
        .map(|e| format!("{}@{}", e.server, e.id))
        .collect();
    Item::new("listed now, whole since an earlier run")
        .list(&names)
        .key("adopted", &names)
}

/// Describes the check of backups.
pub fn check(all: &[Checked], logs: &[CheckedLog]) -> Summary {
    let damaged = all.iter().filter(|c| c.is_damaged()).count();
    let intact = all.iter().filter(|c| c.outcome.is_ok()).count();
    let heading = match (all.len(), damaged, all.len() - intact - damaged) {
        (0, ..) => "There is no backup to check".to_owned(),
        (n, 0, 0) => format!("{}: intact", things(n as u64, "backup")),
        (n, bad, 0) => format!("{}: {bad} damaged", things(n as u64, "backup")),
        (n, 0, unread) => format!("{}: {unread} not read", things(n as u64, "backup")),
        (n, bad, unread) => format!(
            "{}: {bad} damaged, {unread} not read",
            things(n as u64, "backup")
        ),
    };
    let mut s = Summary::new("check", heading);
    s.add(rows(
        all.iter()
            .filter_map(|c| c.outcome.as_ref().ok())
            .map(|o| o.rows)
            .sum(),
    ));
    let mut item = Item::keys();
    let mut json = Vec::new();
    for c in all {
        let name = format!("{}@{}", c.entry.server, c.entry.id);
        let (line, object) = match &c.outcome {
            Ok(o) => (
                format!(
                    "{name}  intact: {}, {}, in {}",
                    things(o.files, "file"),
                    bytes(o.bytes),
                    seconds(o.seconds)
                ),
                json!({"backup": name, "intact": true, "files": o.files, "bytes": o.bytes, "rows": o.rows}),
            ),
            Err(e) if c.is_damaged() => (
                format!("{name}  DAMAGED: {}", e.what),
                json!({"backup": name, "intact": false, "error": e.what}),
            ),
            Err(e) => (
                format!("{name}  not read: {}", e.what),
                json!({"backup": name, "intact": null, "error": e.what}),
            ),
        };
        // Each kind of damage stands in a line of its own.
        for line in line.lines() {
            item = item.with(Line::Plain(line.to_owned()));
        }
        json.push(object);
    }
    s.add(item.key("backups", json));
    let line = |l: &CheckedLog| match l.damage.is_empty() {
        true => format!(
            "{}: intact: {}, {}",
            l.server,
            things(l.files, "file"),
            bytes(l.bytes)
        ),
        false => format!(
            "{}: DAMAGED: {} (penstock binlog archive --repair archives it again, as long as the server has these files)",
            l.server,
            l.damage.join("; ")
        ),
    };
    let lines: Vec<String> = logs.iter().map(|l| printable(&line(l))).collect();
    let json = logs.iter().map(|l| {
        json!({
            "server": l.server, "intact": l.damage.is_empty(), "files": l.files, "bytes": l.bytes,
            "damage": l.damage, "missing": l.missing,
        })
    });
    s.add(
        Item::new("binary logs")
            .list(&lines)
            .key("binary_logs", json.collect::<Vec<Value>>()),
    );
    s
}

/// Describes drills.
pub fn drill(all: &[Drilled]) -> Summary {
    let proven = all.iter().filter(|d| d.is_proven()).count();
    let heading = match (all.len(), proven) {
        (0, _) => "No backup was tried".to_owned(),
        (1, 1) => "The backup is proven".to_owned(),
        (1, _) => "The backup is NOT PROVEN".to_owned(),
        (n, good) if n == good => format!("{}: proven", things(n as u64, "backup")),
        (n, good) => format!("{}: {} NOT PROVEN", things(n as u64, "backup"), n - good),
    };
    let mut s = Summary::new("drill", heading);
    let mut item = Item::keys();
    let mut json = Vec::new();
    for d in all {
        let name = format!("{}@{}", d.entry.server, d.entry.id);
        let line = match &d.restored {
            Ok(done) => format!(
                "{name}  restored and {} in {}: {}{}",
                match d.is_of_files {
                    true => "checked",
                    false => "compared",
                },
                seconds(d.seconds),
                match d.is_of_files {
                    true => things(done.tables, "table"),
                    false => format!("{} rows", count(done.rows)),
                },
                applied(d)
                    + &match d.checks.len() as u64 {
                        0 => String::new(),
                        n => format!(", {}", things(n, "check")),
                    }
            ),
            Err(e) => format!("{name}  FAILED: {}", e.what),
        };
        item = item.with(Line::Plain(line));
        let wrong = d.checks.iter().filter_map(|(sql, wrong)| {
            let wrong = wrong.as_ref()?;
            Some(format!("  NOT TRUE, {wrong}: {sql}"))
        });
        item = wrong.fold(item, |item, line| {
            item.with(Line::Plain(base::units::printable(&line)))
        });
        let checks: Vec<Value> = d
            .checks
            .iter()
            .map(|(sql, wrong)| json!({"sql": sql, "wrong": wrong}))
            .collect();
        let done = d.restored.as_ref();
        json.push(json!({
            "backup": name, "proven": d.is_proven(), "at": d.at.to_string(),
            "seconds": base::units::rounded(d.seconds), "rows": done.map_or(0, |d| d.rows),
            "kind": if d.is_of_files { "snapshot" } else { "logical" }, "tables": done.map_or(0, |d| d.tables),
            "error": done.err().map(|e| &e.what), "checks": checks,
            "log_to": d.applied.as_ref().map(|a| &a.to), "transactions": d.applied.as_ref().map(|a| a.transactions),
            "exceptions": done.map_or(&[][..], |d| &d.exceptions[..]),
        }));
    }
    s.add(item.key("backups", json));
    let exceptions: Vec<String> = all
        .iter()
        .filter_map(|d| d.restored.as_ref().ok())
        .flat_map(|d| d.exceptions.iter().cloned())
        .collect();
    s.add_exceptions(&exceptions);
    s
}

/// What was applied behind the backup.
fn applied(d: &Drilled) -> String {
    d.applied.as_ref().map_or_else(String::new, |a| {
        let transactions = things(a.transactions, "transaction");
        format!(", {transactions} of the log up to {}", a.to)
    })
}

/// Describes archives whose key has another encryption now.
pub fn rekey(done: &[String]) -> Summary {
    let mut s = Summary::new("rekey", "Key changed");
    s.add(Item::new("archives").list(done).key("archives", done));
    s
}

/// Describes a prune.
pub fn prune(p: &Pruned) -> Summary {
    let gone = p.backups.iter().filter(|r| r.removed).count() as u64;
    let freed = p
        .backups
        .iter()
        .filter(|r| r.removed)
        .map(|r| r.keep.entry.stored_bytes.saturating_sub(r.needed_bytes))
        .sum();
    let heading = match (gone, p.dry_run) {
        (0, _) => "No backup to remove".to_owned(),
        (n, true) => format!("{} would be removed", things(n, "backup")),
        (n, false) => format!("{} removed", things(n, "backup")),
    };
    let mut s = Summary::new("prune", heading);
    let mut item = Item::keys();
    let mut json = Vec::new();
    for r in &p.backups {
        let e = &r.keep.entry;
        item = item.with(Line::Plain(format!(
            "{:<8} {}@{}  {:<8}  {}",
            verdict(r, p.dry_run),
            e.server,
            e.id,
            e.kind.name(),
            why(r)
        )));
        json.push(json!({
            "server": e.server, "id": e.id, "kind": e.kind.name(), "removed": r.removed, "kept_by": r.keep.reasons, "why": r.why,
            "needed_bytes": r.needed_bytes,
        }));
    }
    s.add(item.key("backups", json).key("dry_run", p.dry_run));
    s.add(
        Item::new(if p.dry_run { "would free" } else { "freed" })
            .line(bytes(freed))
            .key("freed_bytes", freed),
    );
    s.add(
        Item::new("refused without --force")
            .list(&p.refusals)
            .key("refusals", &p.refusals),
    );
    let left: Vec<String> = p.leftovers.iter().map(name).collect();
    s.add(
        Item::new("left over by killed runs")
            .list(&left)
            .key("leftovers", &left),
    );
    let logs = p.logs.iter().map(|l| {
        format!(
            "{}: {} before {}, {}",
            l.server,
            things(l.files, "file"),
            printable(&l.from),
            bytes(l.bytes)
        )
    });
    let json = p
        .logs
        .iter()
        .map(|l| json!({"server": l.server, "files": l.files, "bytes": l.bytes, "from": l.from}));
    s.add(
        Item::new("binary logs")
            .list(&logs.collect::<Vec<_>>())
            .key("binary_logs", json.collect::<Vec<Value>>()),
    );
    s.add(adopted(&p.adopted));
    s
}

fn verdict(r: &Removal, dry_run: bool) -> &'static str {
    match (r.removed, dry_run) {
        (true, true) => "would go",
        (true, false) => "removed",
        (false, _) => "kept",
    }
}

fn why(r: &Removal) -> String {
    match &r.why {
        Some(why) => why.clone(),
        None if r.needed_bytes > 0 => {
            let left = bytes(r.needed_bytes);
            format!("but for {left} that other backups need")
        }
        None => r.keep.reasons.join(", "),
    }
}
