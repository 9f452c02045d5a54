//! What may run, and what may not.

use super::*;

#[test]
fn only_what_a_dump_has() {
    let kind_of = |t: &str| allowed(t.as_bytes(), Dialect::default(), None);
    assert_eq!(
        kind_of("/*!50503 SET character_set_client = utf8mb4 */"),
        Some(Allowed::Set)
    );
    assert_eq!(
        kind_of("-- x\nCREATE TABLE IF NOT EXISTS `a` (b int)"),
        Some(Allowed::Table)
    );
    assert_eq!(
        kind_of(
            "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`a`@`%` SQL SECURITY DEFINER */ /*!50001 VIEW `v` AS select 1 */"
        ),
        Some(Allowed::View)
    );
    assert_eq!(
        kind_of("CREATE DEFINER=`r`@`%` TRIGGER t AFTER INSERT ON `x` FOR EACH ROW SET @a = 1"),
        Some(Allowed::Trigger)
    );
    assert_eq!(
        kind_of("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `a`"),
        Some(Allowed::Database)
    );
    assert_eq!(
        kind_of("CREATE TABLE t (a int) DATA DIRECTORY = '/x'"),
        Some(Allowed::Elsewhere),
        "it is known, and never run"
    );
    assert_eq!(kind_of("-- nothing"), Some(Allowed::Empty));
    assert_eq!(kind_of("DO SETVAL(`s`, -12, 0)"), Some(Allowed::Sequence));
    assert_eq!(
        kind_of("CREATE TABLE `GLOBAL` (`SELECT` int DEFAULT 1 COMMENT 'DIRECTORY (SELECT')"),
        Some(Allowed::Table)
    );
    assert_eq!(
        kind_of("SET @saved = @@character_set_client, time_zone = '+00:00'"),
        Some(Allowed::Set)
    );
    for bad in [
        "SET GLOBAL x = 1",
        "SET @@GLOBAL.x = 1",
        "SET x = 1, PERSIST y = 2",
        "INSTALL PLUGIN p SONAME 'x.so'",
        "GRANT ALL ON *.* TO x",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE t",
        "CREATE USER x",
        "DELETE FROM t",
        "CREATE FUNCTION f RETURNS STRING SONAME 'x.so'",
        "SELECT 1 INTO OUTFILE 'x'",
        "/*!50000 SET GLOBAL x=1*/",
        "SHUTDOWN",
        "CREATE EVENT other.e ON SCHEDULE EVERY 1 DAY DO SET @a = 1",
        "CREATE TABLE other.t (a int)",
        "CREATE TABLE IF other.t (a int)",
        "CREATE OR REPLACE TABLE t (a int)",
        "CREATE TABLE t (a int) DATA DIRECTORY = '/x' SELECT * FROM mysql.user",
        "CREATE TABLE t (a int) ENGINE = CONNECT DATA DIRECTORY = '/x'",
        "CREATE TABLE t (a int) ENGINE = CONNECT",
        "CREATE TABLE t (a int) ENGINE = 'federated'",
        "CREATE TABLE t SELECT * FROM mysql.user",
        "CREATE TABLE t (a int) \u{3000}SELECT 1",
        "CREATE FUNCTION f RETURNS STRING SONAME 'x.so' /*!99999 BEGIN */",
        "SET x = f(1)",
        "SET x = @@global.y",
        "SET @a = 1 /*/ ' */, GLOBAL b = 2 /* ' */",
        "DO SETVAL(mysql.`s`, 1)",
        "DO SETVAL(`s`, 1), SLEEP(9)",
        "ALTER SEQUENCE s RESTART",
        "ALTER TABLE t ADD a int",
        "ALTER DEFINER=x EVENT e DISABLE",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')",
    ] {
        assert_eq!(kind_of(bad), None, "{bad}");
    }
}

/// The target may be in another mode than the script seems to set. If the two modes read a
/// statement differently, it must be harmless in both.
#[test]
fn a_mode_hides_nothing() {
    let hidden = [
        // A string up to the last quote, or one with a backslash and then a setting.
        (
            "NO_BACKSLASH_ESCAPES",
            r"SET @a = '\', GLOBAL b = 2, @c = ' '",
        ),
        (
            "ANSI_QUOTES",
            r#"SET @a = "x\" , @b = " , GLOBAL y = 1, @c = "z""#,
        ),
        ("NO_BACKSLASH_ESCAPES", r"SET @a = '\' , @b = ' GLOBAL \'"),
    ];
    for (mode, set) in hidden {
        let script = format!("SET sql_mode = '{mode}';\n{set};\n");
        let error = statements("x", &script).unwrap_err();
        assert_eq!(error.kind, Kind::Archive, "{script}");
    }
    let body =
        "SET sql_mode = 'ANSI_QUOTES';CREATE DEFINER=\"a\"@\"b\" PROCEDURE \"p\"() SELECT '\\';'";
    assert_eq!(statements("x", body).unwrap()[1].kind, Allowed::Routine);
}

