//! However a load ends, the server's settings are what they were before it.

mod scene;
mod service;

use crate::kit::waiting::until_some;
use crate::kit::{Pair, Tool, both};
use rustix::process::Signal;
use scene::{Scene, settings, tuned, wanted};
use std::path::PathBuf;
use testkit::{Kind, Server};

both!(a_load_that_succeeds; Scene::new);
fn a_load_that_succeeds(scene: &mut Scene) {
    let kind = scene.target.kind();
    let run = scene.load().arg("--json").start();
    tuned(kind, &scene.rows_flow());
    let journal =
        std::fs::read_to_string(scene.journals().first().expect("a journal while it runs"))
            .expect("text");
    assert!(!journal.contains("root"), "{journal}");
    let done = run.wait().ok();
    scene.as_before();
    let tuning = done.summary()["tuning"].clone();
    assert_eq!(tuning["level"], "max");
    for (name, value) in wanted(kind) {
        let name = if *name == "Innodb_redo_log_enabled" {
            "innodb_redo_log"
        } else {
            name
        };
        let change = tuning["changes"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|c| c["name"] == name);
        let change = change.unwrap_or_else(|| panic!("{name} is not in {tuning}"));
        assert_eq!(change["during"], *value, "{change}");
        assert_eq!(change["after"], change["before"], "{change}");
        assert_ne!(change["during"], change["before"], "{change}");
    }
    let restart = tuning["restart"].as_array().expect("a list");
    assert!(restart.iter().any(|l| l == "skip-log-bin"), "{tuning}");
    assert_eq!(
        restart.iter().any(|l| l == "innodb_doublewrite = OFF"),
        kind != Kind::MySql,
        "{tuning}"
    );
    scene.empty();
    scene.load().run().ok().says(&[
        "sync_binlog",
        "before",
        "during",
        "after",
        "[mysqld]",
        "equal:",
    ]);
    scene.as_before();
}

both!(levels_below_max_change_nothing_global; Scene::new);
fn levels_below_max_change_nothing_global(scene: &mut Scene) {
    scene
        .target
        .client("SET GLOBAL local_infile = ON")
        .expect("set");
    scene.before = settings(&scene.target);
    for level in ["off", "safe"] {
        let run = scene.tool("load", "root").args(["--tune", level]).start();
        let during = scene.rows_flow();
        run.wait().ok();
        assert_eq!(during, scene.before, "{level}");
        scene.empty();
    }
    scene.as_before();
    scene
        .tool("load", "root")
        .args(["--tune", "full"])
        .run()
        .code(2)
        .says(&["off, safe, max"]);
}

both!(a_load_that_is_stopped; Scene::new);
fn a_load_that_is_stopped(scene: &mut Scene) {
    let kind = scene.target.kind();
    for signal in [Signal::INT, Signal::TERM] {
        let run = scene.load().start();
        tuned(kind, &scene.rows_flow());
        run.signal(signal);
        run.wait().code(9).says(&["reverted: "]);
        scene.as_before();
        scene.empty();
    }
}

both!(a_load_that_fails; Scene::new);
fn a_load_that_fails(scene: &mut Scene) {
    let kind = scene.target.kind();
    let run = scene.load().start();
    tuned(kind, &scene.rows_flow());
    // The schema is dropped during the load.
    scene.empty();
    let done = run.wait();
    assert!(![0, 9, 70].contains(&done.code), "{done:?}");
    scene.as_before();
}

both!(a_load_whose_connections_are_killed; Scene::new);
fn a_load_whose_connections_are_killed(scene: &mut Scene) {
    let kind = scene.target.kind();
    let run = scene.load().start();
    tuned(kind, &scene.rows_flow());
    let ids = scene
        .target
        .client(
            "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() \
            AND user = 'root'",
        )
        .expect("ids");
    for id in ids.into_iter().flatten().flatten() {
        let _ = scene.target.client(&format!("KILL {id}"));
    }
    let done = run.wait();
    assert!(![0, 9, 70].contains(&done.code), "{done:?}");
    scene.as_before();
}

