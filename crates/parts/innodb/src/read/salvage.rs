//! The leaves of an index in a file that may be damaged: by its tree where that is whole, else by looking at every page.
//!
//! A page counts as the tree's if a whole page above the leaves leads to it, or if its neighbours name it as theirs.
//! Others are older versions: pages that were freed, and that nothing has overwritten yet. Memory is a few numbers for
//! each leaf.

use super::chain::Chain;
use super::error::Error;
use super::file::{AT_ONCE, Tablespace, Window};
use super::leaves::Leaves;
use super::record::Records;
use super::table::Index;
use crate::page::{NONE, fil, index, kind, u16_at, u32_at, u64_at};
use std::collections::{BTreeMap, BTreeSet};

/// A page that is lost, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its number.
    pub page: u32,
    /// Why.
    pub why: String,
    /// The records that it says it had, where what is left of it says that it was a leaf of the index.
    pub records: Option<u16>,
}

/// The leaves of an index, as far as they are found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The index's number.
    pub id: u64,
    /// Pages of the tree, in key order as far as that is known.
    pub leaves: Vec<u32>,
    /// Whole leaves that the tree does not have; only where every page was looked at.
    pub old: Vec<u32>,
    /// Pages that are not whole and may have had rows; only where every page was looked at.
    pub lost: Vec<Lost>,
    /// Why the tree could not be followed.
    pub broken: Option<String>,
}

/// A leaf that was seen.
struct Seen {
    previous: u32,
    next: u32,
    is_free: bool,
}

impl Found {
    /// Finds them. `id` is the index's number where it is known otherwise than by its root; `all` also looks for leaves that
    /// the tree does not have.
    pub fn of(
        space: &Tablespace<'_>,
        of: &Index,
        redundant: bool,
        id: Option<u64>,
        all: bool,
    ) -> Result<Found, Error> {
        match Leaves::of(space, of, redundant) {
            Ok(leaves) => {
                let mut found = Found {
                    id: leaves.id,
                    leaves: leaves.all.iter().map(|l| l.page).collect(),
                    ..Found::default()
                };
                if all {
                    let scan = Scan::of(space, of, redundant, found.id)?;
                    let own: BTreeSet<u32> = found.leaves.iter().copied().collect();
                    let old = scan.seen.into_keys().filter(|p| !own.contains(p));
                    found.old = old.collect();
                }
                Ok(found)
            }
            Err(e) => Found::by_pages(space, of, redundant, id, e.not_io()?.to_string()),
        }
    }

    /// Finds them by looking at every page, because the tree is `broken`.
    pub fn by_pages(
        space: &Tablespace<'_>,
        of: &Index,
        redundant: bool,
        id: Option<u64>,
        broken: String,
    ) -> Result<Found, Error> {
        let mut found = Found {
            broken: Some(broken),
            ..Found::default()
        };
        let Some(id) = index_id(space, of, redundant, id)? else {
            return Ok(found);
        };
        found.id = id;
        Scan::of(space, of, redundant, id)?.sort_out(space, &mut found)?;
        // A root that is not the only page has no rows.
        if !found.leaves.is_empty() {
            found.lost.retain(|l| l.page != of.root);
        }
        Ok(found)
    }
}

/// The number of the index of rows: by its root, by what is known of it, or the least of all, which was made first.
fn index_id(
    space: &Tablespace<'_>,
    of: &Index,
    redundant: bool,
    known: Option<u64>,
) -> Result<Option<u64>, Error> {
    let mut window = Window::default();
    match space.page(&mut window, of.root) {
        Ok(page) if is_index(page) && index::is_redundant(page) == redundant => {
            let id = u64_at(page, index::ID);
            if known.is_none_or(|k| k == id) {
                return Ok(Some(id));
            }
        }
        Ok(_) => {}
        Err(e) => {
            e.not_io()?;
        }
    }
    if known.is_some() {
        return Ok(known);
    }
    let mut least = None;
    each_page(space, |_, page, whole| {
        if whole.is_ok() && is_index(page) && index::is_redundant(page) == redundant {
            let id = u64_at(page, index::ID);
            least = Some(least.map_or(id, |least: u64| least.min(id)));
        }
    })?;
    Ok(least)
}

