//! Bytes of a `.frm` file, read without going beyond them.

use crate::read::Error;

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub struct Part<'f>(pub &'f [u8]);

/// What is said of every part that should be there.
pub fn ends() -> Error {
    damaged("it ends too early")
}

/// A file that contradicts itself.
pub fn damaged(what: &str) -> Error {
    Error::Definition(format!("the .frm file is damaged: {what}"))
}

impl<'f> Part<'f> {
    /// So many bytes from there.
    pub fn part(self, at: usize, bytes: usize) -> Result<Part<'f>, Error> {
        let end = at.checked_add(bytes).ok_or_else(ends)?;
        self.0.get(at..end).map(Part).ok_or_else(ends)
    }

    /// All bytes from there.
    pub fn from(self, at: usize) -> Result<Part<'f>, Error> {
        self.0.get(at..).map(Part).ok_or_else(ends)
    }

    /// A byte.
    pub fn u8(self, at: usize) -> Result<u8, Error> {
        self.0.get(at).copied().ok_or_else(ends)
    }

    /// Two bytes, the low one first.
    pub fn u16(self, at: usize) -> Result<u16, Error> {
        let bytes = self.part(at, 2)?.0;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Three bytes.
    pub fn u24(self, at: usize) -> Result<u32, Error> {
        Ok(u32::from(self.u16(at)?) | u32::from(self.u8(at + 2)?) << 16)
    }

    /// Four bytes.
    pub fn u32(self, at: usize) -> Result<u32, Error> {
        Ok(u32::from(self.u16(at)?) | u32::from(self.u16(at + 2)?) << 16)
    }

    /// Takes so many bytes from the beginning.
    pub fn take(&mut self, bytes: usize) -> Result<&'f [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or_else(ends)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Takes a byte.
    pub fn take_u8(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    /// Takes two bytes.
    pub fn take_u16(&mut self) -> Result<u16, Error> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Takes a number of one or three bytes (`net_store_length` of the servers).
    pub fn take_length(&mut self) -> Result<usize, Error> {
        match self.take_u8()? {
            n @ 0..=250 => Ok(n.into()),
            252 => Ok(self.take_u16()?.into()),
            _ => Err(damaged("a length of an unknown form")),
        }
    }

    /// Takes what is before the next of these bytes, and that byte.
    pub fn take_until(&mut self, end: u8) -> Result<&'f [u8], Error> {
        let at = self.0.iter().position(|b| *b == end).ok_or_else(ends)?;
        let taken = self.take(at)?;
        self.take(1)?;
        Ok(taken)
    }
}

/// Text that the server wrote in UTF-8.
pub fn utf8(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
