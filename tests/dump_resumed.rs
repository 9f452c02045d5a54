//! `penstock dump --resume`: a dump that was killed goes on; what it had read is kept where the binary log proves that nothing changed
//! it, the rest is read again, and the archive is what an undisturbed dump of that moment would be.

use crate::kit::waiting::{Ends, until};
use crate::kit::{Done, Pair, Tool, both, few, thorough};
use crate::stores::{Access, tool, with_s3, with_ssh};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const TABLES: &str = "CREATE DATABASE shop; USE shop; \
    CREATE TABLE numbers (id INT PRIMARY KEY, v VARCHAR(200)); \
    CREATE TABLE down (id INT, v VARCHAR(100), KEY_DESC); \
    CREATE TABLE texts (a VARCHAR(20) COLLATE utf8mb4_unicode_ci, b INT, v VARCHAR(100), PRIMARY KEY (a, b)); \
    CREATE TABLE nulls (a INT, b INT, v VARCHAR(100), UNIQUE KEY (a, b)); \
    CREATE TABLE parts (id INT PRIMARY KEY, v VARCHAR(100), w INT AS (id * 2) STORED) PARTITION BY HASH (id) PARTITIONS 3; \
    CREATE TABLE heap (v VARCHAR(200)); \
    CREATE TABLE small (id INT PRIMARY KEY); INSERT INTO small VALUES (1), (2); \
    INSERT INTO numbers SELECT n, REPEAT(CHAR(97 + n % 26), 150) FROM Q; \
    INSERT INTO down SELECT n, REPEAT('d', 80) FROM Q; \
    INSERT INTO texts SELECT CONCAT(CHAR(97 + n % 26), n % 500), n, REPEAT('t', 80) FROM Q; \
    INSERT INTO nulls SELECT NULLIF(n % 900, 7), n, REPEAT('n', 80) FROM Q; \
    INSERT INTO parts (id, v) SELECT n, REPEAT('p', 80) FROM Q; \
    INSERT INTO heap SELECT REPEAT('h', 150) FROM Q WHERE n < 3000; \
    ANALYZE TABLE numbers, down, texts, nulls, parts, heap;";

fn filled(pair: &Pair) {
    let key = match pair.is_mysql() {
        true => "PRIMARY KEY (id DESC)",
        false => "PRIMARY KEY (id)",
    };
    let script = TABLES
        .replace("FROM Q", &format!("FROM {}", crate::kit::COUNT))
        .replace("KEY_DESC", key);
    pair.fill(&script);
    // The server knows the time of a change in whole seconds.
    std::thread::sleep(Duration::from_millis(1100));
}

/// Many chunks, and one worker, so that a kill is always at the same place.
const CUT: [&str; 4] = ["--chunk-size", "64k", "--threads", "1"];

fn killed(pair: &Pair, name: &str, place: &str, more: &[&str]) {
    pair.dumping(name, &[&CUT[..], more].concat())
        .env("PENSTOCK_KILL_AT", place)
        .env("PENSTOCK_PROGRESS_EVERY", "0")
        .run()
        .code(128 + Signal::KILL.as_raw());
}

/// The failpoint behind this part of the tasks of an undisturbed dump, in percent.
fn after(pair: &Pair, part: usize) -> String {
    let places = pair.path("places");
    pair.dumping("undisturbed", &CUT)
        .env("PENSTOCK_PLACES", &places)
        .run()
        .ok();
    std::fs::remove_dir_all(pair.path("undisturbed")).expect("removed");
    let text = std::fs::read_to_string(&places).expect("names");
    // The next run would add to it.
    std::fs::remove_file(places).expect("removed");
    let tasks = text.lines().filter(|l| l.contains("a task has ended"));
    let number = (tasks.count() * part / 100).max(1);
    format!("a task has ended#{number}")
}

fn resumed(pair: &Pair, name: &str) -> (Done, Value) {
    let done = pair.dump(name, &["--resume", "--json", "--chunk-size", "64k"]);
    let summary = done.json().pop().unwrap_or_default();
    (done, summary)
}

/// Files in a directory that no archive has.
fn leftovers(path: &Path) -> Vec<String> {
    let files = std::fs::read_dir(path).expect("a directory");
    let names = files.map(|f| {
        f.expect("a file")
            .file_name()
            .into_string()
            .expect("a name")
    });
    names
        .filter(|n| n.contains("progress") || n.contains("incomplete") || n.ends_with(".dumping"))
        .collect()
}

