//! JSON as MySQL stores it, from its text: a binary form in which an object's
//! keys are sorted and every value is found by an offset.
//!
//! Small objects and arrays have offsets of two bytes, those of more than 64 KiB
//! of four. Short values are in the place of their offset. The form is
//! described in MySQL's source documentation (json_binary.h).

use super::Wrong;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

const WRONG: Wrong = Wrong("JSON");

/// Nested deeper than this no server takes a document.
const DEPTH: usize = 100;

/// Types, as the first byte of a value.
mod kind {
    pub const OBJECT: u8 = 0;
    pub const ARRAY: u8 = 2;
    /// Added to the two above.
    pub const LARGE: u8 = 1;
    pub const LITERAL: u8 = 4;
    pub const INT16: u8 = 5;
    pub const INT32: u8 = 7;
    pub const INT64: u8 = 9;
    pub const UINT64: u8 = 10;
    pub const DOUBLE: u8 = 11;
    pub const STRING: u8 = 12;
}

/// A document.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// null, true, false, by their number.
    Literal(u8),
    Int(i64),
    /// What is above 32 bits without a sign has a type of its own.
    Uint(u64),
    Double(f64),
    Text(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E: Error>(self) -> Result<Value, E> {
                Ok(Value::Literal(0))
            }

            fn visit_bool<E: Error>(self, v: bool) -> Result<Value, E> {
                Ok(Value::Literal(if v { 1 } else { 2 }))
            }

            fn visit_i64<E: Error>(self, v: i64) -> Result<Value, E> {
                Ok(Value::Int(v))
            }

            fn visit_u64<E: Error>(self, v: u64) -> Result<Value, E> {
                Ok(match u32::try_from(v) {
                    Ok(v) => Value::Int(v.into()),
                    Err(_) => Value::Uint(v),
                })
            }

            fn visit_f64<E: Error>(self, v: f64) -> Result<Value, E> {
                Ok(Value::Double(v))
            }

            fn visit_str<E: Error>(self, v: &str) -> Result<Value, E> {
                Ok(Value::Text(v.to_owned()))
            }

            fn visit_string<E: Error>(self, v: String) -> Result<Value, E> {
                Ok(Value::Text(v))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut all = Vec::new();
                while let Some(v) = list.next_element()? {
                    all.push(v);
                }
                Ok(Value::Array(all))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut all: Vec<(String, Value)> = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    all.push(pair);
                }
                // By length, then by bytes, as the server looks for them.
                all.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
                if all.windows(2).any(|w| w[0].0 == w[1].0) {
                    return Err(A::Error::custom("a key is there twice"));
                }
                Ok(Value::Object(all))
            }
        }
        from.deserialize_any(Any)
    }
}

/// Appends a document.
pub fn put(text: &[u8], out: &mut Vec<u8>) -> Result<(), Wrong> {
    let value: Value = serde_json::from_slice(text).map_err(|_| WRONG)?;
    let start = out.len();
    out.push(0);
    let kind = value.put(out, false, 0)?.map_err(|TooBig| WRONG)?;
    out[start] = kind;
    Ok(())
}

/// An offset does not fit into its two bytes.
struct TooBig;

