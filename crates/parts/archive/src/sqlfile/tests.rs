//! Hostile names and bodies stay where they belong.

use super::*;

fn header() -> Header<'static> {
    Header {
        tool: "penstock 0.1.0",
        host: "db1\nDROP DATABASE x;",
        server_version: "9.7.0",
    }
}

fn program(kind: ProgramKind, name: &str, create: &str) -> Program {
    Program {
        kind,
        name: name.to_owned(),
        create: create.to_owned(),
        sql_mode: "ANSI_QUOTES,STRICT_TRANS_TABLES".to_owned(),
        character_set_client: "latin1".to_owned(),
        collation_connection: "latin1_swedish_ci".to_owned(),
        database_collation: "latin1_bin".to_owned(),
        time_zone: String::new(),
    }
}

/// Every line is a comment, or one that was meant to be a statement.
fn no_stray(text: &str, stray: &str) {
    for line in text.lines().filter(|l| l.contains(stray)) {
        let comment = line.starts_with("-- ");
        let quoted = line.contains('`');
        assert!(comment || quoted, "{line}");
    }
}

#[test]
fn names_cannot_leave_their_comments() {
    let evil = "x\nDROP DATABASE y; -- \r\u{2028}`*/";
    let h = header();
    let text = table_sql(&h, evil, evil, "CREATE TABLE `t` (\n  `a` int\n)");
    no_stray(&text, "DROP DATABASE");
    assert!(text.contains("CREATE TABLE IF NOT EXISTS `t` (\n  `a` int\n);\n"));
    let triggers = [program(ProgramKind::Trigger, "tr", "CREATE TRIGGER `tr` …")];
    for text in [
        empty_sql(&h),
        view_pre_sql(&h, evil, "v", &["a".to_owned(), "b`c".to_owned()]),
        view_sql(
            &h,
            evil,
            "v",
            "CREATE VIEW `v` AS SELECT 1",
            "utf8mb4",
            "utf8mb4_bin",
        ),
        triggers_sql(&h, "s", evil, "utf8mb4_bin", &triggers),
    ] {
        no_stray(&text, "DROP DATABASE");
    }
}

#[test]
fn a_delimiter_never_occurs_in_the_body() {
    let body = "CREATE PROCEDURE `p`() BEGIN SELECT ';;', '//0//'; SELECT 1;; END";
    let p = program(ProgramKind::Procedure, "p", body);
    let text = schema_sql(
        &header(),
        "s",
        "CREATE DATABASE `s`",
        "utf8mb4_bin",
        &[],
        &[p],
    );
    assert!(text.contains(&format!("DELIMITER //1//\n{body}\n//1//\nDELIMITER ;\n")));
    assert!(text.contains("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `s`;\n\nUSE `s`;\n"));
    assert!(text.contains("ALTER DATABASE `s` COLLATE latin1_bin;\n"));
    assert!(text.contains("ALTER DATABASE `s` COLLATE utf8mb4_bin;\n"));
}

#[test]
fn settings_are_put_around_and_back() {
    let mut e = program(ProgramKind::Event, "e", "CREATE EVENT `e` DO SELECT 'ü'");
    e.time_zone = "+02:00".to_owned();
    assert!(!e.keeps_charset());
    let text = schema_sql(&header(), "s", "CREATE DATABASE `s`", "", &[e.clone()], &[]);
    assert!(text.contains("SET character_set_client  = utf8mb4 */"));
    assert!(text.contains("SET time_zone             = '+02:00' */"));
    assert!(text.contains("SET time_zone             = @saved_time_zone */"));
    assert!(text.contains("SET sql_mode              = 'ANSI_QUOTES,STRICT_TRANS_TABLES' */"));
    assert!(text.contains("SET sql_mode              = @saved_sql_mode */"));
    e.create = "CREATE EVENT `e` DO SELECT 'u'".to_owned();
    assert!(e.keeps_charset());
    e.sql_mode = "x' */; DROP DATABASE y; /*".to_owned();
    let text = schema_sql(&header(), "s", "CREATE DATABASE `s`", "", &[e], &[]);
    assert!(text.contains("= 'x /; DROP DATABASE y; /' */"));
    assert!(text.contains("SET character_set_client  = latin1 */"));
}

#[test]
fn stand_ins_have_the_columns_and_drop_nothing() {
    let text = view_pre_sql(&header(), "s", "v`", &["a".to_owned(), "b`".to_owned()]);
    assert!(text.ends_with("CREATE OR REPLACE VIEW `v``` AS SELECT\n 1 AS `a`,\n 1 AS `b```;\n"));
    assert!(!text.contains("DROP TABLE"));
}
