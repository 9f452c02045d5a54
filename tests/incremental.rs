//! `penstock backup --incremental`: rows that did not change are taken over from the last backup, whatever may have changed is read
//! again, with the reason; each backup is restored to its own moment, also after those were pruned that it took rows from.

use crate::kit::waiting::until;
use crate::kit::{Done, Pair, Tool, both, each_kind, own_server, thorough};
use crate::stores::{Access, s3, s3_access, sshd, tool};
use rustix::process::Signal;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use testkit::stores::Maker;
use testkit::{Kind, Server};

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

/// A repository in a directory, with a server whose backups are kept there.
struct Scene<'a> {
    directory: tempfile::TempDir,
    server: &'a Server,
}

impl Scene<'_> {
    fn new(server: &Server) -> Scene<'_> {
        let directory = tempfile::tempdir().expect("a directory");
        let scene = Scene { directory, server };
        Tool::new(["init", &scene.repo()]).run().ok();
        scene
    }

    fn repo(&self) -> String {
        self.directory.path().join("repo").display().to_string()
    }

    fn verb(&self, words: &[&str]) -> Tool {
        Tool::new(words.iter().copied()).args(["--repository", &self.repo()])
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
        format!("{}/backups/shop/{id}", self.repo())
    }

    /// The backup is what the server has now.
    #[track_caller]
    fn is_equal(&self, id: &str) {
        Tool::new(["verify", &self.place(id)]).run().ok();
        let against = self.server.uri();
        Tool::new(["verify", &self.place(id), "--against", &against])
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
    let of_server = format!("{}/backups/shop", scene.repo());
    assert_eq!(
        std::fs::read_dir(of_server).expect("a directory").count(),
        1
    );
}

/// One thing that is done between two backups, and the tables that have to be read because of it; `None`: all of them.
type Case = (
    &'static str,
    Vec<&'static str>,
    Option<Vec<(&'static str, &'static str)>>,
    &'static str,
);

