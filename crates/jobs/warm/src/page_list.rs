//! The list of pages that a server writes of its buffer pool: `SPACE,PAGE`, one a line, the most recently used first
//! (`buf_dump`, buf0dump.cc).
//!
//! A pool of several instances is written instance by instance, without a mark between them. All pages of one extent of
//! 64 are in one instance, so a place in the list across which no extent continues may be where the next one begins.

use std::collections::HashMap;

/// Pages of an extent, all of which are in one instance (`page_id` without its low 6 bits, buf0buf.h).
const EXTENT_BITS: u32 = 6;

/// The coldest page's heat; the hottest has 0.
pub const COLDEST: u16 = 1000;

/// The pages of one tablespace: which, and how hot.
pub type Pages = HashMap<u32, u16>;

/// The pages of a buffer pool, by tablespace.
#[derive(Debug, Default)]
pub struct PageList {
    /// Of each tablespace.
    pub spaces: HashMap<u32, Pages>,
    /// How many in all.
    pub pages: u64,
}

impl PageList {
    /// Reads a list; the error names its first line that is none.
    pub fn parse(text: &str, instances: usize) -> Result<PageList, String> {
        let mut all = Vec::new();
        for (n, line) in text.lines().enumerate() {
            let parsed = line.split_once(',').and_then(|(space, page)| {
                Some((space.trim().parse().ok()?, page.trim().parse().ok()?))
            });
            let parsed: (u32, u32) =
                parsed.ok_or_else(|| format!("line {} is not SPACE,PAGE", n + 1))?;
            all.push(parsed);
        }
        let mut list = PageList {
            pages: all.len() as u64,
            ..PageList::default()
        };
        let mut begin = 0;
        for end in ends(&all, instances) {
            let part = &all[begin..end];
            for (n, (space, page)) in part.iter().enumerate() {
                let heat = n * usize::from(COLDEST) / part.len();
                (list.spaces.entry(*space).or_default())
                    .entry(*page)
                    .or_insert(heat as u16);
            }
            begin = end;
        }
        Ok(list)
    }
}

/// Where the lists of the instances end, as far as that can be found: the possible places that divide it most evenly.
fn ends(all: &[(u32, u32)], instances: usize) -> Vec<usize> {
    let extent = |n: usize| (all[n].0, all[n].1 >> EXTENT_BITS);
    let mut last: HashMap<(u32, u32), usize> = HashMap::new();
    for n in 0..all.len() {
        last.insert(extent(n), n);
    }
    let mut possible = Vec::new();
    let mut reach = 0;
    for n in 0..all.len() {
        reach = reach.max(last[&extent(n)]);
        if reach == n && n + 1 < all.len() {
            possible.push(n + 1);
        }
    }
    let mut found: Vec<usize> = (1..instances.max(1))
        .filter_map(|n| {
            let wanted = all.len() * n / instances;
            possible.iter().copied().min_by_key(|p| p.abs_diff(wanted))
        })
        .collect();
    found.dedup();
    found.push(all.len());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_follows_the_order() {
        let list = PageList::parse("5,3\n5,4\n7,1\n5,9\n", 1).expect("a list");
        assert_eq!(list.pages, 4);
        assert_eq!(list.spaces[&5], Pages::from([(3, 0), (4, 250), (9, 750)]));
        assert_eq!(list.spaces[&7], Pages::from([(1, 500)]));
    }

    #[test]
    fn each_instance_begins_hot() {
        // Extents 0 and 2 are in one instance, 1 and 3 in the other.
        let list = PageList::parse("1,1\n1,130\n1,2\n1,131\n1,70\n1,200\n1,71\n1,201\n", 2);
        let list = list.expect("a list");
        assert_eq!(list.spaces[&1][&70], 0);
        assert_eq!(list.spaces[&1][&131], 750);
        // With one instance, that is all one list.
        let one = PageList::parse("1,1\n1,70\n", 1).expect("a list");
        assert_eq!(one.spaces[&1][&70], 500);
    }

    #[test]
    fn other_text_is_refused() {
        let e = PageList::parse("1,2\nhello\n", 1).expect_err("no list");
        assert_eq!(e, "line 2 is not SPACE,PAGE");
        assert!(PageList::parse("", 8).expect("empty").spaces.is_empty());
    }
}
