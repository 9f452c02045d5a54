//! A load that was killed at any failpoint continues with `--resume`, and ends as if it had never
//! been killed.

use crate::kit::fixtures::fixture;
use crate::kit::{COUNT, Done, Pair, Tool, both, each_kind, few, own_server, thorough};
use rustix::process::Signal;
use testkit::{Kind, Server};

const JOURNAL: &str =
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'";

/// One of everything that a load treats differently.
fn fill(pair: &Pair) {
    pair.fill(&fixture!("resume"));
}

const SMALL: &[&str] = &["--chunk-size", "256k"];

fn loading(pair: &Pair, more: &[&str]) -> Tool {
    let tool = Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("--socket")
        .arg(pair.target().socket())
        .env("PENSTOCK_STATE", pair.path("state"));
    tool.args(["--user", "root", "--defer-indexes", "all"])
        .args(more.iter().copied())
}

fn empty(pair: &Pair) {
    let script =
        b"SET foreign_key_checks = 0; DROP DATABASE IF EXISTS a1; DROP DATABASE IF EXISTS b2";
    pair.target().script(script).expect("an empty target");
}

/// How many completion records there are.
fn completion_records(pair: &Pair) -> usize {
    let list = std::fs::read_dir(pair.path("state")).expect("a directory");
    let named = |e: &std::fs::DirEntry| e.file_name().to_string_lossy().starts_with("completed-");
    list.flatten().filter(named).count()
}

/// Equal in every object and row, with nothing left of the load itself.
#[track_caller]
fn as_if_never_killed(pair: &Pair, at: u64) {
    pair.same_definitions("a1");
    pair.same_definitions("b2");
    pair.same_checksums();
    for schema in ["a1", "b2"] {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{schema}'"
        );
        pair.same(&sql);
    }
    let journals = pair.target().value(JOURNAL).expect("a count");
    assert_eq!(journals, "0", "the load journal is left, killed at {at}");
}

/// How many failpoints a load passes. Workers wait for each other, so the number hardly varies.
#[track_caller]
fn failpoints(pair: &Pair, load: Tool) -> u64 {
    let list = pair.path("places");
    load.env("PENSTOCK_PLACES", &list).run().ok();
    let names = std::fs::read_to_string(list).expect("the names of failpoints");
    names.lines().count() as u64
}

/// Kills a load at every second failpoint, from `first` on, and resumes it each time. Two tests
/// share the failpoints, so that they run at the same time.
fn killed_anywhere(pair: &Pair, first: u64) {
    fill(pair);
    pair.dump("a", SMALL).ok();
    let killed = || loading(pair, &["--threads", "2", "--verify", "none"]);
    let count = failpoints(pair, killed());
    assert!(count > 40, "there are more failpoints than {count}");
    // Another run may pass a few more.
    let numbers: Vec<u64> = (first..=count + 2).step_by(2).collect();
    for at in few(pair.kind, 6, &numbers) {
        empty(pair);
        let done = killed().env("PENSTOCK_KILL_AT", at.to_string()).run();
        if done.code == 0 {
            // This run passed fewer.
            as_if_never_killed(pair, at);
            continue;
        }
        done.code(137);
        let complete = pair.target().value(JOURNAL).expect("a count") == "0"
            && pair.target_schemas().contains(&"b2".to_owned());
        if complete {
            // Killed after the last step: nothing is left to do, as the rows show.
            loading(pair, &["--resume"]).run().ok().says(&[
                "nothing to do: the interrupted load had already completed",
                "equal:",
            ]);
        } else {
            loading(pair, &["--resume", "--threads", "2"])
                .run()
                .ok()
                .says(&["equal:"]);
        }
        as_if_never_killed(pair, at);
    }
}

both!(killed_at_odd_failpoints);
fn killed_at_odd_failpoints(pair: &Pair) {
    killed_anywhere(pair, 1);
}

both!(killed_at_even_failpoints);
fn killed_at_even_failpoints(pair: &Pair) {
    killed_anywhere(pair, 2);
}

