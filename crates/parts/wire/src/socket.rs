//! The socket beneath a connection: TCP or unix, opened within a deadline.
//!
//! Until the login is over every read and write is held to one deadline, so a
//! server that drips single bytes cannot stretch the login. Afterwards the
//! kernel's own timeouts apply and a read costs one system call, nothing else,
//! unless it waits for the run's rate limiter.

use crate::limited::{Direction, SocketLimiter, Transport};
use crate::{Endpoint, Error, Limited, Result};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{RecvFlags, SendFlags};
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// An open socket.
#[derive(Debug)]
pub(crate) struct Socket {
    kind: Kind,
    deadline: Option<Instant>,
    /// Longest time a write may be stuck; the kernel knows it, too.
    write_timeout: Option<Duration>,
    toll: Option<SocketLimiter>,
}

#[derive(Debug)]
enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Opens `endpoint`; all traffic is held to `deadline` until [`Socket::settle`].
    pub(crate) fn open(
        endpoint: &Endpoint,
        gated: Option<&Limited>,
        deadline: Instant,
    ) -> Result<Socket> {
        let kind = match endpoint {
            Endpoint::Tcp(host, port) => open_tcp(host, *port, deadline).map(Kind::Tcp),
            Endpoint::Unix(path) => open_unix(path, deadline).map(Kind::Unix),
        };
        let kind = kind.map_err(|source| Error::Connect {
            endpoint: endpoint.to_string(),
            source,
        })?;
        Ok(Socket {
            kind,
            deadline: Some(deadline),
            write_timeout: None,
            toll: gated.map(SocketLimiter::new),
        })
    }

    /// Whether bytes have come that were not read yet.
    pub(crate) fn has_bytes(&self) -> bool {
        let unread = match &self.kind {
            Kind::Tcp(s) => rustix::io::ioctl_fionread(s),
            Kind::Unix(s) => rustix::io::ioctl_fionread(s),
        };
        unread.is_ok_and(|n| n > 0)
    }

    /// Ends the login's deadline; from here on writes may be stuck for `write` at most.
    pub(crate) fn settle(&mut self, write: Option<Duration>) -> io::Result<()> {
        self.deadline = None;
        self.write_timeout = write.filter(|w| !w.is_zero());
        self.read_timeout(None)?;
        self.set_timeout(Timeout::Send, write)
    }

    /// Longest wait of one read from now on; none at all, or zero, waits forever.
    pub(crate) fn read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.set_timeout(Timeout::Recv, limit)
    }

    fn set_timeout(&self, which: Timeout, limit: Option<Duration>) -> io::Result<()> {
        let limit = limit.filter(|l| !l.is_zero());
        Ok(sockopt::set_socket_timeout(self.as_fd(), which, limit)?)
    }

    /// Whether counted bytes wait for the limiter from now on.
    pub(crate) fn wait_at_gate(&mut self, waits: bool) {
        if let Some(toll) = &mut self.toll {
            toll.set_waits(waits);
        }
    }

    /// Time spent waiting for the limiter.
    pub(crate) fn held(&self) -> Duration {
        self.toll
            .as_ref()
            .map_or(Duration::ZERO, SocketLimiter::held)
    }

    /// Shuts both directions down; the peer sees it at once.
    pub(crate) fn shutdown(&self) {
        // A socket that is already dead cannot be shut down, which is as good.
        let _ = match &self.kind {
            Kind::Tcp(s) => s.shutdown(Shutdown::Both),
            Kind::Unix(s) => s.shutdown(Shutdown::Both),
        };
    }

    /// A second handle on the same socket.
    pub(crate) fn try_clone(&self) -> io::Result<Socket> {
        let kind = match &self.kind {
            Kind::Tcp(s) => Kind::Tcp(s.try_clone()?),
            Kind::Unix(s) => Kind::Unix(s.try_clone()?),
        };
        Ok(Socket {
            kind,
            deadline: None,
            write_timeout: None,
            toll: None,
        })
    }

    /// The process behind a unix socket; `None` if it is hidden from this one.
    pub(crate) fn peer_process(&self) -> Option<u32> {
        #[cfg(target_os = "linux")]
        if let Kind::Unix(s) = &self.kind {
            let peer = sockopt::socket_peercred(s).ok()?;
            return u32::try_from(peer.pid.as_raw_nonzero().get()).ok();
        }
        None
    }

    /// Our address and the other end's, if this is TCP.
    pub(crate) fn tcp_addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        match &self.kind {
            Kind::Tcp(s) => Some((s.local_addr().ok()?, s.peer_addr().ok()?)),
            Kind::Unix(_) => None,
        }
    }

    /// Whether this is a unix socket, which cannot be overheard on the network.
    pub(crate) fn is_unix(&self) -> bool {
        matches!(self.kind, Kind::Unix(_))
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        self.kind.fd()
    }

    #[cold]
    fn arm(&self, which: Timeout, deadline: Instant) -> io::Result<()> {
        self.set_timeout(which, Some(left(deadline)?))
    }
}

