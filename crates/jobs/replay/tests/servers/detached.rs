//! Replays that end in the middle: stopped by the user, or killed. Where the target stands is known, and a further replay
//! continues from there.

use crate::kit::{Log, Tool, each_kind, marks, start, tables};
use base::Kind as Failure;
use replay::{LogFiles, NamedPlace, Options, Place};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::{Kind, Server};

/// Longer than any of this takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two thousand transactions.
fn many(source: &Server) -> Log {
    source
        .script(b"CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, n INT, b BLOB);")
        .expect("a table");
    let mut conn = source.conn().expect("a session");
    for i in 0..2000 {
        let sql = format!("INSERT INTO shop.t VALUES ({i}, {i}, REPEAT('b', 2000))");
        conn.execute(sql).expect("a row");
    }
    Log::of(source)
}

fn until_rows(target: &Server, n: usize) {
    let began = Instant::now();
    let sql = format!("SELECT COUNT(*) >= {n} FROM shop.t");
    while target.value(&sql).unwrap_or_default() != "1" {
        assert!(began.elapsed() < PATIENCE, "no rows arrive");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn place(log: &Log, named: &NamedPlace) -> Place {
    let files = log.files.files();
    Place {
        file: files
            .iter()
            .position(|f| f.name == named.file)
            .expect("a file"),
        offset: named.offset,
    }
}

fn stopped_by_the_user(kind: Kind) {
    let source = start(kind, &["--server-id=2"]);
    let log = many(&source);
    let target = start(kind, &["--server-id=3", "--skip-log-bin"]);
    let before = marks(&target);
    let mut tool = Tool::new();
    tool.change = |o| o.ahead = 50_000;
    let e = std::thread::scope(|scope| {
        let replay = scope.spawn(|| tool.replay(&target, &log.files, log.first(), log.last()));
        until_rows(&target, 100);
        tool.cancel.raise();
        replay.join().expect("a thread").expect_err("a stop")
    });
    assert_eq!(e.kind, Failure::Interrupted, "{e}");
    assert_eq!(marks(&target), before);
    let (_, rest) = e.what.rsplit_once("stands at ").expect("a place");
    let (file, rest) = rest.split_once(':').expect("a place");
    let offset = rest.split(',').next().expect("an offset");
    let at = NamedPlace {
        file: file.to_owned(),
        offset: offset.parse().expect("an offset"),
    };
    let again = Tool::new();
    again
        .replay(&target, &log.files, place(&log, &at), log.last())
        .expect("the rest");
    assert_eq!(tables(&target), tables(&source));
}
each_kind!(stopped_by_the_user; mysql, mariadb);

/// The process is killed: the channel stays until the next one removes it, and says how far it came.
fn killed(kind: Kind) {
    let source = start(kind, &["--server-id=2"]);
    let log = many(&source);
    let target = start(kind, &["--server-id=3", "--skip-log-bin"]);
    let before = marks(&target);
    let tool = Tool::new();
    let mut child = child(&target, &log, &tool);
    until_rows(&target, 100);
    child.kill().expect("it ends");
    child.wait().expect("it ends");
    assert_ne!(marks(&target), before, "a killed replay reverts nothing");
    let run = run::Run::new(tool.heard.clone(), tool.cancel.clone());
    let options = Options::new(target.options(), tool.state.path().to_owned());
    // The server takes a moment to notice that the killed one's session has ended.
    let began = Instant::now();
    let left = loop {
        match replay::clear(&run, &options) {
            Ok(left) => break left.expect("a channel"),
            Err(e) => assert!(began.elapsed() < PATIENCE, "{e}"),
        }
    };
    assert_eq!(marks(&target), before);
    assert!(
        tool.said().contains("did not end by itself"),
        "{}",
        tool.said()
    );
    assert_eq!(replay::clear(&run, &options).expect("nothing"), None);
    tool.replay(&target, &log.files, place(&log, &left), log.last())
        .expect("the rest");
    assert_eq!(tables(&target), tables(&source));
}
each_kind!(killed; mysql, mariadb);

const CHILD: &str = "PENSTOCK_TEST_REPLAY";

/// This program again, running only [`replays_for_another_test`].
fn child(target: &Server, log: &Log, tool: &Tool) -> Child {
    let last = log.last();
    let about = [
        target.socket().display().to_string(),
        tool.state.path().display().to_string(),
        log.directory.path().display().to_string(),
        last.file.to_string(),
        last.offset.to_string(),
    ];
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "detached::replays_for_another_test"])
        .env(CHILD, about.join("\n"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process")
}

#[test]
fn replays_for_another_test() {
    let Ok(about) = std::env::var(CHILD) else {
        return;
    };
    let about: Vec<&str> = about.lines().collect();
    let directory = PathBuf::from(about[2]);
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .expect("a log")
        .flatten()
        .map(|f| f.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let files = replay::Directory::open(&directory, &names).expect("a log");
    let wire = wire::Options::new(wire::Endpoint::Unix(about[0].into()), "root");
    let mut options = Options::new(wire, about[1].into());
    options.ahead = 50_000;
    let request = replay::Request {
        log: &files,
        from: Place { file: 0, offset: 4 },
        to: Place {
            file: about[3].parse().expect("a file"),
            offset: about[4].parse().expect("an offset"),
        },
        executed: None,
    };
    let run = run::Run::new(
        std::sync::Arc::new(base::events::Silent),
        base::Cancel::new(),
    );
    replay::replay(&run, &options, &request).expect("a replay");
}
