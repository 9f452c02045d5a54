//! Views, triggers, routines, events and sequences arrive as they were created, and none of them
//! acts while rows are loaded.

use super::*;

both!(views_on_views_and_circular_views);
fn views_on_views_and_circular_views(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE vw; CREATE DATABASE aa; USE vw; SET NAMES utf8mb4;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO t VALUES (1, 'é'), (2, 'x');
CREATE VIEW z AS SELECT id, v FROM t WHERE id > 0;
CREATE VIEW a AS SELECT z.id AS `i d`, CONCAT(v, ' ünï;--') AS `n``x` FROM z;
CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW checked AS SELECT * FROM t \
            WHERE id < 100 WITH CASCADED CHECK OPTION;
CREATE VIEW aa.over AS SELECT * FROM vw.a;
DELIMITER //
CREATE FUNCTION f(n INT) RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM z WHERE id < n)//
DELIMITER ;
CREATE VIEW calls AS SELECT id, f(id) AS below FROM t;
CREATE VIEW b AS SELECT * FROM calls;",
    );
    // Two definitions that need each other: a function that reads the view that calls it.
    pair.fill(
        "USE vw; DROP FUNCTION f; \
        CREATE FUNCTION f(n INT) RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM vw.z \
          WHERE id < n AND EXISTS (SELECT 1 FROM information_schema.tables WHERE FALSE) = 0);",
    );
    pair.dump("a", &[])
        .ok()
        .says(&["6 views", "Dump complete\n"]);
    pair.load("a", &[]).ok();
    pair.same_definitions("vw");
    pair.same_definitions("aa");
    pair.same("SELECT * FROM vw.b ORDER BY id");
    pair.same("SELECT * FROM aa.over ORDER BY 1");
    assert!(
        pair.target()
            .client("INSERT INTO vw.checked VALUES (200, 'x')")
            .is_err(),
        "the check option is there"
    );
}

both!(a_view_and_a_function_that_need_each_other);
fn a_view_and_a_function_that_need_each_other(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE circ; USE circ; CREATE TABLE t (id INT PRIMARY KEY); \
        INSERT INTO t VALUES (1), (2); \
        CREATE FUNCTION f(n INT) RETURNS INT READS SQL DATA RETURN 1; \
        CREATE VIEW v AS SELECT id, f(id) AS x FROM t; DROP FUNCTION f; \
        CREATE FUNCTION f(n INT) RETURNS INT READS SQL DATA RETURN \
          (SELECT COUNT(*) FROM t WHERE id <= n) + IF(n < 0, (SELECT COUNT(*) FROM v), 0);",
    );
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
    pair.same_definitions("circ");
}

both!(triggers_do_not_fire_and_arrive_in_order);
fn triggers_do_not_fire_and_arrive_in_order(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE trg; USE trg;
CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, \
            what VARCHAR(100));
INSERT INTO t VALUES (1, 1), (2, 2);
DELIMITER ;;
CREATE TRIGGER zz BEFORE INSERT ON t FOR EACH ROW BEGIN \
            SET NEW.v = NEW.v * 100; INSERT INTO log (what) VALUES ('; DELIMITER // \\' -- '); END;;
CREATE TRIGGER aa BEFORE INSERT ON t FOR EACH ROW FOLLOWS zz SET NEW.v = NEW.v + 1;;
CREATE TRIGGER mm BEFORE INSERT ON t FOR EACH ROW PRECEDES zz BEGIN IF NEW.id < 0 THEN SIGNAL \
            SQLSTATE '45000' SET MESSAGE_TEXT = 'no; //'; END IF; END;;
CREATE TRIGGER trg.del AFTER DELETE ON trg.t FOR EACH ROW INSERT INTO log (what) \
            VALUES (CONCAT('gone ', OLD.id));;
DELIMITER ;
",
    );
    pair.carry("a", &[]);
    pair.same_schema("trg");
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM trg.log")
            .expect("a count"),
        "0",
        "no trigger fired during the load"
    );
    pair.same(
        "SELECT trigger_name, action_order FROM information_schema.triggers \
        WHERE trigger_schema = 'trg' ORDER BY 1",
    );
    for server in [pair.source(), pair.target()] {
        server
            .client("INSERT INTO trg.t VALUES (3, 3)")
            .expect("a row");
    }
    let rows = pair.same("SELECT v FROM trg.t WHERE id = 3");
    assert_eq!(rows[0][0].as_deref(), Some("301"));
}

