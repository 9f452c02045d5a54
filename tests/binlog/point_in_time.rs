//! A state of the past is restored exactly: at a time, before and behind a transaction, at a place in the log.

use super::kit::{Logged, emptied, files, restoring, server, write};
use crate::kit::{each_kind, few};
use testkit::{Kind, Server};

/// A moment of the source: how to ask for it, and what its tables held.
#[derive(Clone, Debug)]
struct Moment {
    option: &'static str,
    value: String,
    state: String,
}

/// Everything that the tables hold, in one text.
fn state(server: &Server) -> String {
    let tables =
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'd' ORDER BY 1";
    let mut all = String::new();
    for row in server.client(tables).expect("tables") {
        let table = row[0].clone().expect("a name");
        let sql = format!(
            "SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(CRC32(CONCAT_WS('|', id, v, LENGTH(v)))), 0)) FROM d.{table}"
        );
        let sum = server.value(&sql).expect("a sum");
        let comment = format!(
            "SELECT table_comment FROM information_schema.tables WHERE table_schema = 'd' AND table_name = '{table}'"
        );
        all += &format!(
            "{table} {sum} {}\n",
            server.value(&comment).unwrap_or_default()
        );
    }
    all
}

fn gtid(server: &Server) -> Option<String> {
    let sql = match server.kind() == Kind::MySql {
        // The newest of the set, which has no holes here.
        true => {
            "SELECT CONCAT(@@server_uuid, ':', SUBSTRING_INDEX(SUBSTRING_INDEX(@@GLOBAL.gtid_executed, ':', -1), '-', -1))"
        }
        false => "SELECT @@GLOBAL.gtid_binlog_pos",
    };
    server.value(sql).ok().filter(|g| !g.is_empty())
}

fn place(server: &Server) -> String {
    let files = files(&server.datadir());
    let (name, bytes) = files.last_key_value().expect("files");
    format!("{name}:{}", bytes.len())
}

/// The server's clock, to what its log knows: MySQL's has microseconds, MariaDB's seconds.
fn now(server: &Server) -> String {
    server
        .value("SELECT CONCAT(UTC_TIMESTAMP(6), 'Z')")
        .expect("a time")
}

fn sleep(server: &Server) {
    let seconds = if server.kind() == Kind::MySql {
        "0.01"
    } else {
        "1.1"
    };
    server
        .client(&format!("DO SLEEP({seconds})"))
        .expect("a rest");
}

/// Writes, and remembers moments on the way.
fn history(server: &Server) -> Vec<Moment> {
    let mut moments = Vec::new();
    for i in 0..8 {
        write(server, 9);
        let work = [
            "CREATE TABLE d.u (id INT PRIMARY KEY, v TEXT); INSERT INTO d.u SELECT id, v FROM d.t;",
            "FLUSH BINARY LOGS;",
            "BEGIN; DELETE FROM d.t WHERE id % 4 = 1; UPDATE d.t SET v = REVERSE(v); COMMIT;",
            "DROP TABLE d.u; FLUSH BINARY LOGS;",
        ];
        server.script(work[i % 4].as_bytes()).expect("writes");
        if i < 2 {
            continue;
        }
        let state = state(server);
        let mut add = |option, value| {
            moments.push(Moment {
                option,
                value,
                state: state.clone(),
            });
        };
        sleep(server);
        add("--to-time", now(server));
        if server.kind() == Kind::MariaDb {
            // It notes checkpoints of its own, without a transaction.
            sleep(server);
        } else {
            add("--to-position", place(server));
        }
        if let Some(gtid) = gtid(server) {
            add("--to-gtid", gtid);
        }
    }
    moments
}

