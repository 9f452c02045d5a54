//! Snapshots of a server's files: what is restored is of one moment, its position is exact, and nothing stays behind.

mod backups;
mod dumped;
mod kills;
mod places;
mod refusals;
mod repo;
mod scene;
mod tpcc;

use crate::kit::{each_kind, thorough};
use scene::{Scene, Writes};
use serde_json::Value;
use testkit::Kind;

/// How often a snapshot is taken under writes.
fn times() -> usize {
    if thorough() { 6 } else { 2 }
}

/// Under writes, restored, proven, and carried on from its position to equality with its source.
fn under_writes(scene: &mut Scene, method: &str) {
    for _ in 0..times() {
        let writes = Writes::begin(&scene.server);
        writes.until_they_move();
        let taken = scene.take(method, "to", &[]).run().ok().summary();
        writes.until_they_move();
        writes.end();
        assert_eq!(taken["exceptions"], serde_json::json!([]));
        let restored = scene.restore("to", "back", &[]).run().ok().summary();
        assert_eq!(restored["digests"], true);
        assert!(restored["tables"].as_u64() > Some(4), "{restored}");
        scene.carried_on("back", &restored);
        scene.nothing_left(&["to"]);
        std::fs::remove_dir_all(scene.path("to")).expect("removed");
    }
}

each_kind!(files_that_are_cloned_are_of_one_moment; mysql, mariadb, mariadb118);
fn files_that_are_cloned_are_of_one_moment(kind: Kind) {
    if let Some(mut scene) = Scene::for_method("reflink", kind) {
        under_writes(&mut scene, "reflink");
    }
}

each_kind!(a_redo_log_that_is_written_over_meanwhile_is_noticed; mysql, mariadb);
fn a_redo_log_that_is_written_over_meanwhile_is_noticed(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    // The smallest that there is: files of it come and go while others are cloned.
    match kind {
        Kind::MySql => drop(
            scene
                .server
                .client("SET GLOBAL innodb_redo_log_capacity = 8388608"),
        ),
        _ => scene
            .server
            .restart_with(&["--innodb-log-file-size=4M"])
            .expect("a restart"),
    }
    scene.fill();
    under_writes(&mut scene, "reflink");
}

each_kind!(a_subvolume_is_of_one_moment; mysql, mariadb);
fn a_subvolume_is_of_one_moment(kind: Kind) {
    if let Some(mut scene) = Scene::for_method("btrfs", kind) {
        under_writes(&mut scene, "btrfs");
    }
}

#[test]
fn a_clone_of_the_plugin_shows_its_position_when_it_is_recovered() {
    if let Some(mut scene) = Scene::anywhere(Kind::MySql) {
        let e = scene.take("clone", "to", &[]).run().code(7);
        e.says(&["INSTALL PLUGIN clone"]);
        scene.load_clone();
        scene.fill();
        let done = scene.take("clone", "to", &[]).run().code(3);
        done.says(&["table `shop`.`w` uses MyISAM"]);
        std::fs::remove_dir_all(scene.path("to")).expect("removed");
        scene.only_innodb();
        under_writes(&mut scene, "clone");
    }
}

#[test]
fn a_copy_of_mariadb_backup_is_prepared() {
    if let Some(mut scene) = Scene::for_method("copy", Kind::MariaDb) {
        under_writes(&mut scene, "copy");
        // Of an engine without a log its copy may be torn.
        let sql = "ALTER TABLE shop.w ENGINE = MyISAM";
        scene.server.client(sql).expect("another engine");
        let done = scene.take("copy", "to", &[]).run().code(3);
        done.says(&["table `shop`.`w` uses MyISAM", "may be corrupt"]);
    }
}

