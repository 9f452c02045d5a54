//! Packets over a socket that a stop breaks: no read or write blocks for longer than a moment without looking whether
//! a stop was requested.

use crate::buffer::FULL;
use base::Cancel;
use rustix::net::RecvFlags;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// How long one call may block.
const MOMENT: Duration = Duration::from_millis(100);
/// No question of a replica is longer; its list of GTIDs is the longest.
const LONGEST: usize = 4 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Pipe {
    socket: TcpStream,
    stop: Cancel,
    /// The number of the next packet, in either direction.
    pub(super) seq: u8,
}

impl Pipe {
    pub(super) fn new(socket: TcpStream, stop: Cancel) -> io::Result<Pipe> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(MOMENT))?;
        socket.set_write_timeout(Some(MOMENT))?;
        Ok(Pipe {
            socket,
            stop,
            seq: 0,
        })
    }

    /// One packet's payload. It must begin within `patience`, if there is one.
    pub(super) fn receive(&mut self, patience: Option<Duration>) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            let mut head = [0; 4];
            self.fill(&mut head, patience)?;
            let len = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
            if payload.len() + len > LONGEST {
                return Err(io::Error::other("the replica sent an overlong packet"));
            }
            let at = payload.len();
            payload.resize(at + len, 0);
            self.fill(&mut payload[at..], patience)?;
            self.seq = head[3].wrapping_add(1);
            if len < FULL {
                return Ok(payload);
            }
        }
    }

    fn fill(&mut self, mut rest: &mut [u8], patience: Option<Duration>) -> io::Result<()> {
        let began = Instant::now();
        while !rest.is_empty() {
            self.check()?;
            match self.socket.read(rest) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => rest = &mut rest[n..],
                Err(e) if is_moment(&e) => {
                    if patience.is_some_and(|p| began.elapsed() > p) {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Sends bytes as they are, for as long as the replica takes.
    pub(super) fn send(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            self.check()?;
            match self.socket.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => rest = &rest[n..],
                Err(e) if is_moment(&e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Sends payloads as packets.
    pub(super) fn reply<P: AsRef<[u8]>>(&mut self, payloads: &[P]) -> io::Result<()> {
        let bytes = crate::packets::frame(payloads, self.seq);
        self.send(&bytes)
    }

    /// Whether the replica has hung up. What it may have sent instead is left.
    pub(super) fn has_ended(&self) -> bool {
        let mut first = [0; 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(&self.socket, &mut first[..], flags) {
            Ok((_, seen)) => seen == 0,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => false,
            Err(_) => true,
        }
    }

    fn check(&self) -> io::Result<()> {
        if self.stop.is_raised() {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "stopped on request",
            ));
        }
        Ok(())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // A socket that is dead already cannot be shut down, which is as good.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

fn is_moment(e: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(e.kind(), K::WouldBlock | K::TimedOut | K::Interrupted)
}
