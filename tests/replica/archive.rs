//! `penstock replica create --from-archive`: a new replica out of a dump of its source, or of another replica, however it is
//! interrupted; an archive that does not fit is refused by name, and nothing is changed.

use super::{By, Scene, Writes, is_a_replica, start};
use crate::kit::pair::schemas;
use crate::kit::waiting::until;
use crate::kit::{Done, Tool, few};
use testkit::{Kind, Server};

impl Scene {
    /// `penstock dump` of a server; gives the directory.
    fn dump(&self, server: &Server, name: &str, more: &[&str]) -> String {
        let to = self.directory.path().join(name).display().to_string();
        let done = Tool::new([
            "dump".to_owned(),
            server.uri(),
            "--to".to_owned(),
            to.clone(),
        ])
        .args(more.iter().copied())
        .env("PENSTOCK_STATE", self.state())
        .run();
        // Without a consistent snapshot it has an exception.
        assert!(matches!(done.code, 0 | 3), "{}", done.said());
        to
    }

    fn out_of(&self, archive: &str, more: &[&str]) -> Done {
        self.create(&[&["--from-archive", archive], more].concat())
    }

    /// Nothing is made on either server.
    #[track_caller]
    fn is_untouched(&self) {
        assert_eq!(self.status()["channels"].as_array().map(Vec::len), Some(0));
        assert_eq!(schemas(&self.new), Vec::<String>::new());
        for server in [&self.source, &self.new] {
            let users = "SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'penstock%'";
            assert_eq!(server.value(users).expect("a count"), "0");
        }
    }
}

/// A table that is large enough to be imported as a tablespace.
fn large() -> String {
    format!(
        "CREATE TABLE shop.large (id INT PRIMARY KEY, v VARCHAR(600), KEY (v(10))); \
         INSERT INTO shop.large SELECT n, REPEAT(CHAR(97 + n % 26), 550) FROM {}",
        crate::kit::COUNT
    )
}

