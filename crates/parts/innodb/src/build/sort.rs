//! Records of a secondary index, sorted by key: in memory as long as they fit,
//! then as sorted stretches in files that are merged.

use super::Error;
use super::page::Encoded;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::PathBuf;

/// What stands in front of an entry: length of the key, of the part that must not be there twice, of the
/// record, and where in it the fields begin.
const HEAD: usize = 16;

/// First bytes of a key, and where its entry is.
type Place = (u64, u32);

/// Records of one thread, to be handed over many at a time.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

/// Bytes that a batch has room for.
const BATCH: usize = 256 << 10;

impl Batch {
    /// Adds a record; says whether it is time to hand over.
    pub fn push(&mut self, key: &[u8], unique: usize, record: &Encoded) -> bool {
        let mut first = [0; 8];
        let n = key.len().min(8);
        first[..n].copy_from_slice(&key[..n]);
        let at = self.bytes.len() as u32;
        self.places.push((u64::from_be_bytes(first), at));
        for n in [key.len(), unique, record.bytes.len(), record.origin] {
            self.bytes.extend_from_slice(&(n as u32).to_le_bytes());
        }
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&record.bytes);
        self.bytes.len() >= BATCH
    }
}

/// Collects records with their keys.
pub struct Sorter {
    folder: PathBuf,
    most: usize,
    bytes: Vec<u8>,
    places: Vec<Place>,
    files: Vec<File>,
}

/// An entry: key, the part of it that must not be there twice, record.
struct Entry<'a> {
    key: &'a [u8],
    unique: usize,
    record: &'a [u8],
    origin: usize,
}

fn entry(bytes: &[u8]) -> Entry<'_> {
    let n = |at: usize| {
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
    };
    let (key, record) = (n(0), n(8));
    Entry {
        key: &bytes[HEAD..HEAD + key],
        unique: n(4),
        record: &bytes[HEAD + key..HEAD + key + record],
        origin: n(12),
    }
}

impl Sorter {
    /// Keeps at most about `memory` bytes; what is more goes to files in `folder`.
    pub fn new(memory: usize, folder: PathBuf) -> Sorter {
        Sorter {
            folder,
            // Places are addressed with four bytes.
            most: memory.clamp(1 << 16, u32::MAX as usize >> 1),
            bytes: Vec::new(),
            places: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Takes what a thread has collected.
    pub fn take(&mut self, batch: &mut Batch) -> Result<(), Error> {
        let size = |bytes: &[u8], places: &[Place]| bytes.len() + size_of_val(places);
        let held = size(&self.bytes, &self.places);
        if held + size(&batch.bytes, &batch.places) > self.most && !self.places.is_empty() {
            self.spill()?;
        }
        let offset = self.bytes.len() as u32;
        self.bytes.append(&mut batch.bytes);
        self.places.extend(
            batch
                .places
                .drain(..)
                .map(|(first, at)| (first, at + offset)),
        );
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.places.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| {
                entry(&bytes[a.1 as usize..])
                    .key
                    .cmp(entry(&bytes[b.1 as usize..]).key)
            })
        });
    }

    fn spill(&mut self) -> Result<(), Error> {
        self.sort();
        // Without a name: it goes with the process.
        let file = tempfile::tempfile_in(&self.folder)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        for (_, at) in &self.places {
            let e = entry(&self.bytes[*at as usize..]);
            let length = HEAD + e.key.len() + e.record.len();
            out.write_all(&self.bytes[*at as usize..*at as usize + length])?;
        }
        let mut file = out
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.files.push(file);
        self.bytes.clear();
        self.places.clear();
        Ok(())
    }

    /// How many files were needed so far.
    pub fn spills(&self) -> usize {
        self.files.len()
    }

    /// Hands every record over, in order; `index` is what an error names.
    pub fn drain(
        mut self,
        index: &str,
        mut each: impl FnMut(&Encoded) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut last: (Vec<u8>, usize) = (Vec::new(), 0);
        let mut record = Encoded::default();
        let mut hand = |e: &Entry<'_>| -> Result<(), Error> {
            let same = last.1 != 0 && e.unique == last.1 && e.key[..e.unique] == last.0[..last.1];
            if same || !last.0.is_empty() && e.key == last.0 {
                return Err(Error::Duplicate(index.to_owned()));
            }
            last.0.clear();
            last.0.extend_from_slice(e.key);
            last.1 = e.unique;
            record.bytes.clear();
            record.bytes.extend_from_slice(e.record);
            record.origin = e.origin;
            each(&record)
        };
        if self.files.is_empty() {
            self.sort();
            for (_, at) in &self.places {
                hand(&entry(&self.bytes[*at as usize..]))?;
            }
            return Ok(());
        }
        if !self.places.is_empty() {
            self.spill()?;
        }
        self.bytes = Vec::new();
        let room = (self.most / self.files.len()).clamp(1 << 16, 1 << 22);
        let mut streams: Vec<Stream> = std::mem::take(&mut self.files)
            .into_iter()
            .map(|f| Stream {
                from: BufReader::with_capacity(room, f),
                now: Vec::new(),
            })
            .collect();
        let mut heap = BinaryHeap::new();
        for (n, s) in streams.iter_mut().enumerate() {
            if s.next()? {
                heap.push(Reverse((entry(&s.now).key.to_vec(), n)));
            }
        }
        while let Some(Reverse((mut key, n))) = heap.pop() {
            let s = &mut streams[n];
            hand(&entry(&s.now))?;
            if s.next()? {
                key.clear();
                key.extend_from_slice(entry(&s.now).key);
                heap.push(Reverse((key, n)));
            }
        }
        Ok(())
    }
}

