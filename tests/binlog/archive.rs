//! What is archived of every kind of transaction.

use super::kit::{Logged, stored};
use crate::kit::{Tool, each_kind};
use testkit::Kind;

/// Transactions of all kinds.
const WORK: &str = "
CREATE SCHEMA d;
CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT) ENGINE=InnoDB;
CREATE TABLE d.m (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT) ENGINE=MyISAM;
INSERT INTO d.t (v) VALUES ('a'), (NULL), (REPEAT('y', 2000000));
INSERT INTO d.m (v) SELECT v FROM d.t;
BEGIN; INSERT INTO d.t (v) VALUES ('in'); SAVEPOINT s; INSERT INTO d.t (v) VALUES ('gone');
ROLLBACK TO s; COMMIT;
SET SESSION binlog_format = STATEMENT;
INSERT INTO d.t (v) VALUES (@@pseudo_thread_id * 0);
SET @n = 'as a variable'; INSERT INTO d.t (v) VALUES (@n), (RAND());
SET SESSION binlog_format = ROW;
FLUSH BINARY LOGS;
XA START 'x'; INSERT INTO d.t (v) VALUES ('xa'); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x';
XA START 'y'; INSERT INTO d.t (v) VALUES ('one'); XA END 'y'; XA COMMIT 'y' ONE PHASE;
XA START 'z'; INSERT INTO d.t (v) VALUES ('none'); XA END 'z'; XA PREPARE 'z'; XA ROLLBACK 'z';
CREATE TABLE d.s AS SELECT id FROM d.t;
CREATE TEMPORARY TABLE d.tmp (a INT); INSERT INTO d.tmp VALUES (1); DROP TEMPORARY TABLE d.tmp;
TRUNCATE d.s; DROP TABLE d.s;
";

/// What MySQL refuses where it has GTIDs.
const MIXED: &str = "
BEGIN; INSERT INTO d.t (v) VALUES ('in'); INSERT INTO d.m (v) VALUES ('mixed'); COMMIT;
BEGIN; INSERT INTO d.m (v) VALUES ('stays'); INSERT INTO d.t (v) VALUES ('goes'); ROLLBACK;
";

/// The set that the server says it has executed, and the one that stands in the segments.
fn executed(logged: &Logged) -> (String, String) {
    let sql = match logged.server.kind() == Kind::MySql {
        true => "SELECT @@GLOBAL.gtid_executed",
        false => "SELECT @@GLOBAL.gtid_binlog_pos",
    };
    let theirs = logged.server.value(sql).expect("a set").replace('\n', "");
    let mut heads = Vec::new();
    for entry in std::fs::read_dir(logged.place()).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "seg") {
            let bytes = std::fs::read(&path).expect("a segment");
            let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
            let head: serde_json::Value = serde_json::from_slice(line).expect("a head");
            let gtids = head["gtids"].as_str().expect("a set").to_owned();
            heads.push((path, gtids));
        }
    }
    heads.sort();
    let all: Vec<String> = heads
        .into_iter()
        .map(|h| h.1)
        .filter(|s| !s.is_empty())
        .collect();
    let ours = match logged.server.kind() == Kind::MySql {
        // The server itself joins sets.
        true => logged
            .server
            .value(&format!("SELECT GTID_SUBTRACT('{}', '')", all.join(",")))
            .expect("a set")
            .replace('\n', ""),
        false => all.last().cloned().unwrap_or_default(),
    };
    (theirs, ours)
}

