//! `penstock preflight`: what it finds on servers that are as they should be and on others, by the state of each check;
//! that it changes nothing; and that what it prints to do is what helps. Each check by itself is tested in its own file,
//! with hosts that are made up.

use crate::kit::{Done, Pair, Tool, both, each_kind};
use serde_json::Value;
use testkit::{Kind, Server, Setup, available};

fn preflight(server: &Server, more: &[&str]) -> Done {
    let tool = Tool::new(["preflight", "--user", "root", "--socket"]).arg(server.socket());
    tool.args(more.iter().copied()).run()
}

/// What was said of a check.
#[track_caller]
fn check<'s>(summary: &'s Value, name: &str) -> &'s Value {
    let mut all = summary["checks"].as_array().expect("checks").iter();
    let found = all.find(|c| c["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {summary:#}"))
}

/// What a check says to do.
fn todo(check: &Value) -> Vec<String> {
    let findings = check["findings"].as_array().into_iter().flatten();
    let all = findings.flat_map(|f| f["todo"].as_array().cloned().unwrap_or_default());
    all.map(|t| t.as_str().expect("a text").to_owned())
        .collect()
}

/// A server that keeps what it confirms, which can be reached by TCP, too.
fn durable(kind: Kind) -> Option<Server> {
    if !available(kind) {
        return None;
    }
    let setup = Setup::new(kind).expect("a set-up").tcp();
    let args = [
        "--innodb-flush-log-at-trx-commit=1",
        "--sync-binlog=1",
        "--innodb-doublewrite=ON",
        "--log-bin=binlog",
        "--server-id=7",
        "--binlog-format=ROW",
    ];
    Some(setup.args(args).start().expect("a server"))
}

/// Everything by which a change of the server would show, but for counters.
fn state(server: &Server) -> String {
    let status = match server.kind() {
        Kind::MySql => "SHOW BINARY LOG STATUS",
        _ => "SHOW MASTER STATUS",
    };
    let shown = [
        status,
        "SELECT user, host FROM mysql.user ORDER BY 1, 2",
        "SHOW GLOBAL VARIABLES WHERE variable_name NOT LIKE '%gtid%' AND variable_name NOT LIKE '%timestamp%'",
    ];
    let all = shown.map(|sql| format!("{:?}", server.client(sql).expect("a state")));
    all.join("\n")
}

each_kind!(a_server_is_looked_at_and_not_changed; mysql, mariadb);
fn a_server_is_looked_at_and_not_changed(kind: Kind) {
    let Some(server) = durable(kind) else { return };
    let script = "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); INSERT INTO shop.t VALUES (1)";
    server.script(script.as_bytes()).expect("rows");
    let to = server.datadir().with_file_name("archive");
    let to = to.to_str().expect("a path");
    let before = state(&server);
    // Without the host, whose state is that of the machine.
    let usual = [
        "--only",
        "server",
        "--only",
        "jobs",
        "--silence",
        "last-backup",
        "--to",
        to,
    ];
    let fine = preflight(&server, &usual).ok().says(&[
        "\nNothing ",
        "silenced:",
        "last-backup",
        "consistency: one snapshot for all workers",
        "nothing was changed",
    ]);
    assert!(!fine.out.contains("not run:"), "{}", fine.out);
    assert_eq!(state(&server), before);
    assert!(!std::path::Path::new(to).exists());
    // The host.
    let seen = preflight(&server, &["--only", "host", "--json"]);
    let seen = seen.summary();
    assert_eq!(seen["local"], true, "{seen:#}");
    for name in [
        "file-system",
        "free-space",
        "memory",
        "swap",
        "open-files",
        "tmpdir",
    ] {
        let one = check(&seen, name);
        assert!(
            one["state"] != "not run" && !one["evidence"][0].is_null(),
            "{one:#}"
        );
    }
    assert!(
        seen["checks"]
            .as_array()
            .expect("checks")
            .iter()
            .all(|c| c["about"] == "host")
    );
    // Durability turned off.
    for (turn, off, on) in [
        (
            "innodb_flush_log_at_trx_commit",
            "0",
            "SET GLOBAL innodb_flush_log_at_trx_commit = 1;",
        ),
        (
            "foreign_key_checks",
            "OFF",
            "SET GLOBAL foreign_key_checks = ON;",
        ),
    ] {
        server
            .client(&format!("SET GLOBAL {turn} = {off}"))
            .expect("set");
        let found = preflight(&server, &usual).code(3);
        let found = found.says(&["serious", &format!("{turn} is {off}"), on]);
        assert!(
            found.out.starts_with("\n1 serious finding"),
            "{}",
            found.out
        );
        // What it says to do helps.
        server.client(on.trim_end_matches(';')).expect("set");
        preflight(&server, &usual).ok();
    }
    if kind == Kind::MySql {
        server
            .client("ALTER INSTANCE DISABLE INNODB REDO_LOG")
            .expect("off");
        let seen = preflight(&server, &[&usual[..], &["--json"]].concat())
            .code(3)
            .summary();
        assert_eq!(
            todo(check(&seen, "durability")),
            ["ALTER INSTANCE ENABLE INNODB REDO_LOG;"]
        );
        let silenced = [&usual[..], &["--silence", "durability"]].concat();
        preflight(&server, &silenced).ok().says(&["- durability"]);
        server
            .client("ALTER INSTANCE ENABLE INNODB REDO_LOG")
            .expect("on");
    }
    remote(&server);
}

