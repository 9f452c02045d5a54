//! What the target says about the channel of a replay.

use base::Result;
use run::failure;
use server::Identity;
use server::replication::{self, Channel, LogPlace};
use std::collections::BTreeMap;
use wire::Conn;

/// The channel (MySQL) or connection (MariaDB) of a replay.
pub(crate) const CHANNEL: &str = "penstock";

/// All channels.
pub(crate) fn all(conn: &mut Conn, id: &Identity) -> Result<Vec<Channel>> {
    replication::channels(conn, id)
        .map_err(|e| failure::server("cannot read the replication status", e))
}

/// Ours, if it is there.
pub(crate) fn ours(conn: &mut Conn, id: &Identity) -> Result<Option<Channel>> {
    Ok(all(conn, id)?.into_iter().find(|s| s.name == CHANNEL))
}

/// As [`ours`] after a stop, exact also where an error ended the applier: MySQL's workers note what they have committed
/// with the commit itself, and commit in the log's order. An account that may not read these notes sees a place that may
/// be too early.
pub(crate) fn at_end(conn: &mut Conn, id: &Identity) -> Result<Option<Channel>> {
    let Some(mut status) = ours(conn, id)? else {
        return Ok(None);
    };
    if id.is_mysql() {
        let sql = format!(
            "SELECT Master_log_name AS file, Master_log_pos AS offset FROM mysql.slave_worker_info WHERE Channel_name = '{CHANNEL}'"
        );
        for row in rows(conn, &sql).unwrap_or_default() {
            let cell = |name: &str| row.get(name).cloned().unwrap_or_default();
            let (file, offset) = (cell("file"), cell("offset").parse().unwrap_or(0));
            let noted = LogPlace { file, offset };
            if noted.order() > status.applied.order() {
                status.applied = noted;
            }
        }
    }
    Ok(Some(status))
}

/// Why MySQL's applier failed. Its status shows the worker that failed last, which may only have waited in vain for an
/// earlier transaction to commit; the table of workers has the first one.
pub(crate) fn first_failure(conn: &mut Conn, id: &Identity) -> Option<(u64, String)> {
    /// The error of a worker whose earlier transaction failed.
    const EARLIER_FAILED: u64 = 3030;
    if id.is_mariadb() {
        return None;
    }
    let sql = format!(
        "SELECT LAST_ERROR_NUMBER AS number, LAST_ERROR_MESSAGE AS message FROM performance_schema.replication_applier_status_by_worker \
        WHERE CHANNEL_NAME = '{CHANNEL}' AND LAST_ERROR_NUMBER NOT IN (0, {EARLIER_FAILED}) ORDER BY LAST_ERROR_TIMESTAMP LIMIT 1"
    );
    // An account that may not look gets what the status says.
    let row = rows(conn, &sql).ok()?.into_iter().next()?;
    Some((
        row.get("number")?.parse().ok()?,
        row.get("message")?.clone(),
    ))
}

type Row = BTreeMap<String, String>;

/// All rows, cells by the names of their columns in lower case; NULL is "".
fn rows(conn: &mut Conn, sql: &str) -> wire::Result<Vec<Row>> {
    let mut answer = conn.query(sql)?;
    let names: Vec<String> = answer
        .columns()
        .iter()
        .map(|c| c.name.to_ascii_lowercase())
        .collect();
    let mut all = Vec::new();
    while let Some(row) = answer.next()? {
        let mut cells = Row::new();
        for (name, cell) in names.iter().zip(row.cells()) {
            let text = cell?.unwrap_or_default();
            cells.insert(name.clone(), String::from_utf8_lossy(text).into_owned());
        }
        all.push(cells);
    }
    Ok(all)
}
