//! A server with a binary log, a repository, and a look at what is stored that shares nothing with the program.

use crate::kit::{Done, Tool};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testkit::{Kind, Server};

/// A server, and a repository for its log.
pub struct Logged {
    pub server: Server,
    directory: tempfile::TempDir,
}

/// A server of this kind that writes a binary log.
pub fn server(kind: Kind, id: u32, more: &[&str]) -> Server {
    let setup = testkit::Setup::new(kind).expect("a set-up").tcp();
    server_with(setup, kind, id, more)
}

/// The same, set up already.
pub fn server_with(setup: testkit::Setup, kind: Kind, id: u32, more: &[&str]) -> Server {
    let mut args = vec![format!("--server-id={id}"), "--log-bin=binlog".to_owned()];
    if kind == Kind::MySql {
        args.extend(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"].map(str::to_owned));
    }
    args.extend(more.iter().map(|a| (*a).to_owned()));
    setup.args(args).start().expect("a server")
}

impl Logged {
    /// `None` where there is no such server, which counts as a skip.
    pub fn new(kind: Kind, more: &[&str]) -> Option<Logged> {
        if !testkit::available(kind) {
            return None;
        }
        Some(Logged::of(server(kind, 1, more)))
    }

    /// With this server.
    pub fn of(server: Server) -> Logged {
        let logged = Logged {
            server,
            directory: tempfile::tempdir().expect("a directory"),
        };
        Tool::new(["init"]).arg(logged.repository()).run().ok();
        logged
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn repository(&self) -> PathBuf {
        self.path("repository")
    }

    /// `penstock binlog archive` of this server.
    pub fn archiving(&self, more: &[&str]) -> Tool {
        archiving(&self.repository(), more)
            .arg("--socket")
            .arg(self.server.socket())
    }

    /// Everything that the server has, from its oldest file on.
    pub fn once(&self) -> Done {
        self.archiving(&["--once", "--start", "oldest"]).run()
    }

    /// A dump of the server, as a backup.
    pub fn backup(&self) {
        Tool::new(["backup", "shop", "--no-defaults", "--user", "root"])
            .arg("--repository")
            .arg(self.repository())
            .arg("--socket")
            .arg(self.server.socket())
            .run()
            .ok();
    }

    /// `penstock` with these words, about its repository.
    pub fn on(&self, words: &[&str]) -> Done {
        Tool::new(words.iter().copied())
            .arg("--repository")
            .arg(self.repository())
            .run()
    }

    /// Removes all files but the newest.
    pub fn purge(&self) -> String {
        let last = self.files().keys().last().cloned().expect("files");
        // MariaDB keeps files that a replica was sent not long ago.
        crate::kit::waiting::until("the files to be removed", || {
            let purge = format!("PURGE BINARY LOGS TO '{last}'");
            self.server.client(&purge).expect("a purge");
            self.files().len() == 1
        });
        last
    }

    /// Where the log is stored.
    pub fn place(&self) -> PathBuf {
        self.repository().join("binlogs/shop")
    }

    /// What is stored of each file of a timeline.
    pub fn stored(&self, timeline: u32) -> BTreeMap<String, Vec<u8>> {
        stored(&self.place(), timeline)
    }

    /// The server's own files, which it has closed; the last one is that of a server that runs.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        files(&self.server.datadir())
    }

    /// Every file of the timeline is the server's, to the last byte that the server has.
    #[track_caller]
    pub fn assert_equal(&self, timeline: u32) {
        let (stored, files) = (self.stored(timeline), self.files());
        assert_same(&stored, &files);
        assert_eq!(
            stored.keys().collect::<Vec<_>>(),
            files.keys().collect::<Vec<_>>()
        );
    }
}

/// `penstock binlog archive` of the server `shop`; where it is follows.
pub fn archiving(repository: &Path, more: &[&str]) -> Tool {
    Tool::new([
        "binlog",
        "archive",
        "shop",
        "--no-defaults",
        "--user",
        "root",
    ])
    .args(more.iter().copied())
    .arg("--repository")
    .arg(repository)
}

/// Each stored file is that of the server.
#[track_caller]
pub fn assert_same(stored: &BTreeMap<String, Vec<u8>>, files: &BTreeMap<String, Vec<u8>>) {
    assert!(!stored.is_empty(), "nothing is stored");
    for (name, bytes) in stored {
        let theirs = files.get(name).unwrap_or_else(|| panic!("no {name}"));
        let at = bytes.iter().zip(theirs).position(|(a, b)| a != b);
        // While a file is open, a flag of its first event says so.
        let at = at.filter(|&at| at != 21);
        assert_eq!(at, None, "{name} differs there");
        let rest = theirs.get(bytes.len()..).expect("more than the server has");
        assert!(
            only_checkpoints(rest),
            "{name}: {} of {} bytes",
            bytes.len(),
            theirs.len()
        );
    }
}

/// Whether these are whole events, and each a checkpoint. MariaDB notes them in its newest file some time after what
/// they are about, so that one may come after the last look of the archive.
fn only_checkpoints(mut events: &[u8]) -> bool {
    const CHECKPOINT: u8 = 161;
    while !events.is_empty() {
        let length = events
            .get(9..13)
            .map(|l| u32::from_le_bytes(l.try_into().expect("four bytes")) as usize);
        match (
            events.get(4),
            length.and_then(|l| events.split_at_checked(l)),
        ) {
            (Some(&CHECKPOINT), Some((event, rest))) if !event.is_empty() => events = rest,
            _ => return false,
        }
    }
    true
}

/// What is stored, read as the documentation says: a line, and zstd behind it.
pub fn stored(place: &Path, timeline: u32) -> BTreeMap<String, Vec<u8>> {
    let mut files: BTreeMap<String, BTreeMap<usize, PathBuf>> = BTreeMap::new();
    let prefix = format!("{timeline:04}@");
    for entry in std::fs::read_dir(place).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        let Some(rest) = name
            .strip_prefix(&prefix)
            .and_then(|n| n.strip_suffix(".seg"))
        else {
            continue;
        };
        let (file, start) = rest.split_once('@').expect("an offset");
        let start = start.parse().expect("an offset");
        files
            .entry(file.to_owned())
            .or_default()
            .insert(start, entry.path());
    }
    let whole = |segments: BTreeMap<usize, PathBuf>| {
        let mut bytes = Vec::new();
        for (start, path) in segments {
            assert_eq!(start, bytes.len(), "{}", path.display());
            let object = std::fs::read(&path).expect("a segment");
            let line = object.iter().position(|b| *b == b'\n').expect("a line");
            bytes.extend(zstd::decode_all(&object[line + 1..]).expect("zstd"));
        }
        bytes
    };
    files
        .into_iter()
        .map(|(name, s)| (name, whole(s)))
        .collect()
}

