//! Tables whose tablespaces are put in place while the server is stopped: in the end the same as if
//! they had been loaded by SQL, whatever happens on the way, and the server runs.

use crate::kit::fixtures::{all_tables, imported_as_tablespaces, three_tables};
use crate::kit::imported::{equal, leftovers, names};
use crate::kit::waiting::until_up;
use crate::kit::{Done, Managed, Pair, Tool, both, few, own_server};
use rustix::process::Signal;
use std::time::Duration;
use testkit::{Kind, Server};

/// An archive, and a server that a script stops and starts.
struct Scene {
    script: Managed,
    target: Server,
    pair: Pair,
    directory: tempfile::TempDir,
}

impl Scene {
    /// With all sorts of tables.
    fn with_all_tables(kind: Kind) -> Option<Scene> {
        Scene::new(kind, all)
    }

    /// With a few tables.
    fn with_three_tables(kind: Kind) -> Option<Scene> {
        Scene::new(kind, three_tables)
    }

    fn new(kind: Kind, fill: fn(&Pair)) -> Option<Scene> {
        let target = own_server(kind, &["--server-id=81"])?;
        let pair = Pair::take(kind)?;
        fill(&pair);
        let directory = tempfile::tempdir().expect("a directory");
        let script = Managed::new(&target, directory.path(), <[u8]>::to_owned);
        Some(Scene {
            script,
            target,
            pair,
            directory,
        })
    }

    fn load(&self, more: &[&str]) -> Tool {
        Tool::new(["load"])
            .arg(self.pair.path("a"))
            .arg("--socket")
            .arg(self.target.socket())
            .args(["--user", "root", "--threads", "2", "--skip-binlog"])
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", self.directory.path().join("state"))
    }

    fn offline(&self, more: &[&str]) -> Tool {
        self.load(&[
            "--import-mode",
            "offline",
            "--server-command",
            &self.script.command(),
        ])
        .args(more.iter().copied())
    }

    fn empty(&self) {
        self.up();
        self.target
            .script(
                b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS g; \
                DROP DATABASE IF EXISTS `a-f`",
            )
            .expect("an empty target");
    }

    /// Waits for a server that is starting.
    #[track_caller]
    fn up(&self) {
        until_up(&self.target);
    }

    /// How many restart notices there are.
    fn restart_notices(&self) -> usize {
        std::fs::read_dir(self.directory.path().join("state")).map_or(0, |list| {
            let name = |e: std::fs::DirEntry| e.file_name().to_string_lossy().into_owned();
            list.flatten()
                .map(name)
                .filter(|n| n.starts_with("stopped-"))
                .count()
        })
    }

    #[track_caller]
    fn equal(&self, when: &str) {
        equal(&self.pair, &self.target, when);
        assert_eq!(self.restart_notices(), 0, "{when}");
    }

    /// Stops a load at a failpoint, does something there, and lets it continue.
    fn meanwhile(&self, failpoint: &str, what: impl FnOnce()) -> Done {
        self.meanwhile_with(&[], failpoint, what)
    }

    /// The same with more options.
    fn meanwhile_with(&self, more: &[&str], failpoint: &str, what: impl FnOnce()) -> Done {
        self.empty();
        let run = self
            .offline(more)
            .env("PENSTOCK_STOP_AT", failpoint)
            .start();
        run.until_stopped();
        what();
        run.signal(Signal::CONT);
        run.wait()
    }
}

fn all(pair: &Pair) {
    all_tables(pair);
    pair.dump("a", &["--chunk-size", "256k"]).code(3);
}

