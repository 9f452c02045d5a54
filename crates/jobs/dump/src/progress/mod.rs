//! What is finished of a dump, written beside its files while it runs, so that another run can go on with it (`left` reads it, `kept` is what that run keeps).
//!
//! ```text
//! penstock.progress.G.json      what the dump is of: a manifest without chunks, with the position of its snapshot
//! penstock.progress.G.N.json    tasks that have ended since N - 1 was written, with their files
//! ```
//!
//! G counts the runs that went on with the dump. The head is written last of what a run begins with, and the highest counts: until then
//! the files of the run before do. All of them are removed when the archive is whole.
//!
//! Invariant: a file that a task names was finished before the task is named; whether it is intact is looked at by whoever goes on.

pub mod kept;
pub mod left;

use crate::tables::{DoneChunk, TableState};
use archive::manifest::{ChunkEntry, GeneratedRecord, Manifest};
use archive::{ChunkRecord, FileRecord, RowDigest};
use base::{Error, Kind, Result, failpoint, lock};
use rows::key_ranges::KeyRange;
use run::failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use store::Store;

/// How all of these files begin.
const PREFIX: &str = "penstock.progress.";

/// What a kill costs at most, besides what is being read.
const EVERY: Duration = Duration::from_secs(5);

/// So many tasks are written at once.
const MOST: usize = 500;

/// Shorter where a test asks for it: what it kills has then read something for sure.
fn every() -> Duration {
    let asked = cfg!(debug_assertions)
        .then(|| std::env::var("PENSTOCK_PROGRESS_EVERY").ok()?.parse().ok())
        .flatten();
    asked.map_or(EVERY, Duration::from_secs)
}

/// Where a task stands among those of its series: in the order of the key. What is planned between the tasks `a` and `b` later
/// has `a` as its beginning.
pub type Order = Vec<u32>;

/// A task that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub schema: String,
    pub table: String,
    /// The partition, where each has a series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    #[serde(default)]
    pub order: Order,
    /// The files of its rows, all of the same range.
    #[serde(default)]
    pub chunks: Vec<ChunkEntry>,
    /// Size and digest of each file.
    #[serde(default)]
    pub files: BTreeMap<String, FileRecord>,
    /// Values of generated columns, if they were what it read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generated: Vec<GeneratedRecord>,
}

impl Ended {
    /// A task that has read these rows.
    pub fn rows(table: &TableState, order: &Order, chunks: &[DoneChunk]) -> Ended {
        let series = chunks.first().map_or(0, |c| c.series);
        let partition = &table.series[series].partition;
        let mut ended = Ended {
            schema: table.table.schema.clone(),
            table: table.table.name.clone(),
            partition: partition.clone(),
            order: order.clone(),
            chunks: Vec::new(),
            files: BTreeMap::new(),
            generated: Vec::new(),
        };
        for chunk in chunks {
            let mut entry = ChunkEntry::of(&chunk.record);
            entry.partition.clone_from(partition);
            (entry.from, entry.to) = chunk.range.record();
            ended.chunks.push(entry);
            let record = &chunk.record;
            ended
                .files
                .insert(record.file.clone(), record.stored.clone());
            if let Some((name, index)) = &record.index {
                ended.files.insert(name.clone(), index.clone());
            }
        }
        ended
    }

    /// A task that has read the values of generated columns.
    pub fn generated(table: &TableState, generated: Vec<GeneratedRecord>) -> Ended {
        Ended {
            generated,
            ..Ended::rows(table, &Order::new(), &[])
        }
    }

    /// Its chunks as they are of this table; `None` if they do not fit.
    pub fn chunks_of(&self, table: &TableState) -> Option<Vec<DoneChunk>> {
        let mut series = table.series.iter();
        let series = series.position(|s| s.partition == self.partition)?;
        let of = &table.series[series];
        let chunk = |entry: &ChunkEntry| {
            let range = match &of.plan.key {
                Some(key) => KeyRange::of_record(entry.from.as_deref(), entry.to.as_deref(), key)?,
                None => KeyRange::whole(),
            };
            let number = entry.file.strip_prefix(&of.basename)?;
            let number = number.trim_start_matches('@').split('.').next()?;
            let index = archive::chunk::index::name_of(&entry.file);
            Some(DoneChunk {
                record: ChunkRecord {
                    file: entry.file.clone(),
                    stored: self.files.get(&entry.file)?.clone(),
                    raw_bytes: entry.raw_bytes,
                    rows: entry.rows,
                    row_digest: RowDigest::from_hex(&entry.row_digest, entry.rows)?,
                    index: self.files.get(&index).map(|r| (index, r.clone())),
                },
                range,
                series,
                number: number.parse().ok()?,
            })
        };
        self.chunks.iter().map(chunk).collect()
    }
}

