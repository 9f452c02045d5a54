//! The entries of an index in memory, and a sorted run of them in a file.

use super::{HEAD, Shape, WHERE, number};
use crate::bulk::Error;
use crate::bulk::page::Encoded;
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::PathBuf;

/// Entries in memory.
#[derive(Default)]
pub(super) struct Entries {
    /// Keys, or their first bytes and where in `bytes` the entry is.
    pub(super) places: Vec<u128>,
    /// Entries that are more than a key.
    pub(super) bytes: Vec<u8>,
}

/// Entries of one thread, passed on in batches.
pub struct Batch {
    shape: Shape,
    pub(super) entries: Entries,
}

/// Bytes that a batch has room for.
const BATCH: usize = 256 << 10;

impl Batch {
    /// For entries of this shape.
    pub fn new(shape: Shape) -> Batch {
        Batch {
            shape,
            entries: Entries::default(),
        }
    }

    /// Whether records are made from their keys, and need not be given.
    pub fn is_of_keys(&self) -> bool {
        self.shape != Shape::Record
    }

    /// Adds a record; returns whether the batch is full.
    #[inline]
    pub fn push(&mut self, key: &[u8], unique: usize, record: &Encoded) -> Result<bool, Error> {
        let Entries { places, bytes } = &mut self.entries;
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
        Ok(self.entries.size() >= BATCH)
    }
}

/// An entry: key, length of its unique part, record.
pub(super) struct Entry<'a> {
    pub(super) key: &'a [u8],
    pub(super) unique: usize,
    pub(super) record: &'a [u8],
    pub(super) origin: usize,
}

pub(super) fn entry(bytes: &[u8]) -> Entry<'_> {
    let n = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (key, record) = (n(0), n(4));
    Entry {
        key: &bytes[HEAD..HEAD + key],
        unique: n(2),
        record: &bytes[HEAD + key..HEAD + key + record],
        origin: n(6),
    }
}

impl Entries {
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + size_of_val(&self.places[..])
    }

    /// The entry at a position.
    pub(super) fn at(&self, place: u128) -> &[u8] {
        &self.bytes[place as u32 as usize..]
    }

    pub(super) fn append(&mut self, more: &mut Entries) {
        // Only the last part of a position is added to: it does not overflow.
        let offset = self.bytes.len() as u128;
        self.bytes.append(&mut more.bytes);
        self.places
            .extend(more.places.drain(..).map(|p| p + offset));
    }

    pub(super) fn sort(&mut self, shape: Shape) {
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
    pub(super) fn spill(&self, shape: Shape, folder: &PathBuf) -> Result<File, Error> {
        let mut out = create_run(folder)?;
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
        finish_run(out)
    }
}

/// A file for a sorted run. It has no name: it disappears with the process.
pub(super) fn create_run(folder: &PathBuf) -> Result<BufWriter<File>, Error> {
    let file = tempfile::tempfile_in(folder)?;
    Ok(BufWriter::with_capacity(1 << 20, file))
}

/// The file, to be read.
pub(super) fn finish_run(out: BufWriter<File>) -> Result<File, Error> {
    let mut file = out
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}
