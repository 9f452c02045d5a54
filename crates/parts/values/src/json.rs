//! JSON of MySQL: its binary form (`json_binary.h` of the server describes it) written as the server prints it.
//!
//! A document is a type byte and a value. Objects and arrays begin with the number of elements and their size in bytes, then
//! have an entry of fixed size for each key and each value; offsets count from their first byte. Small ones have two bytes
//! for numbers and offsets, large ones four; values that fit into an entry are in it.
//! Keys come in the order in which they are stored.
//!
//! Values of a document that a server wrote do not overlap. What is written here is therefore limited by the
//! document's length ([`Document::left`]): offsets that lead to the same bytes again and again end as [`Broken`].

use crate::number::Decimal;
use crate::time::{self, Packed};
use crate::{Broken, cell, float};

/// Objects and arrays in each other, at most (`JSON_DOCUMENT_MAX_DEPTH` of the server).
const DEPTH: u32 = 100;

/// Bytes in a line of Base64: 76 letters (`base64_encode` of the server).
const BASE64_LINE: usize = 57;

/// Types of values.
mod kind {
    pub const SMALL_OBJECT: u8 = 0;
    pub const LARGE_OBJECT: u8 = 1;
    pub const SMALL_ARRAY: u8 = 2;
    pub const LARGE_ARRAY: u8 = 3;
    pub const LITERAL: u8 = 4;
    pub const INT16: u8 = 5;
    pub const UINT16: u8 = 6;
    pub const INT32: u8 = 7;
    pub const UINT32: u8 = 8;
    pub const INT64: u8 = 9;
    pub const UINT64: u8 = 10;
    pub const DOUBLE: u8 = 11;
    pub const STRING: u8 = 12;
    pub const OPAQUE: u8 = 15;
}

/// Types of the protocol (`enum_field_types`) that values of other than JSON's own types have.
mod opaque {
    pub const TIMESTAMP: u8 = 7;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const DECIMAL: u8 = 246;
}

/// Appends a document as a cell.
pub fn put(stored: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
    let start = out.len();
    // Text is mostly a little longer than its binary form, so that this is mostly the length of its length.
    cell::length(stored.len() + stored.len() / 4, out);
    let header = out.len() - start;
    if let Err(broken) = text(stored, out) {
        out.truncate(start);
        return Err(broken);
    }
    let length = out.len() - start - header;
    let end = out.len();
    cell::length(length, out);
    let needed = out.len() - end;
    if needed == header {
        out.copy_within(end.., start);
    } else {
        let mut bytes = [0; 9];
        bytes[..needed].copy_from_slice(&out[end..]);
        if needed > header {
            out.resize(end + needed - header, 0);
        }
        out.copy_within(start + header..end, start + needed);
        out[start..start + needed].copy_from_slice(&bytes[..needed]);
    }
    out.truncate(start + needed + length);
    Ok(())
}

/// Appends a document as text, without a length. Returns whether a document that is made of the text has the same text: DECIMAL becomes
/// DOUBLE then, which may lose digits.
pub fn text(stored: &[u8], out: &mut Vec<u8>) -> Result<bool, Broken> {
    let Some((kind, value)) = stored.split_first() else {
        // What a server stores for NULL in a column that has none, where its mode lets it.
        out.extend_from_slice(b"null");
        return Ok(true);
    };
    let mut document = Document {
        left: stored.len(),
        out,
        exact: true,
    };
    document.value(*kind, value, 0)?;
    Ok(document.exact)
}

/// Whether a number in this text is written so again after it was read as JSON.
fn is_exact(number: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(number) else {
        return false;
    };
    if !text.contains('.') && (text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()) {
        return true;
    }
    let mut again = Vec::new();
    let value = text.parse().unwrap_or(f64::NAN);
    double(value, &mut again).is_ok() && again == number
}

/// Appends a DOUBLE: what looks like a whole number is written so that it is none.
fn double(value: f64, out: &mut Vec<u8>) -> Result<(), Broken> {
    let mut text = float::Text::new();
    float::write(value, &mut text)?;
    out.extend_from_slice(text.text());
    if !text.text().iter().any(|c| matches!(c, b'.' | b'e')) {
        out.extend_from_slice(b".0");
    }
    Ok(())
}

struct Document<'a> {
    /// Bytes of the document that are not yet written.
    left: usize,
    out: &'a mut Vec<u8>,
    /// See [`text`].
    exact: bool,
}

