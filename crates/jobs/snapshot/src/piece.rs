//! How a part of a file is stored: an object of frames, each a range of the file that is no hole.
//!
//! ```text
//! object = zstd or plain: frame*          frame = offset u64 LE (in the file) · length u32 LE · bytes
//! ```
//!
//! Invariants: every byte that is written belongs to a frame that lies inside its piece; frames are in order and do not
//! overlap, so an object can be read with bounded memory, and a hostile one writes nowhere else.

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

/// Bytes of a file in one piece: large enough that objects are few, small enough that several threads work on one file.
pub const PIECE: u64 = 64 << 20;

/// Bytes of a frame, at most.
const FRAME: usize = 1 << 20;

/// The ranges between `from` and `to` that hold data, as the file system knows them; all of it where it does not.
pub(crate) fn data_ranges(file: &File, from: u64, to: u64) -> io::Result<Vec<(u64, u64)>> {
    let mut ranges = Vec::new();
    let mut at = from;
    while at < to {
        let begin = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(begin) => begin.min(to),
            // Nothing but a hole up to the end.
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(vec![(from, to)]),
            Err(e) => return Err(e.into()),
        };
        if begin >= to {
            break;
        }
        let end = rustix::fs::seek(file, SeekFrom::Hole(begin))?.min(to);
        if end <= begin {
            return Err(io::Error::other("the file became shorter"));
        }
        ranges.push((begin, end));
        at = end;
    }
    Ok(ranges)
}

/// Writes the frames of a piece; `pass` sees every frame's length before it is read, and may wait or stop. Returns the
/// bytes of data.
pub(crate) fn write_frames(
    file: &File,
    (from, to): (u64, u64),
    out: &mut impl Write,
    mut pass: impl FnMut(usize) -> io::Result<()>,
) -> io::Result<u64> {
    let mut buffer = vec![0; FRAME];
    let mut data = 0;
    for (begin, end) in data_ranges(file, from, to)? {
        let mut at = begin;
        while at < end {
            let length = (end - at).min(FRAME as u64) as usize;
            pass(length)?;
            file.read_exact_at(&mut buffer[..length], at)?;
            out.write_all(&at.to_le_bytes())?;
            out.write_all(&(length as u32).to_le_bytes())?;
            out.write_all(&buffer[..length])?;
            at += length as u64;
            data += length as u64;
        }
    }
    Ok(data)
}

/// Reads the frames of a piece and gives each to `put`. Returns the bytes of data.
pub(crate) fn read_frames(
    input: &mut impl Read,
    (from, to): (u64, u64),
    mut put: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<u64> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut buffer = vec![0; FRAME];
    let (mut next, mut data) = (from, 0);
    loop {
        let mut head = [0; 12];
        match input.read(&mut head[..1])? {
            0 => return Ok(data),
            _ => input.read_exact(&mut head[1..])?,
        }
        let [o0, o1, o2, o3, o4, o5, o6, o7, l0, l1, l2, l3] = head;
        let at = u64::from_le_bytes([o0, o1, o2, o3, o4, o5, o6, o7]);
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let end = at.checked_add(length as u64);
        if at < next || length == 0 || length > FRAME || end.is_none_or(|end| end > to) {
            return Err(wrong("a frame lies outside of its piece"));
        }
        input.read_exact(&mut buffer[..length])?;
        put(&buffer[..length], at)?;
        next = at + length as u64;
        data += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_stay_holes_and_bytes_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(dir.path().join("a"))
            .unwrap();
        file.set_len(20 << 20).unwrap();
        file.write_all_at(&[7; 5000], 0).unwrap();
        file.write_all_at(&[9; 3 << 20], (8 << 20) + 123).unwrap();
        let mut frames = Vec::new();
        let all = (0, 20 << 20);
        let data = write_frames(&file, all, &mut frames, |_| Ok(())).unwrap();
        assert!(data < 5 << 20, "{data}");
        let mut back = vec![0; 20 << 20];
        let read = read_frames(&mut &frames[..], all, |bytes, at| {
            back[at as usize..][..bytes.len()].copy_from_slice(bytes);
            Ok(())
        });
        assert_eq!(read.unwrap(), data);
        let mut whole = vec![0; 20 << 20];
        file.read_exact_at(&mut whole, 0).unwrap();
        assert!(whole == back);
        // A part of it has only what lies in it.
        let mut part = Vec::new();
        write_frames(&file, (4 << 20, 6 << 20), &mut part, |_| Ok(())).unwrap();
        assert!(part.is_empty());
    }

    #[test]
    fn frames_outside_of_their_piece_are_refused() {
        let frame = |at: u64, length: u32| {
            let mut bytes = at.to_le_bytes().to_vec();
            bytes.extend(length.to_le_bytes());
            bytes.extend(vec![1; length.min(64) as usize]);
            bytes
        };
        let read = |bytes: Vec<u8>| read_frames(&mut &bytes[..], (100, 200), |_, _| Ok(()));
        assert_eq!(read(frame(100, 10)).unwrap(), 10);
        for bad in [
            frame(99, 10),
            frame(195, 10),
            frame(u64::MAX, 10),
            frame(100, 0),
            frame(100, u32::MAX),
            [frame(150, 10), frame(140, 10)].concat(),
            frame(100, 10)[..15].to_vec(),
        ] {
            read(bad).expect_err("refused");
        }
    }
}
