//! Length-encoded cells (MySQL's protocol documentation, "Length-Encoded String"), and digits in them.
//!
//! A short text is put together in an array whose first byte is kept for the length: copying a fixed number of
//! bytes and cutting the rest off takes fewer instructions than copying as many as there are.

use crate::Broken;
use std::borrow::BorrowMut;

/// Bytes that a length in one byte can say.
pub const SHORT: usize = 250;

/// Two digits for each number below 100.
static PAIRS: [[u8; 2]; 100] = {
    let mut all = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        all[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    all
};

/// Appends bytes as a cell.
#[inline]
pub fn put(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.len() <= SHORT {
        out.push(bytes.len() as u8);
    } else {
        length(bytes.len(), out);
    }
    out.extend_from_slice(bytes);
}

/// Appends a number as a cell, with zeros before it up to so many digits (ZEROFILL).
pub fn zerofill(number: &[u8], digits: u8, out: &mut Vec<u8>) {
    let zeros = usize::from(digits).saturating_sub(number.len());
    length(zeros + number.len(), out);
    out.resize(out.len() + zeros, b'0');
    out.extend_from_slice(number);
}

/// Appends the length of a cell.
pub fn length(bytes: usize, out: &mut Vec<u8>) {
    let bytes = bytes as u64;
    let le = bytes.to_le_bytes();
    match bytes {
        0..=250 => out.push(bytes as u8),
        251..=0xffff => out.extend_from_slice(&[0xfc, le[0], le[1]]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, le[0], le[1], le[2]]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&le);
        }
    }
}

