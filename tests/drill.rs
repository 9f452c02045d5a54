//! A drill restores a backup into a server of its own, and what came of it is seen in lists and metrics.

use crate::kit::{Done, Pair, Tool, both, chromium};
use rustix::process::Signal;
use serde_json::Value;

const ROWS: &str = "CREATE DATABASE t_a; CREATE TABLE t_a.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200)); \
    INSERT INTO t_a.t (v) VALUES ('a'), ('b'), ('c'); CREATE VIEW t_a.w AS SELECT v FROM t_a.t";

/// A command about the repository of this pair.
fn verb(pair: &Pair, words: &[&str]) -> Tool {
    Tool::new(words.iter().copied()).args(["--repository".into(), pair.path("repo")])
}

fn backup(pair: &Pair, name: &str) -> String {
    let done = verb(pair, &["backup", name, &pair.source().uri(), "--json"]).run();
    let id = done.ok().summary()["backup"]["id"].clone();
    id.as_str().expect("an id").to_owned()
}

fn drill(pair: &Pair, words: &[&str]) -> Done {
    let scratch = pair.path("scratch");
    let done = drilling(pair, words).run();
    // Nothing stays, whatever came of it.
    let left: Vec<_> = std::fs::read_dir(&scratch).expect("a directory").collect();
    assert!(left.is_empty(), "{left:?}\n{}", done.said());
    done
}

/// A drill that has not begun.
fn drilling(pair: &Pair, words: &[&str]) -> Tool {
    let scratch = pair.path("scratch");
    std::fs::create_dir_all(&scratch).expect("made");
    let program = pair
        .source()
        .install()
        .one_program(&pair.path("mysqld"))
        .expect("a program");
    verb(pair, &[&["drill"], words].concat())
        .args(["--scratch".into(), scratch])
        .args(["--mysqld".into(), program])
}

