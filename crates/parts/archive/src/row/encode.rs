//! From payload to line.
//!
//! The usual cell is short and has nothing to escape. It is copied as 32
//! bytes, whatever its length: the surplus lands where the next cell will be
//! written, and the same 32 bytes answer whether anything in the cell needs an
//! escape. Near the end of the payload, where that would read past it, the rest
//! of the row is taken from a padded copy. Lengths vary from cell to cell, so
//! what is saved above all are branches on them that would be mispredicted.

use super::block::{BLOCK, ESCAPE, suspects};
use super::{Encoding, NULL, RowError, RowPlan};
use base64_simd::{AsOut, STANDARD};

/// Bytes copied and looked at for each cell; longer cells go another way.
const SHORT: usize = 2 * BLOCK;

/// A length and the block after it.
const REACH: usize = 1 + SHORT;

/// Source bytes turned over at a time for a cell of any length in
/// [`RowPlan::encode_pieces`]; a multiple of 3, so that base64 pieces join.
const PIECE: usize = 24 * 1024;

/// How far a row has got: the next column, its place in the payload, the
/// end of the line so far.
#[derive(Clone, Copy, Default)]
struct Place {
    column: usize,
    pos: usize,
    out: usize,
}

impl RowPlan {
    /// Room that [`encode_into`](Self::encode_into) needs for a payload of `len` bytes:
    /// every byte doubled, a TAB for each column, and a block's overhang.
    #[inline]
    pub fn bound(&self, len: usize) -> usize {
        2 * len + 2 * self.columns.len() + 2 * SHORT
    }

    /// Appends the line for one row, its LF included.
    pub fn encode(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
        let start = out.len();
        out.resize(start + self.bound(payload.len()), 0);
        match self.encode_into(payload, &mut out[start..]) {
            Ok(n) => {
                out.truncate(start + n);
                Ok(())
            }
            Err(e) => {
                out.truncate(start);
                Err(e)
            }
        }
    }

    /// Writes the line for one row to the start of `out` and returns its
    /// length. Bytes after it are left in any state.
    ///
    /// # Panics
    /// If `out` is shorter than [`bound`](Self::bound) of the payload.
    #[inline]
    pub fn encode_into(&self, payload: &[u8], out: &mut [u8]) -> Result<usize, RowError> {
        assert!(out.len() >= self.bound(payload.len()));
        let columns = self.columns.len();
        let mut at = Place::default();
        if let Some(stop) = payload.len().checked_sub(REACH) {
            self.encode_until(payload, payload.len(), stop, &mut at, out)?;
        }
        if at.column < columns {
            // Fewer bytes than REACH are left (or more only if they are surplus).
            let rest = &payload[at.pos..];
            let mut padded = [0; 2 * REACH];
            let len = rest.len().min(REACH);
            padded[..len].copy_from_slice(&rest[..len]);
            at.pos = 0;
            self.encode_until(&padded, len, len, &mut at, out)?;
            at.pos += payload.len() - rest.len();
        }
        if at.pos != payload.len() {
            return Err(RowError::TooLong { columns });
        }
        // The last column ends with LF instead of TAB; a row of no columns is a bare LF.
        let o = at.out.max(1);
        out[o - 1] = b'\n';
        Ok(o)
    }

    /// Encodes cells of `source[..end]` until all columns are done or the next
    /// one begins after `stop`. `source` reaches [`REACH`] bytes beyond `stop`.
    #[inline(always)]
    fn encode_until(
        &self,
        source: &[u8],
        end: usize,
        stop: usize,
        at: &mut Place,
        out: &mut [u8],
    ) -> Result<(), RowError> {
        let Place {
            mut column,
            mut pos,
            out: mut o,
        } = *at;
        while let Some(encoding) = self.columns.get(column) {
            if pos > stop {
                break;
            }
            let truncated = RowError::Truncated { column };
            let reach = source.get(pos..).and_then(<[u8]>::first_chunk::<REACH>);
            let Some([first, cell @ ..]) = reach.filter(|_| pos < end) else {
                return Err(truncated);
            };
            let len = *first as usize;
            if len <= SHORT && *encoding == Encoding::Text {
                pos += 1 + len;
                if pos > end {
                    return Err(truncated);
                }
                o = short(cell, len, out, o).ok_or(truncated)?;
            } else if *first == NULL {
                out[o..o + 2].copy_from_slice(b"\\N");
                o += 2;
                pos += 1;
            } else {
                let (cell, next) = cell_at(&source[..end], pos, column)?;
                let cell = cell.unwrap_or_default();
                o += match encoding {
                    Encoding::Text => escape(cell, &mut out[o..]),
                    _ => binary(*encoding, cell, &mut out[o..]),
                };
                pos = next;
            }
            out[o] = b'\t';
            o += 1;
            column += 1;
        }
        *at = Place {
            column,
            pos,
            out: o,
        };
        Ok(())
    }

