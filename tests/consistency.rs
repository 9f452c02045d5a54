//! A dump is a consistent snapshot while other sessions write. Its read lock is short, bounded and
//! released, and no session of the dump remains on the server.

mod replayed;
mod ways;

use crate::kit::waiting::{PROMPT, Statement, until, until_some};
use crate::kit::{COUNT, Pair, Tool, both};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Accounts in three tables; transfers between them leave the sum as it is.
const BANK: &str = "CREATE DATABASE bank; USE bank; \
    CREATE TABLE a (id INT PRIMARY KEY, n BIGINT NOT NULL, pad VARCHAR(200)); \
    CREATE TABLE b LIKE a; CREATE TABLE c LIKE a; \
    INSERT INTO a SELECT n, 1000, REPEAT('a', 150) FROM Q ORDER BY n; \
    INSERT INTO b SELECT * FROM a; INSERT INTO c SELECT * FROM a; ANALYZE TABLE a, b, c; \
    CREATE TABLE log (at BIGINT AUTO_INCREMENT PRIMARY KEY, writer INT, n INT);";

fn bank(pair: &Pair) {
    pair.fill(&BANK.replace(" Q ", &format!(" {COUNT} ")));
}

/// Makes transfers until `stop`, and counts them in `done`.
fn transfers(pair: &Pair, writer: u32, pause: Duration, stop: &AtomicBool, done: &AtomicU64) {
    let mut conn = pair.source().conn().expect("a connection");
    let mut n = 0u32;
    while !stop.load(Ordering::SeqCst) {
        n += 1;
        let (from, to) = [("a", "b"), ("b", "c"), ("c", "a")][(n % 3) as usize];
        let (x, y) = (
            n.wrapping_mul(7919) % 10000,
            n.wrapping_mul(104_729) % 10000,
        );
        let all = [
            "START TRANSACTION".to_owned(),
            format!("UPDATE bank.{from} SET n = n - 7 WHERE id = {x}"),
            format!("UPDATE bank.{to} SET n = n + 7 WHERE id = {y}"),
            format!("INSERT INTO bank.log (writer, n) VALUES ({writer}, {n})"),
            "COMMIT".to_owned(),
        ];
        for sql in all {
            match conn.execute(&sql) {
                Ok(_) => {}
                Err(wire::Error::Server(e)) if e.code == 1213 => {
                    // The server has rolled it back.
                    break;
                }
                Err(e) => panic!("{sql}: {e}"),
            }
        }
        done.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(pause);
    }
}

#[track_caller]
fn no_connection_left(pair: &Pair) {
    let sql = "SELECT id, command, info FROM information_schema.processlist WHERE user = 'root' \
        AND id <> CONNECTION_ID()";
    until("no connection of the dump is left", || {
        let left = pair.source().client(sql).expect("the list of connections");
        left.is_empty()
    });
}

both!(a_dump_under_load_is_a_consistent_snapshot);
fn a_dump_under_load_is_a_consistent_snapshot(pair: &Pair) {
    bank(pair);
    let load = Load {
        user: "root",
        pause: Duration::ZERO,
    };
    let summary = load.dumped(pair, "a", &[]);
    assert!(
        summary["binlog_position"].as_u64() > Some(0) && summary["binlog_file"].is_string(),
        "{summary}"
    );
    load.of_one_moment(pair, "a", &summary);
}

/// Writers that go on while a dump is taken.
struct Load {
    /// Who takes the dump.
    user: &'static str,
    /// How long each writer waits between its transfers.
    pause: Duration,
}

