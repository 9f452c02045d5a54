//! However a run ends early, it leaves no lock, and no incomplete archive that looks complete.

use crate::kit::waiting::{PROMPT, until, until_some};
use crate::kit::{Pair, Small, Tool, both, each_kind, own_server};
use rustix::process::Signal;
use std::path::Path;
use std::time::Instant;
use testkit::{Kind, Server};

/// Enough rows for a run of a few seconds.
fn rows(server: &Server) {
    server
        .script(
            b"CREATE DATABASE big; USE big; \
            CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(1000)) ENGINE=InnoDB; \
            INSERT INTO t (v) SELECT SHA2(RAND(), 512) FROM (SELECT 1 UNION SELECT 2 UNION \
              SELECT 3 UNION SELECT 4) x; \
            SET @n = 0; INSERT INTO t (v) SELECT REPEAT(v, 7) FROM t; \
            INSERT INTO t (v) SELECT a.v FROM t a, t b, t c, t d; \
            INSERT INTO t (v) SELECT REVERSE(LEFT(a.v, 900)) FROM t a; \
            INSERT INTO t (v) SELECT v FROM t; INSERT INTO t (v) SELECT v FROM t; \
            INSERT INTO t (v) SELECT v FROM t; INSERT INTO t (v) SELECT v FROM t; \
            INSERT INTO t (v) SELECT v FROM t; ANALYZE TABLE t;",
        )
        .expect("rows");
}

/// Whether this process ignores SIGHUP, as under nohup. Children inherit that: closing the terminal
/// does not stop them.
fn under_nohup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let ignored = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    let mask = u64::from_str_radix(ignored.expect("a mask").trim(), 16).expect("a mask");
    mask & 1 == 1
}

/// Waits until the directory has a chunk.
fn chunks_appear(directory: &Path) {
    until("a chunk", || {
        let mut entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.any(|e| e.file_name().to_string_lossy().contains("big@t@"))
    });
}

/// Waits until a load sends rows.
fn rows_flow(target: &Server) {
    let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'LOAD DATA%'";
    until_some(target, sql);
}

/// Nothing is locked: another session can write and change definitions at once.
#[track_caller]
fn nothing_locked(server: &Server) {
    // Where something is locked, the server itself gives up after this time.
    let script = format!(
        "SET lock_wait_timeout = {0}, innodb_lock_wait_timeout = {0}; \
        INSERT INTO big.t (v) VALUES ('x'); CREATE TABLE big.z (id INT); DROP TABLE big.z;",
        PROMPT.as_secs()
    );
    server.script(script.as_bytes()).expect("no lock is left");
}

const SLOW: &[&str] = &[
    "--compression",
    "zstd:19",
    "--chunk-size",
    "256k",
    "--threads",
    "1",
];

both!(a_dump_that_is_interrupted);
fn a_dump_that_is_interrupted(pair: &Pair) {
    rows(pair.source());
    let mut signals = vec![Signal::INT, Signal::TERM];
    if !under_nohup() {
        signals.push(Signal::HUP);
    }
    for signal in signals {
        // A directory of the user's stays; one that the dump made goes with it.
        let of_user = signal == Signal::TERM;
        if of_user {
            std::fs::create_dir(pair.path("a")).expect("a directory");
        }
        let run = pair.dumping("a", SLOW).start();
        chunks_appear(&pair.path("a"));
        let begin = Instant::now();
        run.signal(signal);
        run.wait().code(9).says(&["stopped on request"]);
        assert!(begin.elapsed() < PROMPT, "a stop is prompt");
        assert_eq!(pair.path("a").exists(), of_user);
        if of_user {
            pair.verify("a").code(5);
            std::fs::remove_dir(pair.path("a")).expect("an empty directory");
        }
        nothing_locked(pair.source());
    }
    let run = pair.dumping("a", SLOW).start();
    chunks_appear(&pair.path("a"));
    run.signal(Signal::KILL);
    run.wait().code(137);
    nothing_locked(pair.source());
    pair.verify("a").code(5).says(&["incomplete"]);
    pair.load("a", &[]).code(5).says(&["incomplete"]);
    assert_eq!(pair.target_schemas(), Vec::<String>::new());
    // And the directory is not overwritten.
    pair.dump("a", &[]).code(10);
}

