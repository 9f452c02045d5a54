//! How to read the text of a script: what a backslash and a double quote mean,
//! and which character set its bytes are in.
//!
//! A script changes these while it runs (`SET sql_mode`, `SET NAMES`), so every
//! statement carries the dialect that was in force before it.

/// The settings that decide where strings end and what they contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// sql_mode has NO_BACKSLASH_ESCAPES: a backslash in a string is a backslash.
    pub no_backslash_escapes: bool,
    /// sql_mode has ANSI_QUOTES: `"x"` is a name.
    pub ansi_quotes: bool,
    /// `character_set_client` if the script sets it; `None` if it does not, or
    /// names one that is not known here.
    pub charset: Option<Charset>,
}

/// The mode itself, and the old combinations that include it: servers print
/// both, people write only the combination.
const ANSI_QUOTES: [&str; 7] = [
    "ANSI_QUOTES",
    "ANSI",
    "DB2",
    "MAXDB",
    "MSSQL",
    "ORACLE",
    "POSTGRESQL",
];

impl Dialect {
    /// The same dialect with the two switches as in `sql_mode`; the character
    /// set stays. `mode` is a list as in `SET sql_mode = '…'`.
    pub fn with_mode(mut self, mode: &str) -> Self {
        let on = |names: &[&str]| {
            let listed = |m: &str| names.iter().any(|n| m.trim().eq_ignore_ascii_case(n));
            mode.split(',').any(listed)
        };
        self.no_backslash_escapes = on(&["NO_BACKSLASH_ESCAPES"]);
        self.ansi_quotes = on(&ANSI_QUOTES);
        self
    }

    /// Whether a backslash escapes inside a string or name that starts with `quote`.
    pub(crate) fn escapes(self, quote: u8) -> bool {
        match quote {
            b'`' => false,
            b'"' => !self.no_backslash_escapes && !self.ansi_quotes,
            _ => !self.no_backslash_escapes,
        }
    }

    /// Whether a backslash after `text` is the second byte of a character, and so escapes nothing.
    pub(crate) fn ends_in_half_character(self, text: &[u8]) -> bool {
        self.charset
            .is_some_and(|c| c.hides_backslash() && c.trails(text))
    }
}

/// A character set, by its name on the server.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Charset(&'static str);

/// The names in both flavours; `utf8` means utf8mb3 in every existing dump.
const NAMES: [&str; 41] = [
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
    "cp852", "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8",
    "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7",
    "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
    "utf8mb3", "utf8mb4",
];

/// In these the second byte of a character can be 0x5C, a backslash.
const BACKSLASH_AS_SECOND_BYTE: [&str; 5] = ["big5", "cp932", "gb18030", "gbk", "sjis"];

impl Charset {
    /// UTF-8 of up to four bytes.
    pub const UTF8MB4: Charset = Charset("utf8mb4");
    /// No character set: raw bytes.
    pub const BINARY: Charset = Charset("binary");

    /// The character set of this name, in upper or lower case.
    pub fn named(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("utf8") {
            "utf8mb3"
        } else {
            name
        };
        NAMES
            .into_iter()
            .find(|n| n.eq_ignore_ascii_case(name))
            .map(Charset)
    }

    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Whether a byte 0x5C may be the second byte of a character. A scan over
    /// bytes could take it for an escape.
    pub fn hides_backslash(self) -> bool {
        BACKSLASH_AS_SECOND_BYTE.contains(&self.0)
    }

    /// Whether a byte below 0x80 after `text` is the second byte of a
    /// character. Only for character sets that
    /// [hide backslashes](Self::hides_backslash).
    ///
    /// A byte below 0x80 always ends a character, so only the bytes after the
    /// last such byte have to be paired.
    pub(crate) fn trails(self, text: &[u8]) -> bool {
        let run = text.iter().rev().take_while(|b| **b >= 0x80).count();
        // Half-width katakana are characters of one byte.
        let single =
            |b: u8| matches!(self.0, "sjis" | "cp932") && (0xa1..=0xdf).contains(&b) || b == 0x80;
        let mut high = text[text.len() - run..].iter();
        while let Some(b) = high.next() {
            if !single(*b) && high.next().is_none() {
                return true;
            }
        }
        false
    }
}

impl std::fmt::Debug for Charset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::fmt::Display for Charset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_character_sets_are_known_by_name() {
        let d = Dialect::default().with_mode("STRICT_ALL_TABLES, no_backslash_escapes");
        assert!(d.no_backslash_escapes && !d.ansi_quotes);
        let d = d.with_mode("ANSI");
        assert!(!d.no_backslash_escapes && d.ansi_quotes);
        assert!(!d.escapes(b'"') && d.escapes(b'\'') && !d.escapes(b'`'));
        assert_eq!(Charset::named("UTF8").unwrap().name(), "utf8mb3");
        assert_eq!(Charset::named("utf8MB4"), Some(Charset::UTF8MB4));
        assert_eq!(Charset::named("utf9"), None);
        let gbk = Charset::named("gbk").unwrap();
        assert!(gbk.hides_backslash());
        assert!(gbk.trails(b"a\xd5") && !gbk.trails(b"a\xd5\xd5") && !gbk.trails(b""));
        let sjis = Charset::named("sjis").unwrap();
        assert!(!sjis.trails(b"a\xb1") && sjis.trails(b"\xb1\x83"));
        assert!(!Charset::UTF8MB4.hides_backslash());
    }
}
