//! TABLE_MAP: which table the row events after it belong to.

use crate::fields::Fields;
use crate::{Event, Result, kind};

/// A table, as row events name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table<'a> {
    /// The number that row events name it by.
    pub id: u64,
    /// Its schema.
    pub schema: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Everything about its columns, undecoded: count, types, and what follows them.
    pub columns: &'a [u8],
}

impl<'a> Table<'a> {
    /// Reads an event; `None` if it is of another kind.
    pub fn parse(event: &Event<'a>) -> Result<Option<Table<'a>>> {
        if event.header.kind != kind::TABLE_MAP {
            return Ok(None);
        }
        let mut fields = Fields::new(event.body(), "Table_map event");
        let id = fields.u48()?;
        fields.u16()?; // flags
        let length = usize::from(fields.u8()?);
        let schema = fields.take(length)?;
        fields.u8()?; // NUL
        let length = usize::from(fields.u8()?);
        let name = fields.take(length)?;
        fields.u8()?; // NUL
        Ok(Some(Table {
            id,
            schema,
            name,
            columns: fields.rest(),
        }))
    }
}