both!(what_a_killed_drill_left_is_removed_by_the_next);
fn what_a_killed_drill_left_is_removed_by_the_next(pair: &Pair) {
    pair.fill(ROWS);
    Tool::new(["init".into(), pair.path("repo")]).run().ok();
    backup(pair, "shop");
    let killed = drilling(pair, &[])
        .env(
            "PENSTOCK_STOP_AT",
            "all is there on a server of the load's own#1",
        )
        .start();
    killed.until_stopped();
    killed.signal(Signal::KILL);
    killed.wait();
    let scratch = pair.path("scratch");
    let left = std::fs::read_dir(&scratch).expect("a directory").flatten();
    let left: Vec<_> = left.map(|e| e.path()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let running = || -> usize {
        let within = left[0].display().to_string();
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        let lines = processes.filter_map(|p| std::fs::read(p.path().join("cmdline")).ok());
        lines
            .filter(|line| String::from_utf8_lossy(line).contains(&within))
            .count()
    };
    assert!(running() > 0, "no server was left");
    // Another one that is under way keeps what it has.
    let other = drilling(pair, &[])
        .env(
            "PENSTOCK_STOP_AT",
            "all is there on a server of the load's own#1",
        )
        .start();
    other.until_stopped();
    assert!(!left[0].exists());
    assert_eq!(running(), 0);
    let third = drilling(pair, &[]).run();
    third.ok().says(&["The backup is proven"]);
    other.signal(Signal::CONT);
    other.wait().ok().says(&["The backup is proven"]);
    assert_eq!(std::fs::read_dir(&scratch).expect("a directory").count(), 0);
}

fn listed(pair: &Pair) -> Vec<Value> {
    let list = verb(pair, &["list", "--json"]).run().ok().summary();
    list["backups"].as_array().expect("backups").clone()
}

/// The page has the backups, what the drills found, and nothing that a browser complains of.
fn shown_as_a_page(pair: &Pair, failed: &str, proven: &str) {
    let page = pair.path("page.html");
    let written = || {
        let to = ["--html".into(), page.clone()];
        verb(pair, &["list"]).args(to).run()
    };
    written().ok().says(&[failed, proven]);
    written().ok();
    let html = std::fs::read_to_string(&page).expect("a page");
    let marked = |title: &str| html.contains(&format!("<title>drill of {title}"));
    assert!(marked(failed) && marked(proven), "{html}");
    assert!(html.contains("did not prove the backup"), "{html}");
    assert!(html.contains("age of the last proven backup"));
    let both = verb(pair, &["list", "--json"]).args(["--html".into(), page.clone()]);
    both.run().ok().summary();
    verb(pair, &["list", "--json", "--html", "-"]).run().code(2);
    let only = verb(pair, &["list", "--html", "-"]).run().ok();
    assert!(only.out.starts_with("<!doctype html>") && only.out.contains(proven));
    // What penstock did not write is not replaced.
    std::fs::write(&page, "mine").expect("written");
    written()
        .code(10)
        .says(&["no page that penstock has written"]);
    assert_eq!(std::fs::read(&page).expect("a file"), b"mine");
    std::fs::remove_file(&page).expect("removed");
    written().ok();
    let Some(browser) = chromium::find() else {
        return;
    };
    let own = tempfile::tempdir().expect("a directory");
    let opened = chromium::open(&browser, &page, own.path());
    assert!(opened.console.is_empty(), "{:#?}", opened.console);
    assert!(opened.dom.contains("This page is complete"));
    assert!(opened.dom.matches("<svg class=\"plot\"").count() >= 3);
}

/// A drill counts by its contents: a name alone proves nothing.
fn what_counts(pair: &Pair) {
    let drills = pair.path("repo/drills");
    let names = || -> Vec<String> {
        let all = std::fs::read_dir(&drills).expect("drills").flatten();
        all.map(|e| e.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let before = (listed(pair), names());
    let failed = before.1.iter().find(|n| n.ends_with("@failed.json"));
    let failed = failed.expect("a failed drill");
    let (failed, proven) = (drills.join(failed), failed.replace("@failed", "@proven"));
    let summary = || verb(pair, &["list", "--json"]).run().ok().summary();
    std::fs::rename(&failed, drills.join(&proven)).expect("renamed");
    assert_eq!(summary()["damaged_drills"], serde_json::json!([proven]));
    verb(pair, &["list"])
        .run()
        .ok()
        .says(&[&proven, "does not count"]);
    assert_eq!(listed(pair), before.0);
    std::fs::rename(drills.join(&proven), &failed).expect("renamed");
    assert_eq!(summary()["damaged_drills"], serde_json::json!([]));
    // The only proof, emptied.
    let proof = before.1.iter().find(|n| n.ends_with("@proven.json"));
    let proof = drills.join(proof.expect("a proof"));
    let bytes = std::fs::read(&proof).expect("read");
    std::fs::write(&proof, "").expect("written");
    assert!(listed(pair).iter().all(|b| b["proven"].is_null()));
    std::fs::write(&proof, bytes).expect("written");
    assert_eq!(listed(pair), before.0);
}

both!(proven_and_not_proven);
fn proven_and_not_proven(pair: &Pair) {
    pair.fill(ROWS);
    Tool::new(["init".into(), pair.path("repo")]).run().ok();
    drill(pair, &[]).code(2).says(&["there is no backup"]);
    let first = backup(pair, "shop");
    pair.fill("INSERT INTO t_a.t (v) VALUES ('later')");
    let second = backup(pair, "shop");
    let checks = pair.path("checks.sql");
    std::fs::write(
        &checks,
        "-- rows\nSELECT COUNT(*) = 4 FROM t_a.t;\n\nSELECT v FROM t_a.w\n",
    )
    .expect("written");
    let metrics = pair.path("penstock.prom");
    let (checks, metrics) = (checks.display().to_string(), metrics.display().to_string());
    drill(pair, &["--check-file", &checks, "--metrics-file", &metrics])
        .ok()
        .says(&["The backup is proven", &second, "4 rows, 2 checks"]);
    let all = listed(pair);
    assert!(
        all[0]["proven"].is_null() && all[1]["proven"].is_string(),
        "{all:?}"
    );
    let text = std::fs::read_to_string(&metrics).expect("metrics");
    for line in [
        "penstock_backups{server=\"shop\"} 2",
        "penstock_last_drill_proven{server=\"shop\"} 1",
        "# TYPE penstock_last_proven_backup_timestamp_seconds gauge",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // Of the older one the same check is not true.
    drill(
        pair,
        &[&first, "--check-file", &checks, "--check", "SELECT 1"],
    )
    .code(4)
    .says(&["NOT PROVEN", "NOT TRUE", "it returns '0'", "is not proven"]);
    drill(pair, &[&second, "--check", "SELECT v FROM t_a.none"])
        .code(4)
        .says(&["NOT TRUE"]);
    drill(
        pair,
        &[&second, "--check", "SELECT 1 FROM t_a.t WHERE v = 'x'"],
    )
    .code(4)
    .says(&["no row"]);
    let written: Vec<String> = std::fs::read_dir(pair.path("repo/drills"))
        .expect("drills")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        written
            .iter()
            .any(|n| n.contains(&first) && n.ends_with("@failed.json")),
        "{written:?}"
    );
    shown_as_a_page(pair, &first, &second);
    what_counts(pair);
    // A check that takes longer than it may is not true, and the next ones are asked all the same.
    let slow = ["--check", "SELECT SLEEP(1000) + 1", "--check", "SELECT 1"];
    let late = drill(
        pair,
        &[&[&second[..], "--check-timeout", "1s"], &slow[..]].concat(),
    );
    late.code(4).says(&[
        "NOT TRUE",
        "it did not end within 1.00 s",
        "4 rows, 2 checks",
    ]);
    drill(pair, &[&second, "--check-timeout", "1s"])
        .code(2)
        .says(&["there is none"]);
    drill(
        pair,
        &[&[&second[..], "--check-timeout", "0"], &slow[..]].concat(),
    )
    .code(2)
    .says(&["--check-timeout is 0"]);
    // A check that takes long is stopped, and proves nothing.
    let slow = drilling(pair, &[&second, "--check", "SELECT SLEEP(1000) + 1"]).start();
    let began = std::time::Instant::now();
    slow.until_it_says("comparing rows");
    std::thread::sleep(std::time::Duration::from_secs(2));
    slow.signal(Signal::TERM);
    slow.wait().code(9);
    assert!(began.elapsed().as_secs() < 120, "{:?}", began.elapsed());
    assert!(listed(pair)[1]["proven"].is_string());
    let other_flavour = if pair.is_mysql() {
        "mariadbd"
    } else {
        "mysqld"
    };
    let fake = pair.path(other_flavour);
    let says = if pair.is_mysql() {
        "Ver 10.11.1-MariaDB"
    } else {
        "Ver 9.7.0"
    };
    std::fs::write(&fake, format!("#!/bin/sh\necho '{says}'\n")).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&fake, mode).expect("a mode");
    let words = ["drill", &second, "--mysqld", fake.to_str().expect("UTF-8")];
    verb(pair, &words)
        .run()
        .code(2)
        .says(&["is a server of", "the backup is of"]);
    std::fs::write(pair.path("mine"), "mine").expect("written");
    let mine = pair.path("mine").display().to_string();
    verb(pair, &["list", "--metrics-file", &mine])
        .run()
        .code(10)
        .says(&["something else than metrics"]);
    // Each server; one of them damaged.
    let other = backup(pair, "other");
    let archive = pair.path("repo/backups/other").join(&other);
    let is_chunk = |p: &std::path::PathBuf| p.to_string_lossy().ends_with(".tsv.zst");
    let files = std::fs::read_dir(&archive).expect("files").flatten();
    let chunk = files.map(|e| e.path()).find(is_chunk).expect("a chunk");
    let mut bytes = std::fs::read(&chunk).expect("a chunk");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&chunk, bytes).expect("written");
    drill(pair, &["--random", "--metrics-file", &metrics])
        .code(5)
        .says(&["2 backups: 1 NOT PROVEN", "FAILED", "restored and compared"]);
    let text = std::fs::read_to_string(&metrics).expect("metrics");
    assert!(
        text.contains("penstock_last_drill_proven{server=\"other\"} 0"),
        "{text}"
    );
    // What prevents a drill says nothing about the backup.
    let before = std::fs::read_dir(pair.path("repo/drills"))
        .expect("drills")
        .count();
    let none = verb(pair, &["drill", &second, "--mysqld", "/nonexistent/mysqld"]);
    assert_ne!(none.run().code, 0);
    let after = std::fs::read_dir(pair.path("repo/drills"))
        .expect("drills")
        .count();
    assert_eq!(before, after);
    // The last proof outlives its backup; other drills of what is gone do not.
    backup(pair, "shop");
    verb(
        pair,
        &["prune", "--keep-last", "1", "--server-name", "shop"],
    )
    .run()
    .ok();
    let left: Vec<String> = std::fs::read_dir(pair.path("repo/drills"))
        .expect("drills")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| n.starts_with("shop@"))
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].ends_with("@proven.json"));
}
