//! Extents and segments: who owns which page of a tablespace.
//!
//! Page 0 and every 256th extent's first page describe 256 extents each; page 2 (and
//! other inode pages) holds the segments. Lists run through the extent descriptors.
//! Everything must be consistent: each extent is in the one list of its state, and
//! each used page has one owner.

use crate::page::{EXTENT, NONE, SIZE, fil, kind, u16_at, u32_at, u64_at};

/// The FSP header: fields of page 0 after the FIL header (`FSP_HEADER_OFFSET`).
pub(crate) mod fsp {
    pub const SPACE: usize = 38;
    pub const SIZE: usize = 46;
    pub const LIMIT: usize = 50;
    pub const FRAGMENTS_USED: usize = 58;
    pub const FREE: usize = 62;
    pub const FREE_FRAGMENTS: usize = 78;
    pub const FULL_FRAGMENTS: usize = 94;
    pub const NEXT_SEGMENT: usize = 110;
    pub const INODES_FULL: usize = 118;
    pub const INODES_FREE: usize = 134;
    /// Start of the extent descriptors (`XDES_ARR_OFFSET`).
    pub const EXTENTS: usize = 150;
}

/// Bytes of an extent descriptor (`XDES_SIZE`).
pub(crate) const DESCRIPTOR: usize = 40;

/// Extents per descriptor page.
pub(crate) const PER_PAGE: u32 = SIZE as u32 / EXTENT;

/// Offset of the list node in a descriptor (`XDES_FLST_NODE`).
pub(crate) const NODE: usize = 8;

/// A segment inode (`FSEG_*`).
pub(crate) mod inode {
    pub const BYTES: usize = 192;
    pub const FIRST: usize = 50;
    pub const PER_PAGE: usize = 85;
    pub const USED_NOT_FULL: usize = 8;
    pub const FREE: usize = 12;
    pub const NOT_FULL: usize = 28;
    pub const FULL: usize = 44;
    pub const MAGIC: usize = 60;
    pub const FRAGMENTS: usize = 64;
    pub const FRAGMENT_SLOTS: usize = 32;
    pub const IS_USED: u32 = 97_937_874;
}

/// Most inode pages: more than a table with all its indexes has.
const MOST_INODE_PAGES: usize = 16;

/// Pages of a file.
pub trait Pages: Sync {
    /// How many.
    fn count(&self) -> u32;
    /// One of them, into a buffer of [`SIZE`].
    fn read(&self, number: u32, page: &mut [u8]) -> std::io::Result<()>;
}

impl Pages for &[u8] {
    fn count(&self) -> u32 {
        u32::try_from(self.len() / SIZE).unwrap_or(u32::MAX)
    }

    fn read(&self, number: u32, page: &mut [u8]) -> std::io::Result<()> {
        let at = number as usize * SIZE;
        let bytes = self.get(at..at + SIZE);
        page.copy_from_slice(bytes.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// What an extent is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Beyond what was ever used.
    Untouched,
    Free,
    /// Fragment pages, some free (`XDES_FREE_FRAG`).
    Fragments,
    /// Fragment pages, none free (`XDES_FULL_FRAG`).
    FullFragments,
    /// All of one segment (`XDES_FSEG`).
    Segment(u64),
}

#[derive(Clone, Debug)]
struct Extent {
    state: State,
    /// A bit for each page: in use.
    used: u64,
    next: Address,
    previous: Address,
    listed: bool,
}

/// A file address: page and byte.
type Address = (u32, u16);

/// The null address.
const NOWHERE: Address = (NONE, 0);

/// A segment.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Its number.
    pub id: u64,
    /// Its inode.
    pub at: Address,
    fragments: Vec<u32>,
}

impl Segment {
    /// Its fragment pages.
    pub fn fragments(&self) -> &[u32] {
        &self.fragments
    }
}

/// Who owns a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// None.
    Nobody,
    /// The tablespace itself: headers, bitmaps, inodes.
    Space,
    /// A segment, by its number.
    Segment(u64),
}

