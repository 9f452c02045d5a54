//! Dumps of data directories: the same archive as by SQL, whatever rows have gone through, and nothing in the
//! directory changes.

mod kills;
mod made_with;

use crate::kit::fixtures::all_tables_scripts;
use crate::kit::mounted::Mounted;
use crate::kit::{Done, Tool, each_kind, own_server};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testkit::{Install, Kind, Server, Setup, available};

/// A server of its own, with a binary log, and a place for archives.
struct Scene {
    server: Server,
    directory: tempfile::TempDir,
    program: PathBuf,
}

impl Scene {
    fn new(kind: Kind) -> Option<Scene> {
        Scene::with_log(kind, "--log-bin=binlog")
    }

    fn with_log(kind: Kind, log: &str) -> Option<Scene> {
        Some(Scene::of(own_server(kind, &[log, "--server-id=1"])?))
    }

    fn of(server: Server) -> Scene {
        let directory = tempfile::tempdir().expect("a directory");
        let script = directory.path().join("mysqld");
        let program = server.install().one_program(&script).expect("a program");
        Scene {
            server,
            directory,
            program,
        }
    }

    fn fill(&self, script: &str) {
        if let Err(e) = self.server.script(script.as_bytes()) {
            panic!("{e:?}\nin {script}");
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Without accounts: a dump of files has none.
    fn by_sql(&self, name: &str) -> Done {
        Tool::new(["dump", "--user", "root", "--chunk-size", "64k", "--socket"])
            .arg(self.server.socket())
            .arg("--no-users")
            .arg("--to")
            .arg(self.path(name))
            .run()
    }

    fn dump_files(&self, name: &str, more: &[&str]) -> Done {
        self.dump_files_in(self.directory.path(), name, more)
    }

    /// With another scratch directory.
    fn dump_files_in(&self, scratch: &Path, name: &str, more: &[&str]) -> Done {
        self.files_dump(scratch, name, more).run()
    }

    /// The command line of such a dump.
    fn files_dump(&self, scratch: &Path, name: &str, more: &[&str]) -> Tool {
        Tool::new(["dump", "--json", "--chunk-size", "64k", "--from-files"])
            .arg(self.server.datadir())
            .arg("--to")
            .arg(self.path(name))
            .arg("--mysqld")
            .arg(&self.program)
            .arg("--scratch")
            .arg(scratch)
            .args(more.iter().copied())
    }

    /// The command line that restores files that were stored.
    fn files_restore(&self, from: &str, to: &Path) -> Tool {
        Tool::new(["snapshot", "restore"])
            .arg(self.path(from))
            .arg("--datadir")
            .arg(to)
            .arg("--mysqld")
            .arg(&self.program)
    }

    /// Stores the files of the server, which does not run.
    fn copy_files(&self, to: &Path) -> Done {
        Tool::new(["snapshot", "take", "--method", "copy", "--datadir"])
            .arg(self.server.datadir())
            .arg("--to")
            .arg(to)
            .run()
    }

    fn verify(&self, name: &str) -> Done {
        Tool::new(["verify"])
            .arg(self.path(name))
            .args(["--user", "root", "--socket"])
            .arg(self.server.socket())
            .run()
    }

    fn manifest(&self, name: &str) -> Value {
        let text = std::fs::read(self.path(name).join("penstock.json")).expect("a manifest");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// Rows and digests by table.
    fn digests(&self, name: &str) -> BTreeMap<String, (u64, String)> {
        let manifest = self.manifest(name);
        let tables = manifest["tables"].as_array().expect("tables");
        let one = |t: &Value| {
            let text = |key: &str| t[key].as_str().expect("a text").to_owned();
            let rows = t["rows"].as_u64().expect("a number");
            (
                format!("{}.{}", text("schema"), text("table")),
                (rows, text("row_digest")),
            )
        };
        tables.iter().map(one).collect()
    }

    /// The definitions, by file, without the comments that begin each.
    fn definitions(&self, name: &str) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        for entry in std::fs::read_dir(self.path(name))
            .expect("an archive")
            .flatten()
        {
            let file = entry.file_name().to_string_lossy().into_owned();
            if file.ends_with(".sql") {
                let text = std::fs::read_to_string(entry.path()).expect("a text");
                // A server that starts takes the next AUTO_INCREMENT from the file; a running one may have given more away.
                let text = text.lines().filter(|l| !l.starts_with("--"));
                let text: Vec<String> = text.map(without_auto_increment).collect();
                all.insert(file, text.join("\n"));
            }
        }
        all
    }

    /// Nothing of the temporary server is left.
    #[track_caller]
    fn nothing_is_left(&self) {
        let list = std::fs::read_dir(self.directory.path()).expect("a directory");
        for entry in list.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(!name.starts_with("penstock-"), "{name}");
        }
        let ours = self.directory.path().display().to_string();
        for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            assert!(!line.contains(&format!("--datadir={ours}")), "{line}");
        }
    }
}

