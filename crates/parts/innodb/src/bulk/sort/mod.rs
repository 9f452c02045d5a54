//! Sorts the records of a secondary index by key: in memory as long as they fit,
//! then as sorted runs in files that are merged. Once there are many runs of about
//! one size, they are merged into one: however large the index, the number of open
//! files and their buffers stays bounded.
//!
//! Sorting moves 16 bytes per record. Most keys are columns of fixed length whose
//! stored bytes are in order, 16 bytes at most: there the number is the whole key,
//! and the record is made from it at the end. Otherwise it is the first 12 bytes of
//! the key and the position of key and record.

mod entries;
mod merge;
#[cfg(test)]
mod tests;

pub use entries::Batch;

use super::page::Encoded;
use super::{Error, Sink};
use crate::layout::{Layout, Order};
use entries::{Entries, create_run, entry, finish_run};
use merge::{Keys, Records, Stream, merge};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The header of an entry: length of the key, of its unique part, of the record, and the offset of its fields,
/// two bytes each.
const HEAD: usize = 8;

/// Bytes of the position of an entry, after the first bytes of its key.
const WHERE: u32 = u32::BITS;

/// Runs of about one size before they are merged into one.
const FILES: usize = 32;

/// Bytes per read of a file: the least, and the most.
const ROOM: (usize, usize) = (1 << 16, 1 << 22);

/// How the entries of an index are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Only the key: the record is its bytes, in fields of fixed length.
    Key {
        /// Bytes of it.
        bytes: usize,
        /// Bytes of the unique part; 0: not unique.
        unique: usize,
    },
    /// As key and record.
    Record,
}

impl Shape {
    /// The one for the records of an index.
    pub fn of(layout: &Layout) -> Shape {
        let bytes_of = |count: usize| -> Option<usize> {
            let fields = layout.fields[..count].iter();
            fields
                .map(|f| match f.order {
                    Order::Bytes if f.ascending && !f.nullable => f.fixed,
                    _ => None,
                })
                .sum()
        };
        match (
            bytes_of(layout.fields.len()),
            bytes_of(layout.unique.unwrap_or(0)),
        ) {
            (Some(bytes), Some(unique))
                if bytes <= size_of::<u128>() && layout.keys == layout.fields.len() =>
            {
                Shape::Key { bytes, unique }
            }
            _ => Shape::Record,
        }
    }
}

/// The first bytes of a key as a number in its order.
#[inline]
fn number(key: &[u8]) -> u128 {
    let mut first = [0; size_of::<u128>()];
    let n = key.len().min(first.len());
    first[..n].copy_from_slice(&key[..n]);
    u128::from_be_bytes(first)
}

/// Collects records with their keys, from several threads.
pub struct Sorter<'a> {
    shape: Shape,
    /// The sink, to be asked whether to continue.
    sink: &'a dyn Sink,
    folder: PathBuf,
    /// Bytes in memory.
    memory: usize,
    /// Runs by size.
    fan_in: usize,
    entries: Mutex<Entries>,
    files: Mutex<Spilled>,
}

/// Sorted runs.
#[derive(Default)]
struct Spilled {
    /// Runs from memory, then runs merged from those, and so on.
    sizes: Vec<Vec<File>>,
    /// Number of runs from memory.
    count: usize,
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Sorter<'a> {
    /// Collects about `memory` bytes before they are sorted and written to a file in `folder`; each adding thread
    /// may be sorting that many more.
    pub fn new(shape: Shape, memory: usize, folder: PathBuf, sink: &'a dyn Sink) -> Self {
        Sorter {
            shape,
            sink,
            folder,
            // Positions have four bytes.
            memory: memory.clamp(1 << 16, u32::MAX as usize >> 1),
            fan_in: FILES,
            entries: Mutex::default(),
            files: Mutex::default(),
        }
    }

    /// An empty batch of its shape.
    pub fn batch(&self) -> Batch {
        Batch::new(self.shape)
    }

