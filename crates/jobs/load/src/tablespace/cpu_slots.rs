//! Turns at the processor: as many at once as there are workers, the table that
//! was begun first before the others, so that its import begins while the next
//! is still built.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};

/// Who waits, by rank and in the order of coming.
#[derive(Default)]
struct Queue {
    free: usize,
    next: u64,
    waiting: BTreeSet<(usize, u64)>,
}

/// Turns to be had.
pub struct CpuSlots {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// A turn; over when dropped.
pub struct Turn<'a>(&'a CpuSlots);

impl CpuSlots {
    /// So many at once.
    pub fn new(most: usize) -> CpuSlots {
        CpuSlots {
            queue: Mutex::new(Queue {
                free: most.max(1),
                ..Queue::default()
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for a turn; the lower rank comes first.
    pub fn take(&self, rank: usize) -> Turn<'_> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let me = (rank, queue.next);
        queue.next += 1;
        queue.waiting.insert(me);
        while queue.free == 0 || queue.waiting.first() != Some(&me) {
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queue.waiting.remove(&me);
        queue.free -= 1;
        // Whoever is next may find another turn free.
        self.changed.notify_all();
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.free += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn never_more_than_allowed_and_the_first_table_first() {
        let turns = CpuSlots::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let order = Mutex::new(Vec::new());
        let (a, b) = (turns.take(0), turns.take(0));
        std::thread::scope(|scope| {
            for rank in [3, 1, 2, 0] {
                let (turns, order, now, most) = (&turns, &order, &now, &most);
                scope.spawn(move || {
                    let turn = turns.take(rank);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    order.lock().expect("the order").push(rank);
                    std::thread::sleep(Duration::from_millis(20));
                    now.fetch_sub(1, Ordering::SeqCst);
                    drop(turn);
                });
            }
            while turns.queue.lock().expect("the queue").waiting.len() < 4 {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Only one is let go on, so the order is theirs alone.
            drop(a);
        });
        assert_eq!(*order.lock().expect("the order"), [0, 1, 2, 3]);
        assert_eq!(most.load(Ordering::SeqCst), 1);
        drop(b);
        assert_eq!(turns.queue.lock().expect("the queue").free, 2);
    }
}
