//! Collations between servers: names that one has and the other has not, and
//! defaults that differ.

use super::create::step;
use crate::{Identity, Version};

/// Writes the collation after every Unicode character set that is without
/// one. Servers leave out what is their default, and the default of utf8mb4
/// changed in MySQL 8.0.1 and MariaDB 11.5: taken as it is, a table would
/// silently sort and compare otherwise.
pub(super) fn spell_out(text: &str, from: &Identity) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut copied, mut at) = (String::with_capacity(text.len()), 0, 0);
    while at < bytes.len() {
        let Some(start) = charset_at(text, at) else {
            at += step(bytes, at);
            continue;
        };
        let end = start + word(&bytes[start..]);
        let charset = text[start..end].to_ascii_lowercase();
        let rest = text[end..].trim_start();
        let has = rest.len() >= 7 && rest.as_bytes()[..7].eq_ignore_ascii_case(b"COLLATE");
        if !has
            && matches!(
                charset.as_str(),
                "utf8" | "utf8mb3" | "utf8mb4" | "ucs2" | "utf16" | "utf32"
            )
        {
            let kind = if charset == "utf8mb4" && from.mysql_at_least(8, 0, 1) {
                "0900_ai_ci"
            } else {
                "general_ci"
            };
            out.push_str(&text[copied..end]);
            out.push_str(&format!(" COLLATE {charset}_{kind}"));
            copied = end;
        }
        at = end.max(at + 1);
    }
    out.push_str(&text[copied..]);
    out
}

/// Where the name of a character set begins, if `at` is at the words before it.
fn charset_at(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_') {
        return None;
    }
    ["CHARACTER SET ", "CHARSET=", "CHARACTER SET="]
        .iter()
        .find_map(|lead| {
            let end = at + lead.len();
            let fits = bytes.len() > end && bytes[at..end].eq_ignore_ascii_case(lead.as_bytes());
            fits.then_some(end)
        })
}

fn word(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
        .count()
}

/// A collation that the target has in place of one it does not know; the same name when it knows it.
pub fn collation_for(to: &Identity, name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    if to.is_mariadb() {
        // MariaDB 11.4.5 and later know the 0900 names themselves.
        if lower.contains("_0900_") && to.version < Version::new(11, 4, 5) {
            let binary = lower.ends_with("_0900_bin");
            let sensitive = lower.ends_with("_as_cs");
            let accents = lower.ends_with("_as_ci");
            // The 0900 collations do not pad, so of the 1400 ones only those that do not either are alike.
            let uca14 = to.at_least(10, 10, 1);
            return match (binary || sensitive && !uca14, uca14) {
                (true, _) => "utf8mb4_bin",
                (_, true) if sensitive => "utf8mb4_uca1400_nopad_as_cs",
                (_, true) if accents => "utf8mb4_uca1400_nopad_as_ci",
                (_, true) => "utf8mb4_uca1400_nopad_ai_ci",
                (_, false) => "utf8mb4_unicode_520_ci",
            }
            .to_owned();
        }
        return name.to_owned();
    }
    // MariaDB writes the family without a character set in some places.
    let tail = lower.strip_prefix("utf8mb4_").unwrap_or(&lower);
    if tail.starts_with("uca1400_") {
        let new = to.at_least(8, 0, 1);
        return match tail {
            t if new && t.ends_with("as_cs") => "utf8mb4_0900_as_cs",
            t if new && t.ends_with("as_ci") => "utf8mb4_0900_as_ci",
            _ if new => "utf8mb4_0900_ai_ci",
            t if t.ends_with("_cs") => "utf8mb4_bin",
            _ => "utf8mb4_unicode_520_ci",
        }
        .to_owned();
    }
    // Of the other Unicode character sets MySQL has older versions of the algorithm alone.
    if let Some((charset, tail)) = lower.split_once("_uca1400_") {
        return match tail.ends_with("_cs") {
            true => format!("{charset}_bin"),
            false => format!("{charset}_unicode_520_ci"),
        };
    }
    if let Some(base) = lower
        .strip_suffix("_nopad_ci")
        .map(|b| format!("{b}_ci"))
        .or_else(|| lower.strip_suffix("_nopad_bin").map(|b| format!("{b}_bin")))
    {
        return base;
    }
    name.to_owned()
}

/// Replaces collations that the target lacks, wherever they are outside quotes after `COLLATE`.
pub(super) fn replace_unknown(
    text: &str,
    from: &Identity,
    to: &Identity,
    notes: &mut Vec<String>,
) -> String {
    if from.flavour == to.flavour && to.version >= from.version {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        let word = bytes[at..].len() > 8
            && bytes[at..at + 7].eq_ignore_ascii_case(b"COLLATE")
            && matches!(bytes[at + 7], b' ' | b'=')
            && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric());
        if !word {
            at += step(bytes, at);
            continue;
        }
        let start = at + 8;
        let end = start
            + bytes[start..]
                .iter()
                .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
                .count();
        let old = &text[start..end];
        let new = collation_for(to, old);
        if new != old {
            let note = format!("collation {old} becomes {new}");
            if !notes.contains(&note) {
                notes.push(note);
            }
            out.push_str(&text[copied..start]);
            out.push_str(&new);
            copied = end;
        }
        at = end.max(at + 1);
    }
    out.push_str(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str) -> Identity {
        Identity::from_variables([("version".to_owned(), version.to_owned())].into())
            .expect("a version")
    }

    #[test]
    fn names_cross_the_flavours() {
        assert_eq!(
            collation_for(&server("9.7.4"), "utf8mb4_uca1400_ai_ci"),
            "utf8mb4_0900_ai_ci"
        );
        assert_eq!(
            collation_for(&server("10.6.1-MariaDB"), "utf8mb4_0900_ai_ci"),
            "utf8mb4_unicode_520_ci"
        );
        let utf8mb3 = "utf8mb3_uca1400_ai_ci";
        assert_eq!(
            collation_for(&server("9.7.4"), utf8mb3),
            "utf8mb3_unicode_520_ci"
        );
        assert_eq!(collation_for(&server("11.8.3-MariaDB"), utf8mb3), utf8mb3);
        assert_eq!(
            collation_for(&server("9.7.4"), "latin1_swedish_nopad_ci"),
            "latin1_swedish_ci"
        );
    }
}
