//! Pages and blocks of a file, and what is done with them: what every engine knows of its work.

use crate::tpcc::random::Random;
use base::{Error, Kind};
use std::fs::File;

/// A page of InnoDB as installed.
pub const PAGE: usize = 16 << 10;

/// A block: what servers and backups write and read at once, or less.
pub const BLOCK: usize = 1 << 20;

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
