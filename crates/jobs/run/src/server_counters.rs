//! Counters of a server by name: small queries that any account may run; people and controllers read
//! the answers. A counter that the server refuses, or that makes no sense, is `None`; nothing here
//! fails a job.

use wire::Conn;

/// MySQL's length of the history list; needs PROCESS.
const HISTORY: &str =
    "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";

/// Runs a query of two columns: both as text, the first in lower case.
pub fn pairs(conn: &mut Conn, sql: &str) -> Option<Vec<(String, String)>> {
    let text = |v: &Option<Vec<u8>>| {
        v.as_ref()
            .map(|v| String::from_utf8_lossy(v).into_owned())
            .unwrap_or_default()
    };
    let rows = conn.fetch(sql).ok()?;
    Some(
        rows.iter()
            .filter_map(|r| Some((text(r.first()?).to_ascii_lowercase(), text(r.get(1)?))))
            .collect(),
    )
}

/// Length of InnoDB's history list, on MySQL; MariaDB reports it in its status.
pub fn history_list_length(conn: &mut Conn) -> Option<u64> {
    pairs(conn, HISTORY)?.first()?.1.parse().ok()
}
