//! Definitions alone (`--ddl-only`), rows alone (`--data-only`), without some kinds of objects; rows that a condition (`--where`)
//! or their partition (`--partitions`) chooses.

use crate::kit::fixtures::fixture;
use crate::kit::sampling::few;
use crate::kit::{COUNT, Done, Pair, Tool, both, own_server};

fn fill(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE pt; USE pt; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), KEY (v)); \
        CREATE TABLE log (id INT, FOREIGN KEY (id) REFERENCES t (id)); \
        INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'); CREATE VIEW w AS SELECT * FROM t; \
        CREATE PROCEDURE p() SELECT 1; CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1; \
        CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id); \
        CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1;",
    );
}

/// What the target has: rows, views, triggers, routines, events, foreign keys.
fn there(pair: &Pair) -> [String; 6] {
    let count = |sql: &str| pair.target().value(sql).expect("a count");
    [
        count("SELECT COUNT(*) FROM pt.t"),
        count("SELECT COUNT(*) FROM information_schema.views WHERE table_schema = 'pt'"),
        count("SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'pt'"),
        count("SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'pt'"),
        count("SELECT COUNT(*) FROM information_schema.events WHERE event_schema = 'pt'"),
        count(
            "SELECT COUNT(*) FROM information_schema.table_constraints WHERE constraint_schema = 'pt' \
             AND constraint_type = 'FOREIGN KEY'",
        ),
    ]
}

/// Whether the summary says how the target becomes a replica.
fn goes_on(done: &Done) -> bool {
    done.out.contains("a replica, by ") || done.err.contains("a replica, by ")
}

both!(a_dump_of_definitions_has_no_rows);
fn a_dump_of_definitions_has_no_rows(pair: &Pair) {
    fill(pair);
    pair.dump("a", &["--ddl-only", "--dry-run"])
        .ok()
        .says(&["the rows of all tables (--ddl-only)"]);
    pair.dump("a", &["--ddl-only"])
        .ok()
        .says(&["left out", "the rows of all tables (--ddl-only)"]);
    let data = std::fs::read_dir(pair.path("a")).expect("an archive");
    let names = data.map(|f| {
        f.expect("a file")
            .file_name()
            .into_string()
            .expect("a name")
    });
    let rows: Vec<String> = names.filter(|n| n.contains(".tsv")).collect();
    assert!(rows.is_empty(), "{rows:?}");
    pair.verify("a").ok().says(&["--ddl-only"]);
    let listed = Tool::new(["list"]).arg(pair.path("a")).run().ok();
    assert!(!goes_on(&listed), "{}", listed.out);
    listed.says(&["--ddl-only"]);
    let loaded = pair
        .load("a", &[])
        .ok()
        .says(&["it has definitions alone (--ddl-only)"]);
    assert!(!goes_on(&loaded), "{}", loaded.err);
    assert_eq!(there(pair), ["0", "1", "1", "2", "1", "1"]);
    pair.target().client("DROP DATABASE pt").expect("dropped");
    pair.load("a", &["--gtid-purged", "append"])
        .code(2)
        .says(&["--gtid-purged does not apply", "--ddl-only"]);
    pair.load("a", &[]).ok();
    // The rows are said not to be in it; the definitions are compared, and one that differs is found.
    let against = |server| pair.verify_against("a", server);
    against(pair.source())
        .ok()
        .says(&["--ddl-only", "no rows: there are none"]);
    against(pair.target()).ok();
    pair.target().client("DROP VIEW pt.w").expect("dropped");
    against(pair.target()).code(4).says(&["`pt`.`w`"]);
    // What is about rows is refused, also as it is by default.
    for option in [
        ["--chunk-size", "32M"],
        ["--compression", "zstd:1"],
        ["--max-rate", "10M"],
        ["--max-threads-running", "5"],
    ] {
        pair.dump("b", &[&option[..], &["--ddl-only"]].concat())
            .code(2)
            .says(&[option[0], "cannot be used with '--ddl-only'"]);
        assert!(!pair.path("b").exists());
    }
}

both!(a_load_of_definitions_has_no_rows);
fn a_load_of_definitions_has_no_rows(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    assert!(goes_on(&pair.load("a", &[]).ok()), "of the whole archive");
    pair.target().client("DROP DATABASE pt").expect("dropped");
    let preview = pair.load("a", &["--ddl-only", "--dry-run", "--json"]).ok();
    let left_out = "the rows of 2 tables (--ddl-only)";
    assert_eq!(preview.summary()["left_out"][0], left_out);
    assert_eq!(preview.summary()["rows"], 0);
    let done = pair.load("a", &["--ddl-only", "--json"]).ok();
    assert_eq!(done.summary()["left_out"][0], left_out);
    assert_eq!(done.summary()["rows"], 0);
    assert_eq!(there(pair), ["0", "1", "1", "2", "1", "1"]);
    // The tables are there: the whole archive is not loaded over them.
    pair.load("a", &[]).code(10);
    assert_eq!(there(pair)[0], "0");
    for option in [
        &["--import-mode", "auto"][..],
        &["--verify", "auto"],
        &["--analyze"],
        &["--gtid-purged", "set"],
    ] {
        pair.load("a", &[option, &["--ddl-only"]].concat())
            .code(2)
            .says(&[option[0], "cannot be used with '--ddl-only'"]);
    }
}

