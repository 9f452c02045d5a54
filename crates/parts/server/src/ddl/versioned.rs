//! `/*!80023 … */`: what only MySQL reads.
//!
//! MariaDB skips such comments of versions 50700 to 99999 without a word, so a
//! column would lose its invisibility, or a constraint its NOT ENFORCED, with
//! nobody told. What MariaDB can say in its own words is translated; the rest is
//! left out and named.

use super::create::step;
use crate::Identity;

/// Rewrites the comments of a MySQL definition for MariaDB; other pairs pass through.
pub(super) fn for_target(
    text: &str,
    from: &Identity,
    to: &Identity,
    notes: &mut Vec<String>,
) -> String {
    if !from.is_mysql() || !to.is_mariadb() {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let (mut out, mut copied, mut at) = (String::with_capacity(text.len()), 0, 0);
    while at < bytes.len() {
        let Some((version, inner, end)) = comment(text, at) else {
            at += step(bytes, at);
            continue;
        };
        if !(50_700..=99_999).contains(&version) {
            at += 3;
            continue;
        }
        out.push_str(&text[copied..at]);
        let inner = inner.trim();
        match (version, inner) {
            (80_023, "INVISIBLE") if to.at_least(10, 3, 3) => out.push_str("INVISIBLE"),
            (80_000, "INVISIBLE") if to.at_least(10, 6, 0) => out.push_str("IGNORED"),
            _ => {
                out.truncate(out.trim_end_matches(' ').len());
                // Not encrypted is what a table is without a word.
                if !matches!(inner, "ENCRYPTION='N'" | "DEFAULT ENCRYPTION='N'") {
                    notes.push(format!("{inner} is left out"));
                }
            }
        }
        at = end;
        copied = end;
    }
    out.push_str(&text[copied..]);
    out
}

/// A comment `/*!NNNNN text */` at `at`: its version, its text, its end.
fn comment(text: &str, at: usize) -> Option<(u32, &str, usize)> {
    let rest = text.as_bytes().get(at..)?.strip_prefix(b"/*!")?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let from = at + 3 + digits;
    let version = text[at + 3..from].parse().ok()?;
    let bytes = text.as_bytes();
    let mut end = from;
    while end < bytes.len() {
        if bytes[end..].starts_with(b"*/") {
            return Some((version, &text[from..end], end + 2));
        }
        end += step(bytes, end);
    }
    None
}
