//! The rate limiter of a run: how many bytes may pass in a second, whether any
//! may pass at all, and how many workers may pass bytes at a time.
//!
//! All connections share one budget, so the total is what was asked for, at any
//! number of workers. Invariants: over any period no more bytes are granted than
//! the rate allows, plus [`CREDIT`] worth of it and one quantum; rate that was
//! not used, or that fell into a pause, is lost; every change takes effect at
//! once, also for threads that wait.
//!
//! The operator's settings (rate, pause) and those of a controller (ceiling,
//! suspension, workers) are separate: neither undoes the other, and the stricter
//! one applies. The limiter itself decides nothing.

mod budget;
mod slots;
#[cfg(test)]
mod tests;

use crate::{Cancel, units};
use budget::Budget;
use slots::Slots;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Unused rate of this time may be used later, so that a late wake-up costs no rate: a fiftieth of 5 s.
pub const CREDIT: Duration = Duration::from_millis(100);

/// Lowest rate that makes sense, in bytes per second: below it a connection hardly moves.
pub const LOWEST: u64 = 1024;

/// For this long after a thread last waited for the rate, the run is said to wait for the rate; in nanoseconds.
const RECENT: u64 = 1_000_000_000;

/// See the module.
#[derive(Debug)]
pub struct RateLimiter {
    /// The name of the limit in [`RateLimiter::waiting`].
    limit: &'static str,
    /// There is no limit: the only field that is read while that is so.
    open: AtomicBool,
    passed: AtomicU64,
    /// Nanoseconds that all threads together have waited.
    waited: AtomicU64,
    /// Changes whenever [`RateLimiter::read_ahead`] may.
    version: AtomicU64,
    /// Connections that share the rate, so that buffer space can be divided among them.
    sources: AtomicUsize,
    begin: Instant,
    /// A stop that ends waits outside of the limiter.
    cancel: OnceLock<Cancel>,
    state: Mutex<State>,
    /// The first thread of the queue waits here for the budget …
    head: Condvar,
    /// … the others wait here until it has left …
    queue: Condvar,
    /// … and threads without a worker slot wait here.
    places: Condvar,
}

/// What the lock protects.
#[derive(Debug, Default)]
struct State {
    asked: Option<u64>,
    ceiling: Option<u64>,
    paused: bool,
    suspended: Option<String>,
    ended: bool,
    budget: Budget,
    slots: Slots,
    /// A thread is first in the queue.
    led: bool,
    /// When a thread last had to wait for the rate, in nanoseconds.
    for_rate: Option<u64>,
}

impl State {
    fn closed(&self) -> bool {
        self.paused || self.suspended.is_some()
    }

    fn rate(&self) -> Option<u64> {
        match (self.asked, self.ceiling) {
            (Some(a), Some(c)) => Some(a.min(c)),
            (a, c) => a.or(c),
        }
    }
}

impl RateLimiter {
    /// A limiter without a limit.
    #[allow(clippy::new_ret_no_self, reason = "a limiter is always shared")]
    pub fn new() -> Arc<RateLimiter> {
        RateLimiter::named("the rate limit")
    }

    /// As [`RateLimiter::new`], for a limit with another name, e.g. "the disk rate limit".
    pub fn named(limit: &'static str) -> Arc<RateLimiter> {
        Arc::new(RateLimiter {
            limit,
            open: AtomicBool::new(true),
            passed: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            version: AtomicU64::new(0),
            sources: AtomicUsize::new(0),
            begin: Instant::now(),
            cancel: OnceLock::new(),
            state: Mutex::default(),
            head: Condvar::new(),
            queue: Condvar::new(),
            places: Condvar::new(),
        })
    }

    // ------------------------------------------------------------ setting limits

    /// Sets the operator's rate, in bytes per second; at least [`LOWEST`].
    pub fn set_rate(&self, rate: Option<u64>) {
        self.change(|s| s.asked = rate.map(|r| r.max(LOWEST)));
    }

