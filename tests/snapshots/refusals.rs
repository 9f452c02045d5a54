//! What is refused, and what damage is noticed: with a code, a name and a way out, and nothing is lost or left.

use super::scene::{Scene, nothing_locked};
use crate::kit::each_kind;
use crate::kit::waiting::Statement;
use std::path::Path;
use testkit::Kind;

/// Flips one bit in the middle of a file.
fn damage(file: &Path) {
    let mut bytes = std::fs::read(file).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(file, bytes).expect("written");
}

each_kind!(what_cannot_be_is_refused; mysql, mariadb);
fn what_cannot_be_is_refused(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    let datadir = scene.server.datadir();
    let within = datadir.to_str().expect("a path").to_owned();
    scene
        .take("reflink", "to", &["--at", &within])
        .run()
        .code(2)
        .says(&["is in the data directory"]);
    scene
        .take("reflink", "to", &["--at", "/tmp"])
        .run()
        .code(8)
        .says(&["--at"]);
    scene
        .take("btrfs", "to", &[])
        .run()
        .code(2)
        .says(&["not on btrfs"]);
    scene.take("zfs", "to", &[]).run().code(2);
    scene.take("lvm", "to", &[]).run().code(2);
    scene
        .take("reflink", "to", &["--keep-free", "99.9%"])
        .run()
        .code(8)
        .says(&["--keep-free"]);
    scene
        .take("reflink", "to", &["--snapshot-size", "1G"])
        .run()
        .code(2);
    scene.take("reflink", "to", &["--keep"]).run().code(2);
    scene
        .take("clone", "to", &["--lock-wait", "3"])
        .run()
        .code(2);
    scene
        .take("reflink", "to", &["--datadir", &within])
        .run()
        .code(2);
    scene.nothing_left(&[]);
    std::fs::create_dir(scene.path("to")).expect("made");
    std::fs::write(scene.path("to").join("x"), "x").expect("written");
    scene
        .take("reflink", "to", &[])
        .run()
        .code(10)
        .says(&["not empty"]);
    assert!(scene.path("to").join("x").exists());
    std::fs::remove_dir_all(scene.path("to")).expect("removed");
    // A tablespace elsewhere is named.
    let outside = scene.path("elsewhere");
    std::fs::create_dir(&outside).expect("made");
    std::os::unix::fs::symlink(&outside, datadir.join("linked")).expect("a link");
    scene
        .take("reflink", "to", &[])
        .run()
        .code(10)
        .says(&["linked", "link"]);
    std::fs::remove_file(datadir.join("linked")).expect("removed");
    scene.nothing_left(&[]);
}

each_kind!(a_lock_is_waited_for_no_longer_than_asked; mysql, mariadb);
fn a_lock_is_waited_for_no_longer_than_asked(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    // MySQL's lock waits for statements; MariaDB's for writes to tables without transactions.
    let sql = match kind {
        Kind::MySql => "SELECT SLEEP(600) FROM shop.account",
        _ => "INSERT INTO shop.w (v) SELECT SLEEP(600)",
    };
    let statement = Statement::begin(&scene.server, sql);
    let done = scene.take("reflink", "to", &["--lock-wait", "4"]).run();
    done.code(11).says(&["nothing is locked"]);
    if kind == Kind::MySql {
        nothing_locked(&scene.server);
    }
    drop(statement);
    scene.nothing_left(&[]);
}

each_kind!(damage_of_what_is_stored_is_noticed; mysql, mariadb);
fn damage_of_what_is_stored_is_noticed(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    scene.take("reflink", "to", &[]).run().ok();
    let to = scene.path("to");
    let whole = scene.path("whole");
    let copy = |from: &Path, to: &Path| {
        let _ = std::fs::remove_dir_all(to);
        let status = std::process::Command::new("cp")
            .arg("-a")
            .args([from, to])
            .status();
        assert!(status.expect("cp").success());
    };
    copy(&to, &whole);
    let some = |n: usize| {
        let mut all: Vec<_> = std::fs::read_dir(&whole)
            .expect("a directory")
            .flatten()
            .collect();
        all.retain(|e| e.file_name().to_string_lossy().ends_with(".zst"));
        all.sort_by_key(std::fs::DirEntry::file_name);
        to.join(all[n].file_name())
    };
    damage(&some(0));
    scene
        .restore("to", "back", &[])
        .run()
        .code(5)
        .says(&["damaged"]);
    copy(&whole, &to);
    damage(&some(40));
    scene.restore("to", "back", &[]).run().code(5);
    copy(&whole, &to);
    std::fs::remove_file(some(3)).expect("removed");
    scene
        .restore("to", "back", &[])
        .run()
        .code(5)
        .says(&["missing"]);
    copy(&whole, &to);
    std::fs::write(to.join("penstock-snapshot.json"), "{}").expect("written");
    scene.restore("to", "back", &[]).run().code(5);
    copy(&whole, &to);
    // A path that leads elsewhere is not followed.
    let manifest = to.join("penstock-snapshot.json");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    std::fs::write(&manifest, text.replace("\"ibdata1\"", "\"../ibdata1\"")).expect("written");
    scene.restore("to", "back", &[]).run().code(5);
    assert!(!scene.path("back").exists() && !scene.path("ibdata1").exists());
    copy(&whole, &to);
    std::fs::create_dir(scene.path("back")).expect("made");
    std::fs::write(scene.path("back").join("mine"), "x").expect("written");
    scene
        .restore("to", "back", &[])
        .run()
        .code(10)
        .says(&["not empty"]);
    assert!(scene.path("back").join("mine").exists());
    std::fs::remove_dir_all(scene.path("back")).expect("removed");
    scene.restore("to", "back", &[]).run().ok();
}