both!(a_dump_whose_output_is_closed_completes);
/// A pager that is closed, a log that is gone: the backup completes.
fn a_dump_whose_output_is_closed_completes(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE t_a; \
        CREATE TABLE t_a.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(1000)); \
        INSERT INTO t_a.t (v) VALUES (REPEAT('x', 900)), (REPEAT('y', 900)), (REPEAT('z', 900)); \
        INSERT INTO t_a.t (v) SELECT a.v FROM t_a.t a, t_a.t b, t_a.t c, t_a.t d, t_a.t e, \
          t_a.t f, t_a.t g",
    );
    // Longer than it takes until the first progress line is written.
    let dump = pair.dumping("a", &["--max-rate", "150k"]).start_unheard();
    // It says that its output is lost.
    dump.wait().code(8);
    pair.verify("a").ok();
    pair.dumping("b", &["--json"])
        .start_unheard()
        .wait()
        .code(8);
    pair.verify("b").ok();
    let full = std::fs::File::create("/dev/full").expect("a full disk");
    let done = std::process::Command::new(crate::kit::binary::path())
        .arg("verify")
        .arg(pair.path("a"))
        .stdout(full)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(8), "{said}");
    assert!(said.contains("cannot write to standard output"), "{said}");
    // A file is no directory for a dump.
    std::fs::write(pair.path("file"), "x").expect("a file");
    for name in ["file", "file/below"] {
        let hint = ["there is a file of that name", "HINT"];
        pair.dump(name, &[]).code(8).says(&hint);
    }
}

each_kind!(a_server_that_is_killed; mysql, mariadb);
fn a_server_that_is_killed(kind: Kind) {
    let Some(mut server) = own_server(kind, &[]) else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    rows(&server);
    let to = directory.path().join("a");
    let run = Tool::new(["dump", "-S"])
        .arg(server.socket())
        .args(["-u", "root", "--to"])
        .arg(&to)
        .args(SLOW.iter().copied())
        .start();
    chunks_appear(&to);
    server.kill9().expect("killed");
    run.wait().code(6).says(&["`big`.`t`"]);
    assert!(!to.exists());
    server.restart().expect("a server again");
    nothing_locked(&server);
    let fresh = directory.path().join("b");
    Tool::new(["dump", "-S"])
        .arg(server.socket())
        .args(["-u", "root", "--to"])
        .arg(&fresh)
        .run()
        .ok();

    let Some(mut target) = own_server(kind, &["--server-id=77"]) else {
        return;
    };
    let run = Tool::new(["load"])
        .arg(&fresh)
        .arg("-S")
        .arg(target.socket())
        .args(["-u", "root", "--threads", "1"])
        .start();
    rows_flow(&target);
    target.kill9().expect("killed");
    run.wait()
        .code(6)
        .says(&["this load created", "--resume continues"]);
    target.restart().expect("a server again");
    // The tables of the first load make the second one stop, with a hint; once they are dropped it
    // works.
    let again = || {
        Tool::new(["load"])
            .arg(&fresh)
            .arg("-S")
            .arg(target.socket())
            .args(["-u", "root"])
            .run()
    };
    again().code(10).says(&["interrupted", "--resume"]);
    target.client("DROP DATABASE big").expect("dropped");
    again().ok().says(&["equal:"]);
}

both!(a_load_that_is_interrupted);
fn a_load_that_is_interrupted(pair: &Pair) {
    rows(pair.source());
    pair.dump("a", &["--chunk-size", "1M"]).ok();
    let run = Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("-S")
        .arg(pair.target().socket())
        .args(["-u", "root", "--threads", "1"])
        .start();
    rows_flow(pair.target());
    run.signal(Signal::INT);
    run.wait().code(9);
    nothing_locked(pair.target());
    pair.verify_against("a", pair.target()).code(4);
}

both!(a_full_disk);
fn a_full_disk(pair: &Pair) {
    let Some(_small) = Small::mount(pair, "300k") else {
        return;
    };
    rows(pair.source());
    for compression in ["none", "zstd:1"] {
        pair.dump(
            "small/a",
            &["--compression", compression, "--chunk-size", "64k"],
        )
        .code(8)
        .says(&["No space left", "make room"]);
        assert!(!pair.path("small/a").exists());
        nothing_locked(pair.source());
    }
}
