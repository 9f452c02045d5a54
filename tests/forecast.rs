//! Forecasts: `--dry-run` says how long a run will take and from what, the run says how far off that was, and the next
//! forecast is made from it. No figure is asserted: how long anything takes here is not known.

use crate::kit::{Done, Pair, Tool, both};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

const SCHEMA: &str = "CREATE DATABASE fc; CREATE TABLE fc.t (id INT PRIMARY KEY, v VARCHAR(200), KEY (v)); \
    CREATE VIEW fc.w AS SELECT * FROM fc.t; ";

fn fill(pair: &Pair) {
    let rows = "INSERT INTO fc.t SELECT n, REPEAT(CONCAT(n, ' '), 10) FROM {COUNT} WHERE n < 3000; ANALYZE TABLE fc.t";
    pair.fill(&format!("{SCHEMA}{}", crate::kit::fixtures::script(rows)));
}

/// Where the history of a test is.
fn history(pair: &Pair) -> PathBuf {
    pair.path("state/forecast/history.jsonl")
}

fn dump(pair: &Pair, name: &str, more: &[&str]) -> Done {
    let tool = pair.dumping(name, &[&["--json"], more].concat());
    tool.env("PENSTOCK_STATE", pair.path("state")).run()
}

fn load(pair: &Pair, more: &[&str]) -> Done {
    Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("--socket")
        .arg(pair.target().socket())
        .args(["--user", "root", "--threads", "2"])
        .args(more.iter().copied())
        .env("PENSTOCK_STATE", pair.path("state"))
        .run()
}

fn empty(pair: &Pair) {
    let drop = b"DROP DATABASE fc";
    pair.target().script(drop).expect("an empty target");
}

/// The forecast in a summary.
#[track_caller]
fn of(done: &Done) -> Value {
    let forecast = done.summary()["forecast"].clone();
    let number = |key: &str| forecast[key].as_f64().unwrap_or(-1.0);
    assert!(number("low") > 0.0, "{forecast}");
    assert!(number("low") < number("seconds"), "{forecast}");
    assert!(number("seconds") < number("high"), "{forecast}");
    forecast
}

/// The runs in the history.
fn runs(pair: &Pair) -> usize {
    let text = fs::read_to_string(history(pair)).unwrap_or_default();
    text.lines().filter(|l| l.contains("\"run\":{")).count()
}

both!(a_dump_is_forecast_judged_and_learned_from);
fn a_dump_is_forecast_judged_and_learned_from(pair: &Pair) {
    fill(pair);
    let before = of(&dump(pair, "a", &["--dry-run"]).ok());
    assert_eq!(before["runs"], 0, "{before}");
    assert!(
        before["stages"]["dump_rows"].as_f64() > Some(0.0),
        "{before}"
    );
    assert!(before["archive_bytes"].as_u64() > Some(0), "{before}");
    assert_eq!(runs(pair), 0);
    // The run is compared with what was known before it.
    let record = pair.path("r.json");
    let recorded = ["--record", record.to_str().expect("a path")];
    let done = of(&dump(pair, "a", &recorded).ok());
    assert_eq!(done["runs"], 0, "{done}");
    assert_eq!(done["learned"], true, "{done}");
    let (seconds, took, error) = (&done["seconds"], &done["took"], &done["error"]);
    let share = took.as_f64().expect("took") / seconds.as_f64().expect("seconds") - 1.0;
    assert!(
        (share - error.as_f64().expect("an error")).abs() < 0.1,
        "{done}"
    );
    let record = fs::read_to_string(record).expect("a record");
    assert!(record.contains("from built-in rates; took "), "{record}");
    assert_eq!(runs(pair), 1);
    // The next forecast is made from it.
    let after = of(&dump(pair, "b", &["--dry-run"]).ok());
    assert_eq!(after["runs"], 1, "{after}");
    let width = |f: &Value| {
        f["high"]
            .as_f64()
            .zip(f["low"].as_f64())
            .map(|(h, l)| h / l)
    };
    assert!(width(&after) < width(&before), "{after}");
    let said = pair
        .dumping("b", &["--dry-run"])
        .env("PENSTOCK_STATE", pair.path("state"));
    said.run().ok().says(&[
        "forecast ",
        "about ",
        "forecast from",
        "1 earlier run here",
        "archive size",
    ]);
    // Nothing that it keeps says what was dumped, or from where.
    let kept = fs::read_to_string(history(pair)).expect("a history");
    let home = pair.path("");
    for name in ["fc", "root", "sock", home.to_str().expect("a path")] {
        let quoted = format!("\"{name}");
        assert!(!kept.contains(&quoted), "{name}: {kept}");
    }
    // Nothing is used and nothing kept if that is wanted.
    let none = of(&dump(pair, "b", &["--no-history"]).ok());
    assert_eq!(
        (&none["runs"], &none["learned"]),
        (&0.into(), &false.into())
    );
    assert_eq!(runs(pair), 1);
}

