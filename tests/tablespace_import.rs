//! Tables that are imported as tablespaces: in the end the same as if they had been loaded by SQL,
//! whatever happens on the way.

use crate::kit::fixtures::{all_tables, imported_as_tablespaces, three_tables};
use crate::kit::imported::{equal, leftovers, names};
use crate::kit::{COUNT, Pair, Tool, both, each_kind, few, own_server};
use rustix::process::Signal;
use testkit::{Kind, Server};

const TABLESPACE: &[&str] = &["--import-mode", "tablespace", "--skip-binlog"];

fn loading(pair: &Pair, more: &[&str]) -> Tool {
    load_into(pair, pair.target(), more)
}

fn load_into(pair: &Pair, target: &Server, more: &[&str]) -> Tool {
    let tool = Tool::new(["load"])
        .arg(pair.path("a"))
        .arg("--socket")
        .arg(target.socket());
    let threads: &[&str] = match more.contains(&"--threads") {
        true => &[],
        false => &["--threads", "2"],
    };
    tool.args(["--user", "root"])
        .args(threads.iter().copied())
        .args(TABLESPACE.iter().copied())
        .args(more.iter().copied())
}

both!(imported_tables_equal_those_loaded_by_sql);
fn imported_tables_equal_those_loaded_by_sql(pair: &Pair) {
    all_tables(pair);
    pair.dump("a", &["--chunk-size", "256k"]).code(3);
    let done = loading(pair, &["--json"]).run().ok();
    let summary = done.summary();
    let import = &summary["import"];
    let mut files = names(&import["tables"]);
    files.sort();
    let wanted = imported_as_tablespaces(pair);
    assert_eq!(files, wanted, "{import:#}");
    let reasons = import["by_sql"].as_array().expect("reasons");
    for (table, word) in [("made", "are stored"), ("isam", "engine")] {
        let name = format!("`f`.`{table}`");
        let reason = reasons.iter().find(|r| names(&r["tables"]).contains(&name));
        let reason = reason.unwrap_or_else(|| panic!("{table}: {import:#}"))["reason"]
            .as_str()
            .expect("a reason");
        assert!(reason.contains(word), "{table}: {reason}");
    }
    let keys = names(&import["indexes_built_by_server"]);
    for key in [
        "`f`.`sorted_elsewhere`: `a`",
        "`f`.`sorted_elsewhere`: `b`",
        "`f`.`worded`: `t`",
    ] {
        assert!(keys.contains(&key.to_owned()), "{keys:?}");
    }
    equal(pair, pair.target(), "loaded");
    pair.same_definitions("f");
    pair.same("SELECT * FROM f.worked_out ORDER BY id");
    pair.same("SELECT COUNT(*), SUM(l) FROM f.worked_out FORCE INDEX (l) WHERE l > 3");
    if pair.is_mysql() {
        pair.same("SELECT COUNT(*), SUM(n) FROM f.documents FORCE INDEX (n) WHERE n > 3");
        pair.same(
            "SELECT id, city, JSON_TYPE(j->'$.n'), JSON_LENGTH(j), j->'$.list[0]' FROM f.documents \
            FORCE INDEX (city) WHERE city > 'M' ORDER BY id",
        );
        pair.same("SELECT * FROM f.functional ORDER BY id");
        pair.same("SELECT COUNT(*) FROM f.functional FORCE INDEX (f) WHERE LOWER(v) > 'b'");
    }
    // Both give out the same next values, and stay equal.
    for change in [
        // The row id of the next row must be one that no row has.
        "INSERT INTO f.no_key VALUES (5, 'the next row')",
        "INSERT INTO f.keyed (u) VALUES ('new')",
        "INSERT INTO f.worded (t) VALUES ('new words')",
        "UPDATE f.keyed SET v = CONCAT('zz', v), n = n + 1 WHERE id % 3 = 0",
        "DELETE FROM f.keyed WHERE id % 7 = 0",
        "UPDATE f.worded SET b = NULL WHERE id % 50 = 0",
        "INSERT INTO f.worded (t, b) SELECT t, b FROM f.worded WHERE id % 5 = 0",
        "UPDATE f.latin SET a = CONCAT('x', a) WHERE e = 1",
        "DELETE FROM f.wide_set WHERE id % 3 = 0",
        "UPDATE f.sorted_elsewhere SET b = REVERSE(b)",
        "UPDATE f.down SET at = at + INTERVAL 40 DAY WHERE id % 5 = 0 ORDER BY at DESC",
        "DELETE FROM f.down_all WHERE n < 9",
        "INSERT INTO f.down_all SELECT id, n + 1000, v FROM f.down_all WHERE id % 3 = 0",
        "UPDATE f.beginning SET v = CONCAT('b', v) WHERE id % 4 = 0",
        "UPDATE f.scripts SET p = CONCAT('\u{44f}', p), l = UPPER(l), t = CONCAT(t, t) WHERE m = 1",
        "UPDATE f.filled SET code = CONCAT(code, '~'), v = REVERSE(v) WHERE code > 'm'",
        "DELETE FROM f.filled WHERE code < 'd'",
        "INSERT INTO f.no_key SELECT a, CONCAT(v, 'n') FROM f.no_key WHERE a = 1",
        "UPDATE f.no_key SET v = REVERSE(v) WHERE v > 'c'",
        "DELETE FROM f.no_key WHERE a = 0",
        "REPLACE INTO f.no_primary SELECT a * 2, v FROM f.no_key WHERE a = 2",
        "UPDATE f.worked_out SET a = REVERSE(CONCAT(a, 'y')) WHERE id % 3 = 0",
        "DELETE FROM f.worked_out WHERE l = 7",
    ]
    .into_iter()
    .chain(Some(if pair.is_mysql() {
        "UPDATE f.documents SET j = JSON_SET(j, '$.n', id, '$.new', j->'$.list') WHERE id % 3 = 0"
    } else {
        "UPDATE f.of_mariadb SET u = INSERT(u, 1, 2, 'ff'), i = '::1' WHERE a > '0.1.0.0'"
    })) {
        for server in [pair.source(), pair.target()] {
            server
                .client(change)
                .unwrap_or_else(|e| panic!("{change}: {e:?}"));
        }
        if change.contains("the next row") {
            pair.same("SELECT COUNT(*), SUM(a) FROM f.no_key IGNORE INDEX (v)");
        }
    }
    pair.same("SELECT MAX(id) FROM f.keyed");
    pair.same(
        "SELECT v, COUNT(*) FROM f.filled FORCE INDEX (v) WHERE v >= '' GROUP BY v ORDER BY v",
    );
    pair.same(
        "SELECT COUNT(*) FROM f.filled FORCE INDEX (p) \
        WHERE MBRContains(ST_GeomFromText('POLYGON((0 0, 900 0, 900 -2000, 0 -2000, 0 0))'), p)",
    );
    pair.same(
        "SELECT l, COUNT(*) FROM f.scripts FORCE INDEX (l) WHERE l >= '' GROUP BY l ORDER BY l",
    );
    pair.same("SELECT MAX(id) FROM f.worded");
    pair.same("SELECT COUNT(*) FROM f.worded WHERE MATCH (t) AGAINST ('word17')");
    equal(pair, pair.target(), "changed");
    pair.same("SELECT * FROM f.worked_out ORDER BY id");
    pair.same("SELECT COUNT(*), SUM(l) FROM f.worked_out FORCE INDEX (u) WHERE l > 3");
    let twice = pair
        .target()
        .client("INSERT INTO f.keyed (u) VALUES ('u8')");
    assert!(twice.is_err(), "a unique key is one");
}

