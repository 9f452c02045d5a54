//! The state of each table while several readers write its chunks: chunk numbers, finished chunks, and
//! when the last one is done.

use crate::progress::{Ended, Order};
use crate::unchanged::Taken;
use archive::RowDigest;
use archive::chunk::ChunkRecord;
use archive::meta::TableMeta;
use base::{Counters, Event, Observer, Result, lock};
use rows::feed::{Feed, TableName};
use rows::generated::{self, Kept, Reading};
use rows::key_ranges::KeyRange;
use rows::table_plan::{RowChoice, TablePlan};
use run::Stop;
use server::Identity;
use server::catalog::{Table, TableKind};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A chunk that is on disk.
#[derive(Clone, Debug)]
pub struct DoneChunk {
    /// Its file, size, rows and digests.
    pub record: ChunkRecord,
    /// The rows it holds (or a part of them, where a range was written as several files).
    pub range: KeyRange,
    /// The series it belongs to, by its place among the table's.
    pub series: usize,
    /// Its number in the series.
    pub number: u64,
}

/// What has its own series of files: a table, or one of its partitions.
#[derive(Debug)]
pub struct Series {
    /// The partition, if it is one.
    pub partition: Option<String>,
    /// `schema@table`, or `schema@table@partition`, encoded.
    pub basename: String,
    /// How its rows are read.
    pub plan: TablePlan,
    /// The engine's estimate of its rows.
    pub rows_estimate: u64,
    /// Bytes of them.
    pub data_bytes: u64,
    next: AtomicU64,
    /// Numbers below `next` that no chunk has: of tasks that an unfinished dump had begun.
    free: Mutex<Vec<u64>>,
}

impl Series {
    /// The number of the next chunk.
    pub fn next_number(&self) -> u64 {
        let free = lock(&self.free).pop();
        free.unwrap_or_else(|| self.next.fetch_add(1, Ordering::SeqCst))
    }

    /// A number that no chunk has, below those of others: readers look for all of them.
    pub fn free_number(&self) -> Option<u64> {
        lock(&self.free).pop()
    }

    /// Keeps these numbers for chunks that are there.
    fn keep_numbers(&self, used: &HashSet<u64>) {
        let next = used.iter().max().map_or(0, |most| most + 1);
        self.next.store(next, Ordering::SeqCst);
        // The lowest first.
        *lock(&self.free) = (0..next).rev().filter(|n| !used.contains(n)).collect();
    }

    /// Name of data file `number`; `last` carries the mark that ends the series.
    pub fn file(&self, number: u64, last: bool, extension: &str) -> String {
        let mark = if last { "@@" } else { "@" };
        format!("{}{mark}{number}.{extension}", self.basename)
    }
}

/// Up to this many partitions get their own files, whatever their size.
const FEW_PARTITIONS: usize = 64;

/// With more partitions, each must have this many bytes on average.
const MIN_PARTITION_BYTES: u64 = 128 << 10;

/// Whether each partition of a table gets its own series, so that it can be read and loaded separately.
pub fn by_partition(id: &Identity, table: &Table) -> bool {
    // Earlier servers cannot be asked for the rows of a partition.
    id.at_least(5, 6, 2)
        && table.transactional
        && table.kind == TableKind::Base
        && !table.partitions.is_empty()
        && (table.partitions.len() <= FEW_PARTITIONS
            || table.data_bytes / table.partitions.len() as u64 >= MIN_PARTITION_BYTES)
}

/// A table that is being dumped.
#[derive(Debug)]
pub struct TableState {
    /// As the catalog has it.
    pub table: Table,
    /// How its rows are read and written.
    pub plan: TablePlan,
    /// One for all, or one for each partition, in order.
    pub series: Vec<Series>,
    /// How the values of generated columns are read that the server keeps.
    pub generated: Vec<Reading>,
    /// The file that describes it, and what it says.
    pub described: Option<(String, TableMeta)>,
    /// Why its rows cannot be read; then none of them are kept.
    unreadable: Mutex<Option<String>>,
    /// Why its rows are not read from files.
    by_sql: Mutex<Option<String>>,
    /// Unfinished tasks, plus one while the planner works on the table.
    open_tasks: AtomicU64,
    chunks: Mutex<Vec<DoneChunk>>,
    /// Loads that take the rows while they are read.
    feed: Option<Arc<Feed>>,
    kept: Mutex<Vec<(Kept, RowDigest)>>,
    /// Its rows as an earlier dump has them; then none are read.
    taken: OnceLock<Taken>,
    /// What an unfinished dump has finished of it.
    ended: OnceLock<Finished>,
}

