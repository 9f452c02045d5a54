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

use crate::{Consistency, Options, SnapshotOf, SourceFiles, Summary};
use base::Result;
use instance::read_only::{self, Original, ReadOnlyServer};
use rows::new_archive;
use run::Run;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The data directory, and how it is read.
#[derive(Clone, Debug)]
pub struct DataDirectory {
    /// Where it is.
    pub path: PathBuf,
    /// Whether a copy of it is recovered first.
    pub recover: bool,
    /// The temporary server.
    pub server: read_only::Options,
    /// The server that runs whose snapshot it is.
    pub snapshot_of: Option<Arc<SnapshotOf>>,
}

/// Dumps a data directory; the source in `options` is not used.
pub fn run(run: &Run, directory: &DataDirectory, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    new_archive::check(&options.to)?;
    let original = Original::open(&directory.path)?;
    let datadir = original.path().to_owned();
    let (read, binary_log) = if directory.recover {
        let recovered = read_only::recover(run, &original, &directory.server)?;
        (recovered.copy, recovered.binary_log)
    } else {
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
    let server = ReadOnlyServer::start(run, read, &directory.server)?;
    let options = Options {
        source: server.wire(),
        consistency: Consistency::Unused,
        files: Some(files),
        ..options.clone()
    };
    let done = crate::run(run, &options)?;
    Ok(Summary {
        seconds: start.elapsed().as_secs_f64(),
        ..done
    })
}
