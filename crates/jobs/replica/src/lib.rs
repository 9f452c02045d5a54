//! Makes a server a replica of another one: copied, attached, caught up, compared.
//!
//! Steps, each a file: `check` (what would end badly is refused before anything is changed), `from_archive` (whether an archive
//! fits, and its place in the source's log), `copying` of rows and accounts, `account` (the source's account for replication),
//! `attach` (position and channel), `catch_up`, `compare` (both sides at one moment), `warming`. `made` records what was made, for
//! `abort` and for a run that goes on (`earlier`).
//!
//! Invariants: nothing on the new server is overwritten, and no transaction of its own is left there that the source does not have;
//! passwords are in no statement line of a process, no log and no record.

mod abort;
mod account;
mod attach;
mod catch_up;
mod check;
mod compare;
mod copying;
mod create;
mod earlier;
mod from_archive;
mod made;
mod options;
mod repair;
mod status;
mod summary;
mod warming;

pub use abort::{Aborted, abort};
pub use catch_up::CaughtUp;
pub use create::create;
pub use options::{Account, Address, Hot, Options};
pub use status::{Status, status};
pub use summary::Summary;

use base::{Error, Result};
use run::failure;
use wire::Conn;

/// Verifies a replica that runs: both sides at one moment.
pub use compare::{Found, compare};
pub use repair::Repair;

/// An error about the server that the new one shall follow.
pub(crate) fn of_source(e: Error) -> Error {
    failure::of_server("the source", e)
}

pub(crate) fn of_copied(e: Error) -> Error {
    failure::of_server("the replica that is copied", e)
}

pub(crate) fn of_new(e: Error) -> Error {
    failure::of_server("the new server", e)
}

/// Runs a statement.
pub(crate) fn execute(conn: &mut Conn, sql: &str, doing: impl std::fmt::Display) -> Result<()> {
    conn.execute(sql)
        .map(drop)
        .map_err(|e| failure::wire(doing, e))
}

/// The only cell of an answer, as text.
pub(crate) fn value(conn: &mut Conn, sql: &str, doing: &str) -> Result<String> {
    let rows = conn.fetch(sql).map_err(|e| failure::wire(doing, e))?;
    let cell = rows.into_iter().next().and_then(|r| r.into_iter().next());
    Ok(String::from_utf8_lossy(&cell.flatten().unwrap_or_default()).into_owned())
}

/// An error about the new server.
pub(crate) fn refused(what: impl Into<String>, hint: impl Into<String>) -> Error {
    let what = base::units::printable(&what.into());
    Error::new(base::Kind::Target, what).hint(hint.into())
}
