//! Dates and times, as servers since MySQL 5.6 and MariaDB 10.1 pack them.

/// Reads exactly this many digits.
fn digits(text: &mut &[u8], n: usize) -> Option<u64> {
    let (now, rest) = text.split_at_checked(n)?;
    *text = rest;
    let mut value = 0;
    for c in now {
        value = value * 10 + u64::from(c.is_ascii_digit().then_some(c - b'0')?);
    }
    Some(value)
}

fn expect(text: &mut &[u8], c: u8) -> Option<()> {
    *text = text.strip_prefix(&[c])?;
    Some(())
}

/// Microseconds after the point, at most so many digits, to the end of the text.
fn fraction(text: &[u8], most: u8) -> Option<u64> {
    if text.is_empty() {
        return Some(0);
    }
    let mut rest = text.strip_prefix(b".")?;
    let n = rest.len();
    if n > usize::from(most) || n == 0 {
        return None;
    }
    let value = digits(&mut rest, n)?;
    Some(value * 10u64.pow(6 - n as u32))
}

/// Year, month, day.
fn day(text: &mut &[u8]) -> Option<(u64, u64, u64)> {
    let year = digits(text, 4)?;
    expect(text, b'-')?;
    let month = digits(text, 2)?;
    expect(text, b'-')?;
    let day = digits(text, 2)?;
    (month <= 12 && day <= 31).then_some((year, month, day))
}

/// Minutes and seconds, after the hours.
fn clock(text: &mut &[u8]) -> Option<(u64, u64)> {
    expect(text, b':')?;
    let minute = digits(text, 2)?;
    expect(text, b':')?;
    let second = digits(text, 2)?;
    (minute < 60 && second < 60).then_some((minute, second))
}

/// The bytes that a fraction of a second takes.
fn put_fraction(micros: u64, digits: u8, out: &mut Vec<u8>) {
    match digits {
        1 | 2 => out.push((micros / 10_000) as u8),
        3 | 4 => out.extend_from_slice(&((micros / 100) as u16).to_be_bytes()),
        5 | 6 => out.extend_from_slice(&(micros as u32).to_be_bytes()[1..]),
        _ => {}
    }
}

pub fn date(mut text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (year, month, day) = day(&mut text)?;
    let packed = (year << 9) | (month << 5) | day;
    // A number of three bytes, whose sign is turned over.
    out.extend_from_slice(&(packed as u32 | 0x80_0000).to_be_bytes()[1..]);
    text.is_empty().then_some(())
}

pub fn date_time(mut text: &[u8], most: u8, out: &mut Vec<u8>) -> Option<()> {
    let (year, month, day) = day(&mut text)?;
    expect(&mut text, b' ')?;
    let hour = digits(&mut text, 2).filter(|h| *h < 24)?;
    let (minute, second) = clock(&mut text)?;
    let micros = fraction(text, most)?;
    let days = (year * 13 + month) << 5 | day;
    let packed = days << 17 | hour << 12 | minute << 6 | second;
    out.extend_from_slice(&(packed + 0x80_0000_0000).to_be_bytes()[3..]);
    put_fraction(micros, most, out);
    Some(())
}

pub fn time(text: &[u8], most: u8, out: &mut Vec<u8>) -> Option<()> {
    let (negative, mut text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let places = text
        .iter()
        .position(|c| *c == b':')
        .filter(|n| (2..=3).contains(n))?;
    let hour = digits(&mut text, places).filter(|h| *h <= 838)?;
    let (minute, second) = clock(&mut text)?;
    let micros = fraction(text, most)?;
    let packed = ((hour << 12 | minute << 6 | second) << 24 | micros) as i64;
    let packed = if negative { -packed } else { packed };
    // The whole part rounds down and the fraction keeps the sign, which a byte then wraps.
    let (whole, part) = (packed >> 24, packed % (1 << 24));
    if most > 4 {
        out.extend_from_slice(&(packed + 0x8000_0000_0000).to_be_bytes()[2..]);
        return Some(());
    }
    out.extend_from_slice(&(whole + 0x80_0000).to_be_bytes()[5..]);
    match most {
        1 | 2 => out.push((part / 10_000) as u8),
        3 | 4 => out.extend_from_slice(&((part / 100) as u16).to_be_bytes()),
        _ => {}
    }
    Some(())
}

pub fn timestamp(text: &[u8], most: u8, out: &mut Vec<u8>) -> Option<()> {
    let mut rest = text;
    let (year, month, day) = day(&mut rest)?;
    expect(&mut rest, b' ')?;
    let hour = digits(&mut rest, 2).filter(|h| *h < 24)?;
    let (minute, second) = clock(&mut rest)?;
    let micros = fraction(rest, most)?;
    let seconds = if (year, month, day) == (0, 0, 0) {
        (hour == 0 && minute == 0 && second == 0 && micros == 0).then_some(0)?
    } else if month == 0 || day == 0 {
        return None;
    } else {
        let days = days_since_1970(year as i64, month as i64, day as i64);
        let seconds = days * 86_400 + (hour * 3600 + minute * 60 + second) as i64;
        u32::try_from(seconds)
            .ok()
            .filter(|s| *s > 0 && *s <= i32::MAX as u32)?
    };
    out.extend_from_slice(&seconds.to_be_bytes());
    put_fraction(micros, most, out);
    Some(())
}

/// Days from 1970-01-01, in the Gregorian calendar (Hinnant's algorithm).
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + of_era - 719_468
}
