//! The values of row events, as the text that the server sends for them.
//!
//! What comes out is the text of the canonical SELECT: without character set conversion, in UTC, FLOAT widened to
//! DOUBLE. A log has less of a column than its definition: what is not known (a sign, a
//! character set, members) decides the [`Sort`] that a value gets, and is never guessed.
//!
//! Formats: MySQL source documentation, "Binary log event", and the servers' `Field::pack`.

use crate::body::columns::{Address, Column, kind};
use crate::fields::Fields;
use crate::{Error, Result};
use std::io::Read;
use values::number::{self, Decimal};
use values::{Broken, address, float, json, time};

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A whole number.
    Integer,
    /// A whole number that is negative if its column has a sign, which is not known.
    Ambiguous,
    /// DECIMAL.
    Decimal,
    /// FLOAT or DOUBLE.
    Float,
    /// A date, a time, a year.
    Time,
    /// Text in the column's character set: also a member of ENUM, members of SET.
    Text,
    /// Text, or bytes: the character set is not known.
    TextOrBytes,
    /// Bytes, also of spatial values and vectors.
    Bytes,
    /// The bytes of BIT.
    Bits,
    /// A JSON document.
    Json,
    /// A JSON document that is another one when it is made of its text: with a DECIMAL that is no DOUBLE.
    JsonOfDecimals,
    /// Changes of a JSON document, in words.
    JsonChanges,
    /// ENUM's value that is no member (its number is 0), for which SELECT gives an empty text.
    NoMember,
    /// The number of ENUM's member, or the bits of SET's, which have no names here.
    Ordinal,
    /// UUID, INET4, INET6.
    Address,
    /// No value of its column: the bytes as they are.
    Broken,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// What it is.
    pub sort: Sort,
    /// Its text.
    pub text: Vec<u8>,
}

/// A compressed value may become this long, in bytes: no server has longer ones.
const LONGEST: u64 = 1 << 32;

/// Reads a value of a column.
pub fn decode(column: &Column, stored: &[u8]) -> Decoded {
    match read(column, stored) {
        Ok((sort, text)) => Decoded { sort, text },
        Err(_) => Decoded {
            sort: Sort::Broken,
            text: stored.to_vec(),
        },
    }
}

fn read(column: &Column, stored: &[u8]) -> Result<(Sort, Vec<u8>), Broken> {
    let meta = column.meta;
    let short = |sort, text| Ok((sort, text));
    // Digits of a fraction.
    let digits = || u8::try_from(meta).ok().filter(|d| *d <= 6);
    let digits = || digits().ok_or(Broken("digits of a second"));
    match column.kind {
        kind::TINY | kind::SHORT | kind::INT24 | kind::LONG | kind::LONGLONG => {
            let sort = match column.unsigned {
                None if stored.last().is_some_and(|b| b & 0x80 != 0) => Sort::Ambiguous,
                _ => Sort::Integer,
            };
            let unsigned = column.unsigned == Some(true);
            let bytes = match column.kind {
                kind::TINY => 1,
                kind::SHORT => 2,
                kind::INT24 => 3,
                kind::LONG => 4,
                _ => 8,
            };
            let stored = match unsigned {
                true => turned(stored),
                false => signed(stored),
            };
            short(
                sort,
                cell(|out| number::integer(&stored, bytes, unsigned, 0, out))?,
            )
        }
        kind::FLOAT | kind::DOUBLE => short(Sort::Float, cell(|out| float::put(stored, 0, out))?),
        kind::NEWDECIMAL => {
            let (precision, scale) = ((meta >> 8) as u8, meta as u8);
            let decimal = Decimal::new(precision, scale, false).ok_or(Broken("DECIMAL"))?;
            short(Sort::Decimal, cell(|out| decimal.cell(stored, out))?)
        }
        kind::YEAR => short(Sort::Time, cell(|out| time::year(stored, false, out))?),
        kind::DATE | kind::NEWDATE => {
            let stored = signed(stored);
            short(Sort::Time, cell(|out| time::date(&stored, out))?)
        }
        kind::TIME => {
            let stored = signed(stored);
            short(Sort::Time, cell(|out| time::old_time(&stored, 0, out))?)
        }
        kind::DATETIME => {
            let stored = signed(stored);
            short(
                Sort::Time,
                cell(|out| time::old_date_time(&stored, 0, out))?,
            )
        }
        kind::TIMESTAMP => {
            let stored = turned(stored);
            short(
                Sort::Time,
                cell(|out| time::old_timestamp(&stored, 0, out))?,
            )
        }
        kind::TIME2 => {
            let digits = digits()?;
            short(Sort::Time, cell(|out| time::time(stored, digits, out))?)
        }
        kind::DATETIME2 => {
            let digits = digits()?;
            short(
                Sort::Time,
                cell(|out| time::date_time(stored, digits, out))?,
            )
        }
        kind::TIMESTAMP2 => {
            let digits = digits()?;
            short(
                Sort::Time,
                cell(|out| time::timestamp(stored, digits, out))?,
            )
        }
        kind::BIT => Ok((Sort::Bits, stored.to_vec())),
        kind::ENUM | kind::SET => list(column, stored),
        kind::STRING => fixed(column, stored),
        kind::VARCHAR_COMPRESSED | kind::BLOB_COMPRESSED => {
            let text = decompressed(stored).map_err(|_| Broken("compressed value"))?;
            Ok((sort_of_text(column), text))
        }
        kind::JSON => {
            let mut text = Vec::new();
            Ok(match json::text(stored, &mut text)? {
                true => (Sort::Json, text),
                false => (Sort::JsonOfDecimals, text),
            })
        }
        kind::GEOMETRY | kind::VECTOR => Ok((Sort::Bytes, stored.to_vec())),
        _ => Ok((sort_of_text(column), stored.to_vec())),
    }
}

