//! A run is recorded however it ends. The report made from the record is complete, harmless, and
//! loads nothing from elsewhere.

use crate::kit::chromium;
use crate::kit::waiting::until_some;
use crate::kit::{Done, Pair, Tool, both};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Text that must not become markup; if it did, the browser would contact the address.
fn hostile(address: &str) -> String {
    format!("</script></title><img src=http://{address}/x onerror=alert(1)>\u{202e}🐘'\"&")
}

/// A record of an impact run as the benchmark writes it, with this text as every name.
fn impact(name: &str) -> Value {
    let points: Vec<Value> = (0..120).map(|i| json!([i, 1000 + i % 7])).collect();
    let timeline = |title: &str| {
        json!({"title": title, "seconds": 120.0,
            "charts": [{"title": "Throughput", "unit": "tpmC", "series": [{"name": name,
                "points": points}], "limits": [{"label": name, "value": 900.0}]}],
            "spans": [{"name": name, "kind": "backup", "from": 20.0, "to": 90.0}],
            "marks": [{"at": 30.0, "text": name}]})
    };
    json!({
        "format": "penstock-record", "version": 1, "kind": "impact", "title": name,
            "penstock": "0.1.0",
        "begin": "2026-01-02T03:04:05Z", "end": "2026-01-02T03:14:05Z", "seconds": 600.0,
        "outcome": {"state": "complete"}, "story": [name],
        "figures": [{"name": name, "value": 15060.0, "unit": "tpmC", "better": "higher"}],
        "sections": [{"title": name,
            "bars": [{"title": name, "unit": "tpmC", "to_first": true, "items": [
                {"label": "alone", "mean": 15060.0, "low": 15000.0, "high": 15100.0, "n": 3},
                {"label": name, "mean": 10400.0, "low": 10000.0, "high": 10900.0, "n": 3}]}],
            "timelines": [timeline("alone"), timeline(name)],
            "tables": [{"title": name, "columns": [{"name": name}, {"name": "p95",
                "unit": "ms"}], "rows": [[name, [4.0, 3.5, 4.5]], [null, 3.0]]}]}],
        "settings": [[name, name]],
    })
}

fn write(directory: &Path, name: &str, value: &Value) -> std::path::PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, value.to_string()).expect("a file");
    path
}

fn report(args: &[&Path]) -> Tool {
    Tool::new(["report"]).args(args.iter().map(|p| p.as_os_str().to_owned()))
}

#[track_caller]
fn record(path: &Path) -> Value {
    let text = std::fs::read(path).expect("a record");
    serde_json::from_slice(&text).expect("JSON")
}

/// A value in one of the lists of pairs.
fn named<'v>(record: &'v Value, list: &str, name: &str) -> &'v str {
    let mut all = record[list].as_array().expect("a list").iter();
    let found = all.find(|p| p[0] == name);
    found.and_then(|p| p[1].as_str()).unwrap_or_default()
}

fn steps(record: &Value) -> Vec<&str> {
    let spans = record["sections"][0]["timelines"][0]["spans"].as_array();
    let spans = spans.expect("spans").iter();
    spans
        .filter(|s| s["kind"] == "phase")
        .filter_map(|s| s["name"].as_str())
        .collect()
}

/// Figures that the summary and the record both have are the same.
#[track_caller]
fn agree(done: &Done, record: &Value) {
    let summary = done.summary();
    let figure = |name: &str| {
        let mut all = record["figures"].as_array().expect("figures").iter();
        all.find(|f| f["name"] == name).map(|f| f["value"].clone())
    };
    let number = |v: &Value| v.as_f64().expect("a number");
    assert_eq!(
        figure("rows").as_ref().map(number),
        Some(number(&summary["rows"])),
        "{record:#}"
    );
    assert_eq!(
        figure("row data").as_ref().map(number),
        Some(number(&summary["raw_bytes"])),
        "{record:#}"
    );
    assert_eq!(record["outcome"]["state"], "complete");
}