fn each_moment_comes_back(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    logged.backup();
    let moments = history(&logged.server);
    let dropped = logged.server.client("DROP TABLE d.t");
    dropped.expect("a mistake");
    let last = gtid(&logged.server).expect("GTIDs");
    logged.archiving(&["--once"]).run().ok();
    let target = server(kind, 9, &[]);
    let mut asked = few(kind, 4, &moments);
    let before = moments.last().map(|m| m.state.clone()).expect("moments");
    asked.push(Moment {
        option: "--before-gtid",
        value: last,
        state: before,
    });
    for moment in &asked {
        emptied(&target);
        let done = restoring(&logged, &target, &[moment.option, &moment.value]).ok();
        assert_eq!(state(&target), moment.state, "{moment:?}\n{}", done.said());
        // Nothing of the replay stays behind.
        let channels = match kind == Kind::MySql {
            true => "SELECT COUNT(*) FROM performance_schema.replication_connection_configuration",
            false => "SELECT 0",
        };
        assert_eq!(target.value(channels).expect("a count"), "0");
    }
    // Everything that there is.
    emptied(&target);
    let done = restoring(&logged, &target, &["--latest"]).ok();
    assert_eq!(state(&target), state(&logged.server));
    // The place of the backup is not where the server stands.
    let said = done.said();
    assert!(
        !said.contains("continue from there") && said.contains("stands at"),
        "{said}"
    );
    // Its log has dropped it.
    target.client("CREATE TABLE d.t (id INT)").expect("a table");
    restoring(&logged, &target, &["--latest", "--dry-run"])
        .code(10)
        .says(&["already"]);
    emptied(&target);
    let plan = restoring(&logged, &target, &["--latest", "--dry-run"]).ok();
    // The backup and the log were both restored before, in this test.
    plan.says(&[
        "This would be restored",
        "timeline 1",
        "the backup",
        "the log",
        "forecast from",
    ]);
    // A time is said as it was understood.
    if let Some(moment) = moments.iter().find(|m| m.option == "--to-time") {
        restoring(&logged, &target, &["--to-time", &moment.value, "--dry-run"])
            .ok()
            .says(&["every transaction committed until 20"]);
    }
    restoring(&logged, &target, &["--to-time", "2026-01-01", "--dry-run"])
        .code(2)
        .says(&["is a day", "00:00:00"]);
    assert_eq!(state(&target), "");
}
each_kind!(each_moment_comes_back; mysql, mariadb);

/// What cannot be reached is said, with the reason of each backup.
fn what_is_not_there_is_said(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    let early = now(&logged.server);
    sleep(&logged.server);
    sleep(&logged.server);
    logged.backup();
    let target = &logged.server;
    restoring(&logged, target, &["--latest"]).code(2).says(&[
        "no binary log of shop is kept",
        "penstock binlog archive shop",
    ]);
    write(&logged.server, 5);
    logged.archiving(&["--once"]).run().ok();
    restoring(&logged, target, &["--to-time", &early])
        .code(2)
        .says(&["is newer"]);
    restoring(&logged, target, &["--to-time", "2036-01-01T00:00:00Z"])
        .code(2)
        .says(&[
            "no transaction after 2036-01-01T00:00:00Z is archived",
            "--latest",
        ]);
    restoring(&logged, target, &["--to-gtid", "9-9-999999"])
        .code(2)
        .says(&["9-9-999999 does not come after it in the archive"]);
    restoring(&logged, target, &["--to-position", "binlog.000099:4"])
        .code(2)
        .says(&["binlog.000099:4 does not come after it in the archive"]);
    restoring(&logged, target, &["--to-time", "yesterday"]).code(2);
    restoring(&logged, target, &["--latest", "--include-schemas", "d"]).code(2);
    if kind == Kind::MySql {
        // Its own transactions are those of the log: its applier would pass over them.
        target.client("DROP SCHEMA d").expect("a drop");
        restoring(&logged, target, &["--latest"]).code(10).says(&[
            "has executed transactions of the log already",
            "RESET BINARY LOGS AND GTIDS",
        ]);
    }
}
each_kind!(what_is_not_there_is_said; mysql, mariadb);

/// A gap is not crossed unless that is asked for.
#[test]
fn a_gap_is_not_crossed() {
    let Some(logged) = Logged::new(Kind::MariaDb, &[]) else {
        return;
    };
    write(&logged.server, 5);
    logged.backup();
    logged.archiving(&["--once"]).run().ok();
    write(&logged.server, 5);
    for _ in 0..2 {
        logged
            .server
            .client("FLUSH BINARY LOGS")
            .expect("another file");
    }
    logged.purge();
    logged
        .server
        .client("CREATE TABLE d.later (id INT, v TEXT)")
        .expect("a table");
    logged.archiving(&["--once"]).run().code(3);
    let target = server(Kind::MariaDb, 9, &[]);
    restoring(&logged, &target, &["--latest"])
        .code(2)
        .says(&["is missing", "--across-gap"]);
    restoring(&logged, &target, &["--latest", "--across-gap"]).code(3);
    assert_eq!(
        target
            .value("SELECT COUNT(*) FROM d.later")
            .expect("a count"),
        "0"
    );
}
