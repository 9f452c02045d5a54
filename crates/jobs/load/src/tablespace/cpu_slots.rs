//! CPU slots that the tables under construction share: as many as there are workers.
//!
//! The table that was begun first gets a free slot before the others, so that its import begins while the
//! next table is still built.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};

/// The threads that wait, by rank and in the order of arrival.
#[derive(Default)]
struct Queue {
    free: usize,
    next: u64,
    waiting: BTreeSet<(usize, u64)>,
}

/// The slots.
pub struct CpuSlots {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// A slot in use; free again when dropped.
pub struct CpuSlot<'a>(&'a CpuSlots);

impl CpuSlots {
    /// This many slots.
    pub fn new(count: usize) -> CpuSlots {
        CpuSlots {
            queue: Mutex::new(Queue {
                free: count.max(1),
                ..Queue::default()
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for a slot; the lower rank comes first.
    pub fn take(&self, rank: usize) -> CpuSlot<'_> {
        let mut queue = base::lock(&self.queue);
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
        // The next one that waits may find another slot free.
        self.changed.notify_all();
        CpuSlot(self)
    }
}

impl Drop for CpuSlot<'_> {
    fn drop(&mut self) {
        let mut queue = base::lock(&self.0.queue);
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
        let slots = CpuSlots::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let order = Mutex::new(Vec::new());
        let (a, b) = (slots.take(0), slots.take(0));
        std::thread::scope(|scope| {
            for rank in [3, 1, 2, 0] {
                let (slots, order, now, most) = (&slots, &order, &now, &most);
                scope.spawn(move || {
                    let slot = slots.take(rank);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    order.lock().expect("the order").push(rank);
                    std::thread::sleep(Duration::from_millis(20));
                    now.fetch_sub(1, Ordering::SeqCst);
                    drop(slot);
                });
            }
            while slots.queue.lock().expect("the queue").waiting.len() < 4 {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Only one slot becomes free, so the order is that of the queue alone.
            drop(a);
        });
        assert_eq!(*order.lock().expect("the order"), [0, 1, 2, 3]);
        assert_eq!(most.load(Ordering::SeqCst), 1);
        drop(b);
        assert_eq!(slots.queue.lock().expect("the queue").free, 2);
    }
}
