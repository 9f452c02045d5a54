//! `binlog archive --semisync`: what the server has confirmed is stored, whatever is killed when.

use super::kit::Logged;
use crate::kit::binary::Running;
use crate::kit::waiting::until;
use crate::kit::{each_kind, few};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use testkit::{Kind, Server};

/// What the settings and counters are called with this server.
fn named(kind: Kind, of: &str) -> String {
    match kind {
        Kind::MySql => format!("rpl_semi_sync_source_{of}"),
        _ => format!("rpl_semi_sync_master_{of}"),
    }
}

/// A server with a table, whose commits wait for a replica for a minute.
fn waiting(kind: Kind) -> Option<Logged> {
    let plugin: &[&str] = match kind {
        Kind::MySql => &["--plugin-load-add=semisync_source.so", "--sync-binlog=1"],
        _ => &["--sync-binlog=1", "--binlog-format=ROW"],
    };
    let logged = Logged::new(kind, plugin)?;
    let script = "CREATE SCHEMA d; CREATE TABLE d.t (id INT PRIMARY KEY)";
    logged.server.script(script.as_bytes()).expect("a table");
    wait_from_now(&logged.server);
    Some(logged)
}

fn wait_from_now(server: &Server) {
    let kind = server.kind();
    let (timeout, enabled) = (named(kind, "timeout"), named(kind, "enabled"));
    let script = format!("SET GLOBAL {timeout} = 60000; SET GLOBAL {enabled} = ON");
    server.script(script.as_bytes()).expect("set");
}

fn counter(server: &Server, of: &str) -> u64 {
    let kind = server.kind();
    let sql = format!("SHOW GLOBAL STATUS LIKE '{}'", named(kind, of));
    let value = server.field(&sql, "Value").expect("a counter");
    value.and_then(|v| v.parse().ok()).unwrap_or(0)
}

/// An archiver that stores nothing before an hour is over, unless a commit waits for it.
fn archiver(logged: &Logged, more: &[&str]) -> Running {
    let usual = ["--semisync", "--max-age", "1h", "--start", "oldest"];
    let tool = logged.archiving(&usual).args(more.iter().copied());
    let running = tool.start();
    running.until_it_says("binary log");
    until("the server to have a replica", || {
        counter(&logged.server, "clients") == 1
    });
    running
}

fn insert(server: &Server, id: u64) -> bool {
    let sql = format!("INSERT INTO d.t VALUES ({id})");
    server.client(&sql).is_ok()
}

fn segments(logged: &Logged) -> usize {
    let all = std::fs::read_dir(logged.place()).expect("a directory");
    let name = |e: std::io::Result<std::fs::DirEntry>| e.expect("an entry").file_name();
    all.map(name)
        .filter(|n| n.to_string_lossy().ends_with(".seg"))
        .count()
}

/// Inserts that are archived.
fn archived(logged: &Logged) -> u64 {
    let done = logged
        .on(&[
            "binlog", "find", "shop", "--json", "--table", "d.t", "--kind", "insert", "--limit",
            "100000",
        ])
        .ok();
    let summary = done.summary();
    let all = summary["transactions"].as_array().map_or(0, Vec::len);
    all as u64
}

fn confirmed_commits_are_stored(kind: Kind) {
    let Some(logged) = waiting(kind) else { return };
    let running = archiver(&logged, &[]);
    for id in 0..20 {
        assert!(insert(&logged.server, id));
    }
    running.signal(Signal::KILL);
    running.wait();
    assert_eq!(archived(&logged), 20);
    assert!(counter(&logged.server, "yes_tx") >= 20);
    assert_eq!(counter(&logged.server, "no_tx"), 0);
    let parts = segments(&logged);
    assert!(parts > 1, "{parts}");
    // What another run stores is joined when it ends.
    let running = archiver(&logged, &[]);
    for id in 20..40 {
        assert!(insert(&logged.server, id));
    }
    running.signal(Signal::INT);
    running.wait().ok().says(&["acknowledged"]);
    assert_eq!(segments(&logged), parts + 1);
    assert_eq!(archived(&logged), 40);
    // Without it, nobody waits.
    let enabled = named(kind, "enabled");
    let off = format!("SET GLOBAL {enabled} = OFF");
    logged.server.client(&off).expect("off");
    logged.once().ok();
    logged.assert_equal(1);
}
each_kind!(confirmed_commits_are_stored; mysql, mariadb, mariadb118);

