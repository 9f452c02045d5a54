//! What cannot be dumped or loaded exactly is reported, and the exit code says so.

use super::*;
use crate::kit::{Tool, own_server};
use testkit::Kind;

both!(a_table_without_transactions_is_reported);
fn a_table_without_transactions_is_reported(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE ex; USE ex; CREATE TABLE ok (id INT PRIMARY KEY); \
        INSERT INTO ok VALUES (1); \
        CREATE TABLE old (id INT PRIMARY KEY, v TEXT, FULLTEXT (v)) ENGINE=MyISAM; \
        INSERT INTO old VALUES (1, 'one'), (2, 'two');",
    );
    pair.dump("a", &[])
        .code(3)
        .says(&["exceptions", "`ex`.`old`", "MyISAM"]);
    pair.verify("a").ok();
    pair.load("a", &[]).ok();
    pair.same_checksums();
    pair.same_definitions("ex");
}

/// MariaDB only: a dump has the current rows of a table, not its history.
#[test]
fn the_history_of_a_versioned_table_is_reported() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE sv; USE sv; \
        CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING; \
        INSERT INTO t VALUES (1, 1), (2, 2); UPDATE t SET v = 3 WHERE id = 1; \
        DELETE FROM t WHERE id = 2; \
        CREATE TABLE x (id INT PRIMARY KEY, v INT, a TIMESTAMP(6) GENERATED ALWAYS AS ROW START, \
          b TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (a, b)) WITH SYSTEM \
          VERSIONING; \
        INSERT INTO x (id, v) VALUES (1, 1); \
        CREATE TABLE p (id INT, f DATE, t DATE, PERIOD FOR app (f, t), \
          UNIQUE (id, app WITHOUT OVERLAPS)); \
        INSERT INTO p VALUES (1, '2020-01-01', '2021-01-01');",
    );
    pair.dump("a", &[])
        .code(3)
        .says(&["`sv`.`t`", "system-versioned", "history"]);
    pair.load("a", &[]).ok();
    pair.same("SELECT id, v FROM sv.t ORDER BY id");
    pair.same("SELECT id, v FROM sv.x ORDER BY id");
    pair.same("SELECT * FROM sv.p");
    pair.same_definitions("sv");
}

both!(an_enum_without_a_value_stays_without_one);
fn an_enum_without_a_value_stays_without_one(pair: &Pair) {
    // Index zero reads as '', and so does a member that is ''.
    pair.fill(
        "CREATE DATABASE ez; USE ez; SET sql_mode = ''; \
        CREATE TABLE with_member (id INT PRIMARY KEY, e ENUM('', 'a')); \
        INSERT INTO with_member VALUES (1, 'nowhere'), (2, ''), (3, 'a'); \
        CREATE TABLE without (id INT PRIMARY KEY, e ENUM('a', 'b') NOT NULL); \
        INSERT INTO without VALUES (1, 'nowhere'), (2, 'a');",
    );
    pair.dump("a", &[]).ok();
    let version = pair.target().value("SELECT VERSION()").expect("a version");
    if !pair.is_mysql() && version.starts_with("10.") {
        // MariaDB 10 warns about this value even if it is valid there. Without a comparison nobody would know that it is.
        pair.load("a", &["--verify", "none"]).code(3).says(&[
            "table `ez`.`without` is empty here: the target refused its rows",
            "Data truncated for column 'e'",
        ]);
        pair.target().script(b"DROP DATABASE ez").expect("dropped");
    }
    pair.load("a", &[]).ok();
    let rows = pair.same("SELECT id, e + 0, e FROM ez.without ORDER BY id");
    assert_eq!(rows[0][1].as_deref(), Some("0"));
    pair.same("SELECT id, e + 0, e FROM ez.with_member ORDER BY id");
}

