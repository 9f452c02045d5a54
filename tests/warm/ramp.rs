//! `warm ramp`: the operator's command is called as the server allows, and taken back when it does not.

use super::scene::Scene;
use crate::kit::waiting::until;
use crate::kit::{Tool, both};
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

both!(the_hook_is_called_as_the_server_allows; Scene::new);
fn the_hook_is_called_as_the_server_allows(scene: &mut Scene) {
    traffic_comes_step_by_step(scene);
    a_ramp_ends_where_it_is(scene);
}

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
    // What the server counts is enough; of latencies only where it counts them.
    let counted = |limit: [&str; 2]| {
        let args = ["warm", "ramp", "--no-defaults", "--json", "--hook", "true"];
        let tool = Tool::new(args).args(["--interval", "20ms", "--steady", "20ms"]);
        tool.args(limit).arg(scene.server.uri())
    };
    let summary = counted(["--max-reads", "100000"]).run().ok().summary();
    assert_eq!(summary["last_step"], 100);
    if scene.server.kind() != testkit::Kind::MySql {
        let done = counted(["--max-latency", "30s"]).run().code(10);
        done.says(&["performance_schema is off"]);
    }
}

/// What docs/warm.md says for HAProxy.
const SHARE: &str = r#"#!/bin/sh
said=$(echo "set weight mysql/new $1; set weight mysql/old $((100 - $1))" | socat -t 5 stdio unix-connect:ADMIN) || exit
test -z "$said" || { echo "$said" >&2; exit 1; }
"#;

#[test]
fn the_example_for_haproxy_sets_weights() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() || !Path::new("/usr/bin/socat").exists() {
        testkit::skip("haproxy", "haproxy and socat are not installed");
        return;
    }
    let Some(scene) = Scene::new(testkit::Kind::MariaDb) else {
        return;
    };
    let path = |name: &str| scene.directory.path().join(name).display().to_string();
    let (admin, server) = (path("admin"), scene.server.socket());
    let server = server.display();
    let config = format!(
        "global\n    stats socket {admin} level admin\n\
         defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 1m\n    timeout server 1m\n\
         listen mysql\n    bind unix@{}\n    server old unix@{server} weight 100\n    server new unix@{server} weight 0\n",
        path("in")
    );
    fs::write(path("haproxy.cfg"), config).expect("a file");
    let mut proxy = Command::new(haproxy)
        .args(["-db", "-f", &path("haproxy.cfg")])
        .spawn()
        .expect("it starts");
    until("the admin socket", || Path::new(&admin).exists());
    fs::write(path("share.sh"), SHARE.replace("ADMIN", &admin)).expect("a file");
    let hook = format!("sh '{}'", path("share.sh"));
    let done = ramp(&scene, &hook).args(["--max-latency", "30s"]).run();
    let ask = format!(
        "echo 'get weight mysql/new; get weight mysql/old' | socat -t 5 stdio unix-connect:{admin}"
    );
    let weights = Command::new("sh").args(["-c", &ask]).output();
    // What it does not know is an error.
    fs::write(
        path("share.sh"),
        SHARE.replace("ADMIN", &admin).replace("/new", "/none"),
    )
    .expect("a file");
    let wrong = ramp(&scene, &hook).args(["--max-latency", "30s"]).run();
    let _ = proxy.kill();
    let _ = proxy.wait();
    assert_eq!(done.ok().summary()["last_step"], 100);
    let weights = weights.expect("weights").stdout;
    let weights = String::from_utf8_lossy(&weights).into_owned();
    let weights: Vec<&str> = weights.split_whitespace().collect();
    assert_eq!(weights, ["100", "(initial", "0)", "0", "(initial", "100)"]);
    assert_eq!(wrong.code(1).summary()["ended"], "hook");
}