fn without_auto_increment(line: &str) -> String {
    match line.split_once(" AUTO_INCREMENT=") {
        Some((before, behind)) => {
            let rest = behind.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}{rest}")
        }
        None => line.to_owned(),
    }
}

/// Every file below a directory, with its bytes' digest and when it was changed.
fn state(directory: &Path) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut all = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).expect("a directory").flatten() {
            let meta = entry.metadata().expect("a file");
            if meta.is_dir() {
                open.push(entry.path());
            } else if meta.is_file() {
                let mut digest = DefaultHasher::new();
                std::fs::read(entry.path())
                    .expect("bytes")
                    .hash(&mut digest);
                let changed = meta.modified().expect("a time");
                all.insert(entry.path(), (digest.finish(), changed));
            }
        }
    }
    all
}

/// What rows may go through, on both flavours.
pub const HISTORY: &str = "
CREATE DATABASE h; USE h;
CREATE TABLE changed (id INT PRIMARY KEY, gone VARCHAR(20) DEFAULT 'gone', v VARCHAR(200), t LONGTEXT, KEY (v));
INSERT INTO changed (id, v, t) SELECT a.n * 100 + b.n, CONCAT('v', a.n, 'x', b.n), IF(b.n % 7 = 0, REPEAT('long ', a.n * 200), 'short')
  FROM (WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 99) SELECT n FROM s) a,
       (WITH RECURSIVE s AS (SELECT 0 n UNION ALL SELECT n + 1 FROM s WHERE n < 99) SELECT n FROM s) b;
DELETE FROM changed WHERE id % 3 = 0;
UPDATE changed SET v = CONCAT('u', v), t = REPEAT('y', 9000) WHERE id % 17 = 0;
ALTER TABLE changed ADD COLUMN added INT NOT NULL DEFAULT 42, ALGORITHM=INSTANT;
INSERT INTO changed VALUES (1000000, 'g', 'after', 'x', 7);
UPDATE changed SET added = 8 WHERE id % 19 = 0;
ALTER TABLE changed DROP COLUMN gone, ALGORITHM=INSTANT;
UPDATE changed SET added = 9 WHERE id % 23 = 0;
CREATE TABLE words (w VARCHAR(30) COLLATE utf8mb4_general_ci, n DECIMAL(12,4), d DATETIME(3), PRIMARY KEY (w, n)) CHARSET utf8mb4;
INSERT INTO words SELECT CONCAT('wörd', id), id * 1.25, '2026-01-02 03:04:05.678' FROM changed;
CREATE TABLE old (a INT PRIMARY KEY, b CHAR(10) CHARACTER SET utf8mb4, c TEXT) ROW_FORMAT=REDUNDANT;
INSERT INTO old SELECT id, 'å', REPEAT('z', id % 10000) FROM changed WHERE id < 2000;
CREATE TABLE nothing (a INT PRIMARY KEY);
CREATE TABLE emptied (a INT PRIMARY KEY, b CHAR(200)); INSERT INTO emptied SELECT id, 'x' FROM changed; DELETE FROM emptied;
CREATE TABLE packed (a INT PRIMARY KEY, b TEXT) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8;
INSERT INTO packed SELECT id, REPEAT('p', 500) FROM changed WHERE id < 3000;
CREATE TABLE other (a INT) ENGINE=MyISAM; INSERT INTO other VALUES (1), (2);
";

