//! A data file back to the bytes of its rows. The stored bytes are hashed as
//! they pass; what differs from the record fails the read, at the latest at
//! the end, so a consumer must not commit what it got before it has seen the
//! end. Where bytes leave for a server, [`crate::file::verify`] goes first.

use super::Compression;
use crate::file::{self, FileRecord, READ_BYTES, read_full};
use crate::{ArchiveError, Result};
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store::Store;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// What is known of a data file before it is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Expected<'r> {
    /// Size and digest as stored.
    pub stored: Option<&'r FileRecord>,
    /// Size of the data after decompression; reading stops with an error as
    /// soon as there is more.
    pub raw_bytes: Option<u64>,
}

/// Reads one data file. After an error every further read fails too.
pub struct ChunkReader {
    file: String,
    source: Box<dyn Read + Send>,
    decoder: Option<Decoder<'static>>,
    /// Where `source` decompresses gzip: the stored bytes that it has read.
    gzip: Option<Arc<AtomicU64>>,
    hasher: Option<blake3::Hasher>,
    expected: Option<FileRecord>,
    raw_expected: Option<u64>,
    /// Stored bytes: `buffer[start..end]` is not yet decoded.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    stored: u64,
    raw: u64,
    /// The decoder is between frames.
    frame_done: bool,
    state: State,
}

/// Counts what is read through it.
struct Counted<R>(R, Arc<AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(out)?;
        self.1.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

fn is_of_bytes(e: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(e.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    Done,
    Failed,
}

impl ChunkReader {
    /// Opens the data file `name`.
    pub fn open(
        store: &dyn Store,
        name: &str,
        compression: Compression,
        expected: Expected<'_>,
    ) -> Result<Self> {
        let decoder = match compression {
            Compression::None => None,
            Compression::Zstd(_) => {
                Some(Decoder::new().map_err(|e| store::Error::new("decompress", name, e))?)
            }
            // Only others write it, and theirs have no manifest to compare the stored bytes with.
            Compression::Gzip if expected.stored.is_some() => {
                return Err(ArchiveError::Unsupported {
                    file: name.to_owned(),
                    what: "gzip in an archive with a manifest".to_owned(),
                });
            }
            Compression::Gzip => None,
        };
        let opened = store.open_once(name)?;
        let stored = Arc::new(AtomicU64::new(0));
        let (source, gzip): (Box<dyn Read + Send>, _) = match compression {
            Compression::Gzip => {
                let counted = Counted(opened, stored.clone());
                (Box::new(MultiGzDecoder::new(counted)), Some(stored))
            }
            _ => (opened, None),
        };
        Ok(Self {
            file: name.to_owned(),
            source,
            gzip,
            decoder,
            hasher: expected.stored.map(|_| blake3::Hasher::new()),
            expected: expected.stored.cloned(),
            raw_expected: expected.raw_bytes,
            buffer: vec![0; READ_BYTES].into(),
            start: 0,
            end: 0,
            stored: 0,
            raw: 0,
            frame_done: false,
            state: State::Reading,
        })
    }

    /// Bytes given out so far.
    pub fn raw_bytes(&self) -> u64 {
        self.raw
    }

    /// Bytes read from the store so far.
    pub fn stored_bytes(&self) -> u64 {
        let gzip = self.gzip.as_ref();
        gzip.map_or(self.stored, |read| read.load(Ordering::Relaxed))
    }

    fn damaged(&self, what: impl AsRef<str>) -> io::Error {
        ArchiveError::damaged(&self.file, what).into()
    }

    /// Reads the next stored bytes; false at the end of the file.
    fn refill(&mut self) -> io::Result<bool> {
        self.start = 0;
        self.end = match read_full(&mut *self.source, &mut self.buffer) {
            // What the decompressor says of the bytes, as against what the store says of the reading.
            Err(e) if self.gzip.is_some() && is_of_bytes(&e) => {
                return Err(self.damaged(format!("cannot be decompressed: {e}")));
            }
            other => other?,
        };
        self.stored += self.end as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&self.buffer[..self.end]);
        }
        if let Some(expected) = self.expected.as_ref().filter(|e| self.stored > e.bytes) {
            let what = format!("longer than the {} bytes recorded", expected.bytes);
            return Err(self.damaged(what));
        }
        Ok(self.end > 0)
    }

    fn step(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.start == self.end && !self.refill()? {
                return self.at_end(out);
            }
            let n = self.decode(out)?;
            self.raw += n as u64;
            if let Some(limit) = self.raw_expected.filter(|&limit| self.raw > limit) {
                let what = format!("holds more than the {limit} bytes recorded");
                return Err(self.damaged(what));
            }
            if n > 0 {
                return Ok(n);
            }
        }
    }

    fn decode(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let stored = &self.buffer[self.start..self.end];
        let Some(decoder) = &mut self.decoder else {
            let n = out.len().min(stored.len());
            out[..n].copy_from_slice(&stored[..n]);
            self.start += n;
            return Ok(n);
        };
        let mut input = InBuffer::around(stored);
        let mut output = OutBuffer::around(out);
        let result = decoder.run(&mut input, &mut output);
        let (read, written) = (input.pos(), output.pos());
        match result {
            Ok(hint) => {
                self.frame_done = hint == 0;
                self.start += read;
                Ok(written)
            }
            Err(e) => Err(self.damaged(format!("cannot be decompressed: {e}"))),
        }
    }

    /// No stored bytes are left: what the decoder still holds, then the checks.
    fn at_end(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let (Some(decoder), false) = (&mut self.decoder, self.frame_done) {
            let mut input = InBuffer::around(&[]);
            let mut output = OutBuffer::around(out);
            let result = decoder.run(&mut input, &mut output);
            let n = output.pos();
            if n > 0 && result.is_ok() {
                self.frame_done = matches!(result, Ok(0));
                self.raw += n as u64;
                return Ok(n);
            }
            return Err(self.damaged("ends in the middle of its compressed data"));
        }
        if let (Some(hasher), Some(expected)) = (&self.hasher, &self.expected) {
            file::compare(&self.file, &FileRecord::from_hasher(hasher), expected)?;
        }
        if let Some(expected) = self.raw_expected.filter(|&n| n != self.raw) {
            let what = format!("holds {} bytes instead of {expected}", self.raw);
            return Err(self.damaged(what));
        }
        self.state = State::Done;
        Ok(0)
    }
}

impl Read for ChunkReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.state {
            State::Done => return Ok(0),
            State::Failed => return Err(self.damaged("an earlier read failed")),
            State::Reading if out.is_empty() => return Ok(0),
            State::Reading => {}
        }
        self.step(out).inspect_err(|_| self.state = State::Failed)
    }
}
