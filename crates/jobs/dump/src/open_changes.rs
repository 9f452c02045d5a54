//! Transactions without a session: their rows are in the files of tables, and files do not say whether they count.

use base::Result;
use run::failure;
use wire::Conn;

/// What there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenChanges {
    /// An XA transaction, prepared.
    Prepared,
    /// One that was open when the server was killed.
    NotRolledBack,
}

/// Asks a server.
pub(crate) fn of(conn: &mut Conn) -> Result<Option<OpenChanges>> {
    let wrong = |e| failure::wire("cannot look for transactions without a session", e);
    let prepared = conn.fetch("XA RECOVER").map_err(wrong)?;
    let recovered = conn
        .fetch(
            "SELECT trx_id FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0 AND trx_rows_modified > 0 LIMIT 1",
        )
        .map_err(wrong)?;
    Ok(match (prepared.is_empty(), recovered.is_empty()) {
        (false, _) => Some(OpenChanges::Prepared),
        (true, false) => Some(OpenChanges::NotRolledBack),
        (true, true) => None,
    })
}
