//! A store that fails: what can be tried again is, and the rest is a clear error with nothing half visible.

use super::suite::passes;
use super::{s3, s3_access, sshd, tool};
use crate::kit::waiting::until;
use crate::kit::{Pair, both};
use rustix::process::Signal;
use testkit::stores::{Fault, Faulty, Maker};

const SLOW_DOWN: &str =
    "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
const EXPIRED: &str =
    "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>";
const FULL: &str = "<Error><Code>InsufficientStorage</Code><Message>no room</Message></Error>";

/// One request in ten goes wrong, in every way that a repetition can mend: the suite passes all the same.
#[test]
fn what_can_be_repeated_is() {
    let Some(s3) = s3(Maker::S3s) else { return };
    let proxy = Faulty::start(s3.port()).expect("a proxy");
    let kinds = [
        Fault::Status(500, "<Error><Code>InternalError</Code></Error>"),
        Fault::Status(503, SLOW_DOWN),
        Fault::Status(429, SLOW_DOWN),
        Fault::LostRequest,
        Fault::LostAnswer,
        Fault::CutBody,
    ];
    proxy.set(7, 100, &kinds, &[]);
    let (passed, said) = passes(&proxy.url("suite"), &s3_access());
    assert!(passed, "{said}");
    assert!(proxy.faults() > 50, "{}", proxy.faults());
}

const ROWS: &str = "CREATE DATABASE t_a; CREATE TABLE t_a.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200)); \
    INSERT INTO t_a.t (v) VALUES (SHA2(1, 512)), (SHA2(2, 512)), (SHA2(3, 512)); \
    INSERT INTO t_a.t (v) SELECT CONCAT(a.v, b.id) FROM t_a.t a, t_a.t b, t_a.t c, t_a.t d, t_a.t e, t_a.t f, t_a.t g";

both!(a_store_that_refuses);
/// Each kind of refusal ends a dump with its own words, and what is there is no archive.
fn a_store_that_refuses(pair: &Pair) {
    let Some(s3) = s3(Maker::Moto) else { return };
    let proxy = Faulty::start(s3.port()).expect("a proxy");
    pair.fill(ROWS);
    let from = pair.source().uri();
    let access = s3_access();
    for (name, code, fault, says) in [
        ("expired", 8, Fault::Status(403, EXPIRED), "ExpiredToken"),
        ("full", 8, Fault::Status(507, FULL), "make room"),
    ] {
        proxy.set(0, 0, &[], &[]);
        // The place is reached; from the first file on it refuses.
        let url = proxy.url(name);
        proxy.set(1, 1000, &[fault], &["PUT"]);
        let done = tool(&["dump", &from, "--to", &url], &access)
            .run()
            .code(code)
            .says(&[says]);
        assert!(
            !done.said().contains(testkit::stores::S3_KEY.1),
            "{}",
            done.said()
        );
        proxy.set(0, 0, &[], &[]);
        tool(&["verify", &url], &access).run().code(5);
    }
    // Once there, an archive that cannot be read is no damaged one.
    let url = proxy.url("whole");
    tool(&["dump", &from, "--to", &url], &access).run().ok();
    proxy.set(1, 1000, &[Fault::Status(403, EXPIRED)], &["GET", "HEAD"]);
    tool(&["verify", &url], &access)
        .run()
        .code(8)
        .says(&["ExpiredToken"]);
    proxy.set(0, 0, &[], &[]);
    tool(&["verify", &url], &access).run().ok();
}

both!(wrong_bytes_from_a_store);
/// A bit that changes on the way: each file has its digest, so neither a check nor a load takes it.
fn wrong_bytes_from_a_store(pair: &Pair) {
    let Some(s3) = s3(Maker::Moto) else { return };
    let proxy = Faulty::start(s3.port()).expect("a proxy");
    pair.fill(ROWS);
    let access = s3_access();
    let url = proxy.url("a");
    tool(&["dump", &pair.source().uri(), "--to", &url], &access)
        .run()
        .ok();
    let mut wrong = 0;
    for seed in 0..12 {
        proxy.set(seed, 80, &[Fault::FlippedByte], &["GET"]);
        let before = proxy.faults();
        let verified = tool(&["verify", &url], &access).run();
        if proxy.faults() > before {
            wrong += 1;
            assert_eq!(verified.code, 5, "{}", verified.said());
        } else {
            assert_eq!(verified.code, 0, "{}", verified.said());
        }
    }
    assert!(wrong > 2, "{wrong}");
    for seed in 0..8 {
        let _ = pair.target().script(b"DROP DATABASE IF EXISTS t_a");
        proxy.set(seed, 150, &[Fault::FlippedByte], &["GET"]);
        let before = proxy.faults();
        let loaded = tool(&["load", &url, "--into", &pair.target().uri()], &access).run();
        let flipped = proxy.faults() > before;
        // A listing is read as well; what is wrong in it may not matter.
        assert!(loaded.code == 0 || flipped, "{}", loaded.said());
        if loaded.code == 0 {
            pair.same_checksums();
        }
    }
}

