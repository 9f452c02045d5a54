//! A directory under test with its files, and the patterns that read and write pages of the large one.

use super::buffer::Buffer;
use super::engine::Engine;
use super::figures::Measured;
use super::pages::{BLOCK, Op, PAGE, Pages};
use super::pattern::Pattern;
use super::place::{DATA, DOUBLEWRITE, LOG, Place, failed};
use super::window::{Tally, Window, pass};
use base::{Counters, Error, Kind, Result};
use run::Run;
use rustix::fs as rfs;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Instant;

/// The size of the log, at most: a redo log of this size goes round within seconds, as one of gigabytes does within
/// minutes.
const LARGEST_LOG: u64 = 64 << 20;

/// What a server's doublewrite file holds.
const LARGEST_DOUBLEWRITE: u64 = 4 << 20;

/// A directory with its files.
pub struct Tested {
    // Closed before the place removes them: a network file system keeps an open file under another name.
    files: Vec<(&'static str, File)>,
    /// The directory.
    pub place: Place,
    /// Bytes of the large file.
    pub size: u64,
    /// How pages are read and written.
    pub engine: Engine,
    /// When the time that is allowed for all of it ends.
    pub deadline: Option<Instant>,
    /// Of the phase that runs.
    pub counters: Arc<Counters>,
    direct: bool,
    /// Another one for each measurement: places and contents differ.
    seed: u64,
}

/// Bytes of the log beside a large file of this size.
pub fn log_size(size: u64) -> u64 {
    (size / 4).clamp(1 << 20, LARGEST_LOG)
}

fn any(patterns: &[Pattern], needs: fn(Pattern) -> bool) -> u64 {
    u64::from(patterns.iter().any(|p| needs(*p)))
}

/// Bytes that are written before anything is measured.
pub fn written(size: u64, patterns: &[Pattern]) -> u64 {
    any(patterns, Pattern::needs_data) * size
        + any(patterns, Pattern::needs_log) * log_size(size)
        + any(patterns, Pattern::needs_doublewrite) * LARGEST_DOUBLEWRITE
}

/// Bytes of all files at once.
pub fn room(size: u64, patterns: &[Pattern]) -> u64 {
    written(size, patterns)
        + any(patterns, Pattern::needs_new) * size
        // Small files, directories, and what the file system itself needs for all of it.
        + (4 << 20)
}

impl Tested {
    /// No files yet.
    pub fn new(place: Place, size: u64, engine: Engine) -> Tested {
        Tested {
            place,
            size,
            engine,
            deadline: None,
            counters: Arc::default(),
            files: Vec::new(),
            direct: true,
            seed: 1,
        }
    }

    /// Makes the files that these patterns use, in full, so that no pattern allocates blocks which it does not mean to.
    pub fn fill(&mut self, run: &Run, patterns: &[Pattern]) -> Result<()> {
        let needs = |f: fn(Pattern) -> bool| patterns.iter().any(|p| f(*p));
        let log = log_size(self.size);
        for (name, size, direct, needed) in [
            (DATA, self.size, true, needs(Pattern::needs_data)),
            // Servers write their logs through the page cache, or in blocks of 512 bytes, which not every device takes.
            (LOG, log, false, needs(Pattern::needs_log)),
            (
                DOUBLEWRITE,
                LARGEST_DOUBLEWRITE,
                true,
                needs(Pattern::needs_doublewrite),
            ),
        ] {
            if !needed {
                continue;
            }
            let file = self.place.create(name, direct)?;
            self.counters.bytes_expected.add(size);
            self.written(run, &file, size)?;
            if direct {
                self.direct &= is_direct(&file);
            }
            self.files.push((name, file));
        }
        if !patterns.iter().any(|p| p.needs_data()) {
            // What the new files of the sequential patterns will find.
            let probe = self.place.create(DATA, true)?;
            let block = Buffer::new(PAGE, 1);
            store::direct::write_all_at(&probe, block.bytes(), 0)
                .map_err(|e| self.failed("write to", &e))?;
            self.direct = is_direct(&probe);
            self.place.unlink(DATA)?;
        }
        Ok(())
    }

