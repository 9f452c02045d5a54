//! The records of one page, in order.
//!
//! A chain is followed as far as the page's header says; one that ends sooner or later is an error. That records do
//! not overlap, and that the page directory fits them, is the business of `check`.

use crate::page::{index, u16_at};

/// Origins of infimum and supremum in REDUNDANT (`PAGE_OLD_INFIMUM`, `PAGE_OLD_SUPREMUM`); those of COMPACT are in `page`.
const OLD: [usize; 2] = [101, 116];

/// Flags of a record, before its origin.
pub mod info {
    /// Delete-marked (`REC_INFO_DELETED_FLAG`).
    pub const DELETED: u8 = 0x20;
    /// The least of its level (`REC_INFO_MIN_REC_FLAG`); at a leaf, MariaDB: what an instant ALTER left to know.
    pub const LEAST: u8 = 0x10;
    /// MySQL: the version of the row precedes the header (`REC_INFO_VERSION_FLAG`).
    pub const VERSION: u8 = 0x40;
    /// MySQL: the number of fields precedes the header (`REC_INFO_INSTANT_FLAG`).
    pub const FIELDS: u8 = 0x80;
}

/// Walks a page's records; each item is an origin.
pub struct Chain<'p> {
    page: &'p [u8],
    at: usize,
    end: usize,
    left: usize,
    redundant: bool,
}

impl<'p> Chain<'p> {
    /// From the first record of a page of an index.
    pub fn of(page: &'p [u8]) -> Chain<'p> {
        let redundant = index::is_redundant(page);
        let [at, end] = if redundant {
            OLD
        } else {
            [index::INFIMUM, index::SUPREMUM]
        };
        Chain {
            page,
            at,
            end,
            // Not more than fit, each with its header.
            left: usize::from(u16_at(page, index::RECORDS)).min(page.len() / 6),
            redundant,
        }
    }

    /// From the first of the records whose place is free (`PAGE_FREE`).
    pub fn of_free(page: &'p [u8]) -> Chain<'p> {
        let mut chain = Chain::of(page);
        chain.at = usize::from(u16_at(page, index::FREE));
        chain.left = page.len() / 6;
        chain
    }

    /// The next free record's origin: what leads to where no record can be ends the list, which is only a hint.
    pub fn next_free(&mut self) -> Option<usize> {
        let at = self.at;
        if at <= self.end || at >= self.page.len() || self.left == 0 {
            return None;
        }
        self.left -= 1;
        let step = usize::from(u16_at(self.page, at - 2));
        self.at = match (step, self.redundant) {
            (0, _) => 0,
            (_, true) => step,
            (_, false) => (at + step) & (self.page.len() - 1) & 0xffff,
        };
        Some(at)
    }

    /// The next record's origin. It is behind both frame records, and within the page.
    #[inline]
    pub fn next(&mut self) -> Result<Option<usize>, &'static str> {
        let step = usize::from(u16_at(self.page, self.at - 2));
        let next = if self.redundant {
            step
        } else {
            // Relative, and modulo the size of a page.
            (self.at + step) & (self.page.len() - 1) & 0xffff
        };
        if next == self.end {
            return if self.left == 0 {
                Ok(None)
            } else {
                Err("it has fewer records than its header says")
            };
        }
        if self.left == 0 {
            return Err("it has more records than its header says");
        }
        if next <= self.end || next >= self.page.len() {
            return Err("a record leads to where none can be");
        }
        self.left -= 1;
        self.at = next;
        Ok(Some(next))
    }

    /// A record's flags.
    #[inline]
    pub fn info(&self, origin: usize) -> u8 {
        // `REC_NEW_INFO_BITS`, `REC_OLD_INFO_BITS`.
        self.page[origin - if self.redundant { 6 } else { 5 }] & 0xf0
    }
}
