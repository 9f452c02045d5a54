//! `penstock backup --incremental`: rows that did not change are taken over from the last backup, whatever may have changed is read
//! again, with the reason; each backup is restored to its own moment, also after those were pruned that it took rows from.

mod chains;
mod places;
mod proof;

use crate::kit::{Done, Pair, Tool, both};
use crate::stores::{Access, tool};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;
use testkit::Server;

const TABLES: &str = "CREATE DATABASE shop; USE shop; \
    CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200)); \
    CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(200), KEY (v)); \
    CREATE TABLE parent (id INT PRIMARY KEY); \
    CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE); \
    CREATE TABLE kept (id INT PRIMARY KEY, v INT, w INT AS (v * 2) STORED); \
    CREATE TABLE parts (id INT PRIMARY KEY, v INT) PARTITION BY HASH (id) PARTITIONS 3; \
    CREATE TABLE noted (id INT AUTO_INCREMENT PRIMARY KEY, v INT); \
    CREATE TABLE counted (id INT PRIMARY KEY, n INT); \
    CREATE TABLE `odd-name` (id INT PRIMARY KEY, v INT); \
    CREATE TABLE old (id INT PRIMARY KEY) ENGINE=MyISAM; \
    CREATE VIEW seen AS SELECT id, v FROM `odd-name`; \
    CREATE TRIGGER notes AFTER INSERT ON b FOR EACH ROW INSERT INTO noted (v) VALUES (NEW.id);";

const ROWS: &str = "USE shop; \
    INSERT INTO a (v) SELECT REPEAT('a', 150) FROM Q WHERE n < 4000; \
    INSERT INTO b SELECT n, CONCAT('b', n) FROM Q WHERE n < 2000; \
    INSERT INTO parent VALUES (1), (2), (3); INSERT INTO child VALUES (1, 1), (2, 2), (3, 3); \
    INSERT INTO kept (id, v) VALUES (1, 1), (2, 2); \
    INSERT INTO parts SELECT n, n FROM Q WHERE n < 100; \
    INSERT INTO counted VALUES (1, 0), (2, 0); INSERT INTO `odd-name` VALUES (1, 1); INSERT INTO old VALUES (1);";

const FUNCTION: &str = "CREATE FUNCTION shop.counts(x INT) RETURNS INT MODIFIES SQL DATA DETERMINISTIC \
    BEGIN UPDATE shop.counted SET n = n + 1 WHERE id = x; RETURN 1; END";

/// The server knows the time of a change in whole seconds.
fn later() {
    std::thread::sleep(Duration::from_millis(1100));
}

fn filled(server: &Server) {
    for script in [TABLES, ROWS] {
        let script = script.replace("Q", crate::kit::COUNT);
        server.script(script.as_bytes()).expect("tables");
    }
    let trusted = "SET GLOBAL log_bin_trust_function_creators = 1";
    server.client(trusted).expect("a setting");
    server.client(FUNCTION).expect("a function");
    later();
}

/// A repository, with a server whose backups are kept there.
struct Scene<'a> {
    server: &'a Server,
    url: String,
    access: Access,
    /// Where it is, if it is a directory of this host.
    directory: Option<tempfile::TempDir>,
}

