//! A digest of a set of rows that does not depend on their order: the sum,
//! modulo 2^128, of XXH3-128 over each row's canonical bytes (see [`crate::row`]).
//!
//! Equal multisets of rows give equal digests, and digests of parts add up to
//! the digest of the whole, so chunks, tables and servers can be compared
//! without sorting. It finds accidents, not malice: XXH3 is not a
//! cryptographic hash. What protects an archive's bytes is BLAKE3 per file.

use xxhash_rust::xxh3::xxh3_128;

/// What the manifest calls this digest.
pub const ROW_DIGEST_NAME: &str = "xxh3-128-sum";

/// Sum of row hashes, and how many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowDigest {
    sum: u128,
    rows: u64,
}

impl RowDigest {
    /// The digest of no rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one row, given as its text-protocol payload.
    #[inline]
    pub fn add(&mut self, payload: &[u8]) {
        self.sum = self.sum.wrapping_add(xxh3_128(payload));
        self.rows += 1;
    }

    /// Adds all rows of another digest.
    pub fn merge(&mut self, other: &Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        // Counts from a manifest may be anything; a wrapped one is found by the sums.
        self.rows = self.rows.wrapping_add(other.rows);
    }

    /// Rows counted.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The sum as 32 lower-case hexadecimal digits; the row count is not in it.
    pub fn to_hex(&self) -> String {
        format!("{:032x}", self.sum)
    }

    /// Takes back what [`to_hex`](Self::to_hex) gave, with the row count recorded beside it.
    pub fn from_hex(hex: &str, rows: u64) -> Option<Self> {
        let digits = hex.len() == 32 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let sum = u128::from_str_radix(hex, 16).ok()?;
        digits.then_some(Self { sum, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_and_counts_do() {
        let rows: [&[u8]; 4] = [b"\x01a", b"\x01b", b"\xfb", b"\x01a"];
        let mut all = RowDigest::new();
        rows.iter().for_each(|r| all.add(r));
        let (mut left, mut right) = (RowDigest::new(), RowDigest::new());
        rows[2..].iter().rev().for_each(|r| left.add(r));
        rows[..2].iter().for_each(|r| right.add(r));
        left.merge(&right);
        assert_eq!(all, left);
        assert_eq!(left.rows(), 4);
        left.add(b"\xfb");
        assert_ne!(all, left);
    }

    #[test]
    fn hex_round_trip() {
        let mut d = RowDigest::new();
        d.add(b"\x03abc");
        assert_eq!(d.to_hex(), format!("{:032x}", xxh3_128(b"\x03abc")));
        assert_eq!(RowDigest::from_hex(&d.to_hex(), 1), Some(d));
        assert_eq!(RowDigest::from_hex(&"A".repeat(32), 1), None);
        assert_eq!(
            RowDigest::from_hex("+0000000000000000000000000000000", 1),
            None
        );
        assert_eq!(RowDigest::from_hex("00", 1), None);
    }
}