both!(rows_that_are_not_loaded_are_not_read);
/// Files of rows are not read for it, so that damage to them keeps nobody from the definitions.
fn rows_that_are_not_loaded_are_not_read(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    for entry in std::fs::read_dir(pair.path("a"))
        .expect("an archive")
        .flatten()
    {
        if entry.file_name().to_string_lossy().contains(".tsv") {
            std::fs::write(entry.path(), b"damaged").expect("written");
        }
    }
    pair.load("a", &[]).code(5);
    pair.load("a", &["--ddl-only"]).ok();
    assert_eq!(there(pair)[0], "0");
}

both!(a_load_without_some_kinds);
fn a_load_without_some_kinds(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    let none = [
        "--no-views",
        "--no-triggers",
        "--no-routines",
        "--no-events",
    ];
    pair.load("a", &none).ok().says(&[
        "left out",
        "1 view (--no-views), 1 trigger (--no-triggers), 2 routines (--no-routines), 1 event (--no-events)",
    ]);
    assert_eq!(there(pair), ["3", "0", "0", "0", "0", "1"]);
    pair.target().client("DROP DATABASE pt").expect("dropped");
    // Each alone. What lacks a kind of objects is no beginning of a replica.
    for (at, option) in none.iter().enumerate() {
        assert!(!goes_on(&pair.load("a", &[option]).ok()), "{option}");
        let mut expected = ["3", "1", "1", "2", "1", "1"];
        expected[at + 1] = "0";
        assert_eq!(there(pair), expected, "{option}");
        pair.target().client("DROP DATABASE pt").expect("dropped");
    }
}

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
    assert!(!goes_on(&listed), "{}", listed.out);
    listed.says(&[condition]);
    pair.verify("a").ok().says(&[condition]);
    let loaded = pair
        .load("a", &[])
        .ok()
        .says(&[condition, "where a foreign key refers to one of those rows"]);
    assert!(!goes_on(&loaded), "{}", loaded.err);
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
    assert!(!goes_on(&loaded), "{}", loaded.err);
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

both!(a_dump_of_rows_alone);
fn a_dump_of_rows_alone(pair: &Pair) {
    fill(pair);
    let left_out = [
        "views (--no-views)",
        "triggers (--no-triggers)",
        "procedures and functions (--no-routines)",
        "events (--no-events)",
    ];
    pair.dump("a", &["--data-only"]).ok().says(&left_out);
    assert!(!pair.path("a").join("@.users.sql").exists());
    pair.verify("a").ok();
    pair.load("a", &[]).ok();
    assert_eq!(there(pair), ["3", "0", "0", "0", "0", "1"]);
    pair.load("a", &["--data-only", "--existing", "truncate", "--yes"])
        .ok();
    assert_eq!(there(pair), ["3", "0", "0", "0", "0", "1"]);
    pair.dump("b", &["--no-views"]).ok().says(&left_out[..1]);
    pair.target().script(b"DROP DATABASE pt").expect("dropped");
    pair.load("b", &[]).ok();
    assert_eq!(there(pair), ["3", "0", "1", "2", "1", "1"]);
    pair.dump("c", &["--data-only", "--no-events"]).code(2);
    pair.dump("c", &["--data-only", "--users"]).code(2);
}

