//! Records of one page: the record chain, the page directory, and the fields of each
//! record.
//!
//! Everything is checked while it is walked; nothing read from the page is used as an
//! offset unchecked. Damage is described in words, for the report.

use crate::collation::unfilled;
use crate::layout::{Layout, Order};
use crate::page::{SIZE, fil, index, u16_at, u32_at};
use std::cmp::Ordering;
use std::ops::Range;

/// Bytes of a record's header, before its origin (`REC_N_NEW_EXTRA_BYTES`).
pub const HEADER: usize = 5;

/// Flags of a record.
pub mod info {
    /// Delete-marked and not yet purged (`REC_INFO_DELETED_FLAG`).
    pub const DELETED: u8 = 0x20;
    /// The first of its level: smaller than every key (`REC_INFO_MIN_REC_FLAG`).
    pub const LEAST: u8 = 0x10;
    /// Written before or after an instant ALTER.
    pub const INSTANT: u8 = 0xc0;
}

/// Record types (`REC_STATUS_*`).
mod status {
    pub const LEAF: u8 = 0;
    pub const BRANCH: u8 = 1;
    pub const INFIMUM: u8 = 2;
    pub const SUPREMUM: u8 = 3;
}

/// Most records that a slot owns (`PAGE_DIR_SLOT_MAX_N_OWNED`).
const MOST_OWNED: u8 = 8;

/// Least records of a slot, except the first and last (`PAGE_DIR_SLOT_MIN_N_OWNED`).
const LEAST_OWNED: u8 = 4;

/// A record of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its origin, where its first field begins.
    pub at: usize,
    /// Flags.
    pub info: u8,
}

/// The records of a page, with the header fields about them.
#[derive(Debug)]
pub struct Chain {
    /// In order, without infimum and supremum.
    pub records: Vec<Record>,
    /// First byte after all records, free ones included.
    pub heap_top: usize,
    /// Bytes of free records.
    pub garbage: usize,
    /// Level above the leaves.
    pub level: u16,
}

/// Walks the record chain of an index page and checks it.
pub fn chain(page: &[u8]) -> Result<Chain, String> {
    let slots = usize::from(u16_at(page, index::SLOTS));
    let heap_top = usize::from(u16_at(page, index::HEAP_TOP));
    let heap = u16_at(page, index::HEAP);
    let in_heap = usize::from(heap & 0x7fff);
    let garbage = usize::from(u16_at(page, index::GARBAGE));
    let level = u16_at(page, index::LEVEL);
    let wanted = usize::from(u16_at(page, index::RECORDS));
    if index::is_redundant(page) {
        return Err("its records are of the old format (REDUNDANT)".into());
    }
    let directory = (SIZE - fil::TRAILER).checked_sub(slots * index::SLOT);
    let directory = directory.filter(|d| slots >= 2 && *d >= heap_top);
    let (Some(directory), true) = (directory, heap_top >= index::RECORDS_BEGIN) else {
        return Err(format!(
            "its header says {slots} slots and records up to byte {heap_top}, which do not fit"
        ));
    };
    frame(page)?;
    let slot = |n: usize| usize::from(u16_at(page, SIZE - fil::TRAILER - (n + 1) * index::SLOT));
    if slot(0) != index::INFIMUM || slot(slots - 1) != index::SUPREMUM {
        return Err("its directory does not go from the first to the last record".into());
    }
    if page[index::INFIMUM - HEADER] & 0xf != 1 {
        return Err("its first slot owns more than the first record".into());
    }
    let kind = if level == 0 {
        status::LEAF
    } else {
        status::BRANCH
    };
    let mut seen = vec![false; in_heap];
    let mut records = Vec::with_capacity(wanted.min(in_heap));
    let (mut at, mut owned, mut next_slot) = (index::INFIMUM, 0u8, 1);
    loop {
        // Relative to this one, with a sign.
        let step = u16_at(page, at - 2) as i16;
        let next = at.checked_add_signed(isize::from(step));
        at = next.unwrap_or(0);
        if at == index::SUPREMUM {
            break;
        }
        if !(index::RECORDS_BEGIN + HEADER..=heap_top).contains(&at) {
            return Err(format!("a record points to byte {at}, where none can be"));
        }
        let head = u16_at(page, at - 4);
        let number = usize::from(head >> 3);
        if number < 2 || number >= in_heap || std::mem::replace(&mut seen[number], true) {
            return Err(format!(
                "the record at byte {at} has number {number} of the heap, which is taken or not there"
            ));
        }
        if (head & 7) as u8 != kind {
            return Err(format!(
                "the record at byte {at} is not of the kind that level {level} has"
            ));
        }
        let flags = page[at - HEADER];
        if flags & info::LEAST != 0
            && (level == 0 || !records.is_empty() || u32_at(page, fil::PREV) != crate::page::NONE)
        {
            return Err(format!(
                "the record at byte {at} says that it is the least of its level, and is not"
            ));
        }
        records.push(Record {
            at,
            info: flags & 0xf0,
        });
        owned += 1;
        let owns = flags & 0xf;
        if owns != 0 {
            if next_slot >= slots - 1
                || slot(next_slot) != at
                || owns != owned
                || !(LEAST_OWNED..=MOST_OWNED).contains(&owns)
            {
                return Err(format!(
                    "the directory does not fit the record at byte {at}"
                ));
            }
            next_slot += 1;
            owned = 0;
        } else if owned > MOST_OWNED {
            return Err(format!("the directory has no slot near byte {at}"));
        }
    }
    let last = page[index::SUPREMUM - HEADER] & 0xf;
    if next_slot != slots - 1 || last != owned + 1 || last > MOST_OWNED {
        return Err("the directory does not fit the last records".into());
    }
    if records.len() != wanted {
        return Err(format!(
            "its header says {wanted} records, it has {}",
            records.len()
        ));
    }
    if directory < heap_top || in_heap < wanted + 2 {
        return Err(format!("its heap of {in_heap} is smaller than its records"));
    }
    Ok(Chain {
        records,
        heap_top,
        garbage,
        level,
    })
}

