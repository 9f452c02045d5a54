//! What is kept: found again, listed, and removed when no backup needs it.

use super::kit::{Logged, write};
use crate::kit::{Tool, each_kind};
use serde_json::Value;
use testkit::Kind;

fn find(logged: &Logged, more: &[&str]) -> Vec<Value> {
    let done = Tool::new(["binlog", "find", "shop", "--json", "--repository"])
        .arg(logged.repository())
        .args(more.iter().copied())
        .run()
        .ok();
    let summary = done.summary();
    summary["transactions"]
        .as_array()
        .expect("transactions")
        .clone()
}

/// Which transaction dropped that table, and which ones changed it.
fn transactions_are_found(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    let compressed = match kind == Kind::MySql {
        true => "SET SESSION binlog_transaction_compression = ON;",
        false => "SET GLOBAL log_bin_compress = ON; SET GLOBAL log_bin_compress_min_len = 10;",
    };
    let script = format!(
        "SET SESSION binlog_format = ROW; CREATE SCHEMA a; CREATE SCHEMA b;
        CREATE TABLE a.orders (id INT PRIMARY KEY, n DECIMAL(20,4), t DATETIME(3), b BIT(11), e ENUM('x','y'), s SET('p','q'),
            c CHAR(200), v VARCHAR(300), j JSON, g POINT, y YEAR, d DATE, h TIME(6), f DOUBLE, k BIGINT UNSIGNED, l LONGBLOB);
        CREATE TABLE b.orders_old (id INT PRIMARY KEY);
        INSERT INTO a.orders VALUES (1, 1.5, '2026-01-01 00:00:00.123', b'101', 'x', 'p,q', 'c', 'v', '{{\"a\": 1}}', POINT(1, 2), 2026,
            '2026-01-01', '-10:00:00.5', 1.5, 18446744073709551615, REPEAT('l', 70000)),
            (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        FLUSH BINARY LOGS;
        INSERT INTO b.orders_old VALUES (1), (2), (3);
        UPDATE a.orders SET v = 'w', c = NULL WHERE id = 1;
        {compressed}
        BEGIN; DELETE FROM a.orders; INSERT INTO b.orders_old VALUES (4); COMMIT;
        DROP TABLE a.orders;"
    );
    logged.server.script(script.as_bytes()).expect("writes");
    logged.once().ok();
    let dropped = find(&logged, &["--table", "a.orders", "--text", "drop table"]);
    assert_eq!(dropped.len(), 1, "{dropped:?}");
    assert!(dropped[0]["gtid"].is_string());
    let changes = |found: &Value, table: &str| {
        let all = found["changes"].as_array().expect("changes").clone();
        let one = all
            .into_iter()
            .find(|c| c["table"] == table)
            .expect("a table");
        let number = |what: &str| one[what].as_u64().expect("a number");
        (number("inserted"), number("updated"), number("deleted"))
    };
    let deleted = find(&logged, &["--table", "orders", "--kind", "delete"]);
    assert_eq!(deleted.len(), 1, "{deleted:?}");
    assert_eq!(changes(&deleted[0], "orders"), (0, 0, 2));
    assert_eq!(changes(&deleted[0], "orders_old"), (1, 0, 0));
    let inserted = find(&logged, &["--table", "a.orders", "--kind", "insert"]);
    assert_eq!(changes(&inserted[0], "orders"), (2, 0, 0));
    let updated = find(&logged, &["--schema", "a", "--kind", "update"]);
    assert_eq!(changes(&updated[0], "orders"), (0, 1, 0));
    let gtid = updated[0]["gtid"].as_str().expect("a GTID");
    assert_eq!(find(&logged, &["--gtid", gtid]), updated);
    assert!(find(&logged, &["--table", "a.nothing"]).is_empty());
    assert_eq!(find(&logged, &["--limit", "2"]).len(), 2);
    let all = find(&logged, &[]);
    let later = all[all.len() / 2]["time"].as_str().expect("a time");
    let after = find(&logged, &["--after", later]);
    let before = find(&logged, &["--before", later]);
    assert!(!after.is_empty() && !before.is_empty() && after.len() + before.len() > all.len());
    // What it names is what a restore takes.
    let thread = dropped[0]["session"]
        .as_u64()
        .expect("a session")
        .to_string();
    assert!(!find(&logged, &["--thread", &thread]).is_empty());
}
each_kind!(transactions_are_found; mysql, mariadb, mariadb118);

/// The window is listed; prune keeps what the oldest backup needs, and nothing before it.
fn a_prune_keeps_what_backups_need(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    let repository = logged.repository();
    let on = |args: &[&str]| {
        Tool::new(args.iter().copied())
            .arg("--json")
            .arg("--repository")
            .arg(&repository)
            .run()
    };
    for i in 0..3 {
        write(&logged.server, 5 + i);
        logged
            .server
            .client("FLUSH BINARY LOGS")
            .expect("another file");
        logged.backup();
        write(&logged.server, 5);
        logged.once().ok();
    }
    let listed = on(&["list"]).ok().summary();
    let windows = listed["windows"].as_array().expect("windows");
    assert_eq!(windows.len(), 1, "{listed}");
    assert_eq!(windows[0]["missing"], serde_json::json!([]));
    assert!(windows[0]["to"].is_string());
    assert_eq!(logged.stored(1).len(), 4);
    let dry = on(&["prune", "--keep-last", "2", "--dry-run"])
        .ok()
        .summary();
    assert_eq!(dry["binary_logs"][0]["files"], 2, "{dry}");
    assert_eq!(logged.stored(1).len(), 4);
    let killed = Tool::new(["prune", "--keep-last", "2", "--repository"])
        .arg(&repository)
        .env(
            "PENSTOCK_KILL_AT",
            "a segment of the binary log is removed#1",
        )
        .run();
    killed.code(137);
    on(&["prune", "--keep-last", "2"]).ok();
    let names: Vec<String> = logged.stored(1).into_keys().collect();
    assert_eq!(names, ["binlog.000003", "binlog.000004"]);
    // What is left leads from the oldest backup to the end, and is carried on.
    let listed = on(&["list"]).ok().summary();
    assert_eq!(
        listed["windows"][0]["missing"],
        serde_json::json!([]),
        "{listed}"
    );
    write(&logged.server, 3);
    logged.once().ok();
    on(&["restore", "--latest", "--dry-run"])
        .ok()
        .says(&["binlog.000004"]);
    // Without the first segment behind a backup nothing leads on from it.
    let lost = std::fs::read_dir(logged.place()).expect("a directory");
    let lost = lost.map(|e| e.expect("an entry").path()).filter(|p| {
        let name = p
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.contains("binlog.000003@") && name.ends_with(".seg")
    });
    std::fs::remove_file(lost.min().expect("a segment")).expect("a loss");
    let listed = on(&["list"]).ok().summary();
    let windows = listed["windows"].as_array().expect("windows");
    let oldest = listed["backups"][0]["id"].as_str().expect("a backup");
    assert_eq!(windows.len(), 1, "{listed}");
    assert_ne!(windows[0]["backup"], oldest);
    logged.on(&["restore", "--latest", "--dry-run"]).ok();
    logged
        .on(&["restore", oldest, "--latest", "--dry-run"])
        .code(2)
        .says(&["binlog.000003", "the log is not archived from there"]);
}
each_kind!(a_prune_keeps_what_backups_need; mysql, mariadb);

/// A file whose segments are lost is a gap: the window ends before it, a restore does not cross it, and `check` names it.
fn a_lost_file_is_a_gap(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 3);
    logged.backup();
    for _ in 0..3 {
        write(&logged.server, 3);
        logged
            .server
            .client("FLUSH BINARY LOGS")
            .expect("another file");
    }
    logged.archiving(&["--once"]).run().ok();
    logged.on(&["check"]).ok();
    for entry in std::fs::read_dir(logged.place()).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.to_string_lossy().contains("@binlog.000002@") {
            std::fs::remove_file(path).expect("a loss");
        }
    }
    logged.on(&["check"]).code(5).says(&["binlog.000003:0"]);
    let listed = logged.on(&["list", "--json"]).ok().summary();
    let window = &listed["windows"][0];
    assert!(
        window["missing"].to_string().contains("to binlog.000003:0"),
        "{listed}"
    );
    logged
        .on(&["restore", "--latest", "--dry-run"])
        .code(2)
        .says(&["is missing", "to binlog.000003:0", "--across-gap"]);
    // Before it, all is there.
    let place = format!("binlog.000001:{}", logged.stored(1)["binlog.000001"].len());
    logged
        .on(&["restore", "--to-position", &place, "--dry-run"])
        .ok();
}
each_kind!(a_lost_file_is_a_gap; mysql, mariadb);

