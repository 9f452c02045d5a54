//! The server's empty tablespace of the table: its headers, its dictionary and the
//! roots of its indexes are kept, everything else is built around them.

use super::Error;
use super::extents::{Extents, SegmentAt};
use super::tree::Target;
use crate::cfg::Exported;
use crate::format::Format;
use crate::layout::Layout;
use crate::page::{EXTENT, SIZE, fil, index, u16_at, u32_at, u64_at};
use crate::space::{Owner, Space};
use std::collections::BTreeMap;

/// Flag of a table that stores long values entirely externally (`DICT_TF_MASK_ATOMIC_BLOBS`).
const DYNAMIC: u32 = 0x20;

/// A tablespace to build on.
#[derive(Debug)]
pub struct Template {
    /// The page format, which decides on the checksum.
    pub format: Format,
    /// Tablespace id.
    pub space: u32,
    /// The highest log sequence number of its pages: crash recovery skips pages that have it, whatever the redo log
    /// says of an older state of this tablespace.
    pub lsn: u64,
    /// Its indexes: the clustered one, then the others.
    pub targets: Vec<Target>,
    /// Pages of the file.
    size: u32,
    /// Pages that are in use, by number.
    pages: BTreeMap<u32, Vec<u8>>,
    /// Fragment pages of its segments.
    held: Vec<(SegmentAt, u32)>,
}

impl Template {
    /// Parses the tablespace of an empty table.
    pub fn read(file: &[u8], exported: &Exported) -> Result<Template, Error> {
        let no = |what: &str| Error::Template(what.to_owned());
        if exported.flags & DYNAMIC == 0 {
            return Err(no("has another row format than DYNAMIC"));
        }
        let first = file.get(..SIZE).ok_or_else(|| no("has no page"))?;
        let format = Format::of(first).map_err(|e| Error::Template(format!("has {e}")))?;
        let mut broken = None;
        let space = Space::read(&file, &mut |page, what| {
            broken.get_or_insert(format!("is damaged: page {page}: {what}"));
        })?;
        if let Some(broken) = broken {
            return Err(Error::Template(broken));
        }
        let count = (file.len() / SIZE) as u32;
        let used: Vec<u32> = (0..count)
            .filter(|n| space.owner(*n) != Owner::Nobody)
            .collect();
        if used.len() as u32 > EXTENT || used.iter().zip(0..).any(|(page, n)| *page != n) {
            return Err(no("has used pages that an empty table does not have"));
        }
        let pages: BTreeMap<u32, Vec<u8>> = used
            .iter()
            .map(|n| (*n, file[*n as usize * SIZE..][..SIZE].to_vec()))
            .collect();
        if pages.values().any(|p| !format.sum_is_right(p)) {
            return Err(no("has a page with a wrong checksum"));
        }
        let mut held = Vec::new();
        for s in &space.segments {
            let at = SegmentAt {
                page: s.at.0,
                at: s.at.1,
            };
            held.extend(s.fragments().iter().map(|page| (at, *page)));
        }
        let mut targets = Vec::new();
        for i in &exported.indexes {
            let layout = Layout::of(exported, i)?;
            let root = pages.get(&layout.root);
            let root = root.ok_or_else(|| no("lacks the root of an index"))?;
            if u64_at(root, index::ID) != layout.id || u16_at(root, index::RECORDS) != 0 {
                return Err(no("has rows, or another index than its description"));
            }
            let segment = |at: usize| SegmentAt {
                page: u32_at(root, at + 4),
                at: u16_at(root, at + 8),
            };
            let (leaves, non_leaves) = (segment(index::LEAVES), segment(index::NON_LEAVES));
            if [leaves, non_leaves]
                .iter()
                .any(|s| space.segment_at(s.page, s.at).is_none())
            {
                return Err(no("has an index without segments"));
            }
            let mut root_header = [0; 20];
            root_header.copy_from_slice(&root[index::LEAVES..index::LEAVES + 20]);
            targets.push(Target {
                layout,
                leaves,
                non_leaves,
                root_header,
            });
        }
        Ok(Template {
            format,
            space: space.id,
            lsn: pages
                .values()
                .map(|p| u64_at(p, fil::LSN))
                .max()
                .unwrap_or(0),
            targets,
            size: count,
            pages,
            held,
        })
    }

    /// The allocated pages before any row.
    pub fn extents(&self) -> Extents {
        let mut extents = Extents::new(self.pages.len() as u32, self.size);
        for (segment, page) in &self.held {
            extents.held(*segment, *page);
        }
        extents
    }

    /// The pages that are not built: headers, inodes, the dictionary.
    pub fn kept(&self) -> BTreeMap<u32, Vec<u8>> {
        let roots: Vec<u32> = self.targets.iter().map(|t| t.layout.root).collect();
        let mut pages = self.pages.clone();
        pages.retain(|n, _| !roots.contains(n));
        for page in pages.values_mut() {
            page[fil::LSN..fil::LSN + 8].copy_from_slice(&self.lsn.to_be_bytes());
        }
        pages
    }
}