/// Eight digits of a number below 10^8, the first one in the low byte, each as a number.
#[inline]
pub fn eight_digits(n: u32) -> u64 {
    // Halves of four digits, then pairs, then digits, all at once; the products are exact for what they divide.
    let halves = u64::from(n / 10_000) | u64::from(n % 10_000) << 32;
    let hundreds = ((halves * 10_486) >> 20) & 0x7f_0000_007f;
    let pairs = hundreds | (halves - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (pairs - tens * 10) << 8
}

/// Zeros as text in every byte.
pub const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Three digits of each number below 1000 as text, the first one in the low byte.
static THREE: [u32; 1000] = {
    let mut all = [0; 1000];
    let mut n = 0;
    while n < 1000 {
        all[n as usize] = (n / 100) | ((n / 10 % 10) << 8) | ((n % 10) << 16) | 0x30_3030;
        n += 1;
    }
    all
};

/// The same without zeros before it, and above them how many digits it has.
static THOUSAND: [u32; 1000] = {
    let mut all = THREE;
    let mut n = 0;
    while n < 1000 {
        let digits = 1 + (n >= 10) as u32 + (n >= 100) as u32;
        all[n] = (all[n] >> (8 * (3 - digits))) | (digits << 24);
        n += 1;
    }
    all
};

/// Three digits of a number below 1000, as text, the first one in the low byte.
#[inline]
pub fn three_digits(n: u32) -> u32 {
    THREE[n as usize % 1000]
}

/// The text of a number below 10^8, first digit in the low byte, and how many digits it has. Most numbers are found in a
/// table that stays in the nearest cache; the others, without a branch, because numbers of a column differ in length from
/// row to row.
#[inline]
pub fn small_number(n: u32) -> (u64, u32) {
    if let Some(text) = THOUSAND.get(n as usize) {
        return (u64::from(text & 0xff_ffff), text >> 24);
    }
    if let Some(high) = THOUSAND.get((n / 1000) as usize) {
        let (text, length) = (u64::from(high & 0xff_ffff), high >> 24);
        let low = u64::from(three_digits(n % 1000));
        return (text | (low << (8 * length)), length + 3);
    }
    let digits = eight_digits(n);
    let zeros = (digits.trailing_zeros() / 8).min(7);
    ((digits | ZEROS) >> (8 * zeros), 8 - zeros)
}

/// Appends a cell of at most 15 bytes that are in one number, the first one lowest.
#[inline]
pub fn word(text: u128, length: u32, out: &mut Vec<u8>) {
    let end = out.len() + 1 + length as usize;
    let cell = text << 8 | u128::from(length);
    out.extend_from_slice(&cell.to_le_bytes());
    out.truncate(end);
}

/// A short text while it is put together, in its own bytes or at the end of what it is appended to.
#[derive(Debug)]
pub struct Short<const N: usize, B: BorrowMut<[u8; N]> = [u8; N]> {
    bytes: B,
    end: usize,
}

/// Appends a short text as a cell, put together in its place: to copy it right after it was written byte by byte would
/// make the processor wait for those bytes. After an error, nothing has been appended.
#[inline]
pub fn in_place<const N: usize>(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Short<N, &mut [u8; N]>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let start = out.len();
    out.extend_from_slice(&[b'0'; N]);
    let Some(bytes) = out[start..].first_chunk_mut::<N>() else {
        return Err(Broken("text of this length"));
    };
    let mut text = Short { bytes, end: 1 };
    if let Err(broken) = write(&mut text) {
        out.truncate(start);
        return Err(broken);
    }
    let end = text.end;
    text.bytes[0] = (end - 1) as u8;
    out.truncate(start + end);
    Ok(())
}

impl<const N: usize> Short<N> {
    /// Nothing yet.
    #[inline]
    pub fn new() -> Short<N> {
        const { assert!(N > 8 && N <= SHORT) };
        Short {
            bytes: [b'0'; N],
            end: 1,
        }
    }

    /// The text so far.
    pub fn text(&self) -> &[u8] {
        &self.bytes[1..self.end]
    }

    /// Appends it as a cell.
    #[inline]
    pub fn put(mut self, out: &mut Vec<u8>) {
        self.bytes[0] = (self.end - 1) as u8;
        let end = out.len() + self.end;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }
}

impl<const N: usize> Default for Short<N> {
    fn default() -> Short<N> {
        Short::new()
    }
}

impl<const N: usize, B: BorrowMut<[u8; N]>> Short<N, B> {
    /// Adds a byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.bytes.borrow_mut()[self.end] = byte;
        self.end += 1;
    }

    /// Adds bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.borrow_mut()[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Adds a number below 100 in two digits.
    #[inline]
    pub fn pair(&mut self, n: u32) {
        self.bytes(&PAIRS[n as usize % 100]);
    }

    /// Adds a number in so many digits, with zeros before it; digits that there is no room for are lost.
    #[inline]
    pub fn padded(&mut self, mut n: u64, digits: usize) {
        let end = self.end + digits;
        let mut at = end;
        while at >= self.end + 2 {
            at -= 2;
            self.bytes.borrow_mut()[at..at + 2].copy_from_slice(&PAIRS[(n % 100) as usize]);
            n /= 100;
        }
        if at > self.end {
            self.bytes.borrow_mut()[self.end] = b'0' + (n % 10) as u8;
        }
        self.end = end;
    }

    /// Adds a number.
    #[inline]
    pub fn number(&mut self, n: u64) {
        // The division of 32 bits is the faster one, and most numbers are small.
        match u32::try_from(n) {
            Ok(n) if n < 10 => self.byte(b'0' + n as u8),
            Ok(n) => self.number32(n),
            Err(_) => self.padded(n, n.ilog10() as usize + 1),
        }
    }

    #[inline]
    fn number32(&mut self, mut n: u32) {
        let end = self.end + n.ilog10() as usize + 1;
        let mut at = end;
        while at >= self.end + 2 {
            at -= 2;
            self.bytes.borrow_mut()[at..at + 2].copy_from_slice(&PAIRS[(n % 100) as usize]);
            n /= 100;
        }
        if at > self.end {
            self.bytes.borrow_mut()[self.end] = b'0' + n as u8;
        }
        self.end = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_protocol() {
        for (bytes, wanted) in [
            (0, &b"\0"[..]),
            (250, b"\xfa"),
            (251, b"\xfc\xfb\0"),
            (65_535, b"\xfc\xff\xff"),
            (65_536, b"\xfd\0\0\x01"),
            (1 << 24, b"\xfe\0\0\0\x01\0\0\0\0"),
        ] {
            let mut out = Vec::new();
            put(&vec![b'x'; bytes], &mut out);
            assert_eq!(&out[..wanted.len()], wanted);
            assert_eq!(out.len(), wanted.len() + bytes);
        }
    }

    #[test]
    fn small_numbers_are_written_as_others_are() {
        for n in (0..100_000_000u32)
            .step_by(7919)
            .chain(0..10_000)
            .chain([999_999, 1_000_000, 9_999_999, 10_000_000, 99_999_999])
        {
            let mut out = vec![b'x'];
            let (text, length) = small_number(n);
            word(text.into(), length, &mut out);
            assert_eq!(
                out[1..],
                [&[length as u8], n.to_string().as_bytes()].concat()[..]
            );
            let all = (eight_digits(n) | ZEROS).to_le_bytes();
            assert_eq!(all, format!("{n:08}").as_bytes());
        }
    }

    #[test]
    fn digits_are_those_of_the_number() {
        let mut n = 0u64;
        loop {
            for n in [n, n + 1, n.saturating_sub(1), n * 5 % (1 << 33)] {
                let mut text = Short::<24>::new();
                text.number(n);
                assert_eq!(text.text(), n.to_string().as_bytes());
                let mut text = Short::<24>::new();
                text.padded(n, 20);
                assert_eq!(text.text(), format!("{n:020}").as_bytes());
            }
            match n.checked_mul(3) {
                Some(more) if more < u64::MAX / 5 => n = more + 1,
                _ => break,
            }
        }
        let mut text = Short::<24>::new();
        text.number(u64::MAX);
        assert_eq!(text.text(), u64::MAX.to_string().as_bytes());
    }
}
