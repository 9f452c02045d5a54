//! Snapshots as encrypted backups in any place, and killed ones: nothing is lost or mistaken for a backup.

use super::repo::{Repo, id};
use super::scene::{Scene, nothing_locked};
use crate::kit::{each_kind, few, thorough};
use crate::stores::{Access, s3, s3_access, sshd};
use serde_json::Value;
use std::path::PathBuf;
use testkit::Kind;
use testkit::stores::Maker;

/// An encrypted snapshot in a place: its whole life there.
fn lived_in(scene: &mut Scene, url: &str, access: Access) {
    let passphrase = scene.path("passphrase");
    std::fs::write(&passphrase, "correct horse battery\n").expect("written");
    let key = vec![
        "--passphrase-file".to_owned(),
        passphrase.display().to_string(),
    ];
    let repo = Repo {
        scene,
        url: url.to_owned(),
        access,
        keys: (key.clone(), key.clone()),
    };
    repo.tool(&["init", &repo.url, "--encrypted"]).run().ok();
    let plain = Repo {
        keys: Default::default(),
        url: repo.url.clone(),
        access: repo.access.clone(),
        scene: repo.scene,
    };
    plain
        .snapshot("reflink")
        .run()
        .code(2)
        .says(&["takes encrypted backups only"]);
    let made = repo.snapshot("reflink").run().ok().summary();
    assert_eq!(repo.listed(), [(id(&made), "snapshot".to_owned())]);
    repo.verb(&["check", "--files-only"]).run().ok();
    repo.verb(&["check"]).run().code(2);
    repo.verb(&["check"]).args(key.clone()).run().ok();
    plain.restore(&[], "back").run().code(2);
    repo.drill(&[]).run().ok();
    let restored = repo.restore(&[], "back").run().ok().summary();
    // A snapshot without a repository, beside it.
    let apart = match repo.url.split_once('?') {
        Some((path, query)) => format!("{path}-apart?{query}"),
        None => format!("{}-apart", repo.url),
    };
    let uri = scene.server.uri();
    let repo = Repo {
        scene,
        url: repo.url,
        access: repo.access,
        keys: repo.keys,
    };
    repo.tool(&[
        "snapshot", "take", &uri, "--method", "reflink", "--to", &apart,
    ])
    .run()
    .ok();
    let tool = repo.tool(&["snapshot", "restore", &apart, "--json"]);
    scene.restoring(tool, "apart").run().ok();
    // What it is needs no key, when its entry is lost.
    if let Some(path) = repo.url.strip_prefix('/') {
        let catalog = PathBuf::from(format!("/{path}/catalog"));
        std::fs::remove_dir_all(&catalog).expect("removed");
        std::fs::create_dir(&catalog).expect("made");
        repo.verb(&["prune", "--keep-last", "1"]).run().ok();
        assert_eq!(repo.listed(), [(id(&made), "snapshot".to_owned())]);
        repo.verb(&["check"]).args(key).run().ok();
        repo.drill(&[]).run().ok();
        repo.restore(&[], "again").run().ok();
    }
    scene.carried_on("back", &restored);
    scene.nothing_left(&[]);
}

/// A scene in one place for one flavour; in every place for both, if the run is thorough.
fn in_its_place(kind: Kind, usual: Kind) -> Option<Scene> {
    if kind != usual && !thorough() {
        return None;
    }
    let mut scene = Scene::on("xfs", kind, false)?;
    scene.fill();
    Some(scene)
}

each_kind!(encrypted_in_a_directory_a_key_is_all_that_is_needed; mysql, mariadb);
fn encrypted_in_a_directory_a_key_is_all_that_is_needed(kind: Kind) {
    if let Some(mut scene) = in_its_place(kind, Kind::MariaDb) {
        let url = scene.path("repo").display().to_string();
        lived_in(&mut scene, &url, Access::new());
    }
}

each_kind!(snapshots_go_by_ssh; mysql, mariadb);
fn snapshots_go_by_ssh(kind: Kind) {
    let Some(sshd) = sshd() else { return };
    if let Some(mut scene) = in_its_place(kind, Kind::MariaDb) {
        let url = sshd.url(&scene.path("far"));
        lived_in(&mut scene, &url, vec![("PENSTOCK_SSH", sshd.ssh())]);
    }
}

each_kind!(snapshots_go_into_s3; mysql, mariadb);
fn snapshots_go_into_s3(kind: Kind) {
    let maker = match kind {
        Kind::MySql => Maker::S3s,
        _ => Maker::Moto,
    };
    let Some(s3) = s3(maker) else { return };
    if let Some(mut scene) = in_its_place(kind, Kind::MySql) {
        lived_in(&mut scene, &s3.url("repo"), s3_access());
    }
}

/// Where the backup can be killed.
const MAKING: [&str; 11] = [
    "a place is marked#1",
    "a snapshot is recorded#1",
    "data files are cloned#1",
    "commits are locked#1",
    "a snapshot is made#1",
    "a piece is written#5",
    "all pieces are written#1",
    "a snapshot is removed#1",
    "the manifest of a snapshot is written#1",
    "the backup is whole#1",
    "the backup is listed#1",
];

each_kind!(a_killed_backup_of_files_is_settled; mysql, mariadb);
fn a_killed_backup_of_files_is_settled(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    let repo = Repo::local(&scene);
    repo.init();
    let mut whole = vec![id(&repo.snapshot("reflink").run().ok().summary())];
    for place in few(kind, 2, &MAKING) {
        let killed = repo
            .snapshot("reflink")
            .env("PENSTOCK_KILL_AT", place)
            .run();
        assert_eq!(killed.code, 137, "{place}: {}", killed.said());
        nothing_locked(&scene.server);
        let list = repo.list(&[]);
        let (listed, unlisted) = (repo.listed(), list["unlisted"].as_array().expect("a list"));
        assert!(listed.len() + unlisted.len() <= whole.len() + 1, "{place}");
        assert!(
            whole.iter().all(|id| listed.iter().any(|(l, _)| l == id)),
            "{place}"
        );
        repo.verb(&["check", "--files-only"]).run().ok();
        // The next one says what is left on this host, and `clean` removes it.
        let left = scene
            .tool(&["snapshot", "list", "--json"])
            .run()
            .ok()
            .summary();
        let left = left["snapshots"].as_array().is_some_and(|l| !l.is_empty());
        let next = repo.snapshot("reflink").run().ok();
        assert_eq!(
            next.said().contains("penstock snapshot clean"),
            left,
            "{place}"
        );
        scene.tool(&["snapshot", "clean"]).run().ok();
        repo.verb(&["prune", "--keep-last", "9"]).run().ok();
        let list = repo.list(&[]);
        assert_eq!(list["unlisted"], Value::Array(Vec::new()), "{place}");
        repo.verb(&["check"]).run().ok();
        whole = repo.listed().into_iter().map(|(id, _)| id).collect();
        scene.nothing_left(&[]);
    }
    // A drill that is killed is cleaned by the next one.
    let killed = repo
        .drill(&[])
        .env("PENSTOCK_KILL_AT", "restored files are proven#1")
        .run();
    assert_eq!(killed.code, 137, "{}", killed.said());
    repo.drill(&[]).run().ok();
    repo.no_scratch();
    let restored = repo.restore(&["latest"], "back").run().ok().summary();
    scene.carried_on("back", &restored);
}
