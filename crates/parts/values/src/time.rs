//! Dates and times, in the formats since MySQL 5.6 and the two before it.
//!
//! New: bits side by side, the high byte first, with an offset for the sign; a fraction in one to three bytes after them
//! (`my_datetime_packed_to_binary` of the servers). Old without a fraction: decimal digits as a number,
//! `20240229123456`. Old with a fraction, MariaDB 5.3 only: a number of microseconds in mixed radix.
//! Days are not checked against months: servers keep `2024-02-30` where `ALLOW_INVALID_DATES` is set.

use crate::Broken;
use crate::cell::{self, Short};
use crate::number::big_endian;
use std::borrow::BorrowMut;

/// Powers of ten: units of a second's fraction by its digits.
const UNITS: [u64; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// Bytes of `2024-02-29`.
const DATE: u8 = 10;
/// Bytes of `2024-02-29 12:34:56`.
const DATE_TIME: u8 = 19;

/// The longest text: `2024-02-29 12:34:56.123456`.
pub type Text = Short<40>;

/// Bytes of a fraction of so many digits.
pub const fn fraction_bytes(digits: u8) -> usize {
    digits.div_ceil(2) as usize
}

/// Bytes of TIME and DATETIME of before MySQL 5.6, with so many digits of a fraction.
pub const fn old_bytes(date: bool, digits: u8) -> usize {
    let time = [3, 4, 4, 5, 5, 5, 6];
    let date_time = [8, 6, 6, 7, 7, 7, 8];
    if date {
        date_time[digits as usize]
    } else {
        time[digits as usize]
    }
}

/// A point in time, or a time, in its parts.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    /// In units of its digits.
    fraction: u64,
}

impl Parts {
    fn date<B: BorrowMut<[u8; 40]>>(self, text: &mut Short<40, B>) -> Result<(), Broken> {
        if self.year > 9999 || self.month > 12 || self.day > 31 {
            return Err(Broken("date"));
        }
        text.pair(self.year as u32 / 100);
        text.pair(self.year as u32 % 100);
        text.byte(b'-');
        text.pair(self.month as u32);
        text.byte(b'-');
        text.pair(self.day as u32);
        Ok(())
    }

    /// The time of day; of TIME, hours may be three digits.
    fn time<B: BorrowMut<[u8; 40]>>(
        self,
        hours: u64,
        digits: u8,
        text: &mut Short<40, B>,
    ) -> Result<(), Broken> {
        if self.hour > hours || self.minute > 59 || self.second > 59 {
            return Err(Broken("time"));
        }
        if self.fraction >= UNITS[usize::from(digits)] {
            return Err(Broken("fraction of a second"));
        }
        if self.hour > 99 {
            text.number(self.hour);
        } else {
            text.pair(self.hour as u32);
        }
        text.byte(b':');
        text.pair(self.minute as u32);
        text.byte(b':');
        text.pair(self.second as u32);
        if digits > 0 {
            text.byte(b'.');
            text.padded(self.fraction, digits.into());
        }
        Ok(())
    }

    fn date_time<B: BorrowMut<[u8; 40]>>(
        self,
        digits: u8,
        text: &mut Short<40, B>,
    ) -> Result<(), Broken> {
        self.date(text)?;
        text.byte(b' ');
        self.time(23, digits, text)
    }

    /// Appends `YYYY-MM-DD` or `YYYY-MM-DD hh:mm:ss` as a cell of so many bytes: digits of eight at once, and no branch
    /// but for what is no date.
    #[inline]
    fn plain(self, length: u8, out: &mut Vec<u8>) -> Result<(), Broken> {
        if self.year > 9999 || self.month > 12 || self.day > 31 {
            return Err(Broken("date"));
        }
        if self.hour > 23 || self.minute > 59 || self.second > 59 {
            return Err(Broken("time"));
        }
        let in_text = |n: u64| cell::eight_digits(n as u32) | cell::ZEROS;
        let date = in_text(self.year * 10_000 + self.month * 100 + self.day);
        let time = in_text(self.hour * 10_000 + self.minute * 100 + self.second);
        // Bytes of a number from one on, so many, put at another place.
        let put = |text: u64, from: u32, bytes: u32, to: u32| {
            ((text >> (8 * from)) & ((1 << (8 * bytes)) - 1)) << (8 * to)
        };
        let byte = |byte: u8, to: u32| u64::from(byte) << (8 * to);
        let start = byte(length, 0) | put(date, 0, 4, 1) | byte(b'-', 5) | put(date, 4, 2, 6);
        let middle = byte(b'-', 0)
            | put(date, 6, 2, 1)
            | byte(b' ', 3)
            | put(time, 2, 2, 4)
            | byte(b':', 6)
            | put(time, 4, 1, 7);
        let end = put(time, 5, 1, 0) | byte(b':', 1) | put(time, 6, 2, 2);
        let mut text = [0; 20];
        text[..8].copy_from_slice(&start.to_le_bytes());
        text[8..16].copy_from_slice(&middle.to_le_bytes());
        text[16..].copy_from_slice(&(end as u32).to_le_bytes());
        let cell = out.len() + 1 + usize::from(length);
        out.extend_from_slice(&text);
        out.truncate(cell);
        Ok(())
    }

