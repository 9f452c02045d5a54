//! A proxy in front of a server that counts every byte that passes, when, and in which direction:
//! limits are verified by it and not by penstock's own figures.
//!
//! It has a thread for each direction of each connection. What it counts to the client has reached
//! the client's kernel: over a unix socket, whatever was written, through a buffer of [`BUFFER`]
//! bytes; over TCP, what was acknowledged, however much waits to be sent. What it counts to the
//! server has left the client's machine.

use crate::{Error, Result};
use rustix::net::sockopt;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use wire::Endpoint;

/// Bytes that are copied at a time, and that the kernel may hold between the proxy and a client on
/// a unix socket.
pub const BUFFER: usize = 16 * 1024;

/// Time of one entry in a [`Tally`].
const SLOT: Duration = Duration::from_millis(10);

/// Bytes of one direction, in slots of 10 ms since the proxy started.
#[derive(Clone, Debug, Default)]
pub struct Tally(Vec<u64>);

impl Tally {
    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Bytes in the last `time` before now, which is `until` after the beginning.
    pub fn last(&self, until: Duration, time: Duration) -> u64 {
        let (from, to) = (slot(until.saturating_sub(time)), slot(until));
        let part = self.0.get(from.min(self.0.len())..to.min(self.0.len()));
        part.map_or(0, |p| p.iter().sum())
    }

    /// The part in which data flows at `rate` (bytes per second): from the first to the last 100 ms
    /// in which at least half of it passes.
    pub fn flow(&self, rate: u64) -> Flow {
        const STEP: usize = 10;
        let enough = rate / 10 / 2;
        let steps: Vec<u64> = self.0.chunks(STEP).map(|c| c.iter().sum()).collect();
        let first = steps.iter().position(|n| *n >= enough).unwrap_or(0);
        let last = steps.iter().rposition(|n| *n >= enough).unwrap_or(0);
        let to = (last * STEP).max(first * STEP);
        Flow(self.0[first * STEP..to.min(self.0.len())].to_vec())
    }

    /// As [`Tally::flow`], but from the very first byte on, whatever it belongs to.
    pub fn all(&self) -> Flow {
        let first = self.0.iter().position(|n| *n > 0).unwrap_or(0);
        Flow(self.0[first..].to_vec())
    }
}

/// A part of a tally.
#[derive(Clone, Debug)]
pub struct Flow(Vec<u64>);

impl Flow {
    /// Its length.
    pub fn seconds(&self) -> f64 {
        self.0.len() as f64 * SLOT.as_secs_f64()
    }

    /// Bytes per second over all of it.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<u64>() as f64 / self.seconds().max(SLOT.as_secs_f64())
    }

    /// Bytes per second in the slowest and in the fastest `window` that lies within it, at every 10
    /// ms; `None` if it is shorter than one.
    pub fn windows(&self, window: Duration) -> Option<(f64, f64)> {
        let sums = self
            .0
            .windows(slot(window).max(1))
            .map(|w| w.iter().sum::<u64>());
        let (least, most) = sums.fold(None, |seen: Option<(u64, u64)>, sum| {
            let (least, most) = seen.unwrap_or((sum, sum));
            Some((least.min(sum), most.max(sum)))
        })?;
        let seconds = window.as_secs_f64();
        Some((least as f64 / seconds, most as f64 / seconds))
    }
}

fn slot(time: Duration) -> usize {
    (time.as_nanos() / SLOT.as_nanos()) as usize
}

/// What all threads share.
#[derive(Debug)]
struct Counts {
    begin: Instant,
    to_client: Mutex<Tally>,
    to_server: Mutex<Tally>,
    /// Connections over TCP, whose bytes are counted as they are acknowledged.
    watched: Mutex<Vec<Watched>>,
    open: AtomicU64,
    /// Both ends of every connection, to break it.
    ends: Mutex<Vec<Pipe>>,
    /// Nothing passes.
    down: AtomicBool,
    stop: AtomicBool,
}

/// A TCP connection to a client.
#[derive(Debug)]
struct Watched {
    client: Pipe,
    written: Arc<AtomicU64>,
    counted: u64,
}

impl Watched {
    /// Bytes that the client's kernel has received since the last look.
    fn news(&mut self) -> u64 {
        // In this order: bytes written between the two calls are not yet taken for received.
        let written = self.written.load(Ordering::SeqCst);
        let waiting = self.client.unacknowledged().unwrap_or(0);
        let got = written.saturating_sub(waiting).max(self.counted);
        got - std::mem::replace(&mut self.counted, got)
    }
}

