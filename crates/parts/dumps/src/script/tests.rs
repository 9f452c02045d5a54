use super::*;
use crate::dialect::Charset;
use proptest::prelude::*;
use std::io::Cursor;

/// Returns a few bytes at a time, so that every token is split somewhere.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = self.1.min(self.0.len()).min(buf.len());
        buf[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

fn all<R: Read>(mut script: Script<R>) -> Result<Vec<Statement>> {
    let mut out = Vec::new();
    while let Some(s) = script.next()? {
        out.push(s);
    }
    Ok(out)
}

fn split(text: &str) -> Vec<String> {
    let texts = |s: Vec<Statement>| -> Vec<String> {
        s.into_iter()
            .map(|s| String::from_utf8(s.text).unwrap())
            .collect()
    };
    let whole = all(Script::new(Cursor::new(text)).allow_unterminated(true)).unwrap();
    for n in [1, 2, 3, 7] {
        let dripped = all(Script::new(Drip(text.as_bytes(), n)).allow_unterminated(true)).unwrap();
        assert_eq!(dripped, whole, "{n} bytes at a time");
    }
    texts(whole)
}

#[test]
fn delimiters_inside_quotes_and_comments_do_not_count() {
    assert_eq!(
        split(
            "select ';', \"a\\\";b\", `x;``y`; -- c; d\n# e;f\n/* g;h */ select 2 /* i;j */;\n;;"
        ),
        ["select ';', \"a\\\";b\", `x;``y`", "select 2 /* i;j */"]
    );
    assert_eq!(
        split("select 1--2; select 3 --\n;x-- ;\n+1;y # ;\n;--"),
        ["select 1--2", "select 3 --", "x-- ;\n+1", "y # ;"]
    );
    assert_eq!(
        split("/*!50003 SET a='*/;' */;/*M!100000 x;y */; /* plain */;"),
        ["/*!50003 SET a='*/;' */", "/*M!100000 x;y */"]
    );
}

#[test]
fn delimiter_lines_are_obeyed_and_left_out() {
    let script = "-- begin\nDELIMITER ;;\nCREATE TRIGGER t BEGIN a; b; END;;\n  delimiter ;\r\nselect 1;\nselect delimiter \n x;";
    assert_eq!(
        split(script),
        [
            "CREATE TRIGGER t BEGIN a; b; END",
            "select 1",
            "select delimiter \n x"
        ]
    );
    assert_eq!(
        split("select 'x\nDELIMITER //\n'; a; DELIMITER x;"),
        ["select 'x\nDELIMITER //\n'", "a", "DELIMITER x"]
    );
    assert_eq!(
        split("DELIMITER $$\na;b$c$$d$$\nDELIMITER ;\ne"),
        ["a;b$c", "d", "e"]
    );
    // In the middle of a statement it is text.
    assert_eq!(
        split("select 1\nDELIMITER //\n; b"),
        ["select 1\nDELIMITER //", "b"]
    );
}

#[test]
fn client_commands_are_only_text() {
    assert_eq!(
        split("\\! rm -rf /\n;source x;"),
        ["\\! rm -rf /", "source x"]
    );
}

#[test]
fn comments_are_evaluated_and_the_sandbox_line_is_not_sent() {
    let text = "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19  Distrib 10.11\n--\n-- Server version\t10.11.19-MariaDB\n\n-- CHANGE MASTER TO MASTER_LOG_FILE='b.1', MASTER_LOG_POS=4;\n/*!40101 SET NAMES utf8mb4 */;\nINSERT INTO t VALUES ('-- Dump completed');\n";
    let mut script = Script::new(Cursor::new(text));
    let first = script.next().unwrap().unwrap();
    assert_eq!(first.text, b"/*!40101 SET NAMES utf8mb4 */");
    assert_eq!((first.line, first.dialect.charset), (7, None));
    let second = script.next().unwrap().unwrap();
    assert_eq!(second.dialect.charset, Some(Charset::UTF8MB4));
    assert_eq!(text[second.offset as usize..].find("INSERT"), Some(0));
    assert_eq!(second.line, 8);
    assert_eq!(script.next().unwrap(), None);
    let info = script.info();
    assert_eq!(info.tool, Some(Tool::MariadbDump));
    assert_eq!(info.server_version.as_deref(), Some("10.11.19-MariaDB"));
    assert_eq!(
        info.position.as_deref(),
        Some("CHANGE MASTER TO MASTER_LOG_FILE='b.1', MASTER_LOG_POS=4")
    );
    assert!(info.sandbox && info.is_truncated());

    let whole = format!("{text}\n-- Dump completed on 2026-01-01\n");
    let mut script = Script::new(Cursor::new(whole));
    while script.next().unwrap().is_some() {}
    assert!(!script.info().is_truncated());
    assert!(!ScriptInfo::default().is_truncated());
}

#[test]
fn a_script_that_ends_inside_a_statement_is_an_error() {
    for (text, what, line, offset) in [
        ("a;\nINSERT INTO t VALUES (1),(2)", "a statement", 2, 3),
        ("a;\n\nINSERT INTO t VALUES ('x", "a string", 3, 4),
        ("INSERT INTO t VALUES ('x\\", "a string", 1, 0),
        ("select `x;", "a quoted name", 1, 0),
        ("select 1 /* x;", "a comment", 1, 0),
        ("/*!50003 select 1;", "a comment", 1, 0),
        ("a;\n/* x;", "a comment", 2, 3),
        ("select 1 -- x;", "a statement", 1, 0),
    ] {
        for n in [1, 1000] {
            match all(Script::new(Drip(text.as_bytes(), n))) {
                Err(Error::UnexpectedEnd {
                    what: w,
                    line: l,
                    offset: o,
                }) => {
                    assert_eq!((w, l, o), (what, line, offset), "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
    // Comments and client lines may end anywhere.
    for text in [
        "",
        "-- x",
        "#",
        "a;-- ",
        "DELIMITER ;;",
        "a;\n\n",
        "\u{feff}",
    ] {
        assert!(all(Script::new(Drip(text.as_bytes(), 1))).is_ok(), "{text}");
    }
}

#[test]
fn modes_are_followed_and_restored() {
    let script = r#"/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
        /*!50003 SET @saved_sql_mode = @@sql_mode */ ;
        /*!50003 SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES' */ ;
        return '\';
        select "\";
        /*!50003 SET sql_mode = @saved_sql_mode */ ;
        select '\';';
        SET SQL_MODE=@OLD_SQL_MODE;
        select "\";";
        SET SESSION sql_mode = concat(@@sql_mode, ',NO_BACKSLASH_ESCAPES');
        select '\';"#;
    let got = split(script);
    assert_eq!(got.len(), 11, "{got:#?}");
    assert_eq!(got[3..5], [r"return '\'", r#"select "\""#]);
    assert_eq!(got[6], r"select '\';'");
    assert_eq!(got[8], r#"select "\";""#);
    assert_eq!(got[10], r"select '\'");
    let given = Dialect {
        no_backslash_escapes: true,
        ..Dialect::default()
    };
    let script = Script::new(Cursor::new(r"select '\';")).with_dialect(given);
    assert_eq!(all(script).unwrap()[0].dialect, given);
}

#[test]
fn a_backslash_that_is_a_second_byte_escapes_nothing() {
    let text = b"SET NAMES gbk; select '\xd5\\', '\xd5\xd5\\'; '; b;";
    for n in [1, 100] {
        let got = all(Script::new(Drip(&text[..], n))).unwrap();
        assert_eq!(got[1].text, b"select '\xd5\\', '\xd5\xd5\\'; '");
        assert_eq!(got[2].text, b"b");
    }
}

#[test]
fn large_statements_are_complete_and_too_large_ones_are_errors() {
    let long = "x".repeat(3 * READ);
    let text = format!("a;\n'{long}';\nb;\n'{long}y';c;");
    let mut script = Script::new(Cursor::new(text.clone())).with_limit(3 * READ + 3);
    let mut lines = Vec::new();
    while let Some(s) = script.next().unwrap() {
        let at = s.offset as usize;
        assert_eq!(&text.as_bytes()[at..at + s.text.len()], s.text);
        lines.push(s.line);
        script.recycle(s.text);
    }
    assert_eq!(lines, [1, 2, 3, 4, 4]);
    let got = all(Script::new(Cursor::new(text)).with_limit(1000));
    assert!(
        matches!(
            got,
            Err(Error::TooLarge {
                line: 2,
                offset: 3,
                ..
            })
        ),
        "{got:?}"
    );
}

#[test]
fn errors_of_the_input_are_returned() {
    let mut packed = zstd::encode_all(&b"select 1;"[..], 1).unwrap();
    packed.pop();
    let input = crate::input::Input::new(Cursor::new(packed)).unwrap();
    assert!(matches!(
        all(Script::new(input)),
        Err(Error::Truncated { format: "zstd" })
    ));
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9 =(),.*\n]{1,8}",
        "[^'\\\\]{0,8}".prop_map(|s| format!("'{s}'")),
        "[^\"\\\\]{0,8}".prop_map(|s| format!("\"{s}\\\"\"")),
        "[^`]{0,8}".prop_map(|s| format!("`{s}``;`")),
        "[a-z;'\"` ]{0,8}".prop_map(|s| format!("/* {s} */")),
        "[a-z;'\"` ]{0,8}".prop_map(|s| format!("-- {s}\n")),
        "[a-z;'\"` ]{0,8}".prop_map(|s| format!("# {s}\n")),
        "[a-z; ]{0,8}".prop_map(|s| format!("/*!50001 {s} '*/' */")),
    ]
}

proptest! {
    #[test]
    fn joined_statements_are_split_again(
        list in prop::collection::vec(prop::collection::vec(piece(), 0..6), 0..6),
        change in any::<bool>(),
        n in 1usize..40,
    ) {
        let list: Vec<String> = list.iter().map(|p| format!("x {} y", p.join(" "))).collect();
        let (begin, delimiter) = if change { ("DELIMITER $$\n", "$$") } else { ("", ";") };
        let script: String = list.iter().map(|s| format!("\n{s}{delimiter}")).collect();
        let text = format!("{begin}{script}");
        let got = all(Script::new(Drip(text.as_bytes(), n))).unwrap();
        let lines: Vec<u64> = got
            .iter()
            .map(|s| 1 + text[..s.offset as usize].matches('\n').count() as u64)
            .collect();
        prop_assert_eq!(got.iter().map(|s| s.line).collect::<Vec<_>>(), lines);
        let got: Vec<String> = got.into_iter().map(|s| String::from_utf8(s.text).unwrap()).collect();
        prop_assert_eq!(got, list);
    }

    #[test]
    fn any_bytes_are_split_in_order(text in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut script = Script::new(Cursor::new(&text)).allow_unterminated(true);
        let mut from = 0;
        // An unclosed string or comment at the end is an error, and then nothing follows.
        while let Ok(Some(s)) = script.next() {
            prop_assert!(!s.text.is_empty());
            let at = s.offset as usize;
            prop_assert!(at >= from);
            from = at + s.text.len();
            prop_assert_eq!(&text[at..from], &s.text[..]);
        }
    }

    #[test]
    fn any_bytes_in_any_pieces_give_the_same_result(text in "[';\"`a\\\\/*!M#\n \t-]{0,40}", n in 1usize..5) {
        let whole = all(Script::new(Cursor::new(text.as_bytes())));
        let dripped = all(Script::new(Drip(text.as_bytes(), n)));
        prop_assert_eq!(format!("{whole:?}"), format!("{dripped:?}"));
    }
}
