//! Copies the bytes of a string literal into a line.
//!
//! Each step examines eight bytes as one number and finds the first of them that
//! needs more than copying. All eight are copied before that is known; the
//! surplus is overwritten.

use super::Reason;

/// Bytes examined in one step.
const WORD: usize = 8;

/// Space kept after what is written, for surplus bytes and an escape.
const SLACK: usize = 4 * WORD;

const ONES: u64 = u64::from_le_bytes([1; WORD]);
const HIGHS: u64 = u64::from_le_bytes([0x80; WORD]);

/// The letter after the backslash for a byte that must be escaped in a line; 0
/// for all others. The same set as in archives.
pub(super) const ESCAPE: [u8; 256] = {
    let mut t = [0; 256];
    t[0] = b'0';
    t[8] = b'b';
    t[9] = b't';
    t[10] = b'n';
    t[13] = b'r';
    t[26] = b'Z';
    t[b'\\' as usize] = b'\\';
    t
};

/// A line being written. The content ends at `at`; `buffer` is longer.
pub(super) struct Line<'a> {
    buffer: &'a mut Vec<u8>,
    at: usize,
}

impl<'a> Line<'a> {
    pub(super) fn new(buffer: &'a mut Vec<u8>) -> Self {
        let at = buffer.len();
        Line { buffer, at }
    }

    /// Removes the unused rest of the buffer, or everything from `start` if `keep` is false.
    pub(super) fn finish(self, start: usize, keep: bool) {
        self.buffer.truncate(if keep { self.at } else { start });
    }

