//! A store that only writes: what is put into it goes through a pipe.
//!
//! Invariant: frames are written whole, one at a time, and nothing after an error or after the end. Files written
//! with `put_new` are not sent: they are signs for others who look at the place, and nobody looks at a stream.

use super::{HEAD, Kind, MAGIC, MOST, VERSION, head};
use crate::name::{check_name, check_new_name};
use crate::{Entry, EntryKind, Error, Link, Result, Store, Writer};
use base::RateLimiter;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Bytes of a frame: a few fit into a pipe, and the frame's head costs nothing.
const FRAME: usize = 256 << 10;

/// How often a write that waits for its reader looks whether the run has ended.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// The store.
pub struct Sending(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    limiter: Option<Arc<RateLimiter>>,
    link: Arc<Link>,
}

struct State {
    out: File,
    hasher: blake3::Hasher,
    next: u32,
    /// Files that are whole, with their sizes.
    files: BTreeMap<String, u64>,
    /// Files that are not sent.
    kept: BTreeMap<String, Vec<u8>>,
    /// Nothing more is sent: the end was, or a write failed.
    closed: bool,
}

impl Sending {
    /// A stream into this pipe, file or socket.
    pub fn new(out: OwnedFd, limiter: Option<&Arc<RateLimiter>>) -> io::Result<Sending> {
        let inner = Inner {
            state: Mutex::new(State {
                out: without_waiting(out)?,
                hasher: blake3::Hasher::new(),
                next: 0,
                files: BTreeMap::new(),
                kept: BTreeMap::new(),
                closed: false,
            }),
            limiter: limiter.cloned(),
            link: Arc::default(),
        };
        inner.send(&mut base::lock(&inner.state), MAGIC)?;
        inner.send(&mut base::lock(&inner.state), &[VERSION])?;
        Ok(Sending(Arc::new(inner)))
    }

    /// A stream to standard output.
    pub fn to_stdout(limiter: Option<&Arc<RateLimiter>>) -> io::Result<Sending> {
        // In the place of one that was closed, programs in Rust find this at their start. A caller who wants the
        // null device opens it for writing only.
        let stat = rustix::fs::fstat(io::stdout())?;
        let mode = rustix::fs::fcntl_getfl(io::stdout())? & rustix::fs::OFlags::RWMODE;
        let null = std::fs::metadata("/dev/null").map(|m| std::os::unix::fs::MetadataExt::rdev(&m));
        if null.is_ok_and(|null| null == stat.st_rdev) && mode == rustix::fs::OFlags::RDWR {
            return Err(io::Error::other("it is closed"));
        }
        Sending::new(io::stdout().as_fd().try_clone_to_owned()?, limiter)
    }
}

/// A pipe that is opened once more: a write to it does not wait for the reader, and other users of the same pipe
/// do not notice.
fn without_waiting(out: OwnedFd) -> io::Result<File> {
    use rustix::fs::{FileType, Mode, OFlags};
    use std::os::fd::AsRawFd as _;
    let stat = rustix::fs::fstat(&out)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Fifo {
        let path = format!("/proc/self/fd/{}", out.as_raw_fd());
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(again) = rustix::fs::open(Path::new(&path), flags, Mode::empty()) {
            return Ok(File::from(again));
        }
    }
    Ok(File::from(out))
}

impl Inner {
    /// Writes all of these bytes; the lock keeps frames apart.
    fn send(&self, state: &mut State, bytes: &[u8]) -> io::Result<()> {
        if state.closed {
            return Err(io::Error::other("the stream has ended"));
        }
        state.hasher.update(bytes);
        let done = self.write_all(&mut state.out, bytes);
        state.closed = done.is_err();
        done
    }