both!(auto_imports_big_tables_and_says_why_not_the_others);
fn auto_imports_big_tables_and_says_why_not_the_others(pair: &Pair) {
    pair.fill(&format!(
        "CREATE DATABASE f; USE f; \
        CREATE TABLE big (id INT PRIMARY KEY, v VARCHAR(900), KEY (v(30))) ENGINE=InnoDB; \
        INSERT INTO big SELECT n, REPEAT(SHA2(n, 512), 6) FROM {COUNT}; \
        CREATE TABLE small (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO small VALUES (1);"
    ));
    pair.dump("a", &["--chunk-size", "2M"]).ok();
    let load = |more: &[&str]| {
        pair.target()
            .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
            .expect("an empty target");
        pair.load("a", more).ok()
    };
    load(&["--skip-binlog"]).says(&[
        "as tablespaces",
        "1 table, ",
        "`f`.`small`: below 4 MiB: loaded by SQL (faster)",
        "equal: 10,001 rows in 2 tables",
    ]);
    equal(pair, pair.target(), "auto");
    // What does not fit into memory is sorted on disk. --verify none does not skip the verification
    // of a tablespace.
    load(&["--skip-binlog", "--sort-memory", "1M", "--verify", "none"])
        .says(&["as tablespaces", "equal: 10,000 rows in 1 table"]);
    equal(pair, pair.target(), "little memory");
    let rows = load(&["--skip-binlog", "--import-mode", "sql"]);
    assert!(
        !rows.said().contains("as tablespaces") && !rows.said().contains("by SQL"),
        "{}",
        rows.said()
    );
    load(&[
        "--skip-binlog",
        "--import-mode",
        "tablespace",
        "--max-rate",
        "1G",
    ])
    .says(&[
        "by SQL",
        "--max-rate limits what is sent to the server, and tablespaces are not sent",
    ]);
    let binlog = pair.target().value("SELECT @@log_bin").expect("a flag") == "1";
    if binlog {
        load(&[]).says(&["`f`.`big`: the server writes a binary log", "--skip-binlog"]);
    }
    if pair.is_mysql() {
        // Without a redo log a server that crashes loses all its tables.
        let done = load(&["--skip-binlog", "--tune=max"]).says(&["as tablespaces"]);
        assert!(!done.said().contains("innodb_redo_log "), "{}", done.said());
    }
    pair.load("a", &["--sort-memory", "lots"])
        .code(2)
        .says(&["\"lots\" is not a size"]);
    pair.load("a", &["--import-mode", "sea"])
        .code(2)
        .says(&["auto", "sql", "tablespace"]);
}

