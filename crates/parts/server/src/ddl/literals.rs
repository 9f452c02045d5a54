//! Definitions whose string literals are not in the text's own encoding.
//!
//! `SHOW CREATE` is UTF-8 except inside literals: a view on `_latin1 x'E9'` is
//! shown as `_latin1'<E9>'`, a binary default of MariaDB as `'<FF>\0<FE>'`, the
//! bytes as they are. Written as hexadecimal literals they mean the same, and
//! the definition is UTF-8 throughout.

use super::create::step;
use crate::quote;

/// The definition as UTF-8; the place of the first bad byte when one stands
/// outside a literal.
pub(super) fn to_utf8(sql: &[u8]) -> Result<String, usize> {
    if let Ok(text) = std::str::from_utf8(sql) {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(sql.len() + 16);
    let (mut at, mut copied) = (0, 0);
    let plain = |from: usize, to: usize| {
        std::str::from_utf8(&sql[from..to]).map_err(|e| from + e.valid_up_to())
    };
    while at < sql.len() {
        let length = step(sql, at);
        let token = &sql[at..at + length];
        if sql[at] == b'\'' && std::str::from_utf8(token).is_err() {
            out.push_str(plain(copied, at)?);
            if token.len() < 2 || !token.ends_with(b"'") {
                return Err(at);
            }
            if introduced(&out) {
                out.push(' ');
            }
            out.push_str(&quote::hex(&unescape(&token[1..token.len() - 1])));
            copied = at + length;
        }
        at += length;
    }
    out.push_str(plain(copied, sql.len())?);
    Ok(out)
}

/// Whether the text ends in a character set introducer (`_latin1`).
fn introduced(text: &str) -> bool {
    let word = text.len()
        - text
            .bytes()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
            .count();
    text[word..].starts_with('_')
}

/// The value of a literal's inside, with backslashes as escapes, which is how `SHOW CREATE` writes.
fn unescape(inner: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied().peekable();
    while let Some(b) = bytes.next() {
        match b {
            b'\'' if bytes.peek() == Some(&b'\'') => {
                bytes.next();
                out.push(b);
            }
            b'\\' => match bytes.next() {
                Some(b'0') => out.push(0),
                Some(b'b') => out.push(8),
                Some(b'n') => out.push(b'\n'),
                Some(b'r') => out.push(b'\r'),
                Some(b't') => out.push(b'\t'),
                Some(b'Z') => out.push(0x1a),
                // These two keep their backslash, for LIKE.
                Some(c @ (b'%' | b'_')) => out.extend([b'\\', c]),
                Some(c) => out.push(c),
                None => out.push(b'\\'),
            },
            b => out.push(b),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn foreign_bytes_become_hexadecimal() {
        assert_eq!(
            to_utf8(b"select '\xc3\xa9' AS `\xc3\xa9`,_latin1'\xe9''\\\\' AS `l`").as_deref(),
            Ok("select 'é' AS `é`,_latin1 x'E9275C' AS `l`")
        );
        assert_eq!(
            to_utf8(b"DEFAULT '\xff\\0\xfe',").as_deref(),
            Ok("DEFAULT x'FF00FE',")
        );
        assert_eq!(to_utf8(b"abc `\xff`"), Err(5));
        assert_eq!(to_utf8(b"abc '\xff"), Err(4));
    }

    proptest! {
        #[test]
        fn good_text_is_left_alone(text in "(?s).{0,60}") {
            prop_assert_eq!(to_utf8(text.as_bytes()), Ok(text));
        }

        #[test]
        fn any_bytes_are_taken(sql in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = to_utf8(&sql);
        }
    }
}
