//! `--dry-run` of dump, load and restore: it says what the command then does, and changes nothing.

use crate::kit::{Pair, Tool, both};
use std::fs;

fn fill(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE pv; USE pv; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); \
        INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'); CREATE TABLE log (id INT); \
        CREATE VIEW w AS SELECT * FROM t; CREATE PROCEDURE p() SELECT 1; \
        CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id); \
        CREATE DATABASE pv2; CREATE TABLE pv2.empty (id INT PRIMARY KEY); \
        CREATE USER t_p@localhost IDENTIFIED BY 'of-P1'; GRANT SELECT ON pv.* TO t_p@localhost",
    );
}

/// Everything by which a change of the target would show.
fn state(pair: &Pair) -> String {
    let (target, status) = match pair.is_mysql() {
        true => (pair.target(), "SHOW BINARY LOG STATUS"),
        false => (pair.target(), "SHOW MASTER STATUS"),
    };
    let shown = [
        status,
        "SELECT user, host FROM mysql.user ORDER BY 1, 2",
        "SELECT table_schema, table_name, create_time FROM information_schema.tables WHERE table_schema LIKE 'pv%' ORDER BY 1, 2",
        "SHOW GLOBAL VARIABLES WHERE variable_name IN ('sync_binlog', 'innodb_flush_log_at_trx_commit', 'local_infile', \
        'innodb_io_capacity', 'max_allowed_packet', 'read_only', 'log_bin_trust_function_creators', 'gtid_purged')",
    ];
    let all = shown.map(|sql| format!("{:?}", target.client(sql).expect("a state")));
    all.join("\n")
}

both!(a_preview_says_what_the_load_does);
fn a_preview_says_what_the_load_does(pair: &Pair) {
    fill(pair);
    pair.dump("a", &["--users"]).ok();
    let before = state(pair);
    let preview = pair
        .load("a", &["--dry-run", "--include-users", "t_p", "--json"])
        .ok();
    let foreseen = preview.summary();
    assert_eq!(state(pair), before);
    assert_eq!(foreseen["dry_run"], true, "{foreseen}");
    assert_eq!(foreseen["accounts_made"][0], "'t_p'@'localhost'");
    pair.load("a", &["--dry-run"]).ok().says(&[
        "This would be loaded",
        "2 schemas, 3 tables, 1 view",
        "below 4 MiB",
        "of the archive (",
        "changed",
        "nothing",
    ]);
    let done = pair
        .load("a", &["--include-users", "t_p", "--json"])
        .ok()
        .summary();
    for key in [
        "schemas",
        "tables",
        "views",
        "rows",
        "raw_bytes",
        "accounts_made",
        "adapted",
    ] {
        assert_eq!(foreseen[key], done[key], "{key}");
    }
    // What the load refuses, it refuses.
    let before = state(pair);
    pair.load("a", &["--dry-run"])
        .code(10)
        .says(&["already holds", "`pv`.`t`"]);
    pair.fill("CREATE USER t_none@localhost IDENTIFIED BY 'of-N1'");
    let into = |name: &str| name.replacen("root", "t_none", 1);
    let uri = into(&pair.source().uri());
    Tool::new(["load"])
        .arg(pair.path("a"))
        .args(["--into", &uri, "--dry-run", "--allow-same-server"])
        .env("PENSTOCK_PASSWORD", "of-N1")
        .run()
        .code(7)
        .says(&["GRANT ", "t_none"]);
    assert_eq!(state(pair), before);
}

both!(a_preview_names_what_would_be_left_out);
fn a_preview_names_what_would_be_left_out(pair: &Pair) {
    fill(pair);
    pair.dump("a", &["--schemas", "pv,pv2"]).ok();
    // Names that cannot be carried along.
    let renamed = ["--map-table", "pv.t=pv3.t", "--dry-run"];
    let said = pair
        .load("a", &[&["--schemas", "pv"], &renamed[..]].concat())
        .code(3);
    said.says(&["would not be created: "]);
    let chunk = fs::read_dir(pair.path("a"))
        .expect("an archive")
        .map(|f| f.expect("a file").path())
        .find(|f| f.to_string_lossy().ends_with("pv@t@@0.tsv.zst"))
        .expect("rows");
    let rows = fs::read(&chunk).expect("rows");
    fs::write(&chunk, b"not these").expect("damage");
    pair.load("a", &["--dry-run"]).code(5).says(&["pv@t@"]);
    let damaged = ["--skip-damaged", "--dry-run", "--json"];
    let foreseen = pair.load("a", &damaged).code(3).summary();
    assert!(pair.target_schemas().is_empty());
    let done = pair
        .load("a", &["--skip-damaged", "--json"])
        .code(3)
        .summary();
    // That a view lacks its table only shows when it is created.
    assert_eq!(foreseen["exceptions"][0], done["exceptions"][0]);
    assert_eq!(foreseen["rows"], done["rows"]);
    // What the load left out is what the same command would make when the archive is whole again.
    fs::write(&chunk, &rows).expect("mended");
    let missing = pair.load("a", &["--dry-run", "--json"]).ok().summary();
    assert_eq!(missing["missing"][0], "table `pv`.`t`", "{missing}");
    pair.load("a", &[]).ok();
    pair.verify_against("a", pair.target()).ok();
}

