//! Where a replica stands in the binary logs of its sources: one place for each channel.
//!
//! Invariant: a place is called exact only if every change before it is in the data and none after it. It is
//! read while commits are kept out, as the server's own position is. An applier with several workers
//! shows a place that may be behind the data; MySQL's workers keep the true one in a table.
//!
//! What this does not do: stop an applier.

use crate::ask::{Answer, ask};
use crate::replication::status_statement;
use crate::{Error, Identity, Result};
use std::time::Duration;
use wire::Conn;

/// How far a replica has applied the binary log of one of its sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    /// Name of the channel or connection; empty for the unnamed one.
    pub channel: String,
    /// Host of the source.
    pub host: String,
    /// Its port.
    pub port: u64,
    /// Its `server_id`; 0 if it was never connected.
    pub server_id: u64,
    /// Its `server_uuid` (MySQL).
    pub server_uuid: Option<String>,
    /// Its binary log file; empty as long as the replica has not received any.
    pub file: String,
    /// Offset in it, in bytes.
    pub position: u64,
    /// Whether all workers of the applier stand there.
    pub exact: bool,
}

/// The channels, or the privilege that is missing to see them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    pub(super) all: Vec<SourcePosition>,
    pub(super) hidden: Option<&'static str>,
}

/// Between a commit and the note that the applier makes of it.
const SETTLE: Duration = Duration::from_millis(3);

/// How often at most the places are read until they stay.
const MOST_LOOKS: u32 = 20;

/// Reads all channels. No commit can come in between, so what changes from one look to the next is the
/// applier's note of a commit that was there before.
pub(super) fn read(conn: &mut Conn, identity: &Identity) -> Result<Sources> {
    let mut found = look(conn, identity)?;
    for _ in 0..MOST_LOOKS {
        if found.all.is_empty() {
            break;
        }
        std::thread::sleep(SETTLE);
        let again = look(conn, identity)?;
        if again == found {
            break;
        }
        found = again;
    }
    Ok(found)
}

fn look(conn: &mut Conn, identity: &Identity) -> Result<Sources> {
    let sql = status_statement(identity);
    let answer = match ask(conn, "replication status", sql) {
        Err(Error::Wire { source, .. }) if source.code() == Some(1227) => {
            return Ok(Sources {
                hidden: Some(if identity.mariadb_at_least(10, 5, 9) {
                    "SLAVE MONITOR"
                } else if identity.mariadb_at_least(10, 5, 2) {
                    "REPLICATION SLAVE ADMIN"
                } else {
                    "REPLICATION CLIENT"
                }),
                ..Sources::default()
            });
        }
        other => other?,
    };
    let mut all = channels(&answer)?;
    if identity.is_mariadb() || all.is_empty() {
        return Ok(Sources { all, hidden: None });
    }
    let number = |new: &str, old: &str| {
        let text = identity.variable(new).or(identity.variable(old));
        text.and_then(|t| t.parse::<u64>().ok()).unwrap_or(0)
    };
    let workers = number("replica_parallel_workers", "slave_parallel_workers");
    if workers > 0 {
        let order = identity
            .variable("replica_preserve_commit_order")
            .or(identity.variable("slave_preserve_commit_order"));
        let ordered = workers == 1 || order.is_some_and(|o| matches!(o, "ON" | "1"));
        workers_are_further(conn, &mut all, ordered);
    }
    Ok(Sources { all, hidden: None })
}

fn channels(answer: &Answer) -> Result<Vec<SourcePosition>> {
    let channel = answer.find(&["Channel_Name", "Connection_name"]);
    let host = answer.need(&["Source_Host", "Master_Host"])?;
    let port = answer.need(&["Source_Port", "Master_Port"])?;
    let id = answer.find(&["Source_Server_Id", "Master_Server_Id"]);
    let uuid = answer.find(&["Source_UUID", "Master_UUID"]);
    let file = answer.need(&["Relay_Source_Log_File", "Relay_Master_Log_File"])?;
    let position = answer.need(&["Exec_Source_Log_Pos", "Exec_Master_Log_Pos"])?;
    let rows = answer.rows.iter();
    Ok(rows
        .map(|row| SourcePosition {
            channel: channel.map(|at| row.text_or_empty(at)).unwrap_or_default(),
            host: row.text_or_empty(host),
            port: row.number(port).unwrap_or_default(),
            server_id: id.and_then(|at| row.number(at)).unwrap_or_default(),
            server_uuid: uuid.and_then(|at| row.text(at)).filter(|t| !t.is_empty()),
            file: row.text_or_empty(file),
            position: row.number(position).unwrap_or_default(),
            exact: true,
        })
        .collect())
}

/// MySQL's workers enter where they stand with each commit; the status shows it only from time to time.
fn workers_are_further(conn: &mut Conn, all: &mut [SourcePosition], ordered: bool) {
    let sql = "SELECT Channel_name, Master_log_name, Master_log_pos FROM mysql.slave_worker_info";
    let Ok(answer) = ask(conn, "positions of the applier's workers", sql) else {
        // Older servers and accounts that may not read it.
        all.iter_mut().for_each(|s| s.exact = false);
        return;
    };
    for source in all {
        source.exact = ordered;
        for row in &answer.rows {
            let (file, position) = (row.text_or_empty(1), row.number(2).unwrap_or_default());
            let of_channel = row.text_or_empty(0) == source.channel;
            if of_channel && is_after((&file, position), (&source.file, source.position)) {
                (source.file, source.position) = (file, position);
            }
        }
    }
}

/// Whether a place in a source's log comes after another. The number at the end of a file's name gets a
/// further digit after the last one of its length.
fn is_after(a: (&str, u64), b: (&str, u64)) -> bool {
    (a.0.len(), a.0, a.1) > (b.0.len(), b.0, b.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_the_log() {
        assert!(is_after(("bin.000002", 4), ("bin.000001", 900)));
        assert!(is_after(("bin.1000000", 4), ("bin.999999", 4)));
        assert!(is_after(("bin.000001", 5), ("bin.000001", 4)));
        assert!(!is_after(("bin.000001", 4), ("bin.000001", 4)));
        assert!(!is_after(("", 0), ("bin.000001", 4)));
    }
}
