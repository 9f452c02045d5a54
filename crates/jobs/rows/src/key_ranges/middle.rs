//! Guesses of values between two key values. A guess only decides where to look for an existing key: a
//! bad guess costs a query, never a row.

use super::Kind;

/// Values that may lie between `low` and `high`, best first; both as the server printed them.
pub fn guesses(kind: &Kind, low: &[u8], high: &[u8]) -> Vec<Vec<u8>> {
    let found = match kind {
        Kind::Integer => numbers(low, high),
        Kind::Decimal => decimals(low, high),
        Kind::Float => floats(low, high),
        Kind::Temporal => temporals(low, high),
        Kind::Text {
            charset,
            ignores_case: folds,
        } => match charset.as_str() {
            "utf8mb4" | "utf8mb3" | "utf8" => texts(low, high, *folds),
            "ucs2" | "utf16" | "utf16le" | "utf32" | "big5" | "gbk" | "gb2312" | "gb18030"
            | "sjis" | "cp932" | "euckr" | "ujis" | "eucjpms" => None,
            // One byte for each character; the order of the upper half is not known, the lower half is
            // ASCII.
            _ if *folds => Some(bytes(
                &low.to_ascii_lowercase(),
                &high.to_ascii_lowercase(),
                b'~',
            )),
            _ => Some(bytes(low, high, b'~')),
        },
        Kind::Binary => Some(bytes(low, high, 0xff)),
        Kind::Other => None,
    };
    let mut list = found.unwrap_or_default();
    list.retain(|g| g != low);
    list.dedup();
    list
}

fn parse<T: std::str::FromStr>(v: &[u8]) -> Option<T> {
    std::str::from_utf8(v).ok()?.parse().ok()
}

fn numbers(low: &[u8], high: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (a, b): (i128, i128) = (parse(low)?, parse(high)?);
    if a.unsigned_abs() > LARGEST || b.unsigned_abs() > LARGEST {
        return None;
    }
    Some(between(a, b).map(|m| m.to_string().into_bytes()).collect())
}

/// Numbers up to here can be added and multiplied by four without overflow.
const LARGEST: u128 = i128::MAX as u128 / 8;

/// Middle, then quarters, without the ends.
fn between(a: i128, b: i128) -> impl Iterator<Item = i128> {
    [(1, 2), (1, 4), (3, 4)]
        .into_iter()
        .map(move |(n, d)| a + (b - a) * n / d)
        .filter(move |m| *m > a && *m <= b)
}

fn decimals(low: &[u8], high: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (a, sa) = unscaled(low)?;
    let (b, sb) = unscaled(high)?;
    let scale = sa.max(sb);
    let a = a.checked_mul(10i128.checked_pow(scale - sa)?)?;
    let b = b.checked_mul(10i128.checked_pow(scale - sb)?)?;
    if a.unsigned_abs() > LARGEST || b.unsigned_abs() > LARGEST {
        return None;
    }
    Some(
        between(a, b)
            .map(|m| {
                let digits = format!("{:0>width$}", m.unsigned_abs(), width = scale as usize + 1);
                let (whole, part) = digits.split_at(digits.len() - scale as usize);
                let sign = if m < 0 { "-" } else { "" };
                let point = if scale > 0 { "." } else { "" };
                format!("{sign}{whole}{point}{part}").into_bytes()
            })
            .collect(),
    )
}

fn unscaled(v: &[u8]) -> Option<(i128, u32)> {
    let t = std::str::from_utf8(v).ok()?;
    let scale = t.split_once('.').map_or(0, |(_, f)| f.len());
    Some((
        t.replacen('.', "", 1).parse().ok()?,
        u32::try_from(scale).ok()?,
    ))
}

fn floats(low: &[u8], high: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (a, b): (f64, f64) = (parse(low)?, parse(high)?);
    let m = a / 2.0 + b / 2.0;
    (m.is_finite() && m > a && m <= b).then(|| vec![format!("{m:e}").into_bytes()])
}

