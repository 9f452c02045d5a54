//! A dump that was taken while other sessions write and change definitions is of exactly the moment that it records: the servers'
//! own programs apply the binary log from there on to the copy, and then it is equal to the source. Where a change of a
//! definition gets in the way, the dump says so, and names the table.

use super::{bank, transfers};
use crate::kit::waiting::until;
use crate::kit::{Pair, Tool, both, few};
use rustix::process::Signal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Dumps that are taken in a thorough run, each with another pause between changes of definitions, in milliseconds.
const PAUSES: [u64; 12] = [10, 20, 30, 50, 70, 90, 120, 150, 200, 250, 300, 400];

/// Attempts of each dump until no change is in its way; after each, the pause between changes is longer by this.
const ATTEMPTS: u32 = 12;
const LONGER: u64 = 100;

const MOVES: &str = "CREATE DATABASE moves; USE moves; CREATE TABLE q (id INT PRIMARY KEY, v VARCHAR(40)); \
    INSERT INTO q SELECT n, CONCAT('v', n) FROM Q WHERE n < 3000; \
    CREATE TABLE t0 LIKE q; INSERT INTO t0 SELECT * FROM q; CREATE TABLE t1 LIKE q; INSERT INTO t1 SELECT * FROM q; \
    CREATE TABLE t2 LIKE q; INSERT INTO t2 SELECT * FROM q; CREATE TABLE t3 LIKE q; INSERT INTO t3 SELECT * FROM q;";

/// Changes definitions until `stop`; every round leaves one table more, under its second name.
fn changes(pair: &Pair, pause: &AtomicU64, stop: &AtomicBool, done: &AtomicU64) {
    let mut conn = pair.source().conn().expect("a connection");
    for n in 1u32.. {
        let t = n % 4;
        let id = 100_000 + n;
        for sql in [
            format!("ALTER TABLE moves.t{t} ADD COLUMN c{n} INT NOT NULL DEFAULT {n}"),
            format!("INSERT INTO moves.t{t} (id, v) VALUES ({id}, 'new')"),
            format!("CREATE TABLE moves.n{n} (id INT PRIMARY KEY, v INT)"),
            format!("INSERT INTO moves.n{n} VALUES (1, {n}), (2, {n})"),
            format!("RENAME TABLE moves.n{n} TO moves.r{n}"),
            format!("ALTER TABLE moves.t{t} DROP COLUMN c{n}, ADD KEY k{n} (v)"),
            format!("ALTER TABLE moves.t{t} DROP KEY k{n}"),
            format!("CREATE OR REPLACE VIEW moves.w AS SELECT {n} AS n"),
            format!("TRUNCATE TABLE moves.t{}", (n + 2) % 4),
            format!(
                "INSERT INTO moves.t{} SELECT * FROM moves.q WHERE id % 7 = {}",
                (n + 2) % 4,
                n % 7
            ),
            format!("DROP TABLE IF EXISTS moves.r{}", n.saturating_sub(3)),
        ] {
            if stop.load(Ordering::SeqCst) {
                return;
            }
            conn.execute(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
            done.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(pause.load(Ordering::SeqCst)));
        }
    }
}

both!(a_dump_among_changes_is_of_the_moment_that_it_records);
fn a_dump_among_changes_is_of_the_moment_that_it_records(pair: &Pair) {
    let ways: &[&[&str]] = match pair.is_mysql() {
        true => &[&[], &["--no-backup-lock"]],
        false => &[&[]],
    };
    let cases: Vec<(u64, &[&str])> = PAUSES
        .iter()
        .flat_map(|pause| ways.iter().map(|way| (*pause, *way)))
        .collect();
    for (pause, way) in few(pair.kind, 2, &cases) {
        let reset = "DROP DATABASE IF EXISTS bank; DROP DATABASE IF EXISTS moves;";
        pair.fill(reset);
        bank(pair);
        pair.fill(&MOVES.replace(" Q ", &format!(" {} ", crate::kit::COUNT)));
        let summary = among_changes(pair, pause, way);
        pair.target()
            .script(reset.as_bytes())
            .expect("an empty target");
        pair.load("among", &[]).ok();
        let file = summary["binlog_file"].as_str().expect("a file");
        let at = summary["binlog_position"].as_u64().expect("a position");
        pair.apply_log(file, at);
        pair.same_checksums();
        for schema in ["bank", "moves"] {
            pair.same_definitions(schema);
        }
    }
}