fn everything_is_there(kind: Kind) {
    let Some(mut logged) = Logged::new(kind, &[]) else {
        return;
    };
    let server = &logged.server;
    server.script(WORK.as_bytes()).expect("writes");
    if kind != Kind::MySql {
        server.script(MIXED.as_bytes()).expect("writes");
    }
    logged.once().ok().says(&["Binary log archived"]);
    logged.assert_equal(1);
    let more = match kind == Kind::MySql {
        true => "SET SESSION binlog_transaction_compression = ON;
            INSERT INTO d.t (v) SELECT v FROM d.m; UPDATE d.t SET v = CONCAT(v, 'z');
            SET gtid_next = 'AUTOMATIC:tagged'; INSERT INTO d.t (v) VALUES ('with a tag');
            SET SESSION binlog_rows_query_log_events = ON; DELETE FROM d.t WHERE id < 3;",
        false => "SET GLOBAL log_bin_compress = ON; SET GLOBAL log_bin_compress_min_len = 10;
            INSERT INTO d.t (v) SELECT v FROM d.m; UPDATE d.t SET v = CONCAT(v, 'z');
            SET SESSION gtid_domain_id = 7; INSERT INTO d.t (v) VALUES ('of another domain');
            SET SESSION binlog_format = STATEMENT;
            INSERT INTO d.t (v) VALUES ('a statement that is long enough to be compressed, at least here');",
    };
    server.script(more.as_bytes()).expect("writes");
    logged.once().ok();
    let (theirs, ours) = executed(&logged);
    assert_eq!(theirs, ours);
    // Nothing new is nothing to store.
    logged.once().ok().says(&["nothing new"]);
    logged.assert_equal(1);
    // A server that was stopped has closed its file.
    logged.server.restart().expect("a restart");
    logged.once().ok();
    logged.server.stop().expect("a stop");
    let (stored, files) = (logged.stored(1), logged.files());
    let last = files.keys().last().cloned().expect("files");
    for (name, bytes) in &stored {
        // Of the last one the end was not written yet when it was read.
        let same = match *name == last {
            true => files[name].len() >= bytes.len(),
            false => files[name] == *bytes,
        };
        assert!(same, "{name}");
    }
    assert_eq!(stored.len(), files.len());
}
each_kind!(everything_is_there; mysql, mariadb, mariadb118);

/// A log without checksums or GTIDs, of a server of 2011.
fn an_old_log_is_archived(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    let script = "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v TEXT) ENGINE=InnoDB;
        INSERT INTO d.t (v) VALUES ('a'); SET SESSION binlog_format = ROW; BEGIN;
        INSERT INTO d.t (v) VALUES ('b'); UPDATE d.t SET v = 'c'; COMMIT; FLUSH LOGS; DELETE FROM d.t;";
    logged.server.script(script.as_bytes()).expect("writes");
    let done = logged
        .archiving(&["--once", "--start", "oldest", "--json"])
        .run()
        .ok();
    let server = done.summary();
    logged.assert_equal(1);
    // CREATE DATABASE, CREATE TABLE, INSERT, the transaction, DELETE
    let of_ours = server["transactions"].as_u64().expect("a number");
    assert!(of_ours >= 5, "{of_ours}");
}
each_kind!(an_old_log_is_archived; mysql55);

/// Without GTIDs, without checksums.
#[test]
fn a_log_without_gtids_and_checksums() {
    let Some(logged) = Logged::new(
        Kind::MySql,
        &[
            "--gtid-mode=OFF",
            "--enforce-gtid-consistency=OFF",
            "--binlog-checksum=NONE",
        ],
    ) else {
        return;
    };
    super::kit::write(&logged.server, 20);
    logged.once().ok();
    logged.assert_equal(1);
}

/// What it says when something is missing.
fn it_says_what_it_needs(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    logged
        .server
        .script(b"CREATE USER u@localhost; GRANT SELECT ON *.* TO u@localhost;")
        .expect("an account");
    let tool = Tool::new([
        "binlog",
        "archive",
        "shop",
        "--no-defaults",
        "--user",
        "u",
        "--once",
    ])
    .arg("--repository")
    .arg(logged.repository())
    .arg("--socket")
    .arg(logged.server.socket());
    tool.run().code(7).says(&["REPLICATION SLAVE"]);
    logged
        .archiving(&["--once", "--start", "binlog.000099"])
        .run()
        .code(2)
        .says(&["binlog.000099", "binlog.000001"]);
    logged.archiving(&["--max-age", "0s"]).run().code(2);
    assert!(!logged.place().join("0001.json").exists());
}
each_kind!(it_says_what_it_needs; mysql, mariadb);

/// Another look at the same place waits for nothing and is refused.
#[test]
fn one_run_at_a_time() {
    let Some(logged) = Logged::new(Kind::MariaDb, &[]) else {
        return;
    };
    let first = logged
        .archiving(&["--start", "oldest", "--max-age", "200ms"])
        .start();
    crate::kit::waiting::until("the first segment", || {
        logged.place().exists() && !stored(&logged.place(), 1).is_empty()
    });
    logged
        .once()
        .code(11)
        .says(&["another run archives the binary log of shop"]);
    first.signal(rustix::process::Signal::INT);
    first.wait().ok();
    logged.once().ok();
}