    /// Hours, minutes and seconds in 10, 6 and 6 bits.
    fn of_bits(bits: u64) -> Parts {
        Parts {
            hour: bits >> 12 & 0x3ff,
            minute: bits >> 6 & 0x3f,
            second: bits & 0x3f,
            ..Parts::default()
        }
    }

    /// A date and time in bits: year × 13 + month, and 5, 5, 6 and 6 bits.
    fn of_date_bits(bits: u64) -> Parts {
        let months = bits >> 22;
        Parts {
            year: months / 13,
            month: months % 13,
            day: bits >> 17 & 0x1f,
            hour: bits >> 12 & 0x1f,
            ..Parts::of_bits(bits)
        }
    }

    /// The digits of `hhmmss` or `YYYYMMDDhhmmss`.
    fn of_digits(digits: u64) -> Parts {
        let (date, time) = (digits / 1_000_000, digits % 1_000_000);
        Parts {
            year: date / 10_000,
            month: date / 100 % 100,
            day: date % 100,
            hour: time / 10_000,
            minute: time / 100 % 100,
            second: time % 100,
            fraction: 0,
        }
    }

    /// A number of MariaDB 5.3: units of the fraction in 60 seconds, 60 minutes, 24 hours, 32 days, 13 months.
    fn of_radix(n: u64, digits: u8) -> Parts {
        let (n, fraction) = split(n, UNITS[usize::from(digits)]);
        let (n, second) = split(n, 60);
        let (n, minute) = split(n, 60);
        let (n, hour) = split(n, 24);
        let (n, day) = split(n, 32);
        let (year, month) = split(n, 13);
        Parts {
            year,
            month,
            day,
            hour,
            minute,
            second,
            fraction,
        }
    }

    /// A TIMESTAMP. Nothing at all is the zero date; MariaDB stores fractions of the first second.
    fn of_timestamp(seconds: u64, fraction: u64) -> Parts {
        match (seconds, fraction) {
            (0, 0) => Parts::default(),
            _ => Parts::of_seconds(seconds),
        }
    }

    /// Seconds since 1970 in UTC; the calendar's 400 years have 146,097 days, counted from March.
    fn of_seconds(seconds: u64) -> Parts {
        let (days, time) = split(seconds, 86_400);
        let days = days + 719_468;
        let (era, day) = split(days, 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, next) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        Parts {
            year: era * 400 + year + next,
            month,
            day,
            hour: time / 3600,
            minute: time / 60 % 60,
            second: time % 60,
            fraction: 0,
        }
    }
}

fn split(n: u64, by: u64) -> (u64, u64) {
    (n / by, n % by)
}

/// Whole and fraction of what is stored in so many bytes and those of the fraction; the fraction in its digits.
fn halves(stored: &[u8], bytes: usize, digits: u8) -> Result<(u64, u64), Broken> {
    if stored.len() != bytes + fraction_bytes(digits) {
        return Err(Broken("time of this length"));
    }
    let (whole, fraction) = stored.split_at(bytes);
    let fraction = if fraction.is_empty() {
        0
    } else {
        big_endian(fraction)
    };
    Ok((big_endian(whole), fraction))
}

/// A fraction of one to three bytes, which hold two digits each, in its digits.
fn in_digits(fraction: u64, digits: u8) -> u64 {
    fraction / if digits % 2 == 1 { 10 } else { 1 }
}

/// DATE: 15 bits of year, 4 of month and 5 of day.
#[inline]
pub fn date(stored: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
    let [_, _, _] = stored else {
        return Err(Broken("DATE of this length"));
    };
    let bits = big_endian(stored) ^ 0x80_0000;
    let parts = Parts {
        year: bits >> 9,
        month: bits >> 5 & 0xf,
        day: bits & 0x1f,
        ..Parts::default()
    };
    parts.plain(DATE, out)
}

