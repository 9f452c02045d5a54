//! Direct I/O: writes that bypass the page cache, the memory they need, and the
//! fallback where a file system refuses them.
//!
//! Addresses, sizes and file offsets must be multiples of [`ALIGNMENT`]; the
//! caller takes care of the last two. On other systems than Linux, and where it is
//! refused, files are written through the cache.

#[cfg(target_os = "linux")]
use rustix::fs::{self as rfs, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Bytes of a write; a larger one is no faster.
pub const BLOCK: usize = 1 << 20;

/// No device in use has larger sectors, no page of memory is smaller.
pub const ALIGNMENT: usize = 4096;

/// Switches direct I/O of a file on or off.
#[cfg(target_os = "linux")]
pub fn set(file: &File, on: bool) -> io::Result<()> {
    let mut flags = rfs::fcntl_getfl(file)?;
    if flags.contains(OFlags::DIRECT) != on {
        flags.set(OFlags::DIRECT, on);
        rfs::fcntl_setfl(file, flags)?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn is_set(file: &File) -> bool {
    rfs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

/// Switches direct I/O of a file on or off.
#[cfg(not(target_os = "linux"))]
pub fn set(_: &File, _: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn is_set(_: &File) -> bool {
    false
}

/// Whether a write error may be about direct I/O, not about the file.
pub fn is_refused(file: &File, e: &io::Error) -> bool {
    is_set(file) && e.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error())
}

/// Whether these bytes at this offset can be read or written with direct I/O.
pub fn is_aligned(offset: u64, bytes: &[u8]) -> bool {
    offset.is_multiple_of(ALIGNMENT as u64)
        && bytes.len().is_multiple_of(ALIGNMENT)
        && bytes.as_ptr().align_offset(ALIGNMENT) == 0
}

/// Writes all bytes at this offset; through the cache if direct I/O is refused.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    match file.write_all_at(bytes, offset) {
        Err(e) if is_refused(file, &e) => {
            set(file, false)?;
            file.write_all_at(bytes, offset)
        }
        done => done,
    }
}

/// A buffer for direct I/O: at an address and of a size that are multiples of any
/// device's sectors.
#[derive(Default)]
pub struct Block {
    room: Vec<u8>,
    /// Where the aligned part begins.
    start: usize,
    fill: usize,
}

/// Memory of blocks that are no longer used. Every file has its own blocks, and memory that is new to a process costs as
/// much as filling it several times.
static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Most blocks whose memory is kept.
const SPARES: usize = 4 * BLOCKS;

impl Drop for Block {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.room.is_empty() && spare.len() < SPARES {
            spare.push(std::mem::take(&mut self.room));
        }
    }
}

impl Block {
    /// Takes as many bytes as fit, up to [`BLOCK`]; finds memory at the first ones. Returns how many.
    pub fn fill(&mut self, bytes: &[u8]) -> usize {
        if self.room.is_empty() {
            let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
            self.room = spare.unwrap_or_else(|| vec![0; BLOCK + ALIGNMENT]);
            self.start = self.room.as_ptr().align_offset(ALIGNMENT);
        }
        let n = bytes.len().min(BLOCK - self.fill);
        let at = self.start + self.fill;
        self.room[at..at + n].copy_from_slice(&bytes[..n]);
        self.fill += n;
        n
    }

    /// Whether it is full.
    pub fn is_full(&self) -> bool {
        self.fill == BLOCK
    }

    /// Its bytes.
    pub fn filled(&self) -> &[u8] {
        &self.room[self.start..self.start + self.fill]
    }

    /// Drops its bytes, and keeps its memory.
    pub fn clear(&mut self) {
        self.fill = 0;
    }
}

/// Blocks of a file: those being filled, and those on their way to the disk.
const BLOCKS: usize = 4;

/// A thread that writes blocks of one file with direct I/O while others are filled.
pub struct Ahead {
    full: Option<SyncSender<(Block, u64)>>,
    free: Mutex<Receiver<Block>>,
    failed: Arc<OnceLock<io::Error>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    /// Starts a thread that calls `write` for blocks of this file, each with its offset.
    pub fn start(
        file: Arc<File>,
        mut write: impl FnMut(&File, &[u8], u64) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Ahead> {
        let (full, next) = sync_channel::<(Block, u64)>(BLOCKS);
        // Never full: the caller may have started with its own block, and the thread must not wait for a receiver.
        let (back, free) = channel();
        for _ in 0..BLOCKS {
            // Its memory comes when it is needed.
            let _ = back.send(Block::default());
        }
        let failed = Arc::new(OnceLock::new());
        let told = Arc::clone(&failed);
        let thread = Builder::new().name("write".into()).spawn(move || {
            // A file system that cannot do it says so here, or at the first write.
            let _ = set(&file, true);
            for (mut block, offset) in next {
                // After a failed write blocks only come back, so that no thread waits for one.
                if told.get().is_none()
                    && let Err(e) = write(&file, block.filled(), offset)
                {
                    let _ = told.set(e);
                }
                block.clear();
                // At the end no thread wants it back.
                let _ = back.send(block);
            }
        })?;
        Ok(Ahead {
            full: Some(full),
            free: Mutex::new(free),
            failed,
            thread: Some(thread),
        })
    }

    /// An empty block, as soon as there is one; fails if an earlier write failed.
    pub fn block(&self) -> io::Result<Block> {
        self.is_well()?;
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.recv().map_err(|_| self.ended())
    }

    /// Queues a block for this file offset.
    pub fn write(&self, block: Block, offset: u64) -> io::Result<()> {
        let sent = self.full.as_ref().map(|full| full.send((block, offset)));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(self.ended()),
        }
    }

    /// Waits until all is written; fails if any write failed.
    pub fn end(&mut self) -> io::Result<()> {
        self.full = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            return Err(io::Error::other("the thread that writes broke off"));
        }
        self.is_well()
    }

    fn ended(&self) -> io::Error {
        let early = || io::Error::other("the thread that writes ended early");
        self.is_well().err().unwrap_or_else(early)
    }

    /// Fails if a write failed; every holder of blocks gets the error.
    fn is_well(&self) -> io::Result<()> {
        match self.failed.get() {
            None => Ok(()),
            Some(e) => Err(match e.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(e.kind(), e.to_string()),
            }),
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // The caller that dropped it is already failing for a better reason.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works on any file system: one that refuses direct I/O is written through the cache.
    #[test]
    fn what_is_written_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f");
        let file = File::create_new(&path).expect("a file");
        let _ = set(&file, true);
        let mut block = Block::default();
        assert_eq!(block.fill(&[7; 2 * BLOCK]), BLOCK);
        assert!(block.is_full());
        assert_eq!(block.filled().as_ptr().align_offset(ALIGNMENT), 0);
        write_all_at(&file, block.filled(), BLOCK as u64).expect("written");
        block.clear();
        assert_eq!(block.fill(&[8; ALIGNMENT]), ALIGNMENT);
        write_all_at(&file, block.filled(), 0).expect("written");
        // Unaligned bytes.
        write_all_at(&file, &[9; 100], 3).expect("written all the same");
        let all = std::fs::read(&path).expect("the file");
        assert_eq!(all.len(), 2 * BLOCK);
        assert_eq!((all[0], all[3], all[102], all[103]), (8, 9, 9, 8));
        assert!(all[ALIGNMENT..BLOCK].iter().all(|b| *b == 0));
        assert!(all[BLOCK..].iter().all(|b| *b == 7));
    }

    /// Blocks come from several threads, and each is written at its offset.
    #[test]
    fn blocks_are_written_ahead() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f");
        let file = Arc::new(File::create_new(&path).expect("a file"));
        let mut ahead = Ahead::start(file, write_all_at).expect("a thread");
        std::thread::scope(|scope| {
            for n in 0..3u64 {
                let ahead = &ahead;
                scope.spawn(move || {
                    for i in 0..20 {
                        let mut block = ahead.block().expect("a block");
                        block.fill(&vec![(n * 20 + i) as u8; ALIGNMENT]);
                        let place = (i * 3 + n) * ALIGNMENT as u64;
                        ahead.write(block, place).expect("taken");
                    }
                });
            }
        });
        ahead.end().expect("all written");
        let all = std::fs::read(&path).expect("the file");
        assert_eq!(all.len(), 60 * ALIGNMENT);
        for (at, page) in all.chunks(ALIGNMENT).enumerate() {
            let is = (at % 3 * 20 + at / 3) as u8;
            assert!(page.iter().all(|b| *b == is), "page {at}");
        }
    }

    /// A caller may have started with its own block: it comes back as well, and no thread is left waiting.
    #[test]
    fn more_blocks_than_were_given_out_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = Arc::new(File::create_new(folder.path().join("f")).expect("a file"));
        let mut ahead = Ahead::start(file, write_all_at).expect("a thread");
        let given: Vec<Block> = (0..BLOCKS).map(|_| ahead.block().expect("one")).collect();
        let own = (0..3).map(|_| Block::default());
        for (n, mut block) in (0..).zip(given.into_iter().chain(own)) {
            block.fill(&[1; ALIGNMENT]);
            ahead.write(block, n * ALIGNMENT as u64).expect("taken");
        }
        let (told, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || told.send(ahead.end().is_ok()));
        let ended = ended.recv_timeout(std::time::Duration::from_secs(60));
        assert_eq!(ended, Ok(true), "it waits for ever");
    }

    /// Every holder of blocks gets the error of a failed write, and no thread waits for a block forever.
    #[test]
    fn a_write_that_fails_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = Arc::new(File::create_new(folder.path().join("f")).expect("a file"));
        let full = rustix::io::Errno::NOSPC.raw_os_error();
        let mut ahead = Ahead::start(file, move |_, _, _| Err(io::Error::from_raw_os_error(full)))
            .expect("a thread");
        let failed = (0..100).find_map(|n| {
            let block = match ahead.block() {
                Ok(block) => block,
                Err(e) => return Some(e),
            };
            ahead.write(block, n * BLOCK as u64).err()
        });
        for e in [
            failed.expect("an error"),
            ahead.end().expect_err("an error"),
        ] {
            assert_eq!(e.raw_os_error(), Some(full));
        }
    }
}
