//! Walks a file of a binary log from front to back.

use crate::event::{HEADER, IN_USE, MAGIC, MAGIC_ENCRYPTED};
use crate::{Checksum, Description, Error, Event, Header, Result, kind};
use std::io::{self, Read};
use std::path::Path;

/// Longest event that is read. A server's packets end at 1 GiB, and events of rows at about the same.
pub const LONGEST: usize = 1 << 30;

/// Reads the next event into `bytes`; `false` at the end.
pub(crate) fn read_event(from: &mut impl Read, bytes: &mut Vec<u8>, limit: usize) -> Result<bool> {
    bytes.clear();
    from.take(HEADER as u64).read_to_end(bytes)?;
    if bytes.is_empty() {
        return Ok(false);
    }
    if bytes.len() < HEADER {
        return Err(Error::Cut(0));
    }
    let length = Header::parse(bytes)?.length as usize;
    if length > limit {
        let why = format!("a length of {length} bytes, and {limit} are allowed");
        return Err(Error::malformed("event header", why));
    }
    // Grows with what really arrives.
    from.take((length - HEADER) as u64).read_to_end(bytes)?;
    if bytes.len() < length {
        return Err(Error::Cut(0));
    }
    Ok(true)
}

/// Whether a server had the file open to write when it ended: then it asks it when it recovers.
pub fn is_in_use(path: &Path) -> io::Result<bool> {
    // Behind the four bytes of the file, the flags of the first event.
    let mut begin = [0; MAGIC.len() + HEADER];
    std::fs::File::open(path)?.read_exact(&mut begin)?;
    let header = Header::parse(&begin[MAGIC.len()..]);
    Ok(begin.starts_with(&MAGIC) && header.is_ok_and(|h| h.flags & IN_USE != 0))
}

/// A file, event by event, with every checksum verified.
#[derive(Debug)]
pub struct File<R> {
    from: R,
    bytes: Vec<u8>,
    description: Description,
    /// Where the next event begins.
    at: u64,
}

impl<R: Read> File<R> {
    /// A file from its first byte.
    pub fn open(mut from: R) -> Result<File<R>> {
        let mut magic = [0; 4];
        match from.read_exact(&mut magic) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Err(Error::NotALog),
            Err(e) => return Err(e.into()),
        }
        match magic {
            MAGIC => {}
            MAGIC_ENCRYPTED => return Err(Error::Encrypted),
            _ => return Err(Error::NotALog),
        }
        Ok(File {
            from,
            bytes: Vec::new(),
            description: Description::of_stream(Checksum::None),
            at: MAGIC.len() as u64,
        })
    }

    /// A file from an event on that is not its first: `at` is the offset, `description` what the first one says.
    pub fn from(from: R, at: u64, description: Description) -> File<R> {
        File {
            from,
            bytes: Vec::new(),
            description,
            at,
        }
    }

    /// The next event, and where it begins; `None` at the end of the file.
    #[allow(clippy::should_implement_trait)] // The event borrows the buffer.
    pub fn next(&mut self) -> Result<Option<(u64, Event<'_>)>> {
        let at = self.at;
        let more = read_event(&mut self.from, &mut self.bytes, LONGEST);
        match more {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(Error::Cut(_)) => return Err(Error::Cut(at + self.bytes.len() as u64)),
            Err(e) => return Err(e),
        }
        let event = Event::parse(&self.bytes, &self.description)?;
        match event.header.kind {
            kind::FORMAT_DESCRIPTION => self.description = Description::parse(&self.bytes)?,
            kind::START_ENCRYPTION => return Err(Error::Encrypted),
            _ => {}
        }
        self.at += self.bytes.len() as u64;
        Ok(Some((at, event)))
    }

    /// What the first event says; nothing is known before it was read.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Where the next event begins.
    pub fn position(&self) -> u64 {
        self.at
    }
}
