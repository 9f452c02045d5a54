//! A server whose buffer pool is cold but for what a test reads, and another one with the same rows.

use crate::kit::{Tool, waiting::until};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Kind, Server, Setup, available};

const TABLES: &[u8] = include_bytes!("../fixtures/warm.sql");

/// Statements whose pages are made hot: each reads a small part of an index.
pub const HOT: [&str; 11] = [
    "SELECT SUM(LENGTH(pad)) FROM `tab``le` FORCE INDEX (PRIMARY) WHERE id BETWEEN -12000 AND -10000",
    "SELECT COUNT(*) FROM `tab``le` FORCE INDEX (s) WHERE s BETWEEN 20000 AND 26000",
    "SELECT COUNT(*) FROM `tab``le` FORCE INDEX (s) WHERE s IS NULL AND id BETWEEN -5000 AND 5000",
    "SELECT COUNT(*) FROM `tab``le` FORCE INDEX (down) WHERE s BETWEEN 50000 AND 56000",
    "SELECT SUM(LENGTH(pad)) FROM composite FORCE INDEX (PRIMARY) WHERE region = 'Régïon 3' AND day BETWEEN '2020-02-01' AND '2020-04-01'",
    "SELECT COUNT(*) FROM composite FORCE INDEX (code) WHERE code BETWEEN x'40' AND x'50'",
    "SELECT COUNT(*) FROM composite FORCE INDEX (kind) WHERE kind = 'ccc' AND region = 'Régïon 5'",
    "SELECT COUNT(*) FROM composite FORCE INDEX (at) WHERE at BETWEEN '2002-01-01' AND '2002-06-01'",
    "SELECT COUNT(*) FROM composite FORCE INDEX (price) WHERE price BETWEEN -300 AND 100",
    "SELECT SUM(LENGTH(pad)) FROM parts FORCE INDEX (PRIMARY) WHERE id BETWEEN 20000 AND 22000",
    "SELECT SUM(LENGTH(body)) FROM longs FORCE INDEX (PRIMARY) WHERE id BETWEEN 100 AND 150",
];

/// Statements about the same indexes that read other pages.
pub const COLD: [&str; 4] = [
    "SELECT SUM(LENGTH(pad)) FROM `tab``le` FORCE INDEX (PRIMARY) WHERE id BETWEEN 12000 AND 14000",
    "SELECT COUNT(*) FROM composite FORCE INDEX (code) WHERE code BETWEEN x'a0' AND x'b0'",
    "SELECT SUM(LENGTH(pad)) FROM parts FORCE INDEX (PRIMARY) WHERE id BETWEEN 2000 AND 4000",
    "SELECT SUM(LENGTH(body)) FROM longs FORCE INDEX (PRIMARY) WHERE id BETWEEN 300 AND 350",
];

pub struct Scene {
    pub server: Server,
    pub directory: tempfile::TempDir,
}

impl Scene {
    pub fn new(kind: Kind) -> Option<Scene> {
        Scene::behind(kind, "")
    }

    /// The same, where a statement was run before the tables were made.
    pub fn behind(kind: Kind, first: &str) -> Option<Scene> {
        if !available(kind) {
            return None;
        }
        let setup = Setup::new(kind).expect("a set-up").args([
            "--innodb-buffer-pool-size=48M",
            "--innodb-buffer-pool-load-at-startup=OFF",
            "--innodb-buffer-pool-dump-at-shutdown=ON",
            "--innodb-fast-shutdown=0",
        ]);
        let server = setup.start().expect("a server");
        server.script(first.as_bytes()).expect("a statement");
        server.script(TABLES).expect("tables");
        Some(Scene {
            server,
            directory: tempfile::tempdir().expect("a directory"),
        })
    }

    /// Restarts the server: its buffer pool is empty then.
    pub fn chill(&mut self) {
        self.server.stop().expect("it stops");
        self.server.restart().expect("it starts");
        self.open_tables();
        self.until_nothing_is_read();
    }

    /// Waits for what the server reads by itself after its start.
    fn until_nothing_is_read(&self) {
        until("nothing is read by itself", || {
            let before = self.reads();
            std::thread::sleep(Duration::from_millis(200));
            self.reads() == before
        });
    }

    /// Opens the tables: what that reads is not what a statement reads.
    pub fn open_tables(&self) {
        for table in ["`tab``le`", "composite", "parts", "longs", "no_key"] {
            self.ask(&format!("SELECT * FROM {table} LIMIT 1"));
        }
    }

    pub fn ask(&self, sql: &str) -> String {
        let mut conn = self.server.conn().expect("a connection");
        conn.execute("USE `odd``s`").expect("a schema");
        let rows = conn.fetch(sql).expect("an answer");
        let cell = rows.first().and_then(|r| r.first()?.clone());
        String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned()
    }

    /// Pages that the server has read from its files so far.
    pub fn reads(&self) -> u64 {
        let sql = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'";
        let found = self.server.field(sql, "Value").expect("a status");
        found.expect("a value").parse().expect("a number")
    }

    /// Pages that a statement has to read from files.
    pub fn reads_of(&self, sql: &str) -> u64 {
        let before = self.reads();
        self.ask(sql);
        self.reads() - before
    }

    pub fn file(&self) -> PathBuf {
        self.directory.path().join("hot.warm")
    }

    pub fn save(&self) -> Tool {
        let to = self.file();
        let args = ["warm", "save", "--no-defaults", "--to"];
        self.tool(Tool::new(args).arg(to).arg(self.server.uri()))
    }

    pub fn load(&self, file: &Path) -> Tool {
        let args = ["warm", "load", "--no-defaults", "--threads", "2", "--from"];
        self.tool(Tool::new(args).arg(file).arg(self.server.uri()))
    }

    /// Fills the buffer pool with whatever there is.
    pub fn fill(&self) {
        let args = ["warm", "load", "--no-defaults", "--whole-indexes"];
        let tool = Tool::new(args).arg(self.server.uri());
        self.tool(tool).run().ok();
    }

    pub fn tool(&self, tool: Tool) -> Tool {
        tool.env("PENSTOCK_STATE", self.directory.path().join("state"))
    }

    /// The two settings that a save changes for a moment.
    pub fn settings(&self) -> (String, String) {
        let value = |name: &str| self.ask(&format!("SELECT @@GLOBAL.innodb_buffer_pool_{name}"));
        (value("filename"), value("dump_pct"))
    }
}

/// The lines of a file of hot ranges.
pub fn lines(file: &Path) -> Vec<Value> {
    let packed = std::fs::read(file).expect("a file");
    let plain = zstd::decode_all(&packed[..]).expect("zstd");
    let text = String::from_utf8(plain).expect("text");
    let line = |l: &str| serde_json::from_str(l).expect("JSON");
    text.lines().map(line).collect()
}

/// The ranges of an index: from and to.
pub fn ranges(lines: &[Value], table: &str, index: &str) -> Vec<(Value, Value)> {
    let mut is_it = false;
    let mut found = Vec::new();
    for line in lines {
        if line["table"].is_string() {
            is_it = line["table"] == table && line["index"] == index;
        } else if is_it && line.is_array() {
            found.push((line[3].clone(), line[4].clone()));
        }
    }
    found
}
