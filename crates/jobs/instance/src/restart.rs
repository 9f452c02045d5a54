//! A server that penstock may restart: the user's command, and a file of
//! settings of ours among those that the server reads when it starts.
//!
//! Invariants: what is about to be written and restarted is in the journal
//! first; the file is gone before the server is restarted for the last time; a
//! server that does not come up with the file is started again without it; one
//! that does not come up at all is an error that says so. Whether a restart has
//! worked is told by the server, never by how the command ended.

use crate::command::ServerCommand;
use crate::tune::journal::{self, Fragment, Journal, Record};
use crate::tune::settings::same;
use crate::tune::{self, Restart, belongs, open, revert};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use run::failure;
use server::{Identity, quote};
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wire::Conn;

/// The name of our file. Servers read `*.cnf` of an included folder.
pub const FILE: &str = "penstock-tune.cnf";

/// How long a server may take until somebody can log in, after a command that ended well.
const START: Duration = Duration::from_secs(300);
/// The same after one that says that it failed: the server may be up all the same.
const DOUBT: Duration = Duration::from_secs(5);
/// How long a connection may outlive a restart.
const END: Duration = Duration::from_secs(30);

/// Looks at what the user gave, before anything is changed; gives the file's path.
pub fn check(service: &Restart) -> Result<PathBuf> {
    let folder = fs::canonicalize(&service.config)
        .and_then(|p| fs::read_dir(&p).map(|_| p))
        .map_err(|e| {
            let text = format!("--server-config {}: {e}", service.config.display());
            Error::new(Kind::Storage, printable(&text))
                .hint("name the folder of which the server reads every .cnf file: !includedir in its my.cnf")
        })?;
    let file = folder.join(FILE);
    if file.symlink_metadata().is_ok() {
        let text = format!(
            "{} is there already, and no journal says why",
            file.display()
        );
        return Err(Error::new(Kind::Storage, printable(&text))
            .hint("look into it, remove it, and restart the server if it runs with it"));
    }
    Ok(file)
}

/// Writes the file.
pub fn write(fragment: &Fragment) -> Result<()> {
    let mut text = "# Written by penstock load --tune=max for the time of one load, and removed by it.\n\
                    # If no load is running: penstock doctor --revert takes it away and restarts the server.\n\
                    [mysqld]\n"
        .to_owned();
    for line in &fragment.lines {
        text += &format!("{} = {}\n", line.setting, line.wanted);
    }
    let wrote = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(&fragment.file)
        .and_then(|mut file| {
            // The server must be able to read it, and takes none that everybody may write.
            file.set_permissions(Permissions::from_mode(0o644))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
    wrote.map_err(|e| {
        let text = format!("cannot write {}: {e}", fragment.file.display());
        Error::new(Kind::Storage, printable(&text)).hint(
            "--server-config is for an account that may write there; the server was not restarted",
        )
    })?;
    failpoint::reached("the file of settings is written");
    Ok(())
}

/// Takes the file away.
pub fn remove(fragment: &Fragment) -> Result<()> {
    match fs::remove_file(&fragment.file) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            let text = format!("cannot remove {}: {e}", fragment.file.display());
            Err(Error::new(Kind::Storage, printable(&text))
                .hint("remove it, and restart the server"))
        }
        _ => {
            failpoint::reached("the file of settings is gone");
            Ok(())
        }
    }
}

