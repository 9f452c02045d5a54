//! Rows read from tablespaces.
//!
//! `types` says how a column's values are stored and appends them as the text
//! protocol has them. It shares nothing with `value` and `bulk`, which go the
//! other way: what one of them gets wrong, the other shows.
//!
//! `file` gives pages that are checked, `table` says what their records are (made by `exported` or `sdi` or
//! `mariadb`), `leaves` where they lie; `rows` reads them. `record`, `chain`
//! and `outside` know the format of records and long values.
//! `guess` and `salvage` do the same for a damaged file, as far as that is possible.
//! Invariant: bytes are taken to be hostile; none of them makes a reader panic, loop, or take memory that the file does not
//! have.

mod chain;
mod entries;
mod error;
pub mod exported;
mod file;
pub mod frm;
pub mod guess;
pub mod instant;
mod leaves;
pub mod mariadb;
pub mod nodes;
mod outside;
mod prefix;
mod record;
mod rows;
pub mod salvage;
pub mod sdi;
mod secondary;
mod sums;
mod table;
pub mod types;
pub mod versions;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod there_and_back;

/// Bytes of the longest character of a character set, which the length of a prefix in an index is counted by.
pub fn bytes_of_character(charset: &str) -> Option<u8> {
    values::charset::Charset::of(charset).map(|set| set.most)
}

pub use entries::Entries;
pub use error::Error;
pub use file::{Bytes, Tablespace, Window, page_size};
pub use leaves::{Leaf, Leaves};
pub use prefix::Cut;
pub use rows::{Rows, Salvaged};
pub use table::{Absent, Column, Field, History, Index, Table, Values};