both!(triggers_routines_and_events_are_chosen_by_name);
fn triggers_routines_and_events_are_chosen_by_name(pair: &Pair) {
    fill(pair);
    pair.fill(
        "USE pt; CREATE PROCEDURE p_old() SELECT 2; CREATE EVENT e2 ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 2; \
         CREATE TRIGGER tr2 BEFORE DELETE ON t FOR EACH ROW SET @a = 1; CREATE TRIGGER tr3 BEFORE DELETE ON log FOR EACH ROW SET @a = 1;",
    );
    let named = |view: &str, column: &str, schema: &str| {
        let sql = format!(
            "SELECT IFNULL(GROUP_CONCAT({column} ORDER BY {column}), '') FROM information_schema.{view} WHERE {schema} = 'pt'"
        );
        pair.target().value(&sql).expect("names")
    };
    let there = || {
        [
            named("triggers", "trigger_name", "trigger_schema"),
            named("routines", "routine_name", "routine_schema"),
            named("events", "event_name", "event_schema"),
        ]
    };
    let drop = || pair.target().script(b"DROP DATABASE pt").expect("dropped");
    let choice = [
        "--exclude-triggers",
        "pt.tr2,/\\.tr3$/",
        "--include-routines",
        "pt.p*",
        "--exclude-routines",
        "*.*_old",
        "--include-events",
        "pt.e",
    ];
    // By the load: the archive has all of them.
    pair.dump("all", &[]).ok();
    let done = pair.load("all", &choice).ok();
    assert!(!goes_on(&done), "{}", done.out);
    assert_eq!(there(), ["tr", "p", "e"]);
    // What was left out is loaded later.
    pair.load("all", &["--existing", "skip"]).ok();
    assert_eq!(there(), ["tr,tr2,tr3", "f,p,p_old", "e,e2"]);
    pair.verify_against("all", pair.target()).ok();
    drop();
    // By the dump.
    pair.dump("some", &choice).ok();
    pair.verify("some").ok();
    Tool::new(["list"])
        .arg(pair.path("some"))
        .run()
        .ok()
        .says(&["--exclude-triggers"]);
    pair.load("some", &[]).ok();
    assert_eq!(there(), ["tr", "p", "e"]);
    pair.verify_against("some", pair.target()).ok();
    drop();
    let all_events = ["--exclude-events", "/./", "--no-triggers"];
    pair.load("all", &all_events).ok();
    assert_eq!(there(), ["", "f,p,p_old", ""]);
    drop();
    for (options, says) in [
        (
            ["--include-triggers", "pt.trr"],
            "no schema, table, trigger, routine or event matches: pt.trr",
        ),
        (["--exclude-events", "e"], "schema.table"),
        (["--exclude-events", "/(/"], "no regular expression"),
    ] {
        pair.load("all", &options).code(2).says(&[says]);
        pair.dump("none", &options).code(2).says(&[says]);
        assert!(!pair.path("none").exists(), "{options:?}");
    }
    let both = ["--no-events", "--include-events", "pt.e"];
    pair.load("all", &both).code(2).says(&["--no-events"]);
}

both!(a_pattern_of_tables_makes_no_empty_schemas);
fn a_pattern_of_tables_makes_no_empty_schemas(pair: &Pair) {
    fill(pair);
    pair.fill("CREATE DATABASE other; CREATE TABLE other.x (id INT PRIMARY KEY)");
    pair.dump("all", &[]).ok();
    pair.dump("some", &["--tables", "*.t"]).ok();
    for (archive, options) in [
        ("all", ["--tables", "/^pt\\.t$/"]),
        ("some", ["--threads", "2"]),
    ] {
        pair.load(archive, &options).ok();
        assert_eq!(pair.target_schemas(), ["pt"], "{archive}");
        pair.target().script(b"DROP DATABASE pt").expect("dropped");
    }
}

both!(a_copy_chooses_triggers_by_name);
fn a_copy_chooses_triggers_by_name(pair: &Pair) {
    fill(pair);
    pair.fill("CREATE TRIGGER pt.tr2 BEFORE DELETE ON pt.t FOR EACH ROW SET @a = 1");
    let (from, to) = (pair.source().uri(), pair.target().uri());
    let words = ["copy", &from, &to, "--exclude-triggers", "/2$/"];
    let done = Tool::new(words).run().ok().says(&["equal:"]);
    assert!(!goes_on(&done), "{}", done.out);
    let named = "SELECT GROUP_CONCAT(trigger_name) FROM information_schema.triggers WHERE trigger_schema = 'pt'";
    assert_eq!(pair.target().value(named).expect("names"), "tr");
    pair.same_checksums();
}

fn fill_for_choices(pair: &Pair) {
    let orders = format!("{COUNT} WHERE n BETWEEN 1 AND 3000");
    let few = format!("{COUNT} WHERE n BETWEEN 1 AND 50");
    pair.fill(&format!(
        "CREATE DATABASE ch; USE ch; \
        CREATE TABLE customers (id INT PRIMARY KEY, region VARCHAR(10)); \
        INSERT INTO customers SELECT n, IF(n % 2 = 0, 'EU', 'US') FROM {few}; \
        CREATE TABLE orders (id INT PRIMARY KEY, customer INT, v VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_swedish_ci, \
            at TIMESTAMP NULL, twice INT AS (id * 2) STORED, half INT AS (id / 2) VIRTUAL, KEY (v), KEY (half), \
            FOREIGN KEY (customer) REFERENCES customers (id) ON DELETE CASCADE); \
        INSERT INTO orders (id, customer, v, at) SELECT n, 1 + n % 50, IF(n % 7 = 0, NULL, CONCAT('Ordér ', n)), \
            '2026-01-01 12:00:00' + INTERVAL n HOUR FROM {orders}; \
        CREATE TABLE items (orders INT, n INT, FOREIGN KEY (orders) REFERENCES orders (id) ON DELETE CASCADE); \
        INSERT INTO items SELECT n, n % 10 FROM {orders}; \
        CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=MyISAM; \
        INSERT INTO plain SELECT n, CONCAT('v', n) FROM {few}; \
        CREATE TABLE log (id INT); CREATE VIEW w AS SELECT id FROM customers; \
        CREATE TRIGGER tr AFTER DELETE ON orders FOR EACH ROW INSERT INTO log VALUES (OLD.id); \
        CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x + 1;"
    ));
    // MyISAM has no snapshots.
    pair.dump("a", &["--chunk-size", "64k"]).code(3);
}

