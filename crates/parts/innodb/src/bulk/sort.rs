//! Sorts the records of a secondary index by key: in memory as long as they fit,
//! then as sorted runs in files that are merged. Once there are many runs of about
//! one size, they are merged into one: however large the index, the number of open
//! files and their buffers stays bounded.
//!
//! Sorting moves 16 bytes per record. Most keys are columns of fixed length whose
//! stored bytes are in order, 16 bytes at most: there the number is the whole key,
//! and the record is made from it at the end. Otherwise it is the first 12 bytes of
//! the key and the position of key and record.

use super::page::Encoded;
use super::{Error, Sink};
use crate::layout::{Layout, Order};
use crate::record::HEADER;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
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

/// Entries in memory.
#[derive(Default)]
struct Held {
    /// Keys, or their first bytes and where in `bytes` the entry is.
    places: Vec<u128>,
    /// Entries that are more than a key.
    bytes: Vec<u8>,
}

/// Entries of one thread, passed on in batches.
pub struct Batch {
    shape: Shape,
    held: Held,
}

/// Bytes that a batch has room for.
const BATCH: usize = 256 << 10;

impl Batch {
    /// For entries of this shape.
    pub fn new(shape: Shape) -> Batch {
        Batch {
            shape,
            held: Held::default(),
        }
    }

    /// Whether records are made from their keys, and need not be given.
    pub fn is_of_keys(&self) -> bool {
        self.shape != Shape::Record
    }

    /// Adds a record; returns whether the batch is full.
    #[inline]
    pub fn push(&mut self, key: &[u8], unique: usize, record: &Encoded) -> Result<bool, Error> {
        let Held { places, bytes } = &mut self.held;
        if self.shape == Shape::Record {
            let at = bytes.len() as u32;
            for n in [key.len(), unique, record.bytes.len(), record.origin] {
                let n = u16::try_from(n).map_err(|_| Error::Builder("a key that is too long"))?;
                bytes.extend_from_slice(&n.to_le_bytes());
            }
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(&record.bytes);
            places.push(number(key) >> WHERE << WHERE | u128::from(at));
        } else {
            places.push(number(key));
        }
        Ok(self.held.size() >= BATCH)
    }
}

/// An entry: key, length of its unique part, record.
struct Entry<'a> {
    key: &'a [u8],
    unique: usize,
    record: &'a [u8],
    origin: usize,
}

fn entry(bytes: &[u8]) -> Entry<'_> {
    let n = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (key, record) = (n(0), n(4));
    Entry {
        key: &bytes[HEAD..HEAD + key],
        unique: n(2),
        record: &bytes[HEAD + key..HEAD + key + record],
        origin: n(6),
    }
}

impl Held {
    fn size(&self) -> usize {
        self.bytes.len() + size_of_val(&self.places[..])
    }

    /// The entry at a position.
    fn at(&self, place: u128) -> &[u8] {
        &self.bytes[place as u32 as usize..]
    }

    fn append(&mut self, more: &mut Held) {
        // Only the last part of a position is added to: it does not overflow.
        let offset = self.bytes.len() as u128;
        self.bytes.append(&mut more.bytes);
        self.places
            .extend(more.places.drain(..).map(|p| p + offset));
    }

    fn sort(&mut self, shape: Shape) {
        let mut places = std::mem::take(&mut self.places);
        places.sort_unstable();
        if shape == Shape::Record {
            // Equal prefixes are adjacent now, in the order of arrival.
            for alike in places.chunk_by_mut(|a, b| a >> WHERE == b >> WHERE) {
                if alike.len() > 1 {
                    alike.sort_unstable_by(|a, b| {
                        entry(self.at(*a)).key.cmp(entry(self.at(*b)).key)
                    });
                }
            }
        }
        self.places = places;
    }

    /// Writes what was sorted into a file.
    fn spill(&self, shape: Shape, folder: &PathBuf) -> Result<File, Error> {
        let mut out = begun(folder)?;
        for place in &self.places {
            match shape {
                Shape::Key { bytes, .. } => out.write_all(&place.to_be_bytes()[..bytes])?,
                Shape::Record => {
                    let bytes = self.at(*place);
                    let e = entry(bytes);
                    out.write_all(&bytes[..HEAD + e.key.len() + e.record.len()])?;
                }
            }
        }
        ended(out)
    }
}

