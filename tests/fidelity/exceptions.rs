//! What cannot be carried exactly is named, and the exit code says so.

use super::*;

both! {
    fn a_table_without_snapshots_is_named(pair) {
        pair.fill("CREATE DATABASE ex; USE ex; CREATE TABLE ok (id INT PRIMARY KEY); INSERT INTO ok VALUES (1);
CREATE TABLE old (id INT PRIMARY KEY, v TEXT, FULLTEXT (v)) ENGINE=MyISAM; INSERT INTO old VALUES (1, 'one'), (2, 'two');");
        pair.dump("a", &[]).code(3).says(&["exceptions", "`ex`.`old`", "MyISAM"]);
        pair.verify("a").ok();
        pair.load("a", &[]).ok();
        pair.same_checksums();
        pair.same_definitions("ex");
    }
}

/// MariaDB only: what a table was is not in a dump of what it is.
#[test]
fn the_history_of_a_versioned_table_is_named() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    pair.fill("CREATE DATABASE sv; USE sv; CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO t VALUES (1, 1), (2, 2); UPDATE t SET v = 3 WHERE id = 1; DELETE FROM t WHERE id = 2;
CREATE TABLE x (id INT PRIMARY KEY, v INT, a TIMESTAMP(6) GENERATED ALWAYS AS ROW START, b TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (a, b)) WITH SYSTEM VERSIONING;
INSERT INTO x (id, v) VALUES (1, 1);
CREATE TABLE p (id INT, f DATE, t DATE, PERIOD FOR app (f, t), UNIQUE (id, app WITHOUT OVERLAPS)); INSERT INTO p VALUES (1, '2020-01-01', '2021-01-01');");
    pair.dump("a", &[])
        .code(3)
        .says(&["`sv`.`t`", "system-versioned", "history"]);
    pair.load("a", &[]).ok();
    pair.same("SELECT id, v FROM sv.t ORDER BY id");
    pair.same("SELECT id, v FROM sv.x ORDER BY id");
    pair.same("SELECT * FROM sv.p");
    pair.same_definitions("sv");
}
