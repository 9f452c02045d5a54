//! Values there and back: `value` writes what is read here, each without knowing the other; and bytes that nobody wrote.

use crate::read::types::{Server, Type};
use crate::value::Kind;
use proptest::prelude::*;

/// The text of a cell.
fn text(cell: &[u8]) -> &[u8] {
    match cell[0] {
        0xfc => &cell[3..],
        0xfd => &cell[4..],
        0xfe => &cell[9..],
        length => {
            assert_eq!(usize::from(length), cell.len() - 1);
            &cell[1..]
        }
    }
}

/// Stores a text, and reads it again.
fn again(column_type: &str, charset: Option<&str>, written: &str, server: Server) -> String {
    let mut stored = Vec::new();
    let kind = Kind::of(column_type, charset, None).expect("a type");
    if let Err(e) = kind.put(written.as_bytes(), &mut stored) {
        panic!("{column_type} {written}: {e}");
    }
    let of = Type::of(column_type, charset, None, server).expect("a type");
    if let Some(fixed) = of.fixed() {
        assert_eq!(fixed, stored.len(), "{column_type}");
    }
    let mut cell = Vec::new();
    of.cell(&stored, &mut cell).expect("a value");
    String::from_utf8(text(&cell).to_vec()).expect("UTF-8")
}

/// Types of every form.
const TYPES: [&str; 38] = [
    "tinyint",
    "smallint unsigned",
    "mediumint",
    "int(5) unsigned zerofill",
    "bigint",
    "bigint unsigned",
    "decimal(1,0)",
    "decimal(12,2)",
    "decimal(65,30)",
    "decimal(10,3) unsigned zerofill",
    "float",
    "double",
    "double zerofill",
    "date",
    "time",
    "time(3)",
    "datetime",
    "datetime(6)",
    "timestamp",
    "timestamp(1)",
    "time(2) /* mariadb-5.3 */",
    "datetime(6) /* mariadb-5.3 */",
    "datetime /* mariadb-5.3 */",
    "time /* mariadb-5.3 */",
    "timestamp(5) /* mariadb-5.3 */",
    "year(4)",
    "year(2)",
    "enum('a','b')",
    "set('a','b','c')",
    "bit(12)",
    "binary(7)",
    "varbinary(20)",
    "char(5)",
    "varchar(300)",
    "longtext",
    "json",
    "uuid",
    "inet6",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whole_numbers(n: i64, m: u64) {
        prop_assert_eq!(again("bigint", None, &n.to_string(), Server::MySql), n.to_string());
        prop_assert_eq!(again("bigint unsigned", None, &m.to_string(), Server::MySql), m.to_string());
        let n = n >> 40;
        prop_assert_eq!(again("mediumint", None, &n.to_string(), Server::MySql), n.to_string());
        prop_assert_eq!(again("int", None, &n.to_string(), Server::MySql), n.to_string());
    }

    #[test]
    fn doubles(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        let written = again("double", None, &format!("{value:e}"), Server::MySql);
        let read: f64 = written.parse().expect("a number");
        prop_assert_eq!(read.to_bits(), bits);
    }

    #[test]
    fn decimals(negative: bool, whole in "[1-9][0-9]{0,34}", fraction in "[0-9]{30}") {
        let sign = if negative { "-" } else { "" };
        let written = format!("{sign}{whole}.{fraction}");
        prop_assert_eq!(again("decimal(65,30)", None, &written, Server::MySql), written);
        let short = format!("{sign}{}.{}", &whole[..whole.len().min(10)], &fraction[..2]);
        prop_assert_eq!(again("decimal(12,2)", None, &short, Server::MySql), short);
    }

    #[test]
    fn times(seconds in 0u32..839 * 3600, fraction in 0u32..1_000_000, negative: bool, stamp in 1u32..i32::MAX as u32) {
        let sign = if negative && seconds > 0 { "-" } else { "" };
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let time = format!("{sign}{h:02}:{m:02}:{s:02}.{fraction:06}");
        prop_assert_eq!(again("time(6)", None, &time, Server::MySql), time);
        let time = format!("{:04}-{:02}-{:02} {:02}:{m:02}:{s:02}.{:03}", stamp % 10_000, 1 + stamp % 12, 1 + stamp % 28, h % 24, fraction % 1000);
        prop_assert_eq!(again("datetime(3)", None, &time, Server::MySql), time);
        let date = format!("{:04}-{:02}-{:02}", stamp % 10_000, 1 + stamp % 12, 1 + stamp % 28);
        prop_assert_eq!(again("date", None, &date, Server::MySql), date);
    }

    #[test]
    fn text_and_addresses(characters in "\\PC{0,40}", address: u128) {
        prop_assert_eq!(again("varchar(40)", Some("utf8mb4"), &characters, Server::MySql), characters.clone());
        let stripped = characters.trim_end_matches(' ');
        prop_assert_eq!(again("char(40)", Some("utf8mb4"), &characters, Server::MySql), stripped);
        let written = again("inet6", None, &std::net::Ipv6Addr::from(address).to_string(), Server::MariaDb);
        prop_assert_eq!(written.parse::<std::net::Ipv6Addr>().expect("an address"), std::net::Ipv6Addr::from(address));
    }

    /// Bytes that nobody wrote: an error or some text, which is no longer than what is stored can be.
    #[test]
    fn any_bytes(stored in prop::collection::vec(any::<u8>(), 0..40)) {
        for column_type in TYPES {
            for server in [Server::MySql, Server::MariaDb] {
                let Ok(of) = Type::of(column_type, Some("utf8mb4"), None, server) else {
                    continue;
                };
                let mut cell = Vec::new();
                if of.cell(&stored, &mut cell).is_ok() {
                    text(&cell);
                    prop_assert!(cell.len() <= 50 + 12 * stored.len());
                } else {
                    prop_assert!(cell.is_empty(), "{}", column_type);
                }
            }
        }
    }

    /// Documents with bytes changed.
    #[test]
    fn damaged_documents(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let document = r#"{"a":[1,2.5,"x\n",null,{"b":true,"c":[[],{}]}],"bb":-70000,"ccc":5000000000,"d":"ä"}"#;
        let mut stored = Vec::new();
        Kind::Json.put(document.as_bytes(), &mut stored).expect("a document");
        for (at, byte) in changes {
            let at = at.index(stored.len());
            stored[at] = byte;
        }
        let of = Type::of("json", None, None, Server::MySql).expect("a type");
        let mut cell = b"before".to_vec();
        if of.cell(&stored, &mut cell).is_ok() {
            text(&cell[6..]);
        }
        prop_assert_eq!(&cell[..6], b"before");
        prop_assert!(cell.len() < 50 + 12 * stored.len());
    }
}

