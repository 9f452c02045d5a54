//! The first line of a file of rows: whether it has the columns' names, as most CSV files do, and how lines
//! end.
//!
//! A line counts as a header only if every cell names a different column of the table; then it also gives
//! the order of the cells.

use dumps::directory::Delimited;
use std::io::Read;

/// Longest header that is recognized, in bytes.
const LONGEST: u64 = 1 << 20;

/// The properties of the first line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HeaderRow {
    /// The columns in the order of the cells, if it has their names.
    pub names: Option<Vec<String>>,
    /// It ends with a carriage return and a line feed.
    pub crlf: bool,
}

/// Reads the first line.
pub fn read(
    reader: &mut dyn Read,
    form: &Delimited,
    columns: &[String],
) -> std::io::Result<HeaderRow> {
    let mut text = Vec::new();
    reader.take(LONGEST).read_to_end(&mut text)?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    Ok(first_line(text, form, columns))
}

fn first_line(text: &[u8], form: &Delimited, columns: &[String]) -> HeaderRow {
    let mut cells = vec![Vec::new()];
    let mut quoted = false;
    let mut crlf = false;
    for (at, b) in text.iter().enumerate() {
        let before = at.checked_sub(1).map(|i| text[i]);
        if form.enclosed.first() == Some(b) {
            quoted = !quoted;
            // A doubled quote is lost: names with quotes in them are not worth more code.
            continue;
        }
        if quoted {
            cells.last_mut().expect("a cell").push(*b);
        } else if form.fields == [*b] {
            cells.push(Vec::new());
        } else if *b == b'\n' {
            // With backslash escapes, a carriage return belongs to the value.
            crlf = before == Some(b'\r') && form.escaped.is_empty();
            break;
        } else {
            cells.last_mut().expect("a cell").push(*b);
        }
    }
    let mut names: Vec<String> = Vec::new();
    for cell in cells {
        let name = String::from_utf8_lossy(&cell);
        let found = columns.iter().find(|c| c.eq_ignore_ascii_case(name.trim()));
        match found {
            Some(c) if !names.contains(c) => names.push(c.clone()),
            _ => return HeaderRow { names: None, crlf },
        }
    }
    HeaderRow {
        names: Some(names),
        crlf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_distinguished_from_rows() {
        let columns = ["id".to_owned(), "Note".to_owned(), "c d".to_owned()];
        let of = |text: &str| first_line(text.as_bytes(), &Delimited::csv(), &columns);
        let names = |n: &[&str]| Some(n.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert_eq!(of("note,id\n1,2\n").names, names(&["Note", "id"]));
        assert_eq!(of("\"c d\",\"ID\"\r\n").names, names(&["c d", "id"]));
        assert!(of("\"c d\",\"ID\"\r\n").crlf);
        assert_eq!(of("id,id\n"), HeaderRow::default());
        assert_eq!(of("1,\"a\r\nb\"\n"), HeaderRow::default());
        assert_eq!(of(""), HeaderRow::default());
    }
}
