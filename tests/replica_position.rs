//! A dump of a replica says where the replica stands in the log of its source, so that the copy can follow
//! that source. Proven by doing it: the copy follows from there, while its source is written to all the
//! time, and ends equal. A change that is applied twice or never gives another sum.

use crate::kit::Tool;
use crate::kit::waiting::until;
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::{Kind, Server, available};

fn start(kind: Kind, args: &[&str]) -> Server {
    let setup = testkit::Setup::new(kind).expect("a set-up").tcp();
    let args = args.iter().map(|a| (*a).to_owned());
    setup.args(args).start().expect("a server")
}

/// Has `replica` follow `source`; `from` is a file and a position in it.
fn follow(replica: &Server, source: &Server, from: Option<(&str, u64)>) {
    let port = source.port().expect("a port");
    let mysql = replica.kind() == Kind::MySql;
    let word = if mysql { "SOURCE" } else { "MASTER" };
    let change = if mysql {
        "CHANGE REPLICATION SOURCE TO"
    } else {
        "CHANGE MASTER TO"
    };
    let mut sql = format!(
        "{change} {word}_HOST='127.0.0.1', {word}_PORT={port}, {word}_USER='repl', \
        {word}_PASSWORD='Repl-1-word', {word}_CONNECT_RETRY=1"
    );
    if let Some((file, position)) = from {
        sql += &format!(", {word}_LOG_FILE='{file}', {word}_LOG_POS={position}");
    }
    sql += if mysql {
        ", GET_SOURCE_PUBLIC_KEY=1, SOURCE_AUTO_POSITION=0"
    } else {
        ", MASTER_USE_GTID=no"
    };
    replica.client(&sql).expect("it follows");
    let begin = if mysql {
        "START REPLICA"
    } else {
        "START SLAVE"
    };
    replica.client(begin).expect("it runs");
}

/// Newer servers have them by default.
const NO_GTIDS: [&str; 2] = ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"];

const SUM: &str = "SELECT CONCAT(COUNT(*), ' ', SUM(n)) FROM shop.t";

fn equal(a: &Server, b: &Server) -> bool {
    let sum = |s: &Server| s.value(SUM).unwrap_or_default();
    let (a, b) = (sum(a), sum(b));
    !a.is_empty() && a == b
}

