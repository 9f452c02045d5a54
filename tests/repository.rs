//! Backups of several servers in one place: listed only when whole, removed only by the policy, and what a
//! kill leaves is neither lost nor mistaken for a backup.

use crate::kit::{Done, Pair, Small, Tool, both, few};
use crate::stores::{Access, sshd, tool, with_s3, with_ssh};
use rustix::process::Signal;
use serde_json::Value;

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

    fn elsewhere<'p>(pair: &'p Pair, url: &str, access: &Access) -> Repo<'p> {
        Repo {
            url: url.to_owned(),
            access: access.clone(),
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

    /// Makes a backup; its identifier.
    #[track_caller]
    fn backed_up(&self) -> String {
        let summary = self.backup().run().ok().summary();
        summary["backup"]["id"].as_str().expect("an id").to_owned()
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
    let first = repo.backed_up();
    pair.fill("INSERT INTO t_a.t (v) VALUES ('later')");
    let second = repo.backed_up();
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
    with_ssh(&pair.path("repo"), |url, access| {
        lived_in(&Repo::elsewhere(pair, url, access));
    });
}

both!(in_s3);
fn in_s3(pair: &Pair) {
    with_s3("repo", |url, access| {
        lived_in(&Repo::elsewhere(pair, url, access));
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
        let kept = repo.backed_up();
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
    with_s3("repo", |url, access| {
        killed(&Repo::elsewhere(pair, url, access));
    });
}

both!(a_backup_in_use_is_not_removed);
fn a_backup_in_use_is_not_removed(pair: &Pair) {
    let repo = Repo::local(pair);
    pair.fill(ROWS);
    repo.init().ok();
    let first = repo.backed_up();
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
    restore.signal(Signal::CONT);
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
    backup.signal(Signal::CONT);
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
    // An entry that says something else than its archive, and one that cannot be read beside a whole one.
    let entry = pair.path("repo").join(format!("catalog/shop@{id}.json"));
    let said = std::fs::read_to_string(&entry).expect("an entry");
    std::fs::write(&entry, said.replace("\"rows\": ", "\"rows\": 1")).expect("written");
    repo.verb(&["check"])
        .run()
        .code(5)
        .says(&["says something else"]);
    std::fs::write(&entry, &said).expect("written");
    let garbage = pair.path("repo/catalog/shop@20260101T000000Z-0000.json");
    std::fs::write(&garbage, "{}").expect("written");
    repo.verb(&["check"]).run().code(5).says(&[
        "cannot be read, so its backup is not checked",
        "1 backup: intact",
    ]);
    std::fs::remove_file(&garbage).expect("removed");
    // As lists write it.
    let named = format!("shop@{id}");
    repo.verb(&["check", &named]).run().ok().says(&["intact"]);
    repo.verb(&["check", &format!("other@{id}")]).run().code(2);
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

both!(a_full_place);
/// What is needed to make room works without any.
fn a_full_place(pair: &Pair) {
    let Some(_small) = Small::mount(pair, "3m") else {
        return;
    };
    pair.fill(ROWS);
    let repo = Repo {
        url: pair.path("small/repo").display().to_string(),
        ..Repo::local(pair)
    };
    repo.init().ok();
    for _ in 0..3 {
        repo.backup().run().ok();
    }
    // All of it is used, to the last page.
    let fill = std::fs::File::create(pair.path("small/fill")).expect("a file");
    let end = std::io::copy(&mut std::io::repeat(1), &mut &fill);
    assert_eq!(
        end.expect_err("no end").kind(),
        std::io::ErrorKind::StorageFull
    );
    let locks = || {
        std::fs::read_dir(pair.path("small/repo/locks"))
            .expect("a directory")
            .count()
    };
    // What only reads needs none. It is locked all the same.
    let restore = repo
        .verb(&["restore", "--into", &pair.target().uri()])
        .env("PENSTOCK_STOP_AT", "1")
        .start();
    restore.until_stopped();
    assert_eq!(locks(), 1);
    repo.verb(&["prune", "--keep-last", "1", "--dry-run"])
        .run()
        .ok()
        .says(&["2 backups would be removed"]);
    restore.signal(Signal::CONT);
    restore.wait().ok();
    pair.same_checksums();
    repo.verb(&["check"]).run().ok();
    assert_eq!(locks(), 0);
    // What writes says so.
    repo.backup().run().code(8).says(&["make room"]);
    assert_eq!(locks(), 0);
    repo.verb(&["prune", "--keep-last", "1", "--force"])
        .run()
        .ok();
    assert_eq!(repo.list().0.len(), 1);
    assert_eq!(locks(), 0);
    repo.verb(&["check"]).run().ok();
}

both!(a_place_that_is_read_only);
/// A repository that cannot be written is read, and what that means is said.
fn a_place_that_is_read_only(pair: &Pair) {
    let Some(small) = Small::mount(pair, "16m") else {
        return;
    };
    pair.fill(ROWS);
    let repo = Repo {
        url: pair.path("small/repo").display().to_string(),
        ..Repo::local(pair)
    };
    repo.init().ok();
    let id = repo.backed_up();
    small.read_only();
    let not_locked = format!("shop@{id} is not locked");
    repo.verb(&["check"])
        .run()
        .ok()
        .says(&["read-only", &not_locked]);
    repo.verb(&["restore", "--into", &pair.target().uri()])
        .run()
        .ok()
        .says(&["read-only", &not_locked, "equal:"]);
    pair.same_checksums();
    // What writes more than a lock does not begin.
    repo.verb(&["drill"])
        .run()
        .code(8)
        .says(&["make room there, or make it writable"]);
    repo.verb(&["prune", "--keep-last", "1"]).run().code(8);
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

both!(a_lost_catalog);
/// Backups that are listed again keep the order in which they were taken, one of them or all.
fn a_lost_catalog(pair: &Pair) {
    let repo = Repo::local(pair);
    let root = pair.path("repo");
    pair.fill(ROWS);
    repo.init().ok();
    let made: Vec<String> = (0..5).map(|_| repo.backed_up()).collect();
    let lost = |ids: &[String]| {
        for id in ids {
            let entry = root.join("catalog").join(format!("shop@{id}.json"));
            std::fs::remove_file(entry).expect("an entry");
        }
    };
    let all = &["prune", "--keep-last", "9"];
    for gone in [&made[1..2], &made[..1], &made[2..4], &made[4..], &made[..]] {
        lost(gone);
        repo.verb(all).run().ok().says(&["listed now", &gone[0]]);
        assert_eq!(repo.list().0, made, "{gone:?}");
        // The file with the copies says what the entries say.
        let copies = std::fs::read_to_string(root.join("catalog.json")).expect("copies");
        std::fs::write(root.join("catalog.json"), "").expect("no copies");
        assert_eq!(repo.list().0, made, "{gone:?}");
        std::fs::write(root.join("catalog.json"), copies).expect("copies");
    }
    // Without them, what a prune would do is said of what it would list first, and nothing is written.
    lost(&made);
    let dry = repo.verb(&["prune", "--keep-last", "1", "--dry-run", "--json"]);
    let would = dry.run().ok().summary();
    let going = |backup: &&Value| backup["removed"] == true;
    let backups = would["backups"].as_array().expect("backups");
    assert_eq!(backups.iter().filter(going).count(), 4);
    assert_eq!(backups[0]["id"], made[4].as_str());
    assert_eq!(repo.list().0.len(), 0);
    // The next backup is the newest.
    let next = repo.backed_up();
    assert_eq!(repo.list().0, [&made[..], &[next]].concat());
    // More than half of many: a dry run says so, and a prune refuses.
    let few = ["prune", "--keep-last", "1", "--dry-run"];
    repo.verb(&few)
        .run()
        .ok()
        .says(&["refused without --force", "5 of the 6"]);
    repo.verb(&few[..3]).run().code(2).says(&["5 of the 6"]);
    assert_eq!(repo.list().0.len(), 6);
}

both!(a_backup_while_a_prune_removes_another);
/// What a prune has taken off the list is whole for a moment: nobody lists it again.
fn a_backup_while_a_prune_removes_another(pair: &Pair) {
    let repo = Repo::local(pair);
    pair.fill(ROWS);
    repo.init().ok();
    let first = repo.backed_up();
    let second = repo.backed_up();
    let last = ["prune", "--keep-last", "1"];
    let prune = repo
        .verb(&last)
        .env("PENSTOCK_STOP_AT", "the backup is off the list#1")
        .start();
    prune.until_stopped();
    let third = repo.backed_up();
    assert_eq!(repo.list().0, [second.clone(), third.clone()]);
    let pid = format!("process {} on", prune.pid());
    repo.verb(&last).run().code(11).says(&["another run", &pid]);
    prune.signal(Signal::CONT);
    prune.wait().ok().says(&["1 backup removed", &first]);
    assert_eq!(repo.list(), (vec![second, third.clone()], Vec::new()));
    repo.verb(&["check"]).run().ok();
    // A prune whose lock was removed while it was stopped removes nothing more.
    let prune = repo
        .verb(&last)
        .env("PENSTOCK_STOP_AT", "the catalog is locked#1")
        .start();
    prune.until_stopped();
    let locks = std::fs::read_dir(pair.path("repo/locks")).expect("locks");
    for lock in locks.flatten() {
        std::fs::remove_file(lock.path()).expect("removed");
    }
    prune.signal(Signal::CONT);
    prune.wait().code(11).says(&["was removed"]);
    assert_eq!(repo.list().0.len(), 2);
    repo.verb(&last).run().ok();
    assert_eq!(repo.list().0, [third]);
}

both!(an_init_that_was_killed);
fn an_init_that_was_killed(pair: &Pair) {
    let repo = Repo::local(pair);
    let init = || tool(&["init", &repo.url], &repo.access);
    let begun = "the directories of the repository are made#1";
    init().env("PENSTOCK_KILL_AT", begun).run().code(137);
    repo.verb(&["list"]).run().code(2).says(&["penstock init"]);
    init().run().ok();
    assert_eq!(repo.list(), (Vec::new(), Vec::new()));
    // What others have put there is not taken for that.
    let other = pair.path("other");
    std::fs::create_dir_all(other.join("catalog")).expect("made");
    std::fs::write(other.join("catalog/mine"), "x").expect("written");
    let other = other.display().to_string();
    tool(&["init", &other], &repo.access).run().code(10);
}

both!(a_place_that_goes_away_is_not_damage);
fn a_place_that_goes_away_is_not_damage(pair: &Pair) {
    let Some(sshd) = sshd() else { return };
    let repo = Repo {
        url: sshd.url(&pair.path("repo")),
        access: vec![("PENSTOCK_SSH", sshd.ssh())],
        pair,
    };
    pair.fill(ROWS);
    repo.init().ok();
    let first = repo.backed_up();
    repo.backed_up();
    let check = repo
        .verb(&["check"])
        .env("PENSTOCK_STOP_AT", "a backup is about to be read#2")
        .start();
    check.until_stopped();
    drop(sshd);
    // The client of the connection that is open.
    let children = format!("/proc/{0}/task/{0}/children", check.pid());
    let children = std::fs::read_to_string(children).expect("children");
    for child in children.split_whitespace() {
        let pid = rustix::process::Pid::from_raw(child.parse().expect("a number"));
        let kill = Signal::KILL;
        rustix::process::kill_process(pid.expect("a process"), kill).expect("killed");
    }
    check.signal(Signal::CONT);
    check
        .wait()
        .code(8)
        .says(&["2 backups: 1 not read", &first, "intact", "not read:"]);
    // A listed backup that is gone is damage.
    std::fs::remove_dir_all(pair.path("repo/backups/shop").join(&first)).expect("removed");
    let url = pair.path("repo").display().to_string();
    let local = Repo {
        url,
        access: Access::new(),
        pair,
    };
    local
        .verb(&["check"])
        .run()
        .code(5)
        .says(&["2 backups: 1 damaged", "is gone"]);
}
