//! `penstock replica verify --repair-sql`: differences are named by row, and the SQL makes the replica equal.

use super::{By, Scene};
use crate::kit::each_kind;
use crate::kit::waiting::until;
use testkit::Kind;

const TABLES: &str = "USE shop; \
    CREATE TABLE types (b VARCHAR(20) CHARACTER SET latin1 NOT NULL, q VARBINARY(9) NOT NULL, a INT, c ENUM('x','y'), \
      d SET('p','q'), e BIT(9), f FLOAT, g DOUBLE, h DECIMAL(20,5), i JSON, j BLOB, k DATETIME(3), l TIMESTAMP NULL, m TIME, \
      o YEAR, p GEOMETRY, r TEXT CHARACTER SET utf8mb4, PRIMARY KEY (b, q)); \
    INSERT INTO types VALUES \
      (x'E9', x'00FF27', 1, 'x', 'p,q', b'100000001', 0.1, 1e-300, -12345.00001, '{\"a\": [1, 2.5, \"\\\\u00e9\"]}', x'00275C0A', \
       '2026-01-02 03:04:05.678', '2026-07-01 00:00:00', '-12:00:01', 2026, POINT(1, 2), 'it''s \\\\ \\n'), \
      ('same', 'k', 1, 'x', '', b'0', 1.5, 2.5, 1, '{}', '', '2026-01-01', '2026-01-01', '0', 2000, POINT(0, 0), 'Same'), \
      ('missing', 'k', 0, 'y', 'p', b'11', 3.4e38, -0.1, 0.00001, '[]', x'FF', '2026-01-01', NULL, '1', 1999, NULL, ''); \
    CREATE TABLE parent (id INT PRIMARY KEY, v INT, UNIQUE KEY (v)); \
    CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE); \
    INSERT INTO parent VALUES (1, 10), (2, 20), (3, 30); INSERT INTO child VALUES (1, 1), (2, 2), (3, 3); \
    CREATE TABLE loose (a INT, b INT); INSERT INTO loose VALUES (1, 1), (1, 1), (2, 2); \
    CREATE TABLE guarded (id INT PRIMARY KEY, v INT); INSERT INTO guarded VALUES (1, 1); \
    CREATE TABLE noted (n INT PRIMARY KEY AUTO_INCREMENT); \
    CREATE TRIGGER seen AFTER UPDATE ON guarded FOR EACH ROW INSERT INTO noted VALUES ();";

/// What no log has.
const ALONE: &str = "SET GLOBAL read_only = OFF; SET sql_log_bin = 0; SET foreign_key_checks = 0; SET time_zone = '+00:00'; USE shop; ";

fn the_sql_makes_it_equal(kind: Kind) {
    let Some(scene) = Scene::new(kind, By::Gtid) else {
        return;
    };
    scene.source.script(TABLES.as_bytes()).expect("tables");
    scene.create(&["--no-verify"]).ok();
    let alone = |sql: &str| {
        let script = format!("{ALONE}{sql}; SET GLOBAL read_only = ON");
        scene.new.script(script.as_bytes()).expect("a change");
    };
    alone(
        "DELETE FROM t WHERE id IN (1200, 1234, 1235); UPDATE t SET n = n + 7 WHERE id BETWEEN 100 AND 105; \
         UPDATE t SET v = 'V' WHERE id = 300; \
         INSERT INTO t (id, n, v) VALUES (9000001, 1, 'own'); \
         DELETE FROM types WHERE b = 'missing'; UPDATE types SET r = 'same' WHERE b = 'same'; \
         UPDATE types SET a = NULL, c = 'y', d = '', e = b'1', f = 0.2, g = 0, h = 0, i = '[2]', j = 'x', k = NULL, \
           l = '2026-07-01 00:00:01', m = '0', o = 1999, p = NULL, r = 'x' WHERE a = 1 AND q <> 'k'; \
         DELETE FROM parent WHERE id = 2; UPDATE parent SET v = v + 10 WHERE id = 3; INSERT INTO parent VALUES (9, 20); \
         INSERT INTO loose VALUES (3, 3); INSERT INTO guarded VALUES (2, 2)",
    );
    scene.on("verify", &[]).run().code(4).says(&[
        "--repair-sql FILE writes the SQL that makes 17 rows equal",
        "2 of the differences it does not repair",
    ]);
    let file = scene.directory.path().join("repair.sql");
    let file = file.display().to_string();
    let done = scene.on("verify", &["--repair-sql", &file]).run().code(4);
    let done = done.says(&[
        "(id) from (100) to (105): 6 differ",
        "(id) (1200): only on the first server",
        "(id) from (1234) to (1235): 2 only on the first server",
        "(id) (9000001): only on the second server",
        "(id) (300): differs in `v`",
        "(b, q) from (missing, k) to (x'E9', x'00FF27'): 2 differ, 1 only on the first server",
        "makes 17 rows equal",
        "2 of the differences it does not repair",
    ]);
    let script = std::fs::read_to_string(&file).expect("a script");
    for text in [
        "SET SESSION sql_log_bin = 0;",
        "-- NOT repaired: `shop`.`loose`: it has no key",
        "-- NOT repaired: `shop`.`guarded`: it has triggers",
    ] {
        assert!(script.contains(text), "{text}\n{script}\n{}", done.said());
    }
    // Nothing was run.
    let count = "SELECT COUNT(*) FROM shop.t WHERE id IN (1200, 1234, 1235)";
    assert_eq!(scene.new.value(count).expect("a count"), "0");
    // There is such a file already; and two things on one output.
    let again = scene.on("verify", &["--repair-sql", &file]).run();
    again.code(2).says(&["there is such a file already"]);
    let both = scene.on("verify", &["--repair-sql", "-", "--json"]).run();
    both.code(2).says(&["--repair-sql -"]);
    let printed = scene.on("verify", &["--repair-sql", "-"]).run().code(4);
    assert!(printed.out.starts_with("-- Rows of "), "{}", printed.out);
    // A row that the log changes before the script is run keeps what the log says.
    let later = "UPDATE shop.t SET n = 4711 WHERE id = 102";
    scene.source.client(later).expect("an update");
    until("the replica has it", || {
        let n = scene.new.value("SELECT n FROM shop.t WHERE id = 102");
        n.is_ok_and(|n| n == "4711")
    });
    let position = "SELECT @@GLOBAL.gtid_binlog_pos";
    let written = |scene: &Scene| (kind != Kind::MySql).then(|| scene.new.value(position));
    let before = written(&scene).map(Result::ok);
    scene.new.script(script.as_bytes()).expect("it runs");
    assert_eq!(
        written(&scene).map(Result::ok),
        before,
        "no own transaction"
    );
    let left = scene.on("verify", &[]).run().code(4);
    let left = left.says(&["none of this can be repaired row by row"]);
    let said = left.said();
    assert!(!said.contains("--repair-sql"), "{said}");
    assert!(
        said.contains("`loose`") && said.contains("`guarded`"),
        "{said}"
    );
    for repaired in ["`t`", "`types`", "`parent`", "`child`", "`noted`"] {
        assert!(!said.contains(&format!("`shop`.{repaired}")), "{said}");
    }
    alone("DELETE FROM loose WHERE a = 3; DELETE FROM guarded WHERE id = 2");
    scene.on("verify", &[]).run().ok().says(&["Equal"]);
}
each_kind!(the_sql_makes_it_equal; mysql, mariadb);