    /// Ensures that [`SLACK`] bytes can be written.
    #[inline(always)]
    fn reserve(&mut self) {
        if self.buffer.len() - self.at < SLACK {
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        // In steps that are still in the CPU cache when they are written.
        let more = if self.buffer.capacity() - self.buffer.len() >= SLACK {
            (self.buffer.capacity() - self.buffer.len()).min(64 * 1024)
        } else {
            self.buffer.len().max(64 * 1024)
        };
        self.buffer.resize(self.buffer.len() + more, 0);
    }

    /// Writes a byte unchanged.
    #[inline(always)]
    pub(super) fn raw(&mut self, b: u8) {
        self.reserve();
        self.buffer[self.at] = b;
        self.at += 1;
    }

    /// A few bytes as they are.
    #[inline(always)]
    pub(super) fn copy(&mut self, mut bytes: &[u8]) {
        loop {
            self.reserve();
            let n = bytes.len().min(SLACK);
            self.buffer[self.at..self.at + n].copy_from_slice(&bytes[..n]);
            self.at += n;
            if n == bytes.len() {
                return;
            }
            bytes = &bytes[n..];
        }
    }

    /// Writes two bytes unchanged.
    #[inline(always)]
    pub(super) fn two(&mut self, bytes: [u8; 2]) {
        self.reserve();
        self.buffer[self.at..self.at + 2].copy_from_slice(&bytes);
        self.at += 2;
    }

    /// Writes bytes, escaped where necessary.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some(chunk) = bytes[at..].first_chunk::<WORD>() {
            self.reserve();
            // Quotes do not matter here; the pattern repeats the backslash.
            let found = special_mask(u64::from_le_bytes(*chunk), ONES * u64::from(b'\\'));
            self.buffer[self.at..self.at + WORD].copy_from_slice(chunk);
            let clean = found.trailing_zeros() as usize / 8;
            at += clean;
            self.at += clean;
            if clean < WORD {
                self.byte(bytes[at]);
                at += 1;
            }
        }
        bytes[at..].iter().for_each(|b| self.byte(*b));
    }

    /// Writes the first `n` of 16 bytes.
    #[inline(always)]
    pub(super) fn copy_short(&mut self, bytes: &[u8; 16], n: usize) {
        self.reserve();
        self.buffer[self.at..self.at + 16].copy_from_slice(bytes);
        self.at += n;
    }

    /// Writes a byte, escaped if necessary.
    #[inline(always)]
    pub(super) fn byte(&mut self, b: u8) {
        let letter = ESCAPE[usize::from(b)];
        let escaped = letter != 0;
        self.reserve();
        self.buffer[self.at] = if escaped { b'\\' } else { b };
        self.buffer[self.at + 1] = letter;
        self.at += 1 + usize::from(escaped);
    }

    /// Writes a string literal, from after its opening quote. Returns the
    /// position after the closing quote.
    #[inline(always)]
    pub(super) fn string(
        &mut self,
        text: &[u8],
        mut at: usize,
        quote: u8,
        escapes: bool,
    ) -> Result<usize, Reason> {
        let pattern = ONES * u64::from(quote);
        loop {
            self.reserve();
            let Some(chunk) = text.get(at..).and_then(<[u8]>::first_chunk::<WORD>) else {
                break;
            };
            let found = special_mask(u64::from_le_bytes(*chunk), pattern);
            self.buffer[self.at..self.at + WORD].copy_from_slice(chunk);
            if found == 0 {
                at += WORD;
                self.at += WORD;
                continue;
            }
            let clean = found.trailing_zeros() as usize / 8;
            at += clean;
            self.at += clean;
            match self.special(text, at, quote, escapes) {
                Ok(next) => at = next,
                Err(end) => return end,
            }
        }
        // The last few bytes of the statement.
        while at < text.len() {
            match self.special(text, at, quote, escapes) {
                Ok(next) => at = next,
                Err(end) => return end,
            }
        }
        Err(Reason::UnexpectedEnd)
    }

    /// Handles one byte that may be special: where the string continues, or how it ends.
    #[inline(always)]
    fn special(
        &mut self,
        text: &[u8],
        at: usize,
        quote: u8,
        escapes: bool,
    ) -> Result<usize, Result<usize, Reason>> {
        let b = text[at];
        if b == quote {
            if text.get(at + 1) != Some(&quote) {
                return Err(Ok(at + 1));
            }
            self.raw(quote);
            return Ok(at + 2);
        }
        if b != b'\\' || !escapes {
            self.byte(b);
            return Ok(at + 1);
        }
        let Some(letter) = text.get(at + 1) else {
            return Err(Err(Reason::UnexpectedEnd));
        };
        match letter {
            // The pattern characters of LIKE keep their backslash.
            b'%' | b'_' => {
                self.two([b'\\', b'\\']);
                self.raw(*letter);
            }
            // The letter has the same meaning in SQL and in the file.
            b'0' | b'b' | b'n' | b'r' | b't' | b'Z' | b'\\' => self.two([b'\\', *letter]),
            // Inside a string `\N` is just an N.
            other => self.byte(*other),
        }
        Ok(at + 2)
    }
}

/// Sets the high bit of the first byte that is below 0x20, a backslash, or the
/// quote in `pattern`; higher bits mean nothing.
#[inline(always)]
fn special_mask(word: u64, pattern: u64) -> u64 {
    const CONTROL: u64 = ONES * 0x20;
    const BACKSLASH: u64 = ONES * b'\\' as u64;
    let control = word.wrapping_sub(CONTROL) & !word;
    let quote = word ^ pattern;
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = word ^ BACKSLASH;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (control | quote | backslash) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_special_byte_is_found_at_every_place() {
        for b in 0..=255u8 {
            for i in 0..WORD {
                for fill in [b'x', 0x20, 0x80, 0xff, b'[', b']', b'&', b'('] {
                    let mut block = [fill; WORD];
                    block[i] = b;
                    let found = special_mask(u64::from_le_bytes(block), ONES * u64::from(b'\''));
                    let wanted = b < 0x20 || b == b'\\' || b == b'\'';
                    assert_eq!(found != 0, wanted, "{b:#x} at {i} in {fill:#x}");
                    if wanted {
                        assert_eq!(found.trailing_zeros() as usize / 8, i);
                    }
                }
            }
        }
    }
}
