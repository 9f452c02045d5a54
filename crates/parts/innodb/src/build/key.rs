//! Keys of an index as bytes whose order is the index's, so that sorting needs
//! no knowledge of types.

use crate::collation::{Collation, unfilled};
use crate::layout::{FieldLayout, Layout, Order};
use crate::record::Value;

/// Bytes of text between two marks of how it goes on.
const GROUP: usize = 8;

/// Appends the key of a record. Says how long the part is that must not be there twice (0: it may, because it
/// has a NULL or the index is not unique), or `None` where the order of a value is not known.
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
        Order::Bytes => ended(bytes.iter().copied().map(Some), out)?,
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

/// Bytes so that none is the beginning of another: a zero is written as two, the end as two others below them.
#[inline]
fn ended(bytes: impl Iterator<Item = Option<u8>>, out: &mut Vec<u8>) -> Option<()> {
    for b in bytes {
        let b = b?;
        out.push(b);
        if b == 0 {
            out.push(1);
        }
    }
    out.extend_from_slice(&[0, 0]);
    Some(())
}

/// The weights of text. Where shorter text counts as if spaces followed: in groups, each with a mark that says whether the text goes on
/// below what spaces would be (1), is over (2), or goes on above (3).
fn text(collation: Collation, bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if !collation.pads() {
        return ended(bytes.iter().map(|b| collation.weight(*b)), out);
    }
    let space = collation.weight(b' ')?;
    let mut rest = bytes;
    while let [shorter @ .., last] = rest
        && collation.weight(*last)? == space
    {
        rest = shorter;
    }
    loop {
        let (now, behind) = rest.split_at(rest.len().min(GROUP));
        for b in now {
            out.push(collation.weight(*b)?);
        }
        out.resize(out.len() + GROUP - now.len(), space);
        rest = behind;
        // What comes is spaces up to this one.
        let mut next = None;
        for b in rest {
            let weight = collation.weight(*b)?;
            if weight != space {
                next = Some(weight);
                break;
            }
        }
        let Some(next) = next else {
            out.push(2);
            return Some(());
        };
        out.push(if next < space { 1 } else { 3 });
    }
}