impl Load {
    /// Takes a dump with these options while there are transfers, and gives its summary.
    fn dumped(&self, pair: &Pair, name: &str, args: &[&str]) -> serde_json::Value {
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let summary = std::thread::scope(|scope| {
            for writer in 0..2 {
                let (stop, done, pause) = (&stop, &done, self.pause);
                scope.spawn(move || transfers(pair, writer, pause, stop, done));
            }
            until("transfers", || done.load(Ordering::SeqCst) >= 20);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let tool = Tool::new([
                    "dump",
                    "--no-defaults",
                    "--json",
                    "--chunk-size",
                    "64k",
                    "-S",
                ]);
                let tool = tool
                    .arg(pair.source().socket())
                    .args(["-u", self.user, "--to"]);
                tool.arg(pair.path(name)).args(args).run().ok().summary()
            }));
            let then = done.load(Ordering::SeqCst);
            let go_on = std::panic::catch_unwind(|| {
                until("writers go on after the dump", || {
                    done.load(Ordering::SeqCst) > then
                });
            });
            stop.store(true, Ordering::SeqCst);
            go_on.unwrap_or_else(|e| std::panic::resume_unwind(e));
            outcome.unwrap_or_else(|e| std::panic::resume_unwind(e))
        });
        no_connection_left(pair);
        summary
    }

    /// Loads the archive: the sum is what it always was, and the recorded position belongs to exactly this snapshot.
    fn of_one_moment(&self, pair: &Pair, name: &str, summary: &serde_json::Value) {
        let gtid = if pair.is_mysql() {
            "gtid_executed"
        } else {
            "gtid_binlog_pos"
        };
        assert!(
            summary[gtid].as_str().is_some_and(|g| !g.is_empty()),
            "{summary}"
        );
        let fill = |sql: &str| pair.target().client(sql).expect("done");
        fill("DROP DATABASE IF EXISTS bank");
        pair.load(name, &["--threads", "1"]).ok();
        let value = |sql: &str| pair.target().value(sql).expect("a value");
        assert_eq!(
            value(
                "SELECT (SELECT SUM(n) FROM bank.a) + (SELECT SUM(n) FROM bank.b) + \
                (SELECT SUM(n) FROM bank.c)"
            ),
            "30000000"
        );
        let Some(file) = summary["binlog_file"].as_str() else {
            return;
        };
        // The binary log has as many transfers before it as were dumped.
        let events = pair
            .source()
            .client(&format!("SHOW BINLOG EVENTS IN '{file}' LIMIT 1000000"))
            .expect("events");
        let at = summary["binlog_position"].as_u64().unwrap_or_default();
        let rows = |row: &&Vec<Option<String>>| {
            row[2]
                .as_deref()
                .is_some_and(|t| t.starts_with("Write_rows"))
                && row[4]
                    .as_deref()
                    .and_then(|p| p.parse::<u64>().ok())
                    .is_some_and(|p| p <= at)
        };
        let map = |row: &&Vec<Option<String>>| {
            row[5].as_deref().is_some_and(|i| i.contains("(bank.log)"))
                && row[4]
                    .as_deref()
                    .and_then(|p| p.parse::<u64>().ok())
                    .is_some_and(|p| p <= at)
        };
        assert!(events.iter().filter(rows).count() > 0 || !pair.is_mysql());
        let logged = events.iter().filter(map).count();
        if logged > 0 {
            assert_eq!(
                value("SELECT COUNT(*) FROM bank.log"),
                logged.to_string(),
                "transfers before the recorded position"
            );
        }
    }
}

/// Seconds after which a dump treats a statement as a long one.
const LONG_STATEMENT: u32 = 2;

/// What the dump reports to wait for.
const WAITS: &str = "a long statement to end before the read lock";

both!(a_long_query_ends_the_dump_and_blocks_no_other_session);
fn a_long_query_ends_the_dump_and_blocks_no_other_session(pair: &Pair) {
    bank(pair);
    let sql = "SELECT 'the long one', SLEEP(300) FROM bank.a WHERE id = 1";
    let long = Statement::begin(pair.source(), sql);
    long.until_it_has_run_for(LONG_STATEMENT);
    if pair.is_mysql() {
        let wait = Duration::from_secs(5);
        let begin = Instant::now();
        let only_lock = ["--lock-wait", "5", "--consistency", "lock"];
        let mut dump = pair.dumping("a", &only_lock).start();
        dump.until_it_says(WAITS);
        pair.source()
            .client("UPDATE bank.b SET n = n WHERE id = 5")
            .expect("an update");
        pair.source()
            .client("SELECT COUNT(*) FROM bank.a")
            .expect("a query");
        assert!(!dump.ended(), "others do not wait for the dump");
        dump.wait().code(11).says(&["the long one", "--lock-wait"]);
        assert!(
            begin.elapsed() < wait + PROMPT,
            "gives up after --lock-wait"
        );
        assert!(
            std::fs::read_dir(pair.path("a")).map_or(0, Iterator::count) == 0,
            "no directory that looks like a dump"
        );
    } else {
        // BACKUP STAGE waits for no reader.
        pair.dump("a", &["--lock-wait", "3"]).ok();
    }
    drop(long);
    pair.fill("CREATE TABLE bank.after (id INT);");
    no_connection_left(pair);
}

both!(a_waiting_ddl_statement_does_not_block_the_dump);
fn a_waiting_ddl_statement_does_not_block_the_dump(pair: &Pair) {
    bank(pair);
    // A long query keeps the dump from its read lock; meanwhile another session creates a table.
    let sql = "SELECT SLEEP(300) FROM bank.a WHERE id = 1";
    let long = Statement::begin(pair.source(), sql);
    long.until_it_has_run_for(LONG_STATEMENT);
    let dump = pair.dumping("a", &["--lock-wait", "60"]).start();
    if pair.is_mysql() {
        dump.until_it_says(WAITS);
    }
    std::thread::scope(|scope| {
        let create = "CREATE TABLE bank.meanwhile (id INT)";
        scope.spawn(|| pair.source().client(create).expect("a table"));
        let seen = format!(
            "SELECT (SELECT COUNT(*) FROM information_schema.processlist WHERE info = '{create}') \
            + (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'bank' \
            AND table_name = 'meanwhile')"
        );
        until_some(pair.source(), &seen);
        drop(long);
        dump.wait().ok();
    });
    pair.verify("a").ok();
}

both!(a_dump_without_lock_privileges_reports_the_missing_snapshot);
fn a_dump_without_lock_privileges_reports_the_missing_snapshot(pair: &Pair) {
    bank(pair);
    pair.fill(
        "CREATE USER t_reader@localhost; \
        GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO t_reader@localhost;",
    );
    Tool::new(["dump", "-S"])
        .arg(pair.source().socket())
        .args(["-u", "t_reader", "--consistency", "none", "--to"])
        .arg(pair.path("a"))
        .run()
        .code(3)
        .says(&["no snapshot", "exceptions"]);
    pair.verify("a").ok();
}
