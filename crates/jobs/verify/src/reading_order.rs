//! Which tables are read as a whole before the others are read range by range.
//!
//! For each row of a range the server evaluates the range's condition; a whole table has no condition,
//! and costs a fifth less. So tables are read whole, the largest first, unless that would leave one
//! connection alone with the last of them: such a table is read by its ranges, by all connections, at
//! the end. A table that differs as a whole is read again by its ranges, which show where.

use super::compare::{Expected, Piece};
use archive::RowDigest;
use rows::key_ranges::KeyRange;

/// The cost of a row besides its bytes, in bytes.
const ROW_COST: u64 = 50;

/// How the rows of several tables are read.
pub struct ReadingOrder {
    /// What is read: whole tables first, then the largest pieces.
    pub pieces: Vec<Piece>,
    /// The pieces of the tables that are read whole.
    pub pieces_of_whole_tables: Vec<Piece>,
}

/// The cost of reading this many rows and bytes.
pub fn cost(rows: u64, bytes: u64) -> u64 {
    bytes.saturating_add(rows.saturating_mul(ROW_COST))
}

/// Which of these tables are read by one connection each, the most expensive first; `all` is the cost
/// of everything that is read. Tables with `None` are not considered.
pub fn single_reader(costs: &[Option<u64>], all: u64, threads: usize) -> Vec<usize> {
    let mut loads = vec![0u64; threads.max(1)];
    let share = all / loads.len() as u64;
    let mut several: Vec<(usize, u64)> = Vec::new();
    several.extend((costs.iter().enumerate()).filter_map(|(n, cost)| Some((n, (*cost)?))));
    several.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
    let fits = |(n, cost): (usize, u64)| {
        let least = loads.iter_mut().min()?;
        let load = least.saturating_add(cost);
        (load <= share).then(|| {
            *least = load;
            n
        })
    };
    several.into_iter().filter_map(fits).collect()
}

/// Decides which tables are read whole. `bytes` has those of each table, by number.
pub fn reading_order(pieces: Vec<Piece>, bytes: &[u64], threads: usize) -> ReadingOrder {
    let mut sums: Vec<(RowDigest, usize)> = vec![(RowDigest::new(), 0); bytes.len()];
    for piece in &pieces {
        if let Expected::Digest(digest) = &piece.expected {
            sums[piece.table].0.merge(digest);
            sums[piece.table].1 += 1;
        }
    }
    let costs: Vec<Option<u64>> = sums
        .iter()
        .zip(bytes)
        .map(|((sum, pieces), bytes)| (*pieces > 1).then(|| cost(sum.rows(), *bytes)))
        .collect();
    let all = (sums.iter().zip(bytes)).map(|((sum, _), bytes)| cost(sum.rows(), *bytes));
    let whole = single_reader(&costs, all.fold(0, u64::saturating_add), threads);
    let (kept, mut fine): (Vec<Piece>, Vec<Piece>) =
        pieces.into_iter().partition(|p| whole.contains(&p.table));
    // The largest first, so that no worker is left alone with one.
    fine.sort_by_key(|p| {
        std::cmp::Reverse(match &p.expected {
            Expected::Digest(d) => d.rows(),
            Expected::Other => 0,
        })
    });
    let in_one = whole.into_iter().map(|table| Piece {
        table,
        range: KeyRange::whole(),
        expected: Expected::Digest(sums[table].0),
    });
    ReadingOrder {
        pieces: in_one.chain(fine).collect(),
        pieces_of_whole_tables: kept,
    }
}

impl ReadingOrder {
    /// The pieces that say where these tables differ, of those that were read whole.
    pub fn pieces_of(&self, differ: &[usize]) -> Vec<Piece> {
        let wanted = |p: &&Piece| differ.contains(&p.table);
        self.pieces_of_whole_tables
            .iter()
            .filter(wanted)
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of so many rows each, of tables by number.
    fn pieces(of: &[(usize, &[u64])]) -> Vec<Piece> {
        let digest = |rows: u64| {
            let mut digest = RowDigest::new();
            (0..rows).for_each(|n| digest.add(&n.to_le_bytes()));
            digest
        };
        let piece = |table: usize, rows: u64| Piece {
            table,
            range: KeyRange::whole(),
            expected: Expected::Digest(digest(rows)),
        };
        let table = |(table, rows): &(usize, &[u64])| -> Vec<Piece> {
            rows.iter().map(|r| piece(*table, *r)).collect()
        };
        of.iter().flat_map(table).collect()
    }

    fn rows(pieces: &[Piece]) -> Vec<(usize, u64)> {
        let rows = |p: &Piece| match &p.expected {
            Expected::Digest(d) => d.rows(),
            Expected::Other => 0,
        };
        pieces.iter().map(|p| (p.table, rows(p))).collect()
    }

    #[test]
    fn the_largest_that_fit_are_read_whole() {
        let of = pieces(&[
            (0, &[9]),
            (1, &[40, 30]),
            (2, &[20, 20, 20]),
            (3, &[25, 26]),
            (4, &[1, 1]),
        ]);
        let c = reading_order(of, &[9, 70, 60, 51, 2], 2);
        let read = [(1, 70), (2, 60), (4, 2), (3, 26), (3, 25), (0, 9)];
        assert_eq!(rows(&c.pieces), read, "table 3 balances the connections");
        assert_eq!(rows(&c.pieces_of(&[2, 0])), [(2, 20), (2, 20), (2, 20)]);
        assert!(
            c.pieces_of(&[3]).is_empty(),
            "it was already read by its ranges"
        );
    }

    #[test]
    fn a_table_that_dominates_is_read_by_all_connections() {
        let c = reading_order(pieces(&[(0, &[50, 50]), (1, &[3, 4])]), &[100, 7], 2);
        assert_eq!(rows(&c.pieces), [(1, 7), (0, 50), (0, 50)]);
        let c = reading_order(pieces(&[(0, &[50, 50])]), &[100], 2);
        assert_eq!(rows(&c.pieces), [(0, 50), (0, 50)]);
        let c = reading_order(pieces(&[(0, &[50, 50])]), &[100], 1);
        assert_eq!(rows(&c.pieces), [(0, 100)], "there is no other connection");
    }
}