/// The archive is whole, and what the source has now.
#[track_caller]
fn is_whole(pair: &Pair, name: &str) {
    pair.verify(name).ok();
    assert_eq!(leftovers(&pair.path(name)), Vec::<String>::new());
    pair.verify_against(name, pair.source()).ok();
    loaded(pair, name);
    pair.same_checksums();
}

/// Loads it in the place of what is on the target.
#[track_caller]
fn loaded(pair: &Pair, name: &str) {
    let _ = pair.target().script(b"DROP DATABASE IF EXISTS shop");
    pair.load(name, &[]).ok().says(&["equal:"]);
}

/// At least so many rows were not read again.
#[track_caller]
fn has_kept(summary: &Value, rows: u64) {
    let kept = summary["taken_over"]["rows"].as_u64().expect("rows");
    assert!(kept >= rows, "{kept} of {rows}: {summary}");
}

both!(what_was_read_is_kept);
fn what_was_read_is_kept(pair: &Pair) {
    filled(pair);
    let parts = [0, 2, 5, 10, 20, 33, 50, 66, 80, 90, 99];
    for (i, part) in few(pair.kind, 4, &parts).iter().enumerate() {
        let name = format!("a{i}");
        killed(pair, &name, &after(pair, *part), &[]);
        pair.verify(&name).code(5).says(&["not finished"]);
        let (done, summary) = resumed(pair, &name);
        done.ok();
        let taken = &summary["taken_over"];
        assert_eq!(taken["nothing"], Value::Null, "{summary}");
        assert_eq!(summary["read_again"], Value::Array(Vec::new()), "{summary}");
        // Every task that had ended is kept. They are divided by bytes; those of long rows have few.
        let bytes = summary["raw_bytes"].as_u64().expect("bytes");
        let kept = summary["taken_over"]["raw_bytes"].as_u64().expect("bytes");
        let wanted = bytes * *part as u64 / 200;
        assert!(kept >= wanted, "{kept} bytes of {wanted}: {summary}");
        has_kept(&summary, 1);
        is_whole(pair, &name);
    }
}

both!(what_changed_is_read_again);
fn what_changed_is_read_again(pair: &Pair) {
    filled(pair);
    killed(pair, "a", &after(pair, 90), &[]);
    // Of another tool, or of a table that is gone.
    std::fs::write(pair.path("a").join("shop@gone@@0.tsv.zst"), "x").expect("a file");
    pair.fill("UPDATE shop.numbers SET v = 'other' WHERE id = 77; DELETE FROM shop.parts WHERE id < 100; CREATE TABLE shop.new_one (id INT PRIMARY KEY)");
    // What is damaged is read again, too.
    let files = std::fs::read_dir(pair.path("a")).expect("a directory");
    let mut chunks: Vec<_> = files.map(|f| f.expect("a file").path()).collect();
    chunks.retain(|p| p.to_string_lossy().ends_with(".tsv.zst"));
    let damaged = chunks
        .iter()
        .find(|p| p.to_string_lossy().contains("shop@texts@"))
        .or(chunks.first())
        .expect("a chunk");
    let mut bytes = std::fs::read(damaged).expect("a chunk");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(damaged, bytes).expect("a file");
    let (done, summary) = resumed(pair, "a");
    done.ok();
    let again = summary["read_again"].as_array().expect("a list");
    let of = |table: &str| {
        again
            .iter()
            .filter_map(Value::as_str)
            .any(|l| l.contains(&format!("`{table}`: ")))
    };
    assert!(of("numbers") && of("parts"), "{summary}");
    assert!(!of("texts") && !of("down"), "{summary}");
    has_kept(&summary, 1);
    assert!(!pair.path("a").join("shop@gone@@0.tsv.zst").exists());
    is_whole(pair, "a");
}

both!(killed_again_and_again);
fn killed_again_and_again(pair: &Pair) {
    filled(pair);
    let mut run = 0;
    let places = [
        "the snapshot is taken#1",
        "a task has ended#12",
        "rows are taken over#1",
        "a task has ended#10",
        "what is not kept is removed#1",
        "a task has ended#15",
        "the manifest is written#1",
    ];
    for place in places {
        run += 1;
        let more: &[&str] = if run == 1 { &[] } else { &["--resume"] };
        killed(pair, "a", place, more);
        if run % 2 == 0 {
            pair.fill("UPDATE shop.small SET id = id + 10");
        }
    }
    let (done, summary) = resumed(pair, "a");
    done.ok();
    has_kept(&summary, 1_000);
    is_whole(pair, "a");
    // It is complete now.
    pair.dump("a", &["--resume"])
        .code(10)
        .says(&["complete: there is nothing to resume"]);
}