/// Many sessions at the same time: their commits share parts.
fn sessions_share_parts(kind: Kind) {
    let Some(logged) = waiting(kind) else { return };
    let running = archiver(&logged, &[]);
    let server = &logged.server;
    std::thread::scope(|s| {
        for n in 0..8_u64 {
            s.spawn(move || {
                let mut conn = server.conn().expect("a connection");
                for i in 0..50 {
                    let sql = format!("INSERT INTO d.t VALUES ({})", n * 1000 + i);
                    conn.execute(&sql).expect("a row");
                }
            });
        }
    });
    let parts = segments(&logged);
    assert!(parts < 400, "{parts} parts of 400 commits");
    running.signal(Signal::KILL);
    running.wait();
    assert_eq!(archived(&logged), 400);
}
each_kind!(sessions_share_parts; mysql, mariadb);

/// The archiver is killed at each step while a session writes, which waits for the next archiver.
fn killed_at_each_step(kind: Kind) {
    let Some(logged) = waiting(kind) else { return };
    let (ends, next) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|s| {
        s.spawn(|| {
            while !ends.load(Ordering::SeqCst) {
                assert!(insert(&logged.server, next.fetch_add(1, Ordering::SeqCst)));
            }
        });
        let steps = [
            ("a segment of the binary log is complete#3", "1h"),
            ("a segment of the binary log is stored#3", "1h"),
            ("a part of a segment is stored#3", "1h"),
            // The whole segment is there, and its parts still are.
            ("a segment of the binary log is stored#9", "200ms"),
        ];
        for (step, age) in steps {
            let usual = ["--semisync", "--start", "oldest", "--max-age", age];
            let running = logged
                .archiving(&usual)
                .env("PENSTOCK_STOP_AT", step)
                .start();
            running.until_stopped();
            running.signal(Signal::KILL);
            running.wait();
        }
        let before = next.load(Ordering::SeqCst);
        let running = archiver(&logged, &[]);
        until("commits that go on", || {
            next.load(Ordering::SeqCst) > before + 5
        });
        ends.store(true, Ordering::SeqCst);
        // The last one is confirmed as well.
        std::thread::sleep(Duration::from_millis(500));
        running.signal(Signal::INT);
        running.wait().ok();
    });
    assert_eq!(archived(&logged), next.load(Ordering::SeqCst));
    assert_eq!(counter(&logged.server, "no_tx"), 0);
    let off = format!("SET GLOBAL {} = OFF", named(kind, "enabled"));
    logged.server.client(&off).expect("off");
    logged.once().ok();
    logged.assert_equal(1);
}
each_kind!(killed_at_each_step; mysql, mariadb);

/// Server and archiver are killed at the same moment: what a client was told is committed is in the archive.
fn both_are_killed(kind: Kind) {
    for wait in few(kind, 2, &(0..20).collect::<Vec<u64>>()) {
        let Some(mut logged) = waiting(kind) else {
            return;
        };
        let running = archiver(&logged, &[]);
        let confirmed = AtomicU64::new(0);
        let pid = logged.server.pid().expect("a process");
        std::thread::scope(|s| {
            s.spawn(|| {
                let Ok(mut conn) = logged.server.conn() else {
                    return;
                };
                for id in 0.. {
                    if conn
                        .execute(format!("INSERT INTO d.t VALUES ({id})"))
                        .is_err()
                    {
                        return;
                    }
                    confirmed.fetch_add(1, Ordering::SeqCst);
                }
            });
            std::thread::sleep(Duration::from_millis(100 + wait * 37));
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a process");
            rustix::process::kill_process(pid, Signal::KILL).expect("killed");
            running.signal(Signal::KILL);
        });
        running.wait();
        let confirmed = confirmed.load(Ordering::SeqCst);
        let there = archived(&logged);
        // One more may have been stored, whose confirmation did not arrive.
        assert!(
            confirmed > 0 && (confirmed..=confirmed + 1).contains(&there),
            "{confirmed} {there}"
        );
        let _ = logged.server.kill9();
    }
}
each_kind!(both_are_killed; mysql, mariadb);