/// Infimum and supremum.
fn frame(page: &[u8]) -> Result<(), String> {
    let is = |at: usize, text: &[u8; 8], head: u16, flags: u8| {
        page[at..at + 8] == text[..]
            && u16_at(page, at - 4) == head
            && page[at - HEADER] & 0xf0 == flags
    };
    let infimum = u16::from(status::INFIMUM);
    let supremum = (1 << 3) | u16::from(status::SUPREMUM);
    if is(index::INFIMUM, b"infimum\0", infimum, 0)
        && is(index::SUPREMUM, b"supremum", supremum, 0)
        && u16_at(page, index::SUPREMUM - 2) == 0
    {
        Ok(())
    } else {
        Err("the records that frame all others are not there".into())
    }
}

/// A value of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// Its bytes.
    Bytes(&'a [u8]),
    /// The rest of it is stored externally.
    Outside(&'a [u8], Pointer),
}

/// The external part of a long value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Tablespace id.
    pub space: u32,
    /// First page.
    pub page: u32,
    /// Offset on that page.
    pub offset: u32,
    /// Bytes of it.
    pub length: u64,
    /// Whether this record owns it.
    pub owned: bool,
}

/// Bytes of a pointer to the external part (`BTR_EXTERN_FIELD_REF_SIZE`).
const POINTER: usize = 20;

/// A record's key.
#[derive(Debug)]
pub struct Fields<'a> {
    /// Values of the key fields.
    pub values: Vec<Value<'a>>,
    /// In a node pointer: the child page.
    pub child: Option<u32>,
}

/// What is kept of records that are read one after another.
#[derive(Debug, Default)]
pub struct Kept<'a> {
    /// Values of the key fields: [`Layout::keys`] of each.
    pub keys: Vec<Value<'a>>,
    /// External parts of long values.
    pub outside: Vec<Pointer>,
}

/// A record's data besides its values.
#[derive(Clone, Debug)]
pub struct Place {
    /// In a node pointer: the child page.
    pub child: Option<u32>,
    /// All of its bytes, header included.
    pub bytes: Range<usize>,
}

/// The key of a record.
pub fn fields<'a>(
    page: &'a [u8],
    record: Record,
    layout: &Layout,
    level: u16,
) -> Result<Fields<'a>, String> {
    let mut kept = Kept::default();
    let place = read(page, record, layout, level, &mut kept)?;
    Ok(Fields {
        values: kept.keys,
        child: place.child,
    })
}

