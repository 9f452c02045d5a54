//! Large files in large writes, with direct I/O and write-behind.
//!
//! A dump is written once and read much later: in the page cache it would only
//! evict what the server's host needs, and the cache's bookkeeping costs more than
//! the write. And a worker must not wait for the disk while it could read rows: a
//! separate thread writes one block while the next is filled. A file of less than
//! a block gets neither.
//!
//! A disk rate limit applies here, and not where bytes are taken in: otherwise
//! blocks of many files could become full at the same time.

use crate::direct::{self, ALIGNMENT, Ahead, BLOCK, Block};
use base::RateLimiter;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Least that is written at a time under a limit, in bytes.
const PIECE: usize = 64 * 1024;

/// Writes a file in blocks.
pub(super) struct BlockWriter {
    file: Arc<File>,
    gate: Option<Arc<RateLimiter>>,
    block: Block,
    /// From the second block on.
    ahead: Option<Ahead>,
    taken: u64,
    /// A write failed: the file is short.
    failed: bool,
}

impl BlockWriter {
    pub(super) fn new(file: File, gate: Option<Arc<RateLimiter>>) -> Self {
        Self {
            file: Arc::new(file),
            gate,
            block: Block::default(),
            ahead: None,
            taken: 0,
            failed: false,
        }
    }

    /// Passes the full block on, and takes an empty one.
    fn pass_on(&mut self) -> io::Result<()> {
        let ahead = match &mut self.ahead {
            Some(ahead) => ahead,
            None => {
                let gate = self.gate.clone();
                let write = move |file: &File, bytes: &[u8], offset| {
                    write_block(file, gate.as_deref(), bytes, offset)
                };
                let ahead = Ahead::start(Arc::clone(&self.file), write)?;
                self.ahead.insert(ahead)
            }
        };
        let full = std::mem::take(&mut self.block);
        // Only full blocks are written by the thread.
        let passed = ahead.write(full, self.taken - BLOCK as u64);
        let block = passed.and_then(|()| ahead.block());
        self.failed = block.is_err();
        self.block = block?;
        Ok(())
    }

    /// Writes the rest; returns the file and the number of bytes written to it.
    pub(super) fn finish(&mut self) -> io::Result<(Arc<File>, u64)> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        let ahead = self.ahead.take().map_or(Ok(()), |mut ahead| ahead.end());
        let done = ahead.and_then(|()| {
            // The rest is of any size.
            direct::set(&self.file, false)?;
            let rest = self.block.filled();
            let offset = self.taken - rest.len() as u64;
            write_block(&self.file, self.gate.as_deref(), rest, offset)
        });
        self.failed = true; // what was finished takes no more
        done.map(|()| (Arc::clone(&self.file), self.taken))
    }
}

impl Write for BlockWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        if self.block.is_full() {
            self.pass_on()?;
        }
        let n = self.block.fill(bytes);
        self.taken += n as u64;
        Ok(n)
    }

    /// Does nothing: a block is written when it is full, the rest by `finish`.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a block at its offset, no faster than the limiter allows.
fn write_block(
    file: &File,
    gate: Option<&RateLimiter>,
    mut bytes: &[u8],
    mut offset: u64,
) -> io::Result<()> {
    let mut may = 0;
    while !bytes.is_empty() {
        if may == 0 {
            may = admitted(gate, bytes.len())?;
        }
        match file.write_at(&bytes[..may], offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                bytes = &bytes[n..];
                offset += n as u64;
                may -= n;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if direct::is_refused(file, &e) => direct::set(file, false)?,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// How many of the next `want` bytes may be written: all without a limit, else as many as 10 ms bring, in a size that
/// direct I/O can have.
fn admitted(gate: Option<&RateLimiter>, want: usize) -> io::Result<usize> {
    let Some(gate) = gate else {
        return Ok(want);
    };
    let piece = match gate.allowed() {
        None => want,
        Some(rate) => {
            let rate = usize::try_from(rate / 100).unwrap_or(BLOCK);
            let piece = rate.clamp(PIECE, BLOCK) / ALIGNMENT * ALIGNMENT;
            piece.min(want)
        }
    };
    match gate.acquire_all(piece) {
        true => Ok(piece),
        false => Err(io::Error::other("the run was stopped")),
    }
}
