//! A dump of a data directory that no server uses: a temporary server reads the definitions, and the rows are read
//! from the files where that is possible.
//!
//! `paths` finds the files of a table, `table_files` says what is in them, `scan` reads their rows into chunks.
//!
//! Invariant: nothing in the data directory is written to, and no server starts on it meanwhile. What it does not
//! do: take the snapshot whose directory this is.

mod definition;
pub(crate) mod paths;
pub(crate) mod sample;
pub(crate) mod scan;
pub(crate) mod table_files;

use crate::open_changes::{self, OpenChanges};
use crate::{Consistency, Options, SnapshotOf, SourceFiles, Summary};
use base::units::printable;
use base::{Error, Kind, Result};
use instance::read_only::{self, Original, ReadOnlyServer};
use rows::new_archive;
use run::{Run, connect};
use server::Identity;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The data directory, and how it is read.
#[derive(Clone, Debug)]
pub struct DataDirectory {
    /// Where it is.
    pub path: PathBuf,
    /// Whether a copy of it is recovered first.
    pub recover: bool,
    /// The index of its binary logs, if they are in another directory.
    pub binary_log_index: Option<PathBuf>,
    /// The temporary server.
    pub server: read_only::Options,
    /// The server that runs whose snapshot it is.
    pub snapshot_of: Option<Arc<SnapshotOf>>,
}

impl DataDirectory {
    /// It is a snapshot of this server: its files are read with these options, and expressions give there what they give here.
    /// What the user named counts more.
    pub fn of_snapshot(&mut self, id: &Identity, options: &[String]) {
        let setting = |name: &&str| {
            let value = id.variable(name)?;
            // The one of the host is the same.
            let name = match *name {
                "time_zone" if value == "SYSTEM" => return None,
                "time_zone" => "default_time_zone",
                name => name,
            };
            Some(format!("{name}={value}"))
        };
        let settings = rows::generated::SETTINGS.iter().filter_map(setting);
        let all = options.iter().cloned().chain(settings);
        self.server.options = all.chain(self.server.options.iter().cloned()).collect();
    }
}

/// A data directory that is as a temporary server needs it.
#[derive(Debug)]
pub struct Readable {
    files: SourceFiles,
    original: Original,
    begin: Instant,
}

/// Dumps a data directory; the source in `options` is not used.
pub fn run(run: &Run, directory: &DataDirectory, options: &Options) -> Result<Summary> {
    let readable = readable(run, directory, options)?;
    dump(run, directory, readable, options)
}

/// Has it recovered if that is asked for: then only the copy is used from here on.
pub fn readable(run: &Run, directory: &DataDirectory, options: &Options) -> Result<Readable> {
    let begin = Instant::now();
    new_archive::check(&options.to)?;
    let original = Original::open(&directory.path)?;
    let datadir = original.path().to_owned();
    let (read, binary_log) = if directory.recover {
        let index = directory.binary_log_index.as_deref();
        let recovered = read_only::recover(run, &original, index, &directory.server)?;
        (recovered.copy, recovered.binary_log)
    } else {
        original.check_shut_down()?;
        let end = original.binary_log_end()?;
        (original, end)
    };
    let files = SourceFiles {
        binary_log,
        gtid_binlog_pos: read.gtid_binlog_pos()?,
        datadir,
        read_from: read.path().to_owned(),
        lock: None,
        snapshot_of: directory.snapshot_of.clone(),
    };
    Ok(Readable {
        files,
        original: read,
        begin,
    })
}

/// Dumps it.
pub fn dump(
    run: &Run,
    directory: &DataDirectory,
    readable: Readable,
    options: &Options,
) -> Result<Summary> {
    let Readable {
        files,
        original,
        begin,
    } = readable;
    let server = ReadOnlyServer::start(run, original, &directory.server)?;
    no_open_changes(&server, &files.datadir)?;
    let options = Options {
        source: server.wire(),
        consistency: Consistency::Unused,
        files: Some(files),
        ..options.clone()
    };
    let done = crate::run(run, &options)?;
    Ok(Summary {
        seconds: begin.elapsed().as_secs_f64(),
        ..done
    })
}

/// A server that was killed may have written all that its log had, and a transaction was open.
fn no_open_changes(server: &ReadOnlyServer, datadir: &Path) -> Result<()> {
    let mut conn = connect::untracked(&server.wire())?;
    let (what, hint) = match open_changes::of(&mut conn)? {
        None => return Ok(()),
        Some(OpenChanges::Prepared) => (
            "has prepared XA transactions, and files do not say whether their rows count",
            read_only::END_PREPARED,
        ),
        Some(OpenChanges::NotRolledBack) => (
            "was not shut down cleanly: transactions were open, and are not rolled back",
            read_only::RECOVER,
        ),
    };
    let text = format!("{} {what}", datadir.display());
    Err(Error::new(Kind::Failed, printable(&text)).hint(hint))
}
