//! The folder that a load takes, and the mark in it: how far the folder has come, and who works in it.
//!
//! Invariants: only a folder that is empty, or that an interrupted load has marked, is taken; a mark is locked as long as
//! somebody is at work, and written at once and always of the same length, so that it is never torn.

use super::{Mysqld, mysqld, storage};
use base::units::printable;
use base::{Error, Kind, Result};
use run::NO_LINK;
use run::Run;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, fchown, lchown};
use std::path::Path;
use std::time::{Duration, Instant};

/// The name of the mark.
pub(super) const MARK: &str = "mark";

/// Bytes of a mark: written at once and never shorter, so that it is never torn.
const MARK_SIZE: usize = 128;

/// How long an initialisation may go on whose load was killed.
const ORPHAN: Duration = Duration::from_secs(20);

/// How far a folder has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stage {
    /// A data folder is being made, in the hidden one.
    Initialising,
    /// It is whole, and on its way to its place.
    Moving,
    /// It is in its place, and the archive is on its way, or there.
    Loading,
}

#[derive(Clone, Serialize, Deserialize)]
struct Mark {
    stage: Stage,
    mariadb: bool,
}

/// The folder, empty if it was not there; whether it was not.
pub(super) fn folder_of(folder: &Path) -> Result<bool> {
    let made = fs::DirBuilder::new().mode(0o750).create(folder);
    match made {
        Ok(()) => {
            if rustix::process::geteuid().is_root()
                && let Some((uid, gid)) = account("mysql")
            {
                // The servers' own packages have them run as this account.
                lchown(folder, Some(uid), Some(gid))
                    .map_err(|e| storage("give to mysql", folder, &e))?;
            }
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(false),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let text = format!("--datadir {}: it is no folder", folder.display());
            Err(Error::new(Kind::Target, printable(&text))
                .hint("name a folder that is empty, or not there"))
        }
        Err(e) => Err(storage("make", folder, &e)),
    }
}

