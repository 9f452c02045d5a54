//! A log with group commit, as InnoDB's redo log and the binary log have it: of the sessions that wait, one writes and
//! syncs what all have appended, and the sync ends the waits of all whose bytes it covered.

use super::buffer::Buffer;
use base::{Error, Kind, Result, lock};
use run::Run;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The system call that makes bytes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// fdatasync: bytes, and of the metadata only what is needed to read them.
    Data,
    /// fsync: all metadata, such as the time of the last write.
    All,
}

/// The most that is written at once.
const MOST: usize = 256 << 10;

/// The log.
pub struct Log<'a> {
    file: &'a File,
    size: u64,
    sync: Sync,
    bytes: Buffer,
    state: Mutex<State>,
    flushed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes that were appended and that are durable, since the beginning.
    appended: u64,
    durable: u64,
    flushing: bool,
    failed: bool,
    syncs: u64,
}

impl<'a> Log<'a> {
    /// A log in this file, which has that many bytes and is written round and round.
    pub fn new(file: &'a File, size: u64, sync: Sync, seed: u64) -> Log<'a> {
        Log {
            file,
            size,
            sync,
            bytes: Buffer::new(MOST, seed),
            state: Mutex::default(),
            flushed: Condvar::new(),
        }
    }

    /// Appends that many bytes, a multiple of 512, and waits until they are durable.
    pub fn commit(&self, run: &Run, bytes: usize) -> Result<()> {
        let mut s = lock(&self.state);
        s.appended += bytes.min(MOST / 2) as u64;
        let mine = s.appended;
        while s.durable < mine {
            if s.failed {
                return Err(Error::new(
                    Kind::Storage,
                    "another session could not write the log",
                ));
            }
            if s.flushing {
                // Bounded, so that a stop is noticed where a sync hangs.
                let waited = self.flushed.wait_timeout(s, Duration::from_millis(100));
                s = waited.unwrap_or_else(PoisonError::into_inner).0;
                if run.cancel.is_raised() {
                    return Err(run.interrupted());
                }
                continue;
            }
            s.flushing = true;
            let (from, to) = (s.durable, s.appended.min(s.durable + MOST as u64));
            drop(s);
            let done = self.flush(from, to);
            s = lock(&self.state);
            s.flushing = false;
            s.syncs += 1;
            s.failed = done.is_err();
            if done.is_ok() {
                s.durable = to;
            }
            self.flushed.notify_all();
            done.map_err(|e| Error::new(Kind::Storage, format!("cannot write a log: {e}")))?;
        }
        Ok(())
    }

    fn flush(&self, mut from: u64, to: u64) -> io::Result<()> {
        while from < to {
            let at = from % self.size;
            let n = (to - from).min(self.size - at).min(MOST as u64);
            let length = usize::try_from(n).unwrap_or(MOST);
            self.file.write_all_at(&self.bytes.bytes()[..length], at)?;
            from += n;
        }
        match self.sync {
            Sync::Data => self.file.sync_data(),
            Sync::All => self.file.sync_all(),
        }
    }

    /// How many syncs there were.
    pub fn syncs(&self) -> u64 {
        lock(&self.state).syncs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Cancel;
    use base::events::Silent;
    use std::sync::Arc;

    #[test]
    fn one_sync_serves_all_who_wait() {
        let run = Run::new(Arc::new(Silent), Cancel::new());
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let log = Log::new(&file, 4096, Sync::Data, 1);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..50).for_each(|_| log.commit(&run, 1536).unwrap()));
            }
        });
        let s = lock(&log.state);
        assert_eq!((s.appended, s.durable), (8 * 50 * 1536, 8 * 50 * 1536));
        assert!(s.syncs <= 400 && s.syncs >= 50, "{}", s.syncs);
        assert_eq!(file.metadata().unwrap().len(), 4096, "it goes round");
    }

    #[test]
    fn a_log_that_cannot_be_written_ends_all_waits() {
        let run = Run::new(Arc::new(Silent), Cancel::new());
        let file = File::open("/dev/null").unwrap();
        let log = Log::new(&file, 4096, Sync::All, 1);
        for _ in 0..2 {
            assert_eq!(log.commit(&run, 512).unwrap_err().kind, Kind::Storage);
        }
    }
}
