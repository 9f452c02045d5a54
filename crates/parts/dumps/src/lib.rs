//! Reads the dumps of other tools.
//!
//! - [`input`] opens a file, compressed or not.
//! - [`script`] splits an SQL script into statements as a stream.
//! - [`statement`] says what a statement is, and which objects it is about.
//! - [`create_table`] takes a `CREATE TABLE` apart into columns and keys.
//! - [`tokens`] splits a statement into words, strings and symbols.
//! - [`insert`] converts the rows of a plain INSERT to lines for LOAD DATA.
//! - [`directory`] recognises the directories of mydumper, `--tab`, `--dir`, CSV.
//!
//! This crate has the only SQL splitter and the only statement classifier of
//! penstock; loads put their own policy on top of them. It has no server, no
//! network, and does not decide what may run: a script may come from a
//! stranger, and is only read.

pub mod create_table;
pub mod dialect;
pub mod directory;
pub mod error;
pub mod input;
pub mod insert;
pub mod script;
pub mod statement;
pub mod tokens;

pub use dialect::{Charset, Dialect};
pub use error::{Error, Result};
