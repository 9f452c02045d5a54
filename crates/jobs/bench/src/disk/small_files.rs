//! Files that are made and removed, each durable with its name: what CREATE TABLE and DROP TABLE, temporary files and
//! each new binary log do.

use super::buffer::Buffer;
use super::figures::Measured;
use super::pages::PAGE;
use super::place::SMALL;
use super::random::Tested;
use super::window::{Tally, Window, pass};
use base::Result;
use run::Run;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Makes a file of one page and removes it: two syncs of the directory, one of the file.
pub fn measure(run: &Run, tested: &mut Tested, window: Window) -> Result<Measured> {
    let page = Buffer::new(PAGE, tested.next_seed());
    let place = &tested.place;
    let fail = |e: io::Error| tested.failed("sync a file in", &e);
    let mut tally = Tally::new(window)?;
    let mut n = 0_u64;
    while !window.is_over(run) {
        pass(run, &tested.counters, PAGE)?;
        let name = format!("{SMALL}{n}");
        let began = Instant::now();
        let file = place.create(&name, false)?;
        file.write_all_at(page.bytes(), 0).map_err(fail)?;
        file.sync_all().map_err(fail)?;
        place.sync_names().map_err(fail)?;
        drop(file);
        place.unlink(&name)?;
        place.sync_names().map_err(fail)?;
        tally.done(began, 1, PAGE as u64);
        n += 1;
    }
    run.check()?;
    let elapsed = tally.elapsed();
    Ok(Measured::new(tally, elapsed, elapsed))
}
