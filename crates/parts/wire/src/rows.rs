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
    /// Digits after the point; 31 when not fixed.
    pub decimals: u8,
}

/// A result set being read. Dropping it early leaves the rest to be read away before the next statement.
#[derive(Debug)]
pub struct Rows<'c> {
    pub(crate) conn: &'c mut Conn,
    /// Whether more may come; without it bytes after the end could be taken for rows.
    pub(crate) open: bool,
}

impl Rows<'_> {
    /// The columns, in order; empty for a statement without a result set.
    pub fn columns(&self) -> &[Column] {
        &self.conn.columns
    }

    /// The next row, or `None` at the end. The slice is valid until the next call.
    // No iterator: each row borrows the buffer until the next call.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Row<'_>>> {
        if !self.open {
            return Ok(None);
        }
        let range = match self.conn.buffer.whole_row() {
            Some(range) => range,
            None => match self.conn.next_row() {
                Ok(Some(range)) => range,
                end => {
                    self.open = false;
                    end?;
                    return Ok(None);
                }
            },
        };
        Ok(Some(Row(self.conn.buffer.bytes(range))))
    }
}

/// One text row: the packet's payload, a length-encoded string per column, 0xFB for NULL.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a>(pub &'a [u8]);

impl<'a> Row<'a> {
    /// The payload as it came.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.0
    }

    /// The cells in order; each `None` is a NULL. A malformed length ends the walk with an error.
    #[inline]
    pub fn cells(&self) -> Cells<'a> {
        Cells { rest: self.0 }
    }
}

/// Walks the cells of a row.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Cells<'a> {
    type Item = Result<Option<&'a [u8]>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&first, rest) = self.rest.split_first()?;
        if first < 0xFB
            && let Some((cell, rest)) = rest.split_at_checked(usize::from(first))
        {
            self.rest = rest;
            return Some(Ok(Some(cell)));
        }
        self.next_long(first, rest)
    }
}

impl<'a> Cells<'a> {
    /// NULLs, cells of more than 250 bytes, and everything that is wrong.
    fn next_long(&mut self, first: u8, rest: &'a [u8]) -> Option<Result<Option<&'a [u8]>>> {
        let width = match first {
            0xFB => {
                self.rest = rest;
                return Some(Ok(None));
            }
            0xFC => 2,
            0xFD => 3,
            0xFE => 8,
            _ => return self.broken(),
        };
        let Some((bytes, rest)) = rest.split_at_checked(width) else {
            return self.broken();
        };
        let mut full = [0; 8];
        full[..width].copy_from_slice(bytes);
        let cell = usize::try_from(u64::from_le_bytes(full))
            .ok()
            .and_then(|len| rest.split_at_checked(len));
        let Some((cell, rest)) = cell else {
            return self.broken();
        };
        self.rest = rest;
        Some(Ok(Some(cell)))
    }

    #[cold]
    fn broken(&mut self) -> Option<Result<Option<&'a [u8]>>> {
        self.rest = &[];
        Some(Err(Error::Protocol(
            "a cell is longer than its row".to_owned(),
        )))
    }
}
