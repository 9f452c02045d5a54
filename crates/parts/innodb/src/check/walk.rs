//! One index of a tablespace, from its root down in key order: each page is visited
//! where the one above names it, and the levels' ends are kept, so that order
//! and neighbours are checked across pages.

use super::inside::{Before, Inside, Owned, Pairs, owned, values};
use super::{Index, Node, Report, Seen};
use crate::layout::Layout;
use crate::page::{NONE, SIZE, fil, index, kind, u16_at, u32_at, u64_at};
use crate::record::{self, Chain, Pointer, Value, info};
use crate::space::{Owner, Pages, Space};
use std::cmp::Ordering;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// A table's indexes are not deeper.
pub(super) const DEEPEST: u16 = 16;

/// The end of a level so far.
#[derive(Clone, Debug)]
struct End {
    page: u32,
    next: u32,
    /// The last record's fields, copied.
    last: Option<Vec<Owned>>,
    /// Leaves of a unique index: those of the last row that is not deleted.
    live: Option<Vec<Owned>>,
}

/// What all walks have in common.
pub(super) struct File<'a> {
    pub(super) pages: &'a dyn Pages,
    pub(super) space: &'a Space,
    /// By page, what the first pass saw.
    pub(super) seen: &'a [Seen],
    /// By page, whether something led to it.
    pub(super) visited: &'a [AtomicBool],
    /// Whether nothing was wrong before.
    pub(super) clean: bool,
}

/// The segments that a root names: of its leaves, and of its other pages. The root is of the second even while it is
/// the only leaf.
pub(super) fn segments(page: &[u8], root: u32, space: &Space, report: &mut Report) -> [u64; 2] {
    [index::LEAVES, index::NON_LEAVES].map(|base| {
        let of = u32_at(page, base);
        match space.segment_at(u32_at(page, base + 4), u16_at(page, base + 8)) {
            Some(s) if of == space.id => s.id,
            _ => {
                report.problem(root, "it names a segment that is not there".into());
                0
            }
        }
    })
}

/// That a page of an index is of this segment; that it is no one's is told at the end.
pub(super) fn owned_by(space: &Space, number: u32, segment: u64, report: &mut Report) {
    match space.owner(number) {
        Owner::Segment(id) if id == segment => {}
        Owner::Nobody => {}
        _ => report.problem(number, "it belongs to another segment".into()),
    }
}

/// What is wrong with a page that is no root and names segments as one.
pub(super) fn names_segments(page: &[u8]) -> Option<String> {
    let named = &page[index::LEAVES..index::NON_LEAVES + 10];
    let says = named.iter().any(|b| *b != 0);
    says.then(|| "it names segments, which only a root does".into())
}

/// An index, from its root down.
pub(super) struct Walk<'a> {
    file: &'a File<'a>,
    layout: Option<&'a Layout>,
    found: Index,
    /// By level.
    ends: Vec<Option<End>>,
    /// Of the leaves, and of the others.
    segments: [u64; 2],
    /// Room for pages, to be used again.
    room: Vec<Vec<u8>>,
    report: &'a mut Report,
}

