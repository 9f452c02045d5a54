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
    /// Any other of one byte each.
    Single,
    /// One byte or more, so many at most, but not UTF-8.
    Several(u8),
    /// ucs2: two bytes each.
    Ucs2,
    /// utf16, and utf16le, whose lower bytes come first: two or four.
    Utf16 {
        /// Whether they do.
        little: bool,
    },
    /// utf32: four.
    Utf32,
}

impl Charset {
    /// By the server's name.
    pub fn of(name: &str) -> Option<Charset> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => Charset::Utf8,
            "utf8" | "utf8mb3" => Charset::Utf8Three,
            "ascii" => Charset::Ascii,
            "armscii8" | "binary" | "cp1250" | "cp1251" | "cp1256" | "cp1257" | "cp850"
            | "cp852" | "cp866" | "dec8" | "geostd8" | "greek" | "hebrew" | "hp8" | "keybcs2"
            | "koi8r" | "koi8u" | "latin1" | "latin2" | "latin5" | "latin7" | "macce"
            | "macroman" | "swe7" | "tis620" => Charset::Single,
            "big5" | "cp932" | "euckr" | "gb2312" | "gbk" | "sjis" => Charset::Several(2),
            "eucjpms" | "ujis" => Charset::Several(3),
            "gb18030" => Charset::Several(4),
            "ucs2" => Charset::Ucs2,
            "utf16" => Charset::Utf16 { little: false },
            "utf16le" => Charset::Utf16 { little: true },
            "utf32" => Charset::Utf32,
            _ => return None,
        })
    }

    /// Bytes of a character at most.
    fn widest(self) -> usize {
        match self {
            Charset::Utf8 | Charset::Utf16 { .. } | Charset::Utf32 => 4,
            Charset::Utf8Three => 3,
            Charset::Ucs2 => 2,
            Charset::Ascii | Charset::Single => 1,
            Charset::Several(n) => usize::from(n),
        }
    }

    /// A space.
    fn space(self) -> &'static [u8] {
        match self {
            Charset::Ucs2 | Charset::Utf16 { little: false } => b"\0 ",
            Charset::Utf16 { little: true } => b" \0",
            Charset::Utf32 => b"\0\0\0 ",
            _ => b" ",
        }
    }

    /// Whether ASCII is written as it is.
    pub fn has_ascii(self) -> bool {
        self.space().len() == 1
    }

    /// Whether it is known here where characters begin.
    pub fn is_walked(self) -> bool {
        self.has_ascii() && !matches!(self, Charset::Several(_))
    }

    /// Appends text of at most so many characters.
    pub fn text(self, text: &[u8], most: usize, out: &mut Vec<u8>) -> Result<(), Wrong> {
        out.extend_from_slice(text);
        if text.len() <= most && text.is_ascii() && self.has_ascii() {
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
            Charset::Ascii | Charset::Single => text.len(),
            // The server has counted them; here it is only known how many there are at least.
            Charset::Several(widest) => text.len().div_ceil(usize::from(widest)),
            Charset::Ucs2 if text.len().is_multiple_of(2) => text.len() / 2,
            Charset::Utf16 { little } => in_utf16(text, little).ok_or(Wrong("text"))?,
            Charset::Utf32 if text.len().is_multiple_of(4) => text.len() / 4,
            Charset::Ucs2 | Charset::Utf32 => return Err(Wrong("text")),
        };
        (n <= most).then_some(()).ok_or(Wrong("text"))
    }

    /// Appends a CHAR: filled up with spaces. In a set whose characters differ in length there are as many bytes as
    /// characters at least, and no spaces at the end beyond that; where spaces are longer than a byte, as many bytes as there can be.
    pub fn char(self, text: &[u8], characters: usize, out: &mut Vec<u8>) -> Result<(), Wrong> {
        let start = out.len();
        self.text(text, characters, out)?;
        let least = if self.has_ascii() {
            characters
        } else {
            characters * self.widest()
        };
        if self.widest() > 1 && self.has_ascii() {
            while out.len() - start > least && out.last() == Some(&b' ') {
                out.pop();
            }
        }
        while out.len() < start + least {
            out.extend_from_slice(self.space());
        }
        Ok(())
    }
}

/// Characters of text in UTF-16, where it is such.
fn in_utf16(text: &[u8], little: bool) -> Option<usize> {
    let unit = |pair: &[u8]| match pair {
        [a, b] if little => u16::from_le_bytes([*a, *b]),
        [a, b] => u16::from_be_bytes([*a, *b]),
        // Half of one is none.
        _ => 0xdc00,
    };
    let mut count = 0;
    for c in char::decode_utf16(text.chunks(2).map(unit)) {
        c.ok()?;
        count += 1;
    }
    Some(count)
}