/// An array whose elements are all the next one, a hundred deep, would be text without end.
#[test]
fn a_document_that_leads_to_the_same_bytes_again_ends() {
    let mut stored = vec![2];
    for _ in 0..100 {
        // Four elements, and each is the array after this one.
        let (entries, next) = (4 + 4 * 3, 16u16);
        stored.extend(4u16.to_le_bytes());
        stored.extend(u16::MAX.to_le_bytes());
        for _ in 0..4 {
            stored.push(2);
            stored.extend(next.to_le_bytes());
        }
        assert_eq!(entries, 16);
    }
    stored.resize(200_000, 0);
    let of = Type::of("json", None, None, Server::MySql).expect("a type");
    let mut cell = Vec::new();
    of.cell(&stored, &mut cell).expect_err("no document");
    assert!(cell.is_empty());
}

#[test]
fn documents_there_and_back() {
    for document in [
        "null",
        "[]",
        "{}",
        r#"{"a": [1, -2, 2.5, "x\ny\"", null, true, {"b": false}], "bb": 18446744073709551615}"#,
        r#"["\u0001"]"#,
    ] {
        assert_eq!(again("json", None, document, Server::MySql), document);
    }
    for length in (180..260).chain([65_000, 65_530, 65_534, 65_540, 70_000]) {
        let document = format!("[\"{}\", 1.0]", "x".repeat(length));
        assert_eq!(again("json", None, &document, Server::MySql), document);
        let document = format!("[\"{}\"]", "\\n".repeat(length));
        assert_eq!(again("json", None, &document, Server::MySql), document);
    }
}
