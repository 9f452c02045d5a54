//! Sends the data of a LOAD DATA LOCAL INFILE statement.
//!
//! The source writes straight into the packet, after room for the header: no
//! byte is copied between the caller's reader and the kernel.

use crate::{Conn, Error, Result};
use std::io::{self, Read, Write};
use std::time::Instant;

/// Payload of one packet. Below the smallest `max_allowed_packet` in use (1 MiB in
/// MySQL 5.5). Measured with `examples/pour.rs`; see there.
pub(crate) const PACKET: usize = 128 * 1024;

impl Conn {
    /// Sends all of `source`, and the empty packet that ends it.
    pub(crate) fn send_file(&mut self, source: &mut dyn Read) -> Result<()> {
        let mut packet = std::mem::take(&mut self.out);
        packet.resize(4 + PACKET, 0);
        let result = self.send_packets(source, &mut packet);
        self.out = packet;
        result
    }

    fn send_packets(&mut self, source: &mut dyn Read, packet: &mut [u8]) -> Result<()> {
        loop {
            let mut len = 0;
            while len < PACKET {
                match source.read(&mut packet[4 + len..]) {
                    Ok(0) => break,
                    Ok(n) => len += n.min(PACKET - len),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    // Nothing of this statement may stay: without its end the server rolls it back.
                    Err(e) => return Err(self.fail(Error::Source(e))),
                }
            }
            let seq = self.buffer.seq();
            let header = (len as u32 | u32::from(seq) << 24).to_le_bytes();
            packet[..4].copy_from_slice(&header);
            self.buffer.set_seq(seq.wrapping_add(1));
            let began = Instant::now();
            let written = self.stream.write_all(&packet[..4 + len]);
            self.buffer.waited += began.elapsed();
            if let Err(e) = written {
                return Err(self.write_failed(e));
            }
            if len == 0 {
                return Ok(());
            }
        }
    }
}
