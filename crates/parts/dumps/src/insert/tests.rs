use super::*;
use crate::dialect::{Charset, Dialect};
use proptest::prelude::*;

const UTF8: Dialect = Dialect {
    no_backslash_escapes: false,
    ansi_quotes: false,
    charset: Some(Charset::UTF8MB4),
};

fn lines(values: &str, columns: &[Literal]) -> Result<String, Reason> {
    in_dialect(values, columns, UTF8)
}

fn in_dialect(values: &str, columns: &[Literal], dialect: Dialect) -> Result<String, Reason> {
    let mut out = b"before".to_vec();
    match convert(values.as_bytes(), columns, dialect, &mut out) {
        Ok(rows) => {
            let text = String::from_utf8(out).unwrap();
            let text = text.strip_prefix("before").unwrap().to_owned();
            assert_eq!(text.matches('\n').count() as u64, rows);
            Ok(text)
        }
        Err(e) => {
            assert_eq!(out, b"before");
            Err(e.reason)
        }
    }
}

use Literal::*;

#[test]
fn headers_of_plain_inserts() {
    let head = |text: &str| Header::parse(text.as_bytes(), UTF8);
    let h = head("INSERT INTO `a``b` VALUES (1)").unwrap();
    assert_eq!(
        (h.schema, h.table.as_str(), h.columns, h.values_at),
        (None, "a`b", None, 26)
    );
    let h = head("insert /* x */ into s.`t`(a, `b`) values\n(1)").unwrap();
    assert_eq!(h.schema.as_deref(), Some("s"));
    assert_eq!(h.columns, Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(h.values_at, 41);
    for other in [
        "INSERT IGNORE INTO t VALUES (1)",
        "REPLACE INTO t VALUES (1)",
        "INSERT INTO t SELECT 1",
        "INSERT INTO t (a) SELECT 1",
        "INSERT INTO t (SELECT 1)",
        "INSERT INTO t SET a = 1",
        "INSERT INTO t () VALUES ()",
        "INSERT INTO t PARTITION (p) VALUES (1)",
        "INSERT INTO t VALUES ROW(1)",
        "INSERT LOW_PRIORITY INTO t VALUES (1)",
        "INSERT INTO t /*!80023 (a) */ VALUES (1)",
        "/*!80023 INSERT INTO t VALUES (1) */",
        "INSERT INTO \"t\" VALUES (1)",
        "INSERT INTO t",
        "",
    ] {
        assert_eq!(head(other), None, "{other}");
    }
    let ansi = Dialect {
        ansi_quotes: true,
        ..UTF8
    };
    assert_eq!(
        Header::parse(b"INSERT INTO \"t\" VALUES (1)", ansi)
            .unwrap()
            .table,
        "t"
    );
    assert_eq!(Header::parse(b"INSERT INTO `\xe9` VALUES (1)", UTF8), None);
}

#[test]
fn strings_keep_their_bytes() {
    for (literal, line) in [
        (r"'a'", "a"),
        (r"''", ""),
        (r"'it''s'", "it's"),
        (r"'it\'s \a \N \\N'", "it's a N \\\\N"),
        (r"'\0\b\n\r\t\Z\\'", r"\0\b\n\r\t\Z\\"),
        ("'\0\x08\n\r\t\x1a'", r"\0\b\n\r\t\Z"),
        (r"'\%\_'", r"\\%\\_"),
        ("'\x01\x1f\x7f'", "\x01\x1f\x7f"),
        (r#""a""b\"c'd""#, r#"a"b"c'd"#),
        ("'NULL'", "NULL"),
        ("'äöü€𝄞 and some more text'", "äöü€𝄞 and some more text"),
    ] {
        let wanted = format!("{line}\t{line}\n");
        assert_eq!(
            lines(&format!("({literal},{literal})"), &[Text, Bytes]).unwrap(),
            wanted
        );
        assert_eq!(
            lines(&format!(" ( {literal} ,\n{literal} ) \n"), &[Quoted, Text]).unwrap(),
            wanted
        );
    }
    let plain = Dialect {
        no_backslash_escapes: true,
        ..UTF8
    };
    assert_eq!(
        in_dialect(r"('\','\n''')", &[Text, Text], plain).unwrap(),
        "\\\\\t\\\\n'\n"
    );
    let ansi = Dialect {
        ansi_quotes: true,
        ..UTF8
    };
    assert_eq!(
        in_dialect("(\"a\")", &[Text], ansi),
        Err(Reason::Expression)
    );
}

#[test]
fn numbers_are_written_unchanged() {
    for n in [
        "0",
        "-1.5e10",
        ".5",
        "+3",
        "1.",
        "1E-5",
        "0000",
        "123456789012345678901234567890",
        "-0",
    ] {
        assert_eq!(
            lines(&format!("({n})"), &[Number]).unwrap(),
            format!("{n}\n")
        );
        assert_eq!(
            lines(&format!("('{n}')"), &[Number]).unwrap(),
            format!("{n}\n")
        );
        assert_eq!(lines(&format!("({n})"), &[Quoted]), Err(Reason::Kind));
        assert_eq!(lines(&format!("({n})"), &[Bytes]), Err(Reason::Kind));
        let same = matches!(n, "0" | "123456789012345678901234567890");
        assert_eq!(lines(&format!("({n})"), &[Text]).is_ok(), same, "{n}");
    }
    for no in [
        "1+1", "1 2", "-", ".", "1e", "1a", "-(1)", "1.2.3", "--1", "- 1",
    ] {
        assert!(lines(&format!("({no})"), &[Number]).is_err(), "{no}");
    }
    assert_eq!(
        lines("(2006,0000,'0')", &[Year, Year, Year]).unwrap(),
        "2006\t0000\t0\n"
    );
    assert_eq!(lines("(0)", &[Year]), Err(Reason::Kind));
    assert_eq!(lines("(-5,007)", &[Text, Text]), Err(Reason::Kind));
}

fn raw(values: &str, columns: &[Literal], dialect: Dialect) -> Result<Vec<u8>, Reason> {
    let mut out = Vec::new();
    convert(values.as_bytes(), columns, dialect, &mut out).map_err(|e| e.reason)?;
    Ok(out)
}

#[test]
fn coded_literals_by_kind() {
    let values = "(0x0FF0a5C4,x'41',X'',b'101010101',0b1,_binary '\\0a',_binary 0x09)";
    assert_eq!(
        raw(values, &[Bytes; 7], UTF8).unwrap(),
        b"\x0f\xf0\xa5\xc4\tA\t\t\x01U\t\x01\t\\0a\t\\t\n"
    );
    assert_eq!(raw("(0xA)", &[Bytes], UTF8).unwrap(), b"\\n\n");
    assert_eq!(
        lines(values, &[Hex; 7]).unwrap(),
        "0FF0A5C4\t41\t\t0155\t01\t0061\t09\n"
    );
    assert_eq!(
        lines("('a\\0''',NULL,'')", &[Hex; 3]).unwrap(),
        "610027\t\\N\t\n"
    );
    assert_eq!(
        lines("('ab',NULL,0xFF,'')", &[Base64; 4]).unwrap(),
        "YWI=\t\\N\t/w==\t\n"
    );
    assert_eq!(
        lines(
            "(0xFF,b'11',x'0000000000000001',0xFFFFFFFFFFFFFFFF)",
            &[Number; 4]
        )
        .unwrap(),
        "255\t3\t1\t18446744073709551615\n"
    );
    assert_eq!(lines("(0x1FFFFFFFFFFFFFFFF)", &[Number]), Err(Reason::Kind));
    // ASCII is the same in every character set that a `Text` column may have.
    assert_eq!(
        lines("(0x4142,_binary 'x')", &[Text, Text]).unwrap(),
        "AB\tx\n"
    );
    assert_eq!(lines("(0xE4)", &[Text]), Err(Reason::Kind));
    let binary = Dialect {
        charset: Some(Charset::BINARY),
        ..UTF8
    };
    assert_eq!(raw("(0xE4)", &[Text], binary).unwrap(), b"\xe4\n");
    assert_eq!(lines("(0x41)", &[Quoted]), Err(Reason::Kind));
    for no in ["0x", "0xZ", "x'4'", "x'4G'", "b'2'", "0b2", "0x41g"] {
        assert!(lines(&format!("({no})"), &[Bytes]).is_err(), "{no}");
    }
}

#[test]
fn introducers_functions_and_words() {
    assert_eq!(
        lines("(_utf8mb4'ä',_utf8mb4 x'C3A4')", &[Text, Text]).unwrap(),
        "ä\tä\n"
    );
    assert_eq!(lines("(_latin1'a')", &[Text]), Err(Reason::Introducer));
    assert_eq!(
        lines("(N'ä',n'b''c')", &[Text, Quoted]).unwrap(),
        "ä\tb'c\n"
    );
    for no in [("(N'😀')", Text), ("(N'a')", Bytes), ("(N'1')", Number)] {
        assert_eq!(lines(no.0, &[no.1]), Err(Reason::Introducer), "{}", no.0);
    }
    assert_eq!(lines("(_nothing'a')", &[Text]), Err(Reason::Expression));
    assert_eq!(
        lines("(NULL,null,TRUE,false)", &[Text, Bytes, Number, Text]).unwrap(),
        "\\N\t\\N\t1\t0\n"
    );
    assert_eq!(
        lines("(CONVERT('{\\\"a\\\": 1}' USING UTF8MB4))", &[Text]).unwrap(),
        "{\"a\": 1}\n"
    );
    for no in [
        "DEFAULT",
        "NOW()",
        "@x",
        "'a' 'b'",
        "'a' COLLATE x",
        "(1)",
        "NULLS",
        "CONVERT('a' USING latin1)",
        "'a'+1",
        "DATE'2020-01-01'",
        "?",
        "1/*x*/",
    ] {
        assert!(lines(&format!("({no})"), &[Text]).is_err(), "{no}");
    }
}

#[test]
fn what_is_wrong_names_its_row() {
    let fail = |values: &str| {
        convert(values.as_bytes(), &[Number, Text], UTF8, &mut Vec::new()).unwrap_err()
    };
    for (values, row, reason) in [
        (
            "(1,'a'),(2)",
            2,
            Reason::Count {
                found: 1,
                expected: 2,
            },
        ),
        (
            "(1,'a'),()",
            2,
            Reason::Count {
                found: 0,
                expected: 2,
            },
        ),
        (
            "(1,'a'),(2,'b'),(3,'c',4)",
            3,
            Reason::Count {
                found: 3,
                expected: 2,
            },
        ),
        ("(1,'a'),", 2, Reason::UnexpectedEnd),
        ("(1,'a'),(2,'b", 2, Reason::UnexpectedEnd),
        ("(1,'a'),(2", 2, Reason::UnexpectedEnd),
        ("(1,'a'),(2,'b\\", 2, Reason::UnexpectedEnd),
        ("(1,'a') ON DUPLICATE KEY UPDATE a=1", 1, Reason::NotRows),
        ("(1,'a') (2,'b')", 1, Reason::NotRows),
        ("(1,'a'),2", 2, Reason::NotRows),
        ("", 1, Reason::UnexpectedEnd),
        ("(1,now())", 1, Reason::Expression),
    ] {
        let e = fail(values);
        assert_eq!((e.row, e.reason), (row, reason), "{values}");
        assert!(e.at <= values.len());
    }
    assert!(
        fail("(1,'a'),(2)")
            .to_string()
            .starts_with("row 2: 1 values where 2 are expected")
    );
}

/// How dump tools write a value.
#[derive(Clone, Copy, Debug)]
enum Style {
    Escaped,
    Doubled,
    Hex,
}

fn sql(value: &[u8], style: Style, double: bool, out: &mut Vec<u8>) {
    if matches!(style, Style::Hex) && !value.is_empty() {
        out.extend(b"0x");
        value
            .iter()
            .for_each(|b| out.extend(format!("{b:02X}").bytes()));
        return;
    }
    let quote = if double { b'"' } else { b'\'' };
    out.push(quote);
    for b in value {
        match (style, b) {
            (Style::Doubled, b) if *b == quote => out.extend([quote, quote]),
            (Style::Doubled, b) => out.push(*b),
            (_, 0) => out.extend(b"\\0"),
            (_, b'\n') => out.extend(b"\\n"),
            (_, b'\r') => out.extend(b"\\r"),
            (_, 26) => out.extend(b"\\Z"),
            (_, b'\\' | b'\'' | b'"') => out.extend([b'\\', *b]),
            (_, b) => out.push(*b),
        }
    }
    out.push(quote);
}

/// The simplest encoder, one byte at a time.
fn naive(value: &[u8], out: &mut Vec<u8>) {
    for b in value {
        match b {
            0 => out.extend(b"\\0"),
            8 => out.extend(b"\\b"),
            9 => out.extend(b"\\t"),
            10 => out.extend(b"\\n"),
            13 => out.extend(b"\\r"),
            26 => out.extend(b"\\Z"),
            b'\\' => out.extend(b"\\\\"),
            b => out.push(*b),
        }
    }
}

fn cell() -> impl Strategy<Value = Option<Vec<u8>>> {
    let special = prop::sample::select(b"\\\\\\''\"\"\t\n\r\0\x08\x1a%_N,();a\xe4\xff".to_vec());
    prop::option::weighted(
        0.9,
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            prop::collection::vec(special, 0..40),
            "[a-z äö€]{0,60}".prop_map(String::into_bytes),
        ],
    )
}

proptest! {
    #[test]
    fn rows_come_out_as_a_naive_encoder_writes_them(
        rows in prop::collection::vec((cell(), any::<i64>(), cell()), 1..20),
        style in prop::sample::select(vec![Style::Escaped, Style::Doubled, Style::Hex]),
        double in any::<bool>(),
        gap in prop::sample::select(vec!["", " ", "\n"]),
    ) {
        let text = if matches!(style, Style::Hex) { Style::Escaped } else { style };
        let (mut values, mut wanted) = (Vec::new(), Vec::new());
        for (i, (a, n, b)) in rows.iter().enumerate() {
            if i > 0 {
                values.extend(b",");
            }
            values.extend(gap.bytes());
            values.push(b'(');
            for (cell, style) in [(a, text), (b, style)] {
                match cell {
                    None => {
                        values.extend(b"NULL");
                        wanted.extend(b"\\N");
                    }
                    Some(v) => {
                        sql(v, style, double, &mut values);
                        naive(v, &mut wanted);
                    }
                }
                values.push(b',');
                wanted.push(b'\t');
            }
            values.extend(format!("{n})").bytes());
            wanted.extend(format!("{n}\n").bytes());
        }
        let dialect = Dialect {
            no_backslash_escapes: matches!(style, Style::Doubled),
            ..UTF8
        };
        let mut out = Vec::new();
        let got = convert(&values, &[Text, Bytes, Number], dialect, &mut out);
        prop_assert_eq!(got, Ok(rows.len() as u64));
        prop_assert_eq!(out, wanted);
    }

    #[test]
    fn any_text_is_converted_or_refused(text in "[(),'\"\\\\0x1bN_a .+-]{0,30}") {
        for columns in [&[Text][..], &[Number, Bytes], &[Hex], &[Base64], &[Quoted], &[Year]] {
            let mut out = Vec::new();
            let got = convert(text.as_bytes(), columns, UTF8, &mut out);
            prop_assert_eq!(out.is_empty(), got.is_err());
        }
        let _ = Header::parse(format!("INSERT INTO t{text}").as_bytes(), UTF8);
        let _ = crate::statement::classify(text.as_bytes(), UTF8);
    }
}
