//! A password appears nowhere but where the user put it. Also: the ways to name a server, and to
//! describe a run.

use crate::kit::{COUNT, Pair, Tool, both};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

const CANARY: &str = "Canary-4711-nobody-says-this";

#[track_caller]
fn silent(what: &str, text: &[u8]) {
    assert!(
        !text.windows(CANARY.len()).any(|w| w == CANARY.as_bytes()),
        "the password is in {what}"
    );
}

both!(a_password_appears_nowhere);
fn a_password_appears_nowhere(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE sec; CREATE TABLE sec.t (id INT PRIMARY KEY, v VARCHAR(200)); \
        INSERT INTO sec.t SELECT n, REPEAT('x', 150) FROM {COUNT}; \
        CREATE USER t_full@localhost IDENTIFIED BY '{CANARY}'; \
        GRANT ALL ON *.* TO t_full@localhost WITH GRANT OPTION;"
    ));
    pair.target()
        .script(
            format!(
                "CREATE USER t_full@localhost IDENTIFIED BY '{CANARY}'; \
                GRANT ALL ON *.* TO t_full@localhost WITH GRANT OPTION;"
            )
            .as_bytes(),
        )
        .expect("an account");
    let file = pair.path("my.cnf");
    std::fs::write(
        &file,
        format!("[client]\nuser = t_full\npassword = \"{CANARY}\"\n"),
    )
    .expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("private");
    let tool = |name: &str| {
        Tool::new(["dump", "-S"])
            .arg(pair.source().socket())
            .arg("--to")
            .arg(pair.path(name))
    };
    let runs = [
        tool("file").arg("--defaults-file").arg(&file),
        tool("env")
            .args(["-u", "t_full"])
            .env("PENSTOCK_PASSWORD", CANARY),
        tool("mysql")
            .args(["-u", "t_full"])
            .env("MYSQL_PWD", CANARY),
        tool("fd")
            .args(["-u", "t_full", "--password-fd", "0"])
            .input(format!("{CANARY}\n")),
        tool("extra")
            .arg("--json")
            .arg("--defaults-extra-file")
            .arg(&file),
    ];
    for run in runs {
        let mut running = run.start();
        while !running.ended() {
            silent(
                "argv",
                &std::fs::read(format!("/proc/{}/cmdline", running.pid())).unwrap_or_default(),
            );
        }
        let done = running.wait().ok();
        silent("output", done.said().as_bytes());
    }
    for name in ["file", "env", "mysql", "fd", "extra"] {
        for entry in std::fs::read_dir(pair.path(name))
            .expect("an archive")
            .flatten()
        {
            silent(
                &entry.file_name().to_string_lossy(),
                &std::fs::read(entry.path()).expect("a file"),
            );
        }
    }
    let load = Tool::new(["load"])
        .arg(pair.path("file"))
        .arg("-S")
        .arg(pair.target().socket())
        .arg("--defaults-file")
        .arg(&file)
        .run()
        .ok();
    silent("output", load.said().as_bytes());
    // Errors about a missing server and about a refused login do not show it either.
    let done = Tool::new(["load"])
        .arg(pair.path("file"))
        .args(["-S", "/nonexistent", "-u", "x"])
        .env("MYSQL_PWD", CANARY)
        .run()
        .code(6);
    silent("output", done.said().as_bytes());
    let done = tool("wrong")
        .args(["-u", "root"])
        .env("MYSQL_PWD", CANARY)
        .run()
        .code(6);
    silent("output", done.said().as_bytes());
}

/// What is in the memory of a run is not written to disk when it dies.
#[test]
fn a_crash_leaves_no_core_dump() {
    let dir = tempfile::tempdir().expect("a directory");
    let aborted = |program: &[&OsStr]| {
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -c unlimited; exec \"$@\"", "sh"])
            .args(program)
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh");
        // It waits for its standard input by then.
        std::thread::sleep(Duration::from_secs(1));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::ABORT).expect("it runs");
        let status = child.wait().expect("an end");
        assert_eq!(status.signal(), Some(6));
        status.core_dumped()
    };
    if !aborted(&["cat".as_ref()]) {
        return testkit::skip("core dumps", "this machine writes none for any program");
    }
    let copy = dir.path().join("copy");
    let penstock = crate::kit::binary::path().as_os_str();
    let args = [penstock, "copy".as_ref(), "-".as_ref(), copy.as_os_str()];
    assert!(!aborted(&args));
}

