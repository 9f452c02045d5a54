//! What a run waited for is measured: a cause that the test set up is named, and an account with
//! few privileges still gets an answer.
//!
//! Other programs on the test machine may use the cores: only what does not depend on them is
//! asserted.

use crate::kit::waiting::until_some;
use crate::kit::{COUNT, Done, Pair, Tool, both, own_server};
use serde_json::Value;
use testkit::Kind;

/// Two tables of 10 MB that do not compress well, each doubled `doubled` times.
fn big(pair: &Pair, doubled: u32) {
    pair.fill("CREATE DATABASE held");
    let text: Vec<String> = (0..8)
        .map(|i| format!("SHA2(n + {}, 512)", i * 1_000_000))
        .collect();
    for table in ["a", "b"] {
        pair.fill(&format!(
            "USE held; \
            CREATE TABLE {table} (id INT PRIMARY KEY AUTO_INCREMENT, k CHAR(64), v TEXT, KEY (k)); \
            INSERT INTO {table} (k, v) SELECT SHA2(n * 7, 256), CONCAT({}) FROM {COUNT}",
            text.join(", ")
        ));
        for _ in 0..doubled {
            pair.fill(&format!(
                "INSERT INTO held.{table} (k, v) SELECT SHA2(id * 13, 256), v FROM held.{table}"
            ));
        }
        pair.fill(&format!("ANALYZE TABLE held.{table}"));
    }
}

/// The bottleneck report of a run, after the checks that every report must pass.
#[track_caller]
fn bottleneck(done: &Done) -> Value {
    let h = done.summary()["bottleneck"].clone();
    let total: f64 = h["worker_time"]
        .as_object()
        .expect("shares")
        .values()
        .filter_map(Value::as_f64)
        .sum();
    assert!((0.95..1.01).contains(&total), "{h:#}");
    assert!(
        h["sentence"].as_str().is_some_and(|s| !s.is_empty()),
        "{h:#}"
    );
    assert!(h["client_cpu"].as_f64().is_some_and(|c| c > 0.0), "{h:#}");
    for a in h["suggestions"].as_array().expect("a list") {
        assert!(
            a["gain_up_to"]
                .as_f64()
                .is_some_and(|g| (0.05..=1.0).contains(&g)),
            "{h:#}"
        );
    }
    h
}

fn advises(h: &Value, what: &str) -> bool {
    h["suggestions"].as_array().is_some_and(|l| {
        l.iter()
            .any(|a| a["try"].as_str().is_some_and(|t| t.contains(what)))
    })
}

/// Share of the cores that other programs used.
fn others(h: &Value) -> f64 {
    h["other_cpu"].as_f64().unwrap_or(0.0)
}

both!(too_few_workers_are_named_and_more_suggested);
fn too_few_workers_are_named_and_more_suggested(pair: &Pair) {
    big(pair, 3);
    // Compressing this hard, the one worker is busy for seconds on any machine.
    let h = bottleneck(
        &pair
            .dump(
                "one",
                &["--threads", "1", "--json", "--compression", "zstd:5"],
            )
            .ok(),
    );
    assert!(
        h["server_cpu"].as_f64().is_some_and(|c| c > 0.0),
        "the server runs here: {h:#}"
    );
    assert_eq!(h["not_measured"], serde_json::json!([]), "{h:#}");
    let worker = |c: &str| h["worker_time"][c].as_f64().unwrap_or(0.0);
    assert!(worker("client") > worker("server_cpu"), "{h:#}");
    let cores = h["cores"].as_u64().expect("cores");
    let used = h["client_cpu"].as_f64().unwrap_or(1.0)
        + h["server_cpu"].as_f64().unwrap_or(1.0)
        + others(&h);
    // A disk that other programs keep busy is another cause, and is then rightly named first.
    if cores > 1 && used < 0.8 && worker("server_disk") < 0.1 {
        assert!(advises(&h, &format!("--threads {cores}")), "{h:#}");
        assert!(
            ["client", "server_cpu"].iter().any(|c| h["dominant"] == *c),
            "{h:#}"
        );
    }
    // Again, as text for people.
    pair.dump("text", &["--threads", "1", "--compression", "zstd:5"])
        .ok()
        .says(&["bottleneck"]);

    // This account may not see other accounts' sessions or other tables, and cannot open another
    // connection.
    pair.fill(
        "CREATE USER t_bare@localhost WITH MAX_USER_CONNECTIONS 4; \
        GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON held.* TO t_bare@localhost;",
    );
    let bare = |to: &str| {
        Tool::new(["dump", "-S"])
            .arg(pair.source().socket())
            .args([
                "-u",
                "t_bare",
                "--json",
                "--consistency",
                "none",
                "--no-routines",
                "--schemas",
                "held",
                "-t",
                "1",
                "--compression",
                "zstd:5",
                "--to",
            ])
            .arg(pair.path(to))
            .run()
            .code(3)
    };
    let h = bottleneck(&bare("bare"));
    assert!(
        h["worker_time"]["client"].as_f64().is_some_and(|c| c > 0.0),
        "{h:#}"
    );
    pair.fill("ALTER USER t_bare@localhost WITH MAX_USER_CONNECTIONS 3;");
    let h = bottleneck(&bare("barer"));
    assert!(
        h["not_measured"][0]
            .as_str()
            .is_some_and(|s| s.contains("no connection")),
        "{h:#}"
    );
    assert!(
        h["worker_time"]["client"].as_f64().is_some_and(|c| c > 0.0),
        "{h:#}"
    );
}

