//! Dumps from the files of a replica that runs: the same archive as by SQL, the applier stands still and goes on, and nothing
//! of that fails quietly.

use super::{By, Scene, Writes};
use crate::kit::waiting::until;
use crate::kit::{Tool, each_kind};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use testkit::Kind;

/// A replica with all kinds of rows, which has everything.
fn scene(kind: Kind, fill: &str) -> Option<Scene> {
    let scene = Scene::new(kind, By::Gtid)?;
    scene.create(&["--no-verify"]).ok();
    // The last row comes after all of it.
    let all = format!("{fill}; INSERT INTO shop.t (n, v) VALUES (1, 'last')");
    scene.source.script(all.as_bytes()).expect("data");
    scene.until_equal();
    Some(scene)
}

impl Scene {
    fn dump_files(&self, name: &str, more: &[&str]) -> Tool {
        self.dump_replica(name, more).arg("--from-replica-files")
    }

    fn dump_replica(&self, name: &str, more: &[&str]) -> Tool {
        Tool::new(["dump", "--json", "--chunk-size", "64k"])
            .arg(self.new.uri())
            .arg("--to")
            .arg(self.directory.path().join(name))
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", self.state())
    }

    fn applies(&self) -> bool {
        self.status()["channels"][0]["applies"] == true
    }

    fn manifest(&self, name: &str) -> Value {
        let path = self.directory.path().join(name).join("penstock.json");
        serde_json::from_slice(&std::fs::read(path).expect("a manifest")).expect("JSON")
    }
}

/// Rows and digests by table.
fn digests(manifest: &Value) -> BTreeMap<String, (u64, String)> {
    let tables = manifest["tables"].as_array().expect("tables");
    let one = |t: &Value| {
        let text = |key: &str| t[key].as_str().expect("a text").to_owned();
        let name = format!("{}.{}", text("schema"), text("table"));
        (
            name,
            (t["rows"].as_u64().expect("rows"), text("row_digest")),
        )
    };
    tables.iter().map(one).collect()
}

/// Files of a data directory whose name ends so.
fn with_ending(directory: &Path, ending: &str) -> usize {
    let mut n = 0;
    for schema in std::fs::read_dir(directory).expect("a directory").flatten() {
        let files = std::fs::read_dir(schema.path());
        let names = files.into_iter().flatten().flatten().map(|f| f.file_name());
        n += names
            .filter(|f| f.to_string_lossy().ends_with(ending))
            .count();
    }
    n
}

each_kind!(the_archive_is_that_of_sql; mysql, mariadb, mariadb118);
fn the_archive_is_that_of_sql(kind: Kind) {
    let Some(scene) = scene(kind, crate::from_files::HISTORY) else {
        return;
    };
    // An event of the source adds rows.
    let calm = "SET GLOBAL event_scheduler = OFF; DO SLEEP(1.1); INSERT INTO shop.t (n, v) VALUES (2, 'calm')";
    scene.source.script(calm.as_bytes()).expect("no events");
    scene.until_equal();
    scene.dump_replica("sql", &[]).run().code(3);
    let running = scene
        .dump_files("files", &[])
        .env("PENSTOCK_STOP_AT", "the tables are locked#1")
        .start();
    running.until_stopped();
    assert!(!scene.applies());
    // What the source does meanwhile waits.
    let later = "DELETE FROM h.changed WHERE id % 5 = 0; INSERT INTO shop.t (n, v) VALUES (9, 'later'); DROP TABLE h.nothing;";
    scene.source.script(later.as_bytes()).expect("writes");
    running.signal(Signal::CONT);
    let done = running.wait().code(3);
    let summary = done.json().pop().unwrap_or_default();
    // What is not in a file of its own, or not read here, is read by SQL.
    let by_sql = summary["read_by_sql"].to_string();
    assert!(
        by_sql.contains("packed") && by_sql.contains("engine MyISAM"),
        "{by_sql}"
    );
    assert!(
        !by_sql.contains("changed") && !by_sql.contains("words"),
        "{by_sql}"
    );
    let (files, sql) = (scene.manifest("files"), scene.manifest("sql"));
    assert_eq!(digests(&files), digests(&sql));
    // The place in the source's log is the same, and so are the transactions.
    let own = match kind {
        Kind::MySql => "gtid_executed",
        _ => "gtid_slave_pos",
    };
    for key in [own, "sources"] {
        let (files, sql) = (&files["position"][key], &sql["position"][key]);
        assert!(!sql.is_null() && files == sql, "{key}: {files} {sql}");
    }
    until("the applier", || scene.applies());
    scene.until_equal();
    until("the table is gone", || {
        let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'h' AND table_name = 'nothing'";
        scene.new.value(tables).is_ok_and(|n| n == "0")
    });
    assert_eq!(with_ending(&scene.new.datadir(), ".cfg"), 0);
    scene.on("verify", &[]).run().ok().says(&["Equal"]);
}

/// While the source is written to: what is dumped is of one moment, and that of the position.
fn it_is_of_one_moment(kind: Kind) {
    let Some(scene) = scene(kind, "DO 0") else {
        return;
    };
    let writes = Writes::begin(&scene.source);
    for n in 0..3 {
        let name = format!("a{n}");
        scene.dump_files(&name, &[]).run().ok();
        assert!(scene.applies());
    }
    writes.end();
    scene.until_equal();
    // As the beginning of a replica it leads to the source's rows, and only from exactly its position.
    scene.abort(&["--drop-data"]).ok();
    let archive = scene.directory.path().join("a2").display().to_string();
    scene
        .create(&["--from-archive", &archive])
        .ok()
        .says(&["equal at one moment"]);
}
each_kind!(it_is_of_one_moment; mysql, mariadb);

