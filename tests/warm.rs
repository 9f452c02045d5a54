//! The hot part of a buffer pool, carried to a server of the other flavour: its statements read nothing from disk there.

mod between;
mod check;
mod pages;
mod ramp;
mod scene;

use crate::kit::{Tool, both};
use rustix::process::Signal;
use scene::{COLD, HOT, Scene, lines, ranges};
use serde_json::Value;
use std::path::Path;
use testkit::Kind;

/// Reads what shall be hot on a cold server, and saves it.
fn heated(scene: &mut Scene) {
    scene.chill();
    for sql in HOT {
        assert!(scene.reads_of(sql) > 0, "{sql}");
    }
}

/// The first integer of a bound; the ends of an index have none.
fn integer(bound: &Value, open: i64) -> i64 {
    bound[0]
        .as_str()
        .map_or(open, |v| v.parse().expect("an integer"))
}

both!(what_is_hot_here_is_hot_there; Scene::new);
fn what_is_hot_here_is_hot_there(scene: &mut Scene) {
    let kind = scene.server.kind();
    let other = match kind {
        Kind::MySql => Kind::MariaDb,
        _ => Kind::MySql,
    };
    let Some(mut target) = Scene::new(other) else {
        return;
    };
    heated(scene);
    let before = scene.settings();
    let done = scene.save().arg("--json").run().code(3);
    assert_eq!(scene.settings(), before);
    let summary = done.summary();
    let pages = &summary["pages"];
    assert!(pages["placed"].as_u64() > Some(100), "{summary}");
    assert!(pages["off_page"].as_u64() > Some(50), "{summary}");
    // Its rows have no key: what it has in memory, a page at least, is said to be left out.
    done.says(&["no_key"]);
    let all = lines(&scene.file());
    // The ranges lie around what was read, and nothing else is in them but the first leaf, of opening the table.
    let of_rows = ranges(&all, "tab`le", "PRIMARY");
    let around: Vec<(i64, i64)> = (of_rows.iter())
        .map(|(from, to)| (integer(from, -20_000), integer(to, 20_000)))
        .filter(|(from, _)| *from > -20_000)
        .collect();
    assert!(!around.is_empty(), "{of_rows:?}");
    let first = around.iter().map(|r| r.0).min().expect("a range");
    let last = around.iter().map(|r| r.1).max().expect("a range");
    assert!((-12_200..=-12_000).contains(&first), "{around:?}");
    assert!((-10_000..=-9_000).contains(&last), "{around:?}");
    let of_nulls = ranges(&all, "tab`le", "s");
    assert!(
        of_nulls
            .iter()
            .any(|(from, _)| from[0].is_null() && from[1].is_string()),
        "{of_nulls:?}"
    );

    target.chill();
    for sql in COLD.iter().chain(&HOT) {
        assert!(target.reads_of(sql) > 0, "{sql}");
    }
    target.chill();
    let loaded = target
        .load(&scene.file())
        .arg("--json")
        .run()
        .ok()
        .summary();
    assert_eq!(loaded["twice"], false, "{loaded}");
    let misses: Vec<(&str, u64)> = (HOT.iter())
        .map(|sql| (*sql, target.reads_of(sql)))
        .filter(|(_, reads)| *reads > 0)
        .collect();
    assert!(misses.is_empty(), "{misses:#?}");
    // Nor is everything in memory.
    for sql in COLD {
        assert!(target.reads_of(sql) > 0, "{sql}");
    }
    // Into a full pool: by a second reading, or by a setting that is put back.
    for (more, twice) in [(&[][..], true), (&["--one-reading"][..], false)] {
        target.fill();
        let loaded = target.load(&scene.file()).args(more).arg("--json");
        assert_eq!(loaded.run().ok().summary()["twice"], twice);
        let misses: u64 = HOT.iter().map(|sql| target.reads_of(sql)).sum();
        assert_eq!(misses, 0, "{more:?}");
    }
    let time = target.ask("SELECT @@GLOBAL.innodb_old_blocks_time");
    assert_eq!(time, "1000");
}

