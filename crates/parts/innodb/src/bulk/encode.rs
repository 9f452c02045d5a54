//! Fields as the bytes of a record: the inverse of [`crate::record::fields`].

use super::page::Encoded;
use crate::layout::Layout;
use crate::record::{HEADER, Value};

/// The position of a value in the bytes of a row; `None` for NULL.
pub type Span = Option<(u32, u32)>;

/// Encodes a leaf record whose values are all stored inline, each at its span.
#[inline]
pub fn of_spans(layout: &Layout, row: &[u8], spans: &[Span], into: &mut Encoded) {
    let value = |n: usize| in_row(row, spans[n]);
    head(layout, value, spans.len(), into);
    // Most values are adjacent in the row too: those are copied at once.
    let (mut from, mut to) = (0, 0);
    for (begin, end) in spans.iter().flatten() {
        if *begin != to {
            into.bytes
                .extend_from_slice(&row[from as usize..to as usize]);
            from = *begin;
        }
        to = *end;
    }
    into.bytes
        .extend_from_slice(&row[from as usize..to as usize]);
}

/// A value of a row.
#[inline]
pub fn in_row(row: &[u8], span: Span) -> Value<'_> {
    span.map_or(Value::Null, |(from, to)| {
        Value::Bytes(&row[from as usize..to as usize])
    })
}

/// Lengths, NULLs, and room for the header.
#[inline]
fn head<'v>(layout: &Layout, value: impl Fn(usize) -> Value<'v>, count: usize, into: &mut Encoded) {
    let nulls = layout.null_bytes();
    let bytes = &mut into.bytes;
    bytes.clear();
    // Lengths precede the NULL bitmap, the first field's last.
    for (n, f) in layout.fields[..count].iter().enumerate().rev() {
        if f.fixed.is_some() {
            continue;
        }
        let (length, outside) = match value(n) {
            Value::Null => continue,
            Value::Bytes(b) => (b.len(), false),
            Value::Outside(own, _) => (own.len() + POINTER, true),
        };
        if f.big && (length > 127 || outside) {
            bytes.push(length as u8);
            bytes.push(0x80 | if outside { 0x40 } else { 0 } | (length >> 8) as u8);
        } else {
            bytes.push(length as u8);
        }
    }
    let at = bytes.len();
    bytes.resize(at + nulls + HEADER, 0);
    let mut bit = 0;
    for (n, f) in layout.fields[..count].iter().enumerate() {
        if !f.nullable {
            continue;
        }
        if matches!(value(n), Value::Null) {
            bytes[at + nulls - 1 - bit / 8] |= 1 << (bit % 8);
        }
        bit += 1;
    }
    into.origin = bytes.len();
}

/// Encodes the first `count` fields of an index, each as `value` has it, and the child page number for a
/// node pointer.
pub fn encode<'v>(
    layout: &Layout,
    value: impl Fn(usize) -> Value<'v>,
    count: usize,
    child: Option<u32>,
    into: &mut Encoded,
) {
    head(layout, &value, count, into);
    let bytes = &mut into.bytes;
    for n in 0..count {
        match value(n) {
            Value::Null => {}
            Value::Bytes(b) => bytes.extend_from_slice(b),
            Value::Outside(own, p) => {
                bytes.extend_from_slice(own);
                for n in [p.space, p.page, p.offset] {
                    bytes.extend_from_slice(&n.to_be_bytes());
                }
                bytes.extend_from_slice(&p.length.to_be_bytes());
            }
        }
    }
    if let Some(child) = child {
        bytes.extend_from_slice(&child.to_be_bytes());
    }
}

/// Bytes of a pointer to an externally stored value (`BTR_EXTERN_FIELD_REF_SIZE`).
pub const POINTER: usize = 20;
