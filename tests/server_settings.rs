//! Global settings of servers that cut, hold up or change what a session reads or does: nothing of them reaches a dump, a load
//! or a comparison.

use crate::kit::{Tool, each_kind, own_server};
use testkit::{Kind, Server};

/// Settings that sessions begin with. Each was seen to lose rows, to end a run, or to make it say what is not so.
const SETTINGS: &str = "SET GLOBAL sql_select_limit = 100; SET GLOBAL sql_mode = 'PAD_CHAR_TO_FULL_LENGTH'; \
    SET GLOBAL completion_type = 2; SET GLOBAL max_join_size = 10; SET GLOBAL autocommit = 0; \
    SET GLOBAL sql_safe_updates = 1; SET GLOBAL sql_auto_is_null = 1;";

fn odd(server: &Server) {
    for sql in SETTINGS.split(';').map(str::trim).filter(|s| !s.is_empty()) {
        server.client(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let limit = server.value("SELECT @@GLOBAL.sql_select_limit");
    assert_eq!(limit.expect("a value"), "100");
}

fn on(server: &Server, verb: &str) -> Tool {
    Tool::new([verb, "--user", "root", "--socket"]).arg(server.socket())
}

each_kind!(they_change_nothing; mysql, mariadb);
fn they_change_nothing(kind: Kind) {
    let Some(source) = own_server(kind, &["--server-id=1"]) else {
        return;
    };
    let target = own_server(kind, &["--server-id=2", "--local-infile=ON"]).expect("a target");
    let rows = format!(
        "CREATE DATABASE shop; USE shop; \
        CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT NULL, c CHAR(20), KEY (k)); \
        INSERT INTO t (k, c) SELECT IF(n % 7 = 0, NULL, n), CONCAT('c', n) FROM {} WHERE n < 900; \
        CREATE TABLE without_key (v INT); INSERT INTO without_key SELECT id FROM t; \
        CREATE VIEW v AS SELECT COUNT(*) AS n FROM t; CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @x = 1; \
        CREATE USER t_with_blanks@localhost IDENTIFIED BY 'a'; GRANT SELECT ON shop.* TO t_with_blanks@localhost;",
        crate::kit::COUNT
    );
    source.script(rows.as_bytes()).expect("data");
    let checksum = |server: &Server| {
        let sums = server
            .client("CHECKSUM TABLE shop.t, shop.without_key")
            .expect("sums");
        sums.iter().map(|r| r[1].clone()).collect::<Vec<_>>()
    };
    let before = checksum(&source);
    target
        .client("SET GLOBAL innodb_default_row_format = 'compact'")
        .expect("set");
    odd(&source);
    odd(&target);
    let directory = tempfile::tempdir().expect("a directory");
    let archive = directory.path().join("a");
    on(&source, "dump").arg("--to").arg(&archive).run().ok();
    on(&source, "verify")
        .arg(&archive)
        .run()
        .ok()
        .says(&["Equal"]);
    on(&target, "load")
        .arg(&archive)
        .run()
        .ok()
        .says(&["equal:"]);
    assert_eq!(checksum(&target), before);
    on(&target, "verify")
        .arg(&archive)
        .run()
        .ok()
        .says(&["Equal"]);
    target
        .client("SET GLOBAL max_join_size = DEFAULT")
        .expect("set");
    target.client("SET GLOBAL sql_big_selects = 1").ok();
    let views = target.value("SELECT n FROM shop.v").expect("a number");
    assert_eq!(views, "900");
    // The same between two servers.
    target.client("DROP DATABASE shop").expect("dropped");
    Tool::new(["copy", &source.uri(), &target.uri(), "--schemas", "shop"])
        .run()
        .ok();
    assert_eq!(checksum(&target), before);
}

each_kind!(a_row_longer_than_a_packet_names_the_setting; mysql, mariadb);
fn a_row_longer_than_a_packet_names_the_setting(kind: Kind) {
    let Some(source) = own_server(kind, &["--server-id=1", "--max-allowed-packet=64M"]) else {
        return;
    };
    let target = own_server(kind, &["--server-id=2", "--local-infile=ON"]).expect("a target");
    source
        .script(b"CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v LONGBLOB); INSERT INTO shop.t VALUES (1, REPEAT('x', 3000000)), (2, 'y')")
        .expect("data");
    target
        .client("SET GLOBAL max_allowed_packet = 1048576")
        .expect("set");
    let directory = tempfile::tempdir().expect("a directory");
    let archive = directory.path().join("a");
    on(&source, "dump").arg("--to").arg(&archive).run().ok();
    let load = |more: &[&str]| {
        on(&target, "load")
            .arg(&archive)
            .args(["--import-mode", "sql"])
            .args(more.iter().copied())
            .run()
    };
    load(&[])
        .code(3)
        .says(&["`shop`.`t` is empty here", "SET GLOBAL max_allowed_packet"]);
    target
        .client("SET GLOBAL max_allowed_packet = 67108864")
        .expect("set");
    load(&["--resume"]).ok().says(&["equal:"]);
}
