//! The files of a server that does not run.
//!
//! Invariant: as long as its files are read, no server can start on them: a shared lock on the system tablespace stands
//! in the way of the lock that every server takes. The kernel drops such a lock when the process closes *any*
//! descriptor of the file, so the one that has the lock is also the one that is read.

use crate::local;
use crate::manifest::{Manifest, Position, Source};
use base::units::printable;
use base::{Error, Kind, Result};
use innodb::redo::{MYSQL_DIRECTORY, has_ended, numbered};
use instance::read_only;
use run::state::storage;
use rustix::fs::FlockOperation;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a binary log begins with: `binary_log::BINLOG_MAGIC`.
const BINLOG_MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];

/// A stopped server, kept from starting.
pub(crate) struct Stopped {
    pub(crate) datadir: PathBuf,
    /// The system tablespace, locked.
    pub(crate) system: Arc<File>,
    /// Binary logs in the data directory: their path without the number.
    pub(crate) logs: Vec<PathBuf>,
}

impl Stopped {
    /// Keeps a server from starting on it; an error if one runs, or if the last one was not shut down: which of its
    /// transactions are committed, its binary log says, and the files are stored without it.
    pub(crate) fn hold(datadir: &Path) -> Result<Stopped> {
        let datadir = fs::canonicalize(datadir).map_err(|e| storage("read", datadir, &e))?;
        let path = datadir.join(local::SYSTEM);
        let system = File::open(&path).map_err(|e| {
            storage("read", &path, &e)
                .hint("--datadir names the data directory of a server that does not run")
        })?;
        let locked = rustix::fs::fcntl_lock(&system, FlockOperation::NonBlockingLockShared);
        if locked.is_err() || local::opened_by(&datadir).is_some() {
            let what = format!("a server runs on {}", datadir.display());
            return Err(Error::new(Kind::Target, printable(&what))
                .hint("connect to it instead of naming --datadir, or shut it down first"));
        }
        let read = |e: io::Error| storage("read", &datadir, &e);
        let logs = binary_logs(&datadir).map_err(read)?;
        if has_ended(&datadir).map_err(read)? == Some(false)
            || read_only::has_open_binary_log(&datadir)?
        {
            let what = format!("{} was not shut down cleanly", datadir.display());
            return Err(Error::new(Kind::Target, printable(&what)).hint(
                "start the server once and shut it down; or penstock dump --from-files has a copy of the files recovered (--recover), and dumps that",
            ));
        }
        Ok(Stopped {
            datadir,
            system: Arc::new(system),
            logs,
        })
    }

    /// Fills in what the files say.
    pub(crate) fn describe(&self, manifest: &mut Manifest) -> Result<()> {
        let read = |e: io::Error| storage("read", &self.datadir, &e);
        let log = redo_log(&self.datadir).map_err(read)?;
        let Some((log, mysql)) = log else {
            let what = format!("{} has no redo log", self.datadir.display());
            return Err(Error::new(Kind::Target, printable(&what))
                .hint("--datadir names the data directory of a server that does not run"));
        };
        let mut head = [0; 48];
        let file = File::open(&log).map_err(read)?;
        file.read_exact_at(&mut head, 0).map_err(read)?;
        // LOG_HEADER_CREATOR: "MySQL 9.7.4", "MariaDB 10.11.19".
        let creator = head[16..48].split(|b| *b == 0).next().unwrap_or_default();
        let creator = printable(&String::from_utf8_lossy(creator));
        let version = creator
            .split_whitespace()
            .last()
            .unwrap_or_default()
            .to_owned();
        manifest.source = Source {
            flavour: if mysql { "MySQL" } else { "MariaDB" }.to_owned(),
            version,
            datadir: self.datadir.display().to_string(),
            ..Source::default()
        };
        if !mysql {
            let size = file.metadata().map_err(read)?.len();
            manifest
                .settings
                .insert("innodb_log_file_size".to_owned(), size.to_string());
        }
        if let Some(size) = innodb::read::page_size(&*self.system) {
            manifest
                .settings
                .insert("innodb_page_size".to_owned(), size.to_string());
        }
        "the server does not run".clone_into(&mut manifest.locks.mode);
        match self.logs.as_slice() {
            [] => {
                manifest.position_remark =
                    Some("there is no binary log in the data directory".to_owned());
            }
            [one] => manifest.position = end_of(one).map_err(read)?,
            _ => {
                manifest.position_remark =
                    Some("the data directory has several series of binary logs".to_owned());
            }
        }
        if has_ended(&self.datadir).map_err(read)?.is_none() {
            manifest.position_remark = Some(
                "the format of the redo log does not show whether the server was shut down cleanly, so its binary log may hold more or less than its tables".to_owned(),
            );
        }
        Ok(())
    }
}

