//! `penstock replica`, interrupted: connections that are cut, a comparison that is killed, a source that is another server.

use super::{By, Scene, start};
use crate::kit::waiting::until;
use crate::kit::{Tool, each_kind, few};
use rustix::process::Signal;
use testkit::Kind;
use testkit::proxy::Proxy;

/// Which connections are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Source,
    New,
}

/// What the next run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It begins again, for nothing was made.
    Begins,
    /// It continues.
    Resumes,
    /// It says what to undo.
    Undoes,
}

/// The network fails at each step: the error says which side it was, and what to do; that then works.
fn cut_at_each_step(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    // Many chunks.
    let analyze = "ANALYZE TABLE shop.t";
    scene.source.client(analyze).expect("statistics");
    let proxy = |name: &str, server: &testkit::Server| {
        let path = scene.directory.path().join(name);
        Proxy::unix(&path, &server.options().endpoint).expect("a proxy")
    };
    let (source, new) = (proxy("source", &scene.source), proxy("new", &scene.new));
    let uri = |proxy: &Proxy| {
        let socket = proxy.socket().display().to_string();
        format!("mysql://root@localhost/?socket={socket}")
    };
    let on = |verb: &str, args: &[&str]| {
        Tool::new(["replica", verb])
            .args(args.iter().copied())
            .env("PENSTOCK_STATE", scene.state())
    };
    let (source_uri, new_uri) = (uri(&source), uri(&new));
    let create = |more: &[&str]| on("create", &[&[&*source_uri, &*new_uri], more].concat());
    let all = [
        ("the copy is about to begin#1", Cut::Source, Then::Begins),
        ("the copy is about to begin#1", Cut::New, Then::Begins),
        ("the snapshot is taken#1", Cut::Source, Then::Begins),
        ("a chunk is committed#1", Cut::Source, Then::Undoes),
        ("a chunk is committed#1", Cut::New, Then::Undoes),
        ("the rows are recorded#1", Cut::Source, Then::Resumes),
        ("an account is made#1", Cut::New, Then::Resumes),
        ("the copy is recorded#1", Cut::Source, Then::Resumes),
        ("the copy is recorded#1", Cut::New, Then::Resumes),
        (
            "the account is about to be made#1",
            Cut::Source,
            Then::Resumes,
        ),
        ("the channel is about to be made#1", Cut::New, Then::Resumes),
        ("the channel is started#1", Cut::Source, Then::Resumes),
        ("the channel is started#1", Cut::New, Then::Resumes),
        ("the applier is stopped#1", Cut::Source, Then::Resumes),
        ("the applier is stopped#1", Cut::New, Then::Resumes),
    ];
    for (place, side, then) in few(kind, 2, &all) {
        // So that the source is still being read when the first chunk is stored.
        let run = create(&["--chunk-size", "64k", "--memory", "64k"])
            .env("PENSTOCK_STOP_AT", place)
            .start();
        run.until_stopped();
        let (cut, who): (&Proxy, &[&str]) = match side {
            Cut::Source => (&source, &["the source"]),
            Cut::New => (&new, &["the new server", "the target", "the replica"]),
        };
        cut.cut();
        run.signal(Signal::CONT);
        let done = run.wait().code(6);
        let said = done.said();
        assert!(who.iter().any(|w| said.contains(w)), "{place}: {said}");
        let hint = match then {
            Then::Begins => "",
            Then::Resumes => "--resume continues",
            Then::Undoes => "replica abort --drop-data",
        };
        assert!(said.contains(hint), "{place}: {said}");
        cut.mend();
        match then {
            Then::Begins => create(&[]).run().ok(),
            Then::Resumes => create(&["--resume"]).run().ok(),
            Then::Undoes => create(&["--resume"])
                .run()
                .code(10)
                .says(&["replica abort removes what it has made"]),
        };
        if then != Then::Undoes {
            scene.until_equal();
        }
        on("abort", &[&new_uri, "--source", &source_uri, "--drop-data"])
            .run()
            .ok();
        let users = "SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'penstock%'";
        for server in [&scene.source, &scene.new] {
            assert_eq!(server.value(users).expect("a count"), "0", "{place}");
        }
    }
    // Which of the two does not answer is said also before anything is done.
    source.cut();
    create(&[]).run().code(6).says(&["the source: "]);
    source.mend();
    new.cut();
    create(&[]).run().code(6).says(&["the new server: "]);
    new.mend();
}
each_kind!(cut_at_each_step; mysql, mariadb);