    /// Sets a controller's rate, in bytes per second; at least [`LOWEST`].
    pub fn set_ceiling(&self, rate: Option<u64>) {
        self.change(|s| s.ceiling = rate.map(|r| r.max(LOWEST)));
    }

    /// Pauses or resumes for the operator.
    pub fn set_paused(&self, paused: bool) {
        self.change(|s| s.paused = paused);
    }

    /// Suspends for a controller, with the reason as it follows "waiting for"; `None` ends the suspension.
    pub fn suspend(&self, reason: Option<String>) {
        self.change(|s| s.suspended = reason);
    }

    /// Sets how many workers (threads) may pass bytes at a time, at least one; those that have begun continue first.
    pub fn set_workers(&self, most: Option<usize>) {
        self.change(|s| s.slots.set_most(most.map(|n| n.max(1))));
    }

    /// The run ends: no thread waits any more, and [`RateLimiter::acquire`] grants nothing.
    pub fn end(&self) {
        self.change(|s| s.ended = true);
    }

    fn change(&self, f: impl FnOnce(&mut State)) {
        let mut s = self.lock();
        let (now, was_closed) = (self.now(), s.closed());
        f(&mut s);
        let rate = s.rate();
        s.budget.set_rate(now, rate);
        if was_closed || s.closed() {
            // A pause saves nothing up.
            s.budget.forfeit(now);
        }
        let open = rate.is_none() && !s.closed() && !s.slots.limited() && !s.ended;
        self.open.store(open, Ordering::Relaxed);
        self.version.fetch_add(1, Ordering::Relaxed);
        drop(s);
        for all in [&self.head, &self.queue, &self.places] {
            all.notify_all();
        }
    }

    // ------------------------------------------------------------ reading

    /// Whether the run ends: [`RateLimiter::end`] was called, or a stop was requested.
    pub fn has_ended(&self) -> bool {
        self.lock().ended || self.cancel.get().is_some_and(Cancel::is_raised)
    }

    /// From now on a stop that is requested here ends waits that ask for it.
    pub fn ends_with(&self, cancel: &Cancel) {
        let _ = self.cancel.set(cancel.clone());
    }

    /// The operator's rate.
    pub fn rate(&self) -> Option<u64> {
        self.lock().asked
    }

    /// A controller's rate.
    pub fn ceiling(&self) -> Option<u64> {
        self.lock().ceiling
    }

    /// The lower of the two.
    pub fn allowed(&self) -> Option<u64> {
        self.lock().rate()
    }

    /// Whether the operator has paused the run.
    pub fn paused(&self) -> bool {
        self.lock().paused
    }

    /// Why a controller has suspended the run.
    pub fn suspended(&self) -> Option<String> {
        self.lock().suspended.clone()
    }

    /// How many workers may pass bytes at a time.
    pub fn workers(&self) -> Option<usize> {
        self.lock().slots.most()
    }

    /// Bytes that passed so far, limited or not.
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// Time that all threads together have waited here.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    /// Whether there is no limit: one relaxed load.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// What threads wait for, as it follows "waiting for".
    pub fn waiting(&self) -> Option<String> {
        let s = self.lock();
        if s.ended {
            return None;
        }
        if s.paused {
            return Some("resume (paused by the operator)".to_owned());
        }
        if let Some(reason) = &s.suspended {
            return Some(reason.clone());
        }
        let last = s.for_rate?;
        if self.now().saturating_sub(last) > RECENT {
            return None;
        }
        match (s.asked, s.ceiling) {
            (Some(rate), None) => Some(format!("{} of {}", self.limit, units::rate(rate))),
            (Some(rate), Some(c)) if rate <= c => {
                Some(format!("{} of {}", self.limit, units::rate(rate)))
            }
            // A controller reports its own ceiling.
            (_, Some(_)) | (None, None) => None,
        }
    }

    // ------------------------------------------------------------ passing bytes

