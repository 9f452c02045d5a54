//! CPU slots that the tables under construction share: as many as there are workers.
//!
//! The table that was begun first gets a free slot before the others, so that its import begins while the
//! next table is still built.

use base::Counters;
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};

/// The threads that wait, by rank and in the order of arrival.
#[derive(Default)]
struct Queue {
    /// Below zero where threads that had lent theirs continue beside those that began meanwhile.
    free: isize,
    /// How many are lent.
    lent: isize,
    next: u64,
    waiting: BTreeSet<(usize, u64)>,
}

/// The slots.
pub struct CpuSlots<'c> {
    queue: Mutex<Queue>,
    changed: Condvar,
    count: isize,
    /// Of the phase: how many slots are in use.
    counters: &'c Counters,
}

/// A slot in use; free again when dropped.
pub struct CpuSlot<'a>(&'a CpuSlots<'a>);

impl<'c> CpuSlots<'c> {
    /// This many slots.
    pub fn new(count: usize, counters: &'c Counters) -> CpuSlots<'c> {
        let count = count.max(1).cast_signed();
        CpuSlots {
            queue: Mutex::new(Queue {
                free: count,
                ..Queue::default()
            }),
            changed: Condvar::new(),
            count,
            counters,
        }
    }

    /// Waits for a slot; the lower rank comes first.
    pub fn take(&self, rank: usize) -> CpuSlot<'_> {
        let mut queue = base::lock(&self.queue);
        let me = (rank, queue.next);
        queue.next += 1;
        queue.waiting.insert(me);
        while queue.free <= 0 || queue.waiting.first() != Some(&me) {
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        queue.waiting.remove(&me);
        // The next one that waits may find another slot free.
        self.add_free(&mut queue, -1);
        CpuSlot(self)
    }

    /// Leaves the caller's slot to others while it waits for something else than the processor, unless twice as many as there
    /// are have been left to others already. It continues without waiting for a slot: others keep theirs for much longer
    /// than a disk reads.
    pub fn lend<T>(&self, wait: impl FnOnce() -> T) -> T {
        let lends = {
            let mut queue = base::lock(&self.queue);
            // So no more than three times as many threads as there are slots compute.
            let lends = queue.lent - queue.free < 2 * self.count;
            if lends {
                queue.lent += 1;
                self.add_free(&mut queue, 1);
            }
            lends
        };
        let outcome = wait();
        if lends {
            let mut queue = base::lock(&self.queue);
            queue.lent -= 1;
            self.add_free(&mut queue, -1);
        }
        outcome
    }

    fn add_free(&self, queue: &mut Queue, n: isize) {
        queue.free += n;
        let busy = (self.count - queue.free).clamp(0, self.count);
        self.counters.busy.set(busy.cast_unsigned() as u64);
        if queue.free > 0 && !queue.waiting.is_empty() {
            self.changed.notify_all();
        }
    }
}

impl Drop for CpuSlot<'_> {
    fn drop(&mut self) {
        self.0.add_free(&mut base::lock(&self.0.queue), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn never_more_than_allowed_and_the_first_table_first() {
        let counters = Counters::default();
        let slots = CpuSlots::new(2, &counters);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let order = Mutex::new(Vec::new());
        let (a, b) = (slots.take(0), slots.take(0));
        assert_eq!(counters.busy.get(), 2);
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
        assert_eq!(counters.busy.get(), 0);
    }

    /// Another has the slot while its holder waits, and the holder continues though the other still has it.
    #[test]
    fn a_slot_is_lent_while_its_holder_waits() {
        let counters = Counters::default();
        let slots = CpuSlots::new(1, &counters);
        let mine = slots.take(0);
        let (go, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let slots = &slots;
            scope.spawn(move || {
                let _slot = slots.take(1);
                go.send(()).expect("the holder waits");
                ended.recv().expect("an end");
            });
            slots.lend(|| begun.recv()).expect("the other began");
            // Both work, on one slot.
            assert_eq!(slots.queue.lock().expect("the queue").free, -1);
            assert_eq!(counters.busy.get(), 1);
            end.send(()).expect("the other waits");
        });
        drop(mine);
        assert_eq!(slots.queue.lock().expect("the queue").free, 1);
        assert_eq!(counters.busy.get(), 0);
    }

    /// However many read, only so many others begin.
    #[test]
    fn not_every_slot_is_lent() {
        let counters = Counters::default();
        let slots = CpuSlots::new(1, &counters);
        let free = || slots.queue.lock().expect("the queue").free;
        let _mine = slots.take(0);
        slots.lend(|| {
            let _second = slots.take(0);
            slots.lend(|| {
                let _third = slots.take(0);
                assert_eq!(free(), 0);
                slots.lend(|| assert_eq!(free(), 0));
            });
            assert_eq!(free(), 0);
        });
        assert_eq!(free(), 0);
    }
}