const FAILPOINTS: &[&str] = &[
    "a table is created#2",
    "a file is announced#2",
    "empty files are discarded#1",
    "empty files are discarded#2",
    "a file is about to be built#1",
    "a file is built#1",
    "a file is about to be handed over#1",
    "a file is in its place#1",
    "a file is in its place#3",
    "a file is imported#1",
    "a file is imported#3",
    "a file is entered#1",
    "a file is entered#2",
    "a file is proven#1",
    "a file is proven#3",
    "a chunk is stored#1",
];

both!(a_load_killed_during_the_import);
fn a_load_killed_during_the_import(pair: &Pair) {
    three_tables(pair);
    for failpoint in few(pair.kind, 5, FAILPOINTS) {
        pair.target()
            .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
            .expect("an empty target");
        loading(pair, &[])
            .env("PENSTOCK_KILL_AT", failpoint)
            .run()
            .code(137);
        loading(pair, &[])
            .run()
            .code(10)
            .says(&["interrupted", "--resume"]);
        // Killed again while it cleans up.
        let second = loading(pair, &["--resume"])
            .env("PENSTOCK_KILL_AT", "what was left of a file is gone#1")
            .run();
        if second.code != 0 {
            second.code(137);
            loading(pair, &["--resume"]).run().ok().says(&["equal:"]);
        }
        equal(pair, pair.target(), failpoint);
        pair.same_definitions("f");
    }
    // The resume may use another import mode.
    pair.target()
        .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
        .expect("an empty target");
    loading(pair, &[])
        .env("PENSTOCK_KILL_AT", "a file is in its place#2")
        .run()
        .code(137);
    pair.load("a", &["--resume", "--skip-binlog", "--import-mode", "sql"])
        .ok()
        .says(&["equal:"]);
    equal(pair, pair.target(), "rows the second time");
    pair.same_definitions("f");
    // The schema can also be dropped instead, whatever is left of the load.
    pair.target()
        .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
        .expect("an empty target");
    loading(pair, &[])
        .env("PENSTOCK_KILL_AT", "a file is built#1")
        .run()
        .code(137);
    pair.target()
        .script(b"DROP DATABASE f; DROP DATABASE `a-f`")
        .expect("dropped");
    assert!(!leftovers(pair.target()).is_empty());
    loading(pair, &[]).run().ok();
    equal(pair, pair.target(), "started again");
}

