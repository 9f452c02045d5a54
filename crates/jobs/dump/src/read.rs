//! A reader: one connection inside the snapshot, one task after another, rows straight from the read
//! buffer into a chunk.

use super::finish::generated;
use super::plan::Task;
use super::postponed::{Postponed, TOO_LONG};
use super::progress::{Ended, Progress};
use super::tables::DoneChunk;
use super::unreadable;
use archive::ArchiveError;
use archive::chunk::{ChunkWriter, Compression, Scratch, WriteOptions};
use base::{Counters, Error, Kind, Observer, Result, failpoint};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use run::Stop;
use run::bottleneck::Profiler;
use run::failure;
use std::time::Duration;
use store::Store;
use wire::Conn;

/// How long a reader waits for a task at a time.
const PAUSE: Duration = Duration::from_millis(20);

/// How often a reader updates the counters and checks whether to stop, in rows.
const CHECK_EVERY: u64 = 2048;

/// Tables from this size on are read as bulk, in bytes.
const BULK_BYTES: u64 = 1 << 20;

/// What all readers share.
pub struct Readers<'a> {
    /// Where chunks go.
    pub store: &'a dyn Store,
    /// How they are written.
    pub compression: Compression,
    /// Row bytes after which a range continues in another file.
    pub max_chunk_bytes: u64,
    /// Figures of the phase.
    pub counters: &'a Counters,
    /// Receives an event when a table is done.
    pub observer: &'a dyn Observer,
    /// Receives the times of tasks.
    pub profiler: &'a Profiler,
    /// Receives the tasks that have ended.
    pub progress: Option<&'a Progress<'a>>,
    /// Tasks whose tables were locked.
    pub postponed: Postponed,
}

/// What came of a task.
enum Outcome {
    /// Its rows are read; what another run needs to continue behind them, if it can.
    Ended(Option<Ended>),
    /// Its table was locked, and nothing was read.
    Locked,
}

