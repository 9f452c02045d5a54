//! Limits that follow the server's state: impact, running threads, replication lag, the history
//! list. A dump keeps to them, says what it waits for, and ends with the figure where a limit is
//! never met.

use crate::kit::waiting::{Statement, until, until_some};
use crate::kit::{Pair, Tool, both, own_server};
use rustix::process::{Pid, Signal, kill_process};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use testkit::{Kind, Server};

/// Nothing is left of a run: no files, no lock of a session.
#[track_caller]
fn nothing_left(pair: &Pair, name: &str) {
    let directory = pair.path(name);
    let left = std::fs::read_dir(&directory).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{}", directory.display());
    // A table lock would make this wait.
    pair.fill("SET SESSION lock_wait_timeout = 5; INSERT INTO t_a.t (c) VALUES ('after')");
}

/// A table of `thousands` thousand rows of about a hundred bytes.
fn fill(pair: &Pair, thousands: u32) {
    pair.fill(&format!(
        "CREATE DATABASE t_a; USE t_a; \
        CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, c VARCHAR(120)); \
        CREATE TABLE d (n INT); INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9); \
        INSERT INTO t (c) SELECT REPEAT(CHAR(97 + a.n), 90) FROM d a, d b, d c, \
          (SELECT 1 FROM d x, d y LIMIT {thousands}) n; \
        ANALYZE TABLE t"
    ));
}

/// A server that is a replica until this is dropped, also when the test fails: others use it next.
struct Replica<'a>(&'a Server);

impl<'a> Replica<'a> {
    #[track_caller]
    fn set_up(server: &'a Server, script: &str) -> Replica<'a> {
        server.script(script.as_bytes()).expect("it follows");
        Replica(server)
    }
}

impl Drop for Replica<'_> {
    fn drop(&mut self) {
        let statements = match self.0.kind() {
            Kind::MySql => ["STOP REPLICA", "RESET REPLICA ALL"],
            _ => ["STOP SLAVE", "RESET SLAVE ALL"],
        };
        for sql in statements {
            let _ = self.0.client(sql);
        }
    }
}

/// Waits until the applier waits for a lock and the replica reports two seconds of lag. Lag alone
/// does not show it: right after its start an applier can report the age of the log file.
#[track_caller]
fn until_it_lags(replica: &Server) {
    let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
        WHERE STATE LIKE 'Waiting for table%lock'";
    until_some(replica, waiting);
    let (status, column) = match replica.kind() {
        Kind::MySql => ("SHOW REPLICA STATUS", "Seconds_Behind_Source"),
        _ => ("SHOW SLAVE STATUS", "Seconds_Behind_Master"),
    };
    until("the replica lags", || {
        let lag = replica.field(status, column).expect("a status");
        lag.and_then(|s| s.parse::<u64>().ok()) >= Some(2)
    });
}

both!(the_impact_limit_is_kept_under_a_workload);
fn the_impact_limit_is_kept_under_a_workload(pair: &Pair) {
    let server = pair.source();
    let bench = |verb: &str| {
        Tool::new(["bench", "tpcc", verb, "--socket"])
            .arg(server.socket())
            .args(["--user", "root"])
    };
    bench("load").args(["--warehouses", "1"]).run().ok();
    let load = bench("run")
        .args(["--connections", "2", "--ramp", "0s", "--measure", "60s"])
        .start();
    let done = pair
        .dump(
            "dump",
            &[
                "--max-impact",
                "30%",
                "--min-rate",
                "4M",
                "--schemas",
                "tpcc",
                "--json",
            ],
        )
        .ok();
    load.signal(Signal::INT);
    load.wait();
    let impact = &done.summary()["impact"];
    let from = impact["latency_from"].as_str().expect("a text");
    assert_eq!(
        from.contains("histogram of performance_schema"),
        pair.is_mysql(),
        "{impact}"
    );
    assert!(
        impact["baseline"]["statements_per_second"].as_f64() > Some(10.0),
        "{impact}"
    );
    assert!(impact["effect"].is_number(), "{impact}");
    assert!(impact["history_list"].as_u64().is_some(), "{impact}");
    // It reports what it does, and the dump is complete.
    let reported = done.json().iter().any(|e| {
        e["impact"]
            .as_str()
            .is_some_and(|t| t.contains("budget 30 %"))
    });
    assert!(reported, "{}", done.out);
    let decided = |e: &serde_json::Value| {
        e["event"] == "decision" && e["message"].to_string().contains("calibrating")
    };
    assert!(done.json().iter().any(decided), "{}", done.out);
    pair.verify("dump").ok();
}

