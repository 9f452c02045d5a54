//! Definitions alone (`--ddl-only`), rows alone (`--data-only`), without some kinds of objects, and some objects of a kind.

use crate::kit::{Pair, Tool, both};

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
    assert!(!listed.offers_a_replica(), "{}", listed.out);
    listed.says(&["--ddl-only"]);
    let loaded = pair
        .load("a", &[])
        .ok()
        .says(&["it has definitions alone (--ddl-only)"]);
    assert!(!loaded.offers_a_replica(), "{}", loaded.err);
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
    assert!(
        pair.load("a", &[]).ok().offers_a_replica(),
        "of the whole archive"
    );
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
        assert!(
            !pair.load("a", &[option]).ok().offers_a_replica(),
            "{option}"
        );
        let mut expected = ["3", "1", "1", "2", "1", "1"];
        expected[at + 1] = "0";
        assert_eq!(there(pair), expected, "{option}");
        pair.target().client("DROP DATABASE pt").expect("dropped");
    }
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
    assert!(!done.offers_a_replica(), "{}", done.out);
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
    assert!(!done.offers_a_replica(), "{}", done.out);
    let named = "SELECT GROUP_CONCAT(trigger_name) FROM information_schema.triggers WHERE trigger_schema = 'pt'";
    assert_eq!(pair.target().value(named).expect("names"), "tr");
    pair.same_checksums();
}
