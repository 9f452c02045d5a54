//! Durable files on this host: the mechanics that the settings journal, the restart notice, the
//! completion record and the state file of a data directory share. Each of them keeps its own meaning;
//! nothing here knows any of them.
//!
//! What the module guarantees:
//! - A directory that it creates has mode 0700, and a file has mode 0600.
//! - A file is never opened through a link in its last component, and opening one never waits: a FIFO, a
//!   device or a socket is refused.
//! - A locked file is the file that the path names: after the lock is taken, device and inode are
//!   compared once more, because the previous owner may have unlinked the file between our open and our
//!   lock. The lock is the process's own (`flock`), so it ends with the process, however that ends.
//! - When a function that writes returns `Ok`, the content is on the disk: first the file is synced, then
//!   the directory that names it. A caller may do afterwards what the record speaks of.
//! - [`LockedFile::append`] syncs the file only: a file that is appended to gets its name synced once, by
//!   [`LockedFile::sync_name`], with the first line.
//! - [`LockedFile::overwrite`] writes one block of a fixed size in place and never shortens the file, so
//!   that a process that is killed never leaves it torn. [`LockedFile::put_json`] and [`put_json`] are
//!   not atomic: a process that is killed within them leaves the file empty, short or (`put_json`)
//!   absent. Readers must take that for "not written", and writers must not yet have done what the record
//!   speaks of.
//! - Reading stops at a size that the caller names; a larger file is an error, not a shortened text.
//!
//! It does not: retry, remove what others left, or change the mode of a directory that exists.

use base::{Error, Kind, units::printable};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A file that could not be used: what was tried, on which path, and why.
#[derive(Debug)]
pub struct Failure {
    doing: &'static str,
    path: PathBuf,
    /// Why.
    pub cause: io::Error,
}

/// What the functions here return.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    fn new(doing: &'static str, path: &Path, cause: io::Error) -> Failure {
        Failure {
            doing,
            path: path.to_owned(),
            cause,
        }
    }
}

impl Failure {
    /// Another process has the lock of a file, and keeps it.
    pub fn busy(path: &Path) -> Failure {
        Failure::new("lock", path, io::ErrorKind::WouldBlock.into())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!(
            "cannot {} {}: {}",
            self.doing,
            self.path.display(),
            self.cause
        );
        f.write_str(&printable(&text))
    }
}

impl Failure {
    /// The error of a job.
    pub fn error(self) -> Error {
        Error::new(Kind::Storage, self.to_string())
    }
}

/// The error of a file or directory of this host that could not be used.
pub fn storage(doing: &str, path: &Path, e: &io::Error) -> Error {
    let text = format!("cannot {doing} {}: {e}", path.display());
    let error = Error::new(Kind::Storage, printable(&text));
    match e.kind() {
        io::ErrorKind::PermissionDenied => error.hint(
            "run as the account that it belongs to (the server's, for its files), or as root",
        ),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            error.hint("see whether the path is right, and on this host")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => error.hint("make room there"),
        _ => error,
    }
}

/// A directory that only its user may read.
#[derive(Clone, Copy, Debug)]
pub struct StateDir<'a>(pub &'a Path);

impl StateDir<'_> {
    /// Creates it, with its parents, unless it exists.
    pub fn create(self) -> Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.0)
            .map_err(|e| Failure::new("create", self.0, e))
    }

    /// The path of a file whose name is made of a hash: what a record is about must not become a path.
    /// `digits` is how many hexadecimal digits of the hash the name has.
    pub fn hashed(self, prefix: &str, about: &str, digits: usize, suffix: &str) -> PathBuf {
        let digest = archive::FileRecord::of(about.as_bytes()).blake3;
        let digits = digits.min(digest.len());
        self.0
            .join(format!("{prefix}{}{suffix}", &digest[..digits]))
    }

    /// All files whose names begin and end like this, sorted; none if the directory does not exist.
    pub fn files(self, prefix: &str, suffix: &str) -> Result<Vec<PathBuf>> {
        let failed = |e| Failure::new("read", self.0, e);
        let list = match fs::read_dir(self.0) {
            Ok(list) => list,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(failed(e)),
        };
        let mut found = Vec::new();
        for entry in list {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(prefix) && name.ends_with(suffix) {
                found.push(path);
            }
        }
        found.sort();
        Ok(found)
    }
}

