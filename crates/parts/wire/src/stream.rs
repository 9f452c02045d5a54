//! What a connection reads from and writes to: the plain socket, or TLS over it.
//!
//! An enum, not a trait object: the plain case is one predictable branch away
//! from the system call, and reads go straight into the caller's buffer.

use crate::socket::Socket;
use crate::tls::TlsStream;
use std::io::{self, Read, Write};

/// Plain or encrypted bytes.
#[derive(Debug)]
pub(crate) enum Stream {
    /// The socket itself.
    Plain(Socket),
    /// TLS over the socket.
    Tls(Box<TlsStream>),
    /// Only while one of the above turns into the other.
    Gone,
}

impl Stream {
    /// The socket at the bottom, if there is one.
    pub(crate) fn socket(&self) -> Option<&Socket> {
        match self {
            Stream::Plain(s) => Some(s),
            Stream::Tls(t) => Some(t.socket()),
            Stream::Gone => None,
        }
    }

    /// As [`Stream::socket`], to change its settings.
    pub(crate) fn socket_mut(&mut self) -> Option<&mut Socket> {
        match self {
            Stream::Plain(s) => Some(s),
            Stream::Tls(t) => Some(t.socket_mut()),
            Stream::Gone => None,
        }
    }

    /// Whether bytes are encrypted.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// Shuts the socket down in both directions.
    pub(crate) fn shutdown(&self) {
        if let Some(s) = self.socket() {
            s.shutdown();
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the connection is closed")
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(s) => s.read(buf),
            Stream::Tls(t) => t.read(buf),
            Stream::Gone => Err(gone()),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(s) => s.write(buf),
            Stream::Tls(t) => t.write(buf),
            Stream::Gone => Err(gone()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(s) => s.flush(),
            Stream::Tls(t) => t.flush(),
            Stream::Gone => Err(gone()),
        }
    }
}
