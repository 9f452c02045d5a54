//! What a worker does next: it stays with its table, so that keys arrive in order; a free worker goes where
//! most is left for each worker that is already there. So all workers are busy until the very last chunks,
//! even of one table.
//!
//! How many chunks of a big table go together in one statement and transaction is found by trying: each
//! size twice, then the best one for the rest.
//!
//! Deferred indexes cannot be split between workers: they are built as soon as their table's rows are
//! loaded, the biggest first, while other tables' rows still come in.

use super::batch_size::{Found, Trial};
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

struct Queue {
    /// Next chunk of the table.
    next: usize,
    /// Sizes of its chunks.
    sizes: Vec<u64>,
    /// Bytes not assigned yet.
    left: u64,
    /// Chunks that are not loaded: assigned or not.
    open: usize,
    /// Workers on it now.
    active: u64,
    /// Indexes are still to be built after the last chunk; false once a worker has taken them.
    indexes: bool,
    /// All chunks go together.
    whole: bool,
    /// More chunks may come.
    grows: bool,
    given_up: bool,
    trial: Option<Trial>,
}

/// A table's part in the schedule.
pub struct Work {
    /// Sizes in bytes of the chunks to load.
    pub sizes: Vec<u64>,
    /// Whether indexes are added after the rows.
    pub indexes: bool,
    /// Whether all chunks go together.
    pub whole: bool,
    /// Whether some may.
    pub trial: bool,
    /// Whether more chunks come while it is worked on.
    pub grows: bool,
}

/// What a worker does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Load chunks together, by table and position among the table's sizes.
    Chunks(usize, Range<usize>),
    /// Add the indexes of a table whose rows are all loaded.
    Indexes(usize),
    /// Nothing at the moment; ask again.
    Wait,
    /// Nothing is left.
    End,
}

/// The work on all tables.
pub struct Schedule {
    queues: Mutex<Vec<Queue>>,
    changed: Condvar,
}

impl Schedule {
    /// A schedule for these tables.
    pub fn new(tables: Vec<Work>) -> Schedule {
        let queues = tables
            .into_iter()
            .map(|w| Queue {
                trial: Trial::of(w.sizes.len()).filter(|_| w.trial && !w.whole),
                whole: w.whole,
                grows: w.grows,
                given_up: false,
                next: 0,
                left: w.sizes.iter().map(|s| s.max(&1)).sum(),
                open: w.sizes.len(),
                sizes: w.sizes,
                active: 0,
                indexes: w.indexes,
            })
            .collect();
        Schedule {
            queues: Mutex::new(queues),
            changed: Condvar::new(),
        }
    }

    /// The next task for a worker that was last on `table`. Waits a moment if
    /// there is none yet.
    pub fn next(&self, table: Option<usize>) -> Task {
        let mut queues = self.lock();
        match pick(&mut queues, table) {
            Task::Wait => {
                let moment = Duration::from_millis(50);
                let (mut queues, _) = self
                    .changed
                    .wait_timeout(queues, moment)
                    .unwrap_or_else(PoisonError::into_inner);
                pick(&mut queues, table)
            }
            task => task,
        }
    }

    /// Another chunk of `table`, of this size; false if nothing more of it shall be loaded.
    pub fn add(&self, table: usize, size: u64) -> bool {
        let mut queues = self.lock();
        let q = &mut queues[table];
        if q.given_up {
            return false;
        }
        q.sizes.push(size);
        q.left += size.max(1);
        q.open += 1;
        self.changed.notify_all();
        true
    }

    /// No more chunks of `table` come.
    pub fn complete(&self, table: usize) {
        self.lock()[table].grows = false;
        self.changed.notify_all();
    }

    /// A worker has loaded chunks of `table`, and `took` this long.
    pub fn done(&self, table: usize, chunks: Range<usize>, took: Duration) {
        let mut queues = self.lock();
        let q = &mut queues[table];
        q.active -= 1;
        q.open -= chunks.len();
        let bytes = q.sizes[chunks.clone()].iter().sum();
        if let Some(trial) = &mut q.trial {
            trial.done(chunks.len(), bytes, took);
        }
        self.changed.notify_all();
    }

