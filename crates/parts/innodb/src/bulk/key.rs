//! Keys of an index as bytes whose order is the index's, so that sorting needs
//! no knowledge of types.

use crate::collation::{Collation, unfilled};
use crate::layout::{FieldLayout, Layout, Order};
use crate::record::Value;

/// Bytes of text between two continuation marks.
const GROUP: usize = 8;

/// Appends the key of a record. Returns the length of the part that must be unique (0: none, because it has a
/// NULL or the index is not unique), or `None` if the order of a value is unknown.
#[inline]
pub fn key<'v>(
    layout: &Layout,
    value: impl Fn(usize) -> Value<'v>,
    out: &mut Vec<u8>,
) -> Option<usize> {
    let start = out.len();
    let mut unique = 0;
    let of_unique = layout.unique.unwrap_or(0);
    let mut has_null = false;
    for (n, f) in layout.fields[..layout.keys].iter().enumerate() {
        let begin = out.len();
        match value(n) {
            Value::Null => {
                has_null |= n < of_unique;
                out.push(0);
            }
            Value::Bytes(bytes) => {
                if f.nullable {
                    out.push(1);
                }
                field(f, bytes, out)?;
            }
            Value::Outside(..) => return None,
        }
        if !f.ascending {
            out[begin..].iter_mut().for_each(|b| *b = !*b);
        }
        if n + 1 == of_unique {
            unique = out.len() - start;
        }
    }
    Some(if has_null { 0 } else { unique })
}

fn field(f: &FieldLayout, bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    match f.order {
        Order::Bytes if f.fixed.is_some() => out.extend_from_slice(bytes),
        Order::Bytes => ended(bytes, out),
        Order::Float => {
            let n = f32::from_le_bytes(bytes.try_into().ok()?);
            let bits = (n + 0.0).to_bits();
            let ordered = if bits >> 31 == 1 {
                !bits
            } else {
                bits | 1 << 31
            };
            out.extend_from_slice(&ordered.to_be_bytes());
        }
        Order::Double => {
            let n = f64::from_le_bytes(bytes.try_into().ok()?);
            let bits = (n + 0.0).to_bits();
            let ordered = if bits >> 63 == 1 {
                !bits
            } else {
                bits | 1 << 63
            };
            out.extend_from_slice(&ordered.to_be_bytes());
        }
        Order::Text(collation) => text(collation, bytes, out)?,
        Order::Filled(collation) => text(collation, unfilled(bytes), out)?,
        Order::Unknown => return None,
    }
    Some(())
}

/// Bytes encoded so that none is a prefix of another: a zero becomes two bytes, the end two smaller ones.
#[inline]
fn ended(bytes: &[u8], out: &mut Vec<u8>) {
    for part in bytes.split_inclusive(|b| *b == 0) {
        out.extend_from_slice(part);
        if part.ends_with(&[0]) {
            out.push(1);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// The weights of text. In PAD SPACE collations they are grouped, and each group has a mark that says whether the
/// text continues below spaces (1), ends (2), or continues above spaces (3).
fn text(collation: Collation, bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    collation.weigh(bytes, out)?;
    if !collation.pads() {
        if out[start..].contains(&0) {
            let weights = out.split_off(start);
            ended(&weights, out);
        } else {
            out.extend_from_slice(&[0, 0]);
        }
        return Some(());
    }
    let space = collation.weight(b' ')?;
    while out.len() > start && out.last() == Some(&space) {
        out.pop();
    }
    let groups = (out.len() - start).div_ceil(GROUP).max(1);
    out.resize(start + groups * GROUP, space);
    out.resize(start + groups * (GROUP + 1), 0);
    // From the end, where the continuation of every group is known.
    let mut mark = 2;
    for n in (0..groups).rev() {
        let (from, to) = (start + n * GROUP, start + n * (GROUP + 1));
        let now = from..from + GROUP;
        let goes_on = out[now.clone()].iter().find(|b| **b != space);
        let before = match goes_on {
            Some(b) if *b < space => 1,
            Some(_) => 3,
            None => mark,
        };
        out.copy_within(now, to);
        out[to + GROUP] = mark;
        mark = before;
    }
    Some(())
}
