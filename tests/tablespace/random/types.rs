//! Types of columns, as SQL text and as the values they have.

use super::Random;

/// The values of a column.
#[derive(Clone)]
pub enum Of {
    Int(i128, i128),
    Decimal(u32, u32),
    Real,
    Bits(u32),
    /// Maximum number of characters, and which ones.
    Text(u32, &'static [&'static str]),
    Bytes(u32),
    Date,
    Time(u32),
    DateTime(u32),
    Timestamp(u32),
    Year,
    Member(&'static [&'static str]),
    Members(&'static [&'static str]),
    Json,
    Point,
    Uuid,
    Inet4,
    Inet6,
}

const ASCII: &[&str] = &[
    "a", "B", "c", "Z", "0", "9", " ", "_", "-", ".", "~", "%", "'", "!", "x", "y",
];
const LATIN: &[&str] = &["a", "ä", "É", "ß", "ÿ", "€", "z", " ", "0", "Å", "ö"];
/// Of every length in UTF-8.
pub const WIDE: &[&str] = &["a", "ä", "漢", "😀", "z", " ", "\t", "Ж", "0"];
const BMP: &[&str] = &["a", "ä", "漢", "z", " ", "Ж", "0"];
/// Letters whose weights are known in every Unicode collation.
const WORDS: &[&str] = &[
    "a", "ä", "Å", "ß", "Æ", "z", "Z", " ", "\t", "0", "¿", "“", "Ж", "ж", "ё", "α", "Ώ", "ς",
    "漢", "か", "ガ", "ữ", "½", "א", "€", "Ａ", "ﬂ", "㐀", "ｶ", "豈", "ẞ", "ԥ", "Ꝛ",
];
const GBK: &[&str] = &["a", "你", "好", " ", "0", "z"];
const CYRILLIC: &[&str] = &["a", "Ж", "я", "ж", " ", "\t", "0", "z"];
const CENTRAL: &[&str] = &["a", "á", "Č", "ž", "Z", "ő", " ", "\t", "0", "A"];
const GREEK: &[&str] = &["a", "α", "Ω", "ώ", "A", " ", "\t"];
const TURKISH: &[&str] = &["a", "ı", "İ", "ş", "i", "I", " "];
const HEBREW: &[&str] = &["a", "א", "ב", "B", " ", "0"];
const BALTIC: &[&str] = &["a", "ą", "Ž", "õ", "Z", " ", "\t"];
const DOS: &[&str] = &["a", "ä", "É", "ß", "z", " ", "0", "Å", "ö"];

/// Collations of one-byte character sets, and letters of those.
const SIMPLE: &[(&str, &[&str])] = &[
    ("latin1_general_ci", LATIN),
    ("latin1_general_cs", LATIN),
    ("latin1_danish_ci", LATIN),
    ("latin1_german1_ci", LATIN),
    ("latin1_spanish_ci", LATIN),
    ("latin1_bin", LATIN),
    ("cp1251_general_ci", CYRILLIC),
    ("cp1251_bulgarian_ci", CYRILLIC),
    ("cp1251_ukrainian_ci", CYRILLIC),
    ("cp1251_bin", CYRILLIC),
    ("koi8r_general_ci", CYRILLIC),
    ("cp866_general_ci", CYRILLIC),
    ("latin2_general_ci", CENTRAL),
    ("latin2_hungarian_ci", CENTRAL),
    ("latin2_croatian_ci", CENTRAL),
    ("cp1250_polish_ci", CENTRAL),
    ("cp852_bin", CENTRAL),
    ("greek_general_ci", GREEK),
    ("latin5_turkish_ci", TURKISH),
    ("hebrew_general_ci", HEBREW),
    ("latin7_estonian_cs", BALTIC),
    ("cp1257_general_ci", BALTIC),
    ("cp850_general_ci", DOS),
];

/// Unicode collations, and letters.
const UNICODE: &[(&str, &[&str])] = &[
    ("utf8mb4_bin", WIDE),
    ("utf8mb4_general_ci", WIDE),
    ("utf8mb3_general_ci", BMP),
    ("utf8mb4_unicode_ci", WORDS),
    ("utf8mb3_unicode_ci", WORDS),
    ("utf8mb4_unicode_520_ci", WORDS),
];

/// NO PAD collations of MariaDB, and letters.
const NOPAD: &[(&str, &[&str])] = &[
    ("latin1_swedish_nopad_ci", LATIN),
    ("latin1_nopad_bin", LATIN),
    ("cp1251_general_nopad_ci", CYRILLIC),
    ("latin2_general_nopad_ci", CENTRAL),
    ("utf8mb4_nopad_bin", WIDE),
    ("utf8mb4_general_nopad_ci", WIDE),
    ("utf8mb4_unicode_nopad_ci", WORDS),
    ("utf8mb3_uca1400_nopad_ai_ci", WORDS),
];

