//! Some rows of a table in an archive: those that a condition (`dump --where`) or their partition (`dump --partitions`) chooses.

use crate::kit::fixtures::fixture;
use crate::kit::{COUNT, Pair, Tool, both, own_server};

fn fill_for_conditions(pair: &Pair) {
    let large = format!("{COUNT} WHERE n < 9000");
    let few = format!("{COUNT} WHERE n < 12");
    pair.fill(&format!(
        "CREATE DATABASE wh; USE wh; \
        CREATE TABLE large (id INT PRIMARY KEY, v VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci, \
            twice INT AS (id * 2) STORED, KEY (v)); \
        INSERT INTO large (id, v) SELECT n, CONCAT('Name ', n, IF(n % 3 = 0, 'é', 'x')) FROM {large}; \
        CREATE TABLE keyless (id INT, at TIMESTAMP NULL); \
        INSERT INTO keyless SELECT n, '2026-01-01 12:00:00' + INTERVAL n DAY FROM {few}; \
        CREATE TABLE parted (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3; \
        INSERT INTO parted SELECT n FROM {few}; \
        CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES large (id)); \
        INSERT INTO child SELECT n, n FROM {few}; \
        CREATE VIEW w AS SELECT * FROM large;"
    ));
}

const CONDITIONS: [&str; 6] = [
    "--where",
    "wh.large=v LIKE 'NAME %É' AND id >= 10 -- of three",
    "--where",
    "`wh`.`keyless`=at < '2026-01-04'",
    "--where",
    "wh.parted=id IN (SELECT id FROM wh.child WHERE id < 5)",
];

both!(rows_that_match_a_condition);
fn rows_that_match_a_condition(pair: &Pair) {
    fill_for_conditions(pair);
    let condition = "the rows of `wh`.`large` that do not match: v LIKE 'NAME %É' AND id >= 10 -- of three (--where)";
    let small = ["--chunk-size", "64k"];
    pair.dump("a", &[&CONDITIONS[..], &["--dry-run"]].concat())
        .ok()
        .says(&["left out", condition]);
    pair.dump("a", &[&CONDITIONS[..], &small].concat())
        .ok()
        .says(&["left out", condition]);
    let listed = Tool::new(["list"]).arg(pair.path("a")).run().ok();
    assert!(!listed.offers_a_replica(), "{}", listed.out);
    listed.says(&[condition]);
    pair.verify("a").ok().says(&[condition]);
    let loaded = pair
        .load("a", &[])
        .ok()
        .says(&[condition, "where a foreign key refers to one of those rows"]);
    assert!(!loaded.offers_a_replica(), "{}", loaded.err);
    pair.verify_against("a", pair.target()).ok();
    let count = |sql: &str| pair.target().value(sql).expect("a count");
    // Every third one; text is compared as the column compares it, times in UTC.
    assert_eq!(count("SELECT COUNT(*) FROM wh.large"), "2996");
    assert_eq!(
        count("SELECT SUM(id % 3) + SUM(id < 10) FROM wh.large"),
        "0"
    );
    assert_eq!(count("SELECT SUM(twice <> id * 2) FROM wh.large"), "0");
    assert_eq!(count("SELECT COUNT(*) FROM wh.keyless"), "3");
    assert_eq!(count("SELECT COUNT(*) FROM wh.parted"), "5");
    assert_eq!(count("SELECT COUNT(*) FROM wh.child"), "12");
    // Rows of the source are compared as they were chosen: others may change.
    let against = || pair.verify_against("a", pair.source());
    against().ok().says(&[condition]);
    let change = |sql: &str| pair.source().client(sql).expect("changed");
    change("UPDATE wh.large SET v = 'other' WHERE id = 11");
    change("DELETE FROM wh.keyless WHERE id = 9");
    against().ok();
    change("UPDATE wh.large SET v = 'Name é' WHERE id = 12");
    against().code(4).says(&["`wh`.`large`"]);
}

