//! Weights of characters in Unicode: those of `general_ci`, which has one for every character, and the primary ones of
//! the Unicode collation algorithm (DUCET), by its version.
//!
//! `unicode.txt` is what `WEIGHT_STRING` of the servers says (MySQL 9.7, MariaDB 10.11 and 11.8 alike): a section for
//! each; in it a line for each run of characters, with the first, and of each its weights. `general` has those that are
//! not the character's own number; the others have Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic, Kana,
//! their compatibility forms, punctuation and currencies; weights of Han and Hangul are worked out. None of these changes its weight beside another (`·` does after `L` in version
//! 14.0, and is left out there); what combines with others, or has no weight at all, is not known.
//!
//! Weights are written as bytes that compare as they do: those of ASCII as one.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// No weight that is known.
pub const UNKNOWN: u8 = 0xff;

/// Weights from this on are worked out from a character's number, the first of two, and above those of all tables.
const IMPLICIT: u16 = 0xfb40;

/// Stands in front of them.
const BEFORE_IMPLICIT: u8 = 0xfe;

/// Characters that have such weights, and what is added to the upper bits of their numbers: Han, its extension A,
const HAN: RangeInclusive<u32> = 0x4e00..=0x9fa5;
const TO_HAN: u32 = 0xfb40;
const HAN_A: RangeInclusive<u32> = 0x3400..=0x4db5;
const TO_HAN_A: u32 = 0xfb80;

/// and Hangul, except in 9.0.
const HANGUL: RangeInclusive<u32> = 0xac00..=0xd7a3;
const TO_HANGUL: u32 = 0xfbc0;

/// The one weight of all characters above 65,535 in `general`.
const BEYOND: u32 = 0xfffd;

/// Weights of characters.
pub struct Unicode {
    name: &'static str,
    /// By byte, that of ASCII, or [`UNKNOWN`].
    pub ascii: [u8; 256],
    /// By character: where its weights are in `bytes`, and how many bytes they have; no bytes: see `rest`.
    places: Vec<(u32, u8)>,
    bytes: Vec<u8>,
    rest: Rest,
}

/// What characters have that are not in the table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Their own number.
    Number,
    /// What comes of their number, if they are Han or (`hangul`) Hangul.
    Implicit { hangul: bool },
}

impl PartialEq for Unicode {
    fn eq(&self, other: &Unicode) -> bool {
        self.name == other.name
    }
}

impl Eq for Unicode {}

impl std::fmt::Debug for Unicode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// `utf8mb4_general_ci`.
pub static GENERAL: LazyLock<Unicode> = LazyLock::new(|| Unicode::of("general", Rest::Number));
/// `utf8mb4_unicode_ci`.
pub static V4_0: LazyLock<Unicode> = LazyLock::new(|| Unicode::of("unicode_4_0", WITH_HANGUL));
/// `utf8mb4_unicode_520_ci`.
pub static V5_2: LazyLock<Unicode> = LazyLock::new(|| Unicode::of("unicode_5_2", WITH_HANGUL));
/// `utf8mb4_0900_ai_ci`.
pub static V9_0: LazyLock<Unicode> =
    LazyLock::new(|| Unicode::of("unicode_9_0", Rest::Implicit { hangul: false }));
/// `utf8mb4_uca1400_ai_ci`.
pub static V14_0: LazyLock<Unicode> = LazyLock::new(|| Unicode::of("unicode_14_0", WITH_HANGUL));

const WITH_HANGUL: Rest = Rest::Implicit { hangul: true };

