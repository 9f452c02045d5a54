//! `penstock bench compare`: the same benchmark on both sides, differences told from noise, other circumstances named.

use crate::kit::{Pair, Tool, both};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn compare(a: &Path, b: &Path) -> Tool {
    Tool::new(["bench", "compare"]).arg(a).arg(b)
}

/// A record of a benchmark of disks as it is written, with these runs of one pattern.
fn disks(directory: &str, penstock: &str, runs: &[f64]) -> Value {
    let low = runs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = runs.iter().copied().fold(0.0, f64::max);
    json!({
        "format": "penstock-record", "version": 1, "kind": "disk", "title": "x", "penstock": penstock,
        "outcome": {"state": "complete"},
        "facts": [["machine", "2 cores"]],
        "sections": [{"bars": [
            {"title": "random read", "unit": "pages/s", "better": "higher", "median": true, "items": [
                {"label": directory, "mean": runs[0], "low": low, "high": high, "n": runs.len(), "runs": runs}]},
            {"title": "how long", "unit": "%", "items": [{"label": "0 to 1 ms", "mean": 100.0}]}]}],
    })
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().expect("a directory"))
    }

    fn write(&self, name: &str, value: &Value) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(&path, value.to_string()).expect("a file");
        path
    }
}

/// The verdict on the only figure.
#[track_caller]
fn verdict(a: &Path, b: &Path) -> String {
    let summary = compare(a, b).arg("--json").run().ok().summary();
    let figures = summary["figures"].as_array().expect("figures");
    assert_eq!(figures.len(), 1, "{summary:#}");
    figures[0]["verdict"].as_str().expect("a word").to_owned()
}

#[test]
fn differences_are_told_from_noise() {
    let files = Files::new();
    let of = |name: &str, runs: &[f64]| files.write(name, &disks("/a", "0.1.0", runs));
    let slow = of("slow.json", &[100.0, 101.0, 99.0, 102.0, 98.0]);
    let fast = of("fast.json", &[120.0, 121.0, 119.0, 122.0, 118.0]);
    let wide = of("wide.json", &[80.0, 101.5, 130.0, 99.5, 103.0]);
    let (three, other_three) = (
        of("3.json", &[1.0, 2.0, 3.0]),
        of("4.json", &[4.0, 5.0, 6.0]),
    );
    let two = of("2.json", &[1.0, 2.0]);
    for (a, b, wanted) in [
        (&slow, &fast, "differs"),
        (&slow, &slow, "noise"),
        (&slow, &wide, "noise"),
        (&three, &other_three, "ranges-apart"),
        (&three, &slow, "ranges-apart"),
        (&two, &slow, "undecided"),
    ] {
        assert_eq!(verdict(a, b), wanted, "{} {}", a.display(), b.display());
    }
    compare(&slow, &fast).run().ok().says(&[
        "+20.0 %",
        "better (p = 0.008)",
        "1 of 1 figures differ",
    ]);
    compare(&fast, &slow)
        .run()
        .ok()
        .says(&["worse (p = 0.008)"]);
    let page = files.0.path().join("compared.html");
    let paged = || compare(&slow, &fast).arg("--to").arg(&page).run();
    paged().ok().says(&["compared.html"]);
    let html = std::fs::read_to_string(&page).expect("the page");
    for text in [
        "penstock bench compare",
        "better (p = 0.008)",
        "1 of 1 figures differ",
    ] {
        assert!(html.contains(text), "{text}");
    }
    // Its own page is replaced, another file is not.
    paged().ok();
    std::fs::write(&page, "mine").expect("a file");
    paged().code(10);
    compare(&two, &slow)
        .run()
        .ok()
        .says(&["undecided: only 2 runs"]);

    // A directory of records has their runs.
    for (i, run) in [1.0, 2.0].into_iter().enumerate() {
        files.write(
            &format!("many/{i}.json"),
            &disks("/a", "0.1.0", &[run, run + 0.1]),
        );
    }
    let summary = compare(&files.0.path().join("many"), &slow)
        .arg("--json")
        .run()
        .ok()
        .summary();
    assert_eq!(summary["figures"][0]["a"]["n"], 4, "{summary:#}");
    assert_eq!(summary["figures"][0]["verdict"], "differs");
}

