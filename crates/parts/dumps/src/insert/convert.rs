//! Rows of literals, one after the other.

use super::literal::{blank, number, write};
use super::string::Line;
use super::{Literal, NotPlain, Reason};
use crate::dialect::Dialect;

/// Appends a line for every row in `values`, which begins with the first `(`
/// of a statement and ends with it (or white space). `shape` has the kinds
/// of the columns in the order of the values. Returns the number of rows.
///
/// If the statement is not plain, `out` is as long as it was.
pub fn convert(
    values: &[u8],
    shape: &[Literal],
    dialect: Dialect,
    out: &mut Vec<u8>,
) -> Result<u64, NotPlain> {
    let start = out.len();
    let mut line = Line::new(out);
    let mut place = Place { row: 1, at: 0 };
    let result = rows(values, shape, dialect, &mut line, &mut place);
    line.finish(start, result.is_ok());
    result.map_err(|reason| NotPlain {
        row: place.row,
        at: place.at.min(values.len()),
        reason,
    })?;
    Ok(place.row)
}

/// Where in the rows it has got.
struct Place {
    row: u64,
    at: usize,
}

fn rows(
    text: &[u8],
    shape: &[Literal],
    dialect: Dialect,
    line: &mut Line<'_>,
    place: &mut Place,
) -> Result<(), Reason> {
    let mut scratch = Vec::new();
    let escapes = !dialect.no_backslash_escapes;
    if shape.is_empty() {
        return Err(Reason::Kind);
    }
    if dialect.charset.is_some_and(|c| c.hides_backslash())
        && text.windows(2).any(|w| w[0] >= 0x80 && w[1] == b'\\')
    {
        return Err(Reason::Charset);
    }
    loop {
        skip_blank(text, &mut place.at);
        match text.get(place.at) {
            Some(b'(') => place.at += 1,
            Some(_) => return Err(Reason::Behind),
            None => return Err(Reason::Cut),
        }
        for (column, kind) in shape.iter().enumerate() {
            skip_blank(text, &mut place.at);
            let at = place.at;
            place.at = match (text.get(at), kind) {
                (Some(b'\''), Literal::Text | Literal::Quoted | Literal::Bytes) => {
                    line.string(text, at + 1, b'\'', escapes)?
                }
                // `0x` and `0b` are no numbers of this sort.
                (Some(b'1'..=b'9' | b'-'), Literal::Number) => {
                    at + number(&text[at..], *kind, line)?
                }
                (Some(b')'), _) => {
                    let expected = shape.len();
                    let found = column;
                    return Err(Reason::Count { found, expected });
                }
                _ => write(text, at, *kind, dialect, line, &mut scratch)?,
            };
            skip_blank(text, &mut place.at);
            let last = column + 1 == shape.len();
            match text.get(place.at) {
                Some(b',') if !last => line.raw(b'\t'),
                Some(b')') if last => line.raw(b'\n'),
                Some(b',') => {
                    let expected = shape.len();
                    let found = expected + 1;
                    return Err(Reason::Count { found, expected });
                }
                Some(b')') => {
                    let expected = shape.len();
                    let found = column + 1;
                    return Err(Reason::Count { found, expected });
                }
                Some(_) => return Err(Reason::Expression),
                None => return Err(Reason::Cut),
            }
            place.at += 1;
        }
        skip_blank(text, &mut place.at);
        match text.get(place.at) {
            None => return Ok(()),
            Some(b',') => place.at += 1,
            Some(_) => return Err(Reason::Behind),
        }
        place.row += 1;
    }
}

/// Moves over white space, of which there mostly is none.
#[inline(always)]
fn skip_blank(text: &[u8], at: &mut usize) {
    if text.get(*at).is_some_and(u8::is_ascii_whitespace) {
        *at += blank(&text[*at..]);
    }
}
