//! Backups of several servers in one place: listed only when whole, removed only by the policy, and what a
//! kill leaves is neither lost nor mistaken for a backup.

use crate::kit::{Done, Pair, Tool, both, few};
use crate::stores::{Access, s3, s3_access, sshd, tool};
use serde_json::Value;
use testkit::stores::Maker;

const ROWS: &str = "CREATE DATABASE t_a; CREATE TABLE t_a.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200)); \
    INSERT INTO t_a.t (v) VALUES ('a'), ('b'), ('c'); CREATE VIEW t_a.w AS SELECT v FROM t_a.t";

/// A repository, and how it is reached.
struct Repo<'a> {
    url: String,
    access: Access,
    pair: &'a Pair,
}

impl Repo<'_> {
    fn local(pair: &Pair) -> Repo<'_> {
        let url = pair.path("repo").display().to_string();
        Repo {
            url,
            access: Access::new(),
            pair,
        }
    }

    fn verb(&self, words: &[&str]) -> Tool {
        tool(words, &self.access).args(["--repository", &self.url])
    }

    fn init(&self) -> Done {
        tool(&["init", &self.url], &self.access).run()
    }

    fn backup(&self) -> Tool {
        self.verb(&["backup", "shop", &self.pair.source().uri(), "--json"])
    }

    /// The backups that are listed, and what else lies there.
    #[track_caller]
    fn list(&self) -> (Vec<String>, Vec<Value>) {
        let summary = self.verb(&["list", "--json"]).run().ok().summary();
        let ids = |v: &Value| v["id"].as_str().expect("an id").to_owned();
        let backups = summary["backups"]
            .as_array()
            .expect("a list")
            .iter()
            .map(ids)
            .collect();
        (
            backups,
            summary["unlisted"].as_array().expect("a list").clone(),
        )
    }

    /// The newest backup is restored, and equal.
    #[track_caller]
    fn restored(&self) {
        let _ = self.pair.target().script(b"DROP DATABASE IF EXISTS t_a");
        let to = self.pair.target().uri();
        self.verb(&["restore", "--into", &to])
            .run()
            .ok()
            .says(&["equal:"]);
        self.pair.same_checksums();
    }
}

