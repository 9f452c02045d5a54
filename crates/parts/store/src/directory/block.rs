//! Writing around the page cache: a buffer that the kernel can take whole
//! blocks from, and the switch for it on an open file.

#[cfg(target_os = "linux")]
use rustix::fs::{self as rfs, OFlags};
use std::fs::File;
use std::io;

/// Bytes on their way to a file, where a write around the page cache can take
/// them from: at an address and of a size that any device's sectors divide.
pub(super) struct Block {
    room: Vec<u8>,
    /// Where the aligned part begins.
    start: usize,
    fill: usize,
}

/// Bytes of a write. From here on a bigger one is no faster.
pub(super) const BLOCK: usize = 1 << 20;

/// No device in use has larger sectors, no page of memory is smaller.
const ALIGNMENT: usize = 4096;

impl Block {
    pub(super) fn new() -> Self {
        Self {
            room: Vec::new(),
            start: 0,
            fill: 0,
        }
    }

    /// Takes as much as it has room for; only the first bytes of a file make it allocate.
    pub(super) fn fill(&mut self, bytes: &[u8]) -> usize {
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

    pub(super) fn is_full(&self) -> bool {
        self.fill == BLOCK
    }

    pub(super) fn filled(&self) -> &[u8] {
        &self.room[self.start..self.start + self.fill]
    }

    pub(super) fn clear(&mut self) {
        self.fill = 0;
    }
}

/// Whether an error may be about the way of writing, not about the file.
pub(super) fn refused_as_direct(e: &io::Error) -> bool {
    e.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error())
}

/// Whether writes go around the page cache. A dump is written once and read
/// much later: in the cache it would only push out what the server's machine
/// needs, and the cache's bookkeeping costs more than the write.
#[cfg(target_os = "linux")]
pub(super) fn set_direct(file: &File, on: bool) -> io::Result<()> {
    let mut flags = rfs::fcntl_getfl(file)?;
    if flags.contains(OFlags::DIRECT) != on {
        flags.set(OFlags::DIRECT, on);
        rfs::fcntl_setfl(file, flags)?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
pub(super) fn is_direct(file: &File) -> bool {
    rfs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn set_direct(_: &File, _: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_direct(_: &File) -> bool {
    false
}