/// What an unfinished dump has finished of a table.
#[derive(Debug, Default)]
struct Finished {
    tasks: Vec<Ended>,
    /// By series, in the order of the key.
    ranges: Vec<Vec<(Order, KeyRange)>>,
}

impl TableState {
    /// Before anything is planned. `partitions`: basenames of the table's partitions, if each gets a series.
    pub fn new(table: Table, basename: String, partitions: Vec<String>) -> TableState {
        let plan = TablePlan::of(&table);
        let series = if partitions.is_empty() {
            vec![Series {
                partition: None,
                basename,
                plan: plan.clone(),
                rows_estimate: table.rows_estimate,
                data_bytes: table.data_bytes,
                next: AtomicU64::new(0),
                free: Mutex::default(),
            }]
        } else {
            let named = table.partitions.iter().zip(partitions);
            let series = named.map(|(p, basename)| Series {
                partition: Some(p.name.clone()),
                basename,
                plan: plan.of_partition(&p.name),
                rows_estimate: p.rows_estimate,
                data_bytes: p.data_bytes,
                next: AtomicU64::new(0),
                free: Mutex::default(),
            });
            series.collect()
        };
        TableState {
            generated: generated::readings(&table, &table.primary_columns()),
            plan,
            series,
            table,
            described: None,
            unreadable: Mutex::default(),
            by_sql: Mutex::default(),
            open_tasks: AtomicU64::new(1),
            chunks: Mutex::default(),
            feed: None,
            kept: Mutex::default(),
            taken: OnceLock::new(),
            ended: OnceLock::new(),
        }
    }

    /// Keeps what an unfinished dump has finished of it.
    pub fn keep(&self, tasks: &[Ended]) {
        let mut kept = Finished::default();
        // In the order of the key, and with new numbers: what is planned between two of them gets numbers behind the first.
        let mut tasks = tasks.to_vec();
        tasks.sort_by(|a, b| (&a.partition, &a.order).cmp(&(&b.partition, &b.order)));
        kept.ranges.resize(self.series.len(), Vec::new());
        for mut task in tasks {
            let chunks = task.chunks_of(self).unwrap_or_default();
            if let Some(first) = chunks.first() {
                let ranges = &mut kept.ranges[first.series];
                task.order = vec![ranges.len() as u32 + 1];
                ranges.push((task.order.clone(), first.range.clone()));
            }
            lock(&self.chunks).extend(chunks);
            let values = task.generated.iter().filter_map(|g| {
                let kept = Kept {
                    column: g.column.clone(),
                    index: g.index.clone(),
                };
                Some((kept, g.digest()?))
            });
            lock(&self.kept).extend(values);
            kept.tasks.push(task);
        }
        let mut used = vec![HashSet::new(); self.series.len()];
        for chunk in lock(&self.chunks).iter() {
            used[chunk.series].insert(chunk.number);
        }
        for (series, used) in self.series.iter().zip(&used) {
            series.keep_numbers(used);
        }
        // Once, before any row is read.
        let _ = self.ended.set(kept);
    }

    /// The tasks that an unfinished dump has ended.
    pub fn ended(&self) -> &[Ended] {
        self.ended.get().map_or(&[], |kept| &kept.tasks)
    }

    /// The ranges of a series that an unfinished dump has read, in the order of the key.
    pub fn ended_ranges(&self, series: usize) -> &[(Order, KeyRange)] {
        let kept = self.ended.get().and_then(|kept| kept.ranges.get(series));
        kept.map_or(&[], Vec::as_slice)
    }

