//! Allocates the pages of a new tablespace.
//!
//! The first 32 pages of a segment are fragment pages of shared extents, as
//! servers do it, so that small tables stay small; after them whole extents are
//! taken. Several threads may fill the same segment: each takes its own extents.
//! At the end extent descriptors, lists and segment inodes are written.

use crate::page::{EXTENT, NONE, SIZE, fil, kind, u32_at};
use crate::space::{DESCRIPTOR, NODE, PER_PAGE, fsp, inode};
use std::collections::BTreeMap;

/// Fragment pages of a segment before it takes extents (`FSEG_FRAG_LIMIT`).
const SINGLE: usize = inode::FRAGMENT_SLOTS;

/// A segment, by the position of its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentAt {
    /// Page of the inode.
    pub page: u32,
    /// Offset in it.
    pub at: u16,
}

/// The pages of a segment.
#[derive(Debug, Default)]
struct Taken {
    /// Fragment pages, with those of the template.
    single: Vec<u32>,
    /// Extents, each with the number of its used pages.
    extents: Vec<(u32, u32)>,
}

/// The extents of a new file.
#[derive(Debug)]
pub struct Extents {
    /// Pages of the file at least.
    least: u32,
    /// Extents in use.
    extents: u32,
    /// Fragment extents, with the number of used pages; the last has room.
    shared: BTreeMap<u32, u32>,
    segments: BTreeMap<SegmentAt, Taken>,
}

impl Extents {
    /// Starts after the template's used pages, which are all in its first extent. No file is smaller than
    /// the template: MySQL crashes on one that is.
    pub fn new(template_pages: u32, least: u32) -> Extents {
        debug_assert!(template_pages <= EXTENT);
        Extents {
            least: least.min(EXTENT),
            extents: 1,
            shared: BTreeMap::from([(0, template_pages)]),
            segments: BTreeMap::new(),
        }
    }

    /// A fragment page that the template's segment has already.
    pub fn held(&mut self, segment: SegmentAt, page: u32) {
        self.segments.entry(segment).or_default().single.push(page);
    }

    /// A segment without a page.
    pub fn none(&mut self, segment: SegmentAt) {
        self.segments.entry(segment).or_default();
    }

    /// Another fragment page of a segment, as long as it may have more.
    pub fn single(&mut self, segment: SegmentAt) -> Option<u32> {
        if self.segments.entry(segment).or_default().single.len() >= SINGLE {
            return None;
        }
        let with_room = self.shared.iter().find(|(_, used)| **used < EXTENT);
        let extent = match with_room {
            Some((extent, _)) => *extent,
            None => {
                let extent = self.extents;
                self.extents += 1;
                // The first extent of a descriptor page begins with that page and a bitmap.
                let own = if extent.is_multiple_of(PER_PAGE) {
                    2
                } else {
                    0
                };
                self.shared.insert(extent, own);
                extent
            }
        };
        let used = self.shared.get_mut(&extent)?;
        let page = extent * EXTENT + *used;
        *used += 1;
        self.segments.entry(segment).or_default().single.push(page);
        Some(page)
    }

    /// An extent for a segment; its number.
    pub fn whole(&mut self, segment: SegmentAt) -> u32 {
        if self.extents.is_multiple_of(PER_PAGE) {
            self.shared.insert(self.extents, 2);
            self.extents += 1;
        }
        let extent = self.extents;
        self.extents += 1;
        let taken = self.segments.entry(segment).or_default();
        taken.extents.push((extent, EXTENT));
        extent
    }

    /// Only the first `used` pages of an extent are in use.
    pub fn used(&mut self, segment: SegmentAt, extent: u32, used: u32) {
        let taken = self.segments.entry(segment).or_default();
        if let Some(e) = taken.extents.iter_mut().find(|e| e.0 == extent) {
            e.1 = used;
        }
    }

    /// Pages of the file.
    pub fn size(&self) -> u32 {
        match self.shared.get(&0) {
            // A file without a full extent ends with its last page.
            Some(used) if self.extents == 1 => self.least.max(*used),
            _ => self.extents * EXTENT,
        }
    }

    /// Numbers of the descriptor pages except page 0.
    pub fn descriptor_pages(&self) -> impl Iterator<Item = u32> {
        (1..self.extents.div_ceil(PER_PAGE)).map(|n| n * PER_PAGE * EXTENT)
    }

    /// Writes everything into page 0, the inode pages and the descriptor pages, which are given by number.
    pub fn write(&self, pages: &mut BTreeMap<u32, Vec<u8>>) {
        let mut entries: Vec<Entry> = vec![Entry::default(); self.extents as usize];
        let (some, full): (Vec<_>, Vec<_>) =
            self.shared.iter().partition(|(_, used)| **used < EXTENT);
        for (list, state) in [(&some, 2), (&full, 3)] {
            for (extent, used) in list {
                entries[**extent as usize] = Entry {
                    state,
                    used: **used,
                    ..Entry::default()
                };
            }
        }
        let numbers = |list: &[(&u32, &u32)]| list.iter().map(|(e, _)| **e).collect::<Vec<_>>();
        let bases = [
            link(&mut entries, &[]),
            link(&mut entries, &numbers(&some)),
            link(&mut entries, &numbers(&full)),
        ];
        let used: u32 = some.iter().map(|(_, used)| **used).sum();
        if let Some(first) = pages.get_mut(&0) {
            put(first, fsp::SIZE, &self.size().to_be_bytes());
            let limit = self.extents * EXTENT;
            put(first, fsp::LIMIT, &limit.to_be_bytes());
            put(first, fsp::FRAGMENTS_USED, &used.to_be_bytes());
            for (base, at) in
                bases
                    .iter()
                    .zip([fsp::FREE, fsp::FREE_FRAGMENTS, fsp::FULL_FRAGMENTS])
            {
                put(first, at, base);
            }
        }
        for (at, taken) in &self.segments {
            self.segment(*at, taken, &mut entries, pages);
        }
        for (n, e) in entries.iter().enumerate() {
            let n = n as u32;
            let number = n / PER_PAGE * PER_PAGE * EXTENT;
            if let Some(page) = pages.get_mut(&number) {
                let at = fsp::EXTENTS + (n % PER_PAGE) as usize * DESCRIPTOR;
                put(page, at, &e.bytes());
            }
        }
    }

