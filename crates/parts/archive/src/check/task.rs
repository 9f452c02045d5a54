//! The work of a check: files to read, and what is expected of them.

use crate::chunk::Compression;
use crate::row::RowPlan;
use crate::{FileRecord, RowDigest};

/// One file to go through.
pub(super) struct Task {
    pub(super) file: String,
    pub(super) record: Option<FileRecord>,
    /// Stored size, for the order of work.
    pub(super) size: u64,
    pub(super) chunk: Option<ChunkTask>,
}

/// A data file to decompress and perhaps decode.
pub(super) struct ChunkTask {
    pub(super) schema: String,
    pub(super) table: String,
    pub(super) number: u64,
    pub(super) compression: Compression,
    /// How to decode its rows; `None` if they are in a foreign dialect.
    pub(super) plan: Option<RowPlan>,
    pub(super) raw_bytes: Option<u64>,
    pub(super) digest: Option<RowDigest>,
    /// There is an index file to compare with.
    pub(super) indexed: bool,
}
