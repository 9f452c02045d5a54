//! Runs are shown and controlled from outside: limits change at once, a pause lets no rows pass,
//! however long it is, and a stop leaves nothing.

use crate::kit::binary::Running;
use crate::kit::proxied::{dumping, filled, proxy};
use crate::kit::waiting::{found, until};
use crate::kit::{Done, Pair, Tool, both, each_kind, own_server};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::proxy::Proxy;
use testkit::{Kind, Server};

/// Runs a command that controls runs, with the test's state directory.
fn control(state: &Path, args: &[&str]) -> Done {
    Tool::new(args.iter().copied())
        .env("PENSTOCK_STATE", state)
        .run()
}

/// The runs in `penstock status --json`.
fn runs(state: &Path) -> Vec<serde_json::Value> {
    let said = control(state, &["status", "--json"]).ok().json();
    said[0]["runs"].as_array().expect("a list").clone()
}

/// Waits until that many runs move rows; returns their process ids.
#[track_caller]
fn until_rows_move(state: &Path, n: usize) -> Vec<u64> {
    found(&format!("{n} runs that move rows"), || {
        let list = runs(state);
        let until_rows_move = list.iter().filter(|r| {
            r["phase"].as_str().is_some_and(|p| p.ends_with("ing rows"))
                && r["passed"].as_u64() > Some(100_000)
        });
        let pids: Vec<u64> = until_rows_move
            .map(|r| r["pid"].as_u64().expect("a number"))
            .collect();
        Some(pids).filter(|p| p.len() == n)
    })
}

