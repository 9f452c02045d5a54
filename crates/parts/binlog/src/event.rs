//! Events: the header that each has, and the checksum at its end.
//!
//! Only the bytes are looked at here. What they mean is `body`'s business, and needs the file's [`Description`].

use crate::{Checksum, Description, Error, Result, kind};

/// The first bytes of every file of a binary log.
pub const MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];
/// The first bytes of a file that MySQL has encrypted.
pub(crate) const MAGIC_ENCRYPTED: [u8; 4] = [0xfd, b'b', b'i', b'n'];

/// Length of a header.
pub const HEADER: usize = 19;
/// Length of a checksum.
pub(crate) const SUM: usize = 4;

/// Where the flags of a header are.
pub(crate) const FLAGS: usize = 17;
/// The file was not closed; set in the description of the file that a server writes.
pub const IN_USE: u16 = 0x0001;
/// Made for the stream; not in the file.
pub const ARTIFICIAL: u16 = 0x0020;

/// What stands at the front of every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// When the statement began: seconds since 1970. 0 in events that are made for a stream.
    pub timestamp: u32,
    /// Which kind of event.
    pub kind: kind::Kind,
    /// The server that it was made by.
    pub server_id: u32,
    /// Length in bytes, header and checksum included.
    pub length: u32,
    /// Where the next event begins, in the file; the low 32 bits of it.
    pub end: u32,
    /// See the constants of this module.
    pub flags: u16,
}

impl Header {
    /// Reads a header; at least [`HEADER`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let Some(b) = bytes.first_chunk::<HEADER>() else {
            return Err(Error::malformed("event header", "it ends too early"));
        };
        let u32_at = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let header = Header {
            timestamp: u32_at(0),
            kind: b[4],
            server_id: u32_at(5),
            length: u32_at(9),
            end: u32_at(13),
            flags: u16::from_le_bytes([b[FLAGS], b[FLAGS + 1]]),
        };
        if (header.length as usize) < HEADER {
            let why = format!("a length of {} bytes", header.length);
            return Err(Error::malformed("event header", why));
        }
        Ok(header)
    }

    /// Whether it was made for the stream, and stands in no file.
    pub fn is_artificial(&self) -> bool {
        self.flags & ARTIFICIAL != 0
    }
}

/// A whole event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// What its header says.
    pub header: Header,
    bytes: &'a [u8],
    checksum: Checksum,
}

impl<'a> Event<'a> {
    /// An event that is all of `bytes`, with its checksum verified; `description` is that of its file.
    pub fn parse(bytes: &'a [u8], description: &Description) -> Result<Event<'a>> {
        let header = Header::parse(bytes)?;
        if header.length as usize != bytes.len() {
            let why = format!("{} bytes under a length of {}", bytes.len(), header.length);
            return Err(Error::malformed("event header", why));
        }
        // The description says for itself whether it has one.
        let checksum = match header.kind {
            kind::FORMAT_DESCRIPTION => Description::parse(bytes)?.checksum,
            _ => description.checksum,
        };
        let event = Event {
            header,
            bytes,
            checksum,
        };
        event.verify()?;
        Ok(event)
    }

    /// An event of a stream or a payload whose checksum was verified before, or that has none.
    pub fn without_checksum(bytes: &'a [u8]) -> Result<Event<'a>> {
        let header = Header::parse(bytes)?;
        if header.length as usize != bytes.len() {
            return Err(Error::malformed(
                "event header",
                "the length is not its own",
            ));
        }
        let checksum = Checksum::None;
        Ok(Event {
            header,
            bytes,
            checksum,
        })
    }

    fn verify(&self) -> Result<()> {
        if self.checksum == Checksum::None {
            return Ok(());
        }
        let Some((bytes, stored)) = self.bytes.split_last_chunk::<SUM>() else {
            return Err(Error::malformed("event header", "no room for a checksum"));
        };
        let stored = u32::from_le_bytes(*stored);
        let computed = sum(bytes, self.header.kind, self.header.flags);
        if stored == computed {
            return Ok(());
        }
        Err(Error::Checksum {
            kind: kind::shown(self.header.kind),
            stored,
            computed,
        })
    }

    /// All bytes: header, body, checksum.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// What is between header and checksum.
    pub fn body(&self) -> &'a [u8] {
        let end = match self.checksum {
            Checksum::None => self.bytes.len(),
            Checksum::Crc32 => self.bytes.len() - SUM,
        };
        self.bytes.get(HEADER..end).unwrap_or_default()
    }

    /// Which kind of event it is, in the words of the servers' tools.
    pub fn kind_name(&self) -> String {
        kind::shown(self.header.kind)
    }
}

/// The checksum of an event without its last four bytes. The sum of a description is that of a closed file, because
/// the server takes the mark of an open one away without computing it again.
fn sum(bytes: &[u8], kind: kind::Kind, flags: u16) -> u32 {
    if kind != kind::FORMAT_DESCRIPTION || flags & IN_USE == 0 || bytes.len() < HEADER {
        return crc32fast::hash(bytes);
    }
    let closed = (flags & !IN_USE).to_le_bytes();
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..FLAGS]);
    hasher.update(&closed);
    hasher.update(&bytes[HEADER..]);
    hasher.finalize()
}