both!(conditions_that_mean_nothing_are_refused);
fn conditions_that_mean_nothing_are_refused(pair: &Pair) {
    fill_for_conditions(pair);
    for (condition, why) in [
        (
            "wh.w=id = 1",
            "`wh`.`w` is no table with rows that this dump takes",
        ),
        ("wh.Nothing=id = 1", "`wh`.`Nothing` is no table"),
        ("wh.large=nothing = 1", "nothing"),
        ("wh.large=id = ", "the server does not take it"),
        (
            "wh.large=id IN (SELECT id FROM wh.child FOR UPDATE)",
            "READ ONLY transaction",
        ),
        ("wh.large=id = 1) OR (1", "a parenthesis is closed"),
        ("wh.large=", "the condition is empty"),
        ("large=id = 1", "a table is named as schema.table"),
        ("wh.large", "schema.table= is expected"),
    ] {
        pair.dump("a", &["--where", condition])
            .code(2)
            .says(&["--where", why]);
        assert!(!pair.path("a").exists(), "{condition}");
    }
    pair.dump(
        "a",
        &["--where", "wh.large=id = 1", "--where", "wh.large=id = 2"],
    )
    .code(2)
    .says(&["given twice"]);
    // A blank before the sign is none of the name; what matches is counted.
    pair.dump("b", &["--where", "wh.large = id = 1"])
        .ok()
        .says(&["1 row of `wh`.`large`, of about"]);
    let json = pair.dump("c", &["--json", "--where", "wh.parted=id > 8"]);
    let chosen = &json.ok().summary()["rows_that_match"][0];
    assert_eq!(chosen["table"], "`wh`.`parted`");
    assert_eq!(chosen["rows"], 3);
    // A replica would lack the other rows when the source's log changes them.
    pair.load("b", &["--gtid-purged", "append"])
        .code(2)
        .says(&["--gtid-purged does not apply", "--where"]);
    pair.dump("a", &["--where", "wh.large=id = 1", "--ddl-only"])
        .code(2);
    // A table that is not selected.
    pair.dump("a", &["--tables", "wh.child", "--where", "wh.large=id = 1"])
        .code(2)
        .says(&["is no table with rows that this dump takes"]);
    assert!(!pair.path("a").exists());
}

both!(a_chosen_table_under_another_name);
/// The condition has names of the source, which may mean another table on the target.
fn a_chosen_table_under_another_name(pair: &Pair) {
    fill_for_conditions(pair);
    pair.dump(
        "a",
        &[
            "--tables",
            "wh.large,wh.child",
            "--where",
            "wh.large=wh.large.id IN (SELECT parent FROM wh.child WHERE wh.child.id < 5)",
        ],
    )
    .ok();
    pair.target()
        .client("CREATE DATABASE wh")
        .and_then(|_| {
            pair.target()
                .client("CREATE TABLE wh.child (id INT, parent INT)")
        })
        .expect("created");
    let mapped = ["--map-schema", "wh=other"];
    pair.load("a", &mapped).ok();
    let count = pair.target().value("SELECT COUNT(*) FROM other.large");
    assert_eq!(count.expect("a count"), "5");
    let verify = || {
        Tool::new(["verify"])
            .arg(pair.path("a"))
            .args(["--against", &pair.target().uri()])
            .args(mapped)
            .run()
    };
    verify().ok();
    pair.target()
        .client("DELETE FROM other.child WHERE id = 3")
        .expect("deleted");
    verify().code(4).says(&["`other`.`child`"]);
}

#[test]
fn a_versioned_table_is_chosen_from() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    pair.fill("CREATE DATABASE wh; CREATE TABLE wh.sv (id INT PRIMARY KEY) WITH SYSTEM VERSIONING; INSERT INTO wh.sv VALUES (1), (2)");
    pair.dump("b", &["--where", "wh.sv=id = 1"])
        .code(3)
        .says(&["1 row of `wh`.`sv`"]);
}

#[test]
fn a_condition_on_mysql_5_5() {
    let Some(old) = own_server(testkit::Kind::MySql55, &[]) else {
        return;
    };
    let Some(pair) = Pair::take(testkit::Kind::MySql) else {
        return;
    };
    old.script(fixture!("mysql55").as_bytes()).expect("tables");
    let all = old.value("SELECT COUNT(*) FROM old.l").expect("a count");
    let some = old
        .value("SELECT COUNT(*) FROM old.l WHERE id > 1")
        .expect("a count");
    assert_ne!(all, some);
    Tool::new([
        "dump",
        "-u",
        "root",
        "--tables",
        "old.l",
        "--where",
        "old.l=id > 1",
        "--socket",
    ])
    .arg(old.socket())
    .arg("--to")
    .arg(pair.path("a"))
    .run()
    .ok();
    pair.verify_against("a", &old).ok();
    let loaded = pair.load("a", &[]);
    assert!(loaded.code == 0 || loaded.code == 3, "{}", loaded.said());
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM old.l")
            .expect("a count"),
        some
    );
}

