//! The hot part of a buffer pool, carried to another server as key ranges.
//!
//! A list of page numbers only fits the files that it was made of; ranges of keys fit every server that holds the same
//! rows, whatever its version, its flavour and the way they came there. `save` makes them of a list of pages and of the
//! levels above the leaves, `file` keeps them, `load` has another server read them. `check`
//! measures with queries what that is worth. `pages` carries the list itself, where the files are the same. `status`
//! says what a pool holds.

pub mod check;
mod datadir;
mod dictionary;
pub mod file;
mod lines;
mod list;
pub mod load;
mod page_list;
pub mod pages;
pub mod ramp;
pub mod save;
pub mod status;