/// TIME with so many digits of a fraction.
#[inline]
pub fn time(stored: &[u8], digits: u8, out: &mut Vec<u8>) -> Result<(), Broken> {
    if stored.len() != 3 + fraction_bytes(digits) {
        return Err(Broken("TIME of this length"));
    }
    // Whole and fraction are one number: of a negative time the fraction is, too.
    let bits = 8 * fraction_bytes(digits) as u32;
    let number = big_endian(stored) as i64 - (0x80_0000 << bits);
    let mut text = Text::new();
    if number < 0 {
        text.byte(b'-');
    }
    let number = number.unsigned_abs();
    let parts = Parts {
        fraction: in_digits(number & ((1 << bits) - 1), digits),
        ..Parts::of_bits(number >> bits)
    };
    parts.time(838, digits, &mut text)?;
    text.put(out);
    Ok(())
}

/// DATETIME with so many digits of a fraction.
#[inline]
pub fn date_time(stored: &[u8], digits: u8, out: &mut Vec<u8>) -> Result<(), Broken> {
    let (whole, fraction) = halves(stored, 5, digits)?;
    let Some(bits) = whole.checked_sub(0x80_0000_0000) else {
        return Err(Broken("DATETIME: negative"));
    };
    let parts = Parts {
        fraction: in_digits(fraction, digits),
        ..Parts::of_date_bits(bits)
    };
    if digits == 0 {
        return parts.plain(DATE_TIME, out);
    }
    cell::in_place(out, |text| parts.date_time(digits, text))
}

/// TIMESTAMP with so many digits of a fraction, in UTC.
#[inline]
pub fn timestamp(stored: &[u8], digits: u8, out: &mut Vec<u8>) -> Result<(), Broken> {
    let (seconds, fraction) = halves(stored, 4, digits)?;
    let parts = Parts {
        fraction: in_digits(fraction, digits),
        ..Parts::of_timestamp(seconds, fraction)
    };
    if digits == 0 {
        return parts.plain(DATE_TIME, out);
    }
    cell::in_place(out, |text| parts.date_time(digits, text))
}

/// YEAR; of two digits where `short`, which the canonical SELECT completes.
pub fn year(stored: &[u8], short: bool, out: &mut Vec<u8>) -> Result<(), Broken> {
    let [year] = *stored else {
        return Err(Broken("YEAR of this length"));
    };
    let year = u64::from(year);
    let mut text = Text::new();
    match (short, year) {
        (true, _) if year % 100 < 70 => text.number(2000 + year % 100),
        (true, _) => text.number(1900 + year % 100),
        (false, 0) => text.bytes(b"0000"),
        (false, _) => text.number(1900 + year),
    }
    text.put(out);
    Ok(())
}

/// What InnoDB's sign bit was turned round for: a whole number.
fn signed(stored: &[u8]) -> i64 {
    let bits = 8 * stored.len() as u32;
    (i128::from(big_endian(stored)) - (1i128 << (bits - 1))) as i64
}

/// TIME of before MySQL 5.6.
pub fn old_time(stored: &[u8], digits: u8, out: &mut Vec<u8>) -> Result<(), Broken> {
    if stored.len() != old_bytes(false, digits) {
        return Err(Broken("TIME of this length"));
    }
    let mut text = Text::new();
    let parts = if digits == 0 {
        let number = signed(stored);
        if number < 0 {
            text.byte(b'-');
        }
        let number = number.unsigned_abs();
        Parts {
            hour: number / 10_000,
            ..Parts::of_digits(number % 10_000)
        }
    } else {
        // Counted from a second before the lowest TIME, -838:59:59.
        let unit = UNITS[usize::from(digits)] as i64;
        let number = big_endian(stored) as i64 - 839 * 3600 * unit;
        if number < 0 {
            text.byte(b'-');
        }
        let (seconds, fraction) = split(number.unsigned_abs(), unit as u64);
        Parts {
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            fraction,
            ..Parts::default()
        }
    };
    parts.time(838, digits, &mut text)?;
    text.put(out);
    Ok(())
}

/// DATETIME of before MySQL 5.6.
pub fn old_date_time(stored: &[u8], digits: u8, out: &mut Vec<u8>) -> Result<(), Broken> {
    let parts = if digits == 0 {
        let [_, _, _, _, _, _, _, _] = stored else {
            return Err(Broken("DATETIME of this length"));
        };
        let number = u64::try_from(signed(stored)).map_err(|_| Broken("DATETIME: negative"))?;
        Parts::of_digits(number)
    } else if stored.len() == old_bytes(true, digits) {
        Parts::of_radix(big_endian(stored), digits)
    } else {
        return Err(Broken("DATETIME of this length"));
    };
    let mut text = Text::new();
    parts.date_time(digits, &mut text)?;
    text.put(out);
    Ok(())
}

