//! What a page cleaner writes: a batch of pages to the doublewrite file, synced, then the same pages to their places,
//! synced.

use super::buffer::Buffer;
use super::engine::Engine;
use super::figures::Measured;
use super::pages::{Op, PAGE, Pages};
use super::place::{DATA, DOUBLEWRITE};
use super::random::Tested;
use super::window::{Tally, Window, pass};
use base::Result;
use run::Run;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Pages of a batch: `innodb_doublewrite_pages` of MySQL 8.4, and the two blocks of MariaDB's doublewrite buffer.
pub const BATCH: usize = 128;

/// The two files, and a batch in memory.
pub struct Cleaner<'a> {
    engine: Engine,
    data: &'a File,
    doublewrite: &'a File,
    batch: Buffer,
    page: Buffer,
    places: Box<dyn Iterator<Item = u64> + Send>,
}

impl<'a> Cleaner<'a> {
    /// Of the files in a directory.
    pub fn new(tested: &'a Tested, seed: u64) -> Result<Cleaner<'a>> {
        let data = tested.file(DATA)?;
        let pages = Pages {
            file: data,
            pages: (tested.size / PAGE as u64).max(1),
            op: Op::Write,
            depth: 1,
            seed,
        };
        Ok(Cleaner {
            engine: tested.engine,
            data,
            doublewrite: tested.file(DOUBLEWRITE)?,
            batch: Buffer::new(BATCH * PAGE, seed),
            page: Buffer::new(PAGE, seed),
            places: Box::new(pages.places(0)),
        })
    }

    /// Writes that many pages, at most [`BATCH`], and syncs them in both places.
    pub fn clean(&mut self, pages: usize) -> io::Result<()> {
        let pages = pages.min(BATCH);
        self.doublewrite
            .write_all_at(&self.batch.bytes()[..pages * PAGE], 0)?;
        self.doublewrite.sync_data()?;
        let places: Vec<u64> = self.places.by_ref().take(pages).collect();
        self.engine.scatter(self.data, &places, &self.page)?;
        self.data.sync_data()
    }
}

/// Batch after batch.
pub fn measure(run: &Run, tested: &mut Tested, window: Window) -> Result<Measured> {
    let seed = tested.next_seed();
    let mut cleaner = Cleaner::new(tested, seed)?;
    let mut tally = Tally::new(window)?;
    while !window.is_over(run) {
        // Each page is written twice.
        pass(run, &tested.counters, 2 * BATCH * PAGE)?;
        let began = Instant::now();
        cleaner
            .clean(BATCH)
            .map_err(|e| tested.failed("write to", &e))?;
        tally.done(began, BATCH as u64, (2 * BATCH * PAGE) as u64);
    }
    run.check()?;
    let elapsed = tally.elapsed();
    Ok(Measured::new(tally, elapsed, elapsed))
}