impl Value {
    /// Appends the value without its type, which is returned. `parent_small`: it lies in an
    /// object or array with offsets of two bytes.
    fn put(
        &self,
        out: &mut Vec<u8>,
        parent_small: bool,
        depth: usize,
    ) -> Result<Result<u8, TooBig>, Wrong> {
        Ok(Ok(match self {
            Value::Literal(n) => {
                out.push(*n);
                kind::LITERAL
            }
            Value::Int(v) => {
                if let Ok(v) = i16::try_from(*v) {
                    out.extend_from_slice(&v.to_le_bytes());
                    kind::INT16
                } else if let Ok(v) = i32::try_from(*v) {
                    out.extend_from_slice(&v.to_le_bytes());
                    kind::INT32
                } else {
                    out.extend_from_slice(&v.to_le_bytes());
                    kind::INT64
                }
            }
            Value::Uint(v) => {
                out.extend_from_slice(&v.to_le_bytes());
                kind::UINT64
            }
            Value::Double(v) => {
                out.extend_from_slice(&v.to_le_bytes());
                kind::DOUBLE
            }
            Value::Text(text) => {
                let mut left = text.len();
                while left > 0x7f {
                    out.push((left & 0x7f) as u8 | 0x80);
                    left >>= 7;
                }
                out.push(left as u8);
                out.extend_from_slice(text.as_bytes());
                kind::STRING
            }
            Value::Array(_) | Value::Object(_) => {
                if depth >= DEPTH {
                    return Err(WRONG);
                }
                let kind = match self {
                    Value::Object(_) => kind::OBJECT,
                    _ => kind::ARRAY,
                };
                let start = out.len();
                if self.put_all::<2>(out, depth)?.is_ok() {
                    return Ok(Ok(kind));
                }
                out.truncate(start);
                if parent_small {
                    return Ok(Err(TooBig));
                }
                if let Err(too_big) = self.put_all::<4>(out, depth)? {
                    return Ok(Err(too_big));
                }
                kind | kind::LARGE
            }
        }))
    }

