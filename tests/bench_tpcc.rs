//! `penstock bench tpcc`: what it loads is TPC-C, the workload keeps TPC-C's rules, and `check`
//! finds broken data.

use crate::kit::waiting::{found, until, until_some};
use crate::kit::{Pair, Tool, both};
use rustix::process::Signal;
use testkit::Server;

fn tool(server: &Server, verb: &str, user: &str) -> Tool {
    Tool::new(["bench", "tpcc", verb, "--socket"])
        .arg(server.socket())
        .args(["--user", user])
}

fn load(server: &Server) -> serde_json::Value {
    let tool = tool(server, "load", "root").args(["--warehouses", "1", "--json"]);
    tool.args(["--threads", "2"]).run().ok().summary()
}

/// Connections of an account now.
fn connections(server: &Server, user: &str) -> Vec<String> {
    let sql = format!("SELECT id FROM information_schema.processlist WHERE user = '{user}'");
    let rows = server.client(&sql).expect("the list of connections");
    rows.into_iter().flatten().flatten().collect()
}

/// Waits until the account has that many connections, and returns them.
#[track_caller]
fn until_connected(server: &Server, user: &str, wanted: usize) -> Vec<String> {
    found(&format!("{wanted} connections of {user}"), || {
        Some(connections(server, user)).filter(|c| c.len() == wanted)
    })
}

/// Waits until new orders are entered.
#[track_caller]
fn until_orders_come_in(server: &Server) {
    let newest = "SELECT SUM(d_next_o_id) FROM tpcc.district";
    let before = server.value(newest).expect("a number");
    until("orders come in", || {
        server.value(newest).expect("a number") != before
    });
}

fn account(pair: &Pair, grants: &str) {
    pair.fill(&format!("CREATE USER t_bench@localhost; {grants}"));
}

