//! Makes the data directory of a managed instance: initializes it inside the hidden directory, and moves
//! it to its place.
//!
//! Invariants: nothing is in its place before it is complete; an entry that already exists there is never
//! replaced; each step can be repeated after a kill.

use super::mysqld::{self, Mysqld};
use super::program;
use base::units::printable;
use base::{Error, Kind, Result, Secret};
use run::state::{Failure, LockedFile, storage};
use run::{connect, failure};
use server::quote;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Where the data directory is until it is complete, in the hidden directory.
const NEW: &str = "new";

/// The same as a path: without the dot a server would look for it where it is installed.
pub(super) const HERE: &str = "./new";

/// Why a program may fail in a directory that has nothing wrong with it.
const DENIED: &str = "the server's account needs access to the directory, and AppArmor or SELinux may allow it the usual data directory only";

/// Initializes a data directory inside the hidden one. What a killed load has left of one is removed.
pub(super) fn create_new(server: &Mysqld, state: &LockedFile) -> Result<()> {
    let new = server.state_directory().join(NEW);
    if new.exists() {
        fs::remove_dir_all(&new).map_err(|e| storage("remove", &new, &e))?;
    }
    // A relative path: MariaDB's script does not accept every letter that the user's path may have.
    let out = program::initializer(server, Path::new(HERE))?
        .current_dir(server.state_directory())
        .env("TMPDIR", create_scratch(server)?)
        .env_remove("PENSTOCK_PASSWORD")
        .env_remove("MYSQL_PWD")
        // It inherits the lock: no other load works here while it runs, even if we are killed.
        .stdin(Stdio::from(state.share().map_err(Failure::error)?))
        .process_group(0)
        .output()
        .map_err(|e| storage("run", &server.program, &e))?;
    if !out.status.success() {
        let output = [out.stderr, out.stdout].concat();
        let errors = mysqld::error_lines(&String::from_utf8_lossy(&output));
        let text = format!(
            "cannot initialize the data directory {}: {errors}",
            server.datadir.display(),
        );
        let kind = match failure::says_full(&errors) {
            true => Kind::Storage,
            false => Kind::Target,
        };
        return Err(Error::new(kind, printable(&text)).hint(hint_for(&errors)));
    }
    Ok(())
}

/// Moves the new data directory to its place, entry by entry; continues where a killed load had come to.
pub(super) fn move_to_place(server: &Mysqld) -> Result<()> {
    let (new, datadir) = (server.state_directory().join(NEW), &server.datadir);
    let list = match fs::read_dir(&new) {
        Ok(list) => list,
        // All entries were moved before.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(storage("read", &new, &e)),
    };
    for entry in list.flatten() {
        let to = datadir.join(entry.file_name());
        if to.symlink_metadata().is_ok() {
            let text = format!("{} already exists", to.display());
            return Err(Error::new(Kind::Target, printable(&text))
                .hint("the load has not created it: move it away, and resume with --resume"));
        }
        // One of MariaDB's files belongs to the account that ran the script.
        let ours = match server.user {
            Some(uid) if entry.metadata().is_ok_and(|m| m.uid() != uid) => {
                lchown(entry.path(), Some(uid), None)
            }
            _ => Ok(()),
        };
        ours.and_then(|()| fs::rename(entry.path(), &to))
            .map_err(|e| storage("create", &to, &e))?;
    }
    fs::remove_dir(&new)
        .and_then(|()| File::open(datadir)?.sync_all())
        .map_err(|e| storage("sync", datadir, &e))
}

/// Sets the password of every account called root.
pub(super) fn set_root_password(wire: &wire::Options, password: &Secret) -> Result<()> {
    // The server's message may quote the statement, and with it the password.
    let failed = |e: wire::Error| {
        let code = e.code().map(|c| format!(" (error {c})"));
        let text = format!(
            "cannot set the password of root{}",
            code.unwrap_or_default()
        );
        Error::new(Kind::Target, text).hint(
            "try another password, or load without one: the server may have rules for passwords",
        )
    };
    let mut conn = connect::untracked(wire)?;
    for sql in [
        "SET NAMES utf8mb4",
        "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'",
    ] {
        conn.execute(sql).map_err(failed)?;
    }
    let hosts = conn
        .fetch("SELECT host FROM mysql.user WHERE user = 'root'")
        .map_err(failed)?;
    let password = password.reveal().replace('\'', "''");
    for host in hosts.into_iter().flatten().flatten() {
        let host = quote::text(&String::from_utf8_lossy(&host));
        conn.execute(format!(
            "ALTER USER 'root'@{host} IDENTIFIED BY '{password}'"
        ))
        .map_err(failed)?;
    }
    Ok(())
}

/// Creates the directory for temporary files.
pub(super) fn create_scratch(server: &Mysqld) -> Result<PathBuf> {
    let scratch = server.scratch();
    let mut builder = fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(&scratch);
    made.and_then(|()| match server.user {
        Some(uid) => lchown(&scratch, Some(uid), None),
        None => Ok(()),
    })
    .map_err(|e| storage("create", &scratch, &e))?;
    Ok(scratch)
}

/// The hint for the output of a server's program.
pub(super) fn hint_for(output: &str) -> &'static str {
    let contains = |list: &[&str]| list.iter().any(|w| output.contains(w));
    if failure::says_full(output) {
        "free space on the disk of the data directory"
    } else if contains(&["denied", "Errcode: 13", "OS errno 13"]) {
        DENIED
    } else {
        "this is the output of the server's program; options given with --mysqld-option may be the cause"
    }
}