impl Readers<'_> {
    /// Works until the tasks are over.
    pub fn work(&self, conn: &mut Conn, tasks: &Receiver<Task>, stop: &Stop<'_>) -> Result<()> {
        let mut scratch = Scratch::new();
        loop {
            stop.check()?;
            self.postponed.look();
            let found = match tasks.try_recv() {
                Ok(task) => Ok(task),
                Err(_) => match self.postponed.next(conn.id()) {
                    Some(task) => Ok(task),
                    None => tasks.recv_timeout(PAUSE),
                },
            };
            let task = match found {
                Ok(task) => task,
                Err(e) => {
                    self.postponed.rest();
                    self.progress.map_or(Ok(()), Progress::tick)?;
                    if e == RecvTimeoutError::Disconnected {
                        if self.postponed.is_done() {
                            return Ok(());
                        }
                        // What another reader has locked, only that one can read.
                        std::thread::sleep(PAUSE);
                    }
                    continue;
                }
            };
            let Some(task) = self.postponed.unless_locked(task, conn.id()) else {
                self.postponed.rest();
                continue;
            };
            failpoint::reached("a task is taken");
            self.counters.busy.add(1);
            let span = self.profiler.begin(conn);
            let outcome = match task.table.unreadable() {
                Some(_) => Ok(true),
                None => match self.task(conn, &task, &mut scratch, stop) {
                    Ok(Outcome::Ended(ended)) => self.ended(ended).map(|()| true),
                    Ok(Outcome::Locked) => Ok(false),
                    Err(e) => Err(e),
                },
            };
            self.profiler.end(&span, conn, &task.series().plan.name);
            self.counters.busy.sub(1);
            stop.release_slot();
            if let Ok(false) = outcome {
                self.postponed.keep(task, conn.id(), self.observer);
                self.postponed.rest();
                continue;
            }
            self.postponed.rest();
            unreadable::given_up(&task.table, outcome.map(drop), self.observer)?;
            task.table.end_task(self.counters, self.observer);
        }
    }

    /// Notes that a task has ended, if another run could go on from there.
    fn ended(&self, ended: Option<Ended>) -> Result<()> {
        match (self.progress, ended) {
            (Some(progress), Some(ended)) => progress.ended(ended),
            _ => Ok(()),
        }
    }

    fn task(
        &self,
        conn: &mut Conn,
        task: &Task,
        scratch: &mut Scratch,
        stop: &Stop<'_>,
    ) -> Result<Outcome> {
        if task.generated {
            // From then on the reader keeps the table as it is.
            let sql = format!("SELECT 1 FROM {} LIMIT 0", task.series().plan.name);
            return match conn.execute(sql) {
                Err(e) if e.code() == Some(TOO_LONG) => Ok(Outcome::Locked),
                _ => self
                    .generated(conn, task, stop)
                    .map(|e| Outcome::Ended(Some(e))),
            };
        }
        if let Some(piece) = &task.piece {
            return self
                .read_piece(task, piece, scratch, stop)
                .map(|()| Outcome::Ended(None));
        }
        let mut chunks = Vec::new();
        let table = task.series();
        let name = &match &table.plan.choice.condition {
            Some(condition) => format!("{} (--where {condition})", table.plan.name),
            None => table.plan.name.clone(),
        };
        let sql = table.plan.select(&task.range);
        // The padding that makes a server write in large pieces is not worth it for small tables.
        let bulk = !task.single || table.data_bytes > BULK_BYTES;
        let answer = if bulk {
            conn.query_bulk(sql)
        } else {
            conn.query(sql)
        };
        let mut rows = match answer {
            Ok(rows) => rows,
            Err(e) if e.code() == Some(TOO_LONG) => return Ok(Outcome::Locked),
            Err(e) => return Err(failure::wire(format_args!("cannot read {name}"), e)),
        };
        let expected = table.plan.columns.len().max(1);
        if rows.columns().len() != expected {
            return Err(Error::new(
                Kind::Connection,
                format!(
                    "cannot read {name}: the server answered with {} columns instead of {expected}",
                    rows.columns().len()
                ),
            ));
        }
        task.table.wait_for_room(stop)?;
        let mut number = table.next_number();
        let mut chunk = self.create(task, number, scratch)?;
        let (mut seen, mut shown) = (0u64, 0u64);
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                Err(e) => {
                    return Err(failure::wire(
                        format_args!(
                            "reading {name} failed after {seen} rows of {}",
                            self.describe_range(task)
                        ),
                        e,
                    ));
                }
            };
            chunk
                .push(&table.plan.rows, row.payload())
                .map_err(|e| write_error(name, &e))?;
            seen += 1;
            if seen % CHECK_EVERY == 0 {
                stop.check()?;
                let raw = chunk.raw_bytes();
                self.counters.rows.add(CHECK_EVERY);
                self.counters.bytes.add(raw - shown);
                shown = raw;
                if raw >= self.max_chunk_bytes && !task.single {
                    chunks.push(self.finish(task, chunk, number)?);
                    task.table.wait_for_room(stop)?;
                    number = table.next_number();
                    chunk = self.create(task, number, scratch)?;
                    shown = 0;
                }
            }
        }
        self.counters.rows.add(seen % CHECK_EVERY);
        self.counters.bytes.add(chunk.raw_bytes() - shown);
        chunks.push(self.finish(task, chunk, number)?);
        let ended = Ended::rows(&task.table, &task.order, &chunks);
        Ok(Outcome::Ended(Some(ended)))
    }

    /// Digests what the server keeps of generated columns.
    fn generated(&self, conn: &mut Conn, task: &Task, stop: &Stop<'_>) -> Result<Ended> {
        let mut all = Vec::new();
        for reading in &task.table.generated {
            let digests = reading.digests(conn, || stop.check())?;
            all.extend(digests.iter().map(|kept| generated(&task.table, kept)));
            task.table.add_kept(digests);
        }
        Ok(Ended::generated(&task.table, all))
    }

    /// Begins a chunk.
    pub(crate) fn create<'s>(
        &'s self,
        task: &Task,
        number: u64,
        scratch: &'s mut Scratch,
    ) -> Result<ChunkWriter<'s>> {
        let file = task
            .series()
            .file(number, task.single, self.compression.extension());
        ChunkWriter::create(
            self.store,
            &file,
            self.compression,
            WriteOptions::default(),
            scratch,
        )
        .map_err(|e| write_error(&file, &e))
    }

    /// Ends a chunk.
    pub(crate) fn finish(
        &self,
        task: &Task,
        chunk: ChunkWriter<'_>,
        number: u64,
    ) -> Result<DoneChunk> {
        let record = chunk
            .finish()
            .map_err(|e| write_error(&task.series().plan.name, &e))?;
        self.counters.stored.add(record.stored.bytes);
        let done = DoneChunk {
            record,
            range: task.range.clone(),
            series: task.series,
            number,
        };
        task.table.add_chunk(done.clone());
        Ok(done)
    }

    fn describe_range(&self, task: &Task) -> String {
        match &task.series().plan.key {
            Some(key) => task.range.describe(key),
            None => "all rows".to_owned(),
        }
    }
}

/// The error of a chunk that could not be written.
pub fn write_error(doing: &str, e: &ArchiveError) -> Error {
    let failed = failure::archive(format_args!("cannot write {doing}"), e);
    match e {
        ArchiveError::Row { .. } => Error {
            kind: Kind::Connection,
            hint: Some("the server sent a row that does not fit its own column list".to_owned()),
            ..failed
        },
        _ => failed,
    }
}