impl Kind {
    #[inline]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Kind::Tcp(s) => s.read(buf),
            Kind::Unix(s) => s.read(buf),
        }
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Kind::Tcp(s) => s.write_vectored(bufs),
            Kind::Unix(s) => s.write_vectored(bufs),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Kind::Tcp(s) => s.as_fd(),
            Kind::Unix(s) => s.as_fd(),
        }
    }

    fn road(&self) -> Transport {
        match self {
            Kind::Unix(_) => Transport::Unix,
            Kind::Tcp(s) if s.peer_addr().is_ok_and(|a| a.ip().is_loopback()) => {
                Transport::Loopback
            }
            Kind::Tcp(_) => Transport::Network,
        }
    }

    /// Reads what has arrived, as far as the limiter grants it.
    #[cold]
    fn read_gated(&mut self, toll: &mut SocketLimiter, buf: &mut [u8]) -> io::Result<usize> {
        if toll.is_outdated() {
            toll.size_buffer(self.fd(), self.road());
        }
        // Waits for the server with its own timeout, and takes nothing.
        let mut first = [0];
        let (_, seen) = rustix::net::recv(self.fd(), &mut first[..], RecvFlags::PEEK)?;
        if seen == 0 || buf.is_empty() {
            return Ok(0);
        }
        let there = rustix::io::ioctl_fionread(self.fd())?;
        let there = usize::try_from(there).unwrap_or(usize::MAX).max(1);
        let granted = toll.take(there.min(buf.len()))?;
        let read = self.read(&mut buf[..granted]);
        toll.give_back(granted - read.as_ref().map_or(0, |n| *n));
        read
    }

    /// Writes as much as the limiter grants and the kernel has room for.
    #[cold]
    fn write_gated(
        &mut self,
        toll: &mut SocketLimiter,
        timeout: Option<Duration>,
        buf: &[u8],
    ) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        if toll.is_outdated() {
            toll.size_buffer(self.fd(), self.road());
        }
        let timeout = timeout.and_then(|t| Timespec::try_from(t).ok());
        loop {
            let mut polled = [PollFd::from_borrowed_fd(self.fd(), PollFlags::OUT)];
            if rustix::event::poll(&mut polled, timeout.as_ref())? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let granted = toll.take(buf.len())?;
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let sent = rustix::net::send(self.fd(), &buf[..granted], flags);
            toll.give_back(granted - sent.unwrap_or(0));
            match sent {
                Err(rustix::io::Errno::AGAIN) => {}
                done => return Ok(done?),
            }
        }
    }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            self.arm(Timeout::Recv, deadline)?;
        }
        let Some(toll) = &mut self.toll else {
            return self.kind.read(buf);
        };
        if toll.limits(Direction::Received) {
            return self.kind.read_gated(toll, buf);
        }
        let read = self.kind.read(buf);
        toll.count(Direction::Received, read.as_ref().map_or(0, |n| *n));
        read
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buf)])
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            self.arm(Timeout::Send, deadline)?;
        }
        let Some(toll) = &mut self.toll else {
            return self.kind.write_vectored(bufs);
        };
        if toll.limits(Direction::Sent) {
            let Some(first) = bufs.iter().find(|b| !b.is_empty()) else {
                return Ok(0);
            };
            return self.kind.write_gated(toll, self.write_timeout, first);
        }
        let written = self.kind.write_vectored(bufs);
        toll.count(Direction::Sent, written.as_ref().map_or(0, |n| *n));
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Time left until `deadline`; none left is an error, because a zero timeout means "wait forever" to the kernel.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left < Duration::from_micros(1) {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// Tries every address of `host` in turn, as the mysql client does.
fn open_tcp(host: &str, port: u16, deadline: Instant) -> io::Result<TcpStream> {
    // An IPv6 address may come in the brackets of a URI.
    let name = host
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host);
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (name, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(deadline)?) {
            Ok(socket) => {
                // Statements are small and wait for their answer.
                socket.set_nodelay(true)?;
                // A peer that vanished without a FIN must not block a worker forever.
                sockopt::set_socket_keepalive(&socket, true)?;
                return Ok(socket);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// A unix socket whose backlog is full blocks in connect; the send timeout bounds that.
fn open_unix(path: &Path, deadline: Instant) -> io::Result<UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
    let address = SocketAddrUnix::new(path)?;
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, Some(left(deadline)?))?;
    rustix::net::connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
}
