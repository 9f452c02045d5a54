//! A data directory that penstock initializes, loads into and shuts down. It is as good as any
//! other server's, whatever happens on the way, and files that penstock did not create are never
//! removed.

use crate::kit::fixtures::{all_tables, three_tables};
use crate::kit::imported::{equal, names};
use crate::kit::{Done, Pair, Tool, both, same};
use std::path::{Path, PathBuf};
use testkit::{Install, Server, Setup};

/// An archive, and where the data directory is to be.
struct Scene<'a> {
    pair: &'a Pair,
    program: PathBuf,
    directory: PathBuf,
}

impl<'a> Scene<'a> {
    fn new(pair: &'a Pair) -> Scene<'a> {
        let install = Install::find(pair.kind).expect("a server");
        Scene {
            pair,
            program: install
                .one_program(&pair.path("mysqld"))
                .expect("a program"),
            directory: pair.path("d"),
        }
    }

    fn load(&self, more: &[&str]) -> Tool {
        Tool::new(["load"])
            .arg(self.pair.path("a"))
            .arg("--datadir")
            .arg(&self.directory)
            .arg("--mysqld")
            .arg(&self.program)
            .args(["--threads", "2"])
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", self.pair.path("state"))
    }

    /// A server on that data directory, as an operator would start it.
    fn serve(&self) -> Server {
        let setup = Setup::new(self.pair.kind).expect("a set-up");
        let args: &[&str] = match self.pair.is_mysql() {
            true => &["--innodb-redo-log-capacity=128M"],
            false => &[],
        };
        let server = setup
            .args(args.iter().copied())
            .over(&self.directory)
            .start();
        server.expect("a server on the directory")
    }

    /// No files of the load are left in the directory, and no process runs on it.
    #[track_caller]
    fn nothing_is_left(&self) {
        let of_ours = listed(&self.directory)
            .into_iter()
            .filter(|n| n.contains("penstock") || n.starts_with("stopped"))
            .collect::<Vec<_>>();
        assert!(of_ours.is_empty(), "{of_ours:?}");
        assert_eq!(processes(&self.directory), 0);
    }
}

/// Accounts without a password.
const OPEN_ROOTS: &str =
    "SELECT COUNT(*) FROM mysql.user WHERE user = 'root' AND authentication_string = ''";

fn listed(directory: &Path) -> Vec<String> {
    let list = std::fs::read_dir(directory).expect("a directory");
    list.flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Processes with the directory in their command line.
fn processes(directory: &Path) -> usize {
    let wanted = format!("--datadir={}", directory.display());
    let list = std::fs::read_dir("/proc").expect("processes").flatten();
    list.filter_map(|e| std::fs::read(e.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(&wanted))
        .count()
}

both!(initialized_loaded_and_shut_down);
fn initialized_loaded_and_shut_down(pair: &Pair) {
    all_tables(pair);
    pair.dump("a", &["--chunk-size", "256k"]).code(3);
    let scene = Scene::new(pair);
    let done = scene
        .load(&["--json", "--import-mode", "offline"])
        .env("PENSTOCK_PASSWORD", "it's \"0d\\d\"")
        .run()
        .ok();
    assert!(!done.said().contains("0d\\d"), "{}", done.said());
    let summary = done.summary();
    let files = names(&summary["import"]["tables"]);
    assert!(
        files.contains(&"`f`.`keyed`".to_owned()) && files.len() > 12,
        "{files:?}"
    );
    assert!(
        summary["import"]["downtime_seconds"]
            .as_f64()
            .is_some_and(|d| d > 0.0)
    );
    assert_eq!(
        summary["datadir"]["directory"],
        scene.directory.display().to_string()
    );
    assert_eq!(summary["datadir"]["root_has_password"], true);
    let seconds = |of: &serde_json::Value| of.as_f64().expect("seconds");
    let parts = seconds(&summary["datadir"]["made"]) + seconds(&summary["rows_duration"]);
    assert!(seconds(&summary["duration"]) >= parts, "{summary:#}");
    assert_eq!(
        summary["tables"].as_u64(),
        summary["verified"]["tables"].as_u64()
    );
    scene.nothing_is_left();
    let kind = pair.kind;
    // No login works without the password; the test uses `--skip-grant-tables`.
    let server = Setup::new(kind)
        .expect("a set-up")
        .args(["--skip-grant-tables"])
        .over(&scene.directory)
        .start()
        .expect("a server");
    assert_eq!(server.value(OPEN_ROOTS).expect("a count"), "0");
    equal(pair, &server, "loaded");
    assert_eq!(
        same::definitions(pair.source(), "f"),
        same::definitions(&server, "f")
    );
}

both!(killed_and_resumed);
fn killed_and_resumed(pair: &Pair) {
    three_tables(pair);
    let scene = Scene::new(pair);
    let import: &[&str] = &["--import-mode", "offline"];
    let again: &[&str] = &["--import-mode", "offline", "--resume"];
    // Each run resumes where the one before was killed.
    for (failpoint, more) in [
        ("a data folder is marked#1", import),
        ("a data folder is initialised#1", again),
        ("a file is built#2", again),
        ("a file is in its place#2", again),
        ("a file is entered#2", again),
    ] {
        scene
            .load(more)
            .env("PENSTOCK_KILL_AT", failpoint)
            .run()
            .code(137);
        let done = scene
            .load(import)
            .run()
            .code(10)
            .says(&["was interrupted", "--resume"]);
        assert!(
            !done.said().contains("penstock_load_journal"),
            "{}",
            done.said()
        );
        // A file that was put into the unfinished directory by someone else is kept.
        std::fs::write(scene.directory.join("mine"), "x").expect("written");
    }
    // A run that fails shuts its server down.
    let chunk = listed(&pair.path("a"))
        .into_iter()
        .find(|n| n.starts_with("f@r@@"))
        .expect("a chunk");
    let chunk = pair.path("a").join(chunk);
    let whole = std::fs::read(&chunk).expect("bytes");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    std::fs::write(&chunk, damaged).expect("written");
    scene
        .load(again)
        .run()
        .code(5)
        .says(&["is shut down", "--resume continues"]);
    assert_eq!(processes(&scene.directory), 0);
    std::fs::write(&chunk, whole).expect("written");
    // After the last step nothing is left to do, as the server's rows show.
    scene
        .load(again)
        .env("PENSTOCK_KILL_AT", "the journal is gone#1")
        .run()
        .code(137);
    let end = "all is there on a server of the load's own#1";
    scene
        .load(again)
        .env("PENSTOCK_KILL_AT", end)
        .run()
        .code(137)
        .says(&["had already completed"]);
    // This says nothing about another load.
    scene
        .load(&[
            "--import-mode",
            "offline",
            "--resume",
            "--exclude-tables",
            "f.r",
        ])
        .run()
        .code(10)
        .says(&["already holds"]);
    scene
        .load(again)
        .env("PENSTOCK_KILL_AT", "a mark is gone#1")
        .run()
        .code(137)
        .says(&["had already completed"]);
    scene.load(again).run().code(10).says(&[
        "is not empty",
        "ready for your server",
        ".penstock-load",
    ]);
    std::fs::remove_dir_all(scene.directory.join(".penstock-load")).expect("removed");
    scene.nothing_is_left();
    assert_eq!(
        std::fs::read(scene.directory.join("mine")).expect("a file"),
        b"x"
    );
    let server = scene.serve();
    equal(pair, &server, "loaded");
    // From here on the data directory belongs to its user.
    drop(server);
}

both!(a_damaged_archive_leaves_no_data_directory);
fn a_damaged_archive_leaves_no_data_directory(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE f; CREATE TABLE f.t (id INT PRIMARY KEY); INSERT INTO f.t VALUES (1)",
    );
    pair.dump("a", &[]).ok();
    let chunk = listed(&pair.path("a"))
        .into_iter()
        .find(|n| n.starts_with("f@t@@"))
        .expect("a chunk");
    std::fs::write(pair.path("a").join(chunk), "2\n").expect("written");
    let scene = Scene::new(pair);
    scene
        .load(&[])
        .run()
        .code(5)
        .says(&["nothing was loaded", "f@t@@"]);
    assert!(!scene.directory.exists());
    std::fs::create_dir(&scene.directory).expect("a directory");
    scene.load(&[]).run().code(5);
    assert_eq!(listed(&scene.directory), [""; 0]);
    assert_eq!(processes(&scene.directory), 0);
}

both!(directories_with_other_files_are_left_alone);
fn directories_with_other_files_are_left_alone(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE f; CREATE TABLE f.t (id INT PRIMARY KEY, v VARCHAR(200), KEY v (v)); \
        INSERT INTO f.t VALUES (1, 'a'), (2, 'b'); CREATE VIEW f.w AS SELECT id FROM f.t; \
        CREATE TABLE f.`Été` (id INT PRIMARY KEY); INSERT INTO f.`Été` VALUES (7); \
        CREATE DATABASE `CapÉ`; CREATE TABLE `CapÉ`.Tab (id INT PRIMARY KEY, KEY down (id DESC)); \
        INSERT INTO `CapÉ`.Tab VALUES (8)",
    );
    pair.dump("a", &[]).ok();
    let scene = Scene::new(pair);
    let refused =
        |tool: Tool, code: i32, text: &str| -> Done { tool.run().code(code).says(&[text]) };
    std::fs::create_dir(&scene.directory).expect("a directory");
    std::fs::write(scene.directory.join("precious"), "x").expect("written");
    refused(scene.load(&[]), 10, "is not empty");
    refused(scene.load(&["--resume"]), 10, "is not empty");
    assert_eq!(listed(&scene.directory), ["precious"]);
    std::fs::remove_file(scene.directory.join("precious")).expect("removed");
    // What can be checked beforehand is refused before anything is created.
    refused(
        scene.load(&["--mysqld", "/bin/true"]),
        2,
        "cannot be used multiple times",
    );
    let other = |program: &str| {
        Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("--datadir")
            .arg(&scene.directory)
            .args(["--mysqld", program])
    };
    refused(other("/bin/true"), 2, "is not a server");
    refused(other("/nonexistent/mysqld"), 2, "is not a server");
    refused(
        scene.load(&["--mysqld-option", "log_bin=/somewhere/else"]),
        2,
        "log_bin cannot be set here",
    );
    refused(scene.load(&["--include-schemas", "none"]), 2, "none");
    assert!(listed(&scene.directory).is_empty());
    // A server that cannot be initialized leaves nothing.
    refused(
        scene.load(&["--mysqld-option", "innodb_no_such_setting=1"]),
        10,
        "no_such_setting",
    );
    assert!(listed(&scene.directory).is_empty());
    // Options that a data directory is initialized with are the user's choice; an empty password
    // counts as none.
    let lower = scene
        .load(&["--mysqld-option", "lower_case_table_names=1"])
        .env("PENSTOCK_PASSWORD", "")
        .run()
        .ok();
    lower.says(&[
        "HAS NO PASSWORD",
        "equal:",
        "its temporary server is shut down",
        "schema `CapÉ` becomes `capé`: the target stores names in small letters",
        "table `f`.`Été` becomes `f`.`été`",
    ]);
    // An unreadable state file is no reason to start again in a directory that is not empty.
    let private = scene.directory.join(".penstock-load");
    std::fs::create_dir(&private).expect("a directory");
    std::fs::write(private.join("state"), "").expect("written");
    let before = listed(&scene.directory);
    refused(scene.load(&["--resume"]), 10, "is damaged");
    assert_eq!(listed(&scene.directory), before);
    std::fs::remove_dir_all(&private).expect("removed");
    scene.nothing_is_left();
    let setup = Setup::new(pair.kind)
        .expect("a set-up")
        .args(["--lower-case-table-names=1"]);
    let server = setup.over(&scene.directory).start().expect("a server");
    assert_ne!(server.value(OPEN_ROOTS).expect("a count"), "0");
    assert_eq!(
        server
            .value("SELECT GROUP_CONCAT(v ORDER BY id) FROM F.T JOIN f.w USING (id)")
            .expect("rows"),
        "a,b"
    );
    assert_eq!(server.value("SELECT id FROM f.`été`").expect("rows"), "7");
    assert_eq!(
        server.value("SELECT id FROM `capé`.tab").expect("rows"),
        "8"
    );
    let load = || {
        Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("--socket")
            .arg(server.socket())
            .args(["--user", "root", "--allow-same-server"])
    };
    load().run().code(10).says(&["already holds"]);
    load()
        .args(["--include-tables", "CapÉ.*"])
        .run()
        .code(10)
        .says(&["already holds"]);
    Tool::new(["verify"])
        .arg(pair.path("a"))
        .arg("--socket")
        .arg(server.socket())
        .args(["--user", "root"])
        .run()
        .ok();
    // Two servers that differ in the case of names.
    let verify = Tool::new([
        "verify",
        "--server",
        &pair.source().uri(),
        "--server",
        &server.uri(),
        "--include-schemas",
        "f,CapÉ",
    ]);
    verify.run().ok();
}

#[test]
fn contradictory_options_are_refused() {
    let load = |more: &[&str]| {
        let tool = Tool::new(["load", "/nonexistent", "--datadir", "/nonexistent/d"]);
        tool.args(more.iter().copied()).run().code(2)
    };
    load(&["--tune=max"]).says(&["leave it out"]);
    load(&["--socket", "/x"]).says(&["cannot be used with"]);
    load(&["--into", "mysql://h/"]).says(&["cannot be used with"]);
    load(&["--server-command", "x"]).says(&["cannot be used with"]);
    Tool::new(["load", "/nonexistent", "--mysqld", "x"])
        .run()
        .code(2)
        .says(&["--datadir"]);
}

both!(a_script_load_killed_after_its_last_step_is_complete);
fn a_script_load_killed_after_its_last_step_is_complete(pair: &Pair) {
    let script = "CREATE DATABASE f;\nUSE f;\nCREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)) \
        ENGINE=InnoDB;\nINSERT INTO t VALUES (1, 'a'), \
        (2, 'b');\n-- Dump completed on 2026-11-23\n";
    std::fs::write(pair.path("a"), script).expect("written");
    let scene = Scene::new(pair);
    scene
        .load(&[])
        .env("PENSTOCK_KILL_AT", "the journal is gone#1")
        .run()
        .code(137);
    // The load of another script has not finished.
    std::fs::write(pair.path("a"), script.replace("'b'", "'c'")).expect("written");
    scene
        .load(&["--resume"])
        .run()
        .code(10)
        .says(&["already holds", "`f`.`t`"]);
    std::fs::write(pair.path("a"), script).expect("written");
    scene.load(&["--resume"]).run().ok().says(&[
        "nothing to do: the interrupted load had already completed",
        "counted",
        "start your service on it",
    ]);
    scene.nothing_is_left();
    let server = scene.serve();
    assert_eq!(
        server
            .value("SELECT GROUP_CONCAT(id, v ORDER BY id) FROM f.t")
            .expect("rows"),
        "1a,2b"
    );
}
