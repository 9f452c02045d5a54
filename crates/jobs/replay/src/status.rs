//! What the target says about its replication, of both flavours and under all names that the columns ever had.

use base::Result;
use run::failure;
use server::Identity;
use std::collections::BTreeMap;
use wire::Conn;

/// The channel (MySQL) or connection (MariaDB) of a replay.
pub(crate) const CHANNEL: &str = "penstock";

/// One channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// Its name; empty for the unnamed one.
    pub(crate) channel: String,
    pub(crate) host: String,
    pub(crate) port: u64,
    /// Whether the thread that receives runs, or tries to.
    pub(crate) receives: bool,
    /// Whether the applier runs.
    pub(crate) applies: bool,
    pub(crate) receive_error: Option<(u64, String)>,
    pub(crate) apply_error: Option<(u64, String)>,
    /// The place in the source's log up to which everything is applied.
    pub(crate) file: String,
    pub(crate) offset: u64,
    /// Settings that leave events out, as `Replicate_Do_DB = a`.
    pub(crate) filters: Vec<String>,
}

/// All channels.
pub(crate) fn all(conn: &mut Conn, id: &Identity) -> Result<Vec<Status>> {
    let sql = if id.is_mariadb() {
        "SHOW ALL SLAVES STATUS"
    } else {
        "SHOW REPLICA STATUS"
    };
    let rows =
        rows(conn, sql).map_err(|e| failure::wire("cannot read the replication status", e))?;
    Ok(rows.iter().map(status).collect())
}

/// Ours, if it is there.
pub(crate) fn ours(conn: &mut Conn, id: &Identity) -> Result<Option<Status>> {
    Ok(all(conn, id)?.into_iter().find(|s| s.channel == CHANNEL))
}

/// As [`ours`] after a stop, exact also where an error ended the applier: MySQL's workers note what they have committed
/// with the commit itself, and commit in the log's order. An account that may not read these notes sees a place that may
/// be too early.
pub(crate) fn at_end(conn: &mut Conn, id: &Identity) -> Result<Option<Status>> {
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
            // A longer name has a higher number.
            let order = |file: &str, offset: u64| (file.len(), file.to_owned(), offset);
            if order(&file, offset) > order(&status.file, status.offset) {
                (status.file, status.offset) = (file, offset);
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

fn status(row: &Row) -> Status {
    let get = |names: &[&str]| {
        let found = names.iter().find_map(|n| row.get(*n));
        found.cloned().unwrap_or_default()
    };
    let number = |names: &[&str]| get(names).parse::<u64>().unwrap_or(0);
    let error = |number_of: &str, text: &str| {
        let number = number(&[number_of]);
        (number != 0).then(|| (number, get(&[text])))
    };
    let filters = row
        .iter()
        .filter(|(name, value)| {
            let names = [
                "replicate_do_db",
                "replicate_ignore_db",
                "replicate_do_table",
                "replicate_ignore_table",
                "replicate_wild_do_table",
                "replicate_wild_ignore_table",
                "replicate_rewrite_db",
                "replicate_do_domain_ids",
                "replicate_ignore_domain_ids",
                "replicate_ignore_server_ids",
            ];
            names.contains(&name.as_str()) && !value.is_empty()
        })
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    Status {
        channel: get(&["channel_name", "connection_name"]),
        host: get(&["source_host", "master_host"]),
        port: number(&["source_port", "master_port"]),
        receives: !get(&["replica_io_running", "slave_io_running"]).eq_ignore_ascii_case("no"),
        applies: get(&["replica_sql_running", "slave_sql_running"]).eq_ignore_ascii_case("yes"),
        receive_error: error("last_io_errno", "last_io_error"),
        apply_error: error("last_sql_errno", "last_sql_error"),
        file: get(&["relay_source_log_file", "relay_master_log_file"]),
        offset: number(&["exec_source_log_pos", "exec_master_log_pos"]),
        filters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pairs: &[(&str, &str)]) -> Row {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    #[test]
    fn both_flavours_are_read() {
        let mysql = status(&row(&[
            ("channel_name", "penstock"),
            ("replica_io_running", "Connecting"),
            ("replica_sql_running", "Yes"),
            ("relay_source_log_file", "binlog.000003"),
            ("exec_source_log_pos", "158"),
            ("last_io_errno", "2003"),
            ("last_io_error", "no"),
            ("replicate_do_db", ""),
        ]));
        assert!(mysql.receives && mysql.applies && mysql.filters.is_empty());
        assert_eq!(mysql.receive_error, Some((2003, "no".into())));
        assert_eq!((mysql.file.as_str(), mysql.offset), ("binlog.000003", 158));
        let mariadb = status(&row(&[
            ("connection_name", "penstock"),
            ("slave_io_running", "No"),
            ("slave_sql_running", "No"),
            ("relay_master_log_file", "b.000001"),
            ("exec_master_log_pos", "4"),
            ("last_sql_errno", "1062"),
            ("last_sql_error", "Duplicate entry"),
            ("replicate_wild_ignore_table", "mysql.%"),
        ]));
        assert!(!mariadb.receives && !mariadb.applies);
        assert_eq!(mariadb.apply_error, Some((1062, "Duplicate entry".into())));
        assert_eq!(mariadb.filters, ["replicate_wild_ignore_table = mysql.%"]);
    }
}
