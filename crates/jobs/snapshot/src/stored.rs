//! Stored pieces, read back.
//!
//! Invariant: a piece that is read without an error is what was written: the digest of the object as stored fits, and
//! that of the frames in it, and every frame lies inside of its piece.

use crate::manifest::{self, Piece};
use crate::piece::{PIECE, read_frames};
use base::units::printable;
use base::{Error, Kind, Result};
use run::failure;
use std::io::{self, Read};
use std::path::Path;
use store::Store;

/// Reads the piece with this number of a file, and gives its frames to `put`.
pub(crate) fn read_piece(
    store: &dyn Store,
    of: &manifest::File,
    number: usize,
    piece: &Piece,
    mut put: impl FnMut(&[u8], u64) -> Result<()>,
) -> Result<()> {
    let from = number as u64 * PIECE;
    let range = (from, (from + PIECE).min(of.size));
    let mut input = open(store, piece)?;
    let mut frames = blake3::Hasher::new();
    // What `put` says must not be taken for damage of the object.
    let mut failed = None;
    let mut put = |bytes: &[u8], at: u64| {
        put(bytes, at).map_err(|e| {
            failed = Some(e);
            io::Error::other("stopped")
        })
    };
    let read = match of_zstd(&piece.object) {
        true => zstd::stream::read::Decoder::new(&mut input).and_then(|mut plain| {
            // The window of what penstock writes is smaller; a larger one is another program's.
            plain.window_log_max(27)?;
            let mut content = Content {
                inner: &mut plain,
                hasher: &mut frames,
            };
            read_frames(&mut content, range, &mut put)
        }),
        false => {
            let mut content = Content {
                inner: &mut input,
                hasher: &mut frames,
            };
            read_frames(&mut content, range, &mut put)
        }
    };
    if let Some(e) = failed {
        return Err(e);
    }
    let data = match read {
        Ok(data) => data,
        // What the store itself could not read is not known to be damaged, unless it says so.
        Err(e) if input.failed && e.kind() != io::ErrorKind::InvalidData => {
            let e = store::Error::new("read", &piece.object, e);
            return Err(gone(&piece.object, e));
        }
        Err(e) => return Err(damaged(&piece.object, &e.to_string())),
    };
    input.read_to_end(piece, |_| Ok(()))?;
    if *frames.finalize().to_hex() != *piece.content || data != piece.data {
        return Err(not_as_written(piece));
    }
    Ok(())
}

/// Reads the object of a piece as it is stored; `pass` sees the length of each part, and may stop.
pub(crate) fn read_object(
    store: &dyn Store,
    piece: &Piece,
    pass: impl FnMut(usize) -> Result<()>,
) -> Result<()> {
    open(store, piece)?.read_to_end(piece, pass)
}

fn open(store: &dyn Store, piece: &Piece) -> Result<Hashed> {
    Ok(Hashed {
        inner: store
            .open_once(&piece.object)
            .map_err(|e| gone(&piece.object, e))?,
        hasher: blake3::Hasher::new(),
        failed: false,
    })
}

/// Whether an object is compressed; its name says so.
fn of_zstd(object: &str) -> bool {
    Path::new(object).extension().is_some_and(|e| e == "zst")
}

fn gone(object: &str, e: store::Error) -> Error {
    if e.not_found() {
        return damaged(object, "it is missing");
    }
    failure::store("cannot read the snapshot", &e)
}

fn not_as_written(piece: &Piece) -> Error {
    damaged(&piece.object, "its bytes are not those that were written")
}

fn damaged(object: &str, why: &str) -> Error {
    let what = format!("the object {object} of the snapshot is damaged: {why}");
    Error::new(Kind::Archive, printable(&what)).hint("use another snapshot")
}

/// An object, with the digest of its bytes.
struct Hashed {
    inner: Box<dyn Read + Send>,
    hasher: blake3::Hasher,
    /// Whether the object could not be read.
    failed: bool,
}

impl Hashed {
    /// Reads what is left, and compares all that was read with what was written.
    fn read_to_end(
        mut self,
        piece: &Piece,
        mut pass: impl FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let mut buffer = vec![0; 256 << 10];
        loop {
            match self.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => pass(n)?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::InvalidData => {
                    return Err(damaged(&piece.object, &e.to_string()));
                }
                Err(e) => {
                    let e = store::Error::new("read", &piece.object, e);
                    return Err(gone(&piece.object, e));
                }
            }
        }
        let stored = self.hasher.count() == piece.stored.bytes
            && *self.hasher.finalize().to_hex() == *piece.stored.blake3;
        match stored {
            true => Ok(()),
            false => Err(not_as_written(piece)),
        }
    }
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        self.failed |= matches!(&read, Err(e) if e.kind() != io::ErrorKind::Interrupted);
        let n = read?;
        self.hasher.update(&buffer[..n]);
        Ok(n)
    }
}

/// Frames, with their digest.
struct Content<'a, R> {
    inner: &'a mut R,
    hasher: &'a mut blake3::Hasher,
}

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..n]);
        Ok(n)
    }
}