/// On every way out the applier goes on; after a kill it is noted that it stands.
fn the_applier_goes_on(kind: Kind) {
    let Some(scene) = scene(kind, "DO 0") else {
        return;
    };
    let stopped_at = |name: &str, place: &str| {
        let tool = scene.dump_files(name, &[]).env("PENSTOCK_STOP_AT", place);
        let running = tool.start();
        running.until_stopped();
        running
    };
    // Interrupted.
    let running = stopped_at("a", "the snapshot is taken#1");
    running.signal(Signal::INT);
    running.signal(Signal::CONT);
    running.wait().code(9);
    assert!(scene.applies());
    // The locks are lost: nobody knows what was read.
    let running = stopped_at("a", "the snapshot is taken#1");
    let list = "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Sleep'";
    assert_ne!(scene.new.value(list).expect("a number"), "0");
    let ids = "SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE command = 'Sleep'";
    let ids = scene.new.value(ids).expect("ids");
    // One of the interrupted dump may end by itself in the meantime.
    for id in ids.split(',') {
        let _ = scene.new.script(format!("KILL {id}").as_bytes());
    }
    running.signal(Signal::CONT);
    running.wait().code(6);
    assert!(scene.applies());
    assert!(!scene.directory.path().join("a").exists());
    // A dump that fails for another reason.
    std::fs::create_dir_all(scene.directory.path().join("b/x")).expect("a directory");
    scene.dump_files("b", &[]).run().code(10);
    assert!(scene.applies());
    // Killed.
    let kill = |name: &str| {
        let tool = scene.dump_files(name, &[]);
        let tool = tool.env("PENSTOCK_KILL_AT", "the tables are locked#1");
        tool.run().code(137);
        assert!(!scene.applies());
    };
    kill("c");
    let doctor = |more: &[&str]| {
        Tool::new(["doctor".to_owned(), scene.new.uri()])
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", scene.state())
            .run()
    };
    doctor(&[]).code(3).says(&["the applier of this replica"]);
    doctor(&["--revert"]).ok().says(&["runs again"]);
    assert!(scene.applies());
    kill("d");
    scene
        .dump_files("e", &[])
        .run()
        .ok()
        .says(&["left stopped by a run that was killed"]);
    assert!(scene.applies());
    // One that the operator has stopped stays so.
    let words = match kind {
        Kind::MySql => "STOP REPLICA SQL_THREAD",
        _ => "STOP SLAVE SQL_THREAD",
    };
    scene.new.client(words).expect("stopped");
    scene.dump_files("f", &[]).run().ok();
    assert!(!scene.applies());
}
each_kind!(the_applier_goes_on; mysql, mariadb);

/// Refused before anything is stopped.
fn what_cannot_be_done_is_refused(kind: Kind) {
    let Some(scene) = scene(kind, "DO 0") else {
        return;
    };
    let source = Tool::new(["dump", "--from-replica-files"])
        .arg(scene.source.uri())
        .arg("--to")
        .arg(scene.directory.path().join("a"))
        .env("PENSTOCK_STATE", scene.state());
    source.run().code(10).says(&["is no replica"]);
    let of_source = scene.source.datadir().display().to_string();
    scene
        .dump_files("a", &["--datadir", "/nonexistent"])
        .run()
        .code(10)
        .says(&["is not a directory here", "--datadir"]);
    // Of MariaDB nothing says whose a directory is, but that the server's files of the lock are in it.
    let other = scene.dump_files("a", &["--datadir", &of_source]).run();
    match kind {
        Kind::MySql => {
            other.code(10).says(&["is of another server"]);
        }
        _ => {
            let summary = other.ok().json().pop().unwrap_or_default();
            assert_eq!(summary["tables_from_files"], 0, "{summary}");
            std::fs::remove_dir_all(scene.directory.path().join("a")).expect("removed");
        }
    }
    for more in [
        &["--consistency", "lock"][..],
        &["--resume"],
        &["--dry-run"],
        &["--ddl-only"],
        &["--where", "shop.t=id > 4"],
    ] {
        scene.dump_files("a", more).run().code(2);
    }
    scene
        .dump_replica("a", &["--datadir", "/srv"])
        .run()
        .code(2);
    // What the account lacks is named in full.
    let grants = "CREATE USER t_files@'%' IDENTIFIED BY ''; GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, LOCK TABLES ON *.* TO t_files@'%';";
    scene.source.script(grants.as_bytes()).expect("an account");
    until("the account", || {
        let there = "SELECT COUNT(*) FROM mysql.user WHERE user = 't_files'";
        scene.new.value(there).is_ok_and(|n| n == "1")
    });
    let admin = match kind {
        Kind::MySql => "REPLICATION_SLAVE_ADMIN",
        _ => "REPLICATION SLAVE ADMIN",
    };
    let uri = scene.new.uri().replace("//root@", "//t_files@");
    Tool::new(["dump", "--from-replica-files", &uri, "--no-users", "--to"])
        .arg(scene.directory.path().join("a"))
        .env("PENSTOCK_STATE", scene.state())
        .run()
        .code(7)
        .says(&["GRANT", admin]);
    assert!(scene.applies());
    assert!(!scene.directory.path().join("a").exists());
}
each_kind!(what_cannot_be_done_is_refused; mysql, mariadb);
