//! Objects that the target has already: they are left as they are, replaced, or emptied and filled (`load --existing`).

use crate::kit::{Done, Pair, Tool, both};
use std::process::{Command, Stdio};

const SOURCE: &str = "CREATE DATABASE ex; USE ex; \
    CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), KEY by_v (v)); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'); \
    CREATE TABLE u (id INT PRIMARY KEY, t INT, FOREIGN KEY of_t (t) REFERENCES t (id)); INSERT INTO u VALUES (7, 1); \
    CREATE TABLE gone (id INT PRIMARY KEY); INSERT INTO gone VALUES (4), (5); \
    CREATE VIEW w AS SELECT id FROM t; CREATE VIEW x AS SELECT v FROM t; \
    CREATE TABLE log (id INT); \
    CREATE TRIGGER tr AFTER UPDATE ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id); \
    CREATE PROCEDURE p() SELECT 1; CREATE FUNCTION p() RETURNS INT DETERMINISTIC RETURN 1; \
    CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1;";

/// Something of each kind, other than on the source; a table that refers to one of the archive, and is not in it.
const THERE: &str = "CREATE DATABASE ex; USE ex; \
    CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(30), own INT DEFAULT 5, KEY own (own)); INSERT INTO t VALUES (1, 'x', 1), (9, 'y', 2); \
    CREATE TABLE theirs (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id)); INSERT INTO theirs VALUES (1, 9); \
    CREATE VIEW w AS SELECT 'mine' AS id; CREATE PROCEDURE p() SELECT 'mine'; \
    CREATE EVENT e ON SCHEDULE EVERY 2 DAY DISABLE DO SELECT 'mine';";

fn fill(pair: &Pair) {
    pair.fill(SOURCE);
    pair.dump("a", &[]).ok();
    there(pair, THERE);
}

fn there(pair: &Pair, sql: &str) {
    pair.target().script(sql.as_bytes()).expect("objects");
}

fn value(pair: &Pair, sql: &str) -> String {
    pair.target().value(sql).expect("a value")
}

/// What the target has, by what the server says of it.
fn state(pair: &Pair) -> Vec<String> {
    [
        "SELECT GROUP_CONCAT(id, v ORDER BY id) FROM ex.t",
        "SELECT GROUP_CONCAT(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = 'ex' AND table_name = 't'",
        "SELECT GROUP_CONCAT(index_name ORDER BY index_name) FROM information_schema.statistics WHERE table_schema = 'ex' AND table_name = 't'",
        "SELECT GROUP_CONCAT(id ORDER BY id) FROM ex.w",
        "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'ex'",
        "SELECT GROUP_CONCAT(routine_type, routine_definition LIKE '%mine%' ORDER BY routine_type) FROM information_schema.routines WHERE routine_schema = 'ex'",
        "SELECT GROUP_CONCAT(trigger_name) FROM information_schema.triggers WHERE trigger_schema = 'ex'",
        "SELECT GROUP_CONCAT(event_name, interval_value) FROM information_schema.events WHERE event_schema = 'ex'",
    ]
    .iter()
    .map(|sql| value(pair, &format!("SELECT IFNULL(({sql}), 'none')")))
    .collect()
}

fn loading(pair: &Pair, more: &[&str]) -> Tool {
    pair.loading("a", more)
}

fn load(pair: &Pair, more: &[&str]) -> Done {
    loading(pair, more).run()
}

/// What was left, replaced and emptied, as many each.
fn counts(done: &Done) -> [usize; 3] {
    let there = &done.summary()["existing"];
    ["left", "replaced", "emptied"].map(|key| there[key].as_array().expect("a list").len())
}

both!(what_is_there_is_left_as_it_is);
fn what_is_there_is_left_as_it_is(pair: &Pair) {
    fill(pair);
    load(pair, &[])
        .code(10)
        .says(&["already holds", "table `ex`.`t`", "--existing"]);
    load(pair, &["--existing", "skip", "--dry-run"])
        .ok()
        .says(&["left as they are: 4 objects"]);
    let done = load(pair, &["--existing", "skip", "--json"]).ok();
    assert_eq!(counts(&done), [4, 0, 0], "{}", done.out);
    assert_eq!(done.summary()["tables"], 3, "{}", done.out);
    assert_eq!(
        state(pair),
        [
            "1x,9y",
            "id,v,own",
            "own,PRIMARY",
            "mine",
            "gone,log,t,theirs,u,w,x",
            "FUNCTION0,PROCEDURE1",
            "tr",
            "e2"
        ]
    );
    assert_eq!(value(pair, "SELECT COUNT(*) FROM ex.gone"), "2");
    assert!(!done.offers_a_replica(), "{}", done.out);
    let before = state(pair);
    let again = load(pair, &["--existing", "skip", "--json"]).ok();
    assert_eq!(counts(&again)[0], 10, "{}", again.out);
    assert_eq!(again.summary()["tables"], 0, "{}", again.out);
    assert_eq!(state(pair), before);
}

