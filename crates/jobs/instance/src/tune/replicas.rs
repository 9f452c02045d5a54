//! Whether other servers hang on this one, or it on another: then its
//! durability is not the user's alone to give away, and nothing is tuned.

use base::Result;
use run::failure;
use server::Identity;
use wire::Conn;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nobody.
    Alone,
    /// Somebody, in words.
    Bound(String),
    /// The account may not see; the privilege that it lacks.
    Unknown(&'static str),
}

/// Asks the server.
pub fn find(conn: &mut Conn, id: &Identity, may_see: bool) -> Result<Found> {
    if id.variable("wsrep_on").is_some_and(|v| v == "ON")
        && id
            .variable("wsrep_provider")
            .is_some_and(|v| v != "none" && !v.is_empty())
    {
        return Ok(Found::Bound(
            "the server is a node of a Galera cluster".to_owned(),
        ));
    }
    if id.is_mariadb() {
        let rows = ask(
            conn,
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Slaves_connected', 'Slaves_running')",
        )?;
        return Ok(counted(&rows));
    }
    let found = listed(&ask(conn, "SHOW PROCESSLIST")?);
    Ok(match found {
        Found::Alone if !may_see => Found::Unknown("PROCESS"),
        found => found,
    })
}

/// MariaDB counts them, for everybody to see.
fn counted(rows: &[Vec<String>]) -> Found {
    let count = |name: &str| {
        let row = rows
            .iter()
            .find(|r| r.first().is_some_and(|n| n.eq_ignore_ascii_case(name)));
        row.and_then(|r| r.get(1))
            .and_then(|n| n.parse::<u64>().ok())
            .unwrap_or(0)
    };
    if count("Slaves_connected") > 0 {
        Found::Bound(connected(count("Slaves_connected")))
    } else if count("Slaves_running") > 0 {
        Found::Bound(APPLIES.to_owned())
    } else {
        Found::Alone
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
fn listed(rows: &[Vec<String>]) -> Found {
    let cell = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
    let dumps = rows
        .iter()
        .filter(|r| cell(r, 4).starts_with("Binlog Dump"))
        .count();
    if dumps > 0 {
        return Found::Bound(connected(dumps as u64));
    }
    let applies = rows
        .iter()
        .any(|r| cell(r, 1) == "system user" && cell(r, 4) != "Daemon");
    if applies {
        Found::Bound(APPLIES.to_owned())
    } else {
        Found::Alone
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
    fn threads_of_replication_are_told_from_others() {
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
        assert_eq!(listed(std::slice::from_ref(&own)), Found::Alone);
        let dump = row(&["9", "repl", "h:1", "", "Binlog Dump GTID", "9", "", ""]);
        assert!(
            matches!(listed(&[own.clone(), dump]), Found::Bound(w) if w.starts_with("1 replica is"))
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
        assert!(matches!(listed(&[own, applier]), Found::Bound(_)));
    }

    #[test]
    fn mariadb_counts() {
        let rows =
            |c: &str, r: &str| vec![row(&["Slaves_connected", c]), row(&["Slaves_running", r])];
        assert_eq!(counted(&rows("0", "0")), Found::Alone);
        assert!(
            matches!(counted(&rows("2", "0")), Found::Bound(w) if w.starts_with("2 replicas are"))
        );
        assert!(matches!(counted(&rows("0", "1")), Found::Bound(_)));
    }
}
