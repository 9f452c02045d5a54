//! Random moments of a server under TPC-C, while another session changes definitions: each restored state is that of the
//! source at that moment.

use super::kit::{Logged, emptied, restoring, server};
use crate::kit::{Tool, each_kind, few};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::{Kind, Server};

/// A moment at which nothing was written, as it can be asked for, and what the tables held.
#[derive(Clone, Debug)]
struct Moment {
    options: Vec<(&'static str, String)>,
    state: Vec<String>,
}

const SCHEMAS: &str = "('tpcc', 'x')";

/// Columns and checksums of all tables.
fn state(server: &Server) -> Vec<String> {
    let columns = format!(
        "SELECT CONCAT(table_schema, '.', table_name, '.', column_name, ' ', column_type) FROM information_schema.columns \
         WHERE table_schema IN {SCHEMAS} ORDER BY 1"
    );
    let tables = format!(
        "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables \
         WHERE table_schema IN {SCHEMAS} AND table_type = 'BASE TABLE' ORDER BY 1"
    );
    let names = |sql: &str| -> Vec<String> {
        let rows = server.client(sql).expect("names");
        rows.into_iter().flatten().flatten().collect()
    };
    let mut all = names(&columns);
    for table in names(&tables) {
        let sum = server.field(&format!("CHECKSUM TABLE {table}"), "Checksum");
        all.push(format!("{table} {:?}", sum.expect("a checksum")));
    }
    all
}

/// Holds everything still, and looks.
fn moment(server: &Server) -> Moment {
    let mut lock = server.conn().expect("a connection");
    lock.execute("FLUSH TABLES WITH READ LOCK").expect("a lock");
    let mysql = server.kind() == Kind::MySql;
    let (status, gtid) = match mysql {
        true => (
            "SHOW BINARY LOG STATUS",
            "SELECT CONCAT(@@server_uuid, ':', SUBSTRING_INDEX(SUBSTRING_INDEX(@@GLOBAL.gtid_executed, ':', -1), '-', -1))",
        ),
        false => ("SHOW MASTER STATUS", "SELECT @@GLOBAL.gtid_binlog_pos"),
    };
    let field = |column: &str| {
        let value = server.field(status, column).expect("a status");
        value.expect("a value")
    };
    let mut options = vec![
        ("--to-gtid", server.value(gtid).expect("a GTID")),
        (
            "--to-position",
            format!("{}:{}", field("File"), field("Position")),
        ),
    ];
    if mysql {
        // MariaDB's log has the second in which a statement began: one that waits for the lock began before it.
        std::thread::sleep(Duration::from_millis(5));
        let now = "SELECT CONCAT(UTC_TIMESTAMP(6), 'Z')";
        options.push(("--to-time", server.value(now).expect("a time")));
    }
    let state = state(server);
    lock.execute("UNLOCK TABLES").expect("unlocked");
    Moment { options, state }
}

/// Changes definitions without pause.
fn change(server: &Server, ends: &AtomicBool) {
    let statements = [
        "CREATE TABLE x.t{n} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(99))",
        "INSERT INTO x.t{n} (v) VALUES ('a'), (UUID()), (NULL)",
        "ALTER TABLE x.t{n} ADD COLUMN w INT, ADD KEY (v)",
        "UPDATE x.t{n} SET w = id * {i}",
        "RENAME TABLE x.t{n} TO x.r{n}",
        "INSERT INTO x.r{n} (v) SELECT v FROM x.r{n}",
        "TRUNCATE x.r{n}",
        "INSERT INTO x.r{n} (v) VALUES ('{i}')",
        "DROP TABLE IF EXISTS x.o{n}",
        "RENAME TABLE x.r{n} TO x.o{n}",
    ];
    for i in 0.. {
        for statement in statements {
            if ends.load(Ordering::SeqCst) {
                return;
            }
            let n = (i % 3).to_string();
            let sql = statement.replace("{n}", &n).replace("{i}", &i.to_string());
            server.client(&sql).expect("a change");
        }
    }
}

fn moments_come_back(kind: Kind) {
    const MOMENTS: usize = 25;
    let Some(logged) = Logged::new(kind, &["--max-binlog-size=4M"]) else {
        return;
    };
    let source = &logged.server;
    source.client("CREATE SCHEMA x").expect("a schema");
    let tpcc = |verb: &str| {
        let tool = Tool::new(["bench", "tpcc", verb, "--user", "root", "--socket"]);
        tool.arg(source.socket())
    };
    tpcc("load")
        .args(["--warehouses", "1", "--threads", "2"])
        .run()
        .ok();
    logged.backup();
    let archiver = logged.archiving(&["--max-age", "300ms"]).start();
    archiver.until_it_says("binary log");
    let work = ["--connections", "3", "--ramp", "0", "--measure", "1h"];
    let running = tpcc("run").args(work).start();
    let ends = AtomicBool::new(false);
    let count = few(kind, 4, &[(); MOMENTS]).len();
    let moments = std::thread::scope(|s| {
        s.spawn(|| change(source, &ends));
        let wait = |n: usize| std::thread::sleep(Duration::from_millis(200 + n as u64 * 61 % 700));
        let moments: Vec<Moment> = (0..count)
            .map(|n| {
                wait(n);
                moment(source)
            })
            .collect();
        ends.store(true, Ordering::SeqCst);
        moments
    });
    running.signal(Signal::INT);
    running.wait();
    archiver.signal(Signal::INT);
    archiver.wait().ok();
    logged.archiving(&["--once"]).run().ok();
    // Two ways to ask for each: with all of them, 50 restores.
    let asked: Vec<(&'static str, String, Vec<String>)> = moments
        .iter()
        .enumerate()
        .flat_map(|(n, m)| {
            let ways = m.options.len();
            [n % ways, (n + 1) % ways].map(|at| {
                let (option, value) = m.options[at].clone();
                (option, value, m.state.clone())
            })
        })
        .collect();
    let target = server(kind, 9, &[]);
    for (option, value, state_then) in few(kind, 2, &asked) {
        emptied(&target);
        for schema in ["tpcc", "x"] {
            let drop = format!("DROP SCHEMA IF EXISTS {schema}");
            target.client(&drop).expect("a drop");
        }
        emptied(&target);
        let done = restoring(&logged, &target, &[option, &value]).ok();
        assert_eq!(
            state(&target),
            state_then,
            "{option} {value}\n{}",
            done.said()
        );
    }
}
each_kind!(moments_come_back; mysql, mariadb);
