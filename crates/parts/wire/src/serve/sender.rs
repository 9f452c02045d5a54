//! Sends events to a replica that has asked for them.
//!
//! Small events are collected and leave together; a long one leaves from where it lies. An event longer than a packet
//! is continued in the next.

use super::pipe::Pipe;
use crate::buffer::FULL;
use std::io;

/// What is sent at once, about.
const BUFFER: usize = 256 * 1024;

/// See the module.
#[derive(Debug)]
pub struct Sender {
    pipe: Pipe,
    out: Vec<u8>,
}

impl Sender {
    pub(super) fn new(pipe: Pipe) -> Sender {
        Sender {
            pipe,
            out: Vec::with_capacity(BUFFER),
        }
    }

    /// Sends one event, soon: small ones leave together, or with [`Sender::flush`].
    pub fn event(&mut self, event: &[u8]) -> io::Result<()> {
        // The zero says "an event", and not an error or the end.
        let mut marker = &[0][..];
        let mut rest = event;
        loop {
            let now = (marker.len() + rest.len()).min(FULL);
            let word = now as u32 | u32::from(self.pipe.seq) << 24;
            self.out.extend_from_slice(&word.to_le_bytes());
            self.pipe.seq = self.pipe.seq.wrapping_add(1);
            self.out.extend_from_slice(marker);
            let (part, later) = rest.split_at(now - marker.len());
            (marker, rest) = (&[], later);
            if self.out.len() + part.len() < BUFFER {
                self.out.extend_from_slice(part);
            } else {
                self.flush()?;
                self.pipe.send(part)?;
            }
            if now < FULL {
                return Ok(());
            }
        }
    }

    /// Sends what is buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.pipe.send(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Whether the replica has hung up.
    pub fn has_ended(&self) -> bool {
        self.pipe.has_ended()
    }

    /// Ends the stream with an error, which replicas take for final.
    pub fn fail(&mut self, why: &str) -> io::Result<()> {
        self.flush()?;
        self.pipe.reply(&[crate::packets::error(1236, why)])
    }
}
