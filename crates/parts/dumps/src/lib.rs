//! What other tools wrote.
//!
//! - [`input`] opens a file, compressed or not.
//! - [`script`] cuts an SQL script into statements while it streams by.
//! - [`statement`] says what a statement is, and whom it is for.
//! - [`tokens`] cuts a statement into words, strings and symbols.
//! - [`insert`] turns the rows of a plain INSERT into lines for LOAD DATA.
//! - [`folder`] finds its way in folders of mydumper, `--tab`, `--dir`, CSV.
//!
//! There is no server here, no network and no decision what to run: a script
//! is taken to come from a stranger, and is only read.

pub mod dialect;
pub mod error;
pub mod folder;
pub mod input;
pub mod insert;
pub mod script;
pub mod statement;
pub mod tokens;

pub use dialect::{Charset, Dialect};
pub use error::{Error, Result};
