//! Converts rows of literals, one after the other.

use super::literal::{blank, number, write};
use super::string::Line;
use super::{Literal, NotPlain, Reason};
use crate::dialect::Dialect;

/// Appends a line for every row in `values`, which begins with the first `(`
/// of a statement and ends where the statement ends. `columns` has the kinds of
/// the columns in the order of the values. Returns the number of rows.
///
/// If the statement is not plain, `out` has its old length again.
pub fn convert(
    values: &[u8],
    columns: &[Literal],
    dialect: Dialect,
    out: &mut Vec<u8>,
) -> Result<u64, NotPlain> {
    let start = out.len();
    let mut line = Line::new(out);
    let mut position = Position { row: 1, at: 0 };
    let result = rows(values, columns, dialect, &mut line, &mut position);
    line.finish(start, result.is_ok());
    result.map_err(|reason| NotPlain {
        row: position.row,
        at: position.at.min(values.len()),
        reason,
    })?;
    Ok(position.row)
}

/// How far the conversion has come.
struct Position {
    row: u64,
    at: usize,
}

fn rows(
    text: &[u8],
    columns: &[Literal],
    dialect: Dialect,
    line: &mut Line<'_>,
    position: &mut Position,
) -> Result<(), Reason> {
    let mut scratch = Vec::new();
    let escapes = !dialect.no_backslash_escapes;
    if columns.is_empty() {
        return Err(Reason::Kind);
    }
    if dialect.charset.is_some_and(|c| c.hides_backslash())
        && text.windows(2).any(|w| w[0] >= 0x80 && w[1] == b'\\')
    {
        return Err(Reason::Charset);
    }
    loop {
        skip_blank(text, &mut position.at);
        match text.get(position.at) {
            Some(b'(') => position.at += 1,
            Some(_) => return Err(Reason::NotRows),
            None => return Err(Reason::UnexpectedEnd),
        }
        for (column, kind) in columns.iter().enumerate() {
            skip_blank(text, &mut position.at);
            let at = position.at;
            position.at = match (text.get(at), kind) {
                (Some(b'\''), Literal::Text | Literal::Quoted | Literal::Bytes) => {
                    line.string(text, at + 1, b'\'', escapes)?
                }
                // `0x` and `0b` are other literals.
                (Some(b'1'..=b'9' | b'-'), Literal::Number) => {
                    at + number(&text[at..], *kind, line)?
                }
                (Some(b')'), _) => {
                    let expected = columns.len();
                    let found = column;
                    return Err(Reason::Count { found, expected });
                }
                _ => write(text, at, *kind, dialect, line, &mut scratch)?,
            };
            skip_blank(text, &mut position.at);
            let last = column + 1 == columns.len();
            match text.get(position.at) {
                Some(b',') if !last => line.raw(b'\t'),
                Some(b')') if last => line.raw(b'\n'),
                Some(b',') => {
                    let expected = columns.len();
                    let found = expected + 1;
                    return Err(Reason::Count { found, expected });
                }
                Some(b')') => {
                    let expected = columns.len();
                    let found = column + 1;
                    return Err(Reason::Count { found, expected });
                }
                Some(_) => return Err(Reason::Expression),
                None => return Err(Reason::UnexpectedEnd),
            }
            position.at += 1;
        }
        skip_blank(text, &mut position.at);
        match text.get(position.at) {
            None => return Ok(()),
            Some(b',') => position.at += 1,
            Some(_) => return Err(Reason::NotRows),
        }
        position.row += 1;
    }
}

/// Skips white space; usually there is none.
#[inline(always)]
fn skip_blank(text: &[u8], at: &mut usize) {
    if text.get(*at).is_some_and(u8::is_ascii_whitespace) {
        *at += blank(&text[*at..]);
    }
}