/// What the target has of the tables: the number of rows, and the sum of a column.
fn chosen_there(pair: &Pair, schema: &str) -> Vec<String> {
    [
        "customers.id",
        "orders.id",
        "items.orders",
        "plain.id",
        "log.id",
    ]
    .iter()
    .map(|column| {
        let (table, name) = column.split_once('.').expect("two parts");
        let sql =
            format!("SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM({name}), 0)) FROM {schema}.{table}");
        pair.target().value(&sql).expect("a sum")
    })
    .collect()
}

const CHOICES: [&str; 8] = [
    "--where",
    "ch.orders=customer IN (SELECT id FROM customers WHERE region = 'EU') AND v LIKE 'ORDER 2%' -- some",
    "--where",
    "ch.customers=id <= 10",
    "--where",
    "`ch`.`items` = n = 3 AND orders > 5",
    "--where",
    "ch.plain=v > 'v3' or NULL",
];

/// The same of the source.
fn chosen_on_source(pair: &Pair) -> Vec<String> {
    [
        "SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM ch.customers WHERE id <= 10",
        "SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM ch.orders WHERE customer IN (SELECT id FROM ch.customers WHERE region = 'EU') \
         AND v LIKE 'ORDER 2%'",
        "SELECT CONCAT(COUNT(*), ' ', SUM(orders)) FROM ch.items WHERE n = 3 AND orders > 5",
        "SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM ch.plain WHERE v > 'v3'",
        "SELECT '0 0'",
    ]
    .iter()
    .map(|sql| pair.source().value(sql).expect("a sum"))
    .collect()
}

both!(a_load_of_rows_that_match);
fn a_load_of_rows_that_match(pair: &Pair) {
    fill_for_choices(pair);
    let wanted = chosen_on_source(pair);
    assert!(wanted[1].len() > 5, "{wanted:?}");
    let left_out = "the rows of `ch`.`items` that do not match: n = 3 AND orders > 5 (--where)";
    pair.load("a", &[&CHOICES[..], &["--dry-run"]].concat())
        .ok()
        .says(&["left out", left_out]);
    let done = pair.load("a", &[&CHOICES[..], &["--json"]].concat()).ok();
    let summary = done.summary();
    assert_eq!(chosen_there(pair, "ch"), wanted);
    let rows = |n: usize| wanted[n].split(' ').next().expect("a number").to_owned();
    let chosen = summary["rows_that_match"].as_array().expect("a list");
    assert_eq!(chosen.len(), 4, "{}", done.out);
    let orders = chosen.iter().find(|c| c["table"] == "`ch`.`orders`");
    let orders = orders.expect("orders");
    assert_eq!(orders["rows"].to_string(), rows(1));
    assert_eq!(orders["of"], 3000);
    let all: u64 = (0..4)
        .map(|n| rows(n).parse::<u64>().expect("a number"))
        .sum();
    assert_eq!(summary["rows"], all);
    // All of them were compared before rows were deleted.
    assert_eq!(summary["verified"]["rows"], 6100);
    let count = |sql: &str| pair.target().value(sql).expect("a count");
    assert_eq!(
        count("SELECT COUNT(*) FROM ch.orders WHERE twice <> id * 2"),
        "0"
    );
    assert_eq!(count("SELECT COUNT(*) FROM ch.w"), "10");
    assert_eq!(
        count("SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'ch'"),
        "1"
    );
    assert_eq!(
        count(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'"
        ),
        "0"
    );
    // A row that is inserted now is the next, as without a condition.
    pair.target().client("DROP DATABASE ch").expect("dropped");
    let done = pair.load("a", &CHOICES).ok().says(&[
        &format!("{} of 3,000 rows of `ch`.`orders` (--where)", rows(1)),
        "table `ch`.`items` has a foreign key to `ch`.`orders`, of which rows were left out",
        left_out,
    ]);
    assert!(!goes_on(&done), "{}", done.err);
    // The rest of the archive is not what the target has.
    pair.verify_against("a", pair.target()).code(4);
    // The same again: all of it is there.
    pair.load("a", &CHOICES).code(10);
    assert_eq!(chosen_there(pair, "ch"), wanted);
}

