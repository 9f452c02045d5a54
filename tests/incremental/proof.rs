//! What the binary log proves and what not: after each kind of change the backup is what the server has.

use super::{ALWAYS, Scene, account, filled, has_read, later};
use crate::kit::{Pair, both, each_kind, own_server};
use testkit::Kind;

/// One thing that is done between two backups, and the tables that have to be read because of it; `None`: all of them.
type Case = (
    &'static str,
    Vec<&'static str>,
    Option<Vec<(&'static str, &'static str)>>,
    &'static str,
);

each_kind!(what_the_log_does_not_prove_is_read; mysql, mariadb);
fn what_the_log_does_not_prove_is_read(kind: Kind) {
    let logged = ["--server-id=7", "--log-bin=binlog", "--binlog-format=ROW"];
    let Some(mut server) = own_server(kind, &logged) else {
        return;
    };
    filled(&server);
    let statement = "SET SESSION binlog_format = 'STATEMENT'";
    let reset = match kind {
        Kind::MySql => "RESET BINARY LOGS AND GTIDS",
        _ => "RESET MASTER",
    };
    let all: Vec<Case> = vec![
        ("nothing", vec![], Some(vec![]), ""),
        (
            "rows",
            vec!["UPDATE shop.parts SET v = 7 WHERE id = 5"],
            Some(vec![("parts", "its rows were changed (binlog.")]),
            "",
        ),
        (
            "rolled back",
            vec![
                "BEGIN",
                "UPDATE shop.parts SET v = 8 WHERE id = 5",
                "ROLLBACK",
            ],
            Some(vec![]),
            "",
        ),
        (
            "a foreign key",
            vec!["DELETE FROM shop.parent WHERE id = 2"],
            Some(vec![("parent", "its rows"), ("child", "")]),
            "",
        ),
        (
            "a definition",
            vec![
                "TRUNCATE TABLE shop.noted",
                "ALTER TABLE shop.counted ADD KEY (n)",
            ],
            Some(vec![("noted", "a statement"), ("counted", "a statement")]),
            "",
        ),
        (
            "a trigger in a statement",
            vec![statement, "INSERT INTO shop.b VALUES (70000, 'x')"],
            Some(vec![("b", "a statement"), ("noted", "a statement")]),
            "",
        ),
        (
            "a function in a statement",
            vec![statement, "INSERT INTO shop.a (v) VALUES (shop.counts(1))"],
            Some(vec![("a", "a statement"), ("counted", "a statement")]),
            "",
        ),
        (
            "a view in a statement",
            vec![statement, "UPDATE shop.seen SET v = 5"],
            Some(vec![("odd-name", "a statement")]),
            "",
        ),
        (
            "not in the log",
            vec![
                "SET SESSION sql_log_bin = 0",
                "UPDATE shop.kept SET v = v + 1",
            ],
            Some(vec![("kept", "the log does not say")]),
            "",
        ),
        (
            "not in the log, and without a time",
            vec![
                "SET SESSION sql_log_bin = 0",
                "TRUNCATE TABLE shop.noted",
                "ALTER TABLE shop.parts TRUNCATE PARTITION p1",
                "ALTER TABLE shop.`odd-name` ADD COLUMN zz INT DEFAULT 5",
                "ALTER TABLE shop.`odd-name` DROP COLUMN zz",
            ],
            Some(vec![("noted", ""), ("parts", ""), ("odd-name", "")]),
            "",
        ),
        (
            "an XA transaction",
            vec![
                "XA START 'x'",
                "INSERT INTO shop.parts VALUES (800, 1)",
                "XA END 'x'",
                "XA PREPARE 'x'",
                "XA COMMIT 'x'",
            ],
            Some(vec![("parts", "its rows")]),
            "",
        ),
        ("a reset log", vec![reset], None, "was reset"),
        (
            "a program that was changed",
            vec![
                statement,
                "INSERT INTO shop.a (v) VALUES (shop.counts(1))",
                "DROP FUNCTION shop.counts",
            ],
            None,
            "that was changed since",
        ),
    ];
    let scene = Scene::new(&server);
    let check = |scene: &Scene<'_>, what: &str, wanted: Option<&[(&str, &str)]>, why: &str| {
        let (id, summary) = scene.incremental(&[]);
        match wanted {
            Some(wanted) => has_read(&summary, &[&[ALWAYS], wanted].concat()),
            None => {
                let nothing = summary["taken_over"]["nothing"].as_str();
                assert!(
                    nothing.is_some_and(|n| n.contains(why)),
                    "{what}: {summary}"
                );
                assert_eq!(summary["taken_over"]["tables"], 0, "{what}");
            }
        }
        scene.is_equal(&id);
    };
    scene.incremental(&[]);
    for (what, statements, wanted, why) in &all {
        later();
        let mut conn = scene.server.conn().expect("a connection");
        for sql in statements {
            conn.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        later();
        check(&scene, what, wanted.as_deref(), why);
    }
    // Prepared before a backup and committed after it: its rows stand in the log before.
    let mut conn = server.conn().expect("a connection");
    for sql in [
        "XA START 'y'",
        "INSERT INTO shop.parts VALUES (900, 1)",
        "XA END 'y'",
        "XA PREPARE 'y'",
    ] {
        conn.execute(sql).expect("an XA transaction");
    }
    drop(conn);
    later();
    scene.incremental(&[]);
    server.client("XA COMMIT 'y'").expect("a commit");
    check(&scene, "XA", None, "prepared before");
    // A log that was removed.
    server.client("FLUSH BINARY LOGS").expect("another file");
    server.client("FLUSH BINARY LOGS").expect("another file");
    let last = match kind {
        Kind::MySql => "SHOW BINARY LOG STATUS",
        _ => "SHOW MASTER STATUS",
    };
    let last = server.field(last, "File").expect("a file").expect("a file");
    if kind != Kind::MySql {
        // It removes nothing that a crash may need.
        later();
    }
    server
        .client(&format!("PURGE BINARY LOGS TO '{last}'"))
        .expect("purged");
    check(&scene, "purged", None, "has removed");
    let Scene {
        url,
        access,
        directory,
        ..
    } = scene;
    server.restart().expect("a restart");
    let scene = Scene {
        server: &server,
        url,
        access,
        directory,
    };
    check(&scene, "restart", None, "was started again");
    check(&scene, "nothing", Some(&[]), "");
}

