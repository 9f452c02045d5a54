//! How servers write the names of schemas and tables in the names of their files
//! ("Mapping of Identifiers to File Names" in MySQL's manual).
//!
//! `names/codes.txt` is what MariaDB's `CONVERT(… USING filename)` says of every character that
//! is not written as `@` with its four hexadecimal digits: a line for each run of them, with the first and two
//! letters for each.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Letters with codes of their own: Latin, Greek, Cyrillic, Armenian and their like.
static CODES: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
    let mut all = HashMap::new();
    for line in include_str!("names/codes.txt").lines() {
        let Some((first, codes)) = line.split_once(' ') else {
            continue;
        };
        let first = u32::from_str_radix(first, 16).unwrap_or(u32::MAX);
        for (c, at) in (first..).zip((0..codes.len()).step_by(2)) {
            if let (Some(c), Some(code)) = (char::from_u32(c), codes.get(at..at + 2)) {
                all.insert(c, code);
            }
        }
    }
    all
});

/// Names that Windows keeps for devices, besides COM1 to COM9 and LPT1 to LPT9; servers everywhere write something after them.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// A name as it is written in file names; `None` where that is not known: characters that no name has, and capitals on a
/// server that folds them.
pub fn file_name(name: &str, lower_case: bool) -> Option<String> {
    let folds = |c: char| !c.to_lowercase().eq([c]);
    if name.is_empty() || lower_case && name.chars().any(folds) {
        return None;
    }
    let mut written = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            written.push(c);
        } else if c > '\u{ffff}' {
            return None;
        } else if let Some(code) = CODES.get(&c) {
            written.push('@');
            written += code;
        } else {
            written += &format!("@{:04x}", c as u32);
        }
    }
    if is_device(name) {
        written += "@@@";
    }
    Some(written)
}

/// The name that a file name stands for; what is not written as servers write it stays as it is.
pub fn of_file_name(written: &str) -> String {
    static LETTERS: LazyLock<HashMap<&'static str, char>> =
        LazyLock::new(|| CODES.iter().map(|(c, code)| (*code, *c)).collect());
    let plain = written.strip_suffix("@@@").unwrap_or(written);
    let mut name = String::new();
    let mut rest = plain;
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        if c == '@' {
            if let Some(letter) = behind.get(..2).and_then(|code| LETTERS.get(code)) {
                name.push(*letter);
                rest = &behind[2..];
                continue;
            }
            let digits = behind.get(..4);
            let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
            let number = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
            if let Some(letter) = number.and_then(char::from_u32) {
                name.push(letter);
                rest = &behind[4..];
                continue;
            }
        }
        name.push(c);
        rest = behind;
    }
    name
}

fn is_device(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    DEVICES.contains(&lower.as_str())
        || ["com", "lpt"].iter().any(|port| {
            let number = lower.strip_prefix(port).map(str::as_bytes);
            matches!(number, Some([b'1'..=b'9']))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_servers_write_them() {
        let of = |name| file_name(name, false);
        assert_eq!(of("order_line2").as_deref(), Some("order_line2"));
        assert_eq!(of("a-shop").as_deref(), Some("a@002dshop"));
        assert_eq!(of("#x. $/").as_deref(), Some("@0023x@002e@0020@0024@002f"));
        assert_eq!(of("受注_1").as_deref(), Some("@53d7@6ce8_1"));
        assert_eq!(of("größe").as_deref(), Some("gr@1i@1je"));
        assert_eq!(of("Äß×÷").as_deref(), Some("@0K@1j@00d7@00f7"));
        assert_eq!(of("CON").as_deref(), Some("CON@@@"));
        assert_eq!(of("lpt1").as_deref(), Some("lpt1@@@"));
        assert_eq!(of("lpt0").as_deref(), Some("lpt0"));
        assert_eq!(of("😀"), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn names_come_back_from_file_names() {
        for name in [
            "order_line2",
            "a-shop",
            "#x. $/",
            "受注_1",
            "größe",
            "Äß×÷",
            "CON",
            "a@b",
        ] {
            let written = file_name(name, false).expect("a file name");
            assert_eq!(of_file_name(&written), name, "{written}");
        }
        assert_eq!(of_file_name("x@zz@00"), "x@zz@00");
    }

    #[test]
    fn what_a_server_folds_is_not_guessed() {
        assert_eq!(file_name("Shop", true), None);
        assert_eq!(file_name("Ж", true), None);
        assert_eq!(file_name("shop", true).as_deref(), Some("shop"));
        assert_eq!(file_name("ж", true), file_name("ж", false));
    }

    #[test]
    fn no_two_letters_have_one_code() {
        let codes: std::collections::HashSet<_> = CODES.values().collect();
        assert_eq!((codes.len(), CODES.len()), (1510, 1510));
    }
}
