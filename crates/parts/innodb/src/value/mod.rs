//! Values as rows hold them, from the text that a server sends for them.
//!
//! The text is what archives keep, and the text protocol carries when
//! `character_set_results` is binary: numbers and dates as written, text and
//! bytes as they are stored. A column's [`Kind`] comes
//! from its type in words (`COLUMN_TYPE`) and its character set. What a server
//! would round, cut or warn about is refused here: it is not in an archive of
//! rows that came from a server, so something else is wrong.

mod address;
mod json;
mod number;
mod text;
mod time;

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

pub use text::Charset;

/// How a column's values are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of so many bytes.
    Integer {
        /// Bytes.
        bytes: u8,
        /// Without a sign.
        unsigned: bool,
    },
    /// DECIMAL(digits, after the point).
    Decimal {
        /// Digits in all.
        digits: u8,
        /// Of them after the point.
        scale: u8,
    },
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DATE, TIME, DATETIME, TIMESTAMP, with digits of a second.
    Date,
    /// TIME(digits).
    Time(u8),
    /// DATETIME(digits).
    DateTime(u8),
    /// TIMESTAMP(digits), in UTC.
    Timestamp(u8),
    /// YEAR.
    Year,
    /// One of a list.
    Enum {
        /// Bytes of its number.
        bytes: u8,
        /// Numbers by member.
        members: HashMap<Vec<u8>, u64>,
    },
    /// Some of a list.
    Set {
        /// Bytes of its bits.
        bytes: u8,
        /// Bits by member.
        members: HashMap<Vec<u8>, u64>,
    },
    /// Always so many bytes, filled up with zeroes: BINARY and BIT.
    Binary(u16),
    /// CHAR(characters).
    Char {
        /// Characters.
        characters: u16,
        /// Their set.
        charset: Charset,
    },
    /// VARCHAR(characters) and the TEXT types (`None`).
    Text {
        /// Characters at most.
        characters: Option<u32>,
        /// Their set.
        charset: Charset,
    },
    /// JSON of MySQL, which has a binary form of its own.
    Json,
    /// UUID of MariaDB.
    Uuid,
    /// INET4 of MariaDB.
    Inet4,
    /// INET6 of MariaDB.
    Inet6,
    /// VARBINARY(bytes), the BLOB types and geometries (`None`).
    Bytes {
        /// Bytes at most.
        most: Option<u32>,
    },
}

/// Why a type is not one that is built here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The type.
    #[error("type {0}")]
    Type(String),
    /// Its character set.
    #[error("character set {0}")]
    Charset(String),
}

