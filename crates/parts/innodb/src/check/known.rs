//! What is known of the pages that were written so far.

use super::Report;
use super::inside::{Owned, Pairs};
use crate::record::Pointer;
use std::collections::BTreeMap;

/// What is known of the pages so far.
#[derive(Default)]
pub(super) struct Known {
    /// By number; `None`: not written.
    pub(super) pages: Vec<Option<Page>>,
    /// The first and the last key of pages, unless they were compared with those of their neighbours.
    pub(super) ends: BTreeMap<u32, Ends>,
    /// The pages that a page names, each with a checksum of the key.
    pub(super) below: BTreeMap<u32, Vec<(u32, u64)>>,
    /// Long values, with the pages whose rows they belong to.
    pub(super) long: Vec<(u32, Pointer)>,
    /// Heads, segments, roots, the dictionary: whole.
    pub(super) kept: BTreeMap<u32, Vec<u8>>,
    /// Of each layout.
    pub(super) counts: Vec<Counts>,
    pub(super) report: Report,
}

/// What is kept of a page.
#[derive(Clone, Copy)]
pub(super) struct Page {
    pub(super) kind: u16,
    /// Whether nothing is wrong with it by itself.
    pub(super) right: bool,
    pub(super) level: u16,
    /// The place of its index among the layouts.
    pub(super) layout: Option<u16>,
    pub(super) previous: u32,
    /// Also the page where a long value continues.
    pub(super) next: u32,
    /// A sum of its first key; of a piece of a long value, its bytes.
    pub(super) first: u64,
    /// Whether its first key was seen to stand after the last one of the page before.
    pub(super) joined: bool,
}

#[derive(Default)]
pub(super) struct Ends {
    pub(super) first: Option<Vec<Owned>>,
    pub(super) last: Option<Vec<Owned>>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) records: u64,
    pub(super) pairs: Pairs,
}

impl Known {
    /// What pages from this number on were found to be.
    pub(super) fn add(&mut self, from: u32, new: Known) {
        let end = from as usize + new.pages.len();
        if self.pages.len() < end {
            self.pages.resize(end, None);
        }
        self.report.add(new.report);
        for (number, page) in (from..).zip(new.pages) {
            let before = std::mem::replace(&mut self.pages[number as usize], page);
            if before.is_some() {
                self.report.problem(number, "it is written twice".into());
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

    pub(super) fn page(&self, number: u32) -> Option<&Page> {
        self.pages.get(number as usize)?.as_ref()
    }
}
