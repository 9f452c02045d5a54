//! MySQL 5.5, of which the servers of today know nothing any more, goes into both of them.

use crate::kit::{Pair, Tool, both, own_server};

const OLD: &str = r"CREATE DATABASE old CHARACTER SET latin1; USE old;
SET sql_mode = 'NO_AUTO_CREATE_USER,ALLOW_INVALID_DATES';
CREATE TABLE l (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50), note TEXT, d DATE NOT NULL DEFAULT '0000-00-00', dt DATETIME, ts TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00', f FLOAT, e ENUM('ä', 'b') DEFAULT 'b') ENGINE=InnoDB;
INSERT INTO l (name, note, d, dt, f) VALUES (CHAR(0xE4, 0xF6, 0xFF, 0x80), CHAR(0x5C, 0x09, 0x0A, 0x00), '0000-00-00', '0000-00-00 00:00:00', 16777216.1), ('x', NULL, '2024-02-31', '1999-12-31 23:59:59', 0.1), ('', '', '1000-01-01', NULL, -1e-38);
CREATE TABLE ft (id INT PRIMARY KEY, t TEXT, FULLTEXT KEY t (t)) ENGINE=MyISAM; INSERT INTO ft VALUES (1, 'the quick brown fox'), (2, 'jumps over');
CREATE TABLE y (id INT PRIMARY KEY, y2 YEAR(2), y4 YEAR(4)) ENGINE=InnoDB; INSERT INTO y VALUES (1, 99, 1999), (2, 70, 2155), (3, 69, 0);
CREATE TABLE u (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8) ENGINE=InnoDB; INSERT INTO u VALUES (1, _utf8 0xE282AC), (2, _utf8 0xC3A4);
CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20)) ENGINE=InnoDB;
CREATE TRIGGER tr AFTER INSERT ON u FOR EACH ROW INSERT INTO log (what) VALUES ('fired');
CREATE VIEW v AS SELECT id, v FROM u;
CREATE FUNCTION f(n INT) RETURNS INT DETERMINISTIC RETURN n + 1;
";

both!(a_server_of_2011_is_carried_over);
fn a_server_of_2011_is_carried_over(pair: &Pair) {
    let Some(old) = own_server(testkit::Kind::MySql55, &[]) else {
        return;
    };
    old.script(OLD.as_bytes()).expect("tables");
    Tool::new(["dump", "--socket"])
        .arg(old.socket())
        .args(["-u", "root", "--to"])
        .arg(pair.path("a"))
        .run()
        .code(3)
        .says(&["`old`.`ft`", "MyISAM"]);
    pair.verify("a").ok();
    let load = pair.load("a", &[]);
    // What a server of today cannot have is named (YEAR(2), modes that are gone); rows are all there.
    assert!(load.code == 0 || load.code == 3, "{}", load.said());
    let load = load.says(&["equal:"]);
    assert!(
        load.said().contains("adapted")
            || load.said().contains("NO_AUTO_CREATE_USER")
            || !pair.is_mysql(),
        "{}",
        load.said()
    );
    let both = |sql: &str| {
        let (was, is) = (
            old.client(sql).expect("rows"),
            pair.target().client(sql).expect("rows"),
        );
        assert_eq!(was, is, "{sql}");
        assert!(!was.is_empty());
    };
    both("SELECT id, HEX(name), HEX(note), d, dt, ts, f * 1e0, HEX(e) FROM old.l ORDER BY id");
    both("SELECT id, t FROM old.ft ORDER BY id");
    both("SELECT id, y4 FROM old.y ORDER BY id");
    both("SELECT id, HEX(v) FROM old.v ORDER BY id");
    both("SELECT COUNT(*) FROM old.log");
    both("SELECT old.f(41)");
    assert_eq!(
        pair.target()
            .value("SELECT id FROM old.ft WHERE MATCH(t) AGAINST ('quick' IN BOOLEAN MODE)")
            .expect("a row"),
        "1"
    );
    pair.verify_against("a", &old).ok();
    Tool::new([
        "verify",
        "--server",
        &old.uri(),
        "--server",
        &pair.target().uri(),
    ])
    .run()
    .ok();
}
