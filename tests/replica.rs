//! `penstock replica`: a new server becomes a replica that is caught up and equal, under writes, on both flavours; what would
//! end badly is refused before anything is changed; a run that is killed goes on, or is undone.

mod archive;
mod breaks;
mod files;
mod repair;

use crate::kit::waiting::until;
use crate::kit::{Done, Tool, each_kind, few};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use testkit::{Kind, Server, available};

/// MySQL with and without GTIDs, and MariaDB, which always has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Gtid,
    Position,
}

fn start(kind: Kind, by: By, id: u32, more: &[&str]) -> Server {
    let setup = testkit::Setup::new(kind).expect("a set-up").tcp();
    let mut args = vec![
        format!("--server-id={id}"),
        "--log-bin=binlog".to_owned(),
        "--event-scheduler=ON".to_owned(),
    ];
    if kind == Kind::MySql {
        let mode = if by == By::Gtid { "ON" } else { "OFF" };
        args.push(format!("--enforce-gtid-consistency={mode}"));
        args.push(format!("--gtid-mode={mode}"));
    }
    args.extend(more.iter().map(|a| (*a).to_owned()));
    setup.args(args).start().expect("a server")
}

const FILL: &str = "CREATE DATABASE shop; \
    CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL, v VARCHAR(300)); \
    CREATE TABLE shop.account (id INT PRIMARY KEY, amount INT NOT NULL); \
    INSERT INTO shop.account VALUES (1, 100), (2, 100), (3, 100), (4, 100); \
    CREATE VIEW shop.rich AS SELECT id FROM shop.account WHERE amount > 50; \
    CREATE EVENT shop.tick ON SCHEDULE EVERY 1 SECOND DO INSERT INTO shop.t (n, v) VALUES (0, 'tick'); \
    CREATE ROLE reader; GRANT SELECT ON shop.* TO reader; \
    CREATE USER app@localhost IDENTIFIED BY 'of the-App1'; GRANT ALL ON shop.* TO app@localhost; GRANT reader TO app@localhost;";

/// A source with data, and a server that shall follow it; and where penstock keeps its records.
struct Scene {
    source: Server,
    new: Server,
    directory: tempfile::TempDir,
}

impl Scene {
    fn new(kind: Kind, by: By) -> Option<Scene> {
        if !available(kind) {
            return None;
        }
        let source = start(kind, by, 31, &[]);
        let rows = format!(
            "{FILL} INSERT INTO shop.t (n, v) SELECT n, REPEAT('v', 200) FROM {} WHERE n < 3000;",
            crate::kit::COUNT
        );
        source.script(rows.as_bytes()).expect("data");
        let new = start(kind, by, 32, &["--read-only=ON"]);
        Some(Scene {
            source,
            new,
            directory: tempfile::tempdir().expect("a directory"),
        })
    }

    fn state(&self) -> std::path::PathBuf {
        self.directory.path().join("state")
    }

    /// `penstock replica VERB` of both servers.
    fn on(&self, verb: &str, more: &[&str]) -> Tool {
        Tool::new(["replica", verb])
            .args([self.source.uri(), self.new.uri()])
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", self.state())
    }

    fn create(&self, more: &[&str]) -> Done {
        self.on("create", more).run()
    }

    fn abort(&self, more: &[&str]) -> Done {
        Tool::new(["replica", "abort"])
            .args([self.new.uri(), "--source".to_owned(), self.source.uri()])
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", self.state())
            .run()
    }

    fn status(&self) -> serde_json::Value {
        let tool = Tool::new(["replica", "status"]).arg(self.new.uri());
        tool.arg("--json").run().summary()
    }

    /// Waits until the replica has everything that was written.
    #[track_caller]
    fn until_equal(&self) {
        until("the replica has everything", || {
            let sum = |s: &Server| s.value(SUM).unwrap_or_default();
            let (a, b) = (sum(&self.source), sum(&self.new));
            !a.is_empty() && a == b
        });
    }
}

const SUM: &str = "SELECT CONCAT((SELECT SUM(amount) FROM shop.account), ' ', COUNT(*), ' ', SUM(n), ' ', SUM(CRC32(v))) FROM shop.t";