both!(a_preview_of_a_restore);
fn a_preview_of_a_restore(pair: &Pair) {
    fill(pair);
    let repository = pair.path("repository");
    Tool::new(["init"]).arg(&repository).run().ok();
    let backup = Tool::new(["backup", "shop", "--socket"]).arg(pair.source().socket());
    backup
        .args(["--user", "root", "--repository"])
        .arg(&repository)
        .run()
        .ok();
    let restore = |more: &[&str]| {
        let tool = Tool::new(["restore", "--repository"]).arg(&repository);
        tool.args(["--into", &pair.target().uri()])
            .args(more.iter().copied())
            .run()
    };
    let before = state(pair);
    let foreseen = restore(&["--dry-run", "--json"]).ok().summary();
    assert_eq!(state(pair), before);
    let locks = fs::read_dir(repository.join("locks"))
        .expect("locks")
        .count();
    assert_eq!(locks, 0);
    let done = restore(&["--json"]).ok().summary();
    assert_eq!(foreseen["rows"], done["rows"]);
    for (more, says) in [
        (&["--dry-run", "--resume"][..], "--resume"),
        (&["--dry-run", "--record", "r.json"], "--record"),
    ] {
        restore(more).code(2).says(&[says, "--dry-run"]);
    }
}

both!(a_preview_of_a_dump);
fn a_preview_of_a_dump(pair: &Pair) {
    fill(pair);
    pair.fill(
        "CREATE TABLE pv.moving (id INT PRIMARY KEY) ENGINE=MyISAM; CREATE VIEW pv.broken AS SELECT * FROM pv.log; \
        ALTER TABLE pv.log RENAME TO pv.log2; FLUSH TABLES; ANALYZE TABLE pv.t",
    );
    let before = pair.source().client("SHOW GLOBAL STATUS LIKE 'Com_flush'");
    let foreseen = pair
        .dump(
            "a",
            &["--dry-run", "--schemas", "pv,pv2", "--users", "--json"],
        )
        .code(3)
        .summary();
    assert!(!pair.path("a").exists());
    // Nothing was locked.
    assert_eq!(
        pair.source().client("SHOW GLOBAL STATUS LIKE 'Com_flush'"),
        before
    );
    let done = pair
        .dump("a", &["--schemas", "pv,pv2", "--users", "--json"])
        .code(3)
        .summary();
    for key in [
        "schemas",
        "tables",
        "views",
        "accounts",
        "exceptions",
        "not_seen",
    ] {
        assert_eq!(foreseen[key], done[key], "{key}");
    }
    assert_eq!(foreseen["consistency"], done["consistency"]);
    assert_eq!(foreseen["rows_estimate"], 3);
    assert!(foreseen["free_bytes"].as_u64() > Some(0));
    pair.dump("b", &["--dry-run", "--schemas", "pv"])
        .code(3)
        .says(&[
            "This would be dumped, with exceptions",
            "1 schema, 3 tables, 2 views",
            "as the server estimates",
            "`pv`.`moving` uses MyISAM",
            "are free there",
        ]);
    // What the dump refuses, it refuses.
    pair.dump("a", &["--dry-run"])
        .code(10)
        .says(&["is not empty"]);
    pair.fill("CREATE USER t_none@localhost IDENTIFIED BY 'of-N1'; GRANT SELECT ON pv2.* TO t_none@localhost");
    let uri = pair.source().uri().replacen("root", "t_none", 1);
    let none =
        Tool::new(["dump", &uri, "--dry-run", "--schemas", "pv2", "--to"]).arg(pair.path("c"));
    let none = none.env("PENSTOCK_PASSWORD", "of-N1").run().code(7);
    none.says(&["GRANT ", "t_none"]);
    assert!(!pair.path("b").exists() && !pair.path("c").exists());
}

both!(a_preview_names_an_interrupted_load);
fn a_preview_names_an_interrupted_load(pair: &Pair) {
    fill(pair);
    pair.dump("a", &["--schemas", "pv,pv2"]).ok();
    let load = Tool::new(["load"]).arg(pair.path("a")).arg("--socket");
    let load = load.arg(pair.target().socket()).args(["--user", "root"]);
    load.env("PENSTOCK_KILL_AT", "a table is created#2")
        .run()
        .code(137);
    let before = state(pair);
    pair.load("a", &["--dry-run"])
        .code(10)
        .says(&["was interrupted", "--resume"]);
    assert_eq!(state(pair), before);
    pair.load("a", &["--resume"]).ok();
    pair.verify_against("a", pair.target()).ok();
}