/// Under writes, and with changes of accounts that come with the log; then another one out of a dump of the new replica.
fn becomes_a_replica(kind: Kind, by: By) {
    let Some(scene) = Scene::new(kind, by) else {
        return;
    };
    // Its definer comes after it.
    let view = "CREATE DEFINER = app@localhost VIEW shop.of_app AS SELECT id FROM shop.account";
    scene.source.client(view).expect("a view");
    scene.source.script(large().as_bytes()).expect("rows");
    let writes = Writes::begin(&scene.source);
    let archive = scene.dump(&scene.source, "a", &["--chunk-size", "64k"]);
    let later = b"ALTER USER app@localhost IDENTIFIED BY 'a-third-App1'; CREATE USER late@localhost IDENTIFIED BY 'a-Late1'; \
        CREATE TABLE shop.late (id INT PRIMARY KEY); INSERT INTO shop.late VALUES (1); CREATE DATABASE later";
    scene.source.script(later).expect("changes");
    let done = scene.out_of(&archive, &[]).ok().says(&[
        "Replica ready: caught up, and equal to its source",
        &archive,
        "have the archive's digests",
        "in the files that were built",
        "accounts",
    ]);
    assert!(!done.said().contains("read lock"), "{}", done.said());
    scene.on("verify", &[]).run().ok().says(&["Equal"]);
    // Once more, and named as what it is.
    scene
        .out_of(&archive, &[])
        .code(10)
        .says(&["was made a replica by an earlier run", "--resume"]);
    // This one is encrypted.
    let passphrase = scene.directory.path().join("passphrase");
    std::fs::write(&passphrase, "correct horse\n").expect("a file");
    let key = ["--passphrase-file", passphrase.to_str().expect("a path")];
    let of_replica = scene.dump(&scene.new, "b", &key);
    let third = start(kind, by, 34, &["--read-only=ON"]);
    Tool::new(["replica", "create"])
        .args([scene.source.uri(), third.uri()])
        .args(["--from-archive", &of_replica])
        .args(key)
        .env("PENSTOCK_STATE", scene.state())
        .run()
        .ok()
        .says(&["equal at one moment"]);
    writes.end();
    until("the third has everything", || {
        let sum = |s: &Server| s.value(super::SUM).unwrap_or_default();
        let (a, b) = (sum(&scene.source), sum(&third));
        !a.is_empty() && a == b
    });
    let tool = Tool::new(["replica", "status"]).arg(third.uri());
    let status = tool.arg("--json").run().summary();
    let port = scene.source.port().expect("a port");
    assert_eq!(status["channels"][0]["port"], u64::from(port), "{status}");
    scene.until_equal();
    is_a_replica(&scene, by);
    Tool::new(["replica", "abort"])
        .args([third.uri(), "--source".to_owned(), scene.source.uri()])
        .env("PENSTOCK_STATE", scene.state())
        .run()
        .ok();
    // All of it is undone, and it begins again at the same place.
    scene.abort(&["--drop-data"]).ok().says(&[
        "schema `shop`",
        "schema `later`",
        "account 'late'@'localhost'",
    ]);
    scene.is_untouched();
    scene.out_of(&archive, &["--no-verify"]).ok();
    scene.until_equal();
    // After a failover the archive is of the source before: GTIDs of MySQL say that it fits.
    let of_third = |verb: &str, args: &[&str]| {
        Tool::new(["replica", verb])
            .args(args.iter().copied())
            .env("PENSTOCK_STATE", scene.state())
            .run()
    };
    let (old, promoted, new) = (scene.source.uri(), scene.new.uri(), third.uri());
    of_third("abort", &[&new, "--source", &old, "--drop-data"]).ok();
    let args = [&*promoted, &new, "--from-archive", &archive];
    let done = of_third("create", &args);
    match (kind, by) {
        (Kind::MySql, By::Gtid) => done.ok().says(&["equal at one moment"]),
        _ => done
            .code(10)
            .says(&["is of another server than the source"]),
    };
}

#[test]
fn becomes_a_replica_by_gtid_mysql() {
    becomes_a_replica(Kind::MySql, By::Gtid);
}

#[test]
fn becomes_a_replica_by_position_mysql() {
    becomes_a_replica(Kind::MySql, By::Position);
}

#[test]
fn becomes_a_replica_mariadb() {
    becomes_a_replica(Kind::MariaDb, By::Gtid);
}

/// A run that is killed at any step goes on with `--resume`, also in the middle of the rows.
fn killed_at_each_step(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    let archive = scene.dump(&scene.source, "a", &["--chunk-size", "64k"]);
    let other = scene.dump(&scene.source, "other", &[]);
    let all = [
        "the copy is about to begin#1",
        "a schema is created#1",
        "the journal is begun#1",
        "a table is created#2",
        "a chunk is committed#1",
        "a chunk is committed#2",
        "the load is over#1",
        "the rows are recorded#1",
        "an account is made#1",
        "the copy is recorded#1",
        "the account is about to be made#1",
        "the channel is started#1",
    ];
    let killed = |place: &str| {
        let tool = scene.on("create", &["--from-archive", &archive]);
        tool.env("PENSTOCK_KILL_AT", place).run().code(137);
    };
    for place in few(kind, 2, &all) {
        killed(place);
        scene
            .out_of(&archive, &["--resume"])
            .ok()
            .says(&["equal at one moment"]);
        scene.until_equal();
        scene.abort(&["--drop-data"]).ok();
        scene.is_untouched();
    }
    // What was begun is named, and is not continued with something else.
    killed("a chunk is committed#1");
    scene
        .out_of(&archive, &[])
        .code(10)
        .says(&["--resume continues it"]);
    scene
        .create(&["--resume"])
        .code(10)
        .says(&["has begun to load the archive", "--from-archive"]);
    scene
        .out_of(&other, &["--resume"])
        .code(10)
        .says(&["is not the archive that an earlier run has begun to load"]);
    scene.abort(&["--drop-data"]).ok();
    scene.is_untouched();
    // Nothing is left to continue, and that is said.
    scene
        .out_of(&other, &["--resume"])
        .ok()
        .says(&["nothing had been begun that --resume could continue"]);
}
crate::kit::each_kind!(killed_at_each_step; mysql, mariadb);

