//! Where the fields of a record lie: COMPACT and DYNAMIC (which differ in nothing here), and REDUNDANT.
//!
//! Shapes are made once for each version of rows; a record is then one walk over the steps of its shape. Nothing is
//! allocated. What a record says is only used within its page.

use super::chain::info;
use super::table::{History, Index};
use crate::page::{fil, u16_at};

/// Where a field's bytes lie in its page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    at: u32,
    /// Bytes; the top bits are flags.
    length: u32,
}

const NULL: u32 = 1 << 31;
const OUTSIDE: u32 = 1 << 30;
const ABSENT: u32 = 1 << 29;

/// What a span is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'p> {
    /// NULL.
    Null,
    /// All of the value.
    Whole(&'p [u8]),
    /// A part of it, possibly none, and the reference to the rest in the last 20 bytes.
    Outside(&'p [u8]),
    /// The record is older than the field.
    Absent,
}

impl Span {
    /// The eight bytes that end where it does, as a number; `None` unless all of it is there and so many bytes long.
    #[inline]
    pub fn ending(self, page: &[u8], bytes: usize) -> Option<u64> {
        let end = (self.at as usize).wrapping_add(bytes);
        let last = page.get(end.wrapping_sub(8)..end)?.first_chunk::<8>()?;
        (self.length as usize == bytes).then_some(u64::from_be_bytes(*last))
    }

    /// What it is, in the page that it is of.
    #[inline]
    pub fn of(self, page: &[u8]) -> Found<'_> {
        let at = self.at as usize;
        if self.length & (NULL | OUTSIDE | ABSENT) == 0 {
            return Found::Whole(&page[at..at + self.length as usize]);
        }
        if self.length & NULL != 0 {
            Found::Null
        } else if self.length & ABSENT != 0 {
            Found::Absent
        } else {
            Found::Outside(&page[at..at + (self.length & !OUTSIDE) as usize])
        }
    }
}

/// A field that records of a shape have.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Its place in the index.
    field: u16,
    /// 0: the record says.
    fixed: u16,
    nullable: bool,
    big: bool,
}

/// The fields of one version of rows.
#[derive(Debug, Default)]
struct Shape {
    steps: Vec<Step>,
    /// How many of the fields before each step, and of all, may be NULL.
    nullable: Vec<u16>,
    /// Fields of the index that it lacks.
    absent: Vec<u16>,
    /// The spans of the first steps, from the origin on, where their lengths are fixed and none is NULL. Their fields are
    /// the first ones of the index.
    leading: Vec<Span>,
}

/// How to find the fields of an index's records.
#[derive(Debug)]
pub struct Records {
    shapes: Vec<Shape>,
    history: History,
    first_nulls: usize,
    branch: usize,
    redundant: bool,
    count: usize,
}

/// What does not hold together.
const BROKEN: &str = "does not hold together";

impl Records {
    /// Of an index.
    pub fn of(index: &Index, redundant: bool) -> Records {
        let (versions, of_mysql) = match index.history {
            History::MySql { versions, .. } => (versions, true),
            _ => (0, false),
        };
        let shape = |version: u8| {
            let mut shape = Shape::default();
            let mut nullable = 0;
            for (n, f) in index.fields.iter().enumerate() {
                let n = n as u16;
                // MariaDB's records keep a place for dropped columns.
                let is_gone = of_mysql && f.dropped.is_some_and(|d| d <= version);
                if f.added > version || is_gone {
                    shape.absent.push(n);
                    continue;
                }
                shape.nullable.push(nullable);
                nullable += u16::from(f.nullable);
                shape.steps.push(Step {
                    field: n,
                    fixed: f.fixed.map_or(0, |n| n as u16),
                    nullable: f.nullable,
                    big: f.big,
                });
            }
            shape.nullable.push(nullable);
            shape.find_leading();
            shape
        };
        Records {
            shapes: (0..=versions).map(shape).collect(),
            history: index.history.clone(),
            first_nulls: index.first_nulls(),
            branch: index.branch,
            redundant,
            count: index.fields.len(),
        }
    }

    /// Room for the spans of a record.
    pub fn spans(&self) -> Vec<Span> {
        vec![Span::default(); self.count]
    }