both!(a_load_of_rows_that_match_is_killed);
fn a_load_of_rows_that_match_is_killed(pair: &Pair) {
    fill_for_choices(pair);
    let wanted = chosen_on_source(pair);
    let loading = |more: &[&str]| {
        pair.loading("a", &[&CHOICES[..], more].concat())
            .env("PENSTOCK_STATE", pair.path("state"))
    };
    let list = pair.path("places");
    loading(&[]).env("PENSTOCK_PLACES", &list).run().ok();
    let count = std::fs::read_to_string(&list)
        .expect("failpoints")
        .lines()
        .count();
    let numbers: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
    let places = [
        "rows are about to be deleted#1",
        "rows are about to be deleted#3",
        "rows may be deleted for good#1",
        "rows are deleted#1",
        "rows are deleted#4",
        "only wanted rows are left#1",
        "only wanted rows are left#4",
        "the end of the load is noted#1",
        "the journal is gone#1",
    ];
    let places = places.map(str::to_owned).into_iter();
    for place in places.chain(few(pair.kind, 6, &numbers)) {
        pair.target()
            .client("DROP DATABASE IF EXISTS ch")
            .expect("dropped");
        loading(&[]).env("PENSTOCK_KILL_AT", &place).run();
        if place.starts_with("rows") {
            let other = ["--where", "ch.orders=id = 1", "--resume"];
            pair.load("a", &other).code(10).says(&["another load"]);
        }
        let done = loading(&["--resume", "--json"]).run();
        // Of a load that ended there is nothing to resume.
        if done.code == 10 {
            assert!(place.parse() == Ok(count), "{place}: {}", done.said());
            continue;
        }
        let done = done.ok();
        assert_eq!(chosen_there(pair, "ch"), wanted, "{place}");
        let chosen = &done.summary()["rows_that_match"];
        assert_eq!(
            chosen.as_array().map(Vec::len),
            Some(4),
            "{place}: {}",
            done.out
        );
        let numbers = wanted[..4].iter().filter_map(|w| w.split(' ').next());
        let all: u64 = numbers.filter_map(|n| n.parse::<u64>().ok()).sum();
        assert_eq!(done.summary()["rows"], all, "{place}: {}", done.out);
    }
}

both!(conditions_that_a_load_cannot_use);
fn conditions_that_a_load_cannot_use(pair: &Pair) {
    fill_for_choices(pair);
    let there = || {
        let sql = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'ch'";
        pair.target().value(sql).expect("a count")
    };
    let load = |conditions: &[&str], more: &[&str]| {
        let conditions = conditions.iter().flat_map(|c| ["--where", c]);
        let all: Vec<&str> = conditions.chain(more.iter().copied()).collect();
        pair.load("a", &all)
    };
    for (conditions, why) in [
        (&["ch.orders="][..], "the condition is empty"),
        (&["ch.orders=id = 1) OR (1"], "a parenthesis is closed"),
        (&["ch.orders=id = 1; DROP TABLE x"], "no semicolon"),
        (&["orders=id = 1"], "a table is named as schema.table"),
        (&["ch.orders=id = 1", "ch.orders=id = 2"], "given twice"),
        (
            &["ch.Nothing=id = 1"],
            "`ch`.`Nothing` is no table with rows",
        ),
        (&["ch.w=id = 1"], "`ch`.`w` is no table with rows"),
        (&["ch.orders=id = "], "the server does not take it"),
        (&["ch.orders=nothing = 1"], "nothing"),
        (&["ch.orders=COUNT(id) > 1"], "group function"),
        (
            &["ch.orders=customer IN (SELECT id FROM w)"],
            "it may read view `ch`.`w`",
        ),
        (
            &[
                "ch.orders=customer IN (SELECT id FROM customers)",
                "ch.customers=id IN (SELECT customer FROM orders)",
            ],
            "read each other's tables",
        ),
    ] {
        for more in [&["--dry-run"][..], &[], &["--existing", "replace", "--yes"]] {
            load(conditions, more).code(2).says(&["--where", why]);
            assert_eq!(there(), "0", "{conditions:?}");
        }
    }
    load(&["ch.orders=id = 1"], &["--exclude-tables", "ch.orders"])
        .code(2)
        .says(&["`ch`.`orders` is no table with rows that this load takes"]);
    for (option, why) in [
        (&["--ddl-only"][..], "cannot be used with"),
        (&["--only", "objects"], "cannot be used with"),
        (
            &["--gtid-purged", "append"],
            "a replica would lack the rows",
        ),
    ] {
        load(&["ch.orders=id = 1"], option).code(2).says(&[why]);
    }
    assert_eq!(there(), "0");
    // What shows on the table alone: before its rows are loaded.
    for (condition, why) in [
        ("ch.orders=f(id) > 1", "f does not exist"),
        ("ch.orders=id IN (SELECT x FROM customers)", "x"),
        (
            "ch.orders=id IN (SELECT id FROM customers FOR UPDATE)",
            "READ ONLY transaction",
        ),
        (
            "ch.orders=(SELECT id, region FROM customers LIMIT 1) = 3",
            "does not take it",
        ),
    ] {
        load(&[condition], &[])
            .code(2)
            .says(&[why, "no row was loaded"]);
        let rows = pair.target().value("SELECT COUNT(*) FROM ch.orders");
        assert_eq!(rows.expect("a count"), "0", "{condition}");
        pair.target().client("DROP DATABASE ch").expect("dropped");
    }
    // MySQL does not delete from what it reads.
    let own = load(&["ch.orders=id = (SELECT MAX(id) FROM orders)"], &[]);
    match pair.is_mysql() {
        true => drop(own.code(2).says(&["for update in FROM clause"])),
        false => drop(own.ok().says(&["1 of 3,000 rows"])),
    }
    pair.target().client("DROP DATABASE ch").expect("dropped");
    // Rows that match only sometimes: none is lost.
    let random = ["ch.orders=RAND() < 0.5"];
    // In one of a hundred runs as many are deleted as were to be.
    let refused = (0..4).any(|_| {
        let done = load(&random, &[]);
        if done.code == 0 {
            pair.target().client("DROP DATABASE ch").expect("dropped");
            return false;
        }
        done.code(4).says(&["nothing was deleted"]);
        true
    });
    assert!(refused);
    let rows = pair.target().value("SELECT COUNT(*) FROM ch.orders");
    assert_eq!(rows.expect("a count"), "3000");
}

