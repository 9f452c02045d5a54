//! Through one data file, row by row.

use super::Progress;
use super::task::{ChunkTask, Task};
use crate::chunk::{ChunkReader, Expected, index};
use crate::file::read_full;
use crate::row::{RowPlan, last_row_end, row_end};
use crate::{ArchiveError, Result, RowDigest};
use base::Cancel;
use store::Store;

/// Decompressed bytes looked at in one step; the buffer grows only for a row that is larger.
const BUFFER: usize = 256 * 1024;

/// Twice the largest payload of a row: every byte of it may have an escape.
const LARGEST_LINE: usize = 2 << 30;

/// What a data file turned out to hold.
pub(super) struct Decoded {
    pub(super) raw_bytes: u64,
    /// Rows and their digest, if rows were decoded.
    pub(super) digest: Option<RowDigest>,
    /// The index that belongs to the rows, if rows were decoded.
    pub(super) index: Option<Vec<u8>>,
}

pub(super) fn decode_chunk(
    store: &dyn Store,
    task: &Task,
    chunk: &ChunkTask,
    rows: bool,
    cancel: &Cancel,
    step: &mut dyn FnMut(Progress),
) -> Result<Decoded> {
    let expected = Expected {
        stored: task.record.as_ref(),
        raw_bytes: chunk.raw_bytes,
    };
    let mut reader = ChunkReader::open(store, &task.file, chunk.compression, expected)?;
    let mut decoder = chunk
        .plan
        .as_ref()
        .filter(|_| rows)
        .map(|plan| Decoder::new(plan, &task.file));
    let mut buffer = vec![0; BUFFER];
    let mut fill = 0;
    let mut stored = 0;
    loop {
        if cancel.is_raised() {
            return Err(ArchiveError::Interrupted);
        }
        if fill == buffer.len() {
            if fill >= LARGEST_LINE {
                return Err(ArchiveError::damaged(
                    &task.file,
                    "a row is impossibly large",
                ));
            }
            buffer.resize(2 * fill, 0);
        }
        // Filled up before it is searched, so that the search for the end of a
        // huge row does not begin again with every small read.
        let n = read_full(&mut reader, &mut buffer[fill..])
            .map_err(|e| ArchiveError::from_io(&task.file, e))?;
        let before = decoder.as_ref().map_or(0, |d| d.digest.rows());
        if n > 0 {
            fill += n;
            match &mut decoder {
                Some(decoder) => {
                    // Only the new bytes can hold an end, but a row's first
                    // bytes decide how backslashes pair.
                    let end = last_row_end(&buffer[..fill]).unwrap_or(0);
                    decoder.rows(&buffer[..end])?;
                    buffer.copy_within(end..fill, 0);
                    fill -= end;
                }
                None => fill = 0,
            }
        }
        let after = decoder.as_ref().map_or(0, |d| d.digest.rows());
        step(Progress {
            files: 0,
            stored_bytes: reader.stored_bytes() - stored,
            raw_bytes: n as u64,
            rows: after - before,
        });
        stored = reader.stored_bytes();
        if n == 0 {
            break;
        }
    }
    if fill > 0 {
        return Err(ArchiveError::damaged(&task.file, "its last row has no end"));
    }
    let raw_bytes = reader.raw_bytes();
    Ok(match decoder {
        None => Decoded {
            raw_bytes,
            digest: None,
            index: None,
        },
        Some(mut decoder) => Decoded {
            raw_bytes,
            digest: Some(decoder.digest),
            index: Some(decoder.index.finish().to_vec()),
        },
    })
}

struct Decoder<'a> {
    plan: &'a RowPlan,
    file: &'a str,
    payload: Vec<u8>,
    digest: RowDigest,
    index: index::Index,
}

impl<'a> Decoder<'a> {
    fn new(plan: &'a RowPlan, file: &'a str) -> Self {
        Self {
            plan,
            file,
            payload: Vec::new(),
            digest: RowDigest::new(),
            index: index::Index::default(),
        }
    }

    /// Whole rows.
    fn rows(&mut self, mut lines: &[u8]) -> Result<()> {
        while let Some(end) = row_end(lines) {
            self.payload.clear();
            self.plan
                .decode_row(&lines[..end - 1], &mut self.payload)
                .map_err(|e| {
                    let row = self.digest.rows() + 1;
                    ArchiveError::damaged(self.file, format!("row {row}: {e}"))
                })?;
            self.digest.add(&self.payload);
            self.index.row(end as u64);
            lines = &lines[end..];
        }
        Ok(())
    }
}