/// Parses a record; what is kept is appended to that of earlier records.
pub fn read<'a>(
    page: &'a [u8],
    record: Record,
    layout: &Layout,
    level: u16,
    kept: &mut Kept<'a>,
) -> Result<Place, String> {
    let broken = || format!("the record at byte {} does not hold together", record.at);
    if record.info & info::INSTANT != 0 {
        return Err(format!(
            "the record at byte {} is of a version before or after an instant ALTER, which is not read",
            record.at
        ));
    }
    let mut nulls = record.at - HEADER;
    let mut bit = 0u32;
    let mut lengths = nulls.checked_sub(layout.null_bytes()).ok_or_else(broken)?;
    let mut at = record.at;
    let below = |i: &mut usize| {
        *i = i.checked_sub(1).filter(|i| *i >= index::RECORDS_BEGIN)?;
        Some(page[*i])
    };
    for (n, f) in layout.fields[..layout.count(level)].iter().enumerate() {
        let is_key = n < layout.keys;
        if f.nullable {
            if bit == 0 {
                nulls -= 1;
            }
            let null = page[nulls] & (1 << bit) != 0;
            bit = (bit + 1) % 8;
            if null {
                if is_key {
                    kept.keys.push(Value::Null);
                }
                continue;
            }
        }
        let mut outside = false;
        let length = match f.fixed {
            Some(n) => n,
            None => {
                let first = below(&mut lengths).ok_or_else(broken)?;
                if f.big && first & 0x80 != 0 {
                    let second = below(&mut lengths).ok_or_else(broken)?;
                    outside = first & 0x40 != 0;
                    (usize::from(first & 0x3f) << 8) | usize::from(second)
                } else {
                    usize::from(first)
                }
            }
        };
        let end = at + length;
        if end > SIZE - fil::TRAILER || outside && length < POINTER {
            return Err(broken());
        }
        let bytes = &page[at..end];
        if outside {
            let (own, pointer) = bytes.split_at(length - POINTER);
            let pointer = Pointer {
                space: u32_at(pointer, 0),
                page: u32_at(pointer, 4),
                offset: u32_at(pointer, 8),
                length: u64::from(u32_at(pointer, 16)),
                owned: pointer[12] & 0x80 == 0,
            };
            kept.outside.push(pointer);
            if is_key {
                kept.keys.push(Value::Outside(own, pointer));
            }
        } else if is_key {
            kept.keys.push(Value::Bytes(bytes));
        }
        at = end;
    }
    let mut child = None;
    if level > 0 {
        if at + 4 > SIZE - fil::TRAILER {
            return Err(broken());
        }
        child = Some(u32_at(page, at));
        at += 4;
    }
    Ok(Place {
        child,
        bytes: lengths..at,
    })
}

/// How the first `n` fields of two records compare; `None`: unknown.
pub fn compare(layout: &Layout, a: &[Value<'_>], b: &[Value<'_>], n: usize) -> Option<Ordering> {
    for (f, (a, b)) in layout.fields[..n].iter().zip(a.iter().zip(b)) {
        let order = match (a, b) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Less,
            (_, Value::Null) => Ordering::Greater,
            (Value::Bytes(a), Value::Bytes(b)) => value(f.order, a, b)?,
            // The deciding part may be stored externally.
            _ => return None,
        };
        if order != Ordering::Equal {
            return Some(if f.ascending { order } else { order.reverse() });
        }
    }
    Some(Ordering::Equal)
}

fn value(order: Order, a: &[u8], b: &[u8]) -> Option<Ordering> {
    match order {
        Order::Bytes => Some(a.cmp(b)),
        Order::Float => {
            let of = |v: &[u8]| Some(f32::from_le_bytes(v.try_into().ok()?));
            of(a)?.partial_cmp(&of(b)?)
        }
        Order::Double => {
            let of = |v: &[u8]| Some(f64::from_le_bytes(v.try_into().ok()?));
            of(a)?.partial_cmp(&of(b)?)
        }
        Order::Text(collation) => collation.compare(a, b),
        Order::Filled(collation) => collation.compare(unfilled(a), unfilled(b)),
        Order::Unknown => None,
    }
}