/// A file for a sorted run. It has no name: it disappears with the process.
fn begun(folder: &PathBuf) -> Result<BufWriter<File>, Error> {
    let file = tempfile::tempfile_in(folder)?;
    Ok(BufWriter::with_capacity(1 << 20, file))
}

/// The file, to be read.
fn ended(out: BufWriter<File>) -> Result<File, Error> {
    let mut file = out
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// Collects records with their keys, from several threads.
pub struct Sorter<'a> {
    shape: Shape,
    /// The sink, to be asked whether to continue.
    sink: &'a dyn Sink,
    folder: PathBuf,
    /// Bytes in memory.
    most: usize,
    /// Runs by size.
    together: usize,
    held: Mutex<Held>,
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
            most: memory.clamp(1 << 16, u32::MAX as usize >> 1),
            together: FILES,
            held: Mutex::default(),
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
            let mut held = lock(&self.held);
            if held.size() + batch.held.size() > self.most && !held.places.is_empty() {
                // The next batch will be as large.
                let next = Held {
                    places: Vec::with_capacity(held.places.len()),
                    bytes: Vec::with_capacity(held.bytes.len()),
                };
                full = Some(std::mem::replace(&mut *held, next));
            }
            held.append(&mut batch.held);
        }
        // Other threads continue meanwhile.
        full.map_or(Ok(()), |full| self.spill(full))
    }

    fn spill(&self, mut full: Held) -> Result<(), Error> {
        full.sort(self.shape);
        let mut file = full.spill(self.shape, &self.folder)?;
        drop(full);
        for size in 0.. {
            let many = {
                let mut files = lock(&self.files);
                files.count += usize::from(size == 0);
                if files.sizes.len() == size {
                    files.sizes.push(Vec::with_capacity(self.together));
                }
                files.sizes[size].push(file);
                if files.sizes[size].len() < self.together {
                    break;
                }
                std::mem::take(&mut files.sizes[size])
            };
            // Other threads continue meanwhile.
            file = self.joined(many)?;
        }
        Ok(())
    }

    /// Merges many runs into one.
    fn joined(&self, many: Vec<File>) -> Result<File, Error> {
        let mut out = begun(&self.folder)?;
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
        ended(out)
    }

    /// Runs at their first entries. Their buffers share this thread's memory.
    fn streams(&self, files: Vec<File>) -> Result<BinaryHeap<Box<Stream>>, Error> {
        let room = (self.most / files.len().max(1)).clamp(ROOM.0, ROOM.1);
        let begun = files
            .into_iter()
            .map(|file| Stream::begin(file, self.shape, room).transpose());
        begun.flatten().collect()
    }

    /// Number of runs that did not fit into memory so far.
    pub fn spills(&self) -> usize {
        lock(&self.files).count
    }

    /// Approximate bytes taken.
    pub fn size(&self) -> usize {
        self.spills() * self.most + lock(&self.held).size()
    }

    /// Passes on every record, in order; `index` is named in errors.
    pub fn drain(
        self,
        index: &str,
        each: impl FnMut(&Encoded) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut held = std::mem::take(&mut *lock(&self.held));
        let mut merged = BinaryHeap::new();
        if self.spills() > 0 {
            self.spill(held)?;
            held = Held::default();
            let files = std::mem::take(&mut lock(&self.files).sizes);
            merged = self.streams(files.into_iter().flatten().collect())?;
        } else {
            held.sort(self.shape);
        }
        match self.shape {
            Shape::Key { bytes, unique } => {
                let mut out = Keys::new(index, bytes, unique, each);
                held.places.iter().try_for_each(|key| out.hand(*key))?;
                merge(merged, |s| out.hand(s.first))
            }
            Shape::Record => {
                let mut out = Records::new(index, each);
                let mut entries = held.places.iter().map(|p| entry(held.at(*p)));
                entries.try_for_each(|e| out.hand(&e))?;
                merge(merged, |s| out.hand(&entry(&s.now)))
            }
        }
    }
}

/// Merges streams, the smallest key first.
fn merge(
    mut streams: BinaryHeap<Box<Stream>>,
    mut hand: impl FnMut(&Stream) -> Result<(), Error>,
) -> Result<(), Error> {
    use std::collections::binary_heap::PeekMut;
    while let Some(mut stream) = streams.peek_mut() {
        hand(&stream)?;
        if !stream.next()? {
            PeekMut::pop(stream);
        }
    }
    Ok(())
}

/// Makes records from keys in order.
struct Keys<'i, F> {
    index: &'i str,
    bytes: usize,
    /// Bits after the unique part.
    behind: u32,
    unique: bool,
    last: Option<u128>,
    record: Encoded,
    each: F,
}