impl Counts {
    fn ends(&self) -> std::sync::MutexGuard<'_, Vec<Pipe>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at all TCP connections; `done` is closed, and everything was sent to it.
    fn look(&self, done: Option<&Arc<AtomicU64>>) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let mut news: u64 = watched.iter_mut().map(Watched::news).sum();
        if let Some(done) = done {
            watched.retain(|w| {
                let gone = Arc::ptr_eq(&w.written, done);
                if gone {
                    news += w.written.load(Ordering::SeqCst) - w.counted;
                }
                !gone
            });
        }
        if news > 0 {
            self.add(&self.to_client, news as usize);
        }
    }

    fn add(&self, tally: &Mutex<Tally>, n: usize) {
        let at = slot(self.begin.elapsed());
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        if tally.0.len() <= at {
            tally.0.resize(at + 1, 0);
        }
        tally.0[at] += n as u64;
    }
}

/// A running proxy; it takes no more connections once dropped.
#[derive(Debug)]
pub struct Proxy {
    listens: Endpoint,
    counts: Arc<Counts>,
}

impl Proxy {
    /// Listens on a unix socket of this path.
    pub fn unix(path: &Path, server: &Endpoint) -> Result<Proxy> {
        let listener = UnixListener::bind(path).map_err(Error::doing(path.display()))?;
        let accept = move || Ok(Pipe::Unix(listener.accept()?.0));
        Ok(Self::run(Endpoint::Unix(path.to_owned()), server, accept))
    }

