//! `warm check`: queries out of lists, logs and performance_schema, replayed on one server and on two.

use super::scene::{HOT, Scene};
use crate::kit::{Tool, both};
use serde_json::Value;
use std::path::PathBuf;
use testkit::Kind;

/// What a log has besides the hot queries: nothing of it may be replayed.
const OTHERS: [&str; 6] = [
    "INSERT INTO digits VALUES (10)",
    "DELETE FROM digits WHERE n = 10",
    "SELECT * FROM digits FOR UPDATE",
    "SELECT SLEEP(0) FROM digits",
    "SELECT n INTO @n FROM digits WHERE n = 1",
    "SELECT COUNT(*) FROM information_schema.SCHEMATA",
];

fn check(scene: &Scene, args: &[&str], new: Option<&Scene>) -> Tool {
    let tool = Tool::new(["warm", "check", "--no-defaults", "--json"])
        .args(args.iter().copied())
        .arg(scene.server.uri());
    match new {
        Some(new) => tool.arg(new.server.uri()),
        None => tool,
    }
}

fn pages(summary: &Value, side: usize) -> u64 {
    summary["servers"][side]["pages_read"]
        .as_u64()
        .expect("pages")
}

/// A list of queries in the scene's directory.
fn listed(scene: &Scene, name: &str, queries: &[&str]) -> PathBuf {
    let path = scene.directory.path().join(name);
    std::fs::write(&path, format!("{};\n", queries.join(";\n"))).expect("a file");
    path
}

both!(queries_read_more_on_a_cold_server; Scene::new);
fn queries_read_more_on_a_cold_server(scene: &mut Scene) {
    let other = match scene.server.kind() {
        Kind::MySql => Kind::MariaDb,
        _ => Kind::MySql,
    };
    let Some(mut new) = Scene::new(other) else {
        return;
    };
    scene.chill();
    HOT.iter().for_each(|sql| drop(scene.ask(sql)));
    new.chill();
    let list = listed(scene, "list.sql", &HOT);
    let list = list.to_str().expect("a path");
    let args = ["--queries", list, "--schema", "odd`s"];
    let cold = check(scene, &args, Some(&new)).run().ok().summary();
    assert_eq!(cold["queries"], HOT.len(), "{cold}");
    assert_eq!(pages(&cold, 0), 0, "{cold}");
    assert!(pages(&cold, 1) > 100, "{cold}");
    assert!(cold["ratio"].as_f64() > Some(0.0), "{cold}");
    let statements = cold["statements"].as_array().expect("statements");
    assert_eq!(statements.len(), HOT.len(), "{cold}");
    // Values are not shown.
    let text = cold.to_string();
    assert!(text.contains("WHERE s BETWEEN ? AND ?"), "{text}");
    assert!(!text.contains("12000") && !text.contains("gïon"), "{text}");
    // A record, and a page of it.
    new.chill();
    let path = |name: &str| scene.directory.path().join(name);
    let (record, page) = (path("r.json"), path("r.html"));
    let recorded = check(scene, &args, Some(&new)).arg("--record").arg(&record);
    recorded.run().ok();
    let report = Tool::new(["report", "--to"]).arg(&page).arg(&record);
    report.run().ok();
    let read = |path| std::fs::read_to_string(path).expect("a file");
    assert!(read(&page).contains("warm check"));
    let record: Value = serde_json::from_str(&read(&record)).expect("JSON");
    let mut sections = record["sections"].as_array().expect("sections").iter();
    let reads = "Disk reads while the queries were replayed";
    assert!(sections.any(|s| s["title"] == reads), "{record}");
    // Warm by now.
    let warm = check(scene, &args, Some(&new)).run().ok().summary();
    assert_eq!((pages(&warm, 0), pages(&warm, 1)), (0, 0), "{warm}");
    // A sample of it, on one server.
    let some = check(scene, &args, None)
        .args(["--most", "4"])
        .run()
        .ok()
        .summary();
    assert_eq!(
        (&some["queries"], &some["queries_seen"]),
        (&4.into(), &HOT.len().into())
    );
    // What a server does not have is named.
    new.ask("DROP TABLE parts");
    let done = check(scene, &args, Some(&new)).run().code(3);
    let summary = done.summary();
    assert_eq!(summary["queries"], HOT.len() - 1, "{summary}");
    let refused = summary["exceptions"].to_string();
    assert!(
        refused.contains("parts") && refused.contains("WHERE id BETWEEN ? AND ?"),
        "{refused}"
    );
    // One server under two names.
    let same = check(scene, &args, None)
        .arg(scene.server.uri())
        .run()
        .code(10);
    same.says(&["lead to the same server"]);
}

