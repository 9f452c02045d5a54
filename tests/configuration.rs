//! The configuration: servers and options of commands in one file; hooks and the heartbeat.

use crate::kit::{Done, Pair, Tool, both};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const ROWS: &str = "CREATE DATABASE t_a; CREATE TABLE t_a.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200)); \
    INSERT INTO t_a.t (v) VALUES ('a'), ('b'), ('c')";

/// Writes a configuration, and a repository that it names.
fn configured(pair: &Pair, more: &str) -> PathBuf {
    let path = pair.path("penstock.toml");
    let repo = pair.path("repo");
    if !repo.exists() {
        Tool::new(["init".into(), repo.clone()]).run().ok();
    }
    let text = format!("repository = '{}'\n{more}", repo.display());
    std::fs::write(&path, text).expect("written");
    path
}

/// A hook that writes what it gets into a file, line after line.
fn hook(pair: &Pair, name: &str, code: i32) -> (String, PathBuf) {
    let (program, said) = (pair.path(name), pair.path(&format!("{name}.said")));
    let text = format!(
        "#!/bin/sh\necho from the hook\ncat >> {}\nexit {code}\n",
        said.display()
    );
    std::fs::write(&program, text).expect("written");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("a mode");
    (program.display().to_string(), said)
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let parse = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(parse).collect()
}

fn penstock(words: &[&str], config: &Path) -> Tool {
    Tool::new(words.iter().copied()).args(["--config".into(), config.to_owned()])
}

fn listed(config: &Path) -> Vec<String> {
    let summary = penstock(&["list", "--json"], config).run().ok().summary();
    let of = |b: &Value| b["server"].as_str().expect("a server").to_owned();
    summary["backups"]
        .as_array()
        .expect("backups")
        .iter()
        .map(of)
        .collect()
}

/// A server for heartbeats: the lines of the requests.
fn listener() -> (u16, std::sync::mpsc::Receiver<String>) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut client in socket.incoming().flatten() {
            let mut some = [0; 4096];
            let n = client.read(&mut some).unwrap_or(0);
            let head = String::from_utf8_lossy(&some[..n]);
            let first = head.lines().next().unwrap_or_default().to_owned();
            let status = if first.contains("refused") {
                "404 Not Found"
            } else {
                "200 OK"
            };
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = client.write_all(answer.as_bytes());
            let _ = sender.send(first);
        }
    });
    (port, receiver)
}