    /// Listens on a free port of 127.0.0.1.
    pub fn tcp(server: &Endpoint) -> Result<Proxy> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let accept = move || Ok(Pipe::Tcp(listener.accept()?.0));
        let listens = Endpoint::Tcp("127.0.0.1".into(), port);
        Ok(Self::run(listens, server, accept))
    }

    fn run(
        listens: Endpoint,
        server: &Endpoint,
        accept: impl Fn() -> std::io::Result<Pipe> + Send + 'static,
    ) -> Proxy {
        let counts = Arc::new(Counts {
            begin: Instant::now(),
            to_client: Mutex::default(),
            to_server: Mutex::default(),
            watched: Mutex::default(),
            open: AtomicU64::new(0),
            ends: Mutex::default(),
            down: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let shared = counts.clone();
        thread::spawn(move || {
            while !shared.stop.load(Ordering::SeqCst) {
                shared.look(None);
                thread::sleep(SLOT / 2);
            }
        });
        let (shared, server) = (counts.clone(), server.clone());
        thread::spawn(move || {
            while let Ok(client) = accept() {
                if shared.stop.load(Ordering::SeqCst) {
                    return;
                }
                if shared.down.load(Ordering::SeqCst) {
                    client.shutdown(Shutdown::Both);
                    continue;
                }
                let (counts, server) = (shared.clone(), server.clone());
                thread::spawn(move || {
                    counts.open.fetch_add(1, Ordering::SeqCst);
                    // A connection that breaks ends; the two sides notice.
                    let _ = carry(client, &server, &counts);
                    counts.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Proxy { listens, counts }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.listens
    }

    /// The path of its socket; panics if it listens on a port.
    pub fn socket(&self) -> PathBuf {
        match &self.listens {
            Endpoint::Unix(path) => path.clone(),
            Endpoint::Tcp(..) => panic!("a proxy on a port has no path"),
        }
    }

    /// Its port; panics if it listens on a unix socket.
    pub fn port(&self) -> u16 {
        match &self.listens {
            Endpoint::Tcp(_, port) => *port,
            Endpoint::Unix(_) => panic!("a proxy on a path has no port"),
        }
    }

    /// Time since it began.
    pub fn now(&self) -> Duration {
        self.counts.begin.elapsed()
    }

    /// What clients were sent so far.
    pub fn to_client(&self) -> Tally {
        copy(&self.counts.to_client)
    }

    /// What the server was sent so far.
    pub fn to_server(&self) -> Tally {
        copy(&self.counts.to_server)
    }

    /// Breaks every connection, and each new one, until [`Proxy::mend`].
    pub fn cut(&self) {
        self.counts.down.store(true, Ordering::SeqCst);
        let ends = std::mem::take(&mut *self.counts.ends());
        for end in ends {
            end.shutdown(Shutdown::Both);
        }
    }

    /// Lets connections pass again.
    pub fn mend(&self) {
        self.counts.down.store(false, Ordering::SeqCst);
    }

    /// Connections that are open.
    pub fn connections(&self) -> u64 {
        self.counts.open.load(Ordering::SeqCst)
    }
}

fn copy(tally: &Mutex<Tally>) -> Tally {
    tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.counts.stop.store(true, Ordering::SeqCst);
        // A connection of our own wakes the listener.
        let _ = Pipe::dial(&self.listens);
        if let Endpoint::Unix(path) = &self.listens {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Copies bytes both ways until both sides are done.
fn carry(client: Pipe, server: &Endpoint, counts: &Arc<Counts>) -> std::io::Result<()> {
    client.small()?;
    let server = Pipe::dial(server)?;
    counts.ends().extend([client.again()?, server.again()?]);
    // It may have been cut between the two.
    if counts.down.load(Ordering::SeqCst) {
        client.shutdown(Shutdown::Both);
        server.shutdown(Shutdown::Both);
        return Ok(());
    }
    let (mut from, mut to) = (client.again()?, server.again()?);
    let shared = counts.clone();
    let up = thread::spawn(move || {
        let done = copy_counted(&mut from, &mut to, |n| shared.add(&shared.to_server, n));
        to.shutdown(Shutdown::Write);
        done
    });
    let (mut from, mut to) = (server, client);
    let down = match &to {
        Pipe::Unix(_) => copy_counted(&mut from, &mut to, |n| counts.add(&counts.to_client, n)),
        Pipe::Tcp(_) => {
            let written = Arc::new(AtomicU64::new(0));
            let watched = Watched {
                client: to.again()?,
                written: written.clone(),
                counted: 0,
            };
            let list = counts.watched.lock();
            list.unwrap_or_else(PoisonError::into_inner).push(watched);
            let sum = |n| {
                written.fetch_add(n as u64, Ordering::SeqCst);
            };
            let done = copy_counted(&mut from, &mut to, sum);
            counts.look(Some(&written));
            done
        }
    };
    to.shutdown(Shutdown::Both);
    from.shutdown(Shutdown::Both);
    let _ = up.join();
    down
}

/// Counts what the other side's kernel has taken.
fn copy_counted(from: &mut Pipe, to: &mut Pipe, count: impl Fn(usize)) -> std::io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        let mut rest = &buffer[..n];
        while !rest.is_empty() {
            let written = to.write(rest)?;
            count(written);
            rest = &rest[written..];
        }
    }
}

/// One side of a connection.
#[derive(Debug)]
enum Pipe {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Pipe {
    fn dial(to: &Endpoint) -> std::io::Result<Pipe> {
        Ok(match to {
            Endpoint::Tcp(host, port) => Pipe::Tcp(TcpStream::connect((host.as_str(), *port))?),
            Endpoint::Unix(path) => Pipe::Unix(UnixStream::connect(path)?),
        })
    }

    fn again(&self) -> std::io::Result<Pipe> {
        Ok(match self {
            Pipe::Tcp(s) => Pipe::Tcp(s.try_clone()?),
            Pipe::Unix(s) => Pipe::Unix(s.try_clone()?),
        })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Pipe::Tcp(s) => s.as_fd(),
            Pipe::Unix(s) => s.as_fd(),
        }
    }

    /// Buffers that hide nothing; the kernel doubles the given size. Small buffers would make TCP
    /// crawl: an acknowledgement waits for a full segment, and on the loopback that is larger.
    fn small(&self) -> std::io::Result<()> {
        match self {
            Pipe::Tcp(s) => s.set_nodelay(true),
            Pipe::Unix(_) => {
                sockopt::set_socket_send_buffer_size(self.fd(), BUFFER / 2)?;
                Ok(sockopt::set_socket_recv_buffer_size(self.fd(), BUFFER / 2)?)
            }
        }
    }

    /// Bytes that were written and that the other side has not acknowledged.
    fn unacknowledged(&self) -> std::io::Result<u64> {
        // SIOCOUTQ of tcp(7), which has the number of TIOCOUTQ.
        const SIOCOUTQ: rustix::ioctl::Opcode = 0x5411;
        // SAFETY: for a socket this request writes one int to where the argument
        // points, and a `Getter` of `c_int` has room for exactly that.
        #[allow(unsafe_code, reason = "rustix has no call for this request")]
        let n = unsafe {
            let get = rustix::ioctl::Getter::<SIOCOUTQ, std::ffi::c_int>::new();
            rustix::ioctl::ioctl(self.fd(), get)?
        };
        Ok(u64::try_from(n).unwrap_or(0))
    }

    fn shutdown(&self, how: Shutdown) {
        // A connection that is already closed needs no shutdown.
        let _ = match self {
            Pipe::Tcp(s) => s.shutdown(how),
            Pipe::Unix(s) => s.shutdown(how),
        };
    }
}

impl Read for Pipe {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Pipe::Tcp(s) => s.read(buf),
            Pipe::Unix(s) => s.read(buf),
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        match self {
            Pipe::Tcp(s) => s.write(buf),
            Pipe::Unix(s) => s.write(buf),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_a_steady_flow_and_of_a_burst() {
        let mut slots = vec![0; 30];
        slots.extend([10; 1000]);
        slots[500] = 1010;
        slots.extend([0; 70]);
        let tally = Tally(slots);
        let flow = tally.flow(1000);
        assert!((flow.seconds() - 10.0).abs() < 0.2, "{}", flow.seconds());
        let (least, most) = flow.windows(Duration::from_secs(5)).unwrap();
        assert_eq!((least, most), (1000.0, 1200.0));
        assert_eq!(flow.windows(Duration::from_secs(60)), None);
        assert_eq!(
            tally.last(Duration::from_secs(10), Duration::from_secs(1)),
            1000
        );
        assert_eq!(
            tally.last(Duration::from_secs(99), Duration::from_secs(1)),
            0
        );
        assert_eq!(Tally::default().flow(1000).windows(SLOT), None);
    }
}