/// Whether it is a page of a B-tree of a table.
fn is_index(page: &[u8]) -> bool {
    matches!(u16_at(page, fil::TYPE), kind::INDEX | kind::INSTANT)
}

/// Every page as it is stored, and whether it is whole.
fn each_page(
    space: &Tablespace<'_>,
    mut each: impl FnMut(u32, &[u8], Result<(), Error>),
) -> Result<(), Error> {
    let mut window = Window::default();
    let mut first = 0;
    while first < space.pages() {
        space.load(&mut window, first, AT_ONCE)?;
        for number in first..(first.saturating_add(AT_ONCE)).min(space.pages()) {
            let page = space.raw(&mut window, number)?;
            each(number, page, space.judge(number, page));
        }
        first = first.saturating_add(AT_ONCE);
    }
    Ok(())
}

/// What all pages of a file say.
struct Scan {
    seen: BTreeMap<u32, Seen>,
    /// Pages that whole pages above the leaves lead to.
    led_to: BTreeSet<u32>,
    lost: Vec<Lost>,
    /// Pages that were never written, or were overwritten with zeros.
    empty: BTreeSet<u32>,
}

impl Scan {
    fn of(space: &Tablespace<'_>, of: &Index, redundant: bool, id: u64) -> Result<Scan, Error> {
        let records = Records::of(of, redundant);
        let mut spans = records.spans();
        let mut scan = Scan {
            seen: BTreeMap::new(),
            led_to: BTreeSet::new(),
            lost: Vec::new(),
            empty: BTreeSet::new(),
        };
        let mut free = Free::default();
        let extents = space.page_size() as u32;
        each_page(space, |number, page, whole| {
            if number % extents == 0 {
                free = Free::of(number, page, whole.is_ok());
            }
            let is_own = is_index(page) && u64_at(page, index::ID) == id;
            match whole {
                Ok(()) if is_own && index::is_redundant(page) == redundant => {
                    match u16_at(page, index::LEVEL) {
                        0 => {
                            let seen = Seen {
                                previous: u32_at(page, fil::PREV),
                                next: u32_at(page, fil::NEXT),
                                is_free: free.has(number),
                            };
                            scan.seen.insert(number, seen);
                        }
                        1 if !free.has(number) => {
                            let mut chain = Chain::of(page);
                            while let Ok(Some(at)) = chain.next() {
                                if let Ok(child) = records.child(page, at, &mut spans) {
                                    scan.led_to.insert(child);
                                }
                            }
                        }
                        _ => {}
                    }
                }
                Ok(()) => {}
                Err(_) if page.iter().all(|b| *b == 0) => {
                    scan.empty.insert(number);
                }
                Err(e) if !free.has(number) => {
                    let is_leaf = is_own && u16_at(page, index::LEVEL) == 0;
                    let records = u16_at(page, index::RECORDS);
                    let fit = usize::from(records) * 6 < page.len();
                    scan.lost.push(Lost {
                        page: number,
                        why: reason(e),
                        records: Some(records).filter(|_| is_leaf && fit),
                    });
                }
                Err(_) => {}
            }
        })?;
        Ok(scan)
    }

