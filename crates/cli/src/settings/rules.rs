//! All rules between options: which ones exclude each other, need each other, or do not apply. Pairs
//! that clap can check by name are declared at the option itself (`requires`, `conflicts_with`).
//!
//! Invariant: an option that would have no effect is an error, never ignored.

mod bench;
mod connection;
mod copy;
mod dump;
mod files;
mod load;
mod names;
mod point_in_time;
mod preflight;
mod refused;
mod replica;
mod rescue;
mod verify;
mod warm;

pub use self::bench::{disk, impact, measured};
pub use copy::{copy, server, two_places};
pub use dump::{dump, record_outside, resumed};
pub use files::{backup, from_files, restored_archive, restored_snapshot, snapshot};
pub use load::{load, load_of, loaded};
pub use point_in_time::point_in_time;
pub use preflight::preflight;
pub use replica::{repair_sql, replica, replica_abort, replica_verify};
pub use rescue::rescue;
pub use verify::verify;
pub use warm::{warm_check, warm_copy, warm_file, warm_load};

use super::place;
use crate::args::bench::Bench;
use crate::args::doctor::Doctor;
use crate::args::encryption::Rekey;
use crate::args::report::Report;
use crate::args::repository::{Check, List};
use crate::args::{Cli, Command};
use base::Result;
use base::units::printable;
use refused::refuse;
use std::io::IsTerminal;
use std::path::Path;

/// All rules of a command that look at nothing but the options, and at what is to be loaded.
pub fn applies(command: &Command) -> Result<()> {
    match command {
        Command::Dump(a) => dump(&a.how),
        Command::Backup(a) => backup(a).and_then(|()| dump(&a.how)),
        Command::Load(a) => {
            load(&a.how)?;
            let from = place::location_or_stream("FROM", &a.from)?;
            match loaded(&from) {
                Ok(loaded) => load_of(a, loaded),
                Err(_) => Ok(()),
            }
        }
        Command::Restore(a) => point_in_time(&a.moment, &a.how).and_then(|()| load(&a.how)),
        Command::Verify(a) => verify(a),
        Command::Copy(a) => copy(a),
        Command::Rescue(a) => rescue(a),
        Command::Check(a) => check(a),
        Command::Rekey(a) => rekey(a),
        Command::Doctor(a) => doctor(a),
        Command::Preflight(a) => preflight(a),
        Command::Report(a) => report(a),
        Command::Bench(Bench::Disk(a)) => disk(a),
        _ => Ok(()),
    }
}

/// Options of the program, with commands that they mean nothing to.
pub fn everywhere(cli: &Cli) -> Result<()> {
    let one_document = match &cli.command {
        Command::Completions(_) => Some("penstock completions"),
        Command::Report(a) if a.to.as_deref() == Some(Path::new("-")) => Some("--to -"),
        _ => None,
    };
    if let Some(what) = one_document.filter(|_| cli.json) {
        return refuse(
            format!("{what} writes one text to standard output, and --json does not change it"),
            "leave --json out",
        );
    }
    // Another directory than the one that was named would be used.
    if let Some(named) = std::env::var_os("PENSTOCK_STATE").filter(|n| !n.is_empty())
        && !Path::new(&named).is_absolute()
    {
        return refuse(
            format!(
                "PENSTOCK_STATE is {}, which is no absolute path",
                printable(&named.to_string_lossy())
            ),
            "write the whole path, or leave it out",
        );
    }
    // Of a file that the environment names, or the usual one, nothing is expected here.
    let without = match &cli.command {
        Command::Completions(_) => "penstock completions",
        Command::Init(_) => "penstock init",
        Command::Bench(_) => "penstock bench",
        _ => return Ok(()),
    };
    match &cli.config {
        Some(_) => refuse(
            format!("--config names a configuration, and {without} takes nothing from one"),
            "leave it out",
        ),
        None => Ok(()),
    }
}

