//! `penstock bench impact`: one command from an empty server to a table of results. However it
//! ends, nothing of it is left on the server or the disk.

use crate::kit::pair::schemas;
use crate::kit::waiting::until;
use crate::kit::{Pair, Tool, both};
use rustix::process::Signal;
use std::path::Path;
use testkit::Server;

fn impact(server: &Server, scratch: &Path) -> Tool {
    short(server).arg("--scratch").arg(scratch)
}

/// The same where no backup is taken, so that there is nothing to put anywhere.
fn alone(server: &Server) -> Tool {
    short(server).args(["--method", "alone"])
}

fn short(server: &Server) -> Tool {
    Tool::new(["bench", "impact", "--user", "root", "--socket"])
        .arg(server.socket())
        .args(["--warehouses", "1", "--connections", "2", "--ramp", "0s"])
        .args(["--alone", "1s", "--runs", "1"])
}

#[track_caller]
fn nothing_left(server: &Server, scratch: &Path) {
    assert_eq!(schemas(server), Vec::<String>::new());
    let left = std::fs::read_dir(scratch).expect("a directory").count();
    assert_eq!(left, 0, "{}", scratch.display());
}

both!(methods_are_compared_and_everything_is_removed);
fn methods_are_compared_and_everything_is_removed(pair: &Pair) {
    let (server, scratch, to) = (pair.source(), pair.path("scratch"), pair.path("impact"));
    std::fs::create_dir(&scratch).expect("a directory");
    let done = impact(server, &scratch)
        .args(["--measure", "1s", "--json"])
        .args([
            "--method",
            "alone",
            "--method",
            "penstock",
            "--method",
            "penstock --max-rate 20M",
            "--to",
        ])
        .arg(to.clone())
        .run()
        .ok();
    let summary = done.summary();
    let methods = summary["methods"].as_array().expect("methods");
    let names: Vec<_> = methods
        .iter()
        .filter_map(|m| m["method"].as_str())
        .collect();
    assert_eq!(names, ["alone", "penstock", "penstock --max-rate 20M"]);
    for m in methods {
        let tpmc = |key: &str| m[key][0].as_f64().expect("a figure");
        assert!(tpmc("tpmc_alone") > 0.0 && tpmc("tpmc_during") > 0.0, "{m}");
    }
    // The limited one takes its time: 78 MB at 20 MiB/s.
    assert!(
        methods[2]["backup_seconds"][0].as_f64() > Some(3.0),
        "{}",
        methods[2]
    );
    assert!(
        methods[0]["backup_seconds"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
    let page = std::fs::read_to_string(to.join("run.html")).expect("a page");
    for text in [
        "Impact of a backup",
        "penstock --max-rate 20M",
        "Response times",
        "second by second",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let again = Tool::new(["report"]).arg(to.join("run.json")).run().ok();
    again.says(&["run.html"]);
    nothing_left(server, &scratch);
}

/// What follows the log goes on until it is stopped, and has nothing that is through.
#[test]
fn the_archiver_of_the_log_is_measured() {
    let args = ["--log-bin=binlog", "--server-id=1"];
    let Some(server) = crate::kit::own_server(testkit::Kind::MariaDb, &args) else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a directory");
    let done = impact(&server, scratch.path())
        .args(["--measure", "2s", "--json", "--method", "binlog-archive"])
        .run()
        .ok();
    let summary = done.summary();
    let method = &summary["methods"][0];
    assert_eq!(method["method"], "binlog-archive");
    assert!(method["tpmc_during"][0].as_f64() > Some(0.0), "{method}");
    nothing_left(&server, scratch.path());
}

both!(an_existing_schema_is_not_touched);
fn an_existing_schema_is_not_touched(pair: &Pair) {
    let server = pair.source();
    pair.fill(
        "CREATE DATABASE penstock_impact; CREATE TABLE penstock_impact.t (a INT); \
        INSERT INTO penstock_impact.t VALUES (7)",
    );
    let done = alone(server).run();
    done.code(10)
        .says(&["`penstock_impact` is there already", "--schema"]);
    assert_eq!(
        server
            .value("SELECT a FROM penstock_impact.t")
            .expect("a row"),
        "7"
    );
    // A replica that holds other schemas is refused.
    let replica = pair.target();
    replica.script(b"CREATE DATABASE t_mine").expect("a schema");
    let done = impact(server, &std::env::temp_dir())
        .args([
            "--schema",
            "t_other",
            "--method",
            "replica",
            "--replica",
            &replica.uri(),
        ])
        .run();
    done.code(10).says(&[
        "holds more than this measurement needs: t_mine",
        "throw-away",
    ]);
    assert_eq!(schemas(replica), ["t_mine"]);
}

both!(failures_are_reported_and_cleaned_up);
fn failures_are_reported_and_cleaned_up(pair: &Pair) {
    let (server, scratch) = (pair.source(), pair.path("scratch"));
    std::fs::create_dir(&scratch).expect("a directory");
    impact(server, &scratch)
        .args(["--method", "xtrabackup"])
        .run()
        .code(2)
        .says(&["unknown method", "mydumper"]);
    impact(server, &scratch)
        .args(["--method", "penstock --to /x"])
        .run()
        .code(2)
        .says(&["set by the measurement"]);
    impact(server, &scratch)
        .args(["--method", "replica"])
        .run()
        .code(2)
        .says(&["--replica SERVER"]);
    impact(server, &scratch)
        .args(["--method", "mysqldump", "--mysqldump", "/no/such/mysqldump"])
        .run()
        .code(2)
        .says(&["/no/such/mysqldump", "--mysqldump"]);
    // A program that fails: the error has its own words.
    let fails = pair.path("fails");
    std::fs::write(
        &fails,
        "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho out of luck >&2\nexit 3\n",
    )
    .expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&fails, mode).expect("a mode");
    let done = impact(server, &scratch)
        .args(["--measure", "1s", "--method", "mysqldump", "--mysqldump"])
        .arg(fails)
        .run();
    done.code(1).says(&["out of luck", "exit status: 3"]);
    nothing_left(server, &scratch);
    // The same for penstock.
    let done = impact(server, &scratch)
        .args(["--measure", "1s", "--method", "penstock --compression lead"])
        .run();
    done.code(1).says(&[
        "ERROR: method penstock --compression lead: penstock ended with exit status: 2: ERROR: ",
        "\"lead\"",
    ]);
    // Ctrl-C while the initial tables are made.
    let run = alone(server).start();
    until("a schema is made", || !schemas(server).is_empty());
    run.signal(Signal::INT);
    let done = run.wait().code(9);
    // It removes them itself.
    assert!(!done.err.contains("drop it"), "{}", done.err);
    nothing_left(server, &scratch);
    // Ctrl-C during a backup.
    let run = impact(server, &scratch)
        .args(["--method", "penstock --max-rate 100k", "--measure", "60s"])
        .start();
    until("a backup begins", || dumping(&scratch));
    run.signal(Signal::INT);
    run.wait().code(9);
    nothing_left(server, &scratch);
}

/// Whether a backup has begun.
fn dumping(scratch: &Path) -> bool {
    let Ok(list) = std::fs::read_dir(scratch) else {
        return false;
    };
    list.flatten()
        .any(|e| e.path().join("backup/dump/penstock.incomplete").exists())
}