both!(imported_tables_stay_equal_after_changes_and_restarts; Scene::with_all_tables);
fn imported_tables_stay_equal_after_changes_and_restarts(s: &mut Scene) {
    let target = &s.target;
    target
        .client("SET GLOBAL long_query_time = 7.5")
        .expect("set");
    let _idle = target.conn().expect("a session");
    let done = s
        .offline(&["--json"])
        .run()
        .ok()
        .says(&["ends the sessions of root@localhost (1, 0 active)"]);
    assert_eq!(s.script.calls(), ["stop", "start"]);
    let import = &done.summary()["import"];
    let mut files = names(&import["tables"]);
    files.sort();
    let wanted = imported_as_tablespaces(&s.pair);
    assert_eq!(files, wanted, "{import:#}");
    assert!(
        import["downtime_seconds"].as_f64().is_some_and(|d| d > 0.0),
        "{import:#}"
    );
    s.equal("loaded");
    let of = |server: &Server| crate::kit::same::definitions(server, "f");
    assert_eq!(of(s.pair.source()), of(target));
    assert_eq!(
        target
            .value("SELECT @@GLOBAL.long_query_time")
            .expect("a value"),
        "7.500000"
    );
    for round in ["changed, and killed", "changed, and restarted"] {
        for change in [
            "INSERT INTO f.keyed (u) VALUES ('{round}')",
            "UPDATE f.keyed SET v = CONCAT('zz', LEFT(v, 100)), n = n + 1 WHERE id % 3 = 0",
            "DELETE FROM f.keyed WHERE id % 17 = 0 AND id > 3000",
            "UPDATE f.worded SET b = NULL WHERE id % 50 = 0",
            "INSERT INTO f.worded SELECT id + CRC32('{round}'), t, b FROM f.worded \
            WHERE id % 5 = 0 AND id < 5000",
            "UPDATE f.latin SET a = REVERSE(a) WHERE e = 1",
            "DELETE FROM f.wide_set WHERE id % 3 = 0",
            "UPDATE f.sorted_elsewhere SET b = REVERSE(b)",
            "UPDATE f.filled SET v = REVERSE(v) WHERE code > 'm'",
            "UPDATE f.worked_out SET a = REVERSE(CONCAT(LEFT(a, 60), 'y')) WHERE id % 3 = 0",
        ] {
            for server in [s.pair.source(), target] {
                let change = change.replace("{round}", round);
                server
                    .client(&change)
                    .unwrap_or_else(|e| panic!("{change}: {e:?}"));
            }
        }
        if round.ends_with("killed") {
            s.script.kill9();
            s.script.run("start");
        } else {
            s.script.run("restart");
        }
        s.up();
        s.equal(round);
        let count = |server: &Server| {
            server
                .client("SELECT COUNT(*), MAX(id) FROM f.keyed")
                .expect("rows")
        };
        assert_eq!(count(s.pair.source()), count(target), "{round}");
    }
}

both!(a_load_killed_while_the_server_is_stopped; Scene::with_three_tables);
fn a_load_killed_while_the_server_is_stopped(s: &mut Scene) {
    // Only failpoints that this import mode has of its own: those before the stop belong to the
    // tablespace import too.
    let failpoints = [
        "a file is built#2",
        "the server is about to be stopped#1",
        "the load has left the server#1",
        "the server is stopped#1",
        "a file is in its place#1",
        "a file is in its place#3",
        "all files are in their places#1",
        "the server is up again#1",
        "a file is entered#3",
    ];
    let rounds: Vec<(usize, &str)> = failpoints.into_iter().enumerate().collect();
    for (round, failpoint) in few(s.pair.kind, 4, &rounds) {
        s.empty();
        s.offline(&[])
            .env("PENSTOCK_KILL_AT", failpoint)
            .run()
            .code(137);
        let is_down = ["is stopped#", "in its place", "in their places"]
            .iter()
            .any(|p| failpoint.contains(p));
        assert_eq!(s.target.conn().is_err(), is_down, "{failpoint}");
        if is_down {
            let doctor = Tool::new(["doctor", "--user", "root", "--socket"]).arg(s.target.socket());
            doctor
                .env("PENSTOCK_STATE", s.directory.path().join("state"))
                .run()
                .code(6)
                .says(&["a load had stopped this server", "doctor --revert"]);
            // The next penstock command starts the server.
            let next = match round % 3 {
                0 => s.load(&["--import-mode", "sql"]).run().code(10),
                1 => Tool::new(["doctor", "--revert", "--user", "root", "--socket"])
                    .arg(s.target.socket())
                    .env("PENSTOCK_STATE", s.directory.path().join("state"))
                    .run()
                    .ok(),
                _ => s.offline(&[]).run().code(10),
            };
            next.says(&["left the server stopped: it is started again"]);
        }
        let import: &[&str] = if round % 2 == 0 {
            &["--resume"]
        } else {
            &["--resume", "--import-mode", "offline", "--server-command"]
        };
        let mut again = s.load(import);
        if round % 2 == 1 {
            again = again.arg(s.script.command());
        }
        again.run().ok().says(&["equal:"]);
        s.equal(failpoint);
        if round % 4 == 1 {
            s.script.run("restart");
            s.up();
            s.equal(&format!("{failpoint}, restarted"));
        }
    }
}