/// With `--via` the command makes the archive itself, continues it too, and removes it.
fn by_way_of_an_archive(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    scene.source.script(large().as_bytes()).expect("rows");
    let via = scene.directory.path().join("via");
    let by = ["--via", via.to_str().expect("a path")];
    let all = [
        "a task has ended#2",
        "the manifest is written#1",
        "the copy is about to begin#1",
        "a file is built#1",
        "a file is imported#1",
        "the load is over#1",
        "the rows are recorded#1",
        "the copy is recorded#1",
        "the channel is started#1",
    ];
    let writes = Writes::begin(&scene.source);
    for place in few(kind, 3, &all) {
        let tool = scene.on("create", &by).env("PENSTOCK_KILL_AT", place);
        tool.run().code(137);
        scene.create(&by).code(10).says(&["--resume continues"]);
        let done = scene.create(&[&by[..], &["--resume"]].concat());
        done.ok().says(&["equal at one moment"]);
        assert_eq!(
            std::fs::read_dir(&via).map_or(0, Iterator::count),
            0,
            "{place}"
        );
        let _ = std::fs::remove_dir(&via);
        scene.abort(&["--drop-data"]).ok();
        scene.is_untouched();
    }
    let done = scene.create(&by).ok();
    done.says(&[
        "dumped in",
        "read lock",
        "as tablespaces",
        "in the files that were built",
    ]);
    assert!(!via.exists());
    writes.end();
    scene.until_equal();
    is_a_replica(&scene, By::Gtid);
    // An archive that somebody has made there since is not this one.
    let other = scene.dump(&scene.source, "via", &[]);
    scene.create(&[&by[..], &["--resume"]].concat()).ok();
    assert!(std::path::Path::new(&other).join("penstock.json").exists());
}
crate::kit::each_kind!(by_way_of_an_archive; mysql, mariadb);

/// A backup of a repository, and what is hot on the source at the end.
fn out_of_a_repository_and_warm(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    scene.source.script(large().as_bytes()).expect("rows");
    // Pages that were never written to the files have no place in them.
    let flush =
        b"FLUSH TABLES shop.large FOR EXPORT; UNLOCK TABLES; SELECT SUM(LENGTH(v)) FROM shop.large";
    scene.source.script(flush).expect("a read");
    let repository = scene.directory.path().join("repository");
    let tool = |words: &[&str]| {
        let tool = Tool::new(words.iter().copied()).env("PENSTOCK_STATE", scene.state());
        tool.run().ok()
    };
    let place = repository.to_str().expect("a path");
    tool(&["init", place]);
    let uri = scene.source.uri();
    tool(&["backup", "shop", &uri, "--repository", place]);
    let writes = Writes::begin(&scene.source);
    let backups = repository.join("backups").join("shop");
    let mut found = std::fs::read_dir(&backups).expect("backups").flatten();
    let backup = found.next().expect("a backup").path();
    let backup = backup.to_str().expect("a path");
    scene.out_of(backup, &["--warm"]).ok().says(&[
        "equal at one moment",
        "of hot ranges of",
        backup,
    ]);
    writes.end();
    scene.until_equal();
    is_a_replica(&scene, By::Gtid);
}
crate::kit::each_kind!(out_of_a_repository_and_warm; mysql, mariadb);