both!(killed_twice);
fn killed_twice(pair: &Pair) {
    fill(pair);
    pair.dump("a", SMALL).ok();
    loading(pair, &["--threads", "1"])
        .env("PENSTOCK_KILL_AT", "40")
        .run()
        .code(137);
    // Without --resume nothing is touched, and the message names the way out.
    loading(pair, &[])
        .run()
        .code(10)
        .says(&["interrupted", "--resume", "`a1`, `b2`"]);
    loading(pair, &["--resume", "--threads", "1"])
        .env("PENSTOCK_KILL_AT", "12")
        .run()
        .code(137);
    // A selection of the archive is another load.
    loading(pair, &["--resume", "--exclude-tables", "a1.child"])
        .run()
        .code(10)
        .says(&["another load"]);
    let done = loading(pair, &["--resume"]).run().ok();
    assert!(
        done.said().contains("resuming the interrupted load"),
        "{}",
        done.said()
    );
    as_if_never_killed(pair, 0);
    // Without anything to resume, the load starts from the beginning.
    empty(pair);
    loading(pair, &["--resume"])
        .run()
        .ok()
        .says(&["no interrupted load"]);
    as_if_never_killed(pair, 0);
    empty(pair);
    let done = loading(pair, &["--resume", "--json"]).run().ok().summary();
    let notes = done["notes"].to_string();
    assert!(notes.contains("this is a new load"), "{done}");
    as_if_never_killed(pair, 0);
}

both!(killed_after_the_last_step);
fn killed_after_the_last_step(pair: &Pair) {
    fill(pair);
    pair.dump("a", SMALL).ok();
    // Objects that exist, without a load that was killed at its end, belong to someone else.
    loading(pair, &["-q"]).run().ok();
    loading(pair, &["--resume"])
        .run()
        .code(10)
        .says(&["already holds"]);
    empty(pair);
    loading(pair, &[])
        .env("PENSTOCK_KILL_AT", "the journal is gone#1")
        .run()
        .code(137);
    assert_eq!(completion_records(pair), 1);
    loading(pair, &[]).run().code(10).says(&["already holds"]);
    // The same for a part of them, or for more than was loaded.
    loading(pair, &["--resume", "--include-schemas", "b2"])
        .run()
        .code(10)
        .says(&["already holds"]);
    // Without a comparison nothing is taken for granted.
    loading(pair, &["--resume", "--verify", "none"])
        .run()
        .code(10)
        .says(&["already holds"]);
    // Another session may have changed rows since then.
    let sums = || {
        pair.target()
            .client("CHECKSUM TABLE a1.keyed")
            .expect("a checksum")
    };
    let before = sums();
    pair.target()
        .script(b"UPDATE a1.keyed SET v = CONCAT(v, 'x') WHERE id = 7")
        .expect("a change");
    let changed = sums();
    assert_ne!(before, changed);
    loading(pair, &["--resume"]).run().code(10).says(&[
        "already holds",
        "since then rows were changed",
        "`a1`.`keyed`",
    ]);
    assert_eq!(sums(), changed);
    let journals = pair.target().value(JOURNAL).expect("a count");
    assert_eq!(journals, "0");
    pair.target()
        .script(b"UPDATE a1.keyed SET v = LEFT(v, CHAR_LENGTH(v) - 1) WHERE id = 7")
        .expect("a change");
    pair.target().script(b"DROP VIEW b2.v").expect("a change");
    loading(pair, &["--resume"])
        .run()
        .code(10)
        .says(&["already holds"]);
    pair.target()
        .script(b"CREATE VIEW b2.v AS SELECT * FROM a1.some")
        .expect("a change");
    let done = loading(pair, &["--resume", "--json"]).run().ok();
    let summary = done.summary();
    assert_eq!(
        (&summary["already_complete"], &summary["raw_bytes"]),
        (&true.into(), &0.into()),
        "{}",
        done.out
    );
    assert_eq!(summary["rows"], 15_199, "{}", done.out);
    // The user has seen the summary, so the completion record is gone.
    assert_eq!(completion_records(pair), 0);
    loading(pair, &["--resume"])
        .run()
        .code(10)
        .says(&["already holds"]);
    // A load that had finished, but was killed before the user saw its summary.
    empty(pair);
    loading(pair, &[])
        .env("PENSTOCK_KILL_AT", "the load is over#1")
        .run()
        .code(137);
    loading(pair, &["--resume"]).run().ok().says(&[
        "nothing to do: the interrupted load had already completed",
        "equal:",
    ]);
    assert_eq!(completion_records(pair), 0);
}

