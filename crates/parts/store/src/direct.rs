//! Writes around the page cache: what they need of memory, and what becomes of
//! them where a file system cannot do it.
//!
//! Addresses, sizes and places in the file have to be multiples of
//! [`ALIGNMENT`]; whoever writes sees to the last two. Elsewhere than on Linux,
//! and where it is refused, files are written through the cache.

#[cfg(target_os = "linux")]
use rustix::fs::{self as rfs, OFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a write. From here on a bigger one is no faster.
pub const BLOCK: usize = 1 << 20;

/// No device in use has larger sectors, no page of memory is smaller.
pub const ALIGNMENT: usize = 4096;

/// Has a file be written around the cache, or through it.
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

/// Has a file be written around the cache, or through it.
#[cfg(not(target_os = "linux"))]
pub fn set(_: &File, _: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn is_set(_: &File) -> bool {
    false
}

/// Whether an error of a write may be about its way around the cache, not about the file.
pub fn is_refused(file: &File, e: &io::Error) -> bool {
    is_set(file) && e.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error())
}

/// Writes all of it at this place; through the cache if the way around it is refused.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    match file.write_all_at(bytes, offset) {
        Err(e) if is_refused(file, &e) => {
            set(file, false)?;
            file.write_all_at(bytes, offset)
        }
        done => done,
    }
}

/// Bytes on their way to a file, where a write around the page cache can take
/// them from: at an address and of a size that any device's sectors divide.
#[derive(Default)]
pub struct Block {
    room: Vec<u8>,
    /// Where the aligned part begins.
    start: usize,
    fill: usize,
}

impl Block {
    /// Takes as much as it has room for, [`BLOCK`] bytes in all; the first bytes make it allocate. Says how much.
    pub fn fill(&mut self, bytes: &[u8]) -> usize {
        if self.room.is_empty() {
            self.room = vec![0; BLOCK + ALIGNMENT];
            self.start = self.room.as_ptr().align_offset(ALIGNMENT);
        }
        let n = bytes.len().min(BLOCK - self.fill);
        let at = self.start + self.fill;
        self.room[at..at + n].copy_from_slice(&bytes[..n]);
        self.fill += n;
        n
    }

    /// Whether it takes no more.
    pub fn is_full(&self) -> bool {
        self.fill == BLOCK
    }

    /// What it has taken.
    pub fn filled(&self) -> &[u8] {
        &self.room[self.start..self.start + self.fill]
    }

    /// Gives its bytes up, and keeps its room.
    pub fn clear(&mut self) {
        self.fill = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On any file system: one that refuses is written through the cache.
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
        // Bytes that lie anywhere.
        write_all_at(&file, &[9; 100], 3).expect("written all the same");
        let all = std::fs::read(&path).expect("the file");
        assert_eq!(all.len(), 2 * BLOCK);
        assert_eq!((all[0], all[3], all[102], all[103]), (8, 9, 9, 8));
        assert!(all[ALIGNMENT..BLOCK].iter().all(|b| *b == 0));
        assert!(all[BLOCK..].iter().all(|b| *b == 7));
    }
}
