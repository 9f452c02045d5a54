//! What breaks the order of a log is noticed, and what is missing is named.

use super::kit::{Logged, archiving, assert_same, files, server, stored, write};
use crate::kit::each_kind;
use crate::kit::waiting::until;
use serde_json::Value;
use std::path::Path;
use testkit::{Kind, Server};

fn timeline(place: &Path, number: u32) -> Value {
    let text = std::fs::read(place.join(format!("{number:04}.json"))).expect("a timeline");
    serde_json::from_slice(&text).expect("JSON")
}

/// The server has removed files that were not archived yet.
fn purged_files_are_a_gap(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    logged.once().ok();
    for _ in 0..3 {
        write(&logged.server, 3);
        logged
            .server
            .client("FLUSH BINARY LOGS")
            .expect("another file");
    }
    let last = logged.purge();
    let gap = format!(
        "from binlog.000001:{}",
        logged.stored(1)["binlog.000001"].len()
    );
    logged
        .once()
        .code(3)
        .says(&["missing in the archive", &gap, &format!("to {last}:0")]);
    // Once said, it is a part of the archive: the next run goes on.
    write(&logged.server, 3);
    logged.once().ok();
    assert_same(&logged.stored(2), &logged.files());
    let missing = timeline(&logged.place(), 2);
    assert!(
        missing["missing"]
            .as_str()
            .is_some_and(|m| m.contains(last.as_str())),
        "{missing}"
    );
}
each_kind!(purged_files_are_a_gap; mysql, mariadb);

/// Files carry the second in which they were begun.
fn reset_later(server: &Server) {
    let now = || {
        let time = server.value("SELECT UNIX_TIMESTAMP()");
        time.expect("a time")
    };
    let second = now();
    until("the next second", || now() != second);
    let reset = match server.kind() == Kind::MySql {
        true => "RESET BINARY LOGS AND GTIDS",
        false => "RESET MASTER",
    };
    server.client(reset).expect("a reset");
}

/// The archive ends with a whole file, and of the next one it has nothing that could show that another has that name now.
fn a_reset_behind_a_whole_file(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    let flush = || {
        logged
            .server
            .client("FLUSH BINARY LOGS")
            .expect("another file")
    };
    flush();
    logged
        .archiving(&["--once", "--start", "oldest"])
        .run()
        .ok();
    for entry in std::fs::read_dir(logged.place()).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.to_string_lossy().contains("@binlog.000002") {
            std::fs::remove_file(path).expect("nothing of the next file");
        }
    }
    let before = logged.stored(1);
    assert_eq!(before.keys().collect::<Vec<_>>(), ["binlog.000001"]);
    reset_later(&logged.server);
    write(&logged.server, 3);
    flush();
    logged.once().code(3).says(&["the server's log was reset"]);
    assert_eq!(logged.stored(1), before);
    assert_same(&logged.stored(2), &logged.files());
}
each_kind!(a_reset_behind_a_whole_file; mysql, mariadb);

/// RESET: files of the same names that are others.
fn a_reset_begins_a_timeline(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    logged.backup();
    logged
        .archiving(&["--once", "--start", "oldest"])
        .run()
        .ok();
    let before = logged.stored(1);
    reset_later(&logged.server);
    // As long as the file of that name was.
    write(&logged.server, 15);
    logged.once().code(3).says(&["reset"]);
    assert_eq!(logged.stored(1), before);
    assert_same(&logged.stored(2), &logged.files());
    // Behind it MySQL's numbers begin again: what a server has executed is not what it says.
    if kind == Kind::MySql {
        logged
            .on(&["restore", "--latest", "--dry-run", "--across-gap"])
            .code(2)
            .says(&["stand for other transactions behind the gap"]);
    }
}
each_kind!(a_reset_begins_a_timeline; mysql, mariadb);

/// A crash takes the end of the server's log, which the archive has.
fn a_lost_tail_is_noticed(kind: Kind) {
    let Some(mut logged) = Logged::new(kind, &["--sync-binlog=0"]) else {
        return;
    };
    write(&logged.server, 5);
    let kept = logged.files()["binlog.000001"].len() as u64;
    write(&logged.server, 5);
    logged.once().ok();
    let before = logged.stored(1);
    logged.server.kill9().expect("a kill");
    let file = logged.server.datadir().join("binlog.000001");
    let log = std::fs::OpenOptions::new().write(true).open(file);
    log.and_then(|f| f.set_len(kept)).expect("a shorter file");
    logged.server.restart().expect("a start");
    write(&logged.server, 3);
    logged.once().ok().says(&[
        "the server lost the end of binlog.000001 in a crash",
        "only the archive has",
    ]);
    assert_eq!(logged.stored(1), before);
    let second = timeline(&logged.place(), 2);
    assert_eq!(second["follows"]["timeline"], 1);
    assert_eq!(second["follows"]["position"], kept);
    assert_eq!(second["file"], "binlog.000002");
    let mut files = logged.files();
    files.remove("binlog.000001");
    assert_same(&logged.stored(2), &files);
}
each_kind!(a_lost_tail_is_noticed; mysql, mariadb);

