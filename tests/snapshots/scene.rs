//! A server on a file system that can take snapshots, writes to it, and what is restored from it.

use crate::kit::Tool;
use crate::kit::mounted::Mounted;
use crate::kit::waiting::until;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use testkit::{Kind, Server, Setup, available};

/// The server, its file system, and a directory for the rest.
pub struct Scene {
    pub kind: Kind,
    pub server: Server,
    /// Whether copies follow it by GTID.
    pub by_gtid: bool,
    directory: tempfile::TempDir,
    program: PathBuf,
    // Dropped last: the server's files are on it.
    _mounted: Option<Mounted>,
}

const ARGS: [&str; 2] = ["--server-id=71", "--innodb-flush-log-at-trx-commit=0"];

impl Scene {
    /// On a new file system; its data directory is a subvolume if asked.
    pub fn on(file_system: &str, kind: Kind, subvolume: bool) -> Option<Scene> {
        if !available(kind) {
            return None;
        }
        let mounted = Mounted::new(file_system)?;
        let setup = Setup::new(kind).expect("a set-up").within(mounted.path());
        let mut server = setup.tcp().args(ARGS).start().expect("a server");
        if subvolume {
            server.stop().expect("it stops");
            let data = server.datadir();
            let plain = data.with_extension("plain");
            std::fs::rename(&data, &plain).expect("renamed");
            let run = |command: &mut Command| {
                assert!(
                    command.status().expect("a program").success(),
                    "{command:?}"
                );
            };
            run(Command::new("btrfs")
                .args(["-q", "subvolume", "create"])
                .arg(&data));
            run(Command::new("cp").arg("-a").arg(plain.join(".")).arg(&data));
            std::fs::remove_dir_all(&plain).expect("removed");
            server.restart().expect("it starts");
        }
        Some(Scene::of(kind, server, Some(mounted)))
    }

    /// Where other servers are.
    pub fn anywhere(kind: Kind) -> Option<Scene> {
        if !available(kind) {
            return None;
        }
        let setup = Setup::new(kind).expect("a set-up");
        let server = setup.tcp().args(ARGS).start().expect("a server");
        Some(Scene::of(kind, server, None))
    }

    /// Where a method can be tried, with tables; `None` if it cannot.
    pub fn for_method(method: &str, kind: Kind) -> Option<Scene> {
        let mut scene = match method {
            "reflink" => Scene::on("xfs", kind, false)?,
            "btrfs" => Scene::on("btrfs", kind, true)?,
            "copy" if !Path::new("/usr/bin/mariadb-backup").exists() => {
                testkit::skip("mariadb-backup", "mariadb-backup is not installed");
                return None;
            }
            _ => Scene::anywhere(kind)?,
        };
        scene.fill();
        if method == "clone" {
            scene.load_clone();
        }
        if matches!(method, "clone" | "copy") {
            scene.only_innodb();
        }
        Some(scene)
    }

    /// The server's own ways do not copy tables of other engines as they are.
    pub fn only_innodb(&self) {
        let sql = "ALTER TABLE shop.w ENGINE = InnoDB";
        self.server.client(sql).expect("another engine");
    }

    /// Loads the CLONE plugin.
    pub fn load_clone(&self) {
        let sql = "INSTALL PLUGIN clone SONAME 'mysql_clone.so'";
        self.server.client(sql).expect("the plugin");
    }

    fn of(kind: Kind, server: Server, mounted: Option<Mounted>) -> Scene {
        let directory = tempfile::Builder::new()
            .prefix("penstock-snap-")
            .tempdir_in("/tmp");
        let directory = directory.expect("a directory");
        let program = server
            .install()
            .one_program(&directory.path().join("mysqld"));
        Scene {
            kind,
            program: program.expect("a program"),
            server,
            by_gtid: false,
            directory,
            _mounted: mounted,
        }
    }