/// Keys that are not known, a bucket that is not there, nobody there: one line each, and no secret in it.
#[test]
fn a_place_that_cannot_be_reached() {
    let Some(s3) = s3(Maker::S3s) else { return };
    let access = s3_access();
    let said = |url: &str, access: &super::Access| {
        let done = tool(&["verify", url], access).run().code(8);
        assert!(done.said().contains("HINT"), "{}", done.said());
        assert!(!done.said().contains("test-secret"), "{}", done.said());
        done.said()
    };
    let mut other = s3_access();
    other[1].1 = "test-secret-of-somebody-else".to_owned();
    let wrong = said(&s3.url("a"), &other);
    assert!(wrong.contains("SignatureDoesNotMatch"), "{wrong}");
    let nobody = said(
        "s3://backups/a?endpoint=http://127.0.0.1:9&region=x",
        &access,
    );
    assert!(nobody.contains("Connection refused"), "{nobody}");
    let Some(moto) = self::s3(Maker::Moto) else {
        return;
    };
    let none = said(
        &moto.url("a").replace("s3://backups/", "s3://nobody/"),
        &access,
    );
    assert!(none.contains("NoSuchBucket"), "{none}");
}

#[test]
fn ssh_refuses_what_ssh_refuses() {
    let Some(sshd) = sshd() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let url = sshd.url(dir.path());
    let verify = |ssh: String| tool(&["verify", &url], &vec![("PENSTOCK_SSH", ssh)]).run();
    let changed = sshd.ssh_expecting_another_host().expect("a configuration");
    verify(changed)
        .code(8)
        .says(&["Host key verification failed", "HINT"]);
    let stranger = sshd.ssh_with_another_key().expect("a configuration");
    verify(stranger)
        .code(8)
        .says(&["Permission denied", "HINT"]);
    verify("no-such-ssh".to_owned())
        .code(8)
        .says(&["no-such-ssh"]);
    verify(sshd.ssh())
        .code(5)
        .says(&["there is no archive in", &url]);
}

both!(an_ssh_connection_that_breaks);
/// Every process that serves the connection is killed while rows are written, and while they are read.
fn an_ssh_connection_that_breaks(pair: &Pair) {
    let Some(sshd) = sshd() else { return };
    let access = vec![("PENSTOCK_SSH", sshd.ssh())];
    pair.fill(ROWS);
    let from = pair.source().uri();
    let url = sshd.url(&pair.path("far"));
    let slow = [
        "dump",
        &from,
        "--to",
        &url,
        "--max-rate",
        "100k",
        "--chunk-size",
        "64k",
    ];
    let run = tool(&slow, &access).start();
    until("a chunk", || {
        let mut entries = std::fs::read_dir(pair.path("far"))
            .into_iter()
            .flatten()
            .flatten();
        entries.any(|e| e.file_name().to_string_lossy().contains("t_a@t@"))
    });
    kill_children(sshd.pid());
    run.wait().code(8).says(&["127.0.0.1", "ended"]);
    pair.verify("far").code(5).says(&["incomplete"]);
    let whole = sshd.url(&pair.path("whole"));
    tool(&["dump", &from, "--to", &whole], &access).run().ok();
    let to = pair.target().uri();
    let run = tool(
        &["load", &whole, "--into", &to, "--max-rate", "100k"],
        &access,
    )
    .start();
    run.until_it_says("loading");
    kill_children(sshd.pid());
    let done = run.wait();
    // What had been read already may have been all of it.
    assert!(matches!(done.code, 0 | 8), "{}", done.said());
    if done.code == 8 {
        tool(&["load", &whole, "--into", &to, "--resume"], &access)
            .run()
            .ok();
    }
    pair.same_checksums();
}

/// Ends every process below this one.
fn kill_children(of: u32) {
    let list =
        std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    for child in list
        .split_whitespace()
        .filter_map(|c| c.parse::<u32>().ok())
    {
        kill_children(child);
        if let Some(pid) = i32::try_from(child)
            .ok()
            .and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}
