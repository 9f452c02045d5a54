//! The stop flag, which every worker checks between units of work.
//!
//! The first interrupt asks for a clean stop; a second one ends the process at
//! once (the terminal code does that), unless a job has delayed the exit. Waking a
//! thread that is blocked in a socket read is up to the owner of the socket.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A shared stop flag; clones see the same flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    /// Flags that stop this one, too.
    above: Vec<Arc<AtomicBool>>,
    exit_delay: Arc<Mutex<Option<String>>>,
}

/// While it lives, a second interrupt does not end the process.
#[must_use]
pub struct ExitDelay(Cancel, Option<String>);

impl Drop for ExitDelay {
    fn drop(&mut self) {
        // An outer delay stays in force.
        self.0.set_exit_delay(self.1.take());
    }
}

impl Cancel {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flag for a part of the work: a stop of all of it stops the part, and not the other way round.
    pub fn below(&self) -> Cancel {
        let mut above = self.above.clone();
        above.push(Arc::clone(&self.flag));
        Cancel {
            flag: Arc::default(),
            above,
            exit_delay: Arc::clone(&self.exit_delay),
        }
    }

    /// Asks all workers to stop.
    pub fn raise(&self) {
        self.flag.store(true, Ordering::SeqCst);
    }

    /// Keeps a second interrupt from ending the process; `why` is shown to the user.
    pub fn delay_exit(&self, why: &str) -> ExitDelay {
        let before = self.exit_delay();
        self.set_exit_delay(Some(why.to_owned()));
        ExitDelay(self.clone(), before)
    }

    /// Why a second interrupt must not end the process.
    pub fn exit_delay(&self) -> Option<String> {
        self.exit_delay
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_exit_delay(&self, why: Option<String>) {
        *self
            .exit_delay
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Whether a stop was asked for.
    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.above.iter().any(|f| f.load(Ordering::Relaxed))
    }

    /// Sleeps up to `time`, waking early when a stop is asked for; true if it was.
    pub fn sleep(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            if self.is_raised() {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cancel;

    #[test]
    fn a_part_stops_with_the_whole() {
        let all = Cancel::new();
        let (one, two) = (all.below(), all.below());
        one.raise();
        assert!(one.is_raised() && one.clone().is_raised() && one.below().is_raised());
        assert!(!all.is_raised() && !two.is_raised());
        all.raise();
        assert!(two.is_raised());
    }

    #[test]
    fn what_was_held_before_is_held_again() {
        let cancel = Cancel::new();
        let outer = cancel.delay_exit("outer");
        let inner = cancel.delay_exit("inner");
        assert_eq!(cancel.exit_delay().as_deref(), Some("inner"));
        drop(inner);
        assert_eq!(cancel.exit_delay().as_deref(), Some("outer"));
        drop(outer);
        assert_eq!(cancel.exit_delay(), None);
    }
}
