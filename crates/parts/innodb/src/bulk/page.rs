//! One index page while it is filled, in key order.

use crate::page::{NONE, SIZE, fil, index, kind, u16_at};
use crate::record::HEADER;

/// Records that a directory slot owns (`n_owned`; InnoDB allows `PAGE_DIR_SLOT_MAX_N_OWNED`, 8).
const OWNED: u8 = 4;

/// Bytes that stay free for rows that grow, as servers leave them in a sorted index build.
const RESERVE: usize = SIZE / 16;

/// Infimum and supremum, with their headers: bytes 94 to 120.
const INFIMUM_SUPREMUM: &[u8; 26] = b"\x01\x00\x02\x00\x0dinfimum\x00\x01\x00\x0b\x00\x00supremum";

/// A record's bytes: lengths and NULL bitmap, room for its header, then its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Offset of its fields.
    pub origin: usize,
}

/// A page that is filled.
#[derive(Clone, Debug)]
pub struct Filling {
    page: Vec<u8>,
    top: usize,
    records: u16,
    /// The last record, to be linked to the next.
    last: usize,
    /// Records since the last slot.
    owned: u8,
    slots: usize,
    status: u8,
}

/// What an index page says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belongs {
    /// Tablespace id.
    pub space: u32,
    /// Index id.
    pub index: u64,
    /// Level above the leaves.
    pub level: u16,
    /// A leaf of a secondary index, which names the last transaction that changed it.
    pub secondary_leaf: bool,
    /// Log sequence number.
    pub lsn: u64,
}

impl Filling {
    /// An empty page.
    pub fn new(belongs: Belongs) -> Filling {
        let mut page = vec![0; SIZE];
        page[fil::PREV..fil::PREV + 8].fill(0xff);
        page[fil::LSN..fil::LSN + 8].copy_from_slice(&belongs.lsn.to_be_bytes());
        page[fil::TYPE..fil::TYPE + 2].copy_from_slice(&kind::INDEX.to_be_bytes());
        page[fil::SPACE..fil::SPACE + 4].copy_from_slice(&belongs.space.to_be_bytes());
        page[index::LEVEL..index::LEVEL + 2].copy_from_slice(&belongs.level.to_be_bytes());
        page[index::ID..index::ID + 8].copy_from_slice(&belongs.index.to_be_bytes());
        page[index::DIRECTION + 1] = 2;
        if belongs.secondary_leaf {
            // 0 reads as damage once the server runs from this file.
            page[index::MAX_TRX + 7] = 1;
        }
        page[index::INFIMUM - HEADER..index::RECORDS_BEGIN].copy_from_slice(INFIMUM_SUPREMUM);
        Filling {
            page,
            top: index::RECORDS_BEGIN,
            records: 0,
            last: index::INFIMUM,
            owned: 0,
            slots: 1,
            status: u8::from(belongs.level > 0),
        }
    }

    /// Whether there is room for a record of `bytes`; an empty page takes any.
    pub fn has_room(&self, bytes: usize) -> bool {
        // The existing slots, one for this record, and the last.
        let directory = (self.slots + 2) * index::SLOT;
        self.records == 0 || self.top + bytes + directory + RESERVE <= SIZE - fil::TRAILER
    }

    /// Whether it has no record.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Appends a record; `info` are its flags.
    pub fn push(&mut self, bytes: &[u8], origin: usize, info: u8) {
        let at = self.top + origin;
        self.page[self.top..self.top + bytes.len()].copy_from_slice(bytes);
        self.top += bytes.len();
        self.records += 1;
        self.owned += 1;
        let owned = if self.owned == OWNED { OWNED } else { 0 };
        self.page[at - HEADER] = info | owned;
        let number = (self.records + 1) << 3 | u16::from(self.status);
        self.page[at - 4..at - 2].copy_from_slice(&number.to_be_bytes());
        self.link(at);
        self.last = at;
        if owned != 0 {
            self.slot(at);
            self.owned = 0;
        }
    }

    fn link(&mut self, next: usize) {
        let step = (next as u16).wrapping_sub(self.last as u16);
        self.page[self.last - 2..self.last].copy_from_slice(&step.to_be_bytes());
    }

    fn slot(&mut self, at: usize) {
        let at_slot = SIZE - fil::TRAILER - (self.slots + 1) * index::SLOT;
        self.page[at_slot..at_slot + 2].copy_from_slice(&(at as u16).to_be_bytes());
        self.slots += 1;
    }

    /// The page so far, to read its records; its record chain has no end yet.
    pub fn bytes(&self) -> &[u8] {
        &self.page
    }

    /// The origin of its first record.
    pub fn first(&self) -> Option<usize> {
        let step = u16_at(&self.page, index::INFIMUM - 2);
        (self.records > 0).then(|| usize::from((index::INFIMUM as u16).wrapping_add(step)))
    }

    /// The finished page, except for its number, its neighbours and its checksum.
    pub fn done(mut self) -> Vec<u8> {
        self.link(index::SUPREMUM);
        // Infimum has the first slot, supremum the last.
        let first = SIZE - fil::TRAILER - index::SLOT;
        self.page[first..first + 2].copy_from_slice(&(index::INFIMUM as u16).to_be_bytes());
        self.slot(index::SUPREMUM);
        self.page[index::SUPREMUM - HEADER] = self.owned + 1;
        let mut set = |at: usize, n: usize| {
            self.page[at..at + 2].copy_from_slice(&(n as u16).to_be_bytes());
        };
        let records = usize::from(self.records);
        set(index::SLOTS, self.slots);
        set(index::HEAP_TOP, self.top);
        set(index::HEAP, 0x8000 | (records + 2));
        set(index::LAST_INSERT, if records == 0 { 0 } else { self.last });
        set(index::RECORDS, records);
        self.page
    }
}

/// Writes a page's number and its neighbours'.
pub fn place(page: &mut [u8], number: u32, previous: Option<u32>, next: Option<u32>) {
    let mut set = |at: usize, n: u32| page[at..at + 4].copy_from_slice(&n.to_be_bytes());
    set(fil::NUMBER, number);
    set(fil::PREV, previous.unwrap_or(NONE));
    set(fil::NEXT, next.unwrap_or(NONE));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::chain;

    const LEAF: Belongs = Belongs {
        space: 7,
        index: 9,
        level: 0,
        secondary_leaf: false,
        lsn: 5,
    };

    #[test]
    fn every_number_of_records_makes_a_page_that_holds_together() {
        for n in 0..40 {
            let mut filling = Filling::new(LEAF);
            for i in 0..n {
                filling.push(&[0, 0, 0, 0, 0, i, i], HEADER, 0);
            }
            let page = filling.done();
            let chain = chain(&page).unwrap_or_else(|e| panic!("{n}: {e}"));
            assert_eq!(chain.records.len(), usize::from(n));
            assert_eq!(chain.heap_top, index::RECORDS_BEGIN + usize::from(n) * 7);
        }
    }

    #[test]
    fn a_full_page_keeps_a_sixteenth_free() {
        let mut filling = Filling::new(LEAF);
        while filling.has_room(107) {
            filling.push(&[0; 107], HEADER, 0);
        }
        let chain = chain(&filling.done()).expect("a page");
        let free = SIZE - fil::TRAILER - chain.heap_top;
        assert!((RESERVE..RESERVE + 300).contains(&free), "{free}");
        assert!(Filling::new(LEAF).has_room(8000));
    }
}