    /// Takes a thread's batch.
    pub fn take(&self, batch: &mut Batch) -> Result<(), Error> {
        let mut full = None;
        {
            let mut entries = lock(&self.entries);
            if entries.size() + batch.entries.size() > self.memory && !entries.places.is_empty() {
                // The next batch will be as large.
                let next = Entries {
                    places: Vec::with_capacity(entries.places.len()),
                    bytes: Vec::with_capacity(entries.bytes.len()),
                };
                full = Some(std::mem::replace(&mut *entries, next));
            }
            entries.append(&mut batch.entries);
        }
        // Other threads continue meanwhile.
        full.map_or(Ok(()), |full| self.spill(full))
    }

    fn spill(&self, mut full: Entries) -> Result<(), Error> {
        full.sort(self.shape);
        let mut file = full.spill(self.shape, &self.folder)?;
        drop(full);
        for size in 0.. {
            let many = {
                let mut files = lock(&self.files);
                files.count += usize::from(size == 0);
                if files.sizes.len() == size {
                    files.sizes.push(Vec::with_capacity(self.fan_in));
                }
                files.sizes[size].push(file);
                if files.sizes[size].len() < self.fan_in {
                    break;
                }
                std::mem::take(&mut files.sizes[size])
            };
            // Other threads continue meanwhile.
            file = self.merge_runs(many)?;
        }
        Ok(())
    }

    /// Merges many runs into one.
    fn merge_runs(&self, many: Vec<File>) -> Result<File, Error> {
        let mut out = create_run(&self.folder)?;
        let mut count = 0u32;
        merge(self.streams(many)?, |s| {
            // It may be many GB.
            count = count.wrapping_add(1);
            if count.is_multiple_of(1 << 16) {
                self.sink.goes_on()?;
            }
            match self.shape {
                Shape::Key { bytes, .. } => out.write_all(&s.first.to_be_bytes()[..bytes]),
                Shape::Record => out.write_all(&s.now),
            }?;
            Ok(())
        })?;
        finish_run(out)
    }

    /// Runs at their first entries. Their buffers share this thread's memory.
    fn streams(&self, files: Vec<File>) -> Result<BinaryHeap<Box<Stream>>, Error> {
        let room = (self.memory / files.len().max(1)).clamp(ROOM.0, ROOM.1);
        let create_run = files
            .into_iter()
            .map(|file| Stream::begin(file, self.shape, room).transpose());
        create_run.flatten().collect()
    }

    /// Number of runs that did not fit into memory so far.
    pub fn spills(&self) -> usize {
        lock(&self.files).count
    }

    /// Approximate bytes taken.
    pub fn size(&self) -> usize {
        self.spills() * self.memory + lock(&self.entries).size()
    }

    /// Passes on every record, in order; `index` is named in errors.
    pub fn drain(
        self,
        index: &str,
        each: impl FnMut(&Encoded) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut entries = std::mem::take(&mut *lock(&self.entries));
        let mut merged = BinaryHeap::new();
        if self.spills() > 0 {
            self.spill(entries)?;
            entries = Entries::default();
            let files = std::mem::take(&mut lock(&self.files).sizes);
            merged = self.streams(files.into_iter().flatten().collect())?;
        } else {
            entries.sort(self.shape);
        }
        match self.shape {
            Shape::Key { bytes, unique } => {
                let mut out = Keys::new(index, bytes, unique, each);
                entries.places.iter().try_for_each(|key| out.emit(*key))?;
                merge(merged, |s| out.emit(s.first))
            }
            Shape::Record => {
                let mut out = Records::new(index, each);
                let mut entries = entries.places.iter().map(|p| entry(entries.at(*p)));
                entries.try_for_each(|e| out.emit(&e))?;
                merge(merged, |s| out.emit(&entry(&s.now)))
            }
        }
    }
}