both!(an_enum_member_that_the_server_cannot_show_is_reported);
fn an_enum_member_that_the_server_cannot_show_is_reported(pair: &Pair) {
    // Both servers write '?' for it in SHOW CREATE TABLE and in their catalog.
    let doubled: String = (0..10)
        .map(|n| format!("INSERT INTO t SELECT id + {}, e, p FROM t; ", 1 << n))
        .collect();
    pair.fill(&format!(
        "CREATE DATABASE es; USE es; SET NAMES utf8mb4; \
        CREATE TABLE t (id INT PRIMARY KEY, e ENUM('x', '😀') CHARACTER SET utf8mb4, p CHAR(200)); \
        INSERT INTO t VALUES (1, 'x', REPEAT('p', 200)); {doubled} \
        INSERT INTO t VALUES (5000, '😀', ''); CREATE TABLE seen (id INT); \
        CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO seen VALUES (NEW.id); \
        CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u VALUES (7); CREATE VIEW v AS SELECT 1 AS one;"
    ));
    pair.dump("a", &["--chunk-size", "64k"])
        .code(3)
        .says(&["table `es`.`t`, column e: the server shows a ?"]);
    // The table is left empty and named; everything else is there.
    let load = pair.load("a", &["--json"]).code(3);
    let load = load.says(&["table `es`.`t` is empty here", "--resume"]);
    assert_eq!(load.summary()["tables"], 2);
    let target = pair.target();
    let number = |sql: &str| target.value(sql).expect("a number");
    let count = |table: &str| number(&format!("SELECT COUNT(*) FROM es.{table}"));
    assert_eq!(count("t"), "0");
    pair.same("SELECT * FROM es.u");
    pair.same("SELECT * FROM es.v");
    pair.load("a", &[]).code(10).says(&["--resume"]);
    target
        .script(
            "SET NAMES utf8mb4; ALTER TABLE es.t MODIFY e ENUM('x', '😀') CHARACTER SET utf8mb4;"
                .as_bytes(),
        )
        .expect("a corrected column");
    pair.load("a", &["--resume"]).ok();
    pair.same("SELECT id, HEX(e), e + 0 FROM es.t ORDER BY id");
    assert_eq!(count("seen"), "0", "the trigger did not fire");
    let triggers = "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'es'";
    assert_eq!(number(triggers), "1");
}

/// MySQL only: a DECIMAL inside JSON reads as 1.10, and comes back from text as a DOUBLE, 1.1.
#[test]
fn json_that_text_cannot_hold_is_reported() {
    let Some(pair) = Pair::take(testkit::Kind::MySql) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE jd; CREATE TABLE jd.t (id INT PRIMARY KEY, j JSON); \
        INSERT INTO jd.t VALUES (1, JSON_ARRAY(CAST(1.10 AS DECIMAL(10,2))));",
    );
    pair.dump("a", &[]).ok();
    let load = pair.load("a", &[]);
    if load.code == 0 {
        pair.same("SELECT j, JSON_TYPE(j->'$[0]') FROM jd.t");
    } else {
        load.code(4).says(&["`jd`.`t`"]);
    }
}

both!(rows_that_are_refused_do_not_stop_the_others);
fn rows_that_are_refused_do_not_stop_the_others(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE rr; USE rr; CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(100)); \
        INSERT INTO a SELECT n, CONCAT('a long value ', n) FROM {COUNT} WHERE n < 3000; \
        CREATE TABLE b (id INT PRIMARY KEY); INSERT INTO b VALUES (1), (2); CREATE TABLE c (a INT, KEY (a), FOREIGN KEY (a) REFERENCES a (id)); \
        INSERT INTO c VALUES (1); CREATE TRIGGER tr AFTER INSERT ON a FOR EACH ROW SET @x = NEW.id; CREATE VIEW w AS SELECT id FROM b"
    ));
    pair.dump("a", &["--chunk-size", "64k"]).ok();
    let rows = |table: &str| {
        let count = pair
            .target()
            .value(&format!("SELECT COUNT(*) FROM rr.{table}"));
        count.expect("a count")
    };
    let change = |sql: &str| pair.target().script(sql.as_bytes()).expect("changed");
    pair.load("a", &["--ddl-only"]).ok();
    change("DROP TRIGGER rr.tr; ALTER TABLE rr.a MODIFY v VARCHAR(3)");
    let refill = ["--data-only", "--existing", "truncate", "--yes"];
    pair.load("a", &refill).code(3).says(&[
        "table `rr`.`a` is empty here: the target refused its rows",
        "Data truncated for column 'v' at row 1",
        "--resume",
    ]);
    assert_eq!([rows("a"), rows("b"), rows("c")], ["0", "2", "1"]);
    // A row of somebody else is not removed.
    change("INSERT INTO rr.a VALUES (1, 'own')");
    let resumed = pair.load("a", &[&refill[..], &["--resume"]].concat());
    resumed.code(1).says(&["`rr`.`a`"]);
    assert_eq!(rows("a"), "1");
    change("SET foreign_key_checks = 0; DELETE FROM rr.a");
    change("ALTER TABLE rr.a MODIFY v VARCHAR(100)");
    pair.load("a", &[&refill[..], &["--resume"]].concat()).ok();
    assert_eq!(rows("a"), "3000");
    pair.same_checksums();
    // Others may write into a table that is empty and was not to be emptied.
    change(
        "TRUNCATE rr.b; SET foreign_key_checks = 0; TRUNCATE rr.c; TRUNCATE rr.a; ALTER TABLE rr.a MODIFY v VARCHAR(3)",
    );
    pair.load("a", &["--data-only"])
        .code(1)
        .says(&["Data truncated for column 'v'"]);
}

