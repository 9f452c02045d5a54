//! In which order text stands in an index.
//!
//! Exact for the binary collations and for simple ones of one byte; for the
//! others only text of ASCII is compared (most keys are), and anything else is
//! "not known", never a guess. Weights are what `WEIGHT_STRING` of the servers
//! (MySQL 9.7, MariaDB 10.11) says of single characters.

use std::cmp::Ordering;

/// How text compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collation {
    weights: Weights,
    /// Shorter text counts as if it had spaces behind it.
    pads: bool,
    /// MariaDB does not have it.
    of_mysql: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weights {
    /// Bytes as they are: single bytes, and UTF-8, whose bytes are in the order of code points.
    Bytes,
    /// latin1_swedish_ci.
    Swedish,
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
        let (weights, pads) = match number {
            // binary, utf8mb4_0900_bin, and those of MariaDB without padding: latin1, ascii, utf8mb3, utf8mb4.
            63 | 309 | 1071 | 1089 | 1107 | 1070 => (Weights::Bytes, false),
            // latin1_bin, ascii_bin, utf8mb3_bin, utf8mb4_bin.
            47 | 65 | 83 | 46 => (Weights::Bytes, true),
            8 => (Weights::Swedish, true),
            // ascii_general_ci, utf8mb3_general_ci, utf8mb4_general_ci.
            11 | 33 | 45 => (Weights::Capitals, true),
            // unicode_ci and unicode_520_ci of utf8mb3 and utf8mb4.
            192 | 214 | 224 | 246 => (Weights::Unicode, true),
            // utf8mb4_0900_ai_ci.
            255 => (Weights::Unicode9, false),
            // utf8mb3_uca1400_ai_ci and utf8mb4_uca1400_ai_ci of MariaDB.
            2048 | 2304 => (Weights::Unicode9, true),
            // utf8mb3_uca1400_nopad_ai_ci and utf8mb4_uca1400_nopad_ai_ci.
            2052 | 2308 => (Weights::Unicode9, false),
            _ => return None,
        };
        Some(Collation {
            weights,
            pads,
            of_mysql: matches!(number, 255 | 309),
        })
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

    /// Whether only MySQL has it.
    pub fn is_of_mysql(self) -> bool {
        self.of_mysql
    }

    /// The weight of a byte, where it is known.
    pub fn weight(self, c: u8) -> Option<u8> {
        match self.weights {
            Weights::Bytes => Some(c),
            Weights::Swedish => Some(swedish(c)),
            Weights::Capitals => c.is_ascii().then(|| c.to_ascii_uppercase()),
            Weights::Unicode => known(RANKS[usize::from(c)]),
            Weights::Unicode9 => known(RANKS_9[usize::from(c)]),
        }
    }
}

/// Without the spaces that fill a CHAR up.
pub fn unfilled(mut text: &[u8]) -> &[u8] {
    while let [shorter @ .., b' '] = text {
        text = shorter;
    }
    text
}

fn swedish(c: u8) -> u8 {
    match c {
        b'a'..=b'z' => c.to_ascii_uppercase(),
        0xc0..=0xff => SWEDISH[usize::from(c - 0xc0)],
        _ => c,
    }
}

/// Weights of latin1_swedish_ci from 0xC0: letters with accents as the letter, but for Å, Ä, Ö and Ü.
#[rustfmt::skip]
const SWEDISH: [u8; 64] = [
    65, 65, 65, 65, 92, 91, 92, 67, 69, 69, 69, 69, 73, 73, 73, 73,
    68, 78, 79, 79, 79, 79, 93, 215, 216, 85, 85, 85, 89, 89, 222, 223,
    65, 65, 65, 65, 92, 91, 92, 67, 69, 69, 69, 69, 73, 73, 73, 73,
    68, 78, 79, 79, 79, 79, 93, 247, 216, 85, 85, 85, 89, 89, 222, 255,
];

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
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(of(255).compare("ä".as_bytes(), b"a"), None);
        assert_eq!(of(255).compare(b"\x01", b"a"), None);
        assert_eq!(of(8).compare(b"\xe4", b"z"), Some(Greater));
        assert_eq!(Collation::of(9999), None);
    }
}
