//! `drill --log`: the log behind a backup is applied to the temporary server, before that is asked.

use super::kit::{Logged, write};
use crate::kit::{Done, each_kind};
use serde_json::Value;
use testkit::Kind;

fn drill(logged: &Logged, more: &[&str]) -> Done {
    let scratch = logged.path("scratch");
    std::fs::create_dir_all(&scratch).expect("a directory");
    let program = logged.server.install();
    let program = program.one_program(&logged.path("mysqld")).expect("one");
    let (scratch, program) = (scratch.display().to_string(), program.display().to_string());
    let words = [
        "drill",
        "--json",
        "--scratch",
        &scratch,
        "--mysqld",
        &program,
    ];
    let done = logged.on(&[&words[..], more].concat());
    let left = std::fs::read_dir(&scratch).expect("a directory").count();
    assert_eq!(left, 0, "{}", done.said());
    done
}

/// What came of the only backup.
#[track_caller]
fn only(done: &Done) -> Value {
    let summary = done.summary();
    let all = summary["backups"].as_array().expect("backups");
    assert_eq!(all.len(), 1, "{summary:#}");
    all[0].clone()
}

fn the_log_is_applied(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    let counted = logged
        .server
        .value("SELECT COUNT(*) FROM d.t")
        .expect("rows");
    logged.backup();
    // Nothing is archived yet.
    let refused = drill(&logged, &["--log", "latest"]);
    refused.code(2).says(&["no binary log of shop"]);
    write(&logged.server, 30);
    logged.once().ok();
    let now = logged
        .server
        .value("SELECT COUNT(*) FROM d.t")
        .expect("rows");
    let check = |rows: &str| format!("SELECT COUNT(*) = {rows} FROM d.t");
    let without = drill(&logged, &["--check", &check(&counted)]).ok();
    assert_eq!(only(&without)["log_to"], Value::Null);
    let latest = drill(&logged, &["--log", "latest", "--check", &check(&now)]).ok();
    assert!(
        only(&latest)["transactions"].as_u64() > Some(20),
        "{}",
        latest.out
    );
    let random = format!("SELECT COUNT(*) BETWEEN {counted} AND {now} FROM d.t");
    let random = drill(&logged, &["--log", "random", "--check", &random]).ok();
    assert!(only(&random)["log_to"].is_string(), "{}", random.out);
    // A damaged log is a failed proof; one with a gap has its way out.
    let segments = std::fs::read_dir(logged.place()).expect("a directory");
    let paths = segments.map(|e| e.expect("an entry").path());
    let segment = paths
        .filter(|p| p.extension().is_some_and(|e| e == "seg"))
        .max();
    let segment = segment.expect("a segment");
    let whole = std::fs::read(&segment).expect("bytes");
    let mut damaged = whole.clone();
    let at = damaged.len() - 20;
    damaged[at] ^= 0x55;
    std::fs::write(&segment, &damaged).expect("written");
    drill(&logged, &["--log", "latest"])
        .code(5)
        .says(&["the log behind the backup"]);
    let failed = std::fs::read_dir(logged.repository().join("drills")).expect("drills");
    let failed = failed.filter(|e| {
        let name = e.as_ref().expect("an entry").file_name();
        name.to_string_lossy().contains("failed")
    });
    assert_eq!(failed.count(), 1);
    std::fs::write(&segment, &whole).expect("written");
    // What is not true behind the log is said.
    let wrong = drill(&logged, &["--log", "latest", "--check", &check(&counted)]);
    wrong.code(4);
}
each_kind!(the_log_is_applied; mysql, mariadb);