both!(resumed_in_other_pieces);
// With several readers and other sizes of chunks each time, so that what one run has left lies between what others had planned.
fn resumed_in_other_pieces(pair: &Pair) {
    filled(pair);
    let runs = if thorough() { 12 } else { 5 };
    for run in 0..runs {
        let size = ["256k", "64k", "128k", "64k"][run % 4];
        let more = ["--resume", "--chunk-size", size, "--threads", "4"];
        let place = format!("a task has ended#{}", 9 + run * 4);
        let killed = pair
            .dumping("a", &more)
            .env("PENSTOCK_KILL_AT", place)
            .env("PENSTOCK_PROGRESS_EVERY", "0")
            .run();
        assert!([0, 137].contains(&killed.code), "{killed:?}");
        if killed.code == 0 {
            assert!(run > 2, "nothing was resumed");
            return is_whole(pair, "a");
        }
    }
    let (done, summary) = resumed(pair, "a");
    done.ok();
    has_kept(&summary, 1_000);
    is_whole(pair, "a");
}

both!(what_is_lost_in_between_is_read_once);
// The third run plans smaller ranges in the place of one that the second had planned, and is killed among them.
fn what_is_lost_in_between_is_read_once(pair: &Pair) {
    filled(pair);
    let run = |size: &str, tasks: u32| {
        pair.dumping("a", &["--resume", "--chunk-size", size, "--threads", "1"])
            .env("PENSTOCK_KILL_AT", format!("a task has ended#{tasks}"))
            .env("PENSTOCK_PROGRESS_EVERY", "0")
            .run()
            .code(137);
    };
    run("256k", 2);
    run("256k", 3);
    let first = noted(&pair.path("a"))
        .into_iter()
        .find(|(order, _)| order.len() == 2 && order[1] == 1)
        .expect("the first task of the second run")
        .1;
    std::fs::write(pair.path("a").join(first), "damaged").expect("a file");
    run("64k", 3);
    let (done, summary) = resumed(pair, "a");
    done.ok();
    has_kept(&summary, 1);
    is_whole(pair, "a");
}

/// The tasks that a dump has noted: where each stands, and its first file.
fn noted(path: &Path) -> Vec<(Vec<u64>, String)> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(path).expect("a directory") {
        let file = file.expect("a file");
        let name = file.file_name().into_string().expect("a name");
        if !name.starts_with("penstock.progress.") {
            continue;
        }
        let bytes = std::fs::read(file.path()).expect("a file");
        let batch: Value = serde_json::from_slice(&bytes).expect("JSON");
        for task in batch["tasks"].as_array().into_iter().flatten() {
            let order = task["order"].as_array().expect("an order").iter();
            let order = order.filter_map(Value::as_u64).collect();
            let file = task["chunks"][0]["file"].as_str().expect("a file");
            found.push((order, file.to_owned()));
        }
    }
    found
}

both!(a_run_that_fails_keeps_what_it_has);
fn a_run_that_fails_keeps_what_it_has(pair: &Pair) {
    filled(pair);
    // Also the first one, into a directory that is not there yet.
    let args = [&CUT[..], &["--resume", "--max-rate", "1M"]].concat();
    let running = pair
        .dumping("a", &args)
        .env("PENSTOCK_PROGRESS_EVERY", "0")
        .start();
    let count = || {
        let files = std::fs::read_dir(pair.path("a")).map(Iterator::count);
        files.unwrap_or(0)
    };
    until("some chunks", || count() > 30);
    // While it runs nobody else goes on with it.
    pair.dump("a", &["--resume"])
        .code(10)
        .says(&["still running"]);
    running.signal(Signal::INT);
    running.wait().code(9).says(&["the same command continues"]);
    let (done, summary) = resumed(pair, "a");
    done.ok();
    has_kept(&summary, 1);
    is_whole(pair, "a");
    // Without the option nothing is left.
    let running = pair
        .dumping("b", &[&CUT[..], &["--max-rate", "1M"]].concat())
        .start();
    until("some chunks", || {
        std::fs::read_dir(pair.path("b")).is_ok_and(|files| files.count() > 20)
    });
    running.signal(Signal::INT);
    running.wait().code(9);
    assert!(!pair.path("b").exists());
}

