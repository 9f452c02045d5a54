//! A file that is checked while it is written.
//!
//! Reading back what was just written costs a slow disk as much as writing it,
//! and the cache as much memory as the file has. So each page is checked by
//! itself before it goes to the disk, and a few bytes of it are kept: where it
//! stands, a sum of its first key, and the keys at the ends of what is written
//! at once. When all pages are written, these must fit together as a file's
//! pages have to: what [`super::check`] finds by following an index from its
//! root is found here too.
//!
//! Stricter than for files of a server, in what only a new file can promise:
//! no row is marked as deleted, a page above names one by the first key that it
//! has, and no leaf of a secondary index lacks its transaction.
//! It knows nothing of how a file is built: bytes of pages are all that it sees.

use super::inside::{Before, Inside, Owned, Pairs, owned, values};
use super::walk::{File, Walk, names_segments, owned_by, segments};
use super::{Each, Error, Index, Report, Seen, owners, unmet, wrong};
use crate::format::Format;
use crate::layout::Layout;
use crate::page::{NONE, SIZE, fil, index, kind, u16_at, u32_at, u64_at};
use crate::record::{self, Pointer, Record, Value, info};
use crate::space::{Owner, Pages, Space};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// Checks pages on their way to a file.
pub struct Written<'a> {
    format: Format,
    space: u32,
    layouts: &'a [Layout],
    known: Mutex<Known>,
}

/// What is known of the pages so far.
#[derive(Default)]
struct Known {
    /// By number; `None`: not written.
    pages: Vec<Option<Page>>,
    /// The first and the last key of pages, unless they were compared with those of their neighbours.
    ends: BTreeMap<u32, Ends>,
    /// The pages that a page names, each with a sum of the key.
    below: BTreeMap<u32, Vec<(u32, u64)>>,
    /// Long values, with the pages whose rows they belong to.
    long: Vec<(u32, Pointer)>,
    /// Heads, segments, roots, the dictionary: whole.
    kept: BTreeMap<u32, Vec<u8>>,
    /// Of each layout.
    counts: Vec<Counts>,
    report: Report,
}

/// What is kept of a page.
#[derive(Clone, Copy)]
struct Page {
    kind: u16,
    /// Whether its sum, number and space are right.
    right: bool,
    level: u16,
    /// The place of its index among the layouts.
    layout: Option<usize>,
    previous: u32,
    /// Also the page where a long value goes on.
    next: u32,
    /// Of its first key; of a piece of a long value, its bytes.
    first: u64,
    /// Whether its first key was seen to stand behind the last one of the page before.
    joined: bool,
}

#[derive(Default)]
struct Ends {
    first: Option<Vec<Owned>>,
    last: Option<Vec<Owned>>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    records: u64,
    pairs: Pairs,
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
            new.report.tell(number, why);
            page.right = false;
        } else if of == kind::INDEX {
            end = self.index(number, bytes, &mut page, last.as_ref(), new);
        } else if of == kind::BLOB {
            page.first = u64::from(u32_at(bytes, fil::BODY));
            page.next = u32_at(bytes, fil::BODY + 4);
        } else if of != kind::BITMAP {
            new.kept.insert(number, bytes.to_vec());
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
        let Some(at) = self.layouts.iter().position(|l| l.id == id) else {
            let what = format!("it is of index {id}, which the table does not have");
            new.report.tell(number, what);
            return None;
        };
        let layout = &self.layouts[at];
        page.layout = Some(at);
        if number == layout.root {
            new.kept.insert(number, bytes.to_vec());
        } else if let Some(why) = names_segments(bytes) {
            new.report.tell(number, why);
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
                new.report.tell(number, why);
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
            report.tell(
                count,
                "it is written, and behind the end of the file".into(),
            );
        }
        known.pages.resize(count as usize, None);
        let first = known.kept.get(&0).ok_or(Error::Head)?;
        if u16_at(first, fil::TYPE) != kind::HEAD {
            return Err(Error::Head);
        }
        if Format::of(first)? != self.format {
            report.tell(0, "its flags are those of another server".into());
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
        let space = Space::read(&pages, &mut |page, what| report.tell(page, what))?;
        if space.id != self.space {
            report.tell(0, "it is of another tablespace than its pages".into());
        }
        let met = unmet(count);
        for at in 0..self.layouts.len() {
            let levels = Levels {
                known: &known,
                space: &space,
                met: &met,
                layout: &self.layouts[at],
                at,
                segments: [0; 2],
                found: Index::default(),
                report: &mut report,
            };
            let index = levels.down();
            report.indexes.push(index);
        }
        let file = File {
            pages: &pages,
            space: &space,
            seen: &each.seen,
            met: &met,
            clean: report.is_whole(),
        };
        for root in &each.roots {
            if space.owner(*root) != Owner::Nobody {
                let index = Walk::new(&file, *root, &mut report).down(&[], &each.tree)?;
                report.indexes.push(index);
            }
        }
        owners(&mut report, &space, &each, &met, self.layouts);
        Ok(report)
    }
}

