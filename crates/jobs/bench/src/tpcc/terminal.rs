//! A terminal: a thread with one connection that runs one transaction after
//! the other, and what it shares with the others.

use super::board::{Board, Ended};
use super::input::Input;
use super::mix::Deck;
use super::orders::{delivery, new_order, order_status, stock_level};
use super::payments::payment;
use super::random::Random;
use super::session::{Result, Session, Trouble};
use base::{Cancel, Error};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What all terminals share.
pub(super) struct Shared {
    /// When the workload began.
    pub(super) began: Instant,
    /// Set to end it after the transactions that are under way.
    pub(super) stop: AtomicBool,
    /// The user's wish to end it.
    pub(super) cancel: Cancel,
    /// The first error of a terminal; the others end with it.
    pub(super) failed: Mutex<Option<Error>>,
    pub(super) board: Mutex<Board>,
    pub(super) deck: Mutex<Deck>,
    /// For each terminal when its transaction began, in microseconds since the
    /// workload did; [`IDLE`] between two.
    pub(super) under_way: Vec<AtomicU64>,
}

/// No transaction is under way.
pub(super) const IDLE: u64 = u64::MAX;

impl Shared {
    pub(super) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.is_raised()
    }

    pub(super) fn fail(&self, e: Error) {
        // What breaks because of the stop is nobody's fault.
        if !self.stopping() {
            lock(&self.failed).get_or_insert(e);
        }
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }
}

/// A lock whose holder panicked is still good: only figures are behind it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    base::lock(mutex)
}

/// One terminal.
pub(super) struct Terminal<'a> {
    pub(super) session: Session,
    pub(super) random: Random,
    pub(super) warehouses: u32,
    /// Its place in [`Shared::under_way`].
    pub(super) number: usize,
    /// Time from the beginning of one transaction to that of the next, at least.
    pub(super) pace: Option<Duration>,
    pub(super) shared: &'a Shared,
}

/// How a transaction ended.
struct Outcome {
    committed: bool,
    skipped: u64,
}

impl Terminal<'_> {
    /// Works until it is told to stop.
    pub(super) fn work(mut self) -> Result<()> {
        let shared = self.shared;
        let mut due = Instant::now();
        while !shared.stopping() {
            if let Some(pace) = self.pace {
                self.wait(due);
                // What was missed while the server stalled is not made up for.
                due = (due + pace).max(Instant::now());
            }
            let transaction = lock(&shared.deck).deal();
            let input = Input::of(transaction, &mut self.random, self.warehouses);
            let begun = Instant::now();
            let under_way = &shared.under_way[self.number];
            let micros = begun.duration_since(shared.began).as_micros();
            under_way.store(u64::try_from(micros).unwrap_or(0), Ordering::Relaxed);
            let mut retries = 0;
            let outcome = loop {
                match self.perform(&input) {
                    Ok(outcome) => break Some(outcome),
                    Err(e) if e.passes() => {
                        // A deadlock has rolled all back, a lock wait only its statement.
                        self.session.run(format_args!("ROLLBACK"))?;
                        if shared.stopping() {
                            break None;
                        }
                        retries += 1;
                    }
                    Err(e) => return Err(e),
                }
            };
            let latency = begun.elapsed();
            under_way.store(IDLE, Ordering::Relaxed);
            if let Some(Outcome { committed, skipped }) = outcome {
                lock(&shared.board).record(&Ended {
                    transaction,
                    at: shared.now(),
                    latency,
                    committed,
                    retries,
                    skipped,
                });
            }
        }
        Ok(())
    }

    fn wait(&self, until: Instant) {
        while !self.shared.stopping() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }

    fn perform(&mut self, input: &Input) -> Result<Outcome, Trouble> {
        let s = &mut self.session;
        let (mut committed, mut skipped) = (true, 0);
        match input {
            Input::NewOrder {
                home,
                customer,
                lines,
            } => committed = new_order(s, *home, *customer, lines)?,
            Input::Payment {
                home,
                of,
                customer,
                cents,
            } => payment(s, *home, *of, customer, *cents)?,
            Input::OrderStatus { home, customer } => order_status(s, *home, customer)?,
            Input::Delivery { warehouse, carrier } => skipped = delivery(s, *warehouse, *carrier)?,
            Input::StockLevel { home, threshold } => stock_level(s, *home, *threshold)?,
        }
        Ok(Outcome { committed, skipped })
    }
}
