//! Text in a column's character set, as it is stored.

use super::Wrong;

/// What of a character set matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// utf8mb4.
    Utf8,
    /// utf8mb3: three bytes at most.
    Utf8Three,
    /// ascii.
    Ascii,
    /// latin1, which is Windows' code page 1252.
    Latin1,
    /// Any other of one byte each.
    Single,
    /// One byte or more, so many at most, but not UTF-8.
    Several(u8),
}

impl Charset {
    /// By the server's name. Those whose spaces are longer than a byte are not there.
    pub fn of(name: &str) -> Option<Charset> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => Charset::Utf8,
            "utf8" | "utf8mb3" => Charset::Utf8Three,
            "latin1" => Charset::Latin1,
            "ascii" => Charset::Ascii,
            "armscii8" | "binary" | "cp1250" | "cp1251" | "cp1256" | "cp1257" | "cp850"
            | "cp852" | "cp866" | "dec8" | "geostd8" | "greek" | "hebrew" | "hp8" | "keybcs2"
            | "koi8r" | "koi8u" | "latin2" | "latin5" | "latin7" | "macce" | "macroman"
            | "swe7" | "tis620" => Charset::Single,
            "big5" | "cp932" | "euckr" | "gb2312" | "gbk" | "sjis" => Charset::Several(2),
            "eucjpms" | "ujis" => Charset::Several(3),
            "gb18030" => Charset::Several(4),
            _ => return None,
        })
    }

    /// Bytes of a character at most.
    fn widest(self) -> usize {
        match self {
            Charset::Utf8 => 4,
            Charset::Utf8Three => 3,
            Charset::Latin1 | Charset::Ascii | Charset::Single => 1,
            Charset::Several(n) => usize::from(n),
        }
    }

    /// Whether it is known here where characters begin.
    pub fn is_walked(self) -> bool {
        !matches!(self, Charset::Several(_))
    }

    /// Appends text of at most so many characters.
    pub fn text(self, text: &[u8], most: usize, out: &mut Vec<u8>) -> Result<(), Wrong> {
        out.extend_from_slice(text);
        if text.len() <= most && text.is_ascii() {
            return Ok(());
        }
        let n = match self {
            Charset::Utf8 | Charset::Utf8Three => {
                let text = std::str::from_utf8(text).map_err(|_| Wrong("text"))?;
                let long = self == Charset::Utf8Three && text.chars().any(|c| c.len_utf8() > 3);
                if long {
                    return Err(Wrong("text"));
                }
                text.chars().count()
            }
            Charset::Ascii if !text.is_ascii() => return Err(Wrong("text")),
            Charset::Latin1 | Charset::Ascii | Charset::Single => text.len(),
            // The server has counted them; here it is only known how many there are at least.
            Charset::Several(widest) => text.len().div_ceil(usize::from(widest)),
        };
        (n <= most).then_some(()).ok_or(Wrong("text"))
    }

    /// A member of an ENUM or SET, which a definition has in UTF-8, as it is stored.
    pub fn encoded(self, member: &str) -> Option<Vec<u8>> {
        match self {
            Charset::Utf8 | Charset::Utf8Three => Some(member.as_bytes().to_vec()),
            Charset::Latin1 => member.chars().map(latin1).collect(),
            _ => member.is_ascii().then(|| member.as_bytes().to_vec()),
        }
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
            out.resize(least, b' ');
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
