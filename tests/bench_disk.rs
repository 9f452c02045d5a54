//! `penstock bench disk`: every pattern gives figures, by io_uring and by threads, also in the directories of a server, and
//! limits hold. How fast a disk is, no test knows.

use crate::kit::chromium;
use crate::kit::{Done, Pair, Tool, both};
use serde_json::Value;
use std::path::Path;

/// The directory that a run makes.
pub const WORK: &str = "penstock-bench-disk";

/// A run in this directory.
pub fn disk(directory: &Path) -> Tool {
    Tool::new(["bench", "disk"]).arg(directory)
}

/// The same with little to write and little to wait for.
pub fn small(directory: &Path) -> Tool {
    disk(directory).args([
        "--size",
        "8M",
        "--runs",
        "2",
        "--ramp",
        "0",
        "--measure",
        "60ms",
    ])
}

/// The pattern with the smallest files.
pub fn commits(directory: &Path) -> Tool {
    small(directory).args(["--pattern", "commit"])
}

/// Asserts that the directory is empty.
#[track_caller]
pub fn nothing_left(directory: &Path) {
    let left: Vec<_> = std::fs::read_dir(directory)
        .expect("a directory")
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A directory, until it is dropped.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

const PATTERNS: [&str; 19] = [
    "write",
    "write_preallocated",
    "rewrite",
    "read",
    "random_read_1",
    "random_read_4",
    "random_read_16",
    "random_read_64",
    "random_write_1",
    "random_write_4",
    "random_write_16",
    "random_write_64",
    "commit_1",
    "commit_4",
    "commit_16",
    "commit_fsync_1",
    "doublewrite",
    "small_files",
    "mixed",
];

/// The figures of a pattern in the n-th directory.
#[track_caller]
pub fn pattern<'v>(summary: &'v Value, n: usize, name: &str) -> &'v Value {
    let found = &summary["volumes"][n]["patterns"][name];
    assert!(found.is_object(), "{name}: {summary:#}");
    found
}

#[track_caller]
fn measured(done: &Done, directories: usize, patterns: &[&str]) {
    let summary = done.summary();
    assert_eq!(
        summary["volumes"].as_array().map(Vec::len),
        Some(directories)
    );
    for n in 0..directories {
        let all = summary["volumes"][n]["patterns"]
            .as_object()
            .expect("patterns");
        let names: Vec<&String> = all.keys().collect();
        assert_eq!(names, patterns);
        for (name, p) in all {
            let runs = p["runs"].as_array().expect("runs");
            assert_eq!(runs.len(), 2, "{name}: {p:#}");
            assert!(p["rate"]["median"].as_f64() > Some(0.0), "{name}: {p:#}");
            let (p50, max) = (&p["latency_ms"]["p50"], &p["latency_ms"]["max"]);
            assert!(
                p50.as_f64() <= max.as_f64() && max.as_f64() > Some(0.0),
                "{name}: {p:#}"
            );
            let shares = p["histogram_ms"].as_array().expect("a histogram").iter();
            let sum: f64 = shares.filter_map(|b| b["share"].as_f64()).sum();
            assert!((sum - 1.0).abs() < 0.02, "{name}: {p:#}");
        }
    }
}

#[test]
fn every_pattern_is_measured_in_every_directory() {
    let (dir, to) = (directory(), directory());
    let places = ["a", "b"].map(|n| dir.path().join(n));
    for place in &places {
        std::fs::create_dir(place).expect("a directory");
    }
    let record = to.path().join("disks.json");
    let done = small(&places[0])
        .arg(&places[1])
        .args(["--json", "--record"])
        .arg(&record)
        .run()
        .ok();
    measured(&done, 2, &PATTERNS);
    let summary = done.summary();
    assert!(summary["volumes"][0]["commit_ms"]["p50"].as_f64() > Some(0.0));
    assert!(summary["volumes"][0]["new_orders_per_minute"]["median"].as_f64() > Some(0.0));
    places.iter().for_each(|p| nothing_left(p));

    // The page, in a browser if there is one.
    let page = to.path().join("disks.html");
    Tool::new(["report"])
        .arg(&record)
        .run()
        .ok()
        .says(&["disks.html"]);
    let html = std::fs::read_to_string(&page).expect("the page");
    for text in [
        "What each pattern reaches",
        "How long",
        "The rate over time",
        "random write, queue depth 64",
        "A bar is the median",
    ] {
        let there = html.to_lowercase().contains(&text.to_lowercase());
        assert!(there, "{text}");
    }
    if let Some(browser) = chromium::find() {
        let own = directory();
        let opened = chromium::open(&browser, &page, own.path());
        assert!(opened.console.is_empty(), "{:#?}", opened.console);
        assert!(opened.dom.contains("doublewrite") && opened.dom.contains("<svg"));
    }
}