impl Unicode {
    fn of(name: &'static str, rest: Rest) -> Unicode {
        let section = section(name);
        let codes = match rest {
            Rest::Number => Codes::default(),
            Rest::Implicit { .. } => Codes::of(&section),
        };
        let mut unicode = Unicode {
            name,
            ascii: [UNKNOWN; 256],
            places: vec![(0, 0); 0x1_0000],
            bytes: Vec::new(),
            rest,
        };
        if rest == Rest::Number {
            for c in 0..0x80 {
                unicode.ascii[usize::from(c)] = c;
            }
        }
        for (c, weights) in section {
            let at = unicode.bytes.len();
            let out = &mut unicode.bytes;
            let written = match rest {
                Rest::Number => {
                    weights.iter().for_each(|w| number(u32::from(*w), out));
                    Some(())
                }
                Rest::Implicit { .. } => units(&weights).try_for_each(|some| match some {
                    [weight] => codes.put(*weight, out),
                    two => {
                        implicit(two, out);
                        Some(())
                    }
                }),
            };
            if written.is_none() {
                // Half of it would stand for another character: it stays unknown.
                unicode.bytes.truncate(at);
                continue;
            }
            let len = unicode.bytes.len() - at;
            if let ([one], true) = (&unicode.bytes[at..], c.is_ascii()) {
                unicode.ascii[c as usize] = *one;
            }
            if let Some(place) = unicode.places.get_mut(c as usize) {
                *place = (at as u32, len as u8);
            }
        }
        unicode
    }

    /// Appends the weights of text in UTF-8; `None` where one is not known.
    pub fn weigh(&self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        let of_ascii = |c: u8| self.ascii[usize::from(c)];
        if text.is_ascii() {
            out.extend(text.iter().map(|c| of_ascii(*c)));
            return (!out[start..].contains(&UNKNOWN)).then_some(());
        }
        for c in std::str::from_utf8(text).ok()?.chars() {
            if c.is_ascii() {
                let weight = of_ascii(c as u8);
                if weight == UNKNOWN {
                    return None;
                }
                out.push(weight);
                continue;
            }
            match self.places.get(c as usize) {
                Some((at, len)) if *len > 0 => {
                    let at = *at as usize;
                    out.extend_from_slice(&self.bytes[at..at + usize::from(*len)]);
                }
                _ => self.rest(c, out)?,
            }
        }
        Some(())
    }

    fn rest(&self, c: char, out: &mut Vec<u8>) -> Option<()> {
        let n = c as u32;
        let upper = match self.rest {
            Rest::Number => {
                number(if n < 0x1_0000 { n } else { BEYOND }, out);
                return Some(());
            }
            _ if HAN.contains(&n) => TO_HAN,
            _ if HAN_A.contains(&n) => TO_HAN_A,
            Rest::Implicit { hangul: true } if HANGUL.contains(&n) => TO_HANGUL,
            Rest::Implicit { .. } => return None,
        };
        implicit(
            &[(upper + (n >> 15)) as u16, (n & 0x7fff | 0x8000) as u16],
            out,
        );
        Some(())
    }
}

/// Characters of a section, each with its weights.
fn section(name: &str) -> Vec<(char, Vec<u16>)> {
    let lines = include_str!("unicode.txt").lines();
    let lines = lines.skip_while(|l| *l != name).skip(1);
    let mut all = Vec::new();
    for line in lines.take_while(|l| l.contains(' ')) {
        let (first, weights) = line.split_once(' ').unwrap_or_default();
        let first = u32::from_str_radix(first, 16).unwrap_or(u32::MAX);
        for (c, weights) in (first..).zip(weights.split(' ')) {
            let weights = weights.split('+');
            let weights = weights.map(|w| u16::from_str_radix(w, 16).ok());
            if let (Some(c), Some(weights)) = (char::from_u32(c), weights.collect()) {
                all.push((c, weights));
            }
        }
    }
    all
}

/// Weights one by one, those that are worked out in twos.
fn units(weights: &[u16]) -> impl Iterator<Item = &[u16]> {
    let mut rest = weights;
    std::iter::from_fn(move || {
        let count = 1 + usize::from(*rest.first()? >= IMPLICIT);
        let (some, behind) = rest.split_at_checked(count)?;
        rest = behind;
        Some(some)
    })
}

