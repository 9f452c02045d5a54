//! A file on its way to another host, under its partial name until it is whole.
//!
//! The far side answers one request after the other, and one that makes a file durable waits for its disk: all that
//! comes behind it waits too, and when the pipes are full the link stands still. So a large file is made durable
//! every few megabytes, which is over before the pipes are full, and small files are made durable many at a time.
//! Invariant: a file that was finished is durable after the next [`settle`](Unsettled::settle) at the latest.

use super::{DEPTH, Inner, PIECE, io_error, synced};
use crate::name::PARTIAL_SUFFIX;
use crate::remote::{Task, WriteBehind, wait};
use crate::{Error, Result, Writer};
use bytes::Bytes;
use futures_util::future::join_all;
use openssh_sftp_client::error::Error as SftpError;
use openssh_sftp_client::file::File;
use std::io::{self, SeekFrom, Write};
use std::sync::{Arc, Mutex};
use tokio::io::AsyncSeekExt as _;

/// A large file is made durable after so many bytes, again and again. OpenSSH has 2 MiB on its way; while a disk
/// takes this much, a link of 40 MB/s does not run dry.
const SYNC_EVERY: u64 = 4 << 20;

/// Small files that wait to be made durable together; each is open on the far side, which allows a hundred or more.
const MOST_UNSETTLED: usize = 32;

/// Files that are finished and not yet durable.
#[derive(Default)]
pub(super) struct Unsettled(Mutex<Vec<(String, File)>>);

impl Unsettled {
    /// Leaves a file for later.
    fn add(&self, inner: &Inner, name: &str, file: File) -> Result<()> {
        let all = {
            let mut unsettled = base::lock(&self.0);
            unsettled.push((name.to_owned(), file));
            unsettled.len()
        };
        if all < MOST_UNSETTLED {
            return Ok(());
        }
        self.settle(inner)
    }

    /// Makes them durable.
    pub(super) fn settle(&self, inner: &Inner) -> Result<()> {
        let files = std::mem::take(&mut *base::lock(&self.0));
        let settled = files.into_iter().map(|(name, mut file)| async {
            let done = inner.synced(&mut file).await;
            // A close that fails changes nothing of what is durable.
            let _ = file.close().await;
            (name, done)
        });
        for (name, done) in wait(join_all(settled)) {
            done.map_err(|e| inner.fail("sync", &name, &e))?;
        }
        Ok(())
    }
}

/// A file being written under its partial name.
pub(super) struct Partial {
    // The file is closed before the connection.
    bytes: WriteBehind,
    file: Option<File>,
    inner: Arc<Inner>,
    name: String,
    partial: String,
}

/// Sends a piece; makes the file durable behind it if it is time.
fn send(file: &File, piece: Bytes, offset: u64, can_sync: bool) -> io::Result<Task<()>> {
    let mut file = file.clone();
    let end = offset + piece.len() as u64;
    let due = can_sync && offset / SYNC_EVERY != end / SYNC_EVERY;
    Ok(Box::pin(async move {
        file.seek(SeekFrom::Start(offset)).await?;
        let sent = file.write_all_zero_copy(&mut [piece]).await;
        sent.map_err(|e| io_error(&e))?;
        synced(&mut file, due).await.map_err(|e| io_error(&e))
    }))
}

impl Partial {
    pub(super) fn create(inner: &Arc<Inner>, name: &str) -> Result<Self> {
        let partial = format!("{name}{PARTIAL_SUFFIX}");
        let file = inner.link.waiting(|| inner.open_new(&partial))?;
        Ok(Partial {
            bytes: WriteBehind::new(&inner.link, inner.limiter.clone(), (PIECE, DEPTH)),
            inner: Arc::clone(inner),
            name: name.to_owned(),
            partial,
            file: Some(file),
        })
    }

    /// Sends the rest, and gives the file its name.
    fn complete(&mut self, file: &mut File, durable: bool) -> io::Result<()> {
        let (last, offset) = self.bytes.finish()?;
        if !last.is_empty() {
            wait(send(file, last, offset, false)?)?;
        }
        let done = wait(async {
            if durable {
                self.inner.synced(file).await?;
            }
            let size = file.metadata().await?.len();
            let mut fs = self.inner.session.sftp.fs();
            if size == Some(self.bytes.taken()) {
                fs.rename(self.inner.at(&self.partial), self.inner.at(&self.name))
                    .await?;
                return Ok(None);
            }
            Ok(size)
        });
        match done.map_err(|e: SftpError| io_error(&e))? {
            None => Ok(()),
            Some(size) => Err(io::Error::other(format!(
                "the far side holds {size} bytes of the {} that were sent",
                self.bytes.taken()
            ))),
        }
    }

    /// Finishes it; one that need not be durable yet may be made so later.
    fn end(mut self: Box<Self>, durable: bool) -> Result<()> {
        let Some(mut file) = self.file.take() else {
            let why = io::Error::other("the file is closed");
            return Err(Error::new("finish", &self.name, why));
        };
        let later = !durable && self.bytes.taken() <= PIECE as u64;
        if let Err(e) = self.complete(&mut file, !later) {
            // Removed by Drop.
            self.file = Some(file);
            return Err(Error::new("write", &self.name, self.inner.explained(e)));
        }
        // Renamed: nothing is left to remove.
        if later {
            return self.inner.unsettled.add(&self.inner, &self.name, file);
        }
        // A close that fails changes nothing of what is durable.
        let _ = wait(file.close());
        Ok(())
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &self.file else {
            return Err(io::Error::other("the file is closed"));
        };
        let can_sync = self.inner.session.sftp.support_fsync();
        let n = self
            .bytes
            .write(bytes, |piece, offset| send(file, piece, offset, can_sync));
        n.map_err(|e| self.inner.explained(e))
    }

    /// Does nothing: pieces go when they are full, the rest with `finish`.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer for Partial {
    fn finish(mut self: Box<Self>, durable: bool) -> Result<u64> {
        let taken = self.bytes.taken();
        if durable {
            self.end(true)?;
        } else {
            self.bytes.uncounted();
            let inner = Arc::clone(&self.inner);
            let finish = move || self.end(false);
            inner.finishing.begin(&inner.link, taken, finish);
        }
        Ok(taken)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        self.bytes.abort();
        // Best effort: the caller that dropped it is already failing for a better reason.
        let _ = wait(async {
            let _ = file.close().await;
            self.inner
                .session
                .sftp
                .fs()
                .remove_file(self.inner.at(&self.partial))
                .await
        });
    }
}
