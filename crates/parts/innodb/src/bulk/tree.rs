//! Builds a B-tree from records in order: leaves as they fill, then the non-leaf
//! levels.
//!
//! A [`Run`] takes a range of the records; several may work at once on consecutive
//! ranges, and [`finish`] joins them. A run holds its first and its last page back,
//! because their neighbours are not yet known.

use super::encode::encode;
use super::extents::{Extents, SegmentAt};
use super::page::{Belongs, Encoded, Filling, place};
use super::{Error, Sink};
use crate::format::Format;
use crate::layout::Layout;
use crate::page::{EXTENT, SIZE, index};
use crate::record::{self, Record};
use std::sync::{Mutex, PoisonError};

/// What all runs of a file share.
pub struct Shared<'a> {
    /// Receives the pages.
    pub sink: &'a dyn Sink,
    /// The page format, which decides on the checksum.
    pub format: Format,
    /// Tablespace id.
    pub space: u32,
    /// Log sequence number of every page.
    pub lsn: u64,
    /// The allocated pages.
    pub extents: Mutex<Extents>,
}

impl Shared<'_> {
    /// What an index page says about itself.
    fn page_of(&self, layout: &Layout, level: u16) -> Belongs {
        Belongs {
            space: self.space,
            index: layout.id,
            level,
            secondary_leaf: level == 0 && !layout.clustered,
            lsn: self.lsn,
        }
    }

    fn extents(&self) -> std::sync::MutexGuard<'_, Extents> {
        self.extents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An index of the file, and its segments.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its records.
    pub layout: Layout,
    /// Segment of the leaves.
    pub leaves: SegmentAt,
    /// Segment of the non-leaf pages.
    pub non_leaves: SegmentAt,
    /// The template root's references to the two.
    pub root_header: [u8; 20],
}

/// Pages of one segment in ascending order, written an extent at a time.
pub struct Pages<'a> {
    shared: &'a Shared<'a>,
    segment: SegmentAt,
    /// The current extent: its number, and how many pages of it are used.
    extent: Option<(u32, u32)>,
    buffer: Vec<u8>,
    /// Page of the first byte of the buffer.
    start: u32,
}

