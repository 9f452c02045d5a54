//! In which order text stands in an index.
//!
//! Exact for the binary collations and for simple ones of one byte, which have a
//! weight for each (`collation/weights.txt`: number, name, weights from byte 0 on); for the
//! others only text of ASCII is compared (most keys are), and anything else is
//! "not known", never a guess. Weights are what `WEIGHT_STRING` of the servers
//! (MySQL 9.7 and MariaDB 10.11 alike) says of single characters.
//! Not there: latin1_german2_ci, latin2_czech_cs, cp1250_czech_cs and tis620_thai_ci, which look at more than one
//! character.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// How text compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collation {
    weights: Weights,
    /// Shorter text counts as if it had spaces behind it.
    pads: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weights {
    /// Bytes as they are: single bytes, and UTF-8, whose bytes are in the order of code points.
    Bytes,
    /// One for each byte.
    Table(&'static [u8; 256]),
    /// Capitals and small letters alike, the rest as it is; ASCII only.
    Capitals,
    /// The Unicode collation algorithm, versions 4.0 and 5.2; ASCII only.
    Unicode,
    /// The same, versions 9.0 and 14.0; ASCII only.
    Unicode9,
}

impl Collation {
    /// By the number that servers give it; `None`: not known.
    pub fn of(number: u32) -> Option<Collation> {
        let pads = !NOPAD.contains(&number);
        let number = if pads { number } else { number - NOPAD.start };
        let (weights, pads) = match number {
            // binary, utf8mb4_0900_bin.
            63 | 309 => (Weights::Bytes, false),
            // utf8mb4_bin, utf8mb3_bin.
            46 | 83 => (Weights::Bytes, pads),
            // The same of each character set of one byte.
            43 | 47 | 50 | 53 | 58 | 64..=75 | 77..=82 | 89 | 93 => (Weights::Bytes, pads),
            // utf8mb3_general_ci, utf8mb4_general_ci.
            33 | 45 => (Weights::Capitals, pads),
            // unicode_ci and unicode_520_ci of utf8mb3 and utf8mb4.
            192 | 214 | 224 | 246 => (Weights::Unicode, pads),
            // utf8mb4_0900_ai_ci.
            255 => (Weights::Unicode9, false),
            // utf8mb3_uca1400_ai_ci and utf8mb4_uca1400_ai_ci of MariaDB.
            2048 | 2304 => (Weights::Unicode9, true),
            // utf8mb3_uca1400_nopad_ai_ci and utf8mb4_uca1400_nopad_ai_ci.
            2052 | 2308 => (Weights::Unicode9, false),
            _ => (Weights::Table(TABLES.get(&number)?), pads),
        };
        Some(Collation { weights, pads })
    }

    /// The same where shorter text counts as if it had spaces behind it.
    pub fn padded(self) -> Collation {
        Collation { pads: true, ..self }
    }

    /// How two texts compare; `None`: one has characters whose weights are not known.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Option<Ordering> {
        let pad = if self.pads { self.weight(b' ') } else { None };
        let mut order = Ordering::Equal;
        // To the end, for what is not known may come behind what decides.
        for n in 0..a.len().max(b.len()) {
            let weight = |text: &[u8]| match text.get(n) {
                Some(c) => self.weight(*c).map(Some),
                None => Some(pad),
            };
            let (a, b) = (weight(a)?, weight(b)?);
            if order == Ordering::Equal {
                // The end of text that nothing fills up is before everything.
                order = a.cmp(&b);
            }
        }
        Some(order)
    }

    /// Whether shorter text counts as if it had spaces behind it.
    pub fn pads(self) -> bool {
        self.pads
    }

    /// The weight of a byte, where it is known.
    pub fn weight(self, c: u8) -> Option<u8> {
        match self.weights {
            Weights::Bytes => Some(c),
            Weights::Table(table) => Some(table[usize::from(c)]),
            Weights::Capitals => c.is_ascii().then(|| c.to_ascii_uppercase()),
            Weights::Unicode => known(RANKS[usize::from(c)]),
            Weights::Unicode9 => known(RANKS_9[usize::from(c)]),
        }
    }
}

/// Numbers of MariaDB's collations that do not pad: so much higher than those of the ones that do. In MySQL they are kept for
/// users' own.
pub const NOPAD: Range<u32> = 1024..2048;

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

/// Without the spaces that fill a CHAR up.
pub fn unfilled(mut text: &[u8]) -> &[u8] {
    while let [shorter @ .., b' '] = text {
        text = shorter;
    }
    text
}

/// The characters of ASCII that have a weight, in order, letters apart.
const UNICODE: &[u8; 48] = b"\t\n\x0b\x0c\r `^_-,;:!?.'\"()[]{}@*/\\&#%+<=>|~$0123456789";

/// The same in later versions of the algorithm.
const UNICODE_9: &[u8; 48] = b"\t\n\x0b\x0c\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

/// No weight at all: control characters, and what lies outside of ASCII. Text with them is left to the server.
const NO_WEIGHT: u8 = 0xff;

const RANKS: [u8; 256] = ranks(UNICODE);
const RANKS_9: [u8; 256] = ranks(UNICODE_9);

/// Letters come behind everything else, small ones and capitals alike.
const fn ranks(order: &[u8; 48]) -> [u8; 256] {
    let mut table = [NO_WEIGHT; 256];
    let mut n = 0;
    while n < order.len() {
        table[order[n] as usize] = n as u8;
        n += 1;
    }
    let mut letter = 0;
    while letter < 26 {
        let weight = order.len() as u8 + letter;
        table[(b'A' + letter) as usize] = weight;
        table[(b'a' + letter) as usize] = weight;
        letter += 1;
    }
    table
}

fn known(weight: u8) -> Option<u8> {
    (weight != NO_WEIGHT).then_some(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{Equal, Greater, Less};

    fn of(number: u32) -> Collation {
        Collation::of(number).expect("a known one")
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
    fn mariadbs_that_do_not_pad_have_the_same_weights() {
        assert_eq!(of(8).compare(b"a", b"A "), Some(Equal));
        assert_eq!(of(1032).compare(b"a", b"A "), Some(Less));
        assert_eq!(of(1032).padded(), of(8));
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
        assert_eq!(of(255).compare("ä".as_bytes(), b"a"), None);
        assert_eq!(of(255).compare(b"\x01", b"a"), None);
        assert_eq!(of(8).compare(b"\xe4", b"z"), Some(Greater));
        assert_eq!(Collation::of(9999), None);
    }
}
