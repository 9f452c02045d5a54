//! What next: a worker stays with its table, so that keys arrive in order; free
//! workers go where most is left for each of those already there. So all
//! workers are busy until the very last chunks, even of one table.
//!
//! Keys that are added behind the rows cannot be split: they are built as soon
//! as their table's rows are there, the biggest first, while other tables'
//! rows still come in.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

struct Queue {
    /// Next chunk of the table.
    next: usize,
    /// Sizes of its chunks.
    sizes: Vec<u64>,
    /// Bytes not handed out yet.
    left: u64,
    /// Chunks handed out and not done, and those not handed out.
    open: usize,
    /// Workers on it now.
    active: u64,
    keys: Keys,
}

/// What is to be done about a table's keys behind its rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Nothing, or it has been handed out.
    None,
    /// They wait for the last chunk.
    Later,
}

/// A table's part in the schedule.
pub struct Work {
    /// Sizes in bytes of the chunks to load.
    pub sizes: Vec<u64>,
    /// Whether keys are to be added behind the rows.
    pub keys: bool,
}

/// What a worker is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Load a chunk, by table and position among the table's sizes.
    Chunk(usize, usize),
    /// Add the keys of a table, whose rows are all there.
    Keys(usize),
    /// Nothing at the moment; ask again.
    Wait,
    /// Nothing any more.
    End,
}

/// The work on all tables, to be handed out.
pub struct Schedule {
    queues: Mutex<Vec<Queue>>,
    changed: Condvar,
}

impl Schedule {
    /// What there is to do on each table.
    pub fn new(tables: Vec<Work>) -> Schedule {
        let queues = tables
            .into_iter()
            .map(|w| Queue {
                next: 0,
                left: w.sizes.iter().map(|s| s.max(&1)).sum(),
                open: w.sizes.len(),
                sizes: w.sizes,
                active: 0,
                keys: if w.keys { Keys::Later } else { Keys::None },
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

    /// A worker is through with a chunk of `table`.
    pub fn done(&self, table: usize) {
        let mut queues = self.lock();
        queues[table].active -= 1;
        queues[table].open -= 1;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pick(queues: &mut [Queue], table: Option<usize>) -> Task {
    let size = |q: &Queue| q.sizes.iter().sum::<u64>();
    let keys = (0..queues.len())
        .filter(|i| queues[*i].keys == Keys::Later && queues[*i].open == 0)
        .max_by_key(|i| (size(&queues[*i]), std::cmp::Reverse(*i)));
    if let Some(at) = keys {
        queues[at].keys = Keys::None;
        return Task::Keys(at);
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
        let later = queues.iter().any(|q| q.keys == Keys::Later);
        return if later { Task::Wait } else { Task::End };
    };
    let q = &mut queues[at];
    let chunk = q.next;
    q.next += 1;
    q.active += 1;
    q.left -= q.sizes[chunk].max(1);
    Task::Chunk(at, chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(sizes: Vec<Vec<u64>>) -> Schedule {
        let work = |sizes| Work { sizes, keys: false };
        Schedule::new(sizes.into_iter().map(work).collect())
    }

    #[test]
    fn every_chunk_once_and_order_within_a_table() {
        let s = rows(vec![vec![10, 10, 10], vec![], vec![5, 50], vec![0]]);
        let mut seen = Vec::new();
        let mut last = None;
        while let Task::Chunk(t, c) = s.next(last) {
            seen.push((t, c));
            s.done(t);
            last = Some(t);
        }
        assert_eq!(seen, [(2, 0), (2, 1), (0, 0), (0, 1), (0, 2), (3, 0)]);
    }

    #[test]
    fn free_workers_spread_then_share_the_last_table() {
        let s = rows(vec![vec![10; 4], vec![10; 2]]);
        assert_eq!(s.next(None), Task::Chunk(0, 0));
        assert_eq!(s.next(None), Task::Chunk(1, 0));
        s.done(1);
        assert_eq!(s.next(Some(1)), Task::Chunk(1, 1));
        s.done(1);
        assert!(matches!(s.next(Some(1)), Task::Chunk(0, _)));
    }

    #[test]
    fn keys_come_as_soon_as_their_rows_are_there() {
        let work = |sizes: Vec<u64>| Work { sizes, keys: true };
        let s = Schedule::new(vec![work(vec![1, 1]), work(vec![]), work(vec![9, 9])]);
        // A table whose rows were there already.
        assert_eq!(s.next(None), Task::Keys(1));
        assert_eq!(s.next(None), Task::Chunk(2, 0));
        assert_eq!(s.next(None), Task::Chunk(2, 1));
        s.done(2);
        // One chunk of the big table is still on its way.
        assert_eq!(s.next(Some(2)), Task::Chunk(0, 0));
        s.done(2);
        assert_eq!(s.next(Some(2)), Task::Keys(2));
        s.done(0);
        assert_eq!(s.next(Some(0)), Task::Chunk(0, 1));
        assert_eq!(s.next(None), Task::Wait);
        s.done(0);
        assert_eq!(s.next(None), Task::Keys(0));
        assert_eq!(s.next(None), Task::End);
    }
}