both!(a_server_killed_before_the_stop_or_as_it_starts; Scene::with_three_tables);
fn a_server_killed_before_the_stop_or_as_it_starts(s: &mut Scene) {
    let failpoints = [
        "a file is built#2",
        "the server is up again#1",
        "a file is entered#2",
    ];
    for failpoint in few(s.pair.kind, 1, &failpoints) {
        s.empty();
        let run = s.offline(&[]).env("PENSTOCK_STOP_AT", failpoint).start();
        run.until_stopped();
        s.script.kill9();
        run.signal(Signal::CONT);
        let done = run.wait();
        if done.code != 0 {
            assert_eq!(done.code, 6, "{failpoint}: {}", done.said());
            if s.target.conn().is_err() {
                s.script.run("start");
                s.up();
            }
            s.load(&["--resume"]).run().ok().says(&["equal:"]);
        }
        s.equal(failpoint);
    }
}

both!(a_server_that_does_not_stop_or_start; Scene::with_three_tables);
fn a_server_that_does_not_stop_or_start(s: &mut Scene) {
    // The server does not stop.
    let lazy = s.script.flag("lazy");
    s.offline(&[])
        .run()
        .code(3)
        .says(&["by SQL", "did not stop the server", "equal:"]);
    s.equal("lazy");
    drop(lazy);
    // The server does not start with the new files, but with its original ones.
    let done = s.meanwhile("all files are in their places#1", || {
        let dead = s.script.path("dead");
        std::fs::write(&dead, "").expect("written");
        let calls_file = s.script.path("calls");
        let calls = move || {
            std::fs::read_to_string(&calls_file)
                .unwrap_or_default()
                .lines()
                .count()
        };
        let before = calls();
        std::thread::spawn(move || {
            // Two calls fail, start and restart; by then the original files are back.
            while calls() < before + 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_secs(1));
            let _ = std::fs::remove_file(dead);
        });
    });
    done.code(3)
        .says(&["did not start with the tablespaces", "loaded by SQL"]);
    s.equal("the files were not taken");
    // The server does not start at all. Once it does, the load resumes.
    let done = s.meanwhile("all files are in their places#1", || {
        std::fs::write(s.script.path("dead"), "").expect("written");
    });
    done.code(6).says(&["THE SERVER IS DOWN", "it is dead"]);
    assert_eq!(s.restart_notices(), 1);
    Tool::new(["doctor"])
        .env("PENSTOCK_STATE", s.directory.path().join("state"))
        .run()
        .says(&[
            "the server itself",
            "stopped",
            "penstock doctor --revert --socket",
        ]);
    std::fs::remove_file(s.script.path("dead")).expect("removed");
    s.load(&["--resume"])
        .run()
        .ok()
        .says(&["is started again", "equal:"]);
    s.equal("dead for a while");
}

