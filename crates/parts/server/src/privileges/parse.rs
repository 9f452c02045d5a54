//! Reads one line of `SHOW GRANTS`.

use super::Scope;

/// What a line says about privileges.
pub(super) struct Line {
    /// A partial revoke.
    pub revoke: bool,
    /// In upper case; those limited to columns are left out.
    pub privileges: Vec<String>,
    /// Whether they may be given on.
    pub option: bool,
    /// Where they apply.
    pub scope: Scope,
}

/// `None` for a role, a proxy, a routine, or anything not understood.
pub(super) fn line(text: &str) -> Option<Line> {
    let text = text.trim();
    let (revoke, rest) = match (strip(text, "GRANT "), strip(text, "REVOKE ")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return None,
    };
    let on = outside_quotes(rest, " ON ")?;
    let privileges = list(&rest[..on]);
    let mut object = rest[on + " ON ".len()..].trim_start();
    for sort in ["FUNCTION ", "PROCEDURE ", "PACKAGE ", "LIBRARY "] {
        if strip(object, sort).is_some() {
            return None;
        }
    }
    if let Some(rest) = strip(object, "TABLE ") {
        object = rest;
    }
    if privileges.iter().any(|p| p == "PROXY") {
        return None;
    }
    let (schema, rest) = name(object)?;
    let (table, rest) = name(rest.strip_prefix('.')?)?;
    let option = outside_quotes(rest, " WITH GRANT OPTION").is_some();
    let scope = match (schema, table) {
        (None, None) => Scope::Global,
        (Some(schema), None) => Scope::Schema(schema),
        (Some(schema), Some(table)) => Scope::Table(schema, table),
        (None, Some(_)) => return None,
    };
    Some(Line {
        revoke,
        privileges,
        option,
        scope,
    })
}

fn strip<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// A name (quoted or bare) or `*` at the start of a text, and what follows; `*` is `None`.
fn name(text: &str) -> Option<(Option<String>, &str)> {
    let first = text.chars().next()?;
    if first == '*' {
        return Some((None, &text[1..]));
    }
    if !matches!(first, '`' | '"' | '\'') {
        let end = text
            .find(|c: char| c == '.' || c.is_whitespace())
            .unwrap_or(text.len());
        return (end > 0).then(|| (Some(text[..end].to_owned()), &text[end..]));
    }
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != first {
            out.push(c);
        } else if chars.peek().is_some_and(|(_, n)| *n == first) {
            out.push(c);
            chars.next();
        } else {
            return Some((Some(out), &text[at + 1..]));
        }
    }
    None
}

/// The place of a word outside quotes.
fn outside_quotes(text: &str, word: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if matches!(c, '`' | '"' | '\'') => quote = Some(c),
            None if text[at..].starts_with(word) => return Some(at),
            None => {}
        }
    }
    None
}

/// Privileges between commas; one with a list of columns does not count.
fn list(text: &str) -> Vec<String> {
    let (mut out, mut word, mut depth, mut columns) = (Vec::new(), String::new(), 0_u32, false);
    for c in text.chars().chain([',']) {
        match c {
            '(' => {
                depth += 1;
                columns = true;
            }
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let privilege = word.trim().to_ascii_uppercase();
                if !columns && !privilege.is_empty() && privilege != "USAGE" {
                    out.push(privilege);
                }
                word.clear();
                columns = false;
            }
            c if depth == 0 => word.push(c),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_names_are_read() {
        let l = line("GRANT SELECT ON `a ON ``b`.`c.d` TO `u`@`%`").expect("a grant");
        assert_eq!(l.scope, Scope::Table("a ON `b".into(), "c.d".into()));
        let l = line("GRANT SELECT ON \"a\".* TO \"u\"@\"%\"").expect("a grant");
        assert_eq!(l.scope, Scope::Schema("a".into()));
        for other in [
            "GRANT PROXY ON ''@'' TO 'root'@'localhost' WITH GRANT OPTION",
            "GRANT `r`@`%` TO `u`@`%`",
            "GRANT EXECUTE ON PACKAGE BODY `a`.`b` TO `u`",
            "SET DEFAULT ROLE x FOR u",
            "",
        ] {
            assert!(line(other).is_none(), "{other}");
        }
    }

    #[test]
    fn mariadb_passwords_do_not_disturb() {
        let l =
            line("GRANT RELOAD, BINLOG MONITOR ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*ABC'")
                .expect("a grant");
        assert_eq!(l.privileges, ["RELOAD", "BINLOG MONITOR"]);
        assert_eq!(l.scope, Scope::Global);
    }

    proptest! {
        #[test]
        fn no_line_makes_it_fall_over(text in "(?s).{0,60}") {
            let _ = line(&text);
            let _ = line(&format!("GRANT {text}"));
            let _ = line(&format!("GRANT SELECT ON {text}"));
        }
    }
}
