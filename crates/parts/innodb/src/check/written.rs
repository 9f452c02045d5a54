//! A file that is checked while it is written.
//!
//! Reading back what was just written costs a slow disk as much as writing it,
//! and the cache as much memory as the file has. So each page is checked by
//! itself before it goes to the disk, and a few bytes of it are kept: where it
//! is, a checksum of its first key, and the keys at the ends of what is written
//! at once. When all pages are written, these must fit together as a file's
//! pages have to: what [`super::check`] finds by following an index from its
//! root is found here too.
//!
//! Stricter than for files of a server, in what only a new file can promise:
//! no row is marked as deleted, a page above names one by the first key that it
//! has, and no leaf of a secondary index lacks its transaction.
//! It knows nothing of how a file is built: bytes of pages are all that it sees.

use super::inside::{Before, Inside, owned};
use super::known::{Counts, Known, Page};
use super::levels::Levels;
use super::walk::{File, Walk, names_segments};
use super::{Each, Error, Report, Seen, owners, unvisited, wrong};
use crate::format::Format;
use crate::layout::Layout;
use crate::page::{NONE, SIZE, fil, index, kind, u16_at, u32_at, u64_at};
use crate::record::{self, Value, info};
use crate::space::{Owner, Pages, Space};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

/// Checks pages on their way to a file.
pub struct Written<'a> {
    format: Format,
    space: u32,
    layouts: &'a [Layout],
    known: Mutex<Known>,
}

/// The page in front of the next one.
struct Last<'p> {
    number: u32,
    page: Page,
    key: Vec<Value<'p>>,
}

impl<'a> Written<'a> {
    /// Of a tablespace with this number, and these indexes.
    pub fn new(format: Format, space: u32, layouts: &'a [Layout]) -> Written<'a> {
        let known = Known {
            counts: vec![Counts::default(); layouts.len()],
            ..Known::default()
        };
        Written {
            format,
            space,
            layouts,
            known: Mutex::new(known),
        }
    }

    /// Looks at whole pages, from this number on, that are about to be written. Several threads may do so at once.
    pub fn pages(&self, from: u32, bytes: &[u8]) {
        let mut new = Known {
            counts: vec![Counts::default(); self.layouts.len()],
            ..Known::default()
        };
        let mut last = None;
        for (number, bytes) in (from..).zip(bytes.chunks_exact(SIZE)) {
            let (page, end) = self.page(number, bytes, last.take(), &mut new);
            last = end;
            new.pages.push(Some(page));
        }
        if let Some(last) = last {
            new.ends.entry(last.number).or_default().last = Some(owned(&last.key));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.add(from, new);
    }

    /// What is kept of a page, and its last key; `last` is the page in front of it.
    fn page<'p>(
        &self,
        number: u32,
        bytes: &'p [u8],
        last: Option<Last<'p>>,
        new: &mut Known,
    ) -> (Page, Option<Last<'p>>) {
        let of = u16_at(bytes, fil::TYPE);
        let mut page = Page {
            kind: of,
            right: true,
            level: 0,
            layout: None,
            previous: u32_at(bytes, fil::PREV),
            next: u32_at(bytes, fil::NEXT),
            first: 0,
            joined: false,
        };
        let sum_is_right = self.format.sum_is_right(bytes);
        let mut end = None;
        if let Some(why) = wrong(bytes, sum_is_right, number, self.format, self.space) {
            new.report.problem(number, why);
            page.right = false;
        } else if of == kind::INDEX {
            end = self.index(number, bytes, &mut page, last.as_ref(), new);
        } else if of == kind::BLOB {
            page.first = u64::from(u32_at(bytes, fil::BODY));
            page.next = u32_at(bytes, fil::BODY + 4);
        } else if matches!(
            of,
            kind::FSP_HEADER | kind::EXTENTS | kind::INODE | kind::SDI
        ) {
            new.kept.insert(number, bytes.to_vec());
        } else if of == kind::INSTANT && self.format == Format::MariaDb {
            new.report
                .problem(number, "it is of a table that was altered instantly".into());
        }
        if let Some(last) = last
            && !page.joined
        {
            new.ends.entry(last.number).or_default().last = Some(owned(&last.key));
        }
        (page, end)
    }

    /// A page of an index; its last key, unless something is wrong with it.
    fn index<'p>(
        &self,
        number: u32,
        bytes: &'p [u8],
        page: &mut Page,
        last: Option<&Last<'p>>,
        new: &mut Known,
    ) -> Option<Last<'p>> {
        page.level = u16_at(bytes, index::LEVEL);
        let id = u64_at(bytes, index::ID);
        let Some((at, layout)) = (0..).zip(self.layouts).find(|(_, l)| l.id == id) else {
            let what = format!("it is of index {id}, which the table does not have");
            new.report.problem(number, what);
            return None;
        };
        page.layout = Some(at);
        if number == layout.root {
            new.kept.insert(number, bytes.to_vec());
        } else if let Some(why) = names_segments(bytes) {
            new.report.problem(number, why);
        }
        let before = last.filter(|last| {
            let of = (last.page.layout, last.page.level);
            last.number + 1 == number
                && last.page.next == number
                && page.previous == last.number
                && of == (page.layout, page.level)
        });
        let key = match records(number, bytes, page, layout, before, new, at) {
            Ok(key) => key,
            Err(why) => {
                new.report.problem(number, why);
                page.right = false;
                return None;
            }
        };
        page.joined = before.is_some();
        Some(Last {
            number,
            page: *page,
            key,
        })
    }

    /// There are no more pages, and the file has so many: whether they make a whole one.
    pub fn end(self, count: u32) -> Result<Report, Error> {
        let mut known = self
            .known
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut report = std::mem::take(&mut known.report);
        report.pages = count;
        report.space = self.space;
        if known.pages.len() > count as usize {
            report.problem(
                count,
                "it is written, and behind the end of the file".into(),
            );
        }
        known.pages.resize(count as usize, None);
        let first = known.kept.get(&0);
        let Some(first) = first.filter(|page| u16_at(page, fil::TYPE) == kind::FSP_HEADER) else {
            if report.is_whole() {
                return Err(Error::Head);
            }
            // What is wrong with it was told.
            return Ok(report);
        };
        if Format::of(first)? != self.format {
            report.problem(0, "its flags are those of another server".into());
        }
        let mut each = Each::default();
        for page in &known.pages {
            each.kinds.push(page.map_or(0, |p| p.kind));
            each.seen.push(match page {
                Some(p) if p.right => Seen::Right,
                Some(_) => Seen::Wrong,
                None => Seen::Empty,
            });
        }
        for (number, bytes) in &known.kept {
            if u16_at(bytes, fil::TYPE) == kind::SDI {
                each.tree(bytes, *number);
            }
        }
        let pages = Kept {
            count,
            pages: &known.kept,
        };
        let space = Space::read(&pages, &mut |page, what| report.problem(page, what))?;
        if space.id != self.space {
            report.problem(0, "it is of another tablespace than its pages".into());
        }
        if space.size != count {
            let says = space.size;
            report.problem(
                0,
                format!("the head speaks of {says} pages, and {count} were built"),
            );
        }
        let visited = unvisited(count);
        for (at, layout) in (0..).zip(self.layouts) {
            let index = Levels::new(&known, &space, &visited, layout, at, &mut report).down();
            report.indexes.push(index);
        }
        let file = File {
            pages: &pages,
            space: &space,
            seen: &each.seen,
            visited: &visited,
            clean: report.is_whole(),
        };
        for root in &each.roots {
            if space.owner(*root) != Owner::Nobody {
                let index = Walk::new(&file, *root, &mut report).down(&[], &each.tree)?;
                report.indexes.push(index);
            }
        }
        owners(&mut report, &space, &each, &visited, self.layouts);
        Ok(report)
    }
}

