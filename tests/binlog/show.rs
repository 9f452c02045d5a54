//! Transactions shown with their rows: every value is what the server's own SELECT gives, whatever the log says of its columns.

use super::kit::Logged;
use super::values::{assert_same, rows, tables};
use crate::kit::{Done, Tool, each_kind};
use serde_json::Value;
use testkit::Kind;

/// How much a log says of columns, from all to as little as there is.
fn metadata(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::MySql => &["FULL", "MINIMAL"],
        Kind::MySql55 => &[""],
        _ => &["FULL", "MINIMAL", "NO_LOG"],
    }
}

/// `penstock binlog show` of what is kept.
fn show(logged: &Logged, more: &[&str]) -> Done {
    logged.on(&[&["binlog", "show", "shop"], more].concat())
}

/// `penstock binlog VERB` of the server's own log.
fn live(logged: &Logged, verb: &str, more: &[&str]) -> Done {
    Tool::new(["binlog", verb, "--no-defaults", "--user", "root"])
        .args(more.iter().copied())
        .arg("--socket")
        .arg(logged.server.socket())
        .run()
}

fn of_rows(done: &Done) -> Vec<Value> {
    let mut all = done.json();
    all.retain(|v| v["event"] == "row");
    for row in &mut all {
        // How long the run has taken so far.
        row["seconds"] = Value::Null;
    }
    all
}

fn values_are_those_of_the_server(kind: Kind) {
    let Some(logged) = Logged::new(kind, &["--binlog-format=ROW"]) else {
        return;
    };
    let server = &logged.server;
    server.script(tables(kind).as_bytes()).expect("tables");
    let all = metadata(kind);
    for (i, metadata) in all.iter().enumerate() {
        if !metadata.is_empty() {
            let set = format!("SET GLOBAL binlog_row_metadata = {metadata}");
            server.client(&set).expect("a setting");
        }
        let rows = rows(kind, i as u32 * 100);
        server.script(rows.as_bytes()).expect("rows");
    }
    logged.once().ok();
    let limit = ["--json", "--quiet", "--limit", "1000"];
    // Nothing but the log: names only where it has them.
    let alone = show(&logged, &limit).ok();
    assert_eq!(assert_same(server, &alone, "v"), 5 * all.len());
    let summary = alone.summary();
    let unnamed = summary["unnamed"].as_object().expect("a list");
    assert!(
        unnamed["d.v"]
            .as_str()
            .expect("why")
            .contains("no definition"),
        "{summary}"
    );
    if kind != Kind::MySql55 {
        let first = &of_rows(&alone)[0];
        assert_eq!(first["after"]["e"], "a", "{first}");
        assert_eq!(assert_same(server, &alone, "more"), 3 * all.len());
    }
    // With the definitions of a dump that was made later.
    logged.backup();
    logged.once().ok();
    let named = show(&logged, &limit).ok();
    assert_eq!(assert_same(server, &named, "v"), 5 * all.len());
    let summary = named.summary();
    assert!(
        summary["named_by"]["d.v"]
            .as_str()
            .expect("by")
            .starts_with("backup shop@"),
        "{summary}"
    );
    assert_eq!(summary["unnamed"], serde_json::json!({}), "{summary}");
    for row in of_rows(&named) {
        let names = row["after"].as_object().expect("values").keys();
        assert!(names.clone().all(|n| !n.starts_with('@')), "{row}");
    }
    // The server's own log, with the server's own definitions.
    let of_server = live(&logged, "show", &limit).ok();
    assert_eq!(assert_same(server, &of_server, "v"), 5 * all.len());
    assert_eq!(of_rows(&named), of_rows(&of_server));
    if kind != Kind::MySql55 {
        assert_eq!(assert_same(server, &named, "more"), 3 * all.len());
        let uuid = of_rows(&named)
            .iter()
            .any(|r| r["after"]["uu"] == "123e4567-e89b-12d3-a456-426655440000");
        assert_eq!(uuid, kind.flavour() == Kind::MariaDb);
    }
}
each_kind!(values_are_those_of_the_server; mysql, mariadb, mariadb118, mysql55);

