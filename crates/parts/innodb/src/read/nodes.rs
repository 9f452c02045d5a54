//! Where each leaf of an index begins and ends, read from the levels above the leaves, in the file of a running server.
//!
//! Such a file is never of one moment: a page may be torn, older than its neighbours, or of another use by now. So the
//! tree is walked from its root, every page is checked, a page that does not check is read again, and what still does
//! not is left out and reported; siblings are not compared. A leaf's bounds are those that the levels above give it,
//! which hold for the page as it was when they were written.

use super::chain::{Chain, info};
use super::error::Error;
use super::file::{Tablespace, Window};
use super::leaves::is_of;
use super::record::{Found, REFERENCE, Records, Span};
use super::table::Index;
use crate::page::{NONE, fil, index, u16_at, u32_at, u64_at};
use std::time::Duration;

/// How often a page is read before it is given up, and how long a server may take to have written it.
const READS: usize = 4;
const BETWEEN: Duration = Duration::from_millis(10);

/// Deeper than any index.
const DEEPEST: u16 = 16;

/// The fields of a record above the leaves as they are stored; `None` is NULL.
pub type Key = Vec<Option<Vec<u8>>>;

/// What a walk passes to its caller: a leaf, the first key that it may have (`None`: from the index's begin), and the
/// first key behind it (`None`: to the end).
pub type Each<'e> = dyn FnMut(u32, Option<&Key>, Option<&Key>) + 'e;

/// The levels of an index above its leaves.
#[derive(Debug, Default)]
pub struct Nodes {
    /// The index's number, which each of its pages has.
    pub id: u64,
    /// The pages of these levels; the root alone where it is a leaf.
    pub above: Vec<u32>,
    /// Pages of these levels that were not read, and why: the leaves below are not known.
    pub lost: Vec<Error>,
}

impl Nodes {
    /// Walks an index in key order. Only its root must be whole.
    pub fn walk(
        space: &Tablespace<'_>,
        of: &Index,
        redundant: bool,
        each: &mut Each<'_>,
    ) -> Result<Nodes, Error> {
        let records = Records::of(of, redundant);
        let mut window = Window::default();
        let mut nodes = Nodes::default();
        let level = again(space, &mut window, of.root, |page| {
            let level = u16_at(page, index::LEVEL);
            if u32_at(page, fil::PREV) != NONE || u32_at(page, fil::NEXT) != NONE || level > DEEPEST
            {
                return Err(Error::damaged(of.root, "it is no root of an index"));
            }
            nodes.id = u64_at(page, index::ID);
            is_of(page, of.root, nodes.id, level, redundant)?;
            Ok(level)
        })?;
        if level == 0 {
            nodes.above.push(of.root);
            each(of.root, None, None);
            return Ok(nodes);
        }
        let mut walk = Walk {
            space,
            redundant,
            branch: of.branch,
            spans: records.spans(),
            records,
            window,
            nodes,
            each,
        };
        walk.below(of.root, level, None, None)?;
        Ok(walk.nodes)
    }
}

struct Walk<'w, 'e> {
    space: &'w Tablespace<'w>,
    redundant: bool,
    branch: usize,
    records: Records,
    spans: Vec<Span>,
    window: Window,
    nodes: Nodes,
    each: &'w mut Each<'e>,
}

/// A record above the leaves: the page below, and where its keys begin; `None`: where those of its own page do.
type Child = (u32, Option<Key>);

impl Walk<'_, '_> {
    /// What is below a page of a level above the leaves.
    fn below(
        &mut self,
        number: u32,
        level: u16,
        from: Option<&Key>,
        to: Option<&Key>,
    ) -> Result<(), Error> {
        if self.nodes.above.len() as u64 > u64::from(self.space.pages()) {
            return Err(Error::damaged(
                number,
                "it leads to more pages than there are",
            ));
        }
        let children = self.children(number, level)?;
        self.nodes.above.push(number);
        for (n, (child, own)) in children.iter().enumerate() {
            let from = own.as_ref().or(from);
            let to = children.get(n + 1).and_then(|next| next.1.as_ref()).or(to);
            if level == 1 {
                (self.each)(*child, from, to);
            } else if let Err(e) = self.below(*child, level - 1, from, to) {
                self.nodes.lost.push(e.not_io()?);
            }
        }
        Ok(())
    }

    fn children(&mut self, number: u32, level: u16) -> Result<Vec<Child>, Error> {
        let (id, redundant, branch) = (self.nodes.id, self.redundant, self.branch);
        let (records, spans) = (&self.records, &mut self.spans);
        again(self.space, &mut self.window, number, |page| {
            is_of(page, number, id, level, redundant)?;
            let damaged = |why: &str| Error::damaged(number, why);
            let mut all = Vec::new();
            let mut chain = Chain::of(page);
            while let Some(at) = chain.next().map_err(damaged)? {
                let wrong = |why| Error::damaged(number, format!("the record at byte {at} {why}"));
                let child = records.child(page, at, spans).map_err(wrong)?;
                // The least record of a level stands for every key before the next one's, whatever it holds.
                let key = (chain.info(at) & info::LEAST == 0)
                    .then(|| spans[..branch].iter().map(|s| stored(s.of(page))).collect());
                all.push((child, key));
            }
            match all.is_empty() {
                true => Err(damaged("it has no record")),
                false => Ok(all),
            }
        })
    }
}

fn stored(found: Found<'_>) -> Option<Vec<u8>> {
    match found {
        Found::Whole(bytes) => Some(bytes.to_vec()),
        // No key has parts that are off-page.
        Found::Null | Found::Outside(_) | Found::Absent => None,
    }
}

/// Reads a page until it is what it should be.
fn again<T>(
    space: &Tablespace<'_>,
    window: &mut Window,
    number: u32,
    mut of: impl FnMut(&[u8]) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut reads = 0;
    loop {
        let outcome = (space.load(window, number, 1))
            .and_then(|()| space.page(window, number))
            .and_then(&mut of);
        reads += 1;
        match outcome {
            Err(Error::Damaged { .. }) if reads < READS => std::thread::sleep(BETWEEN),
            outcome => return outcome,
        }
    }
}

/// The pages that the records of a leaf of the clustered index name as the first ones of off-page values.
pub fn off_page(
    space: &Tablespace<'_>,
    of: &Index,
    redundant: bool,
    id: u64,
    leaf: u32,
) -> Result<Vec<u32>, Error> {
    let records = Records::of(of, redundant);
    let mut spans = records.spans();
    again(space, &mut Window::default(), leaf, |page| {
        is_of(page, leaf, id, 0, redundant)?;
        let damaged = |why: &str| Error::damaged(leaf, why);
        let mut all = Vec::new();
        let mut chain = Chain::of(page);
        while let Some(at) = chain.next().map_err(damaged)? {
            // What an instant ALTER of MariaDB left is no row.
            if chain.info(at) & info::LEAST != 0 {
                continue;
            }
            records.leaf(page, at, &mut spans).map_err(damaged)?;
            for span in &spans {
                if let Found::Outside(local) = span.of(page)
                    && let Some(at) = local.len().checked_sub(REFERENCE)
                {
                    // Space, page, offset, length (`BTR_EXTERN_…`, lob0lob.h).
                    all.push(u32_at(local, at + 4));
                }
            }
        }
        Ok(all)
    })
}