both!(servers_are_named_in_many_ways);
fn servers_are_named_in_many_ways(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE nm; CREATE TABLE nm.t (id INT PRIMARY KEY); INSERT INTO nm.t VALUES (1);",
    );
    let (socket, port) = (
        pair.source().socket(),
        pair.source().port().expect("a port").to_string(),
    );
    let file = pair.path("my.cnf");
    let groups = format!(
        "[mysqld]\nsocket=/wrong\n[client]\nuser=wrong\nsocket=/wrong\n[penstock]\nuser=root\n\
        socket={0}\n[client_other]\nsocket=/elsewhere\n[penstock_other]\nsocket={0}\n",
        socket.display()
    );
    std::fs::write(&file, groups).expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("private");
    let file = file.display().to_string();
    let with_path = format!("mysql://root@127.0.0.1:{port}/");
    let without_path = format!("mariadb://root@127.0.0.1:{port}");
    let ways: [&[&str]; 7] = [
        &[&pair.source().uri()],
        &[&format!(
            "mysql://root@localhost/?socket={}",
            socket.display().to_string().replace('/', "%2F")
        )],
        &[&with_path],
        &[&without_path],
        &["--host", "127.0.0.1", "--port", &port, "--user", "root"],
        &["--defaults-file", &file],
        &[
            "--defaults-file",
            &file,
            "--defaults-group-suffix",
            "_other",
        ],
    ];
    for (n, way) in ways.iter().enumerate() {
        Tool::new(["dump", "--to"])
            .arg(pair.path(&n.to_string()))
            .args(way.iter().copied())
            .run()
            .ok();
    }
    // An option file that everyone can write is not trusted.
    std::fs::set_permissions(pair.path("my.cnf"), std::fs::Permissions::from_mode(0o666))
        .expect("public");
    Tool::new(["dump", "--to"])
        .arg(pair.path("x"))
        .args(["--defaults-file", &file])
        .run()
        .code(2)
        .says(&["my.cnf"]);
}

both!(filters_threads_and_compression);
fn filters_threads_and_compression(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE one; CREATE DATABASE two; CREATE DATABASE `o.ne*`; \
        CREATE TABLE one.a1 (id INT PRIMARY KEY); CREATE TABLE one.a2 LIKE one.a1; \
        CREATE TABLE one.b LIKE one.a1; CREATE TABLE two.a1 LIKE one.a1; \
        CREATE TABLE `o.ne*`.t LIKE one.a1; INSERT INTO one.a1 VALUES (1); \
        INSERT INTO one.b VALUES (2), (3); CREATE VIEW one.v AS SELECT 1 AS x;",
    );
    let tables = |name: &str| {
        let text =
            std::fs::read_to_string(pair.path(name).join("penstock.json")).expect("a manifest");
        let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let list = manifest["tables"].as_array().expect("tables").iter();
        list.map(|t| {
            format!(
                "{}.{}",
                t["schema"].as_str().unwrap_or_default(),
                t["table"].as_str().unwrap_or_default()
            )
        })
        .collect::<Vec<_>>()
    };
    let cases: [(&[&str], &[&str]); 6] = [
        (&["--schemas", "one"], &["one.a1", "one.a2", "one.b"]),
        (&["--tables", "one.a*"], &["one.a1", "one.a2"]),
        (&["--tables", "*.a1"], &["one.a1", "two.a1"]),
        (&["--exclude-schemas", "o*"], &["two.a1"]),
        (
            &["--schemas", "one,two", "--exclude-tables", "one.a?"],
            &["one.b", "two.a1"],
        ),
        (&["--schemas", "`o.ne*`"], &["o.ne*.t"]),
    ];
    for (n, (args, wanted)) in cases.iter().enumerate() {
        let name = n.to_string();
        pair.dump(&name, args).ok();
        assert_eq!(tables(&name), *wanted, "{args:?}");
    }
    for (name, args) in [
        ("plain", &["--compression", "none", "--threads", "1"][..]),
        ("strong", &["--compression", "zstd:19"]),
    ] {
        let done = pair.dump(name, args).ok();
        assert!(
            done.out.contains(&pair.path(name).display().to_string()),
            "the summary names the archive\n{}",
            done.out
        );
        pair.verify(name).ok();
    }
    assert!(pair.path("plain").join("one@b@@0.tsv").is_file());
    pair.load("plain", &["--tables", "one.b", "--threads", "1"])
        .ok();
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM one.b")
            .expect("a count"),
        "2"
    );
    assert_eq!(
        pair.target()
            .value(
                "SELECT COUNT(*) FROM information_schema.tables \
                WHERE table_schema IN ('one', 'two')"
            )
            .expect("a count"),
        "1"
    );
}

both!(json_lines_are_json);
fn json_lines_are_json(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE js; CREATE TABLE js.`t\"\nx` (id INT PRIMARY KEY); \
        INSERT INTO js.`t\"\nx` VALUES (1), (2);",
    );
    let dump = pair.dump("a", &["--json"]).ok();
    let summary = dump.summary();
    assert_eq!(
        (&summary["job"], &summary["rows"], &summary["tables"]),
        (&"dump".into(), &2.into(), &1.into())
    );
    assert_eq!(summary["archive"].as_str(), pair.path("a").to_str());
    assert!(
        summary["binlog_file"]
            .as_str()
            .is_some_and(|f| f.starts_with("binlog.")),
        "{summary}"
    );
    let events: Vec<String> = dump
        .json()
        .iter()
        .map(|e| e["event"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(
        events.contains(&"phase".to_owned()) && events.contains(&"table".to_owned()),
        "{events:?}"
    );
    assert_eq!(
        pair.load("a", &["--json"]).ok().summary()["verified"]["rows"],
        2
    );
    let failed = pair.load("a", &["--json"]).code(10);
    assert_eq!(failed.json().last().expect("a line")["exit_code"], 10);
    let quiet = pair.dump("q", &["--quiet"]).ok();
    assert_eq!(quiet.err, "");
}
