//! An archive as one stream: the files of a store in frames, through a pipe.
//!
//! Several files are written at the same time, so each frame says which one it belongs to. The last frame holds
//! the number of files and a digest of everything before it: without it a stream is cut, and a reader takes
//! nothing that it got for an archive. docs/format.md describes the frames.
//!
//! What this does not do: know what the files are, or resume.

mod receive;
mod send;

pub use receive::{Broken, Received, receive};
pub use send::Sending;

use std::io::{self, BufRead as _};

/// How a stream begins. No text and no compressed file begins with this byte.
const MAGIC: &[u8; 11] = b"\x89penstock\r\n";

/// The version of the format, which follows.
const VERSION: u8 = 1;

/// The most bytes that a frame carries.
const MOST: usize = 1 << 20;

/// Kind, number of the file, and bytes that follow.
const HEAD: usize = 9;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// A file begins; its name follows.
    Begin = 1,
    /// Bytes of a file.
    Data = 2,
    /// A file is whole.
    Finish = 3,
    /// A file was given up.
    Abandon = 4,
    /// A file that is whole is not wanted any more; its name follows.
    Remove = 5,
    /// The end: number of files, and the digest of everything before this frame.
    End = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        use Kind::{Abandon, Begin, Data, End, Finish, Remove};
        [Begin, Data, Finish, Abandon, Remove, End]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// The head of a frame.
fn head(kind: Kind, file: u32, bytes: usize) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = kind as u8;
    head[1..5].copy_from_slice(&file.to_le_bytes());
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    head[5..].copy_from_slice(&bytes.to_le_bytes());
    head
}

/// Whether standard input begins as a stream does. Waits for its first byte, and takes nothing from it.
pub fn is_on_stdin() -> io::Result<bool> {
    let start = io::stdin().lock().fill_buf()?.first().copied();
    Ok(start == Some(MAGIC[0]))
}

/// Whether a file holds a stream.
pub fn is_in(file: &std::path::Path) -> bool {
    let mut start = [0; MAGIC.len()];
    // Opening a pipe would wait for its other end.
    file.is_file()
        && std::fs::File::open(file)
            .and_then(|mut f| io::Read::read_exact(&mut f, &mut start))
            .is_ok_and(|()| start == *MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Directory, EntryKind, Store};
    use std::io::{Read, Write};
    use std::sync::Arc;

    /// What a stream of three files looks like.
    fn sent() -> Vec<u8> {
        let (mut reader, writer) = io::pipe().unwrap();
        let all = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            all
        });
        let store: Arc<dyn Store> = Arc::new(Sending::new(writer.into(), None).unwrap());
        store.put_new("marker", b"m").unwrap();
        let mut one = store.create("one").unwrap();
        let mut two = store.create("two").unwrap();
        let big = vec![7; MOST / 2 + 5];
        one.write_all(b"1").unwrap();
        two.write_all(&big).unwrap();
        one.write_all(b"11").unwrap();
        assert_eq!(one.finish(true).unwrap(), 3);
        let gone = store.create("gone").unwrap();
        drop(gone);
        assert_eq!(two.finish(false).unwrap(), big.len() as u64);
        store.put("three", b"").unwrap();
        store.put("four", b"4").unwrap();
        store.remove("four").unwrap();
        assert_eq!(store.size("two").unwrap(), Some(big.len() as u64));
        assert_eq!(store.size("four").unwrap(), None);
        assert_eq!(store.read_all("marker", 9).unwrap(), b"m");
        assert!(store.open("one").is_err());
        store.complete().unwrap();
        store.remove("marker").unwrap();
        store.sync().unwrap();
        assert!(store.create("late").is_err());
        drop(store);
        all.join().unwrap()
    }

    fn into(bytes: &[u8]) -> (Result<Received, Broken>, Vec<(String, u64)>) {
        let tmp = tempfile::tempdir().unwrap();
        let store = Directory::open(tmp.path()).unwrap();
        let done = receive(&mut &*bytes, &store);
        let all = store.list().unwrap();
        assert!(all.iter().all(|e| e.kind == EntryKind::File));
        let mut all: Vec<_> = all.into_iter().map(|e| (e.name, e.size)).collect();
        all.sort();
        (done, all)
    }

    #[test]
    fn files_arrive() {
        let (done, all) = into(&sent());
        let done = done.unwrap();
        let big = MOST as u64 / 2 + 5;
        assert_eq!((done.files, done.bytes), (3, big + 3));
        let expected = [("one", 3), ("three", 0), ("two", big)];
        assert_eq!(all, expected.map(|(n, s)| (n.to_owned(), s)));
    }

    /// Cut anywhere near a frame's border, and in the middle of each.
    #[test]
    fn a_cut_is_noticed() {
        let all = sent();
        let cuts = (0..200)
            .chain((200..all.len()).step_by(9973))
            .chain(all.len() - 300..all.len());
        for n in cuts {
            let (done, _) = into(&all[..n]);
            assert!(
                matches!(done, Err(Broken::Cut | Broken::NotOne)),
                "{n}: {done:?}"
            );
        }
        let (done, _) = into(&[&all[..], b"x"].concat());
        assert!(matches!(done, Err(Broken::Damaged(_))), "{done:?}");
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let all = sent();
        let places = (0..200)
            .chain((200..all.len()).step_by(99_991))
            .chain(all.len() - 200..all.len());
        for n in places {
            for bit in [0, 3, 7] {
                let mut bad = all.clone();
                bad[n] ^= 1 << bit;
                assert!(into(&bad).0.is_err(), "byte {n}, bit {bit}");
            }
        }
    }

    #[test]
    fn hostile_names_and_lengths_are_refused() {
        let frame = |kind, file, bytes: &[u8]| [&head(kind, file, bytes.len())[..], bytes].concat();
        let start = [&MAGIC[..], &[VERSION]].concat();
        for name in ["../x", "/etc/x", "", ".", "x.dumping"] {
            let (done, all) = into(&[&start[..], &frame(Kind::Begin, 1, name.as_bytes())].concat());
            assert!(matches!(done, Err(Broken::Damaged(_))), "{name}: {done:?}");
            assert!(all.is_empty());
        }
        for frames in [
            frame(Kind::Data, 1, b"x"),
            frame(Kind::Finish, 1, b""),
            frame(Kind::Remove, 0, b"x"),
            [frame(Kind::Begin, 1, b"a"), frame(Kind::Begin, 1, b"b")].concat(),
            [frame(Kind::Begin, 1, b"a"), frame(Kind::Begin, 2, b"a")].concat(),
            head(Kind::Data, 1, MOST + 1).to_vec(),
            [9; HEAD].to_vec(),
        ] {
            let (done, _) = into(&[&start[..], &frames].concat());
            assert!(matches!(done, Err(Broken::Damaged(_))), "{done:?}");
        }
        let later = [&MAGIC[..], &[VERSION + 1]].concat();
        assert!(matches!(into(&later).0, Err(Broken::Version(2))));
        assert!(matches!(into(b"CREATE TABLE").0, Err(Broken::NotOne)));
    }

    #[test]
    fn a_reader_that_is_gone_is_an_error_and_nothing_else_is_sent() {
        let (reader, writer) = io::pipe().unwrap();
        let store = Sending::new(writer.into(), None).unwrap();
        drop(reader);
        let e = store.put("x", b"1").unwrap_err();
        assert_eq!(e.source.kind(), io::ErrorKind::BrokenPipe);
        assert!(store.put("y", b"1").is_err());
        assert!(store.complete().is_err());
    }
}
