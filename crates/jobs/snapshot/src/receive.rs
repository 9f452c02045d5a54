//! Stored pieces back into files.
//!
//! Invariants: a byte of a file counts only after the digests of its piece fit, of the object as stored and of the frames
//! in it; files are new, and lie below the directory that is given.

use crate::manifest::{self, Manifest, Piece};
use crate::stored::read_piece;
use base::{Counters, Kind, Result, failpoint};
use run::state::storage;
use run::{Run, Stop};
use std::fs::{self, DirBuilder, File};
use std::io;
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
        counters.busy.add(1);
        let read = read_piece(self.store, of, number, piece, |bytes, at| {
            if stop.is_requested() || !run.limiter.acquire_all(bytes.len()) {
                return Err(run.interrupted());
            }
            counters.bytes.add(bytes.len() as u64);
            file.write_all_at(bytes, at)
                .map_err(|e| storage("write", &path, &e))
        });
        counters.busy.sub(1);
        stop.release_slot();
        read.map_err(|e| match e.kind {
            Kind::Archive => {
                e.hint("nothing was started on the restored files; use another snapshot")
            }
            _ => e,
        })?;
        counters.stored.add(piece.stored.bytes);
        Ok(())
    }
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
