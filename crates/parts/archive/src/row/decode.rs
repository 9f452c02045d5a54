//! From line back to payload, for checking an archive without a server.
//!
//! Accepts whatever LOAD DATA accepts in the default dialect: `\` before any
//! byte, so also before a TAB or LF that is literal. Short fields
//! without escapes are copied as 32 bytes whatever their length, as in
//! encoding; all others are searched for their end.

use super::block::{BLOCK, stops};
use super::{Encoding, NULL, RowError, RowPlan};
use base64_simd::{AsOut, STANDARD};
use memchr::{memchr, memchr2};

/// Bytes looked at for each field; longer fields go another way.
const SHORT: usize = 2 * BLOCK;

/// Longest length before a cell.
const LENGTH: usize = 9;

impl RowPlan {
    /// Passes the cells of one line, given without its LF, one after the other: most as slices of it, without a
    /// copy. What has to be decoded is in `room` for the time of its turn.
    #[inline]
    pub fn cells<E: From<RowError>>(
        &self,
        line: &[u8],
        room: &mut Vec<u8>,
        mut each: impl FnMut(Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = Some(line);
        for (column, encoding) in self.columns.iter().enumerate() {
            match next(&mut rest, column, *encoding)? {
                Cell::Short(_, cell) | Cell::Plain(cell) => each(Some(cell))?,
                Cell::Null => each(None)?,
                Cell::Coded(cell) => {
                    // No cell gets longer by decoding.
                    room.resize(cell.len(), 0);
                    let n = decode(cell, room, *encoding, column)?;
                    each(Some(&room[..n]))?;
                }
            }
        }
        Ok(self.ended(rest)?)
    }

    /// Appends the payload for one line, given without its LF.
    pub fn decode_row(&self, line: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
        let start = out.len();
        // No cell gets longer by decoding, apart from its length.
        let room = line.len() + LENGTH * self.columns.len() + 2 * SHORT;
        out.resize(start + room, 0);
        let result = self.decode_into(line, &mut out[start..]);
        out.truncate(start + *result.as_ref().unwrap_or(&0));
        result.map(|_| ())
    }

    fn decode_into(&self, line: &[u8], out: &mut [u8]) -> Result<usize, RowError> {
        let mut rest = Some(line);
        let mut o = 0;
        for (column, encoding) in self.columns.iter().enumerate() {
            match next(&mut rest, column, *encoding)? {
                Cell::Short(block, cell) => {
                    out[o] = cell.len() as u8;
                    out[o + 1..o + 1 + SHORT].copy_from_slice(&block);
                    o += 1 + cell.len();
                }
                Cell::Null => {
                    out[o] = NULL;
                    o += 1;
                }
                Cell::Plain(cell) => {
                    let (bytes, used) = length(cell.len());
                    out[o..o + used].copy_from_slice(&bytes[..used]);
                    o += used;
                    out[o..o + cell.len()].copy_from_slice(cell);
                    o += cell.len();
                }
                Cell::Coded(cell) => {
                    o += decoded(cell, &mut out[o..], |cell, out| {
                        decode(cell, out, *encoding, column)
                    })?;
                }
            }
        }
        self.ended(rest)?;
        Ok(o)
    }

    /// Whether nothing is left of a line after its last column.
    fn ended(&self, rest: Option<&[u8]>) -> Result<(), RowError> {
        let columns = self.columns.len();
        match rest {
            Some(line) if columns > 0 || !line.is_empty() => Err(RowError::TooLong { columns }),
            _ => Ok(()),
        }
    }
}

/// A cell as it is written in a line.
enum Cell<'l> {
    /// Text as it is, and the bytes from its beginning on.
    Short([u8; SHORT], &'l [u8]),
    /// Longer text as it is.
    Plain(&'l [u8]),
    /// NULL.
    Null,
    /// To be decoded.
    Coded(&'l [u8]),
}

/// The next cell of what is left of a line.
#[inline(always)]
fn next<'l>(
    rest: &mut Option<&'l [u8]>,
    column: usize,
    encoding: Encoding,
) -> Result<Cell<'l>, RowError> {
    let field = rest.ok_or(RowError::Truncated { column })?;
    let (block, len) = short_field(field);
    if len < SHORT && encoding == Encoding::Text && field.get(len) != Some(&b'\\') {
        *rest = field.get(len + 1..);
        return Ok(Cell::Short(block, &field[..len]));
    }
    let Field {
        cell,
        escaped,
        next,
    } = long_field(field, column)?;
    *rest = next;
    Ok(match encoding {
        _ if escaped && cell == b"\\N" => Cell::Null,
        Encoding::Text if !escaped => Cell::Plain(cell),
        _ => Cell::Coded(cell),
    })
}

/// Decodes a cell into a space of its own length; how many bytes it has.
fn decode(
    cell: &[u8],
    out: &mut [u8],
    encoding: Encoding,
    column: usize,
) -> Result<usize, RowError> {
    let binary = |encoding| RowError::Binary { column, encoding };
    match encoding {
        Encoding::Text => Ok(unescape(cell, out).unwrap_or_default()),
        Encoding::Base64 => unbase64(cell, out).ok_or(binary("base64")),
        Encoding::Hex => unhex(cell, out).ok_or(binary("hexadecimal")),
    }
}

/// The first bytes of what is left of a line, and how many of them come before
/// a TAB, a backslash or the line's end; [`SHORT`] if there is none among them.
#[inline(always)]
fn short_field(rest: &[u8]) -> ([u8; SHORT], usize) {
    let block = match rest.first_chunk::<SHORT>() {
        Some(block) => *block,
        None => {
            let mut padded = [b'\t'; SHORT];
            padded[..rest.len()].copy_from_slice(rest);
            padded
        }
    };
    let (blocks, _) = block.as_chunks::<BLOCK>();
    let found = u64::from(stops(&blocks[0])) | u64::from(stops(&blocks[1])) << BLOCK;
    (block, (found | 1 << SHORT).trailing_zeros() as usize)
}

/// A field of any length.
struct Field<'l> {
    /// Its bytes as written.
    cell: &'l [u8],
    /// There is a backslash in them.
    escaped: bool,
    /// What comes after its TAB.
    next: Option<&'l [u8]>,
}