/// The extents and segments of a tablespace.
#[derive(Debug)]
pub struct Space {
    /// Its number.
    pub id: u32,
    /// Size in pages by the FSP header.
    pub size: u32,
    /// Its segments.
    pub segments: Vec<Segment>,
    extents: Vec<Extent>,
    inode_pages: Vec<u32>,
    /// Fragment pages by number, with the segment.
    fragments: Vec<(u32, u64)>,
}

/// Reports what is broken: the page, and what.
pub type Problems<'a> = &'a mut dyn FnMut(u32, String);

impl Space {
    /// Reads everything; inconsistencies are reported.
    pub fn read(pages: &dyn Pages, problem: Problems<'_>) -> std::io::Result<Space> {
        let mut first = vec![0; SIZE];
        pages.read(0, &mut first)?;
        let size = u32_at(&first, fsp::SIZE);
        let limit = u32_at(&first, fsp::LIMIT);
        let count = pages.count();
        if size > count {
            problem(
                0,
                format!("the FSP header says {size} pages, the file has {count}"),
            );
        }
        if u64::from(limit) > u64::from(size).next_multiple_of(u64::from(EXTENT)) {
            problem(
                0,
                format!("the FSP header says that pages up to {limit} are used, of {size}"),
            );
        }
        let mut space = Space {
            id: u32_at(&first, fsp::SPACE),
            size: size.min(count),
            segments: Vec::new(),
            extents: Vec::new(),
            inode_pages: Vec::new(),
            fragments: Vec::new(),
        };
        space.read_extents(pages, limit.min(count), problem)?;
        space.read_inodes(pages, &first, problem)?;
        space.lists(pages, &first, problem)?;
        space.accounts(&first, problem);
        Ok(space)
    }

    fn read_extents(
        &mut self,
        pages: &dyn Pages,
        limit: u32,
        problem: Problems<'_>,
    ) -> std::io::Result<()> {
        let mut page = vec![0; SIZE];
        for number in 0..self.size.div_ceil(EXTENT) {
            let at = number % PER_PAGE;
            if at == 0 {
                pages.read(number * EXTENT, &mut page)?;
                let wanted = if number == 0 {
                    kind::FSP_HEADER
                } else {
                    kind::EXTENTS
                };
                if u16_at(&page, fil::TYPE) != wanted && number * EXTENT < limit {
                    problem(number * EXTENT, "it does not describe extents".into());
                }
            }
            let d = &page[fsp::EXTENTS + at as usize * DESCRIPTOR..][..DESCRIPTOR];
            let owner = u64_at(d, 0);
            let state = match u32_at(d, 20) {
                0 => State::Untouched,
                1 => State::Free,
                2 => State::Fragments,
                3 => State::FullFragments,
                4 => State::Segment(owner),
                other => {
                    let place = number - at;
                    problem(
                        place * EXTENT,
                        format!("extent {number} has the unknown state {other}"),
                    );
                    State::Free
                }
            };
            if state == State::Untouched && number * EXTENT < limit {
                problem(
                    (number - at) * EXTENT,
                    format!("extent {number} has no state"),
                );
            }
            let mut used = 0;
            for n in 0..EXTENT {
                // Two bits a page: free, and one that is always set.
                if d[24 + n as usize / 4] & (1 << (n % 4 * 2)) == 0 {
                    used |= 1 << n;
                }
            }
            self.extents.push(Extent {
                state,
                used: if state == State::Untouched { 0 } else { used },
                previous: address(d, NODE),
                next: address(d, NODE + 6),
                listed: false,
            });
        }
        Ok(())
    }