each_kind!(what_the_log_does_not_prove_is_read; mysql, mariadb);
fn what_the_log_does_not_prove_is_read(kind: Kind) {
    let logged = ["--server-id=7", "--log-bin=binlog", "--binlog-format=ROW"];
    let Some(mut server) = own_server(kind, &logged) else {
        return;
    };
    filled(&server);
    let statement = "SET SESSION binlog_format = 'STATEMENT'";
    let reset = match kind {
        Kind::MySql => "RESET BINARY LOGS AND GTIDS",
        _ => "RESET MASTER",
    };
    let all: Vec<Case> = vec![
        ("nothing", vec![], Some(vec![]), ""),
        (
            "rows",
            vec!["UPDATE shop.parts SET v = 7 WHERE id = 5"],
            Some(vec![("parts", "its rows were changed (binlog.")]),
            "",
        ),
        (
            "rolled back",
            vec![
                "BEGIN",
                "UPDATE shop.parts SET v = 8 WHERE id = 5",
                "ROLLBACK",
            ],
            Some(vec![]),
            "",
        ),
        (
            "a foreign key",
            vec!["DELETE FROM shop.parent WHERE id = 2"],
            Some(vec![("parent", "its rows"), ("child", "")]),
            "",
        ),
        (
            "a definition",
            vec![
                "TRUNCATE TABLE shop.noted",
                "ALTER TABLE shop.counted ADD KEY (n)",
            ],
            Some(vec![("noted", "a statement"), ("counted", "a statement")]),
            "",
        ),
        (
            "a trigger in a statement",
            vec![statement, "INSERT INTO shop.b VALUES (70000, 'x')"],
            Some(vec![("b", "a statement"), ("noted", "a statement")]),
            "",
        ),
        (
            "a function in a statement",
            vec![statement, "INSERT INTO shop.a (v) VALUES (shop.counts(1))"],
            Some(vec![("a", "a statement"), ("counted", "a statement")]),
            "",
        ),
        (
            "a view in a statement",
            vec![statement, "UPDATE shop.seen SET v = 5"],
            Some(vec![("odd-name", "a statement")]),
            "",
        ),
        (
            "not in the log",
            vec![
                "SET SESSION sql_log_bin = 0",
                "UPDATE shop.kept SET v = v + 1",
            ],
            Some(vec![("kept", "the log does not say")]),
            "",
        ),
        (
            "not in the log, and without a time",
            vec![
                "SET SESSION sql_log_bin = 0",
                "TRUNCATE TABLE shop.noted",
                "ALTER TABLE shop.parts TRUNCATE PARTITION p1",
                "ALTER TABLE shop.`odd-name` ADD COLUMN zz INT DEFAULT 5",
                "ALTER TABLE shop.`odd-name` DROP COLUMN zz",
            ],
            Some(vec![("noted", ""), ("parts", ""), ("odd-name", "")]),
            "",
        ),
        (
            "an XA transaction",
            vec![
                "XA START 'x'",
                "INSERT INTO shop.parts VALUES (800, 1)",
                "XA END 'x'",
                "XA PREPARE 'x'",
                "XA COMMIT 'x'",
            ],
            Some(vec![("parts", "its rows")]),
            "",
        ),
        ("a reset log", vec![reset], None, "was reset"),
        (
            "a program that was changed",
            vec![
                statement,
                "INSERT INTO shop.a (v) VALUES (shop.counts(1))",
                "DROP FUNCTION shop.counts",
            ],
            None,
            "that was changed since",
        ),
    ];
    let scene = Scene::new(&server);
    let check = |scene: &Scene<'_>, what: &str, wanted: Option<&[(&str, &str)]>, why: &str| {
        let (id, summary) = scene.incremental(&[]);
        match wanted {
            Some(wanted) => has_read(&summary, &[&[ALWAYS], wanted].concat()),
            None => {
                let nothing = summary["taken_over"]["nothing"].as_str();
                assert!(
                    nothing.is_some_and(|n| n.contains(why)),
                    "{what}: {summary}"
                );
                assert_eq!(summary["taken_over"]["tables"], 0, "{what}");
            }
        }
        scene.is_equal(&id);
    };
    scene.incremental(&[]);
    for (what, statements, wanted, why) in &all {
        later();
        let mut conn = scene.server.conn().expect("a connection");
        for sql in statements {
            conn.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        later();
        check(&scene, what, wanted.as_deref(), why);
    }
    // Prepared before a backup and committed after it: its rows stand in the log before.
    let mut conn = server.conn().expect("a connection");
    for sql in [
        "XA START 'y'",
        "INSERT INTO shop.parts VALUES (900, 1)",
        "XA END 'y'",
        "XA PREPARE 'y'",
    ] {
        conn.execute(sql).expect("an XA transaction");
    }
    drop(conn);
    later();
    scene.incremental(&[]);
    server.client("XA COMMIT 'y'").expect("a commit");
    check(&scene, "XA", None, "prepared before");
    // A log that was removed.
    server.client("FLUSH BINARY LOGS").expect("another file");
    server.client("FLUSH BINARY LOGS").expect("another file");
    let last = match kind {
        Kind::MySql => "SHOW BINARY LOG STATUS",
        _ => "SHOW MASTER STATUS",
    };
    let last = server.field(last, "File").expect("a file").expect("a file");
    if kind != Kind::MySql {
        // It removes nothing that a crash may need.
        later();
    }
    server
        .client(&format!("PURGE BINARY LOGS TO '{last}'"))
        .expect("purged");
    check(&scene, "purged", None, "has removed");
    let Scene { directory, .. } = scene;
    server.restart().expect("a restart");
    let scene = Scene {
        directory,
        server: &server,
    };
    check(&scene, "restart", None, "was started again");
    check(&scene, "nothing", Some(&[]), "");
}

