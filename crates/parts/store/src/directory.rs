//! A directory as a store.
//!
//! Every access is relative to the directory's own descriptor, never follows a
//! link in the last component, and touches regular files only, so a directory
//! prepared by an attacker (links out of it, pipes, devices) can make an
//! operation fail but not reach elsewhere or hang.
//!
//! The order of a write makes it survive a loss of power at any point:
//! `<name>.dumping` is written, its bytes are synced, it is renamed, and the
//! directory is synced.

use self::block::BlockWriter;
use crate::name::{PARTIAL_SUFFIX, check_name, check_new_name};
use crate::{Entry, EntryKind, Error, Result, Store, Writer};
use base::RateLimiter;
use rustix::fs::{self as rfs, AtFlags, FileType, Mode, OFlags};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// A directory; clones share it.
#[derive(Clone, Debug)]
pub struct Directory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// Whether it was made when it was opened.
    made: bool,
    fd: OwnedFd,
    /// Finished without being synced; [`Store::sync`] does it.
    unsynced: Mutex<Vec<String>>,
    /// A sync failed. The kernel may have dropped what it could not write, so
    /// a later sync would wrongly report success.
    lost: AtomicBool,
    /// Limits what is written.
    gate: OnceLock<Arc<RateLimiter>>,
}

impl Directory {
    /// A directory to fill: created (mode 0700, with missing parents) unless it
    /// exists, and refused if it exists and is not empty. While the result or a
    /// clone of it lives no other process can fill it: [`Error::busy`]. Where the
    /// file system cannot lock a directory, only the exclusive creation of files protects it.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|p| !p.as_os_str().is_empty() && !p.exists())
            .collect();
        let made = missing.first() == Some(&path);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|e| Error::new("create directory", &shown, e))?;
        for made in missing {
            sync_parent(made).map_err(|e| Error::new("sync the parent directory", &shown, e))?;
        }
        let dir = Self::opened(path, made)?;
        // Before reading it: of two processes that find it empty at the same time only one may continue.
        dir.locked()?;
        if !dir.list()?.is_empty() {
            let why = io::Error::new(
                io::ErrorKind::DirectoryNotEmpty,
                "the directory is not empty, and nothing in it will be overwritten",
            );
            return Err(Error::new("create directory", &shown, why));
        }
        Ok(dir)
    }

    /// An existing directory that no other process may fill meanwhile: [`Error::busy`] if one does.
    pub fn open_alone(path: impl AsRef<Path>) -> Result<Self> {
        let dir = Self::opened(path.as_ref(), false)?;
        dir.locked()?;
        Ok(dir)
    }

    /// Locks it for as long as it is open.
    fn locked(&self) -> Result<()> {
        match rfs::flock(&self.0.fd, rfs::FlockOperation::NonBlockingLockExclusive) {
            Err(e @ rustix::io::Errno::WOULDBLOCK) => {
                Err(Error::new("lock directory", &self.describe(), e))
            }
            _ => Ok(()),
        }
    }

    /// An existing directory, to read from or add to.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::opened(path.as_ref(), false)
    }

    fn opened(path: &Path, made: bool) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rfs::open(path, flags, Mode::empty())
            .map_err(|e| Error::new("open directory", &path.display().to_string(), e))?;
        Ok(Self(Arc::new(Inner {
            path: path.to_path_buf(),
            made,
            fd,
            unsynced: Mutex::default(),
            lost: AtomicBool::new(false),
            gate: OnceLock::new(),
        })))
    }

    /// From now on this limiter applies to what new files write; for all clones, and once only.
    #[must_use]
    pub fn through(self, gate: &Arc<RateLimiter>) -> Self {
        self.0.gate.get_or_init(|| Arc::clone(gate));
        self
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Inner {
    fn open_regular(&self, name: &str, op: &'static str) -> Result<(File, u64)> {
        check_name(op, name)?;
        // NONBLOCK: opening a pipe must not wait for its other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rfs::openat(&self.fd, name, flags, Mode::empty())
            .map_err(|e| Error::new(op, name, e))?;
        let stat = rfs::fstat(&fd).map_err(|e| Error::new(op, name, e))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(not_regular(op, name));
        }
        Ok((
            File::from(fd),
            u64::try_from(stat.st_size).unwrap_or_default(),
        ))
    }
}

