//! Stored bytes written as the text that the server sends for them, one form of
//! value in each file.
//!
//! Every function appends one length-encoded cell and allocates nothing of its own. Bytes that no server
//! writes are [`Broken`]; they never panic.

pub mod address;
pub mod cell;
pub mod float;
pub mod json;
pub mod number;
pub mod time;

#[cfg(test)]
mod tests;

/// Bytes that are no value of their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bytes that are no {0}")]
pub struct Broken(pub &'static str);
