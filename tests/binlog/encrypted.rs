//! An encrypted log: written without a secret, read with the key alone, equal to the server's files, and every change is noticed.

use super::kit::{Logged, assert_same, emptied, restoring, server, write};
use crate::kit::{Tool, each_kind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::Kind;

/// An identity file of age-keygen, and its recipient; `None` counts as a skip.
fn age_key(path: &Path) -> Option<(String, String)> {
    let Ok(made) = Command::new("age-keygen").arg("-o").arg(path).output() else {
        testkit::skip("age", "the program age is not on this machine");
        return None;
    };
    assert!(made.status.success(), "{made:?}");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    let recipient = said.split_whitespace().last().expect("a recipient");
    Some((path.display().to_string(), recipient.to_owned()))
}

fn age(identity: &Path, input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("age")
        .arg("-d")
        .arg("-i")
        .arg(identity)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("age");
    let mut to = child.stdin.take().expect("its input");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        std::io::Write::write_all(&mut to, &input).expect("it reads");
    });
    let done = child.wait_with_output().expect("age");
    writer.join().expect("a writer");
    assert!(done.status.success(), "{done:?}");
    done.stdout
}

fn segments(logged: &Logged) -> Vec<PathBuf> {
    let all = std::fs::read_dir(logged.place()).expect("a directory");
    let all = all.map(|e| e.expect("an entry").path());
    let mut all: Vec<PathBuf> = all
        .filter(|p| p.extension().is_some_and(|e| e == "seg"))
        .collect();
    all.sort();
    all
}

fn behind_line(bytes: &[u8]) -> &[u8] {
    let line = bytes.iter().position(|b| *b == b'\n').expect("a line");
    &bytes[line + 1..]
}

/// What is stored, opened as the documentation says: with `age` in two steps, and zstd.
fn decrypted(logged: &Logged, identity: &str) -> BTreeMap<String, Vec<u8>> {
    let wrapped = std::fs::read(logged.place().join("penstock.key.age")).expect("a key");
    let key = logged.path("log-key.txt");
    std::fs::write(&key, age(Path::new(identity), &wrapped)).expect("a key");
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for segment in segments(logged) {
        let name = segment
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let file = name.split('@').nth(1).expect("a file").to_owned();
        let stored = std::fs::read(&segment).expect("a segment");
        let opened = age(&key, behind_line(&stored));
        let bytes = zstd::decode_all(behind_line(&opened)).expect("zstd");
        files.entry(file).or_default().extend(bytes);
    }
    files
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}