both!(a_decimal_in_json_is_named);
fn a_decimal_in_json_is_named(pair: &Pair) {
    if !pair.is_mysql() {
        return;
    }
    // The server writes 1.10, and reads a DOUBLE.
    pair.fill(
        "CREATE DATABASE js; CREATE TABLE js.t (id INT PRIMARY KEY, j JSON); \
        INSERT INTO js.t VALUES (1, JSON_OBJECT('x', CAST(1.10 AS DECIMAL(10,2)))), (2, '{\"x\": 1.10}')",
    );
    pair.dump("a", &[]).ok();
    pair.load("a", &[])
        .code(4)
        .says(&["`js`.`t`", "has JSON", "DECIMAL"]);
}

#[test]
fn a_key_that_another_flavour_compares_otherwise_is_left_out() {
    let (Some(pair), Some(other)) = (Pair::take(Kind::MySql), own_server(Kind::MariaDb, &[]))
    else {
        return;
    };
    // MariaDB has no Norwegian order of this kind: å is an a there.
    pair.fill(
        "CREATE DATABASE nb; USE nb; CREATE TABLE t (id INT PRIMARY KEY, k VARCHAR(40) COLLATE utf8mb4_nb_0900_ai_ci, n INT, \
          UNIQUE KEY uk (k), KEY kn (n)); INSERT INTO t VALUES (1, 'bl\u{e5}', 1), (2, 'bla', 2); \
        CREATE TABLE zz (id INT PRIMARY KEY); INSERT INTO zz VALUES (1)",
    );
    pair.dump("a", &[]).ok();
    let load = |more: &[&str]| {
        let load = Tool::new(["load", "--user", "root", "--socket"]).arg(other.socket());
        let load = load.env("PENSTOCK_STATE", pair.path("state"));
        load.arg(pair.path("a")).args(more.iter().copied()).run()
    };
    let count = |sql: &str| other.value(sql).expect("a count");
    let keys = "SELECT GROUP_CONCAT(index_name ORDER BY index_name) FROM information_schema.statistics WHERE table_schema = 'nb' AND table_name = 't'";
    let change = |sql: &str| other.script(sql.as_bytes()).expect("changed");
    // Where each key is added after the rows, the others are.
    load(&["--defer-indexes", "all"]).code(3).says(&[
        "table `nb`.`t` lacks an index",
        "`uk`",
        "--only indexes",
    ]);
    assert_eq!(count("SELECT COUNT(*) FROM nb.t"), "2");
    assert_eq!(count("SELECT COUNT(*) FROM nb.zz"), "1");
    assert_eq!(count(keys), "kn,PRIMARY");
    change("DELETE FROM nb.t WHERE id = 2");
    load(&["--only", "indexes"]).ok().says(&["1 index"]);
    assert_eq!(count(keys), "kn,PRIMARY,uk");
    // Where it is there before them, the table is left empty.
    change("DROP DATABASE nb");
    load(&[]).code(3).says(&[
        "table `nb`.`t` is empty here: the target refused its rows",
        "DROP TABLE `nb`.`penstock_load_journal`",
    ]);
    assert_eq!(count("SELECT COUNT(*) FROM nb.t"), "0");
    assert_eq!(count("SELECT COUNT(*) FROM nb.zz"), "1");
    // A copy needs all rows.
    change("DROP DATABASE nb");
    let copy = Tool::new(["copy", "--schemas", "nb"]);
    let copy = copy.arg(pair.source().uri()).arg(other.uri());
    copy.run().code(1).says(&["Duplicate entry"]);
}
