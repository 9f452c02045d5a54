//! Walks the bytes of an event from front to back, with checks.

use crate::{Error, Result};

/// What is left of an event.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Fields<'a> {
    /// `what` names the event in errors.
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Fields { rest: bytes, what }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn wrong(&self, why: impl Into<String>) -> Error {
        Error::malformed(self.what, why)
    }

    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(n) {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
            None => Err(self.wrong("it ends too early")),
        }
    }

    fn number<const N: usize>(&mut self) -> Result<u64> {
        let mut full = [0; 8];
        full[..N].copy_from_slice(self.take(N)?);
        Ok(u64::from_le_bytes(full))
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.number::<1>()? as u8)
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(self.number::<2>()? as u16)
    }

    pub(crate) fn u24(&mut self) -> Result<u32> {
        Ok(self.number::<3>()? as u32)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(self.number::<4>()? as u32)
    }

    pub(crate) fn u48(&mut self) -> Result<u64> {
        self.number::<6>()
    }

    pub(crate) fn u56(&mut self) -> Result<u64> {
        self.number::<7>()
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.number::<8>()
    }

    /// A length-encoded integer of the client protocol.
    pub(crate) fn packed(&mut self) -> Result<u64> {
        match self.u8()? {
            n @ 0..=0xFA => Ok(u64::from(n)),
            0xFC => self.number::<2>(),
            0xFD => self.number::<3>(),
            0xFE => self.number::<8>(),
            _ => Err(self.wrong("no valid length")),
        }
    }

    /// As [`Fields::packed`], as a length of what follows.
    pub(crate) fn packed_bytes(&mut self) -> Result<&'a [u8]> {
        let n = self.packed()?;
        let n = usize::try_from(n).map_err(|_| self.wrong("a length beyond its end"))?;
        self.take(n)
    }

    /// A number of MySQL's `mysql::serialization`: the count of one-bits at the low end of the first byte is the
    /// number of bytes that follow it.
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let first = self.u8()?;
        let more = first.trailing_ones() as usize;
        let mut full = [0; 8];
        full[..more].copy_from_slice(self.take(more)?);
        let high = u64::from_le_bytes(full);
        if more == 8 {
            return Ok(high);
        }
        let bits = 7 - more as u32;
        let low = u64::from(first) >> (more + 1);
        // Seven bytes more leave no bit in the first one.
        Ok(low | high.checked_shl(bits).unwrap_or(0))
    }

    /// A signed number of the same library: the sign is the lowest bit.
    pub(crate) fn signed_varint(&mut self) -> Result<i64> {
        let n = self.varint()?;
        let magnitude = (n >> 1) as i64;
        Ok(if n & 1 == 1 { !magnitude } else { magnitude })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_serialization_library() {
        let read = |bytes: &[u8]| Fields::new(bytes, "a number").varint().unwrap();
        assert_eq!(read(&[0]), 0);
        assert_eq!(read(&[2]), 1);
        assert_eq!(read(&[254]), 127);
        // Two bytes: one bit says so, 14 are left.
        assert_eq!(read(&[0b0000_0001, 0b0000_0010]), 128);
        assert_eq!(read(&[0b1111_1101, 0xff]), 0x3fff);
        assert_eq!(
            read(&[255, 255, 255, 255, 255, 255, 255, 255, 255]),
            u64::MAX
        );
        assert!(Fields::new(&[1], "a number").varint().is_err());
        let signed = |bytes: &[u8]| Fields::new(bytes, "a number").signed_varint().unwrap();
        assert_eq!(signed(&[0]), 0);
        assert_eq!(signed(&[0b10]), -1);
        assert_eq!(signed(&[0b100]), 1);
    }
}