both!(a_process_that_is_killed; Scene::new);
fn a_process_that_is_killed(scene: &mut Scene) {
    let kind = scene.target.kind();
    scene.doctor().run().ok().says(&["Nothing is left changed"]);
    let killed = |scene: &Scene| {
        let run = scene.load().start();
        tuned(kind, &scene.rows_flow());
        // While the load runs, no other command touches its settings.
        let live = scene.doctor().run().ok().says(&[
            "Settings are in use",
            "is running",
            &run.pid().to_string(),
        ]);
        assert!(!live.said().contains("Nothing"), "{}", live.said());
        let list = Tool::new(["doctor"])
            .env("PENSTOCK_STATE", scene.state())
            .run();
        list.ok().says(&["Settings are in use"]);
        scene
            .doctor()
            .arg("--revert")
            .run()
            .code(11)
            .says(&["is running"]);
        run.signal(Signal::KILL);
        run.wait().code(137);
        tuned(kind, &settings(&scene.target));
        scene.empty();
    };
    killed(scene);
    let command = format!(
        "put them back with: penstock doctor --revert --socket {}",
        scene.target.socket().display()
    );
    scene
        .doctor()
        .run()
        .code(3)
        .says(&["sync_binlog", "before 1, load 0, now 0", &command]);
    let list = Tool::new(["doctor"])
        .env("PENSTOCK_STATE", scene.state())
        .run();
    list.code(3).says(&["sync_binlog", &command]);
    tuned(kind, &settings(&scene.target));
    scene
        .doctor()
        .arg("--revert")
        .run()
        .ok()
        .says(&["reverted: ", "sync_binlog = 1"]);
    scene.as_before();
    scene.doctor().run().ok();
    // Or the next load puts them back, whatever its own level, before it looks at the server's
    // settings.
    killed(scene);
    scene.tool("load", "root").run().code(7).says(&[
        "reverted: ",
        "local_infile = OFF",
        "LOAD DATA LOCAL is off",
    ]);
    scene.as_before();
    killed(scene);
    scene
        .load()
        .run()
        .ok()
        .says(&["an earlier run left settings", "equal:"]);
    scene.as_before();
}

both!(settings_changed_by_others_stay; Scene::new);
fn settings_changed_by_others_stay(scene: &mut Scene) {
    let run = scene.load().start();
    scene.rows_flow();
    scene
        .target
        .client("SET GLOBAL sync_binlog = 77")
        .expect("set");
    run.wait()
        .code(3)
        .says(&["sync_binlog is 77", "another session changed it"]);
    assert_eq!(settings(&scene.target)["sync_binlog"], "77");
    scene
        .target
        .client("SET GLOBAL sync_binlog = 1")
        .expect("set");
    scene.as_before();
}

both!(privileges_that_are_missing; Scene::new);
fn privileges_that_are_missing(scene: &mut Scene) {
    let kind = scene.target.kind();
    let grants = if kind == Kind::MySql {
        "SESSION_VARIABLES_ADMIN"
    } else {
        "BINLOG ADMIN"
    };
    scene
        .target
        .script(
            format!(
                "CREATE USER t_some@localhost IDENTIFIED BY 'Right-1-word'; \
                GRANT ALL ON big.* TO t_some@localhost; GRANT {grants} ON *.* TO t_some@localhost;"
            )
            .as_bytes(),
        )
        .expect("an account");
    let load = |scene: &Scene| {
        scene
            .tool("load", "t_some")
            .env("PENSTOCK_PASSWORD", "Right-1-word")
            .args(["--tune", "max", "--json"])
            .run()
    };
    // Loading needs this setting, and the account may not change it.
    load(scene).code(7).says(&["LOAD DATA LOCAL is off"]);
    scene.as_before();
    scene
        .target
        .client("SET GLOBAL local_infile = ON")
        .expect("set");
    scene.before = settings(&scene.target);
    let done = load(scene).ok();
    let said = done.summary()["tuning"]["not_changed"].to_string();
    let (redo, flush) = (
        "innodb_redo_log: needs INNODB_REDO_LOG_ENABLE (GRANT INNODB_REDO_LOG_ENABLE ON *.* TO \
        't_some'@'localhost')",
        if kind == Kind::MySql {
            "SYSTEM_VARIABLES_ADMIN"
        } else {
            "SUPER"
        },
    );
    assert_eq!(said.contains(redo), kind == Kind::MySql, "{said}");
    assert!(
        said.contains(&format!("innodb_flush_log_at_trx_commit: needs {flush}")),
        "{said}"
    );
    scene.as_before();
}

