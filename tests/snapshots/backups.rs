//! Snapshots as backups of a repository: listed, checked, drilled, restored and pruned as dumps are.

use super::repo::{Repo, id};
use super::scene::{Scene, Writes};
use crate::kit::{each_kind, thorough};
use serde_json::Value;
use std::path::PathBuf;
use testkit::Kind;

each_kind!(both_kinds_of_backups_live_in_one_repository; mysql, mariadb);
fn both_kinds_of_backups_live_in_one_repository(kind: Kind) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    let repo = Repo::local(&scene);
    repo.init();
    let writes = Writes::begin(&scene.server);
    writes.until_they_move();
    let made = repo.snapshot("reflink").run().ok().summary();
    writes.end();
    let snapshot = id(&made);
    // It is one thing, by one name.
    assert_eq!(made["id"], snapshot.as_str());
    let listed = repo.list(&[])["backups"][0].clone();
    assert_eq!(listed["kind"], "snapshot");
    assert_eq!(listed["method"], "reflink");
    assert_eq!(listed["position"]["binlog_file"], made["binlog_file"]);
    assert_eq!(listed["lock_ms"], made["lock_ms"]);
    let uuid = scene.server.value("SELECT @@server_uuid");
    if let Ok(uuid) = uuid {
        assert_eq!(listed["server_uuid"], uuid.as_str());
    }
    assert!(listed["raw_bytes"].as_u64() > listed["stored_bytes"].as_u64());
    let logical = repo.dumped();
    let pairs = |all: &[(&String, &str)]| -> Vec<(String, String)> {
        let owned = |(id, kind): &(&String, &str)| ((*id).clone(), (*kind).to_owned());
        all.iter().map(owned).collect()
    };
    let both = pairs(&[(&snapshot, "snapshot"), (&logical, "logical")]);
    assert_eq!(repo.listed(), both);
    let only = repo.list(&["--kind", "snapshot"]);
    assert_eq!(only["backups"].as_array().map(Vec::len), Some(1));
    repo.verb(&["check"])
        .run()
        .ok()
        .says(&["2 backups: intact"]);
    repo.verb(&["check", "--files-only"]).run().ok();

    // A drill proves both kinds, and its questions are asked of both. A new data directory takes MySQL long: there only
    // a thorough run makes one.
    let question = ["--check", "SELECT COUNT(*) FROM shop.t"];
    let wanted: &[&str] = match kind == Kind::MariaDb || thorough() {
        true => &["logical", "snapshot"],
        false => &["snapshot"],
    };
    let only: &[&str] = match wanted.len() {
        1 => &["--kind", "snapshot"],
        _ => &[],
    };
    let drill = repo.drill(&[&question[..], only].concat());
    let drilled = drill.run().ok().summary();
    let drilled = drilled["backups"].as_array().expect("drills");
    let kinds: Vec<&Value> = drilled.iter().map(|b| &b["kind"]).collect();
    assert_eq!(kinds, wanted);
    assert!(drilled.last().expect("a drill")["tables"].as_u64() > Some(3));
    if wanted.len() > 1 {
        let no = ["--check", "SELECT COUNT(*) = 1 FROM shop.t"];
        let failed = repo.drill(&[&no[..], &["--kind", "snapshot"]].concat());
        failed.run().code(4).says(&["a check of shop@"]);
    }
    repo.no_scratch();
    let metrics = scene.path("m.prom");
    let page = scene.path("page.html");
    repo.verb(&["list"])
        .args(["--metrics-file".into(), metrics.clone()])
        .args(["--html".into(), page.clone()])
        .run()
        .ok()
        .says(&["snapshot", "logical"]);
    let metrics = std::fs::read_to_string(metrics).expect("metrics");
    for line in [
        "penstock_backups_by_kind{server=\"shop\",kind=\"snapshot\"} 1",
        "penstock_last_proven_backup_by_kind_timestamp_seconds{server=\"shop\",kind=\"snapshot\"} ",
        "penstock_last_backup_by_kind_lock_seconds{server=\"shop\",kind=\"snapshot\"} ",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(
        page.contains("<h3>Snapshots</h3>") && page.contains("by reflink"),
        "{page}"
    );

    // What is for the other kind is refused, and says what to do.
    let uri = scene.server.uri();
    repo.verb(&["restore", &snapshot, "--into", &uri])
        .run()
        .code(2)
        .says(&[
            "the backup is a snapshot",
            "--datadir DIR",
            "--kind logical",
        ]);
    repo.restore(&[&snapshot, "--include-schemas", "shop"], "back")
        .run()
        .code(2)
        .says(&["--include-schemas does not apply"]);
    repo.restore(&[&logical, "--prove", "open"], "back")
        .run()
        .code(2)
        .says(&["--prove is for a snapshot"]);
    assert!(!scene.path("back").exists());
    // Neither reads what it cannot as something else.
    let place = format!("{}/backups/shop/{snapshot}", repo.url);
    repo.tool(&["verify", &place])
        .run()
        .ok()
        .says(&["The snapshot is intact"]);
    repo.tool(&["load", &place, "--into", &uri])
        .run()
        .code(2)
        .says(&["is a snapshot", "penstock snapshot restore"]);

    let restored = repo
        .restore(&["--kind", "snapshot"], "back")
        .run()
        .ok()
        .summary();
    let continues = &restored["continue"];
    assert_eq!(continues["binlog_position"], made["binlog_position"]);
    assert_eq!(continues["server_uuid"], listed["server_uuid"]);
    repo.pruned(&snapshot, &logical);
    scene.by_gtid = kind == Kind::MariaDb;
    scene.carried_on("back", &restored);
    scene.nothing_left(&[]);
}

