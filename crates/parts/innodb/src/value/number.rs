//! Numbers: whole ones with the sign bit turned over, so that bytes compare as
//! numbers do; DECIMAL in groups of nine digits; years.

use super::Wrong;

/// Bytes that hold so many digits of DECIMAL, 0 to 9.
const DIGIT_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Digits in a full group.
const GROUP: usize = 9;

/// The lowest bytes of a number, highest first.
#[inline]
pub fn big_endian(n: u64, bytes: u8, out: &mut Vec<u8>) {
    let all = n.to_be_bytes();
    // Copies of a length that is known are an instruction or two.
    match bytes {
        1 => out.push(all[7]),
        2 => out.extend_from_slice(&all[6..]),
        3 => out.extend_from_slice(&all[5..]),
        4 => out.extend_from_slice(&all[4..]),
        8 => out.extend_from_slice(&all),
        n => out.extend_from_slice(&all[8 - usize::from(n)..]),
    }
}

pub fn integer(text: &[u8], bytes: u8, unsigned: bool, out: &mut Vec<u8>) -> Result<(), Wrong> {
    let wrong = Wrong("number");
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let n = whole(digits).ok_or(wrong)?;
    let bits = u32::from(bytes) * 8;
    let stored = if unsigned {
        if negative && n != 0 || bits < 64 && n >> bits != 0 {
            return Err(wrong);
        }
        n
    } else {
        let half = 1u64 << (bits - 1);
        if n > half || n == half && !negative {
            return Err(wrong);
        }
        // The sign bit turned over: smallest first.
        if negative { half - n } else { half + n }
    };
    big_endian(stored, bytes, out);
    Ok(())
}

/// Digits of the longest whole number.
const LONGEST: usize = 20;

fn whole(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut n = 0u64;
    for d in digits {
        let d = d.wrapping_sub(b'0');
        if d > 9 {
            return None;
        }
        n = if digits.len() < LONGEST {
            n * 10 + u64::from(d)
        } else {
            n.checked_mul(10)?.checked_add(u64::from(d))?
        };
    }
    Some(n)
}

pub fn year(text: &[u8], out: &mut Vec<u8>) -> Result<(), Wrong> {
    match whole(text) {
        Some(0) => out.push(0),
        Some(year @ 1901..=2155) => out.push((year - 1900) as u8),
        _ => return Err(Wrong("YEAR")),
    }
    Ok(())
}

/// The value that servers take text for: the nearest double.
pub fn float(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let plain = text
        .bytes()
        .all(|c| c.is_ascii_digit() || b"+-.eE".contains(&c));
    text.parse().ok().filter(|n: &f64| plain && n.is_finite())
}

pub fn decimal(text: &[u8], digits: u8, scale: u8, out: &mut Vec<u8>) -> Result<(), Wrong> {
    let wrong = Wrong("DECIMAL");
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (before, behind) = match text.iter().position(|c| *c == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[][..]),
    };
    let (places, scale) = (usize::from(digits - scale), usize::from(scale));
    let zeroes = before.iter().take_while(|c| **c == b'0').count();
    let before = &before[zeroes..];
    let is_digits = |d: &[u8]| d.iter().all(u8::is_ascii_digit);
    if before.len() > places
        || behind.len() > scale
        || !is_digits(before)
        || !is_digits(behind)
        || text.is_empty()
    {
        return Err(wrong);
    }
    let start = out.len();
    // All digits, in the places of the type.
    let mut all = [b'0'; 65 + GROUP];
    all[places - before.len()..places].copy_from_slice(before);
    all[places..places + behind.len()].copy_from_slice(behind);
    let mut at = 0;
    let mut group = |n: usize, out: &mut Vec<u8>| {
        let value = all[at..at + n]
            .iter()
            .fold(0u32, |v, d| v * 10 + u32::from(d - b'0'));
        at += n;
        out.extend_from_slice(&value.to_be_bytes()[4 - DIGIT_BYTES[n]..]);
    };
    if places % GROUP > 0 {
        group(places % GROUP, out);
    }
    for _ in 0..places / GROUP + scale / GROUP {
        group(GROUP, out);
    }
    if scale % GROUP > 0 {
        group(scale % GROUP, out);
    }
    // Zero has no sign.
    if negative && out[start..].iter().any(|b| *b != 0) {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
    if let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
    Ok(())
}