/// Character sets whose blanks are longer than a byte.
const LONG: &[(&str, &[&str])] = &[
    ("ucs2", BMP),
    ("utf16", WIDE),
    ("utf16le", WIDE),
    ("utf32", WIDE),
];
const MEMBERS: &[&str] = &["red", "green", "it's", "b l u e", "ß"];
const CYRILLIC_MEMBERS: &[&str] = &["красный", "it's", "ж", "b l u e", "back\\slash"];
/// Multi-byte character sets, one of which has backslashes as trail bytes.
const KANA_MEMBERS: &[&str] = &["ソ", "表", "it's", "\\", "a\nb"];

impl Random {
    /// A type: as text, its values, and whether it may be in a key (with a prefix of that many
    /// characters).
    pub fn of(&mut self, mysql: bool) -> (String, Of, Option<Option<u32>>) {
        let whole = Some(None);
        match self.below(if mysql { 37 } else { 42 }) {
            0 => ("TINYINT".into(), Of::Int(-128, 127), whole),
            1 => ("SMALLINT UNSIGNED".into(), Of::Int(0, 65_535), whole),
            2 => ("MEDIUMINT".into(), Of::Int(-8_388_608, 8_388_607), whole),
            3 => (
                "INT".into(),
                Of::Int(i32::MIN.into(), i32::MAX.into()),
                whole,
            ),
            4 => ("INT UNSIGNED".into(), Of::Int(0, u32::MAX.into()), whole),
            5 => (
                "BIGINT".into(),
                Of::Int(i64::MIN.into(), i64::MAX.into()),
                whole,
            ),
            6 => ("BIGINT UNSIGNED".into(), Of::Int(0, u64::MAX.into()), whole),
            7 => {
                let digits = 1 + self.below(65) as u32;
                let scale = self.below(u64::from(digits.min(30)) + 1) as u32;
                (
                    format!("DECIMAL({digits},{scale})"),
                    Of::Decimal(digits, scale),
                    whole,
                )
            }
            8 => ("FLOAT".into(), Of::Real, whole),
            9 => ("DOUBLE".into(), Of::Real, whole),
            10 => {
                let n = 1 + self.below(64) as u32;
                (format!("BIT({n})"), Of::Bits(n), whole)
            }
            11 => {
                let n = 1 + self.below(60) as u32;
                (
                    format!("CHAR({n}) CHARACTER SET latin1"),
                    Of::Text(n, LATIN),
                    whole,
                )
            }
            12 => {
                let n = 1 + self.below(40) as u32;
                (
                    format!("CHAR({n}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
                    Of::Text(n, WIDE),
                    whole,
                )
            }
            13 => {
                let n = 1 + self.below(300) as u32;
                let of_flavour = if mysql {
                    "utf8mb4_0900_ai_ci"
                } else {
                    "utf8mb4_uca1400_ai_ci"
                };
                let at = self.below(UNICODE.len() as u64 + 1) as usize;
                let (collation, text) = *UNICODE.get(at).unwrap_or(&(of_flavour, WORDS));
                (
                    format!("VARCHAR({n}) COLLATE {collation}"),
                    Of::Text(n, text),
                    Some(Some(1 + self.below(u64::from(n.min(100))) as u32)),
                )
            }
            14 => {
                let n = 1 + self.below(200) as u32;
                let (set, text) = *self.pick(&[
                    ("latin1", LATIN),
                    ("ascii", ASCII),
                    ("utf8mb3 COLLATE utf8mb3_bin", BMP),
                ]);
                (
                    format!("VARCHAR({n}) CHARACTER SET {set}"),
                    Of::Text(n, text),
                    Some(Some(1 + self.below(u64::from(n.min(80))) as u32)),
                )
            }
            15 => {
                let n = 1 + self.below(50) as u32;
                (format!("BINARY({n})"), Of::Bytes(n), whole)
            }
            16 => {
                let n = 1 + self.below(400) as u32;
                (
                    format!("VARBINARY({n})"),
                    Of::Bytes(n),
                    Some(Some(1 + self.below(u64::from(n.min(300))) as u32)),
                )
            }
            17 => (
                "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin".into(),
                Of::Text(9000, WIDE),
                Some(Some(1 + self.below(90) as u32)),
            ),
            18 => (
                "LONGBLOB".into(),
                Of::Bytes(60_000),
                Some(Some(1 + self.below(200) as u32)),
            ),
            19 => ("DATE".into(), Of::Date, whole),
            20 => {
                let n = self.below(7) as u32;
                (format!("TIME({n})"), Of::Time(n), whole)
            }
            21 => {
                let n = self.below(7) as u32;
                (format!("DATETIME({n})"), Of::DateTime(n), whole)
            }
            22 => {
                let n = self.below(7) as u32;
                (format!("TIMESTAMP({n})"), Of::Timestamp(n), whole)
            }
            23 => ("YEAR".into(), Of::Year, whole),
            24 => (
                format!("ENUM({}) CHARACTER SET utf8mb4", list(MEMBERS)),
                Of::Member(MEMBERS),
                whole,
            ),
            25 => (
                format!("ENUM({}) CHARACTER SET latin1", list(MEMBERS)),
                Of::Member(MEMBERS),
                whole,
            ),
            26 => {
                let n = 1 + self.below(60) as u32;
                (
                    format!("CHAR({n}) CHARACTER SET gbk"),
                    Of::Text(n, GBK),
                    None,
                )
            }
            27 => {
                let n = 1 + self.below(300) as u32;
                (
                    format!("VARCHAR({n}) CHARACTER SET cp1251"),
                    Of::Text(n, CYRILLIC),
                    None,
                )
            }
            // In the default collation: trailing blanks count on neither server.
            28 => {
                let n = 1 + self.below(40) as u32;
                if self.percent(30) {
                    (format!("CHAR({n})"), Of::Text(n, WIDE), None)
                } else {
                    let letters = *self.pick(&[ASCII, WORDS]);
                    (format!("CHAR({n})"), Of::Text(n, letters), whole)
                }
            }
            37 => ("UUID".into(), Of::Uuid, whole),
            38 => ("INET4".into(), Of::Inet4, whole),
            39 => ("INET6".into(), Of::Inet6, whole),
            31 => (self.one(&["GEOMETRY", "POINT"]).to_owned(), Of::Point, None),
            32 | 33 => {
                let (collation, text) = *self.pick(SIMPLE);
                self.collated(collation, text)
            }
            40 | 41 => {
                let (collation, text) = *self.pick(NOPAD);
                self.collated(collation, text)
            }
            34 => {
                let (set, text) = *self.pick(LONG);
                let n = 1 + self.below(40) as u32;
                let (of, n) = match self.below(3) {
                    0 => (format!("CHAR({n})"), n),
                    1 => (format!("VARCHAR({})", n * 5), n * 5),
                    _ => ("TEXT".to_owned(), 9000),
                };
                (format!("{of} CHARACTER SET {set}"), Of::Text(n, text), None)
            }
            35 => {
                let (set, members) = *self.pick(&[
                    ("cp1251", CYRILLIC_MEMBERS),
                    ("koi8r", CYRILLIC_MEMBERS),
                    ("cp866", CYRILLIC_MEMBERS),
                    ("sjis", KANA_MEMBERS),
                    ("cp932", KANA_MEMBERS),
                    ("ujis", KANA_MEMBERS),
                ]);
                let of = list(members);
                if self.percent(50) {
                    (
                        format!("ENUM({of}) CHARACTER SET {set}"),
                        Of::Member(members),
                        whole,
                    )
                } else {
                    (
                        format!("SET({of}) CHARACTER SET {set}"),
                        Of::Members(members),
                        whole,
                    )
                }
            }
            29 | 30 => ("JSON".into(), Of::Json, None),
            _ => (
                format!("SET({}) CHARACTER SET utf8mb4", list(MEMBERS)),
                Of::Members(MEMBERS),
                whole,
            ),
        }
    }
}

impl Random {
    /// CHAR or VARCHAR in a collation.
    fn collated(
        &mut self,
        collation: &str,
        text: &'static [&'static str],
    ) -> (String, Of, Option<Option<u32>>) {
        let n = 1 + self.below(60) as u32;
        let prefix = 1 + self.below(u64::from(n)) as u32;
        let of = self.one(&["CHAR", "VARCHAR"]);
        let key = if self.percent(50) { None } else { Some(prefix) };
        (
            format!("{of}({n}) COLLATE {collation}"),
            Of::Text(n, text),
            Some(key),
        )
    }
}

fn list(members: &[&str]) -> String {
    let quoted: Vec<String> = members
        .iter()
        .map(|m| format!("'{}'", m.replace('\\', "\\\\").replace('\'', "''")))
        .collect();
    quoted.join(",")
}