    /// Tells the tree's leaves from older ones, and puts them into order.
    fn sort_out(self, space: &Tablespace<'_>, found: &mut Found) -> Result<(), Error> {
        let is_live = |(page, leaf): (&u32, &Seen)| {
            // What its neighbours say, where there are any that can say it.
            let side = |other: u32, back: fn(&Seen) -> u32| match self.seen.get(&other) {
                Some(of) if other != NONE && !of.is_free => Some(back(of) == *page),
                _ => None,
            };
            let sides = [
                side(leaf.previous, |s| s.next),
                side(leaf.next, |s| s.previous),
            ];
            self.led_to.contains(page)
                || sides.contains(&Some(true))
                || !leaf.is_free && !sides.contains(&Some(false))
        };
        let live: BTreeSet<u32> = self
            .seen
            .iter()
            .filter(|s| is_live(*s))
            .map(|(page, _)| *page)
            .collect();
        found.old = self
            .seen
            .keys()
            .filter(|p| !live.contains(p))
            .copied()
            .collect();
        // Along the list from each leaf that no other one leads to. One that says what is before it follows that: it was split
        // off, and the list is older. What is left after that is in a circle.
        let mut left = live.clone();
        let mut stack = Vec::new();
        let mut split_off: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for page in live.iter().rev() {
            let before = self.seen[page].previous;
            if !live.contains(&before) {
                stack.push(*page);
            } else if self.seen[&before].next != *page {
                split_off.entry(before).or_default().push(*page);
            }
        }
        while let Some(at) = stack.pop() {
            if left.remove(&at) {
                found.leaves.push(at);
                stack.push(self.seen[&at].next);
                stack.extend(split_off.remove(&at).into_iter().flatten());
            }
        }
        found.leaves.extend(left);
        // Pages that the rest names, and that are not there.
        let mut named: BTreeSet<u32> = self.led_to;
        for page in &live {
            let leaf = &self.seen[page];
            named.extend(
                [leaf.previous, leaf.next]
                    .into_iter()
                    .filter(|n| *n != NONE),
            );
        }
        let known: BTreeSet<u32> = self.lost.iter().map(|l| l.page).collect();
        found.lost = self.lost;
        for page in named {
            if self.empty.contains(&page) {
                found.lost.push(lost(page, "it is empty"));
            } else if page >= space.pages() {
                found.lost.push(lost(page, "the file ends before it"));
            } else if !self.seen.contains_key(&page) && !known.contains(&page) {
                found
                    .lost
                    .push(lost(page, "it is no page of the index any more"));
            }
        }
        found.lost.sort_by_key(|l| l.page);
        Ok(())
    }
}

fn lost(page: u32, why: &str) -> Lost {
    Lost {
        page,
        why: why.to_owned(),
        records: None,
    }
}

/// Why a page is not whole, without its number.
fn reason(e: Error) -> String {
    match e {
        Error::Damaged { what, .. } => what,
        other => other.to_string(),
    }
}

/// Which pages are free, as a page of extent descriptors says (`XDES_FREE_BIT`).
#[derive(Default)]
struct Free {
    first: u32,
    in_extent: u32,
    bits: Vec<u8>,
}

/// Where descriptors begin in their page, and where in each the bits are (`XDES_ARR_OFFSET`, `XDES_BITMAP`).
const DESCRIPTORS: usize = 150;
const BITMAP: usize = 24;

impl Free {
    fn of(number: u32, page: &[u8], is_whole: bool) -> Free {
        let of = u16_at(page, fil::TYPE);
        if !is_whole || !matches!(of, kind::FSP_HEADER | kind::EXTENTS) {
            return Free::default();
        }
        let size = page.len();
        let in_extent = (1 << 20) / size.min(1 << 14);
        Free {
            first: number,
            in_extent: in_extent as u32,
            bits: page.to_vec(),
        }
    }

    /// Whether a page is; one that nothing is known of is not.
    fn has(&self, number: u32) -> bool {
        if self.in_extent == 0 {
            return false;
        }
        let at = number - self.first;
        let (extent, n) = (
            (at / self.in_extent) as usize,
            (at % self.in_extent) as usize,
        );
        let length = BITMAP + self.in_extent as usize / 4;
        let byte = DESCRIPTORS + extent * length + BITMAP + n / 4;
        // An extent without a state was never used.
        self.bits
            .get(byte)
            .is_some_and(|b| b & (1 << (n % 4 * 2)) != 0)
    }
}