    /// Takes its rows over from an earlier dump.
    pub fn take_over(&self, taken: Taken) {
        // Once, before any row is read.
        let _ = self.taken.set(taken);
    }

    /// Its rows as an earlier dump has them, if they are not read.
    pub fn taken(&self) -> Option<&Taken> {
        self.taken.get()
    }

    /// The same, of these rows alone.
    #[must_use]
    pub fn chosen_by(mut self, choice: Option<&RowChoice>) -> TableState {
        let Some(choice) = choice else {
            return self;
        };
        if !choice.partitions.is_empty() {
            let chosen = |s: &Series| {
                let name = s.partition.as_ref();
                name.is_none_or(|name| choice.partitions.contains(name))
            };
            self.series.retain(chosen);
        }
        let plans = self.series.iter_mut().map(|s| &mut s.plan);
        for plan in plans.chain([&mut self.plan]) {
            plan.choose(choice);
        }
        for reading in &mut self.generated {
            reading.choose(choice);
        }
        self
    }

    /// The same, for loads that take its rows while they are read.
    #[must_use]
    pub fn fed(self, feed: Option<Arc<Feed>>) -> TableState {
        TableState { feed, ..self }
    }

    fn name(&self) -> TableName {
        (self.table.schema.clone(), self.table.name.clone())
    }

    /// Counts a new task.
    pub fn begin_task(&self) {
        self.open_tasks.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a finished task, or that the planner is done; the last call reports that the table is
    /// done.
    pub fn end_task(&self, counters: &Counters, observer: &dyn Observer) {
        if self.open_tasks.fetch_sub(1, Ordering::SeqCst) > 1 {
            return;
        }
        counters.tables.add(1);
        if self.unreadable().is_some() {
            return;
        }
        if let Some(feed) = &self.feed {
            feed.complete(self.name());
        }
        let chunks = self.chunks();
        observer.event(Event::Table {
            schema: self.table.schema.clone(),
            table: self.table.name.clone(),
            rows: chunks.iter().map(|c| c.record.rows).sum(),
            bytes: chunks.iter().map(|c| c.record.raw_bytes).sum(),
        });
    }

    /// Gives the rows up, unless a reader has before: true for the first.
    pub fn give_up(&self, why: &str) -> bool {
        let mut unreadable = lock(&self.unreadable);
        let first = unreadable.is_none();
        unreadable.get_or_insert_with(|| why.to_owned());
        first
    }

    /// Why its rows cannot be read.
    pub fn unreadable(&self) -> Option<String> {
        lock(&self.unreadable).clone()
    }

    /// Notes that its rows are read by SQL, although there are files.
    pub fn read_by_sql(&self, why: &str) {
        lock(&self.by_sql).get_or_insert_with(|| why.to_owned());
    }

    /// Why its rows were read by SQL, if there were files.
    pub fn by_sql(&self) -> Option<String> {
        lock(&self.by_sql).clone()
    }

    /// Whether its rows are loaded while they are read.
    pub fn is_fed(&self) -> bool {
        self.feed.is_some()
    }

    /// Returns when there is room for another chunk.
    pub fn wait_for_room(&self, stop: &Stop<'_>) -> Result<()> {
        match &self.feed {
            Some(feed) => feed.room(|| stop.check()),
            None => Ok(()),
        }
    }

    /// Adds a chunk that is on disk.
    pub fn add_chunk(&self, chunk: DoneChunk) {
        if let Some(feed) = &self.feed {
            feed.chunk(self.name(), &chunk.record);
        }
        lock(&self.chunks).push(chunk);
    }

    /// Adds what was read of generated columns.
    pub fn add_kept(&self, digests: Vec<(Kept, RowDigest)>) {
        lock(&self.kept).extend(digests);
    }

    /// What was read of generated columns.
    pub fn kept(&self) -> Vec<(Kept, RowDigest)> {
        lock(&self.kept).clone()
    }

    /// The chunks, series by series, in order of their numbers.
    pub fn chunks(&self) -> Vec<DoneChunk> {
        let mut chunks = lock(&self.chunks).clone();
        chunks.sort_by_key(|c| (c.series, c.number));
        chunks
    }
}
