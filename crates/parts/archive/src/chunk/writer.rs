//! Rows to a data file: digest, line, compression, BLAKE3 and store in one
//! pass, with memory that does not depend on the size of rows or chunks.

use super::{Compression, index};
use crate::file::{self, FileRecord};
use crate::row::{RowError, RowPlan};
use crate::{ArchiveError, Result, RowDigest};
use std::io::Write;
use store::{Store, Writer};
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

/// Lines collected before they are compressed.
const BUFFER: usize = 256 * 1024;

/// Rows from this payload size on go through the buffer in pieces.
const LARGE_ROW: usize = 64 * 1024;

/// What a worker keeps from chunk to chunk: buffers and the compressor, about
/// 2 MiB at level 1 (the compressor's part grows with the level).
pub struct Scratch {
    lines: Box<[u8]>,
    packed: Box<[u8]>,
    encoder: Option<(i32, Encoder<'static>)>,
    index: index::Index,
}

impl Scratch {
    /// Buffers for one worker.
    pub fn new() -> Self {
        Self {
            lines: vec![0; BUFFER].into(),
            packed: vec![0; BUFFER].into(),
            encoder: None,
            index: index::Index::default(),
        }
    }

    fn prepare(&mut self, compression: Compression, file: &str) -> Result<bool> {
        self.index.clear();
        let fail = |e| ArchiveError::Store(store::Error::new("compress", file, e));
        match compression {
            Compression::None => Ok(false),
            Compression::Gzip => Err(ArchiveError::Unsupported {
                file: file.to_owned(),
                what: "gzip is not written".to_owned(),
            }),
            Compression::Zstd(level) => {
                match &mut self.encoder {
                    Some((of, encoder)) if *of == level => encoder.reinit().map_err(fail)?,
                    slot => {
                        let mut encoder = Encoder::new(level).map_err(fail)?;
                        encoder
                            .set_parameter(CParameter::ChecksumFlag(true))
                            .map_err(fail)?;
                        *slot = Some((level, encoder));
                    }
                }
                Ok(true)
            }
        }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// How a chunk is written.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// Sync each file when it is finished; otherwise [`Store::sync`] has to
    /// follow before the manifest.
    pub durable: bool,
    /// Take a row digest; without it the record's digest only counts rows.
    pub digest_rows: bool,
    /// Write the `.idx` file.
    pub index: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            durable: false,
            digest_rows: true,
            index: true,
        }
    }
}

/// What a finished chunk consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkRecord {
    /// Name of the data file.
    pub file: String,
    /// The data file as stored.
    pub stored: FileRecord,
    /// Size of the data before compression, in bytes.
    pub raw_bytes: u64,
    /// Number of rows.
    pub rows: u64,
    /// Digest of the rows; the empty digest if none was asked for.
    pub row_digest: RowDigest,
    /// Name and record of the index file, if one was written.
    pub index: Option<(String, FileRecord)>,
}

/// Writes one data file. Dropped before [`finish`](Self::finish) it leaves nothing behind.
pub struct ChunkWriter<'s> {
    store: &'s dyn Store,
    scratch: &'s mut Scratch,
    options: WriteOptions,
    file: String,
    writer: Box<dyn Writer>,
    compress: bool,
    hasher: blake3::Hasher,
    /// Bytes of `scratch.lines` in use.
    fill: usize,
    /// Bytes of `scratch.packed` in use.
    packed: usize,
    rows: u64,
    digest: RowDigest,
    /// Something failed: what was written is not a whole number of rows.
    broken: bool,
}

impl<'s> ChunkWriter<'s> {
    /// Starts the data file `name` (its final name, with its extension).
    pub fn create(
        store: &'s dyn Store,
        name: &str,
        compression: Compression,
        options: WriteOptions,
        scratch: &'s mut Scratch,
    ) -> Result<Self> {
        let compress = scratch.prepare(compression, name)?;
        Ok(Self {
            writer: store.create(name)?,
            store,
            scratch,
            options,
            file: name.to_owned(),
            compress,
            hasher: blake3::Hasher::new(),
            fill: 0,
            packed: 0,
            rows: 0,
            digest: RowDigest::new(),
            broken: false,
        })
    }

    /// Adds one row, given as its text-protocol payload. After an error the
    /// chunk cannot be finished any more.
    #[inline]
    pub fn push(&mut self, plan: &RowPlan, payload: &[u8]) -> Result<()> {
        if self.options.digest_rows {
            self.digest.add(payload);
        }
        let need = plan.bound(payload.len());
        if need > self.scratch.lines.len() - self.fill {
            if payload.len() >= LARGE_ROW || need > self.scratch.lines.len() {
                return self.push_large(plan, payload);
            }
            self.flush_lines()?;
        }
        match plan.encode_into(payload, &mut self.scratch.lines[self.fill..]) {
            Ok(n) => {
                self.fill += n;
                self.scratch.index.row(n as u64);
                self.rows += 1;
                Ok(())
            }
            Err(source) => {
                self.broken = true;
                Err(self.row_error(source))
            }
        }
    }