/// TIMESTAMP of before MySQL 5.6, in UTC: the fraction has its own digits, not pairs of them.
pub fn old_timestamp(stored: &[u8], digits: u8, out: &mut Vec<u8>) -> Result<(), Broken> {
    let (seconds, fraction) = halves(stored, 4, digits)?;
    let parts = Parts {
        fraction,
        ..Parts::of_timestamp(seconds, fraction)
    };
    cell::in_place(out, |text| parts.date_time(digits, text))
}

/// A date or time inside a JSON document: the servers' packed number of eight bytes, the low one first; always with
/// six digits of a fraction. Writes it without a length.
pub fn packed<B: BorrowMut<[u8; 40]>>(
    stored: &[u8],
    kind: Packed,
    text: &mut Short<40, B>,
) -> Result<(), Broken> {
    let Ok(bytes) = <[u8; 8]>::try_from(stored) else {
        return Err(Broken("JSON: a time of another length"));
    };
    let number = i64::from_le_bytes(bytes);
    if number < 0 {
        text.byte(b'-');
    }
    let (whole, fraction) = split(number.unsigned_abs(), 1 << 24);
    match kind {
        Packed::Time => Parts {
            fraction,
            ..Parts::of_bits(whole)
        }
        .time(838, 6, text),
        Packed::Date => Parts::of_date_bits(whole).date(text),
        Packed::DateTime => Parts {
            fraction,
            ..Parts::of_date_bits(whole)
        }
        .date_time(6, text),
    }
}

/// What a packed number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packed {
    /// A time.
    Time,
    /// A date.
    Date,
    /// Both.
    DateTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(f: impl FnOnce(&mut Vec<u8>) -> Result<(), Broken>) -> Result<String, Broken> {
        let mut out = Vec::new();
        f(&mut out)?;
        assert_eq!(usize::from(out[0]), out.len() - 1);
        Ok(String::from_utf8(out[1..].to_vec()).expect("ASCII"))
    }

    /// Every day that a TIMESTAMP can say, against counting.
    #[test]
    fn days_follow_each_other() {
        let (mut year, mut month, mut day) = (1970u64, 1, 1);
        for n in 0..=u64::from(u32::MAX) / 86_400 {
            let parts = Parts::of_seconds(n * 86_400 + 3_661);
            assert_eq!((parts.year, parts.month, parts.day), (year, month, day));
            assert_eq!((parts.hour, parts.minute, parts.second), (1, 1, 1));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let days = match month {
                2 if leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > days {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn eight_digits_at_once_are_what_each_alone_is() {
        for n in 0..200_000u64 {
            let parts = Parts {
                year: n * 7 % 10_000,
                month: n % 13,
                day: n % 32,
                hour: n % 24,
                minute: n % 60,
                second: n * 11 % 60,
                fraction: 0,
            };
            let each = cell(|out| cell::in_place(out, |text| parts.date_time(0, text)));
            assert_eq!(cell(|out| parts.plain(DATE_TIME, out)), each);
            let each = cell(|out| cell::in_place(out, |text| parts.date(text)));
            assert_eq!(cell(|out| parts.plain(DATE, out)), each);
        }
    }

    #[test]
    fn the_fraction_of_a_negative_time_is_negative_too() {
        let of = |stored: &[u8], digits| cell(|out| time(stored, digits, out));
        assert_eq!(of(&[0x80, 0, 0], 0).as_deref(), Ok("00:00:00"));
        // -00:00:00.5, -00:00:01.5 and -00:00:01.000001.
        assert_eq!(
            of(&[0x7f, 0xff, 0xff, 0xce], 1).as_deref(),
            Ok("-00:00:00.5")
        );
        assert_eq!(
            of(&[0x7f, 0xff, 0xfe, 0xce], 2).as_deref(),
            Ok("-00:00:01.50")
        );
        let stored = [0x7f, 0xff, 0xfe, 0xff, 0xff, 0xff];
        assert_eq!(of(&stored, 6).as_deref(), Ok("-00:00:01.000001"));
    }

    #[test]
    fn what_no_server_writes_is_broken() {
        for length in 0..9 {
            let stored = [0xff; 9];
            let stored = &stored[..length];
            for digits in 0..=6 {
                assert!(cell(|out| time(stored, digits, out)).is_err());
                assert!(cell(|out| date_time(stored, digits, out)).is_err());
                assert!(cell(|out| date(stored, out)).is_err());
                assert!(cell(|out| old_time(stored, digits, out)).is_err());
                assert!(cell(|out| old_date_time(stored, digits, out)).is_err());
            }
        }
        assert!(cell(|out| date_time(&[0x7f; 5], 0, out)).is_err());
        // 100 hundredths.
        assert!(cell(|out| timestamp(&[1, 0, 0, 0, 100], 2, out)).is_err());
    }
}