/// What the server decides meanwhile is seen: it is switched off, and restarted without it, while the archiver runs.
fn switched_off_and_on(kind: Kind) {
    let Some(mut logged) = waiting(kind) else {
        return;
    };
    let running = archiver(&logged, &[]);
    assert!(insert(&logged.server, 1));
    let off = format!("SET GLOBAL {} = OFF", named(kind, "enabled"));
    logged.server.client(&off).expect("off");
    assert!(insert(&logged.server, 2));
    running.until_it_says("do not wait for the archive now");
    wait_from_now(&logged.server);
    assert!(insert(&logged.server, 3));
    running.until_it_says("wait for the archive again");
    logged.server.kill9().expect("a kill");
    logged.server.restart().expect("a start");
    running.until_it_says("is off: its commits do not wait");
    assert!(insert(&logged.server, 4));
    // The archiver that runs is asked as soon as it is on.
    wait_from_now(&logged.server);
    assert!(insert(&logged.server, 5));
    assert_eq!(counter(&logged.server, "no_tx"), 0);
    assert!(counter(&logged.server, "yes_tx") >= 1);
    running.signal(Signal::KILL);
    running.wait();
    assert_eq!(archived(&logged), 5);
}
each_kind!(switched_off_and_on; mysql, mariadb);

/// The log was reset: what waits behind that is confirmed, and archived in a new timeline.
fn what_waits_behind_a_reset_is_archived(kind: Kind) {
    let Some(logged) = waiting(kind) else { return };
    let running = archiver(&logged, &[]);
    for id in 0..5 {
        assert!(insert(&logged.server, id));
    }
    running.signal(Signal::KILL);
    running.wait();
    let reset = match kind {
        Kind::MySql => "RESET BINARY LOGS AND GTIDS",
        _ => "RESET MASTER",
    };
    let enabled = named(kind, "enabled");
    let script = format!(
        "SET GLOBAL {enabled} = OFF; {reset}; INSERT INTO d.t SELECT id + 100 FROM d.t; DELETE FROM d.t WHERE id < 100; \
         INSERT INTO d.t VALUES (1); INSERT INTO d.t VALUES (2); INSERT INTO d.t VALUES (3); SET GLOBAL {enabled} = ON"
    );
    logged.server.script(script.as_bytes()).expect("writes");
    let server = &logged.server;
    std::thread::scope(|s| {
        // It waits for an archive.
        let waits = s.spawn(|| insert(server, 4));
        std::thread::sleep(Duration::from_millis(300));
        let usual = ["--semisync", "--max-age", "1h", "--start", "oldest"];
        let running = logged.archiving(&usual).start();
        assert!(waits.join().expect("no panic"));
        running.signal(Signal::KILL);
        running.wait();
    });
    let second = logged.stored(2);
    let server = &logged.files();
    let (name, bytes) = server.first_key_value().expect("a file");
    // MariaDB notes checkpoints behind it.
    assert!(
        second[name].len() + 200 > bytes.len(),
        "{} {}",
        second[name].len(),
        bytes.len()
    );
    assert_eq!(counter(&logged.server, "no_tx"), 0);
}
each_kind!(what_waits_behind_a_reset_is_archived; mysql, mariadb);

fn what_it_needs_is_said(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    let refused = logged.archiving(&["--semisync"]).run().code(7);
    match kind {
        Kind::MySql => refused.says(&["no semi-synchronous replication", "INSTALL PLUGIN"]),
        _ => refused.says(&["is off", "SET GLOBAL rpl_semi_sync_master_enabled = ON"]),
    };
    logged
        .archiving(&["--semisync", "--once"])
        .run()
        .code(2)
        .says(&["--once"]);
}
each_kind!(what_it_needs_is_said; mysql, mariadb);
