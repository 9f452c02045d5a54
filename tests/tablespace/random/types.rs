//! Types of columns, in words and as what they hold.

use super::Random;

/// What a column holds.
#[derive(Clone)]
pub enum Of {
    Int(i128, i128),
    Decimal(u32, u32),
    Real,
    Bits(u32),
    /// Characters at most, and which ones.
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
const GBK: &[&str] = &["a", "你", "好", " ", "0", "z"];
const CYRILLIC: &[&str] = &["a", "Ж", "я", " ", "0", "z"];
const MEMBERS: &[&str] = &["red", "green", "it's", "b l u e", "ß"];

impl Random {
    /// A type: in words, its values, and whether it may be in a key (with a prefix of so many characters).
    pub fn of(&mut self, mysql: bool) -> (String, Of, Option<Option<u32>>) {
        let whole = Some(None);
        match self.below(if mysql { 33 } else { 36 }) {
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
                let collation =
                    self.one(&["utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci"]);
                let text = if collation == "utf8mb4_bin" {
                    WIDE
                } else {
                    ASCII
                };
                (
                    format!("VARCHAR({n}) CHARACTER SET utf8mb4 COLLATE {collation}"),
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
                format!("ENUM({}) CHARACTER SET utf8mb4", list()),
                Of::Member(MEMBERS),
                whole,
            ),
            25 => (
                format!("ENUM({}) CHARACTER SET latin1", list()),
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
            // In the collation that is usual: the spaces that fill it up count on neither server.
            28 => {
                let n = 1 + self.below(40) as u32;
                if self.percent(30) {
                    (format!("CHAR({n})"), Of::Text(n, WIDE), None)
                } else {
                    (format!("CHAR({n})"), Of::Text(n, ASCII), whole)
                }
            }
            33 => ("UUID".into(), Of::Uuid, whole),
            34 => ("INET4".into(), Of::Inet4, whole),
            35 => ("INET6".into(), Of::Inet6, whole),
            31 => (self.one(&["GEOMETRY", "POINT"]).to_owned(), Of::Point, None),
            29 | 30 => ("JSON".into(), Of::Json, None),
            _ => (
                format!("SET({}) CHARACTER SET utf8mb4", list()),
                Of::Members(MEMBERS),
                whole,
            ),
        }
    }
}

fn list() -> String {
    let quoted: Vec<String> = MEMBERS
        .iter()
        .map(|m| format!("'{}'", m.replace('\'', "''")))
        .collect();
    quoted.join(",")
}