both!(an_idle_server_is_not_limited);
fn an_idle_server_is_not_limited(pair: &Pair) {
    fill(pair, 40);
    let done = pair
        .dump(
            "dump",
            &["--max-impact", "5%", "--max-threads-running", "4", "--json"],
        )
        .ok();
    let impact = &done.summary()["impact"];
    assert_eq!(impact["paused_seconds"].as_f64(), Some(0.0), "{impact}");
    pair.verify("dump").ok();
    // Its own queries, twice a second, do not count as other sessions' work.
    let done = pair
        .dump(
            "slow",
            &["--max-impact", "5%", "--max-rate", "1M", "--json"],
        )
        .ok();
    let summary = done.summary();
    assert!(
        summary["duration"].as_f64() > Some(6.0),
        "long enough to tell: {summary:#}"
    );
    let seconds = |of: &serde_json::Value| of.as_f64().expect("seconds");
    let rested = seconds(&summary["impact"]["compared_seconds"]);
    assert!(
        rested < seconds(&summary["duration"]) * 0.15,
        "{}",
        summary["impact"]
    );
}

both!(a_limit_exceeded_from_the_start_ends_the_dump_without_a_lock);
fn a_limit_exceeded_from_the_start_ends_the_dump_without_a_lock(pair: &Pair) {
    fill(pair, 1);
    let running = Statement::begin(pair.source(), "SELECT SLEEP(300)");
    let done = pair
        .dump(
            "dump",
            &["--max-threads-running", "0", "--limit-timeout", "1s"],
        )
        .code(12);
    done.says(&[
        "1 running statements, 0 allowed",
        "--limit-timeout",
        "waiting for",
    ]);
    assert!(!pair.path("dump").exists());
    nothing_left(pair, "dump");
    let done = pair
        .dump("dump", &["--abort-if", "threads-running=0"])
        .code(12);
    done.says(&[
        "ended by a limit: 1 running statements, 0 allowed",
        "--abort-if threads-running=0 was asked for",
    ]);
    // Once the statement has ended, the same dump succeeds.
    drop(running);
    pair.dump(
        "dump",
        &["--max-threads-running", "0", "--limit-timeout", "20s"],
    )
    .ok();
}

both!(a_limit_exceeded_during_the_dump_pauses_then_ends_it);
fn a_limit_exceeded_during_the_dump_pauses_then_ends_it(pair: &Pair) {
    fill(pair, 60);
    let flags = [
        "--max-rate",
        "400k",
        "--max-threads-running",
        "0",
        "--limit-timeout",
        "2s",
        "--json",
    ];
    let dump = pair.dumping("dump", &flags).start();
    until("the dump begins", || {
        pair.path("dump").join("penstock.incomplete").exists()
    });
    let running = Statement::begin(pair.source(), "SELECT SLEEP(300)");
    let done = dump.wait().code(12);
    done.says(&["1 running statements, 0 allowed"]);
    nothing_left(pair, "dump");
    drop(running);
}

both!(lag_needs_a_replica_and_a_stopped_one_counts_as_behind);
fn lag_needs_a_replica_and_a_stopped_one_counts_as_behind(pair: &Pair) {
    fill(pair, 1);
    pair.dump("dump", &["--max-lag", "2s"])
        .code(2)
        .says(&["is not a replica", "--replica"]);
    let follow = if pair.is_mysql() {
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1"
    } else {
        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1"
    };
    let replica = Replica::set_up(pair.target(), follow);
    let uri = pair.target().uri();
    let done = pair.dump(
        "dump",
        &[
            "--max-lag",
            "2s",
            "--replica",
            &uri,
            "--limit-timeout",
            "1s",
        ],
    );
    drop(replica);
    done.code(12).says(&["a replica: its applier does not run"]);
    nothing_left(pair, "dump");
}

