//! Snapshots as backups of a repository: listed, checked, drilled, restored and pruned as dumps are, in any place, and
//! nothing of a killed one is lost or mistaken for a backup.

use super::scene::{Scene, Writes, nothing_locked};
use crate::kit::{Tool, each_kind, few, thorough};
use crate::stores::{Access, s3, s3_access, sshd};
use serde_json::Value;
use std::path::PathBuf;
use testkit::Kind;
use testkit::stores::Maker;

/// A repository for the server of a scene.
struct Repo<'a> {
    scene: &'a Scene,
    url: String,
    access: Access,
    /// Words that encrypt, and words that open.
    keys: (Vec<String>, Vec<String>),
}

impl<'a> Repo<'a> {
    fn local(scene: &'a Scene) -> Repo<'a> {
        Repo {
            scene,
            url: scene.path("repo").display().to_string(),
            access: Access::new(),
            keys: Default::default(),
        }
    }

    fn tool(&self, words: &[&str]) -> Tool {
        let tool = self.scene.tool(words);
        let with = |tool: Tool, (name, value): &(&'static str, String)| tool.env(name, value);
        self.access.iter().fold(tool, with)
    }

    fn verb(&self, words: &[&str]) -> Tool {
        self.tool(words).args(["--repository", &self.url])
    }

    fn init(&self) {
        self.tool(&["init", &self.url]).run().ok();
    }

    /// A backup by this method.
    fn snapshot(&self, method: &str) -> Tool {
        let uri = self.scene.server.uri();
        self.verb(&["backup", "shop", &uri, "--json", "--snapshot", method])
            .args(self.keys.0.clone())
    }

    /// A dump of the same server, which has a table without transactions; its identifier.
    #[track_caller]
    fn dumped(&self) -> String {
        let uri = self.scene.server.uri();
        let backup = self.verb(&["backup", "shop", &uri, "--json"]);
        id(&backup.run().code(3).summary())
    }

    #[track_caller]
    fn list(&self, more: &[&str]) -> Value {
        let list = self.verb(&["list", "--json"]).args(more.iter().copied());
        list.run().ok().summary()
    }

    /// Identifiers and kinds.
    #[track_caller]
    fn listed(&self) -> Vec<(String, String)> {
        let list = self.list(&[]);
        let all = list["backups"].as_array().expect("backups");
        let text = |v: &Value| v.as_str().expect("text").to_owned();
        all.iter()
            .map(|b| (text(&b["id"]), text(&b["kind"])))
            .collect()
    }

    /// A restore into a new data directory.
    fn restore(&self, words: &[&str], to: &str) -> Tool {
        let tool = self
            .verb(&["restore", "--json"])
            .args(words.iter().copied());
        let tool = self.scene.restoring(tool, to);
        tool.args(self.keys.1.clone())
    }

    fn drill(&self, words: &[&str]) -> Tool {
        let scratch = self.scene.path("scratch");
        std::fs::create_dir_all(&scratch).expect("made");
        self.verb(&["drill", "--json"])
            .args(words.iter().copied())
            .args(["--mysqld".into(), self.scene.program()])
            .args(["--scratch".into(), scratch])
            .args(self.keys.1.clone())
    }

    /// Nothing of a drill stays.
    #[track_caller]
    fn no_scratch(&self) {
        let left: Vec<_> = std::fs::read_dir(self.scene.path("scratch"))
            .expect("a directory")
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn id(done: &Value) -> String {
    done["backup"]["id"].as_str().expect("an id").to_owned()
}

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

    // A drill proves both, and its questions are asked of both.
    let drilled = repo
        .drill(&["--check", "SELECT COUNT(*) FROM shop.t"])
        .run()
        .ok()
        .summary();
    let kinds: Vec<&Value> = drilled["backups"]
        .as_array()
        .expect("drills")
        .iter()
        .map(|b| &b["kind"])
        .collect();
    assert_eq!(kinds, ["logical", "snapshot"]);
    assert!(
        drilled["backups"][1]["tables"].as_u64() > Some(3),
        "{drilled}"
    );
    if kind == Kind::MariaDb || thorough() {
        let no = [
            "--kind",
            "snapshot",
            "--check",
            "SELECT COUNT(*) = 1 FROM shop.t",
        ];
        let failed = repo.drill(&no).run().code(4);
        failed.says(&["a check of shop@"]);
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
        "penstock_last_proven_backup_by_kind_timestamp_seconds{server=\"shop\",kind=\"logical\"} ",
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
    let words = continues["replica_by_position"][0]
        .as_str()
        .expect("a statement");
    assert!(words.contains("_LOG_POS="), "{words}");
    // By GTID the copy follows, too: what the statements say is enough.
    assert!(
        continues["replica_by_gtid"][0].is_string() || kind == Kind::MySql,
        "{restored}"
    );
    repo.pruned(&snapshot, &logical);
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
    for place in few(kind, 3, &MAKING) {
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
