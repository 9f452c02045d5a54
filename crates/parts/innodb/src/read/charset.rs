//! Character sets by the numbers of their collations, and how long their characters are.
//!
//! The numbers are those of MySQL 9.7 (`information_schema.collations`).

use std::ops::RangeInclusive;

/// A character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    /// Its name.
    pub name: &'static str,
    /// Bytes of a character, least.
    pub least: u8,
    /// Bytes of a character, most.
    pub most: u8,
}

/// Its name, bytes of a character, collations.
type Line = (&'static str, u8, u8, &'static [RangeInclusive<u32>]);

const ALL: [Line; 41] = [
    ("armscii8", 1, 1, &[32..=32, 64..=64]),
    ("ascii", 1, 1, &[11..=11, 65..=65]),
    ("big5", 1, 2, &[1..=1, 84..=84]),
    ("binary", 1, 1, &[63..=63]),
    ("cp1250", 1, 1, &[26..=26, 34..=34, 44..=44, 66..=66, 99..=99]),
    ("cp1251", 1, 1, &[14..=14, 23..=23, 50..=52]),
    ("cp1256", 1, 1, &[57..=57, 67..=67]),
    ("cp1257", 1, 1, &[29..=29, 58..=59]),
    ("cp850", 1, 1, &[4..=4, 80..=80]),
    ("cp852", 1, 1, &[40..=40, 81..=81]),
    ("cp866", 1, 1, &[36..=36, 68..=68]),
    ("cp932", 1, 2, &[95..=96]),
    ("dec8", 1, 1, &[3..=3, 69..=69]),
    ("eucjpms", 1, 3, &[97..=98]),
    ("euckr", 1, 2, &[19..=19, 85..=85]),
    ("gb18030", 1, 4, &[248..=250]),
    ("gb2312", 1, 2, &[24..=24, 86..=86]),
    ("gbk", 1, 2, &[28..=28, 87..=87]),
    ("geostd8", 1, 1, &[92..=93]),
    ("greek", 1, 1, &[25..=25, 70..=70]),
    ("hebrew", 1, 1, &[16..=16, 71..=71]),
    ("hp8", 1, 1, &[6..=6, 72..=72]),
    ("keybcs2", 1, 1, &[37..=37, 73..=73]),
    ("koi8r", 1, 1, &[7..=7, 74..=74]),
    ("koi8u", 1, 1, &[22..=22, 75..=75]),
    ("latin1", 1, 1, &[5..=5, 8..=8, 15..=15, 31..=31, 47..=49, 94..=94]),
    ("latin2", 1, 1, &[2..=2, 9..=9, 21..=21, 27..=27, 77..=77]),
    ("latin5", 1, 1, &[30..=30, 78..=78]),
    ("latin7", 1, 1, &[20..=20, 41..=42, 79..=79]),
    ("macce", 1, 1, &[38..=38, 43..=43]),
    ("macroman", 1, 1, &[39..=39, 53..=53]),
    ("sjis", 1, 2, &[13..=13, 88..=88]),
    ("swe7", 1, 1, &[10..=10, 82..=82]),
    ("tis620", 1, 1, &[18..=18, 89..=89]),
    ("ucs2", 2, 2, &[35..=35, 90..=90, 128..=151, 159..=159]),
    ("ujis", 1, 3, &[12..=12, 91..=91]),
    ("utf16", 2, 4, &[54..=55, 101..=124]),
    ("utf16le", 2, 4, &[56..=56, 62..=62]),
    ("utf32", 4, 4, &[60..=61, 160..=183]),
    ("utf8mb3", 1, 3, &[33..=33, 76..=76, 83..=83, 192..=215, 223..=223]),
    ("utf8mb4", 1, 4, &[45..=46, 224..=247, 255..=271, 273..=275, 277..=294, 296..=298, 300..=300, 303..=323]),
];

impl Charset {
    /// Of a collation of MySQL.
    pub fn of_collation(number: u32) -> Option<Charset> {
        let line = ALL
            .iter()
            .find(|l| l.3.iter().any(|r| r.contains(&number)))?;
        let (name, least, most, _) = *line;
        Some(Charset { name, least, most })
    }

    /// By its name.
    pub fn named(name: &str) -> Option<Charset> {
        let name = if name == "utf8" { "utf8mb3" } else { name };
        let (name, least, most, _) = *ALL.iter().find(|l| l.0 == name)?;
        Some(Charset { name, least, most })
    }
}