both!(exceptions_are_kept_when_killed_after_the_last_step);
fn exceptions_are_kept_when_killed_after_the_last_step(pair: &Pair) {
    fill(pair);
    pair.fill("CREATE VIEW b2.w AS SELECT * FROM b2.t");
    pair.dump("a", SMALL).ok();
    // A schema that is left as it is, and a view of a table that does not exist.
    pair.target()
        .script(b"CREATE DATABASE b2 COLLATE latin1_bin")
        .expect("a schema");
    let exceptions = [
        "existed already, with default collation latin1_bin",
        "`b2`.`w`",
    ];
    let part: &[&str] = &["--exclude-tables", "b2.t"];
    let again: &[&str] = &["--exclude-tables", "b2.t", "--resume"];
    loading(pair, part)
        .env("PENSTOCK_KILL_AT", "the end of the load is noted#1")
        .run()
        .code(137);
    loading(pair, again)
        .env("PENSTOCK_KILL_AT", "the journal is gone#1")
        .run()
        .code(137);
    loading(pair, again).run().code(3).says(&[
        "had already completed",
        "equal:",
        exceptions[0],
        exceptions[1],
    ]);
    assert_eq!(completion_records(pair), 0);
}

both!(nontransactional_tables_are_loaded_from_the_beginning);
fn nontransactional_tables_are_loaded_from_the_beginning(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE a1; USE a1; \
        CREATE TABLE m (a INT PRIMARY KEY, b CHAR(100)) ENGINE=MyISAM; \
        INSERT INTO m SELECT n, SHA2(n, 256) FROM {COUNT};"
    ));
    pair.dump("a", SMALL).code(3);
    let killed = || loading(pair, &["--threads", "1"]);
    let count = failpoints(pair, killed());
    let mut from_the_beginning = 0;
    for at in few(pair.kind, 8, &(1..=count).collect::<Vec<_>>()) {
        empty(pair);
        let done = killed().env("PENSTOCK_KILL_AT", at.to_string()).run();
        if done.code == 0 {
            continue;
        }
        done.code(137);
        let done = loading(pair, &["--resume"]).run();
        if done.code == 10 {
            continue;
        }
        let done = done.ok();
        from_the_beginning += u32::from(done.said().contains("loaded again from its beginning"));
        pair.same_checksums();
    }
    // The sample may have no failpoint at which rows were being loaded.
    assert!(
        from_the_beginning > 3 || !thorough(),
        "only {from_the_beginning} times of {count}"
    );
}

both!(two_loads_at_once);
fn two_loads_at_once(pair: &Pair) {
    fill(pair);
    pair.dump("a", SMALL).ok();
    let first = loading(pair, &["--threads", "1"])
        .env("PENSTOCK_STOP_AT", "25")
        .start();
    first.until_stopped();
    assert_ne!(pair.target().value(JOURNAL).expect("a count"), "0");
    loading(pair, &["--resume"])
        .run()
        .code(10)
        .says(&["another penstock"]);
    first.signal(Signal::CONT);
    first.wait().ok();
    as_if_never_killed(pair, 0);
}

