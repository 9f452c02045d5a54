//! A server that penstock may restart has its own settings at the end, and runs, wherever penstock
//! was killed.

use super::scene::{Scene, settings};
use crate::kit::managed::Flag;
use crate::kit::waiting::{until, until_up};
use crate::kit::{self, Tool, both, few};
use std::path::PathBuf;
use testkit::Kind;

/// A scene whose server is started by a script.
struct Managed {
    script: kit::Managed,
    scene: Scene,
}

impl Managed {
    fn new(kind: Kind) -> Option<Managed> {
        let mut scene = Scene::new(kind)?;
        let directory = scene.directory.path().to_owned();
        let config = format!("--defaults-file={}", directory.join("my.cnf").display());
        let script = kit::Managed::new(&scene.target, &directory, |arg| match arg {
            b"--no-defaults" => config.clone().into_bytes(),
            arg => arg.to_owned(),
        });
        std::fs::create_dir(directory.join("conf.d")).expect("a directory");
        let text = format!(
            "[mysqld]\ninnodb_autoinc_lock_mode=1\n!includedir {}\n",
            directory.join("conf.d").display()
        );
        std::fs::write(directory.join("my.cnf"), text).expect("written");
        script.run("restart");
        until_up(&scene.target);
        std::fs::remove_file(directory.join("calls")).expect("words");
        // Set by another session while the server runs: a restart must not lose it.
        for sql in [
            "SET GLOBAL long_query_time = 7.5",
            "SET GLOBAL init_connect = 'DO 1'",
            "SET GLOBAL max_connections = 77",
        ] {
            scene.target.client(sql).expect("set");
        }
        scene.before = settings(&scene.target);
        assert_eq!(scene.before["innodb_autoinc_lock_mode"], "1");
        Some(Managed { script, scene })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.script.path(name)
    }

    fn load(&self) -> Tool {
        self.scene
            .load()
            .arg("--server-command")
            .arg(self.script.command())
            .arg("--server-config")
            .arg(self.path("conf.d"))
    }

    fn fragment(&self) -> PathBuf {
        self.path("conf.d/penstock-tune.cnf")
    }

    fn flag(&self, name: &str) -> Flag {
        self.script.flag(name)
    }

    fn calls(&self) -> Vec<String> {
        self.script.calls()
    }

    #[track_caller]
    fn as_before(&self) {
        assert!(!self.fragment().exists(), "the file is left");
        self.scene.as_before();
    }
}

both!(restarted_for_the_load_and_afterwards; Managed::new);
fn restarted_for_the_load_and_afterwards(m: &mut Managed) {
    let kind = m.scene.target.kind();
    m.scene
        .target
        .script(b"CREATE USER t_app@localhost IDENTIFIED BY ''")
        .expect("an account");
    let mut app = m.scene.target.options();
    app.user = "t_app".to_owned();
    let _idle = wire::Conn::connect(&app).expect("a session");
    let run = m.load().arg("--json").start();
    let during = m.scene.rows_flow();
    assert_eq!(during["innodb_autoinc_lock_mode"], "2");
    assert_eq!(during["sync_binlog"], "0");
    assert_eq!(during["max_connections"], "77");
    let text = std::fs::read_to_string(m.fragment()).expect("the file");
    assert!(
        text.contains("[mysqld]\n") && text.contains("\ninnodb_autoinc_lock_mode = 2\n"),
        "{text}"
    );
    assert!(!text.contains("log-bin"), "{text}");
    let done = run.wait().ok().says(&["t_app@localhost (1, 0 active)"]);
    m.as_before();
    assert_eq!(m.calls(), ["restart", "restart"]);
    let tuning = done.summary()["tuning"].clone();
    assert_eq!(tuning["restarts"], 2);
    let changes = tuning["changes"].as_array().expect("a list").clone();
    let change = changes
        .iter()
        .find(|c| c["name"] == "innodb_autoinc_lock_mode")
        .expect("the change");
    assert_eq!(
        (&change["before"], &change["during"], &change["after"]),
        (&"1".into(), &"2".into(), &"1".into())
    );
    assert_eq!(
        changes.iter().any(|c| c["name"] == "innodb_doublewrite"),
        kind == Kind::MariaDb,
        "{tuning}"
    );
}

both!(stopped_or_failed; Managed::new);
fn stopped_or_failed(m: &mut Managed) {
    let run = m.load().start();
    m.scene.rows_flow();
    run.signal(rustix::process::Signal::INT);
    run.wait().code(9);
    m.as_before();
    m.scene.empty();
    let run = m.load().start();
    m.scene.rows_flow();
    // The load fails without its tables and restarts the server, which may end the session of an unfinished
    // DROP: the schema must be gone in the end all the same.
    until("the schema is dropped", || {
        m.scene.target.client("DROP DATABASE IF EXISTS big").is_ok()
    });
    let done = run.wait();
    assert!(![0, 9, 70].contains(&done.code), "{done:?}");
    m.as_before();
    assert_eq!(m.calls().len(), 4);
}