/// As many files are synced by several threads.
const MANY: usize = 64;

/// By so many.
const SYNCS: usize = 8;

impl Inner {
    fn sync(&self) -> Result<()> {
        let names = std::mem::take(&mut *lock(&self.unsynced));
        let each = |names: &[String]| {
            for name in names {
                let (file, _) = self.open_regular(name, "sync")?;
                rfs::fsync(&file).map_err(|e| Error::new("sync", name, e))?;
            }
            Ok(())
        };
        if names.len() < MANY {
            each(&names)?;
        } else {
            // File systems put syncs that wait at the same time into one write of their journals.
            std::thread::scope(|scope| {
                let parts = names.chunks(names.len().div_ceil(SYNCS));
                let each = &each;
                let begun = parts.map(|part| {
                    let thread = std::thread::Builder::new();
                    // Where there is no other thread, this one does it.
                    (thread.spawn_scoped(scope, || each(part)).ok(), part)
                });
                let begun: Vec<_> = begun.collect();
                let ended = begun.into_iter().map(|(thread, part)| match thread {
                    Some(thread) => thread
                        .join()
                        .unwrap_or_else(|e| std::panic::resume_unwind(e)),
                    None => each(part),
                });
                ended.collect::<Result<()>>()
            })?;
        }
        let shown = self.path.display().to_string();
        rfs::fsync(&self.fd).map_err(|e| Error::new("sync directory", &shown, e))
    }
}

/// A file whose pages leave the page cache when it has been read.
struct Once(File);

impl Read for Once {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        // Advice only: dirty and mapped pages stay.
        let _ = rfs::fadvise(&self.0, 0, None, rfs::Advice::DontNeed);
    }
}