each_kind!(a_target_that_is_killed; mysql, mariadb);
fn a_target_that_is_killed(kind: Kind) {
    let Some(mut target) = own_server(kind, &["--server-id=78"]) else {
        return;
    };
    let Some(pair) = Pair::take(kind) else {
        return;
    };
    fill(&pair);
    pair.dump("a", SMALL).ok();
    let load = |target: &Server, more: &[&str]| -> Tool {
        Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("--socket")
            .arg(target.socket())
            .args(["--user", "root", "--defer-indexes", "all", "--threads", "2"])
            .args(more.iter().copied())
    };
    for at in few(kind, 2, &[8_u64, 14, 21, 27, 34]) {
        let script =
            b"SET foreign_key_checks = 0; DROP DATABASE IF EXISTS a1; DROP DATABASE IF EXISTS b2";
        target.script(script).expect("an empty target");
        let run = load(&target, &[])
            .env("PENSTOCK_STOP_AT", at.to_string())
            .start();
        run.until_stopped();
        target.kill9().expect("killed");
        run.signal(Signal::CONT);
        let done: Done = run.wait();
        assert_eq!(done.code, 6, "{}", done.said());
        target.restart().expect("a server again");
        load(&target, &["--resume"]).run().ok().says(&["equal:"]);
        let sums = testkit::checksum::compare(&pair.source().options(), &target.options(), &[]);
        let sums = sums.expect("checksums");
        assert!(sums.differences.is_empty(), "{at}: {:#?}", sums.differences);
        assert_eq!(target.value(JOURNAL).expect("a count"), "0");
    }
}

/// Kills a load of `from` at the first failpoint where the load journal has an entry with this
/// prefix.
fn killed_with(pair: &Pair, from: &str, entry: &str) {
    let sql = format!("SELECT COUNT(*) FROM a1.penstock_load_journal WHERE entry LIKE '{entry}%'");
    for at in 1..80_u32 {
        empty(pair);
        let tool = Tool::new(["load"])
            .arg(pair.path(from))
            .arg("--socket")
            .arg(pair.target().socket());
        tool.args(["--user", "root", "--threads", "1"])
            .env("PENSTOCK_KILL_AT", at.to_string())
            .run()
            .code(137);
        if pair.target().value(&sql).is_ok_and(|n| n != "0") {
            return;
        }
    }
    panic!("no entry {entry} in the journal");
}

both!(a_target_that_was_changed_before_the_resume);
fn a_target_that_was_changed_before_the_resume(pair: &Pair) {
    fill(pair);
    pair.dump("a", SMALL).ok();
    let stored = "SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING(entry, 10), '.', 1), '@', 1) \
        FROM a1.penstock_load_journal WHERE entry LIKE 'chunk:a1@%' LIMIT 1";
    killed_with(pair, "a", "chunk:a1@");
    let table = pair.target().value(stored).expect("a table");
    // A table that was dropped is loaded again, even without a comparison at the end.
    pair.target()
        .client(&format!("DROP TABLE a1.{table}"))
        .expect("dropped");
    loading(pair, &["--resume", "--verify", "none"]).run().ok();
    as_if_never_killed(pair, 0);
    // Rows that differ are found, and the hint is not --resume again.
    killed_with(pair, "a", "chunk:a1@");
    let table = pair.target().value(stored).expect("a table");
    pair.target()
        .client(&format!("DELETE FROM a1.{table} LIMIT 1"))
        .expect("deleted");
    let done = loading(pair, &["--resume"])
        .run()
        .code(4)
        .says(&[table.as_str(), "start again"]);
    assert!(
        !done.said().contains("--resume continues"),
        "{}",
        done.said()
    );
}

both!(a_script_load_finds_rows_changed_before_its_resume);
fn a_script_load_finds_rows_changed_before_its_resume(pair: &Pair) {
    let script = "CREATE DATABASE a1; USE a1; CREATE TABLE t (id INT PRIMARY KEY); \
        INSERT INTO t VALUES (1), (2); CREATE TABLE u (id INT PRIMARY KEY); \
        INSERT INTO u VALUES (3);";
    std::fs::write(pair.path("s.sql"), script).expect("written");
    killed_with(pair, "s.sql", "rows:");
    pair.target()
        .client("DELETE FROM a1.t WHERE id = 1")
        .expect("deleted");
    loading_of(pair, "s.sql", &["--resume"])
        .code(4)
        .says(&["`a1`.`t` holds 1 rows, 2 were sent", "start again"]);
    killed_with(pair, "s.sql", "rows:");
    let done = loading_of(pair, "s.sql", &["--resume", "--json"]).ok();
    assert_eq!(done.summary()["rows"], 3, "rows that were there count");
}