both!(a_lagging_replica_is_waited_for);
fn a_lagging_replica_is_waited_for(pair: &Pair) {
    fill(pair, 1);
    let (source, replica) = (pair.source(), pair.target());
    let account = "CREATE USER t_follow@'%' IDENTIFIED BY 'follow'; \
        GRANT REPLICATION SLAVE ON *.* TO t_follow@'%'";
    source.script(account.as_bytes()).expect("an account");
    let status = if pair.is_mysql() {
        "SHOW BINARY LOG STATUS"
    } else {
        "SHOW MASTER STATUS"
    };
    let at = source.client(status).expect("a position").remove(0);
    let (file, position) = (
        at[0].clone().expect("a file"),
        at[1].clone().expect("an offset"),
    );
    let port = source.port().expect("a port");
    replica
        .script(
            b"CREATE DATABASE t_a; \
            CREATE TABLE t_a.t (id INT AUTO_INCREMENT PRIMARY KEY, c VARCHAR(120))",
        )
        .expect("a table");
    let follow = if pair.is_mysql() {
        format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, \
              SOURCE_USER='t_follow', SOURCE_PASSWORD='follow', GET_SOURCE_PUBLIC_KEY=1, \
              SOURCE_LOG_FILE='{file}', SOURCE_LOG_POS={position}, SOURCE_AUTO_POSITION=0; \
            START REPLICA"
        )
    } else {
        format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, \
              MASTER_USER='t_follow', MASTER_PASSWORD='follow', MASTER_LOG_FILE='{file}', \
              MASTER_LOG_POS={position}, MASTER_USE_GTID=no; \
            START SLAVE"
        )
    };
    let replication = Replica::set_up(replica, &follow);
    // A reader on the replica blocks the applier from its table.
    let mut reader = wire::Conn::connect(&replica.options()).expect("a session");
    reader.execute("LOCK TABLES t_a.t READ").expect("locked");
    pair.fill("INSERT INTO t_a.t (id, c) VALUES (2000000, 'late')");
    until_it_lags(replica);
    let flags = [
        "--max-lag",
        "1s",
        "--replica",
        &replica.uri(),
        "--limit-timeout",
        "60s",
    ];
    let dump = pair.dumping("dump", &flags).start();
    dump.until_it_says("s, 1 s allowed");
    let early = pair.path("dump").exists();
    reader.execute("UNLOCK TABLES").expect("unlocked");
    let done = dump.wait();
    // Lag ends a dump where `--abort-if` says so.
    reader.execute("LOCK TABLES t_a.t READ").expect("locked");
    pair.fill("INSERT INTO t_a.t (id, c) VALUES (2000001, 'later')");
    until_it_lags(replica);
    let ended = pair.dump(
        "other",
        &["--abort-if", "lag=1s", "--replica", &replica.uri()],
    );
    drop(reader);
    drop(replication);
    done.ok().says(&["waiting for a replica", "s, 1 s allowed"]);
    assert!(!early, "it began while the replica lagged");
    pair.verify("dump").ok();
    ended
        .code(12)
        .says(&["ended by a limit: a replica lag", "--abort-if lag=1s"]);
}

both!(a_long_history_list_ends_the_dump);
fn a_long_history_list_ends_the_dump(pair: &Pair) {
    fill(pair, 20);
    // The snapshot of another session keeps old row versions from being purged.
    let mut other = pair.source().conn().expect("a session");
    other
        .execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        .expect("set");
    other
        .execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        .expect("a snapshot");
    other.fetch("SELECT COUNT(*) FROM t_a.t").expect("a view");
    for n in 0..20 {
        pair.fill(&format!("UPDATE t_a.t SET c = '{n}' WHERE id < 100"));
    }
    let done = pair
        .dump("dump", &["--max-history-list", "1", "--max-rate", "200k"])
        .code(12);
    done.says(&["ended by a limit: a history list of", "1 allowed"]);
    nothing_left(pair, "dump");
    pair.dump("dump", &["--max-history-list", "1000000"]).ok();
}

/// An application whose statements take five times as long while another session reads rows,
/// whatever else the machine does. It ends when this is dropped.
struct Delicate {
    over: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Delicate {
    fn on(server: &Server) -> Delicate {
        let over = Arc::new(AtomicBool::new(false));
        let reading = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        let connect = || wire::Conn::connect(&server.options()).expect("a connection");
        for _ in 0..2 {
            let (over, reading, mut conn) = (over.clone(), reading.clone(), connect());
            threads.push(std::thread::spawn(move || {
                while !over.load(Relaxed) {
                    let sleep = if reading.load(Relaxed) {
                        "DO SLEEP(0.02)"
                    } else {
                        "DO SLEEP(0.004)"
                    };
                    conn.execute(sleep).expect("slept");
                }
            }));
        }
        let (over_too, mut conn) = (over.clone(), connect());
        threads.push(std::thread::spawn(move || {
            // Compared with the sample before the last: the server pauses until the socket has
            // room.
            let mut looks = [u64::MAX; 3];
            while !over_too.load(Relaxed) {
                let rows = conn
                    .fetch("SHOW GLOBAL STATUS LIKE 'Handler_read_next'")
                    .expect("a figure");
                let rows = rows[0][1]
                    .as_ref()
                    .and_then(|v| std::str::from_utf8(v).ok()?.parse().ok());
                looks = [looks[1], looks[2], rows.expect("a number")];
                reading.store(looks[2].saturating_sub(looks[0]) > 50, Relaxed);
                std::thread::sleep(Duration::from_millis(30));
            }
        }));
        Delicate { over, threads }
    }
}

impl Drop for Delicate {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            thread
                .join()
                .expect("an application that does not fall over");
        }
    }
}