each_kind!(the_archive_is_that_of_sql; mysql, mariadb, mariadb118);
fn the_archive_is_that_of_sql(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    for script in all_tables_scripts(kind) {
        scene.fill(&script);
    }
    scene.fill(HISTORY);
    scene.fill(
        "CREATE EVENT h.e ON SCHEDULE EVERY 1 DAY DISABLE DO DO 1; CREATE PROCEDURE h.p() DO 1;",
    );
    scene.by_sql("sql").code(3);
    scene.server.stop().expect("it shuts down");
    let before = state(&scene.server.datadir());
    let done = scene.dump_files("files", &[]).ok();
    let after = state(&scene.server.datadir());
    let changed: Vec<_> = after
        .iter()
        .filter(|(k, v)| before.get(*k) != Some(v))
        .collect();
    assert!(
        changed.is_empty() && after.len() == before.len(),
        "{changed:?}"
    );
    scene.nothing_is_left();

    assert_eq!(scene.digests("files"), scene.digests("sql"));
    assert_eq!(scene.definitions("files"), scene.definitions("sql"));
    // A server that shuts down ends its log with an event of 23 bytes (`STOP_EVENT`, with its checksum).
    let mut position = scene.manifest("sql")["position"].clone();
    let end = position["binlog_position"].as_u64().expect("a number") + 23;
    position["binlog_position"] = end.into();
    // No server was asked for the files, so none said its time.
    let time = position
        .as_object_mut()
        .and_then(|p| p.remove("server_time"));
    assert!(time.is_some_and(|t| t.is_u64()), "{position}");
    assert_eq!(scene.manifest("files")["position"], position);
    assert_eq!(
        scene.manifest("files")["consistency"]["exceptions"],
        serde_json::json!([])
    );

    // Whatever is read by SQL is named, with the reason.
    let summary = done.summary();
    let by_sql = summary["read_by_sql"].as_array().expect("a list");
    let by_sql: Vec<&str> = by_sql.iter().filter_map(Value::as_str).collect();
    assert!(
        by_sql
            .iter()
            .any(|t| t.starts_with("`h`.`other`: engine MyISAM")),
        "{by_sql:#?}"
    );
    let files = summary["tables_from_files"].as_u64().expect("a number");
    let all = scene.digests("files").len() as u64;
    assert_eq!(files + by_sql.len() as u64, all, "{by_sql:#?}");
    for table in ["changed", "words", "old", "emptied"] {
        let name = format!("`h`.`{table}`");
        assert!(!by_sql.iter().any(|t| t.starts_with(&name)), "{by_sql:#?}");
    }

    scene.server.restart().expect("it starts");
    scene.verify("files").ok();
}

