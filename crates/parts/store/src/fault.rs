//! A store that fails on purpose: the N-th operation, or every write short.
//! Tests count the operations of an undisturbed run and then fail each in turn.

use crate::{Entry, Error, Link, Result, Store, Writer};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How a chosen operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Input/output error.
    Io,
    /// No space left on the device.
    Full,
    /// Permission denied; tests that run as root cannot provoke it otherwise.
    Denied,
}

impl Failure {
    fn error(self) -> io::Error {
        match self {
            Failure::Io => rustix::io::Errno::IO.into(),
            Failure::Full => rustix::io::Errno::NOSPC.into(),
            Failure::Denied => rustix::io::Errno::ACCESS.into(),
        }
    }
}

/// A wrapper around another store; clones share the counter.
#[derive(Clone)]
pub struct Fault {
    inner: Arc<dyn Store>,
    plan: Arc<Plan>,
}

struct Plan {
    done: AtomicU64,
    /// 1-based number of the operation that fails; 0 for none.
    fail_at: u64,
    failure: Failure,
    /// Everything after the first failure fails as well.
    sticky: bool,
    short: AtomicBool,
}

impl Plan {
    fn step(&self) -> io::Result<()> {
        let n = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        let hit = self.fail_at != 0 && (n == self.fail_at || (self.sticky && n > self.fail_at));
        if hit {
            Err(self.failure.error())
        } else {
            Ok(())
        }
    }
}

impl Fault {
    /// Counts operations and fails none.
    pub fn counting(inner: Arc<dyn Store>) -> Self {
        Self::failing(inner, 0, Failure::Io, false)
    }

    /// Fails the `fail_at`-th operation (from 1; each write, read, finish and
    /// sync counts), and with `sticky` all that follow.
    pub fn failing(inner: Arc<dyn Store>, fail_at: u64, failure: Failure, sticky: bool) -> Self {
        Self {
            inner,
            plan: Arc::new(Plan {
                done: AtomicU64::new(0),
                fail_at,
                failure,
                sticky,
                short: AtomicBool::new(false),
            }),
        }
    }

    /// From now on each read and write moves at most 7 bytes.
    pub fn short_transfers(self) -> Self {
        self.plan.short.store(true, Ordering::SeqCst);
        self
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.plan.done.load(Ordering::SeqCst)
    }

    fn step(&self, op: &'static str, name: &str) -> Result<()> {
        self.plan.step().map_err(|e| Error::new(op, name, e))
    }
}

impl Store for Fault {
    fn create(&self, name: &str) -> Result<Box<dyn Writer>> {
        self.step("create", name)?;
        Ok(Box::new(FaultWriter {
            inner: self.inner.create(name)?,
            name: name.to_owned(),
            plan: Arc::clone(&self.plan),
        }))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        self.step("open", name)?;
        Ok(Box::new(FaultReader {
            inner: self.inner.open(name)?,
            plan: Arc::clone(&self.plan),
        }))
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        self.step("look at", name)?;
        self.inner.size(name)
    }

    fn list(&self) -> Result<Vec<Entry>> {
        self.step("list", "the store")?;
        self.inner.list()
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.step("remove", name)?;
        self.inner.remove(name)
    }

    fn sync(&self) -> Result<()> {
        self.step("sync", "the store")?;
        self.inner.sync()
    }

    fn complete(&self) -> Result<()> {
        self.step("complete", "the store")?;
        self.inner.complete()
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.step("create", name)?;
        self.inner.put_new(name, bytes)
    }

    fn made_place(&self) -> bool {
        self.inner.made_place()
    }

    fn remove_place(&self) -> Result<()> {
        self.step("remove", "the store")?;
        self.inner.remove_place()
    }

    fn link(&self) -> Option<Arc<Link>> {
        self.inner.link()
    }

    fn describe(&self) -> String {
        format!("{} (failing on purpose)", self.inner.describe())
    }
}

struct FaultWriter {
    inner: Box<dyn Writer>,
    name: String,
    plan: Arc<Plan>,
}

impl Write for FaultWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.plan.step()?;
        let short = self.plan.short.load(Ordering::SeqCst);
        let n = if short {
            bytes.len().min(7)
        } else {
            bytes.len()
        };
        self.inner.write(&bytes[..n])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.plan.step()?;
        self.inner.flush()
    }
}

impl Writer for FaultWriter {
    fn finish(self: Box<Self>, durable: bool) -> Result<u64> {
        self.plan
            .step()
            .map_err(|e| Error::new("finish", &self.name, e))?;
        self.inner.finish(durable)
    }
}

struct FaultReader {
    inner: Box<dyn Read + Send>,
    plan: Arc<Plan>,
}

impl Read for FaultReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.plan.step()?;
        let short = self.plan.short.load(Ordering::SeqCst);
        let n = if short { out.len().min(7) } else { out.len() };
        self.inner.read(&mut out[..n])
    }
}