/// Reads changes of a JSON document: the words that a statement would have.
pub fn json_changes(stored: &[u8]) -> Decoded {
    match changes(stored) {
        Ok(text) => Decoded {
            sort: Sort::JsonChanges,
            text,
        },
        Err(_) => Decoded {
            sort: Sort::Broken,
            text: stored.to_vec(),
        },
    }
}

fn changes(stored: &[u8]) -> Result<Vec<u8>> {
    let mut fields = Fields::new(stored, "changes of JSON");
    let mut text = Vec::new();
    while !fields.is_empty() {
        let verb: &[u8] = match fields.u8()? {
            0 => b"replace ",
            1 => b"insert ",
            2 => b"remove ",
            other => return Err(fields.wrong(format!("an unknown operation {other}"))),
        };
        if !text.is_empty() {
            text.extend_from_slice(b"; ");
        }
        text.extend_from_slice(verb);
        text.extend_from_slice(fields.packed_bytes()?);
        if verb != b"remove " {
            text.extend_from_slice(b" = ");
            let value = fields.packed_bytes()?;
            json::text(value, &mut text).map_err(|e| fields.wrong(e.to_string()))?;
        }
    }
    Ok(text)
}

/// What bytes of text are.
fn sort_of_text(column: &Column) -> Sort {
    match column.charset.as_deref() {
        Some("binary") => Sort::Bytes,
        Some(_) => Sort::Text,
        None => Sort::TextOrBytes,
    }
}

/// CHAR and BINARY: what fills them up is not in the log.
fn fixed(column: &Column, stored: &[u8]) -> Result<(Sort, Vec<u8>), Broken> {
    let mut text = stored.to_vec();
    let full = usize::from(column.meta);
    if let Some(address) = column.address {
        text.resize(full.max(text.len()), 0);
        let text = match address {
            Address::Uuid => cell(|out| address::uuid(&text, false, out))?,
            Address::Inet4 => cell(|out| address::inet4(&text, out))?,
            Address::Inet6 => cell(|out| address::inet6(&text, out))?,
        };
        return Ok((Sort::Address, text));
    }
    let sort = sort_of_text(column);
    if sort == Sort::Bytes {
        text.resize(full.max(text.len()), 0);
    }
    Ok((sort, text))
}

