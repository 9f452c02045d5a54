//! Events that a source makes for its stream, which stand in no file as they are: for serving a log to replicas.

use crate::event::{ARTIFICIAL, FLAGS, HEADER, IN_USE, SUM};
use crate::{Checksum, Description, Result, kind};

/// Where a description has the time of its server's start.
const CREATED: usize = HEADER + 2 + 50;
/// Where a header has the end of its event.
const END: usize = 13;

/// Says which file, and which offset in it, the next event is from. `checksum` is that of the events before it.
pub fn rotate(server_id: u32, file: &str, offset: u64, checksum: Checksum) -> Vec<u8> {
    let mut body = offset.to_le_bytes().to_vec();
    body.extend_from_slice(file.as_bytes());
    made(kind::ROTATE, server_id, 0, ARTIFICIAL, &body, checksum)
}

/// Says that the source lives, and up to where it has sent.
pub fn heartbeat(server_id: u32, file: &str, offset: u64, checksum: Checksum) -> Vec<u8> {
    // The header has no room for more; replicas compare no further.
    let end = offset as u32;
    made(
        kind::HEARTBEAT,
        server_id,
        end,
        0,
        file.as_bytes(),
        checksum,
    )
}

/// A file's description as a source sends it. `first` if the file's first event follows: then the replica may take it
/// for a start of the source, which ends its temporary tables. Otherwise it must not, nor count its position.
pub fn description(stored: &[u8], first: bool) -> Result<Vec<u8>> {
    let checked = Description::parse(stored)?;
    let mut out = stored.to_vec();
    let flags = u16::from_le_bytes([out[FLAGS], out[FLAGS + 1]]) & !IN_USE;
    out[FLAGS..FLAGS + 2].copy_from_slice(&flags.to_le_bytes());
    if !first {
        out[CREATED..CREATED + 4].fill(0);
        out[END..END + 4].fill(0);
        if checked.knows_checksums() {
            let at = out.len() - SUM;
            let sum = crc32fast::hash(&out[..at]);
            out[at..].copy_from_slice(&sum.to_le_bytes());
        }
    }
    Ok(out)
}

fn made(
    kind: kind::Kind,
    server_id: u32,
    end: u32,
    flags: u16,
    body: &[u8],
    checksum: Checksum,
) -> Vec<u8> {
    let tail = match checksum {
        Checksum::None => 0,
        Checksum::Crc32 => SUM,
    };
    let length = (HEADER + body.len() + tail) as u32;
    let mut out = vec![0; 4];
    out.push(kind);
    out.extend_from_slice(&server_id.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&end.to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(body);
    if checksum == Checksum::Crc32 {
        let sum = crc32fast::hash(&out);
        out.extend_from_slice(&sum.to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;

    fn under(checksum: Checksum) -> Description {
        Description::of_stream(checksum)
    }

    #[test]
    fn made_events_are_whole() {
        for checksum in [Checksum::None, Checksum::Crc32] {
            let offset = (1 << 33) + 5;
            let bytes = heartbeat(7, "binlog.000009", offset, checksum);
            let event = Event::parse(&bytes, &under(checksum)).expect("a heartbeat");
            assert_eq!((event.header.server_id, event.header.end), (7, 5));
            assert_eq!(event.body(), b"binlog.000009");
            let bytes = rotate(7, "binlog.000009", offset, checksum);
            let event = Event::parse(&bytes, &under(checksum)).expect("a rotation");
            assert!(event.header.is_artificial());
            assert_eq!(event.body()[..8], offset.to_le_bytes());
        }
    }

    #[test]
    fn a_description_in_the_middle_is_no_start_of_a_server() {
        let mut body = vec![4, 0];
        let mut version = b"9.7.4".to_vec();
        version.resize(50, 0);
        body.extend_from_slice(&version);
        body.extend_from_slice(&77u32.to_le_bytes());
        body.push(HEADER as u8);
        body.extend_from_slice(&[1; 40]);
        body.push(1);
        let stored = made(kind::FORMAT_DESCRIPTION, 1, 126, 0, &body, Checksum::Crc32);
        let mut open = stored.clone();
        open[FLAGS] |= IN_USE as u8;
        assert_eq!(description(&open, true).expect("a description"), stored);
        let middle = description(&open, false).expect("a description");
        let event = Event::parse(&middle, &under(Checksum::None)).expect("its checksum fits");
        assert_eq!((event.header.end, event.header.flags), (0, 0));
        assert_eq!(Description::parse(&middle).expect("one").created, 0);
        assert!(description(&stored[..40], true).is_err());
        assert!(description(&rotate(1, "a", 4, Checksum::None), true).is_err());
    }
}
