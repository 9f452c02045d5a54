//! Small questions to a server: a whole result in memory, cells found by
//! position or by column name. For catalog and settings only, never for rows.

use crate::{Error, Result};
use wire::Conn;

/// A result set with its column names.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Names as the server gives them.
    pub columns: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Record>,
    /// Repeated in every error about this answer.
    what: String,
}

/// One row.
#[derive(Debug)]
pub(crate) struct Record(pub Vec<Option<Vec<u8>>>);

/// Runs `sql` and keeps its whole result; `what` names it in errors.
pub(crate) fn ask(conn: &mut Conn, what: &str, sql: &str) -> Result<Answer> {
    let wrong = |source| Error::Wire {
        what: what.to_owned(),
        source,
    };
    let mut result = conn.query(sql).map_err(wrong)?;
    let columns = result.columns().iter().map(|c| c.name.clone()).collect();
    let mut rows = Vec::new();
    while let Some(row) = result.next().map_err(wrong)? {
        let cells: Result<Vec<_>, wire::Error> = row
            .cells()
            .map(|c| c.map(|v| v.map(<[u8]>::to_vec)))
            .collect();
        rows.push(Record(cells.map_err(wrong)?));
    }
    Ok(Answer {
        columns,
        rows,
        what: what.to_owned(),
    })
}

/// Runs a statement whose result does not matter.
pub(crate) fn run(conn: &mut Conn, what: &str, sql: &str) -> Result<()> {
    conn.execute(sql).map(drop).map_err(|source| Error::Wire {
        what: what.to_owned(),
        source,
    })
}

impl Answer {
    /// The place of a column, by any of its names over the versions, ignoring case.
    pub fn find(&self, names: &[&str]) -> Option<usize> {
        names
            .iter()
            .find_map(|n| self.columns.iter().position(|c| c.eq_ignore_ascii_case(n)))
    }

    /// As [`Answer::find`], but its absence is an error.
    pub fn need(&self, names: &[&str]) -> Result<usize> {
        self.find(names).ok_or_else(|| Error::Answer {
            what: self.what.clone(),
            why: format!("the answer has no column {}", names.join(" or ")),
        })
    }

    /// The only row expected; `None` for an empty result.
    pub fn first(&self) -> Option<&Record> {
        self.rows.first()
    }
}

impl Record {
    /// A cell as text; NULL and a missing cell are `None`. Bytes that are not
    /// UTF-8 are replaced: names and settings arrive under utf8mb4, where the
    /// server itself guarantees UTF-8.
    pub fn text(&self, at: usize) -> Option<String> {
        self.0
            .get(at)?
            .as_deref()
            .map(|v| String::from_utf8_lossy(v).into_owned())
    }

    /// As [`Record::text`], with "" for NULL.
    pub fn text_or_empty(&self, at: usize) -> String {
        self.text(at).unwrap_or_default()
    }

    /// A cell as a number; `None` for NULL or anything that is not one.
    pub fn number(&self, at: usize) -> Option<u64> {
        std::str::from_utf8(self.0.get(at)?.as_deref()?)
            .ok()?
            .parse()
            .ok()
    }

    /// The bytes of a cell.
    pub fn bytes(&self, at: usize) -> Option<&[u8]> {
        self.0.get(at)?.as_deref()
    }
}