both!(without_a_journal_nothing_is_changed; Scene::new);
fn without_a_journal_nothing_is_changed(scene: &mut Scene) {
    scene
        .tool("load", "root")
        .args(["--tune", "max"])
        .env("PENSTOCK_STATE", "/dev/null/x")
        .run()
        .code(8)
        .says(&["/dev/null/x", "PENSTOCK_STATE"]);
    scene.as_before();
}

/// The settings journal of one server, renamed to that of another, is never applied.
#[test]
fn a_settings_journal_of_another_server_is_not_applied() {
    let Some(scene) = Scene::new(Kind::MariaDb) else {
        return;
    };
    let run = scene.load().start();
    scene.rows_flow();
    run.signal(Signal::KILL);
    run.wait().code(137);
    scene.empty();
    let left = settings(&scene.target);
    let [journal] = scene.journals().try_into().expect("one journal");
    let journal: PathBuf = journal;
    let text = std::fs::read_to_string(&journal).expect("text");
    let id = journal
        .file_stem()
        .expect("a name")
        .to_string_lossy()
        .replace("tuning-", "");
    std::fs::write(&journal, text.replace(&id, &"0".repeat(32))).expect("written");
    scene
        .doctor()
        .arg("--revert")
        .run()
        .code(8)
        .says(&["is about another server"]);
    scene
        .load()
        .run()
        .code(8)
        .says(&["is about another server"]);
    assert_eq!(settings(&scene.target), left);
    // With its last line torn: the one before still counts.
    std::fs::write(&journal, format!("{text}{{\"event\":\"change\",\"sett")).expect("written");
    scene.doctor().arg("--revert").run().ok();
    scene.as_before();
}

/// A server that was restarted has its own settings again; only the redo log stays off.
#[test]
fn a_server_that_is_restarted() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(mut scene) = Scene::new(kind) else {
            continue;
        };
        let run = scene.load().start();
        scene.rows_flow();
        run.signal(Signal::KILL);
        run.wait().code(137);
        scene.empty();
        // Started with a value that is neither the old one nor the load's.
        scene
            .target
            .restart_with(&["--sync-binlog=5"])
            .expect("a server again");
        let again = settings(&scene.target);
        let redo = again.get("Innodb_redo_log_enabled").map(String::as_str);
        if kind == Kind::MySql {
            assert_eq!(redo, Some("OFF"), "the server keeps it");
            scene.doctor().run().code(3).says(&["innodb_redo_log"]);
        }
        scene.doctor().arg("--revert").run().ok();
        let sync = scene
            .before
            .insert("sync_binlog".to_owned(), "5".to_owned());
        assert_eq!(sync.as_deref(), Some("1"));
        scene.as_before();
    }
}

/// Two loads at once, from one host or two: the second leaves the settings to the first.
#[test]
fn two_loads_at_once() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(scene) = Scene::new(kind) else {
            continue;
        };
        // Slow enough for the others to come and go.
        let run = scene.load().args(["--max-rate", "2M"]).start();
        tuned(kind, &scene.rows_flow());
        for (state, who) in [
            (scene.state(), "another load (process"),
            (scene.directory.path().join("far"), "from another host"),
        ] {
            let second = Tool::new(["load"])
                .arg(scene.directory.path().join("b"))
                .arg("-S")
                .arg(scene.target.socket())
                .args(["-u", "root", "--tune", "max"])
                .env("PENSTOCK_STATE", state)
                .run();
            second
                .ok()
                .says(&[who, "continues as with --tune=safe", "equal:"]);
            tuned(kind, &settings(&scene.target));
            scene.target.client("DROP DATABASE small").expect("dropped");
        }
        assert_eq!(scene.journals().len(), 1);
        let pid = run.pid().to_string();
        let faster = Tool::new(["set", "max-rate=none", "--pid", &pid]);
        faster.env("PENSTOCK_STATE", scene.state()).run().ok();
        run.wait().ok();
        scene.as_before();
    }
}