impl<'a> Walk<'a> {
    pub(super) fn new(file: &'a File<'a>, root: u32, report: &'a mut Report) -> Walk<'a> {
        Walk {
            file,
            layout: None,
            found: Index {
                root,
                ..Index::default()
            },
            ends: Vec::new(),
            segments: [0; 2],
            room: Vec::new(),
            report,
        }
    }

    pub(super) fn down(mut self, layouts: &'a [Layout], tree: &[Node]) -> io::Result<Index> {
        let root = self.found.root;
        let mut page = vec![0; SIZE];
        self.file.pages.read(root, &mut page)?;
        self.found.id = u64_at(&page, index::ID);
        self.layout = layouts.iter().find(|l| l.root == root);
        if let Some(l) = self.layout {
            self.found.name = Some(l.name.clone());
        }
        self.segments = segments(&page, root, self.file.space, self.report);
        let level = u16_at(&page, index::LEVEL);
        if level > DEEPEST {
            self.report
                .problem(root, format!("it says that it is of level {level}"));
            return Ok(self.found);
        }
        self.found.levels = level + 1;
        self.ends = vec![None; usize::from(level) + 1];
        if self.layout.is_some() {
            self.page(root, level, None)?;
        } else {
            self.levels(tree, level)?;
        }
        for end in self.ends.iter().flatten() {
            if end.next != NONE {
                self.report.problem(
                    end.page,
                    format!("its next page is {}, which no node pointer names", end.next),
                );
            }
        }
        Ok(self.found)
    }

    /// A page and all below it; `above`: the key by which the page above names it.
    fn page(&mut self, number: u32, level: u16, above: Option<&[Owned]>) -> io::Result<()> {
        if number >= self.file.space.size {
            self.report.problem(
                number,
                format!("index {} leads to it, and it is not there", self.found.id),
            );
            return Ok(());
        }
        if self.file.visited[number as usize].swap(true, Relaxed) {
            self.report.problem(number, "two pages lead to it".into());
            return Ok(());
        }
        let seen = self.file.seen[number as usize];
        if seen != Seen::Right {
            if seen == Seen::Empty {
                let what = format!("index {} leads to it, and it is empty", self.found.id);
                self.report.problem(number, what);
            }
            // What is after it cannot be known.
            self.ends[usize::from(level)] = None;
            return Ok(());
        }
        let mut page = self.room.pop().unwrap_or_else(|| vec![0; SIZE]);
        let outcome = match self.file.pages.read(number, &mut page) {
            Ok(()) => self.of_index(&page, number, level, above),
            Err(e) => Err(e),
        };
        self.room.push(page);
        outcome
    }

    /// The same of a page that was read.
    fn of_index(
        &mut self,
        page: &[u8],
        number: u32,
        level: u16,
        above: Option<&[Owned]>,
    ) -> io::Result<()> {
        self.found.pages += 1;
        let of = u16_at(page, fil::TYPE);
        if !matches!(of, kind::INDEX | kind::SDI) {
            self.report.problem(
                number,
                format!("a page of kind {of} is no page of an index"),
            );
            return Ok(());
        }
        self.belongs(page, number, level);
        self.follows(page, number, level);
        match record::chain(page) {
            Ok(chain) if chain.level == level => self.records(page, number, &chain, above),
            Ok(chain) => {
                self.report.problem(
                    number,
                    format!(
                        "it is of level {}, the page above says {level}",
                        chain.level
                    ),
                );
                Ok(())
            }
            Err(why) => {
                self.report.problem(number, why);
                Ok(())
            }
        }
    }

    fn belongs(&mut self, page: &[u8], number: u32, level: u16) {
        let id = u64_at(page, index::ID);
        if id != self.found.id {
            self.report.problem(
                number,
                format!("it is of index {id}, the root says {}", self.found.id),
            );
        }
        let is_root = number == self.found.root;
        owned_by(
            self.file.space,
            number,
            self.segments[usize::from(level > 0 || is_root)],
            self.report,
        );
        if !is_root && let Some(why) = names_segments(page) {
            self.report.problem(number, why);
        }
    }

    /// That the pages of a level follow each other as the level above has them.
    fn follows(&mut self, page: &[u8], number: u32, level: u16) {
        let (previous, next) = (u32_at(page, fil::PREV), u32_at(page, fil::NEXT));
        let end = &mut self.ends[usize::from(level)];
        let (last, live, wanted) = match end.take() {
            Some(end) => {
                if end.next != number {
                    self.report.problem(
                        end.page,
                        format!(
                            "its next page is {}, the node pointer says {number}",
                            end.next
                        ),
                    );
                }
                (end.last, end.live, Some(end.page))
            }
            None => (None, None, None),
        };
        // Behind a page that could not be read nothing is known.
        if wanted.is_some_and(|w| w != previous)
            || wanted.is_none() && previous != NONE && self.file.clean && self.report.is_whole()
        {
            self.report.problem(
                number,
                format!("it says that page {previous} is before it, and it is not"),
            );
        }
        *end = Some(End {
            page: number,
            next,
            last,
            live,
        });
    }

    fn records(
        &mut self,
        page: &[u8],
        number: u32,
        chain: &Chain,
        above: Option<&[Owned]>,
    ) -> io::Result<()> {
        let level = chain.level;
        if chain.records.is_empty() && number != self.found.root {
            self.report.problem(number, "it has no record".into());
        }
        if level == 0 {
            let there = chain.records.iter().filter(|r| r.info & info::DELETED == 0);
            self.found.records += there.count() as u64;
        }
        // Where the fields are not known, neither is the page that a non-leaf page leads to: see `levels`.
        let Some(layout) = self.layout else {
            return Ok(());
        };
        let inside = match Inside::read(page, chain, layout) {
            Ok(inside) => inside,
            Err(why) => {
                self.report.problem(number, why);
                return Ok(());
            }
        };
        if let Err(why) = inside.heap(chain) {
            self.report.problem(number, why);
        }
        self.order(number, chain, &inside, layout, above);
        let is_least = chain
            .records
            .last()
            .is_some_and(|r| r.info & info::LEAST != 0);
        let last = inside.keys().next_back().filter(|_| !is_least);
        let kept = last.map(owned);
        if let (Some(end), Some(kept)) = (&mut self.ends[usize::from(level)], kept) {
            end.last = Some(kept);
        }
        if level == 0 {
            return self.outside(number, inside.outside());
        }
        for ((r, key), child) in chain
            .records
            .iter()
            .zip(inside.keys())
            .zip(inside.children())
        {
            let key = owned(key);
            let least = r.info & info::LEAST != 0;
            self.page(
                child.unwrap_or(NONE),
                level - 1,
                (!least).then_some(&key[..]),
            )?;
        }
        Ok(())
    }

    /// An index whose fields are not known: its levels are followed one by one, from the page that has none before it.
    fn levels(&mut self, tree: &[Node], root: u16) -> io::Result<()> {
        for level in (0..=root).rev() {
            let mine = |n: &&Node| {
                n.id == self.found.id
                    && n.level == level
                    && n.previous == NONE
                    && self.file.space.owner(n.number) != Owner::Nobody
            };
            let first: Vec<u32> = tree.iter().filter(mine).map(|n| n.number).collect();
            let [mut at] = first[..] else {
                let n = first.len();
                self.report.problem(
                    self.found.root,
                    format!("level {level} of its index has {n} first pages"),
                );
                continue;
            };
            while at != NONE {
                // Every turn meets another page, so this ends.
                let visited = self.file.visited.get(at as usize).map(|m| m.load(Relaxed));
                self.page(at, level, None)?;
                if visited != Some(false) {
                    break;
                }
                at = self.ends[usize::from(level)]
                    .as_ref()
                    .map_or(NONE, |e| e.next);
            }
        }
        Ok(())
    }

    fn order(
        &mut self,
        number: u32,
        chain: &Chain,
        inside: &Inside<'_>,
        layout: &Layout,
        above: Option<&[Owned]>,
    ) {
        let end = self.ends[usize::from(chain.level)].as_ref();
        let last = end.and_then(|e| e.last.clone());
        let last = last.as_deref().map(values);
        let live = end.and_then(|e| e.live.clone());
        let live = live.as_deref().map(values);
        let mut before = Before {
            last: last.as_deref(),
            live: live.as_deref(),
        };
        let mut pairs = Pairs::default();
        let mut in_order = Ok(());
        for (r, key) in chain.records.iter().zip(inside.keys()) {
            in_order = before.next(layout, chain.level, *r, key, &mut pairs);
            if in_order.is_err() {
                break;
            }
        }
        self.found.ordered += pairs.ordered;
        self.found.unordered += pairs.unordered;
        if let Err(why) = in_order {
            self.report.problem(number, why);
            return;
        }
        let live = before.live.map(owned);
        // The page above names this one by its first key, or by one between that and the page before.
        if let (Some(above), Some(first)) = (above, inside.keys().next()) {
            let above = values(above);
            let n = layout.branch.min(layout.keys);
            let behind = |b: &[Value<'_>]| match record::compare(layout, b, &above, n) {
                Some(order) => order == Ordering::Less,
                None => true,
            };
            if !last.as_deref().is_none_or(behind) {
                self.report.problem(
                    number,
                    "the key by which the page above names it is in front of the page before it"
                        .into(),
                );
            }
            if record::compare(layout, &above, first, n) == Some(Ordering::Greater) {
                self.report.problem(
                    number,
                    "its first record is in front of the key by which the page above names it"
                        .into(),
                );
            }
        }
        if let Some(end) = &mut self.ends[usize::from(chain.level)] {
            end.live = live;
        }
    }

    /// Follows long values to their pages.
    fn outside(&mut self, number: u32, pointers: &[Pointer]) -> io::Result<()> {
        for pointer in pointers {
            // A newer version of the row has it now.
            if !pointer.owned {
                continue;
            }
            if pointer.space != self.file.space.id {
                self.report.problem(
                    number,
                    format!("a long value lies in tablespace {}", pointer.space),
                );
                continue;
            }
            self.long(number, *pointer)?;
        }
        Ok(())
    }

    fn long(&mut self, number: u32, pointer: Pointer) -> io::Result<()> {
        let (mut at, mut left) = (pointer.page, pointer.length);
        let mut page = vec![0; SIZE];
        while left > 0 {
            if at >= self.file.space.size {
                self.report.problem(
                    number,
                    format!("a long value goes on at page {at}, which is not there"),
                );
                return Ok(());
            }
            self.file.pages.read(at, &mut page)?;
            match u16_at(&page, fil::TYPE) {
                kind::LOB_FIRST => {
                    self.file.visited[at as usize].store(true, Relaxed);
                    self.found.outside += 1;
                    return Ok(());
                }
                kind::BLOB => {}
                other => {
                    self.report.problem(
                        number,
                        format!("a long value goes on at page {at}, which is of kind {other}"),
                    );
                    return Ok(());
                }
            }
            if self.file.visited[at as usize].swap(true, Relaxed) {
                self.report.problem(at, "two long values hold it".into());
                return Ok(());
            }
            if self.file.space.owner(at) != Owner::Segment(self.segments[0]) {
                self.report.problem(
                    at,
                    "it holds a long value and belongs to another segment".into(),
                );
            }
            self.found.outside += 1;
            let here = u64::from(u32_at(&page, fil::BODY));
            let next = u32_at(&page, fil::BODY + 4);
            if here == 0 || here > left || here as usize > SIZE - fil::BODY - fil::TRAILER - 8 {
                self.report.problem(
                    at,
                    format!("it says that it holds {here} bytes of a long value"),
                );
                return Ok(());
            }
            left -= here;
            if (left == 0) != (next == NONE) {
                self.report
                    .problem(at, "a long value ends too early or too late".into());
                return Ok(());
            }
            at = next;
        }
        Ok(())
    }
}
