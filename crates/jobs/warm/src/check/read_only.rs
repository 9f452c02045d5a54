//! Which queries may be replayed: a SELECT that locks nothing, writes nothing and calls nothing with an effect.
//!
//! This looks at the text alone. What a view or a table of another engine does is not seen here; the sessions of a replay
//! are read-only besides, so that the server refuses to write.

use super::functions;
use base::units::printable;
use dumps::Dialect;
use dumps::statement::is_system;
use dumps::tokens::{Token, Tokens};
use std::fmt;

/// Why a query is not replayed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It is something else.
    NotSelect,
    /// INTO a file or variables.
    Into,
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
    Locks,
    /// It calls this, which is not known to have no effect.
    Calls(String),
    /// It has user variables: what it means depends on its session.
    Variables,
    /// It reads no table.
    NoTable,
    /// It reads tables of the server itself.
    System,
    /// It has placeholders instead of values.
    Placeholders,
    /// Its end is missing.
    Cut,
    /// Several statements.
    Several,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotSelect => f.write_str("no SELECT"),
            Reason::Into => f.write_str("SELECT … INTO"),
            Reason::Locks => f.write_str("locks rows"),
            Reason::Calls(name) => {
                write!(f, "calls {}(), which may have an effect", printable(name))
            }
            Reason::Variables => f.write_str("depends on variables of its session"),
            Reason::NoTable => f.write_str("reads no table"),
            Reason::System => f.write_str("reads tables of the server itself"),
            Reason::Placeholders => f.write_str("has placeholders instead of values"),
            Reason::Cut => f.write_str("is cut off"),
            Reason::Several => f.write_str("several statements in one"),
        }
    }
}

/// Words that no SELECT has but in its locking clauses.
const WRITES: [&str; 2] = ["UPDATE", "DELETE"];

/// Checks a query.
pub fn check(text: &[u8], dialect: Dialect) -> Result<(), Reason> {
    if text.ends_with(b"...") || text.ends_with("…".as_bytes()) {
        return Err(Reason::Cut);
    }
    let all: Vec<Token<'_>> = Tokens::new(text, dialect).collect();
    let mut all = all.as_slice();
    while let [rest @ .., Token::Symbol(b';')] = all {
        all = rest;
    }
    let first = all.iter().find(|t| **t != Token::Symbol(b'('));
    if !first.is_some_and(|t| t.is("SELECT") || t.is("WITH")) {
        return Err(Reason::NotSelect);
    }
    let mut reads = false;
    for (n, token) in all.iter().enumerate() {
        let before = n.checked_sub(1).map(|b| all[b]);
        let after = all.get(n + 1);
        let is_next = |words: &[&str]| after.is_some_and(|t| words.iter().any(|w| t.is(w)));
        match token {
            Token::Symbol(b';') => return Err(Reason::Several),
            Token::Symbol(b'?') => return Err(Reason::Placeholders),
            Token::Variable(v) if !v.starts_with(b"@@") => return Err(Reason::Variables),
            Token::Text(t) if t.len() < 2 || t.first() != t.last() => return Err(Reason::Cut),
            _ => {}
        }
        reads |= token.is("FROM");
        if token.is("INTO") {
            return Err(Reason::Into);
        }
        let locks = token.is("FOR") && is_next(&["UPDATE", "SHARE"]);
        if locks || token.is("LOCK") && is_next(&["IN"]) {
            return Err(Reason::Locks);
        }
        if token.is("NEXT") && is_next(&["VALUE"]) {
            return Err(Reason::Calls("NEXT VALUE FOR".to_owned()));
        }
        if WRITES.iter().any(|w| token.is(w)) {
            return Err(Reason::NotSelect);
        }
        let Some(name) = token.name() else { continue };
        if after == Some(&Token::Symbol(b'.')) && is_system(&name) {
            return Err(Reason::System);
        }
        if name.eq_ignore_ascii_case("nextval") {
            return Err(Reason::Calls(name));
        }
        if after != Some(&Token::Symbol(b'(')) {
            continue;
        }
        // Names of common table expressions and of types, which a list of columns or a length follows.
        let is_named = before.is_some_and(|t| t.is("AS") || t.is("WITH") || t.is("RECURSIVE"));
        let is_stored = before == Some(Token::Symbol(b'.'));
        if is_stored || !is_named && !functions::allowed(&name.to_ascii_uppercase()) {
            return Err(Reason::Calls(name));
        }
    }
    match reads {
        true => Ok(()),
        false => Err(Reason::NoTable),
    }
}