    /// A row that might not fit the buffer: in pieces.
    #[cold]
    fn push_large(&mut self, plan: &RowPlan, payload: &[u8]) -> Result<()> {
        enum Failed {
            Row(RowError),
            Other(ArchiveError),
        }
        impl From<RowError> for Failed {
            fn from(e: RowError) -> Self {
                Self::Row(e)
            }
        }
        let written =
            plan.encode_pieces(payload, |piece| self.append(piece).map_err(Failed::Other));
        match written {
            Ok(n) => {
                self.scratch.index.row(n);
                self.rows += 1;
                Ok(())
            }
            Err(failed) => {
                self.broken = true;
                Err(match failed {
                    Failed::Row(source) => self.row_error(source),
                    Failed::Other(e) => e,
                })
            }
        }
    }

    fn row_error(&self, source: RowError) -> ArchiveError {
        ArchiveError::Row {
            file: self.file.clone(),
            source,
        }
    }

    /// Adds a piece of at most the buffer's size.
    fn append(&mut self, piece: &[u8]) -> Result<()> {
        if piece.len() > self.scratch.lines.len() - self.fill {
            self.flush_lines()?;
        }
        self.scratch.lines[self.fill..self.fill + piece.len()].copy_from_slice(piece);
        self.fill += piece.len();
        Ok(())
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Row bytes so far, before compression.
    pub fn raw_bytes(&self) -> u64 {
        self.scratch.index.total()
    }

    /// Bytes passed to the store so far; lags behind by what the buffers hold.
    pub fn stored_bytes(&self) -> u64 {
        self.hasher.count()
    }

    /// Compresses and passes on what has been collected.
    fn flush_lines(&mut self) -> Result<()> {
        let lines = std::mem::take(&mut self.scratch.lines);
        let done = self.consume(&lines[..self.fill]);
        self.scratch.lines = lines;
        self.fill = 0;
        self.broken |= done.is_err();
        done
    }

    fn consume(&mut self, lines: &[u8]) -> Result<()> {
        if !self.compress {
            return self.emit(lines);
        }
        let mut input = InBuffer::around(lines);
        while input.pos() < lines.len() {
            self.compressor(|encoder, output| encoder.run(&mut input, output))?;
            self.emit_if_full()?;
        }
        Ok(())
    }

    /// One step of the compressor into what is free of the packed buffer.
    fn compressor(
        &mut self,
        step: impl FnOnce(&mut Encoder<'static>, &mut OutBuffer<'_, [u8]>) -> std::io::Result<usize>,
    ) -> Result<usize> {
        let fail = |e| ArchiveError::Store(store::Error::new("compress", &self.file, e));
        let Some((_, encoder)) = &mut self.scratch.encoder else {
            return Err(fail(std::io::Error::other("no compressor")));
        };
        let mut output = OutBuffer::around(&mut self.scratch.packed[self.packed..]);
        let left = step(encoder, &mut output).map_err(fail)?;
        self.packed += output.pos();
        Ok(left)
    }

    fn emit_if_full(&mut self) -> Result<()> {
        if self.packed == self.scratch.packed.len() {
            self.emit_packed()?;
        }
        Ok(())
    }

    fn emit_packed(&mut self) -> Result<()> {
        let packed = std::mem::take(&mut self.scratch.packed);
        let done = self.emit(&packed[..self.packed]);
        self.scratch.packed = packed;
        self.packed = 0;
        done
    }

    fn emit(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.writer
            .write_all(bytes)
            .map_err(|e| store::Error::new("write", &self.file, e))?;
        Ok(())
    }

    /// Completes the data file and its index.
    pub fn finish(mut self) -> Result<ChunkRecord> {
        self.flush_lines()?;
        if self.broken {
            let why = std::io::Error::other("an earlier row or write failed");
            return Err(store::Error::new("finish", &self.file, why).into());
        }
        if self.compress {
            while self.compressor(|encoder, output| encoder.finish(output, true))? > 0 {
                self.emit_packed()?;
            }
            self.emit_packed()?;
        }
        let stored = FileRecord::from_hasher(&self.hasher);
        let written = self.writer.finish(self.options.durable)?;
        if written != stored.bytes {
            let what = format!("{written} bytes arrived instead of {}", stored.bytes);
            return Err(ArchiveError::damaged(&self.file, what));
        }
        let raw_bytes = self.scratch.index.total();
        let index = if self.options.index {
            let name = index::name_of(&self.file);
            let bytes = self.scratch.index.finish();
            let record = file::put(self.store, &name, bytes, self.options.durable)?;
            Some((name, record))
        } else {
            None
        };
        Ok(ChunkRecord {
            file: self.file,
            stored,
            raw_bytes,
            rows: self.rows,
            row_digest: self.digest,
            index,
        })
    }
}
