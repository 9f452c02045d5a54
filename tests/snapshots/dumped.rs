//! `penstock dump --from-snapshot`: one command takes a snapshot, dumps its files, and leaves neither snapshot nor lock behind.

use super::scene::{Scene, Writes, nothing_locked};
use crate::kit::{Tool, apply_log, each_kind, few, own_server, thorough};
use serde_json::Value;
use std::path::Path;
use testkit::{Kind, Server};

impl Scene {
    /// A dump of a snapshot.
    pub fn dump(&self, method: &str, more: &[&str]) -> Tool {
        self.tool(&["dump", "--json", "--from-snapshot", method])
            .arg(self.server.uri())
            .args(["--to".into(), self.path("to")])
            .args(["--mysqld".into(), self.program()])
            .args(more.iter().copied())
    }

    /// What was dumped is loaded, `conditions` hold of it, and the log of the source carries it on to equality.
    #[track_caller]
    pub fn is_of_its_moment(&self, dumped: &Value, sums: &str, conditions: impl Fn(&Server)) {
        let args = ["--server-id=73", "--skip-log-bin"];
        let target = own_server(self.kind, &args).expect("a server");
        let load = self.tool(&["load", "--quiet"]).arg(self.path("to"));
        load.args(["--into", &target.uri(), "--analyze"]).run().ok();
        conditions(&target);
        let file = dumped["binlog_file"].as_str().expect("a file");
        let at = dumped["binlog_position"].as_u64().expect("a position");
        apply_log(self.kind, &self.server, &target, (file, at));
        let of = |server: &Server| server.client(sums).expect("sums");
        assert_eq!(of(&target), of(&self.server));
        self.nothing_left(&["to"]);
        std::fs::remove_dir_all(self.path("to")).expect("removed");
    }
}

const SUMS: &str = "CHECKSUM TABLE shop.t, shop.account, shop.w";

fn under_writes(scene: &mut Scene, method: &str) {
    scene.fill();
    for _ in 0..if thorough() { 10 } else { 1 } {
        let writes = Writes::begin(&scene.server);
        writes.until_they_move();
        let done = scene.dump(method, &["--schemas", "shop"]).run().ok();
        writes.until_they_move();
        writes.end();
        let dumped = done.summary();
        assert_eq!(dumped["tables_from_files"], 2, "{dumped}");
        let said = dumped["consistency"].as_str().unwrap_or_default();
        assert!(said.contains("a snapshot of the files"), "{said}");
        scene.is_of_its_moment(&dumped, SUMS, |target| {
            let sum = target.value("SELECT SUM(amount) FROM shop.account");
            assert_eq!(sum.expect("a sum"), "6000");
        });
    }
}

each_kind!(files_that_are_cloned_are_dumped; mysql, mariadb);
fn files_that_are_cloned_are_dumped(kind: Kind) {
    if let Some(mut scene) = Scene::on("xfs", kind, false) {
        under_writes(&mut scene, "reflink");
    }
}

each_kind!(a_copy_that_shares_nothing_outlives_its_snapshot; mysql, mariadb);
/// As with LVM: the snapshot is gone before rows are read.
fn a_copy_that_shares_nothing_outlives_its_snapshot(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    let writes = Writes::begin(&scene.server);
    writes.until_they_move();
    let elsewhere = scene.path("scratch");
    std::fs::create_dir(&elsewhere).expect("a directory");
    let elsewhere = elsewhere.to_str().expect("a path");
    let run = scene
        .dump("reflink", &["--schemas", "shop", "--scratch", elsewhere])
        .env("PENSTOCK_STOP_AT", "the catalog is read#1")
        .start();
    run.until_stopped();
    let tool = scene.tool(&["snapshot", "list", "--json"]);
    assert_eq!(
        tool.run().ok().summary()["snapshots"],
        serde_json::json!([])
    );
    writes.until_they_move();
    writes.end();
    run.signal(rustix::process::Signal::CONT);
    let dumped = run.wait().ok().summary();
    scene.is_of_its_moment(&dumped, SUMS, |_| {});
    assert_eq!(
        std::fs::read_dir(elsewhere).expect("a directory").count(),
        0
    );
    // What a killed one left there is found, although the snapshot is gone and nobody names the place.
    let killed = scene
        .dump("reflink", &["--schemas", "shop", "--scratch", elsewhere])
        .env("PENSTOCK_KILL_AT", "the catalog is read#1");
    killed.run().code(137);
    let left = || std::fs::read_dir(elsewhere).expect("a directory").count();
    assert_eq!(left(), 1);
    scene.tool(&["snapshot", "clean"]).run().ok();
    assert_eq!(left(), 0);
    scene.nothing_left(&[]);
    // Nothing is written into the directory of the server.
    let within = scene.server.datadir().join("new");
    scene
        .tool(&["dump", "--from-snapshot", "reflink"])
        .args([scene.server.uri(), "--to".to_owned()])
        .arg(&within)
        .run()
        .code(10)
        .says(&["is in the data directory of a server"]);
    assert!(!within.exists());
}

