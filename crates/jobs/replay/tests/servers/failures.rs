//! Replays that fail or are refused: by name, with everything before applied and nothing after, and nothing left behind.

use crate::kit::{Log, Tool, each_kind, gtids, marks, start, tables};
use base::{Error, Kind as Failure};
use replay::{LogFiles, Place};
use testkit::{Kind, Server};

/// A source with a hundred transactions, and their log.
fn hundred(kind: Kind) -> (Server, Log) {
    let source = start(kind, &["--server-id=2"]);
    source
        .script(b"CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, n INT);")
        .expect("a table");
    let mut conn = source.conn().expect("a session");
    for i in 0..100 {
        let sql = format!("INSERT INTO shop.t VALUES ({i}, 0), ({i} + 1000, 1)");
        conn.execute(sql).expect("rows");
    }
    let log = Log::of(&source);
    (source, log)
}

/// The place that an error says the target stands at.
fn stands(log: &Log, e: &Error) -> Place {
    let (_, rest) = e.what.rsplit_once("stands at ").expect("a place");
    let text = rest.split([',', ';', ' ']).next().expect("a place");
    let (name, offset) = text.rsplit_once(':').expect("a place");
    let files = log.files.files();
    Place {
        file: files.iter().position(|f| f.name == name).expect("a file"),
        offset: offset.parse().expect("an offset"),
    }
}

/// How many rows of the hundred transactions there are.
fn rows(server: &Server) -> String {
    server
        .value("SELECT COUNT(*) FROM shop.t")
        .expect("a count")
}

fn a_replica_is_refused(kind: Kind) {
    let (_source, log) = hundred(kind);
    let target = start(kind, &["--server-id=3"]);
    let follow = match kind {
        Kind::MySql => {
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='db1.example', SOURCE_PORT=3310 FOR CHANNEL 'main'"
        }
        _ => "CHANGE MASTER 'main' TO MASTER_HOST='db1.example', MASTER_PORT=3310",
    };
    target.client(follow).expect("a channel");
    let before = marks(&target);
    let e = Tool::new()
        .replay(&target, &log.files, log.first(), log.last())
        .expect_err("a replica");
    assert_eq!(e.kind, Failure::Target, "{e}");
    assert!(
        e.what.contains("channel main reads from db1.example:3310"),
        "{e}"
    );
    assert_eq!(marks(&target), before);
}
each_kind!(a_replica_is_refused; mysql, mariadb);

fn filters_are_refused(kind: Kind) {
    let (_source, log) = hundred(kind);
    let target = start(kind, &["--server-id=3", "--replicate-ignore-table=shop.t"]);
    let e = Tool::new()
        .replay(&target, &log.files, log.first(), log.last())
        .expect_err("a filter");
    assert_eq!(e.kind, Failure::Target, "{e}");
    assert!(e.what.contains("replicate_ignore_table = shop.t"), "{e}");
    assert!(marks(&target).contains(&"0 channels".to_owned()));
}
each_kind!(filters_are_refused; mysql, mariadb);

/// A row of the log is there already. The error names the transaction; once the row is away the replay continues there.
fn a_transaction_that_fails(kind: Kind) {
    let (source, log) = hundred(kind);
    let target = start(kind, &["--server-id=3"]);
    let before = marks(&target);
    let tool = Tool::new();
    let third = log.transactions[2].0;
    tool.replay(&target, &log.files, log.first(), third)
        .expect("three transactions");
    target
        .script(b"SET sql_log_bin = 0; INSERT INTO shop.t VALUES (60, 60)")
        .expect("a row");
    let e = tool
        .replay(&target, &log.files, third, log.last())
        .expect_err("a duplicate");
    assert_eq!(e.server_error, Some(1062), "{e}");
    assert!(e.what.contains("Duplicate entry '60'"), "{e}");
    let failed = &log.transactions[2 + 60];
    let gtid = failed.1.gtid.as_ref().expect("a GTID").to_string();
    assert!(e.what.contains(&gtid), "{e} does not name {gtid}");
    assert_eq!(stands(&log, &e), log.transactions[1 + 60].0, "{e}");
    assert_eq!(rows(&target), "121");
    assert_eq!(marks(&target), before);
    target
        .script(b"SET sql_log_bin = 0; DELETE FROM shop.t WHERE id = 60")
        .expect("a row less");
    let done = tool
        .replay(&target, &log.files, stands(&log, &e), log.last())
        .expect("the rest");
    assert_eq!(done.transactions, 40);
    assert_eq!(tables(&target), tables(&source));
}
each_kind!(a_transaction_that_fails; mysql, mariadb);