/// A routine in another language may contain a single quote: the target refuses it, and the
/// rest loads.
#[test]
fn the_target_decides_about_unclosed_strings() {
    let kinds = |text: &str| -> Vec<Allowed> {
        let list = statements("x", text).unwrap();
        list.into_iter().map(|s| s.kind).collect()
    };
    let text = "USE a;\nCREATE FUNCTION `f`() RETURNS int LANGUAGE JAVASCRIPT AS $$ // don't\n $$;\nUSE b;";
    assert_eq!(kinds(text), [Allowed::Use, Allowed::Routine]);
    assert_eq!(kinds("USE a;\n/* b"), [Allowed::Use]);
    assert!(statements("x", "DELETE FROM t WHERE a = 'b").is_err());
}

#[test]
fn a_trigger_may_name_its_own_schema() {
    let kind_of = |t: &str| allowed(t.as_bytes(), Dialect::default(), Some("a`b"));
    for good in ["`a``b`.tr", "tr", "`a``b` . `tr`"] {
        let text = format!("CREATE TRIGGER {good} AFTER INSERT ON t FOR EACH ROW SET @a = 1");
        assert_eq!(kind_of(&text), Some(Allowed::Trigger), "{good}");
    }
    for bad in ["mysql.tr", "`a`.tr", "`A``B`.tr"] {
        let text = format!("CREATE TRIGGER {bad} AFTER INSERT ON t FOR EACH ROW SET @a = 1");
        assert_eq!(kind_of(&text), None, "{bad}");
    }
    assert_eq!(kind_of("CREATE VIEW `a``b`.v AS SELECT 1"), None);
    let shop = |t: &str| allowed(t.as_bytes(), Dialect::default(), Some("shop"));
    assert_eq!(
        shop("CREATE TRIGGER shop.tr BEFORE INSERT ON shop.t FOR EACH ROW SET @a = 1"),
        Some(Allowed::Trigger)
    );
}

#[test]
fn comments_before_a_statement_are_not_part_of_it() {
    let s = statements(
        "x",
        "-- Database: b`t\n--\n\nCREATE TABLE IF NOT EXISTS `a` (b int);",
    )
    .unwrap();
    assert_eq!(s.len(), 1);
    assert_eq!(must_create(&s[0].text), "CREATE TABLE `a` (b int)");
    assert_eq!(
        must_create("CREATE TABLE `a IF NOT EXISTS b` (c int)"),
        "CREATE TABLE `a IF NOT EXISTS b` (c int)"
    );
}

#[test]
fn a_view_replaces_its_placeholder() {
    assert_eq!(
        or_replace("CREATE VIEW `v` AS select 1"),
        "CREATE OR REPLACE VIEW `v` AS select 1"
    );
    assert_eq!(
        or_replace("create or replace view v as select 1"),
        "create or replace view v as select 1"
    );
}

#[test]
fn the_collation_of_a_schema_is_one_that_the_target_knows() {
    let server = |version: &str| {
        let list = [("version".to_owned(), version.to_owned())];
        Identity::from_variables(list.into()).expect("a version")
    };
    let text = "ALTER DATABASE `a COLLATE b` COLLATE utf8mb4_0900_ai_ci";
    let (old, note) = adapt_database(text, &server("10.6.1-MariaDB"));
    assert_eq!(
        old,
        "ALTER DATABASE `a COLLATE b` COLLATE utf8mb4_unicode_520_ci"
    );
    assert!(note.is_some());
    assert_eq!(
        adapt_database(text, &server("8.4.1")),
        (text.to_owned(), None)
    );
}

#[test]
fn events_of_a_replica_do_not_run() {
    let event = "CREATE DEFINER=`r`@`%` EVENT `ENABLE` ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01 00:00:00' ON COMPLETION NOT PRESERVE ENABLE COMMENT 'ENABLE' DO SET @ENABLE = 1";
    let expected = event.replacen("PRESERVE ENABLE", "PRESERVE DISABLE ON SLAVE", 1);
    assert_eq!(for_replica(event), expected);
    for stays in [
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY ON COMPLETION NOT PRESERVE DISABLE DO SET @ENABLE = 1",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY ON COMPLETION PRESERVE DISABLE ON SLAVE DO BEGIN ENABLE; END",
    ] {
        assert_eq!(for_replica(stays), stays);
    }
}