/// A file that this process has locked, until it is dropped.
#[derive(Debug)]
pub struct LockedFile {
    path: PathBuf,
    file: File,
    /// Whether another process was given the lock.
    shared: AtomicBool,
}

impl Drop for LockedFile {
    /// Closing the file is not enough: a child that another thread starts at this moment has a copy of it
    /// until it executes its program, and the lock with it.
    fn drop(&mut self) {
        if !*self.shared.get_mut() {
            let _ = self.file.unlock();
        }
    }
}

/// What came of opening a file and locking it.
#[derive(Debug)]
pub enum Opened {
    /// This process has the lock.
    Ours(LockedFile),
    /// Another process has it; the file can be read, to find out which one.
    Busy(File),
    /// It was removed between our open and our lock: the process that had the lock has finished.
    Removed,
}

/// Opens a file and locks it; `None` if it does not exist.
pub fn open(path: &Path) -> Result<Option<Opened>> {
    match options(false).open(path) {
        Ok(file) => lock(path, file).map(Some),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Failure::new("open", path, e)),
    }
}

/// The same, again if the file was removed meanwhile: never [`Opened::Removed`].
pub fn open_current(path: &Path) -> Result<Option<Opened>> {
    loop {
        match open(path)? {
            Some(Opened::Removed) => {}
            opened => return Ok(opened),
        }
    }
}

/// Opens a file and locks it, creating it if it does not exist: never [`Opened::Removed`].
pub fn create(path: &Path) -> Result<Opened> {
    loop {
        let file = options(true)
            .open(path)
            .map_err(|e| Failure::new("open", path, e))?;
        match lock(path, file)? {
            Opened::Removed => {}
            opened => return Ok(opened),
        }
    }
}

/// Creates a file that must not exist yet, and locks it. Another process may lock or remove it first.
pub fn create_exclusive(path: &Path) -> Result<Opened> {
    let file = create_new(path).map_err(|e| Failure::new("create", path, e))?;
    lock(path, file)
}

fn options(create: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .mode(0o600)
        .custom_flags(crate::NO_LINK);
    options
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn lock(path: &Path, file: File) -> Result<Opened> {
    is_regular(&file).map_err(|e| Failure::new("open", path, e))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Opened::Busy(file)),
        Err(TryLockError::Error(e)) => return Err(Failure::new("lock", path, e)),
    }
    // Its owner may have removed it between our open and our lock.
    let same = |a: &Metadata, b: &Metadata| a.ino() == b.ino() && a.dev() == b.dev();
    match (fs::symlink_metadata(path), file.metadata()) {
        (Ok(named), Ok(ours)) if same(&named, &ours) => Ok(Opened::Ours(LockedFile {
            path: path.to_owned(),
            file,
            shared: AtomicBool::new(false),
        })),
        _ => Ok(Opened::Removed),
    }
}

fn is_regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is not a regular file",
    ))
}