each_kind!(a_killed_server_is_recovered_in_a_copy; mysql, mariadb);
fn a_killed_server_is_recovered_in_a_copy(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    scene.fill(HISTORY);
    // An open transaction, which must not be in the archive.
    let mut open = scene.server.conn().expect("a connection");
    open.execute("BEGIN").expect("it begins");
    open.execute("UPDATE h.changed SET added = -1")
        .expect("it updates");
    open.execute("DELETE FROM h.words").expect("it deletes");
    open.execute("INSERT INTO h.nothing VALUES (1)")
        .expect("it inserts");
    let busy = scene.dump_files("busy", &[]).code(11);
    busy.says(&["a server uses the data directory"]);
    // Another transaction is committed, and makes the open one durable.
    scene.fill("INSERT INTO h.other VALUES (3); CREATE TABLE h.last (a INT PRIMARY KEY); INSERT INTO h.last VALUES (1)");
    scene.server.kill9().expect("it is killed");
    let before = state(&scene.server.datadir());
    scene
        .dump_files("unclean", &[])
        .code(1)
        .says(&["--recover"]);
    assert!(!scene.path("unclean").exists());
    // A copy without room is not begun.
    if let Some(small) = Mounted::without_device("tmpfs", "size=16m") {
        let done = scene.dump_files_in(small.path(), "cramped", &["--recover"]);
        done.code(8).says(&["a copy of", " left", "--scratch"]);
        assert!(!scene.path("cramped").exists());
        let left = std::fs::read_dir(small.path()).expect("a directory");
        assert_eq!(left.count(), 0);
    }
    scene.dump_files("recovered", &["--recover"]).ok();
    assert_eq!(state(&scene.server.datadir()), before);
    scene.nothing_is_left();
    drop(open);
    scene.server.restart().expect("it starts");
    scene.verify("recovered").ok();
    scene.by_sql("sql").code(3);
    assert_eq!(scene.digests("recovered"), scene.digests("sql"));
}

each_kind!(a_commit_that_only_the_binary_log_has_is_there; mysql, mariadb);
fn a_commit_that_only_the_binary_log_has_is_there(kind: Kind) {
    let logs = tempfile::tempdir().expect("a directory");
    let log = logs.path().join("binlog");
    let Some(mut scene) = Scene::with_log(kind, &format!("--log-bin={}", log.display())) else {
        return;
    };
    scene.fill("SET GLOBAL sync_binlog = 1; CREATE DATABASE h; CREATE TABLE h.t (a INT PRIMARY KEY); INSERT INTO h.t VALUES (1)");
    // For a while MariaDB needs the log before this one, too.
    scene.fill("FLUSH BINARY LOGS; INSERT INTO h.t VALUES (2)");
    scene.fill("INSERT INTO h.t VALUES (3)");
    scene.server.kill9().expect("it is killed");
    scene
        .copy_files(&scene.path("copied"))
        .code(10)
        .says(&["was not shut down cleanly", "--recover"]);
    assert!(!scene.path("copied").exists());
    // InnoDB has written the commit, or nobody but the log knows of it.
    let rows = |name: &str| scene.digests(name)["h.t"].0;
    let without = scene.dump_files("without", &["--recover"]);
    if without.code == 0 {
        assert_eq!(rows("without"), 3);
    } else {
        without.code(1).says(&["prepared", "--binary-log-index"]);
        assert!(!scene.path("without").exists());
    }
    let index = logs.path().join("binlog.index");
    let index = index.to_str().expect("a path");
    let recover = ["--recover", "--binary-log-index", index];
    scene.dump_files("recovered", &recover).ok();
    assert_eq!(rows("recovered"), 3);
    assert!(scene.manifest("recovered")["position"]["binlog_file"].is_string());
    scene.nothing_is_left();
    // The index of logs that were moved along with it.
    let moved = tempfile::tempdir().expect("a directory");
    for file in std::fs::read_dir(logs.path()).expect("logs").flatten() {
        let to = moved.path().join(file.file_name());
        std::fs::rename(file.path(), to).expect("moved");
    }
    let index = moved.path().join("binlog.index");
    let index = index.to_str().expect("a path");
    let recover = ["--recover", "--binary-log-index", index];
    scene.dump_files("moved", &recover).ok();
    assert_eq!(rows("moved"), 3);
    for file in std::fs::read_dir(moved.path()).expect("logs").flatten() {
        let to = logs.path().join(file.file_name());
        std::fs::rename(file.path(), to).expect("moved");
    }
    scene.server.restart().expect("it starts");
    scene.verify("recovered").ok();
    scene.server.stop().expect("it shuts down");
    let datadir = scene.server.datadir();
    scene.copy_files(&scene.path("copied")).ok();
    // Nothing of ours comes into a data directory: it would be a schema there.
    let refused = |done: Done| {
        done.code(10)
            .says(&["is in the data directory of a server"])
    };
    refused(scene.copy_files(&datadir.join("copied")));
    refused(scene.dump_files_in(&datadir, "dumped", &[]));
    let of_files = Tool::new(["rescue"])
        .arg(datadir.join("h"))
        .arg("--to")
        .arg(datadir.join("rescued"));
    refused(of_files.run());
    let copied = Tool::new(["copy"]).arg(scene.path("recovered"));
    refused(copied.arg(datadir.join("archive")).run());
    let repository = Tool::new(["init"]).arg(datadir.join("backups"));
    refused(repository.run());
    let restored = scene.files_restore("copied", &datadir.join("restored"));
    refused(restored.run());
    let loaded = Tool::new(["load", "--no-defaults"])
        .arg(scene.path("recovered"))
        .arg("--datadir")
        .arg(datadir.join("loaded"))
        .arg("--mysqld")
        .arg(&scene.program);
    refused(loaded.run());
    for name in ["copied", "rescued", "restored", "loaded"] {
        assert!(!datadir.join(name).exists(), "{name}");
    }
}