impl<'a> Scene<'a> {
    fn new(server: &'a Server) -> Scene<'a> {
        let directory = tempfile::tempdir().expect("a directory");
        let url = directory.path().join("repo").display().to_string();
        Scene {
            directory: Some(directory),
            ..Scene::elsewhere(server, &url, &Access::new())
        }
    }

    fn elsewhere(server: &'a Server, url: &str, access: &Access) -> Scene<'a> {
        tool(&["init", url], access).run().ok();
        Scene {
            server,
            url: url.to_owned(),
            access: access.clone(),
            directory: None,
        }
    }

    /// A command of archives.
    fn tool(&self, words: &[&str]) -> Tool {
        tool(words, &self.access)
    }

    /// A command of the repository.
    fn verb(&self, words: &[&str]) -> Tool {
        self.tool(words).args(["--repository", &self.url])
    }

    fn backup(&self, more: &[&str]) -> Done {
        let words = ["backup", "shop", &self.server.uri(), "--json"];
        self.verb(&words).args(more.iter().copied()).run()
    }

    /// An incremental backup; its identifier, and what came of it.
    #[track_caller]
    fn incremental(&self, more: &[&str]) -> (String, Value) {
        let done = self.backup(&[&["--incremental", "--threads", "2"], more].concat());
        // A table without snapshots is an exception.
        assert!([0, 3].contains(&done.code), "{done:?}");
        let summary = done.summary();
        let id = summary["backup"]["id"].as_str().expect("an id").to_owned();
        (id, summary)
    }

    fn place(&self, id: &str) -> String {
        let (repo, query) = match self.url.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (self.url.as_str(), String::new()),
        };
        format!("{repo}/backups/shop/{id}{query}")
    }

    /// The backups that are listed.
    #[track_caller]
    fn listed(&self) -> Vec<String> {
        let list = self.verb(&["list", "--json"]).run().ok().summary();
        let backups = list["backups"].as_array().expect("backups").iter();
        let id = |b: &Value| b["id"].as_str().expect("an id").to_owned();
        backups.map(id).collect()
    }

    /// The backup is what the server has now.
    #[track_caller]
    fn is_equal(&self, id: &str) {
        let (place, against) = (self.place(id), self.server.uri());
        self.tool(&["verify", &place]).run().ok();
        self.tool(&["verify", &place, "--against", &against])
            .run()
            .ok();
    }
}

/// Why each table was read again.
fn read_again(summary: &Value) -> Vec<String> {
    let list = summary["read_again"].as_array().expect("a list");
    let text = |v: &Value| v.as_str().expect("a text").to_owned();
    list.iter().map(text).collect()
}

#[track_caller]
fn has_read(summary: &Value, wanted: &[(&str, &str)]) {
    let found = read_again(summary);
    for (table, why) in wanted {
        let table = format!("`shop`.`{table}`: ");
        let line = found.iter().find(|l| l.starts_with(&table));
        assert!(
            line.is_some_and(|l| l.contains(why)),
            "{table}{why}\n{summary}"
        );
    }
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
}

/// The table without snapshots is always read.
const ALWAYS: (&str, &str) = ("old", "MyISAM has no snapshots");

both!(each_is_restored_to_its_moment);
fn each_is_restored_to_its_moment(pair: &Pair) {
    filled(pair.source());
    let scene = Scene::new(pair.source());
    let (full, first) = scene.incremental(&[]);
    assert!(first["taken_over"].is_null(), "{first}");
    pair.fill("INSERT INTO shop.a (v) VALUES ('later')");
    later();
    let (second, summary) = scene.incremental(&[]);
    has_read(
        &summary,
        &[ALWAYS, ("a", "was changed")].map(|(t, w)| match t {
            // By its rows, or by a statement, as the server logs.
            "a" => (t, "changed"),
            _ => (t, w),
        }),
    );
    assert_eq!(summary["taken_over"]["tables"], 8, "{summary}");
    scene.is_equal(&second);
    // What is stored is what was read; what it holds is everything.
    let list = scene.verb(&["list", "--json"]).run().ok().summary();
    let backups = list["backups"].as_array().expect("backups");
    let (a, b) = (&backups[0], &backups[1]);
    assert!(
        b["stored_bytes"].as_u64() < a["stored_bytes"].as_u64(),
        "{list}"
    );
    assert_eq!(b["rows"].as_u64(), a["rows"].as_u64().map(|n| n + 1));
    scene.verb(&["list"]).run().ok().says(&["incremental"]);
    scene
        .verb(&["check"])
        .run()
        .ok()
        .says(&["2 backups: intact"]);
    // It refers to the full one, also when that is pruned: files stay, and the backup is no more.
    pair.fill("INSERT INTO shop.kept (id, v) VALUES (3, 3)");
    let (third, summary) = scene.incremental(&["--paranoid"]);
    assert!(
        summary["taken_over"]["compared_rows"].as_u64() > Some(0),
        "{summary}"
    );
    scene.is_equal(&third);
    scene
        .verb(&["prune", "--keep-last", "1"])
        .run()
        .ok()
        .says(&[&full, &second, "removed"]);
    let list = scene.verb(&["list", "--json"]).run().ok().summary();
    assert_eq!(list["backups"].as_array().map(Vec::len), Some(1), "{list}");
    assert_eq!(list["unlisted"].as_array().map(Vec::len), Some(0), "{list}");
    scene.is_equal(&third);
    scene
        .verb(&["check"])
        .run()
        .ok()
        .says(&["1 backup: intact"]);
    // What the removed ones held and nobody needs is gone.
    let left = |id: &str, table: &str| {
        let files = std::fs::read_dir(scene.place(id)).expect("a directory");
        let names = files.map(|f| {
            f.expect("a file")
                .file_name()
                .into_string()
                .expect("a name")
        });
        names
            .filter(|n| n.starts_with(&format!("shop@{table}@")))
            .count()
    };
    assert_eq!(left(&full, "a"), 0);
    assert!(left(&full, "b") > 0 && left(&second, "a") > 0);
    Tool::new(["verify", &scene.place(&full)]).run().code(5);
    // A copy is whole by itself.
    let copy = pair.path("copy");
    Tool::new(["copy", &scene.place(&third)])
        .arg(&copy)
        .run()
        .ok();
    Tool::new(["verify"]).arg(&copy).run().ok();
    // What is taken away from the others is not.
    let alone = pair.path("alone").join("x");
    std::fs::create_dir_all(&alone).expect("a directory");
    for file in std::fs::read_dir(scene.place(&third)).expect("a directory") {
        let file = file.expect("a file");
        std::fs::copy(file.path(), alone.join(file.file_name())).expect("a copy");
    }
    let lost = ["verify", &alone.display().to_string()].map(str::to_owned);
    Tool::new(lost)
        .run()
        .code(5)
        .says(&["beside it, which is not there", "penstock copy"]);
    let loaded = pair.load("copy", &[]);
    assert!([0, 3].contains(&loaded.code), "{loaded:?}");
    pair.same_checksums();
    // Restored out of the repository as well.
    pair.target()
        .script(b"DROP DATABASE shop")
        .expect("dropped");
    let to = pair.target().uri();
    let restored = scene.verb(&["restore", "--into", &to]).run();
    assert!([0, 3].contains(&restored.code), "{restored:?}");
    pair.same_checksums();
    // The next full one needs none of them.
    let done = scene.backup(&[]);
    assert!([0, 3].contains(&done.code), "{done:?}");
    scene.verb(&["prune", "--keep-last", "1"]).run().ok();
    scene.verb(&["prune", "--keep-last", "1"]).run().ok();
    let of_server = format!("{}/backups/shop", scene.url);
    assert_eq!(
        std::fs::read_dir(of_server).expect("a directory").count(),
        1
    );
}

/// An account that may make backups, without PROCESS and, as asked, with REPLICATION SLAVE; the option file that names it.
fn account(pair: &Pair, reads_the_log: bool) -> String {
    for sql in [
        "CREATE USER t_dumps@localhost IDENTIFIED BY 'of the-Dump1'",
        "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, RELOAD, LOCK TABLES ON *.* TO t_dumps@localhost",
        match pair.is_mysql() {
            true => {
                "GRANT BACKUP_ADMIN, REPLICATION CLIENT, SHOW_ROUTINE ON *.* TO t_dumps@localhost"
            }
            false => "GRANT BINLOG MONITOR, SLAVE MONITOR ON *.* TO t_dumps@localhost",
        },
    ] {
        pair.source().client(sql).expect("an account");
    }
    if reads_the_log {
        let sql = "GRANT REPLICATION SLAVE ON *.* TO t_dumps@localhost";
        pair.source().client(sql).expect("a grant");
    }
    let file = pair.path("my.cnf");
    let socket = pair.source().socket();
    let text = format!(
        "[client]\nuser=t_dumps\npassword=of the-Dump1\nsocket={}\n",
        socket.display()
    );
    std::fs::write(&file, text).expect("a file");
    file.display().to_string()
}

both!(killed_at_each_step);
fn killed_at_each_step(pair: &Pair) {
    filled(pair.source());
    let scene = Scene::new(pair.source());
    let (first, _) = scene.incremental(&[]);
    for step in [
        "the last backup is locked",
        "rows are taken over",
        "the backup is whole",
        "the backup is listed",
    ] {
        pair.fill("INSERT INTO shop.a (v) VALUES ('more')");
        let words = ["backup", "shop", &pair.source().uri(), "--incremental"];
        let killed = scene
            .verb(&words)
            .env("PENSTOCK_KILL_AT", format!("{step}#1"))
            .run();
        killed.code(128 + Signal::KILL.as_raw());
        later();
        let (id, summary) = scene.incremental(&[]);
        assert_eq!(
            summary["taken_over"]["nothing"],
            Value::Null,
            "{step}: {summary}"
        );
        scene.is_equal(&id);
    }
    // While one is made, nothing that it takes rows from is removed.
    let words = ["backup", "shop", &pair.source().uri(), "--incremental"];
    let held = scene
        .verb(&words)
        .env("PENSTOCK_STOP_AT", "rows are taken over#1")
        .start();
    held.until_stopped();
    scene
        .verb(&["prune", "--keep-last", "1", "--force"])
        .run()
        .ok()
        .says(&[&first]);
    held.signal(Signal::CONT);
    let done = held.wait();
    assert!([0, 3].contains(&done.code), "{done:?}");
    scene.verb(&["check"]).run().ok();
    let listed = scene.listed();
    scene.is_equal(listed.last().expect("a backup"));
}

both!(options_that_do_not_fit);
fn options_that_do_not_fit(pair: &Pair) {
    filled(pair.source());
    let scene = Scene::new(pair.source());
    scene
        .backup(&["--paranoid"])
        .code(2)
        .says(&["--incremental"]);
    scene
        .backup(&["--incremental", "--consistency", "none"])
        .code(2)
        .says(&["--consistency none"]);
    scene
        .backup(&["--incremental", "--snapshot", "reflink"])
        .code(2);
    // An account that may not read the log.
    let file = account(pair, false);
    scene.incremental(&[]);
    let words = ["backup", "shop", "--incremental", "--no-users"];
    let refused = scene.verb(&words).args(["--defaults-file", &file]).run();
    refused.code(7).says(&["GRANT REPLICATION SLAVE ON *.* TO"]);
    // Nothing of it is left.
    let list = scene.verb(&["list", "--json"]).run().ok().summary();
    assert_eq!(list["unlisted"].as_array().map(Vec::len), Some(0), "{list}");
}
