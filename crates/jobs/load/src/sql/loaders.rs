//! Workers that load an archive's rows. Each streams one piece after another through LOAD DATA LOCAL
//! INFILE: a chunk, several chunks of a table, or on MariaDB sometimes all of them.
//!
//! Every piece is one transaction, with its journal entry in it ([`rows::load_data`] repeats and checks
//! it): it is committed only when the server counted what the archive counted, without a warning.

use super::chunk_stream::{Chunk, ChunkStream, Tee};
use super::schedule::{Schedule, Task};
use crate::journal::Journal;
use archive::chunk::{ChunkRecord, Compression};
use archive::{RowDigest, RowPlan};
use base::units::{count, printable};
use base::{Counters, Error, Event, Kind, Observer, Result, failpoint};
use rows::feed::{self, News, Next};
use rows::load_data::{self, Executor, Failed, add_indexes};
use run::Stop;
use run::bottleneck::Profiler;
use run::failure;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use store::Store;
use wire::Conn;

/// A table that is being loaded.
#[derive(Debug)]
pub struct Table {
    /// Schema name.
    pub schema: String,
    /// Table name.
    pub table: String,
    /// Schema and name where it was dumped.
    pub source: (String, String),
    /// Quoted, qualified.
    pub name: String,
    /// `LOAD DATA …` for each of its chunks.
    pub statement: String,
    /// Its engine has no transactions: a chunk is entered in the journal after it is stored, and an
    /// interrupted load of the table starts again from its beginning.
    pub nontransactional: bool,
    /// The columns that the chunks fill.
    pub columns: Vec<String>,
    /// Those of them of which a warning may be about the value that is no member of an ENUM.
    pub enums: Vec<String>,
    /// Those of its chunks that have to be loaded, in key order; more may come.
    pub chunks: Mutex<Vec<Chunk>>,
    /// They go together in one statement and transaction, which MariaDB can take as a bulk insert.
    pub bulk: bool,
    /// Indexes to add after the rows: clauses to follow `ADD`, a group for each ALTER.
    pub deferred_indexes: Vec<Vec<String>>,
    /// Rows in all, where the archive says.
    pub rows: Option<u64>,
    /// For an archive without digests: how to take one while the rows pass.
    pub tee: Option<RowPlan>,
    /// The digest taken that way.
    pub digest: Mutex<RowDigest>,
    /// Rows loaded so far.
    pub loaded: AtomicU64,
    /// Chunks not loaded yet, and one more while others may come.
    pub left: AtomicU64,
    /// It is left empty, and named, if the target refuses its rows.
    pub may_give_up: bool,
    /// Indexes that the target refused, each with the reason.
    pub refused_indexes: Mutex<Vec<String>>,
    /// It shows the rows of other tables, and gets none.
    pub merged: bool,
    /// Its definition may not be the source's: if the target refuses rows, only this table is given up.
    pub doubtful: bool,
    /// Why it was given up.
    pub given_up: Mutex<Option<String>>,
}

impl Table {
    /// Bytes of its chunks.
    pub fn raw_bytes(&self) -> u64 {
        base::lock(&self.chunks)
            .iter()
            .filter_map(|c| c.raw_bytes)
            .sum()
    }

    /// The files of its chunks.
    pub fn files(&self) -> Vec<String> {
        base::lock(&self.chunks)
            .iter()
            .map(|c| c.file.clone())
            .collect()
    }
}

/// What all workers share.
pub struct Loaders<'a> {
    /// Where the chunks are.
    pub store: &'a dyn Store,
    /// All tables.
    pub tables: &'a [Table],
    /// Which chunk is next.
    pub schedule: &'a Schedule,
    /// Figures of the phase.
    pub counters: &'a Counters,
    /// Notified when a table is done.
    pub observer: &'a dyn Observer,
    /// Where chunks are entered.
    pub journal: &'a Journal,
    /// Whether this load resumes an interrupted one.
    pub resuming: bool,
    /// Records where the time goes.
    pub profiler: &'a Profiler,
    /// Where more chunks come from.
    pub feed: Option<&'a feed::Load>,
}

/// What a server says of rows that it does not take: a value is out of range, twice there, no JSON, …
const OF_ROWS: [u16; 24] = [
    1048, 1062, 1118, 1169, 1264, 1265, 1292, 1300, 1364, 1366, 1367, 1406, 1411, 1416, 1526, 1690,
    3140, 3156, 3548, 3616, 3617, 3819, 4025, 6138,
];

/// Whether the target does not take rows of a table: that is no reason to load no other.
fn refuses_rows(e: &Error) -> bool {
    e.kind == Kind::Failed && e.server_error.is_none_or(|code| OF_ROWS.contains(&code))
}

