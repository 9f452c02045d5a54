//! How many chunks of a table are best loaded together, measured on the table itself.
//!
//! A statement and a transaction cost the same whatever their size; a bigger transaction keeps more undo
//! and takes longer to roll back. Where the best size lies depends on the server, so the first pieces of a
//! table try sizes.

use std::time::Duration;

/// Numbers of chunks that are tried; with the default chunk size of 32 MiB, 100,000 to about 1,000,000 rows
/// of the usual lengths.
const SIZES: [usize; 3] = [1, 2, 4];

/// Pieces of each size.
const TIMES: usize = 2;

/// A table with fewer chunks is loaded before the result would be of use.
const LEAST: usize = 3 * TIMES * (SIZES[0] + SIZES[1] + SIZES[2]);

/// Below this, in per cent, a difference is chance, and the smallest size stays: with it, an interruption
/// loses least.
const GAIN: u64 = 5;

/// The sizes that were tried on a table.
#[derive(Debug, Default)]
pub struct Trial {
    begun: usize,
    /// For each size: pieces done, bytes, time.
    done: [(usize, u64, Duration); SIZES.len()],
}

/// What a trial has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Chunks that go together.
    pub chunks: usize,
    /// Faster than one by one, in per cent.
    pub gain: u64,
    /// Each size that was tried, with its bytes a second.
    pub tried: [(usize, u64); SIZES.len()],
}

impl Trial {
    /// A trial for a table with this many chunks, if they are enough.
    pub fn of(chunks: usize) -> Option<Trial> {
        (chunks >= LEAST).then(Trial::default)
    }

    /// Chunks of the next piece.
    pub fn next(&mut self) -> usize {
        match self.found() {
            Some(found) => found.chunks,
            // While the last trial pieces are being loaded, nothing is known yet.
            None => {
                let size = SIZES.get(self.begun / TIMES).copied().unwrap_or(SIZES[0]);
                self.begun += 1;
                size
            }
        }
    }

    /// A piece is stored.
    pub fn done(&mut self, chunks: usize, bytes: u64, took: Duration) {
        if self.found().is_some() {
            return;
        }
        if let Some(i) = SIZES.iter().position(|s| *s == chunks) {
            let (n, all, time) = &mut self.done[i];
            *n += 1;
            *all += bytes;
            *time += took;
        }
    }

    /// The best size, once all have been tried.
    pub fn found(&self) -> Option<Found> {
        if self.done.iter().any(|(n, ..)| *n < TIMES) {
            return None;
        }
        let rate = |i: usize| {
            let (_, bytes, time) = self.done[i];
            bytes as f64 / time.as_secs_f64().max(1e-9)
        };
        let best = (0..SIZES.len()).max_by(|a, b| rate(*a).total_cmp(&rate(*b)))?;
        let gain = ((rate(best) / rate(0) - 1.0) * 100.0).round() as u64;
        let (chunks, gain) = if gain >= GAIN {
            (SIZES[best], gain)
        } else {
            (SIZES[0], 0)
        };
        Some(Found {
            chunks,
            gain,
            tried: std::array::from_fn(|i| (SIZES[i], rate(i) as u64)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_no_gain() {
        let mut t = Trial::of(LEAST).expect("enough");
        assert!(Trial::of(LEAST - 1).is_none());
        for (size, each) in [(1, 100), (2, 98), (4, 99)] {
            for _ in 0..TIMES {
                assert_eq!(t.next(), size);
                t.done(size, size as u64, Duration::from_millis(each * size as u64));
            }
        }
        let found = t.found().expect("all were tried");
        assert_eq!((found.chunks, found.gain), (1, 0));
        assert_eq!(found.tried[0], (1, 10));
        assert_eq!(t.next(), 1);
    }
}