impl<'i, F: FnMut(&Encoded) -> Result<(), Error>> Keys<'i, F> {
    fn new(index: &'i str, bytes: usize, unique: usize, each: F) -> Self {
        Keys {
            index,
            bytes,
            behind: u128::BITS - 8 * unique as u32,
            unique: unique > 0,
            last: None,
            record: Encoded {
                bytes: vec![0; HEADER + bytes],
                origin: HEADER,
            },
            each,
        }
    }

    #[inline]
    fn hand(&mut self, key: u128) -> Result<(), Error> {
        if self.last.is_some_and(|last| {
            last == key || self.unique && last >> self.behind == key >> self.behind
        }) {
            return Err(Error::Duplicate(self.index.to_owned()));
        }
        self.last = Some(key);
        self.record.bytes[HEADER..].copy_from_slice(&key.to_be_bytes()[..self.bytes]);
        (self.each)(&self.record)
    }
}

/// Records in key order.
struct Records<'i, F> {
    index: &'i str,
    last: Vec<u8>,
    /// Unique part of the last key.
    unique: usize,
    record: Encoded,
    each: F,
}

impl<'i, F: FnMut(&Encoded) -> Result<(), Error>> Records<'i, F> {
    fn new(index: &'i str, each: F) -> Self {
        Records {
            index,
            last: Vec::new(),
            unique: 0,
            record: Encoded::default(),
            each,
        }
    }

    #[inline]
    fn hand(&mut self, e: &Entry<'_>) -> Result<(), Error> {
        let same = self.unique != 0
            && e.unique == self.unique
            && e.key[..e.unique] == self.last[..self.unique];
        if same || !self.last.is_empty() && e.key == self.last {
            return Err(Error::Duplicate(self.index.to_owned()));
        }
        self.last.clear();
        self.last.extend_from_slice(e.key);
        self.unique = e.unique;
        self.record.bytes.clear();
        self.record.bytes.extend_from_slice(e.record);
        self.record.origin = e.origin;
        (self.each)(&self.record)
    }
}

/// A sorted run at one of its entries. The one with the smallest key is the greatest, for the heap.
struct Stream {
    from: BufReader<File>,
    shape: Shape,
    /// The first bytes of its key.
    first: u128,
    /// The entry, if it is more than a key.
    now: Vec<u8>,
}

impl Stream {
    /// At its first entry, if it has one.
    fn begin(file: File, shape: Shape, room: usize) -> Result<Option<Box<Stream>>, Error> {
        let mut stream = Box::new(Stream {
            from: BufReader::with_capacity(room, file),
            shape,
            first: 0,
            now: Vec::new(),
        });
        Ok(stream.next()?.then_some(stream))
    }

    /// Advances to the next entry; false if there is none.
    fn next(&mut self) -> Result<bool, Error> {
        let mut head = [0; size_of::<u128>()];
        let fixed = match self.shape {
            Shape::Key { bytes, .. } => bytes,
            Shape::Record => HEAD,
        };
        match self.from.read_exact(&mut head[..fixed]) {
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        if self.shape != Shape::Record {
            self.first = u128::from_be_bytes(head);
            return Ok(true);
        }
        let n = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
        self.now.resize(HEAD + n(0) + n(4), 0);
        self.now[..HEAD].copy_from_slice(&head[..HEAD]);
        self.from.read_exact(&mut self.now[HEAD..])?;
        self.first = number(entry(&self.now).key);
        Ok(true)
    }
}

impl Ord for Stream {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_first = other.first.cmp(&self.first);
        by_first.then_with(|| match self.shape {
            Shape::Key { .. } => std::cmp::Ordering::Equal,
            Shape::Record => entry(&other.now).key.cmp(entry(&self.now).key),
        })
    }
}

impl PartialOrd for Stream {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Stream {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere;

    impl Sink for Nowhere {
        fn write(&self, _: u32, _: &[u8]) -> std::io::Result<()> {
            Ok(())
        }
    }

    const SHAPES: [Shape; 2] = [
        Shape::Record,
        Shape::Key {
            bytes: 4,
            unique: 4,
        },
    ];