    /// Appends an array or object whose offsets have `W` bytes: how many there are, how long it is,
    /// where the keys and values are, the keys, the values.
    fn put_all<const W: usize>(
        &self,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<Result<(), TooBig>, Wrong> {
        let start = out.len();
        let count = match self {
            Value::Array(all) => all.len(),
            Value::Object(all) => all.len(),
            _ => 0,
        };
        let keyed = matches!(self, Value::Object(_));
        let keys_at = start + 2 * W;
        let values_at = keys_at + if keyed { count * (W + 2) } else { 0 };
        out.resize(values_at + count * (1 + W), 0);
        if !set::<W>(out, start, count) {
            return Ok(Err(TooBig));
        }
        if let Value::Object(all) = self {
            for (n, (key, _)) in all.iter().enumerate() {
                let at = keys_at + n * (W + 2);
                let offset = out.len() - start;
                let length = u16::try_from(key.len()).map_err(|_| WRONG)?;
                if !set::<W>(out, at, offset) {
                    return Ok(Err(TooBig));
                }
                out[at + W..at + W + 2].copy_from_slice(&length.to_le_bytes());
                out.extend_from_slice(key.as_bytes());
            }
        }
        let mut put = |n: usize, value: &Value| -> Result<bool, Wrong> {
            let at = values_at + n * (1 + W);
            let begin = out.len();
            let Ok(kind) = value.put(out, W == 2, depth + 1)? else {
                return Ok(false);
            };
            out[at] = kind;
            // What is no longer than an offset is in its place.
            let inline = match kind {
                kind::LITERAL | kind::INT16 => true,
                kind::INT32 => W == 4,
                _ => false,
            };
            if inline {
                let mut short = [0; W];
                let length = out.len() - begin;
                short[..length].copy_from_slice(&out[begin..]);
                out.truncate(begin);
                out[at + 1..at + 1 + W].copy_from_slice(&short);
                return Ok(true);
            }
            Ok(set::<W>(out, at + 1, begin - start))
        };
        let mut fits = true;
        match self {
            Value::Array(all) => {
                for (n, v) in all.iter().enumerate() {
                    fits = fits && put(n, v)?;
                }
            }
            Value::Object(all) => {
                for (n, (_, v)) in all.iter().enumerate() {
                    fits = fits && put(n, v)?;
                }
            }
            _ => {}
        }
        let size = out.len() - start;
        Ok(if fits && set::<W>(out, start + W, size) {
            Ok(())
        } else {
            Err(TooBig)
        })
    }
}

/// Writes a number of `W` bytes, if it fits.
fn set<const W: usize>(out: &mut [u8], at: usize, value: usize) -> bool {
    if value >> (8 * W) != 0 {
        return false;
    }
    out[at..at + W].copy_from_slice(&(value as u64).to_le_bytes()[..W]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str) -> Vec<u8> {
        let mut out = vec![7];
        put(text.as_bytes(), &mut out).unwrap_or_else(|e| panic!("{text}: {e}"));
        out.split_off(1)
    }

    /// That the server reads the same out of them is tested with the server (tests/tablespace.rs).
    #[test]
    fn values_are_as_the_server_has_them() {
        for (text, bytes) in [
            ("null", &[4, 0][..]),
            ("true", &[4, 1]),
            ("false", &[4, 2]),
            ("-1", &[5, 0xff, 0xff]),
            ("40000", &[7, 0x40, 0x9c, 0, 0]),
            ("3000000000", &[9, 0, 0x5e, 0xd0, 0xb2, 0, 0, 0, 0]),
            (
                "-3000000000",
                &[9, 0, 0xa2, 0x2f, 0x4d, 0xff, 0xff, 0xff, 0xff],
            ),
            ("5000000000", &[10, 0, 0xf2, 5, 0x2a, 1, 0, 0, 0]),
            ("0.5", &[11, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f]),
            ("\"a\\n\"", &[12, 2, b'a', b'\n']),
            ("[]", &[2, 0, 0, 4, 0]),
            ("{}", &[0, 0, 0, 4, 0]),
            // Short values in their place, the long one after.
            (
                "[1, true, 70000]",
                &[2, 3, 0, 17, 0, 5, 1, 0, 4, 1, 0, 7, 13, 0, 0x70, 0x11, 1, 0],
            ),
            // Shorter keys first.
            (
                "{\"bb\": 1, \"c\": \"x\", \"a\": null}",
                &[
                    0, 3, 0, 31, 0, 25, 0, 1, 0, 26, 0, 1, 0, 27, 0, 2, 0, 4, 0, 0, 12, 29, 0, 5,
                    1, 0, b'a', b'c', b'b', b'b', 1, b'x',
                ],
            ),
        ] {
            assert_eq!(stored(text), bytes, "{text}");
        }
        let long = stored(&format!("\"{}\"", "x".repeat(200)));
        assert_eq!(long[..3], [12, 0xc8, 1]);
    }

    #[test]
    fn what_is_large_has_longer_offsets_and_its_parts_need_not() {
        let text = "x".repeat(70_000);
        let out = stored(&format!("[70000, [1], \"{text}\"]"));
        assert_eq!(out[0], 3);
        assert_eq!(out[1..5], [3, 0, 0, 0]);
        // The number is in its place; the array inside is a small one, at 23.
        assert_eq!(out[9..14], [7, 0x70, 0x11, 1, 0]);
        assert_eq!(out[14..19], [2, 23, 0, 0, 0]);
        assert_eq!(out[24..31], [1, 0, 7, 0, 5, 1, 0]);
        assert_eq!(
            u32::from_le_bytes(out[5..9].try_into().unwrap()) as usize,
            out.len() - 1
        );
        // One that is large makes all around it large.
        let out = stored(&format!("[[\"{text}\"]]"));
        assert_eq!((out[0], out[9]), (3, 3));
        let many = stored(&format!("[{}1]", "1, ".repeat(65_535)));
        assert_eq!(many[..5], [3, 0, 0, 1, 0]);
    }

    #[test]
    fn what_no_server_stores_is_refused() {
        let mut out = Vec::new();
        for text in ["", "{", "{\"a\": 1, \"a\": 2}", "nul", "[1] 2", "\u{1}"] {
            assert!(put(text.as_bytes(), &mut out).is_err(), "{text}");
        }
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(put(deep(DEPTH).as_bytes(), &mut out).is_ok());
        assert!(put(deep(DEPTH + 1).as_bytes(), &mut out).is_err());
        assert!(put(b"\"\xff\"", &mut out).is_err());
    }
}
