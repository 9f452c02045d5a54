//! Converts the rows of a plain INSERT to lines for LOAD DATA.
//!
//! [`Header::parse`] finds the table and where the rows begin. [`convert`] writes
//! `(…),(…),…` as lines with `FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES
//! TERMINATED BY '\n'`, NULL as `\N`. Values must be literals: anything else in a
//! row makes the statement [`NotPlain`], and the caller sends it unchanged.
//!
//! Invariant: a line loads the values that the INSERT would have stored. Where a
//! literal and the same text in a file may differ for a kind of column, the
//! statement is not plain. The output has the same format as an archive: `\0 \b
//! \t \n \r \Z \\` for those bytes and no other escapes, so `\'` in a string
//! becomes `'`.
//!
//! The lines are bytes in the character set of the statement
//! ([`Dialect::charset`](crate::Dialect::charset)), which LOAD DATA must name,
//! with raw bytes in [`Literal::Bytes`] columns. Where raw bytes are not valid in
//! such text, [`Literal::Hex`] and [`Literal::Base64`] encode them.

mod convert;
mod header;
mod literal;
mod string;

pub use convert::convert;
pub use header::Header;

/// The kind of a column, which decides how its literals are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// Character columns and JSON: strings, and integers that print as written.
    /// In the column's character set ASCII must be one byte each; for ucs2, utf16
    /// and utf32 use [`Quoted`](Self::Quoted).
    Text,
    /// Dates and times, ENUM, SET: strings only, because a number means something else there.
    Quoted,
    /// Numeric columns except BIT: numbers, and strings with numbers in them.
    Number,
    /// YEAR: four digits, or strings.
    Year,
    /// Binary, BLOB, BIT and spatial columns: strings, hex and bit literals, written as raw bytes.
    Bytes,
    /// As [`Bytes`](Self::Bytes), written in hexadecimal for `SET c = UNHEX(@c)`.
    Hex,
    /// As [`Bytes`](Self::Bytes), written for `SET c = FROM_BASE64(@c)`.
    Base64,
}

/// Why a statement must be sent unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row}: {reason} (byte {at} of the values)")]
pub struct NotPlain {
    /// The row within the statement, from 1.
    pub row: u64,
    /// Where it was found, in bytes from the beginning of the values.
    pub at: usize,
    /// What was found.
    pub reason: Reason,
}

/// What makes a statement not plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A row has more or fewer values than columns; no server accepts it either.
    #[error("{found} values where {expected} are expected")]
    Count {
        /// Values in the row; counted up to one more than expected.
        found: usize,
        /// Columns.
        expected: usize,
    },
    /// The text ends inside a row.
    #[error("the rows end early")]
    UnexpectedEnd,
    /// A function, an operator, DEFAULT, a variable, a subquery.
    #[error("an expression")]
    Expression,
    /// A literal that would mean something else in a file for this column.
    #[error("a literal of another kind than the column")]
    Kind,
    /// An introducer with another character set than the statement.
    #[error("a string in another character set")]
    Introducer,
    /// In the statement's character set a backslash may be the second byte of a
    /// character, and the rows may contain such characters.
    #[error("a character set in which backslashes are ambiguous")]
    Charset,
    /// There is something between or after the rows.
    #[error("something other than rows")]
    NotRows,
}

#[cfg(test)]
mod tests;
