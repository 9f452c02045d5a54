//! A run that is killed leaves no lock, and nothing that `clean` does not find; one that is stopped leaves nothing; a restore
//! that is killed can be repeated.

use super::scene::{Scene, nothing_locked};
use crate::kit::mounted::Mounted;
use crate::kit::{each_kind, few};
use rustix::process::{Pid, Signal, kill_process};
use testkit::Kind;

/// Where a snapshot can be killed.
const TAKING: [&str; 15] = [
    "a place is marked#1",
    "a snapshot is recorded#1",
    "the directory of a snapshot is made#1",
    "a program runs#1",
    "a program runs#2",
    "definitions are locked#1",
    "data files are cloned#1",
    "commits are locked#1",
    "all files are cloned#1",
    "all files are in the snapshot#1",
    "a snapshot is made#1",
    "a piece is written#5",
    "all pieces are written#1",
    "a snapshot is about to be removed#1",
    "a snapshot is removed#1",
];

/// Where a restore can be.
const RESTORING: [&str; 7] = [
    "a data directory is claimed for a restore#1",
    "a piece is restored#5",
    "all files are restored#1",
    "the restored files are recovered#1",
    "restored files are proven#1",
    "restored files are about to move#1",
    "restored files are in their place#1",
];

/// The methods of this kind of server that need nothing but files; the last one is the server's own.
fn methods(kind: Kind) -> [&'static str; 3] {
    match kind {
        Kind::MySql => ["reflink", "btrfs", "clone"],
        _ => ["reflink", "btrfs", "copy"],
    }
}

/// Whether a run of this method comes there.
fn is_reached(method: &str, place: &str) -> bool {
    match place {
        "all files are in the snapshot#1" => method == "btrfs",
        "commits are locked#1" => matches!(method, "btrfs" | "reflink"),
        "definitions are locked#1" | "data files are cloned#1" | "all files are cloned#1" => {
            method == "reflink"
        }
        "a program runs#1" | "a program runs#2" => matches!(method, "btrfs" | "copy"),
        _ => true,
    }
}

each_kind!(what_a_killed_snapshot_left_is_found_and_removed; mysql, mariadb);
fn what_a_killed_snapshot_left_is_found_and_removed(kind: Kind) {
    for method in methods(kind) {
        let Some(scene) = Scene::for_method(method, kind) else {
            continue;
        };
        let places = TAKING.into_iter().filter(|p| is_reached(method, p));
        for place in few(kind, 4, &places.collect::<Vec<_>>()) {
            let killed = scene
                .take(method, "to", &[])
                .env("PENSTOCK_KILL_AT", place)
                .run();
            assert_eq!(killed.code, 137, "{place}: {}", killed.said());
            nothing_locked(&scene.server);
            // What was stored is visibly not complete.
            if scene.path("to").exists() {
                scene.restore("to", "back", &[]).run().code(5);
            }
            scene.tool(&["snapshot", "clean"]).run().ok();
            let _ = std::fs::remove_dir_all(scene.path("to"));
            scene.nothing_left(&[]);
        }
        scene.take(method, "to", &[]).run().ok();
        scene.nothing_left(&["to"]);
    }
}

each_kind!(a_snapshot_without_a_record_is_named_and_removed; mysql, mariadb);
/// As where the state directory was lost.
fn a_snapshot_without_a_record_is_named_and_removed(kind: Kind) {
    for method in ["reflink", "btrfs"] {
        let Some(scene) = Scene::for_method(method, kind) else {
            continue;
        };
        let killed = scene
            .take(method, "to", &[])
            .env("PENSTOCK_KILL_AT", "all pieces are written#1")
            .run();
        killed.code(137);
        let datadir = scene.server.datadir();
        let beside = datadir.parent().expect("a parent").to_owned();
        let is_left = |entry: std::fs::DirEntry| {
            entry.file_type().ok().filter(std::fs::FileType::is_dir)?;
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_prefix("penstock-snapshot-")?.to_owned())
        };
        let left = || {
            let entries = std::fs::read_dir(&beside).expect("a directory").flatten();
            entries.filter_map(is_left).collect::<Vec<_>>()
        };
        let [id] = <[String; 1]>::try_from(left()).expect("one snapshot");
        let clean = |more: &[&str]| {
            let clean = scene.tool(&["snapshot", "clean"]).args(more);
            clean.env("PENSTOCK_STATE", scene.path("other")).run()
        };
        let at = beside.to_str().expect("a path");
        clean(&[]).ok().says(&["0 snapshots removed"]);
        clean(&[&id]).code(2).says(&["there is no snapshot"]);
        let missing = format!("{at}x");
        clean(&["--at", &missing]).code(8).says(&["cannot search"]);
        let named = clean(&["--at", at]).code(3);
        named.says(&[&id, "no record in", "another account's"]);
        let would = clean(&[&id, "--at", at, "--dry-run"]).ok();
        would.says(&["1 snapshot would be removed"]);
        // Somebody reads it.
        let files = beside.join(format!("penstock-snapshot-{id}/data"));
        let open = std::fs::File::open(files.join("ibdata1")).expect("a file");
        // Also by another way to the same directory.
        let link = scene.path("link");
        std::os::unix::fs::symlink(&beside, &link).expect("a link");
        let by_link = link.to_str().expect("a path");
        clean(&[&id, "--at", by_link]).code(3).says(&["open"]);
        drop(open);
        // Neither a link nor a file is one.
        std::os::unix::fs::symlink(
            &datadir,
            beside.join("penstock-snapshot-20261129T075937Z-184c"),
        )
        .expect("a link");
        assert_eq!(left(), std::slice::from_ref(&id));
        clean(&[&id, "--at", at])
            .ok()
            .says(&["1 snapshot removed", "without a record"]);
        std::fs::remove_file(beside.join("penstock-snapshot-20261129T075937Z-184c"))
            .expect("the link is there");
        assert_eq!(left(), [""; 0]);
        // Its record is another's.
        scene.tool(&["snapshot", "clean"]).run().ok();
        let _ = std::fs::remove_dir_all(scene.path("to"));
        scene.nothing_left(&[]);
    }
}