    /// The server's program, as one file.
    pub fn program(&self) -> PathBuf {
        self.program.clone()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Tables of two engines, and an account for replication.
    pub fn fill(&mut self) {
        self.server
            .script(
                b"CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'Repl-1-word'; \
                GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1'; \
                CREATE USER repl@localhost IDENTIFIED BY 'Repl-1-word'; \
                GRANT REPLICATION SLAVE ON *.* TO repl@localhost; CREATE DATABASE shop; USE shop; \
                CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT, v VARCHAR(600), KEY (n)); \
                CREATE TABLE account (id INT PRIMARY KEY, amount BIGINT NOT NULL); \
                CREATE TABLE w (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT) ENGINE=MyISAM; \
                INSERT INTO account VALUES (0, 1000), (1, 1000), (2, 1000), (3, 1000), (4, 1000), (5, 1000);",
            )
            .expect("tables");
    }

    /// A run with records of its own.
    pub fn tool(&self, words: &[&str]) -> Tool {
        Tool::new(words.iter().copied())
            .env("PENSTOCK_STATE", self.path("state"))
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
    }

    /// A snapshot that is stored.
    pub fn take(&self, method: &str, to: &str, more: &[&str]) -> Tool {
        self.tool(&["snapshot", "take", "--json", "--method", method])
            .arg(self.server.uri())
            .args(["--to".into(), self.path(to)])
            .args(more.iter().copied())
    }

    /// A restore of what is stored.
    pub fn restore(&self, from: &str, to: &str, more: &[&str]) -> Tool {
        let tool = self.tool(&["snapshot", "restore", "--json"]);
        let tool = tool.arg(self.path(from)).args(more.iter().copied());
        self.restoring(tool, to)
    }

    /// The rest of a restore's command line.
    pub fn restoring(&self, tool: Tool, to: &str) -> Tool {
        tool.args(["--datadir".into(), self.path(to)])
            .args(["--mysqld".into(), self.program.clone()])
    }

    /// Starts a server on restored files, which follows the source from their position, and ends equal. Rows that come
    /// twice break it, and rows that never come differ.
    #[track_caller]
    pub fn carried_on(&mut self, back: &str, restored: &Value) {
        let sums = "CHECKSUM TABLE shop.t, shop.account, shop.w";
        self.follows(back, restored, sums, |copy| {
            let conditions = "SELECT SUM(amount) FROM shop.account";
            assert_eq!(copy.value(conditions).expect("a sum"), "6000");
        });
    }

    /// The same with other tables, of which `conditions` hold at any moment.
    #[track_caller]
    pub fn follows(
        &mut self,
        back: &str,
        restored: &Value,
        sums: &str,
        conditions: impl Fn(&Server),
    ) {
        let copy = self.started(back);
        conditions(&copy);
        // The words that the restore prints, but for the address, and with an account.
        let way = match self.by_gtid {
            true => "replica_by_gtid",
            false => "replica_by_position",
        };
        let printed = restored["continue"][way].as_array().expect("statements");
        let mut sql: Vec<String> = printed
            .iter()
            .map(|s| s.as_str().expect("a statement").to_owned())
            .collect();
        let change = sql.last_mut().expect("a statement");
        let host = restored["continue"]["host"].as_str().expect("a host");
        let (word, more, start) = match self.kind {
            Kind::MySql => (
                "SOURCE",
                ", GET_SOURCE_PUBLIC_KEY=1, SOURCE_AUTO_POSITION=0",
                "START REPLICA",
            ),
            _ if self.by_gtid => ("MASTER", "", "START SLAVE"),
            _ => ("MASTER", ", MASTER_USE_GTID=no", "START SLAVE"),
        };
        *change = change.replace(&format!("_HOST='{host}'"), "_HOST='127.0.0.1'");
        let port = self.server.port().expect("a port");
        if change.contains("_HOST=") {
            assert!(change.contains(&format!("{word}_PORT={port}")), "{change}");
        } else {
            // Of a server that did not run, only its files are known.
            let address = format!(" TO {word}_HOST='127.0.0.1', {word}_PORT={port}, ");
            *change = change.replacen(" TO ", &address, 1);
        }
        *change += &format!(", {word}_USER='repl', {word}_PASSWORD='Repl-1-word'{more}");
        sql.push(start.to_owned());
        for sql in &sql {
            copy.client(sql).expect("it follows");
        }
        let wanted = self.server.client(sums).expect("sums");
        until("the copy is equal to its source", || {
            copy.client(sums).is_ok_and(|found| found == wanted)
        });
    }

    /// A server on restored files.
    #[track_caller]
    pub fn started(&self, back: &str) -> Server {
        let setup = Setup::new(self.kind).expect("a set-up");
        let setup = setup.over(&self.path(back)).args(["--server-id=72"]);
        setup.start().expect("a server on restored files")
    }

    /// The process of a program that copies files to a snapshot.
    pub fn copying(&self) -> Option<i32> {
        let datadir = self.server.datadir();
        let beside = datadir.parent().expect("a parent").display().to_string();
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        let mut numbers = processes.filter_map(|e| e.file_name().to_str()?.parse().ok());
        numbers.find(|pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains(&format!("={beside}/penstock-snapshot-"))
        })
    }