/// A comparison that is killed leaves the applier stopped: that is noted, shown, and mended.
fn a_killed_comparison_leaves_nothing_stopped(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    scene.create(&["--no-verify"]).ok();
    let killed = |verb: &str, more: &[&str]| {
        let tool = scene.on(verb, more);
        let tool = tool.env("PENSTOCK_KILL_AT", "the applier is stopped#1");
        tool.run().code(137);
        assert_eq!(scene.status()["channels"][0]["applies"], false);
    };
    let doctor = |more: &[&str]| {
        Tool::new(["doctor".to_owned(), scene.new.uri()])
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", scene.state())
            .run()
    };
    killed("verify", &[]);
    let status = Tool::new(["replica", "status"]).arg(scene.new.uri());
    let status = status.env("PENSTOCK_STATE", scene.state()).run().code(1);
    status.says(&["a run that was killed has stopped its applier"]);
    doctor(&[])
        .code(3)
        .says(&["the applier of this replica", "doctor --revert"]);
    doctor(&["--revert"]).ok().says(&["runs again"]);
    assert_eq!(scene.status()["channels"][0]["applies"], true);
    doctor(&[]).ok();
    // The next comparison starts it as well.
    killed("verify", &[]);
    scene
        .on("verify", &[])
        .run()
        .ok()
        .says(&["left stopped by a run that was killed", "Equal"]);
    killed("create", &["--resume"]);
    scene.create(&["--resume"]).ok();
    assert_eq!(scene.status()["channels"][0]["applies"], true);
}
each_kind!(a_killed_comparison_leaves_nothing_stopped; mysql, mariadb);

/// What stopped the applier is said in the server's words, also where a worker has them.
fn an_applier_that_stopped_says_why(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    scene.create(&["--no-verify"]).ok();
    let own = "SET sql_log_bin = 0; DELETE FROM shop.t WHERE id = 1234";
    scene.new.script(own.as_bytes()).expect("a row less");
    // As a statement it would find nothing to change, and that is no error.
    let rows = match kind {
        Kind::MySql => "",
        _ => "SET SESSION binlog_format = ROW; ",
    };
    let update = format!("{rows}UPDATE shop.t SET n = n + 1 WHERE id = 1234");
    scene.source.script(update.as_bytes()).expect("an update");
    until("the applier to stop", || {
        scene.status()["channels"][0]["applies"] == false
    });
    let status = Tool::new(["replica", "status"]).arg(scene.new.uri()).run();
    status.code(1).says(&["apply error", "1032"]);
    let status = scene.status();
    let channel = &status["channels"][0];
    if kind == Kind::MySql {
        let worker = &channel["worker_errors"][0];
        assert_eq!(worker["number"], 1032, "{channel}");
        let text = worker["message"].as_str().expect("a text");
        assert!(text.contains("Can't find record in 't'"), "{text}");
    }
    scene
        .create(&["--resume"])
        .code(1)
        .says(&["Can't find record in 't'", "error 1032"]);
}
each_kind!(an_applier_that_stopped_says_why; mysql, mariadb);

