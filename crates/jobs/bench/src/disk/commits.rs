//! What a commit waits for: blocks of 512 bytes to 4 KiB, appended to a log and synced, by sessions that share syncs.

use super::figures::Measured;
use super::log::{Log, Sync};
use super::place::LOG;
use super::random::{Tested, log_size};
use super::threads::each;
use super::window::{Tally, Window, pass};
use crate::tpcc::random::Random;
use base::Result;
use run::Run;
use std::time::Instant;

/// Bytes of redo that one transaction appends.
pub const BLOCKS: [usize; 4] = [512, 1024, 2048, 4096];

/// That many sessions, synced by fdatasync.
pub fn fdatasync(
    run: &Run,
    tested: &mut Tested,
    sessions: usize,
    window: Window,
) -> Result<Measured> {
    measure(run, tested, sessions, Sync::Data, window)
}

/// One session, synced by fsync.
pub fn fsync(run: &Run, tested: &mut Tested, window: Window) -> Result<Measured> {
    measure(run, tested, 1, Sync::All, window)
}

fn measure(
    run: &Run,
    tested: &mut Tested,
    sessions: usize,
    sync: Sync,
    window: Window,
) -> Result<Measured> {
    let seed = tested.next_seed();
    let file = tested.file(LOG)?;
    let log = Log::new(file, log_size(tested.size), sync, seed);
    let all = each(run, sessions, |run, i| {
        let mut random = Random::new(seed, &[i as u64]);
        let mut tally = Tally::new(window)?;
        while !window.is_over(run) {
            let bytes = BLOCKS[random.next() as usize % BLOCKS.len()];
            pass(run, &tested.counters, bytes)?;
            let began = Instant::now();
            log.commit(run, bytes)?;
            tally.done(began, 1, bytes as u64);
        }
        run.check()?;
        Ok(tally)
    })?;
    let tally = Tally::sum(window, &all)?;
    let elapsed = tally.elapsed();
    Ok(Measured::new(tally, elapsed, elapsed).with("syncs", log.syncs() as f64))
}
