//! Values that are not in their record's page, or only their beginning.
//!
//! A reference of 20 bytes leads to them. MariaDB, and MySQL before 8.0: a chain of pages (btr0cur.h, `BTR_BLOB_HDR`).
//! MySQL since 8.0: a first page with an index of the others, which keeps the parts that were there before a
//! partial update of JSON (lob0lob.h, lob0first.h, lob0index.h); the reference names the version to read.
//! What is read is never longer than the reference says, nor than the file is.

use super::error::Error;
use super::file::{Tablespace, Window};
use super::record::REFERENCE;
use super::types::Server;
use crate::page::{NONE, fil, kind, u16_at, u32_at};

/// MySQL's pages of long values.
mod lob {
    /// Kinds of pages: index, data (`FIL_PAGE_TYPE_LOB_INDEX`, `FIL_PAGE_TYPE_LOB_DATA`).
    pub const INDEX_PAGE: u16 = 22;
    pub const DATA_PAGE: u16 = 23;
    /// First page: the list of entries (`OFFSET_INDEX_LIST`).
    pub const LIST: usize = 64;
    /// First page: bytes of the value, after ten entries whatever the size of a page (`first_page_t::node_count`).
    pub const FIRST_DATA: usize = 96 + 10 * ENTRY;
    /// A data page's bytes (`data_page_t::LOB_PAGE_DATA`).
    pub const DATA: usize = 49;
    /// An entry (`index_entry_t`): the next one, older versions of it, page, bytes, version, length of all that.
    pub const NEXT: usize = 6;
    pub const OLDER: usize = 12;
    pub const PAGE: usize = 48;
    pub const LENGTH: usize = 52;
    pub const VERSION: usize = 56;
    pub const ENTRY: usize = 60;
}

/// Where a value's rest lies.
struct Reference {
    space: u32,
    page: u32,
    /// The byte where it begins, or MySQL's version of the value.
    offset: u32,
    length: u64,
}

/// What is kept between values.
#[derive(Default)]
pub struct Outside {
    data: Window,
    entries: Window,
}

impl Outside {
    /// Appends a value; `local` is what its record has of it, with the reference. Errors name the page `of` the record.
    pub fn value(
        &mut self,
        space: &Tablespace<'_>,
        of: u32,
        local: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let broken = || Error::damaged(of, "a long value has no reference");
        let at = local.len().checked_sub(REFERENCE).ok_or_else(broken)?;
        let (own, r) = local.split_at(at);
        let r = Reference {
            space: u32_at(r, 0),
            page: u32_at(r, 4),
            offset: u32_at(r, 8),
            // Before them: who owns the value, and whether it is being changed.
            length: u64::from(u32_at(r, 16)),
        };
        out.extend_from_slice(own);
        if r.length == 0 && r.page == 0 {
            return Err(Error::damaged(of, "a long value was never written"));
        }
        if r.space != space.id || r.length > u64::from(space.pages()) * space.page_size() as u64 {
            return Err(Error::damaged(
                of,
                format!(
                    "a long value leads to tablespace {}, page {}",
                    r.space, r.page
                ),
            ));
        }
        let end = out.len() + r.length as usize;
        let page = space.page(&mut self.data, r.page)?;
        match u16_at(page, fil::TYPE) {
            of if is_chained(space, of) => self.chain(space, &r, end, out)?,
            kind::LOB_FIRST => self.indexed(space, &r, end, out)?,
            other => {
                let what = format!("a page of kind {other} holds no long value");
                return Err(Error::damaged(r.page, what));
            }
        }
        if out.len() != end {
            return Err(Error::damaged(r.page, "a long value is too short"));
        }
        Ok(())
    }