both!(a_load_is_forecast_by_each_import_mode);
fn a_load_is_forecast_by_each_import_mode(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    let found = load(pair, &["--dry-run", "--json"]).ok();
    let before = of(&found);
    let modes = &before["by_import_mode"];
    assert_eq!(before["runs"], 0, "{before}");
    assert!(modes["sql"]["stages"]["load_rows"].as_f64() > Some(0.0));
    // The target of this test writes a binary log, which tablespaces cannot get into.
    let because = |mode: &str, options: &[&str]| {
        let options = [&["--dry-run", "--json"][..], options].concat();
        let modes = of(&load(pair, &options).ok())["by_import_mode"].clone();
        modes[mode]["not_possible"].as_str().map(str::to_owned)
    };
    for mode in ["tablespace", "offline"] {
        let why = because(mode, &[]).expect("a reason");
        assert!(why.contains("binary log"), "{mode}: {why}");
    }
    assert_eq!(because("tablespace", &["--skip-binlog"]), None);
    let why = because("offline", &["--skip-binlog"]).expect("a reason");
    assert!(why.contains("--server-command"), "{why}");
    let done = of(&load(pair, &["--json"]).ok());
    assert_eq!((&done["runs"], &done["learned"]), (&0.into(), &true.into()));
    assert_eq!(runs(pair), 1);
    empty(pair);
    let after = of(&load(pair, &["--dry-run", "--json"]).ok());
    assert_eq!(after["runs"], 1, "{after}");
    load(pair, &["--dry-run"])
        .ok()
        .says(&["by import mode", "sql: about ", "1 earlier run here"]);
    // With tablespaces, and after those without a guess of theirs.
    let built = ["--import-mode", "tablespace", "--skip-binlog", "--json"];
    let foreseen = of(&load(pair, &[&built[..], &["--dry-run"]].concat()).ok());
    let stage = |f: &Value| f["stages"]["tablespaces"].as_f64();
    assert!(stage(&foreseen) > Some(0.0), "{foreseen}");
    let done = load(pair, &built).ok();
    let import = done.summary()["import"]["tables"].clone();
    assert_eq!(import[0], "`fc`.`t`", "{import}");
    assert_eq!(of(&done)["learned"], true);
    empty(pair);
    let again = of(&load(pair, &[&built[..], &["--dry-run"]].concat()).ok());
    assert!(
        stage(&again).is_some() && stage(&again) != stage(&foreseen),
        "{again}"
    );
}

