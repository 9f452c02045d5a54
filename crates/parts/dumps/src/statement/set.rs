//! Parses SET: which variable gets which value.

use crate::dialect::Dialect;
use crate::tokens::{Token, Tokens, lossy, unquoted};

/// One `name = value` of a SET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The scope of the variable.
    pub scope: Scope,
    /// Its name in lower case, without signs and scope. `SET NAMES` and
    /// `SET CHARACTER SET` are `names`, SET TRANSACTION is `transaction`, and
    /// settings of accounts are `password`, `role` and `resource`.
    pub name: String,
    /// The new value.
    pub value: Value,
}

/// The scope of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The session; also local variables, which look the same.
    Session,
    /// A user variable.
    User,
    /// The server, until it stops.
    Global,
    /// The server, also after a restart.
    Persist,
}

/// The value of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A string, or a bare word (`utf8mb4`, `ON`).
    Text(String),
    /// A number, as it is written.
    Number(String),
    /// `@x`: the name in lower case.
    User(String),
    /// `@@x`, `@@session.x`: the name in lower case.
    Variable(String),
    /// `DEFAULT`.
    Default,
    /// Anything else, as it is written.
    Expression(String),
}

/// The assignments of a SET; `None` if `text` is no SET, or has an unknown form
/// (for example MariaDB's `SET STATEMENT … FOR`).
pub fn assignments(text: &[u8], dialect: Dialect) -> Option<Vec<Assignment>> {
    let mut t = Tokens::new(text, dialect);
    if !t.accept("SET") {
        return None;
    }
    let mut list = Vec::new();
    loop {
        let (scope, name, without_equals) = target(&mut t)?;
        if !without_equals {
            let _ = t.accept_symbol(b':');
            if !t.accept_symbol(b'=') {
                return None;
            }
        }
        let value = value(&mut t, dialect);
        list.push(Assignment { scope, name, value });
        // COLLATE after SET NAMES.
        for token in t.by_ref() {
            if token == Token::Symbol(b',') {
                break;
            }
        }
        if t.peek().is_none() {
            return Some(list);
        }
    }
}

/// The scope and name of a variable, and whether its value follows without an equals sign.
fn target(t: &mut Tokens<'_>) -> Option<(Scope, String, bool)> {
    let mut scope = Scope::Session;
    for (word, s) in SCOPES {
        if t.accept(word) {
            scope = s;
            break;
        }
    }
    for (words, name) in [
        (&["NAMES"][..], "names"),
        (&["CHARACTER", "SET"], "names"),
        (&["CHARSET"], "names"),
        (&["TRANSACTION"], "transaction"),
        (&["PASSWORD"], "password"),
        (&["DEFAULT", "ROLE"], "role"),
        (&["ROLE"], "role"),
        (&["RESOURCE", "GROUP"], "resource"),
    ] {
        if t.accept_all(words) {
            return Some((scope, name.to_owned(), true));
        }
    }
    match t.next()? {
        Token::Variable(v) if v.starts_with(b"@@") => {
            let (s, name) = system(&v[2..]);
            Some((s.unwrap_or(scope), name, false))
        }
        Token::Variable(v) => Some((Scope::User, user(v), false)),
        Token::Word(b"STATEMENT" | b"statement") => None,
        other => {
            let mut name = other.name()?.to_ascii_lowercase();
            // `NEW.x` in a trigger, `keycache.key_buffer_size`.
            while t.accept_symbol(b'.') {
                name.push('.');
                name.push_str(&t.next()?.name()?.to_ascii_lowercase());
            }
            Some((scope, name, false))
        }
    }
}

const SCOPES: [(&str, Scope); 5] = [
    ("GLOBAL", Scope::Global),
    ("PERSIST_ONLY", Scope::Persist),
    ("PERSIST", Scope::Persist),
    ("SESSION", Scope::Session),
    ("LOCAL", Scope::Session),
];

/// Parses `session.x` or `x`, which follow the signs.
fn system(text: &[u8]) -> (Option<Scope>, String) {
    let text = lossy(text).replace(['`', '"'], "");
    if let Some((before, name)) = text.split_once('.')
        && let Some((_, scope)) = SCOPES.iter().find(|(w, _)| w.eq_ignore_ascii_case(before))
    {
        return (Some(*scope), name.to_ascii_lowercase());
    }
    (None, text.to_ascii_lowercase())
}

/// The name of `@x` or `@'x'`.
fn user(text: &[u8]) -> String {
    lossy(&text[1..])
        .trim_matches(['\'', '"', '`'])
        .to_ascii_lowercase()
}

/// Parses the value. Stops before the next comma.
fn value(t: &mut Tokens<'_>, dialect: Dialect) -> Value {
    t.skip_blank();
    let before = *t;
    let first = t.next();
    let next = t.peek();
    let alone = match next {
        None | Some(Token::Symbol(b',')) => true,
        Some(token) => token.is("COLLATE"),
    };
    match first {
        Some(Token::Text(text)) if alone => {
            Value::Text(lossy(&unquoted(text, dialect.escapes(text[0]))))
        }
        Some(Token::Word(w)) if alone && w.eq_ignore_ascii_case(b"DEFAULT") => Value::Default,
        Some(Token::Word(w)) if alone && w.iter().all(u8::is_ascii_digit) => {
            Value::Number(lossy(w))
        }
        Some(token @ (Token::Word(_) | Token::Name(_))) if alone => {
            Value::Text(token.name().unwrap_or_default())
        }
        Some(Token::Variable(v)) if alone && v.starts_with(b"@@") => {
            Value::Variable(system(&v[2..]).1)
        }
        Some(Token::Variable(v)) if alone => Value::User(user(v)),
        _ => {
            // Up to a comma outside parentheses.
            let mut end = before;
            let mut depth = 0i64;
            loop {
                let mut ahead = end;
                match ahead.next() {
                    None => break,
                    Some(Token::Symbol(b',')) if depth == 0 => break,
                    Some(Token::Symbol(b'(')) => depth += 1,
                    Some(Token::Symbol(b')')) => depth -= 1,
                    Some(_) => {}
                }
                end = ahead;
            }
            let length = end.at - before.at;
            *t = end;
            Value::Expression(lossy(&before.rest()[..length]))
        }
    }
}
