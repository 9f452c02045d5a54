//! Merges sorted runs, and makes the records of an index from their entries.

use super::entries::{Entry, entry};
use super::{HEAD, Shape, number};
use crate::bulk::Error;
use crate::bulk::page::Encoded;
use crate::record::HEADER;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, Read};

/// Merges streams, the smallest key first.
pub(super) fn merge(
    mut streams: BinaryHeap<Box<Stream>>,
    mut emit: impl FnMut(&Stream) -> Result<(), Error>,
) -> Result<(), Error> {
    use std::collections::binary_heap::PeekMut;
    while let Some(mut stream) = streams.peek_mut() {
        emit(&stream)?;
        if !stream.next()? {
            PeekMut::pop(stream);
        }
    }
    Ok(())
}

/// Makes records from keys in order.
pub(super) struct Keys<'i, F> {
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
    pub(super) fn new(index: &'i str, bytes: usize, unique: usize, each: F) -> Self {
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
    pub(super) fn emit(&mut self, key: u128) -> Result<(), Error> {
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
pub(super) struct Records<'i, F> {
    index: &'i str,
    last: Vec<u8>,
    /// Unique part of the last key.
    unique: usize,
    record: Encoded,
    each: F,
}

impl<'i, F: FnMut(&Encoded) -> Result<(), Error>> Records<'i, F> {
    pub(super) fn new(index: &'i str, each: F) -> Self {
        Records {
            index,
            last: Vec::new(),
            unique: 0,
            record: Encoded::default(),
            each,
        }
    }

    #[inline]
    pub(super) fn emit(&mut self, e: &Entry<'_>) -> Result<(), Error> {
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
pub(super) struct Stream {
    from: BufReader<File>,
    shape: Shape,
    /// The first bytes of its key.
    pub(super) first: u128,
    /// The entry, if it is more than a key.
    pub(super) now: Vec<u8>,
}

impl Stream {
    /// At its first entry, if it has one.
    pub(super) fn begin(
        file: File,
        shape: Shape,
        room: usize,
    ) -> Result<Option<Box<Stream>>, Error> {
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