both!(a_small_redo_log_is_named);
fn a_small_redo_log_is_named(pair: &Pair) {
    big(pair, 2);
    pair.dump("a", &["--chunk-size", "8M"]).ok();
    let (setting, size) = if pair.is_mysql() {
        ("innodb_redo_log_capacity", "8M")
    } else {
        ("innodb_log_file_size", "4M")
    };
    let kind = if pair.is_mysql() {
        Kind::MySql
    } else {
        Kind::MariaDb
    };
    let small = format!("--{}={size}", setting.replace('_', "-"));
    let args = [
        small.as_str(),
        "--innodb-flush-log-at-trx-commit=1",
        "--sync-binlog=1",
    ];
    let Some(server) = own_server(kind, &args) else {
        return;
    };
    let load = |json: &[&str]| {
        let tool = Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("-S")
            .arg(server.socket());
        tool.args([
            "-u",
            "root",
            "-t",
            "2",
            "--verify",
            "none",
            "--import-mode",
            "sql",
        ])
        .args(json.iter().copied())
        .run()
        .ok()
    };
    // The server is sampled twice a second. On a fast disk, waits for the redo log may fall between
    // samples.
    let mut tries = 0;
    let h = loop {
        server
            .client("DROP DATABASE IF EXISTS held")
            .expect("an empty server");
        let h = bottleneck(&load(&["--json"]));
        tries += 1;
        if h["worker_time"]["redo"].as_f64() > Some(0.0) {
            break h;
        }
        assert!(tries < 5, "{h:#}");
    };
    let of = |c: &str| h["worker_time"][c].as_f64().unwrap_or(0.0);
    if others(&h) < 0.2 {
        assert!(
            advises(&h, setting) || advises(&h, "innodb_flush_log_at_trx_commit"),
            "{h:#}"
        );
        assert!(
            of("redo") + of("commit") + of("server_disk") + of("server_wait") > 0.1,
            "{h:#}"
        );
    }
}

both!(a_short_run_has_no_bottleneck);
fn a_short_run_has_no_bottleneck(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE held; CREATE TABLE held.t (id INT PRIMARY KEY); \
        INSERT INTO held.t VALUES (1);",
    );
    let done = pair.dump("a", &["--json"]).ok();
    assert!(done.summary()["bottleneck"].is_null(), "{}", done.out);
    let done = pair.load("a", &[]).ok();
    assert!(!done.out.contains("held back"), "{}", done.out);
}

both!(a_metadata_lock_is_named);
/// A table that another session has locked is distinguished from other waits.
fn a_metadata_lock_is_named(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE held; CREATE TABLE held.t (id INT PRIMARY KEY, v TEXT); \
        INSERT INTO held.t SELECT n, REPEAT(SHA2(n, 512), 9) FROM {COUNT} WHERE n < 3000; \
        ANALYZE TABLE held.t;"
    ));
    pair.dump("a", &[]).ok();
    let load = || {
        let tool = Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("-S")
            .arg(pair.target().socket());
        tool.args(["-u", "root", "-t", "1", "--json", "--verify", "none"])
    };
    let run = load()
        .env("PENSTOCK_STOP_AT", "a table is created#1")
        .start();
    run.until_stopped();
    let mut other = pair.target().conn().expect("a session");
    other
        .execute("SET SESSION lock_wait_timeout = 20")
        .expect("set");
    other.execute("LOCK TABLES held.t WRITE").expect("locked");
    run.signal(rustix::process::Signal::CONT);
    let waits = "SELECT COUNT(*) FROM information_schema.processlist \
        WHERE state LIKE 'Waiting for%metadata lock' AND time >= 3 AND info LIKE 'LOAD DATA%'";
    // For as long as several samples take.
    until_some(pair.target(), waits);
    other.execute("UNLOCK TABLES").expect("unlocked");
    let h = bottleneck(&run.wait().ok());
    assert!(
        h["worker_time"]["metadata_locks"]
            .as_f64()
            .is_some_and(|s| s > 0.3),
        "{h:#}"
    );
    assert!(h["worker_time"]["auto_inc"].is_null(), "{h:#}");
    if others(&h) < 0.2 {
        assert_eq!(h["dominant"], "metadata_locks", "{h:#}");
    }
}
