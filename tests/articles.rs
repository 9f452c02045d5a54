//! `./dev article` at its smallest scale: what it shows is so, and nothing of it is left on the machine. No time is asserted.

use crate::kit::{binary, thorough};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::{Kind, available};

/// One run of an article.
struct Run {
    /// The record that its page is made of.
    record: Value,
    /// What it said.
    said: String,
    _directory: tempfile::TempDir,
}

/// Runs an article with the programs under test; `None` where this machine has no server of that kind.
fn article(name: &str, kind: Option<Kind>) -> Option<Run> {
    if kind.is_some_and(|kind| !available(kind)) {
        return None;
    }
    let directory = tempfile::Builder::new()
        .prefix("penstock-article-")
        .tempdir()
        .expect("a directory");
    let page = directory.path().join("page.html");
    let built = binary::path().parent().expect("a directory of programs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new("bash");
    command
        .arg(root.join("dev"))
        .args(["article", name, "--scale", "0", "--page"])
        .arg(&page)
        .env("PENSTOCK_BUILT", built)
        .env("TMPDIR", directory.path())
        .stdin(Stdio::null());
    if kind == Some(Kind::MariaDb) {
        command.args(["--flavour", "mariadb"]);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("bash");
    let namespace = format!("penstock-{}", child.id());
    let done = child.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {said}\n{errors}");
    let record = std::fs::read(page.with_extension("json")).expect("a record");
    let html = std::fs::read_to_string(&page).expect("a page");
    assert!(html.contains("Published, and here"), "{name}");
    let mounts = std::fs::read_to_string("/proc/mounts").expect("mounts");
    let here = directory.path().display().to_string();
    assert!(!mounts.contains(&here), "{name}: something is mounted");
    let left: Vec<_> = std::fs::read_dir(directory.path())
        .expect("a directory")
        .flatten()
        .map(|e| e.file_name())
        .filter(|n| n.to_string_lossy().starts_with("penstock-dev."))
        .collect();
    assert!(left.is_empty(), "{name}: {left:?}");
    assert!(!Path::new("/run/netns").join(namespace).exists(), "{name}");
    Some(Run {
        record: serde_json::from_slice(&record).expect("JSON"),
        said,
        _directory: directory,
    })
}

impl Run {
    /// The table: what, published, here, and a note.
    fn rows(&self) -> Vec<[String; 4]> {
        let rows = self.record["sections"][0]["tables"][0]["rows"].as_array();
        let cell = |row: &Value, n: usize| {
            let text = row[n].as_str().unwrap_or_default();
            text.replace('\u{a0}', " ")
        };
        rows.expect("rows")
            .iter()
            .map(|r| [cell(r, 0), cell(r, 1), cell(r, 2), cell(r, 3)])
            .collect()
    }

    /// What stands here of one thing; it is not left out if the machine lacks it.
    #[track_caller]
    fn here(&self, what: &str) -> String {
        let rows = self.rows();
        let row = rows.iter().find(|r| r[0] == what);
        row.unwrap_or_else(|| panic!("no {what:?} in {rows:#?}"))[2].clone()
    }
}

#[test]
fn disk() {
    let Some(run) = article("disk", None) else {
        return;
    };
    let commits = run.here("durable commits of one session, the machine's disk");
    assert!(commits.ends_with("/s"), "{commits}");
    // What is not here is named.
    let striped = |r: &[String; 4]| r[0].contains("striped");
    assert!(run.rows().iter().any(striped), "{}", run.said);
    assert_eq!(run.record["story"].as_array().map(Vec::len), Some(3));
}

#[test]
fn rate() {
    let Some(run) = article("rate", Some(Kind::MySql)) else {
        return;
    };
    // Bytes at the interface of another host, headers included, in per cent of the limit.
    for what in [
        "10M for each of 4 threads, so 40M",
        "10M for each of 8 threads, so 80M",
        "20M for each of 2 threads, so 40M",
    ] {
        let here = run.here(what);
        let share = here
            .split_once('(')
            .and_then(|(_, rest)| rest.strip_suffix(" %)"));
        let share: u32 = share.expect("a share").parse().expect("a number");
        assert!(share <= 105, "{what}: {here}");
    }
}

#[test]
fn restore() {
    // The script compares each copy, and the settings before and after each load of penstock.
    let Some(run) = article("restore", Some(Kind::MySql)) else {
        return;
    };
    for what in [
        "SQL file, server as it comes",
        "CSV, in parallel, keys last",
        "penstock, the SQL file",
        "penstock, the CSV files",
        "penstock, its archive as tablespaces",
        "penstock, its archive into a stopped server",
    ] {
        assert!(run.here(what).ends_with(" s"), "{what}");
    }
}

/// Minutes of windows of traffic: only with `--thorough`.
#[test]
fn backup() {
    if !thorough() {
        return;
    }
    // The script restores each backup and checks it by the conditions of TPC-C.
    let Some(run) = article("backup", Some(Kind::MySql)) else {
        return;
    };
    for what in [
        "the application alone",
        "mysqldump, over ssh",
        "penstock dump",
        "penstock dump --max-impact 5%",
        "penstock dump of a replica",
    ] {
        let here = run.here(what);
        assert!(here.contains("tpmC"), "{what}: {here}");
    }
    let week = run.here("a dropped table, back as it was the second before");
    assert!(week.ends_with(" s"), "{week}");
}

#[test]
fn warm() {
    let Some(run) = article("warm", Some(Kind::MariaDb)) else {
        return;
    };
    for what in [
        "the live server",
        "physical copy, cold",
        "physical copy, the server's own list",
        "logical copy, penstock warm load",
    ] {
        assert!(run.here(what).ends_with(" s"), "{what}");
    }
    let ramp = "all of the traffic on the logical copy, warm";
    assert!(!run.here(ramp).is_empty());
}
