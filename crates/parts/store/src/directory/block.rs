//! Big files in big writes, around the page cache and ahead of whoever makes
//! the bytes.
//!
//! A dump is written once and read much later: in the page cache it would only
//! push out what the server's machine needs, and the cache's bookkeeping costs
//! more than the write. And a worker must not wait for the disk while it could
//! be reading rows: a thread of the file's own writes one block while the next
//! is filled. A file of less than a block gets neither.
//!
//! Where the run has a limit for its disk, what is written goes through that
//! gate here, and not where bytes are taken in: whole blocks of many files could
//! otherwise become full at the same moment.

use crate::direct::{self, ALIGNMENT, BLOCK, Block};
use base::Gate;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Blocks a file may have: one being filled, the others on their way to the disk.
const BLOCKS: usize = 4;

/// Least that is written at a time when a limit holds, in bytes.
const PIECE: usize = 64 * 1024;

/// Writes a file in blocks.
pub(super) struct BlockWriter {
    file: Arc<File>,
    gate: Option<Arc<Gate>>,
    block: Block,
    /// From the second block on.
    ahead: Option<Ahead>,
    taken: u64,
    /// A write failed: the file is short.
    failed: bool,
}

/// The thread that writes, and the blocks that go to it and come back.
struct Ahead {
    full: SyncSender<Block>,
    free: Receiver<Block>,
    /// Blocks made so far.
    made: usize,
    thread: JoinHandle<io::Result<()>>,
}

impl BlockWriter {
    pub(super) fn new(file: File, gate: Option<Arc<Gate>>) -> Self {
        Self {
            file: Arc::new(file),
            gate,
            block: Block::default(),
            ahead: None,
            taken: 0,
            failed: false,
        }
    }

    /// Hands the full block on, and takes an empty one.
    fn pass_on(&mut self) -> io::Result<()> {
        let ahead = match &mut self.ahead {
            Some(ahead) => ahead,
            None => self
                .ahead
                .insert(Ahead::start(Arc::clone(&self.file), self.gate.clone())?),
        };
        let full = std::mem::take(&mut self.block);
        if ahead.full.send(full).is_err() {
            return Err(self.why());
        }
        self.block = if ahead.made < BLOCKS {
            ahead.made += 1;
            Block::default()
        } else {
            match ahead.free.recv() {
                Ok(block) => block,
                Err(_) => return Err(self.why()),
            }
        };
        Ok(())
    }

    /// Waits for the thread.
    fn join(&mut self) -> io::Result<()> {
        let Some(Ahead { full, thread, .. }) = self.ahead.take() else {
            return Ok(());
        };
        drop(full);
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that writes broke off")))
    }

    /// Why the thread has ended.
    fn why(&mut self) -> io::Error {
        self.failed = true;
        let early = || io::Error::other("the thread that writes ended early");
        self.join().err().unwrap_or_else(early)
    }

    /// Writes what is left; returns the file and the bytes that it was given.
    pub(super) fn finish(&mut self) -> io::Result<(Arc<File>, u64)> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        let done = self.join().and_then(|()| {
            direct::set(&self.file, false)?;
            let mut bytes = self.block.filled();
            while !bytes.is_empty() {
                let (now, later) = bytes.split_at(admitted(self.gate.as_deref(), bytes.len())?);
                (&*self.file).write_all(now)?;
                bytes = later;
            }
            Ok(())
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

impl Drop for BlockWriter {
    fn drop(&mut self) {
        // Whoever dropped it is already failing for a better reason.
        let _ = self.join();
    }
}

impl Ahead {
    fn start(file: Arc<File>, gate: Option<Arc<Gate>>) -> io::Result<Self> {
        let (full, blocks) = sync_channel(BLOCKS);
        let (back, free) = sync_channel(BLOCKS);
        let write = move || write_blocks(&file, gate.as_deref(), &blocks, &back);
        let thread = thread::Builder::new().name("write".into()).spawn(write)?;
        Ok(Self {
            full,
            free,
            made: 1,
            thread,
        })
    }
}

/// Writes whole blocks until no more come.
fn write_blocks(
    file: &File,
    gate: Option<&Gate>,
    full: &Receiver<Block>,
    free: &SyncSender<Block>,
) -> io::Result<()> {
    // A file system that cannot do it says so here, or at the first write.
    let _ = direct::set(file, true);
    for mut block in full {
        let mut bytes = block.filled();
        let mut may = 0;
        while !bytes.is_empty() {
            let mut file = file;
            if may == 0 {
                may = admitted(gate, bytes.len())?;
            }
            match file.write(&bytes[..may]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    bytes = &bytes[n..];
                    may -= n;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if direct::is_refused(file, &e) => direct::set(file, false)?,
                Err(e) => return Err(e),
            }
        }
        block.clear();
        // Nobody wants it back at the end.
        let _ = free.send(block);
    }
    Ok(())
}

/// How many of the next `want` bytes may be written: all without a limit, else as many as 10 ms bring, in a size that
/// a write around the page cache can have.
fn admitted(gate: Option<&Gate>, want: usize) -> io::Result<usize> {
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
    let mut got = 0;
    while got < piece {
        match gate.take(piece - got) {
            0 => return Err(io::Error::other("the run was stopped")),
            n => got += n,
        }
    }
    Ok(got)
}
