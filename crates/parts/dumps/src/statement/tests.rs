use super::*;

fn of(text: &str) -> Statement {
    classify(text.as_bytes(), Dialect::default())
}

fn n(name: &str) -> Name {
    match name.split_once('.') {
        Some((schema, name)) => Name {
            schema: Some(schema.to_owned()),
            name: name.to_owned(),
        },
        None => Name {
            schema: None,
            name: name.to_owned(),
        },
    }
}

#[test]
fn what_dumps_consist_of() {
    let kinds = [
        ("CREATE TABLE `t` (\n a int)", Kind::CreateTable(n("t"))),
        (
            "CREATE TABLE IF NOT EXISTS s.t (a int)",
            Kind::CreateTable(n("s.t")),
        ),
        (
            "DROP TABLE IF EXISTS `a`, s.`b`",
            Kind::DropTable(vec![n("a"), n("s.b")]),
        ),
        (
            "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `d` /*!40100 DEFAULT CHARACTER SET utf8mb4 */",
            Kind::CreateDatabase("d".into()),
        ),
        (
            "/*!40000 DROP DATABASE IF EXISTS `d`*/",
            Kind::DropDatabase("d".into()),
        ),
        (
            "ALTER DATABASE `d` CHARACTER SET latin1",
            Kind::AlterDatabase(Some("d".into())),
        ),
        (
            "ALTER DATABASE CHARACTER SET latin1",
            Kind::AlterDatabase(None),
        ),
        ("USE `d`", Kind::Use("d".into())),
        (
            "LOCK TABLES `a` WRITE, s.b AS x READ",
            Kind::LockTables(vec![n("a"), n("s.b")]),
        ),
        ("UNLOCK TABLES", Kind::UnlockTables),
        (
            "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
            Kind::AlterKeys(n("t"), false),
        ),
        (
            "/*!40000 ALTER TABLE s.`t` ENABLE KEYS */",
            Kind::AlterKeys(n("s.t"), true),
        ),
        ("ALTER TABLE t ADD KEY (a)", Kind::AlterTable(n("t"))),
        (
            "CREATE UNIQUE INDEX i USING BTREE ON t (a)",
            Kind::AlterTable(n("t")),
        ),
        (
            "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`root`@`localhost` SQL SECURITY INVOKER */\n/*!50001 VIEW `v` AS select 1 */",
            Kind::CreateView(n("v")),
        ),
        (
            "CREATE OR REPLACE VIEW v AS SELECT 1",
            Kind::CreateView(n("v")),
        ),
        (
            "CREATE DEFINER=`r` @ `h` SQL SECURITY DEFINER JSON RELATIONAL DUALITY VIEW `v` AS SELECT 1",
            Kind::CreateView(n("v")),
        ),
        (
            "/*!50001 DROP VIEW IF EXISTS `v`*/",
            Kind::DropView(vec![n("v")]),
        ),
        (
            "/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`%`*/ /*!50003 TRIGGER `x` BEFORE INSERT ON `t` FOR EACH ROW SET NEW.a = 1 */",
            Kind::CreateTrigger {
                trigger: n("x"),
                table: n("t"),
            },
        ),
        (
            "CREATE DEFINER=CURRENT_USER() PROCEDURE p() BEGIN a; END",
            Kind::CreateRoutine(n("p")),
        ),
        (
            "CREATE DEFINER=`r`@`%` FUNCTION `f`() RETURNS int RETURN 1",
            Kind::CreateRoutine(n("f")),
        ),
        (
            "/*!50106 CREATE*/ /*!50117 DEFINER=`r`@`h`*/ /*!50106 EVENT `e` ON SCHEDULE EVERY 1 DAY DO x */",
            Kind::CreateEvent(n("e")),
        ),
        (
            "/*!50003 DROP PROCEDURE IF EXISTS `p` */",
            Kind::DropObject(n("p")),
        ),
        ("CREATE SEQUENCE `s` start with 1", Kind::Sequence(n("s"))),
        ("DO SETVAL(`s`, 1, 0)", Kind::Sequence(n("s"))),
        ("START TRANSACTION", Kind::Transaction),
        ("commit", Kind::Transaction),
        ("CHANGE MASTER TO MASTER_LOG_POS=4", Kind::ReplicationSource),
        ("ANALYZE TABLE t", Kind::Upkeep),
        ("TRUNCATE t", Kind::Truncate(n("t"))),
        ("/*!50000 ROLLBACK */", Kind::Rollback),
        ("DROP SEQUENCE IF EXISTS `s`", Kind::DropObject(n("s"))),
        (
            "INSERT  IGNORE INTO `t` VALUES (1)",
            Kind::InsertOther(InsertOther::Ignore, Some(n("t"))),
        ),
        (
            "REPLACE INTO s.t VALUES (1)",
            Kind::InsertOther(InsertOther::Replace, Some(n("s.t"))),
        ),
        (
            "INSERT INTO t SELECT 1",
            Kind::InsertOther(InsertOther::Form, Some(n("t"))),
        ),
        (
            "INSERT INTO t VALUES (1) on duplicate key update a=1",
            Kind::InsertOther(InsertOther::OnDuplicate, Some(n("t"))),
        ),
        (
            "LOAD DATA LOCAL INFILE 'd.t.00000.dat' REPLACE INTO TABLE `t` FIELDS TERMINATED BY '\\t'",
            Kind::LoadData {
                local: true,
                file: "d.t.00000.dat".into(),
                table: n("t"),
            },
        ),
        ("CREATE TABLE IF s.t (a int)", Kind::Other),
        ("CREATE TABLE `if` (a int)", Kind::CreateTable(n("if"))),
        ("SELECT 1", Kind::Other),
        ("", Kind::Other),
        ("\\! ls", Kind::Other),
    ];
    for (text, kind) in kinds {
        assert_eq!(of(text).kind, kind, "{text}");
    }
    assert!(matches!(of("INSERT INTO t VALUES (1)").kind, Kind::Insert(h) if h.table == "t"));
    assert!(n("MySQL.user").is_system() && !n("user").is_system());
}

