//! What a file is whose first page is damaged: the size of its pages, their checksums and its number, as most of its
//! pages have them.

use super::error::Error;
use super::file::{Bytes, Tablespace};
use super::sums::Sums;
use crate::page::{fil, kind, u16_at, u32_at};
use std::collections::HashMap;

/// Sizes of pages, the usual one first.
const SIZES: [usize; 5] = [1 << 14, 1 << 13, 1 << 12, 1 << 15, 1 << 16];

/// Pages that are looked at for each guess.
const SAMPLE: u64 = 256;

/// Flags that say so much: MariaDB's checksums over all of a page, MySQL's dictionary information.
const FULL: u32 = 0x10;
const HAS_SDI: u32 = 0x4000;

/// Opens a file by its other pages.
pub fn open(bytes: &dyn Bytes) -> Result<Tablespace<'_>, Error> {
    let length = bytes.length()?;
    let mut best: Option<(u32, usize, Sums, Votes)> = None;
    for size in SIZES {
        for sums in [Sums::Ends, Sums::Full] {
            let votes = votes(bytes, length, size, sums)?;
            if votes.whole > best.as_ref().map_or(0, |b| b.0) {
                best = Some((votes.whole, size, sums, votes));
            }
        }
    }
    let Some((_, size, sums, votes)) = best else {
        return Err(Error::damaged(0, "neither it nor any other page is whole"));
    };
    let id = votes.spaces.into_iter().max_by_key(|s| s.1);
    let flags = match sums {
        Sums::Full => FULL,
        Sums::Ends if votes.sdi => HAS_SDI,
        Sums::Ends => 0,
    };
    Tablespace::assumed(bytes, (id.map_or(0, |s| s.0), flags), size, sums)
}

/// What pages say if they are of this size and have these sums.
#[derive(Default)]
struct Votes {
    whole: u32,
    spaces: HashMap<u32, u32>,
    sdi: bool,
}

fn votes(bytes: &dyn Bytes, length: u64, size: usize, sums: Sums) -> Result<Votes, Error> {
    let pages = length / size as u64;
    // The first ones and some of all others: what is at the beginning says most.
    let step = (pages / (SAMPLE / 2)).max(1);
    let some = (0..pages.min(SAMPLE / 2)).chain((SAMPLE / 2..pages).step_by(step as usize));
    let mut page = vec![0; size];
    let mut votes = Votes::default();
    for number in some {
        bytes.read_at(number * size as u64, &mut page)?;
        let of = u32_at(&page, fil::NUMBER);
        if u64::from(of) != number || of == 0 && number > 0 || !sums.is_right(&page) {
            continue;
        }
        votes.whole += 1;
        *votes.spaces.entry(u32_at(&page, fil::SPACE)).or_default() += 1;
        votes.sdi |= u16_at(&page, fil::TYPE) == kind::SDI;
    }
    Ok(votes)
}
