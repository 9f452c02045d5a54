//! A file of the log, read out of its segments.
//!
//! While it is read, an archiver may replace segments that it stored for each commit by one that holds them all: see
//! `archiver::growing`. The first of them has become longer then, and the others are gone: the store is listed again.

use crate::kept::{Kept, KeptFile};
use crate::layout::Name;
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
    /// The segments that are left, the next one last.
    left: Vec<Listed>,
    /// Of which file they are.
    of: Option<(u32, String)>,
    now: Option<Current>,
    /// Offset of the next byte.
    at: u64,
    /// Offset behind the last byte that is read.
    end: u64,
}

/// A segment as it was listed.
#[derive(Clone)]
struct Listed {
    name: String,
    start: u64,
    end: u64,
}

struct Current {
    name: String,
    bytes: Box<dyn Read + Send>,
    hasher: blake3::Hasher,
    digest: String,
    length: u64,
    /// Offset behind its last byte.
    end: u64,
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
        let listed = |s: &segment::Head| Listed {
            name: s.name(),
            start: s.start,
            end: s.end,
        };
        let mut left: Vec<Listed> = all.map(listed).collect();
        left.reverse();
        FileBytes {
            store: Arc::clone(&kept.store),
            key: kept.key.clone(),
            at: left.last().map_or(from, |first| from.max(first.start)),
            left,
            of: file.segments.first().map(|h| (h.timeline, h.file.clone())),
            now: None,
            end: file.end(),
        }
    }

    fn open_next(&mut self) -> io::Result<bool> {
        let Some(next) = self.left.pop() else {
            return Ok(false);
        };
        if next.end <= self.at {
            return Ok(true);
        }
        let (start, mut current) = match self.open(&next) {
            Ok(current) => (next.start, current),
            Err(e) => self.holding()?.ok_or_else(|| io::Error::other(e))?,
        };
        let mut skip = self.at.saturating_sub(start);
        let mut buffer = vec![0; 64 << 10];
        while skip > 0 {
            let want = buffer.len().min(skip as usize);
            let n = current.read(&mut buffer[..want])?;
            if n == 0 {
                break;
            }
            skip -= n as u64;
        }
        self.now = Some(current);
        Ok(true)
    }

    fn open(&self, listed: &Listed) -> base::Result<Current> {
        let (head, bytes) = segment::open(&*self.store, &listed.name, self.key.as_deref())?;
        Ok(Current {
            name: listed.name.clone(),
            bytes,
            hasher: blake3::Hasher::new(),
            digest: head.blake3,
            length: head.end - head.start,
            end: head.end,
        })
    }

    /// The segment that holds the next byte by now.
    fn holding(&self) -> io::Result<Option<(u64, Current)>> {
        let entries = self.store.list().map_err(io::Error::other)?;
        let of_file = |name: String| match Name::parse(&name)? {
            Name::Segment {
                timeline,
                file,
                start,
            } => {
                let this = self.of.as_ref().is_some_and(|of| *of == (timeline, file));
                (this && start <= self.at).then_some((start, name))
            }
            _ => None,
        };
        let mut there: Vec<_> = entries
            .into_iter()
            .filter_map(|e| of_file(e.name))
            .collect();
        there.sort();
        for (start, name) in there.into_iter().rev() {
            let listed = Listed {
                name,
                start,
                end: self.at,
            };
            if let Ok(current) = self.open(&listed)
                && current.end > self.at
            {
                return Ok(Some((start, current)));
            }
        }
        Ok(None)
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
                Some(current) => {
                    let mut most = buffer.len();
                    // What has come since it was listed is not asked for.
                    if current.end > self.end {
                        let left = self.end.saturating_sub(self.at);
                        most = most.min(usize::try_from(left).unwrap_or(usize::MAX));
                        if most == 0 {
                            // Its digest is that of all of it.
                            let mut rest = vec![0; 64 << 10];
                            while current.read(&mut rest)? > 0 {}
                            self.now = None;
                            self.left.clear();
                            return Ok(0);
                        }
                    }
                    match current.read(&mut buffer[..most])? {
                        0 => self.now = None,
                        n => {
                            self.at += n as u64;
                            return Ok(n);
                        }
                    }
                }
                None => {
                    if !self.open_next()? {
                        return Ok(0);
                    }
                }
            }
        }
    }
}