both!(rows_that_match_go_into_tables_that_are_there);
fn rows_that_match_go_into_tables_that_are_there(pair: &Pair) {
    fill_for_choices(pair);
    let count = |sql: &str| pair.target().value(sql).expect("a count");
    let sql = |sql: &str| pair.target().script(sql.as_bytes()).expect("done");
    let orders = "SELECT CONCAT(COUNT(*), ' ', IFNULL(MAX(id), 0)) FROM ch.orders";
    pair.load("a", &["--ddl-only", "--no-triggers"]).ok();
    let load = |more: &[&str]| {
        let usual = ["--tables", "ch.orders", "--where", "ch.orders=id < 8"];
        pair.load("a", &[&usual[..], more].concat())
    };
    // Its own rows, which match or not, stay: the load is refused.
    sql("INSERT INTO ch.orders (id) VALUES (1), (5000)");
    load(&["--data-only"]).code(10).says(&["there are rows in"]);
    load(&["--existing", "skip"])
        .code(2)
        .says(&["`ch`.`orders` is there already", "--existing skip"]);
    assert_eq!(count(orders), "2 5000");
    // A trigger of its own would see each row go.
    sql(
        "CREATE TRIGGER ch.mine BEFORE DELETE ON ch.orders FOR EACH ROW INSERT INTO ch.log VALUES (OLD.id)",
    );
    load(&["--existing", "truncate", "--yes", "--no-triggers"])
        .code(2)
        .says(&["trigger `ch`.`mine` would run"]);
    assert_eq!(count(orders), "2 5000");
    sql(
        "DROP TRIGGER ch.mine; SET foreign_key_checks = 0; INSERT INTO ch.items VALUES (8, 0), (3, 0)",
    );
    load(&["--existing", "truncate", "--no-triggers", "--dry-run"]).ok();
    let wrong = [
        "--tables",
        "ch.orders",
        "--where",
        "ch.orders=v = b'1' COLLATE utf8mb4_bin",
        "--data-only",
        "--existing",
        "truncate",
        "--yes",
    ];
    pair.load("a", &wrong)
        .code(2)
        .says(&["nothing was changed"]);
    assert_eq!(count(orders), "2 5000");
    load(&["--existing", "truncate", "--yes", "--no-triggers"])
        .ok()
        .says(&["7 of 3,000 rows of `ch`.`orders` (--where)"]);
    assert_eq!(count(orders), "7 7");
    // ON DELETE CASCADE does not reach rows of a table that is not loaded.
    assert_eq!(count("SELECT COUNT(*) FROM ch.items"), "2");
    assert_eq!(count("SELECT COUNT(*) FROM ch.log"), "0");
    sql("SET foreign_key_checks = 0; TRUNCATE TABLE ch.orders");
    load(&["--data-only"]).ok();
    assert_eq!(count(orders), "7 7");
    // Replaced, and killed in between.
    pair.loading(
        "a",
        &[
            "--tables",
            "ch.orders",
            "--where",
            "ch.orders=id < 4",
            "--existing",
            "replace",
            "--yes",
        ],
    )
    .env("PENSTOCK_KILL_AT", "rows are deleted#1")
    .run()
    .code(137);
    pair.load(
        "a",
        &[
            "--tables",
            "ch.orders",
            "--where",
            "ch.orders=id < 4",
            "--existing",
            "replace",
            "--resume",
        ],
    )
    .ok();
    assert_eq!(count(orders), "3 3");
    assert_eq!(count("SELECT COUNT(*) FROM ch.items"), "2");
}