/// Backups one after the other: what only one of them can have.
pub fn several<'a>(all: impl Iterator<Item = &'a Cli>) -> Result<()> {
    let mut records = std::collections::BTreeSet::new();
    for cli in all {
        if let Command::Backup(a) = &cli.command
            && let Some(record) = &a.how.recording.record
            && !records.insert(record)
        {
            return refuse(
                format!(
                    "--record {} is one file, and several servers are backed up: the last one would replace the others",
                    record.display()
                ),
                "name a file for each server in its table of the configuration, [servers.NAME.backup], or back up one server: penstock backup NAME",
            );
        }
    }
    Ok(())
}

/// Values that are wrong whatever is done with them.
pub fn values(command: &Command) -> Result<()> {
    match command {
        Command::Dump(a) => dump::sizes(&a.how),
        Command::Backup(a) => {
            let uri = a.source.as_deref();
            uri.map_or(Ok(()), super::connection::check_uri)?;
            dump::sizes(&a.how)
        }
        Command::Load(a) => load::a_command(&a.how),
        Command::Restore(a) => load::a_command(&a.how),
        _ => Ok(()),
    }
}

/// What is written to standard output leaves no room for anything else there, and is not for a screen.
pub fn to_stdout(option: &str, json: bool) -> Result<()> {
    if json {
        return refuse(
            format!("{option} writes the archive to standard output, and --json its lines"),
            "leave --json out; the summary goes to standard error, and --record FILE writes all figures",
        );
    }
    if std::io::stdout().is_terminal() {
        return refuse(
            format!("{option} writes the archive to standard output, which is a terminal"),
            format!("{option} … | ssh HOST penstock copy - DIR; a directory is named without -"),
        );
    }
    Ok(())
}

/// `penstock list`: the page, and lines, on one output.
pub fn list(a: &List, json: bool) -> Result<()> {
    if a.archive.is_none() && !a.encryption.is_empty() {
        return refuse(
            "--identity and --passphrase-file open an encrypted archive, and a repository lists its backups without a key",
            "leave them out, or name an archive: penstock list ARCHIVE",
        );
    }
    let Some(file) = &a.html else { return Ok(()) };
    place::local_or_stream("--html", file)?;
    if json && file.as_os_str() == "-" {
        return refuse(
            "--html - writes the page to standard output, and --json its lines",
            "leave one of the two out, or name a file for the page",
        );
    }
    Ok(())
}

/// `penstock rekey`.
pub fn rekey(a: &Rekey) -> Result<()> {
    if a.server_name.is_some() && a.repository.is_none() {
        return refuse(
            "--server-name is for the backups of a repository, and an archive is named",
            "leave it out, or name the repository: --repository REPO",
        );
    }
    Ok(())
}

/// `penstock check`.
pub fn check(a: &Check) -> Result<()> {
    if a.files_only && !a.encryption.is_empty() {
        return refuse(
            "--files-only compares files as they are stored: --identity and --passphrase-file are not used",
            "leave --files-only out to decode the rows, or the keys",
        );
    }
    Ok(())
}

/// `penstock doctor`.
pub fn doctor(a: &Doctor) -> Result<()> {
    let named = a.server.is_some() || a.connection.names_a_server();
    if a.revert && !named {
        return refuse(
            "--revert puts settings of a server back, and no server is named",
            "penstock doctor --revert SERVER",
        );
    }
    if a.connection.says_how() && !named {
        return refuse(
            "options on how to connect do not apply: no server is named, so only the journals of this host are read",
            "name the server, or leave out --ssl-cert, --ssl-key, --get-server-public-key and --connect-timeout",
        );
    }
    Ok(())
}

/// `penstock report`.
pub fn report(a: &Report) -> Result<()> {
    for run in &a.runs {
        place::local("RUN", run)?;
    }
    let Some(to) = &a.to else { return Ok(()) };
    place::local_or_stream("--to", to)?;
    if a.force && to.as_os_str() == "-" {
        return refuse(
            "--force is for a file that exists, and --to - writes to standard output",
            "leave one of the two out",
        );
    }
    Ok(())
}

#[cfg(test)]
mod considered;
#[cfg(test)]
mod tests;