both!(every_server_of_the_configuration);
fn every_server_of_the_configuration(pair: &Pair) {
    let rows = format!("{ROWS}; CREATE DATABASE x_1; CREATE DATABASE y_1");
    pair.fill(&rows);
    pair.target().script(rows.as_bytes()).expect("rows");
    let (before, before_said) = hook(pair, "before", 0);
    let (after, after_said) = hook(pair, "after", 0);
    let (failed, failed_said) = hook(pair, "failed", 0);
    let (port, requests) = listener();
    let beat = pair.path("beat-{server}");
    let (one, two) = (pair.source().socket(), pair.target().socket());
    let gone = pair.path("gone.sock");
    let text = format!(
        "[backup]\nthreads = 3\nexclude-schemas = ['x_*', 'y_*']\n\
         [servers.one]\nsource = 'mysql://root@localhost/?socket={}'\n\
         [servers.gone]\nsocket = '{}'\nuser = 'root'\n\
         [servers.two]\nsocket = '{}'\nuser = 'root'\n[servers.two.backup]\nthreads = 1\n\
         [hooks]\nbefore = '{before}'\nafter = ['{after}', 'x']\nfailed = '{failed}'\n\
         [heartbeat]\nfile = '{}'\nurl = 'http://127.0.0.1:{port}/secret/{{server}}'\n",
        one.display(),
        gone.display(),
        two.display(),
        beat.display(),
    );
    let config = configured(pair, &text);
    let all = penstock(&["backup"], &config).run().code(6);
    let all = all.says(&[
        "2 of 3 servers backed up",
        "gone: no connection: cannot connect",
        "gone: code 6",
        "from the hook",
    ]);
    assert!(!all.out.contains("from the hook"), "{}", all.out);
    assert_eq!(listed(&config), ["one", "two"]);
    let of = |path: &Path, key: &str| -> Vec<String> {
        let all = lines(path);
        all.iter()
            .map(|l| l[key].as_str().unwrap_or("?").to_owned())
            .collect()
    };
    assert_eq!(of(&before_said, "server"), ["one", "gone", "two"]);
    assert_eq!(of(&after_said, "event"), ["after", "after"]);
    let done = lines(&after_said);
    assert_eq!(done[0]["summary"]["job"], "backup");
    assert_eq!(
        (&done[0]["code"], &done[0]["summary"]["tables"]),
        (&0.into(), &1.into())
    );
    let failures = lines(&failed_said);
    assert_eq!((failures.len(), &failures[0]["code"]), (1, &6.into()));
    assert!(
        failures[0]["error"]
            .as_str()
            .is_some_and(|e| e.contains("cannot connect"))
    );
    let told: Vec<String> = requests.try_iter().collect();
    assert_eq!(
        told,
        ["GET /secret/one HTTP/1.1", "GET /secret/two HTTP/1.1"]
    );
    for (server, there) in [("one", true), ("gone", false), ("two", true)] {
        let file = pair.path(&format!("beat-{server}"));
        assert_eq!(file.exists(), there, "{server}");
    }
    // One of them, and what is typed wins.
    penstock(&["backup", "two", "--threads", "2", "--json"], &config)
        .run()
        .ok();
    assert_eq!(listed(&config), ["one", "two", "two"]);
    let typed = penstock(&["backup", "gone", &pair.source().uri()], &config);
    typed.run().ok();
    // Rules of all, of one server, and of the command line.
    let pruned = |rest: &[&str], more: &str| -> Done {
        let config = configured(pair, &format!("{text}{more}"));
        penstock(&[&["prune", "--dry-run"], rest].concat(), &config).run()
    };
    pruned(&[], "").code(2).says(&["no rule says"]);
    let of_all = "[prune]\nkeep-last = 1\n";
    pruned(&[], of_all)
        .ok()
        .says(&["1 backup would be removed"]);
    let of_two = "[servers.two.prune]\nkeep-last = 2\n";
    pruned(&[], &format!("{of_all}{of_two}"))
        .ok()
        .says(&["No backup to remove"]);
    pruned(&["--keep-last", "1"], &format!("{of_all}{of_two}"))
        .ok()
        .says(&["1 backup would be removed"]);
    pruned(&[], of_two)
        .ok()
        .says(&["one has no rule", "No backup to remove"]);
}

both!(hooks_and_heartbeats_that_fail);
fn hooks_and_heartbeats_that_fail(pair: &Pair) {
    pair.fill(ROWS);
    let (bad, said) = hook(pair, "bad", 7);
    let server = format!("[servers.a]\nsource = '{}'\n", pair.source().uri());
    let run =
        |more: &str| penstock(&["backup"], &configured(pair, &format!("{server}{more}"))).run();
    run(&format!("[hooks]\nbefore = '{bad}'\nfailed = '{bad}'\n"))
        .code(1)
        .says(&[
            "the hook 'before'",
            "exit status: 7",
            "nothing was done",
            "the hook 'failed'",
        ]);
    assert_eq!(lines(&said).len(), 2);
    let config = pair.path("penstock.toml");
    assert_eq!(listed(&config).len(), 0);
    // The backup is made, and that is said.
    run(&format!("[hooks]\nafter = '{bad}'\n"))
        .code(1)
        .says(&["the backup is done, but the hook 'after'"]);
    let (port, _requests) = listener();
    let done = run(&format!(
        "[heartbeat]\nurl = 'http://127.0.0.1:{port}/refused/secret'\n"
    ));
    let done = done
        .code(6)
        .says(&["the backup is done, but the heartbeat's URL", "404"]);
    assert!(!done.said().contains("secret"), "{}", done.said());
    // No directory, for root neither.
    let beat = format!("{bad}/beat");
    run(&format!("[heartbeat]\nfile = '{beat}'\n"))
        .code(8)
        .says(&["the heartbeat file"]);
    assert_eq!(listed(&config).len(), 3);
}