    /// A chain of pages.
    fn chain(
        &mut self,
        space: &Tablespace<'_>,
        r: &Reference,
        end: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let (mut number, mut at) = (r.page, r.offset as usize);
        while number != NONE {
            let page = space.page(&mut self.data, number)?;
            let broken = |what: &str| Error::damaged(number, what);
            if !is_chained(space, u16_at(page, fil::TYPE)) {
                return Err(broken("it holds no long value"));
            }
            let header = page.get(at..).and_then(|p| p.get(..8));
            let header = header.ok_or_else(|| broken("a long value begins behind its end"))?;
            let length = u32_at(header, 0) as usize;
            // Parts have something, so that this ends.
            let part = page[..page.len() - fil::TRAILER].get(at + 8..);
            let part = part.and_then(|p| p.get(..length)).filter(|p| !p.is_empty());
            let part = part.ok_or_else(|| broken("a part of a long value does not fit"))?;
            if part.len() > end - out.len() {
                return Err(broken("a long value is longer than its reference says"));
            }
            out.extend_from_slice(part);
            number = u32_at(header, 4);
            at = fil::BODY;
        }
        Ok(())
    }

    /// Parts that an index names.
    fn indexed(
        &mut self,
        space: &Tablespace<'_>,
        r: &Reference,
        end: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let first = space.page(&mut self.entries, r.page)?;
        let mut at = address(first, lob::LIST + 4);
        while at.0 != NONE && out.len() < end {
            let mut entry = self.entry(space, r.page, at)?;
            at = entry.next;
            // What is newer than the record's version has older ones behind it.
            while entry.version > r.offset {
                if entry.older.0 == NONE {
                    return Err(Error::damaged(
                        r.page,
                        "a version of a long value is missing",
                    ));
                }
                let version = entry.version;
                let older = self.entry(space, r.page, entry.older)?;
                // The first of the list is the newest; within it the next ones are older.
                if older.version >= version {
                    return Err(Error::damaged(
                        r.page,
                        "versions of a long value are mixed up",
                    ));
                }
                entry = Entry {
                    older: older.next,
                    ..older
                };
            }
            let page = space.page(&mut self.data, entry.page)?;
            let from = match u16_at(page, fil::TYPE) {
                kind::LOB_FIRST if entry.page == r.page => lob::FIRST_DATA,
                lob::DATA_PAGE => lob::DATA,
                _ => return Err(Error::damaged(entry.page, "it holds no long value")),
            };
            let part = page[..page.len() - fil::TRAILER].get(from..);
            let part = part.and_then(|p| p.get(..entry.length));
            let part = part.filter(|p| !p.is_empty() && p.len() <= end - out.len());
            let part = part
                .ok_or_else(|| Error::damaged(entry.page, "a part of a long value does not fit"))?;
            out.extend_from_slice(part);
        }
        Ok(())
    }

    /// An entry of the index of a value.
    fn entry(
        &mut self,
        space: &Tablespace<'_>,
        first: u32,
        (number, at): (u32, usize),
    ) -> Result<Entry, Error> {
        let page = space.page(&mut self.entries, number)?;
        let is_index = u16_at(page, fil::TYPE) == lob::INDEX_PAGE || number == first;
        let entry = page.get(at..).and_then(|p| p.get(..lob::ENTRY));
        let entry = entry.filter(|_| is_index && at >= fil::BODY);
        let entry = entry.ok_or_else(|| {
            Error::damaged(number, "an entry of a long value's index is not there")
        })?;
        Ok(Entry {
            next: address(entry, lob::NEXT),
            older: match u32_at(entry, lob::OLDER) {
                0 => (NONE, 0),
                _ => address(entry, lob::OLDER + 4),
            },
            page: u32_at(entry, lob::PAGE),
            length: usize::from(u16_at(entry, lob::LENGTH)),
            version: u32_at(entry, lob::VERSION),
        })
    }
}

/// Whether a page of this kind is one of a chain.
fn is_chained(space: &Tablespace<'_>, of: u16) -> bool {
    of == kind::BLOB || of == kind::SDI_BLOB && space.server() == Some(Server::MySql)
}

/// A part of an indexed value.
struct Entry {
    next: (u32, usize),
    older: (u32, usize),
    page: u32,
    length: usize,
    version: u32,
}

/// A file address: page and byte.
fn address(bytes: &[u8], at: usize) -> (u32, usize) {
    (u32_at(bytes, at), usize::from(u16_at(bytes, at + 4)))
}
