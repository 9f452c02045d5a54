//! The redo log of a snapshot whose data files were cloned one after the other.
//!
//! The log is cloned twice: before the data files, and after them, when commits are locked. The snapshot gets the log of
//! the second time with the checkpoint of the first. That is what a crash could have left: InnoDB may write its
//! checkpoint as late as it likes, as long as the log behind it is not overwritten. Recovery begins at that checkpoint,
//! so it brings every page forward, however early its file was cloned; and no page is ahead of the log, because a page
//! is written after its log.
//!
//! Invariant: a log with a part missing between checkpoint and end is never passed on; the snapshot is taken again.
//!
//! The formats are those that `innodb::redo` describes.

use crate::clone::{clone_file, remove};
use base::Result;
use innodb::redo::{
    MARIADB_FORMAT, MARIADB_LOG, MARIADB_START, MYSQL_CHECKPOINTS, MYSQL_DIRECTORY, MYSQL_START,
    mariadb_checkpoint, numbered,
};
use run::state::storage;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// MySQL: the flag of a file whose last record was written (`LOG_HEADER_FLAG_FILE_FULL`).
const MYSQL_FULL: u32 = 1 << 3;

/// What was cloned before the data files.
pub(crate) enum Before {
    /// MariaDB: the bytes before the records, and the size of the file.
    MariaDb { head: Vec<u8>, size: u64 },
    /// MySQL: a directory with clones of all files.
    MySql(PathBuf),
}

/// What came of the second time.
pub(crate) enum After {
    /// The log is complete.
    Whole,
    /// A part of it is gone, or may be: why.
    Gone(String),
}

/// The log as it is before the data files are cloned; `scratch` is a directory for clones.
pub(crate) fn before(root: &Path, scratch: &Path, mariadb: bool) -> Result<Before> {
    if mariadb {
        let path = root.join(MARIADB_LOG);
        let read = || -> io::Result<Before> {
            let file = File::open(&path)?;
            let mut head = vec![0; MARIADB_START as usize];
            file.read_exact_at(&mut head, 0)?;
            let size = file.metadata()?.len();
            Ok(Before::MariaDb { head, size })
        };
        return read().map_err(|e| storage("read", &path, &e));
    }
    let copies = scratch.join("redo");
    remove(&copies)?;
    clone_redo(root, &copies)?;
    Ok(Before::MySql(copies))
}

/// Clones the log into the snapshot at `data`, and gives it the checkpoint of [`before`].
pub(crate) fn after(
    root: &Path,
    data: &Path,
    before: &Before,
    current_lsn: impl FnOnce() -> Result<Option<u64>>,
) -> Result<After> {
    match before {
        Before::MariaDb { head, size } => {
            let log = data.join(MARIADB_LOG);
            clone_file(&root.join(MARIADB_LOG), &log)?;
            let joined = join_mariadb(&log, head, *size).map_err(|e| storage("write", &log, &e))?;
            let checkpoint = match joined {
                Ok(checkpoint) => checkpoint,
                Err(why) => return Ok(After::Gone(why)),
            };
            let current = current_lsn()?.unwrap_or(u64::MAX);
            Ok(
                match current.saturating_sub(checkpoint) < size - MARIADB_START {
                    true => After::Whole,
                    false => After::Gone(
                        "the server wrote its whole redo log over while files were cloned"
                            .to_owned(),
                    ),
                },
            )
        }
        Before::MySql(copies) => {
            let log = data.join(MYSQL_DIRECTORY);
            remove(&log)?;
            clone_redo(root, &log)?;
            let joined = join_mysql(copies, &log).map_err(|e| storage("write", &log, &e))?;
            Ok(joined.map_or_else(After::Gone, |()| After::Whole))
        }
    }
}

