//! A file of the log, read out of its segments.

use crate::kept::{Kept, KeptFile};
use crate::segment;
use encryption::Opening;
use std::io::{self, Read};
use std::sync::Arc;
use store::Store;

/// The bytes of a file from an offset on, to where it is kept. Each segment's digest is compared when its end is
/// reached, so the last bytes that were read before an error are not to be used.
pub struct FileBytes {
    store: Arc<dyn Store>,
    key: Option<Arc<Opening>>,
    /// Names of the segments that are left, the next one last.
    left: Vec<(String, u64)>,
    now: Option<Current>,
    /// Bytes to pass over in the next segment.
    skip: u64,
}

struct Current {
    name: String,
    bytes: Box<dyn Read + Send>,
    hasher: blake3::Hasher,
    digest: String,
    length: u64,
}

impl Kept {
    /// The bytes of a file from an offset on.
    pub fn bytes(&self, file: &KeptFile, from: u64) -> FileBytes {
        FileBytes::new(self, file, from)
    }
}

impl FileBytes {
    fn new(kept: &Kept, file: &KeptFile, from: u64) -> FileBytes {
        let all = file.segments.iter().filter(|s| s.end > from);
        let mut left: Vec<(String, u64)> = all.map(|s| (s.name(), s.start)).collect();
        left.reverse();
        let start = left.last().map_or(from, |(_, start)| *start);
        FileBytes {
            store: Arc::clone(&kept.store),
            key: kept.key.clone(),
            left,
            now: None,
            skip: from.saturating_sub(start),
        }
    }

    fn open_next(&mut self) -> io::Result<bool> {
        let Some((name, _)) = self.left.pop() else {
            return Ok(false);
        };
        let (head, bytes) =
            segment::open(&*self.store, &name, self.key.as_deref()).map_err(io::Error::other)?;
        let mut current = Current {
            name,
            bytes,
            hasher: blake3::Hasher::new(),
            digest: head.blake3,
            length: head.end - head.start,
        };
        let mut buffer = vec![0; 64 << 10];
        while self.skip > 0 {
            let want = buffer.len().min(self.skip as usize);
            let n = current.read(&mut buffer[..want])?;
            if n == 0 {
                break;
            }
            self.skip -= n as u64;
        }
        self.now = Some(current);
        Ok(true)
    }
}

impl Current {
    /// 0 at the end of a segment whose digest is right.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let damaged = |name: &str, why: &str| io::Error::other(segment::damaged(name, why));
        let n = match self.bytes.read(buffer) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Err(e),
            Err(e) => return Err(damaged(&self.name, &e.to_string())),
        };
        self.hasher.update(&buffer[..n]);
        let over = self.hasher.count() > self.length;
        if over || n == 0 && self.hasher.finalize().to_hex().as_str() != self.digest {
            return Err(damaged(
                &self.name,
                "its bytes are not those that were written",
            ));
        }
        Ok(n)
    }
}

impl Read for FileBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match &mut self.now {
                Some(current) => match current.read(buffer)? {
                    0 => self.now = None,
                    n => return Ok(n),
                },
                None => {
                    if !self.open_next()? {
                        return Ok(0);
                    }
                }
            }
        }
    }
}
