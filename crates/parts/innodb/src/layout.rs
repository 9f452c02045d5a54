//! How the records of an index lie: which fields, how long, in which order.
//!
//! Made from an [`Exported`] description. A leaf record of the clustered index
//! holds every column of the table; one of a secondary index holds its fields
//! and those of the primary key that it lacks; a record above the leaves holds
//! the fields that tell records apart, and a page number.

use crate::cfg::{Column, Exported, Field, Index, index_kind, precise};
use crate::collation::Collation;

/// InnoDB's main types (`DATA_…`, data0type.h).
mod main {
    pub const VARCHAR: u32 = 1;
    pub const CHAR: u32 = 2;
    pub const FIXBINARY: u32 = 3;
    pub const BINARY: u32 = 4;
    pub const BLOB: u32 = 5;
    pub const INT: u32 = 6;
    pub const SYS: u32 = 8;
    pub const FLOAT: u32 = 9;
    pub const DOUBLE: u32 = 10;
    pub const DECIMAL: u32 = 11;
    pub const VARMYSQL: u32 = 12;
    pub const MYSQL: u32 = 13;
    pub const GEOMETRY: u32 = 14;
}

/// How values of a field compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Byte by byte.
    Bytes,
    /// A float of four bytes, lowest first.
    Float,
    /// One of eight.
    Double,
    /// Text.
    Text(Collation),
    /// CHAR of MySQL in a collation that does not pad: the spaces that fill it up do not count.
    Filled(Collation),
    /// By rules that this crate does not know.
    Unknown,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    /// The column's name.
    pub name: String,
    /// Bytes that it always has; `None`: the record says.
    pub fixed: Option<usize>,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether its length may take two bytes, and the value lie outside of the page.
    pub big: bool,
    /// How it compares.
    pub order: Order,
    /// From the smallest to the largest.
    pub ascending: bool,
}

/// The records of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The index's number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its root page.
    pub root: u32,
    /// Whether it holds the rows.
    pub clustered: bool,
    /// Whether two rows may not be equal in its first fields, unless one of those is NULL.
    pub unique: Option<usize>,
    /// Fields of a leaf record.
    pub fields: Vec<FieldLayout>,
    /// How many fields, from the first, tell records apart.
    pub keys: usize,
    /// How many fields a record above the leaves has, but for the page number.
    pub branch: usize,
    /// Bytes of the null bitmap.
    nulls: usize,
}

/// Why an index's records are not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The table's rows have another format, or pages another size.
    #[error("the table has rows or pages of a format that is not read")]
    Table,
    /// An R-tree, a full text index, one on virtual columns.
    #[error("index {0} is of a kind that is neither read nor built")]
    Kind(String),
    /// The description contradicts itself.
    #[error("index {0} names a column that is not there")]
    Column(String),
}

/// Flags of the table: bit 0 compact, 1-4 zip size, 5 atomic blobs (DYNAMIC).
const ZIP: u32 = 0x1e;

impl Layout {
    /// The records of one index of the table.
    pub fn of(table: &Exported, index: &Index) -> Result<Layout, Error> {
        if table.page_size != crate::page::SIZE as u32
            || table.flags & 1 == 0
            || table.flags & ZIP != 0
        {
            return Err(Error::Table);
        }
        if index.kind & index_kind::OTHERS != 0 {
            return Err(Error::Kind(index.name.clone()));
        }
        let fields = index.fields.iter().map(|f| {
            let column = table.column(&f.name);
            column
                .map(|c| field(f, c, table.dictionary.is_some()))
                .ok_or_else(|| Error::Column(index.name.clone()))
        });
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let clustered = index.is_clustered();
        Ok(Layout {
            id: index.id,
            name: index.name.clone(),
            root: index.root,
            clustered,
            unique: (!clustered && index.is_unique()).then_some(index.defined),
            // A unique index says that its own fields suffice; where they are NULL, those of the primary
            // key after them are needed too, so every field counts.
            keys: if clustered {
                index.unique
            } else {
                fields.len()
            },
            branch: if clustered {
                index.unique
            } else {
                fields.len()
            },
            nulls: fields.iter().filter(|f| f.nullable).count().div_ceil(8),
            fields,
        })
    }

    /// Fields of a record of this level.
    pub fn count(&self, level: u16) -> usize {
        if level == 0 {
            self.fields.len()
        } else {
            self.branch
        }
    }

    /// Bytes of the null bitmap.
    pub fn null_bytes(&self) -> usize {
        self.nulls
    }
}

fn field(f: &Field, c: &Column, of_mysql: bool) -> FieldLayout {
    FieldLayout {
        name: f.name.clone(),
        fixed: (f.fixed != 0).then_some(f.fixed as usize),
        nullable: c.is_nullable(),
        big: c.length > 255 || matches!(c.main, main::BLOB | main::GEOMETRY),
        order: order(c, of_mysql),
        ascending: f.ascending,
    }
}

/// The server's own number of CHAR, in the low byte of the precise type.
const CHAR_OF_SERVER: u32 = 254;

fn order(c: &Column, of_mysql: bool) -> Order {
    match c.main {
        main::INT | main::SYS | main::FIXBINARY | main::BINARY => Order::Bytes,
        main::FLOAT => Order::Float,
        main::DOUBLE => Order::Double,
        main::BLOB if c.precise & precise::BINARY != 0 => Order::Bytes,
        main::VARCHAR | main::CHAR | main::VARMYSQL | main::MYSQL | main::BLOB => {
            let filled = c.precise & 0xff == CHAR_OF_SERVER;
            match Collation::of(c.collation(), of_mysql) {
                Some(collation) if collation.pads() || !filled => Order::Text(collation),
                Some(collation) if of_mysql => Order::Filled(collation),
                // Compared as long as the column may be, spaces included.
                Some(collation) => Order::Text(collation.padded()),
                None => Order::Unknown,
            }
        }
        main::DECIMAL | main::GEOMETRY => Order::Unknown,
        _ => Order::Unknown,
    }
}