both!(rows_of_other_sessions_are_not_dropped);
fn rows_of_other_sessions_are_not_dropped(pair: &Pair) {
    three_tables(pair);
    loading(pair, &[])
        .env("PENSTOCK_KILL_AT", "a table is created#3")
        .run()
        .code(137);
    let filled = pair
        .target()
        .client(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'f' \
            AND table_name = 'a'",
        )
        .expect("tables");
    assert_eq!(filled.len(), 1, "the table is there");
    pair.target()
        .client("INSERT INTO f.a VALUES (900000, 'mine')")
        .expect("inserted");
    // There is one row too many, so the load fails. But the row is kept, and so are all others.
    loading(pair, &["--resume"])
        .run()
        .code(4)
        .says(&["`f`.`a`"]);
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM f.a")
            .expect("rows"),
        "10001"
    );
    assert_eq!(
        pair.target()
            .value("SELECT v FROM f.a WHERE id = 900000")
            .expect("a row"),
        "mine"
    );
}

both!(the_documented_grants_are_enough);
fn the_documented_grants_are_enough(pair: &Pair) {
    three_tables(pair);
    let more = if pair.is_mysql() {
        "RELOAD, SESSION_VARIABLES_ADMIN"
    } else {
        "RELOAD, SUPER, BINLOG ADMIN"
    };
    let grants = "DROP USER IF EXISTS restore@localhost; CREATE USER restore@localhost; \
        GRANT CREATE, DROP, ALTER, INDEX, REFERENCES, SELECT, INSERT, DELETE, CREATE VIEW, \
          SHOW VIEW, TRIGGER, CREATE ROUTINE, ALTER ROUTINE, EVENT ON f.* TO restore@localhost; \
        GRANT CREATE, DROP, ALTER, INDEX, REFERENCES, SELECT, INSERT, DELETE, CREATE VIEW, \
          SHOW VIEW, TRIGGER, CREATE ROUTINE, ALTER ROUTINE, EVENT ON `a-f`.* \
          TO restore@localhost;";
    let load = |more: &[&str]| {
        pair.target()
            .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
            .expect("an empty target");
        Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("--socket")
            .arg(pair.target().socket())
            .args(["--user", "restore", "--threads", "2"])
            .args(more.iter().copied())
            .run()
            .ok()
    };
    pair.target().script(grants.as_bytes()).expect("granted");
    load(&[]).says(&["equal:"]);
    pair.target()
        .script(
            format!(
                "GRANT {more} ON *.* TO restore@localhost; \
                GRANT LOCK TABLES ON f.* TO restore@localhost; \
                GRANT LOCK TABLES ON `a-f`.* TO restore@localhost;"
            )
            .as_bytes(),
        )
        .expect("granted");
    load(TABLESPACE).says(&["as tablespaces", "equal:"]);
    equal(pair, pair.target(), "with grants");
    pair.target()
        .script(b"DROP USER restore@localhost")
        .expect("dropped");
}

