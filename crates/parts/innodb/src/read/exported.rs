//! A table from what `FLUSH TABLES … FOR EXPORT` wrote beside its file ([`crate::cfg`]), and the types of its columns
//! from the server's catalog.
//!
//! The description has the fields of each index as records hold them. MariaDB's says nothing of an instant ALTER:
//! [`super::instant`] reads that from the file itself.

use super::error::Error;
use super::prefix::Cut;
use super::table::{Column, Field, History, Index, Table, Values};
use super::types::Server;
use crate::cfg::{self, Exported};

/// InnoDB's main types whose values may be off-page whatever their length (`DATA_BLOB`, `DATA_VAR_POINT`,
/// `DATA_GEOMETRY`, data0type.h).
const LONG: [u32; 3] = [5, 14, 15];

/// Flags of an index that its entries cannot be read: full text, R-tree, damaged, on virtual columns
/// (`DICT_FTS`, `DICT_SPATIAL`, `DICT_CORRUPT`, `DICT_VIRTUAL`, dict0mem.h).
const UNREAD: [(u32, &str); 4] = [
    (32, "a full text index"),
    (64, "a spatial index"),
    (16, "an index marked as corrupt"),
    (128, "an index on virtual columns"),
];

/// Makes it; `columns` are those of the catalog, in their order.
pub fn table(exported: &Exported, columns: Vec<Column>) -> Result<Table, Error> {
    let server = if exported.dictionary.is_some() {
        Server::MySql
    } else {
        Server::MariaDb
    };
    let make = |index: &cfg::Index, clustered: bool| {
        let fields = index.fields.iter().map(|f| field(exported, &columns, f));
        let fields = fields.collect::<Result<Vec<Field>, Error>>()?;
        Ok::<Index, Error>(Index {
            name: index.name.clone(),
            root: index.root,
            branch: if clustered {
                index.unique
            } else {
                fields.len()
            },
            fields,
            history: History::Same,
        })
    };
    let [clustered, others @ ..] = &exported.indexes[..] else {
        return Err(Error::Definition("the table has no index".into()));
    };
    let mut secondary = Vec::new();
    let mut unread = Vec::new();
    for index in others {
        match UNREAD.iter().find(|(flag, _)| index.kind & flag != 0) {
            Some((_, why)) => unread.push((index.name.clone(), (*why).to_owned())),
            None => secondary.push(make(index, false)?),
        }
    }
    Ok(Table {
        name: exported.table.clone(),
        server,
        redundant: exported.flags & 1 == 0,
        clustered: make(clustered, true)?,
        secondary,
        unread,
        columns,
    })
}

fn field(exported: &Exported, columns: &[Column], f: &cfg::Field) -> Result<Field, Error> {
    if f.name.is_empty() && exported.dictionary.is_none() {
        // MariaDB: a column that was dropped instantly; `instant` reads from the file what its place is.
        return Ok(Field {
            dropped: Some(0),
            ..Field::default()
        });
    }
    let stored = exported.columns.iter().position(|c| c.name == f.name);
    let column = exported.column(&f.name).ok_or_else(|| {
        Error::Definition(format!(
            "an index names column {}, which is not there",
            f.name
        ))
    })?;
    let place = columns.iter().position(|c| c.name == f.name);
    if let Some(place) = place
        && matches!(columns[place].values, Values::Virtual)
    {
        return Err(Error::Definition(format!(
            "column {} is stored, not virtual",
            f.name
        )));
    }
    let charset = values::collations::charset(column.collation());
    Ok(Field {
        column: place,
        stored,
        fixed: (f.fixed != 0).then_some(f.fixed as usize),
        nullable: column.is_nullable(),
        big: column.length > 255 || LONG.contains(&column.main),
        prefix: f.prefix,
        cut: Cut::of(charset),
        ..Field::default()
    })
}