/// The life of a repository, in this place.
fn lived_in(repo: &Repo<'_>) {
    let pair = repo.pair;
    pair.fill(ROWS);
    repo.verb(&["list"]).run().code(
        if repo.url.contains("://") && !repo.url.starts_with("ssh") {
            2
        } else {
            8
        },
    );
    repo.init().ok();
    repo.init().code(10).says(&["is not empty"]);
    repo.verb(&["restore", "--into", &pair.target().uri()])
        .run()
        .code(2)
        .says(&["there is no backup"]);
    let first = repo.backup().run().ok().summary()["backup"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    pair.fill("INSERT INTO t_a.t (v) VALUES ('later')");
    let second = repo.backup().run().ok().summary()["backup"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(
        repo.list(),
        (vec![first.clone(), second.clone()], Vec::new())
    );
    repo.verb(&["check"])
        .run()
        .ok()
        .says(&["2 backups: intact", &first, &second]);
    repo.restored();
    // An archive of a repository is an archive.
    let place = match repo.url.split_once('?') {
        Some((path, query)) => format!("{path}/backups/shop/{first}?{query}"),
        None => format!("{}/backups/shop/{first}", repo.url),
    };
    tool(&["verify", &place], &repo.access).run().ok();
    // Only the second has the last row.
    let _ = pair.target().script(b"DROP DATABASE t_a");
    repo.verb(&["restore", &first, "--into", &pair.target().uri()])
        .run()
        .ok();
    let rows = pair.target().value("SELECT COUNT(*) FROM t_a.t");
    assert_eq!(rows.expect("a count"), "3");
    repo.verb(&["prune"]).run().code(2).says(&["no rule says"]);
    repo.verb(&["prune", "--keep-last", "1", "--dry-run"])
        .run()
        .ok()
        .says(&["would go", &first]);
    assert_eq!(repo.list().0.len(), 2);
    repo.verb(&["prune", "--keep-last", "1"])
        .run()
        .ok()
        .says(&["removed", &first, "kept", &second]);
    assert_eq!(repo.list(), (vec![second.clone()], Vec::new()));
    tool(&["verify", &place], &repo.access)
        .run()
        .code(if repo.url.starts_with("s3") { 5 } else { 8 });
    repo.restored();
    // The newest stays, whatever the rules say; a second server is another series.
    repo.verb(&["backup", "other", &pair.source().uri()])
        .run()
        .ok();
    repo.verb(&["restore", "--into", &pair.target().uri()])
        .run()
        .code(2)
        .says(&["--server-name", "other, shop"]);
    repo.verb(&["prune", "--keep-within", "1h"])
        .run()
        .ok()
        .says(&["No backup to remove"]);
    assert_eq!(repo.list().0.len(), 2);
}

both!(in_a_directory);
fn in_a_directory(pair: &Pair) {
    lived_in(&Repo::local(pair));
}

both!(by_ssh);
fn by_ssh(pair: &Pair) {
    let Some(sshd) = sshd() else { return };
    let url = sshd.url(&pair.path("repo"));
    lived_in(&Repo {
        url,
        access: vec![("PENSTOCK_SSH", sshd.ssh())],
        pair,
    });
}

both!(in_s3);
fn in_s3(pair: &Pair) {
    let Some(s3) = s3(Maker::S3s) else { return };
    lived_in(&Repo {
        url: s3.url("repo"),
        access: s3_access(),
        pair,
    });
}

/// The failpoints of a run.
fn places(pair: &Pair, run: Tool) -> Vec<String> {
    let file = pair.path("places");
    let _ = std::fs::remove_file(&file);
    run.env("PENSTOCK_PLACES", file.as_os_str()).run().ok();
    let text = std::fs::read_to_string(file).expect("places");
    text.lines().map(str::to_owned).collect()
}

/// A backup and a prune, killed at each of their steps.
fn killed(repo: &Repo<'_>) {
    let pair = repo.pair;
    pair.fill(ROWS);
    repo.init().ok();
    let steps = places(pair, repo.backup()).len();
    let mut whole = repo.list().0;
    assert_eq!(whole.len(), 1);
    for step in few(pair.kind, 8, &(0..steps).collect::<Vec<_>>()) {
        let at = (step + 1).to_string();
        repo.backup().env("PENSTOCK_KILL_AT", &at).run().code(137);
        let (listed, unlisted) = repo.list();
        assert!(
            whole.iter().all(|id| listed.contains(id)),
            "step {at}: nothing is lost"
        );
        assert!(
            listed.len() + unlisted.len() <= whole.len() + 1,
            "step {at}: {listed:?} {unlisted:?}"
        );
        // What is listed is whole, and what a dead run left is not called running.
        repo.verb(&["check", "--files-only"]).run().ok();
        assert!(
            unlisted.iter().all(|u| u["running"] == false),
            "step {at}: {unlisted:?}"
        );
        repo.restored();
        // A prune that keeps everything settles what is left: whole ones are listed, the rest is removed.
        repo.verb(&["prune", "--keep-within", "1w"]).run().ok();
        let (settled, left) = repo.list();
        assert!(left.is_empty(), "step {at}: {left:?}");
        repo.verb(&["check", "--files-only"]).run().ok();
        whole = settled;
    }
    repo.backup().run().ok();
    repo.backup().run().ok();
    let prune = || repo.verb(&["prune", "--keep-last", "1", "--force"]);
    let steps = places(pair, prune()).len();
    assert!(steps >= 3, "{steps}");
    for step in few(pair.kind, 6, &(0..steps).collect::<Vec<_>>()) {
        let kept = repo.backup().run().ok().summary()["backup"]["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let at = (step + 1).to_string();
        let code = prune().env("PENSTOCK_KILL_AT", &at).run().code;
        assert!(matches!(code, 0 | 137), "step {at}: {code}");
        let (listed, _) = repo.list();
        assert!(listed.contains(&kept), "step {at}: the newest stays");
        repo.verb(&["check", "--files-only"]).run().ok();
        repo.restored();
        // Again, without waiting for the dead one: its process is gone.
        prune().run().ok();
        assert_eq!(repo.list(), (vec![kept], Vec::new()), "step {at}");
    }
}

both!(killed_in_a_directory);
fn killed_in_a_directory(pair: &Pair) {
    killed(&Repo::local(pair));
}

both!(killed_in_s3);
fn killed_in_s3(pair: &Pair) {
    let Some(s3) = s3(Maker::S3s) else { return };
    killed(&Repo {
        url: s3.url("repo"),
        access: s3_access(),
        pair,
    });
}

both!(a_backup_in_use_is_not_removed);
fn a_backup_in_use_is_not_removed(pair: &Pair) {
    let repo = Repo::local(pair);
    pair.fill(ROWS);
    repo.init().ok();
    let first = repo.backup().run().ok().summary()["backup"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    repo.backup().run().ok();
    let restore = repo
        .verb(&["restore", &first, "--into", &pair.target().uri()])
        .env("PENSTOCK_STOP_AT", "1")
        .start();
    restore.until_stopped();
    repo.verb(&["prune", "--keep-last", "1", "--dry-run"])
        .run()
        .ok()
        .says(&["in use"]);
    repo.verb(&["prune", "--keep-last", "1"])
        .run()
        .ok()
        .says(&["in use", "No backup to remove"]);
    restore.signal(rustix::process::Signal::CONT);
    restore.wait().ok();
    repo.verb(&["prune", "--keep-last", "1"])
        .run()
        .ok()
        .says(&["1 backup removed"]);
    // A backup that is being made is neither listed nor removed.
    let backup = repo
        .backup()
        .env("PENSTOCK_STOP_AT", "the backup is whole#1")
        .start();
    backup.until_stopped();
    let (listed, unlisted) = repo.list();
    assert_eq!((listed.len(), unlisted.len()), (1, 1));
    assert_eq!(unlisted[0]["running"], true);
    repo.verb(&["prune", "--keep-last", "1"])
        .run()
        .ok()
        .says(&["No backup to remove"]);
    backup.signal(rustix::process::Signal::CONT);
    backup.wait().ok();
    assert_eq!(repo.list().0.len(), 2);
}

both!(damage_in_a_repository);
fn damage_in_a_repository(pair: &Pair) {
    let repo = Repo::local(pair);
    pair.fill(ROWS);
    repo.init().ok();
    repo.backup().run().ok();
    let id = repo.list().0.remove(0);
    let archive = pair.path("repo").join("backups/shop").join(&id);
    let chunk = std::fs::read_dir(&archive).expect("files").flatten();
    let chunk = chunk
        .map(|e| e.path())
        .find(|p| p.to_string_lossy().ends_with(".tsv.zst"))
        .expect("a chunk");
    let bytes = std::fs::read(&chunk).expect("a chunk");
    let mut other = bytes.clone();
    other[bytes.len() / 2] ^= 1;
    std::fs::write(&chunk, &other).expect("written");
    repo.verb(&["check"])
        .run()
        .code(5)
        .says(&["1 damaged", "DAMAGED", &id]);
    std::fs::write(&chunk, &bytes).expect("written");
    repo.verb(&["check"]).run().ok();
    // Another archive in the place of the one that was listed.
    repo.backup().run().ok();
    let second = repo.list().0.remove(1);
    let other = pair.path("repo").join("backups/shop").join(&second);
    std::fs::rename(&archive, pair.path("kept")).expect("renamed");
    std::fs::rename(&other, &archive).expect("renamed");
    repo.verb(&["check", &id])
        .run()
        .code(5)
        .says(&["is not the one that was listed"]);
    std::fs::rename(&archive, &other).expect("renamed");
    std::fs::rename(pair.path("kept"), &archive).expect("renamed");
    // The copies of the catalog are believed about nothing that is not listed; the catalog comes from the archives.
    let root = pair.path("repo");
    std::fs::write(root.join("catalog.json"), b"{nonsense").expect("written");
    assert_eq!(repo.list().0.len(), 2);
    std::fs::remove_dir_all(root.join("catalog")).expect("removed");
    std::fs::create_dir(root.join("catalog")).expect("made");
    assert_eq!(repo.list().0.len(), 0);
    let summary = repo
        .verb(&["prune", "--keep-within", "1w", "--json"])
        .run()
        .ok()
        .summary();
    assert_eq!(summary["adopted"].as_array().map(Vec::len), Some(2));
    repo.verb(&["check"]).run().ok();
}

both!(a_clock_that_jumps);
/// A backup of the future: nothing is removed by such a clock.
fn a_clock_that_jumps(pair: &Pair) {
    let repo = Repo::local(pair);
    pair.fill(ROWS);
    repo.init().ok();
    repo.backup().run().ok();
    let id = repo.list().0.remove(0);
    let path = pair.path("repo/catalog").join(format!("shop@{id}.json"));
    let text = std::fs::read_to_string(&path).expect("an entry");
    let mut entry: Value = serde_json::from_str(&text).expect("JSON");
    entry["begin"] = "2036-01-01T00:00:00Z".into();
    std::fs::write(&path, entry.to_string()).expect("written");
    let _ = std::fs::remove_file(pair.path("repo/catalog.json"));
    repo.verb(&["prune", "--keep-within", "1w"])
        .run()
        .code(2)
        .says(&["of the future"]);
    // The next backup has a true time, and the one before it cannot be later: both are of now.
    repo.backup().run().ok();
    repo.verb(&["prune", "--keep-within", "1w", "--force"])
        .run()
        .ok()
        .says(&["No backup to remove"]);
    assert_eq!(repo.list().0.len(), 2);
}