/// The records of a page, by themselves and behind those of the page before; the last key.
fn records<'p>(
    number: u32,
    bytes: &'p [u8],
    page: &mut Page,
    layout: &Layout,
    before: Option<&Last<'p>>,
    new: &mut Known,
    at: usize,
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
    let counts = &mut new.counts[at];
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

impl Known {
    /// What pages from this number on were found to be.
    fn add(&mut self, from: u32, new: Known) {
        let end = from as usize + new.pages.len();
        if self.pages.len() < end {
            self.pages.resize(end, None);
        }
        self.report.add(new.report);
        for (number, page) in (from..).zip(new.pages) {
            let before = std::mem::replace(&mut self.pages[number as usize], page);
            if before.is_some() {
                self.report.tell(number, "it is written twice".into());
            }
        }
        for (number, Ends { first, last }) in new.ends {
            let ends = self.ends.entry(number).or_default();
            ends.first = first.or(ends.first.take());
            ends.last = last.or(ends.last.take());
        }
        self.below.extend(new.below);
        self.long.extend(new.long);
        self.kept.extend(new.kept);
        for (all, new) in self.counts.iter_mut().zip(new.counts) {
            all.records += new.records;
            all.pairs.ordered += new.pairs.ordered;
            all.pairs.unordered += new.pairs.unordered;
        }
    }

    fn page(&self, number: u32) -> Option<&Page> {
        self.pages.get(number as usize)?.as_ref()
    }
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

/// An index, level by level from its root.
struct Levels<'a> {
    known: &'a Known,
    space: &'a Space,
    met: &'a [AtomicBool],
    layout: &'a Layout,
    /// Its place among the layouts.
    at: usize,
    /// Of the leaves, and of the others.
    segments: [u64; 2],
    found: Index,
    report: &'a mut Report,
}

impl<'a> Levels<'a> {
    fn down(mut self) -> Index {
        let Counts { records, pairs } = self.known.counts[self.at];
        let root = self.layout.root;
        self.found = Index {
            id: self.layout.id,
            name: Some(self.layout.name.clone()),
            root,
            records,
            ordered: pairs.ordered,
            unordered: pairs.unordered,
            ..Index::default()
        };
        let page = self.known.page(root).filter(|p| p.layout == Some(self.at));
        let (Some(page), Some(bytes)) = (page, self.known.kept.get(&root)) else {
            let name = &self.layout.name;
            let what = format!("it is not the root of index {name}, as the description says");
            self.report.tell(root, what);
            return self.found;
        };
        self.segments = segments(bytes, root, self.space, self.report);
        self.found.levels = page.level + 1;
        let mut row = vec![(root, page.first)];
        for level in (0..=page.level).rev() {
            row = self.level(level, &row);
        }
        if self.layout.clustered {
            for (number, pointer) in &self.known.long {
                self.long(*number, *pointer);
            }
        }
        self.found
    }

    /// The pages of a level, as the one above names them; those of the level below.
    fn level(&mut self, level: u16, row: &[(u32, u64)]) -> Vec<(u32, u64)> {
        let mut below = Vec::new();
        // The page in front, if it is one that can be known.
        let mut front = Some(None);
        for (number, first) in row {
            let Some(page) = self.page(*number, level, *first) else {
                front = None;
                continue;
            };
            if let Some(front) = front {
                self.behind(front, *number, page);
            }
            front = Some(Some((*number, page)));
            if level > 0 {
                below.extend(self.known.below.get(number).into_iter().flatten());
            }
        }
        if let Some(Some((number, page))) = front
            && page.next != NONE
        {
            let what = format!(
                "it goes on with page {}, which no page above names",
                page.next
            );
            self.report.tell(number, what);
        }
        below
    }