/// Has one server follow another by GTIDs.
fn follow(replica: &Server, source: &Server) {
    let port = source.port().expect("a port");
    source
        .script(b"CREATE USER r@'127.0.0.1' IDENTIFIED BY 'Repl-1-word'; GRANT REPLICATION SLAVE ON *.* TO r@'127.0.0.1';")
        .expect("an account");
    let sql = match source.kind() == Kind::MySql {
        true => format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='r', SOURCE_PASSWORD='Repl-1-word',
            SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA;"
        ),
        false => format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='r', MASTER_PASSWORD='Repl-1-word',
            MASTER_USE_GTID=slave_pos; START SLAVE;"
        ),
    };
    replica.script(sql.as_bytes()).expect("it follows");
}

/// The source is lost; its replica has the same transactions in another log.
fn a_failover_goes_on_by_gtids(kind: Kind) {
    let Some(mut logged) = Logged::new(kind, &[]) else {
        return;
    };
    let more = match kind == Kind::MySql {
        true => vec![],
        false => vec!["--log-slave-updates"],
    };
    let replica = server(kind, 2, &more);
    follow(&replica, &logged.server);
    write(&logged.server, 10);
    let rows = "SELECT COUNT(*) FROM d.t";
    let wanted = logged.server.value(rows).expect("a count");
    until("the replica", || {
        replica.value(rows).ok().as_ref() == Some(&wanted)
    });
    replica.client("FLUSH BINARY LOGS").expect("another file");
    write(&logged.server, 10);
    logged.once().ok();
    let wanted = logged.server.value(rows).expect("a count");
    until("the replica", || {
        replica.value(rows).ok().as_ref() == Some(&wanted)
    });
    logged.server.kill9().expect("a kill");
    write(&replica, 4);
    let running = archiving(&logged.repository(), &["--max-age", "100ms"])
        .arg("--failover")
        .arg(replica.uri())
        .arg("--socket")
        .arg(logged.server.socket())
        .start();
    let place = logged.place();
    until("the replica's log to be stored", || {
        let theirs = files(&replica.datadir());
        let stored = stored(&place, 2);
        let last = theirs.keys().last().expect("files");
        stored
            .get(last)
            .is_some_and(|s| s.len() == theirs[last].len())
    });
    running.signal(rustix::process::Signal::INT);
    running.wait().ok();
    let second = timeline(&place, 2);
    assert_eq!(second["missing"], Value::Null, "{second}");
    // Its first file begins with nothing that the archive lacks.
    assert_eq!(second["file"], "binlog.000002");
    assert_same(&stored(&place, 2), &files(&replica.datadir()));
}
each_kind!(a_failover_goes_on_by_gtids; mysql, mariadb);

/// A server that has nothing of what is archived does not carry it on.
fn a_strange_server_is_a_gap(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    logged.once().ok();
    let strange = server(kind, 7, &[]);
    write(&strange, 3);
    archiving(&logged.repository(), &["--once"])
        .arg("--socket")
        .arg(strange.socket())
        .run()
        .code(3)
        .says(&["missing in the archive", "has not executed these"]);
    assert_eq!(timeline(&logged.place(), 2)["follows"], Value::Null);
}
each_kind!(a_strange_server_is_a_gap; mysql, mariadb);

/// The log is reset while it is followed.
fn a_reset_under_way_begins_a_timeline(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    logged
        .server
        .client("FLUSH BINARY LOGS")
        .expect("another file");
    let running = logged
        .archiving(&["--start", "oldest", "--max-age", "100ms"])
        .start();
    until("the second file", || {
        logged.place().exists() && logged.stored(1).contains_key("binlog.000002")
    });
    let reset = match kind == Kind::MySql {
        true => "RESET BINARY LOGS AND GTIDS",
        false => "RESET MASTER",
    };
    logged.server.client(reset).expect("a reset");
    write(&logged.server, 5);
    until("another timeline", || {
        logged.place().join("0002.json").exists()
            && stored(&logged.place(), 2)
                .get("binlog.000001")
                .map(Vec::len)
                == logged.files().get("binlog.000001").map(Vec::len)
    });
    running.signal(rustix::process::Signal::INT);
    running.wait().code(3);
}
each_kind!(a_reset_under_way_begins_a_timeline; mysql);