each_kind!(a_server_killed_during_the_import; mysql, mariadb, mariadb118);
fn a_server_killed_during_the_import(kind: Kind) {
    let Some(mut target) = own_server(kind, &["--server-id=79"]) else {
        return;
    };
    let Some(pair) = Pair::take(kind.flavour()) else {
        return;
    };
    three_tables(&pair);
    for failpoint in few(kind, 4, &FAILPOINTS[1..]) {
        target
            .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
            .expect("an empty target");
        let run = load_into(&pair, &target, &[])
            .env("PENSTOCK_STOP_AT", failpoint)
            .start();
        run.until_stopped();
        target.kill9().expect("killed");
        run.signal(Signal::CONT);
        let done = run.wait();
        assert_eq!(done.code, 6, "{failpoint}: {}", done.said());
        target.restart().expect("a server again");
        load_into(&pair, &target, &["--resume"])
            .run()
            .ok()
            .says(&["equal:"]);
        equal(&pair, &target, failpoint);
        target.restart().expect("a server again");
        equal(&pair, &target, &format!("{failpoint}, restarted"));
    }
}

each_kind!(changes_right_after_the_import_survive_a_crash; mysql, mariadb, mariadb118);
/// MariaDB's recovery leaves out changes of a table whose empty tablespace was discarded since the
/// last checkpoint.
fn changes_right_after_the_import_survive_a_crash(kind: Kind) {
    let Some(mut target) = own_server(kind, &["--server-id=79"]) else {
        return;
    };
    let Some(pair) = Pair::take(kind.flavour()) else {
        return;
    };
    three_tables(&pair);
    load_into(&pair, &target, &[]).run().ok();
    // The server continues the row ids of a table without a key, also after a crash.
    pair.fill(&format!(
        "CREATE TABLE f.n (id INT, KEY (id)) ENGINE=InnoDB; \
        INSERT INTO f.n SELECT n FROM {COUNT} WHERE n < 5000;"
    ));
    pair.dump("n", &["--tables", "f.n"]).ok();
    let done = Tool::new(["load"])
        .arg(pair.path("n"))
        .arg("--socket")
        .arg(target.socket())
        .args(["--user", "root"])
        .args(TABLESPACE.iter().copied())
        .run();
    done.ok().says(&["as tablespaces      1 table"]);
    let more = "INSERT INTO f.n SELECT id + 5000 FROM f.n";
    for change in [
        "UPDATE f.a SET v = CONCAT('new ', v) WHERE id % 3 = 0",
        "INSERT INTO f.a (v) SELECT v FROM f.b",
        "DELETE FROM f.b WHERE id % 2 = 0",
        "ALTER TABLE f.b ADD KEY later (v)",
        more,
    ] {
        for server in [pair.source(), &target] {
            server.client(change).expect("changed");
        }
    }
    target.kill9().expect("killed");
    target.restart().expect("a server again");
    equal(&pair, &target, "changed, and killed");
    for server in [pair.source(), &target] {
        server.client(more).expect("more rows");
    }
    equal(&pair, &target, "counted on");
}

/// Stops a load at a failpoint, does something there, and lets it continue.
fn meanwhile(pair: &Pair, failpoint: &str, what: impl FnOnce()) -> crate::kit::Done {
    meanwhile_with(pair, &[], failpoint, what)
}

/// The same with more options.
fn meanwhile_with(
    pair: &Pair,
    more: &[&str],
    failpoint: &str,
    what: impl FnOnce(),
) -> crate::kit::Done {
    pair.target()
        .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
        .expect("an empty target");
    let run = loading(pair, &["--threads", "1"])
        .args(more.iter().copied())
        .env("PENSTOCK_STOP_AT", failpoint)
        .start();
    run.until_stopped();
    what();
    run.signal(Signal::CONT);
    run.wait()
}