#[inline(never)]
fn long_field(field: &[u8], column: usize) -> Result<Field<'_>, RowError> {
    let mut stop = memchr2(b'\t', b'\\', field);
    let mut escaped = false;
    while let Some(at) = stop.filter(|&at| field[at] == b'\\') {
        escaped = true;
        // The byte after a backslash never ends the field.
        let next = at + 2;
        if next > field.len() {
            return Err(RowError::Truncated { column });
        }
        stop = memchr2(b'\t', b'\\', &field[next..]).map(|n| next + n);
    }
    let cell = &field[..stop.unwrap_or(field.len())];
    Ok(Field {
        cell,
        escaped,
        next: stop.map(|at| &field[at + 1..]),
    })
}

/// A length in its shortest form: the bytes, and how many of them count.
fn length(len: usize) -> ([u8; LENGTH], usize) {
    let mut bytes = [0; LENGTH];
    bytes[1..].copy_from_slice(&(len as u64).to_le_bytes());
    match len {
        0..=250 => {
            bytes[0] = len as u8;
            (bytes, 1)
        }
        251..=0xFFFF => {
            bytes[0] = 0xFC;
            (bytes, 3)
        }
        0x1_0000..=0xFF_FFFF => {
            bytes[0] = 0xFD;
            (bytes, 4)
        }
        _ => {
            bytes[0] = 0xFE;
            (bytes, 9)
        }
    }
}

/// Writes a cell whose length is known only once it is decoded, and returns
/// the bytes used: `write` fills a space of the cell's own length, which no
/// decoding exceeds, and the result moves up to its length.
fn decoded(
    cell: &[u8],
    out: &mut [u8],
    write: impl FnOnce(&[u8], &mut [u8]) -> Result<usize, RowError>,
) -> Result<usize, RowError> {
    let (_, room) = length(cell.len());
    let n = write(cell, &mut out[room..room + cell.len()])?;
    let (bytes, used) = length(n);
    if used < room {
        out.copy_within(room..room + n, used);
    }
    out[..used].copy_from_slice(&bytes[..used]);
    Ok(used + n)
}

fn unescape(mut cell: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut o = 0;
    while let Some(at) = memchr(b'\\', cell) {
        out[o..o + at].copy_from_slice(&cell[..at]);
        o += at;
        // The end of the field was found so that a byte follows each backslash.
        out[o] = match *cell.get(at + 1)? {
            b'0' => 0,
            b'b' => 8,
            b't' => 9,
            b'n' => 10,
            b'r' => 13,
            b'Z' => 26,
            itself => itself,
        };
        o += 1;
        cell = &cell[at + 2..];
    }
    out[o..o + cell.len()].copy_from_slice(cell);
    Some(o + cell.len())
}

fn unbase64(cell: &[u8], out: &mut [u8]) -> Option<usize> {
    match STANDARD.decode(cell, out.as_out()) {
        Ok(decoded) => Some(decoded.len()),
        Err(_) => unbase64_with_breaks(cell, out),
    }
}

/// Base64 in lines: servers break it after 76 characters, and MySQL Shell may write the breaks, escaped.
/// `FROM_BASE64` skips white space wherever it is, so it is skipped here.
#[cold]
#[inline(never)]
fn unbase64_with_breaks(cell: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut one_run = vec![0; cell.len()];
    let n = unescape(cell, &mut one_run)?;
    one_run.truncate(n);
    one_run.retain(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
    // Without a break the first attempt has refused it already.
    if one_run.len() == cell.len() {
        return None;
    }
    STANDARD
        .decode(&one_run, out.as_out())
        .ok()
        .map(|d| d.len())
}

fn unhex(cell: &[u8], out: &mut [u8]) -> Option<usize> {
    let (pairs, rest) = cell.as_chunks::<2>();
    for (byte, pair) in out.iter_mut().zip(pairs) {
        let digit = |d: u8| (d as char).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    rest.is_empty().then_some(pairs.len())
}
