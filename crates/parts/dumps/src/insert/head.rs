//! The beginning of an INSERT, up to its rows.

use crate::dialect::Dialect;
use crate::tokens::{Token, Tokens};

/// `INSERT INTO [schema.]table [(columns)] VALUES`, and nothing more than that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The schema, if it is said.
    pub schema: Option<String>,
    /// The table.
    pub table: String,
    /// The columns, if they are listed; at least one.
    pub columns: Option<Vec<String>>,
    /// Where the first `(` of the rows stands in the statement.
    pub values_at: usize,
}

impl Head {
    /// Takes the head of a plain INSERT apart; `None` for any other statement,
    /// and for one with a version comment in its head.
    pub fn parse(text: &[u8], dialect: Dialect) -> Option<Head> {
        // Most statements that are no INSERT are told by one byte.
        if !matches!(text.first(), Some(b'I' | b'i' | b'/')) {
            return None;
        }
        let mut t = Tokens::new(text, dialect);
        if !t.accept("INSERT") {
            return None;
        }
        t.accept("INTO");
        let (schema, table) = t.qualified()?;
        let columns = if t.accept_symbol(b'(') {
            Some(columns(&mut t)?)
        } else {
            None
        };
        if !t.accept("VALUES") && !t.accept("VALUE") {
            return None;
        }
        t.skip_blank();
        let values_at = t.at;
        if text.get(values_at) != Some(&b'(') {
            return None;
        }
        let version = |w: &[u8]| w == b"/*!" || w == b"/*M";
        if text[..values_at].windows(3).any(version) {
            return None;
        }
        // A name that is not UTF-8 came out maimed, and would be another's.
        let names = columns.iter().flatten().chain(&schema).chain([&table]);
        if names.into_iter().any(|n| n.contains('\u{fffd}')) {
            return None;
        }
        Some(Head {
            schema,
            table,
            columns,
            values_at,
        })
    }
}

/// Names up to the closing parenthesis.
fn columns(t: &mut Tokens<'_>) -> Option<Vec<String>> {
    let mut list = Vec::new();
    loop {
        list.push(t.next()?.name()?);
        match t.next()? {
            Token::Symbol(b',') => {}
            Token::Symbol(b')') => return Some(list),
            _ => return None,
        }
    }
}
