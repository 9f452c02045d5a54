//! Builds the tablespace of a table from its rows, in the order of its primary
//! key, on the server's own empty file of that table as a template.
//!
//! `template` takes that file apart, `rows` turns values into records of every
//! index, `sort` puts those of secondary indexes in order, `page` and `tree`
//! fill pages level by level, `extents` accounts for them.
//! Invariants: records of an index are in strict order, and what is unique is
//! there once, or nothing is built (some servers accept a file that is not so,
//! and are damaged by it); what is sorted is bounded by what the caller allows.

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

/// Where pages of a new file go.
pub trait Sink: Sync {
    /// Writes whole pages from this one on.
    fn write(&self, page: u32, bytes: &[u8]) -> std::io::Result<()>;

    /// Whether more is wanted; asked where pages are long in coming.
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
    /// A file cannot be written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The template is of a kind that is not built on.
    #[error("the server's file of the empty table {0}")]
    Template(String),
    /// An index of a kind that is not built.
    #[error(transparent)]
    Layout(#[from] crate::layout::Error),
    /// A column of the file that no value is for, or the other way round.
    #[error("column {0} is not one of the rows that are handed in")]
    Column(String),
    /// A value that a column cannot hold.
    #[error("column {0}: {1}")]
    Value(String, Wrong),
    /// NULL where it cannot be.
    #[error("column {0} is NULL in a row, and cannot be")]
    Null(String),
    /// A row does not fit a page.
    #[error("a row is too long for a page even with its long values outside of it")]
    RowSize,
    /// Rows do not come in the order of the primary key.
    #[error("rows do not come in the order of the primary key")]
    Order,
    /// A value whose place in an index is not known.
    #[error("index {0} has a value whose place in its collation is not known here")]
    Unknown(String),
    /// Two rows are equal in a unique index.
    #[error("two rows are equal in index {0}")]
    Duplicate(String),
    /// A mistake of this crate.
    #[error("a mistake of the builder: {0}")]
    Builder(&'static str),
}