impl LockedFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same open file again. A process that inherits it has the lock, too, and keeps it when this
    /// process ends.
    pub fn share(&self) -> Result<File> {
        let copy = self.file.try_clone();
        let copy = copy.map_err(|e| Failure::new("share", &self.path, e))?;
        self.shared.store(true, Ordering::SeqCst);
        Ok(copy)
    }

    /// All of it.
    pub fn read(&self, max: u64) -> Result<Vec<u8>> {
        read_all(&self.file, max).map_err(|e| Failure::new("read", &self.path, e))
    }

    /// Shortens it to `length`, so that what is appended next begins there.
    pub fn keep(&mut self, length: u64) -> Result<()> {
        self.file
            .set_len(length)
            .map_err(|e| Failure::new("write", &self.path, e))
    }

    /// Writes at its end; the content is on the disk after that.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file
            .seek(SeekFrom::End(0))
            .and_then(|_| self.file.write_all(bytes))
            .and_then(|()| self.file.sync_all())
            .map_err(|e| Failure::new("write", &self.path, e))
    }

    /// Makes its name durable: a new file survives a power failure only if its directory is synced, too.
    pub fn sync_name(&self) -> Result<()> {
        sync_parent(&self.path).map_err(|e| Failure::new("write", &self.path, e))
    }

    /// Replaces the content by `value`; not atomic. File, then directory are synced.
    pub fn put_json(&mut self, value: &impl Serialize) -> Result<()> {
        let write = || -> io::Result<()> {
            let bytes = serde_json::to_vec(value)?;
            self.file.set_len(0)?;
            self.file.write_all_at(&bytes, 0)?;
            self.file.sync_all()?;
            sync_parent(&self.path)
        };
        write().map_err(|e| Failure::new("write", &self.path, e))
    }

    /// Replaces the first `size` bytes by `value`, padded with spaces, in one write; never torn if every
    /// write has the same size. File, then directory are synced.
    pub fn overwrite(&mut self, value: &impl Serialize, size: usize) -> Result<()> {
        let write = || -> io::Result<()> {
            let mut bytes = serde_json::to_vec(value)?;
            if bytes.len() > size {
                return Err(too_large(size as u64));
            }
            bytes.resize(size, b' ');
            self.file.write_all_at(&bytes, 0)?;
            self.file.sync_all()?;
            sync_parent(&self.path)
        };
        write().map_err(|e| Failure::new("write", &self.path, e))
    }

    /// Puts a new file in its place, in one step. Its lock ends with that: who waits for it gets the new file.
    pub fn replace(self, bytes: &[u8]) -> Result<()> {
        let mut new = self.path.as_os_str().to_owned();
        new.push(".new");
        let new = PathBuf::from(new);
        remove(&new)?;
        let write = || -> io::Result<()> {
            let mut file = create_new(&new)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&new, &self.path)?;
            sync_parent(&self.path)
        };
        write().map_err(|e| Failure::new("write", &self.path, e))
    }

    /// The value that [`LockedFile::put_json`] wrote; an error if it is torn or larger than `max`.
    pub fn read_json<T: DeserializeOwned>(&self, max: u64) -> Result<T> {
        self.read(max).and_then(|bytes| parse(&self.path, &bytes))
    }

    /// Removes it; its lock ends with that.
    pub fn remove(self) -> Result<()> {
        remove(&self.path)
    }
}

/// Removes a file, which may be gone already.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Failure::new("remove", path, e)),
        _ => Ok(()),
    }
}

/// Writes a record that no process locks, in place of one that may exist: that one is unlinked, not
/// written to. Not atomic. File, then directory are synced.
pub fn put_json(dir: StateDir<'_>, path: &Path, value: &impl Serialize) -> Result<()> {
    dir.create()?;
    remove(path)?;
    let write = || -> io::Result<()> {
        let mut file = create_new(path)?;
        file.write_all(&serde_json::to_vec(value)?)?;
        file.sync_all()?;
        sync_parent(path)
    };
    write().map_err(|e| Failure::new("write", path, e))
}

/// Reads what [`put_json`] wrote; an error if it does not exist, is torn, or is larger than `max`.
pub fn read_json<T: DeserializeOwned>(path: &Path, max: u64) -> Result<T> {
    let read = || -> io::Result<Vec<u8>> {
        let file = File::options()
            .read(true)
            .custom_flags(crate::NO_LINK)
            .open(path)?;
        is_regular(&file)?;
        read_all(&file, max)
    };
    let bytes = read().map_err(|e| Failure::new("read", path, e))?;
    parse(path, &bytes)
}

/// All of a file, also of one that another process has locked. It does not move the position of the file.
pub fn read_all(file: &File, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut block = [0; 8192];
    loop {
        match file.read_at(&mut block, bytes.len() as u64) {
            Ok(0) => return Ok(bytes),
            Ok(n) => bytes.extend_from_slice(&block[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if bytes.len() as u64 > max {
            return Err(too_large(max));
        }
    }
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|e| Failure::new("read", path, e.into()))
}

fn too_large(max: u64) -> io::Error {
    let text = format!("it is larger than {max} bytes");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
