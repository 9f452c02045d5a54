//! The character sets of collations, by number.
//!
//! The numbers are those of MySQL 9.7 (`information_schema.collations`); MariaDB's are told from these.

use std::ops::RangeInclusive;

/// A character set's name, and its collations.
type Line = (&'static str, &'static [RangeInclusive<u32>]);

const ALL: [Line; 41] = [
    ("armscii8", &[32..=32, 64..=64]),
    ("ascii", &[11..=11, 65..=65]),
    ("big5", &[1..=1, 84..=84]),
    ("binary", &[63..=63]),
    ("cp1250", &[26..=26, 34..=34, 44..=44, 66..=66, 99..=99]),
    ("cp1251", &[14..=14, 23..=23, 50..=52]),
    ("cp1256", &[57..=57, 67..=67]),
    ("cp1257", &[29..=29, 58..=59]),
    ("cp850", &[4..=4, 80..=80]),
    ("cp852", &[40..=40, 81..=81]),
    ("cp866", &[36..=36, 68..=68]),
    ("cp932", &[95..=96]),
    ("dec8", &[3..=3, 69..=69]),
    ("eucjpms", &[97..=98]),
    ("euckr", &[19..=19, 85..=85]),
    ("gb18030", &[248..=250]),
    ("gb2312", &[24..=24, 86..=86]),
    ("gbk", &[28..=28, 87..=87]),
    ("geostd8", &[92..=93]),
    ("greek", &[25..=25, 70..=70]),
    ("hebrew", &[16..=16, 71..=71]),
    ("hp8", &[6..=6, 72..=72]),
    ("keybcs2", &[37..=37, 73..=73]),
    ("koi8r", &[7..=7, 74..=74]),
    ("koi8u", &[22..=22, 75..=75]),
    (
        "latin1",
        &[5..=5, 8..=8, 15..=15, 31..=31, 47..=49, 94..=94],
    ),
    ("latin2", &[2..=2, 9..=9, 21..=21, 27..=27, 77..=77]),
    ("latin5", &[30..=30, 78..=78]),
    ("latin7", &[20..=20, 41..=42, 79..=79]),
    ("macce", &[38..=38, 43..=43]),
    ("macroman", &[39..=39, 53..=53]),
    ("sjis", &[13..=13, 88..=88]),
    ("swe7", &[10..=10, 82..=82]),
    ("tis620", &[18..=18, 89..=89]),
    ("ucs2", &[35..=35, 90..=90, 128..=151, 159..=159]),
    ("ujis", &[12..=12, 91..=91]),
    ("utf16", &[54..=55, 101..=124]),
    ("utf16le", &[56..=56, 62..=62]),
    ("utf32", &[60..=61, 160..=183]),
    (
        "utf8mb3",
        &[33..=33, 76..=76, 83..=83, 192..=215, 223..=223],
    ),
    (
        "utf8mb4",
        &[
            45..=46,
            224..=247,
            255..=271,
            273..=275,
            277..=294,
            296..=298,
            300..=300,
            303..=323,
        ],
    ),
];

/// The name of the character set that the collation of this number is of; those of binary values are no text.
pub fn charset(number: u32) -> Option<&'static str> {
    // MariaDB: NO PAD collations are 1024 above those of old; from 2048 on there are 256 for each of five sets.
    let number = match number {
        1024..2048 => number - 1024,
        2048.. => {
            let sets = ["utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32"];
            return sets.get((number as usize - 2048) / 256).copied();
        }
        _ => number,
    };
    let is_of = |l: &&Line| l.1.iter().any(|r| r.contains(&number));
    ALL.iter().find(is_of).map(|l| l.0)
}