both!(what_is_there_is_replaced_when_that_is_agreed_to);
fn what_is_there_is_replaced_when_that_is_agreed_to(pair: &Pair) {
    fill(pair);
    // A view has the name of a table.
    there(pair, "CREATE VIEW ex.gone AS SELECT 1");
    let before = state(pair);
    let replace = ["--existing", "replace"];
    load(pair, &replace).code(2).says(&[
        "dropped, and loaded from the archive",
        "table `ex`.`t`",
        "view `ex`.`w`",
        "--yes",
    ]);
    load(pair, &["--existing", "replace", "--dry-run"])
        .ok()
        .says(&["replaced: 5 objects", "changed"]);
    assert_eq!(state(pair), before);
    let done = load(pair, &["--existing", "replace", "--yes"]).ok();
    let done = done.says(&[
        "replaced: 5 objects",
        "`ex`.`theirs` has a foreign key to `ex`.`t`",
    ]);
    assert!(
        !done.out.contains("foreign key to `ex`.`u`"),
        "{}",
        done.out
    );
    assert_eq!(
        state(pair),
        [
            "1a,2b,3c",
            "id,v",
            "by_v,PRIMARY",
            "1,2,3",
            "gone,log,t,theirs,u,w,x",
            "FUNCTION0,PROCEDURE0",
            "tr",
            "e1"
        ]
    );
    there(pair, "DROP TABLE ex.theirs");
    pair.verify_against("a", pair.target()).ok();
    // All of it once more, and as tablespaces where that is possible.
    let again = load(pair, &["--existing", "replace", "--yes", "--json"]).ok();
    assert_eq!(counts(&again), [0, 10, 0], "{}", again.out);
    pair.verify_against("a", pair.target()).ok();
}

both!(tables_are_emptied_and_filled_and_keep_their_definitions);
fn tables_are_emptied_and_filled_and_keep_their_definitions(pair: &Pair) {
    fill(pair);
    let truncate = ["--existing", "truncate", "--yes"];
    load(pair, &["--existing", "truncate"])
        .code(2)
        .says(&["emptied and filled from the archive: table `ex`.`t`"]);
    for (unfit, fit, why) in [
        (
            "CREATE TRIGGER ex.own BEFORE INSERT ON ex.t FOR EACH ROW SET NEW.v = 'z'",
            "DROP TRIGGER ex.own",
            "its trigger `ex`.`own` would run for each row",
        ),
        (
            "ALTER TABLE ex.t RENAME COLUMN v TO vv",
            "ALTER TABLE ex.t RENAME COLUMN vv TO v",
            "it has no column `v`",
        ),
        (
            "ALTER TABLE ex.t MODIFY v VARCHAR(30) CHARACTER SET cp1250",
            "ALTER TABLE ex.t MODIFY v VARCHAR(30)",
            "its column `v` has the character set cp1250",
        ),
        (
            "ALTER TABLE ex.t ADD COLUMN must INT NOT NULL",
            "ALTER TABLE ex.t DROP COLUMN must",
            "its column `must` is not in the archive, and has no default",
        ),
        (
            "ALTER TABLE ex.t DROP COLUMN v, ADD COLUMN v INT AS (own + 1) VIRTUAL AFTER id",
            "ALTER TABLE ex.t DROP COLUMN v, ADD COLUMN v VARCHAR(30) AFTER id",
            "its column `v` is generated",
        ),
    ] {
        there(pair, unfit);
        load(pair, &truncate)
            .code(10)
            .says(&[why, "nothing was touched"]);
        assert_eq!(value(pair, "SELECT COUNT(*) FROM ex.t"), "2", "{why}");
        there(pair, fit);
    }
    // What may not take the rows is said before anything is emptied.
    for (doubtful, fit, why) in [
        (
            "ALTER TABLE ex.t ADD UNIQUE KEY uq (v)",
            "ALTER TABLE ex.t DROP KEY uq",
            "its key `uq` is unique",
        ),
        (
            "ALTER TABLE ex.t ADD CONSTRAINT cc CHECK (id > 0)",
            "ALTER TABLE ex.t DROP CONSTRAINT cc",
            "its condition `cc` is not that of the archive's table",
        ),
    ] {
        there(pair, doubtful);
        load(pair, &["--existing", "truncate"])
            .code(2)
            .says(&["the rows may not fit", why]);
        there(pair, fit);
    }
    let done = load(pair, &["--existing", "truncate", "--yes", "--json"]).ok();
    assert_eq!(counts(&done), [3, 0, 1], "{}", done.out);
    assert_eq!(
        state(pair),
        [
            "1a,2b,3c",
            "id,v,own",
            "own,PRIMARY",
            "mine",
            "gone,log,t,theirs,u,w,x",
            "FUNCTION0,PROCEDURE1",
            "tr",
            "e2"
        ]
    );
    assert_eq!(value(pair, "SELECT SUM(own) FROM ex.t"), "15");
    // A table whose rows are those of another: that one is no part of the archive.
    there(
        pair,
        "DROP TABLE ex.gone; CREATE TABLE ex.other (id INT PRIMARY KEY) ENGINE=MyISAM; INSERT INTO ex.other VALUES (77); \
         CREATE TABLE ex.gone (id INT PRIMARY KEY) ENGINE=MERGE UNION=(ex.other) INSERT_METHOD=LAST",
    );
    load(pair, &truncate)
        .code(10)
        .says(&["`ex`.`gone`", "its engine is MRG_M"]);
    assert_eq!(value(pair, "SELECT id FROM ex.other"), "77");
}

