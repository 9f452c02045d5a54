//! Stored bytes written as the text that the server sends for them, one form of
//! value in each file. Readers of tablespaces and of binary logs share it, because both hold most values in the same form.
//!
//! Every function appends one length-encoded cell and allocates nothing of its own. Bytes that no server
//! writes are [`Broken`]; they never panic.
//! `charset` and `collations` say what character sets are, `declared` takes a type in words apart.

pub mod address;
pub mod cell;
pub mod charset;
pub mod collations;
pub mod declared;
pub mod float;
pub mod json;
pub mod number;
pub mod time;

/// Bytes that are no value of their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes that are no {0}")]
pub struct Broken(pub &'static str);