#[test]
fn settings_are_parsed() {
    let set = |text: &str| match of(text).kind {
        Kind::Set(list) => list
            .into_iter()
            .map(|a| (a.scope, a.name, a.value))
            .collect::<Vec<_>>(),
        other => panic!("{text}: {other:?}"),
    };
    use Scope::*;
    let text = |s: &str| Value::Text(s.to_owned());
    assert_eq!(
        set("/*!40101 SET NAMES utf8mb4 */"),
        [(Session, "names".into(), text("utf8mb4"))]
    );
    assert_eq!(
        set("SET NAMES 'latin1' COLLATE latin1_bin"),
        [(Session, "names".into(), text("latin1"))]
    );
    assert_eq!(
        set("/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='A,B' */"),
        [
            (
                User,
                "old_sql_mode".into(),
                Value::Variable("sql_mode".into())
            ),
            (Session, "sql_mode".into(), text("A,B")),
        ]
    );
    assert_eq!(
        set(
            "SET @@SESSION.SQL_LOG_BIN= 0, time_zone := DEFAULT, SESSION x=@a, GLOBAL y = ON, @@persist.z = 1+f(2,3)"
        ),
        [
            (Session, "sql_log_bin".into(), Value::Number("0".into())),
            (Session, "time_zone".into(), Value::Default),
            (Session, "x".into(), Value::User("a".into())),
            (Global, "y".into(), text("ON")),
            (Persist, "z".into(), Value::Expression("1+f(2,3)".into())),
        ]
    );
    let gtid = set("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'uuid:1-5'");
    assert!(matches!(&gtid[..], [(Global, name, Value::Expression(_))] if name == "gtid_purged"));
    assert_eq!(
        set("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")[0].1,
        "transaction"
    );
    assert_eq!(set("SET STATEMENT max_statement_time=1 FOR SELECT 1"), []);
}

#[test]
fn dangers_are_named() {
    for (text, danger) in [
        ("INSTALL PLUGIN x SONAME 'x.so'", "INSTALL PLUGIN"),
        ("/*!50000 install soname 'x' */", "INSTALL SONAME"),
        ("SET GLOBAL read_only = 1", "SET GLOBAL"),
        ("SET @a = 1, @@global.read_only = 1", "SET GLOBAL"),
        ("SET PERSIST x = 1", "SET PERSIST"),
        ("SET @@GLOBAL.GTID_PURGED='x:1'", "SET GTID_PURGED"),
        ("SET @@SESSION.SQL_LOG_BIN= 0", "SET sql_log_bin"),
        ("SET PASSWORD FOR x = 'y'", "SET PASSWORD"),
        ("SET STATEMENT x=1 FOR SELECT 1", "SET of an unknown form"),
        (
            "LOAD DATA INFILE '/etc/passwd' INTO TABLE t",
            "LOAD DATA INFILE",
        ),
        (
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
            "LOAD DATA LOCAL INFILE",
        ),
        (
            "CREATE AGGREGATE FUNCTION f RETURNS STRING SONAME 'x.so'",
            "CREATE FUNCTION SONAME",
        ),
        (
            "CREATE FUNCTION IF NOT EXISTS f RETURNS STRING SONAME \"x.so\"",
            "CREATE FUNCTION SONAME",
        ),
        (
            "CREATE TABLE t (a int) DATA DIRECTORY='/x'",
            "DATA DIRECTORY",
        ),
        (
            "CREATE TABLE t (a int) /*!50100 PARTITION BY HASH (a) (PARTITION p INDEX DIRECTORY = '/x') */",
            "INDEX DIRECTORY",
        ),
        (
            "CREATE TABLE t (a int) ENGINE = 'federated'",
            "an engine with data outside the server",
        ),
        (
            "ALTER TABLE t ENGINE=CONNECT",
            "an engine with data outside the server",
        ),
        ("SELECT 1 INTO OUTFILE '/x'", "INTO OUTFILE"),
        ("INSERT INTO t SELECT LOAD_FILE('/x')", "LOAD_FILE"),
        ("CREATE OR REPLACE USER x", "CREATE USER"),
        ("GRANT ALL ON *.* TO x", "GRANT"),
        ("CHANGE MASTER TO MASTER_HOST='x'", "replication settings"),
        ("FLUSH PRIVILEGES", "FLUSH"),
        ("PREPARE s FROM 'x'", "PREPARE"),
    ] {
        assert_eq!(of(text).danger, Some(danger), "{text}");
    }
    for text in [
        "SET NAMES utf8",
        "CREATE TABLE t (data int, `DATA DIRECTORY` int, c char(9) COMMENT 'DATA DIRECTORY')",
        "CREATE FUNCTION f() RETURNS int RETURN 'SONAME'",
        "CREATE TABLE t (a int) ENGINE=InnoDB",
        "INSERT INTO t VALUES ('INTO OUTFILE')",
        "DROP TABLE t",
        "SET @x = 'GLOBAL'",
    ] {
        assert_eq!(of(text).danger, None, "{text}");
    }
}
