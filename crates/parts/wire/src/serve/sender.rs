//! Sends events to a replica that has asked for them.
//!
//! Events are copied once, from their reader into the buffer of packets; small ones leave together. An event longer
//! than a packet is continued in the next, and never held in memory whole.

use super::events::{self, Checksum, FormatDescription, HEADER};
use super::pipe::Pipe;
use crate::buffer::FULL;
use std::io::{self, Read};

/// What is sent at once, about.
const BUFFER: usize = 256 * 1024;

/// See the module.
#[derive(Debug)]
pub struct Sender {
    pipe: Pipe,
    server_id: u32,
    /// Of the file that is being sent.
    checksum: Checksum,
    out: Vec<u8>,
}

impl Sender {
    pub(super) fn new(pipe: Pipe, server_id: u32, checksum: Checksum) -> Sender {
        Sender {
            pipe,
            server_id,
            checksum,
            out: Vec::with_capacity(BUFFER + FULL.min(BUFFER)),
        }
    }

    /// Names the file and the place in it that the next events are of.
    pub fn rotate(&mut self, file: &str, offset: u64) -> io::Result<()> {
        // Under the checksums of the file before: the replica learns of others from the format description.
        let event = events::rotate(self.server_id, file.as_bytes(), offset, self.checksum);
        self.made(&event)
    }

    /// Sends the format description that the next events follow.
    pub fn format(&mut self, format: &FormatDescription, from_start: bool) -> io::Result<()> {
        self.checksum = format.checksum();
        let event = if from_start {
            format.from_start()
        } else {
            format.from_middle()
        };
        self.made(&event)
    }

    /// Says that the source lives, and is at this place.
    pub fn heartbeat(&mut self, file: &str, offset: u64) -> io::Result<()> {
        let event = events::heartbeat(self.server_id, file.as_bytes(), offset, self.checksum);
        self.made(&event)?;
        self.flush()
    }

    fn made(&mut self, event: &[u8]) -> io::Result<()> {
        let (head, mut body) = event
            .split_first_chunk::<HEADER>()
            .ok_or(io::ErrorKind::InvalidInput)?;
        self.event(head, &mut body)
    }

    /// Sends one event as it is stored: its header, which was read, and what follows it in `body`.
    ///
    /// An error of `body` is returned as it is; the connection cannot be used after it.
    pub fn event(&mut self, head: &[u8; HEADER], body: &mut dyn Read) -> io::Result<()> {
        let len = events::Header::parse(head).len as usize;
        let mut unread = len.checked_sub(HEADER).ok_or(io::ErrorKind::InvalidData)?;
        // The zero says "an event", and not an error or the end.
        let mut left = 1 + len;
        let mut first: Vec<u8> = Vec::with_capacity(1 + HEADER);
        first.push(0);
        first.extend_from_slice(head);
        let mut first = Some(first);
        loop {
            let now = left.min(FULL);
            self.header(now);
            let mut room = now;
            if let Some(first) = first.take() {
                self.out.extend_from_slice(&first);
                room -= first.len();
            }
            while room > 0 {
                let part = room.min(BUFFER).min(unread);
                let at = self.out.len();
                self.out.resize(at + part, 0);
                body.read_exact(&mut self.out[at..])?;
                room -= part;
                unread -= part;
                if self.out.len() >= BUFFER {
                    self.flush()?;
                }
            }
            left -= now;
            if now < FULL {
                break;
            }
        }
        if self.out.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn header(&mut self, len: usize) {
        let word = len as u32 | u32::from(self.pipe.seq) << 24;
        self.out.extend_from_slice(&word.to_le_bytes());
        self.pipe.seq = self.pipe.seq.wrapping_add(1);
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