both!(load_run_and_check_follow_tpcc);
fn load_run_and_check_follow_tpcc(pair: &Pair) {
    let server = pair.source();
    let loaded = load(server);
    assert_eq!(
        (loaded["warehouses"].as_u64(), loaded["workers"].as_u64()),
        (Some(1), Some(2)),
        "{loaded}"
    );
    let value = |sql: &str| server.value(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let tables = [
        ("warehouse", 1),
        ("district", 10),
        ("customer", 30_000),
        ("history", 30_000),
        ("new_orders", 9_000),
        ("orders", 30_000),
        ("stock", 100_000),
        ("item", 100_000),
    ];
    let mut rows: u64 = value("SELECT COUNT(*) FROM tpcc.order_line")
        .parse()
        .expect("a number");
    for (table, wanted) in tables {
        assert_eq!(
            value(&format!("SELECT COUNT(*) FROM tpcc.{table}")),
            wanted.to_string(),
            "{table}"
        );
        rows += wanted;
    }
    assert_eq!(loaded["rows"].as_u64(), Some(rows));
    // Its secondary indexes were created after the rows.
    let keys = "SELECT GROUP_CONCAT(DISTINCT index_name ORDER BY index_name) \
        FROM information_schema.statistics WHERE table_schema = 'tpcc' \
        AND index_name <> 'PRIMARY'";
    assert_eq!(value(keys), "idx_customer_name,idx_orders");
    let check = || {
        tool(server, "check", "root")
            .arg("--json")
            .run()
            .ok()
            .summary()
    };
    let fresh = check();
    assert_eq!(fresh["conditions"].as_array().map(Vec::len), Some(12));

    // The schema exists now.
    tool(server, "load", "root")
        .args(["-w", "1"])
        .run()
        .code(10)
        .says(&["`tpcc` exists already", "--schema"]);

    let ran = tool(server, "run", "root")
        .args([
            "--connections",
            "2",
            "--ramp",
            "500ms",
            "--measure",
            "3s",
            "--json",
        ])
        .run()
        .ok()
        .summary();
    assert!(ran["tpmc"].as_f64() > Some(0.0), "{ran}");
    let of = |name: &str, key: &str| {
        ran["transactions"][name][key]
            .as_u64()
            .unwrap_or_else(|| panic!("{name} {key}: {ran}"))
    };
    let all = ran["completed"].as_u64().expect("a number");
    assert!(all > 60, "{ran}");
    for (name, share) in [
        ("new_order", 44.7),
        ("payment", 43.1),
        ("order_status", 4.1),
        ("delivery", 4.1),
        ("stock_level", 4.1),
    ] {
        let found = of(name, "count") as f64 / all as f64 * 100.0;
        // All terminals draw from one deck, so only its last part can be off: 123 cards, and two at
        // a time.
        assert!(
            (found - share).abs() < 100.0 * 12.0 / all as f64 + 1.0,
            "{name} {found}: {ran}"
        );
    }
    assert_eq!(of("payment", "rolled_back"), 0);
    let seconds = ran["seconds_each"].as_array().expect("seconds");
    assert!(seconds.len() >= 3, "{ran}");
    assert_eq!(ran["constraints"].as_array().map(Vec::len), Some(9));
    assert_eq!(check()["holds"].as_bool(), Some(true));
    let delivered = value("SELECT SUM(c_delivery_cnt) FROM tpcc.customer");
    assert_ne!(delivered, "0", "orders were delivered");
    // The same as a table for people.
    tool(server, "run", "root")
        .args([
            "-c",
            "1",
            "--ramp",
            "0",
            "--measure",
            "300ms",
            "--rate",
            "50",
        ])
        .run()
        .ok()
        .says(&[
            "tpmC",
            "not an audited result",
            "Stock-Level",
            "within 20 s",
            "Payment",
            "at least 43 %",
        ]);

    // A missing row breaks its relation to others.
    server
        .client(
            "DELETE FROM tpcc.order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 17 \
            AND ol_number = 1",
        )
        .expect("a row deleted");
    let done = tool(server, "check", "root")
        .run()
        .code(4)
        .says(&["[NG]   4", "[NG]   6", "[OK]   1"]);
    assert_eq!(done.said().matches("[NG]").count(), 2, "{}", done.said());
    server
        .client("DELETE FROM tpcc.district WHERE d_w_id = 1 AND d_id = 10")
        .expect("a row deleted");
    tool(server, "check", "root")
        .run()
        .code(4)
        .says(&["[NG]   1"]);
}

both!(missing_privileges_and_tables_are_named);
fn missing_privileges_and_tables_are_named(pair: &Pair) {
    let server = pair.source();
    account(pair, "");
    tool(server, "load", "t_bench")
        .args(["-w", "1"])
        .run()
        .code(7)
        .says(&["GRANT", "`tpcc`.*", "t_bench"]);
    for verb in ["run", "check"] {
        tool(server, verb, "t_bench")
            .run()
            .code(7)
            .says(&["GRANT SELECT", "`tpcc`.*", "t_bench"]);
    }
    assert!(
        !crate::kit::pair::schemas(server).contains(&"tpcc".to_owned()),
        "nothing was created"
    );
    // With all privileges, but without tables.
    tool(server, "run", "root")
        .run()
        .code(10)
        .says(&["holds no tables of TPC-C", "penstock bench tpcc load"]);
    pair.fill("CREATE DATABASE tpcc; CREATE TABLE tpcc.item (i_id INT);");
    tool(server, "check", "root")
        .run()
        .code(10)
        .says(&["lacks tables of TPC-C", "order_line"]);
    tool(server, "run", "root")
        .args(["--measure", "0"])
        .run()
        .code(2);
    tool(server, "run", "root")
        .args(["--measure", "10 parsecs"])
        .run()
        .code(2)
        .says(&["is not a time"]);
}

both!(a_workload_survives_a_stall_and_says_what_ends_it);
fn a_workload_survives_a_stall_and_says_what_ends_it(pair: &Pair) {
    let server = pair.source();
    load(server);
    account(
        pair,
        "GRANT SELECT, INSERT, UPDATE, DELETE ON tpcc.* TO t_bench@localhost;",
    );
    let start = |measure: &str| {
        tool(server, "run", "t_bench")
            .args(["-c", "3", "--ramp", "0", "--json", "--measure", measure])
            .start()
    };

    // No payment is possible for a while: the run waits, and its figures show it.
    let running = start("12s");
    until_orders_come_in(server);
    let mut holder = server.conn().expect("a connection");
    holder
        .execute("LOCK TABLES tpcc.warehouse READ")
        .expect("the lock");
    until_some(
        server,
        "SELECT COUNT(*) FROM information_schema.processlist \
        WHERE user = 't_bench' AND state LIKE 'Waiting for%' AND time >= 2",
    );
    holder.execute("UNLOCK TABLES").expect("unlocked");
    let ran = running.wait().ok().summary();
    assert!(
        ran["transactions"]["payment"]["max_ms"].as_f64() > Some(1000.0),
        "{ran}"
    );
    until_connected(server, "t_bench", 0);

    // Lost connections end the run.
    let running = start("1h");
    until_orders_come_in(server);
    for id in until_connected(server, "t_bench", 3) {
        // Not KILL QUERY: the connection goes.
        let _ = server.client(&format!("KILL {id}"));
    }
    running
        .wait()
        .code(6)
        .says(&["the workload ended", "\"kind\":\"connection\""]);
    until_connected(server, "t_bench", 0);

    // The user ends it: nothing is left.
    let running = start("1h");
    until_orders_come_in(server);
    running.signal(Signal::INT);
    running.wait().code(9);
    until_connected(server, "t_bench", 0);
    tool(server, "check", "root").run().ok();
}