#[test]
fn the_summary_says_what_the_figures_mean() {
    let dir = directory();
    let done = small(dir.path())
        .args(["--pattern", "commit", "--pattern", "mixed"])
        .run()
        .ok();
    done.says(&[
        "a commit here waits",
        "durable commits a second from one session",
        "from 16 with group commit",
        "TPC-C New-Orders a minute",
        "cannot be seen from 2 runs",
    ]);
    // Several sessions share syncs; one alone has one for each commit.
    let done = commits(dir.path()).arg("--json").run().ok();
    measured(
        &done,
        1,
        &["commit_1", "commit_4", "commit_16", "commit_fsync_1"],
    );
    let summary = done.summary();
    let syncs = &pattern(&summary, 0, "commit_16")["syncs"];
    assert!(syncs[0].as_f64() > Some(0.0), "{syncs}");
    nothing_left(dir.path());
}

#[test]
fn pages_are_moved_by_threads_too() {
    let dir = directory();
    let patterns = [
        "--pattern",
        "random-read",
        "--pattern",
        "random-write",
        "--pattern",
        "doublewrite",
    ];
    let done = small(dir.path())
        .args(patterns)
        .args(["--engine", "threads", "--json"])
        .run()
        .ok();
    let names: Vec<&str> = PATTERNS
        .into_iter()
        .filter(|p| p.starts_with("random") || *p == "doublewrite")
        .collect();
    measured(&done, 1, &names);
    assert_eq!(done.summary()["engine"], "threads with pread and pwrite");
    nothing_left(dir.path());
}