/// A server whose process cannot be found on this host.
fn remote(server: &Server) {
    let pid_file = server.value("SELECT @@pid_file").expect("a file");
    std::fs::remove_file(&pid_file).expect("removed");
    let uri = server.tcp_uri();
    let done = Tool::new(["preflight", &uri, "--json"]).run().code(3);
    let seen = done.summary();
    assert_eq!(seen["local"], false);
    for one in seen["checks"].as_array().expect("checks") {
        let why = one["why"].as_str().unwrap_or_default();
        if one["about"] == "host" {
            assert_eq!(one["state"], "not run", "{one:#}");
            assert!(
                why.contains("not a mysqld or mariadbd of this host"),
                "{one:#}"
            );
        }
    }
    // Each is named.
    let said = Tool::new(["preflight", &uri]).run().code(3);
    let said = said.says(&[
        "not looked at: ",
        "not run:",
        "- file-system, ",
        "thin-pool, ",
    ]);
    let reason = format!("process id file {pid_file} cannot be read");
    // Once for all checks of the host, once for the host itself, and once among the exceptions.
    let times = said.said().matches(reason.as_str()).count();
    assert!((1..=3).contains(&times), "{times}: {}", said.said());
    assert!(
        said.out.contains("consistency: one snapshot"),
        "{}",
        said.out
    );
    // Without the host, everything that was asked for is done; what was not named is said.
    let others = ["--only", "server", "--only", "jobs"];
    Tool::new(["preflight", &uri])
        .args(others)
        .run()
        .ok()
        .says(&[
            "not asked for:",
            "last-backup: --repository REPO",
            "dump-space: --to DIR",
        ]);
}

both!(an_account_with_few_rights);
fn an_account_with_few_rights(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); \
        CREATE VIEW shop.v AS SELECT 1 AS one; CREATE DATABASE hidden; CREATE TABLE hidden.h (id INT); \
        CREATE USER t_few@localhost IDENTIFIED BY 'Few-1-word'; GRANT SELECT ON shop.* TO t_few@localhost",
    );
    let look = |more: &[&str]| {
        let tool = Tool::new(["preflight", "--user", "t_few", "--socket"]);
        tool.arg(pair.source().socket())
            .args(["--only", "jobs"])
            .args(more.iter().copied())
            .env("PENSTOCK_PASSWORD", "Few-1-word")
            .run()
    };
    // What one may not see is not taken for fine.
    let seen = look(&["--json"]).code(3).summary();
    assert_eq!(
        check(&seen, "long-transactions")["state"],
        "not run",
        "{seen:#}"
    );
    for name in ["dump", "load", "replica", "binlog-archive"] {
        let one = check(&seen, name);
        assert_eq!(one["state"], "warning", "{one:#}");
        assert!(todo(one).iter().any(|t| t.starts_with("GRANT ")), "{one:#}");
    }
    // A job that is asked for: what it lacks is serious, and the statements are all that is needed.
    let seen = look(&["--for", "dump", "--json"]).code(3).summary();
    assert_eq!(check(&seen, "dump")["state"], "serious");
    assert!(!seen.to_string().contains("binlog-archive"));
    let grants: Vec<String> = todo(check(&seen, "dump"))
        .into_iter()
        .filter(|t| t.starts_with("GRANT "))
        .collect();
    assert!(grants.len() >= 2, "{grants:?}");
    for grant in grants {
        pair.source()
            .client(grant.trim_end_matches(';'))
            .expect("a grant");
    }
    let seen = look(&["--for", "dump", "--json"]).summary();
    let dump = check(&seen, "dump");
    assert_eq!(dump["state"], "warning", "{dump:#}");
    let hidden = |f: &Value| {
        f["what"]
            .as_str()
            .is_some_and(|w| w.starts_with("hidden schemas"))
    };
    assert!(
        dump["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .any(hidden),
        "{dump:#}"
    );
    // No secret is in it.
    assert!(!seen.to_string().contains("Few-1-word"));
}