    /// The fields of a record at the leaves, by their place in the index.
    #[inline]
    pub fn leaf(&self, page: &[u8], origin: usize, spans: &mut [Span]) -> Result<(), &'static str> {
        if self.redundant {
            return self.old(page, origin, spans);
        }
        let flags = page[origin - 5];
        let status = page[origin - 3] & 7;
        let mut nulls = origin - 5;
        let shape = &self.shapes[0];
        if flags & (info::VERSION | info::FIELDS) == 0 && status == 0 {
            let (steps, bytes) = match self.history {
                History::Same => (shape.steps.len(), self.first_nulls),
                History::MySql { first, .. } => (first, self.first_nulls),
                History::MariaDb { core, core_nulls } => (core, core_nulls),
            };
            return shape.walk(page, origin, nulls, steps, bytes, spans);
        }
        match (&self.history, status) {
            (History::MySql { .. }, 0) if flags & info::VERSION != 0 => {
                nulls -= 1;
                let shape = self.shapes.get(usize::from(page[nulls]));
                let shape = shape.ok_or("is of a version of rows that the table does not have")?;
                shape.walk(page, origin, nulls, shape.steps.len(), shape.nulls(), spans)
            }
            (History::MySql { .. }, 0) => {
                // `rec_get_n_fields_instant`: one byte, or two with the top bit of the first set.
                nulls -= 1;
                let mut count = usize::from(page[nulls]);
                if count & 0x80 != 0 {
                    nulls -= 1;
                    count = (count & 0x7f) << 8 | usize::from(page[nulls]);
                }
                self.counted(count, page, origin, nulls, spans)
            }
            (History::MariaDb { core, .. }, 4) => {
                // `rec_get_n_add_field`, of `REC_STATUS_INSTANT`.
                nulls -= 1;
                let mut more = usize::from(page[nulls]);
                if more & 0x80 != 0 {
                    nulls -= 1;
                    more = more & 0x7f | usize::from(page[nulls]) << 7;
                }
                self.counted(core + 1 + more, page, origin, nulls, spans)
            }
            _ => Err("is of a kind that the table does not have"),
        }
    }

    /// A record that has so many fields.
    fn counted(
        &self,
        count: usize,
        page: &[u8],
        origin: usize,
        nulls: usize,
        spans: &mut [Span],
    ) -> Result<(), &'static str> {
        let shape = &self.shapes[0];
        let nullable = shape.nullable.get(count).ok_or(BROKEN)?;
        let bytes = usize::from(*nullable).div_ceil(8);
        shape.walk(page, origin, nulls, count, bytes, spans)
    }

    /// The page that a record above the leaves leads to.
    pub fn child(
        &self,
        page: &[u8],
        origin: usize,
        spans: &mut [Span],
    ) -> Result<u32, &'static str> {
        let end = if self.redundant {
            let count = usize::from(u16_at(page, origin - 4) & 0x7fe) >> 1;
            if count < 2 || count != self.branch + 1 {
                return Err("has another number of fields than the key");
            }
            let at = self.old_fields(page, origin, 6, self.branch, &self.shapes[0], spans)?;
            return child_at(page, origin + at);
        } else if page[origin - 3] & 7 != 1 {
            return Err("does not lead to a page");
        } else {
            let steps = self.branch;
            self.shapes[0].walk(page, origin, origin - 5, steps, self.first_nulls, spans)?;
            // Behind the last field that is not NULL.
            let ends = spans[..steps].iter().filter(|s| s.length & NULL == 0);
            ends.map(|s| s.at + (s.length & !OUTSIDE))
                .max()
                .map_or(origin, |end| end as usize)
        };
        child_at(page, end)
    }

    /// A record of REDUNDANT: it says where each field ends.
    fn old(&self, page: &[u8], origin: usize, spans: &mut [Span]) -> Result<(), &'static str> {
        let count = usize::from(u16_at(page, origin - 4) & 0x7fe) >> 1;
        let mut header = 6;
        let mut shape = &self.shapes[0];
        if page[origin - 6] & info::VERSION != 0
            && let History::MySql { .. } = self.history
        {
            header = 7;
            let version = usize::from(page[origin - 7]);
            shape = (self.shapes.get(version))
                .ok_or("is of a version of rows that the table does not have")?;
        }
        if count > shape.steps.len() {
            return Err("has more fields than the table");
        }
        self.old_fields(page, origin, header, count, shape, spans)?;
        shape.lacks(count, spans);
        Ok(())
    }

    /// The first fields of a record of REDUNDANT; returns where they end, from its origin on.
    fn old_fields(
        &self,
        page: &[u8],
        origin: usize,
        header: usize,
        count: usize,
        shape: &Shape,
        spans: &mut [Span],
    ) -> Result<usize, &'static str> {
        let mut at = 0;
        let steps = shape.steps.get(..count).ok_or(BROKEN)?;
        for (n, step) in steps.iter().enumerate() {
            let (end, flags) = old_end(page, origin, header, n)?;
            let length = end.checked_sub(at).ok_or(BROKEN)?;
            if flags & OUTSIDE != 0 && length < REFERENCE {
                return Err(BROKEN);
            }
            spans[usize::from(step.field)] = Span {
                at: (origin + at) as u32,
                length: length as u32 | flags,
            };
            at = end;
        }
        if origin + at > page.len() - fil::TRAILER {
            return Err(BROKEN);
        }
        Ok(at)
    }
}

/// Bytes of the reference to the part of a value that is off-page (`BTR_EXTERN_FIELD_REF_SIZE`).
pub const REFERENCE: usize = 20;