/// Microseconds since year 0, or of a TIME; the shape of the text is kept.
fn temporals(low: &[u8], high: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (a, shape) = ticks(std::str::from_utf8(low).ok()?)?;
    let (b, _) = ticks(std::str::from_utf8(high).ok()?)?;
    Some(
        between(a, b)
            .map(|m| print_ticks(m, shape).into_bytes())
            .collect(),
    )
}

#[derive(Clone, Copy)]
enum Shape {
    Date,
    DateTime,
    Time,
}

const SECOND: i128 = 1_000_000;
const DAY: i128 = 86_400 * SECOND;

fn ticks(t: &str) -> Option<(i128, Shape)> {
    let clock = |t: &str| -> Option<i128> {
        let (main, fraction) = t.split_once('.').unwrap_or((t, ""));
        let mut parts = main
            .split(':')
            .map(|p| p.parse::<i32>().map(i128::from).ok());
        let (h, m, s) = (parts.next()??, parts.next()??, parts.next()??);
        let micros: i128 = if fraction.is_empty() {
            0
        } else {
            format!("{fraction:0<6}").get(..6)?.parse().ok()?
        };
        Some(((h * 60 + m) * 60 + s) * SECOND + micros)
    };
    // Longer than any value of the servers: not a time, and arithmetic could overflow.
    if t.len() > 40 {
        return None;
    }
    let date = |t: &str| -> Option<i128> {
        let mut parts = t.split('-').map(|p| p.parse::<i32>().map(i128::from).ok());
        let (y, m, d) = (parts.next()??, parts.next()??, parts.next()??);
        // Zero months and days count as the first; only the order matters here.
        Some(days(y, m.max(1), d.max(1)) * DAY)
    };
    if let Some((d, c)) = t.split_once(' ') {
        return Some((date(d)? + clock(c)?, Shape::DateTime));
    }
    if let Some(negative) = t.strip_prefix('-') {
        return Some((-clock(negative)?, Shape::Time));
    }
    if t.contains(':') {
        return Some((clock(t)?, Shape::Time));
    }
    Some((date(t)?, Shape::Date))
}

fn print_ticks(ticks: i128, shape: Shape) -> String {
    let clock = |t: i128| {
        let s = t / SECOND;
        format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
    };
    match shape {
        Shape::Time if ticks < 0 => format!("-{}", clock(-ticks)),
        Shape::Time => clock(ticks),
        Shape::Date | Shape::DateTime => {
            let (y, m, d) = civil(ticks.div_euclid(DAY));
            let day = format!("{y:04}-{m:02}-{d:02}");
            match shape {
                Shape::Date => day,
                _ => format!("{day} {}", clock(ticks.rem_euclid(DAY))),
            }
        }
    }
}

/// Days since 0000-03-01 of the proleptic Gregorian calendar (years begin in
/// March, so that the leap day is a year's last).
fn days(y: i128, m: i128, d: i128) -> i128 {
    let (y, m) = if m > 2 { (y, m - 3) } else { (y - 1, m + 9) };
    y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + d - 1
}

/// The inverse of [`days`].
fn civil(n: i128) -> (i128, i128, i128) {
    let era = n.div_euclid(146_097);
    let doe = n.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (m, next) = if mp < 10 { (mp + 3, 0) } else { (mp - 9, 1) };
    (yoe + era * 400 + next, m, doy - (153 * mp + 2) / 5 + 1)
}

fn texts(low: &[u8], high: &[u8], folds: bool) -> Option<Vec<Vec<u8>>> {
    let (a, b) = (
        std::str::from_utf8(low).ok()?,
        std::str::from_utf8(high).ok()?,
    );
    // Where case makes no difference, `a` and `B` are neighbours: fold, so that the halves are about even.
    let fold = |c: char| if folds { c.to_ascii_lowercase() } else { c };
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().map(fold).collect(), b.chars().map(fold).collect());
    let codes = |v: &[char]| v.iter().map(|c| *c as u32).collect::<Vec<u32>>();
    let lists = interpolate(&codes(&a), &codes(&b), '~' as u32);
    let mut out: Vec<Vec<u8>> = Vec::new();
    for list in lists {
        let text: Option<String> = list.into_iter().map(char::from_u32).collect();
        out.extend(text.map(String::into_bytes));
    }
    Some(out)
}

