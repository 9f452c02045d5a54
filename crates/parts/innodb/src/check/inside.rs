//! One page of an index by itself: that its records hang together, fill its
//! heap, and are in order.

use crate::layout::Layout;
use crate::page::index;
use crate::record::{self, Chain, Kept, Place, Pointer, Record, Value, info};
use std::cmp::Ordering;
use std::ops::Range;

/// Records of a page, read.
pub(super) struct Inside<'p> {
    /// Values that tell one apart.
    width: usize,
    kept: Kept<'p>,
    places: Vec<Place>,
}

impl<'p> Inside<'p> {
    /// Reads all records of a chain.
    pub(super) fn read(page: &'p [u8], chain: &Chain, layout: &Layout) -> Result<Self, String> {
        // A description may be of anybody's making.
        let width = layout.keys.max(1);
        let mut all = Inside {
            width,
            kept: Kept {
                keys: Vec::with_capacity(chain.records.len() * width),
                outside: Vec::new(),
            },
            places: Vec::with_capacity(chain.records.len()),
        };
        for r in &chain.records {
            let place = record::read(page, *r, layout, chain.level, &mut all.kept)?;
            all.places.push(place);
        }
        Ok(all)
    }

    /// The keys, in the order of the chain.
    pub(super) fn keys(&self) -> impl DoubleEndedIterator<Item = &[Value<'p>]> + Clone {
        self.kept.keys.chunks_exact(self.width)
    }

    /// Above the leaves: the pages below.
    pub(super) fn children(&self) -> impl Iterator<Item = Option<u32>> {
        self.places.iter().map(|p| p.child)
    }

    /// Where the rest of long values lies.
    pub(super) fn outside(&self) -> &[Pointer] {
        &self.kept.outside
    }

    /// That records fill the heap without holes, and do not overlap; else what is wrong.
    pub(super) fn heap(&self, chain: &Chain) -> Result<(), String> {
        let mut places: Vec<Range<usize>> = self.places.iter().map(|p| p.bytes.clone()).collect();
        places.sort_unstable_by_key(|p| p.start);
        let mut end = index::RECORDS_BEGIN;
        let mut bytes = 0;
        for p in &places {
            if p.start < end || p.end > chain.heap_top {
                return Err(format!("the record at byte {} lies over another", p.start));
            }
            end = p.end;
            bytes += p.len();
        }
        let room = chain.heap_top - index::RECORDS_BEGIN;
        if bytes + chain.garbage != room {
            return Err(format!(
                "its records take {bytes} bytes and {} are free, of {room}",
                chain.garbage
            ));
        }
        Ok(())
    }
}

/// Pairs of neighbours.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pairs {
    /// Whose order was seen to be right.
    pub(super) ordered: u64,
    /// Whose order is not known here.
    pub(super) unordered: u64,
}

/// What a record is compared with.
#[derive(Clone, Copy, Default)]
pub(super) struct Before<'k, 'p> {
    /// The record in front of it.
    pub(super) last: Option<&'k [Value<'p>]>,
    /// Leaves of a unique index: the last one in front of it that is not deleted.
    pub(super) live: Option<&'k [Value<'p>]>,
}

impl<'k, 'p> Before<'k, 'p> {
    /// That the next record is after these; else what is wrong.
    pub(super) fn next(
        &mut self,
        layout: &Layout,
        level: u16,
        record: Record,
        key: &'k [Value<'p>],
        pairs: &mut Pairs,
    ) -> Result<(), String> {
        if let Some(last) = self.last {
            match record::compare(layout, last, key, layout.keys) {
                Some(Ordering::Less) => pairs.ordered += 1,
                Some(_) => {
                    return Err(format!(
                        "the record at byte {} is not behind the one before it",
                        record.at
                    ));
                }
                None => pairs.unordered += 1,
            }
        }
        // Rows that are deleted may stand between two that must not be equal.
        if let (Some(n), 0) = (layout.unique, level)
            && record.info & info::DELETED == 0
        {
            let equal = |l| record::compare(layout, l, key, n) == Some(Ordering::Equal);
            if !key[..n].contains(&Value::Null) && self.live.is_some_and(equal) {
                return Err(format!(
                    "the record at byte {} is equal to one before it, in a unique index",
                    record.at
                ));
            }
            self.live = Some(key);
        }
        // The least of its level keeps the key that it once had, whatever comes in front of that later.
        self.last = (record.info & info::LEAST == 0).then_some(key);
        Ok(())
    }
}

/// A value that is kept for longer than its page.
#[derive(Clone, Debug)]
pub(super) enum Owned {
    Null,
    Bytes(Vec<u8>),
    Unknown,
}

impl Owned {
    pub(super) fn of(value: &Value<'_>) -> Owned {
        match value {
            Value::Null => Owned::Null,
            Value::Bytes(b) => Owned::Bytes(b.to_vec()),
            Value::Outside(..) => Owned::Unknown,
        }
    }

    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Owned::Null => Value::Null,
            Owned::Bytes(b) => Value::Bytes(b),
            Owned::Unknown => Value::Outside(
                &[],
                Pointer {
                    space: 0,
                    page: 0,
                    offset: 0,
                    length: 0,
                    owned: false,
                },
            ),
        }
    }
}

/// A key that is kept.
pub(super) fn owned(key: &[Value<'_>]) -> Vec<Owned> {
    key.iter().map(Owned::of).collect()
}

/// The same as values.
pub(super) fn values(key: &[Owned]) -> Vec<Value<'_>> {
    key.iter().map(Owned::value).collect()
}
