//! Archives in other places: an ssh server, S3 of two makers, Azure's storage, and a store that fails.
//!
//! Each place first passes the suite that every store passes; then a dump goes there, is verified and loaded
//! from there. The servers are real ones that others wrote.

mod faults;
mod profile;
mod suite;

use crate::kit::{Pair, Tool, both};
use std::path::Path;
use testkit::stores::{Azurite, Maker, S3, Sshd};

/// Variables that reach a place: credentials, and the ssh program.
pub type Access = Vec<(&'static str, String)>;

/// The variables for the S3 servers.
pub fn s3_access() -> Access {
    let (id, secret) = testkit::stores::S3_KEY;
    vec![
        ("AWS_ACCESS_KEY_ID", id.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
    ]
}

/// An S3 server; `None` counts as a skip.
pub fn s3(maker: Maker) -> Option<S3> {
    let s3 = S3::start(maker).expect("an S3 server");
    if s3.is_none() {
        testkit::skip(
            maker.name(),
            format!("{} is not in the cache directory", maker.name()),
        );
    }
    s3
}

/// An ssh server; `None` counts as a skip.
pub fn sshd() -> Option<Sshd> {
    let sshd = Sshd::start().expect("an ssh server");
    if sshd.is_none() {
        testkit::skip("sshd", "there is no sshd on this machine");
    }
    sshd
}

/// Gives a test a place in S3, and the variables that reach it; where there is no such server, that counts as a skip.
pub fn with_s3(name: &str, test: impl FnOnce(&str, &Access)) {
    if let Some(s3) = s3(Maker::S3s) {
        test(&s3.url(name), &s3_access());
    }
}

/// The same, with a directory by ssh.
pub fn with_ssh(path: &Path, test: impl FnOnce(&str, &Access)) {
    if let Some(sshd) = sshd() {
        test(&sshd.url(path), &vec![("PENSTOCK_SSH", sshd.ssh())]);
    }
}

/// Azurite; `None` counts as a skip.
pub fn azurite() -> Option<Azurite> {
    let azurite = Azurite::start().expect("Azurite");
    if azurite.is_none() {
        testkit::skip("azurite", "Azurite is not in the cache directory");
    }
    azurite
}

/// The variables for Azurite.
pub fn azure_access() -> Access {
    let (account, key) = testkit::stores::AZURE_ACCOUNT;
    vec![
        ("AZURE_STORAGE_ACCOUNT_NAME", account.to_owned()),
        ("AZURE_STORAGE_ACCOUNT_KEY", key.to_owned()),
    ]
}

/// The program with these variables.
pub fn tool(words: &[&str], access: &Access) -> Tool {
    let tool = Tool::new(words.iter().copied());
    access
        .iter()
        .fold(tool, |tool, (name, value)| tool.env(name, value.as_str()))
}

/// Something of everything, and more than one part of an upload.
const ROWS: &str = "CREATE DATABASE t_a; \
    CREATE TABLE t_a.`t %20 é` (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(1000), b BLOB); \
    INSERT INTO t_a.`t %20 é` (v, b) VALUES (SHA2(1, 512), UNHEX(SHA2(2, 512))), (NULL, ''), ('x', x'00ff'); \
    INSERT INTO t_a.`t %20 é` (v, b) SELECT a.v, a.b FROM t_a.`t %20 é` a, t_a.`t %20 é` b, t_a.`t %20 é` c, t_a.`t %20 é` d; \
    CREATE TABLE t_a.big (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(1000)); \
    INSERT INTO t_a.big (v) SELECT CONCAT(SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512), SHA2(RAND(), 512)) \
      FROM t_a.`t %20 é` a, t_a.`t %20 é` b LIMIT 40000; \
    CREATE VIEW t_a.w AS SELECT id FROM t_a.big";

/// A dump to a place, its verification and its load from there; all of it equal.
fn carried(pair: &Pair, url: &str, access: &Access) {
    pair.fill(ROWS);
    let (from, to) = (pair.source().uri(), pair.target().uri());
    // One file of rows is larger than a part.
    let dump = tool(
        &[
            "dump",
            &from,
            "--to",
            url,
            "--compression",
            "none",
            "--chunk-size",
            "64M",
        ],
        access,
    );
    dump.run().ok().says(&["Dump complete", url]);
    tool(&["verify", url], access)
        .run()
        .ok()
        .says(&["intact", "link"]);
    tool(&["verify", url, "--against", &from], access)
        .run()
        .ok();
    tool(&["load", url, "--into", &to], access)
        .run()
        .ok()
        .says(&["equal:"]);
    pair.same_checksums();
    // An earlier archive is never overwritten.
    let again = tool(&["dump", &from, "--to", url], access).run();
    again.code(10).says(&["is not empty", "never overwritten"]);
    tool(&["verify", url], access).run().ok();
}

both!(by_ssh);
fn by_ssh(pair: &Pair) {
    let Some(sshd) = sshd() else { return };
    let access = vec![("PENSTOCK_SSH", sshd.ssh())];
    carried(pair, &sshd.url(&pair.path("far/away")), &access);
    // The archive there is the same as a local one, and only its owner may enter.
    pair.verify("far/away").ok();
    let mode =
        std::os::unix::fs::MetadataExt::mode(&pair.path("far").metadata().expect("a directory"));
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

both!(in_s3_of_moto);
fn in_s3_of_moto(pair: &Pair) {
    if let Some(s3) = s3(Maker::Moto) {
        carried(pair, &s3.url("a/b c"), &s3_access());
    }
}

both!(in_s3_of_s3s);
fn in_s3_of_s3s(pair: &Pair) {
    if let Some(s3) = s3(Maker::S3s) {
        carried(pair, &s3.url("a"), &s3_access());
    }
}

both!(in_azure);
fn in_azure(pair: &Pair) {
    if let Some(azurite) = azurite() {
        carried(pair, &azurite.url("a"), &azure_access());
    }
}