/// The newest file of the redo log, and whether it is MySQL's.
fn redo_log(datadir: &Path) -> io::Result<Option<(PathBuf, bool)>> {
    let of_mysql = datadir.join(MYSQL_DIRECTORY);
    if of_mysql.is_dir() {
        let newest = numbered(&of_mysql)?.into_values().next_back();
        return Ok(newest.map(|p| (p, true)));
    }
    let log = datadir.join("ib_logfile0");
    let mariadb = datadir.join("aria_log_control").is_file();
    Ok(log.is_file().then_some((log, !mariadb)))
}

/// Series of binary logs in a data directory, by their indexes.
pub(crate) fn binary_logs(datadir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(datadir)?.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "index") {
            continue;
        }
        let base = path.with_extension("");
        if last_of(&base)?.is_some_and(|log| begins_as_log(&log)) {
            found.push(base);
        }
    }
    found.sort();
    Ok(found)
}

fn begins_as_log(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path)
        .and_then(|mut f| f.read_exact(&mut magic))
        .is_ok()
        && magic == BINLOG_MAGIC
}

/// The last log that an index lists.
fn last_of(base: &Path) -> io::Result<Option<PathBuf>> {
    let mut index = base.as_os_str().to_owned();
    index.push(".index");
    let text = fs::read_to_string(index)?;
    let last = text.lines().map(str::trim).rfind(|l| !l.is_empty());
    let directory = base.parent().unwrap_or(Path::new("/"));
    Ok(last.map(|l| directory.join(Path::new(l).file_name().unwrap_or_default())))
}

/// The end of the last binary log: what a server writes next goes into another file.
fn end_of(base: &Path) -> io::Result<Position> {
    let Some(last) = last_of(base)? else {
        return Ok(Position::default());
    };
    Ok(Position {
        binlog_file: last.file_name().map(|n| printable(&n.to_string_lossy())),
        binlog_position: Some(fs::metadata(&last)?.len()),
        ..Position::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_data_directory_cannot_be_locked_by_a_server() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("ibdata1"), [0; 4096]).unwrap();
        fs::write(dir.path().join("b.000001"), [BINLOG_MAGIC, [0; 4]].concat()).unwrap();
        fs::write(dir.path().join("b.index"), "./b.000001\n").unwrap();
        let held = Stopped::hold(dir.path()).unwrap();
        assert_eq!(held.logs.len(), 1);
        let end = end_of(&held.logs[0]).unwrap();
        assert_eq!(end.binlog_file.as_deref(), Some("b.000001"));
        assert_eq!(end.binlog_position, Some(8));
        // The kernel asks another process.
        let script = "import fcntl,sys\nf=open(sys.argv[1],'r+')\ntry:\n fcntl.lockf(f,fcntl.LOCK_EX|fcntl.LOCK_NB)\nexcept OSError: sys.exit(7)";
        let tried = || {
            std::process::Command::new("python3")
                .args(["-c", script])
                .arg(dir.path().join("ibdata1"))
                .status()
        };
        if let Ok(status) = tried() {
            assert_eq!(status.code(), Some(7));
            drop(held);
            assert_eq!(tried().unwrap().code(), Some(0));
        }
    }
}