    /// As [`encode`](Self::encode) for rows of any size, in pieces of at most
    /// 64 KiB passed to `emit`. On an error some pieces may have been passed
    /// over already. Returns the length of the line.
    pub fn encode_pieces<E: From<RowError>>(
        &self,
        payload: &[u8],
        mut emit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let mut buffer = vec![0; 2 * PIECE + 2 * BLOCK];
        let (mut pos, mut total) = (0, 0);
        let last = self.columns.len().saturating_sub(1);
        let mut send = |bytes: &[u8]| {
            total += bytes.len() as u64;
            emit(bytes)
        };
        for (column, encoding) in self.columns.iter().enumerate() {
            match cell_at(payload, pos, column)? {
                (None, end) => {
                    send(b"\\N")?;
                    pos = end;
                }
                (Some(cell), end) => {
                    for piece in cell.chunks(PIECE) {
                        let n = match encoding {
                            Encoding::Text => escape(piece, &mut buffer),
                            _ => binary(*encoding, piece, &mut buffer),
                        };
                        send(&buffer[..n])?;
                    }
                    pos = end;
                }
            }
            if column != last {
                send(b"\t")?;
            }
        }
        if pos != payload.len() {
            let columns = self.columns.len();
            return Err(RowError::TooLong { columns }.into());
        }
        send(b"\n")?;
        Ok(total)
    }
}

/// The cell at `pos` (`None` for NULL), and where the next one begins.
fn cell_at(payload: &[u8], pos: usize, column: usize) -> Result<(Option<&[u8]>, usize), RowError> {
    match payload.get(pos) {
        None => Err(RowError::Truncated { column }),
        Some(&NULL) => Ok((None, pos + 1)),
        Some(&short) if short < NULL => {
            let end = pos + 1 + short as usize;
            let cell = payload.get(pos + 1..end);
            Ok((Some(cell.ok_or(RowError::Truncated { column })?), end))
        }
        Some(_) => long_cell(payload, pos, column).map(|(cell, end)| (Some(cell), end)),
    }
}

/// The cell after a length of more than one byte at `pos`, and its end.
fn long_cell(payload: &[u8], pos: usize, column: usize) -> Result<(&[u8], usize), RowError> {
    let truncated = RowError::Truncated { column };
    let (digits, least) = match payload[pos] {
        0xFC => (2, 251),
        0xFD => (3, 1 << 16),
        0xFE => (8, 1 << 24),
        _ => return Err(RowError::Length { column }),
    };
    let start = pos + 1 + digits;
    let bytes = payload.get(pos + 1..start).ok_or(truncated)?;
    let mut le = [0; 8];
    le[..digits].copy_from_slice(bytes);
    let len = u64::from_le_bytes(le);
    if len < least {
        // A longer form than needed would give equal rows different digests.
        return Err(RowError::Length { column });
    }
    let end = usize::try_from(len).ok().and_then(|n| start.checked_add(n));
    let end = end.ok_or(truncated)?;
    Ok((payload.get(start..end).ok_or(truncated)?, end))
}

/// Writes the first `len` bytes of `cell` to `out[o..]` with escapes; the new
/// `o`. `None` if `out` is too short, which [`RowPlan::bound`] rules out.
#[inline(always)]
fn short(cell: &[u8; SHORT], len: usize, out: &mut [u8], o: usize) -> Option<usize> {
    let (low, high) = (cell.first_chunk::<BLOCK>()?, cell.last_chunk::<BLOCK>()?);
    let found = u64::from(suspects(low)) | u64::from(suspects(high)) << BLOCK;
    if found & ((1 << len) - 1) == 0 {
        *out.get_mut(o..)?.first_chunk_mut::<SHORT>()? = *cell;
        return Some(o + len);
    }
    let o = escape_block(*low, len.min(BLOCK), out, o);
    Some(escape_block(*high, len.saturating_sub(BLOCK), out, o))
}

/// Copies `cell` to the start of `out` with escapes and returns the length;
/// `out` has room for every byte doubled and one block more.
#[inline(never)]
fn escape(cell: &[u8], out: &mut [u8]) -> usize {
    let mut o = 0;
    let (blocks, rest) = cell.as_chunks::<BLOCK>();
    for block in blocks {
        if suspects(block) == 0 {
            out[o..o + BLOCK].copy_from_slice(block);
            o += BLOCK;
        } else {
            o = escape_block(*block, BLOCK, out, o);
        }
    }
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    escape_block(last, rest.len(), out, o)
}

/// Writes the first `len` bytes of a block to `out[o..]` with escapes; the new `o`.
#[inline(never)]
fn escape_block(block: [u8; BLOCK], len: usize, out: &mut [u8], mut o: usize) -> usize {
    let mut found = suspects(&block) & ((1 << len) - 1);
    let mut bytes = u128::from_le_bytes(block);
    let mut left = len;
    loop {
        // All that is left, as if nothing in it needed an escape; what does is written over.
        out[o..o + BLOCK].copy_from_slice(&bytes.to_le_bytes());
        if found == 0 {
            return o + left;
        }
        let clean = found.trailing_zeros() as usize;
        o += clean;
        bytes >>= 8 * clean;
        let letter = ESCAPE[bytes as u8 as usize];
        let escaped = letter != 0;
        out[o] = if escaped { b'\\' } else { bytes as u8 };
        out[o + 1] = letter;
        o += 1 + usize::from(escaped);
        bytes >>= 8;
        found >>= clean;
        found >>= 1;
        left -= clean + 1;
    }
}

/// Writes a binary cell in its encoding to the start of `out` and returns the length.
fn binary(encoding: Encoding, cell: &[u8], out: &mut [u8]) -> usize {
    match encoding {
        Encoding::Hex => {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            for (two, b) in out.as_chunks_mut::<2>().0.iter_mut().zip(cell) {
                *two = [DIGITS[(b >> 4) as usize], DIGITS[(b & 15) as usize]];
            }
            2 * cell.len()
        }
        _ => STANDARD.encode(cell, out.as_out()).len(),
    }
}
