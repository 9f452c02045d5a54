//! A dump that is loaded while it is written: its definitions first, then each chunk as soon as it is complete.
//!
//! The dump writes into memory, and says here what is there. Each load takes every chunk once; a chunk goes out of memory
//! when the last load has stored it.
//! Invariant: no more than `most` bytes of chunks wait here, and one for each reader of the dump: a dump that is faster than
//! its loads waits for them.

use archive::chunk::ChunkRecord;
use base::{Error, Kind, Result, lock};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{Memory, Store as _};

/// How often a waiting thread looks whether it shall stop.
const MOMENT: Duration = Duration::from_millis(50);

/// Schema and table.
pub type TableName = (String, String);

/// What becomes known of the rows.
#[derive(Clone, Debug)]
pub enum News {
    /// A chunk is complete.
    Chunk(TableName, Arc<ChunkRecord>),
    /// All chunks of the table are there.
    Complete(TableName),
}

/// What a load gets next.
#[derive(Debug)]
pub enum Next {
    /// Something new.
    News(News),
    /// Nothing at the moment.
    Nothing,
    /// The dump has ended, and all of it was seen.
    End,
}

/// What the dump and its loads share.
#[derive(Debug)]
pub struct Feed {
    memory: Memory,
    most: u64,
    state: Mutex<State>,
    changed: Condvar,
    /// Nanoseconds that readers of the dump have waited for room, together.
    waited: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of each table, as the source estimates them, once the definitions are there.
    defined: Option<Arc<HashMap<TableName, u64>>>,
    news: Vec<News>,
    /// Loads that take chunks.
    loads: BTreeSet<usize>,
    /// By file: its size, and the loads that have not stored it.
    held: HashMap<String, (u64, BTreeSet<usize>)>,
    held_bytes: u64,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    Failed,
}

impl Feed {
    /// A feed that keeps at most this many bytes of chunks waiting in `memory`.
    pub fn new(memory: Memory, most: u64) -> Arc<Feed> {
        Arc::new(Feed {
            memory,
            most,
            state: Mutex::default(),
            changed: Condvar::new(),
            waited: AtomicU64::new(0),
        })
    }

    /// How long the readers of the dump have waited for room, together.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    /// Whether the loads have the definitions, and may have made something of them.
    pub fn is_defined(&self) -> bool {
        lock(&self.state).defined.is_some()
    }

    fn changed(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.changed.notify_all();
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let waited = self.changed.wait_timeout(state, MOMENT);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The definitions are in memory; of each table's rows the source estimates so many bytes.
    pub fn defined(&self, estimates: HashMap<TableName, u64>) {
        self.changed(|state| state.defined = Some(Arc::new(estimates)));
    }

    /// A chunk is in memory.
    pub fn chunk(&self, table: TableName, record: &ChunkRecord) {
        self.changed(|state| {
            let (size, loads) = (record.stored.bytes, state.loads.clone());
            state.held_bytes += size;
            state.held.insert(record.file.clone(), (size, loads));
            state
                .news
                .push(News::Chunk(table, Arc::new(record.clone())));
        });
    }

    /// All rows of a table are in memory.
    pub fn complete(&self, table: TableName) {
        self.changed(|state| state.news.push(News::Complete(table)));
    }

    /// Returns when there is room for another chunk; fails when no load is left that would take it.
    pub fn room(&self, check: impl Fn() -> Result<()>) -> Result<()> {
        let mut state = lock(&self.state);
        loop {
            check()?;
            if state.loads.is_empty() {
                return Err(Error::new(Kind::Interrupted, "no target is left"));
            }
            if state.held_bytes < self.most {
                return Ok(());
            }
            let since = Instant::now();
            state = self.wait(state);
            let waited = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.waited.fetch_add(waited, Ordering::Relaxed);
        }
    }

    /// The dump has ended: with everything, or not.
    pub fn end(&self, complete: bool) {
        let end = if complete { End::Complete } else { End::Failed };
        self.changed(|state| {
            state.end.get_or_insert(end);
        });
    }

    /// A load that will take every chunk; all of them begin before the dump does.
    pub fn load(self: &Arc<Self>) -> Load {
        let mut state = lock(&self.state);
        let number = state.loads.last().map_or(0, |n| n + 1);
        state.loads.insert(number);
        Load {
            feed: Arc::clone(self),
            number,
            seen: Mutex::new(0),
        }
    }

    fn stored(&self, number: usize, files: &[String]) {
        let mut gone = Vec::new();
        self.changed(|state| {
            for file in files {
                let Some((size, loads)) = state.held.get_mut(file) else {
                    continue;
                };
                loads.remove(&number);
                if loads.is_empty() {
                    state.held_bytes -= *size;
                    state.held.remove(file);
                    gone.push(file.clone());
                }
            }
        });
        for file in gone {
            // Nothing else removes it.
            let _ = self.memory.remove(&file);
        }
    }
}

/// One load's part in a feed, until it is dropped.
#[derive(Debug)]
pub struct Load {
    feed: Arc<Feed>,
    number: usize,
    seen: Mutex<usize>,
}

impl Load {
    /// Waits for the definitions; by table, the bytes that are estimated.
    pub fn definitions(
        &self,
        check: impl Fn() -> Result<()>,
    ) -> Result<Arc<HashMap<TableName, u64>>> {
        let mut state = lock(&self.feed.state);
        loop {
            if let Some(defined) = &state.defined {
                return Ok(Arc::clone(defined));
            }
            if state.end.is_some() {
                return Err(source_failed());
            }
            check()?;
            state = self.feed.wait(state);
        }
    }