both!(a_killed_load_goes_on_with_what_it_had_decided);
fn a_killed_load_goes_on_with_what_it_had_decided(pair: &Pair) {
    fill(pair);
    let before = state(pair);
    let kill = |how: &str, at: &str| {
        loading(pair, &["--existing", how])
            .args((how != "skip").then_some("--yes"))
            .env("PENSTOCK_KILL_AT", at)
            .run()
            .code(137);
    };
    // What is missing is there by half when it goes on: that is the load's own.
    kill("skip", "a table is created#2");
    load(pair, &[]).code(10).says(&["was interrupted"]);
    let done = load(pair, &["--resume", "--json"]).ok();
    assert_eq!(counts(&done), [4, 0, 0], "{}", done.out);
    let mut skipped = before.clone();
    skipped[4] = "gone,log,t,theirs,u,w,x".to_owned();
    skipped[5] = "FUNCTION0,PROCEDURE1".to_owned();
    skipped[6] = "tr".to_owned();
    assert_eq!(state(pair), skipped);
    // Killed while it empties: the same command looks again.
    kill("truncate", "a table is about to be emptied#2");
    load(pair, &["--existing", "truncate", "--yes"]).ok();
    assert_eq!(state(pair)[0], "1a,2b,3c");
    assert_eq!(state(pair)[1], "id,v,own");
    kill("truncate", "the journal is begun#1");
    load(pair, &["--resume"]).ok();
    assert_eq!(state(pair)[0], "1a,2b,3c");
    // The same where objects are dropped.
    for at in [
        "an object is about to be dropped#3",
        "the journal is begun#1",
        "all is loaded and compared#1",
    ] {
        kill("replace", at);
        load(pair, &["--existing", "replace", "--yes", "--resume"]).ok();
        there(pair, "ALTER TABLE ex.theirs COMMENT 'still there'");
        pair.verify_against("a", pair.target()).says(&["Equal"]);
    }
    let journals =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'";
    assert_eq!(value(pair, journals), "0");
}

both!(it_asks_at_a_terminal);
fn it_asks_at_a_terminal(pair: &Pair) {
    fill(pair);
    let before = state(pair);
    let ask = |answer: &str| -> (Option<i32>, String) {
        let words = [
            crate::kit::binary::path().display().to_string(),
            "load".to_owned(),
            pair.path("a").display().to_string(),
            "--socket".to_owned(),
            pair.target().socket().display().to_string(),
            "--user=root --no-defaults --existing=replace --include-tables=ex.t,ex.w".to_owned(),
        ];
        let mut script = Command::new("script");
        script
            .args(["-qec", &words.join(" "), "/dev/null"])
            .env("PENSTOCK_STATE", pair.path("state"))
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = script.spawn().expect("script of util-linux");
        let mut stdin = child.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut stdin, answer.as_bytes()).expect("an answer");
        let out = child.wait_with_output().expect("an end");
        (
            out.status.code(),
            String::from_utf8_lossy(&out.stdout).into_owned(),
        )
    };
    let (code, said) = ask("no\n");
    assert_eq!(code, Some(2), "{said}");
    for text in [
        "table `ex`.`t`",
        "view `ex`.`w`",
        "Type yes",
        "nothing was changed",
    ] {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert!(!said.contains("procedure"), "{said}");
    assert_eq!(state(pair), before);
    let (code, said) = ask("yes\n");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(state(pair)[0], "1a,2b,3c");
}