/// An account that may make backups, without PROCESS and, as asked, with REPLICATION SLAVE; the option file that names it.
fn account(pair: &Pair, reads_the_log: bool) -> String {
    for sql in [
        "CREATE USER dumps@localhost IDENTIFIED BY 'of the-Dump1'",
        "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, RELOAD, LOCK TABLES ON *.* TO dumps@localhost",
        match pair.is_mysql() {
            true => {
                "GRANT BACKUP_ADMIN, REPLICATION CLIENT, SHOW_ROUTINE ON *.* TO dumps@localhost"
            }
            false => "GRANT BINLOG MONITOR, SLAVE MONITOR ON *.* TO dumps@localhost",
        },
    ] {
        pair.source().client(sql).expect("an account");
    }
    if reads_the_log {
        let sql = "GRANT REPLICATION SLAVE ON *.* TO dumps@localhost";
        pair.source().client(sql).expect("a grant");
    }
    let file = pair.path("my.cnf");
    let socket = pair.source().socket();
    let text = format!(
        "[client]\nuser=dumps\npassword=of the-Dump1\nsocket={}\n",
        socket.display()
    );
    std::fs::write(&file, text).expect("a file");
    file.display().to_string()
}

both!(a_change_that_nothing_tells_is_found_by_the_sample);
fn a_change_that_nothing_tells_is_found_by_the_sample(pair: &Pair) {
    let server = pair.source();
    filled(server);
    let scene = Scene::new(server);
    // With PROCESS the number of the tablespace would tell it.
    let file = account(pair, true);
    let backup = |more: &[&str]| {
        let words = ["backup", "shop", "--incremental", "--no-users", "--json"];
        let done = scene
            .verb(&words)
            .args(["--defaults-file", &file])
            .args(more.iter().copied())
            .run();
        assert!([0, 3].contains(&done.code), "{done:?}");
        done.summary()
    };
    backup(&[]);
    // Other files are put in the place of the table's: the log has nothing, and no time of a change.
    let mut conn = server.conn().expect("a connection");
    for sql in [
        "SET SESSION sql_log_bin = 0",
        "CREATE TABLE shop.other LIKE shop.kept",
        "INSERT INTO shop.other (id, v) VALUES (1, 1), (2, 5)",
        "FLUSH TABLES shop.other FOR EXPORT",
    ] {
        conn.execute(sql).expect(sql);
    }
    let file = |name: &str| server.datadir().join("shop").join(name);
    for extension in ["ibd", "cfg"] {
        let from = file(&format!("other.{extension}"));
        std::fs::copy(from, pair.path(extension)).expect("a copy");
    }
    for sql in [
        "UNLOCK TABLES",
        "DROP TABLE shop.other",
        "ALTER TABLE shop.kept DISCARD TABLESPACE",
    ] {
        conn.execute(sql).expect(sql);
    }
    for extension in ["ibd", "cfg"] {
        std::fs::copy(pair.path(extension), file(&format!("kept.{extension}"))).expect("a copy");
    }
    conn.execute("ALTER TABLE shop.kept IMPORT TABLESPACE")
        .expect("an import");
    let summary = backup(&["--paranoid"]);
    let nothing = summary["taken_over"]["nothing"].as_str();
    assert!(
        nothing.is_some_and(|n| n.contains("`shop`.`kept`")),
        "{summary}"
    );
    let id = summary["backup"]["id"].as_str().expect("an id");
    scene.is_equal(id);
}