fn encrypted_from_end_to_end(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    let Some((identity, to)) = age_key(&logged.path("one.txt")) else {
        return;
    };
    let (other, to_other) = age_key(&logged.path("two.txt")).expect("another key");
    std::fs::remove_dir_all(logged.repository()).expect("it is empty");
    Tool::new(["init", "--encrypted"])
        .arg(logged.repository())
        .run()
        .ok();
    let archiving = |more: &[&str]| {
        logged
            .archiving(&[&["--once", "--start", "oldest"], more].concat())
            .run()
    };
    archiving(&[])
        .code(2)
        .says(&["not encrypted", "--encrypt-to"]);
    write(&logged.server, 5);
    logged
        .archiving(&["--once", "--start", "oldest", "--encrypt-to", &to])
        .env("PENSTOCK_KILL_AT", "the key of a binary log is made#1")
        .run()
        .code(137);
    archiving(&["--encrypt-to", &to]).ok();
    Tool::new([
        "backup",
        "shop",
        "--no-defaults",
        "--user",
        "root",
        "--encrypt-to",
        &to,
    ])
    .arg("--repository")
    .arg(logged.repository())
    .arg("--socket")
    .arg(logged.server.socket())
    .run()
    .ok();
    logged
        .server
        .script(b"INSERT INTO d.t (v) VALUES ('in-plain-text'); FLUSH BINARY LOGS")
        .expect("a row");
    write(&logged.server, 5);
    // No secret is needed to go on, and none is on this host; other recipients are not taken in silence.
    archiving(&[]).ok();
    archiving(&["--encrypt-to", &to]).ok();
    archiving(&["--encrypt-to", &to_other])
        .code(2)
        .says(&["other keys", "rekey"]);
    let opened = decrypted(&logged, &identity);
    let mut files = logged.files();
    files.retain(|name, _| opened.contains_key(name));
    for (name, bytes) in &mut files {
        // MariaDB may have noted a checkpoint since.
        bytes.truncate(opened[name].len());
    }
    assert_same(&opened, &files);
    assert!(opened.values().any(|b| holds(b, "in-plain-text")));
    for entry in std::fs::read_dir(logged.place()).expect("a directory") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("bytes");
        for text in ["in-plain-text", "INSERT", "AGE-SECRET-KEY"] {
            assert!(!holds(&bytes, text), "{text}");
        }
    }
    // Reading needs the key, and only reading.
    let find =
        |more: &[&str]| logged.on(&[&["binlog", "find", "shop", "--table", "d.t"], more].concat());
    find(&[]).code(2).says(&["encrypted", "--identity"]);
    find(&["--identity", &other]).code(2);
    find(&["--identity", &identity])
        .ok()
        .says(&["CREATE TABLE IF NOT EXISTS d.t"]);
    logged.on(&["check"]).code(2).says(&["encrypted"]);
    logged
        .on(&["check", "--files-only"])
        .ok()
        .says(&["shop: intact"]);
    logged
        .on(&["check", "--identity", &identity])
        .ok()
        .says(&["shop: intact"]);
    logged.on(&["list"]).ok();
    logged.on(&["prune", "--keep-last", "1", "--dry-run"]).ok();
    let target = server(kind, 9, &[]);
    restoring(&logged, &target, &["--latest"])
        .code(2)
        .says(&["encrypted"]);
    restoring(&logged, &target, &["--latest", "--identity", &other]).code(2);
    restoring(&logged, &target, &["--latest", "--identity", &identity]).ok();
    let count = "SELECT COUNT(*) FROM d.t";
    let there = logged.server.value(count).expect("a count");
    assert_eq!(target.value(count).expect("a count"), there);
    emptied(&target);
    // Each change is noticed: of what is stored by everybody, of the line in front by those who have the key.
    let changed = segments(&logged).pop().expect("a segment");
    let whole = std::fs::read(&changed).expect("bytes");
    let line = whole.len() - behind_line(&whole).len();
    let mut body = whole.clone();
    body[line + (whole.len() - line) / 2] ^= 1;
    let mut cut = whole.clone();
    cut.truncate(whole.len() - 1);
    let head = String::from_utf8_lossy(&whole[..line]).into_owned();
    let at = head.find("\"transactions\":").expect("a number") + 15;
    let mut number = whole.clone();
    number[at] = if number[at] == b'9' { b'8' } else { b'9' };
    for (bytes, noticed_without_key) in [(body, true), (cut, true), (number, false)] {
        std::fs::write(&changed, bytes).expect("a change");
        let code = if noticed_without_key { 5 } else { 0 };
        logged.on(&["check", "--files-only"]).code(code);
        logged.on(&["check", "--identity", &identity]).code(5);
        restoring(&logged, &target, &["--latest", "--identity", &identity]).code(5);
        let schemas = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'd'";
        assert_eq!(target.value(schemas).expect("a count"), "0");
    }
    std::fs::write(&changed, &whole).expect("as it was");
    // Another key, and the same segments.
    let rekey =
        |old: &str, new: &str| logged.on(&["rekey", "--identity", old, "--encrypt-to", new]);
    rekey(&identity, &to_other)
        .ok()
        .says(&["the binary log of shop"]);
    find(&["--identity", &identity]).code(2);
    find(&["--identity", &other])
        .ok()
        .says(&["CREATE TABLE IF NOT EXISTS d.t"]);
    write(&logged.server, 2);
    archiving(&["--encrypt-to", &to_other]).ok();
    logged.on(&["check", "--identity", &other]).ok();
    // Without what the segments are encrypted to nothing is added as it is.
    std::fs::remove_file(logged.place().join("penstock.recipient.json")).expect("a loss");
    write(&logged.server, 1);
    archiving(&[])
        .code(5)
        .says(&["penstock.recipient.json is missing"]);
}
each_kind!(encrypted_from_end_to_end; mysql, mariadb);

/// A passphrase is needed to begin and to read, and not in between.
#[test]
fn a_passphrase() {
    let Some(logged) = Logged::new(Kind::MariaDb, &[]) else {
        return;
    };
    let file = |name: &str, text: &str| {
        let path = logged.path(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let (right, wrong) = (file("right", "correct horse\n"), file("wrong", "no\n"));
    write(&logged.server, 3);
    let archiving = |more: &[&str]| {
        logged
            .archiving(&[&["--once", "--start", "oldest"], more].concat())
            .run()
    };
    archiving(&["--passphrase-file", &right]).ok();
    write(&logged.server, 3);
    archiving(&[]).ok();
    archiving(&["--passphrase-file", &wrong])
        .code(2)
        .says(&["other keys"]);
    let find = |file: &str| logged.on(&["binlog", "find", "shop", "--passphrase-file", file]);
    find(&wrong).code(2);
    find(&right).ok().says(&["CREATE TABLE IF NOT EXISTS d.t"]);
    logged.on(&["check", "--passphrase-file", &right]).ok();
    // One that was begun without encryption stays as it is.
    std::fs::remove_dir_all(logged.place()).expect("another one");
    archiving(&[]).ok();
    archiving(&["--passphrase-file", &right])
        .code(2)
        .says(&["it is not encrypted"]);
}
