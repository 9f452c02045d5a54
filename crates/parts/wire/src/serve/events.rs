//! The few events that a source makes itself, and what it must know of those that it sends.
//!
//! Everything is about format version 4 (MySQL 5.0 and later, all versions of MariaDB): a header of 19 bytes, and at the
//! end four bytes of CRC-32 if the log has checksums.

/// Length of an event's header.
pub const HEADER: usize = 19;
/// Where events begin in a file: after its four magic bytes.
pub const FIRST: u64 = 4;

const ROTATE: u8 = 4;
const FORMAT_DESCRIPTION: u8 = 15;
const HEARTBEAT: u8 = 27;
/// The event is not in any file.
const ARTIFICIAL: u16 = 0x20;
/// The file was not closed when this was written. Not part of the checksum.
const IN_USE: u16 = 0x01;
/// Where the flags are in a header.
const FLAGS: usize = 17;
/// Where the format description has the time of its server's start.
const CREATED: usize = HEADER + 2 + 50;
/// Version, server version, time of start, length of headers.
const FORMAT_FIXED: usize = HEADER + 2 + 50 + 4 + 1;

/// How the events of a log are protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// Not at all.
    #[default]
    None,
    /// Four bytes of CRC-32 after each event.
    Crc32,
}

impl Checksum {
    /// The servers' own word.
    pub fn name(self) -> &'static str {
        match self {
            Checksum::None => "NONE",
            Checksum::Crc32 => "CRC32",
        }
    }
}

/// What an event's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type of the event.
    pub kind: u8,
    /// The server that wrote it first.
    pub server_id: u32,
    /// Its length in bytes, header and checksum included.
    pub len: u32,
    /// Where it ends in its file, modulo 4 GiB.
    pub end: u32,
}

impl Header {
    /// Reads a header.
    pub fn parse(bytes: &[u8; HEADER]) -> Header {
        let u32_at = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Header {
            kind: bytes[4],
            server_id: u32_at(5),
            len: u32_at(9),
            end: u32_at(13),
        }
    }
}

/// A format description event, as it is stored at the beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatDescription {
    bytes: Vec<u8>,
    /// Whether the event has the fields of checksums at all; MySQL 5.5 and older write none.
    knows_checksums: bool,
    checksum: Checksum,
}

impl FormatDescription {
    /// Reads one; the reason when it is none.
    pub fn parse(bytes: Vec<u8>) -> Result<FormatDescription, String> {
        let header = bytes
            .first_chunk::<HEADER>()
            .map(Header::parse)
            .filter(|h| h.kind == FORMAT_DESCRIPTION && h.len as usize == bytes.len())
            .ok_or("the file does not begin with a format description")?;
        if bytes.len() < FORMAT_FIXED || bytes[HEADER] != 4 || bytes[HEADER + 1] != 0 {
            return Err("the file's format is not version 4".to_owned());
        }
        debug_assert_eq!(header.len as usize, bytes.len());
        let mut format = FormatDescription {
            bytes,
            knows_checksums: false,
            checksum: Checksum::None,
        };
        format.knows_checksums = knows_checksums(&format.server_version());
        if format.knows_checksums {
            let at = format
                .bytes
                .len()
                .checked_sub(5)
                .filter(|at| *at >= FORMAT_FIXED)
                .ok_or("the format description is too short")?;
            format.checksum = match format.bytes[at] {
                0 => Checksum::None,
                1 => Checksum::Crc32,
                n => {
                    return Err(format!(
                        "events have checksums of type {n}, which is not known here"
                    ));
                }
            };
        }
        Ok(format)
    }

    /// The version of the server that wrote it.
    pub fn server_version(&self) -> String {
        let text = &self.bytes[HEADER + 2..HEADER + 2 + 50];
        let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
        String::from_utf8_lossy(&text[..end]).into_owned()
    }

    /// How the file's events are protected.
    pub fn checksum(&self) -> Checksum {
        self.checksum
    }