/// The tasks of one file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Batch {
    tasks: Vec<Ended>,
}

/// Writes it.
pub struct Progress<'a> {
    store: &'a dyn Store,
    generation: u32,
    state: Mutex<State>,
}

struct State {
    /// Ended, and not written yet.
    tasks: Vec<Ended>,
    /// Number of the next file.
    next: u32,
    written: Instant,
}

impl<'a> Progress<'a> {
    /// Begins with what is kept of the runs before.
    pub fn begin(
        store: &'a dyn Store,
        generation: u32,
        head: &Manifest,
        kept: Vec<Ended>,
    ) -> Result<Progress<'a>> {
        let progress = Progress {
            store,
            generation,
            state: Mutex::new(State {
                tasks: kept,
                next: 0,
                written: Instant::now(),
            }),
        };
        progress.write(&mut lock(&progress.state))?;
        let name = format!("{PREFIX}{generation}.json");
        store
            .put(&name, head.to_text().as_bytes())
            .and_then(|()| store.sync())
            .map_err(|e| failure::store("cannot write the progress of the dump", &e))?;
        Ok(progress)
    }

    /// Notes a task that has ended.
    pub fn ended(&self, task: Ended) -> Result<()> {
        let mut state = lock(&self.state);
        state.tasks.push(task);
        if state.written.elapsed() >= every() || state.tasks.len() >= MOST {
            self.write(&mut state)?;
        }
        drop(state);
        failpoint::reached("a task has ended");
        Ok(())
    }

    /// Writes what has waited for long enough while no task has ended.
    pub fn tick(&self) -> Result<()> {
        let mut state = lock(&self.state);
        match state.written.elapsed() >= every() {
            true => self.write(&mut state),
            false => Ok(()),
        }
    }

    fn write(&self, state: &mut State) -> Result<()> {
        state.written = Instant::now();
        if state.tasks.is_empty() {
            return Ok(());
        }
        let tasks = std::mem::take(&mut state.tasks);
        let name = format!("{PREFIX}{}.{}.json", self.generation, state.next);
        state.next += 1;
        let text = serde_json::to_vec(&Batch { tasks });
        let text = text.map_err(|e| Error::new(Kind::Internal, e.to_string()))?;
        let put = self.store.put(&name, &text);
        put.map_err(|e| failure::store("cannot write the progress of the dump", &e))
    }

    /// Writes what is not written yet: the run ends, and another may go on.
    pub fn keep(&self) -> Result<()> {
        self.write(&mut lock(&self.state))
    }

    /// Whether a file is one of this run's.
    pub fn is_own(&self, name: &str) -> bool {
        generation(name) == Some(self.generation)
    }
}

/// Whether a run could go on from what is there.
pub fn is_there(store: &dyn Store) -> bool {
    let heads = |name: &str| generation(name).is_some_and(|g| name == format!("{PREFIX}{g}.json"));
    store
        .list()
        .is_ok_and(|all| all.iter().any(|e| heads(&e.name)))
}

/// Removes all of these files: the archive is whole.
pub fn remove(store: &dyn Store) -> store::Result<()> {
    let mut names: Vec<String> = store.list()?.into_iter().map(|e| e.name).collect();
    names.retain(|n| generation(n).is_some());
    for name in names {
        store.remove(&name)?;
    }
    Ok(())
}

/// The run that has written a file of this name; `None` if it is no such file.
fn generation(name: &str) -> Option<u32> {
    let rest = name.strip_prefix(PREFIX)?.strip_suffix(".json")?;
    rest.split('.').next()?.parse().ok()
}