/// What does not fit is refused before anything is changed.
fn what_does_not_fit(kind: Kind, by: By) {
    let Some(scene) = Scene::new(kind, by) else {
        return;
    };
    let refused = |archive: &str, says: &[&str]| {
        scene.out_of(archive, &[]).code(10).says(says);
        scene.is_untouched();
    };
    let dump = |name: &str, more: &[&str]| scene.dump(&scene.source, name, more);
    refused(
        &dump("part", &["--exclude-tables", "shop.account"]),
        &["has only a part of its server (--exclude-tables)"],
    );
    refused(
        &dump("moments", &["--consistency", "none"]),
        &["--consistency none", "no place in the log"],
    );
    refused(
        &dump("nobody", &["--no-users"]),
        &["has no accounts", "could not be applied"],
    );
    refused(&dump("events", &["--no-events"]), &["has no events"]);
    // Of another server.
    let stranger = start(kind, by, 35, &[]);
    stranger
        .script(b"CREATE DATABASE strange; CREATE TABLE strange.t (id INT PRIMARY KEY)")
        .expect("data");
    let why = match (kind, by) {
        (Kind::MySql, By::Gtid) => "does not have all transactions that are in the archive",
        _ => "is of another server than the source",
    };
    refused(&scene.dump(&stranger, "strange", &[]), &[why]);
    // MySQL Shell's archives have no manifest.
    let bare = dump("bare", &[]);
    std::fs::remove_file(format!("{bare}/penstock.json")).expect("a file removed");
    let root = format!("{bare}/@.json");
    let text = std::fs::read_to_string(&root).expect("metadata");
    let text = text.replacen("\"dumper\": \"penstock ", "\"dumper\": \"mysqlsh ", 1);
    std::fs::write(root, text).expect("written");
    refused(&bare, &["was not written by penstock"]);
    // An account that the log makes, and that is there.
    let older = dump("older", &[]);
    let account = b"SET sql_log_bin = 0; CREATE USER t_later@localhost; SET sql_log_bin = 1";
    scene.new.script(account).expect("an account");
    let later = "CREATE USER t_later@localhost";
    scene.source.client(later).expect("an account");
    refused(
        &older,
        &["the account 't_later'@'localhost'", "not the archive"],
    );
    // The source has removed what comes next.
    let archive = dump("a", &[]);
    scene
        .source
        .script(b"INSERT INTO shop.t (n, v) VALUES (1, 'next'); FLUSH BINARY LOGS; INSERT INTO shop.t (n, v) VALUES (2, 'then'); FLUSH BINARY LOGS")
        .expect("more files");
    let files = || scene.source.client("SHOW BINARY LOGS").expect("files");
    until("the old files to be removed", || {
        let newest = files().pop().and_then(|row| row[0].clone());
        let purge = format!("PURGE BINARY LOGS TO '{}'", newest.expect("a file"));
        scene.source.client(&purge).expect("a purge");
        files().len() == 1
    });
    let missing = match (kind, by) {
        (Kind::MySql, By::Gtid) => scene.source.value("SELECT @@server_uuid").expect("a uuid"),
        (Kind::MySql, By::Position) => "binlog.000001".to_owned(),
        _ => "up to 0-31-".to_owned(),
    };
    refused(&archive, &["has removed the binary log", &missing]);
    // Its log was reset.
    let newer = dump("newer", &[]);
    let reset = match kind {
        Kind::MySql => "RESET BINARY LOGS AND GTIDS",
        _ => "RESET MASTER",
    };
    scene.source.client(reset).expect("a reset");
    let why = match by {
        By::Gtid => "the source's log was reset",
        By::Position => "has removed the binary log",
    };
    refused(&newer, &[why]);
}

#[test]
fn what_does_not_fit_by_gtid_mysql() {
    what_does_not_fit(Kind::MySql, By::Gtid);
}

#[test]
fn what_does_not_fit_by_position_mysql() {
    what_does_not_fit(Kind::MySql, By::Position);
}

#[test]
fn what_does_not_fit_mariadb() {
    what_does_not_fit(Kind::MariaDb, By::Gtid);
}
