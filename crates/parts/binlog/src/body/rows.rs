//! Row events: which rows of a table were inserted, changed or deleted.

use super::columns::{Column, kind::JSON};
use super::query::decompress;
use crate::fields::Fields;
use crate::{Event, Result, kind};
use std::borrow::Cow;

/// What happened to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// They are new.
    Insert,
    /// They were changed: each comes twice, as it was and as it is.
    Update,
    /// They are gone.
    Delete,
}

/// A row event.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// What happened.
    pub change: Change,
    /// The number that a TABLE_MAP event before it gave the table.
    pub table: u64,
    /// Columns of the table.
    width: usize,
    /// Which of them are there: before, and after a change.
    present: [Vec<u8>; 2],
    /// JSON values may be changes of the value before.
    partial: bool,
    bytes: Cow<'a, [u8]>,
}

/// A column in an image of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'r> {
    /// It is not in the image (`binlog_row_image` is not FULL).
    Absent,
    /// NULL.
    Null,
    /// Its value, as [`crate::value`] reads it.
    Value(&'r [u8]),
    /// Changes of the JSON document that it was before (`binlog_row_value_options=PARTIAL_JSON`).
    Changes(&'r [u8]),
}

/// One image of a row: its columns, in their order.
pub type Image<'r> = Vec<Cell<'r>>;

impl<'a> Rows<'a> {
    /// Reads an event; `None` if it is of another kind.
    pub fn parse(event: &Event<'a>) -> Result<Option<Rows<'a>>> {
        use kind::*;
        let (change, version, compressed) = match event.header.kind {
            WRITE_ROWS_V1 => (Change::Insert, 1, false),
            UPDATE_ROWS_V1 => (Change::Update, 1, false),
            DELETE_ROWS_V1 => (Change::Delete, 1, false),
            WRITE_ROWS => (Change::Insert, 2, false),
            UPDATE_ROWS | PARTIAL_UPDATE_ROWS => (Change::Update, 2, false),
            DELETE_ROWS => (Change::Delete, 2, false),
            WRITE_ROWS_COMPRESSED_V1 => (Change::Insert, 1, true),
            UPDATE_ROWS_COMPRESSED_V1 => (Change::Update, 1, true),
            DELETE_ROWS_COMPRESSED_V1 => (Change::Delete, 1, true),
            WRITE_ROWS_COMPRESSED => (Change::Insert, 2, true),
            UPDATE_ROWS_COMPRESSED => (Change::Update, 2, true),
            DELETE_ROWS_COMPRESSED => (Change::Delete, 2, true),
            _ => return Ok(None),
        };
        let mut fields = Fields::new(event.body(), "row event");
        let table = fields.u48()?;
        fields.u16()?; // flags
        if version == 2 {
            let more = usize::from(fields.u16()?);
            let more = more.checked_sub(2);
            fields.take(more.ok_or_else(|| fields.wrong("a length of less than itself"))?)?;
        }
        let width = usize::try_from(fields.packed()?).unwrap_or(usize::MAX);
        let bitmap = width.div_ceil(8);
        let before = fields.take(bitmap)?.to_vec();
        let after = match change {
            Change::Update => fields.take(bitmap)?.to_vec(),
            _ => before.clone(),
        };
        Ok(Some(Rows {
            change,
            table,
            width,
            present: [before, after],
            partial: event.header.kind == PARTIAL_UPDATE_ROWS,
            bytes: match compressed {
                false => Cow::Borrowed(fields.rest()),
                true => Cow::Owned(decompress(fields.rest())?),
            },
        }))
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Calls `each` with every row: as it was, and as it is. Of an insert there is only the second, of a delete only the first.
    pub fn each(
        &self,
        columns: &[Column],
        mut each: impl FnMut(Option<Image<'_>>, Option<Image<'_>>) -> Result<()>,
    ) -> Result<()> {
        let mut fields = Fields::new(&self.bytes, "row event");
        if columns.len() != self.width {
            let why = format!(
                "{} columns, and the table has {}",
                self.width,
                columns.len()
            );
            return Err(fields.wrong(why));
        }
        while !fields.is_empty() {
            let left = fields.rest().len();
            let (mut before, mut after) = (None, None);
            if self.change != Change::Insert {
                before = Some(self.image(columns, &mut fields, 0, false)?);
            }
            if self.change != Change::Delete {
                after = Some(self.image(columns, &mut fields, 1, self.partial)?);
            }
            // Hostile bytes may describe rows without end.
            if fields.rest().len() == left {
                return Err(fields.wrong("a row of no bytes"));
            }
            each(before, after)?;
        }
        Ok(())
    }

    fn image<'f>(
        &self,
        columns: &[Column],
        fields: &mut Fields<'f>,
        which: usize,
        partial: bool,
    ) -> Result<Image<'f>> {
        const PARTIAL_JSON: u64 = 1;
        let is_there = |i: usize| self.present[which][i / 8] >> (i % 8) & 1 == 1;
        // A bit for each column of JSON: whether it has changes instead of a value.
        let mut changes: &[u8] = &[];
        if partial && fields.packed()? & PARTIAL_JSON != 0 {
            let json = columns.iter().filter(|c| c.kind == JSON);
            changes = fields.take(json.count().div_ceil(8))?;
        }
        let there = (0..columns.len()).filter(|&i| is_there(i)).count();
        let nulls = fields.take(there.div_ceil(8))?;
        let mut image = Vec::with_capacity(columns.len());
        let (mut at, mut json) = (0, 0);
        for (i, column) in columns.iter().enumerate() {
            let mut changed = false;
            if column.kind == JSON {
                changed = changes
                    .get(json / 8)
                    .is_some_and(|b| b >> (json % 8) & 1 == 1);
                json += 1;
            }
            if !is_there(i) {
                image.push(Cell::Absent);
                continue;
            }
            let null = nulls[at / 8] >> (at % 8) & 1 == 1;
            at += 1;
            image.push(match (null, changed) {
                (true, _) => Cell::Null,
                (false, false) => Cell::Value(column.value(fields)?),
                (false, true) => Cell::Changes(column.value(fields)?),
            });
        }
        Ok(image)
    }
}
