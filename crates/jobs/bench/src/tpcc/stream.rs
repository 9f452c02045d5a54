//! What one LOAD DATA reads: the rows of several warehouses as one stream,
//! counted while they pass.

use super::Table;
use super::feed::{Feed, Lines};
use super::rows::Rows;
use base::Counters;
use run::Stop;
use std::io::Read;
use std::ops::Range;

/// The rows of several warehouses, one after the other.
pub(super) struct Warehouses {
    table: Table,
    seed: u64,
    /// Warehouses that follow the one whose rows are being made.
    left: Range<usize>,
    rows: Rows,
}

impl Warehouses {
    /// Those of `chunks`, counted from 0; there is at least one.
    pub(super) fn new(table: Table, seed: u64, chunks: &Range<usize>) -> Warehouses {
        Warehouses {
            table,
            seed,
            left: chunks.start + 1..chunks.end,
            rows: Rows::new(table, seed, chunks.start as u32 + 1),
        }
    }
}

impl Lines for Warehouses {
    fn append(&mut self, out: &mut Vec<u8>) -> bool {
        while !self.rows.append(out) {
            let Some(next) = self.left.next() else {
                return false;
            };
            self.rows = Rows::new(self.table, self.seed, next as u32 + 1);
        }
        true
    }
}

/// Counts what is read through it, and ends early when a stop is asked for.
pub(super) struct Passing<'a> {
    pub(super) feed: Feed<Warehouses>,
    pub(super) counters: &'a Counters,
    pub(super) stop: &'a Stop<'a>,
}

impl Read for Passing<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.stop.is_requested() {
            return Err(std::io::Error::other("stopped"));
        }
        let n = self.feed.read(out)?;
        self.counters.bytes.add(n as u64);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_warehouses_one_after_the_other() {
        let text = |chunks: Range<usize>| {
            let mut all = Vec::new();
            Feed::new(Warehouses::new(Table::District, 5, &chunks))
                .read_to_end(&mut all)
                .expect("no errors to be had");
            String::from_utf8(all).expect("rows are ASCII")
        };
        assert_eq!(text(1..3), text(1..2) + &text(2..3));
        assert_eq!(text(0..4).lines().count(), 40);
    }

    #[test]
    fn sizes_are_about_right() {
        for table in Table::ALL {
            let mut feed = Feed::new(Warehouses::new(table, 1, &(0..1)));
            let size = std::io::copy(&mut feed, &mut std::io::sink()).expect("no errors") as f64;
            let off = (size - table.bytes() as f64).abs() / size;
            assert!(off < 0.1, "{}: {size}", table.name());
        }
    }
}
