//! One row, in its two forms, and the way between them.
//!
//! *Canonical*: the payload of a row in MySQL's text protocol. Per column a
//! length-encoded string with the shortest possible length, or the byte 0xFB
//! for NULL. Row digests are taken over exactly these bytes.
//!
//! *Stored*: a line of the default dialect of LOAD DATA. Columns end with TAB,
//! rows with LF; `\` escapes; NULL is `\N`; binary columns are base64.
//!
//! Payloads come from servers and lines from archives, so both are taken to be
//! hostile: a malformed one gives a [`RowError`], never a panic or a wrong row.
//! This is the hot path of dump and verify. Numeric `inf` and `nan` are not
//! looked for, since neither server can send them.

mod block;
mod decode;
mod encode;
mod split;
#[cfg(test)]
mod tests;

pub use split::{last_row_end, row_end};

/// The byte that is NULL in the place of a length.
pub const NULL: u8 = 0xFB;

/// How a column's bytes are written in a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// As they are, with escapes.
    Text,
    /// As one unbroken run of standard base64 (`FROM_BASE64` when loading); other writers break it into lines.
    Base64,
    /// As hexadecimal digits (`UNHEX` when loading); some foreign archives have it.
    Hex,
}

/// The columns of a table as far as writing and reading its rows goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPlan {
    columns: Vec<Encoding>,
}

impl RowPlan {
    /// One encoding per column, in the order of the data.
    pub fn new(columns: Vec<Encoding>) -> Self {
        Self { columns }
    }

    /// A plan for `columns` text columns.
    pub fn text(columns: usize) -> Self {
        Self::new(vec![Encoding::Text; columns])
    }

    /// The encodings, in order.
    pub fn columns(&self) -> &[Encoding] {
        &self.columns
    }
}

/// A row that is not what its plan says. Columns count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// The row ends inside this column or before it.
    #[error("row ends early, in column {column}")]
    Truncated {
        /// Where it ends.
        column: usize,
    },
    /// Bytes are left after the last column.
    #[error("row is longer than its {columns} columns")]
    TooLong {
        /// Columns in the plan.
        columns: usize,
    },
    /// A length of a form that the protocol does not have, or not its shortest form.
    #[error("malformed length in column {column}")]
    Length {
        /// The column it precedes.
        column: usize,
    },
    /// The text of a binary column is not base64 or hexadecimal.
    #[error("column {column} is not valid {encoding}")]
    Binary {
        /// The column.
        column: usize,
        /// What it should have been.
        encoding: &'static str,
    },
}