    /// Waits until at least one byte may pass; returns how many may, at most `want`, and at most 10 ms worth
    /// of the rate. 0 only if `want` is 0 or the run ends.
    ///
    /// A thread counts as one worker from here until [`RateLimiter::release_slot`].
    #[inline]
    pub fn acquire(&self, want: usize) -> usize {
        if self.is_open() {
            self.passed.fetch_add(want as u64, Ordering::Relaxed);
            return want;
        }
        self.acquire_in_turn(want)
    }

    /// Waits until all of them may pass; `false` if the run ends.
    pub fn acquire_all(&self, want: usize) -> bool {
        let mut got = 0;
        while got < want {
            match self.acquire(want - got) {
                0 => return false,
                n => got += n,
            }
        }
        true
    }

    #[cold]
    fn acquire_in_turn(&self, want: usize) -> usize {
        let me = std::thread::current().id();
        let began = Instant::now();
        let mut s = self.lock();
        while !s.ended && !s.slots.enter(me, self.now()) {
            // A slot may become free because its owner is quiet, which no notification says.
            s = wait(&self.places, s, Some(slots::QUIET / 4));
        }
        while s.led && !s.ended {
            s = wait(&self.queue, s, None);
        }
        s.led = true;
        let granted = loop {
            if s.ended {
                break 0;
            }
            let now = self.now();
            let pause = if s.closed() {
                None
            } else {
                match s.budget.ask(now, want) {
                    Ok(n) => break n,
                    Err(pause) => {
                        s.for_rate = Some(now);
                        Some(pause)
                    }
                }
            };
            s = wait(&self.head, s, pause);
        };
        s.led = false;
        let now = self.now();
        s.slots.granted(me, now);
        drop(s);
        self.queue.notify_one();
        self.passed.fetch_add(granted as u64, Ordering::Relaxed);
        let waited = began.elapsed().as_nanos() as u64;
        self.waited.fetch_add(waited, Ordering::Relaxed);
        granted
    }

    /// Counts bytes that cannot wait: they pass, and other bytes wait longer for it.
    #[inline]
    pub fn charge(&self, n: usize) {
        self.passed.fetch_add(n as u64, Ordering::Relaxed);
        if !self.is_open() {
            let mut s = self.lock();
            let now = self.now();
            s.budget.charge(now, n);
        }
    }

    /// Returns bytes that were granted and not used.
    #[inline]
    pub fn give_back(&self, n: usize) {
        if n == 0 {
            return;
        }
        self.passed.fetch_sub(n as u64, Ordering::Relaxed);
        if !self.is_open() {
            let mut s = self.lock();
            let now = self.now();
            s.budget.give_back(now, n);
            drop(s);
            self.head.notify_one();
        }
    }

    /// This thread passes nothing for a while: another may have its slot.
    pub fn release_slot(&self) {
        if !self.is_open() {
            self.lock().slots.leave(std::thread::current().id());
            self.places.notify_all();
        }
    }

    // ------------------------------------------------------------ bytes in kernel buffers

    /// Adds or removes a source of bytes that arrive on their own, such as a socket.
    pub fn add_source(&self, more: bool) {
        if more {
            self.sources.fetch_add(1, Ordering::Relaxed);
        } else {
            self.sources.fetch_sub(1, Ordering::Relaxed);
        }
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes whenever [`RateLimiter::read_ahead`] may have changed.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// How many bytes may be buffered for each source: together no more than 50 ms of the rate, a hundredth of
    /// what passes in 5 s. `None` without a rate.
    pub fn read_ahead(&self) -> Option<usize> {
        let rate = self.allowed()?;
        let takers = self.sources.load(Ordering::Relaxed).max(1) as u64;
        Some(usize::try_from(rate / 20 / takers).unwrap_or(usize::MAX))
    }

    fn now(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'a>(
    on: &Condvar,
    s: MutexGuard<'a, State>,
    most: Option<Duration>,
) -> MutexGuard<'a, State> {
    match most {
        None => on.wait(s).unwrap_or_else(PoisonError::into_inner),
        Some(most) => {
            let (s, _) = on
                .wait_timeout(s, most)
                .unwrap_or_else(PoisonError::into_inner);
            s
        }
    }
}