/// The durability of a server with a replica, or of a replica, is not given up.
#[test]
fn a_server_with_replicas() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(pair) = Pair::take(kind) else {
            continue;
        };
        pair.fill(
            "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); \
            INSERT INTO shop.t VALUES (1);",
        );
        pair.dump("a", &[]).ok();
        let setup = |id: &str| {
            testkit::Setup::new(kind)
                .expect("a set-up")
                .tcp()
                .args([id.to_owned()])
                .start()
                .expect("a server")
        };
        let (primary, replica) = (setup("--server-id=91"), setup("--server-id=92"));
        let port = primary.port().expect("a port");
        let (change, start, stop) = if pair.is_mysql() {
            (
                format!(
                    "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, \
                    SOURCE_USER='repl', SOURCE_PASSWORD='Repl-1-word', GET_SOURCE_PUBLIC_KEY=1, \
                    SOURCE_CONNECT_RETRY=1"
                ),
                "START REPLICA",
                "STOP REPLICA",
            )
        } else {
            (
                format!(
                    "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, \
                    MASTER_USER='repl', MASTER_PASSWORD='Repl-1-word', MASTER_CONNECT_RETRY=1"
                ),
                "START SLAVE",
                "STOP SLAVE",
            )
        };
        primary
            .script(
                b"CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'Repl-1-word'; \
                GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'; \
                CREATE USER repl@localhost IDENTIFIED BY 'Repl-1-word'; \
                GRANT REPLICATION SLAVE ON *.* TO repl@localhost;",
            )
            .expect("an account");
        replica.client(&change).expect("a replica");
        replica.client(start).expect("it runs");
        let threads =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'";
        until_some(&primary, threads);
        let load = |server: &Server, level: &str| {
            Tool::new(["load"])
                .arg(pair.path("a"))
                .arg("-S")
                .arg(server.socket())
                .args(["-u", "root", "--tune", level])
                .env("PENSTOCK_STATE", pair.path("state"))
                .run()
        };
        load(&primary, "max")
            .code(10)
            .says(&["1 replica is connected", "--tune=safe"]);
        load(&replica, "max")
            .code(10)
            .says(&["is a replica", "--tune=safe"]);
        assert_eq!(
            primary
                .value(
                    "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'shop'"
                )
                .expect("a count"),
            "0"
        );
        load(&primary, "safe").ok();
        replica.client(stop).expect("stopped");
    }
}

/// The settings journal has no password and no account.
#[test]
fn no_secrets_in_the_journal() {
    let Some(scene) = Scene::new(Kind::MySql) else {
        return;
    };
    scene
        .target
        .script(
            b"CREATE USER t_secret@localhost IDENTIFIED BY 'Hush-1-word'; \
            GRANT ALL ON *.* TO t_secret@localhost WITH GRANT OPTION;",
        )
        .expect("an account");
    let run = scene
        .tool("load", "t_secret")
        .env("PENSTOCK_PASSWORD", "Hush-1-word")
        .args(["--tune", "max"])
        .start();
    scene.rows_flow();
    let [journal] = scene.journals().try_into().expect("one journal");
    let journal: PathBuf = journal;
    let text = std::fs::read_to_string(journal).expect("text");
    run.wait().ok();
    assert!(text.contains("innodb_redo_log"), "{text}");
    for secret in ["Hush-1-word", "t_secret"] {
        assert!(!text.contains(secret), "{text}");
    }
}

both!(a_load_without_a_home_directory);
fn a_load_without_a_home_directory(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); \
        INSERT INTO shop.t VALUES (1);",
    );
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
}