    /// No snapshot, mount, program, lock or login file is left; only these names are in the scene's directory beside its own.
    #[track_caller]
    pub fn nothing_left(&self, stored: &[&str]) {
        let listed = self
            .tool(&["snapshot", "list", "--json"])
            .run()
            .ok()
            .summary();
        assert_eq!(listed["snapshots"], Value::Array(Vec::new()));
        let datadir = self.server.datadir();
        let beside = datadir.parent().expect("a parent");
        for entry in std::fs::read_dir(beside).expect("a directory").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with("penstock-snapshot-"), "{name} is left");
        }
        assert_eq!(self.copying(), None, "a program is left");
        for name in ["to", "back"] {
            assert_eq!(self.path(name).exists(), stored.contains(&name), "{name}");
        }
        nothing_locked(&self.server);
    }
}

/// Another session can write and change definitions at once.
#[track_caller]
pub fn nothing_locked(server: &Server) {
    server
        .script(
            b"SET lock_wait_timeout = 10, innodb_lock_wait_timeout = 10; \
            CREATE TABLE shop.z (id INT); INSERT INTO shop.z VALUES (1); INSERT INTO shop.w (v) VALUES ('x'); DROP TABLE shop.z;",
        )
        .expect("no lock is left");
}

/// Sessions that insert, move amounts between accounts, and write to a table without transactions.
pub struct Writes {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// ER_LOCK_DEADLOCK.
const DEADLOCK: u16 = 1213;

impl Writes {
    pub fn begin(server: &Server) -> Writes {
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicU64::new(0));
        let begin = |n: u64| {
            let (stop, done, options) = (Arc::clone(&stop), Arc::clone(&done), server.options());
            std::thread::spawn(move || {
                let mut conn = wire::Conn::connect(&options).expect("a session");
                let mut i = n * 1000;
                while !stop.load(Ordering::SeqCst) {
                    i += 1;
                    let (a, b) = (i % 6, (i * 7 + n) % 6);
                    let rows = "(FLOOR(RAND() * 1000), REPEAT(SHA2(RAND(), 512), 4)),".repeat(20);
                    let all = [
                        "BEGIN".to_owned(),
                        format!(
                            "INSERT INTO shop.t (n, v) VALUES {}",
                            rows.trim_end_matches(',')
                        ),
                        format!(
                            "UPDATE shop.account SET amount = amount - {i} % 9 WHERE id = {}",
                            a.min(b)
                        ),
                        format!(
                            "UPDATE shop.account SET amount = amount + {i} % 9 WHERE id = {}",
                            a.max(b)
                        ),
                        "COMMIT".to_owned(),
                        "INSERT INTO shop.w (v) VALUES (REPEAT('w', 300))".to_owned(),
                        format!("DELETE FROM shop.t WHERE n = {} LIMIT 5", i % 1000),
                    ];
                    for sql in all {
                        match conn.execute(&sql) {
                            // A deadlock with another of these sessions has rolled back the transaction.
                            Err(e) if e.code() == Some(DEADLOCK) => break,
                            done => drop(done.expect("a write")),
                        }
                    }
                    done.fetch_add(1, Ordering::SeqCst);
                }
            })
        };
        let threads = (0..3).map(begin).collect();
        Writes {
            stop,
            done,
            threads,
        }
    }

    /// Returns when some transactions more have been committed.
    pub fn until_they_move(&self) {
        let begin = self.done.load(Ordering::SeqCst);
        until("writes", || self.done.load(Ordering::SeqCst) > begin + 150);
    }

    pub fn end(mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            thread
                .join()
                .expect("writes go on while a snapshot is taken");
        }
    }
}

impl Drop for Writes {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}
