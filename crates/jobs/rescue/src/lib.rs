//! Tables out of InnoDB files without a server, as an archive that a load takes.
//!
//! `input` finds the files, `described` says what tables they hold, `table` reads the rows of one table into chunks
//! (`series`), `account` remembers what is lost, `write` makes the archive around them.
//!
//! Invariants: the input is opened for reading only, and nothing is written into directories that are read or belong to a server; every row that a whole page has is
//! in the archive, and every page, row and value that is not is counted, and named up to a limit. What this does not do:
//! apply the redo log, so what a server had not written to the files when it ended is missing.

mod account;
mod cells;
mod described;
mod disk;
mod file;
mod input;
mod output;
mod series;
mod side;
mod table;
mod write;

use archive::chunk::Compression;
use base::{Error, Kind, Result, failpoint};
use encryption::Place;
use rows::new_archive;
use run::{Run, failure};
use server::Filter;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What to rescue, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files of tables, directories of schemas, data directories.
    pub from: Vec<PathBuf>,
    /// Scripts with the definitions of tables that nothing else describes.
    pub definitions: Vec<PathBuf>,
    /// The schema of all tables, instead of their own.
    pub schema: Option<String>,
    /// The archive to write.
    pub to: Place,
    /// Also deleted rows, as tables of their own.
    pub deleted: bool,
    /// Also rows of pages that the trees do not have any more, as tables of their own.
    pub old_pages: bool,
    /// Tables that are read at the same time.
    pub threads: usize,
    /// How chunks are compressed.
    pub compression: Compression,
    /// Target size of a chunk, in bytes of rows.
    pub chunk_bytes: u64,
    /// Which schemas and tables.
    pub filter: Arc<Filter>,
}

/// What became of one table.
#[derive(Clone, Debug, Default)]
pub struct TableSummary {
    /// Its quoted name.
    pub name: String,
    /// Rows in the archive.
    pub rows: u64,
    /// Where its definition is from: "SDI", ".frm", "--definition".
    pub described_by: &'static str,
    /// Pages that are lost.
    pub lost_pages: u64,
    /// Rows that are lost although their page is whole.
    pub lost_rows: u64,
    /// Rows whose values are not all there, in a table of their own.
    pub partial: u64,
    /// Deleted rows, likewise.
    pub deleted: u64,
    /// Rows of old pages, likewise.
    pub old: u64,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The archive, absolute.
    pub path: String,
    /// Files that were read.
    pub files: u64,
    /// The tables, by name.
    pub tables: Vec<TableSummary>,
    /// Schemas in the archive.
    pub schemas: u64,
    /// Rows of all tables, without those of the tables beside them.
    pub rows: u64,
    /// Bytes of rows before compression.
    pub raw_bytes: u64,
    /// Bytes of chunks as stored.
    pub stored_bytes: u64,
    /// Seconds it took.
    pub seconds: f64,
    /// What is lost, or may be: named up to a limit.
    pub exceptions: Vec<String>,
}

/// Rescues.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let begin = jiff::Timestamp::now();
    let found = input::find(&options.from)?;
    output::outside(&options.to, &found)?;
    let phase = run.phase("reading definitions", 1);
    let mut described = described::all(run, options, &found)?;
    drop(phase);
    rows::selection::check_matched(&options.filter)?;
    if described.tables.is_empty() {
        return Err(nothing(&described));
    }
    let store = options
        .to
        .create(Some(&run.disk_limiter))
        .map_err(|e| new_archive::create_error(&options.to, &e))?;
    match archive::marker::set(&*store, env!("CARGO_PKG_VERSION")) {
        Err(archive::ArchiveError::Store(e)) if e.busy() => {
            return Err(new_archive::busy(&options.to));
        }
        Err(e) => {
            new_archive::clear(&*store);
            return Err(failure::archive("cannot start the archive", &e));
        }
        Ok(()) => {}
    }
    let mut names = write::Names::default();
    names.own(&mut described.tables);
    for table in &mut described.tables {
        names.beside(table, options);
    }
    let outcome = rows_of(run, options, &*store, &described)
        .inspect(|_| failpoint::reached("all rows are rescued"))
        .and_then(|done| write::finish(run, options, &*store, &described, done, begin));
    match outcome {
        Ok(mut summary) => {
            summary.files = found.files.len() as u64;
            summary.seconds = start.elapsed().as_secs_f64();
            Ok(summary)
        }
        Err(e) => {
            new_archive::clear(&*store);
            if run.cancel.is_raised() {
                return Err(run.interrupted());
            }
            Err(new_archive::write_error(&options.to, e))
        }
    }
}

/// Reads the rows of all tables; largest first.
fn rows_of(
    run: &Run,
    options: &Options,
    store: &dyn store::Store,
    described: &described::All,
) -> Result<Vec<table::Done>> {
    let phase = run.phase("rows", options.threads);
    let mut queue: Vec<usize> = (0..described.tables.len()).collect();
    queue.sort_by_key(|n| described.tables[*n].bytes());
    let queue = Mutex::new(queue);
    let done = Mutex::new(Vec::new());
    let workers = options.threads.min(described.tables.len()).max(1);
    run.workers(vec![(); workers], |_, (), stop| {
        let mut scratch = archive::Scratch::new();
        loop {
            stop.check()?;
            let Some(next) = base::lock(&queue).pop() else {
                return Ok(());
            };
            let reader = table::Reader {
                run,
                stop,
                options,
                store,
                counters: &phase.counters,
            };
            failpoint::reached("a table is about to be rescued");
            let one = reader.table(next, &described.tables[next], &mut scratch)?;
            phase.counters.tables.add(1);
            base::lock(&done).push(one);
        }
    })?;
    let mut done = base::lock::into_inner(done);
    done.sort_by_key(|d| d.table);
    Ok(done)
}

/// The error of files of which nothing can be read.
fn nothing(described: &described::All) -> Error {
    let all = &described.exceptions;
    let what = match all.as_slice() {
        [] => "there is no table in the files".to_owned(),
        [one] => one.clone(),
        [first, ..] => format!(
            "none of {} files can be read; the first: {first}",
            all.len()
        ),
    };
    let e = Error::new(Kind::Archive, what);
    if described.undescribed {
        return e.hint(
            "write the table's CREATE TABLE into a file, and name that with --definition FILE.sql",
        );
    }
    e
}
