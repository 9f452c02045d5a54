//! A sample of queries: spread evenly over what was seen, however much that was, in bounded memory.

use super::read_only::{self, Reason};
use dumps::Dialect;
use server::filter::is_system_schema;
use std::collections::BTreeMap;

/// Longer queries are left out.
pub const LONGEST: usize = 1 << 20;

/// A query of the sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The schema that names without one are in.
    pub schema: Option<String>,
    /// Its text.
    pub text: Vec<u8>,
}

/// What was seen, and every n-th query of it.
pub struct Sample {
    dialect: Dialect,
    most: usize,
    step: u64,
    /// Those that may be replayed.
    queries: Vec<Query>,
    /// How many of them were seen.
    pub seen: u64,
    /// The others, by reason.
    pub left_out: BTreeMap<String, u64>,
}

impl Sample {
    /// An empty one of at most so many.
    pub fn new(most: usize, dialect: Dialect) -> Sample {
        Sample {
            dialect,
            most: most.max(1),
            step: 1,
            queries: Vec::new(),
            seen: 0,
            left_out: BTreeMap::new(),
        }
    }

    /// Adds a query; the reason if it is none that may be replayed.
    pub fn add(&mut self, schema: Option<&str>, text: &[u8]) -> Result<(), Reason> {
        let judged = match schema {
            _ if text.len() > LONGEST => Err(Reason::Cut),
            Some(schema) if is_system_schema(schema) => Err(Reason::System),
            _ => read_only::check(text, self.dialect),
        };
        if let Err(why) = judged {
            self.leave_out(why.to_string(), 1);
            return Err(why);
        }
        self.seen += 1;
        if (self.seen - 1).is_multiple_of(self.step) {
            // Twice as many as wanted, so that the thinned list has enough.
            if self.queries.len() >= 2 * self.most {
                let mut n = 0;
                self.queries.retain(|_| {
                    n += 1;
                    n % 2 == 1
                });
                self.step *= 2;
                if !(self.seen - 1).is_multiple_of(self.step) {
                    return Ok(());
                }
            }
            self.queries.push(Query {
                schema: schema.map(str::to_owned),
                text: text.trim_ascii().to_vec(),
            });
        }
        Ok(())
    }

    /// Counts what is left out.
    pub fn leave_out(&mut self, why: String, count: u64) {
        *self.left_out.entry(why).or_default() += count;
    }

    /// The queries, in their order.
    pub fn take(&mut self) -> Vec<Query> {
        let all = std::mem::take(&mut self.queries);
        let (count, most) = (all.len(), self.most);
        if count <= most {
            return all;
        }
        let chosen = |n: &usize| (n + 1) * most / count > n * most / count;
        let all = all.into_iter().enumerate();
        all.filter(|(n, _)| chosen(n)).map(|(_, q)| q).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_evenly() {
        for (seen, most) in [(5, 10), (10, 10), (11, 10), (19, 10), (1000, 10), (1001, 7)] {
            let mut sample = Sample::new(most, Dialect::default());
            for n in 0..seen {
                let text = format!("SELECT {n} FROM t");
                sample.add(None, text.as_bytes()).expect("a query");
            }
            assert_eq!(sample.seen, seen);
            let taken = sample.take();
            assert_eq!(taken.len() as u64, seen.min(most as u64), "{seen} {most}");
            let number = |q: &Query| -> u64 {
                let text = String::from_utf8_lossy(&q.text).into_owned();
                let word = text.split(' ').nth(1).expect("a number");
                word.parse().expect("a number")
            };
            let numbers: Vec<u64> = taken.iter().map(number).collect();
            assert!(numbers.is_sorted());
            if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
                assert!(*first <= seen / 3 && *last >= seen * 2 / 3, "{numbers:?}");
            }
        }
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let mut sample = Sample::new(10, Dialect::default());
        for text in ["DELETE FROM t", "INSERT INTO t VALUES (1)", "SELECT 1"] {
            sample.add(None, text.as_bytes()).expect_err(text);
        }
        let system = sample.add(Some("mysql"), b"SELECT * FROM user");
        assert_eq!(system, Err(Reason::System));
        assert!(sample.take().is_empty());
        let left_out = BTreeMap::from([
            ("no SELECT".to_owned(), 2),
            ("reads no table".to_owned(), 1),
            ("reads tables of the server itself".to_owned(), 1),
        ]);
        assert_eq!(sample.left_out, left_out);
    }
}