each_kind!(a_chain_of_backups; mysql, mariadb);
fn a_chain_of_backups(kind: Kind) {
    let logged = ["--server-id=7", "--log-bin=binlog"];
    let Some(server) = own_server(kind, &logged) else {
        return;
    };
    filled(&server);
    let scene = Scene::new(&server);
    let sums = || -> Vec<Option<String>> {
        let tables = "SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables \
            WHERE table_schema = 'shop' AND table_type = 'BASE TABLE' ORDER BY 1";
        let tables = server.client(tables).expect("tables");
        let sum = |table: String| server.field(&format!("CHECKSUM TABLE {table}"), "Checksum");
        let all = tables.into_iter().flatten().flatten();
        all.map(|table| sum(table).expect("a checksum")).collect()
    };
    let changes = [
        "INSERT INTO shop.a (v) SELECT v FROM shop.a LIMIT 500",
        "UPDATE shop.parts SET v = v + 1 WHERE id % 7 = 0",
        "DELETE FROM shop.b WHERE id % 50 = 3",
        "UPDATE shop.kept SET v = v + 1",
        "INSERT INTO shop.noted (v) VALUES (1), (2)",
        "UPDATE shop.`odd-name` SET v = v + 1",
        "ALTER TABLE shop.parts REBUILD PARTITION ALL",
        "INSERT INTO shop.old SELECT MAX(id) + 1 FROM (SELECT id FROM shop.old) AS o",
    ];
    let length = if thorough() { 20 } else { 6 };
    let mut made = Vec::new();
    for n in 0..length {
        let (id, summary) = scene.incremental(&[]);
        if n > 0 {
            let tables = summary["taken_over"]["tables"].as_u64();
            assert!(tables >= Some(6), "{summary}");
        }
        made.push((id, sums()));
        later();
        for k in [n, n * 3 + 1] {
            server.client(changes[k % changes.len()]).expect("a change");
        }
        later();
    }
    let target = own_server(kind, &[]).expect("a server");
    let restored = |id: &str, wanted: &[Option<String>]| {
        let _ = target.script(b"DROP DATABASE IF EXISTS shop");
        let to = target.uri();
        let done = scene.verb(&["restore", id, "--into", &to]).run();
        assert!([0, 3].contains(&done.code), "{done:?}");
        let tables = target
            .client("SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables \
                WHERE table_schema = 'shop' AND table_type = 'BASE TABLE' ORDER BY 1")
            .expect("tables");
        for (table, sum) in tables.into_iter().flatten().flatten().zip(wanted) {
            let found = target.field(&format!("CHECKSUM TABLE {table}"), "Checksum");
            assert_eq!(&found.expect("a checksum"), sum, "{table} of {id}");
        }
    };
    for (id, wanted) in &made {
        restored(id, wanted);
    }
    // The older ones go, one after the other, and the others stay what they are.
    for gone in 1..made.len() {
        let keep = (made.len() - gone).to_string();
        let pruned = scene
            .verb(&["prune", "--keep-last", &keep, "--force"])
            .run();
        pruned.ok().says(&["removed", &made[gone - 1].0]);
        let left = &made[gone..];
        scene.verb(&["check"]).run().ok();
        let (id, wanted) = &left[(gone * 5) % left.len()];
        restored(id, wanted);
    }
}

// What is not dumped changes what is.
both!(excluded_tables_are_followed);
fn excluded_tables_are_followed(pair: &Pair) {
    filled(pair.source());
    let scene = Scene::new(pair.source());
    let without = ["--exclude-tables", "shop.b,shop.parent"];
    scene.incremental(&without);
    let mut conn = pair.source().conn().expect("a session");
    for sql in [
        "SET SESSION binlog_format = 'STATEMENT'",
        "INSERT INTO shop.b VALUES (80000, 'x')",
        "DELETE FROM shop.parent WHERE id = 3",
    ] {
        conn.execute(sql).expect(sql);
    }
    let (id, summary) = scene.incremental(&without);
    has_read(
        &summary,
        &[ALWAYS, ("noted", "a statement"), ("child", "a foreign key")],
    );
    scene.is_equal(&id);
}

