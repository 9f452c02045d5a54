//! Stored pieces back into files.
//!
//! Invariants: a byte of a file counts only after the digests of its piece fit, of the object as stored and of the frames
//! in it; files are new, and lie below the directory that is given.

use crate::manifest::{self, Manifest, Piece};
use crate::piece::{PIECE, read_frames};
use base::units::printable;
use base::{Counters, Error, Kind, Result, failpoint};
use run::state::storage;
use run::{Run, Stop, failure};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, fchown, lchown};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::Store;

/// Where files come from, and go to.
pub(crate) struct Receiving<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) manifest: &'a Manifest,
    pub(crate) to: &'a Path,
    /// Who files belong to, if not to this account.
    pub(crate) owner: Option<u32>,
    pub(crate) threads: usize,
}

impl Receiving<'_> {
    /// Makes all directories and files.
    pub(crate) fn run(&self, run: &Run, counters: &Counters) -> Result<()> {
        make_directories(self.to, &self.manifest.directories, self.owner)?;
        let mut tasks = Vec::new();
        for file in &self.manifest.files {
            let path = self.to.join(&file.path);
            self.make(file).map_err(|e| storage("create", &path, &e))?;
            tasks.extend(
                file.pieces
                    .iter()
                    .enumerate()
                    .map(|(n, piece)| (file, n, piece)),
            );
        }
        tasks.sort_by_key(|(_, _, piece)| std::cmp::Reverse(piece.data));
        counters
            .bytes_expected
            .set(tasks.iter().map(|(_, _, p)| p.data).sum());
        let next = AtomicUsize::new(0);
        run.workers(vec![(); self.threads], |_, (), stop| {
            while let Some((file, n, piece)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.piece(run, file, *n, piece, stop, counters)?;
                failpoint::reached("a piece is restored");
            }
            Ok(())
        })?;
        crate::reflink::sync(self.to)
    }

    fn make(&self, file: &manifest::File) -> io::Result<()> {
        let made = File::options()
            .write(true)
            .create_new(true)
            .mode(file.mode & 0o777 | 0o600)
            .open(self.to.join(&file.path))?;
        made.set_len(file.size)?;
        match self.owner {
            Some(uid) => fchown(&made, Some(uid), None),
            None => Ok(()),
        }
    }

    fn piece(
        &self,
        run: &Run,
        of: &manifest::File,
        number: usize,
        piece: &Piece,
        stop: &Stop<'_>,
        counters: &Counters,
    ) -> Result<()> {
        let path = self.to.join(&of.path);
        let file = File::options()
            .write(true)
            .custom_flags(run::NO_LINK)
            .open(&path)
            .map_err(|e| storage("write", &path, &e))?;
        let from = number as u64 * PIECE;
        let range = (from, (from + PIECE).min(of.size));
        let input = self
            .store
            .open_once(&piece.object)
            .map_err(|e| gone(&piece.object, e))?;
        let mut input = Hashed {
            failed: false,
            inner: input,
            hasher: blake3::Hasher::new(),
        };
        let mut frames = blake3::Hasher::new();
        counters.busy.add(1);
        // What a write says must not be taken for damage of the object.
        let mut failed = None;
        let mut put = |bytes: &[u8], at: u64| {
            if stop.is_requested() || !run.limiter.acquire_all(bytes.len()) {
                failed = Some(run.interrupted());
                return Err(io::Error::other("stopped"));
            }
            counters.bytes.add(bytes.len() as u64);
            file.write_all_at(bytes, at)
                .inspect_err(|e| failed = Some(storage("write", &path, e)))
        };
        let read = match of_zstd(&piece.object) {
            true => zstd::stream::read::Decoder::new(&mut input).and_then(|mut plain| {
                // The window of what penstock writes is smaller; a larger one is somebody else's.
                plain.window_log_max(27)?;
                read_frames(
                    &mut Content {
                        inner: &mut plain,
                        hasher: &mut frames,
                    },
                    range,
                    &mut put,
                )
            }),
            false => {
                let mut content = Content {
                    inner: &mut input,
                    hasher: &mut frames,
                };
                read_frames(&mut content, range, &mut put)
            }
        };
        counters.busy.sub(1);
        stop.release_slot();
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
        // Behind the last frame there may be bytes that nobody has read yet.
        io::copy(&mut input, &mut io::sink())
            .map_err(|e| gone(&piece.object, store::Error::new("read", &piece.object, e)))?;
        let stored = input.hasher.count() == piece.stored.bytes
            && *input.hasher.finalize().to_hex() == *piece.stored.blake3;
        let content = *frames.finalize().to_hex() == *piece.content && data == piece.data;
        counters.stored.add(input.hasher.count());
        if !stored || !content {
            let what = "its bytes are not those that were written";
            return Err(damaged(&piece.object, what));
        }
        Ok(())
    }
}

/// Whether an object is compressed; its name says so.
pub(crate) fn of_zstd(object: &str) -> bool {
    Path::new(object).extension().is_some_and(|e| e == "zst")
}

/// Makes the directories of a data directory.
pub(crate) fn make_directories(to: &Path, all: &[String], owner: Option<u32>) -> Result<()> {
    for below in all {
        let path = to.join(below);
        DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(&path)
            .and_then(|()| match owner {
                Some(uid) => lchown(&path, Some(uid), None),
                None => Ok(()),
            })
            .map_err(|e| storage("create", &path, &e))?;
    }
    fs::metadata(to)
        .map(drop)
        .map_err(|e| storage("read", to, &e))
}

fn gone(object: &str, e: store::Error) -> Error {
    if e.not_found() {
        return damaged(object, "it is missing");
    }
    failure::store("cannot read the snapshot", &e)
}

fn damaged(object: &str, why: &str) -> Error {
    let what = format!("the object {object} of the snapshot is damaged: {why}");
    Error::new(Kind::Archive, printable(&what))
        .hint("nothing was started on the restored files; use another snapshot")
}

/// An object, with the digest of its bytes.
struct Hashed {
    inner: Box<dyn Read + Send>,
    hasher: blake3::Hasher,
    /// Whether the object could not be read.
    failed: bool,
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
