//! A copy of a data directory that was not shut down cleanly, recovered by a server of its own.
//!
//! Invariant: after recovery there is no transaction that is neither committed nor rolled back, or it is an error
//! that names it: the rows in the files are then those that every reader would see.

use super::binary_logs::BinaryLogs;
use super::directory;
use super::original::{END_PREPARED, Original};
use super::process::{NAME_THE_INDEX, Options, Process, Purpose, user};
use base::{Error, Kind, Result, failpoint};
use run::file_system::FileSystem;
use run::{Run, connect, failure};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;
use wire::Conn;

/// Where the copy is in the scratch directory.
const COPY: &str = "recovered";

/// Where the recovering server has its socket.
const RECOVERING: &str = "recovering";

/// How often it is looked whether all transactions are rolled back. The server makes its list again only when no session has
/// read it for a tenth of a second (`CACHE_MIN_IDLE_TIME_NS`, trx0i_s.cc).
const POLL: Duration = Duration::from_millis(250);

/// A copy that is recovered.
#[derive(Debug)]
pub struct Recovered {
    /// The copy.
    pub copy: Original,
    /// The last binary log of the original, and up to where the copy has it.
    pub binary_log: Option<(String, u64)>,
}

/// Copies a data directory and has the copy recovered. Blocks are shared where the file system can. `index` lists its binary
/// logs, if they are elsewhere.
pub fn recover(
    run: &Run,
    original: &Original,
    index: Option<&Path>,
    options: &Options,
) -> Result<Recovered> {
    let phase = run.phase("copying the data directory", 1);
    let logs = match index {
        Some(index) => Some(BinaryLogs::listed_in(index, original.path())?),
        None => original.binary_logs()?,
    };
    has_room(original, logs.as_ref(), &options.scratch)?;
    let copy = options.scratch.join(COPY);
    let bytes = directory::copy_all(run, original, &copy, user(original)?, logs.as_ref())?;
    drop(phase);
    failpoint::reached("a data directory is copied");
    run.observer.note(format!(
        "copied {} into the scratch directory",
        base::units::bytes(bytes)
    ));
    let _phase = run.phase("recovering the copy", 1);
    let directory = options.scratch.join(RECOVERING);
    let made = DirBuilder::new().mode(0o700).create(&directory);
    made.map_err(|e| run::state::storage("create", &directory, &e))?;
    let index = logs.as_ref().map(|logs| logs.index.as_path());
    let index = index.and_then(Path::file_name).map(Path::new);
    let process = Process::start(
        run,
        original,
        &copy,
        &directory,
        options,
        Purpose::Recover(index),
    )?;
    failpoint::reached("a server recovers the copy");
    let mut conn = connect::untracked(&process.wire())?;
    wait_for_rollback(run, &mut conn)?;
    let asked = logs.as_ref().is_some_and(BinaryLogs::are_asked);
    if !asked && process.found_prepared()? {
        return Err(without_binary_log(original));
    }
    conn.quit();
    process.stop(run)?;
    // The recovering server has begun a log of its own after it.
    let last = logs.as_ref().map(BinaryLogs::end).transpose()?.flatten();
    let last = last.map(|(name, _)| name);
    let end = |name: String| {
        let path = copy.join(&name);
        let meta = std::fs::metadata(&path).map_err(|e| run::state::storage("read", &path, &e))?;
        Ok((name, meta.len()))
    };
    Ok(Recovered {
        copy: Original::open(&copy)?,
        binary_log: last.map(end).transpose()?,
    })
}

/// Fails if the copy does not fit into the scratch directory: a full disk would end it after minutes, and others with it.
fn has_room(original: &Original, logs: Option<&BinaryLogs>, scratch: &Path) -> Result<()> {
    let there = FileSystem::at(scratch);
    let there = there.map_err(|e| run::state::storage("read", scratch, &e))?;
    let needs = match directory::shares_blocks(original, scratch) {
        true => logs.map_or(Ok(0), |logs| {
            logs.bytes_elsewhere(original.is_mariadb(), there.device)
        })?,
        false => directory::bytes_of_copies(original, logs)?,
    };
    let free = there.free;
    if needs <= free {
        return Ok(());
    }
    let what = format!(
        "a copy of {} takes {}, and {} has {} left",
        original.path().display(),
        base::units::bytes(needs),
        scratch.display(),
        base::units::bytes(free),
    );
    Err(Error::new(Kind::Storage, base::units::printable(&what)).hint(
        "--scratch names a directory with more room; in one on the same XFS or btrfs file system a copy shares its blocks, and takes none",
    ))
}

/// The error of files whose recovery has to ask a binary log that is not there.
fn without_binary_log(original: &Original) -> Error {
    let what = format!(
        "{} has transactions that were prepared, and no binary log that says whether they were committed",
        original.path().display()
    );
    Error::new(Kind::Failed, base::units::printable(&what)).hint(NAME_THE_INDEX)
}

/// Transactions that were open when the server was killed are rolled back in the background.
fn wait_for_rollback(run: &Run, conn: &mut Conn) -> Result<()> {
    let failed = |e| failure::wire("cannot read the open transactions", e);
    loop {
        run.check()?;
        let prepared = conn.fetch("XA RECOVER").map_err(failed)?;
        if !prepared.is_empty() {
            return Err(Error::new(
                Kind::Failed,
                format!(
                    "{} prepared XA transactions are neither committed nor rolled back",
                    prepared.len()
                ),
            )
            .hint(END_PREPARED));
        }
        let open = conn
            .fetch(
                "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0",
            )
            .map_err(failed)?;
        let none = open
            .first()
            .and_then(|row| row.first())
            .is_some_and(|cell| cell.as_deref() == Some(b"0"));
        if none {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
}
