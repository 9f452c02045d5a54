//! Rows of single partitions, kept apart in the archive or not.

use super::*;
use crate::kit::sampling::few;

both!(partitions_that_are_loaded);
fn partitions_that_are_loaded(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE pl; USE pl; \
        CREATE TABLE r (id INT PRIMARY KEY, v VARCHAR(20), KEY (v)) PARTITION BY RANGE (id) \
          (PARTITION p1 VALUES LESS THAN (1000), PARTITION `p 2` VALUES LESS THAN (2000), PARTITION p3 VALUES LESS THAN MAXVALUE); \
        INSERT INTO r SELECT n, CONCAT('v', n) FROM {COUNT} WHERE n < 3000; \
        CREATE TABLE g (id INT PRIMARY KEY, twice INT AS (id * 2) STORED) PARTITION BY LIST (id % 3) \
          (PARTITION a VALUES IN (0), PARTITION b VALUES IN (1), PARTITION c VALUES IN (2)); \
        INSERT INTO g (id) SELECT n FROM {COUNT} WHERE n < 300; \
        CREATE TABLE s (id INT, d INT, PRIMARY KEY (id, d)) PARTITION BY RANGE (d) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 \
          (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (20)); \
        INSERT INTO s SELECT n, n % 20 FROM {COUNT} WHERE n < 200; \
        CREATE TABLE k (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 70; INSERT INTO k SELECT n FROM {COUNT} WHERE n < 700; \
        CREATE TABLE whole (id INT PRIMARY KEY); INSERT INTO whole VALUES (1)"
    ));
    pair.dump("a", &["--chunk-size", "64k"]).ok();
    let choices = [
        "--partitions",
        "pl.r=P1,`p 2`",
        "--where",
        "pl.r=id % 2 = 0",
        "--partitions",
        "pl.g=a,c",
        "--partitions",
        "pl.s=b,asp0",
        "--partitions",
        "pl.k=p3,p69",
    ];
    let there = || -> Vec<String> {
        let sums = ["r", "g", "s", "k", "whole"].map(|table| {
            let sql = format!("SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM(id), 0)) FROM pl.{table}");
            pair.target().value(&sql).expect("a sum")
        });
        sums.to_vec()
    };
    let wanted: Vec<String> = [
        "r PARTITION (p1, `p 2`) WHERE id % 2 = 0",
        "g PARTITION (a, c)",
        "s PARTITION (b, asp0)",
        "k PARTITION (p3, p69)",
        "whole",
    ]
    .iter()
    .map(|table| {
        let sql = format!("SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM(id), 0)) FROM pl.{table}");
        pair.source().value(&sql).expect("a sum")
    })
    .collect();
    let left_out = "the rows of `pl`.`r` in other partitions than P1, p 2 (--partitions)";
    let loading = |more: &[&str]| {
        pair.loading("a", &[&choices[..], more].concat())
            .env("PENSTOCK_STATE", pair.path("state"))
    };
    loading(&["--dry-run"]).run().ok().says(&[left_out]);
    let list = pair.path("places");
    let done = loading(&["--json"])
        .env("PENSTOCK_PLACES", &list)
        .run()
        .ok();
    assert_eq!(there(), wanted, "{}", done.out);
    // Those of other partitions that the archive has apart were not read.
    assert_eq!(
        done.summary()["verified"]["rows"],
        2000 + 300 + 200 + 700 + 1,
        "{}",
        done.out
    );
    let of = |table: &str| {
        let all = done.summary()["rows_that_match"].clone();
        let all = all.as_array().expect("a list").clone();
        all.into_iter()
            .find(|c| c["table"] == table)
            .expect("a table")
    };
    assert_eq!(
        (of("`pl`.`r`")["rows"].clone(), of("`pl`.`r`")["of"].clone()),
        (1000.into(), 3000.into())
    );
    assert_eq!(
        (of("`pl`.`g`")["rows"].clone(), of("`pl`.`g`")["of"].clone()),
        (200.into(), 300.into())
    );
    let places = std::fs::read_to_string(&list).expect("failpoints");
    let numbers: Vec<String> = (1..places.lines().count()).map(|n| n.to_string()).collect();
    let last = [
        "partitions are emptied#1",
        "rows may be deleted for good#2",
        "partitions are emptied#2",
    ];
    let last = last.map(str::to_owned).into_iter();
    for place in last.chain(few(pair.kind, 4, &numbers)) {
        pair.target().client("DROP DATABASE pl").expect("dropped");
        loading(&[]).env("PENSTOCK_KILL_AT", &place).run().code(137);
        let done = loading(&["--resume"]).run().ok();
        assert_eq!(there(), wanted, "{place}: {}", done.said());
    }
    // One partition that the archive has apart, alone: files of the others may be damaged.
    pair.target().client("DROP DATABASE pl").expect("dropped");
    for entry in std::fs::read_dir(pair.path("a"))
        .expect("an archive")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("pl@r@p1") && name.contains(".tsv") {
            std::fs::write(entry.path(), b"damaged").expect("written");
        }
    }
    let one = ["--tables", "pl.r", "--partitions", "pl.r=p3"];
    pair.load("a", &one)
        .ok()
        .says(&["1,000 of 3,000 rows of `pl`.`r` (--partitions)"]);
    let rows = pair
        .target()
        .value("SELECT COUNT(*) FROM pl.r PARTITION (p3)");
    assert_eq!(rows.expect("a count"), "1000");
    // A row of another session in a partition that is not loaded is found.
    pair.target().client("DROP DATABASE pl").expect("dropped");
    pair.loading("a", &[&one[..], &["--threads", "1"]].concat())
        .env("PENSTOCK_KILL_AT", "a chunk is committed#1")
        .run()
        .code(137);
    let insert = b"INSERT INTO pl.r VALUES (5, 'x')";
    pair.target().script(insert).expect("inserted");
    let resumed = [&one[..], &["--resume"]].concat();
    pair.load("a", &resumed).code(4).says(&["`pl`.`r`"]);
    let delete = b"DELETE FROM pl.r WHERE id = 5";
    pair.target().script(delete).expect("deleted");
    pair.load("a", &resumed).ok();
    // Into a table with other partitions: those of the archive are meant.
    let sql = |sql: &str| pair.target().script(sql.as_bytes()).expect("done");
    sql("ALTER TABLE pl.r REMOVE PARTITIONING; TRUNCATE TABLE pl.r");
    pair.load("a", &[&one[..], &["--data-only"]].concat()).ok();
    sql("CREATE TABLE pl.g (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2");
    pair.load(
        "a",
        &["--data-only", "--tables", "pl.g", "--partitions", "pl.g=a"],
    )
    .code(2)
    .says(&["may have other partitions"]);
    pair.target().client("DROP DATABASE pl").expect("dropped");
    for (partitions, why) in [
        ("pl.r=p9", "it has p 2, p1, p3"),
        ("pl.g=d", "it has a, b, c"),
        ("pl.whole=p1", "has no partitions in the archive"),
        ("pl.none=p1", "is no table with rows that this load takes"),
        ("pl.r=", "empty name"),
        ("r=p1", "schema.table"),
    ] {
        pair.load("a", &["--partitions", partitions])
            .code(2)
            .says(&["--partitions", why]);
        let sql = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'pl'";
        assert_eq!(
            pair.target().value(sql).expect("a count"),
            "0",
            "{partitions}"
        );
    }
    for (partitions, why) in [("pl.s=c", "it has a, b"), ("pl.k=p70", "p69")] {
        pair.load(
            "a",
            &["--exclude-tables", "pl.r", "--partitions", partitions],
        )
        .code(2)
        .says(&["--partitions", why, "no row was loaded"]);
        pair.target().client("DROP DATABASE pl").expect("dropped");
    }
}