/// Numbers and offsets of an object or array: two bytes, or four.
#[derive(Clone, Copy)]
struct Width(usize);

impl Width {
    fn read(self, value: &[u8], at: usize) -> Result<usize, Broken> {
        let bytes = at.checked_add(self.0).and_then(|end| value.get(at..end));
        match bytes {
            Some(&[a, b]) => Ok(usize::from(u16::from_le_bytes([a, b]))),
            Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d]) as usize),
            _ => Err(ENDS),
        }
    }

    /// Whether a value of this type is in its entry.
    fn holds(self, kind: u8) -> bool {
        match kind {
            kind::LITERAL | kind::INT16 | kind::UINT16 => true,
            kind::INT32 | kind::UINT32 => self.0 == 4,
            _ => false,
        }
    }
}

const ENDS: Broken = Broken("JSON: it ends too early");

impl Document<'_> {
    /// Counts bytes that are written now.
    fn take(&mut self, bytes: usize) -> Result<(), Broken> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Broken("JSON: values that overlap")),
        }
    }

    /// Writes a value that begins with the first of these bytes.
    fn value(&mut self, kind: u8, value: &[u8], depth: u32) -> Result<(), Broken> {
        match kind {
            kind::SMALL_OBJECT => self.container(value, Width(2), true, depth),
            kind::LARGE_OBJECT => self.container(value, Width(4), true, depth),
            kind::SMALL_ARRAY => self.container(value, Width(2), false, depth),
            kind::LARGE_ARRAY => self.container(value, Width(4), false, depth),
            kind::STRING => {
                let (length, value) = length(value)?;
                let text = value.get(..length).ok_or(ENDS)?;
                self.take(length)?;
                self.string(text);
                Ok(())
            }
            kind::OPAQUE => {
                let (kind, value) = value.split_first().ok_or(ENDS)?;
                let (length, value) = length(value)?;
                let value = value.get(..length).ok_or(ENDS)?;
                self.take(length)?;
                self.opaque(*kind, value)
            }
            _ => self.scalar(kind, value),
        }
    }

    fn scalar(&mut self, kind: u8, value: &[u8]) -> Result<(), Broken> {
        let signed = |out: &mut Vec<u8>, n: i64| {
            if n < 0 {
                out.push(b'-');
            }
            number(out, n.unsigned_abs());
        };
        match kind {
            kind::LITERAL => self.out.extend_from_slice(match value.first() {
                Some(0) => b"null",
                Some(1) => b"true",
                Some(2) => b"false",
                _ => return Err(Broken("JSON: an unknown literal")),
            }),
            kind::INT16 => signed(self.out, i16::from_le_bytes(bytes(value)?).into()),
            kind::UINT16 => number(self.out, u16::from_le_bytes(bytes(value)?).into()),
            kind::INT32 => signed(self.out, i32::from_le_bytes(bytes(value)?).into()),
            kind::UINT32 => number(self.out, u32::from_le_bytes(bytes(value)?).into()),
            kind::INT64 => signed(self.out, i64::from_le_bytes(bytes(value)?)),
            kind::UINT64 => number(self.out, u64::from_le_bytes(bytes(value)?)),
            kind::DOUBLE => double(f64::from_le_bytes(bytes(value)?), self.out)?,
            _ => return Err(Broken("JSON: a value of an unknown type")),
        }
        Ok(())
    }

    /// An object or array.
    fn container(
        &mut self,
        all: &[u8],
        width: Width,
        object: bool,
        depth: u32,
    ) -> Result<(), Broken> {
        if depth >= DEPTH {
            return Err(Broken("JSON: too many arrays and objects in each other"));
        }
        let count = width.read(all, 0)?;
        let size = width.read(all, width.0)?;
        let all = all.get(..size).ok_or(ENDS)?;
        let key = if object { width.0 + 2 } else { 0 };
        let entry = width.0 + 1;
        let keys = 2 * width.0;
        let entries = count * key + keys;
        self.take(entries + count * entry)?;
        let (open, close) = if object { (b'{', b'}') } else { (b'[', b']') };
        self.out.push(open);
        for n in 0..count {
            if n > 0 {
                self.out.extend_from_slice(b", ");
            }
            if object {
                let at = keys + n * key;
                let offset = width.read(all, at)?;
                let length = Width(2).read(all, at + width.0)?;
                let name = all.get(offset..).and_then(|rest| rest.get(..length));
                self.take(length)?;
                self.string(name.ok_or(ENDS)?);
                self.out.extend_from_slice(b": ");
            }
            let at = entries + n * entry;
            let kind = *all.get(at).ok_or(ENDS)?;
            let value = if width.holds(kind) {
                all.get(at + 1..at + entry)
            } else {
                all.get(width.read(all, at + 1)?..)
            };
            self.value(kind, value.ok_or(ENDS)?, depth + 1)?;
        }
        self.out.push(close);
        Ok(())
    }

    fn string(&mut self, text: &[u8]) {
        self.out.push(b'"');
        let mut rest = text;
        while let Some(at) = rest
            .iter()
            .position(|c| *c < b' ' || matches!(c, b'"' | b'\\'))
        {
            self.out.extend_from_slice(&rest[..at]);
            let short = match rest[at] {
                c @ (b'"' | b'\\') => c,
                0x08 => b'b',
                0x0c => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                c => {
                    let digit = |n: u8| b"0123456789abcdef"[usize::from(n)];
                    self.out.extend_from_slice(b"\\u00");
                    self.out.extend_from_slice(&[digit(c >> 4), digit(c & 15)]);
                    rest = &rest[at + 1..];
                    continue;
                }
            };
            self.out.extend_from_slice(&[b'\\', short]);
            rest = &rest[at + 1..];
        }
        self.out.extend_from_slice(rest);
        self.out.push(b'"');
    }

    /// A value of a type of columns.
    fn opaque(&mut self, kind: u8, value: &[u8]) -> Result<(), Broken> {
        let packed = match kind {
            opaque::DECIMAL => {
                let [digits, scale, value @ ..] = value else {
                    return Err(ENDS);
                };
                let decimal = Decimal::new(*digits, *scale, false);
                let decimal = decimal.ok_or(Broken("JSON: a DECIMAL of too many digits"))?;
                let mut text = cell::Short::<104>::new();
                decimal.write(value, &mut text)?;
                self.exact &= is_exact(text.text());
                self.out.extend_from_slice(text.text());
                return Ok(());
            }
            opaque::DATE => Packed::Date,
            opaque::TIME => Packed::Time,
            opaque::DATETIME | opaque::TIMESTAMP => Packed::DateTime,
            _ => {
                self.out.extend_from_slice(b"\"base64:type");
                number(self.out, kind.into());
                self.out.push(b':');
                // In lines, whose ends are escaped as in any text.
                for (n, line) in value.chunks(BASE64_LINE).enumerate() {
                    if n > 0 {
                        self.out.extend_from_slice(b"\\n");
                    }
                    base64_simd::STANDARD.encode_append(line, self.out);
                }
                self.out.push(b'"');
                return Ok(());
            }
        };
        let mut text = time::Text::new();
        time::packed(value, packed, &mut text)?;
        self.out.push(b'"');
        self.out.extend_from_slice(text.text());
        self.out.push(b'"');
        Ok(())
    }
}