both!(under_writes);
fn under_writes(pair: &Pair) {
    filled(pair.source());
    let scene = Scene::new(pair.source());
    scene.incremental(&[]);
    let stop = AtomicBool::new(false);
    let (rounds, mut taken) = (if thorough() { 20 } else { 3 }, 0);
    for round in 0..rounds {
        let done = AtomicU64::new(0);
        stop.store(false, Ordering::SeqCst);
        let summary = std::thread::scope(|scope| {
            let _ends = Ends(&stop);
            scope.spawn(|| {
                let mut conn = pair.source().conn().expect("a session");
                while !stop.load(Ordering::SeqCst) {
                    let i = done.fetch_add(1, Ordering::SeqCst);
                    for sql in [
                        format!("INSERT INTO shop.a (v) VALUES ('{round} {i}')"),
                        format!("UPDATE shop.counted SET n = n + 1 WHERE id = {}", i % 2),
                    ] {
                        conn.execute(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
                    }
                }
            });
            until("writes", || done.load(Ordering::SeqCst) > 20);
            let (_, summary) = scene.incremental(&[]);
            let from = done.load(Ordering::SeqCst);
            until("writes", || done.load(Ordering::SeqCst) > from + 20);
            summary
        });
        taken += summary["taken_over"]["tables"].as_u64().unwrap_or(0);
        let id = summary["backup"]["id"].as_str().expect("an id");
        let _ = pair.target().script(b"DROP DATABASE IF EXISTS shop");
        let to = pair.target().uri();
        let restored = scene.verb(&["restore", id, "--into", &to]).run();
        assert!([0, 3].contains(&restored.code), "{restored:?}");
        let file = summary["binlog_file"].as_str().expect("a file");
        let at = summary["binlog_position"].as_u64().expect("a position");
        pair.apply_log(file, at);
        pair.same_checksums();
    }
    assert!(taken >= 5 * rounds, "{taken}");
}

/// Ends the writes, also when a test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
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
    let list = scene.verb(&["list", "--json"]).run().ok().summary();
    let backups = list["backups"].as_array().expect("backups");
    let last = backups.last().expect("a backup")["id"]
        .as_str()
        .expect("an id");
    scene.is_equal(last);
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
fn elsewhere(pair: &Pair, url: &str, access: &Access) {
    filled(pair.source());
    let place = |name: &str| match url.split_once('?') {
        Some((path, query)) => format!("{path}{name}?{query}"),
        None => format!("{url}{name}"),
    };
    tool(&["init", url], access).run().ok();
    let verb = |words: &[&str]| tool(words, access).args(["--repository", url]);
    let backup = || {
        let words = [
            "backup",
            "shop",
            &pair.source().uri(),
            "--incremental",
            "--json",
        ];
        let done = verb(&words).run();
        assert!([0, 3].contains(&done.code), "{done:?}");
        let summary = done.summary();
        let id = summary["backup"]["id"].as_str().expect("an id").to_owned();
        (id, summary)
    };
    let equal = |id: &str| {
        let (dir, against) = (place(&format!("/backups/shop/{id}")), pair.source().uri());
        tool(&["verify", &dir, "--against", &against], access)
            .run()
            .ok();
        tool(&["verify", &dir], access).run().ok();
    };
    let (first, _) = backup();
    later();
    pair.fill("UPDATE shop.parts SET v = 7 WHERE id = 5");
    let (second, summary) = backup();
    assert_eq!(summary["taken_over"]["tables"], 8, "{summary}");
    equal(&second);
    verb(&["prune", "--keep-last", "1"])
        .run()
        .ok()
        .says(&["removed", &first]);
    equal(&second);
    verb(&["check"]).run().ok().says(&["1 backup: intact"]);
    verb(&["list"]).run().ok().says(&["which others need"]);
}

both!(in_s3);
fn in_s3(pair: &Pair) {
    let Some(s3) = s3(Maker::S3s) else { return };
    elsewhere(pair, &s3.url("repo"), &s3_access());
}

both!(by_ssh);
fn by_ssh(pair: &Pair) {
    let Some(sshd) = sshd() else { return };
    let access = vec![("PENSTOCK_SSH", sshd.ssh())];
    elsewhere(pair, &sshd.url(&pair.path("repo")), &access);
}