both!(programs_with_awkward_bodies);
fn programs_with_awkward_bodies(pair: &Pair) {
    pair.fill(
        r#"CREATE DATABASE prg CHARACTER SET latin1; USE prg; SET NAMES utf8mb4;
DELIMITER $$
CREATE PROCEDURE `odd ``name; //`(IN `p;` INT, OUT x VARCHAR(100))
  COMMENT 'it''s; // $ ;; \\ é'
BEGIN
  -- a comment; with // and ;; and 'quotes
  # another; one
  /* a ; block */
  /*! SET @versioned = 1 */;
  SET @s = 'a;b''c\\';
  SET x = CONCAT(@s, `p;`, "DELIMITER ;", '/* no */', 'é€');
  IF `p;` > 1 THEN BEGIN END; END IF;
END$$
DELIMITER //
CREATE FUNCTION plain() RETURNS VARCHAR(20) CHARACTER SET utf8mb4 DETERMINISTIC RETURN ';;'//
DELIMITER ;
SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT';
CREATE FUNCTION moded() RETURNS VARCHAR(50) DETERMINISTIC RETURN
  'a' || 'b' || (SELECT "x" FROM (SELECT 'q' AS "x") AS "d");
"#,
    );
    // The stock client does not understand this mode.
    let mut conn = pair.source().conn().expect("a connection");
    conn.execute("SET sql_mode = 'NO_BACKSLASH_ESCAPES'")
        .expect("a mode");
    conn.execute(r"CREATE FUNCTION prg.slash() RETURNS VARCHAR(50) DETERMINISTIC RETURN 'a\'")
        .expect("a function");
    drop(conn);
    pair.fill(
        "USE prg; SET time_zone = '+03:00';
CREATE EVENT later ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 00:00:00' ON COMPLETION PRESERVE \
            DISABLE COMMENT 'x; ''y' DO SELECT ';';
DELIMITER ;;
CREATE EVENT `e v;` ON SCHEDULE AT '2037-05-05 05:05:05' DO BEGIN SET @a = ';;'; SET @b = 1; END;;
DELIMITER ;",
    );
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
    pair.same_definitions("prg");
    pair.same(
        "SELECT event_name, time_zone, starts, execute_at, status FROM information_schema.events \
        WHERE event_schema = 'prg' ORDER BY 1",
    );
    pair.same("SELECT prg.plain(), prg.moded(), HEX(prg.slash())");
    let call = |server: &testkit::Server| {
        let mut conn = server.conn().expect("a connection");
        conn.execute("CALL prg.`odd ``name; //`(7, @x)")
            .expect("a call");
        conn.fetch("SELECT HEX(@x)").expect("a value")
    };
    assert_eq!(call(pair.source()), call(pair.target()));
}

/// MariaDB only: a sequence continues where it was, and packages are complete.
#[test]
fn sequences_and_packages() {
    let Some(pair) = Pair::take(testkit::Kind::MariaDb) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE seqs; USE seqs;
CREATE SEQUENCE s START WITH 100 INCREMENT BY 5 MINVALUE 1 MAXVALUE 1000 CACHE 10 CYCLE; \
            SELECT NEXTVAL(s); SELECT NEXTVAL(s);
CREATE SEQUENCE down START WITH -1 INCREMENT BY -1; CREATE SEQUENCE fresh;
CREATE TABLE t (id BIGINT DEFAULT NEXTVAL(fresh) PRIMARY KEY, v INT); INSERT INTO t (v) \
            VALUES (1), (2);
SET sql_mode = ORACLE;
DELIMITER //
CREATE PACKAGE pk AS FUNCTION one RETURN INT; PROCEDURE two(x INT); END;
//
CREATE PACKAGE BODY pk AS FUNCTION one RETURN INT AS BEGIN RETURN 41 + 1; END; PROCEDURE \
            two(x INT) AS BEGIN SELECT x; END; END;
//
DELIMITER ;",
    );
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
    pair.same_definitions("seqs");
    assert_eq!(
        pair.target()
            .value("SELECT seqs.pk.one()")
            .expect("a value"),
        "42"
    );
    let next = |server: &testkit::Server| -> i64 {
        server
            .value("SELECT NEXTVAL(seqs.s)")
            .expect("a value")
            .parse()
            .expect("a number")
    };
    assert!(next(pair.target()) >= 110, "no value is given twice");
    assert!(
        pair.target()
            .value("SELECT NEXTVAL(seqs.fresh)")
            .expect("a value")
            .parse::<i64>()
            .expect("a number")
            > 2
    );
}
