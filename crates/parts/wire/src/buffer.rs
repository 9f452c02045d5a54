//! The read buffer: packets are found, joined and returned in place.
//!
//! Invariants: `start..end` is what arrived and was not consumed yet; the bytes
//! of a packet that was handed out stay where they are until the next fill. The
//! buffer grows only when it is full of bytes that really arrived, never because
//! a header announced a length, and shrinks back when it is larger than needed.
//! Sequence numbers are checked for every packet.
//!
//! It does not know what a packet means.

use crate::{Error, Result};
use std::io::{self, Read};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Size of the buffer in normal times, and so of one read. Measured with `examples/drain.rs`; see there.
const BASE: usize = 128 * 1024;
/// Above this the buffer grows by this much instead of doubling.
const BIG_STEP: usize = 64 * 1024 * 1024;
/// A buffer bigger than `BASE` that was not needed for this many fills goes back to `BASE`.
const PATIENCE: u32 = 64;
/// Payload length that says "another packet continues this one".
pub(crate) const FULL: usize = 0xFF_FFFF;
/// The server counts row lengths in 32 bits, so nothing honest is longer.
pub(crate) const LONGEST: usize = u32::MAX as usize;

/// One packet, joined from its continuations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// Where the payload lies in the buffer.
    pub(crate) range: Range<usize>,
    /// Whether it came in the sequence it should; only an error packet may be out of it.
    pub(crate) in_order: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Buffer {
    data: Vec<u8>,
    start: usize,
    end: usize,
    seq: u8,
    /// Fills since the size was last needed.
    idle: u32,
    /// Time spent in calls to the socket since the beginning: the clock is read once per fill, none for a row.
    pub(crate) waited: Duration,
}

impl Buffer {
    pub(crate) fn new() -> Self {
        Self {
            data: vec![0; BASE],
            start: 0,
            end: 0,
            seq: 0,
            idle: 0,
            waited: Duration::ZERO,
        }
    }

    /// Whether everything that arrived was consumed.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The sequence number the next packet must bear, in either direction.
    pub(crate) fn seq(&self) -> u8 {
        self.seq
    }