/// Flips one bit of a file.
fn damage(path: &std::path::Path, at: usize) {
    let mut bytes = std::fs::read(path).expect("the file");
    let Some(byte) = bytes.get_mut(at) else {
        return;
    };
    *byte ^= 1;
    std::fs::write(path, bytes).expect("written");
}

both!(wrong_rows_in_sound_pages_are_noticed);
fn wrong_rows_in_sound_pages_are_noticed(pair: &Pair) {
    pair.source()
        .script(
            b"CREATE DATABASE f; CREATE TABLE f.t (id INT PRIMARY KEY, v TEXT, KEY v (v(10)));
            INSERT INTO f.t VALUES (1, 'a'), (2, REPEAT('x', 5000)), (3, 'b');",
        )
        .expect("a table");
    pair.dump("a", &[]).ok();
    let run = loading(pair, &["--verify", "files"]).env("PENSTOCK_DAMAGE_AT", "rows are built#1");
    run.run().code(3).says(&[
        "its rows have another digest than the archive's",
        "dropped and loaded by SQL",
    ]);
    equal(pair, pair.target(), "a wrong row");
}

both!(suspect_tablespaces_are_loaded_by_sql);
fn suspect_tablespaces_are_loaded_by_sql(pair: &Pair) {
    three_tables(pair);
    // Several tablespaces may be under way; one that is not finished is written again anyway.
    let damage = |at: usize| {
        let all = leftovers(pair.target());
        let built = all
            .iter()
            .filter(|p| p.to_string_lossy().ends_with("-building"));
        for path in built {
            damage(path, at);
        }
    };
    // Found by penstock's own check, before the tablespace is on the disk.
    pair.target()
        .script(b"DROP DATABASE IF EXISTS f; DROP DATABASE IF EXISTS `a-f`")
        .expect("an empty target");
    let run = loading(pair, &["--threads", "1"]).env("PENSTOCK_DAMAGE_AT", "pages are written#1");
    let done = run.run().code(3);
    done.says(&[
        "the tablespace that was built for it is damaged: page ",
        ": its checksum is wrong",
        "dropped and loaded by SQL",
    ]);
    equal(pair, pair.target(), "a damaged page");
    // Found in the file that was built, when it is read again. The root of the clustered index is the page that every
    // file has, also the small one, which is the first to be finished on some machines.
    let root = if pair.is_mysql() { 4 } else { 3 };
    let done = meanwhile(pair, "a file is built#1", || damage(root * 16384 + 200));
    done.code(3).says(&[
        &format!(
            "the tablespace that was built for it differs: page {root}: its checksum is wrong"
        ),
        "dropped and loaded by SQL",
    ]);
    equal(
        pair,
        pair.target(),
        "a file that was damaged after it was built",
    );
    // Found by the server.
    let done = meanwhile(pair, "a file is about to be handed over#1", || damage(60));
    done.code(3)
        .says(&["IMPORT TABLESPACE failed", "dropped and loaded by SQL"]);
    equal(pair, pair.target(), "a file that was refused");
    // Found by the comparison of all rows on the server.
    let sql = &["--verify", "sql"];
    let done = meanwhile_with(pair, sql, "a file is entered#1", || {
        // Any of them may be the first, and only that one is sure to exist.
        for change in [
            "f.a SET v = 'other' WHERE id = 77",
            "f.b SET v = 'other' WHERE id = 77",
            "f.c SET v = 'other' WHERE id = 77",
            "`a-f`.x SET id = 2",
        ] {
            let _ = pair.target().client(&format!("UPDATE {change}"));
        }
    });
    done.code(3)
        .says(&["the imported table differs", "dropped and loaded by SQL"]);
    equal(pair, pair.target(), "rows that differ");
    pair.same_definitions("f");
    // Stopped by hand in the middle, then continued: nothing of the tablespaces is left.
    let run = meanwhile(pair, "a file is built#2", || {});
    run.ok();
    equal(pair, pair.target(), "stopped and let go on");
}
