//! Directories for what is only needed while a command runs.
//!
//! Invariant: each holds a locked file as long as its command runs, so that what a killed one has left is known
//! and removed by the next command of the same user that makes one in the same place.

use base::units::printable;
use base::{Error, Kind, Result};
use run::state::{self, StateDir};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Where they are made if nothing else is said: `/tmp` is memory on many hosts.
const USUAL: &str = "/var/tmp";

/// How those of dumps from files are called.
const OF_FILES: &str = "penstock-files-";

/// The file whose lock says that the directory is used.
const LOCK: &str = "in-use";

/// What they are called until they have that file.
const NEW: &str = ".penstock-new-";

/// A directory that is removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// Its record in the state directory.
    record: Option<PathBuf>,
    _lock: File,
}

impl Scratch {
    /// Makes one for a dump from files. Others may not look into it; the account of the server needs to reach what is
    /// below. It has a record, so that `snapshot clean` finds what a killed dump left in a place that only its command line named; without a state
    /// directory, the next dump in the same place finds it.
    pub fn of_files(within: Option<&Path>) -> Result<Scratch> {
        Scratch::made(within, OF_FILES, 0o711, remember)
    }

    /// Makes one; `PREFIX` and random letters are its name. What killed commands left under the same prefix is
    /// removed first.
    pub fn new(within: Option<&Path>, prefix: &str, mode: u32) -> Result<Scratch> {
        Scratch::made(within, prefix, mode, |_| None)
    }

    /// `record` writes down where it will be, before it is there.
    fn made(
        within: Option<&Path>,
        prefix: &str,
        mode: u32,
        record: fn(&Path) -> Option<PathBuf>,
    ) -> Result<Scratch> {
        let within = within.unwrap_or(Path::new(USUAL));
        run::places::no_data_directory(within)?;
        sweep(within, prefix);
        let cannot = |e: std::io::Error| {
            let what = format!("cannot make a directory in {}: {e}", within.display());
            Error::new(Kind::Storage, printable(&what)).hint("name another one with --scratch")
        };
        let new = tempfile::Builder::new()
            .prefix(NEW)
            .permissions(fs::Permissions::from_mode(mode))
            .tempdir_in(within)
            .map_err(cannot)?;
        let lock = File::create_new(new.path().join(LOCK)).map_err(cannot)?;
        lock.lock().map_err(cannot)?;
        let name = new.path().file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{prefix}{}", name.trim_start_matches(NEW));
        let path = std::path::absolute(within.join(name)).map_err(cannot)?;
        let record = record(&path);
        fs::rename(new.path(), &path).map_err(cannot)?;
        // From here on it has the other name.
        let _ = new.keep();
        Ok(Scratch {
            path,
            record,
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.path);
        if let Some(record) = &self.record
            && !self.path.exists()
        {
            let _ = state::remove(record);
        }
    }
}

/// How records of these directories begin and end.
const RECORD: (&str, &str) = ("scratch-", ".json");
/// Bytes of a record at most.
const RECORD_MOST: u64 = 64 << 10;

/// Writes down where one is.
fn remember(path: &Path) -> Option<PathBuf> {
    let directory = super::state::directory()?;
    let directory = StateDir(&directory);
    let about = path.display().to_string();
    let record = directory.hashed(RECORD.0, &about, 16, RECORD.1);
    state::put_json(directory, &record, &path).ok()?;
    Some(record)
}

/// Removes what killed dumps from files of this user left: in the usual place, and wherever they were told to have it.
pub fn sweep_of_files() {
    sweep(Path::new(USUAL), OF_FILES);
    let Some(directory) = super::state::directory() else {
        return;
    };
    let records = StateDir(&directory).files(RECORD.0, RECORD.1);
    for record in records.into_iter().flatten() {
        let Ok(path) = state::read_json::<PathBuf>(&record, RECORD_MOST) else {
            continue;
        };
        if let Some(within) = path.parent() {
            sweep(within, OF_FILES);
        }
        // One that is in use is still there.
        if !path.exists() {
            let _ = state::remove(&record);
        }
    }
}

/// Removes a directory. What says that it is ours goes last: a kill in between leaves something that the next command knows.
fn remove(path: &Path) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let _ = match entry.file_type() {
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(entry.path()),
            _ if entry.file_name() == LOCK => Ok(()),
            _ => fs::remove_file(entry.path()),
        };
    }
    let _ = fs::remove_dir_all(path);
}

/// Removes what killed commands of this user left, and ends servers that still run there.
fn sweep(within: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(within) else {
        return;
    };
    let own = rustix::process::geteuid().as_raw();
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(prefix)
            && entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == own);
        if !is_ours {
            continue;
        }
        let Ok(path) = std::path::absolute(entry.path()) else {
            continue;
        };
        let lock = OpenOptions::new()
            .write(true)
            .custom_flags(run::NO_LINK)
            .open(path.join(LOCK));
        // Without the file it was made by something else.
        let Ok(lock) = lock else { continue };
        if lock.try_lock().is_ok() && instance::managed::end_within(&path) {
            remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_removed_and_what_is_used_stays() {
        let dir = tempfile::tempdir().unwrap();
        let within = Some(dir.path());
        let used = Scratch::new(within, "penstock-x-", 0o700).unwrap();
        let left = dir.path().join("penstock-x-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        let other = dir.path().join("penstock-x-other");
        fs::create_dir(&other).unwrap();
        fs::write(left.join("log"), "").unwrap();
        let started = |argument: String| {
            let child = std::process::Command::new("sh")
                .args(["-c", "while :; do sleep 0.1; done", "sh", &argument])
                .spawn()
                .unwrap();
            // A program that has just been started has no command line yet.
            let line = format!("/proc/{}/cmdline", child.id());
            while !fs::read_to_string(&line).unwrap().contains("log") {
                std::thread::yield_now();
            }
            child
        };
        let mut server = started(format!("--log={}/log", left.display()));
        let mut looking = started(left.join("log").display().to_string());
        let next = Scratch::new(within, "penstock-x-", 0o711).unwrap();
        assert!(!left.exists());
        assert!(server.wait().unwrap().code().is_none());
        assert!(looking.try_wait().unwrap().is_none());
        looking.kill().unwrap();
        looking.wait().unwrap();
        assert!(other.exists() && used.path().exists() && next.path().exists());
        let mode = next.path().metadata().unwrap().mode() & 0o777;
        assert_eq!(mode, 0o711);
        let path = next.path().to_owned();
        drop(next);
        assert!(!path.exists() && used.path().join(LOCK).exists());
        assert!(Scratch::new(Some(Path::new("/nonexistent")), "x", 0o700).is_err());
        let all = fs::read_dir(dir.path()).unwrap().flatten();
        assert!(
            all.into_iter()
                .all(|e| !e.file_name().to_string_lossy().starts_with('.'))
        );
    }
}
