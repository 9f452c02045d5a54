//! Bulk build: makes the tablespace of a table from its rows, in primary key order,
//! on the server's own empty tablespace as a template.
//!
//! `template` parses that file, `rows` turns values into records of every index,
//! `sort` sorts those of secondary indexes, `page` and `tree` fill pages level by
//! level, `extents` allocates them.
//! Invariants: records of an index are in strict order and unique keys are unique,
//! or nothing is built (some servers accept a wrong file and are damaged by it);
//! sorting stays within the memory that the caller allows.

pub mod encode;
pub mod extents;
pub mod key;
pub mod page;
pub mod rows;
pub mod sort;
pub mod template;
pub mod tree;

pub use rows::{Builder, Options, Rows};
pub use template::Template;

use crate::value::Wrong;

/// Receives the pages of a new file.
pub trait Sink: Sync {
    /// Writes complete pages from this page number on.
    fn write(&self, page: u32, bytes: &[u8]) -> std::io::Result<()>;

    /// Whether to continue; asked where pages take long.
    fn goes_on(&self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Sink for std::fs::File {
    fn write(&self, page: u32, bytes: &[u8]) -> std::io::Result<()> {
        use std::os::unix::fs::FileExt;
        self.write_all_at(bytes, u64::from(page) * crate::page::SIZE as u64)
    }
}

/// Why a file is not built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The template is of an unsupported kind.
    #[error("the server's file of the empty table {0}")]
    Template(String),
    /// An index of an unsupported kind.
    #[error(transparent)]
    Layout(#[from] crate::layout::Error),
    /// A column of the file without values, or values without a column.
    #[error("column {0} is not among the rows' columns")]
    Column(String),
    /// A value that a column cannot hold.
    #[error("column {0}: {1}")]
    Value(String, Wrong),
    /// NULL where it cannot be.
    #[error("column {0} is NULL in a row, and cannot be")]
    Null(String),
    /// A row does not fit a page.
    #[error("a row is too long for a page even with its long values stored externally")]
    RowSize,
    /// Rows are not in primary key order.
    #[error("rows are not in primary key order")]
    Order,
    /// A value whose position in an index is unknown.
    #[error("index {0} has a value whose position in its collation is unknown")]
    Unknown(String),
    /// Two rows are equal in a unique index.
    #[error("two rows are equal in index {0}")]
    Duplicate(String),
    /// A bug of this crate.
    #[error("a bug of the builder: {0}")]
    Builder(&'static str),
}
