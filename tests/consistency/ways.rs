//! One snapshot by an account that may not take the global read lock, in every way that there is.

use super::{Load, bank};
use crate::kit::waiting::{Statement, until_some};
use crate::kit::{Done, Pair, Tool, both, own_server};
use std::path::Path;
use std::time::Duration;
use testkit::Kind;

/// What reading takes, and nothing more.
const READER: &str = "CREATE USER t_bare@localhost; \
    GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO t_bare@localhost;";

fn dump(socket: &Path, user: &str, to: &Path, args: &[&str]) -> Done {
    let tool = Tool::new(["dump", "--no-defaults", "-S"]).arg(socket);
    let tool = tool.args(["-u", user, "--to"]).arg(to);
    tool.args(args).run()
}

both!(without_the_global_lock_a_dump_under_load_is_of_one_moment);
fn without_the_global_lock_a_dump_under_load_is_of_one_moment(pair: &Pair) {
    bank(pair);
    pair.fill(READER);
    pair.fill("CREATE USER t_locker@localhost; GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, LOCK TABLES ON *.* TO t_locker@localhost;");
    let without = ["without a lock"];
    // A name, an account, options, and what the summary says of the way that was taken.
    let cases: [(&str, &str, &[&str], &[&str]); 4] = [
        ("auto", "t_bare", &[], &without),
        ("compare", "t_bare", &["--consistency", "compare"], &without),
        (
            "tables",
            "t_locker",
            &["--consistency", "tables"],
            &["under LOCK TABLES"],
        ),
        (
            "transaction",
            "t_bare",
            &["--consistency", "transaction"],
            &["one snapshot of one reader"],
        ),
    ];
    for (name, user, args, says) in cases {
        let load = Load {
            user,
            // So that there are moments without commits.
            pause: Duration::from_millis(20),
        };
        let summary = load.dumped(pair, name, args);
        let way = summary["consistency"].as_str().expect("a way");
        assert!(says.iter().all(|s| way.contains(s)), "{name}: {way}");
        // MariaDB tells everybody the place of a snapshot; MySQL its GTIDs alone.
        let hidden = pair.is_mysql() || name == "tables";
        assert_eq!(
            summary["no_position"].is_string(),
            hidden,
            "{name}: {summary}"
        );
        load.of_one_moment(pair, name, &summary);
    }
}

both!(what_keeps_a_way_from_working_leads_to_the_next_one);
fn what_keeps_a_way_from_working_leads_to_the_next_one(pair: &Pair) {
    bank(pair);
    pair.fill(READER);
    let socket = &pair.source().socket();
    // What a way lacks is said before anything is written.
    dump(
        socket,
        "t_bare",
        &pair.path("no"),
        &["--consistency", "tables"],
    )
    .code(7)
    .says(&["LOCK TABLES", "leave --consistency out"]);
    dump(
        socket,
        "t_bare",
        &pair.path("no"),
        &["--consistency", "lock"],
    )
    .code(7)
    .says(&["GRANT ", "leave --consistency out"]);
    assert!(!pair.path("no").exists());
    if !pair.is_mysql() {
        return;
    }
    // A session that owns a GTID: from outside it looks as if it was always about to commit.
    let mut owner = pair.source().conn().expect("a connection");
    owner
        .execute("SET GTID_NEXT = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:1'")
        .expect("a GTID of its own");
    let short = ["--consistency", "compare", "--lock-wait", "1"];
    dump(socket, "t_bare", &pair.path("short"), &short)
        .code(11)
        .says(&["something was committed", "--consistency transaction"]);
    assert!(!pair.path("short").exists());
    let done = dump(socket, "t_bare", &pair.path("one"), &["--lock-wait", "1"]).code(0);
    done.says(&[
        "trying another way",
        "one snapshot of one reader",
        "binary logs cannot carry",
    ]);
    pair.verify("one").ok();
    owner.execute("ROLLBACK").expect("done");
    owner.execute("SET GTID_NEXT = 'AUTOMATIC'").expect("done");
    let long = Statement::begin(pair.source(), "SELECT SLEEP(300) FROM bank.a WHERE id = 1");
    long.until_it_has_run_for(2);
    // The global lock would wait for it; the comparison waits for no reader.
    dump(socket, "root", &pair.path("long"), &["--lock-wait", "3"])
        .code(0)
        .says(&["the longest statement is", "equal GTID sets"]);
    pair.verify("long").ok();
}

#[test]
fn a_server_that_cannot_prove_it_says_why() {
    for (kind, args, why) in [
        (Kind::MySql, &["--skip-log-bin"][..], "no binary log"),
        (
            Kind::MySql,
            &["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"],
            "gtid_mode=ON",
        ),
        (Kind::MariaDb, &["--skip-log-bin"][..], "no binary log"),
    ] {
        let Some(server) = own_server(kind, args) else {
            continue;
        };
        server
            .script(b"CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO shop.t VALUES (1); CREATE USER t_bare@localhost; GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO t_bare@localhost;")
            .expect("done");
        let directory = tempfile::tempdir().expect("a directory");
        let to = |name: &str| directory.path().join(name);
        let compare = ["--consistency", "compare"];
        dump(&server.socket(), "root", &to("no"), &compare)
            .code(2)
            .says(&[why, "leave --consistency out"]);
        assert!(!to("no").exists());
        dump(&server.socket(), "t_bare", &to("one"), &[])
            .code(0)
            .says(&["one snapshot of one reader"]);
        Tool::new(["verify"]).arg(to("one")).run().ok();
    }
}

both!(without_the_backup_lock_definitions_may_change);
fn without_the_backup_lock_definitions_may_change(pair: &Pair) {
    bank(pair);
    let slow = ["--max-rate", "500k", "--chunk-size", "64k"];
    let waits = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT%FROM `bank`.%' AND id <> CONNECTION_ID()";
    for name in ["other", "same"] {
        let args = [&slow[..], &["--no-backup-lock"]].concat();
        let running = pair.dumping(name, &args).start();
        until_some(pair.source(), waits);
        // While rows are read nothing holds up a change of definitions.
        if name == "other" {
            pair.fill("CREATE TABLE bank.another (id INT PRIMARY KEY); DROP TABLE bank.another;");
            running.wait().ok();
            pair.verify(name).ok();
        } else {
            pair.fill("ALTER TABLE bank.log ADD COLUMN more INT;");
            running.wait().code(3).says(&["`bank`.`log`", "again"]);
        }
    }
}
