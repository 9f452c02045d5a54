//! Whole numbers and DECIMAL.
//!
//! InnoDB keeps whole numbers with the high byte first, and of signed ones the sign bit turned round, so that bytes
//! sort as numbers do. DECIMAL is as `decimal2bin` of the servers writes it: nine digits in four bytes, what is left over
//! of the whole part and of the fraction in as few bytes as they need, the first bit turned round, all bits of negative ones
//! turned round.

use crate::Broken;
use crate::cell::{self, Short};
use std::borrow::BorrowMut;

/// Bytes for zero to nine digits.
const BYTES: [u8; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
/// One more than the largest number of zero to nine digits.
const POWERS: [u32; 10] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];

/// The number in one to eight bytes, the high one first.
#[inline]
pub fn big_endian(stored: &[u8]) -> u64 {
    match *stored {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a, b, c] => u64::from(u32::from_be_bytes([0, a, b, c])),
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => stored.iter().fold(0, |n, b| n << 8 | u64::from(*b)),
    }
}

/// A whole number; `digits` of ZEROFILL, or 0.
#[inline]
pub fn integer(
    stored: &[u8],
    bytes: u8,
    unsigned: bool,
    digits: u8,
    out: &mut Vec<u8>,
) -> Result<(), Broken> {
    if stored.len() != usize::from(bytes) {
        return Err(Broken("whole number of this length"));
    }
    let raw = big_endian(stored);
    if digits == 0 {
        Whole::new(bytes, unsigned).cell(raw, out);
        return Ok(());
    }
    let mut text = Short::<24>::new();
    text.number(raw);
    cell::zerofill(text.text(), digits, out);
    Ok(())
}

/// The whole numbers of a column without ZEROFILL.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    bytes: u8,
    /// What the sign bit turned round adds: half the range.
    offset: u64,
    /// The bits of a number.
    mask: u64,
}

impl Whole {
    /// Of one to eight bytes.
    #[inline]
    pub fn new(bytes: u8, unsigned: bool) -> Whole {
        Whole {
            bytes,
            offset: if unsigned { 0 } else { 1 << (8 * bytes - 1) },
            mask: u64::MAX >> (64 - 8 * u32::from(bytes)),
        }
    }

    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        self.bytes.into()
    }

    /// Appends a number, the high byte first in `raw`, as a cell; what `raw` has above it is of no account.
    #[inline]
    pub fn cell(self, raw: u64, out: &mut Vec<u8>) {
        let raw = raw & self.mask;
        let value = raw.wrapping_sub(self.offset);
        if raw >= self.offset && value < SMALL {
            let (digits, length) = cell::small_number(value as u32);
            cell::word(u128::from(digits), length, out);
        } else {
            self.rare(raw, out);
        }
    }

    /// One that is negative, or has many digits.
    #[inline(never)]
    fn rare(self, raw: u64, out: &mut Vec<u8>) {
        let mut text = Short::<24>::new();
        if raw < self.offset {
            text.byte(b'-');
            text.number(self.offset - raw);
        } else {
            text.number(raw - self.offset);
        }
        text.put(out);
    }
}

/// Numbers below have at most eight digits.
const SMALL: u64 = 100_000_000;

/// How the digits of a DECIMAL lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// Digits of the whole part before its first full group.
    lead: u8,
    /// Groups of nine digits of the whole part.
    whole: u8,
    /// Groups of nine digits of the fraction.
    fraction: u8,
    /// Digits of the fraction after its last full group.
    rest: u8,
    /// Zeros are written before the number (ZEROFILL).
    zerofill: bool,
}

impl Decimal {
    /// Of so many digits, so many of them after the point.
    pub fn new(digits: u8, scale: u8, zerofill: bool) -> Option<Decimal> {
        let whole = digits.checked_sub(scale)?;
        (digits > 0 && digits <= 81).then_some(Decimal {
            lead: whole % 9,
            whole: whole / 9,
            fraction: scale / 9,
            rest: scale % 9,
            zerofill,
        })
    }

    /// Bytes of a value.
    pub fn bytes(self) -> usize {
        let part = |digits: u8| usize::from(BYTES[usize::from(digits)]);
        part(self.lead) + usize::from(self.whole + self.fraction) * 4 + part(self.rest)
    }

    /// Appends a value as a cell.
    #[inline]
    pub fn cell(self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
        if self.whole + self.fraction == 0 && self.lead <= 8 && self.rest <= 4 && !self.zerofill {
            return self.small(stored, out);
        }
        if self.whole + self.fraction <= 1 {
            cell::in_place::<32>(out, |text| self.write(stored, text))
        } else {
            cell::in_place::<104>(out, |text| self.write(stored, text))
        }
    }

