//! Where things lie in a page. Offsets are from the begin of the page, numbers
//! big endian; the names are those of InnoDB's public documentation and sources
//! (fil0types.h, page0types.h, fsp0types.h).

/// Bytes of a page; other sizes are not read.
pub const SIZE: usize = 16384;

/// "No page".
pub const NONE: u32 = u32::MAX;

/// Pages of an extent.
pub const EXTENT: u32 = 64;

/// Header and trailer of every page.
pub mod fil {
    /// Number of the page in its file.
    pub const NUMBER: usize = 4;
    /// The page before, on the same level of an index.
    pub const PREV: usize = 8;
    /// The page behind.
    pub const NEXT: usize = 12;
    /// Log sequence number of the last change.
    pub const LSN: usize = 16;
    /// What kind of page it is.
    pub const TYPE: usize = 24;
    /// Zero in the tablespace of a table.
    pub const FLUSH_LSN: usize = 26;
    /// Number of the tablespace.
    pub const SPACE: usize = 34;
    /// Where the header ends.
    pub const BODY: usize = 38;
    /// Bytes of the trailer.
    pub const TRAILER: usize = 8;
}

/// Kinds of pages.
pub mod kind {
    /// Segments.
    pub const INODE: u16 = 3;
    /// Insert buffer bitmap.
    pub const BITMAP: u16 = 5;
    /// Head of the tablespace, descriptors of its first extents.
    pub const HEAD: u16 = 8;
    /// Descriptors of further extents.
    pub const EXTENTS: u16 = 9;
    /// A piece of a long value, as a chain.
    pub const BLOB: u16 = 10;
    /// Root of an index that was altered at once (MariaDB).
    pub const INSTANT: u16 = 18;
    /// MySQL 8: first page of a long value.
    pub const LOB_FIRST: u16 = 24;
    /// MySQL 8: the index that holds the serialized dictionary information.
    pub const SDI: u16 = 17853;
    /// R-tree; only its pages by themselves are checked.
    pub const RTREE: u16 = 17854;
    /// B-tree.
    pub const INDEX: u16 = 17855;
}

/// Header of a page of an index, behind the page's own.
pub mod index {
    /// Slots of the directory.
    pub const SLOTS: usize = 38;
    /// First byte behind the records.
    pub const HEAP_TOP: usize = 40;
    /// Records with the two that frame them and the free ones; top bit: compact.
    pub const HEAP: usize = 42;
    /// First free record.
    pub const FREE: usize = 44;
    /// Bytes of free records.
    pub const GARBAGE: usize = 46;
    /// The record that was inserted last.
    pub const LAST_INSERT: usize = 48;
    /// In which direction records come.
    pub const DIRECTION: usize = 50;
    /// How many came in that direction.
    pub const IN_DIRECTION: usize = 52;
    /// Records.
    pub const RECORDS: usize = 54;
    /// Last transaction that changed the page; secondary leaves only.
    pub const MAX_TRX: usize = 56;
    /// Level above the leaves.
    pub const LEVEL: usize = 64;
    /// Number of the index.
    pub const ID: usize = 66;
    /// Segment of the leaves; root only.
    pub const LEAVES: usize = 74;
    /// Segment of the other pages; root only.
    pub const BRANCHES: usize = 84;
    /// Origin of the record in front of all others.
    pub const INFIMUM: usize = 99;
    /// Origin of the record behind all others.
    pub const SUPREMUM: usize = 112;
    /// Where records begin.
    pub const RECORDS_BEGIN: usize = 120;
    /// Bytes of a slot of the directory.
    pub const SLOT: usize = 2;

    /// Whether its records are in the format of before COMPACT.
    pub fn is_redundant(page: &[u8]) -> bool {
        super::u16_at(page, HEAP) & 0x8000 == 0
    }
}

/// Two bytes as a number.
pub fn u16_at(page: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([page[at], page[at + 1]])
}

/// Four bytes as a number.
pub fn u32_at(page: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// Eight bytes as a number.
pub fn u64_at(page: &[u8], at: usize) -> u64 {
    (u64::from(u32_at(page, at)) << 32) | u64::from(u32_at(page, at + 4))
}

/// Whether a page was never written.
pub fn is_empty(page: &[u8]) -> bool {
    page.iter().all(|b| *b == 0)
}
