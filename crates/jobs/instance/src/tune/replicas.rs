//! Whether other servers replicate from this one, or it replicates from another: then other servers
//! depend on its durability, and nothing is tuned.

use base::Result;
use run::failure;
use server::Identity;
use wire::Conn;

/// What the server replicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Replication {
    /// Nothing.
    None,
    /// It has replicas, is one, or is in a cluster; in words.
    Found(String),
    /// The account may not see it; the privilege that it lacks.
    Unknown(&'static str),
}

/// Asks the server.
pub(super) fn find(conn: &mut Conn, id: &Identity, may_see: bool) -> Result<Replication> {
    if id.variable("wsrep_on").is_some_and(|v| v == "ON")
        && id
            .variable("wsrep_provider")
            .is_some_and(|v| v != "none" && !v.is_empty())
    {
        return Ok(Replication::Found(
            "the server is a node of a Galera cluster".to_owned(),
        ));
    }
    if id.is_mariadb() {
        let rows = ask(
            conn,
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Slaves_connected', 'Slaves_running')",
        )?;
        return Ok(from_counters(&rows));
    }
    let found = from_threads(&ask(conn, "SHOW PROCESSLIST")?);
    Ok(match found {
        Replication::None if !may_see => Replication::Unknown("PROCESS"),
        found => found,
    })
}

/// MariaDB counts them, visible to every account.
fn from_counters(rows: &[Vec<String>]) -> Replication {
    let count = |name: &str| {
        let row = rows
            .iter()
            .find(|r| r.first().is_some_and(|n| n.eq_ignore_ascii_case(name)));
        row.and_then(|r| r.get(1))
            .and_then(|n| n.parse::<u64>().ok())
            .unwrap_or(0)
    };
    if count("Slaves_connected") > 0 {
        Replication::Found(connected(count("Slaves_connected")))
    } else if count("Slaves_running") > 0 {
        Replication::Found(APPLIES.to_owned())
    } else {
        Replication::None
    }
}

const APPLIES: &str = "the server is a replica that applies another server's changes";

fn connected(n: u64) -> String {
    format!(
        "{n} replica{} connected to the server",
        if n == 1 { " is" } else { "s are" }
    )
}

/// MySQL shows them among its threads: Id, User, Host, db, Command, Time, State, Info.
fn from_threads(rows: &[Vec<String>]) -> Replication {
    let cell = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
    let dumps = rows
        .iter()
        .filter(|r| cell(r, 4).starts_with("Binlog Dump"))
        .count();
    if dumps > 0 {
        return Replication::Found(connected(dumps as u64));
    }
    let applies = rows
        .iter()
        .any(|r| cell(r, 1) == "system user" && cell(r, 4) != "Daemon");
    if applies {
        Replication::Found(APPLIES.to_owned())
    } else {
        Replication::None
    }
}

fn ask(conn: &mut Conn, sql: &str) -> Result<Vec<Vec<String>>> {
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot find out whether the server has replicas", e))?;
    let text =
        |cell: Option<Vec<u8>>| String::from_utf8_lossy(&cell.unwrap_or_default()).into_owned();
    Ok(rows
        .into_iter()
        .map(|r| r.into_iter().map(text).collect())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|c| (*c).to_owned()).collect()
    }

    #[test]
    fn threads_of_replication_are_recognized() {
        let own = row(&[
            "5",
            "event_scheduler",
            "localhost",
            "",
            "Daemon",
            "9",
            "",
            "",
        ]);
        assert_eq!(from_threads(std::slice::from_ref(&own)), Replication::None);
        let dump = row(&["9", "repl", "h:1", "", "Binlog Dump GTID", "9", "", ""]);
        assert!(
            matches!(from_threads(&[own.clone(), dump]), Replication::Found(w) if w.starts_with("1 replica is"))
        );
        let applier = row(&[
            "7",
            "system user",
            "",
            "",
            "Query",
            "9",
            "Replica has read all relay log",
            "",
        ]);
        assert!(matches!(
            from_threads(&[own, applier]),
            Replication::Found(_)
        ));
    }

    #[test]
    fn mariadb_counts_replicas() {
        let rows =
            |c: &str, r: &str| vec![row(&["Slaves_connected", c]), row(&["Slaves_running", r])];
        assert_eq!(from_counters(&rows("0", "0")), Replication::None);
        assert!(
            matches!(from_counters(&rows("2", "0")), Replication::Found(w) if w.starts_with("2 replicas are"))
        );
        assert!(matches!(
            from_counters(&rows("0", "1")),
            Replication::Found(_)
        ));
    }
}