fn loading_of(pair: &Pair, from: &str, more: &[&str]) -> Done {
    let tool = Tool::new(["load"])
        .arg(pair.path(from))
        .arg("--socket")
        .arg(pair.target().socket());
    tool.args(["--user", "root"])
        .args(more.iter().copied())
        .run()
}

both!(an_empty_script_is_no_dump);
fn an_empty_script_is_no_dump(pair: &Pair) {
    for text in ["", "\n\n", "-- nothing\n", "SET NAMES utf8mb4;\n"] {
        std::fs::write(pair.path("s.sql"), text).expect("written");
        loading_of(pair, "s.sql", &[])
            .code(5)
            .says(&["nothing to load"]);
        let tool = Tool::new(["load", "-", "--socket"]).arg(pair.target().socket());
        tool.args(["--user", "root"])
            .input(text)
            .run()
            .code(5)
            .says(&["nothing to load"]);
    }
}

both!(routine_bodies_as_mydumper_writes_them);
fn routine_bodies_as_mydumper_writes_them(pair: &Pair) {
    let directory = pair.path("m");
    std::fs::create_dir(&directory).expect("a directory");
    for (name, text) in [
        (
            "metadata",
            "Started dump at: 2026-01-01 00:00:00\nFinished dump at: 2026-01-01 00:00:01\n",
        ),
        ("a1-schema-create.sql", "CREATE DATABASE `a1`;\n"),
        (
            "a1.t-schema.sql",
            "/*!40101 SET NAMES binary*/;\nCREATE TABLE `t` (\n  `id` int NOT NULL,\n  PRIMARY KEY \
            (`id`)\n) ENGINE=InnoDB;\n",
        ),
        (
            "a1.t.sql",
            "/*!40101 SET NAMES binary*/;\nINSERT INTO `t` VALUES\n(1),\n(2);\n",
        ),
        (
            "a1-schema-post.sql",
            "SET sql_mode = '';\nCREATE PROCEDURE `purge`()\nBEGIN\n  DO 1; \n  DELETE FROM a1.t; \
            \nEND;\n",
        ),
    ] {
        std::fs::write(directory.join(name), text).expect("written");
    }
    loading_of(pair, "m", &[]).ok();
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM a1.t")
            .expect("rows"),
        "2"
    );
    pair.target()
        .client("CALL a1.purge()")
        .expect("the procedure is there");
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM a1.t")
            .expect("rows"),
        "0"
    );
}

both!(killed_when_everything_is_loaded);
fn killed_when_everything_is_loaded(pair: &Pair) {
    fill(pair);
    pair.dump("a", SMALL).ok();
    loading(pair, &["--threads", "1"])
        .env("PENSTOCK_KILL_AT", "all is loaded and compared#1")
        .run()
        .code(137);
    let done = loading(pair, &["--resume"])
        .run()
        .ok()
        .says(&["were already loaded", "equal:"]);
    assert!(!done.said().contains("throughput"), "{}", done.said());
    as_if_never_killed(pair, 0);
}

both!(the_journal_of_another_load_is_a_table_like_others);
fn the_journal_of_another_load_is_a_table_like_others(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE j1; CREATE TABLE j1.penstock_load_journal (id INT PRIMARY KEY); INSERT INTO j1.penstock_load_journal VALUES (7); \
        CREATE DATABASE j2; CREATE TABLE j2.t (id INT PRIMARY KEY); INSERT INTO j2.t VALUES (1)",
    );
    let dumped = pair.dump("a", &["--schemas", "j1,j2"]).ok();
    dumped.says(&[
        "`j1`.`penstock_load_journal` is the journal of a load that has not ended",
        "--resume",
    ]);
    pair.load("a", &[]).ok();
    let value = pair
        .target()
        .value("SELECT id FROM j1.penstock_load_journal");
    assert_eq!(value.expect("a row"), "7");
    pair.verify_against("a", pair.target()).ok();
    // In the only schema there is no room for that of this load.
    pair.load("a", &["--schemas", "j1"])
        .code(10)
        .says(&["the name of penstock's journal table"]);
}