both!(a_run_is_recorded_and_shown);
fn a_run_is_recorded_and_shown(pair: &Pair) {
    let name = "</script><img src=x onerror=alert(1)>\u{202e}";
    let table = format!("{}{}", name, "n".repeat(64 - name.chars().count()));
    pair.fill(&format!(
        "CREATE DATABASE `{name}`; CREATE TABLE `{name}`.`{table}` (id INT PRIMARY KEY, v TEXT); \
        INSERT INTO `{name}`.`{table}` SELECT n, REPEAT('x', 100) FROM {}",
        crate::kit::COUNT
    ));
    pair.fill(
        "CREATE USER t_rec@localhost IDENTIFIED BY 'very-secret'; \
        GRANT ALL ON *.* TO t_rec@localhost;",
    );
    let file = |n: &str| pair.path(n);
    let path = |n: &str| file(n).display().to_string();
    let done = Tool::new(["dump", "--socket"])
        .arg(pair.source().socket())
        .args([
            "-u",
            "t_rec",
            "--json",
            "--threads",
            "2",
            "--to",
            &path("a"),
            "--record",
            &path("dump.json"),
        ])
        .env("MYSQL_PWD", "very-secret")
        .run()
        .ok();
    let r = record(&file("dump.json"));
    agree(&done, &r);
    assert_eq!(
        (&r["format"], &r["version"], &r["kind"]),
        (&json!("penstock-record"), &json!(1), &json!("dump"))
    );
    assert!(steps(&r).contains(&"dumping rows"), "{:?}", steps(&r));
    assert_eq!(named(&r, "settings", "workers"), "2");
    let tables = r["sections"][0]["tables"].as_array().expect("tables");
    let largest = tables
        .iter()
        .find(|t| t["title"] == "Largest tables")
        .expect("the tables");
    assert_eq!(largest["rows"][0][0], format!("`{name}`.`{table}`"));
    assert!(!r.to_string().contains("very-secret"));

    let done = pair
        .load("a", &["--json", "--record", &path("load.json")])
        .ok();
    let r = record(&file("load.json"));
    agree(&done, &r);
    assert!(
        r["story"][1]
            .as_str()
            .is_some_and(|s| s.starts_with("Verified")),
        "{}",
        r["story"]
    );
    Tool::new(["verify", &path("a"), "--record", &path("verify.json")])
        .run()
        .ok();
    assert!(r["sections"][0]["timelines"][0]["charts"].is_array());
    assert_eq!(record(&file("verify.json"))["kind"], "verify");

    report(&[&file("dump.json")]).run().ok().says(&[
        "Dump of M",
        "complete",
        "10,000",
        "dump.html",
    ]);
    let html = std::fs::read_to_string(file("dump.html")).expect("the page");
    assert!(html.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\\u{202e}n"));
    assert!(!html.contains("<img") && !html.contains("very-secret"));
    let done = report(&[&file("dump.json"), &file("load.json"), &file("verify.json")])
        .arg("--to")
        .arg(file("all.html"))
        .arg("--json")
        .run()
        .ok();
    assert_eq!(done.summary()["runs"].as_array().map(Vec::len), Some(3));
    let html = std::fs::read_to_string(file("all.html")).expect("the page");
    assert!(html.contains("Side by side") && html.contains("Run 3"));
    // A record inside an archive directory would be a stray file in it.
    for (to, record, code) in [
        ("b", "a", 10),
        ("b", "a/x.json", 10),
        ("b", "b", 2),
        ("b", "b/run.json", 2),
    ] {
        let record = path(record);
        pair.dump(to, &["--record", &record]).code(code).says(&[
            "archive directory",
            "not be part of the archive",
            "outside of it",
        ]);
        assert!(!file("b").exists());
    }
    pair.verify("a").ok();
    // Nothing else is left in the directory.
    let mut there: Vec<_> = std::fs::read_dir(file(""))
        .expect("a directory")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    there.retain(|n| n.to_string_lossy().ends_with(".part"));
    assert!(there.is_empty(), "{there:?}");
}

both!(a_run_that_fails_is_recorded_too);
fn a_run_that_fails_is_recorded_too(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE r; CREATE TABLE r.t (id INT PRIMARY KEY); INSERT INTO r.t VALUES (1);",
    );
    let path = |n: &str| pair.path(n).display().to_string();
    pair.dump("a", &["--schemas", "nosuch", "--record", &path("a.json")])
        .code(2);
    let r = record(&pair.path("a.json"));
    assert_eq!(
        (&r["outcome"]["state"], &r["outcome"]["code"]),
        (&json!("failed"), &json!(2))
    );
    assert!(
        r["outcome"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("nosuch")),
        "{r:#}"
    );
    assert_eq!(named(&r, "settings", "only schemas"), "nosuch");
    report(&[&pair.path("a.json")])
        .run()
        .ok()
        .says(&["failed", "nosuch"]);

    // A path that cannot be written to is refused before anything is dumped.
    pair.dump("b", &["--record", &path("no/such/folder.json")])
        .code(8);
    assert!(!pair.path("b").exists());
    std::fs::write(pair.path("mine.json"), "{\"my\": \"own\"}").expect("a file");
    pair.dump("b", &["--record", &path("mine.json")])
        .code(10)
        .says(&["not a record of a run"]);
    assert!(!pair.path("b").exists());

    // Interrupted: a lock of another session makes the dump wait.
    let mut holder = pair.source().conn().expect("a connection");
    holder.execute("LOCK TABLES r.t WRITE").expect("a lock");
    let running = pair
        .dumping("c", &["--record", &path("c.json"), "--json"])
        .start();
    let waits = "SELECT COUNT(*) FROM information_schema.processlist \
        WHERE command = 'Query' AND state LIKE 'Waiting for%'";
    until_some(pair.source(), waits);
    running.signal(rustix::process::Signal::INT);
    running.wait().code(9);
    drop(holder);
    let r = record(&pair.path("c.json"));
    assert_eq!(
        (&r["outcome"]["state"], &r["outcome"]["code"]),
        (&json!("interrupted"), &json!(9))
    );
    report(&[&pair.path("c.json")])
        .run()
        .ok()
        .says(&["interrupted"]);
}