/// The same filters as those of `find`, and what is printed for people.
fn what_is_asked_for_is_shown(kind: Kind) {
    let Some(logged) = Logged::new(kind, &["--binlog-format=ROW"]) else {
        return;
    };
    let server = &logged.server;
    server
        .script(
            b"CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT UNSIGNED PRIMARY KEY, state VARCHAR(20), note BLOB);
              CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20));
              INSERT INTO orders VALUES (4000000000, 'new', x'00ff'), (2, 'new', NULL);
              FLUSH BINARY LOGS;
              BEGIN; UPDATE orders SET state = 'paid' WHERE id = 2; INSERT INTO log (what) VALUES ('paid'); COMMIT;",
        )
        .expect("writes");
    logged.backup();
    server
        .script(
            b"USE shop; DELETE FROM orders WHERE id = 2;
              ALTER TABLE orders ADD extra INT FIRST; INSERT INTO orders VALUES (5, 7, 'late', NULL);",
        )
        .expect("writes");
    logged.once().ok();
    let update = show(&logged, &["--table", "shop.orders", "--kind", "update"]).ok();
    update.says(&[
        "update shop.orders: id=2, state='new' -> 'paid', note=NULL\n",
        "… 1 row of other tables or kinds",
        "1 transaction shown",
    ]);
    show(
        &logged,
        &["--schema", "shop", "--kind", "insert", "--rows", "1"],
    )
    .ok()
    .says(&[
        "insert shop.orders: id=4000000000, state='new', note=x'00FF'\n",
        "… 1 row more",
    ]);
    // The definition changed behind the backup, so it is none of the last row.
    show(&logged, &["--table", "orders", "--kind", "insert"])
        .ok()
        .says(&[
            "a change of the table at binlog.",
            "came between it and backup shop@",
        ])
        .says(&["insert shop.orders: @1=5, @2=7"]);
    show(&logged, &["--text", "alter table"])
        .ok()
        .says(&["ALTER TABLE orders ADD extra INT FIRST  (schema shop)"]);
    logged.backup();
    logged.once().ok();
    show(&logged, &["--table", "orders", "--kind", "insert"])
        .ok()
        .says(&[
            "insert shop.orders: extra=5, id=7, state='late'",
            "id=4000000000, state='new'",
        ]);
    // A range, by place and by name.
    let found = show(&logged, &["--kind", "delete", "--json", "--quiet"]).ok();
    let begin = found
        .json()
        .into_iter()
        .find(|v| v["event"] == "transaction")
        .expect("one");
    let name = begin["gtid"].as_str().expect("a name").to_owned();
    let place = format!(
        "{}:{}",
        begin["file"].as_str().expect("a file"),
        begin["start"]
    );
    let end = format!(
        "{}:{}",
        begin["file"].as_str().expect("a file"),
        begin["end"]
    );
    for range in [
        ["--from", &name, "--to", &name],
        ["--from", &place, "--to", &end],
        ["--from", &name, "--to", &end],
    ] {
        for done in [show(&logged, &range), live(&logged, "show", &range)] {
            let said = done.ok().says(&["1 transaction shown"]).out;
            assert!(said.contains("delete shop.orders: "), "{range:?}: {said}");
        }
    }
    live(
        &logged,
        "find",
        &["--table", "shop.orders", "--kind", "update"],
    )
    .ok()
    .says(&["1 transaction found", "shop.orders: 1 row changed"]);
    live(&logged, "show", &["--gtid", &name])
        .ok()
        .says(&["1 transaction shown"]);
    live(&logged, "show", &["--from", "binlog.000099:4"])
        .code(2)
        .says(&["no file binlog.000099", "binlog.000001"]);
    live(&logged, "show", &["--before", "2001-01-01T00:00:00Z"])
        .ok()
        .says(&["No transaction"]);
    // What names no log, or two.
    Tool::new(["binlog", "show"])
        .run()
        .code(2)
        .says(&["no binary log is named"]);
    show(&logged, &["--socket", "/s"])
        .code(2)
        .says(&["options on a connection"]);
    // The account needs to see the log, and nothing else.
    server
        .script(b"CREATE USER u@localhost")
        .expect("an account");
    Tool::new(["binlog", "show", "--no-defaults", "--user", "u", "--socket"])
        .arg(server.socket())
        .run()
        .code(7)
        .says(&["REPLICATION"]);
}
each_kind!(what_is_asked_for_is_shown; mysql, mariadb);