both!(what_jobs_would_miss_is_named);
fn what_jobs_would_miss_is_named(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE shop; CREATE TABLE shop.m (id INT PRIMARY KEY) ENGINE=MyISAM; \
        CREATE TABLE shop.nokey (id INT); CREATE TABLE shop.t (id INT PRIMARY KEY)",
    );
    let mut conn = pair.source().conn().expect("a connection");
    conn.execute("BEGIN").expect("begun");
    conn.execute("INSERT INTO shop.t VALUES (1)")
        .expect("a row");
    // Servers show a list of transactions that is up to 100 ms old.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let more = ["--only", "jobs"];
    let said = preflight(pair.source(), &more).ok().says(&[
        "`shop`.`m` (MyISAM)",
        "`shop`.`nokey`",
        "open transactions: 1",
        "it follows no other server",
    ]);
    assert!(said.out.contains("which has no snapshots"), "{}", said.out);
    let record = pair.path("r.json");
    let record = record.to_str().expect("a path");
    preflight(
        pair.source(),
        &[&more[..], &["--record", record, "-q"]].concat(),
    )
    .ok();
    Tool::new(["report", record, "--to", "-"])
        .run()
        .ok()
        .says(&["Preflight of", "long-transactions", "why it is looked at"]);
}

both!(the_last_backup_is_looked_for);
fn the_last_backup_is_looked_for(pair: &Pair) {
    pair.fill("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY)");
    let repository = pair.path("repository");
    let repository = repository.to_str().expect("a path");
    Tool::new(["init", repository]).run().ok();
    let look = |more: &[&str]| {
        let all = ["--only", "server", "--repository", repository, "--json"];
        preflight(pair.source(), &[&all[..], more].concat()).summary()
    };
    let none = look(&["--server-name", "shop"]);
    let none = check(&none, "last-backup");
    assert_eq!(none["state"], "serious", "{none:#}");
    let backup = Tool::new([
        "backup",
        "shop",
        "--repository",
        repository,
        "--user",
        "root",
        "--socket",
    ]);
    backup.arg(pair.source().socket()).run().ok();
    let there = look(&["--server-name", "shop"]);
    let there = check(&there, "last-backup");
    // No drill has proven it yet.
    assert_eq!(there["state"], "info", "{there:#}");
    assert!(
        there["evidence"][0]
            .as_str()
            .expect("text")
            .starts_with("shop@"),
        "{there:#}"
    );
    let old = look(&["--server-name", "shop", "--max-backup-age", "1ms"]);
    assert_eq!(check(&old, "last-backup")["state"], "serious", "{old:#}");
    let by_uuid = look(&[]);
    let by_uuid = check(&by_uuid, "last-backup");
    let uuid = pair
        .source()
        .value("SHOW GLOBAL VARIABLES LIKE 'server_ui%'")
        .is_ok();
    // A server without one, such as MariaDB before 10.11, is not known by its backups.
    let state = if uuid { "info" } else { "not run" };
    assert_eq!(by_uuid["state"], state, "{by_uuid:#}");
    // A repository that cannot be reached is no end of the others.
    let away = preflight(
        pair.source(),
        &["--only", "server", "--repository", "/nowhere", "--json"],
    );
    let away = away.code(3).summary();
    assert_eq!(check(&away, "last-backup")["state"], "not run");
    assert_ne!(check(&away, "binary-log")["state"], "not run", "{away:#}");
}

