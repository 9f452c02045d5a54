//! Files into a store: pieces by several threads, each with its digests.
//!
//! Invariants: a file is read while nothing changes it, or its size would not fit and the run ends; pages that were read
//! leave the page cache, which is the server's.

use crate::files::{DataFile, Listing};
use crate::manifest::{self, Piece};
use crate::piece::{PIECE, write_frames};
use archive::FileRecord;
use archive::chunk::Compression;
use base::units::printable;
use base::{Counters, Error, Kind, Result, failpoint};
use run::state::storage;
use run::{Run, Stop, failure};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use store::{Store, Writer};

/// What is sent.
pub(crate) struct Sending<'a> {
    pub(crate) root: &'a Path,
    pub(crate) listing: &'a Listing,
    pub(crate) store: &'a dyn Store,
    pub(crate) compression: Compression,
    pub(crate) threads: usize,
    /// A file that must not be opened again, and its descriptor.
    pub(crate) held: Option<(&'a str, Arc<File>)>,
}

/// A part of a file.
struct Task {
    file: usize,
    number: usize,
    range: (u64, u64),
}

impl Sending<'_> {
    /// Sends all files; returns them with their pieces.
    pub(crate) fn run(&self, run: &Run, counters: &Counters) -> Result<Vec<manifest::File>> {
        let mut files = Vec::new();
        let mut tasks = Vec::new();
        for (i, found) in self.listing.files.iter().enumerate() {
            let path = self.root.join(&found.path);
            let meta = path
                .symlink_metadata()
                .map_err(|e| storage("read", &path, &e))?;
            let size = meta.len();
            let pieces =
                (0..size.div_ceil(PIECE)).map(|n| (n * PIECE, ((n + 1) * PIECE).min(size)));
            tasks.extend(pieces.enumerate().map(|(number, range)| Task {
                file: i,
                number,
                range,
            }));
            files.push(manifest::File {
                path: found.path.clone(),
                size,
                mode: meta.permissions().mode() & 0o777,
                pieces: Vec::new(),
            });
        }
        // The largest first, so that no thread has one alone at the end.
        tasks.sort_by_key(|t| std::cmp::Reverse(t.range.1 - t.range.0));
        counters
            .bytes_expected
            .set(files.iter().map(|f| f.size).sum());
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        run.workers(vec![(); self.threads], |_, (), stop| {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(task) = tasks.get(n) else {
                    return Ok(());
                };
                let file = &self.listing.files[task.file];
                let piece = self.piece(run, file, n, task.range, stop, counters)?;
                failpoint::reached("a piece is written");
                base::lock(&done).push((task.file, task.number, piece));
            }
        })?;
        let mut done = base::lock::into_inner(done);
        done.sort_by_key(|(file, number, _)| (*file, *number));
        for (file, _, piece) in done {
            files[file].pieces.push(piece);
        }
        Ok(files)
    }

    fn piece(
        &self,
        run: &Run,
        of: &DataFile,
        number: usize,
        range: (u64, u64),
        stop: &Stop<'_>,
        counters: &Counters,
    ) -> Result<Piece> {
        let path = self.root.join(&of.path);
        let file = match &self.held {
            Some((name, file)) if *name == of.path => Arc::clone(file),
            _ => Arc::new(
                File::options()
                    .read(true)
                    .custom_flags(run::NO_LINK)
                    .open(&path)
                    .map_err(|e| storage("read", &path, &e))?,
            ),
        };
        let ending = if self.compression == Compression::None {
            ""
        } else {
            ".zst"
        };
        let object = format!("{:06}{ending}", number + 1);
        let writing = |e: io::Error| match e.downcast::<Stopped>() {
            Ok(_) => run.interrupted(),
            Err(e) => failure::store(
                "cannot store a piece",
                &store::Error::new("write", &object, e),
            ),
        };
        let out = self
            .store
            .create(&object)
            .map_err(|e| failure::store("cannot store a piece", &e))?;
        let out = Hashed {
            inner: out,
            hasher: blake3::Hasher::new(),
        };
        let mut out = Content {
            out: Out::new(out, self.compression).map_err(writing)?,
            hasher: blake3::Hasher::new(),
        };
        counters.busy.add(1);
        let sent = write_frames(&file, range, &mut out, |n| {
            if stop.is_requested() || !run.limiter.acquire_all(n) {
                return Err(io::Error::other(Stopped));
            }
            counters.bytes.add(n as u64);
            Ok(())
        });
        counters.busy.sub(1);
        stop.release_slot();
        let length = std::num::NonZeroU64::new(range.1 - range.0);
        let _ = rustix::fs::fadvise(&*file, range.0, length, rustix::fs::Advice::DontNeed);
        let data = match sent {
            Ok(data) => data,
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                let what = format!("{} became shorter while it was read", path.display());
                return Err(Error::new(Kind::Failed, printable(&what))
                    .hint("something writes to these files: see that no server uses them"));
            }
            Err(e) => return Err(writing(e)),
        };
        let content = out.hasher.finalize().to_hex().to_string();
        let out = out.out.finish().map_err(writing)?;
        let stored = FileRecord {
            bytes: out.hasher.count(),
            blake3: out.hasher.finalize().to_hex().to_string(),
        };
        counters.stored.add(stored.bytes);
        out.inner
            .finish(false)
            .map_err(|e| failure::store("cannot store a piece", &e))?;
        Ok(Piece {
            object,
            stored,
            data,
            content,
        })
    }
}

/// The run was stopped, on its way through a reader or writer.
#[derive(Debug)]
struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

/// An object, with the digest of its bytes.
struct Hashed {
    inner: Box<dyn Writer>,
    hasher: blake3::Hasher,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Compressed or not.
enum Out {
    Plain(Box<Hashed>),
    Zstd(Box<zstd::stream::write::Encoder<'static, Hashed>>),
}

impl Out {
    fn new(out: Hashed, compression: Compression) -> io::Result<Out> {
        Ok(match compression {
            Compression::Zstd(level) => {
                Out::Zstd(Box::new(zstd::stream::write::Encoder::new(out, level)?))
            }
            Compression::None | Compression::Gzip => Out::Plain(Box::new(out)),
        })
    }

    fn finish(self) -> io::Result<Hashed> {
        match self {
            Out::Plain(out) => Ok(*out),
            Out::Zstd(out) => out.finish(),
        }
    }
}

/// Frames, with their digest.
struct Content {
    out: Out,
    hasher: blake3::Hasher,
}

impl Write for Content {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = match &mut self.out {
            Out::Plain(out) => out.write(bytes)?,
            Out::Zstd(out) => out.write(bytes)?,
        };
        self.hasher.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