impl Store for Directory {
    fn create(&self, name: &str) -> Result<Box<dyn Writer>> {
        check_new_name("create", name)?;
        let partial = format!("{name}{PARTIAL_SUFFIX}");
        // EXCL: a file of that name is either another writer's or left by a
        // dead one; reusing it could publish another writer's half.
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rfs::openat(&self.0.fd, &partial, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|e| Error::new("create", &partial, e))?;
        Ok(Box::new(Partial {
            dir: Arc::clone(&self.0),
            name: name.to_owned(),
            partial,
            out: BlockWriter::new(File::from(fd), self.0.gate.get().cloned()),
            published: false,
        }))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(self.0.open_regular(name, "open")?.0))
    }

    fn open_once(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(Once(self.0.open_regular(name, "open")?.0)))
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        check_name("look at", name)?;
        match rfs::statat(&self.0.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                Ok(Some(u64::try_from(stat.st_size).unwrap_or_default()))
            }
            Ok(_) => Err(not_regular("look at", name)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(e) => Err(Error::new("look at", name, e)),
        }
    }

    fn list(&self) -> Result<Vec<Entry>> {
        let fail = |e| Error::new("list", &self.describe(), e);
        let mut entries = Vec::new();
        for found in rfs::Dir::read_from(&self.0.fd).map_err(fail)? {
            let found = found.map_err(fail)?;
            let raw = found.file_name();
            if raw.to_bytes() == b"." || raw.to_bytes() == b".." {
                continue;
            }
            let mut entry = Entry {
                name: raw.to_string_lossy().into_owned(),
                size: 0,
                kind: EntryKind::Other,
                modified: None,
            };
            match rfs::statat(&self.0.fd, raw, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => {
                    let file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
                    if file && raw.to_str().is_ok() {
                        entry.kind = EntryKind::File;
                        entry.size = u64::try_from(stat.st_size).unwrap_or_default();
                        let since = u64::try_from(stat.st_mtime).ok();
                        entry.modified =
                            since.map(|s| SystemTime::UNIX_EPOCH + Duration::from_secs(s));
                    }
                }
                // Renamed or removed since it was listed.
                Err(rustix::io::Errno::NOENT) => continue,
                Err(e) => return Err(fail(e)),
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name("remove", name)?;
        rfs::unlinkat(&self.0.fd, name, AtFlags::empty())
            .map_err(|e| Error::new("remove", name, e))?;
        let mut unsynced = lock(&self.0.unsynced);
        unsynced.retain(|n| n != name);
        Ok(())
    }

    fn not_durable(&self, name: &str) {
        lock(&self.0.unsynced).push(name.to_owned());
    }

    fn sync(&self) -> Result<()> {
        if self.0.lost.load(Ordering::SeqCst) {
            let why = io::Error::other("an earlier sync failed, and what it lost is not known");
            return Err(Error::new("sync", &self.describe(), why));
        }
        let synced = self.0.sync();
        if synced.is_err() {
            self.0.lost.store(true, Ordering::SeqCst);
        }
        synced
    }

    fn made_place(&self) -> bool {
        self.0.made
    }

    fn remove_place(&self) -> Result<()> {
        let shown = self.describe();
        std::fs::remove_dir(&self.0.path).map_err(|e| Error::new("remove", &shown, e))?;
        sync_parent(&self.0.path).map_err(|e| Error::new("sync the parent directory", &shown, e))
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_new_name("create", name)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rfs::openat(&self.0.fd, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|e| Error::new("create", name, e))?;
        let mut file = File::from(fd);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if let Err(e) = written {
            // Begun and not written, as on a full disk: it would count as there.
            let _ = rfs::unlinkat(&self.0.fd, name, AtFlags::empty());
            return Err(Error::new("write", name, e));
        }
        self.sync()
    }

    fn describe(&self) -> String {
        self.0.path.display().to_string()
    }
}

/// A file being written under its partial name.
struct Partial {
    dir: Arc<Inner>,
    name: String,
    partial: String,
    out: BlockWriter,
    published: bool,
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Writer for Partial {
    fn finish(mut self: Box<Self>, durable: bool) -> Result<u64> {
        let fail = |op, name: &str, e: io::Error| Err(Error::new(op, name, e));
        let (file, written) = match self.out.finish() {
            Ok(written) => written,
            Err(e) => return fail("write", &self.name, e),
        };
        if durable {
            // Not repeated on failure: the kernel may have dropped the pages,
            // and a second call would then wrongly report success.
            if let Err(e) = rfs::fsync(&*file) {
                self.dir.lost.store(true, Ordering::SeqCst);
                return fail("sync", &self.name, e.into());
            }
        }
        // A disk that filled up late, or a file cut by another process.
        match rfs::fstat(&*file) {
            Ok(stat) if u64::try_from(stat.st_size) == Ok(written) => {}
            Ok(_) => return fail("finish", &self.name, io::Error::other("size changed")),
            Err(e) => return fail("finish", &self.name, e.into()),
        }
        if let Err(e) = rfs::renameat(&self.dir.fd, &self.partial, &self.dir.fd, &self.name) {
            return fail("rename to", &self.name, e.into());
        }
        self.published = true;
        if !durable {
            lock(&self.dir.unsynced).push(self.name.clone());
        }
        Ok(written)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.published {
            // Best effort: the caller that dropped it is already failing for a better reason.
            let _ = rfs::unlinkat(&self.dir.fd, &self.partial, AtFlags::empty());
        }
    }
}

fn not_regular(op: &'static str, name: &str) -> Error {
    let why = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    Error::new(op, name, why)
}

fn lock(names: &Mutex<Vec<String>>) -> std::sync::MutexGuard<'_, Vec<String>> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the entry of a new directory durable in its parent.
fn sync_parent(made: &Path) -> io::Result<()> {
    let parent = match made.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rfs::open(parent, flags, Mode::empty()) {
        Ok(fd) => rfs::fsync(fd).map_err(io::Error::from),
        // A directory may be writable without being readable; nothing to do then.
        Err(rustix::io::Errno::ACCESS) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

mod block;
#[cfg(test)]
mod tests;
