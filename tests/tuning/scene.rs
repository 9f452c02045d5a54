//! A server to tune, an archive to load into it, and the settings that a user would look at.

use crate::kit::waiting::until;
use crate::kit::{Pair, Tool, own_server};
use std::collections::BTreeMap;
use std::path::PathBuf;
use testkit::{Kind, Server};

/// A durable server: none of the settings that tuning changes are set yet.
pub const DURABLE: &[&str] = &[
    "--innodb-flush-log-at-trx-commit=1",
    "--sync-binlog=1",
    "--local-infile=0",
];

/// The settings that tuning could change, as the server reports them.
pub fn settings(server: &Server) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for sql in [
        "SHOW GLOBAL VARIABLES",
        "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'",
    ] {
        for row in server.client(sql).expect("settings") {
            let mut row = row.into_iter().map(Option::unwrap_or_default);
            let (name, value) = (row.next().expect("a name"), row.next().expect("a value"));
            // These change by themselves.
            let moves = [
                "gtid",
                "timestamp",
                "last_insert_id",
                "rand_seed",
                "pseudo",
                "insert_id",
                "error_count",
                "warning_count",
            ];
            if !moves.iter().any(|m| name.contains(m)) {
                all.insert(name, value);
            }
        }
    }
    all
}

/// A target for this test alone, an archive that takes seconds to load, and a directory for
/// journals.
pub struct Scene {
    pub target: Server,
    pub directory: tempfile::TempDir,
    pub before: BTreeMap<String, String>,
}

impl Scene {
    pub fn new(kind: Kind) -> Option<Scene> {
        let pair = Pair::take(kind)?;
        pair.fill(
            "CREATE DATABASE big; USE big; \
            CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(1000)) ENGINE=InnoDB; \
            INSERT INTO t (v) SELECT SHA2(RAND(), 512) FROM (SELECT 1 UNION SELECT 2 UNION \
              SELECT 3 UNION SELECT 4) x; \
            INSERT INTO t (v) SELECT REPEAT(v, 7) FROM t; \
            INSERT INTO t (v) SELECT a.v FROM t a, t b, t c, t d; \
            INSERT INTO t (v) SELECT REVERSE(LEFT(a.v, 900)) FROM t a; \
            INSERT INTO t (v) SELECT v FROM t; INSERT INTO t (v) SELECT v FROM t; \
            INSERT INTO t (v) SELECT v FROM t; ANALYZE TABLE t;",
        );
        let directory = tempfile::tempdir().expect("a directory");
        pair.fill(
            "CREATE DATABASE small; CREATE TABLE small.t (id INT PRIMARY KEY); \
            INSERT INTO small.t VALUES (1);",
        );
        for (name, schema) in [("a", "big"), ("b", "small")] {
            Tool::new(["dump", "-S"])
                .arg(pair.source().socket())
                .args([
                    "-u",
                    "root",
                    // Too few chunks for batch sizes to be tried: each load would be another one.
                    "--chunk-size",
                    "2M",
                    "--schemas",
                    schema,
                    "--to",
                ])
                .arg(directory.path().join(name))
                .run()
                .ok();
        }
        drop(pair);
        let target = own_server(kind, DURABLE)?;
        let before = settings(&target);
        Some(Scene {
            target,
            directory,
            before,
        })
    }

    pub fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    pub fn tool(&self, verb: &str, user: &str) -> Tool {
        let mut tool = Tool::new([verb]);
        if verb == "load" {
            tool = tool
                .arg(self.directory.path().join("a"))
                .args(["--threads", "1"]);
        }
        tool.arg("-S")
            .arg(self.target.socket())
            .args(["-u", user])
            .env("PENSTOCK_STATE", self.state())
    }

    pub fn load(&self) -> Tool {
        self.tool("load", "root").args(["--tune", "max"])
    }

    pub fn doctor(&self) -> Tool {
        self.tool("doctor", "root")
    }

    pub fn journals(&self) -> Vec<PathBuf> {
        let list = std::fs::read_dir(self.state());
        list.into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path())
            // The directory of control sockets is also there, and completion records of loads that
            // were killed before they could report: `--resume` looks for those.
            .filter(|p| !p.is_dir() && !p.file_name().is_some_and(is_completion_record))
            .collect()
    }

    #[track_caller]
    pub fn as_before(&self) {
        let now = settings(&self.target);
        let differ: Vec<_> = now
            .iter()
            .filter(|(k, v)| self.before.get(*k) != Some(v))
            .collect();
        assert!(differ.is_empty(), "left changed: {differ:?}");
        assert_eq!(self.journals(), Vec::<PathBuf>::new(), "a journal is left");
    }

    /// Waits until rows are loaded, and returns the settings at that time.
    #[track_caller]
    pub fn rows_flow(&self) -> BTreeMap<String, String> {
        let sql =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'LOAD DATA%'";
        // A server that is being restarted does not answer.
        until("a load begins", || {
            self.target.value(sql).is_ok_and(|n| n != "0")
        });
        settings(&self.target)
    }

    pub fn empty(&self) {
        self.target
            .client("DROP DATABASE IF EXISTS big")
            .expect("dropped");
    }
}

/// What a load must have changed on a server started with [`DURABLE`].
pub fn wanted(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::MySql => &[
            ("local_infile", "ON"),
            ("sync_binlog", "0"),
            ("Innodb_redo_log_enabled", "OFF"),
        ],
        _ => &[
            ("local_infile", "ON"),
            ("sync_binlog", "0"),
            ("innodb_flush_log_at_trx_commit", "0"),
        ],
    }
}

#[track_caller]
pub fn tuned(kind: Kind, during: &BTreeMap<String, String>) {
    for (name, value) in wanted(kind) {
        assert_eq!(
            during.get(*name).map(String::as_str),
            Some(*value),
            "{name} during the load"
        );
    }
}

fn is_completion_record(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("completed-")
}
