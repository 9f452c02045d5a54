//! Which chunk next: a worker stays with its table, so that keys arrive in
//! order; free workers go where most is left for each of those already there.
//! So all workers are busy until the very last chunks, even of one table.

use std::sync::Mutex;

struct Queue {
    /// Next chunk of the table.
    next: usize,
    /// Sizes of its chunks.
    sizes: Vec<u64>,
    /// Bytes not handed out yet.
    left: u64,
    /// Workers on it now.
    active: u64,
}

/// The chunks of all tables, to be handed out.
pub struct Schedule(Mutex<Vec<Queue>>);

impl Schedule {
    /// Sizes in bytes of each table's chunks.
    pub fn new(tables: Vec<Vec<u64>>) -> Schedule {
        let queues = tables
            .into_iter()
            .map(|sizes| Queue {
                next: 0,
                left: sizes.iter().map(|s| s.max(&1)).sum(),
                sizes,
                active: 0,
            })
            .collect();
        Schedule(Mutex::new(queues))
    }

    /// The next chunk for a worker that was last on `table`, as table and number.
    pub fn next(&self, table: Option<usize>) -> Option<(usize, usize)> {
        let mut queues = self.0.lock().unwrap_or_else(|e| e.into_inner());
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
        })?;
        let q = &mut queues[at];
        let chunk = q.next;
        q.next += 1;
        q.active += 1;
        q.left -= q.sizes[chunk].max(1);
        Some((at, chunk))
    }

    /// A worker is through with its chunk of `table`.
    pub fn done(&self, table: usize) {
        let mut queues = self.0.lock().unwrap_or_else(|e| e.into_inner());
        queues[table].active -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_once_and_order_within_a_table() {
        let s = Schedule::new(vec![vec![10, 10, 10], vec![], vec![5, 50], vec![0]]);
        let mut seen = Vec::new();
        let mut last = None;
        while let Some((t, c)) = s.next(last) {
            seen.push((t, c));
            s.done(t);
            last = Some(t);
        }
        assert_eq!(seen, [(2, 0), (2, 1), (0, 0), (0, 1), (0, 2), (3, 0)]);
    }

    #[test]
    fn free_workers_spread_then_share_the_last_table() {
        let s = Schedule::new(vec![vec![10; 4], vec![10; 2]]);
        let a = s.next(None).unwrap();
        let b = s.next(None).unwrap();
        assert_eq!((a.0, b.0), (0, 1));
        s.done(1);
        assert_eq!(s.next(Some(1)), Some((1, 1)));
        s.done(1);
        assert_eq!(s.next(Some(1)).unwrap().0, 0);
    }
}