#[test]
fn checks_are_listed_and_silenced_by_name() {
    let list = Tool::new(["preflight", "--list", "--json"])
        .run()
        .ok()
        .summary();
    let all = list["checks"].as_array().expect("checks");
    assert!(all.len() > 30, "{}", all.len());
    let said = Tool::new(["preflight", "--list"]).run().ok();
    for one in all {
        for key in ["name", "reason", "source"] {
            let text = one[key].as_str().expect("a text");
            assert!(!text.is_empty() && said.out.contains(text), "{key}: {text}");
        }
    }
    // Before a server is asked.
    let unknown = [
        "preflight",
        "mysql://nobody@localhost:1/",
        "--silence",
        "nonsense",
    ];
    Tool::new(unknown)
        .run()
        .code(2)
        .says(&["nonsense", "penstock preflight --list"]);
    Tool::new(["preflight", "--list", "--socket", "/s"])
        .run()
        .code(2)
        .says(&["--socket"]);
}

both!(checks_are_silenced_by_the_configuration);
fn checks_are_silenced_by_the_configuration(pair: &Pair) {
    let config = pair.path("penstock.toml");
    let text = "[preflight]\nsilence = ['binary-log', 'working-set']\nonly = ['server']\n";
    std::fs::write(&config, text).expect("written");
    let config = config.to_str().expect("a path");
    let seen = preflight(pair.source(), &["--config", config, "--json"]).summary();
    assert_eq!(
        seen["silenced"],
        serde_json::json!(["binary-log", "working-set"]),
        "{seen:#}"
    );
    assert!(
        seen["checks"]
            .as_array()
            .expect("checks")
            .iter()
            .all(|c| c["about"] == "server")
    );
    // A setting about backups waits for a call that names where they are.
    std::fs::write(
        config,
        "[preflight]\nonly = ['server']\nmax-backup-age = '1h'\n",
    )
    .expect("written");
    let seen = preflight(pair.source(), &["--config", config, "--json"]).summary();
    assert!(check(&seen, "binary-log")["state"].is_string(), "{seen:#}");
    std::fs::write(config, "[preflight]\nsilence = ['nonsense']\n").expect("written");
    let refused = preflight(pair.source(), &["--config", config]).code(2);
    refused.says(&["nonsense", "penstock.toml, line 2"]);
}

/// A loop device with a file of this beginning; `None` where this machine attaches none, which counts as a skip.
struct Loop(String);

impl Loop {
    fn new(directory: &std::path::Path, name: &str, head: &[u8]) -> Option<Loop> {
        let file = directory.join(name);
        std::fs::write(&file, head).expect("a file");
        let opened = std::fs::File::options().write(true).open(&file);
        opened.expect("a file").set_len(64 << 20).expect("its size");
        let attach = ["--find", "--show", "--nooverlap"];
        let out = std::process::Command::new("/usr/sbin/losetup")
            .args(attach)
            .arg(&file)
            .output();
        match out {
            Ok(out) if out.status.success() => {
                Some(Loop(String::from_utf8_lossy(&out.stdout).trim().to_owned()))
            }
            out => {
                testkit::skip("loop", format!("no loop device can be attached: {out:?}"));
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let detach = ["--detach", &self.0];
        let _ = std::process::Command::new("/usr/sbin/losetup")
            .args(detach)
            .status();
    }
}

#[test]
fn devices_are_striped_on_paper_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let new = |name: &str, head: &[u8]| Loop::new(directory.path(), name, head);
    let mut ext4 = vec![0; 0x438];
    ext4.extend([0x53, 0xef]);
    let (Some(a), Some(b), Some(used)) = (new("a", b""), new("b", b""), new("c", &ext4)) else {
        return;
    };
    let striped = |devices: String| Tool::new(["preflight", "--stripe", &devices]).run();
    let (a, b, used) = (&a.0, &b.0, &used.0);
    striped(format!("{a},{b}")).ok().says(&[
        &format!("pvcreate {a} {b}\n"),
        &format!("vgcreate data {a} {b}\n"),
        "lvcreate -i 2 -I 256k -l 30 -n mysql data\n",
        "these lines were not run",
    ]);
    for file in ["a", "b"] {
        let bytes = std::fs::read(directory.path().join(file)).expect("a file");
        assert!(bytes.iter().all(|b| *b == 0), "nothing was written");
    }
    striped(format!("{a},{used}"))
        .code(10)
        .says(&["holds an ext file system", "nothing was changed"]);
    striped(a.clone()).code(2).says(&["two devices or more"]);
    let file = directory.path().join("a");
    striped(format!("{},{b}", file.display()))
        .code(2)
        .says(&["is not a block device"]);
}