each_kind!(open_transactions_are_no_rows; mysql, mariadb);
fn open_transactions_are_no_rows(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    scene.fill(
        "CREATE DATABASE h; CREATE TABLE h.t (a INT PRIMARY KEY); CREATE TABLE h.other (a INT)",
    );
    let mut open = scene.server.conn().expect("a connection");
    open.execute("BEGIN").expect("it begins");
    open.execute("INSERT INTO h.t VALUES (1), (2)")
        .expect("it inserts");
    // Another commit makes them durable; then all pages are written, and the log may have no more than its checkpoint.
    scene.fill("INSERT INTO h.other VALUES (3); SET GLOBAL innodb_max_dirty_pages_pct = 0; SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0");
    std::thread::sleep(std::time::Duration::from_secs(3));
    scene.server.kill9().expect("it is killed");
    drop(open);
    scene
        .dump_files("open", &[])
        .code(1)
        .says(&["was not shut down cleanly", "--recover"]);
    assert!(!scene.path("open").exists());
    scene.dump_files("recovered", &["--recover"]).ok();
    assert_eq!(scene.digests("recovered")["h.t"].0, 0);
    // Prepared by an application: only that knows.
    scene.server.restart().expect("it starts");
    let mut prepared = scene.server.conn().expect("a connection");
    for sql in [
        "XA START 'x'",
        "INSERT INTO h.t VALUES (1)",
        "XA END 'x'",
        "XA PREPARE 'x'",
    ] {
        prepared.execute(sql).expect("a part of XA");
    }
    drop(prepared);
    scene.server.stop().expect("it shuts down");
    for how in [&[][..], &["--recover"]] {
        scene
            .dump_files("prepared", how)
            .code(1)
            .says(&["prepared XA transactions", "XA COMMIT"]);
    }
}

