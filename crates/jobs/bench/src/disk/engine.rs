//! Pages read and written at random places, as many at a time as a queue depth says: by io_uring, or by that many
//! threads where the kernel refuses it.

use super::buffer::Buffer;
use super::window::{Tally, Window};
use super::{ring, threads};
use crate::tpcc::random::Random;
use base::{Counters, Error, Kind, Result};
use run::Run;
use std::fmt;
use std::fs::File;

/// A page of InnoDB as installed.
pub const PAGE: usize = 16 << 10;

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
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// From the file.
    Read,
    /// Into it.
    Write,
}

/// Pages at random places of a file.
#[derive(Clone, Copy)]
pub struct Pages<'a> {
    /// The file.
    pub file: &'a File,
    /// How many pages it has.
    pub pages: u64,
    /// What is done with them.
    pub op: Op,
    /// How many at a time.
    pub depth: usize,
    /// Of the places.
    pub seed: u64,
}

impl Pages<'_> {
    /// Places in the file, without an end.
    pub fn places(&self, part: u64) -> impl Iterator<Item = u64> + use<> {
        let (mut random, pages) = (Random::new(self.seed, &[part]), self.pages);
        std::iter::repeat_with(move || random.next() % pages * PAGE as u64)
    }

    /// Works until the window is over.
    pub fn run(
        &self,
        engine: Engine,
        run: &Run,
        counters: &Counters,
        window: Window,
    ) -> Result<Tally> {
        match engine {
            Engine::Ring => ring::pages(self, run, counters, window),
            Engine::Threads => threads::pages(self, run, counters, window),
        }
    }
}

/// Writes one page to each of these places, and waits for all of them.
pub fn scatter(engine: Engine, file: &File, places: &[u64], page: &Buffer) -> std::io::Result<()> {
    match engine {
        Engine::Ring => ring::scatter(file, places, page),
        Engine::Threads => threads::scatter(file, places, page),
    }
}

/// The error of an operation on a page.
pub fn broken(op: Op, e: &std::io::Error) -> Error {
    let doing = match op {
        Op::Read => "read",
        Op::Write => "write",
    };
    let error = Error::new(Kind::Storage, format!("cannot {doing} a page: {e}"));
    match e.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => error.hint(
            "the benchmark's files are removed; free some space, or measure with less: --size",
        ),
        _ => error,
    }
}
