//! FLOAT and DOUBLE: as few digits as tell the number from its neighbours, in the form that the servers' `my_gcvt` chooses.
//!
//! Both flavours write a DOUBLE of undetermined scale so. The number is written out where its first digit is at most 14 places
//! after the point, and at most 15 digits are before it or there are digits after it; with an exponent otherwise.

use crate::Broken;
use crate::cell::{self, Short};

/// Digits before the point (negative: zeros after it) that are written out, `MAX_DECPT_FOR_F_FORMAT` of the servers.
const PLAIN: i32 = 15;

/// The longest text: a sign, 17 digits, a point and 15 zeros.
pub type Text = Short<40>;

/// Appends a FLOAT or DOUBLE as a cell; `digits` of ZEROFILL, or 0.
#[inline]
pub fn put(stored: &[u8], digits: u8, out: &mut Vec<u8>) -> Result<(), Broken> {
    let mut text = Text::new();
    let value = match *stored {
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => return Err(Broken("DOUBLE of this length")),
    };
    write(value, &mut text)?;
    match digits {
        0 => text.put(out),
        _ => cell::zerofill(text.text(), digits, out),
    }
    Ok(())
}

/// Writes a number.
pub fn write(value: f64, text: &mut Text) -> Result<(), Broken> {
    if !value.is_finite() {
        return Err(Broken("number: infinite, or none at all"));
    }
    if value.is_sign_negative() {
        text.byte(b'-');
    }
    let value = value.abs();
    // Whole numbers of up to 15 digits are exact, and written out.
    if value < 1e15 && value.trunc() == value {
        text.number(value as u64);
        return Ok(());
    }
    let mut buffer = zmij::Buffer::new();
    let digits = Digits::of(buffer.format_finite(value));
    digits.write(text);
    Ok(())
}

/// The digits that matter, and where the point is: 0.DIGITS × 10^point.
struct Digits {
    digits: [u8; 20],
    count: usize,
    point: i32,
}

impl Digits {
    /// From a number in words, in whatever form.
    fn of(words: &str) -> Digits {
        let mut all = Digits {
            digits: [0; 20],
            count: 0,
            point: 0,
        };
        let (mantissa, exponent) = words.split_once(['e', 'E']).unwrap_or((words, "0"));
        let mut fraction = false;
        let mut zeros = 0;
        for c in mantissa.bytes() {
            match c {
                b'.' => fraction = true,
                b'0' if all.count == 0 => all.point -= i32::from(fraction),
                b'0' => {
                    zeros += 1;
                    all.point += i32::from(!fraction);
                }
                _ => {
                    // Zeros count only if digits follow.
                    for digit in std::iter::repeat_n(b'0', std::mem::take(&mut zeros)).chain([c]) {
                        if let Some(place) = all.digits.get_mut(all.count) {
                            *place = digit;
                            all.count += 1;
                        }
                    }
                    all.point += i32::from(!fraction);
                }
            }
        }
        all.point += exponent.parse::<i32>().unwrap_or(0);
        all
    }

    fn write(&self, text: &mut Text) {
        let digits = &self.digits[..self.count];
        let count = self.count as i32;
        if self.point > -PLAIN && (self.point <= PLAIN || count > self.point) {
            if self.point <= 0 {
                text.bytes(b"0.");
                for _ in self.point..0 {
                    text.byte(b'0');
                }
                text.bytes(digits);
            } else if count > self.point {
                let (whole, fraction) = digits.split_at(self.point as usize);
                text.bytes(whole);
                text.byte(b'.');
                text.bytes(fraction);
            } else {
                text.bytes(digits);
                for _ in count..self.point {
                    text.byte(b'0');
                }
            }
            return;
        }
        text.bytes(&digits[..1]);
        if count > 1 {
            text.byte(b'.');
            text.bytes(&digits[1..]);
        }
        text.byte(b'e');
        let exponent = self.point - 1;
        if exponent < 0 {
            text.byte(b'-');
        }
        text.number(exponent.unsigned_abs().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: f64) -> String {
        let mut out = Vec::new();
        put(&value.to_le_bytes(), 0, &mut out).expect("finite");
        String::from_utf8(out[1..].to_vec()).expect("ASCII")
    }

    /// As MySQL 9.7 and MariaDB 10.11 write them.
    #[test]
    fn the_form_is_the_servers() {
        for (value, wanted) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (-42.0, "-42"),
            (999_999_999_999_999.0, "999999999999999"),
            (1e15, "1e15"),
            (1_234_567_890_123_456.0, "1.234567890123456e15"),
            (1_234_567_890_123_456.5, "1234567890123456.5"),
            (1e-15, "0.000000000000001"),
            (1.25e-15, "0.00000000000000125"),
            (1e-16, "1e-16"),
            (1e100, "1e100"),
            (-1.7976931348623157e308, "-1.7976931348623157e308"),
            (5e-324, "5e-324"),
            (f64::from(0.1f32), "0.10000000149011612"),
            (9_007_199_254_740_993.0, "9.007199254740992e15"),
        ] {
            assert_eq!(written(value), wanted, "{value:e}");
        }
        assert!(put(&f64::NAN.to_le_bytes(), 0, &mut Vec::new()).is_err());
        assert!(put(&f32::INFINITY.to_le_bytes(), 0, &mut Vec::new()).is_err());
        assert!(put(&[0; 3], 0, &mut Vec::new()).is_err());
    }
}