/// Writes the head of before into the log of after; returns its checkpoint, or why it does not fit.
fn join_mariadb(log: &Path, head: &[u8], size: u64) -> io::Result<Result<u64, String>> {
    let file = File::options().read(true).write(true).open(log)?;
    let mut now = vec![0; MARIADB_START as usize];
    file.read_exact_at(&mut now, 0)?;
    // Format, and the sequence number at the first byte of the records.
    if head[..16] != now[..16] || file.metadata()?.len() != size {
        return Ok(Err(
            "the redo log was made again while files were cloned".to_owned()
        ));
    }
    if head[..4] != *MARIADB_FORMAT {
        return Ok(Err("the redo log has a format that is not known".to_owned()));
    }
    let Some((checkpoint, _)) = mariadb_checkpoint(head) else {
        return Ok(Err(
            "the redo log has no checkpoint that can be read".to_owned()
        ));
    };
    file.write_all_at(head, 0)?;
    Ok(Ok(checkpoint))
}

/// Clones every file of MySQL's log. The server renames files that it no longer needs at any time.
fn clone_redo(root: &Path, to: &Path) -> Result<()> {
    let from = root.join(MYSQL_DIRECTORY);
    fs::create_dir(to).map_err(|e| storage("create", to, &e))?;
    let list = || numbered(&from).map_err(|e| storage("read", &from, &e));
    // The newest file is cloned last, again and again until no newer one has come.
    let mut done = 0;
    loop {
        let files = list()?;
        let newest = files.keys().next_back().copied().unwrap_or_default();
        for (number, path) in files.range(done..) {
            match clone_file(path, &to.join(format!("#ib_redo{number}"))) {
                Err(_) if !path.exists() => {}
                outcome => outcome?,
            }
        }
        if list()?.keys().next_back() == Some(&newest) {
            return Ok(());
        }
        done = newest;
    }
}

/// What the header of a file of MySQL's log says.
struct Head {
    start: u64,
    full: bool,
    size: u64,
}

fn head(file: &File) -> io::Result<Head> {
    let mut block = [0; 512];
    file.read_exact_at(&mut block, 0)?;
    let start = block[8..16].try_into().map_or(0, u64::from_be_bytes);
    let flags = block[48..52].try_into().map_or(0, u32::from_be_bytes);
    Ok(Head {
        start,
        full: flags & MYSQL_FULL != 0,
        size: file.metadata()?.len(),
    })
}

/// Puts the checkpoints of before into the files of after, and moves files there that are gone since.
fn join_mysql(before: &Path, after: &Path) -> io::Result<Result<(), String>> {
    let (old, new) = (numbered(before)?, numbered(after)?);
    let gone = |what: &str| Ok(Err(format!("{what} while files were cloned")));
    let Some(first) = new.keys().next().copied() else {
        return gone("the redo log had no file");
    };
    for (number, path) in &new {
        let file = File::options().read(true).write(true).open(path)?;
        let mut blocks = [[0; 512]; 2];
        if let Some(old) = old.get(number) {
            let old = File::open(old)?;
            for (block, at) in blocks.iter_mut().zip(MYSQL_CHECKPOINTS) {
                old.read_exact_at(block, at)?;
            }
        }
        for (block, at) in blocks.iter().zip(MYSQL_CHECKPOINTS) {
            file.write_all_at(block, at)?;
        }
    }
    for (number, path) in old.iter().filter(|(number, _)| !new.contains_key(number)) {
        // What it got after it was cloned is lost, unless it was full then.
        if *number > first || !head(&File::open(path)?)?.full {
            return gone("the server removed a file of the redo log that was not cloned whole");
        }
        fs::rename(path, after.join(format!("#ib_redo{number}")))?;
    }
    let mut next: Option<(u64, u64)> = None;
    for (number, path) in numbered(after)? {
        let head = head(&File::open(path)?)?;
        if next.is_some_and(|next| next != (number, head.start)) {
            return gone("the server removed a file of the redo log");
        }
        next = Some((
            number + 1,
            head.start + head.size.saturating_sub(MYSQL_START),
        ));
    }
    Ok(Ok(()))
}