impl Loaders<'_> {
    /// Works until no chunk is left.
    pub fn work(&self, conn: &mut Conn, stop: &Stop<'_>) -> Result<()> {
        let mut last = None;
        loop {
            stop.check()?;
            let (table, chunks) = match self.schedule.next(last) {
                Task::Chunks(table, chunks) => (table, chunks),
                Task::Indexes(table) => {
                    self.counters.busy.add(1);
                    let t = &self.tables[table];
                    let span = self.profiler.begin(conn);
                    let outcome = self.indexes(conn, t);
                    self.profiler.end(&span, conn, &t.name);
                    self.counters.busy.sub(1);
                    outcome?;
                    continue;
                }
                Task::Wait => continue,
                Task::End => return Ok(()),
            };
            last = Some(table);
            self.counters.busy.add(1);
            let t = &self.tables[table];
            let span = self.profiler.begin(conn);
            let began = Instant::now();
            let outcome = self.piece(conn, t, chunks.clone(), stop);
            self.profiler.end(&span, conn, &t.name);
            self.counters.busy.sub(1);
            stop.release_slot();
            match outcome {
                Err(e) if t.may_give_up && refuses_rows(&e) => {
                    self.give_up(conn, t, e)?;
                    self.schedule.give_up(table);
                    self.stored(&t.files());
                    continue;
                }
                outcome => outcome?,
            }
            let n = chunks.len() as u64;
            if self.feed.is_some() {
                self.stored(&t.files()[chunks.clone()]);
            }
            if t.left.fetch_sub(n, Ordering::SeqCst) == n {
                self.table_done(t)?;
            }
            self.schedule.done(table, chunks, began.elapsed());
        }
    }

    /// Adds the deferred indexes of a table. One that does not fit the rows keeps no other away.
    fn indexes(&self, conn: &mut Conn, t: &Table) -> Result<()> {
        for group in &t.deferred_indexes {
            match add_indexes(conn, &t.name, std::slice::from_ref(group), self.resuming) {
                Err(e) if t.may_give_up && refuses_rows(&e) => {}
                outcome => {
                    outcome?;
                    continue;
                }
            }
            for key in group {
                let one = [vec![key.clone()]];
                match add_indexes(conn, &t.name, &one, self.resuming) {
                    Err(e) if refuses_rows(&e) => {
                        base::lock(&t.refused_indexes).push(format!("{key}: {}", e.what));
                    }
                    outcome => outcome?,
                }
            }
        }
        Ok(())
    }

    /// Leaves the session as the next table needs it.
    fn give_up(&self, conn: &mut Conn, t: &Table, e: Error) -> Result<()> {
        for sql in ["ROLLBACK", "SET SESSION unique_checks = 1"] {
            conn.execute(sql)
                .map_err(|e| failure::wire(format_args!("cannot give up {}", t.name), e))?;
        }
        base::lock(&t.given_up).get_or_insert(e.what);
        Ok(())
    }

    /// These chunks are not needed any more.
    fn stored(&self, files: &[String]) {
        if let Some(feed) = self.feed {
            feed.stored(files);
        }
    }

    /// Takes chunks as they come, until the dump has ended.
    pub fn follow(&self, feed: &feed::Load, stop: &Stop<'_>) -> Result<()> {
        let names = self.tables.iter().enumerate();
        let places: HashMap<(&str, &str), usize> = names
            .map(|(n, t)| ((t.source.0.as_str(), t.source.1.as_str()), n))
            .collect();
        let mut open: BTreeSet<usize> = (0..self.tables.len()).collect();
        loop {
            stop.check()?;
            match feed.next()? {
                Next::News(News::Chunk((schema, table), record)) => {
                    let at = places.get(&(schema.as_str(), table.as_str()));
                    if !at.is_some_and(|at| self.grows(*at, &record)) {
                        feed.stored(std::slice::from_ref(&record.file));
                    }
                }
                Next::News(News::Complete((schema, table))) => {
                    let Some(&at) = places.get(&(schema.as_str(), table.as_str())) else {
                        continue;
                    };
                    if open.remove(&at) {
                        self.complete(at)?;
                    }
                }
                Next::Nothing => {}
                // Nobody reads what has no rows of its own, such as a sequence.
                Next::End => return open.into_iter().try_for_each(|at| self.complete(at)),
            }
        }
    }

    /// No more chunks of a table come.
    fn complete(&self, at: usize) -> Result<()> {
        if self.tables[at].left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.table_done(&self.tables[at])?;
        }
        self.schedule.complete(at);
        Ok(())
    }

    /// Another chunk of a table; false if it is not wanted.
    fn grows(&self, at: usize, record: &ChunkRecord) -> bool {
        let table = &self.tables[at];
        if table.merged {
            return false;
        }
        // Before a worker can see it in the schedule.
        base::lock(&table.chunks).push(Chunk {
            file: record.file.clone(),
            compression: Compression::None,
            stored: Some(record.stored.clone()),
            raw_bytes: Some(record.raw_bytes),
            rows: Some(record.rows),
        });
        table.left.fetch_add(1, Ordering::SeqCst);
        self.schedule.add(at, record.raw_bytes)
    }

    fn table_done(&self, t: &Table) -> Result<()> {
        let loaded = t.loaded.load(Ordering::SeqCst);
        if let Some(rows) = t.rows.filter(|n| *n != loaded) {
            return Err(Error::new(
                Kind::Archive,
                format!(
                    "{}: the archive says {} rows, its chunks held {}",
                    printable(&t.name),
                    count(rows),
                    count(loaded)
                ),
            ));
        }
        self.counters.tables.add(1);
        self.observer.event(Event::Table {
            schema: t.schema.clone(),
            table: t.table.clone(),
            rows: loaded,
            bytes: t.raw_bytes(),
        });
        Ok(())
    }

    /// Loads a piece: chunks of a table that are stored together.
    fn piece(
        &self,
        conn: &mut Conn,
        t: &Table,
        piece: Range<usize>,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let chunks = base::lock(&t.chunks)[piece].to_vec();
        let chunks = chunks.as_slice();
        let doing = match chunks {
            [] => return Ok(()),
            [chunk] => format!("cannot load {} into {}", chunk.file, t.name),
            [first, .., last] => {
                format!("cannot load {} … {} into {}", first.file, last.file, t.name)
            }
        };
        let executor = Executor {
            table: &t.name,
            doing: &doing,
            bulk: t.bulk,
            sent: chunks.iter().filter_map(|c| c.raw_bytes).sum(),
            counters: self.counters,
            observer: self.observer,
            stop,
        };
        executor.run(conn, |conn| self.attempt(conn, t, chunks, &doing, stop))
    }

    fn enter(&self, conn: &mut Conn, chunks: &[Chunk]) -> Result<(), wire::Error> {
        chunks
            .iter()
            .try_for_each(|chunk| self.journal.enter(conn, &chunk.file))
    }

    fn attempt(
        &self,
        conn: &mut Conn,
        t: &Table,
        chunks: &[Chunk],
        doing: &str,
        stop: &Stop<'_>,
    ) -> Result<(), Failed> {
        let file = &chunks[0].file;
        let mut stream = ChunkStream {
            store: self.store,
            chunks: chunks.iter(),
            reader: None,
            counters: self.counters,
            stop,
            tee: t.tee.as_ref().map(|plan| Tee::new(file, plan)),
        };
        stream.open().map_err(|e| failure::archive(doing, &e))?;
        if !t.nontransactional {
            // That is no refusal of rows: another load uses this journal.
            self.enter(conn, chunks).map_err(|e| match e.code() {
                Some(1062) => Failed::Other(Error::new(
                    Kind::Lock,
                    format!("{doing}: another load has entered it"),
                )),
                _ => Failed::Server(e),
            })?;
        }
        failpoint::reached("a chunk is entered");
        let done = match conn.load(&t.statement, &mut stream) {
            Ok(done) => done,
            Err(wire::Error::Source(e)) => {
                return Err(Failed::Other(failure::source(doing, file, e)));
            }
            Err(e) => return Err(Failed::Server(e)),
        };
        let expected: Option<u64> = chunks.iter().map(|c| c.rows).sum();
        let strict = t.columns.iter().filter(|c| !t.enums.contains(c));
        let strict: Vec<String> = strict.cloned().collect();
        let rows = load_data::stored(conn, doing, &done, &strict, expected)?;
        if let Some(tee) = stream.tee {
            let digest = tee.finish(file).map_err(|e| failure::archive(doing, &e))?;
            base::lock(&t.digest).merge(&digest);
            if !t.nontransactional {
                self.journal.counted(conn, file, &digest)?;
            }
        }
        if t.nontransactional {
            // With GTIDs, MySQL takes the two kinds of engine in two transactions only.
            conn.execute("COMMIT")?;
            self.enter(conn, chunks)?;
        }
        failpoint::reached("a chunk is stored");
        let began = Instant::now();
        conn.execute("COMMIT")?;
        self.profiler.committed(began);
        failpoint::reached("a chunk is committed");
        t.loaded.fetch_add(rows, Ordering::SeqCst);
        self.counters.rows.add(rows);
        Ok(())
    }
}