#[test]
fn files_that_are_no_records_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = impact("x").to_string();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let refused = |path: &Path, code: i32, says: &str| {
        report(&[path])
            .run()
            .code(code)
            .says(&["ERROR", "HINT", says]);
        assert!(!path.with_extension("html").exists());
    };
    refused(&write("a.json", "{}"), 2, "not a record of a run");
    refused(&write("b.json", "%PDF-1.4"), 2, "not a record of a run");
    refused(
        &write("c.json", &good[..good.len() - 9]),
        5,
        "ends too early",
    );
    refused(
        &write("d.json", &good.replace("\"version\":1", "\"version\":7")),
        5,
        "version 7",
    );
    refused(
        &write(
            "e.json",
            &good.replace("\"seconds\":600.0", "\"seconds\":\"long\""),
        ),
        5,
        "damaged",
    );
    let huge = dir.path().join("f.json");
    let file = std::fs::File::create(&huge).expect("a file");
    file.set_len(200 << 30).expect("a sparse file");
    refused(&huge, 2, "larger than");
    refused(
        &write("g.json", &"[".repeat(100_000)),
        2,
        "not a record of a run",
    );
    report(&[&dir.path().join("none.json")])
        .run()
        .code(8)
        .says(&["cannot open"]);
    report(&[dir.path()]).run().code(8).says(&["run.json"]);
    report(&[]).run().code(2);
}