both!(only_what_has_no_effect_is_replayed; Scene::new);
fn only_what_has_no_effect_is_replayed(scene: &mut Scene) {
    // First, because a server remembers the queries of the others.
    logs_of_a_server_are_replayed(scene);
    a_list_with_an_effect_is_refused(scene);
}

fn a_list_with_an_effect_is_refused(scene: &mut Scene) {
    let before = scene.ask("SELECT COUNT(*) FROM digits");
    for (n, sql) in OTHERS.iter().enumerate() {
        let list = listed(scene, &format!("{n}.sql"), &[HOT[0], sql]);
        let args = [
            "--queries",
            list.to_str().expect("a path"),
            "--schema",
            "odd`s",
        ];
        let done = check(scene, &args, None).run().code(2);
        done.says(&["line 2: not replayed", "nothing was sent to a server"]);
    }
    assert_eq!(scene.ask("SELECT COUNT(*) FROM digits"), before);
    // What the text does not show, the session refuses.
    scene.ask(
        "CREATE FUNCTION writes() RETURNS INT DETERMINISTIC BEGIN INSERT INTO digits VALUES (11); RETURN 1; END",
    );
    scene.ask("CREATE VIEW harmless AS SELECT writes() AS a FROM digits");
    let list = listed(scene, "view.sql", &["SELECT a FROM harmless"]);
    let args = [
        "--queries",
        list.to_str().expect("a path"),
        "--schema",
        "odd`s",
    ];
    let done = check(scene, &args, None).run().code(3);
    assert!(
        done.summary()["exceptions"]
            .to_string()
            .contains("READ ONLY"),
        "{}",
        done.said()
    );
    assert_eq!(scene.ask("SELECT COUNT(*) FROM digits"), before);
    // A query that takes too long is ended.
    let tables: Vec<String> = (0..9).map(|n| format!("digits d{n}")).collect();
    let long = format!("SELECT SUM(d0.n * d8.n + d3.n) FROM {}", tables.join(", "));
    let list = listed(scene, "long.sql", &[&long]);
    let args = [
        "--queries",
        list.to_str().expect("a path"),
        "--schema",
        "odd`s",
    ];
    let done = check(scene, &args, None)
        .args(["--query-timeout", "200ms"])
        .run();
    assert_eq!(done.code(3).summary()["queries"], 0);
}

fn logs_of_a_server_are_replayed(scene: &mut Scene) {
    let path = |name: &str| scene.directory.path().join(name).display().to_string();
    let (slow, general) = (path("slow.log"), path("general.log"));
    let mut conn = scene.server.conn().expect("a connection");
    let mut run = |sql: &str| {
        conn.fetch(sql).expect(sql);
    };
    run(&format!("SET GLOBAL slow_query_log_file = '{slow}'"));
    run(&format!("SET GLOBAL general_log_file = '{general}'"));
    run("SET GLOBAL slow_query_log = ON");
    run("SET GLOBAL general_log = ON");
    // On MariaDB a session begins with what is set then.
    let mut conn = scene.server.conn().expect("a connection");
    let mut run = |sql: &str| {
        conn.fetch(sql).expect(sql);
    };
    run("SET SESSION long_query_time = 0");
    run("USE `odd``s`");
    for sql in HOT.iter().chain(&OTHERS) {
        run(sql);
    }
    run("SET GLOBAL slow_query_log = OFF");
    run("SET GLOBAL general_log = OFF");
    for (option, log) in [("--slow-log", &slow), ("--general-log", &general)] {
        let summary = check(scene, &[option, log], None).run().ok().summary();
        assert_eq!(summary["queries"], HOT.len(), "{option}: {summary}");
        let left_out = &summary["left_out"];
        for why in [
            "no SELECT",
            "locks rows",
            "SELECT … INTO",
            "calls SLEEP(), which may have an effect",
            "reads tables of the server itself",
        ] {
            assert!(left_out[why].as_u64() >= Some(1), "{option}: {summary}");
        }
    }
    // What a server remembers by itself.
    let done = check(scene, &["--samples"], None).run();
    match scene.server.kind() {
        Kind::MySql => {
            let summary = done.ok().summary();
            assert!(summary["queries"].as_u64() >= Some(5), "{summary}");
        }
        _ => drop(done.code(10).says(&["performance_schema is off"])),
    }
}