/// A schema of about 71 MB, for a dump that lasts.
fn one_warehouse(pair: &Pair) {
    let load = Tool::new([
        "bench",
        "tpcc",
        "load",
        "--warehouses",
        "1",
        "--user",
        "root",
        "--socket",
    ]);
    load.arg(pair.source().socket()).run().ok();
}

both!(an_impact_above_its_limit_is_said);
/// The least rate keeps the dump from being as slow as the limit wants.
fn an_impact_above_its_limit_is_said(pair: &Pair) {
    one_warehouse(pair);
    let application = Delicate::on(pair.source());
    let done = pair.dump(
        "dump",
        &[
            "--max-impact",
            "5%",
            "--min-rate",
            "8M",
            "--max-rate",
            "8M",
            "--threads",
            "2",
            "--schemas",
            "tpcc",
            "--json",
        ],
    );
    drop(application);
    let done = done.ok().says(&["above the 5.0 % of --max-impact"]);
    assert_eq!(done.summary()["impact"]["over_budget"], true);
}

both!(a_warm_up_is_measured_as_a_dump_is);
/// In rests it is compared with the server alone.
fn a_warm_up_is_measured_as_a_dump_is(pair: &Pair) {
    fill(pair, 40);
    // Pages that were never written to the files have no place in them.
    pair.fill("FLUSH TABLES t_a.t FOR EXPORT; UNLOCK TABLES; SELECT SUM(LENGTH(c)) FROM t_a.t");
    let tool = |verb: &str, file: &str| {
        let tool = Tool::new(["warm", verb, "--json", "--schemas", "t_a"]);
        tool.arg(pair.source().uri())
            .arg(file)
            .arg(pair.path("hot"))
    };
    tool("save", "--to").run();
    let application = Delicate::on(pair.source());
    let load = tool("load", "--from").args(["--threads", "2", "--max-impact", "5%"]);
    let done = load.args(["--max-rate", "1M"]).run();
    drop(application);
    let impact = &done.ok().summary()["impact"];
    assert_eq!(impact["budget"], 0.05, "{impact}");
    let positive = |n: &serde_json::Value| n.as_f64() > Some(0.0);
    let before = &impact["baseline"]["statements_per_second"];
    assert!(
        positive(before) && positive(&impact["compared_seconds"]),
        "{impact}"
    );
    assert!(impact["effect"].is_number(), "{impact}");
}

both!(an_impact_above_the_abort_limit_ends_the_dump);
fn an_impact_above_the_abort_limit_ends_the_dump(pair: &Pair) {
    fill(pair, 1);
    one_warehouse(pair);
    let application = Delicate::on(pair.source());
    let flags = [
        "--abort-if",
        "impact=20%",
        "--max-rate",
        "8M",
        "--threads",
        "2",
        "--schemas",
        "tpcc",
    ];
    let done = pair.dump("dump", &flags);
    drop(application);
    done.code(12)
        .says(&["ended by a limit: an impact of", "20.0 % allowed"]);
    nothing_left(pair, "dump");
}

both!(a_baseline_shift_is_reported);
/// Statements that are slower for as long as the dump runs, whether it reads or is paused.
fn a_baseline_shift_is_reported(pair: &Pair) {
    fill(pair, 80);
    let over = Arc::new(AtomicBool::new(false));
    let (ends, directory) = (over.clone(), pair.path("dump").join("t_a@t.sql"));
    let mut conn = wire::Conn::connect(&pair.source().options()).expect("a connection");
    // It measures itself: on a busy machine both sleeps take longer than they say.
    let application = std::thread::spawn(move || {
        let mut measured = [(0.0, 0u32); 2];
        while !ends.load(Relaxed) {
            let dumping = directory.exists();
            let sleep = if dumping {
                "DO SLEEP(0.012)"
            } else {
                "DO SLEEP(0.004)"
            };
            let start = std::time::Instant::now();
            conn.execute(sleep).expect("slept");
            let (sum, n) = &mut measured[usize::from(dumping)];
            *sum += start.elapsed().as_secs_f64();
            *n += 1;
        }
        measured.map(|(sum, n)| sum / f64::from(n))
    });
    let done = pair.dump(
        "dump",
        &[
            "--max-impact",
            "5%",
            "--min-rate",
            "512k",
            "--max-rate",
            "512k",
            "--schemas",
            "t_a",
            "--json",
        ],
    );
    over.store(true, Relaxed);
    let [before, during] = application
        .join()
        .expect("an application that does not fall over");
    let done = done.ok();
    let summary = done.summary();
    let rests = summary["impact"]["baseline_shift"]
        .as_f64()
        .expect("a share");
    let real = during / before - 1.0;
    assert!(
        (0.56 * real..=1.05 * real).contains(&rests),
        "{real}: {}",
        summary["impact"]
    );
    let said: Vec<String> = done
        .json()
        .iter()
        .filter(|e| e["event"] == "progress")
        .map(|e| e.to_string())
        .collect();
    assert!(
        said.iter()
            .any(|s| s.contains("above the baseline even while nothing is read")),
        "{said:?}"
    );
}