/// The records of a page, by themselves and after those of the page before; the last key.
fn records<'p>(
    number: u32,
    bytes: &'p [u8],
    page: &mut Page,
    layout: &Layout,
    before: Option<&Last<'p>>,
    new: &mut Known,
    at: u16,
) -> Result<Vec<Value<'p>>, String> {
    let chain = record::chain(bytes)?;
    let inside = Inside::read(bytes, &chain, layout)?;
    inside.heap(&chain)?;
    if chain.records.iter().any(|r| r.info & info::DELETED != 0) {
        return Err("one of its rows is marked as deleted, in a new file".into());
    }
    let Some(first) = inside.keys().next() else {
        return match number == layout.root {
            true => Ok(Vec::new()),
            false => Err("it has no record".into()),
        };
    };
    let is_first = page.previous == NONE;
    let says = chain
        .records
        .first()
        .is_some_and(|r| r.info & info::LEAST != 0);
    if page.level > 0 && is_first && !says {
        return Err("its first record does not say that it is the least of its level".into());
    }
    if page.level == 0 && !layout.clustered && u64_at(bytes, index::MAX_TRX) == 0 {
        return Err("it names no transaction, as a leaf of its index has to".into());
    }
    let last = before.map(|l| &l.key[..]);
    let mut behind = Before { last, live: last };
    let counts = &mut new.counts[usize::from(at)];
    for (r, key) in chain.records.iter().zip(inside.keys()) {
        behind.next(layout, page.level, *r, key, &mut counts.pairs)?;
    }
    let mut room = Vec::new();
    page.first = sum(first, &mut room);
    if before.is_none() {
        new.ends.entry(number).or_default().first = Some(owned(first));
    }
    if page.level == 0 {
        counts.records += chain.records.len() as u64;
        new.long
            .extend(inside.outside().iter().map(|p| (number, *p)));
    } else {
        let keys = inside.keys().map(|key| sum(key, &mut room));
        let below = inside.children().map(|c| c.unwrap_or(NONE)).zip(keys);
        new.below.insert(number, below.collect());
    }
    Ok(inside.keys().next_back().unwrap_or_default().to_vec())
}

/// A sum of a key; keys that differ have others, but for an accident in 2^64.
fn sum(key: &[Value<'_>], room: &mut Vec<u8>) -> u64 {
    room.clear();
    for value in key {
        match value {
            Value::Null => room.push(0),
            Value::Bytes(b) => {
                room.push(1);
                room.extend_from_slice(&(b.len() as u32).to_le_bytes());
                room.extend_from_slice(b);
            }
            Value::Outside(..) => room.push(2),
        }
    }
    xxhash_rust::xxh3::xxh3_64(room)
}

/// The pages that were kept whole; all others read as empty.
struct Kept<'a> {
    count: u32,
    pages: &'a BTreeMap<u32, Vec<u8>>,
}

impl Pages for Kept<'_> {
    fn count(&self) -> u32 {
        self.count
    }

    fn read(&self, number: u32, page: &mut [u8]) -> io::Result<()> {
        match self.pages.get(&number) {
            Some(bytes) => page.copy_from_slice(bytes),
            None => page.fill(0),
        }
        Ok(())
    }
}
