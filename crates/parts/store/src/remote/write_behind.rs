//! Writing a file of another host: pieces are on their way while the next one is filled. The number of
//! pieces on their way is bounded, so memory is, and a slow far side makes the writer wait.

use super::{Link, Task, joined, runtime, wait};
use base::RateLimiter;
use bytes::Bytes;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Collects bytes into pieces, and keeps some of them on their way.
pub(crate) struct WriteBehind {
    limiter: Option<Arc<RateLimiter>>,
    link: Arc<Link>,
    filling: Vec<u8>,
    /// Bytes of a piece.
    piece: usize,
    /// Pieces on their way at a time.
    depth: usize,
    behind: VecDeque<JoinHandle<io::Result<()>>>,
    taken: u64,
    /// An earlier piece failed: nothing more is taken.
    failed: bool,
}

impl WriteBehind {
    pub(crate) fn new(
        link: &Arc<Link>,
        limiter: Option<Arc<RateLimiter>>,
        (piece, depth): (usize, usize),
    ) -> Self {
        Self {
            link: Arc::clone(link),
            limiter,
            filling: Vec::new(),
            piece,
            depth,
            behind: VecDeque::new(),
            taken: 0,
            failed: false,
        }
    }

    /// The link whose waiting is counted.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// From now on nobody waits: what is left happens beside the writer.
    pub(crate) fn uncounted(&mut self) {
        self.link = Arc::default();
    }

    /// Bytes taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// From now on pieces are of this size.
    pub(crate) fn set_piece(&mut self, bytes: usize) {
        self.piece = bytes;
    }

    /// Takes some of the bytes. A full piece is passed to `send` with its offset when more bytes come, so that
    /// the last piece of a file is never empty and a file of one piece can be treated apart.
    pub(crate) fn write(
        &mut self,
        bytes: &[u8],
        send: impl FnOnce(Bytes, u64) -> io::Result<Task<()>>,
    ) -> io::Result<usize> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.filling.len() == self.piece {
            self.pass_on(send)?;
        }
        let room = self.piece - self.filling.len();
        let mut n = bytes.len().min(room);
        if let Some(limiter) = &self.limiter {
            n = limiter.acquire(n);
            if n == 0 {
                self.failed = true;
                return Err(io::Error::other("the run was stopped"));
            }
        }
        if self.filling.capacity() < self.filling.len() + n {
            // Doubling beyond a piece would waste memory in every writer.
            let want = (self.filling.capacity() * 2).clamp(self.filling.len() + n, self.piece);
            self.filling.reserve_exact(want - self.filling.len());
        }
        self.filling.extend_from_slice(&bytes[..n]);
        self.taken += n as u64;
        Ok(n)
    }

    fn pass_on(&mut self, send: impl FnOnce(Bytes, u64) -> io::Result<Task<()>>) -> io::Result<()> {
        let full = self.behind.len() >= self.depth;
        let first = if full { self.behind.pop_front() } else { None };
        let link = &self.link;
        let waited = first.map_or(Ok(()), |task| joined(link.waiting(|| wait(task))));
        let offset = self.taken - self.filling.len() as u64;
        let piece = Bytes::from(std::mem::take(&mut self.filling));
        let sent = waited.and_then(|()| send(piece, offset));
        self.failed = sent.is_err();
        self.behind.push_back(runtime().spawn(sent?));
        Ok(())
    }

    /// Waits for all pieces on their way; returns the last one, which has not been passed on, with its offset.
    pub(crate) fn finish(&mut self) -> io::Result<(Bytes, u64)> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        // What is finished takes no more.
        self.failed = true;
        while let Some(task) = self.behind.pop_front() {
            joined(self.link.waiting(|| wait(task)))?;
        }
        let last = Bytes::from(std::mem::take(&mut self.filling));
        let offset = self.taken - last.len() as u64;
        Ok((last, offset))
    }

    /// Gives up what is on its way.
    pub(crate) fn abort(&mut self) {
        self.failed = true;
        for task in self.behind.drain(..) {
            task.abort();
        }
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.abort();
    }
}
