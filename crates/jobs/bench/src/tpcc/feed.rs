//! Rows made while they are being loaded: a generator of tab-separated lines
//! looks like a file to LOAD DATA LOCAL INFILE, and no file exists.

use std::io::{self, Read};

/// Makes rows one after the other.
pub(super) trait Lines {
    /// Appends the next row, line end and all; false when there is none left.
    fn append(&mut self, out: &mut Vec<u8>) -> bool;
}

/// Reads a generator's rows as a stream of bytes.
pub(super) struct Feed<L> {
    lines: L,
    buffer: Vec<u8>,
    sent: usize,
    /// Rows made so far.
    pub(super) rows: u64,
}

const BLOCK: usize = 256 * 1024;

impl<L: Lines> Feed<L> {
    pub(super) fn new(lines: L) -> Self {
        Self {
            lines,
            buffer: Vec::with_capacity(BLOCK + 4096),
            sent: 0,
            rows: 0,
        }
    }
}

impl<L: Lines> Read for Feed<L> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.sent == self.buffer.len() {
            self.buffer.clear();
            self.sent = 0;
            while self.buffer.len() < BLOCK && self.lines.append(&mut self.buffer) {
                self.rows += 1;
            }
        }
        let rest = &self.buffer[self.sent..];
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        self.sent += n;
        Ok(n)
    }
}

/// Appends a number in decimal; `fmt` is too slow for hundreds of millions of them.
pub(super) fn number(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Countdown(u64);

    impl Lines for Countdown {
        fn append(&mut self, out: &mut Vec<u8>) -> bool {
            if self.0 == 0 {
                return false;
            }
            self.0 -= 1;
            number(out, self.0);
            out.push(b'\n');
            true
        }
    }

    #[test]
    fn a_feed_hands_out_every_line_whatever_the_reads_are() {
        let mut whole = Vec::new();
        Feed::new(Countdown(100_000))
            .read_to_end(&mut whole)
            .expect("no errors to be had");
        assert_eq!(whole.iter().filter(|b| **b == b'\n').count(), 100_000);
        assert!(whole.ends_with(b"\n1\n0\n"));
        let mut small = Feed::new(Countdown(3));
        let mut out = [0u8; 4];
        assert_eq!(small.read(&mut out).ok(), Some(4));
        assert_eq!(&out, b"2\n1\n");
        assert_eq!(small.read(&mut out).ok(), Some(2));
        assert_eq!(small.read(&mut out).ok(), Some(0));
    }
}
