//! Stops at transactions of all kinds: the target has everything before, and nothing after.

use crate::kit::{Log, Tool, each_kind, marks, start, tables};
use testkit::{Kind, Server};

/// One session: kinds of events that differ in how they begin and end.
const KINDS: &str = "
CREATE DATABASE shop;
USE shop;
CREATE TABLE t (id INT PRIMARY KEY, who INT NOT NULL, n INT NOT NULL DEFAULT 0, KEY (who));
CREATE TABLE old (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(50)) ENGINE=MyISAM;
CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB);
INSERT INTO t VALUES (1, 1, 1), (2, 1, 2), (3, 2, 3);
INSERT INTO old (s) VALUES ('not transactional');
BEGIN; UPDATE t SET n = n + 10; INSERT INTO t VALUES (4, 2, 4); SAVEPOINT a; DELETE FROM t; ROLLBACK TO a; COMMIT;
INSERT INTO big VALUES (1, REPEAT('larger than a packet ', 900000));
XA START 'one'; INSERT INTO t VALUES (5, 3, 5); XA END 'one'; XA PREPARE 'one'; XA COMMIT 'one';
XA START 'two'; INSERT INTO t VALUES (6, 3, 6); XA END 'two'; XA PREPARE 'two'; XA ROLLBACK 'two';
FLUSH BINARY LOGS;
CREATE VIEW v AS SELECT who, SUM(n) AS s FROM t GROUP BY who;
CREATE TABLE copied AS SELECT * FROM t;
CREATE TABLE seen (id INT);
CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO seen VALUES (NEW.id);
INSERT INTO t VALUES (7, 3, 7);
CREATE PROCEDURE p() UPDATE t SET n = -n WHERE who = 3;
CALL p();
CREATE USER someone@localhost IDENTIFIED BY 'Some-1-word';
ALTER TABLE t ADD COLUMN extra VARCHAR(20) DEFAULT 'none', ADD KEY (n);
SET SESSION binlog_format = 'STATEMENT';
SET @x = 7, @y = 'seven';
INSERT INTO old (s) VALUES (CONCAT(@x, @y, RAND(3)));
UPDATE t SET extra = @y WHERE id = @x;
LOAD DATA INFILE '$FILE' INTO TABLE copied (id, who, n);
SET SESSION binlog_format = 'ROW';
DROP TABLE big;
";

/// Commits of several sessions at the same time, on common rows.
fn together(source: &Server) {
    std::thread::scope(|scope| {
        for who in 10..14 {
            scope.spawn(move || {
                let mut conn = source.conn().expect("a session");
                for i in 0..25 {
                    let id = who * 1000 + i;
                    for sql in [
                        "BEGIN".to_owned(),
                        format!("INSERT INTO shop.t (id, who, n) VALUES ({id}, {who}, {i})"),
                        format!("UPDATE shop.t SET n = n + 1 WHERE id = {}", 1 + i % 4),
                        "COMMIT".to_owned(),
                    ] {
                        conn.execute(sql).expect("a statement");
                    }
                }
            });
        }
    });
}

fn written(source: &Server) -> Log {
    let file = source.datadir().join("rows.tsv");
    std::fs::write(&file, "100\t5\t1\n101\t5\t2\n").expect("a file");
    let script = KINDS.replace("$FILE", &file.to_string_lossy());
    source.script(script.as_bytes()).expect("the script");
    together(source);
    let (on, off) = match source.kind() {
        Kind::MySql => (
            "SET GLOBAL binlog_transaction_compression = ON",
            "SET GLOBAL binlog_transaction_compression = OFF",
        ),
        _ => (
            "SET GLOBAL log_bin_compress = ON",
            "SET GLOBAL log_bin_compress = OFF",
        ),
    };
    source.client(on).expect("compression");
    source
        .script(
            b"USE shop; CREATE TABLE c (id INT PRIMARY KEY, b LONGBLOB); INSERT INTO c VALUES (1, REPEAT('x', 100000)); \
            BEGIN; INSERT INTO c VALUES (2, REPEAT('y', 3000)); UPDATE c SET b = REPEAT('z', 5000); COMMIT; \
            INSERT INTO c SELECT id + 10, b FROM c; DELETE FROM c WHERE id = 1;",
        )
        .expect("the script");
    source.client(off).expect("no compression");
    source.client("FLUSH BINARY LOGS").expect("a new file");
    let checksum = "SET GLOBAL binlog_checksum = ";
    source
        .client(&format!("{checksum}NONE"))
        .expect("no checksums");
    source
        .client("UPDATE shop.t SET n = n * 2")
        .expect("an update");
    source
        .client("DELETE FROM shop.t WHERE id = 2")
        .expect("a row less");
    source
        .client(&format!("{checksum}CRC32"))
        .expect("checksums");
    source
        .client("UPDATE shop.t SET n = n + 5")
        .expect("an update");
    Log::of(source)
}

