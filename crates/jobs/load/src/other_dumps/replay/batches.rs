//! Rows on their way to the loaders: INSERTs are collected into batches, batches go into a queue, and
//! statements that need the rows wait until the queue is empty.

use super::super::BATCH;
use super::super::batch::{Batch, Content, Task};
use super::super::files::InputFile;
use super::super::target_table::TargetTable;
use super::Replay;
use super::state::Key;
use crate::journal::Journal;
use base::{Counters, Error, Kind, Result};
use crossbeam_channel::{SendTimeoutError, Sender};
use dumps::script::Statement;
use dumps::statement::Name;
use run::Stop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The batch that is being filled.
#[derive(Default)]
pub(super) struct OpenBatch {
    statements: Vec<Statement>,
    bytes: usize,
    table: Option<Arc<TargetTable>>,
    /// Name and number of the file that the statements are from.
    pub(super) file: (String, usize),
}

/// Where the loaders take their work from.
pub(super) struct Queue<'a> {
    tasks: Option<Sender<Task>>,
    /// Tasks in the queue or with a loader.
    open: &'a AtomicU64,
    counters: &'a Counters,
}

impl<'a> Queue<'a> {
    pub fn new(tasks: Sender<Task>, open: &'a AtomicU64, counters: &'a Counters) -> Queue<'a> {
        Queue {
            tasks: Some(tasks),
            open,
            counters,
        }
    }

    /// Nothing more will come: the loaders end after the last task.
    pub fn close(&mut self) {
        self.tasks = None;
    }

    fn send(&self, mut task: Task, stop: &Stop<'_>) -> Result<()> {
        let Some(tasks) = &self.tasks else {
            return Err(Error::new(
                Kind::Internal,
                "the queue of the loaders is closed",
            ));
        };
        self.open.fetch_add(1, Ordering::SeqCst);
        loop {
            stop.check()?;
            match tasks.send_timeout(task, Duration::from_millis(50)) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) => task = back,
                Err(SendTimeoutError::Disconnected(_)) => {
                    return Err(Error::new(Kind::Internal, "the loaders have ended"));
                }
            }
        }
    }

    /// Queues a batch, unless the interrupted load has stored it.
    pub fn add(&self, batch: Batch, stop: &Stop<'_>) -> Result<()> {
        if let Some(journal) = batch.journal.as_ref().filter(|j| j.has(&batch.id)) {
            let rows = journal.rows(&batch.id);
            batch.table.rows.fetch_add(rows, Ordering::SeqCst);
            self.counters.bytes.add(batch.bytes);
            return Ok(());
        }
        batch.table.open.fetch_add(1, Ordering::SeqCst);
        self.send(Task::Rows(batch), stop)
    }

    fn wait_until_done(&self, stop: &Stop<'_>) -> Result<()> {
        while self.open.load(Ordering::SeqCst) > 0 {
            stop.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Replay<'_, '_> {
    /// The target's table for rows. Its own deferred indexes keep waiting for them.
    pub(super) fn target_table(
        &mut self,
        name: &Name,
        stop: &Stop<'_>,
    ) -> Result<Arc<TargetTable>> {
        let key = self.key(name)?;
        self.next_table(Some(&key), stop)?;
        if let Some(table) = self.known.filled.get(&key) {
            return Ok(Arc::clone(table));
        }
        self.begin_journal()?;
        let table = Arc::new(TargetTable::read(&mut self.t.conn, &key.0, &key.1)?);
        if table.nontransactional && self.t.resuming {
            // Its engine keeps what a killed batch has stored.
            let sql = format!("TRUNCATE TABLE {}", table.name);
            self.execute(sql.as_bytes(), &table.name.clone(), true)?;
        }
        self.known.filled.insert(key.clone(), Arc::clone(&table));
        self.known.tables.insert(key);
        Ok(table)
    }

    /// The dump continues with another table: the indexes of the tables before it are queued.
    pub(super) fn next_table(&mut self, key: Option<&Key>, stop: &Stop<'_>) -> Result<()> {
        let done: Vec<Key> = self
            .deferred
            .indexes
            .keys()
            .filter(|k| Some(*k) != key && self.known.filled.contains_key(*k))
            .cloned()
            .collect();
        if done.is_empty() {
            return Ok(());
        }
        self.flush(stop)?;
        for table in done {
            self.queue_indexes(&table, stop)?;
        }
        Ok(())
    }

    /// Queues the indexes of a table whose rows have all been queued.
    pub(super) fn queue_indexes(&mut self, key: &Key, stop: &Stop<'_>) -> Result<()> {
        let Some(groups) = self.deferred.indexes.remove(key) else {
            return Ok(());
        };
        let table = match self.known.filled.get(key) {
            Some(table) => Arc::clone(table),
            None => Arc::new(TargetTable::read(&mut self.t.conn, &key.0, &key.1)?),
        };
        self.queue.send(Task::Indexes(table, groups), stop)
    }

    /// Adds an INSERT to the batch that is being filled.
    pub(super) fn add(
        &mut self,
        file: &InputFile,
        n: usize,
        table: Arc<TargetTable>,
        s: Statement,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let other = |t: &Arc<TargetTable>| !Arc::ptr_eq(t, &table);
        if self.batch.table.as_ref().is_some_and(other) {
            self.flush(stop)?;
        }
        self.batch.bytes += s.text.len();
        self.batch.statements.push(s);
        self.batch.table = Some(table);
        self.batch.file = (file.name(), n);
        if self.batch.bytes >= BATCH {
            self.flush(stop)?;
        }
        Ok(())
    }

    /// Queues the batch that is being filled.
    pub(super) fn flush(&mut self, stop: &Stop<'_>) -> Result<()> {
        let Some(table) = self.batch.table.take() else {
            return Ok(());
        };
        let list = std::mem::take(&mut self.batch.statements);
        let bytes = std::mem::take(&mut self.batch.bytes) as u64;
        let (offset, line) = list.first().map_or((0, 0), |s| (s.offset, s.line));
        let (name, n) = &self.batch.file;
        let batch = Batch {
            id: format!("{n}@{offset}"),
            place: format!("{name}, from line {line},"),
            settings: self.script.row_settings.clone(),
            content: Content::Inserts(list),
            bytes,
            journal: self.journal_for(&table),
            table,
        };
        self.queue.add(batch, stop)
    }

    pub(super) fn journal_for(&self, table: &TargetTable) -> Option<Arc<Journal>> {
        self.journal.clone().filter(|_| !table.nontransactional)
    }

    /// Waits until all rows that were read are stored.
    pub(super) fn wait_for_rows(&mut self, stop: &Stop<'_>) -> Result<()> {
        self.flush(stop)?;
        self.queue.wait_until_done(stop)
    }
}