/// A session that moves amounts and adds rows.
struct Writes {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Writes {
    fn begin(server: &Server) -> Writes {
        let (stop, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let (ends, count, options) = (Arc::clone(&stop), Arc::clone(&done), server.options());
        let thread = std::thread::spawn(move || {
            let mut conn = wire::Conn::connect(&options).expect("a session");
            let mut i = 0u64;
            while !ends.load(Ordering::SeqCst) {
                i += 1;
                let (from, to) = (i % 4 + 1, (i + 1) % 4 + 1);
                for sql in [
                    "BEGIN".to_owned(),
                    format!("UPDATE shop.account SET amount = amount - 7 WHERE id = {from}"),
                    format!("INSERT INTO shop.t (n, v) VALUES ({i}, REPEAT('w', 100))"),
                    format!("UPDATE shop.t SET n = n + 1 WHERE id = {}", i % 3000),
                    format!("UPDATE shop.account SET amount = amount + 7 WHERE id = {to}"),
                    "COMMIT".to_owned(),
                ] {
                    conn.execute(&sql).expect("a write");
                }
                count.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
        let writes = Writes {
            stop,
            done,
            thread: Some(thread),
        };
        let begun = Arc::clone(&writes.done);
        until("writes", || begun.load(Ordering::SeqCst) > 20);
        writes
    }

    fn end(mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let thread = self.thread.take().expect("a thread");
        thread.join().expect("writes go on");
    }
}

/// Everything that a person would look at.
#[track_caller]
fn is_a_replica(scene: &Scene, by: By) {
    let status = scene.status();
    let channel = &status["channels"][0];
    assert_eq!(channel["applies"], true, "{status}");
    assert_eq!(channel["receiver"], "Yes", "{status}");
    let mariadb = scene.source.kind() != Kind::MySql;
    assert_eq!(channel["by_gtid"], by == By::Gtid || mariadb, "{status}");
    // The account may replicate and nothing else, and its password is nowhere.
    let user = channel["user"].as_str().expect("a name").to_owned();
    let grants = scene
        .source
        .client(&format!("SHOW GRANTS FOR `{user}`@`%`"))
        .expect("grants");
    assert_eq!(grants.len(), 1, "{grants:?}");
    let grant = grants[0][0].clone().unwrap_or_default();
    let may = [
        "GRANT REPLICATION SLAVE ON *.* TO",
        "GRANT REPLICATION SLAVE ON *.*",
    ];
    assert!(may.iter().any(|m| grant.starts_with(m)), "{grant}");
    // What an event does on the source comes with the log.
    let events = "SELECT status FROM information_schema.events WHERE event_name = 'tick'";
    let status = scene.new.value(events).expect("an event");
    assert!(status.ends_with("SIDE_DISABLED"), "{status}");
    // Accounts came along: one logs in, and a change of it does not end replication.
    let alter = "ALTER USER app@localhost IDENTIFIED BY 'another-App1'";
    scene.source.client(alter).expect("another password");
    scene
        .source
        .client("INSERT INTO shop.t (n, v) VALUES (7, 'last')")
        .expect("a row");
    scene.until_equal();
    let mut app = scene.new.options();
    app.user = "app".to_owned();
    app.password = Some(base::Secret::new("another-App1"));
    let mut conn = wire::Conn::connect(&app).expect("it logs in on the replica");
    assert!(conn.fetch("SELECT COUNT(*) FROM shop.rich").is_ok());
    assert!(
        conn.execute("INSERT INTO shop.t (n) VALUES (1)").is_err(),
        "read_only"
    );
}

fn becomes_a_replica(kind: Kind, by: By) {
    let Some(scene) = Scene::new(kind, by) else {
        return;
    };
    let writes = Writes::begin(&scene.source);
    let done = scene.create(&["--chunk-size", "64k"]).ok().says(&[
        "Replica ready: caught up, and equal to its source",
        "equal at one moment",
    ]);
    for file in std::fs::read_dir(scene.state()).expect("records").flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap_or_default();
        assert!(!text.to_lowercase().contains("password"), "{text}");
    }
    assert!(!done.said().contains("IDENTIFIED"), "{}", done.said());
    // Once more, while it follows: at another moment.
    scene.on("verify", &[]).run().ok().says(&["Equal"]);
    writes.end();
    scene.until_equal();
    is_a_replica(&scene, by);
    scene.create(&[]).code(10).says(&[
        "was made a replica by an earlier run",
        "--resume",
        "replica abort",
    ]);
    // A row that only the replica has is found, with its range, and named.
    let own = "SET GLOBAL read_only = OFF; SET sql_log_bin = 0; DELETE FROM shop.t WHERE id = 1234; SET GLOBAL read_only = ON";
    scene.new.script(own.as_bytes()).expect("a row less");
    scene.on("verify", &[]).run().code(4).says(&["`shop`.`t`"]);
    assert_eq!(scene.status()["channels"][0]["applies"], true);
    // What is no pair of source and replica is refused, and nothing is stopped.
    let pair = |a: &Server, b: &Server| {
        let tool = Tool::new(["replica", "verify"]).args([a.uri(), b.uri()]);
        tool.run().code(10)
    };
    pair(&scene.new, &scene.source).says(&["it follows nothing"]);
    let stranger = start(kind, by, 36, &[]);
    pair(&stranger, &scene.new).says(&["and not the first one (server_id 36)"]);
    assert_eq!(scene.status()["channels"][0]["applies"], true);
    // And all of it is undone.
    // Without --drop-data that is everything but the copy, which is named.
    let aborted = scene.abort(&[]).ok();
    aborted.says(&["the channel", "kept", "--drop-data"]);
    scene
        .abort(&["--drop-data"])
        .ok()
        .says(&["schema `shop`", "account 'app'@'localhost'"]);
    let users =
        "SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'penstock%' OR user IN ('app', 'reader')";
    assert_eq!(scene.new.value(users).expect("a count"), "0");
    assert_eq!(
        scene
            .source
            .value("SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'penstock%'")
            .expect("a count"),
        "0"
    );
    // This time it arrives warm. Pages that were never written to the files have no place in them.
    let flush = "FLUSH TABLES shop.t FOR EXPORT; UNLOCK TABLES; SELECT SUM(LENGTH(v)) FROM shop.t";
    scene.source.script(flush.as_bytes()).expect("a read");
    scene.create(&["--warm"]).ok().says(&["of hot ranges of"]);
    scene.until_equal();
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
fn becomes_a_replica_by_gtid_mariadb() {
    becomes_a_replica(Kind::MariaDb, By::Gtid);
}

/// The data comes from a replica, and the new server follows the source.
fn copied_from_a_replica(kind: Kind, by: By) {
    let Some(scene) = Scene::new(kind, by) else {
        return;
    };
    let writes = Writes::begin(&scene.source);
    scene.create(&["--no-verify"]).ok();
    let third = start(kind, by, 34, &["--read-only=ON"]);
    let third_of = |more: &[&str]| {
        Tool::new(["replica", "create"])
            .args([scene.source.uri(), third.uri()])
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", scene.state())
            .run()
    };
    let stranger = start(kind, by, 35, &[]);
    third_of(&["--from-replica", &stranger.uri()])
        .code(10)
        .says(&["is no replica of"]);
    third_of(&["--from-replica", &scene.new.uri()])
        .ok()
        .says(&["equal at one moment"]);
    writes.end();
    until("the third has everything", || {
        let sum = |s: &Server| s.value(SUM).unwrap_or_default();
        let (a, b) = (sum(&scene.source), sum(&third));
        !a.is_empty() && a == b
    });
    let tool = Tool::new(["replica", "status"]).arg(third.uri());
    let status = tool.arg("--json").run().summary();
    let port = scene.source.port().expect("a port");
    assert_eq!(status["channels"][0]["port"], u64::from(port), "{status}");
}

#[test]
fn copied_from_a_replica_by_gtid_mysql() {
    copied_from_a_replica(Kind::MySql, By::Gtid);
}

#[test]
fn copied_from_a_replica_by_position_mysql() {
    copied_from_a_replica(Kind::MySql, By::Position);
}

#[test]
fn copied_from_a_replica_mariadb() {
    copied_from_a_replica(Kind::MariaDb, By::Gtid);
}

/// A run that is killed at any step goes on with `--resume`, or says what to undo.
fn killed_at_each_step(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    let all = [
        ("the copy is about to begin#1", true),
        ("a chunk is committed#1", false),
        ("the rows are recorded#1", true),
        ("an account is made#1", true),
        ("the copy is recorded#1", true),
        ("the account is about to be made#1", true),
        ("the channel is about to be made#1", true),
        ("the channel is started#1", true),
        ("the applier is stopped#1", true),
    ];
    for (place, goes_on) in few(kind, 3, &all) {
        let killed = scene.on("create", &[]).env("PENSTOCK_KILL_AT", place);
        killed.run().code(137);
        match goes_on {
            true => {
                scene
                    .create(&["--resume"])
                    .ok()
                    .says(&["equal at one moment"]);
                scene.until_equal();
            }
            false => {
                scene
                    .create(&["--resume"])
                    .code(10)
                    .says(&["replica abort removes what it has made"]);
            }
        }
        scene.abort(&["--drop-data"]).ok();
        let users = "SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'penstock%'";
        for server in [&scene.source, &scene.new] {
            assert_eq!(server.value(users).expect("a count"), "0", "{place}");
        }
    }
    scene.create(&[]).ok();
}
each_kind!(killed_at_each_step; mysql, mariadb);

/// A channel that cannot connect is an error at once, and made again when the address is right.
fn a_wrong_password_is_an_error_at_once(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    scene
        .source
        .script(b"CREATE USER t_repl@'%' IDENTIFIED BY 'right-Word1'; GRANT REPLICATION SLAVE ON *.* TO t_repl@'%'; CREATE USER t_repl@localhost IDENTIFIED BY 'right-Word1'; GRANT REPLICATION SLAVE ON *.* TO t_repl@localhost")
        .expect("an account");
    let file = scene.directory.path().join("password");
    let file = file.display().to_string();
    let account = [
        "--replication-user",
        "t_repl",
        "--replication-password-file",
        &file,
    ];
    std::fs::write(&file, "wrong-Word1\n").expect("a file");
    scene.create(&account).code(6).says(&["Access denied"]);
    let status = Tool::new(["replica", "status"])
        .arg(scene.new.uri())
        .arg("--json")
        .run();
    assert_eq!(status.code, 1, "{}", status.said());
    assert!(scene.status()["channels"][0]["seconds_behind"].is_null());
    std::fs::write(&file, "right-Word1\n").expect("a file");
    let again = [&account[..], &["--resume"]].concat();
    scene
        .create(&again)
        .ok()
        .says(&["equal at one moment", "t_repl"]);
    scene.until_equal();
}
each_kind!(a_wrong_password_is_an_error_at_once; mysql, mariadb);

/// The source removes what is needed, between the copy and the channel.
fn a_purged_log_is_named(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    let killed = scene
        .on("create", &[])
        .env("PENSTOCK_KILL_AT", "the copy is recorded#1");
    killed.run().code(137);
    scene
        .source
        .client("FLUSH BINARY LOGS")
        .expect("another file");
    // A server keeps a file for a moment in which its transactions are not on the disk yet.
    until("the first file to be removed", || {
        let purge = "PURGE BINARY LOGS TO 'binlog.000002'";
        scene.source.client(purge).expect("a purge");
        let left = scene.source.client("SHOW BINARY LOGS").expect("files");
        left.iter()
            .all(|row| row[0].as_deref() != Some("binlog.000001"))
    });
    scene
        .create(&["--resume"])
        .code(10)
        .says(&["has removed the binary log", "binlog.000001"]);
    assert_eq!(scene.status()["channels"].as_array().map(Vec::len), Some(0));
}
each_kind!(a_purged_log_is_named; mysql, mariadb);

/// What would end badly is refused before anything is changed.
fn refusals(kind: Kind) {
    let Some(mut scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    let untouched = |scene: &Scene| {
        assert_eq!(scene.status()["channels"].as_array().map(Vec::len), Some(0));
        let users = "SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'penstock%'";
        assert_eq!(scene.source.value(users).expect("a count"), "0");
    };
    let on_new = |scene: &Scene, sql: &str| scene.new.script(sql.as_bytes()).expect("a change");
    on_new(&scene, "SET GLOBAL read_only = OFF");
    scene
        .create(&[])
        .code(10)
        .says(&["read_only is OFF", "--allow-writable"]);
    on_new(
        &scene,
        "SET GLOBAL read_only = ON; SET GLOBAL server_id = 31",
    );
    scene
        .create(&[])
        .code(10)
        .says(&["both servers have the server_id 31"]);
    on_new(
        &scene,
        "SET GLOBAL server_id = 32; SET sql_log_bin = 0; CREATE DATABASE old",
    );
    scene
        .create(&[])
        .code(10)
        .says(&["has data already: `old`"]);
    on_new(&scene, "SET sql_log_bin = 0; DROP DATABASE old");
    if kind == Kind::MySql {
        on_new(&scene, "CREATE DATABASE old; DROP DATABASE old");
        scene
            .create(&[])
            .code(10)
            .says(&["transactions of its own", "RESET BINARY LOGS AND GTIDS"]);
        on_new(&scene, "RESET BINARY LOGS AND GTIDS");
    }
    let follow = match kind {
        Kind::MySql => "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'other.example'",
        _ => "CHANGE MASTER TO MASTER_HOST = 'other.example'",
    };
    on_new(&scene, follow);
    scene
        .create(&[])
        .code(10)
        .says(&["is a replica already", "other.example"]);
    on_new(
        &scene,
        match kind {
            Kind::MySql => "RESET REPLICA ALL",
            _ => "RESET SLAVE ALL",
        },
    );
    // An account that may not do it.
    scene.source.script(b"CREATE USER t_weak@localhost; GRANT SELECT, RELOAD, PROCESS ON *.* TO t_weak@localhost").expect("an account");
    let weak = scene.source.uri().replace("root@", "t_weak@");
    Tool::new(["replica", "create"])
        .args([weak, scene.new.uri()])
        .env("PENSTOCK_STATE", scene.state())
        .run()
        .code(7)
        .says(&["CREATE USER", "REPLICATION SLAVE"]);
    untouched(&scene);
    // Another flavour.
    let other = match kind {
        Kind::MySql => Kind::MariaDb,
        _ => Kind::MySql,
    };
    if available(other) {
        scene.new = start(other, By::Gtid, 33, &["--read-only=ON"]);
        scene
            .create(&[])
            .code(10)
            .says(&["cannot be a replica of", "penstock copy"]);
    }
}
each_kind!(refusals; mysql, mariadb);

/// An old source can be copied, and not followed.
#[test]
fn an_old_source_is_refused_by_name() {
    if !available(Kind::MySql55) || !available(Kind::MySql) {
        return;
    }
    let setup = testkit::Setup::new(Kind::MySql55).expect("a set-up").tcp();
    let old = setup
        .args(["--server-id=1".to_owned()])
        .start()
        .expect("a server");
    let new = start(Kind::MySql, By::Position, 2, &["--read-only=ON"]);
    let directory = tempfile::tempdir().expect("a directory");
    Tool::new(["replica", "create"])
        .args([old.uri(), new.uri()])
        .env("PENSTOCK_STATE", directory.path())
        .run()
        .code(10)
        .says(&["the source is MySQL 5.5", "penstock copy"]);
    // What is offered instead.
    let rows = format!(
        "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(30)) ENGINE=InnoDB; \
         INSERT INTO shop.t SELECT n, CONCAT('é', n) FROM {} WHERE n BETWEEN 1 AND 999",
        crate::kit::COUNT
    );
    old.script(rows.as_bytes()).expect("rows");
    new.client("SET GLOBAL read_only = OFF").expect("a setting");
    new.client("SET GLOBAL local_infile = ON")
        .expect("a setting");
    Tool::new(["copy".to_owned(), old.uri(), new.uri()])
        .run()
        .ok()
        .says(&["equal: 999 rows", "MySQL 5.5"]);
}
