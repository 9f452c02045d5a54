//! The rows of a plain INSERT as lines for LOAD DATA.
//!
//! [`Head::parse`] finds the table and where the rows begin; [`convert`] turns
//! `(…),(…),…` into lines with `FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES
//! TERMINATED BY '\n'`, NULL as `\N`. Values are literals only: whatever else a
//! row holds makes the statement [`NotPlain`], and the caller sends it as it is.
//!
//! Invariant: a line loads to what the INSERT would have stored. Where a literal
//! and the same text in a file may differ for a kind of column, the statement is
//! not plain. What comes out is in the one form that archives have: `\0 \b \t \n
//! \r \Z \\` for those bytes and no other escapes, so a string's `\'` becomes `'`.
//!
//! The lines are bytes in the character set of the statement
//! ([`Dialect::charset`](crate::Dialect::charset)), which is what LOAD DATA has
//! to be told, with raw bytes in [`Literal::Bytes`] columns; where those may not
//! stand in such text, [`Literal::Hex`] and [`Literal::Base64`] encode them.

mod convert;
mod head;
mod literal;
mod string;

pub use convert::convert;
pub use head::Head;

/// What a column takes, and so how literals for it are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// Character columns and JSON: strings, and integers that print as written.
    /// The column's character set has to keep ASCII as it is; for ucs2, utf16 and
    /// utf32 take [`Quoted`](Self::Quoted).
    Text,
    /// Dates and times, ENUM, SET: strings only, for there a number means something else.
    Quoted,
    /// Numeric columns except BIT: numbers, and strings that hold some.
    Number,
    /// YEAR: four digits, or strings.
    Year,
    /// Binary, BLOB, BIT and spatial columns: strings, hex and bit literals, written as the bytes they are.
    Bytes,
    /// As [`Bytes`](Self::Bytes), written in hexadecimal for `SET c = UNHEX(@c)`.
    Hex,
    /// As [`Bytes`](Self::Bytes), written for `SET c = FROM_BASE64(@c)`.
    Base64,
}

/// Why a statement has to be sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row}: {reason} (byte {at} of the values)")]
pub struct NotPlain {
    /// The row within the statement, from 1.
    pub row: u64,
    /// Where it was noticed, in bytes from the beginning of the values.
    pub at: usize,
    /// What was noticed.
    pub reason: Reason,
}

/// What made a statement not plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A row has more or fewer values than the shape; no server would take it either.
    #[error("{found} values where {expected} are expected")]
    Count {
        /// Values in the row; counted up to one more than expected.
        found: usize,
        /// Columns of the shape.
        expected: usize,
    },
    /// The rows stop in the midst of one.
    #[error("the rows end early")]
    Cut,
    /// A function, an operator, DEFAULT, a variable, a subquery.
    #[error("an expression")]
    Expression,
    /// A literal that means something else in a file for this column.
    #[error("a literal of another kind than the column")]
    Kind,
    /// A character set introducer other than the statement's own.
    #[error("a string in another character set")]
    Introducer,
    /// In the statement's character set a backslash may be half of a character,
    /// and in these rows some may be.
    #[error("a character set in which backslashes are ambiguous")]
    Charset,
    /// Something stands between or behind the rows.
    #[error("something other than rows")]
    Behind,
}

#[cfg(test)]
mod tests;