both!(rows_that_match_under_another_name);
/// The table is named as in the archive, and the condition is evaluated where it is then.
fn rows_that_match_under_another_name(pair: &Pair) {
    fill_for_choices(pair);
    let choose = |table: &str| {
        let condition = format!(
            "{table}=EXISTS (SELECT 1 FROM customers WHERE customers.id = found.customer AND region = 'EU')"
        );
        let usual = [
            "--tables",
            "ch.orders,ch.customers",
            "--map-schema",
            "ch=other",
            "--map-table",
            "ch.orders=other.found",
        ];
        pair.load("a", &[&usual[..], &["--where", &condition]].concat())
    };
    choose("other.found")
        .code(2)
        .says(&["`other`.`found` is no table with rows"]);
    choose("ch.orders")
        .ok()
        .says(&["1,500 of 3,000 rows of `other`.`found` (--where)"]);
    let count = pair
        .target()
        .value("SELECT SUM(customer % 2) FROM other.found");
    assert_eq!(count.expect("a count"), "0");
}

both!(rows_that_match_besides_other_ways_of_loading);
fn rows_that_match_besides_other_ways_of_loading(pair: &Pair) {
    fill_for_choices(pair);
    let count = || {
        let sql = "SELECT CONCAT(COUNT(*), ' ', MAX(id)) FROM ch.orders";
        pair.target().value(sql).expect("a count")
    };
    let usual = ["--where", "ch.orders=id <= 20"];
    for more in [
        &["--import-mode", "tablespace", "--skip-binlog", "--json"][..],
        &["--verify", "none", "--defer-indexes", "all"],
        &["--threads", "1", "--analyze", "--tune", "off"],
    ] {
        let done = pair.load("a", &[&usual[..], more].concat());
        assert!(matches!(done.code, 0 | 3), "{}", done.said());
        if more.contains(&"--json") {
            let import = done.summary()["import"].to_string();
            assert!(
                import.contains("only some of their rows are wanted"),
                "{import}"
            );
            assert!(
                !done.summary()["import"]["tables"]
                    .to_string()
                    .contains("orders"),
                "{import}"
            );
        }
        assert_eq!(count(), "20 20", "{more:?}");
        pair.target().client("DROP DATABASE ch").expect("dropped");
    }
}

#[test]
fn tables_that_no_rows_can_be_chosen_of() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE wh; USE wh; CREATE TABLE sv (id INT PRIMARY KEY) WITH SYSTEM VERSIONING; INSERT INTO sv VALUES (1), (2); \
        CREATE TABLE m1 (id INT) ENGINE=MyISAM; CREATE TABLE m (id INT) ENGINE=MERGE UNION=(m1); CREATE SEQUENCE sq; \
        CREATE TABLE oracle (`a b` INT, `select` INT); INSERT INTO oracle VALUES (1, 2), (3, 4)",
    );
    pair.dump("a", &[]).code(3);
    for (condition, why) in [
        ("wh.sv=id = 1", "keeps its history"),
        ("wh.m=id = 1", "is no table with rows"),
        ("wh.sq=1", "is no table with rows"),
        ("wh.oracle=`a` = 1", "Unknown column"),
    ] {
        pair.load("a", &["--where", condition]).code(2).says(&[why]);
    }
    pair.load(
        "a",
        &["--where", "wh.oracle=`a b` < `select` and `select` > 3"],
    )
    .says(&["1 of 2 rows of `wh`.`oracle`"]);
}

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

both!(rows_of_others_are_not_deleted);
/// Rows that another session inserts while the load runs are found before any row is deleted.
fn rows_of_others_are_not_deleted(pair: &Pair) {
    fill_for_choices(pair);
    let usual = [
        "--tables",
        "ch.orders",
        "--where",
        "ch.orders=id < 10",
        "--threads",
        "1",
    ];
    for (verify, why) in [
        ("auto", "`ch`.`orders`"),
        ("none", "has 3,001 rows, and 3,000 were loaded"),
    ] {
        let usual = [&usual[..], &["--verify", verify]].concat();
        pair.loading("a", &usual)
            .env("PENSTOCK_KILL_AT", "rows are about to be deleted#1")
            .run()
            .code(137);
        let insert = b"INSERT INTO ch.orders (id) VALUES (9999)";
        pair.target().script(insert).expect("inserted");
        let resumed = [&usual[..], &["--resume"]].concat();
        pair.load("a", &resumed).code(4).says(&[why]);
        let rows = pair.target().value("SELECT COUNT(*) FROM ch.orders");
        assert_eq!(rows.expect("a count"), "3001");
        let delete = b"DELETE FROM ch.orders WHERE id = 9999";
        pair.target().script(delete).expect("deleted");
        pair.load("a", &resumed).ok().says(&["9 of 3,000 rows"]);
        pair.target().client("DROP DATABASE ch").expect("dropped");
    }
}

