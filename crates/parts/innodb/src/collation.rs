//! The order of text in an index.
//!
//! Exact for binary collations, for single-byte collations with one weight per byte
//! (`collation/weights.txt`: number, name, weights from byte 0 on), and for `general_ci`;
//! for collations of the Unicode collation algorithm as far as the characters' weights are
//! known (`unicode`). Text with other characters is "unknown", never a guess. Weights are
//! those that `WEIGHT_STRING` of MySQL 9.7 and MariaDB 10.11 gives for single characters.
//! Not supported: latin1_german2_ci, latin2_czech_cs, cp1250_czech_cs and tis620_thai_ci,
//! whose weights depend on more than one character.

mod unicode;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;
use unicode::{GENERAL, UNKNOWN, Unicode, V4_0, V5_2, V9_0, V14_0};

/// How text compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collation {
    weights: Weights,
    /// PAD SPACE: shorter text compares as if padded with spaces.
    pads: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weights {
    /// Bytes as they are: single bytes, and UTF-8, whose bytes are in the order of code points.
    Bytes,
    /// One for each byte.
    Table(&'static [u8; 256]),
    /// Of characters in UTF-8.
    Unicode(&'static Unicode),
}

impl Collation {
    /// By its id on servers of a flavour; `None`: unknown.
    pub fn of(number: u32, of_mysql: bool) -> Option<Collation> {
        let pads = of_mysql || !NOPAD.contains(&number);
        let number = if pads { number } else { number - NOPAD.start };
        let (weights, pads) = match number {
            // binary, utf8mb4_0900_bin.
            63 | 309 => (Weights::Bytes, false),
            // utf8mb4_bin, utf8mb3_bin.
            46 | 83 => (Weights::Bytes, pads),
            // The _bin collations of single-byte character sets.
            43 | 47 | 50 | 53 | 58 | 64..=75 | 77..=82 | 89 | 93 => (Weights::Bytes, pads),
            // utf8mb3_general_ci, utf8mb4_general_ci.
            33 | 45 => (Weights::Unicode(&GENERAL), pads),
            // unicode_ci of utf8mb3 and utf8mb4.
            192 | 224 => (Weights::Unicode(&V4_0), pads),
            // unicode_520_ci of utf8mb3 and utf8mb4.
            214 | 246 => (Weights::Unicode(&V5_2), pads),
            // utf8mb4_0900_ai_ci.
            255 if of_mysql => (Weights::Unicode(&V9_0), false),
            // What MariaDB calls so as of 11.4.
            255 => (Weights::Unicode(&V14_0), false),
            // utf8mb3_uca1400_ai_ci and utf8mb4_uca1400_ai_ci of MariaDB.
            2048 | 2304 => (Weights::Unicode(&V14_0), true),
            // utf8mb3_uca1400_nopad_ai_ci and utf8mb4_uca1400_nopad_ai_ci.
            2052 | 2308 => (Weights::Unicode(&V14_0), false),
            _ => (Weights::Table(TABLES.get(&number)?), pads),
        };
        Some(Collation { weights, pads })
    }

    /// The same with PAD SPACE.
    pub fn padded(self) -> Collation {
        Collation { pads: true, ..self }
    }

    /// How two texts compare; `None`: one has characters with unknown weights.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Option<Ordering> {
        if self.by_byte(a) && self.by_byte(b) {
            let weigh = |c: &u8| self.weight(*c);
            return self.compare_weights(a.iter().map(weigh), b.iter().map(weigh));
        }
        let weights = |text| {
            let mut weights = Vec::new();
            self.weigh(text, &mut weights).map(|()| weights)
        };
        let (a, b) = (weights(a)?, weights(b)?);
        self.compare_weights(a.into_iter().map(Some), b.into_iter().map(Some))
    }

    fn compare_weights(
        self,
        mut a: impl Iterator<Item = Option<u8>>,
        mut b: impl Iterator<Item = Option<u8>>,
    ) -> Option<Ordering> {
        let pad = if self.pads { self.weight(b' ') } else { None };
        let mut order = Ordering::Equal;
        // To the end: an unknown character may follow the deciding one.
        loop {
            let (a, b) = match (a.next(), b.next()) {
                (None, None) => return Some(order),
                (Some(a), Some(b)) => (Some(a?), Some(b?)),
                (Some(a), None) => (Some(a?), pad),
                (None, Some(b)) => (pad, Some(b?)),
            };
            if order == Ordering::Equal {
                // The end of NO PAD text is before everything.
                order = a.cmp(&b);
            }
        }
    }

    /// Whether it is PAD SPACE.
    pub fn pads(self) -> bool {
        self.pads
    }

    /// Appends the weights of text, as bytes that compare as the text does; `None` if one is unknown. The padding
    /// has a single byte.
    pub fn weigh(self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match self.weights {
            Weights::Bytes => out.extend_from_slice(text),
            Weights::Table(table) => out.extend(text.iter().map(|c| table[usize::from(*c)])),
            Weights::Unicode(unicode) => unicode.weigh(text, out)?,
        }
        Some(())
    }

    /// The weight of a single-byte character, if known.
    pub fn weight(self, c: u8) -> Option<u8> {
        match self.weights {
            Weights::Bytes => Some(c),
            Weights::Table(table) => Some(table[usize::from(c)]),
            Weights::Unicode(unicode) => {
                Some(unicode.ascii[usize::from(c)]).filter(|w| *w != UNKNOWN)
            }
        }
    }

    /// Whether each byte has its own weight.
    fn by_byte(self, text: &[u8]) -> bool {
        !matches!(self.weights, Weights::Unicode(_)) || text.is_ascii()
    }
}

/// Offset of the ids of MariaDB's NO PAD collations from the PAD SPACE ones. In MySQL these ids are user-defined.
const NOPAD: Range<u32> = 1024..2048;

/// Weights of simple collations, by number.
static TABLES: LazyLock<HashMap<u32, [u8; 256]>> = LazyLock::new(|| {
    let table = |line: &str| {
        let mut words = line.split(' ');
        let (number, _name, hex) = (words.next()?, words.next()?, words.next()?);
        let mut weights = [0; 256];
        for (n, weight) in weights.iter_mut().enumerate() {
            *weight = u8::from_str_radix(hex.get(2 * n..2 * n + 2)?, 16).ok()?;
        }
        Some((number.parse().ok()?, weights))
    };
    let lines = include_str!("collation/weights.txt").lines();
    lines.filter_map(table).collect()
});

/// Without the trailing spaces of a CHAR.
pub fn unfilled(mut text: &[u8]) -> &[u8] {
    while let [shorter @ .., b' '] = text {
        text = shorter;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{Equal, Greater, Less};

    fn of(number: u32) -> Collation {
        Collation::of(number, number < NOPAD.start).expect("a known one")
    }

    #[test]
    fn binary_ones_know_every_byte() {
        assert_eq!(of(63).compare(b"a", b"a "), Some(Less));
        assert_eq!(of(46).compare(b"a", b"a "), Some(Equal));
        assert_eq!(of(46).compare(b"a\t", b"a"), Some(Less));
        assert_eq!(of(46).compare("ä".as_bytes(), b"z"), Some(Greater));
    }

    #[test]
    fn case_does_not_matter_where_it_does_not() {
        for n in [8, 45, 224, 255, 2304, 2308] {
            assert_eq!(of(n).compare(b"abC", b"ABc"), Some(Equal), "{n}");
            assert_eq!(of(n).compare(b"ab", b"Ac"), Some(Less), "{n}");
        }
        assert_eq!(of(45).compare(b"_", b"a"), Some(Greater));
        assert_eq!(of(255).compare(b"_", b"a"), Some(Less));
        assert_eq!(of(255).compare(b"a", b"a "), Some(Less));
        assert_eq!(of(224).compare(b"a", b"a "), Some(Equal));
        assert_eq!(of(224).compare(b"`", b"_"), Some(Less));
        assert_eq!(of(255).compare(b"`", b"_"), Some(Greater));
    }

    #[test]
    fn letters_beyond_ascii_have_their_places() {
        let compare = |n, a: &str, b: &str| of(n).compare(a.as_bytes(), b.as_bytes());
        for n in [45, 224, 246, 255, 2304, 2308] {
            assert_eq!(compare(n, "Ä", "a"), Some(Equal), "{n}");
            assert_eq!(compare(n, "äb", "aC"), Some(Less), "{n}");
            assert_eq!(compare(n, "ж", "Ж"), Some(Equal), "{n}");
            assert_eq!(compare(n, "漢", "Ж"), Some(Greater), "{n}");
            assert_eq!(compare(n, "漢", "漣"), Some(Less), "{n}");
            assert_eq!(compare(n, "z", "α"), Some(Less), "{n}");
        }
        assert_eq!(compare(45, "ß", "s"), Some(Equal));
        assert_eq!(compare(224, "straße", "STRASSE"), Some(Equal));
        assert_eq!(compare(255, "“", "a"), Some(Less));
        assert_eq!(compare(45, "“", "a"), Some(Greater));
        // Ends that are filled up.
        assert_eq!(compare(45, "ä", "a  "), Some(Equal));
        assert_eq!(compare(255, "ä", "a "), Some(Less));
        assert_eq!(compare(45, "😀", "\u{fffd}"), Some(Equal));
        assert_eq!(compare(255, "가", "각"), None);
        assert_eq!(compare(2304, "가", "각"), Some(Less));
    }

    #[test]
    fn mariadbs_that_do_not_pad_have_the_same_weights() {
        assert_eq!(of(8).compare(b"a", b"A "), Some(Equal));
        assert_eq!(of(1032).compare(b"a", b"A "), Some(Less));
        assert_eq!(of(1032).padded(), of(8));
        assert_eq!(Collation::of(255, false), Collation::of(2308, false));
        // In cp1251_general_ci.
        assert_eq!(of(51).compare(&[0xc6], &[0xe6]), Some(Equal));
        assert_eq!(of(51).compare(&[0xc6], b"z"), Some(Greater));
    }

    #[test]
    fn every_line_of_the_table_is_one() {
        let lines = include_str!("collation/weights.txt").lines().count();
        assert_eq!((TABLES.len(), lines), (39, 39));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        // What combines with others.
        assert_eq!(of(255).compare("a\u{308}".as_bytes(), b"a"), None);
        assert_eq!(of(224).compare("😀".as_bytes(), b"a"), None);
        assert_eq!(of(2304).compare("l·l".as_bytes(), b"l"), None);
        assert_eq!(of(45).compare(b"\xff", b"l"), None);
        assert_eq!(of(255).compare(b"\x01", b"a"), None);
        assert_eq!(of(8).compare(b"\xe4", b"z"), Some(Greater));
        assert_eq!(Collation::of(9999, false), None);
        // A user's own in MySQL.
        assert_eq!(Collation::of(1032, true), None);
    }
}