both!(a_restore_has_hooks);
fn a_restore_has_hooks(pair: &Pair) {
    pair.fill(ROWS);
    let (before, before_said) = hook(pair, "before", 0);
    let (after, after_said) = hook(pair, "after", 0);
    let (failed, failed_said) = hook(pair, "failed", 0);
    let beat = pair.path("beat-{command}-{server}");
    let text = format!(
        "[servers.a]\nsource = '{}'\n[hooks]\nbefore = '{before}'\nafter = '{after}'\nfailed = '{failed}'\n\
         [heartbeat]\nfile = '{}'\n",
        pair.source().uri(),
        beat.display()
    );
    let config = configured(pair, &text);
    penstock(&["backup"], &config).run().ok();
    for said in [&before_said, &after_said] {
        std::fs::remove_file(said).expect("a hook has run");
    }
    let metrics = pair.path("penstock.prom");
    let restore = |more: &[&str]| -> Done {
        let into = ["restore", "--into", &pair.target().uri()];
        let tool = penstock(&[&into[..], more].concat(), &config);
        tool.args(["--metrics-file".into(), metrics.clone()]).run()
    };
    // A command that is wrong runs no hook.
    restore(&["--identity", "/nonexistent"]).code(2);
    assert_eq!(lines(&before_said).len(), 0);
    restore(&["--server-name", "a"]).ok();
    let (begun, done) = (lines(&before_said), lines(&after_said));
    assert_eq!((begun.len(), done.len()), (1, 1));
    for (key, value) in [("event", "after"), ("command", "restore"), ("server", "a")] {
        assert_eq!(done[0][key], value, "{done:?}");
    }
    assert_eq!(begun[0]["event"], "before");
    assert_eq!(done[0]["code"], 0);
    assert_eq!(done[0]["summary"]["job"], "load");
    assert_eq!(done[0]["summary"]["rows"], 3);
    assert!(pair.path("beat-restore-a").exists());
    assert!(metrics.exists());
    // What is there already is not replaced, and whoever waits for it is told.
    restore(&[]).code(10);
    let failures = lines(&failed_said);
    assert_eq!(failures.len(), 1);
    assert_eq!(
        (&failures[0]["code"], &failures[0]["server"]),
        (&10.into(), &Value::Null)
    );
    assert!(failures[0]["error"].is_string(), "{failures:?}");
    assert_eq!(lines(&after_said).len(), 1);
}

both!(an_empty_name_of_a_configuration_is_none);
fn an_empty_name_of_a_configuration_is_none(pair: &Pair) {
    let config = configured(pair, "");
    let repo = pair.path("repo");
    let list = |value: &str| {
        let tool = Tool::new(["list".into(), "--repository".into(), repo.clone()]);
        tool.env("PENSTOCK_CONFIG", value).run()
    };
    list("").ok().says(&["No backups"]);
    list("/nonexistent.toml").code(2);
    let named = config.display().to_string();
    list(&named).ok();
    // Neither is there one to check, unless this host has the usual one.
    if !Path::new("/etc/penstock/penstock.toml").exists() {
        Tool::new(["config", "check"])
            .env("PENSTOCK_CONFIG", "")
            .run()
            .code(2)
            .says(&["there is no configuration", "/etc/penstock/penstock.toml"]);
    }
    // On the command line it is a slip.
    Tool::new(["list", "--config", ""]).run().code(2);
}

/// A name that is not there is no server on this host, and a wrong server keeps all from being backed up.
#[test]
fn a_server_that_is_not_there_is_refused_before_anything_is_done() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("c.toml");
    let repo = dir.path().join("repo");
    Tool::new(["init".into(), repo.clone()]).run().ok();
    let text = format!(
        "repository = '{}'\n[servers.a]\nsocket = '/nonexistent.sock'\nuser = 'u'\n\
         [servers.b]\nsource = 'mysql://u:p@h/'\n[heartbeat]\nurl = 'https://u:secret1@h/secret2?t=secret3'\n",
        repo.display()
    );
    std::fs::write(&path, &text).expect("written");
    let typo = penstock(&["backup", "tpyo"], &path).run().code(2);
    typo.says(&["there is no server 'tpyo'", "a, b"]);
    let all = penstock(&["backup"], &path).run().code(2);
    let all = all.says(&["a password in a URI"]);
    assert!(!all.said().contains("cannot connect"), "{}", all.said());
    std::fs::write(&path, text.replace("u:p@", "u@")).expect("written");
    let checked = penstock(&["config", "check"], &path).run().ok();
    let checked = checked.says(&["https://h/…"]);
    assert!(!checked.said().contains("secret"), "{}", checked.said());
}

