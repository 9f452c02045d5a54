//! A file written or read from its beginning, in blocks of 1 MiB, one at a time.

use super::buffer::Buffer;
use super::figures::Measured;
use super::pages::BLOCK;
use super::place::{DATA, NEW};
use super::random::Tested;
use super::window::{Tally, Window, pass};
use base::Result;
use run::Run;
use rustix::fs as rfs;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// A new file, until it has the size of the large one or the time is over. There is no ramp: it begins empty.
pub fn new_file(
    run: &Run,
    tested: &mut Tested,
    window: Window,
    allocated: bool,
) -> Result<Measured> {
    let mut block = Buffer::new(BLOCK, tested.next_seed());
    let file = tested.place.create(NEW, true)?;
    let fail = |e: io::Error| tested.failed("write to", &e);
    if allocated {
        // Where the file system cannot, this is the other pattern once more, and the figures say so.
        match rfs::fallocate(&file, rfs::FallocateFlags::empty(), 0, tested.size) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(e) => return Err(fail(e.into())),
        }
    }
    let window = window.at_once();
    let mut tally = Tally::new(window)?;
    let mut at = 0;
    while at + BLOCK as u64 <= tested.size && !window.is_over(run) {
        pass(run, &tested.counters, BLOCK)?;
        block.touch(at);
        let began = Instant::now();
        store::direct::write_all_at(&file, block.bytes(), at).map_err(fail)?;
        tally.done(began, BLOCK as u64, BLOCK as u64);
        at += BLOCK as u64;
    }
    run.check()?;
    let measured = tested.synced(&file, tally)?;
    drop(file);
    tested.place.unlink(NEW)?;
    Ok(measured)
}

/// The large file, over and over.
pub fn rewrite(run: &Run, tested: &mut Tested, window: Window) -> Result<Measured> {
    let mut block = Buffer::new(BLOCK, tested.next_seed());
    let file = tested.file(DATA)?;
    let tally = round(run, tested, window, |at| {
        block.touch(at);
        let began = Instant::now();
        file.write_all_at(block.bytes(), at)
            .map_err(|e| tested.failed("write to", &e))?;
        Ok(began)
    })?;
    tested.synced(file, tally)
}

/// The large file, over and over.
pub fn read(run: &Run, tested: &mut Tested, window: Window) -> Result<Measured> {
    let mut block = Buffer::new(BLOCK, tested.next_seed());
    let file = tested.file(DATA)?;
    tested.forget(file)?;
    let tally = round(run, tested, window, |at| {
        if at == 0 {
            tested.forget(file)?;
        }
        let began = Instant::now();
        file.read_exact_at(block.bytes_mut(), at)
            .map_err(|e| tested.failed("read", &e))?;
        Ok(began)
    })?;
    let elapsed = tally.elapsed();
    Ok(Measured::new(tally, elapsed, elapsed))
}

/// One block after the other, from the beginning again after the last, until the time is over.
fn round(
    run: &Run,
    tested: &Tested,
    window: Window,
    mut work: impl FnMut(u64) -> Result<Instant>,
) -> Result<Tally> {
    let blocks = (tested.size / BLOCK as u64).max(1);
    let mut tally = Tally::new(window)?;
    let mut n = 0;
    while !window.is_over(run) {
        pass(run, &tested.counters, BLOCK)?;
        let began = work(n % blocks * BLOCK as u64)?;
        tally.done(began, BLOCK as u64, BLOCK as u64);
        n += 1;
    }
    run.check()?;
    Ok(tally)
}