/// A sorted stretch.
struct Stream {
    from: BufReader<File>,
    now: Vec<u8>,
}

impl Stream {
    fn next(&mut self) -> Result<bool, Error> {
        let mut head = [0; HEAD];
        match self.from.read_exact(&mut head) {
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        let n = |at: usize| {
            u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize
        };
        self.now.clear();
        self.now.extend_from_slice(&head);
        self.now.resize(HEAD + n(0) + n(8), 0);
        self.from.read_exact(&mut self.now[HEAD..])?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(memory: usize, n: u32) -> (Vec<Vec<u8>>, usize) {
        let mut sorter = Sorter::new(memory, std::env::temp_dir());
        let mut batch = Batch::default();
        for i in 0..n {
            let key = (i.wrapping_mul(2_654_435_761)).to_be_bytes();
            let record = Encoded {
                bytes: [&[0; 5][..], &key].concat(),
                origin: 5,
            };
            if batch.push(&key, 4, &record) {
                sorter.take(&mut batch).expect("taken");
            }
        }
        sorter.take(&mut batch).expect("taken");
        let spills = sorter.spills();
        let mut all = Vec::new();
        let handed = sorter.drain("k", |r| {
            all.push(r.bytes[r.origin..].to_vec());
            Ok(())
        });
        handed.expect("no key is there twice");
        (all, spills)
    }

    #[test]
    fn records_come_in_order_from_memory_and_from_files() {
        for memory in [1 << 30, 1 << 16] {
            let (all, spills) = sorted(memory, 100_000);
            assert_eq!(all.len(), 100_000);
            assert!(all.windows(2).all(|w| w[0] < w[1]));
            assert_eq!(spills > 3, memory == 1 << 16);
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
            let mut sorter = Sorter::new(1 << 20, std::env::temp_dir());
            let record = Encoded {
                bytes: vec![0; 6],
                origin: 5,
            };
            let mut batch = Batch::default();
            batch.push(b"aa", unique, &record);
            batch.push(second, unique, &record);
            sorter.take(&mut batch).expect("taken");
            assert_eq!(
                sorter.drain("k", |_| Ok(())).is_ok(),
                ok,
                "{unique} {second:?}"
            );
        }
    }
}