#[test]
fn a_configuration_that_is_wrong_is_refused_before_anything_is_done() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("c.toml");
    let server = "[servers.a]\nsocket = '/nonexistent.sock'\nuser = 'u'\n";
    let check = |text: &str| {
        std::fs::write(&path, text).expect("written");
        penstock(&["config", "check"], &path).run()
    };
    for (text, said) in [
        (
            "[backup]\nmax-rat = '1M'\n",
            "line 2: there is no 'max-rat'",
        ),
        (
            "repository = '/r'\n[backup]\nmax-rate = 'fast'\n",
            "max-rate (",
        ),
        (
            "repository = '/r'\n[backup]\nmax-rate = ['1M']\n",
            "line 3: max-rate is one value, not a list",
        ),
        (
            "repository = '/r'\n[backup]\nno-events = 'yes'\n",
            "line 3: no-events is true or false",
        ),
        (
            "repository = '/r'\n[backup]\nencrypt-to = ['age1x']\n",
            "--encrypt-to",
        ),
        (
            "repository = '/r'\n[backup]\nmin-rate = '1M'\n",
            "min-rate (",
        ),
        ("repository = 's4://x'\n", "line 1"),
        (
            "repository = '/r'\n[prune]\nkeep-daily = 0\n",
            "keep-daily (",
        ),
        (
            "repository = '/r'\n[hooks]\nbefore = '/nonexistent/hook'\n",
            "there is no program",
        ),
        (
            "repository = '/r'\n[servers.a]\nsource = 'mysql://u:p@h/'\n",
            "password",
        ),
    ] {
        let text = format!(
            "{text}{}",
            if text.contains("[servers") {
                ""
            } else {
                server
            }
        );
        let refused = check(&text).code(2).says(&[said]);
        // The same for the command itself: nothing is connected to, for any server.
        if !text.contains("[hooks]") && !text.contains("[prune]") {
            std::fs::write(&path, &text).expect("written");
            let backup = penstock(&["backup"], &path).run().code(2);
            assert!(
                !backup.said().contains("cannot connect"),
                "{}",
                refused.said()
            );
        }
    }
    let text = format!(
        "repository = '/r'\n[backup]\nmax-rate = '1M'\n{server}[servers.a.backup]\nmax-rate = '2M'\n"
    );
    check(&text).ok().says(&[
        "penstock backup a, of",
        "--max-rate=2M",
        "line 8",
        "--repository=/r",
        "line 1",
    ]);
    // What is typed may exclude what stands there.
    std::fs::write(
        &path,
        format!("repository = '/r'\n[backup]\npassphrase-file = '/none'\n{server}"),
    )
    .expect("written");
    let typed = [
        "backup",
        "a",
        "--encrypt-to",
        "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqsw7kqpd",
    ];
    penstock(&typed, &path)
        .run()
        .code(2)
        .says(&["--encrypt-to"]);
    let dir = dir.path().join("none.toml");
    penstock(&["list"], &dir)
        .run()
        .code(2)
        .says(&["cannot read the configuration"]);
}

/// `binlog archive NAME` knows the server and the repository, as `backup NAME` does.
#[test]
fn the_log_of_a_named_server_is_archived() {
    if !testkit::available(testkit::Kind::MariaDb) {
        return;
    }
    let setup = testkit::Setup::new(testkit::Kind::MariaDb).expect("a set-up");
    let server = setup
        .args(["--log-bin=b", "--server-id=1"])
        .start()
        .expect("a server");
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    crate::kit::Tool::new(["init"])
        .arg(path("repository"))
        .run()
        .ok();
    let text = format!(
        "repository = \"{}\"\n[servers.shop]\nsocket = \"{}\"\nuser = \"root\"\n",
        path("repository").display(),
        server.socket().display()
    );
    std::fs::write(path("c.toml"), text).expect("a configuration");
    let archive = |name: &str| {
        crate::kit::Tool::new(["binlog", "archive", name, "--once", "--config"])
            .arg(path("c.toml"))
            .run()
    };
    archive("shop").ok().says(&["Binary log archived"]);
    archive("shp")
        .code(2)
        .says(&["there is no server 'shp'", "shop"]);
}
