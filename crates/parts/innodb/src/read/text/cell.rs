//! Length-encoded cells (MySQL's protocol documentation, "Length-Encoded String"), and digits in them.
//!
//! A short text is put together in an array whose first byte is kept for the length: copying a fixed number of
//! bytes and cutting the rest off takes fewer instructions than copying as many as there are.

/// Bytes that a length in one byte can say.
pub const SHORT: usize = 250;

/// Two digits for each number below 100.
static PAIRS: [[u8; 2]; 100] = {
    let mut all = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        all[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    all
};

/// Appends bytes as a cell.
#[inline]
pub fn put(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.len() <= SHORT {
        out.push(bytes.len() as u8);
    } else {
        length(bytes.len(), out);
    }
    out.extend_from_slice(bytes);
}

/// Appends a number as a cell, with zeros before it up to so many digits (ZEROFILL).
pub fn zerofill(number: &[u8], digits: u8, out: &mut Vec<u8>) {
    let zeros = usize::from(digits).saturating_sub(number.len());
    length(zeros + number.len(), out);
    out.resize(out.len() + zeros, b'0');
    out.extend_from_slice(number);
}

/// Appends the length of a cell.
pub fn length(bytes: usize, out: &mut Vec<u8>) {
    let bytes = bytes as u64;
    let le = bytes.to_le_bytes();
    match bytes {
        0..=250 => out.push(bytes as u8),
        251..=0xffff => out.extend_from_slice(&[0xfc, le[0], le[1]]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, le[0], le[1], le[2]]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&le);
        }
    }
}

/// A short text while it is put together.
#[derive(Debug)]
pub struct Short<const N: usize> {
    bytes: [u8; N],
    end: usize,
}

impl<const N: usize> Short<N> {
    /// Nothing yet.
    #[inline]
    pub fn new() -> Short<N> {
        const { assert!(N > 8 && N <= SHORT) };
        Short {
            bytes: [b'0'; N],
            end: 1,
        }
    }

    /// Adds a byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.bytes[self.end] = byte;
        self.end += 1;
    }

    /// Adds bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Adds a number below 100 in two digits.
    #[inline]
    pub fn pair(&mut self, n: u32) {
        self.bytes(&PAIRS[n as usize % 100]);
    }

    /// Adds a number in so many digits, with zeros before it; digits that there is no room for are lost.
    #[inline]
    pub fn padded(&mut self, mut n: u64, digits: usize) {
        let end = self.end + digits;
        let mut at = end;
        while at >= self.end + 2 {
            at -= 2;
            self.bytes[at..at + 2].copy_from_slice(&PAIRS[(n % 100) as usize]);
            n /= 100;
        }
        if at > self.end {
            self.bytes[self.end] = b'0' + (n % 10) as u8;
        }
        self.end = end;
    }

    /// Adds a number.
    #[inline]
    pub fn number(&mut self, n: u64) {
        // The division of 32 bits is the faster one, and most numbers are small.
        match u32::try_from(n) {
            Ok(n) if n < 10 => self.byte(b'0' + n as u8),
            Ok(n) => self.number32(n),
            Err(_) => self.padded(n, n.ilog10() as usize + 1),
        }
    }

    #[inline]
    fn number32(&mut self, mut n: u32) {
        let end = self.end + n.ilog10() as usize + 1;
        let mut at = end;
        while at >= self.end + 2 {
            at -= 2;
            self.bytes[at..at + 2].copy_from_slice(&PAIRS[(n % 100) as usize]);
            n /= 100;
        }
        if at > self.end {
            self.bytes[self.end] = b'0' + n as u8;
        }
        self.end = end;
    }

    /// The text so far.
    pub fn text(&self) -> &[u8] {
        &self.bytes[1..self.end]
    }

    /// Appends it as a cell.
    #[inline]
    pub fn put(mut self, out: &mut Vec<u8>) {
        self.bytes[0] = (self.end - 1) as u8;
        let end = out.len() + self.end;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_protocol() {
        for (bytes, wanted) in [
            (0, &b"\0"[..]),
            (250, b"\xfa"),
            (251, b"\xfc\xfb\0"),
            (65_535, b"\xfc\xff\xff"),
            (65_536, b"\xfd\0\0\x01"),
            (1 << 24, b"\xfe\0\0\0\x01\0\0\0\0"),
        ] {
            let mut out = Vec::new();
            put(&vec![b'x'; bytes], &mut out);
            assert_eq!(&out[..wanted.len()], wanted);
            assert_eq!(out.len(), wanted.len() + bytes);
        }
    }

    #[test]
    fn digits_are_those_of_the_number() {
        let mut n = 0u64;
        loop {
            for n in [n, n + 1, n.saturating_sub(1), n * 5 % (1 << 33)] {
                let mut text = Short::<24>::new();
                text.number(n);
                assert_eq!(text.text(), n.to_string().as_bytes());
                let mut text = Short::<24>::new();
                text.padded(n, 20);
                assert_eq!(text.text(), format!("{n:020}").as_bytes());
            }
            match n.checked_mul(3) {
                Some(more) if more < u64::MAX / 5 => n = more + 1,
                _ => break,
            }
        }
        let mut text = Short::<24>::new();
        text.number(u64::MAX);
        assert_eq!(text.text(), u64::MAX.to_string().as_bytes());
    }
}
