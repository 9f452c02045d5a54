//! The hot part of a buffer pool, carried to another server as key ranges.
//!
//! A list of page numbers only fits the files that it was made of; ranges of keys fit every server that holds the same
//! rows, whatever its version, its flavour and the way they came there. `save` makes them of a list of pages and of the
//! levels above the leaves, `file` keeps them, `load` has another server read them, `status` says what a file holds.

pub mod file;
pub mod load;
mod page_list;
pub mod save;
