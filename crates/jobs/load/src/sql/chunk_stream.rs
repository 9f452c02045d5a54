//! The bytes of chunks on their way to the server: each chunk is opened when its turn comes, verified while
//! its bytes pass, and counted.

use archive::chunk::{ChunkReader, Compression, Expected};
use archive::file::FileRecord;
use archive::{ArchiveError, RowDigest, RowPlan};
use base::Counters;
use run::Stop;
use std::io::Read;
use store::Store;

/// A chunk that has to be loaded.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Its file.
    pub file: String,
    /// How it is compressed.
    pub compression: Compression,
    /// Size and digest of the file, where the archive records them.
    pub stored: Option<FileRecord>,
    /// Bytes of rows, where known.
    pub raw_bytes: Option<u64>,
    /// Rows, where known.
    pub rows: Option<u64>,
}

/// Chunks of one table, one after the other.
pub struct ChunkStream<'a> {
    /// Where they are.
    pub store: &'a dyn Store,
    /// Those that have not begun.
    pub chunks: std::slice::Iter<'a, Chunk>,
    /// The one that is being read.
    pub reader: Option<ChunkReader>,
    /// Figures of the phase.
    pub counters: &'a Counters,
    /// Ends the stream early.
    pub stop: &'a Stop<'a>,
    /// Takes a digest; only where the stream has one chunk.
    pub tee: Option<Tee<'a>>,
}

impl ChunkStream<'_> {
    /// Opens the next chunk; false if there is none.
    pub fn open(&mut self) -> Result<bool, ArchiveError> {
        let Some(chunk) = self.chunks.next() else {
            self.reader = None;
            return Ok(false);
        };
        let expected = Expected {
            stored: chunk.stored.as_ref(),
            raw_bytes: chunk.raw_bytes,
        };
        let reader = ChunkReader::open(self.store, &chunk.file, chunk.compression, expected)?;
        self.reader = Some(reader);
        Ok(true)
    }
}

impl Read for ChunkStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.stop.is_requested() {
            return Err(ArchiveError::Interrupted.into());
        }
        while let Some(reader) = &mut self.reader {
            let n = reader.read(buffer)?;
            if n == 0 && !buffer.is_empty() {
                self.open()?;
                continue;
            }
            self.counters.bytes.add(n as u64);
            if let Some(tee) = &mut self.tee {
                tee.take(&buffer[..n])?;
            }
            return Ok(n);
        }
        Ok(0)
    }
}

/// Cuts the bytes of a stream into lines.
#[derive(Default)]
pub struct Lines {
    /// The start of a line whose end has not come yet.
    begun: Vec<u8>,
}

impl Lines {
    /// Calls `each` with every line that is complete now, without its end.
    pub fn take<E>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        // A line can end in any later piece, so the search begins at its start.
        if !self.begun.is_empty() {
            let before = self.begun.len();
            self.begun.extend_from_slice(bytes);
            let Some(end) = archive::row::row_end(&self.begun) else {
                return Ok(());
            };
            each(&self.begun[..end - 1])?;
            bytes = &bytes[end - before..];
            self.begun.clear();
        }
        while let Some(end) = archive::row::row_end(bytes) {
            each(&bytes[..end - 1])?;
            bytes = &bytes[end..];
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }

    /// Checks that the last line was complete.
    pub fn finish(&self, file: &str) -> Result<(), ArchiveError> {
        if self.begun.is_empty() {
            Ok(())
        } else {
            Err(ArchiveError::damaged(file, "ends in the middle of a row"))
        }
    }
}

/// Takes a digest of rows that pass as lines.
pub struct Tee<'a> {
    file: &'a str,
    plan: &'a RowPlan,
    lines: Lines,
    payload: Vec<u8>,
    digest: RowDigest,
}

impl<'a> Tee<'a> {
    /// A digest of no rows yet.
    pub fn new(file: &'a str, plan: &'a RowPlan) -> Self {
        Self {
            file,
            plan,
            lines: Lines::default(),
            payload: Vec::new(),
            digest: RowDigest::new(),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let Tee {
            file,
            plan,
            lines,
            payload,
            digest,
        } = self;
        lines.take(bytes, |line| {
            payload.clear();
            plan.decode_row(line, payload)
                .map_err(|source| ArchiveError::Row {
                    file: (*file).to_owned(),
                    source,
                })?;
            digest.add(payload);
            Ok(())
        })
    }

    /// The digest, if the last row was complete.
    pub fn finish(self, file: &str) -> Result<RowDigest, ArchiveError> {
        self.lines.finish(file)?;
        Ok(self.digest)
    }
}