impl<'a> Pages<'a> {
    /// Without pages.
    pub fn new(shared: &'a Shared<'a>, segment: SegmentAt) -> Pages<'a> {
        Pages {
            shared,
            segment,
            extent: None,
            buffer: Vec::new(),
            start: 0,
        }
    }

    /// Allocates another page; its number.
    pub fn take(&mut self) -> u32 {
        if let Some((extent, used)) = &mut self.extent
            && *used < EXTENT
        {
            *used += 1;
            return *extent * EXTENT + *used - 1;
        }
        let mut extents = self.shared.extents();
        if self.extent.is_none()
            && let Some(page) = extents.single(self.segment)
        {
            return page;
        }
        let extent = extents.whole(self.segment);
        self.extent = Some((extent, 1));
        extent * EXTENT
    }

    /// Writes a page that is complete except for its checksum.
    pub fn write(&mut self, number: u32, mut page: Vec<u8>) -> Result<(), Error> {
        self.shared.format.seal(&mut page);
        let behind = self.start + (self.buffer.len() / SIZE) as u32;
        if self.buffer.is_empty() || number != behind || self.buffer.len() >= EXTENT as usize * SIZE
        {
            self.flush()?;
            self.start = number;
        }
        self.buffer.extend_from_slice(&page);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        if !self.buffer.is_empty() {
            self.shared.sink.write(self.start, &self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the rest, and records how much of the last extent is used.
    pub fn end(&mut self) -> Result<(), Error> {
        self.flush()?;
        if let Some((extent, used)) = self.extent.take() {
            self.shared.extents().used(self.segment, extent, used);
        }
        Ok(())
    }
}

/// A node pointer: a page's first key and number (`REC_STATUS_NODE_PTR`).
#[derive(Clone, Debug)]
struct NodePointer {
    record: Encoded,
}

/// The leaves of a range of an index.
pub struct Run<'a> {
    target: &'a Target,
    belongs: Belongs,
    pages: Pages<'a>,
    filling: Filling,
    /// The page before the current one; its number.
    previous: Option<u32>,
    /// Number of the current page, unless it is the first.
    number: Option<u32>,
    first: Option<(u32, Vec<u8>)>,
    node_pointers: Vec<NodePointer>,
    count: u64,
}

/// The leaves of a run.
pub struct Done {
    /// Its first page, and its number unless it is the only one.
    first: Option<(Option<u32>, Vec<u8>)>,
    /// Its last page, if that is another one, with its number and the previous number.
    last: Option<(u32, Option<u32>, Vec<u8>)>,
    /// Node pointers of all pages but the first, whose number may be unknown.
    node_pointers: Vec<NodePointer>,
    /// Records.
    pub count: u64,
}

impl<'a> Run<'a> {
    /// An empty range.
    pub fn new(shared: &'a Shared<'a>, target: &'a Target) -> Run<'a> {
        let belongs = shared.page_of(&target.layout, 0);
        Run {
            target,
            belongs,
            pages: Pages::new(shared, target.leaves),
            filling: Filling::new(belongs),
            previous: None,
            number: None,
            first: None,
            node_pointers: Vec::new(),
            count: 0,
        }
    }

    /// Adds the next record.
    pub fn push(&mut self, record: &Encoded) -> Result<(), Error> {
        if !self.filling.has_room(record.bytes.len()) {
            self.turn()?;
        }
        self.filling.push(&record.bytes, record.origin, 0);
        self.count += 1;
        Ok(())
    }

    /// The page is full: starts another one.
    fn turn(&mut self) -> Result<(), Error> {
        let full = std::mem::replace(&mut self.filling, Filling::new(self.belongs));
        let number = self.number.unwrap_or_else(|| self.pages.take());
        let next = self.pages.take();
        if self.previous.is_some() {
            self.node_pointers
                .push(node_pointer(&full, &self.target.layout, number)?);
        }
        let mut page = full.done();
        place(&mut page, number, self.previous, Some(next));
        if self.previous.is_none() {
            self.first = Some((number, page));
        } else {
            self.pages.write(number, page)?;
        }
        self.previous = Some(number);
        self.number = Some(next);
        Ok(())
    }

    /// Ends the range.
    pub fn end(mut self) -> Result<Done, Error> {
        let mut done = Done {
            first: None,
            last: None,
            node_pointers: Vec::new(),
            count: self.count,
        };
        match (self.first.take(), self.number) {
            (Some((number, page)), Some(last)) => {
                self.node_pointers
                    .push(node_pointer(&self.filling, &self.target.layout, last)?);
                done.first = Some((Some(number), page));
                done.last = Some((last, self.previous, self.filling.done()));
            }
            _ if !self.filling.is_empty() => done.first = Some((None, self.filling.done())),
            _ => {}
        }
        done.node_pointers = self.node_pointers;
        self.pages.end()?;
        Ok(done)
    }
}

/// The node pointer of a page: the key of its first record, and its number.
fn node_pointer(page: &Filling, layout: &Layout, number: u32) -> Result<NodePointer, Error> {
    let at = page
        .first()
        .ok_or(Error::Builder("a page without records"))?;
    node_pointer_of(page.bytes(), at, layout, 0, number)
}

fn node_pointer_of(
    page: &[u8],
    at: usize,
    layout: &Layout,
    level: u16,
    number: u32,
) -> Result<NodePointer, Error> {
    let fields = record::fields(page, Record { at, info: 0 }, layout, level)
        .map_err(|_| Error::Builder("an inconsistent record"))?;
    let mut record = Encoded::default();
    encode(
        layout,
        |n| fields.values[n],
        layout.branch,
        Some(number),
        &mut record,
    );
    Ok(NodePointer { record })
}

/// Joins consecutive runs, and builds the non-leaf levels.
pub fn finish(shared: &Shared<'_>, target: &Target, runs: Vec<Done>) -> Result<u64, Error> {
    let count = runs.iter().map(|r| r.count).sum();
    let runs: Vec<Done> = runs.into_iter().filter(|r| r.first.is_some()).collect();
    let leaf = shared.page_of(&target.layout, 0);
    let only = match &runs[..] {
        [] => Some(Filling::new(leaf).done()),
        [one] if one.last.is_none() => one.first.as_ref().map(|f| f.1.clone()),
        _ => None,
    };
    if let Some(page) = only {
        root(shared, target, page)?;
        return Ok(count);
    }
    let node_pointers = join(shared, target, runs)?;
    non_leaves(shared, target, node_pointers)?;
    Ok(count)
}

/// Sets numbers and neighbours of the pages at run boundaries.
fn join(shared: &Shared<'_>, target: &Target, runs: Vec<Done>) -> Result<Vec<NodePointer>, Error> {
    let mut pages = Pages::new(shared, target.leaves);
    // A run's only page has no number yet.
    let numbers: Vec<u32> = runs
        .iter()
        .map(|r| {
            r.first
                .as_ref()
                .and_then(|f| f.0)
                .unwrap_or_else(|| pages.take())
        })
        .collect();
    let mut node_pointers = Vec::new();
    let mut previous = None;
    for (n, run) in runs.into_iter().enumerate() {
        let (number, behind) = (numbers[n], numbers.get(n + 1).copied());
        let Some((_, mut first)) = run.first else {
            continue;
        };
        let at = usize::from(
            (index::INFIMUM as u16).wrapping_add(crate::page::u16_at(&first, index::INFIMUM - 2)),
        );
        node_pointers.push(node_pointer_of(&first, at, &target.layout, 0, number)?);
        node_pointers.extend(run.node_pointers);
        match run.last {
            Some((last, before, mut page)) => {
                let next = crate::page::u32_at(&first, crate::page::fil::NEXT);
                place(&mut first, number, previous, Some(next));
                pages.write(number, first)?;
                place(&mut page, last, before, behind);
                pages.write(last, page)?;
                previous = Some(last);
            }
            None => {
                place(&mut first, number, previous, behind);
                pages.write(number, first)?;
                previous = Some(number);
            }
        }
    }
    pages.end()?;
    Ok(node_pointers)
}

/// Builds level after level until one page holds a whole level: the root.
fn non_leaves(
    shared: &Shared<'_>,
    target: &Target,
    mut node_pointers: Vec<NodePointer>,
) -> Result<(), Error> {
    let mut pages = Pages::new(shared, target.non_leaves);
    for level in 1.. {
        let belongs = shared.page_of(&target.layout, level);
        let mut filled: Vec<Filling> = vec![Filling::new(belongs)];
        for (n, f) in node_pointers.iter().enumerate() {
            let mut page = filled.len() - 1;
            if !filled[page].has_room(f.record.bytes.len()) {
                filled.push(Filling::new(belongs));
                page += 1;
            }
            // The first node pointer of a level is smaller than every key (`REC_INFO_MIN_REC_FLAG`).
            let info = if n == 0 { record::info::LEAST } else { 0 };
            filled[page].push(&f.record.bytes, f.record.origin, info);
        }
        if filled.len() == 1 {
            pages.end()?;
            return match filled.pop() {
                Some(page) => root(shared, target, page.done()),
                None => Ok(()),
            };
        }
        let numbers: Vec<u32> = filled.iter().map(|_| pages.take()).collect();
        let mut above = Vec::with_capacity(filled.len());
        for (n, page) in filled.into_iter().enumerate() {
            let at = page
                .first()
                .ok_or(Error::Builder("a page without records"))?;
            above.push(node_pointer_of(
                page.bytes(),
                at,
                &target.layout,
                level,
                numbers[n],
            )?);
            let mut page = page.done();
            let before = n.checked_sub(1).map(|n| numbers[n]);
            place(&mut page, numbers[n], before, numbers.get(n + 1).copied());
            pages.write(numbers[n], page)?;
        }
        node_pointers = above;
    }
    Ok(())
}

fn root(shared: &Shared<'_>, target: &Target, mut page: Vec<u8>) -> Result<(), Error> {
    let number = target.layout.root;
    place(&mut page, number, None, None);
    page[index::LEAVES..index::LEAVES + 20].copy_from_slice(&target.root_header);
    shared.format.seal(&mut page);
    shared.sink.write(number, &page)?;
    Ok(())
}

/// Stores a long value as a chain of pages; returns the first one.
pub fn outside(
    pages: &mut Pages<'_>,
    shared: &Shared<'_>,
    value: &[u8],
) -> Result<record::Pointer, Error> {
    use crate::page::{NONE, fil, kind};
    const ROOM: usize = SIZE - fil::BODY - 8 - fil::TRAILER;
    let first = pages.take();
    let mut number = first;
    let mut chunks = value.chunks(ROOM).peekable();
    while let Some(piece) = chunks.next() {
        let next = chunks.peek().map(|_| pages.take());
        let mut page = vec![0; SIZE];
        place(&mut page, number, None, None);
        page[fil::LSN..fil::LSN + 8].copy_from_slice(&shared.lsn.to_be_bytes());
        page[fil::TYPE..fil::TYPE + 2].copy_from_slice(&kind::BLOB.to_be_bytes());
        page[fil::SPACE..fil::SPACE + 4].copy_from_slice(&shared.space.to_be_bytes());
        page[fil::BODY..fil::BODY + 4].copy_from_slice(&(piece.len() as u32).to_be_bytes());
        let link = next.unwrap_or(NONE);
        page[fil::BODY + 4..fil::BODY + 8].copy_from_slice(&link.to_be_bytes());
        page[fil::BODY + 8..fil::BODY + 8 + piece.len()].copy_from_slice(piece);
        pages.write(number, page)?;
        number = link;
    }
    Ok(record::Pointer {
        space: shared.space,
        page: first,
        offset: fil::BODY as u32,
        length: value.len() as u64,
        owned: true,
    })
}