both!(invalid_limits_are_refused);
fn invalid_limits_are_refused(pair: &Pair) {
    for (flags, says) in [
        (&["--max-impact", "x"][..], "--max-impact"),
        (&["--max-impact", "0"][..], "--max-impact"),
        (
            &["--max-impact", "100%"][..],
            "above 0 and below 100 per cent",
        ),
        (&["--max-impact", "5%%"][..], "--max-impact"),
        (
            &["--max-impact", "5%", "--min-rate", "8M", "--max-rate", "2M"][..],
            "--max-rate allows",
        ),
        (&["--min-rate", "1M"][..], "--max-impact"),
        (&["--abort-if", "moon=full"][..], "threads-running=N"),
        (&["--max-lag", "soon"][..], "--max-lag"),
        (&["--replica", "mysql://x@y/"][..], "--max-lag 2s"),
        (&["--limit-timeout", "soon"][..], "--limit-timeout"),
        (&["--limit-timeout", "5s"][..], "no limit is set"),
    ] {
        pair.dump("dump", flags).code(2).says(&[says]);
    }
    assert!(!pair.path("dump").exists());
}

#[test]
fn a_probe_is_used_without_access_to_the_histogram() {
    let Some(pair) = Pair::take(Kind::MySql) else {
        return;
    };
    fill(&pair, 1);
    pair.fill(
        "CREATE USER t_plain@localhost; \
        GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON t_a.* TO t_plain@localhost; \
        GRANT FLUSH_TABLES, BACKUP_ADMIN, REPLICATION CLIENT, SHOW_ROUTINE ON *.* \
          TO t_plain@localhost",
    );
    let tool = Tool::new(["dump", "--user", "t_plain", "--socket"])
        .arg(pair.source().socket())
        .args(["--max-impact", "5%", "--schemas", "t_a", "--to"])
        .arg(pair.path("dump"));
    let done = tool.run().ok();
    done.says(&["light probe", "the statement histogram may not be read"]);
    pair.verify("dump").ok();
}

#[test]
fn a_server_that_stalls_is_waited_for() {
    for kind in [Kind::MySql, Kind::MariaDb] {
        let Some(server) = own_server(kind, &[]) else {
            continue;
        };
        let rows = "CREATE DATABASE t_a; USE t_a; \
            CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, c VARCHAR(120)); \
            CREATE TABLE d (n INT); INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9); \
            INSERT INTO t (c) SELECT REPEAT('x', 90) FROM d a, d b, d c, d e, \
              (SELECT 1 FROM d LIMIT 4) n";
        server.script(rows.as_bytes()).expect("rows");
        let directory = tempfile::tempdir().expect("a directory");
        let to = directory.path().join("dump");
        let dump = Tool::new(["dump", "--user", "root", "--socket"])
            .arg(server.socket())
            .args([
                "--max-rate",
                "400k",
                "--max-threads-running",
                "50",
                "--json",
                "--to",
            ])
            .arg(to.clone())
            .start();
        until("rows are dumped", || {
            let mut entries = std::fs::read_dir(&to).into_iter().flatten().flatten();
            entries.any(|e| e.file_name().to_string_lossy().starts_with("t_a@t@"))
        });
        let pid = server
            .pid()
            .and_then(|p| Pid::from_raw(i32::try_from(p).ok()?))
            .expect("a pid");
        kill_process(pid, Signal::STOP).expect("the server stops");
        dump.until_it_says("the server, which has not answered for 3 s");
        kill_process(pid, Signal::CONT).expect("the server continues");
        dump.wait()
            .ok()
            .says(&["the server, which has not answered for 3 s"]);
        Tool::new(["verify", "--against", &server.uri()])
            .arg(to)
            .run()
            .ok();
    }
}