both!(no_other_process_starts_the_stopped_server; Scene::with_three_tables);
fn no_other_process_starts_the_stopped_server(s: &mut Scene) {
    // The server cannot be started from outside, and no other penstock process starts it.
    let done = s.meanwhile("the server is stopped#1", || {
        s.load(&["--import-mode", "sql"])
            .run()
            .code(11)
            .says(&["another penstock process has stopped this server"]);
        s.script.run("start");
        std::thread::sleep(Duration::from_millis(300));
        assert!(s.target.conn().is_err(), "the server came up");
    });
    done.ok().says(&["equal:"]);
    s.equal("started meanwhile");
    // The same where the server runs and the load has no session on it.
    for failpoint in ["the load has left the server#1", "the server is up again#1"] {
        let done = s.meanwhile(failpoint, || {
            for more in [&["--resume"][..], &[]] {
                s.offline(more)
                    .run()
                    .code(11)
                    .says(&["another penstock process has stopped this server"]);
            }
        });
        done.ok().says(&["equal:"]);
        s.equal(failpoint);
    }
}

both!(interrupted_while_the_server_is_stopped; Scene::with_three_tables);
fn interrupted_while_the_server_is_stopped(s: &mut Scene) {
    // A single Ctrl-C does not end it.
    s.empty();
    let run = s
        .offline(&[])
        .env("PENSTOCK_STOP_AT", "the server is stopped#1")
        .start();
    run.until_stopped();
    run.signal(Signal::INT);
    run.signal(Signal::CONT);
    std::thread::sleep(Duration::from_millis(50));
    run.signal(Signal::INT);
    run.wait()
        .code(9)
        .says(&["the server is stopped, and started first"]);
    s.up();
    assert_eq!(s.restart_notices(), 0);
    s.load(&["--resume", "--import-mode", "tablespace"])
        .run()
        .ok()
        .says(&["as tablespaces", "equal:"]);
    s.equal("Ctrl-C, twice");
    // A server that has written nothing since its last checkpoint accepts tablespaces too.
    s.empty();
    if !s.pair.is_mysql() {
        // Purge of the dropped tables continues for a while.
        let lsn = || {
            s.target
                .client("SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'")
                .expect("a number")
        };
        let mut before = Vec::new();
        while before != lsn() {
            s.target
                .client("SET GLOBAL innodb_log_checkpoint_now = 1")
                .expect("a checkpoint");
            before = lsn();
            std::thread::sleep(Duration::from_secs(2));
        }
    }
    s.load(&["--import-mode", "tablespace"])
        .run()
        .ok()
        .says(&["as tablespaces", "equal:"]);
    s.equal("idle");
    // Tables that differ are loaded again by SQL; all rows are read from the server here, not only a sample.
    let sql = &["--verify", "sql"];
    let done = s.meanwhile_with(sql, "a file is entered#1", || {
        for change in [
            "f.a SET v = 'other' WHERE id = 77",
            "f.b SET v = 'other' WHERE id = 77",
            "f.c SET v = 'other' WHERE id = 77",
            "`a-f`.x SET id = 2",
        ] {
            let _ = s.target.client(&format!("UPDATE {change}"));
        }
    });
    done.code(3)
        .says(&["the imported table differs", "dropped and loaded by SQL"]);
    s.equal("rows that differ");
    assert!(leftovers(&s.target).is_empty());
}

#[test]
fn contradictory_options_are_refused() {
    let load = |more: &[&str]| {
        let tool = Tool::new(["load", "/nonexistent", "--socket", "/nonexistent"]);
        tool.args(more.iter().copied()).run().code(2)
    };
    load(&["--import-mode", "offline", "--server-command", " "]).says(&["is empty"]);
    load(&["--import-mode", "offline"]).says(&["--server-command is required", "--server-command"]);
    load(&[
        "--import-mode",
        "offline",
        "--server-command",
        "x",
        "--tune=max",
    ])
    .says(&["forgets what --tune=max sets"]);
    load(&[
        "--import-mode",
        "offline",
        "--server-command",
        "x",
        "--server-config",
        "/tmp",
    ])
    .says(&["--import-mode offline changes none"]);
    load(&["--server-command", "x"]).says(&["only --tune=max and --import-mode offline may do"]);
    load(&["--tune=max", "--server-command", "x"]).says(&["--server-config"]);
}
