//! One index of a file that was checked while it was written, level by level
//! from its root: what is kept of its pages has to fit together.

use super::inside::{Before, Pairs, values};
use super::known::{Counts, Known, Page};
use super::walk::{DEEPEST, owned_by, segments};
use super::{Index, Report};
use crate::layout::Layout;
use crate::page::{NONE, SIZE, fil, kind};
use crate::record::{Pointer, Record};
use crate::space::Space;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// An index, level by level from its root.
pub(super) struct Levels<'a> {
    known: &'a Known,
    space: &'a Space,
    visited: &'a [AtomicBool],
    layout: &'a Layout,
    /// Its place among the layouts.
    at: u16,
    /// Of the leaves, and of the others.
    segments: [u64; 2],
    found: Index,
    report: &'a mut Report,
}

impl<'a> Levels<'a> {
    /// Of the index that is the `at`-th of the layouts.
    pub(super) fn new(
        known: &'a Known,
        space: &'a Space,
        visited: &'a [AtomicBool],
        layout: &'a Layout,
        at: u16,
        report: &'a mut Report,
    ) -> Levels<'a> {
        let Counts { records, pairs } = known.counts[usize::from(at)];
        let found = Index {
            id: layout.id,
            name: Some(layout.name.clone()),
            root: layout.root,
            records,
            ordered: pairs.ordered,
            unordered: pairs.unordered,
            ..Index::default()
        };
        Levels {
            known,
            space,
            visited,
            layout,
            at,
            segments: [0; 2],
            found,
            report,
        }
    }

    pub(super) fn down(mut self) -> Index {
        let root = self.layout.root;
        let page = self.known.page(root).filter(|p| p.layout == Some(self.at));
        let (Some(page), Some(bytes)) = (page, self.known.kept.get(&root)) else {
            let name = &self.layout.name;
            let what = format!("it is not the root of index {name}, as the description says");
            self.report.problem(root, what);
            return self.found;
        };
        self.segments = segments(bytes, root, self.space, self.report);
        if page.level > DEEPEST {
            let what = format!("it says that it is of level {}", page.level);
            self.report.problem(root, what);
            return self.found;
        }
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
                "its next page is {}, which no node pointer names",
                page.next
            );
            self.report.problem(number, what);
        }
        below
    }

    /// A page that the one above names, by a key with this sum.
    fn page(&mut self, number: u32, level: u16, first: u64) -> Option<&'a Page> {
        let id = self.found.id;
        let Some(visited) = self.visited.get(number as usize) else {
            let what = format!("index {id} leads to it, and it is not there");
            self.report.problem(number, what);
            return None;
        };
        if visited.swap(true, Relaxed) {
            self.report.problem(number, "two pages lead to it".into());
            return None;
        }
        let Some(page) = self.known.page(number) else {
            let what = format!("index {id} leads to it, and it is empty");
            self.report.problem(number, what);
            return None;
        };
        // Told when it was visited.
        if !page.right {
            return None;
        }
        if page.layout != Some(self.at) || page.level != level {
            let what = format!("it is not of level {level} of index {id}, as the page above says");
            self.report.problem(number, what);
            return None;
        }
        self.found.pages += 1;
        let is_root = number == self.found.root;
        let segment = self.segments[usize::from(level > 0 || is_root)];
        owned_by(self.space, number, segment, self.report);
        if page.first != first {
            let what = "its first record is not the one by which the page above names it";
            self.report.problem(number, what.into());
        }
        Some(page)
    }

    /// That a page and the one in front of it know each other, and are in order.
    fn behind(&mut self, front: Option<(u32, &Page)>, number: u32, page: &Page) {
        let before = front.map_or(NONE, |(front, _)| front);
        if page.previous != before {
            let says = page.previous;
            let what = format!("it says that page {says} is before it, and it is not");
            self.report.problem(number, what);
        }
        let Some((before, front)) = front else {
            return;
        };
        if front.next != number {
            let what = format!(
                "its next page is {}, the node pointer says {number}",
                front.next
            );
            self.report.problem(before, what);
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
            self.report.problem(number, what);
        }
    }

    /// The pages of a long value.
    fn long(&mut self, number: u32, pointer: Pointer) {
        if !pointer.owned || pointer.space != self.space.id {
            let what = "a long value of it is another row's, or lies in another tablespace";
            self.report.problem(number, what.into());
            return;
        }
        let (mut at, mut left) = (pointer.page, pointer.length);
        while left > 0 {
            let page = self
                .known
                .page(at)
                .filter(|p| p.right && p.kind == kind::BLOB);
            let (Some(page), Some(visited)) = (page, self.visited.get(at as usize)) else {
                let what = format!("a long value goes on at page {at}, which holds none");
                self.report.problem(number, what);
                return;
            };
            if visited.swap(true, Relaxed) {
                self.report.problem(at, "two long values hold it".into());
                return;
            }
            owned_by(self.space, at, self.segments[0], self.report);
            self.found.outside += 1;
            let here = page.first;
            if here == 0 || here > left || here as usize > SIZE - fil::BODY - fil::TRAILER - 8 {
                let what = format!("it says that it holds {here} bytes of a long value");
                self.report.problem(at, what);
                return;
            }
            left -= here;
            if (left == 0) != (page.next == NONE) {
                self.report
                    .problem(at, "a long value ends too early or too late".into());
                return;
            }
            at = page.next;
        }
    }
}