/// What cannot be read, or ends within a transaction, is not applied, and all before it is.
fn a_log_that_is_not_whole(kind: Kind) {
    let (_source, log) = hundred(kind);
    let target = start(kind, &["--server-id=3"]);
    let tool = Tool::new();
    let (end, fifty) = &log.transactions[50];
    let within = Place {
        offset: within(&log, fifty.start),
        ..*end
    };
    let e = tool
        .replay(&target, &log.files, log.first(), within)
        .expect_err("no end of a transaction");
    assert_eq!(e.kind, Failure::Archive, "{e}");
    let gtid = fifty.gtid.as_ref().expect("a GTID").to_string();
    assert!(
        e.what.contains("within transaction") && e.what.contains(&gtid),
        "{e}"
    );
    assert_eq!(stands(&log, &e), log.transactions[49].0, "{e}");
    assert_eq!(rows(&target), "96");

    let damaged = log.transactions[70].1.end - 10;
    let path = log.directory.path().join(&log.files.files()[end.file].name);
    let mut bytes = std::fs::read(&path).expect("the log");
    bytes[damaged as usize] ^= 1;
    std::fs::write(&path, bytes).expect("the log");
    let e = tool
        .replay(&target, &log.files, stands(&log, &e), log.last())
        .expect_err("damage");
    assert_eq!(e.kind, Failure::Archive, "{e}");
    assert!(e.what.contains("checksum"), "{e}");
    assert_eq!(stands(&log, &e), log.transactions[69].0, "{e}");
    assert_eq!(rows(&target), "136");
    assert!(marks(&target).contains(&"0 channels".to_owned()));
}
each_kind!(a_log_that_is_not_whole; mysql, mariadb);

/// The end of the first event of a transaction.
fn within(log: &Log, start: u64) -> u64 {
    let file = log.transactions[50].0.file;
    let mut events =
        binlog::file::File::open(log.files.open(file, 0).expect("a file")).expect("a log");
    while let Some((at, event)) = events.next().expect("an event") {
        if at == start {
            return at + event.bytes().len() as u64;
        }
    }
    panic!("no event at {start}");
}

/// The target's own number, where its account may not change it: it would ignore the log's events.
#[test]
fn a_target_that_would_ignore_the_log() {
    if !testkit::available(Kind::MySql) {
        return;
    }
    let (_source, log) = hundred(Kind::MySql);
    let target = start(Kind::MySql, &["--server-id=2"]);
    target
        .script(
            b"CREATE USER r@localhost; GRANT REPLICATION_SLAVE_ADMIN, RELOAD, REPLICATION CLIENT ON *.* TO r@localhost;",
        )
        .expect("an account");
    let mut tool = Tool::new();
    tool.change = |o| o.wire.user = "r".to_owned();
    let e = tool
        .replay(&target, &log.files, log.first(), log.last())
        .expect_err("the same number");
    assert!(
        e.what.contains("server number 2, which is the target's"),
        "{e}"
    );
    assert!(e.what.contains("nothing was applied"), "{e}");
    // With the number of another server, the same account is enough.
    let target = start(Kind::MySql, &["--server-id=3"]);
    target
        .script(
            b"CREATE USER r@localhost; GRANT REPLICATION_SLAVE_ADMIN, RELOAD, REPLICATION CLIENT ON *.* TO r@localhost; \
            RESET BINARY LOGS AND GTIDS;",
        )
        .expect("an account");
    let done = tool
        .replay(&target, &log.files, log.first(), log.last())
        .expect("a replay");
    assert_eq!(done.transactions as usize, log.transactions.len());
    assert_eq!(done.settings.not_changed.len(), 1, "{:?}", done.settings);
}

#[test]
fn a_log_of_the_other_flavour() {
    if !testkit::available(Kind::MySql) || !testkit::available(Kind::MariaDb) {
        return;
    }
    assert!(gtids(Kind::MariaDb).is_empty());
    let (_source, log) = hundred(Kind::MariaDb);
    let target = start(Kind::MySql, &["--server-id=3"]);
    let e = Tool::new()
        .replay(&target, &log.files, log.first(), log.last())
        .expect_err("the other flavour");
    assert_eq!(e.kind, Failure::Target);
    assert!(e.what.contains("of MariaDB and the target is MySQL"), "{e}");
}
