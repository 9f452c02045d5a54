//! Definitions alone (`--ddl-only`), rows alone (`--data-only`), without some kinds of objects; rows that a condition (`--where`)
//! or their partition (`--partitions`) chooses.

use crate::kit::fixtures::fixture;
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