each_kind!(a_subvolume_is_dumped; mysql, mariadb);
fn a_subvolume_is_dumped(kind: Kind) {
    if let Some(mut scene) = Scene::on("btrfs", kind, true) {
        under_writes(&mut scene, "btrfs");
    }
}

/// Root without the capability to mount is not enough, and is told so before the snapshot is made.
#[test]
fn who_could_not_remove_it_takes_none() {
    let Some(mut scene) = Scene::on("btrfs", Kind::MariaDb, true) else {
        return;
    };
    scene.fill();
    let out = std::process::Command::new("setpriv")
        .arg("--bounding-set=-sys_admin")
        .arg(crate::kit::binary::path())
        .args(["snapshot", "take", "--method", "btrfs", "--no-defaults"])
        .args([scene.server.uri(), "--to".to_owned()])
        .arg(scene.path("to"))
        .env("PENSTOCK_STATE", scene.path("state"))
        .output()
        .expect("a program");
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(7), "{said}");
    assert!(said.contains("--method btrfs needs root"), "{said}");
    nothing_locked(&scene.server);
    scene.nothing_left(&[]);
    scene.take("btrfs", "to", &[]).run().ok();
}

each_kind!(the_archive_is_of_the_server_that_runs; mysql, mariadb);
fn the_archive_is_of_the_server_that_runs(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    scene.dump("reflink", &["--schemas", "shop"]).run().ok();
    let manifest = std::fs::read(scene.path("to").join("penstock.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let of = &manifest["source"];
    let socket = scene.server.socket().display().to_string();
    assert_eq!(of["socket"], socket.as_str(), "{of}");
    if kind == Kind::MySql {
        let uuid = scene.server.value("SELECT @@server_uuid").expect("a name");
        assert_eq!(of["uuid"], uuid.as_str());
    }
    let port = scene.server.port().expect("a port");
    assert_eq!(of["port"], u64::from(port));
    scene
        .tool(&["verify"])
        .arg(scene.path("to"))
        .args(["--against", &scene.server.uri()])
        .run()
        .ok();
}

each_kind!(a_killed_dump_leaves_what_clean_removes; mysql, mariadb);
/// Nothing is left that `clean` does not find.
fn a_killed_dump_leaves_what_clean_removes(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    let all = [
        "a snapshot is recorded#1",
        "commits are locked#1",
        "a snapshot is made#1",
        "a snapshot is mounted#1",
        "the catalog is read#1",
        "a task is taken#1",
        "the manifest is written#1",
        "a snapshot is about to be removed#1",
    ];
    for place in few(kind, 3, &all) {
        let tool = scene.dump("reflink", &[]).env("PENSTOCK_KILL_AT", place);
        let killed = tool.run();
        assert_eq!(killed.code, 137, "{place}: {}", killed.said());
        nothing_locked(&scene.server);
        scene.tool(&["snapshot", "clean"]).run().ok();
        let _ = std::fs::remove_dir_all(scene.path("to"));
        // The next one removes the copy of the files, and ends the server on it.
        scene.dump("reflink", &[]).run().ok();
        scene.nothing_left(&["to"]);
        let beside = scene.server.datadir();
        let beside = beside.parent().expect("a parent");
        let names = std::fs::read_dir(beside).expect("a directory").flatten();
        for entry in names {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with("penstock-files-"), "{place}: {name}");
        }
        std::fs::remove_dir_all(scene.path("to")).expect("removed");
    }
}

each_kind!(what_is_in_no_file_is_named; mysql, mariadb);
/// And expressions give what they give on the server.
fn what_is_in_no_file_is_named(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    // MariaDB has no such columns.
    let week = if kind == Kind::MySql {
        "WEEK(d)"
    } else {
        "YEAR(d)"
    };
    let script = format!(
        "SET GLOBAL default_week_format = 3; SET SESSION default_week_format = 3; \
        CREATE TABLE shop.m (id INT PRIMARY KEY) ENGINE=MEMORY; INSERT INTO shop.m VALUES (1); \
        CREATE TABLE shop.weeks (id INT PRIMARY KEY, d DATE, w INT AS ({week}) STORED); \
        INSERT INTO shop.weeks (id, d) VALUES (1, '2021-01-01'), (2, '2022-01-02'), (3, '2024-12-30');"
    );
    scene.server.script(script.as_bytes()).expect("tables");
    let event = "CREATE EVENT shop.e ON SCHEDULE EVERY 1 DAY DO DO 1";
    scene.server.client(event).expect("an event");
    let done = scene.dump("reflink", &["--schemas", "shop"]).run().code(3);
    let done = done.says(&["table `shop`.`m` uses MEMORY"]);
    let exceptions = done.summary()["exceptions"].clone();
    assert_eq!(exceptions.as_array().map(Vec::len), Some(1), "{exceptions}");
    let target = own_server(kind, &["--server-id=73"]).expect("a server");
    let load = scene.tool(&["load"]).arg(scene.path("to"));
    load.args(["--into", &target.uri()]).run().ok();
    let weeks = "SELECT GROUP_CONCAT(w ORDER BY id) FROM shop.weeks";
    let of = |server: &Server| server.value(weeks).expect("weeks");
    assert_eq!(of(&target), of(&scene.server));
    let events = "SELECT GROUP_CONCAT(event_name) FROM information_schema.events WHERE event_schema = 'shop'";
    assert_eq!(target.value(events).expect("events"), "e");
}

#[test]
fn a_file_that_lies_elsewhere_is_refused() {
    let Some(mut scene) = Scene::on("btrfs", Kind::MariaDb, true) else {
        return;
    };
    scene.fill();
    scene.server.stop().expect("it stops");
    let schema = scene.server.datadir().join("shop");
    let elsewhere = scene.path("elsewhere");
    let program = |name: &str, arguments: &[&Path]| {
        let mut command = std::process::Command::new(name);
        let status = command.args(arguments).status().expect("a program");
        assert!(status.success(), "{name} {arguments:?}");
    };
    program("mv", &[&schema, &elsewhere]);
    std::os::unix::fs::symlink(&elsewhere, &schema).expect("a link");
    scene.server.restart().expect("it starts");
    scene.dump("btrfs", &[]).run().code(10).says(&["shop"]);
    nothing_locked(&scene.server);
    scene.nothing_left(&[]);
    // A subvolume, and a directory that is mounted there: in a snapshot both are empty.
    std::fs::remove_file(&schema).expect("no link");
    std::fs::create_dir(&schema).expect("a directory");
    program("mount", &[Path::new("--bind"), &elsewhere, &schema]);
    let dumped = scene.dump("btrfs", &[]).run();
    let taken = scene.take("btrfs", "stored", &[]).run();
    program("umount", &[Path::new("--lazy"), &schema]);
    for done in [dumped, taken] {
        done.code(10).says(&["shop", "is mounted there"]);
    }
    std::fs::remove_dir(&schema).expect("unmounted");
    program(
        "btrfs",
        &[Path::new("subvolume"), Path::new("create"), &schema],
    );
    let done = scene.dump("btrfs", &[]).run().code(10);
    done.says(&["shop", "another file system or subvolume"]);
    nothing_locked(&scene.server);
    scene.nothing_left(&[]);
}

#[test]
fn what_cannot_be_is_refused() {
    let Some(mut scene) = Scene::anywhere(Kind::MariaDb) else {
        return;
    };
    scene.fill();
    for (more, says) in [
        (&["--at", "/srv"][..], "--from-snapshot METHOD"),
        (&["--keep-free", "7%"], "--from-snapshot METHOD"),
    ] {
        let tool = scene.tool(&["dump", "--to"]).arg(scene.path("to"));
        let tool = tool.arg(scene.server.uri()).args(more.iter().copied());
        tool.run().code(2).says(&[says]);
    }
    for (more, says) in [
        (&["--max-impact", "5%"][..], "--max-impact"),
        (&["--users"], "--users"),
        (&["--consistency", "none"], "--consistency"),
        (&["--datadir", "/srv"], "--datadir"),
        (&["--snapshot-size", "1G"], "--snapshot-size"),
        (&["--dry-run"], "cannot be used with"),
        (&["--where", "shop.t=1"], "cannot be used with"),
    ] {
        scene.dump("reflink", more).run().code(2).says(&[says]);
    }
    for method in ["clone", "copy"] {
        let done = scene.dump(method, &[]).run().code(2);
        done.says(&["snapshot take --keep"]);
    }
    let done = scene.dump("lv", &[]).run().code(2);
    done.says(&["reflink, btrfs, lvm, lvm-thin, zfs]"]);
    // This file system shares no blocks; and a place that is taken is refused before anything is locked.
    std::fs::create_dir(scene.path("to")).expect("a directory");
    std::fs::write(scene.path("to").join("file"), "").expect("a file");
    scene
        .dump("reflink", &[])
        .run()
        .code(10)
        .says(&["is not empty"]);
    nothing_locked(&scene.server);
}