fn bytes(low: &[u8], high: &[u8], top: u8) -> Vec<Vec<u8>> {
    let wide = |v: &[u8]| v.iter().map(|b| u32::from(*b)).collect::<Vec<u32>>();
    interpolate(&wide(low), &wide(high), u32::from(top))
        .into_iter()
        .map(|v| v.into_iter().map(|n| n.min(255) as u8).collect())
        .collect()
}

/// Values between two strings of digits: after their common start, the middle
/// of the first digits that differ; then the start of the higher one; then a
/// step further into the lower one.
fn interpolate(a: &[u32], b: &[u32], top: u32) -> Vec<Vec<u32>> {
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let prefix = &a[..same];
    let at = |v: &[u32], i: usize| v.get(i).copied();
    let (x, y) = (at(a, same).unwrap_or(0), at(b, same).unwrap_or(top));
    let (x, y) = (x.min(y), x.max(y));
    let with = |tail: &[u32]| [prefix, tail].concat();
    let mut out = Vec::new();
    let step = |n: u32, d: u32| x + ((u64::from(y - x) * u64::from(n)) / u64::from(d)) as u32;
    if y - x > 1 {
        out.push(with(&[step(1, 2)]));
    }
    // Everything that begins as the higher one does, against everything before.
    out.push(with(&[y]));
    // Further into the lower one: its next digit, half way to the top.
    if let Some(&lower) = a.get(same) {
        let next = at(a, same + 1).unwrap_or(0);
        if next < top {
            out.push(with(&[lower, next + (top - next).div_ceil(2)]));
        }
    }
    if y - x > 3 {
        out.push(with(&[step(1, 4)]));
        out.push(with(&[step(3, 4)]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(kind: Kind, low: &str, high: &str) -> String {
        let g = guesses(&kind, low.as_bytes(), high.as_bytes());
        String::from_utf8(g.first().cloned().unwrap_or_default()).unwrap()
    }

    #[test]
    fn middles_of_every_kind() {
        assert_eq!(
            first(Kind::Integer, "0", "18446744073709551615"),
            "9223372036854775807"
        );
        assert_eq!(first(Kind::Integer, "-10", "-2"), "-6");
        // Neighbours have nothing between them; the splitter tries the higher one by itself.
        assert_eq!(first(Kind::Integer, "1", "2"), "");
        assert_eq!(first(Kind::Decimal, "-0.10", "0.20"), "0.05");
        assert_eq!(first(Kind::Decimal, "-0.30", "0.10"), "-0.10");
        assert_eq!(
            first(Kind::Temporal, "2020-01-01", "2020-01-31"),
            "2020-01-16"
        );
        assert_eq!(
            first(Kind::Temporal, "2020-02-28 00:00:00", "2020-03-01 00:00:00"),
            "2020-02-29 00:00:00"
        );
        assert_eq!(first(Kind::Temporal, "-01:00:00", "03:00:00"), "01:00:00");
        assert_eq!(
            first(Kind::Temporal, "0000-00-00", "0000-01-09"),
            "0000-01-05"
        );
        let text = || Kind::Text {
            charset: "utf8mb4".into(),
            ignores_case: true,
        };
        assert_eq!(first(text(), "usr/a", "usr/e"), "usr/c");
        assert_eq!(first(text(), "a", "b"), "b");
        assert_eq!(first(text(), "usr/LICENSE", "usr/libexec"), "usr/lic");
        let binary = || Kind::Text {
            charset: "utf8mb4".into(),
            ignores_case: false,
        };
        assert_eq!(first(binary(), "usr/LICENSE", "usr/libexec"), "usr/\\");
        assert_eq!(
            guesses(&Kind::Binary, &[1, 0, 7], &[1, 4]).first(),
            Some(&vec![1, 2])
        );
    }

    #[test]
    fn civil_is_the_inverse_of_days() {
        for n in (-800_000..4_000_000).step_by(37) {
            let (y, m, d) = civil(n);
            assert_eq!(days(y, m, d), n, "{y}-{m}-{d}");
        }
    }
}