#[test]
fn other_files_are_not_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = write(dir.path(), "run.json", &impact("x"));
    let other = impact("y").to_string();
    std::fs::write(dir.path().join("other.json"), other).expect("a file");
    // A directory means the record in it, and a page made by penstock is replaced.
    report(&[dir.path()]).run().ok();
    report(&[&run]).run().ok().says(&["run.html"]);
    let page = dir.path().join("mine.html");
    std::fs::write(&page, "<p>my own").expect("a file");
    let to = |tool: Tool| tool.arg("--to").arg(&page);
    to(report(&[&run])).run().code(10).says(&["--force"]);
    assert_eq!(
        std::fs::read_to_string(&page).expect("the page"),
        "<p>my own"
    );
    to(report(&[&run])).arg("--force").run().ok();
    to(report(&[&run])).run().ok();
    let both = [run.as_path(), &dir.path().join("other.json")];
    report(&both).run().code(2).says(&["--to"]);
    report(&[&run])
        .args(["--to", "/dev/full"])
        .run()
        .code(8)
        .says(&["no regular file"]);
    let done = report(&both).args(["--to", "-"]).run().ok();
    assert!(done.out.starts_with("<!doctype html>") && done.out.ends_with("</html>\n"));
}

#[test]
fn the_terminal_gets_a_summary() {
    let dir = tempfile::tempdir().expect("a directory");
    let run = write(dir.path(), "run.json", &impact("\u{1b}[31mred"));
    let done =
        report(&[&run])
            .run()
            .ok()
            .says(&["15,060 tpmC", "-30.9 %", "███", "\\u{1b}[31mred"]);
    assert!(!done.out.contains('\u{1b}'), "{}", done.out);
    let done = report(&[&run]).arg("--json").run().ok();
    let s = done.summary();
    assert_eq!(
        (&s["job"], &s["runs"][0]["outcome"]),
        (&json!("report"), &json!("complete"))
    );
    assert_eq!(s["runs"][0]["figures"][0]["value"], 15060.0);
}

#[test]
fn a_browser_opens_a_report_without_errors() {
    let Some(browser) = chromium::find() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let open = |page: &str| {
        let own = tempfile::tempdir().expect("a directory");
        chromium::open(&browser, &dir.path().join(page), own.path())
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    // A client gets no answer, and does not have to wait for one.
    std::thread::spawn(move || {
        while listener.accept().is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let asked = || asked.swap(0, Ordering::SeqCst);
    // First, that the test would notice: a page that loads an image and has a script that is
    // refused.
    let bad = format!(
        "<!doctype html><meta http-equiv='Content-Security-Policy' content=\"script-src \
        'none'\"><img src=http://{address}/x><script>1</script>"
    );
    std::fs::write(dir.path().join("bad.html"), bad).expect("a page");
    let opened = open("bad.html");
    assert!(
        !opened.console.is_empty() && opened.dom.contains("<img"),
        "{}",
        opened.dom
    );
    assert!(asked() > 0, "the image was not asked for");

    let name = hostile(&address);
    let run = write(dir.path(), "run.json", &impact(&name));
    let again = write(dir.path(), "again.json", &impact(&name));
    report(&[&run]).run().ok();
    report(&[&run, &again])
        .arg("--to")
        .arg(dir.path().join("both.html"))
        .run()
        .ok();
    for page in ["run.html", "both.html"] {
        let opened = open(page);
        assert!(opened.console.is_empty(), "{page}: {:#?}", opened.console);
        let dom = &opened.dom;
        let shown = dom.contains("&lt;img src=http://") && dom.contains("\\u{202e}🐘");
        assert!(shown, "{page}: the name is not there as text");
        let broke = dom.contains("<img") || dom.contains("<script");
        assert!(!broke, "{page}: the name became markup");
        // The page was read to its end, and its one style sheet applies to charts that exist.
        assert!(dom.contains("This page is complete"), "{page} ends early");
        assert!(
            dom.matches("<svg class=\"plot\"").count() >= 2,
            "{page} has no charts"
        );
        assert_eq!(dom.matches("<style>").count(), 1);
    }
    assert_eq!(asked(), 0, "the page asked for something");
}
