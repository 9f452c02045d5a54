//! Reading a file of another host: a few pieces are requested ahead, so that the distance to that host
//! costs no time, and memory stays bounded.

use super::{Link, Task, joined, runtime, wait};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Reads a file of known size through requests for its pieces.
pub(crate) struct ReadAhead {
    request: Box<dyn Fn(Range<u64>) -> Task<Bytes> + Send>,
    link: Arc<Link>,
    size: u64,
    /// Bytes of a piece.
    piece: u64,
    /// Pieces requested at a time.
    depth: usize,
    /// Where the next request begins.
    next: u64,
    ahead: VecDeque<(u64, JoinHandle<io::Result<Bytes>>)>,
    current: Bytes,
}

impl ReadAhead {
    /// A reader of a file of `size` bytes, the first of which are at hand already.
    pub(crate) fn new(
        (link, size): (&Arc<Link>, u64),
        first: Bytes,
        (piece, depth): (u64, usize),
        request: impl Fn(Range<u64>) -> Task<Bytes> + Send + 'static,
    ) -> Self {
        Self {
            request: Box::new(request),
            link: Arc::clone(link),
            size,
            piece,
            depth,
            next: first.len() as u64,
            ahead: VecDeque::new(),
            current: first,
        }
    }

    fn refill(&mut self) -> io::Result<()> {
        while self.ahead.len() < self.depth && self.next < self.size {
            let end = self.size.min(self.next + self.piece);
            let task = runtime().spawn((self.request)(self.next..end));
            self.ahead.push_back((end - self.next, task));
            self.next = end;
        }
        if let Some((wanted, task)) = self.ahead.pop_front() {
            let piece = joined(self.link.waiting(|| wait(task)))?;
            if piece.len() as u64 != wanted {
                let what = format!(
                    "{} bytes arrived where {wanted} were asked for",
                    piece.len()
                );
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
            self.current = piece;
        }
        Ok(())
    }
}

impl Read for ReadAhead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() {
            self.refill()?;
        }
        let n = out.len().min(self.current.len());
        out[..n].copy_from_slice(&self.current.split_to(n));
        Ok(n)
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        for (_, task) in &self.ahead {
            task.abort();
        }
    }
}