    /// Passes on `n` records whose keys are in no order.
    fn fill(sorter: &Sorter<'_>, n: u32) -> Result<(), Error> {
        let mut batch = sorter.batch();
        for i in 0..n {
            let key = (i.wrapping_mul(2_654_435_761)).to_be_bytes();
            let record = Encoded {
                bytes: [&[0; 5][..], &key].concat(),
                origin: 5,
            };
            if batch.push(&key, 4, &record)? {
                sorter.take(&mut batch)?;
            }
        }
        sorter.take(&mut batch)
    }

    /// Whether that many records come, each after the previous one.
    fn come_in_order(sorter: Sorter<'_>, n: u32) {
        let mut last = None;
        let mut count = 0;
        let handed = sorter.drain("k", |r| {
            let key = r.bytes[r.origin..].to_vec();
            assert!(last.as_ref().is_none_or(|last| *last < key));
            last = Some(key);
            count += 1;
            Ok(())
        });
        handed.expect("no key is there twice");
        assert_eq!(count, n);
    }

    #[test]
    fn records_come_in_order_from_memory_and_from_files() {
        for shape in SHAPES {
            for memory in [1 << 30, 1 << 16] {
                let sorter = Sorter::new(shape, memory, std::env::temp_dir(), &Nowhere);
                fill(&sorter, 100_000).expect("taken");
                assert_eq!(sorter.spills() > 3, memory == 1 << 16);
                come_in_order(sorter, 100_000);
            }
        }
    }

    #[test]
    fn however_much_comes_there_are_few_files() {
        for shape in SHAPES {
            let mut sorter = Sorter::new(shape, 1 << 16, std::env::temp_dir(), &Nowhere);
            sorter.together = 3;
            fill(&sorter, 1_000_000).expect("taken");
            assert!(sorter.spills() > 50, "{}", sorter.spills());
            let sizes: Vec<usize> = lock(&sorter.files).sizes.iter().map(Vec::len).collect();
            assert!(sizes.len() > 3 && sizes.iter().all(|n| *n < 3), "{sizes:?}");
            come_in_order(sorter, 1_000_000);
        }
    }

    #[test]
    fn files_are_not_joined_for_nobody() {
        struct Stopped;
        impl Sink for Stopped {
            fn write(&self, _: u32, _: &[u8]) -> std::io::Result<()> {
                Ok(())
            }
            fn goes_on(&self) -> std::io::Result<()> {
                Err(std::io::ErrorKind::Interrupted.into())
            }
        }
        for shape in SHAPES {
            let mut sorter = Sorter::new(shape, 1 << 16, std::env::temp_dir(), &Stopped);
            sorter.together = 8;
            assert!(fill(&sorter, 1_000_000).is_err());
        }
    }

    /// Keys that differ only after their stored prefix.
    #[test]
    fn long_keys_that_begin_alike_come_in_order() {
        for memory in [1 << 30, 1 << 16] {
            let sorter = Sorter::new(Shape::Record, memory, std::env::temp_dir(), &Nowhere);
            let mut batch = sorter.batch();
            for i in 0..20_000u32 {
                let key = format!("{:02}-the same for many-{:05}", i % 7, i * 7919 % 20_000);
                let record = Encoded {
                    bytes: [&[0; 5][..], key.as_bytes()].concat(),
                    origin: 5,
                };
                if batch.push(key.as_bytes(), 0, &record).expect("a short key") {
                    sorter.take(&mut batch).expect("taken");
                }
            }
            sorter.take(&mut batch).expect("taken");
            let mut all = Vec::new();
            let handed = sorter.drain("k", |r| {
                all.push(r.bytes.clone());
                Ok(())
            });
            handed.expect("no key is there twice");
            assert_eq!(all.len(), 20_000);
            assert!(all.windows(2).all(|w| w[0] < w[1]));
        }
    }

    #[test]
    fn what_is_there_twice_is_found() {
        for (unique, second, ok) in [
            (1, b"ab", false),
            (0, b"ab", true),
            (1, b"bb", true),
            (0, b"aa", false),
        ] {
            for shape in [Shape::Record, Shape::Key { bytes: 2, unique }] {
                let sorter = Sorter::new(shape, 1 << 20, std::env::temp_dir(), &Nowhere);
                let record = Encoded {
                    bytes: vec![0; 6],
                    origin: 5,
                };
                let mut batch = sorter.batch();
                for key in [b"aa", second] {
                    batch.push(key, unique, &record).expect("a short key");
                }
                sorter.take(&mut batch).expect("taken");
                assert_eq!(
                    sorter.drain("k", |_| Ok(())).is_ok(),
                    ok,
                    "{unique} {second:?} {shape:?}"
                );
            }
        }
    }
}
