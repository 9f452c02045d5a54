//! Memory for direct I/O: at an address that suits any device, full of bytes that no device can compress.

use crate::tpcc::random::Random;
use store::direct::ALIGNMENT;

/// Bytes at an aligned address.
pub struct Buffer {
    room: Vec<u8>,
    from: usize,
    length: usize,
}

impl Buffer {
    /// That many random bytes.
    pub fn new(length: usize, seed: u64) -> Buffer {
        let mut room = vec![0; length + ALIGNMENT];
        let mut random = Random::new(seed, &[length as u64]);
        for word in room.chunks_mut(8) {
            let value = random.next().to_le_bytes();
            word.copy_from_slice(&value[..word.len()]);
        }
        // The vector is never resized, so its address stays.
        let from = room.as_ptr().align_offset(ALIGNMENT);
        Buffer { room, from, length }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.room[self.from..self.from + self.length]
    }

    /// The bytes, to read into.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.from..self.from + self.length]
    }

    /// Makes the next writing of it another one: a device or file system may skip equal blocks.
    pub fn touch(&mut self, n: u64) {
        let step = ALIGNMENT;
        for block in self.bytes_mut().chunks_mut(step) {
            block[..8].copy_from_slice(&n.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_differs() {
        let mut a = Buffer::new(16384, 1);
        let b = Buffer::new(16384, 2);
        assert_eq!(a.bytes().as_ptr() as usize % ALIGNMENT, 0);
        assert_ne!(a.bytes(), b.bytes());
        let before = a.bytes().to_vec();
        a.touch(7);
        assert_ne!(a.bytes(), before);
        assert_eq!(a.bytes().len(), 16384);
    }
}
