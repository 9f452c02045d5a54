//! The file that is built, on its way to the disk.
//!
//! Every page is checked as it passes, by a reader that knows nothing of how it
//! was built; at the end, whether they make a whole file. Where the server reads
//! its files around the system's cache, they are written around it too: in the
//! cache they would take memory from others, and nobody would look for them
//! there. A thread of the file's own writes then, so that whoever builds does not
//! wait for the disk.

use crate::run::Stop;
use base::{Counters, failpoint};
use crossbeam_channel::{Receiver, Sender, bounded};
use innodb::build::Sink;
use innodb::check::{Error, Written};
use innodb::page::SIZE;
use std::fs::File;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};
use store::direct::{self, BLOCK, Block};

/// Blocks of a file that may wait for the disk, besides those that are being filled.
const WAITING: usize = 2;

/// Takes the pages of a file.
pub struct Out<'a> {
    file: Arc<File>,
    /// Around the cache.
    ahead: Option<Ahead>,
    check: Written<'a>,
    stop: &'a Stop<'a>,
    counters: &'a Counters,
}

impl<'a> Out<'a> {
    /// Into this file, around the cache (`direct`) or through it; pages come from so many threads at once.
    pub fn new(
        file: File,
        direct: bool,
        threads: usize,
        check: Written<'a>,
        stop: &'a Stop<'a>,
        counters: &'a Counters,
    ) -> io::Result<Out<'a>> {
        let file = Arc::new(file);
        // A file system that cannot do it says so here, or at the first write.
        let direct = direct && direct::set(&file, true).is_ok();
        let ahead = direct.then(|| Ahead::start(Arc::clone(&file), threads + WAITING));
        Ok(Out {
            ahead: ahead.transpose()?,
            file,
            check,
            stop,
            counters,
        })
    }

    /// All pages were given, and the file has so many: the file, and what is wrong with it, if anything.
    pub fn end(mut self, pages: u32) -> io::Result<(Arc<File>, Option<String>)> {
        if let Some(ahead) = &mut self.ahead {
            ahead.end()?;
        }
        self.file.set_len(u64::from(pages) * SIZE as u64)?;
        let doubt = match self.check.end(pages) {
            Ok(report) if report.is_whole() => {
                let unknown = report.indexes.iter().any(|i| i.unordered > 0);
                unknown.then(|| "has records whose order is not known".to_owned())
            }
            Ok(report) => report
                .problems
                .first()
                .map(|(page, what)| format!("is not whole: page {page}: {what}")),
            Err(Error::Io(e)) => return Err(e),
            Err(e) => Some(format!("is not whole: {e}")),
        };
        Ok((self.file, doubt))
    }
}

impl Sink for Out<'_> {
    fn write(&self, page: u32, bytes: &[u8]) -> io::Result<()> {
        if self.stop.asked() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let bytes = failpoint::passed("pages are written", bytes);
        self.check.pages(page, &bytes);
        self.counters.stored.add(bytes.len() as u64);
        match &self.ahead {
            Some(ahead) => ahead.write(page, &bytes),
            None => Sink::write(&*self.file, page, &bytes),
        }
    }
}

/// The thread that writes, and the blocks that go to it and come back.
struct Ahead {
    full: Option<Sender<(u64, Block)>>,
    free: Receiver<Block>,
    failed: Arc<OnceLock<io::Error>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    fn start(file: Arc<File>, blocks: usize) -> io::Result<Ahead> {
        let (full, next) = bounded::<(u64, Block)>(blocks);
        let (back, free) = bounded(blocks);
        for _ in 0..blocks {
            // Empty, and without room until it is needed.
            let _ = back.send(Block::default());
        }
        let failed = Arc::new(OnceLock::new());
        let told = Arc::clone(&failed);
        let thread = Builder::new().name("write".into()).spawn(move || {
            for (offset, mut block) in next {
                // Behind a write that failed blocks only come back, so that nobody waits for one.
                if told.get().is_none()
                    && let Err(e) = direct::write_all_at(&file, block.filled(), offset)
                {
                    let _ = told.set(e);
                }
                block.clear();
                let _ = back.send(block);
            }
        })?;
        Ok(Ahead {
            full: Some(full),
            free,
            failed,
            thread: Some(thread),
        })
    }

    fn write(&self, page: u32, bytes: &[u8]) -> io::Result<()> {
        let mut offset = u64::from(page) * SIZE as u64;
        for piece in bytes.chunks(BLOCK) {
            self.is_well()?;
            let ended = || io::Error::other("the thread that writes ended early");
            let mut block = self.free.recv().map_err(|_| ended())?;
            block.fill(piece);
            let full = self.full.as_ref().ok_or_else(ended)?;
            full.send((offset, block)).map_err(|_| ended())?;
            offset += piece.len() as u64;
        }
        Ok(())
    }

    /// Fails as a write did; every thread that builds gets to know it.
    fn is_well(&self) -> io::Result<()> {
        match self.failed.get() {
            None => Ok(()),
            Some(e) => Err(match e.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(e.kind(), e.to_string()),
            }),
        }
    }

    /// Waits until all is written.
    fn end(&mut self) -> io::Result<()> {
        self.full = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            return Err(io::Error::other("the thread that writes broke off"));
        }
        self.is_well()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Whoever dropped it is already failing for a better reason.
        let _ = self.end();
    }
}