/// The target goes from one stop to the next, and a server fed by the stock programs goes with it.
fn every_kind_of_transaction(kind: Kind) {
    let source = start(kind, &[]);
    let log = written(&source);
    let expected = tables(&source);
    // Of the number that the log's events have: a replica with this number would ignore all of them.
    let target = start(kind, &["--server-id=1", "--skip-log-bin"]);
    let judge = start(kind, &["--server-id=3", "--skip-log-bin"]);
    let before = marks(&target);
    let tool = Tool::new();
    let all = &log.transactions;
    let mut stops: Vec<usize> = (1..9).map(|i| i * all.len() / 9 + i % 3).collect();
    // Between the two halves of a two-phase commit, and at the compressed ones.
    stops.extend((10..16).map(|i| i.min(all.len() - 1)));
    stops.extend([all.len() - 8, all.len() - 6, all.len() - 5, all.len() - 1]);
    stops.sort_unstable();
    stops.dedup();
    let (mut at, mut from) = (0, log.first());
    for stop in stops {
        let (to, transaction) = &all[stop];
        let done = tool
            .replay(&target, &log.files, from, *to)
            .unwrap_or_else(|e| panic!("{from:?} to {to:?}: {e} ({:?})", e.hint));
        assert_eq!(done.transactions as usize, stop + 1 - at, "{to:?}");
        assert_eq!(done.to.offset, to.offset);
        assert_eq!(done.last.as_ref().map(|t| t.end), Some(transaction.end));
        let next = all.get(stop + 1);
        assert_eq!(
            done.next.map(|t| (t.start, t.gtid)),
            next.map(|(_, t)| (t.start, t.gtid.clone()))
        );
        log.by_stock_programs(&judge, from, *to);
        assert_eq!(tables(&target), tables(&judge), "at {to:?}");
        (at, from) = (stop + 1, *to);
    }
    assert_eq!(tables(&target), expected);
    assert_eq!(marks(&target), before);
    assert!(!tool.said().contains("does not answer"), "{}", tool.said());
}
each_kind!(every_kind_of_transaction; mysql, mariadb, mariadb118);

/// All of it at once, into a server that logs what it applies, with little room for relay logs.
fn in_one_go(kind: Kind) {
    let source = start(kind, &["--server-id=2"]);
    source
        .script(b"CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, who INT, n INT);")
        .expect("a table");
    source
        .client("INSERT INTO shop.t VALUES (1,1,1),(2,1,1),(3,1,1),(4,1,1)")
        .expect("rows");
    together(&source);
    source.client("FLUSH BINARY LOGS").expect("a new file");
    source
        .script(b"USE shop; CREATE TABLE r (id INT PRIMARY KEY AUTO_INCREMENT, b BLOB); INSERT INTO r (b) VALUES (REPEAT('r', 50000)); \
            INSERT INTO r (b) SELECT b FROM r; INSERT INTO r (b) SELECT b FROM r; INSERT INTO r (b) SELECT b FROM r; INSERT INTO r (b) SELECT b FROM r;")
        .expect("more rows");
    let log = Log::of(&source);
    let target = start(kind, &["--server-id=1"]);
    let before = marks(&target);
    let mut tool = Tool::new();
    tool.change = |o| {
        o.ahead = 10_000;
        o.workers = Some(3);
        o.tune = true;
    };
    let done = tool
        .replay(&target, &log.files, log.first(), log.last())
        .expect("a replay");
    assert_eq!(done.transactions as usize, log.transactions.len());
    assert_eq!(done.next, None);
    assert_eq!(tables(&target), tables(&source));
    assert_eq!(marks(&target), before);
    // Nothing is left to do, and nothing is done.
    let again = tool
        .replay(&target, &log.files, log.last(), log.last())
        .expect("no replay");
    assert_eq!((again.transactions, again.bytes), (0, 0));
}
each_kind!(in_one_go; mysql, mariadb);