    /// A page that the one above names, by a key with this sum.
    fn page(&mut self, number: u32, level: u16, first: u64) -> Option<&'a Page> {
        let id = self.found.id;
        let Some(met) = self.met.get(number as usize) else {
            let what = format!("index {id} leads to it, and it is not there");
            self.report.tell(number, what);
            return None;
        };
        if met.swap(true, Relaxed) {
            self.report.tell(number, "two pages lead to it".into());
            return None;
        }
        let Some(page) = self.known.page(number) else {
            let what = format!("index {id} leads to it, and it is empty");
            self.report.tell(number, what);
            return None;
        };
        // Told when it was met.
        if !page.right {
            return None;
        }
        if page.layout != Some(self.at) || page.level != level {
            let what = format!("it is not of level {level} of index {id}, as the page above says");
            self.report.tell(number, what);
            return None;
        }
        self.found.pages += 1;
        let is_root = number == self.found.root;
        let segment = self.segments[usize::from(level > 0 || is_root)];
        owned_by(self.space, number, segment, self.report);
        if page.first != first {
            let what = "its first record is not the one by which the page above names it";
            self.report.tell(number, what.into());
        }
        Some(page)
    }

    /// That a page and the one in front of it know each other, and stand in order.
    fn behind(&mut self, front: Option<(u32, &Page)>, number: u32, page: &Page) {
        let before = front.map_or(NONE, |(front, _)| front);
        if page.previous != before {
            let says = page.previous;
            let what = format!("it says that page {says} is before it, and it is not");
            self.report.tell(number, what);
        }
        let Some((before, front)) = front else {
            return;
        };
        if front.next != number {
            let what = format!(
                "it goes on with page {}, the page above with {number}",
                front.next
            );
            self.report.tell(before, what);
        }
        if page.joined {
            return;
        }
        let ends = |number: u32| self.known.ends.get(&number);
        let last = ends(before).and_then(|e| e.last.as_deref()).map(values);
        let first = ends(number).and_then(|e| e.first.as_deref()).map(values);
        let in_order = match (&last, &first) {
            (Some(last), Some(first)) => {
                let mut behind = Before {
                    last: Some(last),
                    live: Some(last),
                };
                let mut pairs = Pairs::default();
                let record = Record { at: 0, info: 0 };
                let next = behind.next(self.layout, page.level, record, first, &mut pairs);
                self.found.ordered += pairs.ordered;
                self.found.unordered += pairs.unordered;
                next.is_ok()
            }
            _ => false,
        };
        if !in_order {
            let what = format!("its first record is not behind the last one of page {before}");
            self.report.tell(number, what);
        }
    }

    /// The pages of a long value.
    fn long(&mut self, number: u32, pointer: Pointer) {
        if !pointer.owned || pointer.space != self.space.id {
            let what = "a long value of it is another row's, or lies in another tablespace";
            self.report.tell(number, what.into());
            return;
        }
        let (mut at, mut left) = (pointer.page, pointer.length);
        while left > 0 {
            let page = self
                .known
                .page(at)
                .filter(|p| p.right && p.kind == kind::BLOB);
            let (Some(page), Some(met)) = (page, self.met.get(at as usize)) else {
                let what = format!("a long value goes on at page {at}, which holds none");
                self.report.tell(number, what);
                return;
            };
            if met.swap(true, Relaxed) {
                self.report.tell(at, "two long values hold it".into());
                return;
            }
            owned_by(self.space, at, self.segments[0], self.report);
            self.found.outside += 1;
            let here = page.first;
            if here == 0 || here > left || here as usize > SIZE - fil::BODY - fil::TRAILER - 8 {
                let what = format!("it says that it holds {here} bytes of a long value");
                self.report.tell(at, what);
                return;
            }
            left -= here;
            if (left == 0) != (page.next == NONE) {
                self.report
                    .tell(at, "a long value ends too early or too late".into());
                return;
            }
            at = page.next;
        }
    }
}
