//! Claims a data directory for a load: creates it, and keeps the state file in it, which says how far it
//! has come and, by its lock, that a process works in it.
//!
//! Invariants: only a directory that is empty, or that has the state file of an interrupted load, is
//! used; the state file is locked as long as a process works in the directory; it is written in one
//! write, always at the same length, so that it is never torn. The mechanics are `run::state`'s.

use super::account;
use super::mysqld::{LOAD_DIRECTORY, Mysqld};
use base::units::printable;
use base::{Error, Kind, Result};
use run::Run;
use run::state::{self, Failure, LockedFile, Opened, storage};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, lchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The name of the state file.
const NAME: &str = "state";

/// Bytes of a state file: always the same, so that it is never torn.
const SIZE: usize = 128;

/// How long an initialization may still run whose load was killed.
const ORPHAN: Duration = Duration::from_secs(20);

/// How far a data directory has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stage {
    /// It is being initialized, inside the hidden directory.
    Initializing,
    /// It is complete, and being moved to its place.
    Moving,
    /// It is in its place, and the archive is being loaded, or is loaded.
    Loading,
}

#[derive(Clone, Serialize, Deserialize)]
struct Content {
    stage: Stage,
    mariadb: bool,
}

/// Where the state file of a data directory is.
pub(super) fn path(server: &Mysqld) -> PathBuf {
    server.state_directory().join(NAME)
}

/// Creates the data directory, unless it exists; returns whether it did.
pub(super) fn create_datadir(run: &Run, datadir: &Path) -> Result<bool> {
    run::places::not_in_a_data_directory(datadir)?;
    let not_a_directory = || {
        let text = format!("--datadir {}: it is not a directory", datadir.display());
        Error::new(Kind::Target, printable(&text))
            .hint("name an empty directory, or one that does not exist")
    };
    // Before the directory is created: nothing is left behind if this fails.
    let owner = match datadir.symlink_metadata() {
        Ok(_) => None,
        Err(_) => account::of_new_datadir(run)?,
    };
    match fs::DirBuilder::new().mode(0o750).create(datadir) {
        Ok(()) => {
            if let Some((uid, gid)) = owner {
                lchown(datadir, Some(uid), Some(gid))
                    .map_err(|e| storage("give to mysql", datadir, &e))?;
            }
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && datadir.is_dir() => Ok(false),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(not_a_directory()),
        Err(e) => Err(storage("create", datadir, &e)),
    }
}

/// The state file that an interrupted load has left in the data directory, if it should be resumed;
/// `None` in an empty one.
pub(super) fn resumed(
    run: &Run,
    server: &Mysqld,
    resume: bool,
) -> Result<Option<(LockedFile, Stage)>> {
    let datadir = &server.datadir;
    let shown = printable(&datadir.display().to_string());
    let refused = |what: String, hint: &str| Err(Error::new(Kind::Target, what).hint(hint));
    // The program that initializes a data directory has the lock, too, and may have outlived its load.
    let end = Instant::now() + if resume { ORPHAN } else { Duration::ZERO };
    let file = loop {
        match state::open(&path(server)).map_err(Failure::error)? {
            None => {
                check_empty(server, resume)?;
                if resume {
                    let what = "no interrupted load to resume: starting a new one";
                    run.observer.note(what.to_owned());
                }
                return Ok(None);
            }
            Some(Opened::Ours(file)) => break file,
            Some(Opened::Removed) => {
                return refused(
                    format!("--datadir {shown}: another penstock process has just loaded into it"),
                    "name another directory",
                );
            }
            Some(Opened::Busy(_)) if Instant::now() >= end => return Err(busy(&shown)),
            Some(Opened::Busy(_)) => {}
        }
        run.check()?;
        std::thread::sleep(Duration::from_millis(100));
    };
    if !resume {
        let running = server
            .process()
            .map(|pid| format!(" (its server still runs: process {})", pid.as_raw_nonzero()));
        return refused(
            format!(
                "--datadir {shown}: a load into it was interrupted{}",
                running.unwrap_or_default()
            ),
            "resume it with --resume; to start again, stop the server if it runs, and remove the directory",
        );
    }
    let bytes = file.read(SIZE as u64).unwrap_or_default();
    let content: Option<Content> = serde_json::from_slice(&bytes).ok();
    match content {
        Some(content) if content.mariadb != server.mariadb => refused(
            format!(
                "--datadir {shown}: the interrupted load initialized it with {}, and this is another server: {}",
                if content.mariadb { "MariaDB" } else { "MySQL" },
                printable(&server.program.display().to_string())
            ),
            "name the program of that load with --mysqld",
        ),
        Some(content) => Ok(Some((file, content.stage))),
        // It was created, and nothing written yet.
        None if bytes.is_empty() && !datadir.join("ibdata1").exists() => {
            Ok(Some((file, Stage::Initializing)))
        }
        None => refused(
            format!(
                "state file {} is damaged",
                printable(&file.path().display().to_string())
            ),
            "nothing was touched; to start again, stop the server if it runs, and remove the directory",
        ),
    }
}

fn busy(datadir: &str) -> Error {
    let text = format!("another penstock process loads into {datadir}");
    Error::new(Kind::Lock, text).hint("wait until it ends")
}

/// An error if a data directory without a state file has anything in it.
fn check_empty(server: &Mysqld, resume: bool) -> Result<()> {
    let datadir = &server.datadir;
    let cannot = |e: io::Error| storage("read", datadir, &e);
    // A hidden directory without a state file must be empty.
    let hidden =
        server.state_directory().is_dir() && is_empty(&server.state_directory()).map_err(cannot)?;
    for entry in fs::read_dir(datadir).map_err(cannot)?.flatten() {
        let name = entry.file_name();
        // New file systems have this one.
        let known = name == "lost+found" || hidden && name == LOAD_DIRECTORY;
        if !known {
            let complete = resume && datadir.join("ibdata1").exists();
            let text = format!(
                "--datadir {}: the directory is not empty",
                datadir.display()
            );
            return Err(Error::new(Kind::Target, printable(&text)).hint(if complete {
                "it is the data directory of another server, or one whose load was interrupted after its last step, and then it is ready for your server (what is left in .penstock-load can be removed); nothing in it was touched"
            } else {
                "name an empty directory, or one that does not exist; nothing in it was touched"
            }));
        }
    }
    Ok(())
}

fn is_empty(directory: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(directory)?.next().is_none())
}

/// Creates the state file in an empty data directory, and locks it.
pub(super) fn create(server: &Mysqld) -> Result<LockedFile> {
    let directory = server.state_directory();
    let failed = |e: io::Error| storage("write", &directory, &e);
    match fs::DirBuilder::new().mode(0o700).create(&directory) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(e)),
        _ => {}
    }
    let Opened::Ours(file) = state::create_exclusive(&path(server)).map_err(Failure::error)? else {
        return Err(busy(&printable(&server.datadir.display().to_string())));
    };
    // Other accounts must not reach the socket: until there is a password, everyone who does is root.
    if let Some(uid) = server.user {
        lchown(&directory, Some(uid), None).map_err(failed)?;
    }
    Ok(file)
}

/// Records how far the data directory has come; it is on the disk after that.
pub(super) fn write(file: &mut LockedFile, server: &Mysqld, stage: Stage) -> Result<()> {
    let content = Content {
        stage,
        mariadb: server.mariadb,
    };
    file.overwrite(&content, SIZE).map_err(Failure::error)?;
    // The hidden directory itself is new, too.
    File::open(&server.datadir)
        .and_then(|directory| directory.sync_all())
        .map_err(|e| storage("write", file.path(), &e))
}
