//! How an index cuts values of which it holds only the beginning: after so many characters.
//!
//! As `dtype_get_at_most_n_mbchars` (data0type.cc) does for character sets whose characters are told apart by their own
//! bytes; of others an index on a prefix is not compared with its rows.

/// How values of a column are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// After bytes: single bytes, characters of one length, and what is no text.
    #[default]
    Bytes,
    /// UTF-8 with characters of so many bytes at most.
    Utf8(u8),
    /// UTF-16, the high byte first.
    Utf16,
    /// UTF-16, the low byte first.
    Utf16Little,
    /// In a way that is not known here.
    Unknown,
}

impl Cut {
    /// Of a column with this character set; `None`: no text.
    pub(super) fn of(charset: Option<&str>) -> Cut {
        match charset {
            Some("utf8mb4") => Cut::Utf8(4),
            Some("utf8mb3" | "utf8") => Cut::Utf8(3),
            Some("utf16") => Cut::Utf16,
            Some("utf16le") => Cut::Utf16Little,
            Some(name) => match values::charset::Charset::of(name) {
                Some(set) if set.least == set.most => Cut::Bytes,
                _ => Cut::Unknown,
            },
            None => Cut::Bytes,
        }
    }

    /// Bytes of a value that an index holds whose prefix is of so many bytes.
    pub(super) fn length(self, value: &[u8], prefix: usize) -> usize {
        match self {
            Cut::Bytes | Cut::Unknown => value.len().min(prefix),
            Cut::Utf8(most) => {
                let characters = prefix / usize::from(most);
                // As many bytes are at most as many characters.
                if value.len() <= characters {
                    return value.len();
                }
                let starts = value.iter().enumerate().filter(|(_, b)| **b & 0xc0 != 0x80);
                starts
                    .map(|(at, _)| at)
                    .nth(characters)
                    .unwrap_or(value.len())
            }
            Cut::Utf16 | Cut::Utf16Little => {
                let high = usize::from(self == Cut::Utf16Little);
                let mut at = 0;
                for _ in 0..prefix / 4 {
                    let Some(unit) = value.get(at..at + 2) else {
                        break;
                    };
                    at += if unit[high] & 0xfc == 0xd8 { 4 } else { 2 };
                }
                at.min(value.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cut;

    #[test]
    fn values_are_cut_after_characters() {
        let of =
            |cut: Cut, text: &str, prefix| &text[..cut.length(text.as_bytes(), prefix)] == "aä漢";
        assert!(of(Cut::Utf8(4), "aä漢x", 12));
        assert!(of(Cut::Utf8(3), "aä漢xyz", 9));
        assert!(of(Cut::Utf8(4), "aä漢", 16));
        assert_eq!(Cut::Bytes.length(b"abcdef", 4), 4);
        // U+1F600, then a.
        let text = [0xd8, 0x3d, 0xde, 0x00, 0, b'a'];
        assert_eq!(Cut::Utf16.length(&text, 4), 4);
        assert_eq!(Cut::Utf16.length(&text, 8), 6);
        let text = [0x3d, 0xd8, 0x00, 0xde, b'a', 0];
        assert_eq!(Cut::Utf16Little.length(&text, 4), 4);
        assert_eq!(Cut::of(Some("gbk")), Cut::Unknown);
        assert_eq!(Cut::of(Some("ucs2")), Cut::Bytes);
    }
}
