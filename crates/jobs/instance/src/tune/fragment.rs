//! The `my.cnf` fragment: settings that only a restart can change, in a file of ours among those that the
//! server reads when it starts.
//!
//! Invariants: the fragment is in the journal before it is written and before the server is restarted;
//! the file is gone before the server is restarted for the last time; a server that does not come up with
//! the file is started again without it, which the callers do in that order. A file that exists and is in
//! no journal is never touched.

use super::journal::{self, Fragment, Journal, Record};
use super::options::Restart;
use crate::variables::{self, same};
use crate::{identity, restart};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use wire::Conn;

/// The name of our file. Servers read `*.cnf` of an included directory.
const FILE: &str = "penstock-tune.cnf";

/// Checks what the user gave, before anything is changed; returns the path of the file.
pub(super) fn check(options: &Restart) -> Result<PathBuf> {
    let directory = fs::canonicalize(&options.config)
        .and_then(|p| fs::read_dir(&p).map(|_| p))
        .map_err(|e| {
            let text = format!("--server-config {}: {e}", options.config.display());
            Error::new(Kind::Storage, printable(&text)).hint(
                "name the directory whose .cnf files the server reads: !includedir in its my.cnf",
            )
        })?;
    let file = directory.join(FILE);
    if file.symlink_metadata().is_ok() {
        let text = format!("{} exists, and no journal says why", file.display());
        return Err(Error::new(Kind::Storage, printable(&text))
            .hint("check its content, remove it, and restart the server if it runs with it"));
    }
    Ok(file)
}

/// Writes the file.
pub(super) fn write(fragment: &Fragment) -> Result<()> {
    let mut text = "# Written by penstock load --tune=max for the duration of one load, which removes it.\n\
                    # If no load is running: penstock doctor --revert removes it and restarts the server.\n\
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
            // The server must be able to read it, and ignores a world-writable one.
            file.set_permissions(Permissions::from_mode(0o644))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
    wrote.map_err(|e| {
        let text = format!("cannot write {}: {e}", fragment.file.display());
        Error::new(Kind::Storage, printable(&text)).hint(
            "--server-config needs an account that may write there; the server was not restarted",
        )
    })?;
    failpoint::reached("the file of settings is written");
    Ok(())
}

/// Removes the file.
pub(super) fn remove(fragment: &Fragment) -> Result<()> {
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

/// Whether the server has a value that only our file can have given it.
fn runs_with(conn: &mut Conn, fragment: &Fragment) -> Result<bool> {
    for line in &fragment.lines {
        let now = variables::read(conn, &line.setting)?;
        if now.is_some_and(|v| same(&v, &line.wanted) && !same(&v, &line.before)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the file, and restarts the server if it runs with it. An error leaves the journal as it was;
/// calling this again continues. Returns what is not as it was, in words.
pub(crate) fn undo(
    conn: &mut Conn,
    wire: &wire::Options,
    journal: &mut Journal,
    state: &Path,
) -> Result<Vec<String>> {
    let Some(fragment) = journal.fragment.clone() else {
        return Ok(Vec::new());
    };
    remove(&fragment)?;
    let id = identity::read(conn)?;
    let mut left = Vec::new();
    for attempt in 0..3 {
        if !runs_with(conn, &fragment)? {
            break;
        }
        if attempt == 2 {
            left.push(format!(
                "the server still has settings that were in {}: another of its configuration files must set them now",
                fragment.file.display()
            ));
            break;
        }
        if let Err(e) = restart::restart(conn, &id, wire, &fragment.command, state) {
            if conn.fetch("SELECT 1").is_ok() {
                return Err(e.hint(format!(
                    "the server runs with settings from {}, which is removed: restart the server, then run {}",
                    fragment.file.display(),
                    identity::revert_command(wire)
                )));
            }
            *conn = restart::start(&id, wire, &fragment.command, state)?;
        }
        let now = identity::read(conn)?;
        journal::belongs(journal, &identity::server_id(&now))?;
    }
    left.extend(variables::set_again(conn, &id, &fragment.runtime)?);
    journal.add(Record::Removed)?;
    Ok(left)
}

/// Starts a server that was left down; `None` if the journal has no restart of a server at this address.
pub(crate) fn start_without(
    wire: &wire::Options,
    journal: &Journal,
    state: &Path,
) -> Result<Option<Conn>> {
    let (Some(fragment), Some((server, _))) = (&journal.fragment, &journal.begin) else {
        return Ok(None);
    };
    if server.endpoint != wire.endpoint.to_string() {
        return Ok(None);
    }
    remove(fragment)?;
    let id = identity::from_name(&server.name)?;
    restart::start(&id, wire, &fragment.command, state).map(Some)
}
