//! Character sets, as far as stored values depend on them: bytes of a character, and what a space is.
//!
//! Names and widths are those of `information_schema.character_sets` and, for the least bytes of a character, of the
//! manual's chapters on Unicode sets. Text is never converted here.

/// A character set of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    /// Bytes of its shortest character.
    pub least: u8,
    /// Bytes of its longest character.
    pub most: u8,
    /// Whether the units of a character are stored with the low byte first (utf16le).
    little: bool,
    /// Whether text in UTF-8 is stored as it is.
    pub utf8: bool,
    /// latin1, which is Windows' code page 1252.
    latin1: bool,
    /// Whether ASCII is stored as it is; otherwise only letters, digits and a few more are (sjis, swe7).
    ascii: bool,
}

impl Charset {
    /// The character set of a name.
    pub fn of(name: &str) -> Option<Charset> {
        let (least, most) = match name {
            "utf8mb4" => (1, 4),
            "utf8" | "utf8mb3" | "eucjpms" | "ujis" => (1, 3),
            "big5" | "cp932" | "euckr" | "gb2312" | "gbk" | "sjis" => (1, 2),
            "gb18030" => (1, 4),
            "ucs2" => (2, 2),
            "utf16" | "utf16le" => (2, 4),
            "utf32" => (4, 4),
            "armscii8" | "ascii" | "binary" | "cp1250" | "cp1251" | "cp1256" | "cp1257"
            | "cp850" | "cp852" | "cp866" | "dec8" | "geostd8" | "greek" | "hebrew" | "hp8"
            | "keybcs2" | "koi8r" | "koi8u" | "latin1" | "latin2" | "latin5" | "latin7"
            | "macce" | "macroman" | "swe7" | "tis620" => (1, 1),
            _ => return None,
        };
        Some(Charset {
            least,
            most,
            little: name == "utf16le",
            utf8: matches!(name, "utf8mb4" | "utf8" | "utf8mb3"),
            latin1: name == "latin1",
            ascii: least == 1 && !matches!(name, "sjis" | "swe7"),
        })
    }

    /// The text without spaces at its end.
    pub fn without_padding(self, text: &[u8]) -> &[u8] {
        let space: &[u8] = match (self.least, self.little) {
            (1, _) => {
                let end = text.iter().rposition(|c| *c != b' ').map_or(0, |at| at + 1);
                return &text[..end];
            }
            (2, false) => b"\0 ",
            (2, true) => b" \0",
            _ => b"\0\0\0 ",
        };
        let mut text = text;
        while let Some(shorter) = text.strip_suffix(space) {
            text = shorter;
        }
        text
    }

    /// Bytes as text, to be shown: characters that need tables are replaced, but for those of latin1.
    pub fn decode(self, bytes: &[u8]) -> String {
        /// Code page 1252 from 0x80 on; what it leaves open, latin1 has as control characters.
        const FROM_80: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";
        let unit = |pair: &[u8]| match pair {
            [a, b] if self.little => u16::from_le_bytes([*a, *b]),
            [a, b] => u16::from_be_bytes([*a, *b]),
            _ => 0xfffd,
        };
        match self.least {
            1 if self.latin1 => bytes
                .iter()
                .map(|b| match b {
                    0x80..0xa0 => FROM_80
                        .chars()
                        .nth(usize::from(b - 0x80))
                        .unwrap_or('\u{fffd}'),
                    b => char::from(*b),
                })
                .collect(),
            1 if self.utf8 => String::from_utf8_lossy(bytes).into_owned(),
            1 => bytes
                .iter()
                .map(|b| {
                    if b.is_ascii() {
                        char::from(*b)
                    } else {
                        '\u{fffd}'
                    }
                })
                .collect(),
            2 => char::decode_utf16(bytes.chunks(2).map(unit))
                .map(|c| c.unwrap_or('\u{fffd}'))
                .collect(),
            _ => bytes
                .chunks(4)
                .map(|four| {
                    let n = four.iter().fold(0, |n, b| n << 8 | u32::from(*b));
                    char::from_u32(n).unwrap_or('\u{fffd}')
                })
                .collect(),
        }
    }

    /// Text in these bytes, where that can be said without tables: ASCII and Unicode.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        if self.least == 1 {
            let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b' ' | b',' | b'.' | b'-');
            let same = self.utf8 || self.ascii && text.is_ascii() || text.bytes().all(plain);
            return same.then(|| text.as_bytes().to_vec());
        }
        let unit = |unit: u16| {
            if self.little {
                unit.to_le_bytes()
            } else {
                unit.to_be_bytes()
            }
        };
        match (self.least, self.most) {
            (2, 2) if text.chars().any(|c| c > '\u{ffff}') => None,
            (2, _) => Some(text.encode_utf16().flat_map(unit).collect()),
            _ => Some(
                text.chars()
                    .flat_map(|c| u32::from(c).to_be_bytes())
                    .collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_ends_with_the_text() {
        let of = |name| Charset::of(name).expect("known");
        assert_eq!(of("latin1").without_padding(b" a  "), b" a");
        assert_eq!(of("utf8mb4").without_padding(b"  "), b"");
        assert_eq!(of("ucs2").without_padding(b"\0a\0 \0 "), b"\0a");
        // U+2000 ends with a zero byte that is no part of a space.
        assert_eq!(of("utf16le").without_padding(b"\0\x20 \0"), b"\0\x20");
        assert_eq!(of("utf32").without_padding(b"\0\0\0 \0\0\0 "), b"");
        assert_eq!(of("ucs2").without_padding(b"\0a "), b"\0a ");
    }

    #[test]
    fn text_is_encoded_where_no_table_is_needed() {
        let of = |name, text| Charset::of(name).expect("known").encode(text);
        assert_eq!(of("latin1", "é"), None);
        assert_eq!(of("sjis", "\\"), None);
        assert_eq!(of("swe7", "a, 0").as_deref(), Some(&b"a, 0"[..]));
        assert_eq!(of("gbk", "0").as_deref(), Some(&b"0"[..]));
        assert_eq!(of("utf16le", "é").as_deref(), Some(&b"\xe9\0"[..]));
        assert_eq!(of("ucs2", "😀"), None);
        assert_eq!(of("utf16", "😀").as_deref(), Some(&b"\xd8\x3d\xde\0"[..]));
        assert_eq!(of("utf32", "0").as_deref(), Some(&b"\0\0\x000"[..]));
        for (set, text) in [
            ("latin1", "Ü€"),
            ("ucs2", "漢"),
            ("utf16le", "😀"),
            ("utf32", "ж"),
            ("utf8mb3", "ö"),
        ] {
            let set = Charset::of(set).expect("known");
            let bytes = if set.latin1 {
                vec![0xdc, 0x80]
            } else {
                set.encode(text).expect("text")
            };
            assert_eq!(set.decode(&bytes), text);
        }
    }
}
