//! Dumps of other tools load as their writers meant them: real dumps of the flavours' own tools and
//! of mydumper, and directories made by hand. Whatever is wrong with a dump is reported before the
//! target is touched.

mod bad;
mod chosen;
mod directories;
mod resume;
mod rich;
mod scripts;

use crate::kit::{COUNT, Pair, Tool, both};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A script with two tables, one of them with rows.
const TWO: &str = "CREATE DATABASE IF NOT EXISTS shop; USE shop;\n\
    CREATE TABLE orders (id INT PRIMARY KEY, v VARCHAR(50)); CREATE TABLE log (id INT PRIMARY KEY, m VARCHAR(50));\n\
    INSERT INTO orders VALUES (1, 'x'), (2, 'y');\n";

/// The flavour's own dump of the source, with these arguments after the login options.
fn dumped(pair: &Pair, args: &[&str]) -> Vec<u8> {
    let mut command = pair.source().install().command("dump").expect("a tool");
    command.args(["--no-defaults", "--user=root"]);
    command.arg(format!("--socket={}", pair.source().socket().display()));
    finished(command.args(args))
}

/// What a command prints; it must succeed.
fn finished(command: &mut Command) -> Vec<u8> {
    let out = command.stdin(Stdio::null()).output().expect("it starts");
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}\n{err}");
    out.stdout
}

/// Writes a file into the test's directory.
fn file(pair: &Pair, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = pair.path(name);
    let directory = path.parent().expect("a directory");
    std::fs::create_dir_all(directory).expect("a directory");
    std::fs::write(&path, content).expect("a file");
    path
}

/// `penstock load` of a path into the target.
fn loading(pair: &Pair, from: impl AsRef<OsStr>, more: &[&str]) -> Tool {
    Tool::new(["load".as_ref(), from.as_ref()])
        .arg("--socket")
        .arg(pair.target().socket())
        .args(["--user", "root", "--threads", "2"])
        .args(more.iter().copied())
}

/// Drops these schemas of the target.
fn forget(pair: &Pair, schemas: &[&str]) {
    let mut script = "SET foreign_key_checks = 0;".to_owned();
    for s in schemas {
        script += &format!("DROP DATABASE IF EXISTS `{s}`;");
    }
    pair.target().script(script.as_bytes()).expect("dropped");
}

/// The target has no schemas of users.
#[track_caller]
fn untouched(pair: &Pair) {
    let left = pair.target_schemas();
    assert!(left.is_empty(), "left over: {left:?}");
}