#[test]
fn other_circumstances_are_named_and_other_benchmarks_refused() {
    let files = Files::new();
    let a = files.write("a.json", &disks("/a", "0.1.0", &[1.0, 2.0, 3.0]));
    let b = files.write("b.json", &disks("/b", "0.2.0", &[1.0, 2.0, 3.0]));
    // One directory each: they are compared, whatever they are called.
    compare(&a, &b)
        .run()
        .ok()
        .says(&["measured in: /a → /b", "penstock: 0.1.0 → 0.2.0"]);
    let mut impact = disks("/a", "0.1.0", &[1.0]);
    impact["kind"] = "impact".into();
    let impact = files.write("impact.json", &impact);
    compare(&a, &impact)
        .run()
        .code(2)
        .says(&["different benchmarks"]);
    let mut dump = disks("/a", "0.1.0", &[1.0]);
    dump["kind"] = "dump".into();
    let dump = files.write("dump.json", &dump);
    compare(&a, &dump)
        .run()
        .code(2)
        .says(&["penstock dump, and no benchmark", "penstock report"]);
    let mut failed = disks("/a", "0.1.0", &[1.0]);
    failed["outcome"]["state"] = "failed".into();
    let failed = files.write("failed.json", &failed);
    compare(&a, &failed)
        .run()
        .code(2)
        .says(&["did not complete"]);
    let none = files.write("none.json", &json!({"a": 1}));
    compare(&a, &none)
        .run()
        .code(2)
        .says(&["not a record of a run"]);
    compare(&a, &files.0.path().join("gone.json")).run().code(8);
    std::fs::create_dir(files.0.path().join("empty")).expect("a directory");
    compare(&a, &files.0.path().join("empty"))
        .run()
        .code(2)
        .says(&["holds no results"]);
    // Files of two benchmarks are not one side.
    let mixed = files.0.path().join("mixed");
    files.write("mixed/a.json", &disks("/a", "0.1.0", &[1.0]));
    std::fs::copy(&impact, mixed.join("b.json")).expect("a copy");
    compare(&mixed, &a)
        .run()
        .code(2)
        .says(&["of different benchmarks"]);
}

/// The newest recording whose name is a date and `rest`: a new one moves its predecessor to another directory.
fn newest(directory: &Path, rest: &str) -> PathBuf {
    let named = |name: &str| name.strip_suffix(rest).map(str::len) == Some("2026-01-01-".len());
    let names = std::fs::read_dir(directory).expect("a directory");
    let paths = names.map(|entry| entry.expect("an entry").path());
    let is_one = |path: &PathBuf| named(&path.file_name().expect("a name").to_string_lossy());
    paths.filter(is_one).max().expect("a recording")
}

/// Recordings of this repository.
#[test]
fn recordings_of_the_benchmarks_are_compared() {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench");
    let done = compare(
        &newest(&bench.join("rows"), "mysql-tpcc.json"),
        &newest(&bench.join("rows"), "mariadb-tpcc.json"),
    )
    .arg("--json")
    .run()
    .ok();
    let summary = done.summary();
    assert!(
        summary["figures"].as_array().map(Vec::len) > Some(5),
        "{summary:#}"
    );
    let differing = summary["differing"].as_array().expect("a list");
    assert!(
        differing.iter().any(|d| d["name"] == "server"),
        "{summary:#}"
    );
    assert!(
        !differing.iter().any(|d| d["name"] == "date"),
        "{summary:#}"
    );
    let impact = |rest: &str| newest(&bench.join("impact"), rest);
    let done = compare(&impact("mysql.json"), &impact("mysql-256M.json"))
        .run()
        .ok();
    done.says(&[
        "Throughput while a backup is taken",
        "figures differ by more than noise",
    ]);
    compare(
        &impact("mysql.json"),
        &newest(&bench.join("rows"), "mysql-tpcc.json"),
    )
    .run()
    .code(2)
    .says(&["different benchmarks"]);
}

both!(runs_of_tpcc_are_recorded_and_compared);
fn runs_of_tpcc_are_recorded_and_compared(pair: &Pair) {
    let server = pair.source();
    let tool = |verb: &str| {
        Tool::new(["bench", "tpcc", verb, "--user", "root", "--socket"]).arg(server.socket())
    };
    tool("load").args(["-w", "1", "--threads", "2"]).run().ok();
    let directory = pair.path("runs");
    std::fs::create_dir(&directory).expect("a directory");
    let mut last = 0.0;
    for n in 1..=3 {
        let done = tool("run")
            .args([
                "-c",
                "2",
                "--ramp",
                "0",
                "--measure",
                "300ms",
                "--json",
                "--record",
            ])
            .arg(directory.join(format!("{n}.json")))
            .run()
            .ok();
        last = done.summary()["tpmc"].as_f64().expect("a figure");
    }
    let one = directory.join("3.json");
    let summary = compare(&directory, &one).arg("--json").run().ok().summary();
    let figures = summary["figures"].as_array().expect("figures");
    let tpmc = figures
        .iter()
        .find(|f| f["figure"] == "tpmC")
        .expect("tpmC");
    assert_eq!((&tpmc["a"]["n"], &tpmc["b"]["n"]), (&json!(3), &json!(1)));
    assert_eq!(tpmc["b"]["middle"].as_f64(), Some(last));
    assert_eq!(tpmc["verdict"], "undecided");
    let summary = compare(&directory, &directory)
        .arg("--json")
        .run()
        .ok()
        .summary();
    assert_eq!(summary["figures"][0]["verdict"], "noise");
    assert_eq!(summary["differing"], json!([]));
    Tool::new(["report"])
        .arg(&one)
        .run()
        .ok()
        .says(&["3.html", "TPC-C"]);
}

/// A pipe would be waited for until somebody writes to it.
#[test]
fn a_pipe_is_refused() {
    let files = Files::new();
    let record = files.write("a.json", &disks("/a", "1", &[1.0, 2.0, 3.0]));
    let pipe = files.0.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let refused = "it is no regular file";
    compare(&pipe, &record).run().code(8).says(&[refused]);
    compare(&record, &pipe).run().code(8).says(&[refused]);
    let report = Tool::new(["report"]).arg(&pipe);
    report.run().code(8).says(&[refused]);
}