both!(rows_alone_go_into_tables_that_are_there);
fn rows_alone_go_into_tables_that_are_there(pair: &Pair) {
    fill(pair);
    let only = ["--data-only"];
    load(pair, &only).code(10).says(&[
        "does not have table `ex`.`gone`, table `ex`.`log`, table `ex`.`u`",
        "--data-only creates none",
        "--ddl-only",
    ]);
    there(
        pair,
        "USE ex; CREATE TABLE gone (more INT DEFAULT 2, id INT PRIMARY KEY); CREATE TABLE u (id INT, t INT); CREATE TABLE log (id INT)",
    );
    load(pair, &only).code(10).says(&[
        "there are rows in table `ex`.`t` already",
        "--existing truncate",
    ]);
    load(pair, &["--data-only", "--existing", "truncate"])
        .code(2)
        .says(&["emptied and filled", "--yes"]);
    let part = ["--data-only", "--exclude-tables", "ex.t", "--json"];
    let done = load(
        pair,
        &["--data-only", "--exclude-tables", "ex.t", "--dry-run"],
    )
    .ok();
    done.says(&["filled: 3 objects", "2 views (--data-only)"]);
    let done = load(pair, &part).ok();
    let there_now = &done.summary()["existing"];
    assert_eq!(
        there_now["filled"].as_array().expect("a list").len(),
        3,
        "{}",
        done.out
    );
    assert_eq!(
        value(
            pair,
            "SELECT GROUP_CONCAT(id, more ORDER BY id) FROM ex.gone"
        ),
        "42,52"
    );
    assert_eq!(value(pair, "SELECT GROUP_CONCAT(id, t) FROM ex.u"), "71");
    // Killed in the middle, it goes on; tables that were filled before are emptied only if that is agreed to.
    loading(pair, &["--data-only", "--existing", "truncate", "--yes"])
        .env("PENSTOCK_KILL_AT", "the journal is begun#1")
        .run()
        .code(137);
    load(pair, &["--data-only", "--resume"]).ok();
    let now = state(pair);
    assert_eq!(now[0], "1a,2b,3c");
    assert_eq!(now[3], "mine", "a view is no row");
    assert_eq!(now[5], "PROCEDURE1");
    assert_eq!(now[6], "none");
    assert_eq!(
        value(
            pair,
            "SELECT COUNT(*) FROM information_schema.views WHERE table_schema = 'ex'"
        ),
        "1"
    );
}

both!(what_is_lost_with_a_table_is_named);
fn what_is_lost_with_a_table_is_named(pair: &Pair) {
    fill(pair);
    there(
        pair,
        "CREATE TRIGGER ex.extra AFTER DELETE ON ex.t FOR EACH ROW SET @a = 1",
    );
    there(
        pair,
        "CREATE USER ex_may@localhost; GRANT EXECUTE ON PROCEDURE ex.p TO ex_may@localhost",
    );
    let may = load(pair, &["--existing", "replace"]).code(2);
    let dry = load(pair, &["--existing", "replace", "--dry-run"]).ok();
    there(pair, "DROP USER ex_may@localhost");
    may.says(&["procedure `ex`.`p`"]);
    dry.says(&["privileges of 'ex_may'@'localhost' on procedure `ex`.`p`"]);
    let versioned = !pair.is_mysql();
    if versioned {
        there(
            pair,
            "CREATE TABLE ex.gone (id INT PRIMARY KEY) WITH SYSTEM VERSIONING; INSERT INTO ex.gone VALUES (8); DELETE FROM ex.gone",
        );
    }
    let replace = ["--existing", "replace", "--include-tables", "ex.t,ex.gone"];
    let refused = load(pair, &replace).code(2);
    let refused = refused.says(&["trigger `ex`.`extra`, with table `ex`.`t`"]);
    if versioned {
        refused.says(&["the history of table `ex`.`gone`"]);
    }
    let all = [&replace[..], &["--yes", "--json"]].concat();
    let done = load(pair, &all).ok();
    let lost = &done.summary()["existing"]["lost_with_them"];
    let lost = lost.as_array().expect("a list").len();
    assert_eq!(lost, if versioned { 2 } else { 1 }, "{}", done.out);
    // An account that does not see triggers cannot say what is lost, nor what would run.
    there(
        pair,
        "CREATE USER ex_few@localhost; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER ON ex.* TO ex_few@localhost",
    );
    let few = |more: &[&str]| {
        Tool::new([
            "load",
            "-u",
            "ex_few",
            "--no-triggers",
            "--include-tables",
            "ex.gone",
        ])
        .arg(pair.path("a"))
        .arg("-S")
        .arg(pair.target().socket())
        .args(more.iter().copied())
        .run()
    };
    let refused = few(&["--existing", "replace", "--yes"]).code(7);
    let left = few(&["--existing", "skip"]);
    there(pair, "DROP USER ex_few@localhost");
    refused.says(&["TRIGGER"]);
    left.ok();
}