    /// What this load has not seen; waits a moment if there is nothing.
    pub fn next(&self) -> Result<Next> {
        let mut seen = lock(&self.seen);
        let mut state = lock(&self.feed.state);
        if state.news.len() == *seen && state.end.is_none() {
            state = self.feed.wait(state);
        }
        if state.end == Some(End::Failed) {
            return Err(source_failed());
        }
        let Some(news) = state.news.get(*seen) else {
            return Ok(match state.end {
                Some(_) => Next::End,
                None => Next::Nothing,
            });
        };
        *seen += 1;
        Ok(Next::News(news.clone()))
    }

    /// These chunks are stored, or not wanted.
    pub fn stored(&self, files: &[String]) {
        self.feed.stored(self.number, files);
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let mut files = Vec::new();
        self.feed.changed(|state| {
            state.loads.remove(&self.number);
            files.extend(state.held.keys().cloned());
        });
        self.feed.stored(self.number, &files);
    }
}

/// The reading of the source failed: its own error says why.
fn source_failed() -> Error {
    Error::new(Kind::Interrupted, "the source could not be read to its end")
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::{FileRecord, RowDigest};

    fn record(memory: &Memory, file: &str) -> ChunkRecord {
        memory.put(file, b"0123456789").expect("an object");
        ChunkRecord {
            file: file.to_owned(),
            stored: FileRecord::of(b"0123456789"),
            raw_bytes: 10,
            rows: 1,
            row_digest: RowDigest::new(),
            index: None,
        }
    }

    fn table() -> TableName {
        ("s".to_owned(), "t".to_owned())
    }

    #[test]
    fn chunks_stay_until_each_load_has_stored_them() {
        let memory = Memory::new("memory");
        let feed = Feed::new(memory.clone(), 15);
        let (one, two) = (feed.load(), feed.load());
        feed.chunk(table(), &record(&memory, "a"));
        feed.room(|| Ok(())).expect("room for another");
        feed.chunk(table(), &record(&memory, "b"));
        let full = || Err(Error::new(Kind::Interrupted, "it waits"));
        assert!(feed.room(full).is_err());
        for load in [&one, &two] {
            assert!(matches!(load.next(), Ok(Next::News(News::Chunk(..)))));
        }
        one.stored(&["a".to_owned()]);
        assert!(memory.open("a").is_ok());
        two.stored(&["a".to_owned()]);
        assert!(memory.open("a").is_err());
        feed.room(|| Ok(())).expect("room again");
        // A load that ends does not keep what the others have stored.
        drop(two);
        one.stored(&["b".to_owned()]);
        assert!(memory.open("b").is_err());
        drop(one);
        assert!(feed.room(|| Ok(())).is_err());
    }

    #[test]
    fn the_end_comes_last_and_a_failure_at_once() {
        let memory = Memory::new("memory");
        let feed = Feed::new(memory.clone(), 1000);
        let load = feed.load();
        feed.chunk(table(), &record(&memory, "a"));
        feed.complete(table());
        feed.end(true);
        assert!(matches!(load.next(), Ok(Next::News(News::Chunk(..)))));
        assert!(matches!(load.next(), Ok(Next::News(News::Complete(_)))));
        assert!(matches!(load.next(), Ok(Next::End)));

        let failed = Feed::new(memory.clone(), 1000);
        let load = failed.load();
        failed.chunk(table(), &record(&memory, "a"));
        failed.end(false);
        assert!(load.next().is_err());
        assert!(load.definitions(|| Ok(())).is_err());
    }
}
