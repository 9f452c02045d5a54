//! Offsets of the fields of a page. They count from the start of the page, numbers are
//! big endian; InnoDB's own constant is named beside each (fil0types.h, page0types.h,
//! fsp0types.h).

/// Bytes of a page; other sizes are not supported (`UNIV_PAGE_SIZE`).
pub const SIZE: usize = 16384;

/// "No page" (`FIL_NULL`).
pub const NONE: u32 = u32::MAX;

/// Pages of an extent (`FSP_EXTENT_SIZE`).
pub const EXTENT: u32 = 64;

/// Header and trailer of every page.
pub mod fil {
    /// Page number (`FIL_PAGE_OFFSET`).
    pub const NUMBER: usize = 4;
    /// The previous page on the same level of an index (`FIL_PAGE_PREV`).
    pub const PREV: usize = 8;
    /// The next page (`FIL_PAGE_NEXT`).
    pub const NEXT: usize = 12;
    /// Log sequence number of the last change (`FIL_PAGE_LSN`).
    pub const LSN: usize = 16;
    /// Page type (`FIL_PAGE_TYPE`).
    pub const TYPE: usize = 24;
    /// Zero in the tablespace of a table (`FIL_PAGE_FILE_FLUSH_LSN`).
    pub const FLUSH_LSN: usize = 26;
    /// Tablespace id (`FIL_PAGE_SPACE_ID`).
    pub const SPACE: usize = 34;
    /// End of the header (`FIL_PAGE_DATA`).
    pub const BODY: usize = 38;
    /// Bytes of the trailer (`FIL_PAGE_DATA_END`).
    pub const TRAILER: usize = 8;
}

/// Page types (`FIL_PAGE_TYPE`).
pub mod kind {
    /// Segment inodes (`FIL_PAGE_INODE`).
    pub const INODE: u16 = 3;
    /// Insert buffer bitmap (`FIL_PAGE_IBUF_BITMAP`).
    pub const BITMAP: u16 = 5;
    /// FSP header and the first extent descriptors (`FIL_PAGE_TYPE_FSP_HDR`).
    pub const FSP_HEADER: u16 = 8;
    /// More extent descriptors (`FIL_PAGE_TYPE_XDES`).
    pub const EXTENTS: u16 = 9;
    /// A part of a long value, in a chain (`FIL_PAGE_TYPE_BLOB`).
    pub const BLOB: u16 = 10;
    /// Root of an index after an instant ALTER (MariaDB, `FIL_PAGE_TYPE_INSTANT`).
    pub const INSTANT: u16 = 18;
    /// MySQL 8: a part of long dictionary information, in a chain (`FIL_PAGE_SDI_BLOB`); MariaDB has another meaning for it.
    pub const SDI_BLOB: u16 = 18;
    /// MySQL 8: first page of a long value (`FIL_PAGE_TYPE_LOB_FIRST`).
    pub const LOB_FIRST: u16 = 24;
    /// MySQL 8: serialized dictionary information (`FIL_PAGE_SDI`).
    pub const SDI: u16 = 17853;
    /// R-tree; only single pages are checked (`FIL_PAGE_RTREE`).
    pub const RTREE: u16 = 17854;
    /// B-tree (`FIL_PAGE_INDEX`).
    pub const INDEX: u16 = 17855;
}

/// Header of an index page, after the FIL header (`PAGE_HEADER`).
pub mod index {
    /// Slots of the page directory (`PAGE_N_DIR_SLOTS`).
    pub const SLOTS: usize = 38;
    /// First byte after the records (`PAGE_HEAP_TOP`).
    pub const HEAP_TOP: usize = 40;
    /// Records with infimum, supremum and free ones; top bit: compact (`PAGE_N_HEAP`).
    pub const HEAP: usize = 42;
    /// First free record (`PAGE_FREE`).
    pub const FREE: usize = 44;
    /// Bytes of free records (`PAGE_GARBAGE`).
    pub const GARBAGE: usize = 46;
    /// The record that was inserted last (`PAGE_LAST_INSERT`).
    pub const LAST_INSERT: usize = 48;
    /// Direction of inserts (`PAGE_DIRECTION`).
    pub const DIRECTION: usize = 50;
    /// Inserts in that direction (`PAGE_N_DIRECTION`).
    pub const IN_DIRECTION: usize = 52;
    /// User records (`PAGE_N_RECS`).
    pub const RECORDS: usize = 54;
    /// Last transaction that changed the page; secondary leaves only (`PAGE_MAX_TRX_ID`).
    pub const MAX_TRX: usize = 56;
    /// Level above the leaves (`PAGE_LEVEL`).
    pub const LEVEL: usize = 64;
    /// Index id (`PAGE_INDEX_ID`).
    pub const ID: usize = 66;
    /// Segment of the leaves; root only (`PAGE_BTR_SEG_LEAF`).
    pub const LEAVES: usize = 74;
    /// Segment of the non-leaf pages; root only (`PAGE_BTR_SEG_TOP`).
    pub const NON_LEAVES: usize = 84;
    /// Origin of the infimum record (`PAGE_NEW_INFIMUM`).
    pub const INFIMUM: usize = 99;
    /// Origin of the supremum record (`PAGE_NEW_SUPREMUM`).
    pub const SUPREMUM: usize = 112;
    /// Start of the user records (`PAGE_NEW_SUPREMUM_END`).
    pub const RECORDS_BEGIN: usize = 120;
    /// Bytes of a directory slot (`PAGE_DIR_SLOT_SIZE`).
    pub const SLOT: usize = 2;

    /// Whether its records are in the REDUNDANT format.
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