both!(what_cannot_be_resumed);
fn what_cannot_be_resumed(pair: &Pair) {
    filled(pair);
    std::fs::create_dir(pair.path("full")).expect("a directory");
    std::fs::write(pair.path("full").join("x"), "x").expect("a file");
    pair.dump("full", &["--resume"])
        .code(10)
        .says(&["is not empty"]);
    for more in [
        &["--resume", "--ddl-only"][..],
        &["--resume", "--dry-run"],
        &["--resume", "--consistency", "none"],
        &["--resume", "--passphrase-file", "/nonexistent"],
    ] {
        pair.dump("x", more).code(2);
    }
    Tool::new(["dump", "--to", "-", "--resume", "-S", "/nonexistent"])
        .run()
        .code(2)
        .says(&["a stream"]);
    // Killed before it read rows, or with a log that says nothing any more: everything is read.
    killed(pair, "a", "the snapshot is taken#1", &[]);
    let (done, _) = resumed(pair, "a");
    done.ok().says(&["nothing can be used"]);
    is_whole(pair, "a");
    killed(pair, "b", "a task has ended#20", &[]);
    // Of another server; and what is no file of an archive stays, whatever comes of it.
    std::fs::write(pair.path("b").join("notes.txt"), "mine").expect("a file");
    std::fs::create_dir(pair.path("b").join("own")).expect("a directory");
    let files = || std::fs::read_dir(pair.path("b")).map(Iterator::count).ok();
    let there = files();
    pair.target()
        .client("CREATE DATABASE other")
        .expect("a schema");
    let other = ["dump", &pair.target().uri(), "--resume", "--to"];
    Tool::new(other)
        .arg(pair.path("b"))
        .run()
        .code(10)
        .says(&["an unfinished dump of another server"]);
    assert_eq!(files(), there);
    let reset = match pair.is_mysql() {
        true => "RESET BINARY LOGS AND GTIDS",
        false => "RESET MASTER",
    };
    std::thread::sleep(Duration::from_millis(1100));
    pair.source().client(reset).expect("a reset");
    let (done, summary) = resumed(pair, "b");
    done.ok();
    let nothing = summary["taken_over"]["nothing"].as_str();
    assert!(
        nothing.is_some_and(|n| n.contains("was reset")),
        "{summary}"
    );
    for other in ["notes.txt", "own"] {
        assert!(pair.path("b").join(other).exists());
        std::fs::rename(pair.path("b").join(other), pair.path(other)).expect("moved");
    }
    is_whole(pair, "b");
}

