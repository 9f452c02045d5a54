//! Restarts a server with the command that the user gave, and starts one that is down.
//!
//! Invariants: whether a restart has worked is decided by asking the server, never by how the command
//! ended; a server that does not come up is an error that says so. The caller records a restart before
//! it, and sets what has to be set after it.

use crate::command::ServerCommand;
use crate::identity;
use base::units::printable;
use base::{Error, Kind, Result};
use server::Identity;
use std::path::Path;
use std::time::{Duration, Instant};
use wire::Conn;

/// How long a server may take until it accepts a login, after a command that succeeded.
const START: Duration = Duration::from_secs(300);
/// The same after a command that failed: the server may be up all the same.
const START_AFTER_FAILURE: Duration = Duration::from_secs(5);
/// How long a connection may outlive a restart.
const SHUTDOWN: Duration = Duration::from_secs(30);

/// Waits until the server accepts our login.
fn wait_until_up(wire: &wire::Options, id: &Identity, limit: Duration) -> Result<Conn> {
    let end = Instant::now() + limit;
    loop {
        match identity::connect(wire, id) {
            Ok(conn) => return Ok(conn),
            Err(e) if Instant::now() > end => return Err(e),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Whether the server accepts no connection: now or, if it was asked to shut down, within some time.
pub(crate) fn is_gone(wire: &wire::Options, asked: bool) -> bool {
    /// `ER_SERVER_SHUTDOWN`.
    const SHUTTING_DOWN: u16 = 1053;
    let end = Instant::now() + if asked { SHUTDOWN } else { Duration::ZERO };
    loop {
        match Conn::connect(wire) {
            Ok(_) => {}
            // A server without a free connection is up.
            Err(e) if e.code().is_some_and(|code| code != SHUTTING_DOWN) => {}
            Err(_) => return true,
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until a connection is broken.
fn wait_until_broken(conn: &mut Conn) -> bool {
    let end = Instant::now() + SHUTDOWN;
    while Instant::now() < end {
        if conn.fetch("SELECT 1").is_err() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}

/// Restarts the server that `conn` leads to, and makes it a connection to the new process.
/// After an error the server may be down, or still the old process.
pub(crate) fn restart(
    conn: &mut Conn,
    id: &Identity,
    wire: &wire::Options,
    command: &ServerCommand,
    state: &Path,
) -> Result<()> {
    let outcome = command.call("restart", state, None);
    let why = |what: &str| {
        let failed = outcome.as_ref().err().map(|e| format!(" ({e})"));
        let text = format!("{what}: {command}{}", failed.unwrap_or_default());
        Error::new(Kind::Failed, printable(&text))
    };
    let failed = outcome.is_err();
    if failed && conn.fetch("SELECT 1").is_ok() || !failed && !wait_until_broken(conn) {
        return Err(why("the command did not restart the server"));
    }
    let limit = if failed { START_AFTER_FAILURE } else { START };
    match wait_until_up(wire, id, limit) {
        Ok(new) => {
            *conn = new;
            Ok(())
        }
        Err(e) => Err(why(&format!(
            "the server did not come up after its restart ({})",
            e.what
        ))),
    }
}

/// Starts a server that is down, with nothing but its own settings.
pub(crate) fn start(
    id: &Identity,
    wire: &wire::Options,
    command: &ServerCommand,
    state: &Path,
) -> Result<Conn> {
    let hint = "none of penstock's settings is left in its configuration files";
    try_start(id, wire, command, state, None).map_err(|why| is_down(wire, command, &why, hint))
}

/// The error of a server that could not be started.
pub(crate) fn is_down(
    wire: &wire::Options,
    command: &ServerCommand,
    why: &str,
    hint: &str,
) -> Error {
    let text = format!("THE SERVER IS DOWN: {command} does not start it ({why})");
    Error::new(Kind::Connection, printable(&text)).hint(format!(
        "{hint}; the server's error log says why it does not start. Once it runs: {}",
        identity::revert_command(wire)
    ))
}

/// Starts a server, with a command that is run in `directory` if that is given; `Err` says why it is not
/// up.
pub(crate) fn try_start(
    id: &Identity,
    wire: &wire::Options,
    command: &ServerCommand,
    state: &Path,
    directory: Option<&Path>,
) -> Result<Conn, String> {
    let mut why = Vec::new();
    for word in ["start", "restart"] {
        let outcome = command.call(word, state, directory);
        let limit = if outcome.is_ok() {
            START
        } else {
            START_AFTER_FAILURE
        };
        match wait_until_up(wire, id, limit) {
            Ok(conn) => return Ok(conn),
            Err(e) => why.push(format!("{word}: {}", outcome.err().unwrap_or(e.what))),
        }
    }
    Err(why.join("; "))
}

/// The other sessions of a server, for people; `ours` are the ids of our own connections.
pub fn others(conn: &mut Conn, ours: &[u32]) -> Vec<String> {
    let Ok(rows) = conn.fetch("SHOW PROCESSLIST") else {
        return Vec::new();
    };
    let text = |c: Option<Vec<u8>>| String::from_utf8_lossy(&c.unwrap_or_default()).into_owned();
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|r| r.into_iter().map(text).collect())
        .collect();
    count_by_account(&rows, ours)
}

/// Id, User, Host, db, Command, …
fn count_by_account(rows: &[Vec<String>], ours: &[u32]) -> Vec<String> {
    let mut found = std::collections::BTreeMap::<String, (u32, u32)>::new();
    for row in rows {
        let cell = |at: usize| row.get(at).map(String::as_str).unwrap_or_default();
        let own = cell(0).parse().is_ok_and(|id: u32| ours.contains(&id));
        if own || ["system user", "event_scheduler"].contains(&cell(1)) || cell(4) == "Daemon" {
            continue;
        }
        // Without its port.
        let host = cell(2).split(':').next().unwrap_or_default();
        let (all, active) = found.entry(format!("{}@{host}", cell(1))).or_default();
        *all += 1;
        *active += u32::from(cell(4) != "Sleep");
    }
    found
        .into_iter()
        .map(|(who, (all, active))| format!("{who} ({all}, {active} active)"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_counted_by_account() {
        let row = |cells: [&str; 5]| cells.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
        let rows = [
            row(["1", "event_scheduler", "localhost", "", "Daemon"]),
            row(["7", "root", "localhost", "", "Query"]),
            row(["8", "app", "10.0.0.5:4711", "shop", "Sleep"]),
            row(["9", "app", "10.0.0.5:4712", "shop", "Query"]),
            row(["10", "root", "localhost", "", "Sleep"]),
        ];
        assert_eq!(
            count_by_account(&rows, &[7]),
            ["app@10.0.0.5 (2, 1 active)", "root@localhost (1, 0 active)"]
        );
    }
}