/// No sockets are left in the directory where runs listen.
#[track_caller]
fn no_sockets_left(state: &Path) {
    let left: Vec<PathBuf> = std::fs::read_dir(state.join("run"))
        .expect("a directory")
        .map(|e| e.expect("an entry").path())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Waits until no rows pass: at most 30 kB in a second and a half, which the run's own queries of
/// status counters account for.
#[track_caller]
fn until_no_rows_pass(proxy: &Proxy) {
    let window = Duration::from_millis(1500);
    let from = proxy.now() + window;
    until("no rows pass", || {
        proxy.now() >= from && proxy.to_client().last(proxy.now(), window) <= 30_000
    });
}

both!(a_limit_that_is_changed_takes_effect_at_once);
fn a_limit_that_is_changed_takes_effect_at_once(pair: &Pair) {
    pair.fill(&filled(16));
    let (proxy, state) = (proxy(pair), pair.path("state"));
    // At this rate it would take five minutes; the test would give up before that.
    let run = dumping(
        pair,
        &proxy,
        "d",
        &["--max-rate", "50k", "--threads", "4", "--json"],
    )
    .start();
    until_rows_move(&state, 1);
    let mode = state
        .join("run")
        .metadata()
        .expect("a directory")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    let said = control(&state, &["status"]).ok().says(&[
        "into",
        "dumping rows",
        "max-rate=50 KiB/s max-rate-disk=none",
    ]);
    assert!(
        said.out.contains("waiting for") && said.out.contains("the rate limit of 50 KiB/s"),
        "{}",
        said.out
    );
    // Invalid settings change nothing.
    control(&state, &["set", "max-rate=none", "max-rate-disk=fast"])
        .code(2)
        .says(&["max-rate-disk: \"fast\" is not a rate"]);
    control(&state, &["set", "speed=1M"])
        .code(2)
        .says(&["\"speed\" cannot be set", "max-rate, max-rate-disk"]);
    control(&state, &["set", "rate"])
        .code(2)
        .says(&["is not NAME=VALUE"]);
    control(&state, &["set", "max-rate=8M", "max-rate=3M"])
        .code(2)
        .says(&["rate is set twice"]);
    assert_eq!(runs(&state)[0]["limits"]["max-rate"], "50 KiB/s");
    control(&state, &["set", "max-rate=none", "max-rate-disk=512M"])
        .ok()
        .says(&["max-rate=none max-rate-disk=512 MiB/s"]);
    let done = run
        .wait()
        .ok()
        .says(&["set: max-rate=none max-rate-disk=512M"]);
    assert_eq!(done.summary()["rows"].as_u64(), Some(1 << 16));
    no_sockets_left(&state);
    pair.load("d", &[]).ok();
    pair.same_checksums();
}

both!(a_stop_is_clean);
fn a_stop_is_clean(pair: &Pair) {
    pair.fill(&filled(16));
    let (proxy, state) = (proxy(pair), pair.path("state"));
    for paused in [false, true] {
        let run = dumping(pair, &proxy, "d", &["--max-rate", "50k", "--threads", "4"]).start();
        until_rows_move(&state, 1);
        if paused {
            control(&state, &["pause"]).ok().says(&["paused"]);
        }
        control(&state, &["stop"]).ok().says(&["has ended"]);
        run.wait().code(9).says(&["stopped on request"]);
        no_sockets_left(&state);
        assert!(!pair.path("d").exists(), "the dump made it, and removes it");
        let script = b"SET lock_wait_timeout = 5; ALTER TABLE w.t COMMENT 'free';";
        pair.source().script(script).expect("no lock is left");
    }
    control(&state, &["stop"])
        .code(2)
        .says(&["no dump, load or verification of this user is running"]);
    control(&state, &["status"])
        .ok()
        .says(&["no dump, load or verification of this user is running"]);
}

both!(one_of_several_runs_is_named_by_its_process);
fn one_of_several_runs_is_named_by_its_process(pair: &Pair) {
    pair.fill(&filled(14));
    let (proxy, state) = (proxy(pair), pair.path("state"));
    let start = |name| dumping(pair, &proxy, name, &["--max-rate", "20k"]).start();
    let (a, b) = (start("a"), start("b"));
    let pids = until_rows_move(&state, 2);
    assert_eq!(pids.len(), 2);
    let (first, second) = (a.pid().to_string(), b.pid().to_string());
    let refused = control(&state, &["pause"])
        .code(2)
        .says(&["2 are running", "--pid"]);
    assert!(
        refused.err.contains(&first) && refused.err.contains(&second),
        "{}",
        refused.err
    );
    control(&state, &["set", "max-rate=1M", "--pid", "1"])
        .code(2)
        .says(&["process 1", &first]);
    control(&state, &["pause", "--pid", &first]).ok();
    let list = runs(&state);
    for run in &list {
        assert_eq!(
            run["paused"],
            run["pid"].as_u64() == Some(u64::from(a.pid())),
            "{list:?}"
        );
    }
    // A run that does not answer is still listed, and the other one is not controlled in its place.
    a.signal(rustix::process::Signal::STOP);
    let silent = format!("process {first}: does not answer");
    control(&state, &["status"]).ok().says(&[&silent, &second]);
    control(&state, &["stop"])
        .code(2)
        .says(&["2 are running", &silent, "--pid"]);
    a.signal(rustix::process::Signal::CONT);
    // The socket of a killed run: removed by the next command that finds it.
    a.signal(rustix::process::Signal::KILL);
    a.wait().code(137);
    assert_eq!(runs(&state).len(), 1);
    b.signal(rustix::process::Signal::STOP);
    control(&state, &["stop"]).code(1).says(&[
        &format!("process {second} runs and does not answer"),
        "kill -CONT",
    ]);
    b.signal(rustix::process::Signal::CONT);
    control(&state, &["set", "max-rate=none"]).ok();
    b.wait().ok();
    no_sockets_left(&state);
}

both!(a_load_is_controlled_too);
fn a_load_is_controlled_too(pair: &Pair) {
    pair.fill(&filled(14));
    pair.dump("d", &["--chunk-size", "1M"]).ok();
    let state = pair.path("state");
    let run = Tool::new(["load"])
        .arg(pair.path("d"))
        .arg("--socket")
        .arg(pair.target().socket())
        .args(["--user", "root", "--threads", "2", "--max-rate", "50k"])
        .env("PENSTOCK_STATE", &state)
        .start();
    until_rows_move(&state, 1);
    control(&state, &["pause"]).ok().says(&[
        "load of",
        "paused",
        "resume (paused by the operator)",
    ]);
    // Rows in flight still pass, then none do.
    let passed = || runs(&state)[0]["passed"].as_u64();
    let mut passed_before = None;
    until("nothing passes any more", || {
        let before = std::mem::replace(&mut passed_before, passed());
        std::thread::sleep(Duration::from_millis(500));
        before == passed()
    });
    control(&state, &["set", "max-rate=none"]).ok();
    assert_eq!(
        passed(),
        passed_before,
        "a pause is not ended by another rate"
    );
    control(&state, &["resume"]).ok();
    run.wait().ok().says(&[
        "paused by the operator",
        "resumed by the operator",
        "equal:",
    ]);
    pair.same_checksums();
}

each_kind!(a_pause_outlasts_timeouts; mysql, mariadb);
/// A pause longer than every timeout of the server, then resumed.
fn a_pause_outlasts_timeouts(kind: Kind) {
    let limit = match kind {
        Kind::MySql => "SET GLOBAL max_execution_time = 1000;",
        _ => "SET GLOBAL max_statement_time = 1;",
    };
    let args = [
        "--wait-timeout=2",
        "--interactive-timeout=2",
        "--net-write-timeout=2",
        "--net-read-timeout=2",
    ];
    let Some(server) = own_server(kind, &args) else {
        return;
    };
    let fill = filled(15) + "CREATE SCHEMA kept; CREATE TABLE kept.t LIKE w.t;\n" + limit;
    server.script(fill.as_bytes()).expect("rows");
    let directory = tempfile::tempdir().expect("a directory");
    let (state, to) = (directory.path().join("state"), directory.path().join("d"));
    let proxy = Proxy::unix(
        &directory.path().join("proxy.sock"),
        &server.options().endpoint,
    )
    .expect("a proxy");
    let start = || -> Running {
        Tool::new(["dump", "--socket"])
            .arg(proxy.socket())
            .args([
                "--user",
                "root",
                "--chunk-size",
                "256k",
                "--max-rate",
                "100k",
                "--threads",
                "4",
                "--schemas",
                "w",
                "--to",
            ])
            .arg(&to)
            .env("PENSTOCK_STATE", &state)
            .start()
    };
    let run = start();
    until_rows_move(&state, 1);
    control(&state, &["pause"]).ok();
    until_no_rows_pass(&proxy);
    // Rows deleted and inserted again meanwhile are not part of the snapshot.
    change(&server);
    std::thread::sleep(Duration::from_secs(6));
    control(&state, &["set", "max-rate=none"]).ok();
    control(&state, &["resume"]).ok();
    run.wait().ok();
    undo(&server);
    let verify = Tool::new(["verify"])
        .arg(&to)
        .arg("--socket")
        .arg(server.socket())
        .args(["--user", "root"]);
    verify.run().ok().says(&["Equal"]);
}

fn change(server: &Server) {
    server
        .script(
            b"INSERT INTO kept.t SELECT * FROM w.t WHERE id % 7 = 0; \
            DELETE FROM w.t WHERE id % 7 = 0;",
        )
        .expect("a change");
}

fn undo(server: &Server) {
    server
        .script(b"INSERT INTO w.t SELECT * FROM kept.t;")
        .expect("rows put back");
}
