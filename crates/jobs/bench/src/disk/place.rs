//! A directory under test, and the directory of our own in it.
//!
//! Invariants: a file is only ever created there exclusively, by its directory's descriptor, so that no link can lead
//! elsewhere. The descriptor is locked (`flock`) while this process lives: a directory of this name that is not locked is
//! what a dead run left, and is emptied of what such a run makes, if nothing else is in it. Whatever happens, all of it
//! is removed when the place is dropped.

use base::units::{bytes, printable};
use base::{Error, Kind, Result};
use run::Run;
use run::file_system::FileSystem;
use run::state::storage;
use rustix::fs::{self as rfs, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name of the directory that is made in each directory under test.
pub const WORK: &str = "penstock-bench-disk";

/// The first file in it: says whose it is.
const MARK: &str = "what-is-this";

/// What it says.
const MARK_TEXT: &str = "penstock bench disk measures this file system. It removes this directory when it is done; if it was killed, its next run does.\n";

/// The files that are made there; names of small files begin with [`SMALL`].
pub const DATA: &str = "data";
/// Written from its beginning in each run.
pub const NEW: &str = "new";
/// A log.
pub const LOG: &str = "log";
/// A doublewrite file.
pub const DOUBLEWRITE: &str = "doublewrite";
/// The beginning of the names of small files.
pub const SMALL: &str = "small-";

/// All of them but small files.
const USUAL: [&str; 5] = [MARK, DATA, NEW, LOG, DOUBLEWRITE];

/// A directory under test.
pub struct Place {
    path: PathBuf,
    uses: Vec<&'static str>,
    /// What it is on.
    pub file_system: FileSystem,
    parent: File,
    work: File,
    /// Whether our directory was there before, empty: then it is somebody's, and stays.
    stays: bool,
    removed: bool,
}

/// The error for a directory under test.
pub fn failed(doing: &str, path: &Path, e: &io::Error) -> Error {
    let error = storage(doing, path, e);
    match e.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT) => error.hint(
            "the benchmark's files are removed; free some space, or measure with less: --size",
        ),
        Some(Errno::MFILE) => error.hint("allow this process more open files: ulimit -n"),
        Some(Errno::ROFS) => {
            error.hint("it is mounted read only, and nothing can be measured without writing")
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            error.hint("run as an account that may write there, such as the server's own")
        }
        _ => error,
    }
}