/// Takes dumps while there are transfers and changes, until one was not in the way of a change; gives its summary. Writers go on for a
/// while behind it.
fn among_changes(pair: &Pair, pause: u64, way: &[&str]) -> serde_json::Value {
    let (stop, done, changed) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let pause = &AtomicU64::new(pause);
    std::thread::scope(|scope| {
        let (stop, done, changed) = (&stop, &done, &changed);
        scope.spawn(move || transfers(pair, 1, Duration::from_millis(1), stop, done));
        scope.spawn(move || changes(pair, pause, stop, changed));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until("changes", || {
                done.load(Ordering::SeqCst) >= 20 && changed.load(Ordering::SeqCst) >= 3
            });
            let summary = dumped(pair, way, pause);
            let then = (done.load(Ordering::SeqCst), changed.load(Ordering::SeqCst));
            until("changes after the dump", || {
                done.load(Ordering::SeqCst) > then.0 + 20
                    && changed.load(Ordering::SeqCst) > then.1 + 2
            });
            summary
        }));
        stop.store(true, Ordering::SeqCst);
        outcome.unwrap_or_else(|e| std::panic::resume_unwind(e))
    })
}

fn dumped(pair: &Pair, way: &[&str], pause: &AtomicU64) -> serde_json::Value {
    for attempt in 1..=ATTEMPTS {
        let _ = std::fs::remove_dir_all(pair.path("among"));
        let args = [&["--json", "--chunk-size", "64k"], way].concat();
        let done = pair.dump("among", &args);
        if done.code == 0 {
            return done.summary();
        }
        // Whatever it could not dump as it was, it names.
        assert!([1, 3].contains(&done.code), "{done:?}");
        let said = done.out.clone() + &done.err;
        assert!(said.contains("`moves`."), "attempt {attempt}: {done:?}");
        pause.fetch_add(LONGER, Ordering::SeqCst);
    }
    panic!("no dump in {ATTEMPTS} attempts");
}

/// A dump that stops at a step, and goes on when this was done on the source.
fn interrupted(pair: &Pair, name: &str, step: &str, meanwhile: &str) -> crate::kit::Done {
    let more: &[&str] = match pair.is_mysql() {
        true => &["--no-backup-lock"],
        false => &[],
    };
    let run = pair
        .dumping(name, more)
        .env("PENSTOCK_STOP_AT", step)
        .start();
    run.until_stopped();
    pair.fill(meanwhile);
    run.signal(Signal::CONT);
    run.wait()
}

both!(a_change_before_the_snapshot_is_in_the_archive);
fn a_change_before_the_snapshot_is_in_the_archive(pair: &Pair) {
    pair.fill("CREATE DATABASE moves; CREATE TABLE moves.t (id INT PRIMARY KEY); INSERT INTO moves.t VALUES (1), (2)");
    // The table was looked at, and has a column more when its rows are read.
    let change = "ALTER TABLE moves.t ADD COLUMN v INT NOT NULL DEFAULT 3; UPDATE moves.t SET v = 7 WHERE id = 2; \
        CREATE TABLE moves.u (id INT PRIMARY KEY); INSERT INTO moves.u VALUES (5)";
    interrupted(pair, "a", "the catalog is read#1", change).ok();
    pair.load("a", &[]).ok();
    pair.same_checksums();
    pair.same_definitions("moves");
}

