//! Names and values as SQL text.
//!
//! Invariant: what comes out means the same under every `sql_mode`
//! (ANSI_QUOTES, NO_BACKSLASH_ESCAPES or neither), so a statement built here is
//! safe before anything is known of the session. It does not check that a name
//! is one the server would accept.

use std::fmt::Write;

/// A name in backticks: `` a`b `` becomes `` `a``b` ``.
pub fn ident(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    out.push('`');
    for c in name.chars() {
        if c == '`' {
            out.push('`');
        }
        out.push(c);
    }
    out.push('`');
    out
}

/// `` `schema`.`object` ``.
pub fn qualified(schema: &str, object: &str) -> String {
    format!("{}.{}", ident(schema), ident(object))
}

/// Several names in backticks, with commas.
pub fn ident_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(ident).collect::<Vec<_>>().join(", ")
}

/// A text literal. Text without a backslash is `'…'` with doubled quotes;
/// a backslash means different things under different modes, so text with one
/// (or with control characters) becomes `_utf8mb4 x'…'`.
pub fn text(value: &str) -> String {
    if value.chars().any(|c| c == '\\' || c.is_control()) {
        return format!("_utf8mb4 {}", hex(value.as_bytes()));
    }
    format!("'{}'", value.replace('\'', "''"))
}

/// Bytes as `x'0AFF'`: a binary string.
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2 + 3);
    out.push_str("x'");
    for b in bytes {
        let _ = write!(out, "{b:02X}");
    }
    out.push('\'');
    out
}

/// Bytes as a text of a character set: `_latin1 x'E9'`.
pub fn hex_in(charset: &str, bytes: &[u8]) -> String {
    format!("_{charset} {}", hex(bytes))
}

/// An account as `'user'@'host'`.
pub fn account(user: &str, host: &str) -> String {
    format!("{}@{}", text(user), text(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_are_doubled_and_backslashes_avoided() {
        assert_eq!(ident("a`b"), "`a``b`");
        assert_eq!(qualified("s.x", "t"), "`s.x`.`t`");
        assert_eq!(text("it's"), "'it''s'");
        assert_eq!(text("a\\'"), "_utf8mb4 x'615C27'");
        assert_eq!(text("a\nb"), "_utf8mb4 x'610A62'");
        assert_eq!(hex(b""), "x''");
        assert_eq!(hex_in("latin1", b"\xe9"), "_latin1 x'E9'");
        assert_eq!(account("u", "%"), "'u'@'%'");
    }

    proptest! {
        #[test]
        fn a_name_comes_back(name in ".*") {
            let q = ident(&name);
            let inner = &q[1..q.len() - 1];
            prop_assert_eq!(inner.replace("``", "`"), name.clone());
            // No backtick is alone, so the name cannot end early.
            prop_assert_eq!(inner.matches('`').count(), 2 * name.matches('`').count());
        }

        #[test]
        fn a_text_never_has_a_backslash_or_a_lone_quote(value in "(?s).*") {
            let q = text(&value);
            prop_assert!(!q.contains('\\'));
            prop_assert_eq!(q.matches('\'').count() % 2, 0);
        }
    }
}
