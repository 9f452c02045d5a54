//! Which workers may pass bytes when not all may: the first ones, until they are done.
//!
//! A worker keeps its slot, so that it can finish what it has begun while others
//! wait. It loses the slot when it releases it, or when it has been quiet for a
//! while and another worker waits: it may itself be waiting for a worker without
//! a slot (two sessions that load rows can wait for each other's locks).

use std::thread::ThreadId;
use std::time::Duration;

/// A worker that has passed nothing for this long may lose its slot.
pub(super) const QUIET: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Slots {
    most: Option<usize>,
    taken: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    who: ThreadId,
    /// When it last passed bytes, in nanoseconds; `None` while it waits for its turn.
    seen: Option<u64>,
}

impl Slots {
    pub(super) fn set_most(&mut self, most: Option<usize>) {
        self.most = most;
        if most.is_none() {
            self.taken.clear();
        }
    }

    pub(super) fn most(&self) -> Option<usize> {
        self.most
    }

    pub(super) fn limited(&self) -> bool {
        self.most.is_some()
    }

    /// Whether `who` has a slot now; takes a free one for it.
    pub(super) fn enter(&mut self, who: ThreadId, now: u64) -> bool {
        let Some(most) = self.most else {
            return true;
        };
        if let Some(at) = self.taken.iter().position(|p| p.who == who) {
            if at < most {
                self.taken[at].seen = None;
                return true;
            }
            self.taken.remove(at);
            return false;
        }
        if self.taken.len() >= most {
            let quiet = |p: &Slot| {
                let gone = p.seen.map(|seen| now.saturating_sub(seen));
                gone.is_some_and(|gone| u128::from(gone) >= QUIET.as_nanos())
            };
            match self.taken.iter().position(quiet) {
                Some(at) => drop(self.taken.remove(at)),
                None => return false,
            }
        }
        if self.taken.len() >= most {
            return false;
        }
        self.taken.push(Slot { who, seen: None });
        true
    }

    /// `who` passes bytes.
    pub(super) fn granted(&mut self, who: ThreadId, now: u64) {
        if let Some(place) = self.taken.iter_mut().find(|p| p.who == who) {
            place.seen = Some(now);
        }
    }

    /// `who` releases its slot.
    pub(super) fn leave(&mut self, who: ThreadId) {
        self.taken.retain(|p| p.who != who);
    }
}
