//! The phase that moves the rows: one planner divides the tables into tasks, the readers write chunks.

use crate::postponed::{PATIENCE, Postponed};
use crate::progress::Progress;
use crate::tables::TableState;
use crate::{Compression, Options, plan, read};
use base::Result;
use run::throttle::Throttle;
use run::{Run, bottleneck, failure};
use server::Identity;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::Store;
use wire::Conn;

/// What the phase needs besides its connections and tables.
pub struct RowsPhase<'a> {
    pub run: &'a Run,
    pub options: &'a Options,
    /// The source.
    pub id: &'a Identity,
    pub store: &'a dyn Store,
    pub throttle: Option<&'a Throttle>,
    /// Receives the tasks that have ended.
    pub progress: Option<&'a Progress<'a>>,
}

/// The result of the phase.
pub struct RowsDone {
    pub seconds: f64,
    /// The tables, the largest first; those whose rows were not read last.
    pub tables: Vec<Arc<TableState>>,
    pub bottleneck: Option<bottleneck::Report>,
}

impl RowsPhase<'_> {
    /// Reads all rows of `tables`.
    pub fn run(
        &self,
        planner: &mut Conn,
        readers: &mut [Conn],
        tables: &[Arc<TableState>],
    ) -> Result<RowsDone> {
        let phase = self.run.phase(
            match self.options.feed {
                Some(_) => "reading rows",
                None => "dumping rows",
            },
            readers.len(),
        );
        if let Some(throttle) = self.throttle {
            throttle.rows_started(&phase.counters);
        }
        let (taken, mut tables): (Vec<_>, Vec<_>) =
            tables.iter().cloned().partition(|t| t.taken().is_some());
        tables.sort_by_key(|t| std::cmp::Reverse(t.table.data_bytes));
        phase
            .counters
            .rows_expected
            .set(tables.iter().map(|t| t.table.rows_estimate).sum());
        phase
            .counters
            .bytes_expected
            .set(tables.iter().map(|t| t.table.data_bytes).sum());
        let (send, receive) = crossbeam_channel::bounded(256);
        let job = bottleneck::Job::Dump {
            level: match self.options.compression {
                Compression::Zstd(level) => Some(level),
                _ => None,
            },
        };
        let counted = self
            .run
            .with_limiter(&self.options.source, wire::Direction::Received);
        let profiler =
            bottleneck::Profiler::start(job, &counted, self.id, readers.len(), &self.run.observer)
                .with_disk_limiter(&self.run.disk_limiter)
                .with_link(self.store.link());
        // Only now: nothing before the release of the read lock may wait for a rate limit.
        for conn in readers.iter_mut() {
            conn.set_limited(true);
        }
        for conn in readers.iter_mut().chain([&mut *planner]) {
            let sql = format!("SET SESSION lock_wait_timeout = {PATIENCE}");
            conn.execute(sql)
                .map_err(|e| failure::wire("cannot set lock_wait_timeout", e))?;
        }
        let shared = read::Readers {
            profiler: &profiler,
            progress: self.progress,
            store: self.store,
            compression: self.options.compression,
            max_chunk_bytes: self.options.chunk_bytes.saturating_mul(2),
            counters: &phase.counters,
            observer: &*self.run.observer,
            postponed: Postponed::default(),
        };
        enum Role<'c> {
            Plan(&'c mut Conn, crossbeam_channel::Sender<plan::Task>),
            Read(&'c mut Conn, crossbeam_channel::Receiver<plan::Task>),
        }
        let mut roles = vec![Role::Plan(planner, send)];
        let count = readers.len();
        roles.extend(readers.iter_mut().map(|c| Role::Read(c, receive.clone())));
        drop(receive);
        let reading = AtomicUsize::new(count);
        let (planned, shared, reading) = (&tables, &shared, &reading);
        self.run.workers(roles, |_, role, stop| match role {
            Role::Plan(conn, send) => {
                let bytes = self.options.chunk_bytes;
                plan::plan(
                    conn,
                    self.id,
                    planned,
                    self.options.files.as_ref(),
                    bytes,
                    &send,
                    &phase.counters,
                    self.run,
                    stop,
                )?;
                drop(send);
                // The planner is idle now: it makes finished chunks durable while others are still read, so that
                // little remains to be synced at the end. Rarely, because a sync slows the writers down.
                let (mut synced, mut checked) = (0, 0u32);
                while reading.load(Ordering::Acquire) > 0 && !stop.is_requested() {
                    std::thread::sleep(Duration::from_millis(20));
                    checked += 1;
                    self.progress.map_or(Ok(()), Progress::tick)?;
                    let stored = phase.counters.stored.get();
                    if checked.is_multiple_of(16) && stored > synced {
                        synced = stored;
                        self.store
                            .sync()
                            .map_err(|e| failure::store("cannot write the archive", &e))?;
                    }
                }
                Ok(())
            }
            Role::Read(conn, receive) => {
                let outcome = shared.work(conn, &receive, stop);
                reading.fetch_sub(1, Ordering::Release);
                outcome
            }
        })?;
        let seconds = phase.seconds();
        tables.extend(taken);
        Ok(RowsDone {
            seconds,
            tables,
            bottleneck: profiler.finish(),
        })
    }
}