/// REDUNDANT: where field `n` ends, from the origin on, and its flags.
pub fn old_end(
    page: &[u8],
    origin: usize,
    header: usize,
    n: usize,
) -> Result<(usize, u32), &'static str> {
    let short = page[origin - 3] & 1 != 0;
    let at = origin
        .checked_sub(header + (n + 1) * if short { 1 } else { 2 })
        .ok_or(BROKEN)?;
    Ok(if short {
        let end = page[at];
        let flags = if end & 0x80 != 0 { NULL } else { 0 };
        (usize::from(end & 0x7f), flags)
    } else {
        let end = u16_at(page, at);
        let flags = match end & 0xc000 {
            0 => 0,
            0x4000 => OUTSIDE,
            _ => NULL,
        };
        (usize::from(end & 0x3fff), flags)
    })
}

fn child_at(page: &[u8], at: usize) -> Result<u32, &'static str> {
    if at + 4 > page.len() - fil::TRAILER {
        return Err(BROKEN);
    }
    Ok(crate::page::u32_at(page, at))
}

impl Shape {
    /// Bytes of the null bitmap.
    fn nulls(&self) -> usize {
        usize::from(self.nullable.last().copied().unwrap_or(0)).div_ceil(8)
    }

    /// Which fields lie at the same place in every record without NULLs.
    fn find_leading(&mut self) {
        let mut at = 0;
        for (n, step) in self.steps.iter().enumerate() {
            if step.fixed == 0 || usize::from(step.field) != n {
                break;
            }
            let length = u32::from(step.fixed);
            self.leading.push(Span { at, length });
            at += length;
        }
    }

    /// The first fields of a record; the null bitmap is before `nulls`.
    #[inline]
    fn walk(
        &self,
        page: &[u8],
        origin: usize,
        nulls: usize,
        count: usize,
        null_bytes: usize,
        spans: &mut [Span],
    ) -> Result<(), &'static str> {
        let steps = self.steps.get(..count).ok_or(BROKEN)?;
        let mut lengths = nulls.checked_sub(null_bytes).ok_or(BROKEN)?;
        let lowest = lengths;
        let mut nulls = nulls;
        let mut bit = 0u8;
        let mut at = origin;
        let mut known = 0;
        if page[lowest..nulls].iter().all(|b| *b == 0) {
            // Most records have no NULL, and most of their fields a fixed length: their places need no walk.
            known = self.leading.len().min(count);
            let leading = &self.leading[..known];
            for (span, lead) in spans.iter_mut().zip(leading) {
                *span = Span {
                    at: origin as u32 + lead.at,
                    length: lead.length,
                };
            }
            at += leading.last().map_or(0, |s| s.at + s.length) as usize;
            let bits = usize::from(self.nullable[known]);
            nulls = (nulls.checked_sub(bits.div_ceil(8)))
                .filter(|nulls| *nulls >= lowest)
                .ok_or(BROKEN)?;
            // The bit of the next one; none is left in this byte after the eighth.
            bit = (1u16 << (bits % 8)) as u8 * u8::from(bits % 8 != 0);
        }
        for step in &steps[known..] {
            let span = &mut spans[usize::from(step.field)];
            if step.nullable {
                if bit == 0 {
                    if nulls <= lowest {
                        return Err(BROKEN);
                    }
                    nulls -= 1;
                    bit = 1;
                }
                let null = page[nulls] & bit != 0;
                bit <<= 1;
                if null {
                    span.length = NULL;
                    continue;
                }
            }
            let mut length = u32::from(step.fixed);
            if length == 0 {
                lengths = lengths.checked_sub(1).ok_or(BROKEN)?;
                let first = page[lengths];
                length = u32::from(first);
                if step.big && first & 0x80 != 0 {
                    lengths = lengths.checked_sub(1).ok_or(BROKEN)?;
                    length = u32::from(first & 0x3f) << 8 | u32::from(page[lengths]);
                    if first & 0x40 != 0 {
                        if (length as usize) < REFERENCE {
                            return Err(BROKEN);
                        }
                        *span = Span {
                            at: at as u32,
                            length: length | OUTSIDE,
                        };
                        at += length as usize;
                        continue;
                    }
                }
            }
            *span = Span {
                at: at as u32,
                length,
            };
            at += length as usize;
        }
        // Spans follow each other: where the last one ends within the page, all do.
        if at > page.len() - fil::TRAILER {
            return Err(BROKEN);
        }
        if count < spans.len() {
            self.lacks(count, spans);
        }
        Ok(())
    }

    /// Marks what a record with so many fields does not have.
    fn lacks(&self, count: usize, spans: &mut [Span]) {
        for step in &self.steps[count..] {
            spans[usize::from(step.field)].length = ABSENT;
        }
        for field in &self.absent {
            spans[usize::from(*field)].length = ABSENT;
        }
    }
}
