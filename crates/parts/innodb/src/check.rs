//! Checks every invariant of a whole tablespace.
//!
//! Three passes: every page by itself (its checksum, its number), the extents and
//! segments ([`Space`]), then every index from its root, in key order, so that
//! each page is visited where the one above it says. What is in use and was never
//! visited, or was visited and is no one's, is wrong too. Memory is a few bytes a page,
//! however large the file is. Stretches of pages, and then indexes, are shared
//! by threads.
//!
//! Not followed: values that MySQL 8 keeps in its own format outside of a row
//! (their pages are checked by themselves and for an owner), and the contents
//! of the dictionary's index.

mod inside;
mod known;
mod levels;
mod walk;
mod written;

pub use written::Written;

use crate::format::{Format, Unsupported};
use crate::layout::Layout;
use crate::page::{NONE, SIZE, fil, index, is_empty, kind, u16_at, u32_at, u64_at};
use crate::space::{Owner, Pages, Space};
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use walk::{File, Walk};

/// Problems that are kept in words; more are counted.
const MOST: usize = 100;

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// Pages of the file.
    pub pages: u32,
    /// Number of the tablespace.
    pub space: u32,
    /// Its indexes.
    pub indexes: Vec<Index>,
    /// What is wrong: the page, and what.
    pub problems: Vec<(u32, String)>,
    /// How much is wrong, also what is not in the list.
    pub count: u64,
}

/// An index of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Its number.
    pub id: u64,
    /// Its name, where a description of the table was at hand.
    pub name: Option<String>,
    /// Root page.
    pub root: u32,
    /// Levels.
    pub levels: u16,
    /// Pages.
    pub pages: u32,
    /// Pages with long values.
    pub outside: u32,
    /// Records of its leaves that are not marked as deleted.
    pub records: u64,
    /// Pairs of neighbours whose order was seen to be right.
    pub ordered: u64,
    /// Pairs whose order is not known here.
    pub unordered: u64,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.count == 0
    }

    /// Adds what was found elsewhere.
    fn add(&mut self, more: Report) {
        self.count += more.count;
        let room = MOST - self.problems.len();
        self.problems.extend(more.problems.into_iter().take(room));
        self.indexes.extend(more.indexes);
    }

    fn problem(&mut self, page: u32, what: String) {
        self.count += 1;
        if self.problems.len() < MOST {
            self.problems.push((page, what));
        }
    }
}

/// Why a file was not checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is of a kind that is not read here.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// It has no page, or ends within one.
    #[error("not a tablespace: it is not made of whole pages of 16 KiB")]
    Size,
    /// Its first page is not the FSP header of a tablespace.
    #[error("not a tablespace: its first page is not the head of one")]
    Head,
}

/// Checks a file. `layouts`: the table's indexes, as far as they are known; without one, an index
/// is checked but for the order of its records and where they end.
pub fn check(pages: &dyn Pages, layouts: &[Layout], threads: usize) -> Result<Report, Error> {
    if pages.count() < 4 {
        return Err(Error::Size);
    }
    let mut page = vec![0; SIZE];
    pages.read(0, &mut page)?;
    if u16_at(&page, fil::TYPE) != kind::FSP_HEADER || u32_at(&page, fil::NUMBER) != 0 {
        return Err(Error::Head);
    }
    let format = Format::of(&page)?;
    let mut report = Report {
        pages: pages.count(),
        space: u32_at(&page, fil::SPACE),
        ..Report::default()
    };
    let each = Each::read(pages, format, &mut report, threads)?;
    let space = Space::read(pages, &mut |page, what| report.problem(page, what))?;
    if space.id != report.space {
        report.problem(0, "its head and its header name two tablespaces".into());
    }
    for l in layouts {
        if !each.roots.contains(&l.root) {
            report.problem(
                l.root,
                format!(
                    "it is not the root of index {}, as the description says",
                    l.name
                ),
            );
        }
    }
    let visited = unvisited(pages.count());
    // What is left of an index that was dropped leads nowhere.
    let used = |root: &u32| space.owner(*root) != Owner::Nobody;
    let roots: Vec<u32> = each.roots.iter().copied().filter(used).collect();
    for root in &roots {
        pages.read(*root, &mut page)?;
        if index::is_redundant(&page) && format.sum_is_right(&page) {
            return Err(Unsupported::Redundant.into());
        }
    }
    // Each has two segments of its own, so that a file full of false ones does not take for ever.
    if roots.len() * 2 > space.segments.len() {
        report.problem(
            0,
            "more pages say that they are roots of indexes than there are segments".into(),
        );
    }
    let roots = &roots[..roots.len().min(space.segments.len() / 2)];
    let clean = report.is_whole();
    let found = shared(threads, roots.len(), |n| {
        let mut report = Report::default();
        let file = File {
            pages,
            space: &space,
            seen: &each.seen,
            visited: &visited,
            clean,
        };
        let walk = Walk::new(&file, roots[n], &mut report);
        let index = walk.down(layouts, &each.tree)?;
        report.indexes.push(index);
        Ok(report)
    })?;
    found.into_iter().for_each(|found| report.add(found));
    owners(&mut report, &space, &each, &visited, layouts);
    Ok(report)
}

/// For every page, that nothing has led to it yet.
fn unvisited(count: u32) -> Vec<AtomicBool> {
    let mut visited = Vec::new();
    visited.resize_with(count as usize, AtomicBool::default);
    visited
}

