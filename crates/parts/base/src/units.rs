//! How quantities are printed: bytes in decimal units (as disks and
//! networks are sold), counts with thousands separators, durations, and untrusted
//! text made safe for a terminal.

use std::fmt::Write;

/// `714.23 MB`: decimal units, at most two digits after the point.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let (mut v, mut u) = (n as f64, 0);
    while v >= 999.995 && u + 1 < UNITS.len() {
        v /= 1000.0;
        u += 1;
    }
    if u == 0 {
        format!("{n} bytes")
    } else {
        format!("{v:.2} {}", UNITS[u])
    }
}

/// `40 MiB/s` where binary multiples are exact, as limits are typed; else as [`bytes`].
pub fn rate(n: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if n >= 1 << shift && n.is_multiple_of(1 << shift) {
            return format!("{} {unit}/s", n >> shift);
        }
    }
    format!("{}/s", bytes(n))
}

/// `5,100,345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// "1 table", "16 tables".
pub fn things(n: u64, word: &str) -> String {
    let plural = match word.ends_with('x') {
        true => "es",
        false => "s",
    };
    format!("{} {word}{}", count(n), if n == 1 { "" } else { plural })
}

/// `1.25 s`, `3m04s`, `2h05m`.
pub fn seconds(s: f64) -> String {
    if s < 60.0 {
        format!("{s:.2} s")
    } else if s < 3600.0 {
        let s = s.round() as u64;
        format!("{}m{:02}s", s / 60, s % 60)
    } else {
        let m = (s / 60.0).round() as u64;
        format!("{}h{:02}m", m / 60, m % 60)
    }
}

/// To three decimals, as numbers for programs are written.
pub fn rounded(v: f64) -> f64 {
    (v * 1000.0).round() / 1000.0
}

/// Text from a server or an archive as one line that cannot control a terminal:
/// control characters and marks that change the reading direction are written
/// as `\u{…}`.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let bidi = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || bidi || c == '\u{2028}' || c == '\u{2029}' {
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_well() {
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(714_230_000), "714.23 MB");
        assert_eq!(bytes(999_999), "1.00 MB");
        assert_eq!(rate(40 << 20), "40 MiB/s");
        assert_eq!(rate(1536 << 20), "1536 MiB/s");
        assert_eq!(rate(1000), "1.00 kB/s");
        assert_eq!(rate(0), "0 bytes/s");
        assert_eq!(rate(12_345_678), "12.35 MB/s");
        assert_eq!(count(0), "0");
        assert_eq!(count(5_100_345), "5,100,345");
        assert_eq!(count(100), "100");
        assert_eq!(seconds(59.0), "59.00 s");
        assert_eq!(seconds(184.2), "3m04s");
        assert_eq!(seconds(7500.0), "2h05m");
    }

    #[test]
    fn strangers_cannot_steer_the_terminal() {
        assert_eq!(
            printable("a\x1b[31mb\nc\u{202e}\u{61c}"),
            "a\\u{1b}[31mb\\u{a}c\\u{202e}\\u{61c}"
        );
    }
}
