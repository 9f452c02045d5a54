//! The `.idx` file beside each data file: unsigned 64-bit big-endian integers,
//! each the number of uncompressed bytes up to the end of some row.
//!
//! After each row: pending += its length; once pending has reached 1 MiB the
//! running total is noted and pending keeps only its remainder. At the end the
//! total is noted once more, whatever was noted before.

/// Row bytes between two entries.
pub const STEP: u64 = 1 << 20;

/// The name of the index of this data file.
pub fn name_of(data_file: &str) -> String {
    format!("{data_file}.idx")
}

/// Collects the index while rows are counted.
#[derive(Clone, Debug, Default)]
pub struct Index {
    bytes: Vec<u8>,
    total: u64,
    pending: u64,
}

impl Index {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.total, self.pending) = (0, 0);
    }

    /// Counts one row of `len` bytes.
    #[inline]
    pub fn row(&mut self, len: u64) {
        self.total += len;
        self.pending += len;
        if self.pending >= STEP {
            self.bytes.extend_from_slice(&self.total.to_be_bytes());
            self.pending %= STEP;
        }
    }

    /// Row bytes counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The file's content.
    pub fn finish(&mut self) -> &[u8] {
        self.bytes.extend_from_slice(&self.total.to_be_bytes());
        &self.bytes
    }
}

/// The last entry of an index file: the uncompressed size of its data file.
/// `None` if the size of the file is not that of an index.
pub fn last_entry(bytes: &[u8]) -> Option<u64> {
    let (entries, rest) = bytes.as_chunks::<8>();
    let last = entries.last().filter(|_| rest.is_empty())?;
    Some(u64::from_be_bytes(*last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(rows: &[u64]) -> Vec<u64> {
        let mut index = Index::default();
        rows.iter().for_each(|&r| index.row(r));
        let bytes = index.finish();
        assert_eq!(last_entry(bytes), Some(rows.iter().sum()));
        let all = bytes.as_chunks::<8>().0;
        all.iter().map(|e| u64::from_be_bytes(*e)).collect()
    }

    #[test]
    fn follows_the_format_to_the_byte() {
        assert_eq!(entries(&[]), [0]);
        assert_eq!(entries(&[5, 6]), [11]);
        assert_eq!(entries(&[STEP]), [STEP, STEP]);
        assert_eq!(entries(&[STEP - 1, 1, 7]), [STEP, STEP + 7]);
        // 1.5 MiB leaves half a MiB pending, so the next half completes one.
        let half = STEP / 2;
        assert_eq!(
            entries(&[3 * half, half, 1]),
            [3 * half, 4 * half, 4 * half + 1]
        );
        assert_eq!(entries(&[5 * STEP, 1]), [5 * STEP, 5 * STEP + 1]);
        assert_eq!(last_entry(b""), None);
        assert_eq!(last_entry(b"123456789"), None);
    }
}