/// Images that are not whole, compressed transactions, and events that servers compress.
fn incomplete_and_compressed_rows(kind: Kind) {
    let Some(logged) = Logged::new(kind, &["--binlog-row-metadata=FULL", "--binlog-format=ROW"])
    else {
        return;
    };
    let server = &logged.server;
    server
        .script(
            b"CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT, v LONGTEXT, j JSON, k JSON);
              INSERT INTO t VALUES (1, 1, REPEAT('x', 5000), '{\"a\": 1, \"b\": [1, 2]}', '{\"c\": 1}');
              SET SESSION binlog_row_image = MINIMAL; UPDATE t SET a = 2; SET SESSION binlog_row_image = FULL;",
        )
        .expect("writes");
    let more: &[u8] = match kind {
        Kind::MySql => b"USE d; SET SESSION binlog_row_value_options = PARTIAL_JSON;
              UPDATE t SET k = JSON_SET(k, '$.c', 'longer than it was'), j = JSON_REMOVE(JSON_SET(j, '$.a', 17), '$.b[0]');
              SET SESSION binlog_row_value_options = ''; SET SESSION binlog_transaction_compression = ON;
              UPDATE t SET v = REPEAT('y', 6000);",
        _ => b"USE d; SET GLOBAL log_bin_compress = ON; SET GLOBAL log_bin_compress_min_len = 10;
              UPDATE t SET v = REPEAT('y', 6000); CREATE TABLE d.a_name_that_is_long_enough_to_be_compressed (id INT PRIMARY KEY);",
    };
    server.script(more).expect("writes");
    logged.once().ok();
    let all = show(&logged, &["--json", "--quiet"]).ok();
    let rows = of_rows(&all);
    let minimal = &rows[1];
    assert_eq!(minimal["before"], serde_json::json!({"id": 1}), "{minimal}");
    assert_eq!(minimal["after"], serde_json::json!({"a": 2}), "{minimal}");
    let last = rows.last().expect("rows");
    assert_eq!(last["after"]["v"], "y".repeat(6000));
    if kind == Kind::MySql {
        let partial = &rows[2]["after"];
        let said = partial.to_string();
        assert!(said.contains("replace $.a = 17"), "{said}");
        assert!(said.contains("remove $.b[0]"), "{said}");
        let whole = &rows[3]["before"]["j"];
        assert_eq!(whole, "{\"a\": 17, \"b\": [2]}");
    } else {
        all.says(&["a_name_that_is_long_enough_to_be_compressed"]);
    }
    show(&logged, &["--kind", "update"])
        .ok()
        .says(&["update d.t: id=1, a=-> 2\n"]);
    let file = logged.path("back.sql");
    let back = file.to_str().expect("a path");
    let undo = |more: &[&str]| show(&logged, &[&["--undo", back], more].concat());
    undo(&["--table", "d.t", "--kind", "update"])
        .code(2)
        .says(&["binlog_row_image is not FULL", "nothing was written"]);
    assert!(!file.exists());
}
each_kind!(incomplete_and_compressed_rows; mysql, mariadb);