    fn read_inodes(
        &mut self,
        pages: &dyn Pages,
        first: &[u8],
        problem: Problems<'_>,
    ) -> std::io::Result<()> {
        let mut page = vec![0; SIZE];
        for (base, full) in [(fsp::INODES_FULL, true), (fsp::INODES_FREE, false)] {
            let (length, mut at) = (u32_at(first, base), address(first, base + 4));
            let mut seen = 0;
            while at.0 < self.size && seen < length {
                seen += 1;
                if self.inode_pages.contains(&at.0) || self.inode_pages.len() >= MOST_INODE_PAGES {
                    break;
                }
                self.inode_pages.push(at.0);
                pages.read(at.0, &mut page)?;
                if u16_at(&page, fil::TYPE) != kind::INODE {
                    problem(at.0, "it does not hold segments".into());
                    break;
                }
                let before = self.segments.len();
                for n in 0..inode::PER_PAGE {
                    self.segment(&page, at.0, inode::FIRST + n * inode::BYTES, problem);
                }
                if (self.segments.len() - before == inode::PER_PAGE) != full {
                    problem(at.0, "it is in the wrong list of segments".into());
                }
                at = address(&page, fil::BODY + 6);
            }
            if seen != length || at != NOWHERE {
                problem(0, "the lists of inode pages are inconsistent".into());
            }
        }
        let next = u64_at(first, fsp::NEXT_SEGMENT);
        for at in 0..self.segments.len() {
            let (id, place) = (self.segments[at].id, self.segments[at].at.0);
            if id >= next || self.segments[..at].iter().any(|s| s.id == id) {
                problem(
                    place,
                    format!("segment {id} exists twice, or its id is not yet assigned"),
                );
            }
        }
        self.fragments = self
            .segments
            .iter()
            .flat_map(|s| s.fragments.iter().map(move |p| (*p, s.id)))
            .collect();
        self.fragments.sort_unstable();
        for pair in self.fragments.windows(2) {
            if pair[0].0 == pair[1].0 {
                problem(pair[0].0, "two segments hold it".into());
            }
        }
        Ok(())
    }

    fn segment(&mut self, page: &[u8], number: u32, at: usize, problem: Problems<'_>) {
        let i = &page[at..at + inode::BYTES];
        let id = u64_at(i, 0);
        if id == 0 {
            return;
        }
        if u32_at(i, inode::MAGIC) != inode::IS_USED {
            problem(number, format!("segment {id} has no magic number"));
        }
        let mut fragments = Vec::new();
        for n in 0..inode::FRAGMENT_SLOTS {
            let page = u32_at(i, inode::FRAGMENTS + n * 4);
            if page == NONE {
                continue;
            }
            if page >= self.size {
                problem(
                    number,
                    format!("segment {id} holds page {page}, which does not exist"),
                );
            } else {
                fragments.push(page);
            }
        }
        self.segments.push(Segment {
            id,
            at: (number, at as u16),
            fragments,
        });
    }

    /// All lists of extents: of the tablespace, and of each segment.
    fn lists(
        &mut self,
        pages: &dyn Pages,
        first: &[u8],
        problem: Problems<'_>,
    ) -> std::io::Result<()> {
        let own = [
            (fsp::FREE, State::Free),
            (fsp::FREE_FRAGMENTS, State::Fragments),
            (fsp::FULL_FRAGMENTS, State::FullFragments),
        ];
        for (base, state) in own {
            self.list(0, first, base, state, problem);
        }
        let mut page = vec![0; SIZE];
        let mut read = NONE;
        for n in 0..self.segments.len() {
            let (id, (number, at)) = (self.segments[n].id, self.segments[n].at);
            if number != read {
                pages.read(number, &mut page)?;
                read = number;
            }
            let at = usize::from(at);
            let mut of = |space: &mut Space, base: usize| {
                space.list(number, &page, at + base, State::Segment(id), problem)
            };
            let free = of(self, inode::FREE);
            let some = of(self, inode::NOT_FULL);
            let full = of(self, inode::FULL);
            let used = |list: &[usize]| -> u32 {
                list.iter()
                    .map(|e| self.extents[*e].used.count_ones())
                    .sum()
            };
            let says = u32_at(&page, at + inode::USED_NOT_FULL);
            let whole = full.len() as u32 * EXTENT;
            if used(&free) != 0 || used(&full) != whole || used(&some) != says {
                problem(number, format!("segment {id} counts its pages wrongly"));
            }
        }
        for (n, e) in self.extents.iter().enumerate() {
            if !e.listed && e.state != State::Untouched {
                problem(n as u32 * EXTENT, format!("extent {n} is in no list"));
            }
        }
        Ok(())
    }

