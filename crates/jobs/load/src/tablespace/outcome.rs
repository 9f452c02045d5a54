//! The result of a step of a physical import: it succeeded, or the table was rejected, and why.
//!
//! A rejection concerns one table and never ends the load; what ends the load is an [`Error`].

use base::Error;
use run::failure;
use verify::Comparison;

/// What a step came to.
pub enum Verdict<T> {
    /// It succeeded.
    Ready(T),
    /// The table, or this attempt at it, is rejected.
    Rejected(Rejection),
}

/// Why a table is not imported as a tablespace, and thereby what is done with it next.
#[derive(Clone)]
pub enum Rejection {
    /// A physical import does not support the table: it is loaded by SQL, for this reason.
    UseSql(String),
    /// The order of values in these indexes is not known: the server builds them, and the rest of the table
    /// is built again.
    Indexes(Vec<String>),
    /// Something went wrong that should not: the table is dropped and loaded by SQL, and the load has an
    /// exception.
    Suspect(String),
    /// The server has imported the tablespace, but its rows are not the archive's.
    Differs(String),
}

/// A table whose tablespace the server has imported, and whose rows are the archive's.
pub struct Imported {
    /// Size of the tablespace.
    pub bytes: u64,
    /// The comparison that says so.
    pub compared: Comparison,
}

impl<T> Verdict<T> {
    /// The table is loaded by SQL, for this reason.
    pub fn use_sql(reason: impl Into<String>) -> Verdict<T> {
        Verdict::Rejected(Rejection::UseSql(reason.into()))
    }

    /// Something went wrong that should not.
    pub fn suspect(what: impl Into<String>) -> Verdict<T> {
        Verdict::Rejected(Rejection::Suspect(what.into()))
    }

    /// Changes what a success carries.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Verdict<U> {
        match self {
            Verdict::Ready(value) => Verdict::Ready(change(value)),
            Verdict::Rejected(rejection) => Verdict::Rejected(rejection),
        }
    }

    /// Whether the step succeeded.
    pub fn is_ready(&self) -> bool {
        matches!(self, Verdict::Ready(_))
    }
}

/// The reason of a table whose place in the data directory is not known.
pub const UNKNOWN_PLACE: &str = "the location of the server's files is not known";

/// An import failed for a reason that is not the server's answer: the connection was lost, for example.
pub fn import_error(table: &str, e: wire::Error) -> Error {
    failure::wire(format_args!("cannot import table {table}"), e)
}
