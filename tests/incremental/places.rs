//! Incremental backups in other places and encrypted, and files that are taken away from them.

use super::{ALWAYS, Scene, filled, has_read, later};
use crate::kit::{Pair, Tool, both};
use crate::stores::{Access, with_s3, with_ssh};
use rustix::process::Signal;

both!(encrypted_backups);
fn encrypted_backups(pair: &Pair) {
    filled(pair.source());
    let scene = Scene::new(pair.source());
    let file = pair.path("passphrase");
    std::fs::write(&file, "a long one\n").expect("a file");
    let pass = ["--passphrase-file", &file.display().to_string()];
    let open = |id: &str| {
        let against = pair.source().uri();
        Tool::new(["verify", &scene.place(id), "--against", &against])
            .args(pass)
            .run()
            .ok();
        Tool::new(["verify", &scene.place(id)])
            .args(pass)
            .run()
            .ok();
    };
    let (first, _) = scene.incremental(&pass);
    later();
    pair.fill("INSERT INTO shop.a (v) VALUES ('more')");
    let (second, summary) = scene.incremental(&pass);
    assert_eq!(summary["taken_over"]["tables"], 8, "{summary}");
    open(&second);
    Tool::new(["copy", &scene.place(&second)])
        .arg(pair.path("copy"))
        .run()
        .code(2)
        .says(&["encrypted for several archives"]);
    scene
        .verb(&["prune", "--keep-last", "1"])
        .run()
        .ok()
        .says(&["removed", &first]);
    open(&second);
    scene.verb(&["check", "--files-only"]).run().ok();
    scene.verb(&["check"]).args(pass).run().ok();
    // Without a key every file is read, also where it lies.
    let held = std::fs::read_dir(scene.place(&first)).expect("a directory");
    let held = held.map(|f| f.expect("a file").path());
    let held = held.filter(|p| p.to_string_lossy().ends_with(".age"));
    let largest = held
        .filter(|p| !p.to_string_lossy().contains("penstock."))
        .max_by_key(|p| std::fs::metadata(p).expect("a file").len())
        .expect("a file that is needed");
    let bytes = std::fs::read(&largest).expect("a file");
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&largest, damaged).expect("a file");
    scene
        .verb(&["check", "--files-only"])
        .run()
        .code(5)
        .says(&[&first]);
    std::fs::write(&largest, bytes).expect("a file");
    // Another key opens all of it, also what is left of the removed one.
    let other = pair.path("other");
    std::fs::write(&other, "quite another\n").expect("a file");
    scene
        .verb(&["rekey"])
        .args(pass)
        .args(["--new-passphrase-file", &other.display().to_string()])
        .run()
        .ok()
        .says(&[&first, &second]);
    std::fs::write(&file, "quite another\n").expect("a file");
    open(&second);
    // Another way to encrypt takes nothing over, and says so; a key that opens nothing is an error.
    let (_, summary) = scene.incremental(&[]);
    assert!(summary["taken_over"].is_null(), "{summary}");
    std::fs::write(&file, "another one\n").expect("a file");
    let (_, summary) = scene.incremental(&pass);
    assert!(summary["taken_over"].is_null(), "{summary}");
    std::fs::write(&file, "a third one\n").expect("a file");
    scene
        .backup(&[&["--incremental"], &pass[..]].concat())
        .code(2)
        .says(&["--incremental"]);
}

/// The life of incremental backups in a place of another host.
fn lived_in(pair: &Pair, url: &str, access: &Access) {
    filled(pair.source());
    let scene = Scene::elsewhere(pair.source(), url, access);
    let (first, _) = scene.incremental(&[]);
    later();
    pair.fill("UPDATE shop.parts SET v = 7 WHERE id = 5");
    let (second, summary) = scene.incremental(&[]);
    assert_eq!(summary["taken_over"]["tables"], 8, "{summary}");
    scene.is_equal(&second);
    scene
        .verb(&["prune", "--keep-last", "1"])
        .run()
        .ok()
        .says(&["removed", &first]);
    scene.is_equal(&second);
    scene
        .verb(&["check"])
        .run()
        .ok()
        .says(&["1 backup: intact"]);
    scene
        .verb(&["list"])
        .run()
        .ok()
        .says(&["which others need"]);
}

both!(in_s3);
fn in_s3(pair: &Pair) {
    with_s3("repo", |url, access| lived_in(pair, url, access));
}

both!(by_ssh);
fn by_ssh(pair: &Pair) {
    with_ssh(&pair.path("repo"), |url, access| {
        lived_in(pair, url, access)
    });
}

both!(files_that_are_taken_away);
/// Of a backup that is being made, and of one that is there.
fn files_that_are_taken_away(pair: &Pair) {
    filled(pair.source());
    let scene = Scene::new(pair.source());
    let (first, _) = scene.incremental(&[]);
    let words = ["backup", "shop", &pair.source().uri(), "--incremental"];
    let held = scene
        .verb(&words)
        .env("PENSTOCK_STOP_AT", "the backup is whole#1")
        .start();
    held.until_stopped();
    let needed = std::path::Path::new(&scene.place(&first)).join("shop@b@@0.tsv.zst");
    let aside = pair.path("aside");
    std::fs::rename(&needed, &aside).expect("a file");
    held.signal(Signal::CONT);
    held.wait()
        .code(10)
        .says(&["have been removed meanwhile", "make the backup again"]);
    assert_eq!(scene.listed(), [first.as_str()]);
    // What is not there is read again, and that is said.
    let (second, summary) = scene.incremental(&[]);
    has_read(
        &summary,
        &[ALWAYS, ("b", "not all of its files are there any more")],
    );
    scene.is_equal(&second);
    std::fs::rename(&aside, &needed).expect("a file");
    // A directory that others need is gone.
    std::fs::rename(scene.place(&first), pair.path("gone")).expect("a directory");
    scene
        .tool(&["verify", &scene.place(&second)])
        .run()
        .code(5)
        .says(&[&first, "beside it, which is not there"]);
    scene.verb(&["check", &second]).run().code(5);
    let to = pair.target().uri();
    let refused = scene.verb(&["restore", &second, "--into", &to]).run();
    refused.code(5).says(&["beside it, which is not there"]);
    assert!(!pair.target_schemas().contains(&"shop".to_owned()));
}