/// Runs the program so that the kernel refuses it io_uring, as a container's seccomp profile does.
#[cfg(target_arch = "x86_64")]
fn without_io_uring(directory: &Path, engine: &str) -> Option<std::process::Output> {
    // Load the number of the system call; io_uring_setup (425) fails with EPERM, all others pass.
    const PERL: &str = r#"
        my $f = pack("SCCL" x 4, 0x20,0,0,0, 0x15,0,1,425, 0x06,0,0,0x00050001, 0x06,0,0,0x7fff0000);
        my $prog = pack("S x6 P", 4, $f);
        syscall(157, 38, 1, 0, 0, 0) == 0 or exit 99;
        syscall(317, 1, 0, $prog) == 0 or exit 99;
        exec @ARGV or exit 99;
    "#;
    let out = std::process::Command::new("perl")
        .args(["-e", PERL])
        .arg(crate::kit::binary::path())
        .args([
            "bench",
            "disk",
            "--size",
            "8M",
            "--runs",
            "1",
            "--ramp",
            "0",
            "--measure",
            "50ms",
        ])
        .args(["--pattern", "random-read", "--engine", engine])
        .arg(directory)
        .env("PENSTOCK_CONFIG", "/dev/null")
        .output();
    match out {
        Ok(out) if out.status.code() != Some(99) => Some(out),
        _ => {
            testkit::skip("seccomp", "no perl, or no seccomp filters here");
            None
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn where_io_uring_is_refused_threads_do() {
    let dir = directory();
    let said = |out: &std::process::Output| {
        let text = [out.stdout.as_slice(), &out.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    };
    let Some(out) = without_io_uring(dir.path(), "auto") else {
        return;
    };
    let text = said(&out);
    assert!(out.status.success(), "{text}");
    assert!(
        text.contains("because io_uring is refused: Operation not permitted"),
        "{text}"
    );
    if let Some(out) = without_io_uring(dir.path(), "io_uring") {
        let text = said(&out);
        assert_eq!(out.status.code(), Some(1), "{text}");
        assert!(text.contains("--engine threads"), "{text}");
    }
    nothing_left(dir.path());
}

#[test]
fn limits_hold() {
    let dir = directory();
    let done = small(dir.path())
        .args(["--pattern", "random-read", "--max-rate", "32M", "--json"])
        .run()
        .ok();
    let summary = done.summary();
    // 2,048 pages a second, and what the limiter grants at once.
    for depth in [1, 64] {
        let p = pattern(&summary, 0, &format!("random_read_{depth}"));
        let (rate, seconds) = (&p["rate"]["high"], &p["seconds"][0]);
        let most = 2048.0 * (1.0 + 0.2 / seconds.as_f64().expect("seconds")) + 64.0 / 0.06;
        assert!(rate.as_f64() < Some(most), "{p:#}");
    }
    // What does not fit is named.
    let commit = |runs: &str, most: &str| {
        let tool = disk(dir.path()).args(["--size", "8M", "--pattern", "commit", "--json"]);
        tool.args(["--runs", runs, "--max-time", most]).run()
    };
    let done = commit("100", "2s")
        .code(3)
        .says(&["each measurement takes"]);
    let summary = done.summary();
    let left = summary["not_measured"].as_array().expect("a list");
    // One line for each pattern, and the number of runs is that of those that were made.
    assert!(!left.is_empty() && left.len() <= 4, "{left:?}");
    let all = summary["volumes"][0]["patterns"]
        .as_object()
        .expect("patterns");
    let made = all
        .values()
        .map(|p| p["runs"].as_array().map_or(0, Vec::len));
    let fewest = made.min().unwrap_or(0);
    assert!(fewest < 100);
    assert_eq!(summary["fewest_runs"], fewest, "{summary}");
    commit("1", "1ms").code(12).says(&["--max-time", "--size"]);
    nothing_left(dir.path());
}

#[test]
fn a_rate_that_leaves_nothing_to_measure_is_refused() {
    let dir = directory();
    let at = |rate: &str, more: &[&str]| {
        let tool = disk(dir.path()).args(["--size", "8M", "--max-rate", rate]);
        tool.args(more.iter().copied()).run()
    };
    at("100k", &["--pattern", "random-read", "--max-time", "5s"])
        .code(12)
        .says(&["to write the files", "nothing was written", "--size"]);
    at("100k", &["--pattern", "sequential", "--measure", "1s"])
        .code(12)
        .says(&["one operation of", "nothing was written", "--pattern"]);
    // The others are measured.
    let some = [
        "--pattern",
        "sequential",
        "--pattern",
        "commit",
        "--measure",
        "60ms",
    ];
    let done = at("1M", &[&some[..], &["--runs", "1", "--ramp", "0"]].concat()).code(3);
    done.says(&[
        "sequential rewrite: one operation takes longer",
        "commit, 1 session",
    ]);
    nothing_left(dir.path());
}

both!(the_directories_of_a_server_are_measured);
fn the_directories_of_a_server_are_measured(pair: &Pair) {
    let server = pair.source();
    let uri = format!(
        "mysql://root@localhost/?socket={}",
        server.socket().display()
    );
    let before = crate::kit::pair::schemas(server);
    let done = Tool::new(["bench", "disk", "--no-defaults", "--of", &uri, "--json"])
        .args([
            "--size",
            "8M",
            "--runs",
            "2",
            "--ramp",
            "0",
            "--measure",
            "60ms",
            "--pattern",
            "commit",
        ])
        .run()
        .ok();
    let summary = done.summary();
    let name = summary["volumes"][0]["name"].as_str().expect("a name");
    for use_ in ["data", "redo log"] {
        assert!(name.contains(use_), "{name}");
    }
    assert!(
        summary["server"]
            .as_str()
            .is_some_and(|s| s.contains("at ")),
        "{summary}"
    );
    assert_eq!(crate::kit::pair::schemas(server), before);
    let datadir = server.value("SELECT @@datadir").expect("a path");
    for place in [
        Path::new(&datadir),
        Path::new(&datadir).parent().expect("a parent"),
    ] {
        assert!(!place.join(WORK).exists(), "{}", place.display());
    }
}