    /// A worker could not load chunks of `table`, and nothing more of it shall be loaded.
    pub fn give_up(&self, table: usize) {
        let mut queues = self.lock();
        let q = &mut queues[table];
        q.active -= 1;
        q.next = q.sizes.len();
        q.left = 0;
        q.indexes = false;
        q.given_up = true;
        self.changed.notify_all();
    }

    /// The best sizes of the tables that are big enough to try sizes on.
    pub fn found(&self) -> Vec<(usize, Found)> {
        let queues = self.lock();
        let found = |q: &Queue| q.trial.as_ref().and_then(Trial::found);
        let all = queues.iter().enumerate();
        all.filter_map(|(i, q)| Some((i, found(q)?))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Queue>> {
        base::lock(&self.queues)
    }
}

fn pick(queues: &mut [Queue], table: Option<usize>) -> Task {
    let size = |q: &Queue| q.sizes.iter().sum::<u64>();
    let indexes = (0..queues.len())
        .filter(|i| queues[*i].indexes && queues[*i].open == 0 && !queues[*i].grows)
        .max_by_key(|i| (size(&queues[*i]), std::cmp::Reverse(*i)));
    if let Some(at) = indexes {
        queues[at].indexes = false;
        return Task::Indexes(at);
    }
    let has = |q: &Queue| q.next < q.sizes.len();
    let stay = table.filter(|t| queues.get(*t).is_some_and(|q| has(q) && q.active == 0));
    let at = stay.or_else(|| {
        (0..queues.len())
            .filter(|i| has(&queues[*i]))
            .max_by_key(|i| {
                (
                    queues[*i].left / (queues[*i].active + 1),
                    std::cmp::Reverse(*i),
                )
            })
    });
    let Some(at) = at else {
        let later = queues.iter().any(|q| q.indexes || q.grows);
        return if later { Task::Wait } else { Task::End };
    };
    let q = &mut queues[at];
    let rest = q.sizes.len() - q.next;
    let n = match &mut q.trial {
        _ if q.whole => rest,
        Some(trial) => trial.next().min(rest),
        None => 1,
    };
    let chunks = q.next..q.next + n;
    q.next += n;
    q.active += 1;
    q.left -= q.sizes[chunks.clone()]
        .iter()
        .map(|s| s.max(&1))
        .sum::<u64>();
    Task::Chunks(at, chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(sizes: Vec<Vec<u64>>) -> Schedule {
        let work = |sizes| Work {
            sizes,
            indexes: false,
            whole: false,
            trial: true,
            grows: false,
        };
        Schedule::new(sizes.into_iter().map(work).collect())
    }

    #[test]
    fn every_chunk_once_and_order_within_a_table() {
        let s = rows(vec![vec![10, 10, 10], vec![], vec![5, 50], vec![0]]);
        let mut seen = Vec::new();
        let mut last = None;
        while let Task::Chunks(t, c) = s.next(last) {
            seen.push((t, c.start));
            s.done(t, c, Duration::ZERO);
            last = Some(t);
        }
        assert_eq!(seen, [(2, 0), (2, 1), (0, 0), (0, 1), (0, 2), (3, 0)]);
    }

    #[test]
    fn a_table_that_is_given_up_ends_alone() {
        let one = |indexes| Work {
            sizes: vec![9, 9, 9],
            indexes,
            whole: false,
            trial: false,
            grows: false,
        };
        let s = Schedule::new(vec![one(true), one(false)]);
        assert_eq!(s.next(Some(0)), Task::Chunks(0, 0..1));
        s.give_up(0);
        for n in 0..3 {
            assert_eq!(s.next(None), Task::Chunks(1, n..n + 1));
            s.done(1, n..n + 1, Duration::ZERO);
        }
        assert_eq!(s.next(None), Task::End);
    }

    #[test]
    fn free_workers_spread_then_share_the_last_table() {
        let s = rows(vec![vec![10; 4], vec![10; 2]]);
        assert_eq!(s.next(None), Task::Chunks(0, 0..1));
        assert_eq!(s.next(None), Task::Chunks(1, 0..1));
        s.done(1, 0..1, Duration::ZERO);
        assert_eq!(s.next(Some(1)), Task::Chunks(1, 1..2));
        s.done(1, 0..1, Duration::ZERO);
        assert!(matches!(s.next(Some(1)), Task::Chunks(0, _)));
    }

    #[test]
    fn indexes_are_built_as_soon_as_their_rows_are_loaded() {
        let work = |sizes: Vec<u64>| Work {
            sizes,
            indexes: true,
            whole: false,
            trial: true,
            grows: false,
        };
        let s = Schedule::new(vec![work(vec![1, 1]), work(vec![]), work(vec![9, 9])]);
        // A table whose rows were loaded already.
        assert_eq!(s.next(None), Task::Indexes(1));
        assert_eq!(s.next(None), Task::Chunks(2, 0..1));
        assert_eq!(s.next(None), Task::Chunks(2, 1..2));
        s.done(2, 0..1, Duration::ZERO);
        // One chunk of the big table is still being loaded.
        assert_eq!(s.next(Some(2)), Task::Chunks(0, 0..1));
        s.done(2, 0..1, Duration::ZERO);
        assert_eq!(s.next(Some(2)), Task::Indexes(2));
        s.done(0, 0..1, Duration::ZERO);
        assert_eq!(s.next(Some(0)), Task::Chunks(0, 1..2));
        assert_eq!(s.next(None), Task::Wait);
        s.done(0, 0..1, Duration::ZERO);
        assert_eq!(s.next(None), Task::Indexes(0));
        assert_eq!(s.next(None), Task::End);
    }

    #[test]
    fn a_table_that_grows_is_not_over_before_it_is_complete() {
        let s = Schedule::new(vec![Work {
            sizes: Vec::new(),
            indexes: true,
            whole: false,
            trial: false,
            grows: true,
        }]);
        assert_eq!(s.next(None), Task::Wait);
        assert!(s.add(0, 7));
        assert_eq!(s.next(None), Task::Chunks(0, 0..1));
        s.done(0, 0..1, Duration::ZERO);
        assert_eq!(s.next(None), Task::Wait);
        assert!(s.add(0, 8));
        s.complete(0);
        assert_eq!(s.next(None), Task::Chunks(0, 1..2));
        s.done(0, 1..2, Duration::ZERO);
        assert_eq!(s.next(None), Task::Indexes(0));
        assert_eq!(s.next(None), Task::End);
    }

    #[test]
    fn all_chunks_of_a_whole_table_go_together() {
        let s = Schedule::new(vec![Work {
            sizes: vec![1, 2, 3],
            indexes: false,
            whole: true,
            trial: true,
            grows: false,
        }]);
        assert_eq!(s.next(None), Task::Chunks(0, 0..3));
        assert_eq!(s.next(None), Task::End);
    }

    #[test]
    fn sizes_are_tried_and_the_best_stays() {
        let s = rows(vec![vec![10; 60]]);
        let mut sizes = Vec::new();
        while let Task::Chunks(t, c) = s.next(Some(0)) {
            sizes.push(c.len());
            // Two together go twice as fast as any other number.
            let each = if c.len() == 2 { 50 } else { 100 };
            s.done(t, c.clone(), Duration::from_millis(each * c.len() as u64));
        }
        assert_eq!(sizes[..8], [1, 1, 2, 2, 4, 4, 2, 2]);
        assert_eq!(sizes.iter().sum::<usize>(), 60);
        let found = s.found();
        assert_eq!(
            (found[0].0, found[0].1.chunks, found[0].1.gain),
            (0, 2, 100)
        );
    }
}