/// mariadb-backup does not notice that the run has gone which began it.
#[test]
fn a_copy_that_outlives_its_run_is_ended() {
    let Some(scene) = Scene::for_method("copy", Kind::MariaDb) else {
        return;
    };
    let take = scene.take("copy", "to", &[]);
    let run = take.env("PENSTOCK_STOP_AT", "a program runs#1").start();
    run.until_stopped();
    // It waits for an answer of the server, however fast the machine is.
    let server = scene.server.pid().and_then(|pid| i32::try_from(pid).ok());
    let server = server.and_then(Pid::from_raw).expect("a server");
    kill_process(server, Signal::STOP).expect("it stops");
    run.signal(Signal::KILL);
    run.wait().code(137);
    let copied = scene.copying();
    let cleaned = scene.tool(&["snapshot", "clean"]).run();
    let left = scene.copying();
    kill_process(server, Signal::CONT).expect("it goes on");
    assert!(copied.is_some(), "it outlives the run");
    cleaned.ok();
    assert_eq!(left, None);
    let _ = std::fs::remove_dir_all(scene.path("to"));
    scene.nothing_left(&[]);
}

each_kind!(a_snapshot_that_is_stopped_leaves_nothing; mysql, mariadb);
/// By Ctrl-C, and by a target without room.
fn a_snapshot_that_is_stopped_leaves_nothing(kind: Kind) {
    for method in few(kind, 2, &methods(kind)) {
        let Some(mut scene) = Scene::for_method(method, kind) else {
            continue;
        };
        let places = TAKING.into_iter().filter(|p| is_reached(method, p));
        // What is stored whole stays.
        let places: Vec<&str> = places
            .take_while(|p| !p.starts_with("all pieces"))
            .collect();
        for place in few(kind, 2, &places) {
            let done = scene.take(method, "to", &[]).interrupted_at(place);
            assert_eq!(done.code, 9, "{method}, {place}: {}", done.said());
            scene.nothing_left(&[]);
        }
        let Some(small) = Mounted::without_device("tmpfs", "size=1m") else {
            return;
        };
        let full = small.path().join("to");
        let full = full.to_str().expect("a path");
        scene.take(method, full, &[]).run().code(8).says(&[full]);
        scene.nothing_left(&[]);
        let left = || {
            std::fs::read_dir(small.path())
                .expect("a directory")
                .count()
        };
        assert_eq!(left(), 0, "{method}");

        scene.take(method, "to", &[]).run().ok();
        let back = small.path().join("back");
        let back = back.to_str().expect("a path");
        scene.restore("to", back, &[]).run().code(8);
        assert_eq!(left(), 0, "{method}");
        // What is proven is put in its place.
        for place in few(kind, 1, &RESTORING[..4]) {
            let done = scene.restore("to", "back", &[]).interrupted_at(place);
            assert_eq!(done.code, 9, "{method}, {place}: {}", done.said());
            scene.nothing_left(&["to"]);
        }
        let restored = scene.restore("to", "back", &[]).run().ok().summary();
        scene.carried_on("back", &restored);
    }
}

each_kind!(a_killed_restore_is_repeated; mysql, mariadb);
fn a_killed_restore_is_repeated(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    scene.take("reflink", "to", &[]).run().ok();
    for place in few(kind, 3, &RESTORING) {
        let killed = scene
            .restore("to", "back", &[])
            .env("PENSTOCK_KILL_AT", place)
            .run();
        assert_eq!(killed.code, 137, "{place}: {}", killed.said());
        let complete = scene.path("back").join("ibdata1").exists();
        let late = place.contains("in their place");
        assert_eq!(complete, late, "{place}");
        let again = scene.restore("to", "back", &[]).run().ok().summary();
        let hidden = scene.path("back").join(".penstock-restore");
        assert!(!hidden.exists(), "{place}");
        scene.carried_on("back", &again);
        scene.nothing_left(&["to"]);
    }
}
