//! An object that a server may refuse to create: that is not the end of a load.

use crate::script::Statement;
use base::Result;
use base::units::printable;
use run::failure;
use wire::{Conn, ServerError};

/// What a server says to a CREATE: whether it was created, or was there already.
pub(super) type Outcome = std::result::Result<bool, ServerError>;

/// A table whose CREATE was sent, with all statements of its file.
pub(super) struct Attempt {
    pub(super) statements: Vec<Statement>,
    pub(super) outcome: Outcome,
}

/// Creates an object on this connection. When an interrupted load is resumed it may be there already: then false.
pub(super) fn create_on(
    conn: &mut Conn,
    resuming: bool,
    sql: &str,
    doing: &str,
) -> Result<Outcome> {
    match conn.execute(sql) {
        Err(e) if resuming && is_there(&e) => Ok(Ok(false)),
        Err(wire::Error::Server(e)) if !is_fatal(&e) => Ok(Err(e)),
        done => done
            .map(|_| Ok(true))
            .map_err(|e| failure::wire(printable(doing), e)),
    }
}

/// Whether a refusal is about more than one object: it would be repeated for each.
fn is_fatal(e: &ServerError) -> bool {
    // Access denied, disk full, read only, shutdown, killed, another session has the name.
    matches!(
        e.code,
        1021 | 1044 | 1045 | 1049 | 1050 | 1053 | 1142 | 1227 | 1290 | 1317 | 1836 | 1927 | 3169
    )
}

/// Whether the server refused to create an object because it exists: a table or view, a routine, a trigger,
/// an event.
pub fn is_there(e: &wire::Error) -> bool {
    matches!(e.code(), Some(1050 | 1304 | 1359 | 1537))
}