/// MariaDB writes its log over and over; what is behind its end is older, or nothing.
#[test]
fn the_end_of_a_log_that_has_gone_round_is_found() {
    let options = [
        "--log-bin=binlog",
        "--server-id=1",
        "--innodb-log-file-size=4M",
    ];
    let Some(mut server) = own_server(Kind::MariaDb, &options) else {
        return;
    };
    let script =
        "CREATE DATABASE h; CREATE TABLE h.t (a INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(2000))";
    server.script(script.as_bytes()).expect("a table");
    let mut rounds = std::collections::BTreeSet::new();
    for _ in 0..5 {
        let rows =
            "USE h; INSERT INTO t (b) SELECT REPEAT(SHA2(RAND(), 512), 12) FROM seq_1_to_1000";
        server.script(rows.as_bytes()).expect("rows");
        assert_eq!(
            innodb::redo::has_ended(&server.datadir()).expect("a log"),
            Some(false)
        );
        server.stop().expect("it shuts down");
        assert_eq!(
            innodb::redo::has_ended(&server.datadir()).expect("a log"),
            Some(true)
        );
        let log = std::fs::read(server.datadir().join("ib_logfile0")).expect("a log");
        let (end, _) = innodb::redo::mariadb_checkpoint(&log).expect("a checkpoint");
        let first = u64::from_be_bytes(log[8..16].try_into().expect("a number"));
        rounds.insert((end - first) / (log.len() as u64 - innodb::redo::MARIADB_START));
        server.restart().expect("it starts");
    }
    assert!(rounds.len() > 1, "{rounds:?}");
}