both!(a_server_that_does_not_start_with_the_settings; Managed::new);
fn a_server_that_does_not_start_with_the_settings(m: &mut Managed) {
    let picky = m.flag("picky");
    m.load().run().ok().says(&[
        "settings that need a restart were not changed",
        "what is penstock-tune.cnf",
        "equal:",
    ]);
    assert_eq!(m.calls(), ["restart", "start"]);
    m.as_before();
    m.scene.empty();
    drop(picky);
    // A command that does nothing is detected by asking the server, not by its exit code.
    let lazy = m.flag("lazy");
    m.load().run().ok().says(&["did not restart the server"]);
    m.as_before();
    m.scene.empty();
    drop(lazy);
    // A file of unknown origin is kept, and stops the load before anything is done.
    std::fs::write(m.fragment(), "[mysqld]\n").expect("written");
    m.load()
        .run()
        .code(8)
        .says(&["exists, and no journal says why"]);
    std::fs::remove_file(m.fragment()).expect("removed");
    m.as_before();
}

both!(a_server_that_does_not_start_at_all; Managed::new);
fn a_server_that_does_not_start_at_all(m: &mut Managed) {
    let dead = m.flag("dead");
    m.load()
        .run()
        .code(6)
        .says(&["THE SERVER IS DOWN", "it is dead"]);
    assert!(!m.fragment().exists());
    assert_eq!(m.scene.journals().len(), 1);
    m.scene.doctor().run().code(6);
    drop(dead);
    m.scene
        .doctor()
        .arg("--revert")
        .run()
        .ok()
        .says(&["is started again", "runs without it"]);
    m.as_before();
}

both!(killed_at_each_step_of_a_restart; Managed::new);
fn killed_at_each_step_of_a_restart(m: &mut Managed) {
    let failpoints = m.path("places");
    m.load().env("PENSTOCK_PLACES", &failpoints).run().ok();
    m.as_before();
    let left = std::fs::read_dir(m.scene.state())
        .expect("a directory")
        .flatten();
    assert_eq!(
        left.filter(|e| !e.path().is_dir()).count(),
        0,
        "a note is left"
    );
    m.scene.empty();
    let failpoints = std::fs::read_to_string(failpoints).expect("places");
    let wanted = [
        "a file of settings",
        "the file of settings",
        "restart of the server",
        "the command has ended",
        "the journal has a setting",
    ];
    // By name and number: how often other failpoints are passed depends on the speed of the
    // machine.
    let mut seen = std::collections::HashMap::new();
    let mut at: Vec<String> = Vec::new();
    for (i, name) in failpoints.lines().enumerate() {
        let n: &mut usize = seen.entry(name).or_default();
        *n += 1;
        // Only some of the settings that need no restart: those have tests of their own.
        let setting = name.ends_with("a setting");
        if wanted.iter().any(|w| name.contains(w)) && !(setting && i % 3 != 0)
            || name.contains("end of a file")
        {
            at.push(format!("{name}#{n}"));
        }
    }
    assert!(at.len() >= 12, "{failpoints}");
    let rounds: Vec<(usize, String)> = at.into_iter().enumerate().collect();
    for (round, at) in few(m.scene.target.kind(), 5, &rounds) {
        m.load().env("PENSTOCK_KILL_AT", &at).run().code(137);
        // A server that was killed as it started cannot be emptied.
        if round % 2 == 0 || m.scene.target.conn().is_err() {
            m.scene.doctor().arg("--revert").run().ok();
        } else {
            // The next load does it, whatever its own level; rows do not matter to it.
            m.scene.empty();
            m.scene
                .tool("load", "root")
                .run()
                .code(7)
                .says(&["local_infile = OFF"]);
        }
        let now = settings(&m.scene.target);
        let differ: Vec<_> = now
            .iter()
            .filter(|(k, v)| m.scene.before.get(*k) != Some(v))
            .collect();
        assert!(
            differ.is_empty() && !m.fragment().exists(),
            "killed at {at}: {differ:?}"
        );
        m.as_before();
        m.scene.empty();
    }
}

#[test]
fn needless_restarts_and_contradictory_options() {
    let Some(m) = Managed::new(Kind::MySql) else {
        return;
    };
    std::fs::write(m.path("my.cnf"), "[mysqld]\n").expect("written");
    m.script.run("restart");
    until_up(&m.scene.target);
    std::fs::remove_file(m.path("calls")).expect("words");
    m.load().run().ok().says(&["the server is not restarted"]);
    assert!(m.calls().is_empty());
    m.scene
        .tool("load", "root")
        .args(["--server-command", "x"])
        .run()
        .code(2)
        .says(&["only --tune=max and --import-mode offline"]);
    m.scene
        .tool("load", "root")
        .args(["--server-command", "x", "--server-config", "/tmp"])
        .run()
        .code(2)
        .says(&["--tune=max"]);
    m.load()
        .arg("--server-config")
        .arg("/nonexistent")
        .run()
        .code(2);
}