/// Dumps a replica that was started with these arguments, and carries the copy on; gives the summary.
fn carried_on(kind: Kind, source_args: &[&str], replica: &[&str]) -> Option<Value> {
    if !available(kind) {
        return None;
    }
    let source = start(
        kind,
        &[&["--server-id=81", "--log-bin=main"], source_args].concat(),
    );
    let replica = start(kind, &[&["--server-id=82"], replica].concat());
    source
        .script(
            b"CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'Repl-1-word'; \
            GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'; \
            CREATE USER repl@localhost IDENTIFIED BY 'Repl-1-word'; \
            GRANT REPLICATION SLAVE ON *.* TO repl@localhost; \
            CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, n INT NOT NULL); \
            INSERT INTO shop.t VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (0, 0);",
        )
        .expect("a source");
    follow(&replica, &source, None);
    // A second channel, which has not begun.
    replica
        .client(match kind {
            Kind::MySql => {
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='other.example', SOURCE_PORT=3307 FOR CHANNEL 'spare'"
            }
            _ => "CHANGE MASTER 'spare' TO MASTER_HOST='other.example', MASTER_PORT=3307",
        })
        .expect("a channel");
    until("the replica follows", || equal(&source, &replica));
    let directory = tempfile::tempdir().expect("a directory");
    let archive = directory.path().join("a");
    let stop = AtomicBool::new(false);
    let summary = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut conn = source.conn().expect("a session");
            let mut i = 0;
            while !stop.load(Ordering::SeqCst) {
                i += 1;
                let sql = format!("UPDATE shop.t SET n = n + 1 WHERE id = {}", i % 8);
                conn.execute(sql).expect("an update");
            }
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let one = || {
                replica
                    .value("SELECT SUM(n) > 50 FROM shop.t")
                    .unwrap_or_default()
            };
            until("updates arrive", || one() == "1");
            dump(&replica, &archive)
        }));
        stop.store(true, Ordering::SeqCst);
        outcome.unwrap_or_else(|e| std::panic::resume_unwind(e))
    });
    let manifest = std::fs::read(archive.join("penstock.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let sources = manifest["position"]["sources"].as_array().expect("sources");
    assert_eq!(sources, summary["sources"].as_array().expect("sources"));
    assert_eq!(sources.len(), 2, "{summary}");
    let named = |name: &str| {
        sources
            .iter()
            .find(|s| s["channel"] == name)
            .expect("a channel")
    };
    assert_eq!(named("spare")["host"], "other.example");
    assert_eq!(named("spare")["port"], 3307);
    let main = named("");
    assert_eq!(main["exact"], true, "{main}");
    let file = main["file"].as_str().expect("a file");
    assert!(file.starts_with("main."), "{main}");
    let copy = start(kind, &[&["--server-id=83"], source_args].concat());
    let load = Tool::new(["load"]).arg(&archive);
    let load = load.args(["--user", "root", "--socket"]).arg(copy.socket());
    load.run().ok();
    follow(&copy, &source, main["position"].as_u64().map(|p| (file, p)));
    until("the copy has become equal", || equal(&source, &copy));
    // It stays so: nothing more comes.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(equal(&source, &copy));
    Some(summary)
}

fn dump(server: &Server, to: &Path) -> Value {
    let tool = Tool::new(["dump", "--json", "--user", "root", "--to"]).arg(to);
    tool.arg("--socket")
        .arg(server.socket())
        .run()
        .ok()
        .summary()
}

#[test]
fn mysql_without_gtids_and_several_workers() {
    let replica = ["--replica-parallel-workers=4", "--log-bin=own"];
    let replica = [&NO_GTIDS[..], &replica].concat();
    if let Some(summary) = carried_on(Kind::MySql, &NO_GTIDS, &replica) {
        let own = summary["binlog_file"].as_str().expect("its own file");
        assert!(own.starts_with("own."), "{summary}");
    }
}

#[test]
fn mysql_without_a_binary_log() {
    let replica = [&NO_GTIDS[..], &["--skip-log-bin"]].concat();
    if let Some(summary) = carried_on(Kind::MySql, &NO_GTIDS, &replica) {
        assert!(summary["binlog_file"].is_null(), "{summary}");
    }
}

/// The GTIDs are the source's, and the copy follows by file and position all the same.
#[test]
fn mysql_with_gtids() {
    let gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    if let Some(summary) = carried_on(Kind::MySql, &gtids, &gtids) {
        let set = summary["gtid_executed"].as_str().expect("a set");
        assert!(set.contains(":1-"), "{summary}");
    }
}

#[test]
fn mariadb_that_does_not_log_what_it_applies() {
    let replica = ["--log-bin=own", "--log-slave-updates=OFF"];
    if let Some(summary) = carried_on(Kind::MariaDb, &[], &replica) {
        let own = summary["binlog_file"].as_str().expect("its own file");
        assert!(own.starts_with("own."), "{summary}");
        let applied = summary["gtid_slave_pos"].as_str().expect("a GTID");
        assert!(applied.starts_with("0-81-"), "{summary}");
    }
}

#[test]
fn mariadb_without_a_binary_log_and_with_several_workers() {
    let replica = ["--skip-log-bin", "--slave-parallel-threads=4"];
    if let Some(summary) = carried_on(Kind::MariaDb, &[], &replica) {
        assert!(summary["binlog_file"].is_null(), "{summary}");
        let applied = summary["gtid_slave_pos"].as_str().expect("a GTID");
        assert!(applied.starts_with("0-81-"), "{summary}");
    }
}

/// What a person reads.
#[test]
fn the_summary_names_the_place() {
    if !available(Kind::MariaDb) {
        return;
    }
    let server = start(Kind::MariaDb, &["--server-id=82"]);
    server
        .script(
            b"CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); \
            CHANGE MASTER TO MASTER_HOST='db1.example', MASTER_PORT=3310, MASTER_LOG_FILE='main.000007', \
            MASTER_LOG_POS=1234, MASTER_USE_GTID=no; SET GLOBAL gtid_slave_pos = '0-1-44';",
        )
        .expect("a replica");
    let directory = tempfile::tempdir().expect("a directory");
    let tool = Tool::new(["dump", "--user", "root", "--to"]).arg(directory.path().join("a"));
    let done = tool.arg("--socket").arg(server.socket()).run().ok();
    done.says(&[
        "replica of",
        "db1.example:3310, at main.000007:1234",
        "0-1-44",
    ]);
    // An account that may not look is told what it lacks.
    server
        .script(
            b"CREATE USER t_dump@localhost; GRANT SELECT, RELOAD, BINLOG MONITOR, TRIGGER, EVENT, SHOW VIEW, PROCESS \
            ON *.* TO t_dump@localhost;",
        )
        .expect("an account");
    let tool = Tool::new(["dump", "--user", "t_dump", "--to"]).arg(directory.path().join("b"));
    let done = tool.arg("--socket").arg(server.socket()).run().ok();
    done.says(&[
        "unknown: to see whether this server is a replica",
        "GRANT SLAVE MONITOR ON *.* TO 't_dump'@'localhost'",
    ]);
}