/// That what is in use was visited, and what was visited is somebody's.
fn owners(
    report: &mut Report,
    space: &Space,
    each: &Each,
    visited: &[AtomicBool],
    layouts: &[Layout],
) {
    let followed = layouts.iter().any(|l| l.clustered);
    for (at, visited) in visited.iter().enumerate() {
        let number = at as u32;
        let in_tree = match each.kinds[at] {
            kind::INDEX | kind::SDI => true,
            // What leads to them is in rows, which are read where their fields are known.
            kind::BLOB => followed,
            _ => false,
        };
        match space.owner(number) {
            Owner::Nobody if visited.load(Relaxed) => {
                report.problem(number, "it is used and has no owner".into())
            }
            // What was never written cannot be in use. Told already if an index leads to it.
            Owner::Segment(_) | Owner::Space
                if each.seen[at] == Seen::Empty && !visited.load(Relaxed) =>
            {
                report.problem(number, "it is in use, and empty".into())
            }
            Owner::Segment(id) if in_tree && !visited.load(Relaxed) => report.problem(
                number,
                format!("it belongs to segment {id}, and nothing leads to it"),
            ),
            _ => {}
        }
    }
}

/// What the first pass saw of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// Its sum is right.
    Right,
    /// It is not, which was told.
    Wrong,
    /// Zeroes, as pages are that were never used.
    Empty,
}

/// Every page by itself.
#[derive(Default)]
struct Each {
    kinds: Vec<u16>,
    seen: Vec<Seen>,
    roots: Vec<u32>,
    tree: Vec<Node>,
}

/// A page of an index.
struct Node {
    id: u64,
    number: u32,
    previous: u32,
    level: u16,
}

/// Does each of so many things on one of the threads; what comes of them, in their order.
fn shared<T: Send>(
    threads: usize,
    count: usize,
    each: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    if threads <= 1 || count <= 1 {
        return (0..count).map(each).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let n = next.fetch_add(1, Relaxed);
            if n >= count {
                return done;
            }
            done.push((n, each(n)));
        }
    };
    let mut done: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(count)).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|w| w.join());
        joined
            .flat_map(|w| w.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_unstable_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Pages that a thread looks at before it takes others.
const STRETCH: u32 = 4096;

impl Each {
    fn read(
        pages: &dyn Pages,
        format: Format,
        report: &mut Report,
        threads: usize,
    ) -> Result<Each, Error> {
        let count = pages.count().div_ceil(STRETCH) as usize;
        let space = report.space;
        let stretches = shared(threads, count, |n| {
            let from = n as u32 * STRETCH;
            let stretch = from..pages.count().min(from.saturating_add(STRETCH));
            let mut report = Report {
                space,
                ..Report::default()
            };
            let each = Each::stretch(pages, format, stretch, &mut report)?;
            Ok((each, report))
        })?;
        let mut all = Each::default();
        for (each, found) in stretches {
            report.add(found);
            all.kinds.extend(each.kinds);
            all.seen.extend(each.seen);
            all.roots.extend(each.roots);
            all.tree.extend(each.tree);
        }
        Ok(all)
    }

    fn stretch(
        pages: &dyn Pages,
        format: Format,
        numbers: Range<u32>,
        report: &mut Report,
    ) -> Result<Each, Error> {
        let mut page = vec![0; SIZE];
        let mut each = Each::default();
        for number in numbers {
            pages.read(number, &mut page)?;
            let of = u16_at(&page, fil::TYPE);
            each.kinds.push(of);
            if is_empty(&page) {
                each.seen.push(Seen::Empty);
                continue;
            }
            let is_right = format.sum_is_right(&page);
            each.seen
                .push(if is_right { Seen::Right } else { Seen::Wrong });
            if let Some(why) = wrong(&page, is_right, number, format, report.space) {
                // Neither server says in the FSP header of a file that pages are encrypted or compressed.
                if let Some(unsupported) = format.unsupported(&page) {
                    return Err(unsupported.into());
                }
                report.problem(number, why);
                continue;
            }
            if of == kind::INSTANT && format == Format::MariaDb {
                return Err(Unsupported::Instant.into());
            }
            if matches!(of, kind::INDEX | kind::SDI) {
                each.tree(&page, number);
            }
        }
        Ok(each)
    }

    /// A page of an index.
    fn tree(&mut self, page: &[u8], number: u32) {
        let alone = u32_at(page, fil::PREV) == NONE && u32_at(page, fil::NEXT) == NONE;
        if alone && u32_at(page, index::NON_LEAVES + 4) != 0 {
            self.roots.push(number);
        }
        self.tree.push(Node {
            id: u64_at(page, index::ID),
            number,
            previous: u32_at(page, fil::PREV),
            level: u16_at(page, index::LEVEL),
        });
    }
}

/// What is wrong with a page, whatever it holds.
fn wrong(
    page: &[u8],
    sum_is_right: bool,
    number: u32,
    format: Format,
    space: u32,
) -> Option<String> {
    if !sum_is_right {
        return Some("its checksum is wrong".into());
    }
    let says = u32_at(page, fil::NUMBER);
    if says != number {
        return Some(format!("it says that it is page {says}"));
    }
    let says = u32_at(page, fil::SPACE);
    if says != space {
        return Some(format!("it says that it is of tablespace {says}"));
    }
    let flushed = &page[fil::FLUSH_LSN..fil::SPACE];
    // Pages of R-trees have a number of their own there.
    let rtree = u16_at(page, fil::TYPE) == kind::RTREE;
    if flushed.iter().any(|b| *b != 0) && format == Format::MySql && !rtree {
        return Some("its header has something where nothing can be".into());
    }
    None
}