    /// The same of a few digits: at most eight before the point and four after it.
    #[inline]
    fn small(self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
        let (mut groups, negative) = Groups::of(stored)?;
        let whole = match self.lead {
            0 => 0,
            lead => groups.next(lead)?,
        };
        let (digits, mut length) = cell::small_number(whole);
        let mut text = u128::from(digits);
        if self.rest > 0 {
            let rest = groups.next(self.rest)?;
            let rest = match self.rest {
                4 => (cell::eight_digits(rest) | cell::ZEROS) >> 32,
                digits => u64::from(cell::three_digits(rest) >> (8 * (3 - u32::from(digits)))),
            };
            text |= (u128::from(b'.') | u128::from(rest) << 8) << (8 * length);
            length += 1 + u32::from(self.rest);
        }
        if !groups.stored.is_empty() {
            return Err(Broken("DECIMAL of this length"));
        }
        if negative {
            text = text << 8 | u128::from(b'-');
            length += 1;
        }
        cell::word(text, length, out);
        Ok(())
    }

    /// Writes a value.
    #[inline]
    pub fn write<const N: usize, B: BorrowMut<[u8; N]>>(
        self,
        stored: &[u8],
        text: &mut Short<N, B>,
    ) -> Result<(), Broken> {
        let (mut groups, negative) = Groups::of(stored)?;
        if negative {
            text.byte(b'-');
        }
        let mut begun = self.zerofill;
        if self.lead > 0 {
            let n = groups.next(self.lead)?;
            if begun {
                text.padded(n.into(), self.lead.into());
            } else if n > 0 {
                text.number(n.into());
                begun = true;
            }
        }
        for _ in 0..self.whole {
            let n = groups.next(9)?;
            if begun {
                text.padded(n.into(), 9);
            } else if n > 0 {
                text.number(n.into());
                begun = true;
            }
        }
        if !begun || self.lead + self.whole == 0 {
            text.byte(b'0');
        }
        if self.fraction + self.rest > 0 {
            text.byte(b'.');
            for _ in 0..self.fraction {
                let n = groups.next(9)?;
                text.padded(n.into(), 9);
            }
            if self.rest > 0 {
                let n = groups.next(self.rest)?;
                text.padded(n.into(), self.rest.into());
            }
        }
        match groups.stored {
            [] => Ok(()),
            _ => Err(Broken("DECIMAL of this length")),
        }
    }
}

/// The groups of digits of a DECIMAL, one after the other.
struct Groups<'a> {
    stored: &'a [u8],
    /// All bits where they are turned round.
    flip: u32,
    /// The bit of the first byte that is turned round; 0 after it.
    first: u8,
}

impl Groups<'_> {
    /// Of a value, and whether it is negative.
    #[inline]
    fn of(stored: &[u8]) -> Result<(Groups<'_>, bool), Broken> {
        let Some(first) = stored.first() else {
            return Err(Broken("DECIMAL"));
        };
        let negative = first & 0x80 == 0;
        let groups = Groups {
            stored,
            flip: if negative { u32::MAX } else { 0 },
            first: 0x80,
        };
        Ok((groups, negative))
    }

    /// The next group, of so many digits.
    #[inline]
    fn next(&mut self, digits: u8) -> Result<u32, Broken> {
        let bytes = usize::from(BYTES[usize::from(digits)]);
        let Some((group, rest)) = self.stored.split_at_checked(bytes) else {
            return Err(Broken("DECIMAL of this length"));
        };
        self.stored = rest;
        let shift = 32 - 8 * bytes as u32;
        let first = u32::from(self.first) << (24 - shift);
        self.first = 0;
        let n = (big_endian(group) as u32 ^ (self.flip >> shift)) ^ first;
        if n < POWERS[usize::from(digits)] {
            Ok(n)
        } else {
            Err(Broken("DECIMAL: digits beyond nine"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(digits: u8, scale: u8, stored: &[u8]) -> Result<String, Broken> {
        let mut out = Vec::new();
        Decimal::new(digits, scale, false)
            .expect("a type")
            .cell(stored, &mut out)?;
        assert_eq!(usize::from(out[0]), out.len() - 1);
        Ok(String::from_utf8(out[1..].to_vec()).expect("ASCII"))
    }

    /// The example of the servers' own comment on `decimal2bin`: 1234567890.1234 of DECIMAL(14,4).
    #[test]
    fn groups_are_nine_digits() {
        let stored = [0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2];
        assert_eq!(decimal(14, 4, &stored).as_deref(), Ok("1234567890.1234"));
        let negative: Vec<u8> = stored.iter().map(|b| !b).collect();
        assert_eq!(decimal(14, 4, &negative).as_deref(), Ok("-1234567890.1234"));
        assert_eq!(decimal(2, 2, &[0x80]).as_deref(), Ok("0.00"));
        assert_eq!(decimal(4, 2, &[0x80, 5]).as_deref(), Ok("0.05"));
    }

    #[test]
    fn what_no_server_writes_is_broken() {
        assert!(decimal(4, 2, &[]).is_err());
        assert!(decimal(4, 2, &[0x80]).is_err());
        assert!(decimal(4, 2, &[0x80, 5, 0]).is_err());
        assert!(decimal(4, 2, &[0xff, 5]).is_err());
        assert!(decimal(9, 0, &[0xff; 4]).is_err());
    }
}
