//! The random values of clause 4.3.2 from a small, fast generator whose output
//! depends on nothing but the seed.

/// SplitMix64 (Steele, Lea, Flood 2014): one multiplication chain per value.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// 64 characters for a-strings, so that six random bits choose one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.";

/// The syllables of C_LAST, clause 4.3.2.3.
const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

impl Random {
    /// The generator for one independent part of the data.
    pub(crate) fn new(seed: u64, part: &[u64]) -> Self {
        let mut random = Self(seed);
        for p in part {
            random.0 = random.next() ^ p.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `low..=high`; the bias of the multiplication is far below what data could show.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        let span = u64::from(high - low) + 1;
        low + (((self.next() >> 32) * span) >> 32) as u32
    }

    /// True in `percent` of a hundred cases.
    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.between(1, 100) <= percent
    }

    /// Non-uniform, clause 2.1.6, with the constant `c`.
    pub(super) fn nurand(&mut self, a: u32, c: u32, low: u32, high: u32) -> u32 {
        let mixed = self.between(0, a) | self.between(low, high);
        (mixed + c) % (high - low + 1) + low
    }

    /// An a-string of `low..=high` characters.
    pub(super) fn letters(&mut self, out: &mut Vec<u8>, low: u32, high: u32) {
        let mut left = self.between(low, high);
        while left > 0 {
            let mut bits = self.next();
            let n = left.min(10);
            for _ in 0..n {
                out.push(LETTERS[(bits & 63) as usize]);
                bits >>= 6;
            }
            left -= n;
        }
    }

    /// An n-string of exactly `count` digits.
    pub(super) fn digits(&mut self, out: &mut Vec<u8>, count: u32) {
        for _ in 0..count {
            out.push(b'0' + self.between(0, 9) as u8);
        }
    }

    /// I_DATA and S_DATA: 26 to 50 characters, with ORIGINAL somewhere in 10 % of them.
    pub(super) fn data(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        self.letters(out, 26, 50);
        if self.chance(10) {
            let word = b"ORIGINAL";
            let at = start + self.between(0, (out.len() - start - word.len()) as u32) as usize;
            out[at..at + word.len()].copy_from_slice(word);
        }
    }

    /// `1..=count` in random order.
    pub(super) fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (1..=count).collect();
        self.shuffle(&mut all);
        all
    }

    /// Puts elements in random order.
    pub(super) fn shuffle<T>(&mut self, all: &mut [T]) {
        for i in (1..all.len()).rev() {
            all.swap(i, self.between(0, i as u32) as usize);
        }
    }
}

/// A customer's last name: three syllables for the three digits of `n`.
pub(super) fn last_name(out: &mut Vec<u8>, n: u32) {
    for digit in [n / 100 % 10, n / 10 % 10, n % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_specification() {
        let mut name = Vec::new();
        last_name(&mut name, 371);
        assert_eq!(name, b"PRICALLYOUGHT");
    }

    #[test]
    fn values_stay_in_range_and_reach_both_ends() {
        let mut random = Random::new(1, &[2, 3]);
        let seen: Vec<u32> = (0..10_000).map(|_| random.between(5, 15)).collect();
        assert_eq!(seen.iter().min(), Some(&5));
        assert_eq!(seen.iter().max(), Some(&15));
        let skewed: Vec<u32> = (0..10_000)
            .map(|_| random.nurand(255, 123, 0, 999))
            .collect();
        assert!(skewed.iter().all(|n| *n <= 999));
    }

    #[test]
    fn parts_are_independent_and_repeatable() {
        assert_eq!(
            Random::new(7, &[1, 2]).next(),
            Random::new(7, &[1, 2]).next()
        );
        assert_ne!(
            Random::new(7, &[1, 2]).next(),
            Random::new(7, &[2, 1]).next()
        );
        assert_ne!(
            Random::new(7, &[1, 2]).next(),
            Random::new(8, &[1, 2]).next()
        );
    }

    #[test]
    fn a_permutation_holds_everything_once() {
        let mut all = Random::new(1, &[]).permutation(3_000);
        assert_ne!(all[..5], [1, 2, 3, 4, 5]);
        all.sort_unstable();
        assert!(all.iter().copied().eq(1..=3_000));
    }
}
