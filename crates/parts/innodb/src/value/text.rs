//! Text in a column's character set.

use super::Wrong;

/// Character sets that text is turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// utf8mb4.
    Utf8,
    /// utf8mb3: three bytes at most.
    Utf8Three,
    /// latin1, which is Windows' code page 1252.
    Latin1,
    /// ascii.
    Ascii,
    /// binary.
    Binary,
}

impl Charset {
    /// By the server's name.
    pub fn of(name: &str) -> Option<Charset> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => Charset::Utf8,
            "utf8" | "utf8mb3" => Charset::Utf8Three,
            "latin1" => Charset::Latin1,
            "ascii" => Charset::Ascii,
            "binary" => Charset::Binary,
            _ => return None,
        })
    }

    /// Bytes of a character at most.
    fn widest(self) -> usize {
        match self {
            Charset::Utf8 => 4,
            Charset::Utf8Three => 3,
            Charset::Latin1 | Charset::Ascii | Charset::Binary => 1,
        }
    }

    /// Appends text of at most so many characters; how many it has.
    pub fn text(self, text: &[u8], most: usize, out: &mut Vec<u8>) -> Result<usize, Wrong> {
        let wrong = Wrong("text");
        if text.is_ascii() || self == Charset::Binary {
            out.extend_from_slice(text);
            return (text.len() <= most).then_some(text.len()).ok_or(wrong);
        }
        let text = std::str::from_utf8(text).map_err(|_| wrong)?;
        let n = match self {
            Charset::Utf8 => {
                out.extend_from_slice(text.as_bytes());
                text.chars().count()
            }
            Charset::Utf8Three => {
                if text.chars().any(|c| c.len_utf8() > 3) {
                    return Err(wrong);
                }
                out.extend_from_slice(text.as_bytes());
                text.chars().count()
            }
            Charset::Latin1 => {
                for c in text.chars() {
                    out.push(latin1(c).ok_or(wrong)?);
                }
                text.chars().count()
            }
            Charset::Ascii | Charset::Binary => return Err(wrong),
        };
        (n <= most).then_some(n).ok_or(wrong)
    }

    /// Appends a CHAR: filled up with spaces. In a set whose characters differ in length there are as many bytes as
    /// characters at least, and no spaces at the end beyond that.
    pub fn char(self, text: &[u8], characters: usize, out: &mut Vec<u8>) -> Result<(), Wrong> {
        let start = out.len();
        self.text(text, characters, out)?;
        if self.widest() > 1 {
            while out.len() - start > characters && out.last() == Some(&b' ') {
                out.pop();
            }
        }
        let least = start + characters;
        if out.len() < least {
            out.resize(least, if self == Charset::Binary { 0 } else { b' ' });
        }
        Ok(())
    }
}

/// A character in code page 1252; the five places that it leaves open are themselves.
fn latin1(c: char) -> Option<u8> {
    let n = c as u32;
    if n < 0x80 || (0xa0..=0xff).contains(&n) {
        return Some(n as u8);
    }
    if matches!(n, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d) {
        return Some(n as u8);
    }
    let at = UPPER.iter().position(|u| u32::from(*u) == n)?;
    Some(0x80 + at as u8)
}

/// What code page 1252 has from 0x80 to 0x9F; 0: nothing.
#[rustfmt::skip]
const UPPER: [u16; 32] = [
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017d, 0,
    0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
];
