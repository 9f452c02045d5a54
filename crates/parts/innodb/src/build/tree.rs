//! An index from records that come in order: leaves as they fill, then the
//! levels above.
//!
//! A [`Run`] takes a stretch of the records; several may work at once on
//! stretches that follow each other, and [`finish`] joins them. A run keeps its
//! first and its last page back, because their neighbours are not known before.

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
    /// Where pages go.
    pub sink: &'a dyn Sink,
    /// How they are summed up.
    pub format: Format,
    /// Number of the tablespace.
    pub space: u32,
    /// Log sequence number of every page.
    pub lsn: u64,
    /// What was taken of the file.
    pub extents: Mutex<Extents>,
}

impl Shared<'_> {
    /// What a page of an index says of itself.
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
    /// Segment of the others.
    pub branches: SegmentAt,
    /// What the template's root says of the two.
    pub root_header: [u8; 20],
}

/// Pages of one segment in ascending order, written an extent at a time.
pub struct Pages<'a> {
    shared: &'a Shared<'a>,
    segment: SegmentAt,
    /// The extent that is being used: its number, and how many pages of it.
    extent: Option<(u32, u32)>,
    buffer: Vec<u8>,
    /// Page of the first byte of the buffer.
    start: u32,
}

impl<'a> Pages<'a> {
    /// None yet.
    pub fn new(shared: &'a Shared<'a>, segment: SegmentAt) -> Pages<'a> {
        Pages {
            shared,
            segment,
            extent: None,
            buffer: Vec::new(),
            start: 0,
        }
    }

    /// The number of another page.
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

    /// Writes a page that is complete but for its sum.
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

    /// Writes what is left, and says how much of the last extent is in use.
    pub fn end(&mut self) -> Result<(), Error> {
        self.flush()?;
        if let Some((extent, used)) = self.extent.take() {
            self.shared.extents().used(self.segment, extent, used);
        }
        Ok(())
    }
}

/// A page's first key and number, as the page above has them.
#[derive(Clone, Debug)]
struct Fence {
    record: Encoded,
}

/// Leaves of a stretch of an index.
pub struct Run<'a> {
    target: &'a Target,
    belongs: Belongs,
    pages: Pages<'a>,
    filling: Filling,
    /// The page before the one that is filled; its number.
    previous: Option<u32>,
    /// Number of the page that is filled, unless it is the first.
    number: Option<u32>,
    first: Option<(u32, Vec<u8>)>,
    fences: Vec<Fence>,
    count: u64,
}

/// The leaves of a run.
pub struct Done {
    /// Its first page, and its number unless it is the only one.
    first: Option<(Option<u32>, Vec<u8>)>,
    /// Its last page, if that is another one, with its number and the one before.
    last: Option<(u32, Option<u32>, Vec<u8>)>,
    /// Of every page but the first, whose number may not be known.
    fences: Vec<Fence>,
    /// Records.
    pub count: u64,
}

impl<'a> Run<'a> {
    /// An empty stretch.
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
            fences: Vec::new(),
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

    /// The page is full: another one.
    fn turn(&mut self) -> Result<(), Error> {
        let full = std::mem::replace(&mut self.filling, Filling::new(self.belongs));
        let number = self.number.unwrap_or_else(|| self.pages.take());
        let next = self.pages.take();
        if self.previous.is_some() {
            self.fences.push(fence(&full, &self.target.layout, number)?);
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

    /// There are no more records.
    pub fn end(mut self) -> Result<Done, Error> {
        let mut done = Done {
            first: None,
            last: None,
            fences: Vec::new(),
            count: self.count,
        };
        match (self.first.take(), self.number) {
            (Some((number, page)), Some(last)) => {
                self.fences
                    .push(fence(&self.filling, &self.target.layout, last)?);
                done.first = Some((Some(number), page));
                done.last = Some((last, self.previous, self.filling.done()));
            }
            _ if !self.filling.is_empty() => done.first = Some((None, self.filling.done())),
            _ => {}
        }
        done.fences = self.fences;
        self.pages.end()?;
        Ok(done)
    }
}

/// The record above a page: the key of its first record, and its number.
fn fence(page: &Filling, layout: &Layout, number: u32) -> Result<Fence, Error> {
    let at = page
        .first()
        .ok_or(Error::Builder("a page without a record"))?;
    fence_of(page.bytes(), at, layout, 0, number)
}

fn fence_of(
    page: &[u8],
    at: usize,
    layout: &Layout,
    level: u16,
    number: u32,
) -> Result<Fence, Error> {
    let fields = record::fields(page, Record { at, info: 0 }, layout, level)
        .map_err(|_| Error::Builder("a record that does not hold together"))?;
    let mut record = Encoded::default();
    encode(
        layout,
        |n| fields.values[n],
        layout.branch,
        Some(number),
        &mut record,
    );
    Ok(Fence { record })
}

/// Joins runs that follow each other, and builds the levels above.
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
    let fences = join(shared, target, runs)?;
    branches(shared, target, fences)?;
    Ok(count)
}

/// Gives the pages at the seams their numbers and neighbours.
fn join(shared: &Shared<'_>, target: &Target, runs: Vec<Done>) -> Result<Vec<Fence>, Error> {
    let mut pages = Pages::new(shared, target.leaves);
    // First pages that are alone have no number yet.
    let numbers: Vec<u32> = runs
        .iter()
        .map(|r| {
            r.first
                .as_ref()
                .and_then(|f| f.0)
                .unwrap_or_else(|| pages.take())
        })
        .collect();
    let mut fences = Vec::new();
    let mut previous = None;
    for (n, run) in runs.into_iter().enumerate() {
        let (number, behind) = (numbers[n], numbers.get(n + 1).copied());
        let Some((_, mut first)) = run.first else {
            continue;
        };
        let at = usize::from(
            (index::INFIMUM as u16).wrapping_add(crate::page::u16_at(&first, index::INFIMUM - 2)),
        );
        fences.push(fence_of(&first, at, &target.layout, 0, number)?);
        fences.extend(run.fences);
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
    Ok(fences)
}

/// Level upon level, until one page holds a whole level: the root.
fn branches(shared: &Shared<'_>, target: &Target, mut fences: Vec<Fence>) -> Result<(), Error> {
    let mut pages = Pages::new(shared, target.branches);
    for level in 1.. {
        let belongs = shared.page_of(&target.layout, level);
        let mut filled: Vec<Filling> = vec![Filling::new(belongs)];
        for (n, f) in fences.iter().enumerate() {
            let mut page = filled.len() - 1;
            if !filled[page].has_room(f.record.bytes.len()) {
                filled.push(Filling::new(belongs));
                page += 1;
            }
            // The first of a level is smaller than everything.
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
                .ok_or(Error::Builder("a page without a record"))?;
            above.push(fence_of(
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
        fences = above;
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

/// A long value, as a chain of pages; where it begins.
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
