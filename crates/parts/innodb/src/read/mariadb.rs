//! A table of MariaDB from its definition: in which order rows hold its columns. Its files do not say that.
//!
//! Rows hold the key, two columns of the system, and then all other columns that are stored, in the order of the table
//! (`dict_index_build_internal_clust`, dict0dict.cc). What instant ALTERs left is in the file: [`super::instant`] reads
//! it. What this does not do: secondary indexes, whose roots only the dictionary knows.

use super::error::Error;
use super::table::{Column, Field, History, Index, Table, Values};
use super::types::Server;

/// The root of the first index of a file (`FSP_FIRST_INODE_PAGE_NO` + 1, fsp0types.h).
const ROOT: u32 = 3;

/// What a definition says.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Its columns in their order, each with whether it may be NULL.
    pub columns: Vec<(Column, bool)>,
    /// The columns of the key that rows lie in the order of, by name: the primary key, or the first unique key without
    /// NULL; none: rows have numbers of their own.
    pub key: Vec<String>,
    /// The key's name.
    pub key_name: String,
    /// Whether rows are of the format REDUNDANT.
    pub redundant: bool,
}

/// Makes the table.
pub fn table(definition: Definition) -> Result<Table, Error> {
    let columns = &definition.columns;
    let field = |n: usize| -> Result<Field, Error> {
        let (column, nullable) = &columns[n];
        match &column.values {
            Values::Stored(of) => Ok(Field {
                column: Some(n),
                stored: Some(n),
                fixed: of.fixed(),
                nullable: *nullable,
                big: of.is_big(),
                ..Field::default()
            }),
            Values::Unread(why) => Err(Error::Unsupported(format!(
                "column {}, {why},",
                column.name
            ))),
            Values::Virtual => Err(Error::Definition(format!(
                "column {} is virtual, and in the key of rows",
                column.name
            ))),
        }
    };
    let system = |bytes| Field {
        fixed: Some(bytes),
        ..Field::default()
    };
    let mut fields = Vec::new();
    for name in &definition.key {
        let place = columns.iter().position(|(c, _)| c.name == *name);
        let place =
            place.ok_or_else(|| Error::Definition(format!("the key has no column {name}")))?;
        fields.push(field(place)?);
    }
    if fields.is_empty() {
        // DB_ROW_ID.
        fields.push(system(6));
    }
    let branch = fields.len();
    // DB_TRX_ID and DB_ROLL_PTR.
    fields.extend([system(6), system(7)]);
    for (n, (column, _)) in columns.iter().enumerate() {
        let in_key = fields[..branch].iter().any(|f| f.column == Some(n));
        if !in_key && !matches!(column.values, Values::Virtual) {
            fields.push(field(n)?);
        }
    }
    Ok(Table {
        name: definition.name,
        server: Server::MariaDb,
        redundant: definition.redundant,
        columns: definition.columns.into_iter().map(|(c, _)| c).collect(),
        clustered: Index {
            name: definition.key_name,
            root: ROOT,
            fields,
            branch,
            history: History::Same,
        },
        secondary: Vec::new(),
        unread: Vec::new(),
    })
}