/// The query without its values, which people and records may see.
pub fn fingerprint(text: &[u8], dialect: Dialect) -> String {
    const LONGEST: usize = 400;
    let mut out = String::new();
    let mut glued = true;
    let mut values = 0;
    for token in Tokens::new(text, dialect) {
        let is_value = match token {
            Token::Text(_) => true,
            Token::Word(w) => w.first().is_some_and(u8::is_ascii_digit),
            _ => false,
        };
        if out.len() > LONGEST {
            out.push('…');
            break;
        }
        // A list of values is one.
        if is_value && values > 0 && out.ends_with(',') {
            out.pop();
            values += 1;
            if values == 2 {
                out.push_str(", …");
            }
            continue;
        }
        if !matches!(token, Token::Symbol(b',')) {
            values = u32::from(is_value);
        }
        let piece = match token {
            _ if is_value => "?".into(),
            Token::Word(w) | Token::Variable(w) | Token::Name(w) | Token::Text(w) => {
                String::from_utf8_lossy(w)
            }
            Token::Symbol(b';') => break,
            Token::Symbol(s) => char::from(s).to_string().into(),
        };
        let tight = matches!(token, Token::Symbol(b',' | b'.' | b')' | b'('));
        if !glued && !tight {
            out.push(' ');
        }
        out.push_str(&piece);
        glued = matches!(token, Token::Symbol(b'.' | b'('));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> Option<String> {
        check(text.as_bytes(), Dialect::default())
            .err()
            .map(|r| r.to_string())
    }

    #[test]
    fn queries_are_replayed() {
        for text in [
            "SELECT * FROM t",
            "select a.b, count(*) from s.t a where a.id in (1,2) and x = 'FOR UPDATE' /* INTO */ ;",
            "(SELECT a FROM t) UNION ALL (SELECT b FROM u) ORDER BY 1 LIMIT 3",
            "WITH c (a, b) AS (SELECT 1, 2 FROM t) SELECT * FROM c AS d (x, y)",
            "WITH RECURSIVE `c` (a) AS (SELECT 1 FROM t) SELECT * FROM c",
            "SELECT CAST(a AS DECIMAL(10,2)), REPLACE(a, 'x', 'y'), `count`, @@version FROM t USE INDEX FOR JOIN (k)",
            "SELECT * FROM t FOR SYSTEM_TIME AS OF NOW()",
            "SELECT `sleep`, information_schema FROM t WHERE `update` = 1",
            "SELECT /*!40001 SQL_NO_CACHE */ a FROM t",
        ] {
            assert_eq!(why(text), None, "{text}");
        }
    }

    #[test]
    fn what_has_an_effect_is_not() {
        for (text, reason) in [
            ("UPDATE t SET a = 1", "no SELECT"),
            ("", "no SELECT"),
            ("EXPLAIN SELECT a FROM t", "no SELECT"),
            ("WITH c AS (SELECT 1 FROM t) DELETE FROM u", "no SELECT"),
            ("SELECT a INTO OUTFILE '/tmp/x' FROM t", "SELECT … INTO"),
            ("SELECT a FROM t INTO DUMPFILE '/tmp/x'", "SELECT … INTO"),
            ("SELECT a FROM t INTO @x", "SELECT … INTO"),
            ("SELECT a FROM t FOR UPDATE", "locks rows"),
            ("SELECT a FROM t FOR/**/SHARE SKIP LOCKED", "locks rows"),
            ("SELECT a FROM t LOCK IN SHARE MODE", "locks rows"),
            ("SELECT a FROM t /*!50000 FOR UPDATE */", "locks rows"),
            (
                "SELECT SLEEP(1) FROM t",
                "calls SLEEP(), which may have an effect",
            ),
            (
                "SELECT `sleep` (1) FROM t",
                "calls sleep(), which may have an effect",
            ),
            (
                "SELECT s.f(1) FROM t",
                "calls f(), which may have an effect",
            ),
            (
                "SELECT s.count(1) FROM t",
                "calls count(), which may have an effect",
            ),
            ("SELECT f(1) FROM t", "calls f(), which may have an effect"),
            (
                "SELECT get_lock('a', 1) FROM t",
                "calls get_lock(), which may have an effect",
            ),
            (
                "SELECT NEXT VALUE FOR s FROM t",
                "calls NEXT VALUE FOR(), which may have an effect",
            ),
            (
                "SELECT s.nextval FROM t",
                "calls nextval(), which may have an effect",
            ),
            (
                "SELECT * FROM t PROCEDURE ANALYSE()",
                "calls ANALYSE(), which may have an effect",
            ),
            (
                "SELECT @a := 1 FROM t",
                "depends on variables of its session",
            ),
            ("SELECT 1", "reads no table"),
            (
                "SELECT * FROM `mysql`.user",
                "reads tables of the server itself",
            ),
            (
                "SELECT * FROM INFORMATION_SCHEMA.TABLES",
                "reads tables of the server itself",
            ),
            (
                "SELECT * FROM t WHERE a = ?",
                "has placeholders instead of values",
            ),
            ("SELECT * FROM t WHERE a = 'xyz...", "is cut off"),
            ("SELECT * FROM t WHERE a = 'xyz", "is cut off"),
            ("SELECT 1 FROM t; DROP TABLE t", "several statements in one"),
        ] {
            assert_eq!(why(text).as_deref(), Some(reason), "{text}");
        }
        // A string of one dialect is a name of another one.
        let ansi = Dialect::default().with_mode("ANSI_QUOTES");
        assert!(check(b"SELECT \"sleep\"(1) FROM t", ansi).is_err());
        let plain = Dialect::default().with_mode("NO_BACKSLASH_ESCAPES");
        let text = br"SELECT '\' FROM t FOR UPDATE -- '";
        assert_eq!(check(text, plain), Err(Reason::Locks));
    }

    #[test]
    fn fingerprints_have_no_values() {
        let of = |text: &str| fingerprint(text.as_bytes(), Dialect::default());
        assert_eq!(
            of(
                "SELECT a.b,  COUNT(*) FROM `x`.t /* c */ WHERE id IN (1, 22,'3') AND n='o''x' LIMIT 5;"
            ),
            "SELECT a.b, COUNT(*) FROM `x`.t WHERE id IN(?, …) AND n = ? LIMIT ?"
        );
        assert_eq!(
            of("SELECT x FROM t WHERE a = 1 AND b = 2"),
            "SELECT x FROM t WHERE a = ? AND b = ?"
        );
    }
}
