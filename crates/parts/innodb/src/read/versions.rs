//! Rows that are in a file twice, because a server that ended had written some of its pages and not others: after a page was
//! split, its old version still has the rows that its new neighbour has, too.
//!
//! Such pages are near each other in key order. The one that was changed last (`FIL_PAGE_LSN`) counts.

use super::chain::{Chain, info};
use super::error::Error;
use super::file::{Tablespace, Window};
use super::leaves;
use super::record::{Found, Records, Span};
use super::table::Index;
use crate::page::{fil, u64_at};
use std::collections::{HashMap, HashSet, VecDeque};
use xxhash_rust::xxh3::Xxh3Default;

/// Leaves that are compared with each other.
const NEAR: usize = 64;

/// Rows that a newer page has, too: the page, and the hash of the key.
pub type Older = HashSet<(u32, u64)>;

/// The hash of a record's key, as it is stored; `None`: it is not all in the record.
pub(super) fn key(page: &[u8], spans: &[Span], parts: usize) -> Option<u64> {
    let mut hash = Xxh3Default::new();
    for span in spans.get(..parts)? {
        match span.of(page) {
            Found::Whole(bytes) => {
                hash.update(&(bytes.len() as u32).to_le_bytes());
                hash.update(bytes);
            }
            _ => return None,
        }
    }
    Some(hash.digest())
}

/// Finds them on these leaves, which are in key order.
pub fn older(
    space: &Tablespace<'_>,
    of: &Index,
    redundant: bool,
    id: u64,
    leaves: &[u32],
) -> Result<Older, Error> {
    let records = Records::of(of, redundant);
    let mut spans = records.spans();
    let mut window = Window::default();
    let mut older = Older::new();
    // Of each key that was seen: where, and when the page was changed; and the keys of each leaf that is near.
    let mut seen: HashMap<u64, (u32, u64)> = HashMap::new();
    let mut near: VecDeque<(u32, Vec<u64>)> = VecDeque::new();
    for number in leaves {
        let page = match space.page(&mut window, *number) {
            Ok(page) => page,
            Err(e) => {
                e.not_io()?;
                continue;
            }
        };
        if leaves::is_of(page, *number, id, 0, redundant).is_err() {
            continue;
        }
        let changed = u64_at(page, fil::LSN);
        let mut keys = Vec::new();
        let mut chain = Chain::of(page);
        while let Ok(Some(at)) = chain.next() {
            if chain.info(at) & (info::LEAST | info::DELETED) != 0
                || records.leaf(page, at, &mut spans).is_err()
            {
                continue;
            }
            let Some(hash) = key(page, &spans, of.branch) else {
                continue;
            };
            match seen.get(&hash) {
                Some((other, _)) if other == number => {}
                Some((_, when)) if *when > changed => {
                    older.insert((*number, hash));
                }
                Some((other, _)) => {
                    older.insert((*other, hash));
                    seen.insert(hash, (*number, changed));
                }
                None => {
                    seen.insert(hash, (*number, changed));
                }
            }
            keys.push(hash);
        }
        near.push_back((*number, keys));
        if near.len() > NEAR
            && let Some((gone, keys)) = near.pop_front()
        {
            for hash in keys {
                if seen.get(&hash).is_some_and(|s| s.0 == gone) {
                    seen.remove(&hash);
                }
            }
        }
    }
    Ok(older)
}