both!(what_was_held_back_or_continued_does_not_teach);
fn what_was_held_back_or_continued_does_not_teach(pair: &Pair) {
    fill(pair);
    for (n, (limit, says)) in [
        (["--max-rate", "500M"], "a rate limit held it back"),
        (["--max-rate-disk", "500M"], "a rate limit held it back"),
        (["--max-impact", "50%"], "its impact"),
    ]
    .into_iter()
    .enumerate()
    {
        let done = of(&dump(pair, &format!("limited{n}"), &limit).ok());
        assert_eq!(done["learned"], false, "{done}");
        let why = done["not_learned"].as_str().expect("a reason");
        assert!(why.contains(says), "{why}");
    }
    assert_eq!(runs(pair), 0);
    let limited = of(&dump(pair, "a", &["--dry-run", "--max-rate", "20k"]).ok());
    assert_eq!(limited["limited_by"], "--max-rate", "{limited}");
    // A load that is continued.
    pair.dump("a", &[]).ok();
    let killed = Tool::new(["load"]).arg(pair.path("a")).arg("--socket");
    let killed = killed.arg(pair.target().socket()).args(["--user", "root"]);
    killed
        .env("PENSTOCK_STATE", pair.path("state"))
        .env("PENSTOCK_KILL_AT", "a table is created#1")
        .run()
        .code(137);
    assert_eq!(runs(pair), 0);
    let done = load(pair, &["--resume", "--json"]).ok();
    assert!(done.summary()["forecast"].is_null());
    assert_eq!(runs(pair), 0);
}

both!(a_history_that_cannot_be_used_fails_nothing);
fn a_history_that_cannot_be_used_fails_nothing(pair: &Pair) {
    fill(pair);
    // No directory can be made there.
    let nowhere = pair.dumping("a", &["--json"]);
    let done = of(&nowhere.env("PENSTOCK_STATE", "/dev/null/x").run().ok());
    assert_eq!(done["learned"], false, "{done}");
    assert!(
        done["not_learned"]
            .as_str()
            .is_some_and(|why| why.contains("/dev/null/x"))
    );
    let homeless = pair.dumping("b", &["--json"]).env("HOME", "/nonexistent");
    let done = of(&homeless.run().ok());
    assert_eq!(done["learned"], false, "{done}");
    // A directory in its place, then lines of something else.
    fs::create_dir_all(history(pair)).expect("a directory");
    let done = of(&dump(pair, "c", &[]).ok());
    assert_eq!(done["learned"], false, "{done}");
    fs::remove_dir(history(pair)).expect("removed");
    fs::write(history(pair), b"not\nlines {\"at\":\n\xff\xfe\0").expect("written");
    let done = of(&dump(pair, "d", &[]).ok());
    assert_eq!((&done["runs"], &done["learned"]), (&0.into(), &true.into()));
    let next = of(&dump(pair, "e", &["--dry-run"]).ok());
    assert_eq!(next["runs"], 1, "{next}");
}

both!(a_backup_is_judged_and_a_restore_forecast);
fn a_backup_is_judged_and_a_restore_forecast(pair: &Pair) {
    fill(pair);
    let repository = pair.path("repository");
    let on = |words: &[&str]| {
        let tool = Tool::new(words.iter().copied());
        tool.env("PENSTOCK_STATE", pair.path("state"))
            .arg("--repository")
            .arg(&repository)
    };
    Tool::new(["init"]).arg(&repository).run().ok();
    let backup = || {
        on(&["backup", "shop", "--user", "root", "--json"])
            .arg("--socket")
            .arg(pair.source().socket())
            .run()
            .ok()
    };
    let first = of(&backup());
    assert_eq!(
        (&first["runs"], &first["learned"]),
        (&0.into(), &true.into())
    );
    // A backup is a dump, and each teaches the other.
    let second = of(&backup());
    assert_eq!(second["runs"], 1, "{second}");
    let restore = |more: &[&str]| {
        on(&["restore", "--json", "--into", &pair.target().uri()])
            .args(more.iter().copied())
            .run()
            .ok()
    };
    let foreseen = of(&restore(&["--dry-run"]));
    assert_eq!(foreseen["runs"], 0, "{foreseen}");
    assert_eq!(of(&restore(&[]))["learned"], true);
    empty(pair);
    assert_eq!(of(&restore(&["--dry-run"]))["runs"], 1);
}

#[test]
fn a_history_is_for_what_is_forecast() {
    for (words, says) in [
        (
            &[
                "backup",
                "shop",
                "--repository",
                "/r",
                "-S",
                "/s",
                "--snapshot",
                "copy",
            ][..],
            "--no-history",
        ),
        (&["verify", "/nowhere"], "--no-history"),
    ] {
        let tool = Tool::new(words.iter().copied()).arg("--no-history");
        tool.run().code(2).says(&[says]);
    }
}
