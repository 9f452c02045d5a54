//! The binary log of one server applied to the other by the servers' own programs, which know nothing of penstock.

use super::Pair;
use std::process::Stdio;
use testkit::{Install, Kind, Server};

impl Pair {
    /// Applies the source's binary log from this place on to the target, by the servers' own programs.
    #[track_caller]
    pub fn apply_log(&self, file: &str, at: u64) {
        apply_log(self.kind, self.source(), self.target(), (file, at));
    }
}

/// Has the servers' own programs apply the source's log from there on to the target.
pub fn apply_log(kind: Kind, source: &Server, target: &Server, (file, at): (&str, u64)) {
    let install = Install::find(kind).expect("a server");
    let mut log = install.command("binlog").expect("a program");
    log.args([
        "--no-defaults",
        "--read-from-remote-server",
        "--user=root",
        "--to-last-log",
    ])
    .arg(format!("--socket={}", source.socket().display()))
    .arg(format!("--start-position={at}"));
    if kind == Kind::MySql {
        // The target has GTIDs of its own.
        log.arg("--skip-gtids");
    }
    let mut log = log
        .arg(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program of the log");
    let mut client = install.command("client").expect("a client");
    let client = client
        .args(["--no-defaults", "--user=root", "--binary-mode"])
        .arg(format!("--socket={}", target.socket().display()))
        .stdin(log.stdout.take().expect("a pipe"))
        .output()
        .expect("the client");
    let log = log.wait_with_output().expect("an end");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(log.status.success(), "{}", said(&log.stderr));
    assert!(client.status.success(), "{}", said(&client.stderr));
}