// What is not dumped changes what is.
both!(excluded_tables_are_followed);
fn excluded_tables_are_followed(pair: &Pair) {
    filled(pair.source());
    let scene = Scene::new(pair.source());
    let without = ["--exclude-tables", "shop.b,shop.parent"];
    scene.incremental(&without);
    let mut conn = pair.source().conn().expect("a session");
    for sql in [
        "SET SESSION binlog_format = 'STATEMENT'",
        "INSERT INTO shop.b VALUES (80000, 'x')",
        "DELETE FROM shop.parent WHERE id = 3",
    ] {
        conn.execute(sql).expect(sql);
    }
    let (id, summary) = scene.incremental(&without);
    has_read(
        &summary,
        &[ALWAYS, ("noted", "a statement"), ("child", "a foreign key")],
    );
    scene.is_equal(&id);
}

both!(a_change_that_nothing_tells_is_found_by_the_sample);
fn a_change_that_nothing_tells_is_found_by_the_sample(pair: &Pair) {
    let server = pair.source();
    filled(server);
    let scene = Scene::new(server);
    // With PROCESS the number of the tablespace would tell it.
    let file = account(pair, true);
    let backup = |more: &[&str]| {
        let words = ["backup", "shop", "--incremental", "--no-users", "--json"];
        let done = scene
            .verb(&words)
            .args(["--defaults-file", &file])
            .args(more.iter().copied())
            .run();
        assert!([0, 3].contains(&done.code), "{done:?}");
        done.summary()
    };
    backup(&[]);
    // Other files are put in the place of the table's: the log has nothing, and no time of a change.
    let mut conn = server.conn().expect("a connection");
    for sql in [
        "SET SESSION sql_log_bin = 0",
        "CREATE TABLE shop.other LIKE shop.kept",
        "INSERT INTO shop.other (id, v) VALUES (1, 1), (2, 5)",
        "FLUSH TABLES shop.other FOR EXPORT",
    ] {
        conn.execute(sql).expect(sql);
    }
    let file = |name: &str| server.datadir().join("shop").join(name);
    for extension in ["ibd", "cfg"] {
        let from = file(&format!("other.{extension}"));
        std::fs::copy(from, pair.path(extension)).expect("a copy");
    }
    for sql in [
        "UNLOCK TABLES",
        "DROP TABLE shop.other",
        "ALTER TABLE shop.kept DISCARD TABLESPACE",
    ] {
        conn.execute(sql).expect(sql);
    }
    for extension in ["ibd", "cfg"] {
        std::fs::copy(pair.path(extension), file(&format!("kept.{extension}"))).expect("a copy");
    }
    conn.execute("ALTER TABLE shop.kept IMPORT TABLESPACE")
        .expect("an import");
    let summary = backup(&["--paranoid"]);
    let nothing = summary["taken_over"]["nothing"].as_str();
    assert!(
        nothing.is_some_and(|n| n.contains("`shop`.`kept`")),
        "{summary}"
    );
    let id = summary["backup"]["id"].as_str().expect("an id");
    scene.is_equal(id);
}
