//! Rows read from tablespaces.
//!
//! `types` says how a column's values are stored and appends them as the text
//! protocol has them. It shares nothing with `value` and `bulk`, which go the
//! other way: what one of them gets wrong, the other shows.

pub mod types;

mod charset;
mod declared;
mod text;
