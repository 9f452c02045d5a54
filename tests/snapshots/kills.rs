//! A run that is killed leaves no lock, and nothing that `clean` does not find; a restore that is killed can be repeated.

use super::scene::{Scene, nothing_locked};
use crate::kit::{each_kind, few};
use testkit::Kind;

/// Where a snapshot can be killed.
const TAKING: [&str; 13] = [
    "a place is marked#1",
    "a snapshot is recorded#1",
    "the directory of a snapshot is made#1",
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

each_kind!(what_a_killed_snapshot_left_is_found_and_removed; mysql, mariadb);
fn what_a_killed_snapshot_left_is_found_and_removed(kind: Kind) {
    for (file_system, method) in [("xfs", "reflink"), ("btrfs", "btrfs")] {
        let Some(mut scene) = Scene::on(file_system, kind, method == "btrfs") else {
            return;
        };
        scene.fill();
        let other = match method {
            "reflink" => ["all files are in the snapshot#1"].as_slice(),
            _ => &[
                "definitions are locked#1",
                "data files are cloned#1",
                "all files are cloned#1",
            ],
        };
        let places: Vec<&str> = TAKING.into_iter().filter(|p| !other.contains(p)).collect();
        for place in few(kind, 4, &places) {
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