/// Writes until `stop`: amounts move between tables, so that two moments in one archive show.
fn writes(pair: &Pair, stop: &AtomicBool, done: &AtomicU64) {
    let mut conn = pair.source().conn().expect("a session");
    while !stop.load(Ordering::SeqCst) {
        let i = done.fetch_add(1, Ordering::SeqCst);
        let mut all = vec![
            "BEGIN".to_owned(),
            "UPDATE shop.one SET n = n - 1".to_owned(),
            "UPDATE shop.two SET n = n + 1".to_owned(),
            "COMMIT".to_owned(),
        ];
        match i % 40 {
            7 => all.push(format!(
                "UPDATE shop.texts SET v = 'x{i}' WHERE b = {}",
                i % 9000
            )),
            17 => all.push(format!("INSERT INTO shop.small (id) VALUES ({})", 100 + i)),
            37 => all.push(format!("INSERT INTO shop.heap VALUES ('{i}')")),
            _ => {}
        }
        for sql in all {
            conn.execute(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// A dump that is killed after so many milliseconds; false if it had ended by then.
fn killed_after(pair: &Pair, name: &str, time: u64) -> bool {
    let mut running = pair
        .dumping(name, &CUT)
        .env("PENSTOCK_PROGRESS_EVERY", "0")
        .start();
    std::thread::sleep(Duration::from_millis(time));
    if running.ended() {
        running.wait().ok();
        return false;
    }
    running.signal(Signal::KILL);
    let code = running.wait().code;
    assert!([0, 128 + Signal::KILL.as_raw()].contains(&code), "{code}");
    code != 0
}

/// Changes of definitions between the runs: MariaDB has no lock that keeps them out while a dump runs.
const CHANGES: [&str; 4] = [
    "TRUNCATE TABLE shop.heap",
    "ALTER TABLE shop.small ADD COLUMN x INT",
    "ALTER TABLE shop.small DROP COLUMN x",
    "RENAME TABLE shop.heap TO shop.pile, shop.pile TO shop.heap",
];

both!(killed_at_random_under_writes);
fn killed_at_random_under_writes(pair: &Pair) {
    filled(pair);
    pair.fill(
        "CREATE TABLE shop.one (id INT PRIMARY KEY, n INT); CREATE TABLE shop.two (id INT PRIMARY KEY, n INT); \
         INSERT INTO shop.one VALUES (1, 100); INSERT INTO shop.two VALUES (1, 100);",
    );
    std::thread::sleep(Duration::from_millis(1100));
    let done = AtomicU64::new(0);
    let mut kept: Vec<Value> = Vec::new();
    for run in 0..if thorough() { 100 } else { 3 } {
        let name = format!("r{run}");
        let stop = AtomicBool::new(false);
        // How many tasks there are depends on the server's statistics, which are a sample.
        let place = after(pair, (run * 37 + 48) % 100);
        let time = 50 + (run as u64 * 97) % 900;
        let summary = std::thread::scope(|scope| {
            let _ends = Ends(&stop);
            scope.spawn(|| writes(pair, &stop, &done));
            let from = done.load(Ordering::SeqCst);
            until("writes", || done.load(Ordering::SeqCst) > from + 3);
            // At the end of a task, or at any moment, before there is a directory as well.
            match run % 3 {
                2 if !killed_after(pair, &name, time) => {
                    let _ = std::fs::remove_dir_all(pair.path(&name));
                }
                2 => {}
                _ => killed(pair, &name, &place, &[]),
            }
            pair.source()
                .client(CHANGES[run % CHANGES.len()])
                .expect("a change");
            let (ended, summary) = resumed(pair, &name);
            ended.ok();
            let from = done.load(Ordering::SeqCst);
            until("writes behind it", || {
                done.load(Ordering::SeqCst) > from + 10
            });
            summary
        });
        kept.push(summary["taken_over"].clone());
        pair.verify(&name).ok();
        loaded(pair, &name);
        let sum = "SELECT (SELECT n FROM shop.one) + (SELECT n FROM shop.two)";
        assert_eq!(pair.target().value(sum).expect("a sum"), "200");
        // The log behind its position makes it what the source is.
        let file = summary["binlog_file"].as_str().expect("a file");
        let at = summary["binlog_position"].as_u64().expect("a position");
        pair.apply_log(file, at);
        pair.same_checksums();
        std::fs::remove_dir_all(pair.path(&name)).expect("removed");
    }
    let rows: u64 = kept.iter().filter_map(|k| k["rows"].as_u64()).sum();
    assert!(rows > 10_000, "{rows}: {kept:#?}");
}

/// A dump into a place of another host that is killed, and continued.
fn elsewhere(pair: &Pair, url: &str, access: &Access) {
    filled(pair);
    let dump = |more: &[&str]| {
        let words = ["dump", &pair.source().uri(), "--to", url];
        tool(&words, access)
            .args(["--chunk-size", "256k", "--threads", "1"])
            .args(more.iter().copied())
            .env("PENSTOCK_PROGRESS_EVERY", "0")
    };
    dump(&[])
        .env("PENSTOCK_KILL_AT", "a task has ended#15")
        .run()
        .code(137);
    pair.fill("UPDATE shop.small SET id = id + 10");
    // While another process has it, which is alive as far as this host can see, nobody takes it.
    let held = dump(&["--resume"])
        .env("PENSTOCK_STOP_AT", "rows are taken over#1")
        .start();
    held.until_stopped();
    dump(&["--resume"]).run().code(10).says(&["still running"]);
    held.signal(Signal::KILL);
    held.wait();
    let done = dump(&["--resume", "--json"]).run().ok();
    let summary = done.summary();
    has_kept(&summary, 1_000);
    let against = pair.source().uri();
    tool(&["verify", url, "--against", &against], access)
        .run()
        .ok();
    tool(&["verify", url], access).run().ok();
    let to = pair.target().uri();
    tool(&["load", url, "--into", &to], access)
        .run()
        .ok()
        .says(&["equal:"]);
    pair.same_checksums();
}

both!(in_s3);
fn in_s3(pair: &Pair) {
    with_s3("dump", |url, access| elsewhere(pair, url, access));
}

both!(by_ssh);
fn by_ssh(pair: &Pair) {
    with_ssh(&pair.path("dump"), |url, access| {
        elsewhere(pair, url, access)
    });
}
