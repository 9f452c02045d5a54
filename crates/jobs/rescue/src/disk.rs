//! The bytes of a file on a disk that may fail: what cannot be read is taken as damaged, and the rest is read.

use base::Cancel;
use innodb::read::Bytes;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is read at once where a larger piece cannot be, in bytes: no page is smaller.
const BLOCK: usize = 4096;

/// What stands in the place of bytes that cannot be read: no checksum fits it, and it is not empty.
const UNREADABLE: u8 = 0xee;

/// A file.
pub struct Disk {
    file: File,
    cancel: Cancel,
    unreadable: AtomicU64,
}

impl Disk {
    /// A file that is open for reading.
    pub fn new(file: File, cancel: &Cancel) -> Disk {
        Disk {
            file,
            cancel: cancel.clone(),
            unreadable: AtomicU64::new(0),
        }
    }

    /// Blocks that the disk did not give, each time that they were asked for.
    pub fn unreadable(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }
}

impl Bytes for Disk {
    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<()> {
        if self.cancel.is_raised() {
            return Err(ErrorKind::Interrupted.into());
        }
        let lost = fill(|at, to| self.file.read_exact_at(to, at), at, to)?;
        self.unreadable.fetch_add(lost, Ordering::Relaxed);
        Ok(())
    }
}

/// Whether a disk failed, and not the way to it.
fn is_of_disk(e: &io::Error) -> bool {
    /// `EIO`, on every system that this is for.
    const EIO: i32 = 5;
    e.raw_os_error() == Some(EIO)
}

/// Reads; returns how many blocks could not be.
fn fill(
    read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
    at: u64,
    to: &mut [u8],
) -> io::Result<u64> {
    match read(at, to) {
        Err(e) if is_of_disk(&e) => {}
        other => return other.map(|()| 0),
    }
    let mut lost = 0;
    for (n, block) in to.chunks_mut(BLOCK).enumerate() {
        match read(at + (n * BLOCK) as u64, block) {
            Ok(()) => {}
            Err(e) if is_of_disk(&e) => {
                block.fill(UNREADABLE);
                lost += 1;
            }
            Err(e) => return Err(e),
        }
    }
    Ok(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_cannot_be_read_are_marked() {
        let bad = 3 * BLOCK as u64..4 * BLOCK as u64;
        let read = |at: u64, to: &mut [u8]| {
            if at < bad.end && at + to.len() as u64 > bad.start {
                return Err(io::Error::from_raw_os_error(5));
            }
            to.fill(1);
            Ok(())
        };
        let mut to = vec![0; 8 * BLOCK];
        assert_eq!(fill(read, 0, &mut to).expect("the rest"), 1);
        let wanted = |n: usize| if n == 3 { UNREADABLE } else { 1 };
        for (n, block) in to.chunks(BLOCK).enumerate() {
            assert!(block.iter().all(|b| *b == wanted(n)), "{n}");
        }
        let gone = |_: u64, _: &mut [u8]| Err(io::Error::from(ErrorKind::UnexpectedEof));
        assert!(fill(gone, 0, &mut to).is_err());
    }
}