    fn segment(
        &self,
        at: SegmentAt,
        taken: &Taken,
        entries: &mut [Entry],
        pages: &mut BTreeMap<u32, Vec<u8>>,
    ) {
        let Some(page) = pages.get_mut(&at.page) else {
            return;
        };
        let base = usize::from(at.at);
        let id: [u8; 8] = page[base..base + 8].try_into().unwrap_or_default();
        let (some, full): (Vec<_>, Vec<_>) = taken.extents.iter().partition(|e| e.1 < EXTENT);
        for (extent, used) in &taken.extents {
            entries[*extent as usize] = Entry {
                owner: id,
                state: 4,
                used: *used,
                ..Entry::default()
            };
        }
        let numbers = |list: &[&(u32, u32)]| list.iter().map(|e| e.0).collect::<Vec<_>>();
        put(page, base + inode::FREE, &link(entries, &[]));
        put(
            page,
            base + inode::NOT_FULL,
            &link(entries, &numbers(&some)),
        );
        put(page, base + inode::FULL, &link(entries, &numbers(&full)));
        let used: u32 = some.iter().map(|e| e.1).sum();
        put(page, base + inode::USED_NOT_FULL, &used.to_be_bytes());
        for slot in 0..SINGLE {
            let number = taken.single.get(slot).copied().unwrap_or(NONE);
            put(
                page,
                base + inode::FRAGMENTS + slot * 4,
                &number.to_be_bytes(),
            );
        }
    }
}

/// An extent descriptor (`XDES_*`).
#[derive(Clone, Debug)]
struct Entry {
    owner: [u8; 8],
    previous: [u8; 6],
    next: [u8; 6],
    state: u32,
    used: u32,
}

impl Default for Entry {
    fn default() -> Self {
        Entry {
            owner: [0; 8],
            previous: NOWHERE,
            next: NOWHERE,
            state: 0,
            used: 0,
        }
    }
}

impl Entry {
    fn bytes(&self) -> [u8; DESCRIPTOR] {
        let mut d = [0xff; DESCRIPTOR];
        put(&mut d, 0, &self.owner);
        put(&mut d, NODE, &self.previous);
        put(&mut d, NODE + 6, &self.next);
        put(&mut d, 20, &self.state.to_be_bytes());
        for page in 0..self.used as usize {
            d[24 + page / 4] &= !(1 << (page % 4 * 2));
        }
        d
    }
}

/// The null address of a list (`FIL_NULL`, 0).
const NOWHERE: [u8; 6] = [0xff, 0xff, 0xff, 0xff, 0, 0];

/// The address of an extent's list node.
fn node(extent: u32) -> [u8; 6] {
    let at = fsp::EXTENTS + (extent % PER_PAGE) as usize * DESCRIPTOR + NODE;
    let page = (extent / PER_PAGE * PER_PAGE * EXTENT).to_be_bytes();
    let at = (at as u16).to_be_bytes();
    [page[0], page[1], page[2], page[3], at[0], at[1]]
}

/// Links a list of extents; returns its base node.
fn link(entries: &mut [Entry], list: &[u32]) -> [u8; 16] {
    for pair in list.windows(2) {
        entries[pair[0] as usize].next = node(pair[1]);
        entries[pair[1] as usize].previous = node(pair[0]);
    }
    let mut base = [0; 16];
    put(&mut base, 0, &(list.len() as u32).to_be_bytes());
    put(&mut base, 4, &list.first().map_or(NOWHERE, |e| node(*e)));
    put(&mut base, 10, &list.last().map_or(NOWHERE, |e| node(*e)));
    base
}

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

/// An empty descriptor page or bitmap page.
pub fn own_page(number: u32, template: &[u8], of: u16) -> Vec<u8> {
    let mut page = vec![0; SIZE];
    put(&mut page, fil::NUMBER, &number.to_be_bytes());
    put(&mut page, fil::PREV, &NONE.to_be_bytes());
    put(&mut page, fil::NEXT, &NONE.to_be_bytes());
    page[fil::LSN..fil::LSN + 8].copy_from_slice(&template[fil::LSN..fil::LSN + 8]);
    put(&mut page, fil::TYPE, &of.to_be_bytes());
    put(
        &mut page,
        fil::SPACE,
        &u32_at(template, fil::SPACE).to_be_bytes(),
    );
    if of == kind::EXTENTS {
        // Its header is empty; descriptors of unused extents are zero.
        page[fil::BODY..].fill(0);
    }
    page
}