    fn write_all(&self, out: &mut File, mut bytes: &[u8]) -> io::Result<()> {
        let mut may = 0;
        while !bytes.is_empty() {
            if may == 0 {
                may = match &self.limiter {
                    Some(limiter) => limiter.acquire(bytes.len()),
                    None => bytes.len(),
                };
            }
            if may == 0 {
                return Err(io::Error::other("the run was stopped"));
            }
            match out.write(&bytes[..may]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    bytes = &bytes[n..];
                    may -= n;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let mut wanted = [PollFd::new(&*out, PollFlags::OUT)];
                    match rustix::event::poll(&mut wanted, Some(&LOOK)) {
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(e) => return Err(e.into()),
                    }
                    let stopped = self.limiter.as_ref().is_some_and(|l| l.has_ended());
                    if stopped {
                        return Err(io::Error::other("the run was stopped"));
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Writes a frame without contents, or with a short one.
    fn frame(&self, kind: Kind, file: u32, bytes: &[u8]) -> io::Result<()> {
        let frame = [&head(kind, file, bytes.len())[..], bytes].concat();
        self.send(&mut base::lock(&self.state), &frame)
    }
}

impl Store for Sending {
    fn create(&self, name: &str) -> Result<Box<dyn Writer>> {
        check_new_name("create", name)?;
        let inner = Arc::clone(&self.0);
        let mut state = base::lock(&self.0.state);
        if state.kept.contains_key(name) || state.files.contains_key(name) {
            // What was sent cannot be replaced.
            return Err(Error::new("create", name, io::ErrorKind::AlreadyExists));
        }
        state.next += 1;
        let file = state.next;
        let frame = [&head(Kind::Begin, file, name.len())[..], name.as_bytes()].concat();
        let sent = inner.send(&mut state, &frame);
        drop(state);
        sent.map_err(|e| Error::new("send", name, e))?;
        Ok(Box::new(Part {
            inner,
            name: name.to_owned(),
            file,
            frame: Vec::new(),
            bytes: 0,
            finished: false,
        }))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>> {
        check_name("open", name)?;
        let state = base::lock(&self.0.state);
        if let Some(bytes) = state.kept.get(name) {
            return Ok(Box::new(Cursor::new(bytes.clone())));
        }
        let why = match state.files.contains_key(name) {
            true => io::Error::new(
                io::ErrorKind::Unsupported,
                "what was sent cannot be read again",
            ),
            false => io::ErrorKind::NotFound.into(),
        };
        Err(Error::new("open", name, why))
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        check_name("look at", name)?;
        let state = base::lock(&self.0.state);
        let kept = state.kept.get(name).map(|bytes| bytes.len() as u64);
        Ok(kept.or_else(|| state.files.get(name).copied()))
    }

    fn list(&self) -> Result<Vec<Entry>> {
        let state = base::lock(&self.0.state);
        let entry = |(name, size): (&String, u64)| Entry {
            name: name.clone(),
            size,
            kind: EntryKind::File,
            modified: None,
        };
        let kept = state.kept.iter().map(|(n, b)| (n, b.len() as u64));
        let files = state.files.iter().map(|(n, size)| (n, *size));
        Ok(kept.chain(files).map(entry).collect())
    }

    fn remove(&self, name: &str) -> Result<()> {
        check_name("remove", name)?;
        let mut state = base::lock(&self.0.state);
        if state.kept.remove(name).is_some() {
            return Ok(());
        }
        if state.files.remove(name).is_none() {
            return Err(Error::new("remove", name, io::ErrorKind::NotFound));
        }
        let frame = [&head(Kind::Remove, 0, name.len())[..], name.as_bytes()].concat();
        let sent = self.0.send(&mut state, &frame);
        sent.map_err(|e| Error::new("remove", name, e))
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn complete(&self) -> Result<()> {
        let mut state = base::lock(&self.0.state);
        let digest = state.hasher.finalize();
        let files = (state.files.len() as u64).to_le_bytes();
        let bytes = [&files[..], digest.as_bytes()].concat();
        let frame = [&head(Kind::End, 0, bytes.len())[..], &bytes].concat();
        let sent = self.0.send(&mut state, &frame);
        state.closed = true;
        sent.map_err(|e| Error::new("send", "the end of the stream", e))
    }

    fn link(&self) -> Option<Arc<Link>> {
        Some(Arc::clone(&self.0.link))
    }

    fn describe(&self) -> String {
        "standard output".to_owned()
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_new_name("create", name)?;
        let mut state = base::lock(&self.0.state);
        if state.kept.contains_key(name) || state.files.contains_key(name) {
            return Err(Error::new("create", name, io::ErrorKind::AlreadyExists));
        }
        state.kept.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }
}

/// A file on its way.
struct Part {
    inner: Arc<Inner>,
    name: String,
    file: u32,
    /// The frame that is being filled, with room for its head.
    frame: Vec<u8>,
    bytes: u64,
    finished: bool,
}

impl Part {
    fn pass_on(&mut self) -> io::Result<()> {
        if self.frame.len() <= HEAD {
            return Ok(());
        }
        let bytes = self.frame.len() - HEAD;
        debug_assert!(bytes <= MOST, "a frame is longer than readers take");
        self.frame[..HEAD].copy_from_slice(&head(Kind::Data, self.file, bytes));
        let inner = &self.inner;
        let send = || inner.send(&mut base::lock(&inner.state), &self.frame);
        let done = inner.link.waiting(send);
        self.frame.truncate(HEAD);
        done
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.frame.is_empty() {
            self.frame.resize(HEAD, 0);
        }
        let room = HEAD + FRAME - self.frame.len();
        let n = bytes.len().min(room);
        self.frame.extend_from_slice(&bytes[..n]);
        self.bytes += n as u64;
        if n == room {
            self.pass_on()?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer for Part {
    fn finish(mut self: Box<Self>, _durable: bool) -> Result<u64> {
        let sent = self
            .pass_on()
            .and_then(|()| self.inner.frame(Kind::Finish, self.file, &[]));
        sent.map_err(|e| Error::new("send", &self.name, e))?;
        self.finished = true;
        let mut state = base::lock(&self.inner.state);
        state.files.insert(self.name.clone(), self.bytes);
        Ok(self.bytes)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.finished {
            // A reader that is gone has nothing to forget.
            let _ = self.inner.frame(Kind::Abandon, self.file, &[]);
        }
    }
}