both!(rows_of_some_partitions);
fn rows_of_some_partitions(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE pn; USE pn; \
        CREATE TABLE r (id INT PRIMARY KEY, v VARCHAR(20), g INT AS (id * 2) STORED) PARTITION BY RANGE (id) \
          (PARTITION p1 VALUES LESS THAN (100), PARTITION `p 2` VALUES LESS THAN (200), PARTITION p3 VALUES LESS THAN MAXVALUE); \
        INSERT INTO r (id, v) SELECT n, CONCAT('v', n) FROM {COUNT} WHERE n < 1000; \
        CREATE TABLE s (id INT, d INT, PRIMARY KEY (id, d)) PARTITION BY RANGE (d) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 \
          (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (20)); \
        INSERT INTO s SELECT n, n % 20 FROM {COUNT} WHERE n < 200; \
        CREATE TABLE k (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 70; INSERT INTO k SELECT n FROM {COUNT} WHERE n < 700; \
        CREATE TABLE whole (id INT PRIMARY KEY); INSERT INTO whole VALUES (1)"
    ));
    let chosen = [
        "--partitions",
        "pn.r=p1,`p 2`",
        "--partitions",
        "pn.s=b",
        "--partitions",
        "pn.k=p3",
        "--where",
        "pn.r=id % 2 = 0",
        "--chunk-size",
        "64k",
    ];
    let left_out = [
        "the rows of `pn`.`r` in other partitions than p1, p 2 (--partitions)",
        "the rows of `pn`.`r` that do not match: id % 2 = 0 (--where)",
        "the rows of `pn`.`s` in other partitions than b",
    ];
    pair.dump("a", &[&chosen[..], &["--dry-run"]].concat())
        .ok()
        .says(&left_out);
    pair.dump("a", &chosen).ok().says(&left_out);
    Tool::new(["list"])
        .arg(pair.path("a"))
        .run()
        .ok()
        .says(&left_out);
    pair.verify("a").ok().says(&left_out);
    // The source has more rows, which are not compared.
    pair.verify_against("a", pair.source()).ok();
    // It is no beginning of a replica.
    pair.load("a", &["--gtid-purged", "set"])
        .code(2)
        .says(&["--gtid-purged does not apply", "--partitions"]);
    let loaded = pair.load("a", &[]).ok().says(&left_out);
    assert!(!loaded.offers_a_replica(), "{}", loaded.err);
    pair.verify_against("a", pair.target()).ok();
    let there = |table: &str| {
        let sql = format!("SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM(id), 0)) FROM pn.{table}");
        let on_target = pair.target().value(&sql).expect("a sum");
        let chosen = match table {
            "r" => "r PARTITION (p1, `p 2`) WHERE id % 2 = 0",
            "s" => "s PARTITION (b)",
            "k" => "k PARTITION (p3)",
            other => other,
        };
        let sql = format!("SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM(id), 0)) FROM pn.{chosen}");
        assert_eq!(
            on_target,
            pair.source().value(&sql).expect("a sum"),
            "{table}"
        );
    };
    ["r", "s", "k", "whole"].into_iter().for_each(there);
    // By other partitions it cannot be told which rows were chosen.
    pair.target()
        .script(b"ALTER TABLE pn.r REMOVE PARTITIONING")
        .expect("changed");
    pair.verify_against("a", pair.target())
        .code(4)
        .says(&["`pn`.`r`: on the server it has no partition `p1`"]);
    // A change in a partition that was chosen is found, and one in another is not.
    let source = |sql: &str| pair.source().script(sql.as_bytes()).expect("done");
    source("UPDATE pn.r SET v = 'x' WHERE id = 500; DELETE FROM pn.k WHERE id = 4");
    pair.verify_against("a", pair.source()).ok();
    source("UPDATE pn.r SET v = 'x' WHERE id = 50");
    pair.verify_against("a", pair.source())
        .code(4)
        .says(&["`pn`.`r`"]);

    for (partitions, why) in [
        ("pn.r=p9", "it has p1, p 2, p3"),
        ("pn.whole=p1", "the table has no partitions"),
        ("pn.none=p1", "is no table with rows that this dump takes"),
        ("pn.r=", "empty name"),
        ("r=p1", "schema.table"),
    ] {
        pair.dump("b", &["--partitions", partitions])
            .code(2)
            .says(&["--partitions", why]);
    }
    assert!(!pair.path("b").exists());
    pair.dump("b", &["--partitions", "pn.r=p1", "--ddl-only"])
        .code(2);
}