/// Waits until the server lets us in.
fn up(wire: &wire::Options, id: &Identity, limit: Duration) -> Result<Conn> {
    let end = Instant::now() + limit;
    loop {
        match open(wire, id) {
            Ok(conn) => return Ok(conn),
            Err(e) if Instant::now() > end => return Err(e),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Whether the server lets nobody in any more, now or, if it has been told to end, before long.
pub(crate) fn gone(wire: &wire::Options, told: bool) -> bool {
    /// `ER_SERVER_SHUTDOWN`.
    const ENDING: u16 = 1053;
    let end = Instant::now() + if told { END } else { Duration::ZERO };
    loop {
        match Conn::connect(wire) {
            Ok(_) => {}
            // One that has no room for us is there.
            Err(e) if e.code().is_some_and(|code| code != ENDING) => {}
            Err(_) => return true,
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until a connection is broken.
pub(crate) fn ended(conn: &mut Conn) -> bool {
    let end = Instant::now() + END;
    while Instant::now() < end {
        if conn.fetch("SELECT 1").is_err() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}

/// Restarts the server that `conn` leads to, and makes it a connection to the new one.
/// After an error the server may be down, or the old one.
pub fn restart(
    conn: &mut Conn,
    id: &Identity,
    wire: &wire::Options,
    command: &ServerCommand,
    state: &Path,
) -> Result<()> {
    let said = command.call("restart", state, None);
    let why = |what: &str| {
        let failed = said.as_ref().err().map(|e| format!(" ({e})"));
        let text = format!("{what}: {command}{}", failed.unwrap_or_default());
        Error::new(Kind::Failed, printable(&text))
    };
    let failed = said.is_err();
    if failed && conn.fetch("SELECT 1").is_ok() || !failed && !ended(conn) {
        return Err(why("the command did not restart the server"));
    }
    match up(wire, id, if failed { DOUBT } else { START }) {
        Ok(new) => {
            *conn = new;
            Ok(())
        }
        Err(e) => Err(why(&format!(
            "the server did not come up again after its restart ({})",
            e.what
        ))),
    }
}

/// Starts a server that is down. Its own settings are all that it has by now.
pub fn start(
    id: &Identity,
    wire: &wire::Options,
    command: &ServerCommand,
    state: &Path,
) -> Result<Conn> {
    let hint = "no setting of penstock's is left in its files";
    started(id, wire, command, state, None).map_err(|why| is_down(wire, command, &why, hint))
}

/// A server that nobody has brought up.
pub(crate) fn is_down(
    wire: &wire::Options,
    command: &ServerCommand,
    why: &str,
    hint: &str,
) -> Error {
    let text = format!("THE SERVER IS DOWN: {command} does not start it ({why})");
    Error::new(Kind::Connection, printable(&text)).hint(format!(
        "{hint}; its own log says why it does not start. Once it runs: {}",
        tune::doctor(wire)
    ))
}

/// Starts a server, with a command that is run in `folder` if that is given; `Err` says why it is not up.
pub(crate) fn started(
    id: &Identity,
    wire: &wire::Options,
    command: &ServerCommand,
    state: &Path,
    folder: Option<&Path>,
) -> Result<Conn, String> {
    let mut why = Vec::new();
    for word in ["start", "restart"] {
        let said = command.call(word, state, folder);
        let limit = if said.is_ok() { START } else { DOUBT };
        match up(wire, id, limit) {
            Ok(conn) => return Ok(conn),
            Err(e) => why.push(format!("{word}: {}", said.err().unwrap_or(e.what))),
        }
    }
    Err(why.join("; "))
}

/// Whether the server has a value that only our file can have given it.
fn runs_with(conn: &mut Conn, fragment: &Fragment) -> Result<bool> {
    for line in &fragment.lines {
        let now = revert::read(conn, &line.setting)?;
        if now.is_some_and(|v| same(&v, &line.wanted) && !same(&v, &line.before)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes the file away, and restarts the server if it runs with it. An error
/// leaves the journal as it was; calling again goes on.
pub fn undo(
    conn: &mut Conn,
    wire: &wire::Options,
    journal: &mut Journal,
    state: &Path,
) -> Result<Vec<String>> {
    let Some(fragment) = journal.fragment.clone() else {
        return Ok(Vec::new());
    };
    remove(&fragment)?;
    let id = identity(conn)?;
    let mut left = Vec::new();
    for attempt in 0..3 {
        if !runs_with(conn, &fragment)? {
            break;
        }
        if attempt == 2 {
            left.push(format!(
                "the server still has settings that were in {}: another file of its own must have them now",
                fragment.file.display()
            ));
            break;
        }
        if let Err(e) = restart(conn, &id, wire, &fragment.command, state) {
            if conn.fetch("SELECT 1").is_ok() {
                return Err(e.hint(format!(
                    "the server runs with settings that {} had, which is removed: restart it, then {}",
                    fragment.file.display(),
                    tune::doctor(wire)
                )));
            }
            *conn = start(&id, wire, &fragment.command, state)?;
        }
        belongs(journal, &journal::id(&identity(conn)?))?;
    }
    left.extend(set_again(conn, &id, &fragment.runtime)?);
    journal.add(Record::Removed)?;
    Ok(left)
}

/// Starts a server that was left down; `None` if the journal says nothing of a
/// restart at this address.
pub fn revive(wire: &wire::Options, journal: &Journal, state: &Path) -> Result<Option<Conn>> {
    let (Some(fragment), Some((server, _))) = (&journal.fragment, &journal.begin) else {
        return Ok(None);
    };
    if server.endpoint != wire.endpoint.to_string() {
        return Ok(None);
    }
    remove(fragment)?;
    let id = described(&server.name)?;
    start(&id, wire, &fragment.command, state).map(Some)
}

/// A server that is down, by its name: what it is can only be asked once it runs, and nothing depends on
/// it until then.
pub(crate) fn described(name: &str) -> Result<Identity> {
    let variables = [("version".to_owned(), version(name))];
    Identity::from_variables(variables.into())
        .ok_or_else(|| Error::new(Kind::Internal, "a journal without a version"))
}

/// `MariaDB 10.11.19` as the server itself would write it.
fn version(name: &str) -> String {
    let number = name.rsplit(' ').next().unwrap_or_default();
    if name.starts_with("MariaDB") && !number.contains("MariaDB") {
        format!("{number}-MariaDB")
    } else {
        number.to_owned()
    }
}

/// What the server says that it is now.
pub fn identity(conn: &mut Conn) -> Result<Identity> {
    Identity::read(conn).map_err(|e| failure::server("cannot find out what the server is", e))
}

/// Variables that were set while the server ran, which a restart forgets.
pub fn runtime(conn: &mut Conn, id: &Identity) -> Option<Vec<(String, String)>> {
    let sql = if id.is_mariadb() {
        "SELECT variable_name FROM information_schema.system_variables WHERE global_value_origin = 'SQL'"
    } else {
        "SELECT variable_name FROM performance_schema.variables_info WHERE variable_source = 'DYNAMIC'"
    };
    let names = conn.fetch(sql).ok()?;
    let names = names.into_iter().flatten().flatten();
    let names = names.map(|n| String::from_utf8_lossy(&n).to_ascii_lowercase());
    let found = names
        // Where the server stands in its own log is no setting.
        .filter(|n| !n.contains("gtid"))
        // What is asked for by setting it, and is done by then.
        .filter(|n| !n.ends_with("_now") && !n.ends_with("_abort"))
        .filter_map(|n| id.variable(&n).map(|v| (n.clone(), v.to_owned())));
    Some(found.collect())
}

/// Gives variables the values again that a restart has forgotten; says which it could not.
pub fn set_again(
    conn: &mut Conn,
    id: &Identity,
    values: &[(String, String)],
) -> Result<Vec<String>> {
    let mut left = Vec::new();
    // What somebody has set since the server started is theirs.
    let since = runtime(conn, id).unwrap_or_default();
    for (name, value) in values {
        if since.iter().any(|(n, _)| n == name) {
            continue;
        }
        let now = revert::read(conn, name)?;
        if now.is_none_or(|now| same(&now, value)) {
            continue;
        }
        let outcome = match literal(value) {
            number if number == *value => {
                let plain = conn.execute(format!("SET GLOBAL {} = {number}", quote::ident(name)));
                // A text that looks like a number.
                plain.or_else(|_| set_text(conn, name, value))
            }
            _ => set_text(conn, name, value),
        };
        match outcome {
            Ok(_) => {}
            Err(e) if e.code().is_some() => left.push(format!(
                "{name} was set to {value} while the server ran, which the restart forgot, and could not be set again: {e}"
            )),
            Err(e) => return Err(failure::wire(format_args!("cannot set {name} again"), e)),
        }
    }
    Ok(left)
}

fn set_text(conn: &mut Conn, name: &str, value: &str) -> wire::Result<wire::Done> {
    let text = quote::text(value);
    conn.execute(format!("SET GLOBAL {} = {text}", quote::ident(name)))
}

/// Numbers as they are, everything else as a text.
fn literal(value: &str) -> String {
    let digits = value.strip_prefix('-').unwrap_or(value);
    let number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && digits.bytes().filter(|b| *b == b'.').count() <= 1;
    if number {
        value.to_owned()
    } else {
        quote::text(value)
    }
}

/// Who else is connected, for people; `ours` are the ids of our own connections.
pub fn others(conn: &mut Conn, ours: &[u32]) -> Vec<String> {
    let Ok(rows) = conn.fetch("SHOW PROCESSLIST") else {
        return Vec::new();
    };
    let text = |c: Option<Vec<u8>>| String::from_utf8_lossy(&c.unwrap_or_default()).into_owned();
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|r| r.into_iter().map(text).collect())
        .collect();
    summed(&rows, ours)
}

/// Id, User, Host, db, Command, …
fn summed(rows: &[Vec<String>], ours: &[u32]) -> Vec<String> {
    let mut found = std::collections::BTreeMap::<String, (u32, u32)>::new();
    for row in rows {
        let cell = |at: usize| row.get(at).map(String::as_str).unwrap_or_default();
        let own = cell(0).parse().is_ok_and(|id: u32| ours.contains(&id));
        if own || ["system user", "event_scheduler"].contains(&cell(1)) || cell(4) == "Daemon" {
            continue;
        }
        // Without its port.
        let host = cell(2).split(':').next().unwrap_or_default();
        let (all, busy) = found.entry(format!("{}@{host}", cell(1))).or_default();
        *all += 1;
        *busy += u32::from(cell(4) != "Sleep");
    }
    found
        .into_iter()
        .map(|(who, (all, busy))| format!("{who} ({all}, {busy} at work)"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_connected_is_counted_by_account() {
        let row = |cells: [&str; 5]| cells.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>();
        let rows = [
            row(["1", "event_scheduler", "localhost", "", "Daemon"]),
            row(["7", "root", "localhost", "", "Query"]),
            row(["8", "app", "10.0.0.5:4711", "shop", "Sleep"]),
            row(["9", "app", "10.0.0.5:4712", "shop", "Query"]),
            row(["10", "root", "localhost", "", "Sleep"]),
        ];
        assert_eq!(
            summed(&rows, &[7]),
            [
                "app@10.0.0.5 (2, 1 at work)",
                "root@localhost (1, 0 at work)"
            ]
        );
    }

    #[test]
    fn numbers_are_told_from_texts() {
        assert_eq!(literal("7.500000"), "7.500000");
        assert_eq!(literal("-1"), "-1");
        for text in ["ON", "", "8.0.1", "1K", "a'b", "-"] {
            assert_eq!(literal(text), quote::text(text));
        }
    }
}