each_kind!(files_of_a_stopped_server_are_copied; mysql, mariadb);
fn files_of_a_stopped_server_are_copied(kind: Kind) {
    let Some(mut scene) = Scene::anywhere(kind) else {
        return;
    };
    scene.fill();
    let datadir = scene.server.datadir();
    let copying = |scene: &Scene| {
        scene
            .tool(&["snapshot", "take", "--method", "copy", "--json"])
            .args([
                "--datadir".into(),
                datadir.clone(),
                "--to".into(),
                scene.path("to"),
            ])
    };
    copying(&scene).run().code(10).says(&["a server runs on"]);
    scene.server.stop().expect("it stops");
    let taken = copying(&scene).run().ok().summary();
    assert_eq!(taken["locks"], "the server does not run");
    // After a kill there is something to recover.
    scene.server.restart().expect("it starts");
    scene
        .server
        .client("INSERT INTO shop.t (n) VALUES (77)")
        .expect("a row");
    let restored = scene.restore("to", "back", &[]).run().ok().summary();
    scene.carried_on("back", &restored);
}

each_kind!(a_snapshot_is_kept_restored_and_removed; mysql, mariadb);
fn a_snapshot_is_kept_restored_and_removed(kind: Kind) {
    for (file_system, method) in [("xfs", "reflink"), ("btrfs", "btrfs")] {
        let Some(mut scene) = Scene::on(file_system, kind, method == "btrfs") else {
            return;
        };
        scene.fill();
        let keeping = scene.tool(&["snapshot", "take", "--keep", "--json", "--method", method]);
        let taken = keeping.arg(scene.server.uri()).run().ok().summary();
        let id = taken["id"].as_str().expect("an id").to_owned();
        let listed = scene
            .tool(&["snapshot", "list", "--json"])
            .run()
            .ok()
            .summary();
        assert_eq!(listed["snapshots"][0]["id"], id.as_str());
        assert_eq!(listed["snapshots"][0]["state"], "kept");
        // Leftovers only.
        let cleaned = scene
            .tool(&["snapshot", "clean", "--json"])
            .run()
            .ok()
            .summary();
        assert_eq!(cleaned["removed"], Value::Array(Vec::new()));
        let kept = std::path::PathBuf::from(taken["kept"].as_str().expect("a path"));
        let directory = taken["directory"].as_str().expect("a path");
        assert_eq!(listed["snapshots"][0]["directory"], directory);
        let restore = || {
            let restore = scene.tool(&["snapshot", "restore", "--json"]);
            restore.arg(directory)
        };
        if method == "reflink" {
            // As where its volume is no longer mounted: that is no empty server.
            let away = kept.with_extension("away");
            std::fs::rename(&kept, &away).expect("moved");
            std::fs::create_dir(&kept).expect("a directory");
            let done = scene.restoring(restore(), "empty").run().code(5);
            done.says(&["is not the data directory that was kept"]);
            std::fs::remove_dir(&kept).expect("nothing in it");
            std::fs::rename(&away, &kept).expect("moved");
        }
        let restored = scene.restoring(restore(), "back").run().ok().summary();
        assert_eq!(restored["digests"], false);
        assert_eq!(restored["binlog_position"], taken["binlog_position"]);
        scene.carried_on("back", &restored);
        scene
            .tool(&["snapshot", "clean", &id])
            .run()
            .ok()
            .says(&["1 snapshot removed"]);
        scene
            .tool(&["snapshot", "clean", &id])
            .run()
            .code(2)
            .says(&["there is no snapshot"]);
        assert!(!kept.exists());
        scene.nothing_left(&[]);
    }
}

each_kind!(an_encrypted_snapshot_needs_its_key; mysql, mariadb);
fn an_encrypted_snapshot_needs_its_key(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    let key = scene.path("passphrase");
    std::fs::write(&key, "correct horse battery\n").expect("written");
    let key = ["--passphrase-file", key.to_str().expect("a path")];
    scene.take("reflink", "to", &key).run().ok();
    let names = std::fs::read_dir(scene.path("to"))
        .expect("a directory")
        .flatten();
    let names: Vec<_> = names
        .map(|e| e.file_name().into_string().expect("a name"))
        .collect();
    assert!(
        names
            .iter()
            .all(|n| n.ends_with(".age") || n == "penstock.encrypted.json"),
        "{names:?}"
    );
    scene.restore("to", "back", &[]).run().code(2);
    let restored = scene.restore("to", "back", &key).run().ok().summary();
    scene.carried_on("back", &restored);
}
