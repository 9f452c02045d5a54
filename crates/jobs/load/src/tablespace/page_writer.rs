//! Writes the pages of a new tablespace to the disk, and checks them on the way.
//!
//! Every page is checked before it is written, by a reader that does not know how it was built; at the end,
//! so is whether the pages make a complete tablespace. Where a server that is stopped for its tablespaces
//! reads them with O_DIRECT, they are written with O_DIRECT too: in the page cache they would take memory
//! from others, and the server would not look for them there. A separate thread for each file does that, so
//! that the builder does not wait for the disk.

use base::{Counters, failpoint};
use innodb::bulk::Sink;
use innodb::check::{Error, Written};
use innodb::page::SIZE;
use run::Stop;
use std::fs::File;
use std::io;
use std::sync::Arc;
use store::direct::{self, Ahead, BLOCK};

/// Takes the pages of a tablespace.
pub struct PageWriter<'a> {
    file: Arc<File>,
    /// Writes with O_DIRECT.
    direct: Option<Ahead>,
    check: Written<'a>,
    stop: &'a Stop<'a>,
    counters: &'a Counters,
}

impl<'a> PageWriter<'a> {
    /// Writes to this file, with O_DIRECT (`direct`) or through the page cache.
    pub fn new(
        file: File,
        direct: bool,
        check: Written<'a>,
        stop: &'a Stop<'a>,
        counters: &'a Counters,
    ) -> PageWriter<'a> {
        let file = Arc::new(file);
        // If no thread can be started, the pages go through the page cache.
        let start = || Ahead::start(Arc::clone(&file), direct::write_all_at).ok();
        PageWriter {
            direct: direct.then(start).flatten(),
            file,
            check,
            stop,
            counters,
        }
    }

    /// All pages were written, and the tablespace has this many. Returns the file, and what is wrong with
    /// it, if anything.
    pub fn end(mut self, pages: u32) -> io::Result<(Arc<File>, Option<String>)> {
        if let Some(direct) = &mut self.direct {
            direct.end()?;
        }
        self.file.set_len(u64::from(pages) * SIZE as u64)?;
        let problem = match self.check.end(pages) {
            Ok(report) if report.is_whole() => {
                let unknown = report.indexes.iter().any(|i| i.unordered > 0);
                unknown.then(|| "has records whose order is not known".to_owned())
            }
            Ok(report) => Some(match report.problems.first() {
                Some((page, what)) => format!("is damaged: page {page}: {what}"),
                None => "is damaged".to_owned(),
            }),
            Err(Error::Io(e)) => return Err(e),
            Err(e) => Some(format!("is damaged: {e}")),
        };
        Ok((self.file, problem))
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
        match &self.direct {
            Some(direct) => {
                let mut offset = u64::from(page) * SIZE as u64;
                for piece in bytes.chunks(BLOCK) {
                    let mut block = direct.block()?;
                    block.fill(piece);
                    direct.write(block, offset)?;
                    offset += piece.len() as u64;
                }
                Ok(())
            }
            None => Sink::write(&*self.file, page, &bytes),
        }
    }
}