both!(a_load_of_rows_that_match_is_repaired);
/// The same command creates what the target refused. Rows are not chosen again: others may have written since.
fn a_load_of_rows_that_match_is_repaired(pair: &Pair) {
    fill_for_choices(pair);
    pair.source()
        .script(
            b"CREATE DATABASE o; CREATE TABLE o.t (id INT); CREATE VIEW ch.x AS SELECT id FROM o.t",
        )
        .expect("a view");
    pair.dump("b", &["--schemas", "ch"]).code(3);
    let loading = |more: &[&str]| {
        let usual = ["--where", "ch.orders=id < 10", "--json"];
        pair.loading("b", &[&usual[..], more].concat())
            .env("PENSTOCK_STATE", pair.path("state"))
    };
    loading(&[]).run().code(3).says(&["`ch`.`x`"]);
    let run = |sql: &str| pair.target().script(sql.as_bytes()).expect("done");
    run("INSERT INTO ch.orders (id) VALUES (500); CREATE DATABASE o; CREATE TABLE o.t (id INT)");
    let rows = || {
        let rows = pair.target().value("SELECT COUNT(*) FROM ch.orders");
        rows.expect("a count")
    };
    loading(&[])
        .env("PENSTOCK_KILL_AT", "an object is created#1")
        .run()
        .code(137);
    assert_eq!(rows(), "10");
    let done = loading(&["--resume"]).run().ok();
    let chosen = done.summary()["rows_that_match"][0].clone();
    assert_eq!(
        (chosen["rows"].clone(), chosen["of"].clone()),
        (10.into(), 3000.into())
    );
    assert_eq!(rows(), "10");
    let views = pair.target().value("SELECT COUNT(*) FROM ch.x");
    assert_eq!(views.expect("a count"), "0");
    run("DROP DATABASE o");
}

both!(a_backup_of_which_rows_are_restored);
fn a_backup_of_which_rows_are_restored(pair: &Pair) {
    fill_for_choices(pair);
    let repository = pair.path("repo").display().to_string();
    Tool::new(["init", &repository]).run().ok();
    let verb = |words: &[&str]| Tool::new(words).args(["--repository", &repository]);
    verb(&["backup", "shop", &pair.source().uri()])
        .run()
        .code(3);
    let usual = ["--where", "ch.orders=id < 10", "--into"];
    let restore = |more: &[&str]| {
        verb(&["restore"])
            .args(usual)
            .arg(pair.target().uri())
            .args(more)
            .run()
    };
    restore(&["--dry-run"])
        .ok()
        .says(&["do not match: id < 10 (--where)"]);
    restore(&["--latest"])
        .code(2)
        .says(&["--where does not apply"]);
    restore(&[])
        .ok()
        .says(&["9 of 3,000 rows of `ch`.`orders` (--where)"]);
}

both!(a_damaged_table_is_not_chosen_from);
fn a_damaged_table_is_not_chosen_from(pair: &Pair) {
    fill_for_choices(pair);
    let list = std::fs::read_dir(pair.path("a")).expect("an archive");
    let mut names = list
        .flatten()
        .map(|f| f.file_name().to_string_lossy().into_owned());
    let rows = names.find(|n| n.starts_with("ch@orders@") && n.ends_with(".tsv.zst"));
    for name in ["ch@orders.json", &rows.expect("a file of rows")] {
        let path = pair.path("a").join(name);
        let before = std::fs::read(&path).expect("a file");
        std::fs::write(&path, b"damaged").expect("written");
        let usual = [
            "--where",
            "ch.orders=id < 10",
            "--where",
            "ch.customers=id < 10",
        ];
        pair.load("a", &usual).code(5);
        let done = pair.load("a", &[&usual[..], &["--skip-damaged"]].concat());
        done.code(3).says(&[
            "table `ch`.`orders` is not loaded",
            "9 of 50 rows of `ch`.`customers`",
        ]);
        std::fs::write(&path, before).expect("written");
        pair.target().client("DROP DATABASE ch").expect("dropped");
    }
}

#[test]
fn rows_that_match_in_a_new_data_directory() {
    let Some(pair) = Pair::take(testkit::Kind::MySql) else {
        return;
    };
    fill_for_choices(&pair);
    let install = testkit::Install::find(pair.kind).expect("a server");
    let program = install.one_program(&pair.path("mysqld"));
    let done = Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("--datadir")
        .arg(pair.path("new"))
        .arg("--mysqld")
        .arg(program.expect("a program"))
        .args(["--where", "ch.orders=id < 10"])
        .run();
    done.ok()
        .says(&["9 of 3,000 rows of `ch`.`orders` (--where)"]);
}
