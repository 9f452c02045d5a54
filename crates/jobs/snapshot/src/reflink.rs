//! `--method reflink`: each file of the data directory is cloned (`FICLONE`), which copies no data.
//!
//! Files are cloned while transactions commit; `redo` says why they belong together all the same. Definitions are kept
//! out all the time, commits only while the redo log and files of other engines are cloned. If something happened
//! meanwhile that the log does not carry (an undo tablespace was made again, the log was written over), everything is
//! cloned again.

use crate::clone::{clone_file, remove};
use crate::files::{Class, Listing, Rules};
use crate::locks::Locks;
use crate::redo::{self, After};
use base::{Error, Event, Kind, Result, failpoint};
use innodb::redo::MYSQL_DIRECTORY;
use run::Run;
use run::file_system::FileSystem;
use run::state::storage;
use server::Position;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How often it is tried.
const ROUNDS: u32 = 10;

/// Refuses a server whose redo log has a format that is not known here, and ZFS: it clones what was written a moment ago
/// in part, or not at all, or while writers of the file wait for the pool, as its version and its settings are.
pub(crate) fn supported(id: &server::Identity, datadir: &Path) -> Result<()> {
    let file_system = FileSystem::at(datadir).map_err(|e| storage("read", datadir, &e))?;
    if file_system.kind == "zfs" {
        let what = format!("{}: --method reflink is not for ZFS", datadir.display());
        return Err(Error::new(Kind::Usage, base::units::printable(&what))
            .hint("--method zfs takes a snapshot of the dataset"));
    }
    if id.mysql_at_least(8, 0, 30) || id.mariadb_at_least(10, 8, 0) {
        return Ok(());
    }
    let what = format!(
        "--method reflink is for MySQL since 8.0.30 and MariaDB since 10.8, and this is {id}"
    );
    Err(Error::new(Kind::Usage, what)
        .hint("--method btrfs, lvm and zfs take all files at one moment, whatever the version"))
}

/// Clones the data directory `root` into `directory/data`. Nothing is locked when it returns.
pub(crate) fn take(
    run: &Run,
    locks: &mut Locks<'_>,
    rules: &Rules,
    root: &Path,
    directory: &Path,
) -> Result<Position> {
    // What is dirty now is written before anybody waits for it.
    sync(root)?;
    for round in 1.. {
        run.check()?;
        let data = directory.join("data");
        remove(&data)?;
        fs::create_dir(&data).map_err(|e| storage("create", &data, &e))?;
        let outcome = one_round(run, locks, rules, root, directory);
        let released = locks.release();
        let again = match outcome {
            Ok(Round::Done(position)) => {
                released?;
                remove(&directory.join("redo"))?;
                return Ok(*position);
            }
            Ok(Round::Again(why)) => why,
            // A statement that waits for the lock of definitions kept us from locking commits.
            Err(e) if e.kind == Kind::Lock && !locks.is_late() => e.what,
            Err(e) => return Err(e),
        };
        released?;
        if round >= ROUNDS {
            let what = format!(
                "the files changed too much while they were cloned, {ROUNDS} times: {again}"
            );
            return Err(Error::new(Kind::Failed, what).hint(
                "a larger redo log (innodb_redo_log_capacity, innodb_log_file_size) or a quieter time helps; --method btrfs, lvm and zfs do not depend on it",
            ));
        }
        run.observer
            .event(Event::Decision(format!("cloning again: {again}")));
    }
    Err(Error::new(Kind::Internal, "no round was left"))
}

enum Round {
    Done(Box<Position>),
    Again(String),
}

fn one_round(
    run: &Run,
    locks: &mut Locks<'_>,
    rules: &Rules,
    root: &Path,
    directory: &Path,
) -> Result<Round> {
    let data = directory.join("data");
    locks.lock_definitions()?;
    let before = redo::before(root, directory, locks.id.is_mariadb())?;
    let listing = rules.list(root)?;
    if listing.files.iter().any(|f| f.path.ends_with("_trunc.log")) {
        return Ok(Round::Again(
            "an undo tablespace was being truncated".to_owned(),
        ));
    }
    for below in listing.directories.iter().filter(|d| *d != MYSQL_DIRECTORY) {
        let path = data.join(below);
        fs::create_dir_all(&path).map_err(|e| storage("create", &path, &e))?;
    }
    for file in &listing.files {
        if matches!(file.class, Class::Data | Class::Definition) {
            run.check()?;
            let from = root.join(&file.path);
            match clone_file(&from, &data.join(&file.path)) {
                Err(_) if !from.exists() => {
                    return Ok(Round::Again(format!("{} was removed", file.path)));
                }
                outcome => outcome?,
            }
        }
    }
    failpoint::reached("data files are cloned");
    locks.lock_commits()?;
    let position = locks.position()?;
    let now = rules.list(root)?;
    if let Some(why) =
        changed(root, &data, &listing, &now).map_err(|e| storage("read", root, &e))?
    {
        return Ok(Round::Again(why));
    }
    for file in now.files.iter().filter(|f| f.class == Class::Rest) {
        let to = data.join(&file.path);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|e| storage("create", parent, &e))?;
        }
        clone_file(&root.join(&file.path), &to)?;
    }
    let name = match locks.id.is_mariadb() {
        true => "Innodb_lsn_current",
        false => "Innodb_redo_log_current_lsn",
    };
    let after = redo::after(root, &data, &before, || locks.status(name))?;
    failpoint::reached("all files are cloned");
    Ok(match after {
        After::Whole => Round::Done(Box::new(position)),
        After::Gone(why) => Round::Again(why),
    })
}

/// Why the tablespaces of now are not those that were cloned, if so.
fn changed(root: &Path, data: &Path, then: &Listing, now: &Listing) -> io::Result<Option<String>> {
    let tablespaces = |l: &Listing| -> BTreeMap<String, u64> {
        let data = l.files.iter().filter(|f| f.class == Class::Data);
        data.map(|f| (f.path.clone(), f.inode)).collect()
    };
    let (then, now) = (tablespaces(then), tablespaces(now));
    if then != now {
        let differs = |a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>| {
            a.iter()
                .find(|(path, inode)| b.get(*path) != Some(inode))
                .map(|(path, _)| path.clone())
        };
        let which = differs(&then, &now)
            .or_else(|| differs(&now, &then))
            .unwrap_or_default();
        return Ok(Some(format!("{which} was made again or removed")));
    }
    // MySQL makes a truncated undo tablespace again under its name, perhaps with the same inode; its id is another one
    // (FIL_PAGE_ARCH_LOG_NO_OR_SPACE_ID).
    let id = |path: &Path| -> io::Result<[u8; 4]> {
        let mut id = [0; 4];
        File::open(path)?.read_exact_at(&mut id, 34)?;
        Ok(id)
    };
    for path in now
        .keys()
        .filter(|p| p.starts_with("undo") || p.ends_with(".ibu"))
    {
        if id(&root.join(path))? != id(&data.join(path))? {
            return Ok(Some(format!("the undo tablespace {path} was truncated")));
        }
    }
    Ok(None)
}

/// Writes what is dirty on a file system.
pub(crate) fn sync(root: &Path) -> Result<()> {
    let directory = File::open(root).map_err(|e| storage("read", root, &e))?;
    rustix::fs::syncfs(&directory).map_err(|e| storage("sync", root, &e.into()))
}