both!(what_is_left_and_is_something_else_is_an_exception);
fn what_is_left_and_is_something_else_is_an_exception(pair: &Pair) {
    fill(pair);
    there(
        pair,
        "CREATE VIEW ex.gone AS SELECT 1 AS id; CREATE TRIGGER ex.tr AFTER UPDATE ON ex.theirs FOR EACH ROW SET @a = 1",
    );
    load(pair, &["--existing", "skip"]).code(3).says(&[
        "table `ex`.`gone` is not loaded: the target has a view of that name",
        "trigger `ex`.`tr` is not loaded: the target has a trigger of `ex`.`theirs` of that name",
    ]);
}

both!(damaged_definitions_replace_nothing);
fn damaged_definitions_replace_nothing(pair: &Pair) {
    fill(pair);
    std::fs::remove_file(pair.path("a").join("ex.sql")).expect("a file less");
    load(pair, &["--existing", "replace", "--yes", "--skip-damaged"])
        .code(3)
        .says(&["has no routines and events from the archive"]);
    let now = state(pair);
    assert_eq!(
        (now[0].as_str(), now[5].as_str(), now[7].as_str()),
        ("1a,2b,3c", "PROCEDURE1", "e2")
    );
}

/// Packages have their names in double quotes.
#[test]
fn packages_are_left_and_replaced() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    let run = |server: &testkit::Server, n: u8| {
        let script = format!(
            "CREATE DATABASE IF NOT EXISTS ex;\nUSE ex;\nSET sql_mode = ORACLE;\nDELIMITER ;;\n\
             CREATE OR REPLACE PACKAGE pk AS FUNCTION f RETURN INT; END;;\n\
             CREATE OR REPLACE PACKAGE BODY pk AS FUNCTION f RETURN INT AS BEGIN RETURN {n}; END; END;;\nDELIMITER ;\n"
        );
        server.script(script.as_bytes()).expect("a package");
    };
    pair.fill("CREATE DATABASE IF NOT EXISTS ex");
    run(pair.source(), 1);
    pair.dump("a", &["--schemas", "ex"]).ok();
    run(pair.target(), 2);
    let value = || value(&pair, "SELECT ex.pk.f()");
    load(&pair, &[])
        .code(10)
        .says(&["already holds package `ex`.`pk`"]);
    load(&pair, &["--existing", "skip"]).ok();
    assert_eq!(value(), "2");
    load(&pair, &["--existing", "replace", "--yes"]).ok();
    assert_eq!(value(), "1");
    load(
        &pair,
        &[
            "--existing",
            "replace",
            "--yes",
            "--exclude-routines",
            "ex.pk",
        ],
    )
    .ok();
    assert_eq!(value(), "1");
    pair.target().script(b"DROP DATABASE ex").expect("dropped");
    load(&pair, &["--exclude-routines", "ex.pk"]).ok();
    assert_eq!(value_of_routines(&pair), "0");
}

fn value_of_routines(pair: &Pair) -> String {
    value(
        pair,
        "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'ex'",
    )
}

both!(a_restore_from_a_repository_replaces_too);
fn a_restore_from_a_repository_replaces_too(pair: &Pair) {
    fill(pair);
    let repository = pair.path("repository");
    let tool = |words: &[&str]| Tool::new(words.iter().copied());
    tool(&["init"]).arg(&repository).run().ok();
    tool(&["backup", "srv", "-u", "root", "--schemas", "ex", "-S"])
        .arg(pair.source().socket())
        .arg("--repository")
        .arg(&repository)
        .run()
        .ok();
    let restore = |more: &[&str]| {
        tool(&["restore", "-u", "root", "--existing", "replace", "-S"])
            .arg(pair.target().socket())
            .arg("--repository")
            .arg(&repository)
            .args(more.iter().copied())
            .run()
    };
    let before = state(pair);
    restore(&[]).code(2).says(&["table `ex`.`t`", "--yes"]);
    assert_eq!(state(pair), before);
    restore(&["--yes"]).ok().says(&["replaced: 4 objects"]);
    there(pair, "DROP TABLE ex.theirs");
    pair.verify_against("a", pair.target()).ok();
}