/// ENUM and SET.
fn list(column: &Column, stored: &[u8]) -> Result<(Sort, Vec<u8>), Broken> {
    let number = number::big_endian(&turned(stored));
    if column.kind == kind::ENUM && number == 0 {
        return Ok((Sort::NoMember, Vec::new()));
    }
    let Some(members) = &column.members else {
        return Ok((Sort::Ordinal, number.to_string().into_bytes()));
    };
    let of = |name: &str| {
        let set = column.charset.as_deref();
        let set = set.and_then(values::charset::Charset::of);
        set.and_then(|s| s.encode(name))
            .unwrap_or_else(|| name.as_bytes().to_vec())
    };
    if column.kind == kind::ENUM {
        let text = match usize::try_from(number) {
            Ok(n) => members
                .get(n - 1)
                .ok_or(Broken("member of the ENUM"))?
                .clone(),
            Err(_) => return Err(Broken("member of the ENUM")),
        };
        return Ok((Sort::Text, text));
    }
    if members.len() < 64 && number >> members.len() != 0 {
        return Err(Broken("member of the SET"));
    }
    let comma = of(",");
    let mut text = Vec::new();
    let chosen = members.iter().enumerate().take(64);
    for (n, (_, member)) in chosen.filter(|(n, _)| number >> n & 1 == 1).enumerate() {
        if n > 0 {
            text.extend_from_slice(&comma);
        }
        text.extend_from_slice(member);
    }
    Ok((Sort::Text, text))
}

/// A value of a column that MariaDB compresses: a byte that says how, the length with its highest byte first, and what zlib
/// or deflate made of it.
fn decompressed(stored: &[u8]) -> Result<Vec<u8>> {
    let mut fields = Fields::new(stored, "compressed value");
    if fields.is_empty() {
        return Ok(Vec::new());
    }
    const COMPRESSED: u8 = 0x80;
    const WITHOUT_HEADER: u8 = 8;
    let head = fields.u8()?;
    if head == 0 {
        return Ok(fields.rest().to_vec());
    }
    let width = usize::from(head & 7);
    if head & COMPRESSED == 0 || width == 0 {
        return Err(fields.wrong(format!("an unknown way of compression {head:#04x}")));
    }
    let length = fields.take(width)?;
    let length = length.iter().fold(0u64, |n, &b| n << 8 | u64::from(b));
    if length > LONGEST {
        return Err(fields.wrong(format!("a length of {length} bytes")));
    }
    let mut out = Vec::new();
    let read = match head & WITHOUT_HEADER {
        0 => flate2::read::ZlibDecoder::new(fields.rest())
            .take(length + 1)
            .read_to_end(&mut out),
        _ => flate2::read::DeflateDecoder::new(fields.rest())
            .take(length + 1)
            .read_to_end(&mut out),
    };
    read.map_err(|e| Error::malformed("compressed value", e.to_string()))?;
    if out.len() as u64 != length {
        return Err(fields.wrong(format!("{} bytes for {length}", out.len())));
    }
    Ok(out)
}

/// Bytes with the highest one first, as the other reader of values has them.
fn turned(stored: &[u8]) -> Vec<u8> {
    stored.iter().rev().copied().collect()
}

/// The same of a number with a sign, whose sign bit is turned round there.
fn signed(stored: &[u8]) -> Vec<u8> {
    let mut all = turned(stored);
    if let Some(first) = all.first_mut() {
        *first ^= 0x80;
    }
    all
}