/// Two weights that are worked out.
fn implicit(two: &[u16], out: &mut Vec<u8>) {
    out.push(BEFORE_IMPLICIT);
    out.extend(two.iter().flat_map(|w| w.to_be_bytes()));
}

/// A weight that may be any number below 65,536, as UTF-8 writes it: bytes in the order of numbers, ASCII as one.
fn number(n: u32, out: &mut Vec<u8>) {
    match n {
        0..0x80 => out.push(n as u8),
        0x80..0x800 => out.extend_from_slice(&[0xc0 | (n >> 6) as u8, 0x80 | (n & 0x3f) as u8]),
        _ => out.extend_from_slice(&[
            0xe0 | (n >> 12) as u8,
            0x80 | (n >> 6 & 0x3f) as u8,
            0x80 | (n & 0x3f) as u8,
        ]),
    }
}

/// How weights are written, in their order: one byte for those of ASCII; for what lies between two of them, one that
/// is no weight itself and a second one.
#[derive(Default)]
struct Codes(Vec<(u16, [u8; 2])>);

impl Codes {
    fn of(section: &[(char, Vec<u16>)]) -> Codes {
        let weights = |ascii: bool| {
            let some = section.iter().filter(move |(c, _)| !ascii || c.is_ascii());
            some.flat_map(|(_, w)| units(w))
                .filter_map(|some| <[u16; 1]>::try_from(some).ok())
                .map(|[weight]| weight)
                .collect::<BTreeSet<u16>>()
        };
        let single = weights(true);
        let mut all = Vec::new();
        let (mut first, mut second) = (0, u8::MAX);
        for weight in weights(false) {
            if single.contains(&weight) {
                first += 1;
                second = u8::MAX;
                all.push((weight, [first, 0]));
                continue;
            }
            // A new one after a single one, and where the last is used up.
            if second == u8::MAX {
                first += 1;
                second = 0;
            }
            second += 1;
            all.push((weight, [first, second]));
        }
        Codes(all)
    }

    /// Writes a weight, if it is one of the section's.
    fn put(&self, weight: u16, out: &mut Vec<u8>) -> Option<()> {
        let n = self.0.binary_search_by_key(&weight, |(w, _)| *w).ok()?;
        match self.0[n].1 {
            [one, 0] => out.push(one),
            two => out.extend_from_slice(&two),
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stay_in_order_and_are_told_apart() {
        for (name, characters) in [
            ("unicode_4_0", 3646),
            ("unicode_5_2", 3646),
            ("unicode_9_0", 3646),
            ("unicode_14_0", 3644),
        ] {
            let section = section(name);
            assert_eq!(section.len(), characters, "{name}");
            let codes = Codes::of(&section);
            let written: Vec<Vec<u8>> = codes
                .0
                .iter()
                .map(|(weight, _)| {
                    let mut out = Vec::new();
                    codes.put(*weight, &mut out).expect("one of the section's");
                    out
                })
                .collect();
            let wrong = written.windows(2).find(|w| w[0] >= w[1]);
            assert_eq!(wrong, None, "{name}");
            assert!(written.len() > 700, "{name}: {}", written.len());
            let beginning = |w: &&[Vec<u8>]| w[1].starts_with(&w[0]);
            assert_eq!(written.windows(2).find(beginning), None, "{name}");
            assert!(written.iter().flatten().all(|b| *b != 0), "{name}");
            assert!(
                written.last().is_some_and(|w| w[0] < BEFORE_IMPLICIT),
                "{name}"
            );
            let ascii = section.iter().filter(|(c, _)| c.is_ascii());
            assert!(ascii.clone().all(|(_, w)| w.len() == 1), "{name}");
            assert_eq!(ascii.count(), 100, "{name}");
        }
        assert_eq!(section("general").len(), 1108);
    }
}
