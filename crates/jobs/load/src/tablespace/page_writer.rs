//! The file that is built, on its way to the disk.
//!
//! Every page is checked as it passes, by a reader that knows nothing of how it
//! was built; at the end, whether they make a whole file. Where a server that is
//! stopped for its files reads them around the system's cache, they are written
//! around it too: in the cache they would take memory from others, and nobody
//! would look for them there. A thread of the file's own writes then, so that
//! whoever builds does not wait for the disk.

use base::{Counters, failpoint};
use innodb::build::Sink;
use innodb::check::{Error, Written};
use innodb::page::SIZE;
use run::Stop;
use std::fs::File;
use std::io;
use std::sync::Arc;
use store::direct::{self, Ahead, BLOCK};

/// Takes the pages of a file.
pub struct PageWriter<'a> {
    file: Arc<File>,
    /// Around the cache.
    ahead: Option<Ahead>,
    check: Written<'a>,
    stop: &'a Stop<'a>,
    counters: &'a Counters,
}

impl<'a> PageWriter<'a> {
    /// Into this file, around the cache (`direct`) or through it.
    pub fn new(
        file: File,
        direct: bool,
        check: Written<'a>,
        stop: &'a Stop<'a>,
        counters: &'a Counters,
    ) -> PageWriter<'a> {
        let file = Arc::new(file);
        // Without a thread to be had it goes through the cache.
        let start = || Ahead::start(Arc::clone(&file), direct::write_all_at).ok();
        PageWriter {
            ahead: direct.then(start).flatten(),
            file,
            check,
            stop,
            counters,
        }
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
            Ok(report) => Some(match report.problems.first() {
                Some((page, what)) => format!("is not whole: page {page}: {what}"),
                None => "is not whole".to_owned(),
            }),
            Err(Error::Io(e)) => return Err(e),
            Err(e) => Some(format!("is not whole: {e}")),
        };
        Ok((self.file, doubt))
    }
}

impl Sink for PageWriter<'_> {
    fn goes_on(&self) -> io::Result<()> {
        if self.stop.is_requested() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }

    fn write(&self, page: u32, bytes: &[u8]) -> io::Result<()> {
        self.goes_on()?;
        let bytes = failpoint::passed("pages are written", bytes);
        self.check.pages(page, &bytes);
        self.counters.stored.add(bytes.len() as u64);
        match &self.ahead {
            Some(ahead) => {
                let mut offset = u64::from(page) * SIZE as u64;
                for piece in bytes.chunks(BLOCK) {
                    let mut block = ahead.block()?;
                    block.fill(piece);
                    ahead.write(block, offset)?;
                    offset += piece.len() as u64;
                }
                Ok(())
            }
            None => Sink::write(&*self.file, page, &bytes),
        }
    }
}