/// The files of a server's log.
pub fn files(datadir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(datadir).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        let number = name.strip_prefix("binlog.").unwrap_or_default();
        if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
            files.insert(name, std::fs::read(entry.path()).expect("a file"));
        }
    }
    files
}

/// Some transactions, definitions among them.
pub fn write(server: &Server, n: u32) {
    let mut script = String::from(
        "CREATE SCHEMA IF NOT EXISTS d;\nCREATE TABLE IF NOT EXISTS d.t (id INT PRIMARY KEY AUTO_INCREMENT, v TEXT);\n",
    );
    for i in 0..n {
        script += &format!(
            "INSERT INTO d.t (v) VALUES ('{i}'), (REPEAT('x', {}));\n",
            i * 37 % 9000
        );
        if i % 5 == 0 {
            script += "UPDATE d.t SET v = CONCAT(v, '.') WHERE id % 3 = 0;\n";
        }
        if i % 7 == 3 {
            script += &format!("ALTER TABLE d.t COMMENT = 'number {i}';\n");
        }
    }
    server.script(script.as_bytes()).expect("writes");
}

/// A restore of its repository into this server.
pub fn restore(logged: &Logged, target: &Server, more: &[&str]) -> Tool {
    Tool::new([
        "restore",
        "--no-defaults",
        "--user",
        "root",
        "--allow-same-server",
    ])
    .args(more.iter().copied())
    .arg("--repository")
    .arg(logged.repository())
    .arg("--socket")
    .arg(target.socket())
    .env("PENSTOCK_STATE", logged.path("state"))
}

/// The same, run.
pub fn restoring(logged: &Logged, target: &Server, more: &[&str]) -> Done {
    restore(logged, target, more).run()
}

/// As a new server.
pub fn emptied(target: &Server) {
    target.client("DROP SCHEMA IF EXISTS d").expect("a drop");
    let reset = match target.kind() == Kind::MySql {
        true => "RESET BINARY LOGS AND GTIDS",
        false => "RESET MASTER",
    };
    target.client(reset).expect("a reset");
    if target.kind() == Kind::MariaDb {
        target
            .client("SET GLOBAL gtid_slave_pos = ''")
            .expect("a reset");
    }
}