/// The text of a cell, which none of these makes longer than its length in one byte can say.
fn cell(write: impl FnOnce(&mut Vec<u8>) -> Result<(), Broken>) -> Result<Vec<u8>, Broken> {
    let mut out = Vec::with_capacity(48);
    write(&mut out)?;
    out.remove(0);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, meta: u16) -> Column {
        Column {
            kind,
            meta,
            nullable: true,
            name: None,
            unsigned: None,
            charset: None,
            members: None,
            primary: false,
            address: None,
        }
    }

    fn of(column: &Column, stored: &[u8]) -> (Sort, String) {
        let found = decode(column, stored);
        (
            found.sort,
            String::from_utf8_lossy(&found.text).into_owned(),
        )
    }

    #[test]
    fn a_sign_that_is_not_known_is_said() {
        let mut tiny = column(kind::TINY, 0);
        assert_eq!(of(&tiny, &[0xff]), (Sort::Ambiguous, "-1".into()));
        assert_eq!(of(&tiny, &[0x7f]), (Sort::Integer, "127".into()));
        tiny.unsigned = Some(true);
        assert_eq!(of(&tiny, &[0xff]), (Sort::Integer, "255".into()));
        tiny.unsigned = Some(false);
        assert_eq!(of(&tiny, &[0x80]), (Sort::Integer, "-128".into()));
        let mut medium = column(kind::INT24, 0);
        medium.unsigned = Some(false);
        let of_medium = of(&medium, &[0xff, 0xff, 0xff]);
        assert_eq!(of_medium, (Sort::Integer, "-1".into()));
        // Other lengths than a column has are no values of it.
        assert_eq!(of(&column(kind::DATE, 0), &[1, 2]).0, Sort::Broken);
    }

    #[test]
    fn old_dates_are_numbers() {
        let stored = 20_240_229_123_456u64.to_le_bytes();
        let text = of(&column(kind::DATETIME, 0), &stored).1;
        assert_eq!(text, "2024-02-29 12:34:56");
        let time = (-8_385_959i32).to_le_bytes();
        assert_eq!(of(&column(kind::TIME, 0), &time[..3]).1, "-838:59:59");
        let date = (2024u32 << 9 | 2 << 5 | 29).to_le_bytes();
        assert_eq!(of(&column(kind::DATE, 0), &date[..3]).1, "2024-02-29");
        assert_eq!(
            of(&column(kind::TIMESTAMP, 0), &1u32.to_le_bytes()).1,
            "1970-01-01 00:00:01"
        );
    }

    #[test]
    fn members_have_names_or_numbers() {
        let mut list = column(kind::ENUM, 1);
        assert_eq!(of(&list, &[2]), (Sort::Ordinal, "2".into()));
        list.members = Some(vec![b"a".to_vec(), b"b".to_vec()]);
        assert_eq!(of(&list, &[2]), (Sort::Text, "b".into()));
        assert_eq!(of(&list, &[0]), (Sort::NoMember, String::new()));
        assert_eq!(of(&list, &[3]).0, Sort::Broken);
        list.kind = kind::SET;
        assert_eq!(of(&list, &[3]), (Sort::Text, "a,b".into()));
        assert_eq!(of(&list, &[4]).0, Sort::Broken);
    }

    #[test]
    fn compressed_values() {
        let mut text = column(kind::VARCHAR_COMPRESSED, 300);
        text.charset = Some("latin1".to_owned());
        assert_eq!(of(&text, b""), (Sort::Text, String::new()));
        assert_eq!(of(&text, b"\0abc"), (Sort::Text, "abc".into()));
        assert_eq!(of(&text, b"\x91abc").0, Sort::Broken);
        assert_eq!(of(&text, b"\x81\x03not zlib").0, Sort::Broken);
    }

    #[test]
    fn bytes_are_filled_up_and_text_is_not() {
        let mut fixed = column(kind::STRING, 4);
        assert_eq!(decode(&fixed, b"a").text, b"a");
        fixed.charset = Some("binary".to_owned());
        assert_eq!(decode(&fixed, b"a").text, b"a\0\0\0");
        fixed.charset = Some("utf8mb4".to_owned());
        assert_eq!(decode(&fixed, b"a").text, b"a");
    }

    #[test]
    fn changes_of_json_in_words() {
        // replace $.a = 1, remove $.b
        let stored = b"\0\x03$.a\x03\x05\x01\0\x02\x03$.b";
        assert_eq!(
            json_changes(stored).text,
            b"replace $.a = 1; remove $.b".to_vec()
        );
        assert_eq!(json_changes(b"\x07").sort, Sort::Broken);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(20_000))]

        #[test]
        fn hostile_bytes_are_a_value_or_broken(
            kind: u8, meta: u16, unsigned: Option<bool>, members: bool, bytes: Vec<u8>,
        ) {
            let mut of = column(kind, meta);
            of.unsigned = unsigned;
            of.charset = members.then(|| "ucs2".to_owned());
            of.members = members.then(|| vec![vec![0, b'a']; usize::from(meta % 70)]);
            for address in [None, Some(Address::Uuid), Some(Address::Inet4), Some(Address::Inet6)] {
                of.address = address;
                let _ = decode(&of, &bytes);
            }
            let _ = json_changes(&bytes);
            let json = column(super::kind::JSON, 4);
            let _ = decode(&json, &bytes);
        }
    }
}
