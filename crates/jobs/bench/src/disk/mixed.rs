//! All of it at the same time, in the proportions of TPC-C: sessions read pages and wait for their commits, and a page
//! cleaner with doublewrite follows them. As in a server, sessions wait when the cleaner falls behind.

use super::buffer::Buffer;
use super::doublewrite::{BATCH, Cleaner};
use super::estimate::MODEL;
use super::figures::Measured;
use super::log::{Log, Sync};
use super::pages::PAGE;
use super::place::{DATA, LOG};
use super::random::{Tested, log_size};
use super::threads::each;
use super::window::{Tally, Window, pass};
use crate::tpcc::random::Random;
use base::{Result, lock};
use run::Run;
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Sessions.
pub const SESSIONS: usize = 16;

/// Pages that may wait for the cleaner before sessions wait for it: as a server whose redo log is nearly full.
const DIRTY: f64 = 16.0 * BATCH as f64;

/// Pages that wait to be written.
#[derive(Default)]
struct Dirty {
    pages: f64,
    ended: bool,
}

/// The pages and those who wait for a change of them.
#[derive(Default)]
struct Backlog(Mutex<Dirty>, Condvar);

impl Backlog {
    /// Waits until it is so, or the cleaner has ended; not longer than the run and the window last.
    fn until(&self, run: &Run, end: Instant, so: impl Fn(&Dirty) -> bool) -> bool {
        let mut d = lock(&self.0);
        while !so(&d) && !d.ended && !run.cancel.is_raised() && Instant::now() < end {
            let waited = self.1.wait_timeout(d, Duration::from_millis(20));
            d = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        so(&d)
    }

    fn change(&self, f: impl FnOnce(&mut Dirty)) {
        f(&mut lock(&self.0));
        self.1.notify_all();
    }
}

/// New-Orders, with the part of the other transactions that belongs to each.
pub fn measure(run: &Run, tested: &mut Tested, window: Window) -> Result<Measured> {
    let seed = tested.next_seed();
    let data = tested.file(DATA)?;
    tested.forget(data)?;
    let log = Log::new(tested.file(LOG)?, log_size(tested.size), Sync::Data, seed);
    let backlog = Backlog::default();
    let pages = (tested.size / PAGE as u64).max(1);
    let read = |run: &Run, page: &mut Buffer, random: &mut Random| {
        pass(run, &tested.counters, PAGE)?;
        let at = random.next() % pages * PAGE as u64;
        data.read_exact_at(page.bytes_mut(), at)
            .map_err(|e| tested.failed("read", &e))
    };
    let session = |run: &Run, i: usize| {
        let mut random = Random::new(seed, &[i as u64]);
        let mut page = Buffer::new(PAGE, seed ^ i as u64);
        let (mut orders, mut commits) = (Tally::new(window)?, Tally::new(window)?);
        let (mut reads, mut waits) = (0.0, 0.0);
        while !window.is_over(run) {
            let began = Instant::now();
            reads += MODEL.reads;
            while reads >= 1.0 {
                read(run, &mut page, &mut random)?;
                reads -= 1.0;
            }
            waits += MODEL.commits;
            while waits >= 1.0 {
                pass(run, &tested.counters, MODEL.redo)?;
                let at = Instant::now();
                // Once for the redo log, once for the binary log.
                for _ in 0..MODEL.syncs {
                    log.commit(run, MODEL.redo)?;
                }
                commits.done(at, 1, 0);
                waits -= 1.0;
            }
            backlog.change(|d| d.pages += MODEL.writes);
            backlog.until(run, window.end, |d| d.pages <= DIRTY);
            orders.done(began, 1, 0);
        }
        run.check()?;
        Ok(Some((orders, commits)))
    };
    let clean = |run: &Run| {
        let mut cleaner = Cleaner::new(tested, seed)?;
        while !window.is_over(run) {
            if !backlog.until(run, window.end, |d| d.pages >= BATCH as f64) {
                continue;
            }
            pass(run, &tested.counters, 2 * BATCH * PAGE)?;
            let done = cleaner.clean(BATCH);
            backlog.change(|d| {
                d.pages -= BATCH as f64;
                d.ended |= done.is_err();
            });
            done.map_err(|e| tested.failed("write to", &e))?;
        }
        Ok(None)
    };
    let all = each(run, SESSIONS + 1, |run, i| match i {
        0 => clean(run),
        i => session(run, i),
    })?;
    let (orders, commits): (Vec<_>, Vec<_>) = all.into_iter().flatten().unzip();
    let orders = Tally::sum(window, &orders)?;
    let commits = Tally::sum(window, &commits)?;
    // Pages that still wait are not durable: the New-Orders that changed them have not been carried to the end.
    let left = lock(&backlog.0).pages.max(0.0);
    let elapsed = orders.elapsed();
    let latencies = commits.latencies;
    let mut measured = Measured::new(orders, elapsed, elapsed).with("pages not yet written", left);
    measured.latencies = latencies;
    Ok(measured)
}
