//! Who reads and writes pages at random places, as many at a time as a queue depth says: io_uring, or that many threads where the
//! kernel refuses it.

use super::buffer::Buffer;
use super::pages::Pages;
use super::window::{Tally, Window};
use super::{ring, threads};
use base::{Counters, Error, Kind, Result};
use run::Run;
use std::fmt;
use std::fs::File;

/// What the user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// io_uring where the kernel has it, else threads.
    #[default]
    Auto,
    /// io_uring, or an error.
    Ring,
    /// Threads.
    Threads,
}

/// How pages are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// io_uring: one thread, and a queue in the kernel.
    Ring,
    /// A thread for each operation of the queue, with pread and pwrite.
    Threads,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Ring => "io_uring",
            Engine::Threads => "threads with pread and pwrite",
        })
    }
}

impl Engine {
    /// The engine, and why it is not io_uring if that was wanted.
    pub fn choose(wanted: Choice) -> Result<(Engine, Option<String>)> {
        if wanted == Choice::Threads {
            return Ok((Engine::Threads, None));
        }
        match (ring::available(), wanted) {
            (Ok(()), _) => Ok((Engine::Ring, None)),
            (Err(e), Choice::Ring) => Err(Error::new(
                Kind::Failed,
                format!("the kernel refuses io_uring: {e}"),
            )
            .hint("a container's seccomp profile or kernel.io_uring_disabled may forbid it; --engine threads does without")),
            (Err(e), _) => Ok((Engine::Threads, Some(e.to_string()))),
        }
    }

    /// Reads or writes pages until the window is over.
    pub fn pages(
        self,
        pages: &Pages<'_>,
        run: &Run,
        counters: &Counters,
        window: Window,
    ) -> Result<Tally> {
        match self {
            Engine::Ring => ring::pages(pages, run, counters, window),
            Engine::Threads => threads::pages(pages, run, counters, window),
        }
    }

    /// Writes one page to each of these places, and waits for all of them.
    pub fn scatter(self, file: &File, places: &[u64], page: &Buffer) -> std::io::Result<()> {
        match self {
            Engine::Ring => ring::scatter(file, places, page),
            Engine::Threads => threads::scatter(file, places, page),
        }
    }
}
