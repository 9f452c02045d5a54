//! `warm ramp`: the operator's command is called as the server allows, and taken back when it does not.

use super::scene::Scene;
use crate::kit::waiting::until;
use crate::kit::{Tool, both};
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;

/// A command that writes down what it was called with.
fn hook(scene: &Scene) -> (String, PathBuf) {
    let log = scene.directory.path().join("calls");
    let _ = fs::remove_file(&log);
    (format!("echo $1 >> '{}'", log.display()), log)
}

fn calls(log: &PathBuf) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn ramp(scene: &Scene, hook: &str) -> Tool {
    let queries = scene.directory.path().join("sample.sql");
    fs::write(&queries, "SELECT COUNT(*) FROM digits;\n").expect("a file");
    let args = [
        "warm",
        "ramp",
        "--no-defaults",
        "--json",
        "--schema",
        "odd`s",
        "--interval",
        "50ms",
    ];
    let tool = Tool::new(args).args(["--steady", "150ms", "--query-timeout", "200ms"]);
    tool.arg("--queries")
        .arg(queries)
        .arg("--hook")
        .arg(hook)
        .arg(scene.server.uri())
}

both!(traffic_comes_step_by_step; Scene::new);
fn traffic_comes_step_by_step(scene: &mut Scene) {
    let (command, log) = hook(scene);
    let done = ramp(scene, &command)
        .args(["--max-latency", "30s"])
        .run()
        .ok();
    assert_eq!(calls(&log), ["10", "25", "50", "100"]);
    let summary = done.summary();
    assert_eq!(
        (&summary["last_step"], &summary["ended"]),
        (&100.into(), &"steady".into())
    );
    assert!(summary["latency_ms"].as_f64() > Some(0.0), "{summary}");

    // While a query is not answered, traffic goes back, and comes again after that.
    let (command, log) = hook(scene);
    // The first call with 50 waits until the table is locked.
    let locked = scene.directory.path().join("locked");
    let waits = format!(
        "while test $1 = 50 -a ! -e '{}'; do sleep 0.02; done",
        locked.display()
    );
    let running = ramp(scene, &format!("{command}; {waits}"))
        .args(["--max-latency", "30s"])
        .start();
    until("the third step", || calls(&log).len() >= 3);
    let mut conn = scene.server.conn().expect("a connection");
    conn.execute("USE `odd``s`").expect("a schema");
    conn.execute("LOCK TABLES digits WRITE").expect("a lock");
    fs::write(&locked, "").expect("a file");
    until("the first step again", || {
        let all = calls(&log);
        all.len() > 3 && all.last().is_some_and(|c| c == "10")
    });
    conn.execute("UNLOCK TABLES").expect("no lock");
    let summary = running.wait().ok().summary();
    let all = calls(&log);
    let tail = &all[all.len() - 4..];
    assert_eq!(tail, ["10", "25", "50", "100"], "{all:?}");
    assert!(
        summary["steps"].to_string().contains("was not answered"),
        "{summary}"
    );
}

both!(a_ramp_ends_where_it_is; Scene::new);
fn a_ramp_ends_where_it_is(scene: &mut Scene) {
    // Never within the limits.
    let (command, log) = hook(scene);
    let over = ["--max-latency", "0.001ms", "--give-up", "400ms"];
    let summary = ramp(scene, &command).args(over).run().code(12).summary();
    assert_eq!(
        (&summary["last_step"], &summary["ended"]),
        (&10.into(), &"limit".into())
    );
    assert_eq!(calls(&log), ["10"]);
    // The command fails, and its words are shown.
    let (command, log) = hook(scene);
    let command = format!("{command}; test $1 -lt 50 || {{ echo no backend >&2; exit 7; }}");
    let done = ramp(scene, &command)
        .args(["--max-latency", "30s"])
        .run()
        .code(1);
    let summary = done.summary();
    assert_eq!(
        (&summary["last_step"], &summary["ended"]),
        (&25.into(), &"hook".into())
    );
    let why = summary["hook_failed"].as_str().expect("a reason");
    assert!(
        why.contains("called with 50") && why.contains("no backend"),
        "{why}"
    );
    assert_eq!(calls(&log), ["10", "25", "50"]);
    // One that hangs is ended.
    let hangs =
        ramp(scene, "sleep 300; :").args(["--max-reads", "1000", "--hook-timeout", "100ms"]);
    let summary = hangs.run().code(1).summary();
    assert!(summary["last_step"].is_null(), "{summary}");
    // A stop.
    let (command, log) = hook(scene);
    let running = ramp(scene, &command)
        .args(["--max-latency", "0.001ms"])
        .start();
    until("the first step", || calls(&log).len() == 1);
    running.signal(Signal::INT);
    let summary = running.wait().code(9).summary();
    assert_eq!(
        (&summary["last_step"], &summary["ended"]),
        (&10.into(), &"stopped".into())
    );
    // What performance_schema counts is enough where it is on.
    let args = [
        "warm",
        "ramp",
        "--no-defaults",
        "--json",
        "--hook",
        "true",
        "--max-reads",
        "100000",
        "--interval",
        "20ms",
        "--steady",
        "20ms",
    ];
    let done = Tool::new(args).arg(scene.server.uri()).run();
    match scene.server.kind() {
        testkit::Kind::MySql => assert_eq!(done.ok().summary()["last_step"], 100),
        _ => drop(done.code(10).says(&["performance_schema is off"])),
    }
}