/// The first bytes of a value.
fn bytes<const N: usize>(value: &[u8]) -> Result<[u8; N], Broken> {
    value.first_chunk().copied().ok_or(ENDS)
}

fn number(out: &mut Vec<u8>, n: u64) {
    let mut text = cell::Short::<24>::new();
    text.number(n);
    out.extend_from_slice(text.text());
}

/// A length in seven bits of each byte, the low ones first; the last byte has no high bit.
fn length(value: &[u8]) -> Result<(usize, &[u8]), Broken> {
    let mut length = 0u64;
    for (n, byte) in value.iter().take(5).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            let length = usize::try_from(length).map_err(|_| ENDS)?;
            return Ok((length, &value[n + 1..]));
        }
    }
    Err(Broken("JSON: a length without an end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_that_a_text_does_not_keep() {
        for same in ["1", "-2", "1.5", "2.0", "18446744073709551615", "0.1"] {
            assert!(is_exact(same.as_bytes()), "{same}");
        }
        for other in [
            "1.50",
            "0.10",
            "99999999999999999999",
            "0.12345678901234567890",
            "x",
        ] {
            assert!(!is_exact(other.as_bytes()), "{other}");
        }
        // DECIMAL(3,2) 1.50, alone.
        let stored = [15, 246, 4, 3, 2, 0x81, 50];
        let mut out = Vec::new();
        assert_eq!(text(&stored, &mut out), Ok(false));
        assert_eq!(out, b"1.50");
    }
}