each_kind!(a_file_that_ends_early_is_named; mysql, mariadb);
fn a_file_that_ends_early_is_named(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    scene.fill("CREATE DATABASE h; CREATE TABLE h.t (a INT PRIMARY KEY, b CHAR(250)); INSERT INTO h.t VALUES (1, 'x'), (2, 'y');
        INSERT INTO h.t SELECT a.a + 2 * b.n, a.b FROM h.t a JOIN (SELECT 1 n UNION SELECT 2 UNION SELECT 3) b;
        INSERT INTO h.t SELECT a.a * 100 + b.a, a.b FROM h.t a JOIN h.t b;
        INSERT INTO h.t SELECT a.a * 10000 + b.a, a.b FROM h.t a JOIN h.t b;
        CREATE TABLE h.other (a INT PRIMARY KEY); INSERT INTO h.other VALUES (1)");
    scene.server.stop().expect("it shuts down");
    let path = scene.server.datadir().join("h/t.ibd");
    let file = std::fs::File::options().write(true).open(path);
    let file = file.expect("a file");
    let pages = file.metadata().expect("a size").len() / 16384;
    // Also where the root is whole: MySQL ends when it opens such a file.
    for left in [pages - 1, 5] {
        file.set_len(left * 16384).expect("cut");
        let name = format!("cut{left}");
        let done = scene.dump_files(&name, &[]).code(3);
        done.says(&["t.ibd", "the file ends before it", "penstock rescue"]);
        let digests = scene.digests(&name);
        assert!(!digests.contains_key("h.t") && digests.contains_key("h.other"));
    }
}

each_kind!(a_damaged_file_is_named_and_the_rest_is_dumped; mysql, mariadb);
fn a_damaged_file_is_named_and_the_rest_is_dumped(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    scene.fill(HISTORY);
    scene.server.stop().expect("it shuts down");
    let path = scene.server.datadir().join("h/changed.ibd");
    let mut bytes = std::fs::read(&path).expect("a file");
    // A leaf of the index that holds the rows: its root is the first page of an index that is no dictionary's.
    let page = |n: usize| &bytes[n * 16384..(n + 1) * 16384];
    let pages = bytes.len() / 16384;
    let is_index = |n: &usize| page(*n)[24..26] == [0x45, 0xbf];
    // After an instant ALTER the root has a type of its own on MariaDB.
    let is_root = |n: &usize| is_index(n) || page(*n)[24..26] == [0, 18];
    let root = (3..pages).find(is_root).expect("a root");
    let id = page(root)[66..74].to_owned();
    let is_leaf =
        |n: &usize| is_index(n) && page(*n)[64..66] == [0, 0] && page(*n)[66..74] == id[..];
    // Some of them may be free by now. Without the first one MariaDB does not open a table that was altered instantly.
    let leaves: Vec<usize> = (root + 1..pages).filter(is_leaf).collect();
    assert!(leaves.len() > 2, "{pages}");
    for leaf in &leaves[1..] {
        bytes[leaf * 16384 + 5000] ^= 1;
    }
    std::fs::write(&path, bytes).expect("it is written");
    let done = scene.dump_files("damaged", &[]).code(3);
    done.says(&["changed.ibd", "its checksum is wrong", "none of its rows"]);
    assert!(!scene.digests("damaged").contains_key("h.changed"));
    assert!(scene.digests("damaged").contains_key("h.words"));
}

each_kind!(what_is_no_data_directory_is_refused; mysql, mariadb);
fn what_is_no_data_directory_is_refused(kind: Kind) {
    let Some(scene) = Scene::new(kind) else {
        return;
    };
    let refused = |directory: &Path, more: &[&str]| {
        Tool::new(["dump", "--from-files"])
            .arg(directory)
            .arg("--to")
            .arg(scene.path("never"))
            .args(more.iter().copied())
            .run()
    };
    refused(scene.directory.path(), &[])
        .code(2)
        .says(&["no data directory", "ibdata1"]);
    refused(&scene.path("missing"), &[])
        .code(8)
        .says(&["missing"]);
    refused(&scene.server.datadir(), &["--socket", "/x"]).code(2);
    refused(&scene.server.datadir(), &["--max-lag", "1s"])
        .code(2)
        .says(&["--from-files"]);
    assert!(!scene.path("never").exists());
}

each_kind!(encrypted_tables_are_named; mysql, mariadb);
fn encrypted_tables_are_named(kind: Kind) {
    if !available(kind) {
        return;
    }
    let keys = tempfile::tempdir().expect("a directory");
    let setup = Setup::new(kind).expect("a set-up");
    let Some(setup) = setup.with_keyring(keys.path()).expect("a keyring") else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let install = Install::find(kind).expect("a server");
    // Without a key, as on another host.
    let script = directory.path().join("mysqld");
    let program = install.one_program(&script).expect("a program");
    let mut scene = Scene {
        server: setup.start().expect("a server"),
        directory,
        program,
    };
    // MariaDB has two formats of encrypted pages.
    let (encrypted, older) = match kind.flavour() {
        Kind::MySql => ("ENCRYPTION='Y'", ""),
        _ => (
            "ENCRYPTED=YES",
            "SET GLOBAL innodb_checksum_algorithm = crc32; CREATE TABLE d.older LIKE d.secret; INSERT INTO d.older SELECT * FROM d.plain;",
        ),
    };
    scene.fill(&format!(
        "CREATE DATABASE d; CREATE TABLE d.plain (id INT PRIMARY KEY, v VARCHAR(40));
        CREATE TABLE d.secret (id INT PRIMARY KEY, v VARCHAR(40)) {encrypted};
        INSERT INTO d.plain VALUES (1, 'a'), (2, 'b'); INSERT INTO d.secret SELECT * FROM d.plain; {older}"
    ));
    scene.by_sql("sql").ok();
    scene.server.stop().expect("it stops");
    let tables: &[&str] = match kind.flavour() {
        Kind::MySql => &["secret"],
        _ => &["older", "secret"],
    };
    // Those that are encrypted, and no other.
    let named = |done: Done, why: &str| {
        let all = done.code(3).summary()["exceptions"].clone();
        let mut all: Vec<String> = serde_json::from_value(all).expect("exceptions");
        all.sort();
        assert_eq!(all.len(), tables.len(), "{all:#?}");
        for (text, table) in all.iter().zip(tables) {
            assert!(text.contains(table), "{text}");
            assert!(text.contains(why), "{text}");
        }
    };
    let why = match kind.flavour() {
        Kind::MySql => "Can't find master key from keyring",
        _ => "its file is encrypted, and the temporary server has no key",
    };
    named(scene.dump_files("files", &["--schemas", "d"]), why);
    let rescue = Tool::new(["rescue", "--json"])
        .arg(scene.server.datadir().join("d"))
        .arg("--to")
        .arg(scene.path("rescued"));
    named(rescue.run(), "an encrypted tablespace is not supported");
    scene.nothing_is_left();
}
