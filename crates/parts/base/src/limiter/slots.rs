//! Who may pass when not all workers may: the first come, until they are done.
//!
//! A worker that has a place keeps it, so that what was begun is finished and
//! the others rest. It loses the place to one that waits when it leaves, or
//! when nothing was seen of it for a while: it may itself be waiting for one
//! that has none (two sessions that load rows can meet in the server's locks).

use std::thread::ThreadId;
use std::time::Duration;

/// A worker that did not pass anything for so long may lose its place.
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
    /// When it last passed something, in nanoseconds; `None` while it waits for its turn.
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

    /// Whether `who` has a place now.
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

    /// `who` passes something.
    pub(super) fn granted(&mut self, who: ThreadId, now: u64) {
        if let Some(place) = self.taken.iter_mut().find(|p| p.who == who) {
            place.seen = Some(now);
        }
    }

    /// `who` gives its place up.
    pub(super) fn leave(&mut self, who: ThreadId) {
        self.taken.retain(|p| p.who != who);
    }
}
