//! The rate limit at the socket: what a connection receives, or what it sends, is
//! taken from the run's rate limiter, byte for byte as it is on the wire.
//!
//! Invariants: no more is read from (written to) the kernel than was granted, and
//! nothing is granted before the kernel has it (has room for it), so that a silent
//! server keeps no share of the rate. The kernel's buffers are kept small: their
//! size follows the rate.
//!
//! The bytes of a connection are only counted until its owner says that it may
//! wait: a connection that takes locks must never wait.

use base::RateLimiter;
use rustix::net::sockopt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The direction in which bytes are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server, as in a dump.
    Received,
    /// To the server, as in a load.
    Sent,
}

/// The limiter of a connection.
#[derive(Clone, Debug)]
pub struct Limited {
    /// The limiter of the run.
    pub limiter: Arc<RateLimiter>,
    /// Which bytes are counted.
    pub counts: Direction,
    /// Whether bytes wait for the limiter after the login, or are only counted;
    /// [`crate::Conn::set_limited`] changes it.
    pub waits: bool,
}

impl Limited {
    /// What is received from the server is counted.
    pub fn received(gate: &Arc<RateLimiter>) -> Limited {
        Limited {
            limiter: gate.clone(),
            counts: Direction::Received,
            waits: false,
        }
    }

    /// What is sent to the server is counted.
    pub fn sent(gate: &Arc<RateLimiter>) -> Limited {
        Limited {
            counts: Direction::Sent,
            ..Limited::received(gate)
        }
    }
}

/// The smallest useful buffer, in bytes as given to the kernel, which doubles them. A window of less than a segment
/// (9000 bytes at most on a wire) is only used when a timer runs out.
const SMALLEST: usize = 8 * 1024;

/// The same on the loopback interface, whose segments are of 64 KiB.
const SMALLEST_LOOPBACK: usize = 40 * 1024;

/// A larger buffer is no faster, in bytes.
const LARGEST: usize = 4 << 20;

/// What is between the two ends of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Nothing but the kernel.
    Unix,
    /// The kernel, as if it were a network.
    Loopback,
    /// A network.
    Network,
}

/// A socket's side of the rate limit.
#[derive(Debug)]
pub(crate) struct SocketLimiter {
    gate: Arc<RateLimiter>,
    counts: Direction,
    waits: bool,
    /// The limiter's version that the buffers are sized for.
    version: u64,
    /// The buffer was reduced.
    sized: bool,
    /// Time spent waiting for the limiter.
    held: Duration,
}

impl SocketLimiter {
    pub(crate) fn new(gated: &Limited) -> SocketLimiter {
        SocketLimiter {
            gate: gated.limiter.clone(),
            counts: gated.counts,
            waits: false,
            version: u64::MAX,
            sized: false,
            held: Duration::ZERO,
        }
    }

    /// Whether bytes of this direction must be granted before they pass.
    #[inline]
    pub(crate) fn limits(&self, direction: Direction) -> bool {
        self.waits && self.counts == direction && (self.sized || !self.gate.is_open())
    }

    /// Counts bytes that passed without a grant.
    #[inline]
    pub(crate) fn count(&self, direction: Direction, n: usize) {
        if self.counts == direction {
            self.gate.charge(n);
        }
    }

    pub(crate) fn set_waits(&mut self, waits: bool) {
        if waits != self.waits {
            self.waits = waits;
            self.gate.add_source(waits);
        }
    }

    pub(crate) fn held(&self) -> Duration {
        self.held
    }

    /// Waits until some of `want` bytes may pass.
    pub(crate) fn take(&mut self, want: usize) -> io::Result<usize> {
        let began = Instant::now();
        let n = self.gate.acquire(want);
        self.held += began.elapsed();
        if n == 0 && want > 0 {
            return Err(io::Error::other("the run was stopped"));
        }
        Ok(n)
    }

    pub(crate) fn give_back(&self, n: usize) {
        self.gate.give_back(n);
    }

    /// Whether the rate, or the number of those who share it, has changed since the buffer was sized.
    pub(crate) fn is_outdated(&self) -> bool {
        self.gate.version() != self.version
    }

    /// Sets the kernel's buffer to what may be buffered under the current rate.
    ///
    /// After the connection is open, never before: the window of a connection that
    /// was opened with a small buffer stays small for good. A unix socket keeps its
    /// bytes in the sender's buffer, so for receiving there is nothing to set here.
    pub(crate) fn size_buffer(&mut self, socket: BorrowedFd<'_>, road: Transport) {
        self.version = self.gate.version();
        let size = match self.gate.read_ahead().map(|n| n / 2) {
            Some(n) if n < LARGEST && road == Transport::Loopback => n.max(SMALLEST_LOOPBACK),
            Some(n) if n < LARGEST => n.max(SMALLEST),
            _ if self.sized => LARGEST, // as much as the system allows
            _ => return,
        };
        self.sized = size < LARGEST;
        // If the kernel refuses, its own sizes apply: the flow is less even, but the total is the same.
        let _ = match self.counts {
            Direction::Received if road == Transport::Unix => Ok(()),
            Direction::Received => sockopt::set_socket_recv_buffer_size(socket, size),
            Direction::Sent => sockopt::set_socket_send_buffer_size(socket, size),
        };
    }
}

impl Drop for SocketLimiter {
    fn drop(&mut self) {
        self.set_waits(false);
    }
}