    /// Sets the sequence number of the next packet.
    pub(crate) fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
    }

    /// The bytes of a packet; valid until the next fill.
    #[inline]
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.data[range]
    }

    /// The fast path of a result set: the next packet, if it is whole, in order, and certainly a row.
    ///
    /// `None` means no more than "look closer": [`Buffer::packet`] decides.
    #[inline]
    pub(crate) fn whole_row(&mut self) -> Option<Range<usize>> {
        let rest = self.data.get(self.start..self.end)?;
        let head = rest.first_chunk::<5>()?;
        let word = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let len = (word & 0xFF_FFFF) as usize;
        if len == 0
            || len == FULL
            || rest.len() < 4 + len
            || (word >> 24) as u8 != self.seq
            || head[4] >= 0xFE
        {
            return None;
        }
        let from = self.start + 4;
        self.start = from + len;
        self.seq = self.seq.wrapping_add(1);
        Some(from..from + len)
    }

    /// The next packet may begin the sequence again, with this number.
    pub(crate) fn may_restart(&mut self, source: &mut impl Read, with: u8) -> Result<()> {
        self.need(source, 4, false)?;
        if self.header(0).1 == with {
            self.seq = with;
        }
        Ok(())
    }

    /// Reads until one whole packet, of at most `limit` bytes of payload, is there, and consumes it.
    pub(crate) fn packet(&mut self, source: &mut impl Read, limit: usize) -> Result<Packet> {
        self.need(source, 4, false)?;
        let (mut part, seq) = self.header(0);
        // An error packet may come out of turn: a server that shuts down, or ends
        // an idle session, says so with sequence number 0 and hangs up.
        let mut in_order = seq == self.seq;
        if !in_order {
            if part == 0 || part > 4096 {
                return Err(out_of_order(self.seq, seq));
            }
            self.need(source, 5, false)?;
            if self.data[self.start + 4] != 0xFF {
                return Err(out_of_order(self.seq, seq));
            }
        }
        self.seq = seq.wrapping_add(1);
        let mut len = part;
        loop {
            if len > limit {
                return Err(Error::Protocol(format!(
                    "a packet of {len} bytes where {limit} are the most"
                )));
            }
            if part < FULL {
                break;
            }
            // The next header is read to its last byte and no further, so that
            // cutting it out moves nothing.
            let next = 4 + len;
            self.need(source, next + 4, true)?;
            let (more, seq) = self.header(next);
            if seq != self.seq {
                in_order = false;
            }
            if !in_order {
                return Err(out_of_order(self.seq, seq));
            }
            self.seq = seq.wrapping_add(1);
            let at = self.start + next;
            self.data.copy_within(at + 4..self.end, at);
            self.end -= 4;
            part = more;
            len += more;
        }
        self.need(source, 4 + len, false)?;
        if 4 + len > BASE {
            self.idle = 0;
        }
        let from = self.start + 4;
        self.start = from + len;
        Ok(Packet {
            range: from..from + len,
            in_order,
        })
    }

    /// Whether a packet is here in whole, unless it is one of the longest.
    pub(crate) fn has_packet(&self) -> bool {
        let rest = self.end - self.start;
        rest >= 4 && rest >= 4 + self.header(0).0
    }

    /// Bytes of memory held.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.data.capacity()
    }

    /// Gives memory back that only a huge packet needed. Called between statements.
    pub(crate) fn relax(&mut self) {
        if self.is_empty() && self.data.len() > BASE {
            self.data = vec![0; BASE];
            self.start = 0;
            self.end = 0;
            self.idle = 0;
        }
    }

    /// Length and sequence number of the header `at` bytes after the start; the caller has it buffered.
    fn header(&self, at: usize) -> (usize, u8) {
        let h = &self.data[self.start + at..self.start + at + 4];
        let len = usize::from(h[0]) | usize::from(h[1]) << 8 | usize::from(h[2]) << 16;
        (len, h[3])
    }

    /// Reads until `want` bytes are buffered; `exactly` keeps it from reading more.
    fn need(&mut self, source: &mut impl Read, want: usize, exactly: bool) -> Result<()> {
        while self.end - self.start < want {
            self.make_room();
            let room = if exactly {
                let to = self.start.saturating_add(want);
                self.end..self.data.len().min(to)
            } else {
                self.end..self.data.len()
            };
            let began = Instant::now();
            let read = source.read(&mut self.data[room]);
            self.waited += began.elapsed();
            match read {
                Ok(0) => {
                    return Err(Error::Io(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the server closed the connection",
                    )));
                }
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::Io(e)),
            }
        }
        Ok(())
    }

    /// Moves what is left to the front where that is cheap or needed, and grows or shrinks the buffer.
    fn make_room(&mut self) {
        let left = self.end - self.start;
        if self.data.len() > BASE {
            self.idle += 1;
            if left <= BASE / 2 && self.idle > PATIENCE {
                let mut data = vec![0; BASE];
                data[..left].copy_from_slice(&self.data[self.start..self.end]);
                self.data = data;
                self.start = 0;
                self.end = left;
                self.idle = 0;
                return;
            }
        }
        // A part of a small row is moved at once, so that the kernel can give as
        // much as fits; a part of a big one only when there is little room after it.
        if self.start > 0 && (left <= 4096 || self.data.len() - self.end < BASE / 4) {
            self.data.copy_within(self.start..self.end, 0);
            self.start = 0;
            self.end = left;
        }
        if self.end == self.data.len() {
            let step = self.data.len().min(BIG_STEP);
            self.data.resize(self.data.len() + step, 0);
            self.idle = 0;
        }
    }
}

fn out_of_order(expected: u8, got: u8) -> Error {
    Error::Protocol(format!(
        "packet number {got} where {expected} was due; something between us mixes sessions or loses data"
    ))
}
