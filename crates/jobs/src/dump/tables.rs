//! What becomes of each table while its chunks are written by several readers:
//! chunk numbers, finished chunks, and the moment when the last one is done.

use crate::keys::{Nulls, Range};
use crate::rows::TablePlan;
use archive::chunk::ChunkRecord;
use base::{Counters, Event, Observer};
use server::catalog::Table;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A chunk that is on disk.
#[derive(Clone, Debug)]
pub struct DoneChunk {
    /// Its file, size, rows and digests.
    pub record: ChunkRecord,
    /// The rows it holds (or a part of them, where a range was written as several files).
    pub range: Range,
    /// Its number in the series.
    pub number: u64,
}

/// A table that is being dumped.
#[derive(Debug)]
pub struct TableState {
    /// As the catalog has it.
    pub table: Table,
    /// How its rows are read and written.
    pub plan: TablePlan,
    /// `schema@table`, encoded.
    pub basename: String,
    next: AtomicU64,
    /// Tasks begun and not ended, plus one while the planner is not through.
    open: AtomicU64,
    chunks: Mutex<Vec<DoneChunk>>,
}

impl TableState {
    /// Before anything is planned.
    pub fn new(table: Table, basename: String) -> TableState {
        TableState {
            plan: TablePlan::of(&table),
            table,
            basename,
            next: AtomicU64::new(0),
            open: AtomicU64::new(1),
            chunks: Mutex::default(),
        }
    }

    /// One task more.
    pub fn begin(&self) {
        self.open.fetch_add(1, Ordering::SeqCst);
    }

    /// One task less, or the planner is through; whoever ends the last one tells that the table is done.
    pub fn end(&self, counters: &Counters, observer: &dyn Observer) {
        if self.open.fetch_sub(1, Ordering::SeqCst) > 1 {
            return;
        }
        let chunks = self.chunks();
        counters.tables.add(1);
        observer.event(Event::Table {
            schema: self.table.schema.clone(),
            table: self.table.name.clone(),
            rows: chunks.iter().map(|c| c.record.rows).sum(),
            bytes: chunks.iter().map(|c| c.record.raw_bytes).sum(),
        });
    }

    /// The number of the next chunk.
    pub fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// Chunks begun so far.
    pub fn numbered(&self) -> u64 {
        self.next.load(Ordering::SeqCst)
    }

    /// A chunk is on disk.
    pub fn done(&self, chunk: DoneChunk) {
        self.chunks
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .push(chunk);
    }

    /// The chunks in order of their numbers.
    pub fn chunks(&self) -> Vec<DoneChunk> {
        let mut chunks = self
            .chunks
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .clone();
        chunks.sort_by_key(|c| c.number);
        chunks
    }

    /// Name of data file `number`; `last` carries the mark that ends the series.
    pub fn file(&self, number: u64, last: bool, extension: &str) -> String {
        let mark = if last { "@@" } else { "@" };
        format!("{}{mark}{number}.{extension}", self.basename)
    }
}

/// Whether a range can hold any rows worth a key in the record.
pub fn has_bounds(range: &Range) -> bool {
    range.from.is_some() || range.to.is_some() || range.nulls != Nulls::Included
}
