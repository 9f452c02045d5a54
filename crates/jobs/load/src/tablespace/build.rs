//! Builds a tablespace from chunks of the archive. Each chunk holds the rows of a range of the primary key,
//! so it is a sorted run that one thread can build without the others.

use super::cpu_slots::CpuSlots;
use crate::chunk_stream::Lines;
use archive::chunk::{ChunkReader, Expected};
use archive::open::{Chunk, Table};
use archive::row::RowError;
use archive::{ArchiveError, RowPlan};
use base::{Counters, Error, Result, failpoint};
use innodb::bulk::rows::RowRange;
use innodb::bulk::{self, Builder, Rows};
use run::Stop;
use run::failure;
use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use store::Store;

/// Bytes that are read from a chunk at a time.
const PIECE: usize = 1 << 20;

/// Why a tablespace was not built.
pub enum BuildError {
    /// The whole load fails.
    Load(Error),
    /// Only this tablespace cannot be built.
    Tablespace(bulk::Error),
}

impl From<bulk::Error> for BuildError {
    fn from(e: bulk::Error) -> Self {
        BuildError::Tablespace(e)
    }
}

/// The rows that a tablespace is built from.
pub struct Source<'a> {
    /// Where the chunks are.
    pub store: &'a dyn Store,
    /// The table that they belong to.
    pub table: &'a Table,
    /// All of its chunks, or those of a partition.
    pub chunks: Vec<&'a Chunk>,
    /// Counters of the phase.
    pub counters: &'a Counters,
    /// Whether to continue.
    pub stop: &'a Stop<'a>,
    /// Threads at most.
    pub threads: usize,
    /// Shared with the other tables.
    pub cpu_slots: &'a CpuSlots<'a>,
    /// The rank of this table among them.
    pub rank: usize,
}

impl Source<'_> {
    /// Builds the whole tablespace; returns how many pages it has.
    pub fn build(&self, builder: Builder<'_>) -> Result<u32, BuildError> {
        let chunks = self.chunks.len();
        // Row ids, for a table that has no primary key: the first one of each chunk.
        let mut row_id = 1;
        let mut first = Vec::with_capacity(chunks);
        for chunk in &self.chunks {
            first.push(row_id);
            row_id += chunk.rows.unwrap_or(0);
        }
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<RowRange>> = Mutex::new(Vec::with_capacity(chunks));
        let failed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let work = || -> Result<(), BuildError> {
                while !failed.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= chunks {
                        break;
                    }
                    let slot = self.cpu_slots.take(self.rank);
                    let sorted_run = self.chunk(at, builder.rows(first[at]));
                    drop(slot);
                    let sorted_run =
                        sorted_run.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
                    base::lock(&done).push(sorted_run);
                }
                Ok(())
            };
            let workers: Vec<_> = (0..self.threads.min(chunks))
                .map(|_| scope.spawn(work))
                .collect();
            let mut outcome = Ok(());
            for w in workers {
                let result = w.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
                if outcome.is_ok() {
                    outcome = result;
                }
            }
            outcome
        })?;
        let done = base::lock::into_inner(done);
        let _slot = self.cpu_slots.take(self.rank);
        Ok(builder.finish(done)?)
    }

    /// The rows of a chunk, verified while they are read.
    fn chunk(&self, at: usize, mut rows: Rows<'_>) -> Result<RowRange, BuildError> {
        let chunk = self.chunks[at];
        let plan = self.table.meta.plan();
        let damaged = |e: &ArchiveError| {
            BuildError::Load(failure::archive(
                format_args!("cannot build from {}", chunk.file),
                e,
            ))
        };
        let expected = Expected {
            stored: chunk.record.as_ref(),
            raw_bytes: chunk.raw_bytes,
        };
        let opened = ChunkReader::open(self.store, &chunk.file, self.table.compression, expected);
        let mut reader = opened.map_err(|e| damaged(&e))?;
        let mut lines = Lines::default();
        let mut buffer = vec![0; PIECE];
        let mut scratch = Vec::new();
        let mut count = 0u64;
        loop {
            self.stop.check().map_err(BuildError::Load)?;
            let n = reader.read(&mut buffer).map_err(|e| {
                BuildError::Load(failure::source("cannot build a tablespace", &chunk.file, e))
            })?;
            if n == 0 {
                break;
            }
            let before = count;
            // Wrong from here on, a row is in sound pages.
            let piece = failpoint::passed("rows are built", &buffer[..n]);
            lines.take(&piece, |line| {
                count += 1;
                row(&plan, line, &mut scratch, &mut rows).map_err(|e| match e {
                    Wrong::Row(source) => damaged(&ArchiveError::Row {
                        file: chunk.file.clone(),
                        source,
                    }),
                    Wrong::Build(e) => BuildError::Tablespace(e),
                })
            })?;
            self.counters.bytes.add(n as u64);
            self.counters.rows.add(count - before);
        }
        lines.finish(&chunk.file).map_err(|e| damaged(&e))?;
        if chunk.rows.is_some_and(|rows| rows != count) {
            let what = "holds another number of rows than recorded";
            return Err(damaged(&ArchiveError::damaged(&chunk.file, what)));
        }
        Ok(rows.end()?)
    }
}

/// What is wrong with a row, or with the tablespace that gets it.
enum Wrong {
    Row(RowError),
    Build(bulk::Error),
}

impl From<RowError> for Wrong {
    fn from(e: RowError) -> Self {
        Wrong::Row(e)
    }
}

#[inline]
fn row(
    plan: &RowPlan,
    line: &[u8],
    scratch: &mut Vec<u8>,
    rows: &mut Rows<'_>,
) -> Result<(), Wrong> {
    plan.cells(line, scratch, |cell| rows.cell(cell).map_err(Wrong::Build))?;
    rows.row().map_err(Wrong::Build)
}