both!(what_is_missing_is_named; Scene::new);
fn what_is_missing_is_named(scene: &mut Scene) {
    heated(scene);
    scene.save().run().code(3);
    // A stop leaves warm what was read.
    let run = scene.load(&scene.file()).args(["--max-rate", "1k"]).start();
    run.until_it_says("ranges");
    run.signal(Signal::INT);
    run.wait().code(9).says(&["what was read stays in memory"]);
    for sql in [
        "DROP TABLE parts",
        "ALTER TABLE composite DROP KEY code",
        "ALTER TABLE `tab``le` DROP KEY s, ADD KEY s (name)",
        "ALTER TABLE longs MODIFY id VARCHAR(20) NOT NULL",
    ] {
        scene.ask(sql);
    }
    let done = scene.load(&scene.file()).run().code(3);
    done.says(&[
        "`odd``s`.`parts` partition p`1, index PRIMARY: there is no such table",
        "`odd``s`.`composite`, index code: there is no such index",
        "`odd``s`.`tab``le`, index s: its columns were s, and are others now",
        "`odd``s`.`longs`, index PRIMARY: column id was bigint, and is varchar now",
    ]);
    // A selection is kept to; a file without any of it is refused.
    let only = ["--include-tables", "odd`s.digits"];
    let none = scene.load(&scene.file()).args(only).run();
    assert_ne!(none.code, 0, "{}", none.said());
}

both!(a_killed_save_leaves_a_journal; Scene::new);
fn a_killed_save_leaves_a_journal(scene: &mut Scene) {
    let before = scene.settings();
    let run = scene
        .save()
        .env("PENSTOCK_KILL_AT", "settings of a list are made#1");
    run.run().code(137);
    assert_ne!(scene.settings(), before);
    let doctor = ["doctor", "--no-defaults", "--revert"];
    let doctor = scene.tool(Tool::new(doctor).arg(scene.server.uri()));
    doctor.run().ok().says(&["innodb_buffer_pool_dump_pct"]);
    assert_eq!(scene.settings(), before);
    // Nothing of ours stays in the data directory.
    let left = scene.server.datadir().join("ib_buffer_pool.penstock");
    scene.save().run();
    assert!(!left.exists());
    assert_eq!(scene.settings(), before);
}

#[test]
fn what_is_no_file_of_ranges_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("x");
    std::fs::write(&file, "hello").expect("a file");
    let status = |file: &Path| Tool::new(["warm", "status"]).arg(file).run();
    status(&file).code(5).says(&["no file of hot ranges"]);
    status(&directory.path().join("none"))
        .code(5)
        .says(&["cannot read"]);
}

#[test]
fn files_of_mariadb118_are_read() {
    let Some(mut scene) = Scene::new(Kind::MariaDb118) else {
        return;
    };
    heated(&mut scene);
    scene.save().run().code(3).says(&["no_key"]);
    let all = lines(&scene.file());
    for (table, index) in [
        ("tab`le", "PRIMARY"),
        ("tab`le", "s"),
        ("tab`le", "down"),
        ("composite", "PRIMARY"),
        ("composite", "price"),
        ("longs", "PRIMARY"),
    ] {
        let found = ranges(&all, table, index);
        let is_inside = |(from, to): &(Value, Value)| !from.is_null() && !to.is_null();
        assert!(found.iter().any(is_inside), "{table}, {index}: {found:?}");
    }
    // A list that the server has written needs no setting.
    let list = scene.server.datadir().join("ib_buffer_pool");
    let again = scene.directory.path().join("again");
    let args = ["warm", "save", "--no-defaults", "--list"];
    let again = Tool::new(args).arg(&list).arg("--to").arg(&again);
    scene.tool(again.arg(scene.server.uri())).run().code(3);
}