/// A value that its column cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a value that is no {0} of this column")]
pub struct Wrong(pub &'static str);

impl Kind {
    /// From a type in words, as `information_schema.columns` has it: `int unsigned`, `varchar(20)`,
    /// `enum('a','b')`; and the column's character set. Members of ENUM and SET that rows have in other bytes than these are
    /// to be given in those ([`to_encode`]).
    pub fn of(
        column_type: &str,
        charset: Option<&str>,
        encoded: Option<Vec<Vec<u8>>>,
    ) -> Result<Kind, Unsupported> {
        let unsupported = || Unsupported::Type(column_type.to_owned());
        let lower = column_type.to_ascii_lowercase();
        let end = lower
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(lower.len());
        let name = &lower[..end];
        let unsigned = lower[end..].contains("unsigned");
        let inner = lower[end..]
            .strip_prefix('(')
            .and_then(|rest| Some(&rest[..rest.find(')')?]));
        let number = |text: Option<&str>| text.and_then(|t| t.trim().parse::<u32>().ok());
        let integer = |bytes| Ok(Kind::Integer { bytes, unsigned });
        // Old temporal types of MariaDB have a comment after them, and other bytes.
        if lower[end..].contains("/*") {
            return Err(unsupported());
        }
        let digits = || match number(inner).unwrap_or(0) {
            n @ 0..=6 => Ok(n as u8),
            _ => Err(unsupported()),
        };
        let set = || match charset {
            Some(name) => Charset::of(name).ok_or_else(|| Unsupported::Charset(name.to_owned())),
            None => Err(unsupported()),
        };
        match name {
            "tinyint" => integer(1),
            "smallint" => integer(2),
            "mediumint" => integer(3),
            "int" | "integer" => integer(4),
            "bigint" => integer(8),
            "decimal" | "numeric" => {
                let (digits, scale) = match inner.map(|i| i.split_once(',')) {
                    Some(Some((d, s))) => (number(Some(d)), number(Some(s))),
                    Some(None) => (number(inner), Some(0)),
                    None => (Some(10), Some(0)),
                };
                match (digits, scale) {
                    (Some(digits @ 1..=65), Some(scale @ 0..=38)) if scale <= digits => {
                        Ok(Kind::Decimal {
                            digits: digits as u8,
                            scale: scale as u8,
                        })
                    }
                    _ => Err(unsupported()),
                }
            }
            "float" => Ok(Kind::Float),
            "double" | "real" => Ok(Kind::Double),
            "date" => Ok(Kind::Date),
            "time" => Ok(Kind::Time(digits()?)),
            "datetime" => Ok(Kind::DateTime(digits()?)),
            "timestamp" => Ok(Kind::Timestamp(digits()?)),
            "year" => Ok(Kind::Year),
            "bit" => match number(inner).unwrap_or(1) {
                bits @ 1..=64 => Ok(Kind::Binary(bits.div_ceil(8) as u16)),
                _ => Err(unsupported()),
            },
            "binary" => u16::try_from(number(inner).unwrap_or(1))
                .map(Kind::Binary)
                .map_err(|_| unsupported()),
            "char" => Ok(Kind::Char {
                characters: u16::try_from(number(inner).unwrap_or(1)).map_err(|_| unsupported())?,
                charset: set()?,
            }),
            "varchar" => Ok(Kind::Text {
                characters: Some(number(inner).ok_or_else(unsupported)?),
                charset: set()?,
            }),
            "tinytext" | "text" | "mediumtext" | "longtext" => Ok(Kind::Text {
                characters: None,
                charset: set()?,
            }),
            "varbinary" => Ok(Kind::Bytes {
                most: Some(number(inner).ok_or_else(unsupported)?),
            }),
            "tinyblob" | "blob" | "mediumblob" | "longblob" => Ok(Kind::Bytes { most: None }),
            "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring"
            | "multipolygon" | "geometrycollection" | "geomcollection" => {
                Ok(Kind::Bytes { most: None })
            }
            // MariaDB's is LONGTEXT, and says so.
            "json" => Ok(Kind::Json),
            "uuid" => Ok(Kind::Uuid),
            "inet4" => Ok(Kind::Inet4),
            "inet6" => Ok(Kind::Inet6),
            "enum" | "set" => {
                if !set()?.has_ascii() {
                    return Err(unsupported());
                }
                let plain = || {
                    let members = members(&column_type[end..])?;
                    Some(members.into_iter().map(String::into_bytes).collect())
                };
                let members: Vec<Vec<u8>> = encoded.or_else(plain).ok_or_else(unsupported)?;
                let all = members.len() as u64;
                if name == "enum" {
                    let numbered = members.into_iter().zip(1..).collect();
                    Ok(Kind::Enum {
                        bytes: if all < 256 { 1 } else { 2 },
                        members: numbered,
                    })
                } else {
                    let bytes = match all.div_ceil(8) {
                        n @ 1..=4 => n as u8,
                        5..=8 => 8,
                        _ => return Err(unsupported()),
                    };
                    let bits = members
                        .into_iter()
                        .enumerate()
                        .map(|(n, m)| (m, 1 << n))
                        .collect();
                    Ok(Kind::Set {
                        bytes,
                        members: bits,
                    })
                }
            }
            _ => Err(unsupported()),
        }
    }

    /// The character set of text.
    pub fn charset(&self) -> Option<Charset> {
        match self {
            Kind::Char { charset, .. } | Kind::Text { charset, .. } => Some(*charset),
            _ => None,
        }
    }

    /// Appends the bytes of a value that is not NULL.
    pub fn put(&self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Wrong> {
        match self {
            Kind::Integer { bytes, unsigned } => number::integer(text, *bytes, *unsigned, out),
            Kind::Decimal { digits, scale } => number::decimal(text, *digits, *scale, out),
            Kind::Float => {
                let value = number::float(text).ok_or(Wrong("FLOAT"))? as f32;
                out.extend_from_slice(&value.to_le_bytes());
                Ok(())
            }
            Kind::Double => {
                let value = number::float(text).ok_or(Wrong("DOUBLE"))?;
                out.extend_from_slice(&value.to_le_bytes());
                Ok(())
            }
            Kind::Date => time::date(text, out).ok_or(Wrong("DATE")),
            Kind::Time(digits) => time::time(text, *digits, out).ok_or(Wrong("TIME")),
            Kind::DateTime(digits) => time::date_time(text, *digits, out).ok_or(Wrong("DATETIME")),
            Kind::Timestamp(digits) => {
                time::timestamp(text, *digits, out).ok_or(Wrong("TIMESTAMP"))
            }
            Kind::Year => number::year(text, out),
            Kind::Enum { bytes, members } => {
                let n = match members.get(text) {
                    Some(n) => *n,
                    // What is kept of a value that was none of them.
                    None if text.is_empty() => 0,
                    None => return Err(Wrong("member of the ENUM")),
                };
                number::big_endian(n, *bytes, out);
                Ok(())
            }
            Kind::Set { bytes, members } => {
                let mut bits = 0;
                for member in text.split(|c| *c == b',').filter(|m| !m.is_empty()) {
                    bits |= members.get(member).ok_or(Wrong("member of the SET"))?;
                }
                number::big_endian(bits, *bytes, out);
                Ok(())
            }
            Kind::Binary(bytes) => {
                let bytes = usize::from(*bytes);
                if text.len() > bytes {
                    return Err(Wrong("BINARY"));
                }
                out.extend_from_slice(text);
                out.resize(out.len() + bytes - text.len(), 0);
                Ok(())
            }
            Kind::Char {
                characters,
                charset,
            } => charset.char(text, usize::from(*characters), out),
            Kind::Text {
                characters,
                charset,
            } => {
                let most = characters.map_or(usize::MAX, |n| n as usize);
                charset.text(text, most, out)
            }
            Kind::Json => json::put(text, out),
            Kind::Uuid => address::uuid(text, out),
            Kind::Inet4 => address::inet(text, Ipv4Addr::octets, out),
            Kind::Inet6 => address::inet(text, Ipv6Addr::octets, out),
            Kind::Bytes { most } => {
                if most.is_some_and(|most| text.len() > most as usize) {
                    return Err(Wrong("VARBINARY"));
                }
                out.extend_from_slice(text);
                Ok(())
            }
        }
    }
}

/// The members of an ENUM or SET that [`Kind::of`] takes in the column's character set: where that is not UTF-8 and has ASCII as it is,
/// and some are more than that.
pub fn to_encode(column_type: &str, charset: Option<&str>) -> Option<Vec<String>> {
    let set = charset.and_then(Charset::of)?;
    let known = matches!(set, Charset::Utf8 | Charset::Utf8Three) || !set.has_ascii();
    if known || column_type.is_ascii() {
        return None;
    }
    let lower = column_type.to_ascii_lowercase();
    let name = ["enum", "set"].iter().find(|n| lower.starts_with(**n))?;
    members(&column_type[name.len()..])
}

/// `('a','it''s','back\\slash')`: the members.
fn members(list: &str) -> Option<Vec<String>> {
    let mut rest = list.strip_prefix('(')?.chars();
    let mut all = Vec::new();
    loop {
        if rest.next() != Some('\'') {
            return None;
        }
        let mut member = String::new();
        let behind = loop {
            match rest.next()? {
                '\'' => match rest.next()? {
                    '\'' => member.push('\''),
                    behind => break behind,
                },
                '\\' => member.push(match rest.next()? {
                    '0' => '\0',
                    'n' => '\n',
                    'r' => '\r',
                    itself => itself,
                }),
                c => member.push(c),
            }
        };
        all.push(member);
        match behind {
            ',' => {}
            ')' => return Some(all),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(column_type: &str, text: &str) -> Vec<u8> {
        let kind = Kind::of(column_type, Some("utf8mb4"), None).expect("a type");
        let mut out = Vec::new();
        kind.put(text.as_bytes(), &mut out)
            .unwrap_or_else(|e| panic!("{column_type} {text}: {e}"));
        out
    }

    fn refused(column_type: &str, text: &str) {
        let kind = Kind::of(column_type, Some("utf8mb4"), None).expect("a type");
        let mut out = Vec::new();
        assert!(
            kind.put(text.as_bytes(), &mut out).is_err(),
            "{column_type} {text}: {out:x?}"
        );
    }

    #[test]
    fn numbers() {
        assert_eq!(stored("int", "2"), [0x80, 0, 0, 2]);
        assert_eq!(stored("int", "-1"), [0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(stored("int unsigned", "4294967295"), [0xff; 4]);
        assert_eq!(stored("tinyint(1)", "-3"), [0x7d]);
        assert_eq!(stored("bigint", "-9223372036854775808"), [0; 8]);
        assert_eq!(stored("bigint unsigned", "18446744073709551615"), [0xff; 8]);
        assert_eq!(stored("mediumint(9)", "-8388608"), [0, 0, 0]);
        assert_eq!(stored("int(5) unsigned zerofill", "00042"), [0, 0, 0, 42]);
        for (t, v) in [
            ("tinyint", "128"),
            ("int unsigned", "-1"),
            ("int", ""),
            ("int", "1.5"),
            ("int", "9999999999"),
        ] {
            refused(t, v);
        }
        assert_eq!(stored("decimal(12,2)", "3.50"), [0x80, 0, 0, 0, 3, 0x32]);
        assert_eq!(
            stored("decimal(12,2)", "-3.55"),
            [0x7f, 0xff, 0xff, 0xff, 0xfc, 0xc8]
        );
        assert_eq!(stored("decimal(10,0)", "0"), [0x80, 0, 0, 0, 0]);
        assert_eq!(stored("decimal(4,4)", "0.1234"), [0x84, 0xd2]);
        refused("decimal(3,1)", "100.0");
        refused("decimal(3,1)", "1.00");
        assert_eq!(stored("double", "1.5"), 1.5f64.to_le_bytes());
        assert_eq!(stored("float", "-0.25"), (-0.25f32).to_le_bytes());
        assert_eq!(stored("year", "1999"), [99]);
        assert_eq!(stored("year(4)", "0000"), [0]);
    }

    #[test]
    fn times() {
        assert_eq!(
            stored("datetime", "2020-01-01 10:11:12"),
            [0x99, 0xa5, 0x42, 0xa2, 0xcc]
        );
        assert_eq!(
            stored("datetime", "1999-12-31 23:59:59"),
            [0x99, 0x63, 0xff, 0x7e, 0xfb]
        );
        assert_eq!(
            stored("datetime(6)", "2020-01-01 10:11:12.000001")[5..],
            [0, 0, 1]
        );
        assert_eq!(
            stored("datetime(3)", "2020-01-01 10:11:12.120")[5..],
            [0x04, 0xb0]
        );
        assert_eq!(stored("datetime(1)", "2020-01-01 10:11:12.5")[5..], [50]);
        assert_eq!(stored("date", "2020-01-01"), [0x8f, 0xc8, 0x21]);
        assert_eq!(stored("time", "00:00:00"), [0x80, 0, 0]);
        assert_eq!(stored("time", "-00:00:01"), [0x7f, 0xff, 0xff]);
        assert_eq!(stored("time", "838:59:59"), [0xb4, 0x6e, 0xfb]);
        assert_eq!(stored("time(2)", "-00:00:00.01"), [0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(stored("timestamp", "1970-01-01 00:00:01"), [0, 0, 0, 1]);
        assert_eq!(
            stored("timestamp", "2038-01-19 03:14:07"),
            [0x7f, 0xff, 0xff, 0xff]
        );
        assert_eq!(stored("timestamp", "0000-00-00 00:00:00"), [0; 4]);
        assert_eq!(
            stored("timestamp(6)", "2001-09-09 01:46:40.5")[..4],
            1_000_000_000u32.to_be_bytes()
        );
        for (t, v) in [
            ("date", "2020-13-01"),
            ("datetime", "2020-01-01"),
            ("time", "1"),
            ("timestamp", "1969-01-01 00:00:00"),
        ] {
            refused(t, v);
        }
    }

    #[test]
    fn text_and_lists() {
        assert_eq!(stored("varchar(3)", "äöü"), "äöü".as_bytes());
        refused("varchar(2)", "äöü");
        assert_eq!(stored("char(3)", "a"), b"a  ");
        assert_eq!(stored("char(3)", "äöü"), "äöü".as_bytes());
        assert_eq!(stored("char(3)", "ä"), "ä ".as_bytes());
        assert_eq!(stored("binary(3)", "a"), b"a\0\0");
        assert_eq!(stored("enum('a','it''s',',')", "it's"), [2]);
        assert_eq!(stored("set('a','b','c')", "a,c"), [5]);
        assert_eq!(stored("set('a','b','c')", ""), [0]);
        refused("enum('a')", "b");
        let latin = Kind::of("varchar(9)", Some("latin1"), None).expect("a type");
        let mut out = Vec::new();
        latin.put(&[0xe4, 0x80], &mut out).expect("in latin1");
        assert_eq!(out, [0xe4, 0x80]);
        let members = vec![b"a".to_vec(), vec![0xe4, 0x80]];
        let list = Kind::of("enum('a','ä€')", Some("latin1"), Some(members)).expect("a type");
        out.clear();
        list.put(&[0xe4, 0x80], &mut out).expect("a member");
        assert_eq!(out, [2]);
        let of = |t, set| to_encode(t, Some(set));
        assert_eq!(of("enum('a')", "latin1").or(of("int", "latin1")), None);
        assert_eq!(of("set('ä')", "utf8mb3").or(of("set('ä')", "ucs2")), None);
        let both = Some(vec!["ä".to_owned(), "'\\".to_owned()]);
        assert_eq!(of(r"enum('ä','''\\')", "sjis"), both);
        assert_eq!(stored(r"set('a','\\','\n')", "\\,\n"), [6]);
        assert_eq!(stored("enum('a')", ""), [0]);
        assert_eq!(stored("enum('a','')", ""), [2]);
        let gbk = Kind::of("char(3)", Some("gbk"), None).expect("a type");
        out.clear();
        gbk.put(&[0xc4, 0xe3, b' '], &mut out).expect("in gbk");
        assert_eq!(out, [0xc4, 0xe3, b' ']);
        assert!(gbk.put(&[0xc4; 8], &mut out).is_err());
        let ascii = Kind::of("varchar(3)", Some("ascii"), None).expect("a type");
        assert!(ascii.put(&[0xc4], &mut out).is_err());
        assert_eq!(Kind::of("json", None, None), Ok(Kind::Json));
        assert_eq!(
            Kind::of("point", None, None),
            Ok(Kind::Bytes { most: None })
        );
        assert!(Kind::of("vector(3)", None, None).is_err());
        assert!(Kind::of("enum('a')", Some("utf16"), None).is_err());
    }

    #[test]
    fn text_whose_spaces_are_longer_than_a_byte() {
        let stored = |column_type: &str, set, text: &[u8]| {
            let kind = Kind::of(column_type, Some(set), None).expect("a type");
            let mut out = Vec::new();
            kind.put(text, &mut out).map(|()| out)
        };
        assert_eq!(stored("char(2)", "ucs2", b"\0a"), Ok(b"\0a\0 ".to_vec()));
        let padded = b"a\0 \0 \0 \0".to_vec();
        assert_eq!(stored("char(2)", "utf16le", b"a\0"), Ok(padded));
        let two = b"\xd8\x3d\xde\x00\xd8\x3d\xde\x00";
        assert_eq!(stored("char(2)", "utf16", two), Ok(two.to_vec()));
        assert!(stored("char(1)", "utf16", two).is_err());
        assert!(stored("varchar(9)", "utf16", &two[..6]).is_err());
        assert!(stored("varchar(9)", "utf16", b"a").is_err());
        let one = b"\0\0\0a".to_vec();
        assert_eq!(stored("varchar(1)", "utf32", &one), Ok(one));
        assert!(stored("varchar(1)", "utf32", b"\0a").is_err());
        assert!(stored("varchar(1)", "ucs2", b"\0a\0b").is_err());
    }
}