/// Numbers of an account of this host.
fn account(name: &str) -> Option<(u32, u32)> {
    let text = fs::read_to_string("/etc/passwd").ok()?;
    let line = text
        .lines()
        .find(|l| l.split(':').next() == Some(name))?
        .to_owned();
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// As whom the server has to run: only one that is started by root has to be told.
pub(super) fn user(folder: &Path) -> io::Result<Option<u32>> {
    let owner = fs::metadata(folder)?.uid();
    Ok(rustix::process::geteuid().is_root().then_some(owner))
}

/// Has a file belong to the server's account.
pub(super) fn given(file: &File, user: Option<u32>) -> io::Result<()> {
    match user {
        Some(uid) if file.metadata()?.uid() != uid => fchown(file, Some(uid), None),
        _ => Ok(()),
    }
}

/// The mark that an interrupted load has left in the folder, if it is to be gone on with; none in an empty one.
pub(super) fn taken(run: &Run, server: &Mysqld, resume: bool) -> Result<Option<(File, Stage)>> {
    let folder = &server.folder;
    let shown = printable(&folder.display().to_string());
    let cannot = |e: io::Error| storage("read", folder, &e);
    let refused = |what: String, hint: &str| Err(Error::new(Kind::Target, what).hint(hint));
    let path = server.state_directory().join(MARK);
    let opened = File::options()
        .read(true)
        .write(true)
        .custom_flags(NO_LINK)
        .open(&path);
    let mut mark = match opened {
        Ok(mark) => mark,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            // A hidden folder without a mark has nothing in it yet.
            let hidden = server.state_directory().is_dir()
                && is_empty(&server.state_directory()).map_err(cannot)?;
            for entry in fs::read_dir(folder).map_err(cannot)?.flatten() {
                let name = entry.file_name();
                // New file systems have this one.
                let known = name == "lost+found" || hidden && name == mysqld::PRIVATE;
                if !known {
                    let over = resume && folder.join("ibdata1").exists();
                    return refused(
                        format!("--datadir {shown}: the folder is not empty"),
                        if over {
                            "it is somebody's data folder, or one that a load has made which was interrupted behind its last step, and then it is ready for your server (what is left in .penstock-load can be removed); nothing in it was touched"
                        } else {
                            "name one that is empty, or not there; nothing in it was touched"
                        },
                    );
                }
            }
            if resume {
                let what = "there is no interrupted load to go on with: beginning one";
                run.observer.note(what.to_owned());
            }
            return Ok(None);
        }
        Err(e) => return Err(cannot(e)),
    };
    // What initialises a folder has the lock too, and may have outlived its load.
    let end = Instant::now() + if resume { ORPHAN } else { Duration::ZERO };
    while mark.try_lock().is_err() {
        run.check()?;
        if Instant::now() >= end {
            return Err(
                Error::new(Kind::Lock, format!("another penstock loads into {shown}"))
                    .hint("wait for its end"),
            );
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    if mark.metadata().map_err(cannot)?.nlink() == 0 {
        return refused(
            format!("--datadir {shown}: another penstock has loaded into it just now"),
            "name another folder",
        );
    }
    if !resume {
        let running = server
            .process()
            .map(|pid| format!(" (its server still runs: process {})", pid.as_raw_nonzero()));
        return refused(
            format!(
                "--datadir {shown}: a load into it was interrupted{}",
                running.unwrap_or_default()
            ),
            "go on with --resume; to begin anew, end the server if it runs, and remove the folder",
        );
    }
    let mut text = String::new();
    mark.read_to_string(&mut text).map_err(cannot)?;
    let read: Option<Mark> = serde_json::from_str(text.trim()).ok();
    match read {
        Some(read) if read.mariadb != server.mariadb => refused(
            format!(
                "--datadir {shown}: the interrupted load made it with {}, and this is another server: {}",
                if read.mariadb { "MariaDB" } else { "MySQL" },
                printable(&server.program.display().to_string())
            ),
            "name the program of that load with --server-program",
        ),
        Some(read) => Ok(Some((mark, read.stage))),
        // It was made, and nothing written yet.
        None if text.is_empty() && !server.folder.join("ibdata1").exists() => {
            Ok(Some((mark, Stage::Initialising)))
        }
        None => refused(
            format!(
                "{} does not say how far a load has come",
                printable(&path.display().to_string())
            ),
            "nothing was touched; to begin anew, end the server if it runs, and remove the folder",
        ),
    }
}

fn is_empty(folder: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(folder)?.next().is_none())
}

/// A mark in an empty folder.
pub(super) fn marked(server: &Mysqld) -> Result<File> {
    let private = server.state_directory();
    let failed = |e: io::Error| storage("write", &private, &e);
    match fs::DirBuilder::new().mode(0o700).create(&private) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(e)),
        _ => {}
    }
    let mark = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(private.join(MARK))
        .map_err(failed)?;
    mark.lock().map_err(failed)?;
    // Other accounts must not get at the socket: until there is a password, everybody who does is root.
    if let Some(uid) = server.user {
        lchown(&private, Some(uid), None).map_err(failed)?;
    }
    Ok(mark)
}

/// Writes how far the folder has come into its mark.
pub(super) fn written(file: &File, server: &Mysqld, stage: Stage) -> Result<()> {
    let path = server.state_directory().join(MARK);
    let mark = Mark {
        stage,
        mariadb: server.mariadb,
    };
    let mut text = serde_json::to_vec(&mark)
        .map_err(|e| Error::new(Kind::Internal, format!("a mark is not written: {e}")))?;
    text.resize(MARK_SIZE, b' ');
    let write = || -> io::Result<()> {
        file.write_all_at(&text, 0)?;
        file.sync_all()?;
        File::open(server.state_directory())?.sync_all()?;
        File::open(&server.folder)?.sync_all()
    };
    write().map_err(|e| storage("write", &path, &e))
}