/// A segment whose bytes were changed is an error where it is read.
#[test]
fn damaged_segments_are_noticed() {
    let Some(logged) = Logged::new(Kind::MariaDb, &[]) else {
        return;
    };
    write(&logged.server, 30);
    logged.once().ok();
    let segment = std::fs::read_dir(logged.place()).expect("a directory");
    let segment = segment
        .map(|e| e.expect("an entry").path())
        .find(|p| p.extension().is_some_and(|e| e == "seg"))
        .expect("a segment");
    let whole = std::fs::read(&segment).expect("bytes");
    let length = whole.len();
    let cases = (0..40).map(|i| i * length / 40).chain([length - 1]);
    let cases: Vec<usize> = cases.collect();
    for at in crate::kit::few(Kind::MariaDb, 8, &cases) {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(&segment, &bytes).expect("damage");
        let done = Tool::new([
            "binlog",
            "find",
            "shop",
            "--table",
            "d.none",
            "--repository",
        ])
        .arg(logged.repository())
        .run();
        let checked = Tool::new(["check", "--repository"])
            .arg(logged.repository())
            .run();
        // The head alone is text, of which a part says nothing about the bytes.
        let head = whole.iter().position(|b| *b == b'\n').expect("a line");
        if at > head {
            assert_ne!(done.code, 0, "byte {at} of {length}: {}", done.said());
            checked.code(5).says(&["DAMAGED"]);
        }
        assert!(done.code < 64, "{}", done.said());
    }
    std::fs::write(&segment, &whole).expect("as it was");
    let check = || {
        Tool::new(["check", "--repository"])
            .arg(logged.repository())
            .run()
    };
    check().ok().says(&["shop: intact: 1 file"]);
    std::fs::write(&segment, &whole[..length / 2]).expect("damage");
    check().code(5);
    let done = Tool::new(["binlog", "find", "shop", "--repository"])
        .arg(logged.repository())
        .run();
    assert_ne!(done.code, 0);
}
