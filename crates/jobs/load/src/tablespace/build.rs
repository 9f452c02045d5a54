//! Chunks of the archive into the file of a tablespace. Each holds the rows of a
//! range of the primary key, so it is a stretch of its own that a thread can build.

use super::cpu_slots::CpuSlots;
use crate::chunk_stream::Lines;
use archive::chunk::{ChunkReader, Expected};
use archive::open::{Chunk, Table};
use archive::row::RowError;
use archive::{ArchiveError, RowPlan};
use base::{Counters, Error, Result};
use innodb::build::rows::Stretch;
use innodb::build::{self, Builder, Rows};
use run::Stop;
use run::failure;
use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::Store;

/// Bytes that are taken of a chunk at a time.
const PIECE: usize = 1 << 20;

/// Why a file was not built.
pub enum Failed {
    /// What makes the whole load fail.
    Load(Error),
    /// What only the road is not fit for.
    Road(build::Error),
}

impl From<build::Error> for Failed {
    fn from(e: build::Error) -> Self {
        Failed::Road(e)
    }
}

/// What is built from.
pub struct Source<'a> {
    /// Where the chunks are.
    pub store: &'a dyn Store,
    /// Whose they are.
    pub table: &'a Table,
    /// All of them, or those of a partition.
    pub chunks: Vec<&'a Chunk>,
    /// Figures of the phase.
    pub counters: &'a Counters,
    /// Whether to go on.
    pub stop: &'a Stop<'a>,
    /// Threads at most.
    pub threads: usize,
    /// Shared with other tables.
    pub turns: &'a CpuSlots,
    /// Of this table among them.
    pub rank: usize,
}

impl Source<'_> {
    /// Builds the whole file; how many pages it has.
    pub fn build(&self, builder: Builder<'_>) -> Result<u32, Failed> {
        let chunks = self.chunks.len();
        // Numbers of rows, for a table that has no key.
        let mut rows = 1;
        let mut first = Vec::with_capacity(chunks);
        for chunk in &self.chunks {
            first.push(rows);
            rows += chunk.rows.unwrap_or(0);
        }
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<Stretch>> = Mutex::new(Vec::with_capacity(chunks));
        let failed = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let work = || -> Result<(), Failed> {
                while !failed.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= chunks {
                        break;
                    }
                    let turn = self.turns.take(self.rank);
                    self.counters.busy.add(1);
                    let stretch = self.chunk(at, builder.rows(first[at]));
                    self.counters.busy.sub(1);
                    drop(turn);
                    let stretch = stretch.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
                    done.lock().unwrap_or_else(|e| e.into_inner()).push(stretch);
                }
                Ok(())
            };
            let workers: Vec<_> = (0..self.threads.min(chunks))
                .map(|_| scope.spawn(work))
                .collect();
            let mut outcome = Ok(());
            for w in workers {
                let ended = w.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
                if outcome.is_ok() {
                    outcome = ended;
                }
            }
            outcome
        })?;
        let done = done.into_inner().unwrap_or_else(|e| e.into_inner());
        let _turn = self.turns.take(self.rank);
        self.counters.busy.add(1);
        let pages = builder.finish(done);
        self.counters.busy.sub(1);
        Ok(pages?)
    }

    /// The rows of a chunk, proven while they pass.
    fn chunk(&self, at: usize, mut rows: Rows<'_>) -> Result<Stretch, Failed> {
        let chunk = self.chunks[at];
        let plan = self.table.meta.plan();
        let damaged = |e: &ArchiveError| {
            Failed::Load(failure::archive(
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
        let mut room = Vec::new();
        let mut count = 0u64;
        loop {
            self.stop.check().map_err(Failed::Load)?;
            let n = reader.read(&mut buffer).map_err(|e| {
                Failed::Load(failure::source("cannot build a tablespace", &chunk.file, e))
            })?;
            if n == 0 {
                break;
            }
            let before = count;
            lines.take(&buffer[..n], |line| {
                count += 1;
                row(&plan, line, &mut room, &mut rows).map_err(|e| match e {
                    Wrong::Row(source) => damaged(&ArchiveError::Row {
                        file: chunk.file.clone(),
                        source,
                    }),
                    Wrong::Build(e) => Failed::Road(e),
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

enum Wrong {
    Row(RowError),
    Build(build::Error),
}

impl From<RowError> for Wrong {
    fn from(e: RowError) -> Self {
        Wrong::Row(e)
    }
}

#[inline]
fn row(plan: &RowPlan, line: &[u8], room: &mut Vec<u8>, rows: &mut Rows<'_>) -> Result<(), Wrong> {
    plan.cells(line, room, |cell| rows.cell(cell).map_err(Wrong::Build))?;
    rows.row().map_err(Wrong::Build)
}