    fn list(
        &mut self,
        number: u32,
        page: &[u8],
        base: usize,
        state: State,
        problem: Problems<'_>,
    ) -> Vec<usize> {
        let length = u32_at(page, base);
        let (mut at, last) = (address(page, base + 4), address(page, base + 10));
        let (mut previous, mut all) = (NOWHERE, Vec::new());
        while at != NOWHERE && all.len() < self.extents.len() {
            let Some(n) = extent_of(at).filter(|n| *n < self.extents.len()) else {
                break;
            };
            let e = &mut self.extents[n];
            if e.listed || e.state != state || e.previous != previous {
                break;
            }
            e.listed = true;
            all.push(n);
            previous = at;
            at = e.next;
        }
        if at != NOWHERE || previous != last || all.len() != length as usize {
            problem(
                number,
                format!("the list of extents at byte {base} is inconsistent"),
            );
        }
        all
    }

    /// Fragment pages: what the extents say is used, and which segment holds it.
    fn accounts(&mut self, first: &[u8], problem: Problems<'_>) {
        let mut used = 0;
        for n in 0..self.extents.len() {
            let e = self.extents[n].clone();
            match e.state {
                State::Fragments => used += e.used.count_ones(),
                State::FullFragments if e.used != u64::MAX => {
                    problem(
                        n as u32 * EXTENT,
                        format!("extent {n} is marked full, and is not"),
                    );
                }
                State::Free if e.used != 0 => {
                    problem(
                        n as u32 * EXTENT,
                        format!("extent {n} is marked free, and is not"),
                    );
                }
                _ => {}
            }
            if !matches!(e.state, State::Fragments | State::FullFragments) {
                continue;
            }
            for bit in 0..EXTENT {
                let page = n as u32 * EXTENT + bit;
                let held = self.is_own(page) || self.fragment(page).is_some();
                if (e.used & (1 << bit) != 0) != held && page < self.size {
                    problem(
                        page,
                        "it is used but has no owner, or has an owner but is not used".into(),
                    );
                }
            }
        }
        if u32_at(first, fsp::FRAGMENTS_USED) != used {
            problem(0, "the number of used fragment pages is wrong".into());
        }
        for (page, id) in &self.fragments {
            let extent = &self.extents[(page / EXTENT) as usize];
            if !matches!(extent.state, State::Fragments | State::FullFragments) {
                problem(
                    *page,
                    format!(
                        "segment {id} holds it as a fragment page of an extent without fragment pages"
                    ),
                );
            }
        }
    }

    fn is_own(&self, page: u32) -> bool {
        page % SIZE as u32 <= 1 || self.inode_pages.contains(&page)
    }

    fn fragment(&self, page: u32) -> Option<u64> {
        let at = self.fragments.binary_search_by_key(&page, |f| f.0).ok()?;
        Some(self.fragments[at].1)
    }

    /// Who owns a page that is in use.
    pub fn owner(&self, page: u32) -> Owner {
        let Some(e) = self.extents.get((page / EXTENT) as usize) else {
            return Owner::Nobody;
        };
        if e.used & (1 << (page % EXTENT)) == 0 {
            return Owner::Nobody;
        }
        match e.state {
            State::Segment(id) => Owner::Segment(id),
            _ if self.is_own(page) => Owner::Space,
            _ => self.fragment(page).map_or(Owner::Nobody, Owner::Segment),
        }
    }

    /// The segment whose inode is at this address.
    pub fn segment_at(&self, page: u32, at: u16) -> Option<&Segment> {
        self.segments.iter().find(|s| s.at == (page, at))
    }
}

fn address(bytes: &[u8], at: usize) -> Address {
    let page = u32_at(bytes, at);
    if page == NONE {
        NOWHERE
    } else {
        (page, u16_at(bytes, at + 4))
    }
}

/// The extent whose descriptor's list node is at this address.
fn extent_of((page, at): Address) -> Option<usize> {
    let at = usize::from(at).checked_sub(fsp::EXTENTS + NODE)?;
    (page % SIZE as u32 == 0 && at % DESCRIPTOR == 0 && at / DESCRIPTOR < PER_PAGE as usize)
        .then(|| (page / EXTENT) as usize + at / DESCRIPTOR)
}