impl Repo<'_> {
    /// Damage is found, a lost catalog made again, and each kind is pruned by itself.
    fn pruned(&self, snapshot: &str, logical: &str) {
        let directory = self.scene.path("repo").join("backups/shop").join(snapshot);
        let object = std::fs::read_dir(&directory).expect("files").flatten();
        let object: Vec<PathBuf> = object
            .map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|e| e == "zst"))
            .collect();
        let object = object
            .iter()
            .max_by_key(|p| p.metadata().map_or(0, |m| m.len()));
        let object = object.expect("an object");
        let whole = std::fs::read(object).expect("an object");
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 4;
        std::fs::write(object, &damaged).expect("written");
        for words in [&["check"][..], &["check", "--files-only"]] {
            self.verb(words)
                .run()
                .code(5)
                .says(&["2 backups: 1 damaged", "is damaged in one place"]);
        }
        self.drill(&["--kind", "snapshot"]).run().code(5);
        self.no_scratch();
        self.restore(&[snapshot], "damaged").run().code(5);
        assert!(!self.scene.path("damaged").exists());
        std::fs::write(object, &whole).expect("written");
        let manifest = directory.join("penstock-snapshot.json");
        let said = std::fs::read_to_string(&manifest).expect("a manifest");
        std::fs::write(&manifest, said.replace("reflink", "another")).expect("written");
        self.verb(&["check"])
            .run()
            .code(5)
            .says(&["is not the one that was listed"]);
        std::fs::write(&manifest, &said).expect("written");

        let before = self.list(&[])["backups"].clone();
        let repo = self.scene.path("repo");
        std::fs::remove_dir_all(repo.join("catalog")).expect("removed");
        std::fs::create_dir(repo.join("catalog")).expect("made");
        std::fs::remove_file(repo.join("catalog.json")).expect("removed");
        assert_eq!(self.listed(), []);
        self.verb(&["prune", "--keep-last", "9"]).run().ok();
        let after = self.list(&[])["backups"].clone();
        for n in [0, 1] {
            for key in [
                "id",
                "kind",
                "method",
                "position",
                "stored_bytes",
                "server_uuid",
                "proven",
            ] {
                assert_eq!(before[n][key], after[n][key], "{key}");
            }
        }
        self.verb(&["check", "--files-only"]).run().ok();
        // The newest of both stays, for the rules are for each kind by itself.
        self.verb(&["prune", "--keep-last", "1"])
            .run()
            .ok()
            .says(&["No backup to remove"]);
        let newer = self.dumped();
        self.verb(&["prune", "--keep-last", "1", "--kind", "snapshot"])
            .run()
            .ok()
            .says(&["No backup to remove"]);
        self.verb(&["prune", "--keep-last", "1"]).run().ok().says(&[
            "1 backup removed",
            "snapshot  last 1",
            logical,
        ]);
        let kept: Vec<String> = self.listed().into_iter().map(|(id, _)| id).collect();
        assert_eq!(kept, [snapshot, newer.as_str()]);
    }
}

each_kind!(a_point_in_time_behind_a_snapshot; mysql, mariadb);
fn a_point_in_time_behind_a_snapshot(kind: Kind) {
    behind_a_snapshot(kind, false);
}

each_kind!(a_point_in_time_behind_an_encrypted_snapshot; mariadb);
fn a_point_in_time_behind_an_encrypted_snapshot(kind: Kind) {
    behind_a_snapshot(kind, true);
}

/// The server of the restored files applies the log behind them.
fn behind_a_snapshot(kind: Kind, encrypted: bool) {
    let Some(mut scene) = Scene::on("xfs", kind, false) else {
        return;
    };
    scene.fill();
    let passphrase = scene.path("passphrase");
    std::fs::write(&passphrase, "correct horse battery\n").expect("written");
    let mut repo = Repo::local(&scene);
    if encrypted {
        let key = vec![
            "--passphrase-file".to_owned(),
            passphrase.display().to_string(),
        ];
        repo.keys = (key.clone(), key);
        repo.tool(&["init", &repo.url, "--encrypted"]).run().ok();
    } else {
        repo.init();
    }
    let writes = Writes::begin(&scene.server);
    writes.until_they_move();
    repo.snapshot("reflink").run().ok();
    writes.until_they_move();
    writes.end();
    scene
        .server
        .client("CREATE TABLE shop.later (id INT PRIMARY KEY) ENGINE=InnoDB")
        .expect("a table");
    let sums = "CHECKSUM TABLE shop.t, shop.account, shop.later";
    let wanted = scene.server.client(sums).expect("sums");
    let uri = scene.server.uri();
    repo.verb(&["binlog", "archive", "shop", &uri, "--once"])
        .args(repo.keys.0.clone())
        .run()
        .ok();
    let restored = repo.restore(&["--latest"], "back").run().ok();
    restored.says(&["\"stands_at\""]);
    let restored = scene.started("back");
    assert_eq!(restored.client(sums).expect("sums"), wanted);
}