    fn written(&self, run: &Run, file: &File, size: u64) -> Result<()> {
        let fail = |e: io::Error| self.failed("write to", &e);
        // Fails at once where there is no room; not every file system can.
        match rfs::fallocate(file, rfs::FallocateFlags::empty(), 0, size) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(e) => return Err(fail(e.into())),
        }
        let mut block = Buffer::new(BLOCK, self.seed);
        let mut at = 0;
        while at < size {
            let n = BLOCK.min(usize::try_from(size - at).unwrap_or(BLOCK));
            pass(run, &self.counters, n)?;
            if self.deadline.is_some_and(|end| Instant::now() >= end) {
                let what = "the files were not full within --max-time, and nothing was measured";
                return Err(Error::new(Kind::Limit, what)
                    .hint("allow more time, or measure with less: --size"));
            }
            block.touch(at);
            store::direct::write_all_at(file, &block.bytes()[..n], at).map_err(fail)?;
            at += n as u64;
        }
        file.sync_all().map_err(fail)
    }

    /// Whether the page cache was gone around.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// A number that was not given before.
    pub fn next_seed(&mut self) -> u64 {
        self.seed += 1;
        self.seed
    }

    /// One of the files that were made.
    pub fn file(&self, name: &str) -> Result<&File> {
        let found = self.files.iter().find(|(n, _)| *n == name);
        found
            .map(|(_, file)| file)
            .ok_or_else(|| Error::new(Kind::Internal, format!("the file {name} was not made")))
    }

    /// The error of a file here.
    pub fn failed(&self, doing: &str, e: &io::Error) -> Error {
        failed(doing, self.place.path(), e)
    }

    /// Without direct I/O, what was written is taken out of the page cache, as far as the kernel allows it.
    pub fn forget(&self, file: &File) -> Result<()> {
        if !self.direct {
            file.sync_data()
                .map_err(|e| self.failed("sync a file in", &e))?;
            let _ = rfs::fadvise(file, 0, None, rfs::Advice::DontNeed);
        }
        Ok(())
    }

    fn pages<'a>(&self, file: &'a File, op: Op, depth: usize, seed: u64) -> Pages<'a> {
        Pages {
            file,
            pages: (self.size / PAGE as u64).max(1),
            op,
            depth,
            seed,
        }
    }

    /// Random reads.
    pub fn random_read(&mut self, run: &Run, depth: usize, window: Window) -> Result<Measured> {
        let seed = self.next_seed();
        let file = self.file(DATA)?;
        self.forget(file)?;
        let pages = self.pages(file, Op::Read, depth, seed);
        let tally = self.engine.pages(&pages, run, &self.counters, window)?;
        let elapsed = tally.elapsed();
        Ok(Measured::new(tally, elapsed, elapsed))
    }

    /// Random writes, with a sync at the end that counts.
    pub fn random_write(&mut self, run: &Run, depth: usize, window: Window) -> Result<Measured> {
        let seed = self.next_seed();
        let file = self.file(DATA)?;
        let pages = self.pages(file, Op::Write, depth, seed);
        let tally = self.engine.pages(&pages, run, &self.counters, window)?;
        self.synced(file, tally)
    }

    /// With the time of the sync of what was written.
    pub fn synced(&self, file: &File, tally: Tally) -> Result<Measured> {
        let elapsed = tally.elapsed();
        file.sync_data()
            .map_err(|e| self.failed("sync a file in", &e))?;
        let all = tally.elapsed();
        Ok(Measured::new(tally, elapsed, all))
    }

    /// Removes the files.
    pub fn remove(mut self) -> Result<()> {
        self.files.clear();
        self.place.remove()
    }
}

fn is_direct(file: &File) -> bool {
    rfs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(rfs::OFlags::DIRECT))
}
