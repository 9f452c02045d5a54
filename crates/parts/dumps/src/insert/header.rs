//! The beginning of an INSERT, up to its rows.

use crate::dialect::Dialect;
use crate::tokens::{Token, Tokens};

/// `INSERT INTO [schema.]table [(columns)] VALUES`, and nothing more than that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The schema, if it is named.
    pub schema: Option<String>,
    /// The table.
    pub table: String,
    /// The columns, if they are listed; at least one.
    pub columns: Option<Vec<String>>,
    /// The offset of the first `(` of the rows in the statement.
    pub values_at: usize,
}

impl Header {
    /// Parses the header of a plain INSERT; `None` for any other statement,
    /// and for one with a version comment in its header.
    pub fn parse(text: &[u8], dialect: Dialect) -> Option<Header> {
        // One byte is enough to exclude most other statements.
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
        // A name that is not UTF-8 was changed by decoding and would be another name.
        let names = columns.iter().flatten().chain(&schema).chain([&table]);
        if names.into_iter().any(|n| n.contains('\u{fffd}')) {
            return None;
        }
        Some(Header {
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