both!(what_is_made_while_the_snapshot_is_taken_is_named);
fn what_is_made_while_the_snapshot_is_taken_is_named(pair: &Pair) {
    pair.fill("CREATE DATABASE moves; CREATE TABLE moves.t (id INT PRIMARY KEY); CREATE VIEW moves.gone AS SELECT 1 AS x");
    let change = "CREATE TABLE moves.u (id INT PRIMARY KEY); CREATE VIEW moves.w AS SELECT 1 AS x; DROP VIEW moves.gone; \
        CREATE PROCEDURE moves.p() SELECT 1; CREATE DATABASE moved";
    interrupted(pair, "a", "the snapshot is taken#1", change)
        .code(3)
        .says(&[
            "table `moves`.`u` was created while the snapshot was taken",
            "view `moves`.`w` was created",
            "routine `moves`.`p` was created",
            "schema `moved` was created",
            "view `moves`.`gone` was dropped",
        ]);
    pair.load("a", &[]).ok();
    // A table that is gone is named, and does not end the dump of the others.
    let change = "DROP TABLE moves.u";
    interrupted(pair, "c", "the snapshot is taken#1", change)
        .code(3)
        .says(&["table `moves`.`u` was dropped or renamed while the snapshot was taken"]);
    let manifest = std::fs::read_to_string(pair.path("c/penstock.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    let lacks = &manifest["consistency"]["tables_without_rows"];
    assert_eq!(lacks[0], "`moves`.`u`", "{lacks}");
    let change = "ALTER TABLE moves.t ADD COLUMN v INT";
    interrupted(pair, "b", "the snapshot is taken#1", change)
        .code(3)
        .says(&["table `moves`.`t`", "none of its rows", "dump it again"]);
}

both!(a_change_that_waits_for_a_dump_does_not_stop_it);
// The change waits for the reader that has read of the table, and another reader would wait for the change.
fn a_change_that_waits_for_a_dump_does_not_stop_it(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE moves; CREATE TABLE moves.t (id INT PRIMARY KEY, v VARCHAR(200)); \
         INSERT INTO moves.t SELECT n, REPEAT('x', 150) FROM {}; ANALYZE TABLE moves.t",
        crate::kit::COUNT
    ));
    let count = |sql: &str| {
        let found = pair.source().value(sql).expect("a number");
        found.parse::<u64>().expect("a number")
    };
    const WAITS: &str = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata lock%'";
    let mut more: Vec<&str> = vec!["--chunk-size", "64k"];
    if pair.is_mysql() {
        more.push("--no-backup-lock");
    }
    let mut waited = 0;
    for n in 2..=6 {
        let name = format!("a{n}");
        let run = pair
            .dumping(&name, &more)
            .env("PENSTOCK_STOP_AT", format!("a task is taken#{n}"))
            .start();
        run.until_stopped();
        let mut conn = pair.source().conn().expect("a connection");
        let change = std::thread::spawn(move || {
            let sql = format!("ALTER TABLE moves.t ADD COLUMN c{n} INT");
            conn.execute(&sql).map(drop).expect("a change");
        });
        for _ in 0..20 {
            if change.is_finished() || count(WAITS) > 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        waited += count(WAITS);
        run.signal(Signal::CONT);
        let done = run.wait();
        change.join().expect("the change is made");
        match done.code {
            // What has been read, or is held by a reader, is of the snapshot.
            0 => {
                pair.load(&name, &[]).ok();
                let rows = "SELECT CONCAT(COUNT(*), ' ', SUM(id)) FROM moves.t";
                assert_eq!(pair.target().value(rows).expect("rows"), "10000 49995000");
                pair.target()
                    .client("DROP DATABASE moves")
                    .expect("dropped");
            }
            3 => drop(done.says(&["`moves`.`t`", "none of its rows"])),
            _ => panic!("{done:?}"),
        }
    }
    assert!(waited > 0, "no change has waited for a dump");
}

both!(tables_that_change_places_are_named);
// They are of one definition, and were made in one second: only InnoDB's numbers tell them apart.
fn tables_that_change_places_are_named(pair: &Pair) {
    let fill = "CREATE DATABASE moves; USE moves; CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b LIKE a; \
        CREATE TABLE c LIKE a; CREATE TABLE other (id INT PRIMARY KEY); \
        INSERT INTO a VALUES (1, 1), (2, 2); INSERT INTO b VALUES (7, 7); INSERT INTO c VALUES (8, 8); INSERT INTO other VALUES (1)";
    let seconds = "SELECT COUNT(DISTINCT create_time) FROM information_schema.tables \
        WHERE table_schema = 'moves' AND table_name IN ('a', 'b', 'c')";
    pair.fill(fill);
    while pair.source().value(seconds).expect("a number") != "1" {
        pair.fill("DROP DATABASE moves");
        pair.fill(fill);
    }
    let change = "RENAME TABLE moves.a TO moves.q, moves.b TO moves.a, moves.q TO moves.b";
    let done = interrupted(pair, "a", "the snapshot is taken#1", change).code(3);
    let tables = |name: &str| -> Vec<String> {
        let text = std::fs::read(pair.path(name).join("penstock.json")).expect("a manifest");
        let manifest: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let all = manifest["tables"].as_array().expect("tables").iter();
        all.map(|t| t["table"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(tables("a"), ["c", "other"], "{done:?}");
    done.says(&["table `moves`.`a`", "table `moves`.`b`", "none of its rows"]);
    // An account that does not see those numbers is said what may be.
    pair.fill(
        "CREATE USER t_plain@localhost IDENTIFIED BY ''; GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, LOCK TABLES ON moves.* TO t_plain@localhost;",
    );
    let dump = |name: &str, change: &str| {
        let run = Tool::new([
            "dump",
            "-u",
            "t_plain",
            "--schemas",
            "moves",
            "--consistency",
            "transaction",
            "--no-routines",
            "-S",
        ])
        .arg(pair.source().socket())
        .arg("--to")
        .arg(pair.path(name))
        .env("PENSTOCK_STOP_AT", "the snapshot is taken#1")
        .start();
        run.until_stopped();
        pair.fill(change);
        run.signal(Signal::CONT);
        run.wait()
    };
    dump("calm", "DO 0").ok();
    let done = dump("b", change);
    // MariaDB tells by itself that it is another table.
    match pair.is_mysql() {
        true => done.code(3).says(&[
            "tables `moves`.`a`, `moves`.`b`, `moves`.`c`",
            "whether these were exchanged is not known",
        ]),
        false => done.code(3).says(&["`moves`.`a`"]),
    };
}
