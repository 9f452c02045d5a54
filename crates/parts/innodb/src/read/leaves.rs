//! The leaves of an index in key order, found by the level above them, so that they can be read in any order and by
//! several threads.
//!
//! A leaf's neighbours are checked when it is read, against this list; the levels above are checked here.

use super::chain::Chain;
use super::error::Error;
use super::file::{AT_ONCE, Tablespace, Window};
use super::record::{Records, Span};
use super::table::Index;
use crate::page::{NONE, fil, index, kind, u16_at, u32_at, u64_at};

/// A leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its page.
    pub page: u32,
    /// The page before it in key order; `u32::MAX` where it is the first.
    pub previous: u32,
    /// The one after it.
    pub next: u32,
}

/// The leaves of an index.
#[derive(Clone, Debug, Default)]
pub struct Leaves {
    /// The index's number, which each of its pages has.
    pub id: u64,
    /// In key order.
    pub all: Vec<Leaf>,
}

/// Deeper than any index.
const DEEPEST: u16 = 16;

impl Leaves {
    /// Finds them, from the index's root on.
    pub fn of(space: &Tablespace<'_>, of: &Index, redundant: bool) -> Result<Leaves, Error> {
        let records = Records::of(of, redundant);
        let mut spans = records.spans();
        let mut window = Window::default();
        let (id, level) = root(space, &mut window, of, redundant)?;
        if level == 0 {
            let only = Leaf {
                page: of.root,
                previous: NONE,
                next: NONE,
            };
            let all = vec![only];
            return Ok(Leaves { id, all });
        }
        // The first page of each level, down to the one above the leaves.
        let mut first = of.root;
        for level in (2..=level).rev() {
            first = below(
                space,
                &mut window,
                first,
                (id, level, redundant),
                &records,
                &mut spans,
            )?;
        }
        let mut all: Vec<u32> = Vec::new();
        let mut previous = NONE;
        let mut seen = 0;
        while first != NONE {
            let page = space.page(&mut window, first)?;
            is_of(page, first, id, 1, redundant)?;
            seen += 1;
            if u32_at(page, fil::PREV) != previous || seen > space.pages() {
                let what = "the page before it on its level is another one";
                return Err(Error::damaged(first, what));
            }
            children(page, first, &records, &mut spans, |c| all.push(c))?;
            if all.len() > space.pages() as usize {
                return Err(Error::damaged(
                    first,
                    "it leads to more pages than there are",
                ));
            }
            previous = first;
            first = u32_at(page, fil::NEXT);
        }
        let leaf = |n: usize| Leaf {
            page: all[n],
            previous: n.checked_sub(1).map_or(NONE, |n| all[n]),
            next: all.get(n + 1).copied().unwrap_or(NONE),
        };
        Ok(Leaves {
            id,
            all: (0..all.len()).map(leaf).collect(),
        })
    }

    /// The page of the first leaf.
    pub(super) fn first(space: &Tablespace<'_>, of: &Index, redundant: bool) -> Result<u32, Error> {
        let records = Records::of(of, redundant);
        let mut spans = records.spans();
        let mut window = Window::default();
        let (id, level) = root(space, &mut window, of, redundant)?;
        let mut first = of.root;
        for level in (1..=level).rev() {
            first = below(
                space,
                &mut window,
                first,
                (id, level, redundant),
                &records,
                &mut spans,
            )?;
        }
        let page = space.page(&mut window, first)?;
        is_of(page, first, id, 0, redundant)?;
        Ok(first)
    }

    /// Consecutive leaves, in at most so many pieces of about one size.
    pub fn pieces(&self, count: usize) -> impl Iterator<Item = &[Leaf]> {
        let each = self.all.len().div_ceil(count.max(1)).max(1);
        self.all.chunks(each)
    }

    /// The leaves in the order in which they lie in the file.
    pub fn in_file_order(&self) -> Vec<Leaf> {
        let mut all = self.all.clone();
        all.sort_unstable_by_key(|l| l.page);
        all
    }
}

/// Reads the pages of leaves, in their order, those together that lie one after another in the file; each page's
/// neighbours must be its leaf's.
pub(super) fn pages<E: From<Error>>(
    space: &Tablespace<'_>,
    window: &mut Window,
    leaves: &[Leaf],
    mut each: impl FnMut(&Leaf, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let follows = |a: &Leaf, b: &Leaf| a.page.checked_add(1) == Some(b.page);
    for run in leaves.chunk_by(follows) {
        for run in run.chunks(AT_ONCE as usize) {
            space.load(window, run[0].page, run.len() as u32)?;
            for leaf in run {
                let page = space.page(window, leaf.page)?;
                if u32_at(page, fil::PREV) != leaf.previous || u32_at(page, fil::NEXT) != leaf.next
                {
                    let what = "its neighbours are others than the level above says";
                    return Err(Error::damaged(leaf.page, what).into());
                }
                each(leaf, page)?;
            }
        }
    }
    Ok(())
}

/// The number and the level of an index.
fn root(
    space: &Tablespace<'_>,
    window: &mut Window,
    of: &Index,
    redundant: bool,
) -> Result<(u64, u16), Error> {
    let page = space.page(window, of.root)?;
    let (id, level) = (u64_at(page, index::ID), u16_at(page, index::LEVEL));
    if u32_at(page, fil::PREV) != NONE || u32_at(page, fil::NEXT) != NONE || level > DEEPEST {
        return Err(Error::damaged(of.root, "it is no root of an index"));
    }
    is_of(page, of.root, id, level, redundant)?;
    Ok((id, level))
}

/// The first page below a page of an index with this number, level and format.
fn below(
    space: &Tablespace<'_>,
    window: &mut Window,
    number: u32,
    (id, level, redundant): (u64, u16, bool),
    records: &Records,
    spans: &mut [Span],
) -> Result<u32, Error> {
    let page = space.page(window, number)?;
    is_of(page, number, id, level, redundant)?;
    let mut first = None;
    children(page, number, records, spans, |c| {
        first.get_or_insert(c);
    })?;
    first.ok_or_else(|| Error::damaged(number, "it has no record"))
}

/// That a page is one of this index and level.
pub(super) fn is_of(
    page: &[u8],
    number: u32,
    id: u64,
    level: u16,
    redundant: bool,
) -> Result<(), Error> {
    let of = u16_at(page, fil::TYPE);
    if !matches!(of, kind::INDEX | kind::SDI | kind::INSTANT) {
        let what = format!("a page of kind {of} is no page of an index");
        return Err(Error::damaged(number, what));
    }
    let says = u64_at(page, index::ID);
    if says != id {
        let what = format!("it is of index {says}, not {id}");
        return Err(Error::damaged(number, what));
    }
    let says = u16_at(page, index::LEVEL);
    if says != level {
        let what = format!("it is of level {says}, not {level}");
        return Err(Error::damaged(number, what));
    }
    if index::is_redundant(page) != redundant {
        let what = "its records are of another format than the table's";
        return Err(Error::damaged(number, what));
    }
    Ok(())
}

/// The pages that a page above the leaves leads to.
fn children(
    page: &[u8],
    number: u32,
    records: &Records,
    spans: &mut [Span],
    mut each: impl FnMut(u32),
) -> Result<(), Error> {
    let mut chain = Chain::of(page);
    loop {
        let next = chain.next().map_err(|why| Error::damaged(number, why))?;
        let Some(at) = next else { return Ok(()) };
        let child = records.child(page, at, spans);
        each(
            child
                .map_err(|why| Error::damaged(number, format!("the record at byte {at} {why}")))?,
        );
    }
}