/// The address of the source is that of another server when the run is continued; and a log that was reset.
fn another_source_is_not_followed(kind: Kind) {
    let Some(mut scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    let path = scene.directory.path().join("source");
    let uri = format!("mysql://root@localhost/?socket={}", path.display());
    let create = |scene: &Scene, more: &[&str]| {
        Tool::new(["replica".to_owned(), "create".to_owned(), uri.clone()])
            .arg(scene.new.uri())
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", scene.state())
    };
    let proxy = Proxy::unix(&path, &scene.source.options().endpoint).expect("a proxy");
    create(&scene, &[])
        .env("PENSTOCK_KILL_AT", "the copy is recorded#1")
        .run()
        .code(137);
    drop(proxy);
    // The log of the same server begins again.
    let reset = match kind {
        Kind::MySql => "RESET BINARY LOGS AND GTIDS",
        _ => "RESET MASTER",
    };
    scene.source.client(reset).expect("a reset");
    let proxy = Proxy::unix(&path, &scene.source.options().endpoint).expect("a proxy");
    create(&scene, &["--resume"])
        .run()
        .code(10)
        .says(&["the binary log of the source was reset"]);
    drop(proxy);
    let other = start(kind, By::Gtid, 37, &[]);
    let _proxy = Proxy::unix(&path, &other.options().endpoint).expect("a proxy");
    create(&scene, &["--resume"])
        .run()
        .code(10)
        .says(&["another server than the one that was copied", "failover"]);
    assert_eq!(scene.status()["channels"].as_array().map(Vec::len), Some(0));
    scene.source = other;
}
each_kind!(another_source_is_not_followed; mysql, mariadb);

/// A replica of MariaDB that writes into its own log what comes from the source: undone, it is new again.
#[test]
fn what_the_log_of_a_replica_has_is_undone() {
    let Some(mut scene) = Scene::new(Kind::MariaDb, By::Gtid) else {
        return;
    };
    let more = [
        "--read-only=ON",
        "--log-slave-updates=ON",
        "--gtid-strict-mode=ON",
    ];
    scene.new = start(Kind::MariaDb, By::Gtid, 38, &more);
    // A number of its own that the source has not come to.
    let own = "SET GLOBAL read_only = OFF; SET SESSION gtid_seq_no = 1000000; CREATE DATABASE own; DROP DATABASE own; SET GLOBAL read_only = ON";
    scene.new.script(own.as_bytes()).expect("a transaction");
    scene
        .create(&[])
        .code(10)
        .says(&["0-38-1000001", "gtid_strict_mode", "RESET MASTER"]);
    scene.new.client("RESET MASTER").expect("a reset");
    for _ in 0..2 {
        scene.create(&[]).ok();
        scene.until_equal();
        scene
            .abort(&["--drop-data"])
            .ok()
            .says(&["the binary log, which had the source's transactions (0-31-"]);
        let position = scene.new.value("SELECT @@GLOBAL.gtid_binlog_pos");
        assert_eq!(position.expect("a position"), "");
    }
}

/// What a copy lacked is also said by the run that continues; and accounts that changed in between are no guess.
#[test]
fn a_run_that_continues_says_what_the_copy_lacked() {
    let Some(scene) = Scene::new(Kind::MariaDb, By::Gtid) else {
        return;
    };
    let table = "CREATE TABLE shop.plain (id INT PRIMARY KEY) ENGINE=MyISAM";
    scene.source.client(table).expect("a table");
    let killed = |scene: &Scene| {
        let tool = scene.on("create", &[]);
        let tool = tool.env("PENSTOCK_KILL_AT", "the rows are recorded#1");
        tool.run().code(137);
    };
    killed(&scene);
    scene
        .create(&["--resume"])
        .code(3)
        .says(&["`shop`.`plain` uses MyISAM", "equal at one moment"]);
    scene.abort(&["--drop-data"]).ok();
    killed(&scene);
    let user = "CREATE USER late@localhost IDENTIFIED BY 'a-Late1'";
    scene.source.client(user).expect("an account");
    scene
        .create(&["--resume"])
        .code(10)
        .says(&["accounts of the source were changed", "--drop-data"]);
}