    /// The server that wrote the file.
    pub fn server_id(&self) -> u32 {
        u32::from_le_bytes([self.bytes[5], self.bytes[6], self.bytes[7], self.bytes[8]])
    }

    /// Its length in the file.
    pub fn stored_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The event as a source sends it before the file's first event.
    pub fn from_start(&self) -> Vec<u8> {
        let mut out = self.bytes.clone();
        let flags = u16::from_le_bytes([out[FLAGS], out[FLAGS + 1]]) & !IN_USE;
        out[FLAGS..FLAGS + 2].copy_from_slice(&flags.to_le_bytes());
        out
    }

    /// The event as a source sends it before an event in the middle of the file: the replica must neither take it
    /// for a restart of the source, which would end its temporary tables, nor count its position.
    pub fn from_middle(&self) -> Vec<u8> {
        let mut out = self.from_start();
        out[CREATED..CREATED + 4].fill(0);
        out[13..17].fill(0);
        if self.knows_checksums {
            let at = out.len() - 4;
            let sum = crc32(&out[..at]);
            out[at..].copy_from_slice(&sum.to_le_bytes());
        }
        out
    }
}

/// Whether servers of this version write checksums: MySQL 5.6.1, MariaDB 5.3.
fn knows_checksums(version: &str) -> bool {
    let mut parts = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let version_number = (next(), next(), next());
    let first = if version.contains("MariaDB") {
        (5, 3, 0)
    } else {
        (5, 6, 1)
    };
    version_number >= first
}

/// The event with which a source names the file, and the place in it, that comes next. It is in no file.
pub fn rotate(server_id: u32, file: &[u8], offset: u64, checksum: Checksum) -> Vec<u8> {
    let mut body = offset.to_le_bytes().to_vec();
    body.extend_from_slice(file);
    made(ROTATE, server_id, 0, ARTIFICIAL, &body, checksum)
}

/// The event with which a source says that it lives, and where it is.
pub fn heartbeat(server_id: u32, file: &[u8], offset: u64, checksum: Checksum) -> Vec<u8> {
    // The header has no room for more; replicas compare no further.
    let end = offset as u32;
    made(HEARTBEAT, server_id, end, 0, file, checksum)
}

fn made(kind: u8, server_id: u32, end: u32, flags: u16, body: &[u8], sum: Checksum) -> Vec<u8> {
    let tail = if sum == Checksum::Crc32 { 4 } else { 0 };
    let len = (HEADER + body.len() + tail) as u32;
    let mut out = vec![0; 4];
    out.push(kind);
    out.extend_from_slice(&server_id.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&end.to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(body);
    if sum == Checksum::Crc32 {
        let sum = crc32(&out);
        out.extend_from_slice(&sum.to_le_bytes());
    }
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_know_checksums() {
        for (version, knows) in [
            ("5.5.9-log", false),
            ("5.6.0", false),
            ("5.6.1", true),
            ("9.7.4", true),
            ("5.2.14-MariaDB", false),
            ("10.11.19-MariaDB-log", true),
        ] {
            assert_eq!(knows_checksums(version), knows, "{version}");
        }
    }

    #[test]
    fn a_heartbeat_is_as_long_as_it_says() {
        for sum in [Checksum::None, Checksum::Crc32] {
            let event = heartbeat(7, b"binlog.000009", (1 << 33) + 5, sum);
            let header = Header::parse(event.first_chunk().expect("a header"));
            assert_eq!(header.len as usize, event.len());
            assert_eq!((header.kind, header.server_id, header.end), (27, 7, 5));
        }
    }

    #[test]
    fn what_is_no_format_description_is_refused() {
        assert!(FormatDescription::parse(Vec::new()).is_err());
        assert!(FormatDescription::parse(rotate(1, b"a.1", 4, Checksum::Crc32)).is_err());
        let short = made(FORMAT_DESCRIPTION, 1, 0, 0, &[4, 0], Checksum::None);
        assert!(FormatDescription::parse(short).is_err());
    }
}