impl Place {
    /// Opens it, and makes the directory of our own.
    pub fn new(run: &Run, path: PathBuf, use_: Option<&'static str>) -> Result<Place> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = match rfs::open(&path, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOTDIR) => {
                let what = format!("{} is not a directory", printable(&path.to_string_lossy()));
                return Err(Error::new(Kind::Usage, what)
                    .hint("devices and files are never touched: name a directory of a mounted file system"));
            }
            Err(e) => return Err(failed("open", &path, &e.into())),
        };
        let fail = |doing: &str, e: io::Error| failed(doing, &path, &e);
        let file_system = FileSystem::of(&parent).map_err(|e| fail("look at", e))?;
        if file_system.read_only {
            return Err(fail("write to", Errno::ROFS.into()));
        }
        let (work, made) = locked(&parent, &path)?;
        let mut place = Place {
            path,
            uses: use_.into_iter().collect(),
            file_system,
            parent,
            work,
            stays: false,
            // Nothing is removed from a directory of which it is not known that it is ours.
            removed: !made,
        };
        place.take_over(run, made)?;
        if let Some(remark) = place.file_system.remark() {
            run.observer.warn(format!("{}: {remark}", place.name()));
        }
        if place.path.join("ibdata1").exists() {
            run.observer.warn(format!(
                "{} is a data directory: while this runs, a MariaDB or old MySQL server there shows a schema {WORK}; the directory above it does as well, if it is on the same file system",
                place.name()
            ));
        }
        Ok(place)
    }

    /// What the columns call it: its uses, if a server has them there, and its path.
    pub fn name(&self) -> String {
        let path = printable(&self.path.to_string_lossy());
        if self.uses.is_empty() {
            return path;
        }
        format!("{path} ({})", self.uses.join(", "))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is this directory.
    pub fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    /// It has another use.
    pub fn also(&mut self, use_: Option<&'static str>) {
        self.uses.extend(use_.filter(|u| !self.uses.contains(u)));
    }

    /// Removes what a dead run left; says whose directory this is.
    fn take_over(&mut self, run: &Run, made: bool) -> Result<()> {
        let names = self.names()?;
        self.stays = !made && names.is_empty();
        let mut freed = 0;
        if !names.is_empty() {
            let marked = self.is_marked();
            let foreign = names.iter().find(|n| !is_ours(n));
            if !marked || foreign.is_some() {
                let what = format!(
                    "{} is there already, and holds what is not of this benchmark{}",
                    printable(&self.path.join(WORK).to_string_lossy()),
                    foreign.map_or(String::new(), |n| format!(": {}", printable(n)))
                );
                self.removed = true;
                return Err(Error::new(Kind::Target, what)
                    .hint("move it away, or measure in another directory"));
            }
            self.removed = false;
            for name in names {
                let stat = rfs::statat(&self.work, &name, AtFlags::SYMLINK_NOFOLLOW);
                freed += stat.map_or(0, |s| u64::try_from(s.st_blocks).unwrap_or(0) * 512);
                self.unlink(&name)?;
            }
            run.observer.note(format!(
                "{}: removed {} that a killed run left",
                self.name(),
                bytes(freed)
            ));
            let fail = |e| failed("look at", &self.path, &e);
            self.file_system = FileSystem::of(&self.parent).map_err(fail)?;
        }
        self.removed = false;
        let mut mark = self.create(MARK, false)?;
        let done = mark.write_all(MARK_TEXT.as_bytes());
        done.map_err(|e| failed("write to", &self.path, &e))
    }

    fn is_marked(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(fd) = rfs::openat(&self.work, MARK, flags, Mode::empty()) else {
            return false;
        };
        let mut text = vec![0; MARK_TEXT.len() + 1];
        let read = std::os::unix::fs::FileExt::read_at(&File::from(fd), &mut text, 0);
        // A run may have died before it wrote the text.
        read.is_ok_and(|n| n == 0 || &text[..n] == MARK_TEXT.as_bytes())
    }

    fn names(&self) -> Result<Vec<String>> {
        let fail = |e: Errno| failed("list", &self.path.join(WORK), &e.into());
        let mut names = Vec::new();
        for entry in rfs::Dir::read_from(&self.work).map_err(fail)? {
            let name = entry
                .map_err(fail)?
                .file_name()
                .to_string_lossy()
                .into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Makes a file that does not exist; `direct` asks for direct I/O, and falls back to the page cache.
    pub fn create(&self, name: &str, direct: bool) -> Result<File> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let made = rfs::openat(&self.work, name, flags, mode);
        let file = made
            .map(File::from)
            .map_err(|e| failed("create a file in", &self.path, &e.into()))?;
        if direct {
            // Where it is refused, the summary says so.
            let _ = store::direct::set(&file, true);
        }
        Ok(file)
    }

    /// Removes one file.
    pub fn unlink(&self, name: &str) -> Result<()> {
        rfs::unlinkat(&self.work, name, AtFlags::empty())
            .map_err(|e| failed("remove a file in", &self.path, &e.into()))
    }

    /// Syncs the names of the directory.
    pub fn sync_names(&self) -> io::Result<()> {
        Ok(rfs::fsync(&self.work)?)
    }

    /// Removes everything; done before it is dropped, an error can be said.
    pub fn remove(&mut self) -> Result<()> {
        if self.removed {
            return Ok(());
        }
        match self.names() {
            Ok(names) => {
                for name in names.iter().filter(|n| is_ours(n)) {
                    self.unlink(name)?;
                }
            }
            // To list a directory takes a descriptor, and there may be none left: what it usually holds is known.
            Err(_) => {
                for name in USUAL {
                    match rfs::unlinkat(&self.work, name, AtFlags::empty()) {
                        Ok(()) | Err(Errno::NOENT) => {}
                        Err(e) => return Err(failed("remove a file in", &self.path, &e.into())),
                    }
                }
            }
        }
        if !self.stays {
            rfs::unlinkat(&self.parent, WORK, AtFlags::REMOVEDIR).map_err(|e| {
                failed("remove the benchmark's directory in", &self.path, &e.into())
            })?;
        }
        self.removed = true;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The error of the run is the one to report; what is left is removed by the next run.
        let _ = self.remove();
    }
}

fn is_ours(name: &str) -> bool {
    let small = |n: &str| n.len() <= 20 && n.bytes().all(|b| b.is_ascii_digit());
    USUAL.contains(&name) || name.strip_prefix(SMALL).is_some_and(small)
}

/// Makes and locks the directory of our own, or locks one that a dead run left; says whether it was made.
fn locked(parent: &File, path: &Path) -> Result<(File, bool)> {
    let fail = |doing: &str, e: Errno| failed(doing, path, &e.into());
    // A run that ends meanwhile removes the directory between two of these steps.
    for _ in 0..100 {
        let made = match rfs::mkdirat(parent, WORK, Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(e) => return Err(fail("make a directory in", e)),
        };
        match opened_and_locked(parent, path) {
            Ok(Some(work)) => return Ok((work, made)),
            Ok(None) => {}
            Err(e) => {
                if made {
                    // It is empty; where it is not, another run has taken it.
                    let _ = rfs::unlinkat(parent, WORK, AtFlags::REMOVEDIR);
                }
                return Err(e);
            }
        }
    }
    Err(fail("make a directory in", Errno::AGAIN))
}

/// The error of a directory that another account's run left, or is using.
fn of_another(path: &Path) -> Error {
    let what = format!(
        "{} is there already, and belongs to another account",
        printable(&path.join(WORK).to_string_lossy())
    );
    Error::new(Kind::Target, what).hint("run as that account, or measure in another directory")
}

/// Opens and locks the directory of our own; `None` if it was removed meanwhile.
fn opened_and_locked(parent: &File, path: &Path) -> Result<Option<File>> {
    let fail = |doing: &str, e: Errno| failed(doing, path, &e.into());
    let shown = || printable(&path.join(WORK).to_string_lossy());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let work = match rfs::openat(parent, WORK, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::ACCESS) => return Err(of_another(path)),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let what = format!(
                "{} is there already, and is no directory of this benchmark",
                shown()
            );
            return Err(Error::new(Kind::Target, what)
                .hint("move it away, or measure in another directory"));
        }
        Err(e) => return Err(fail("open a directory in", e)),
    };
    let own = work.metadata().map_err(|e| failed("look at", path, &e))?;
    if own.uid() != rustix::process::geteuid().as_raw() {
        return Err(of_another(path));
    }
    match rfs::flock(&work, rfs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let what = format!(
                "another penstock bench disk measures in {}",
                printable(&path.to_string_lossy())
            );
            return Err(Error::new(Kind::Lock, what)
                .hint("two at a time would measure each other: wait for its end"));
        }
        Err(e) => return Err(fail("lock a directory in", e)),
    }
    let named = rfs::statat(parent, WORK, AtFlags::SYMLINK_NOFOLLOW);
    Ok(named.is_ok_and(|s| s.st_ino == own.ino()).then_some(work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Cancel;
    use base::events::Silent;
    use std::sync::Arc;

    fn run() -> Run {
        Run::new(Arc::new(Silent), Cancel::new())
    }

    fn open(dir: &Path) -> Result<Place> {
        Place::new(&run(), dir.to_owned(), None)
    }

    #[test]
    fn everything_is_removed_when_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let place = open(dir.path()).unwrap();
        place.create(DATA, true).unwrap();
        place.create(&format!("{SMALL}17"), false).unwrap();
        assert!(place.create(DATA, false).is_err(), "never one that exists");
        assert_eq!(open(dir.path()).err().map(|e| e.kind), Some(Kind::Lock));
        drop(place);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_dead_run_left_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join(WORK);
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join(MARK), MARK_TEXT).unwrap();
        std::fs::write(work.join(DATA), [1; 9000]).unwrap();
        let mut place = open(dir.path()).unwrap();
        assert_eq!(place.names().unwrap(), [MARK]);
        place.remove().unwrap();
        // Without the mark, and with a file of another name.
        for names in [&[DATA][..], &[MARK, "notes.txt"]] {
            std::fs::create_dir(&work).unwrap();
            for name in names {
                std::fs::write(work.join(name), MARK_TEXT).unwrap();
            }
            assert_eq!(open(dir.path()).err().map(|e| e.kind), Some(Kind::Target));
            assert_eq!(std::fs::read_dir(&work).unwrap().count(), names.len());
            std::fs::remove_dir_all(&work).unwrap();
        }
        // An empty one may be anybody's.
        std::fs::create_dir(&work).unwrap();
        open(dir.path()).unwrap().remove().unwrap();
        assert_eq!(std::fs::read_dir(&work).unwrap().count(), 0);
        std::fs::remove_dir(&work).unwrap();
        // A link leads nowhere.
        std::os::unix::fs::symlink("/tmp", &work).unwrap();
        assert_eq!(open(dir.path()).err().map(|e| e.kind), Some(Kind::Target));
    }
}
