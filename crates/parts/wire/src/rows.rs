//! Result sets in the text protocol: column definitions, and rows as slices.

use crate::{Conn, Error, Result};

/// What the server says of a result column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name or alias.
    pub name: String,
    /// `mysql_common::constants::ColumnType` as its protocol number.
    pub type_code: u8,
    /// Column flags of the protocol (NOT_NULL 1, UNSIGNED 32, BINARY 128, …).
    pub flags: u16,
    /// Collation id of the data as sent (63 = binary).
    pub collation: u16,
    /// Digits behind the point; 31 when not fixed.
    pub decimals: u8,
}

/// A result set being read. Dropping it early leaves the rest to be read away before the next statement.
#[derive(Debug)]
pub struct Rows<'c> {
    #[allow(dead_code)]
    conn: &'c mut Conn,
}

impl Rows<'_> {
    /// The columns, in order; empty for a statement without a result set.
    pub fn columns(&self) -> &[Column] {
        unimplemented!()
    }

    /// The next row, or `None` at the end. The slice is valid until the next call.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        unimplemented!()
    }
}

/// One text row: the packet's payload, a length-encoded string per column, 0xFB for NULL.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a>(pub &'a [u8]);

impl<'a> Row<'a> {
    /// The payload as it came.
    pub fn payload(&self) -> &'a [u8] {
        self.0
    }

    /// The cells in order; each `None` is a NULL. A malformed length ends the walk with an error.
    pub fn cells(&self) -> Cells<'a> {
        Cells { rest: self.0 }
    }
}

/// Walks the cells of a row.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    #[allow(dead_code)]
    rest: &'a [u8],
}

impl<'a> Iterator for Cells<'a> {
    type Item = Result<Option<&'a [u8]>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        unimplemented!()
    }
}
