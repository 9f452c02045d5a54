//! Divides a table into ranges of about equal size without reading it: guess a value in the middle, let
//! the server seek the first existing key from there, ask the optimizer how many rows are on either
//! side, continue with the larger half.
//!
//! A seek and an estimate are index dives of well under a millisecond, so a terabyte is planned while
//! its first chunks are already being read. Where a guess finds nothing (a collation that orders
//! differently from code points), the index is walked instead: slower, never wrong.

use super::{Bound, ChunkKey, KeyRange, Nulls, middle};
use base::{Cancel, Error, Result};
use run::failure;
use wire::Conn;

/// Where a segment is divided, and the estimated rows on either side.
struct Cut {
    at: Bound,
    /// The first key from there.
    key: Bound,
    before: u64,
    after: u64,
}

impl Cut {
    fn smaller(&self) -> u64 {
        self.before.min(self.after)
    }
}

/// Plans ranges over one table. The connection only seeks and explains; it
/// need not share the dump's snapshot, since any bound is a valid one.
pub struct Splitter<'a> {
    /// Used for seeks and estimates.
    pub conn: &'a mut Conn,
    /// Raised to end early.
    pub cancel: &'a Cancel,
    /// Quoted, qualified name.
    pub table: &'a str,
    /// The key to divide by.
    pub key: &'a ChunkKey,
    /// Rows wanted in a range.
    pub target: u64,
    /// `EXPLAIN` in the spelling that gives one line per table.
    pub explain: &'a str,
}

/// A segment of keys that may have to be divided.
#[derive(Clone)]
struct Segment {
    from: Option<Bound>,
    to: Option<Bound>,
    nulls: Nulls,
    /// First and last key that exist inside.
    first: Bound,
    last: Bound,
    rows: u64,
}

impl Splitter<'_> {
    /// Passes ranges and their estimated rows to `emit`, in key order; together they cover `within`.
    pub fn split(
        &mut self,
        within: &KeyRange,
        emit: &mut dyn FnMut(KeyRange, u64) -> Result<()>,
    ) -> Result<()> {
        let mut within = within.clone();
        if self.key.nullable() && within.nulls == Nulls::Included {
            emit(
                KeyRange {
                    nulls: Nulls::Only,
                    ..within.clone()
                },
                0,
            )?;
            within.nulls = Nulls::Excluded;
        }
        let within = &within;
        let ends = (self.edge_key(within, false)?, self.edge_key(within, true)?);
        let (Some(first), Some(last)) = ends else {
            return emit(within.clone(), 0);
        };
        let rows = self.estimate(within)?;
        let mut budget = 8 * (rows / self.target.max(1)) + 64;
        let mut todo = vec![Segment {
            from: within.from.clone(),
            to: within.to.clone(),
            nulls: within.nulls,
            first,
            last,
            rows,
        }];
        // Small neighbours are merged before they are passed on.
        let mut pending: Option<Segment> = None;
        while let Some(segment) = todo.pop() {
            if self.cancel.is_raised() {
                return Ok(());
            }
            let big = segment.rows > self.target + self.target / 4;
            let halves = if big && segment.first != segment.last && budget > 0 {
                self.halve(&segment)?
            } else {
                None
            };
            if let Some((left, right)) = halves {
                budget -= 1;
                todo.push(right);
                todo.push(left);
                continue;
            }
            pending = Some(match pending.take() {
                None => segment,
                Some(p) if p.rows + segment.rows <= self.target => Segment {
                    to: segment.to,
                    last: segment.last,
                    rows: p.rows + segment.rows,
                    ..p
                },
                Some(p) => {
                    emit(p.range(), p.rows)?;
                    segment
                }
            });
        }
        match pending {
            Some(p) => emit(p.range(), p.rows),
            None => Ok(()),
        }
    }

    /// Whether the key has more than `rows` entries.
    pub fn has_more_than(&mut self, rows: u64) -> Result<bool> {
        let sql = self.select(
            &KeyRange::whole(),
            &self.key.order_by(),
            &format!("{rows},1"),
        );
        Ok(self.fetch_key(&sql)?.is_some())
    }

    /// As [`Splitter::split`] over the whole table, without estimates: the index is walked from end to
    /// end.
    pub fn walk_all(&mut self, emit: &mut dyn FnMut(KeyRange, u64) -> Result<()>) -> Result<()> {
        let mut rest = KeyRange::whole();
        if self.key.nullable() {
            emit(
                KeyRange {
                    nulls: Nulls::Only,
                    ..KeyRange::default()
                },
                0,
            )?;
            rest.nulls = Nulls::Excluded;
        }
        while !self.cancel.is_raised() {
            let sql = self.select(&rest, &self.key.order_by(), &format!("{},1", self.target));
            let Some(at) = self
                .fetch_key(&sql)?
                .filter(|at| rest.from.as_ref() != Some(at))
            else {
                return emit(rest, self.target);
            };
            emit(
                KeyRange {
                    to: Some(at.clone()),
                    ..rest.clone()
                },
                self.target,
            )?;
            rest.from = Some(at);
        }
        Ok(())
    }

    /// Divides the segment in two, at a key that exists.
    fn halve(&mut self, s: &Segment) -> Result<Option<(Segment, Segment)>> {
        let cut = match self.guess(s)? {
            Some(cut) => Some(cut),
            None => self.walk(s)?,
        };
        let Some(Cut {
            at,
            key,
            before,
            after: behind,
        }) = cut
        else {
            return Ok(None);
        };
        let left = KeyRange {
            to: Some(at.clone()),
            ..s.range()
        };
        let Some(last) = self.edge_key(&left, true)? else {
            return Ok(None);
        };
        Ok(Some((
            Segment {
                to: Some(at.clone()),
                last,
                rows: before,
                ..s.clone()
            },
            Segment {
                from: Some(at),
                first: key,
                rows: behind,
                ..s.clone()
            },
        )))
    }

    /// A key inside the segment that leaves a fair share of it on either side.
    fn guess(&mut self, s: &Segment) -> Result<Option<Cut>> {
        let same = s
            .first
            .iter()
            .zip(&s.last)
            .take_while(|(a, b)| a == b)
            .count();
        let (Some(low), Some(high)) = (s.first.get(same), s.last.get(same)) else {
            return Ok(None);
        };
        let mut guesses = middle::guesses(&self.key.columns[same].kind, low, high);
        // Cuts off the last value of the column that differs, when its values are few.
        guesses.push(high.clone());
        let mut best: Option<Cut> = None;
        for guess in guesses {
            let mut bound: Bound = s.first[..same].to_vec();
            bound.push(guess);
            let range = KeyRange {
                from: Some(bound),
                ..s.range()
            };
            let key = self.edge_key(&range, false)?;
            let Some(key) =
                key.filter(|k| *k != s.first && best.as_ref().is_none_or(|b| b.key != *k))
            else {
                continue;
            };
            if !self.is_after_first(s, &key)? {
                continue;
            }
            // No key before this one begins with the same values, and every column more is compared with each row.
            let at = key[..=same].to_vec();
            let before = self.estimate(&KeyRange {
                to: Some(at.clone()),
                ..s.range()
            })?;
            let behind = self.estimate(&KeyRange {
                from: Some(at.clone()),
                ..s.range()
            })?;
            let cut = Cut {
                at,
                key,
                before,
                after: behind,
            };
            if cut.smaller() >= s.rows / 8 {
                return Ok(Some(cut));
            }
            if best.as_ref().is_none_or(|b| cut.smaller() > b.smaller()) {
                best = Some(cut);
            }
        }
        // A cut that takes a few rows off an end is worse than a walk of one chunk.
        Ok(best.filter(|b| b.smaller() >= self.target / 4))
    }

    /// Whether the server orders `key` after `first`: under an unusual collation a guess may have
    /// landed before the segment.
    fn is_after_first(&mut self, s: &Segment, key: &Bound) -> Result<bool> {
        let range = KeyRange {
            from: Some(s.first.clone()),
            to: Some(key.clone()),
            nulls: s.nulls,
        };
        Ok(self.edge_key(&range, false)?.is_some())
    }

    /// The key `target` rows into the segment, by walking the index.
    fn walk(&mut self, s: &Segment) -> Result<Option<Cut>> {
        let sql = self.select(
            &s.range(),
            &self.key.order_by(),
            &format!("{},1", self.target),
        );
        let Some(at) = self.fetch_key(&sql)?.filter(|k| *k != s.first) else {
            return Ok(None);
        };
        // An estimate of more than half a table is only "at least half": take the higher figure.
        let behind = self
            .estimate(&KeyRange {
                from: Some(at.clone()),
                ..s.range()
            })?
            .max(s.rows.saturating_sub(self.target));
        Ok(Some(Cut {
            key: at.clone(),
            at,
            before: self.target,
            after: behind,
        }))
    }

    fn edge_key(&mut self, range: &KeyRange, last: bool) -> Result<Option<Bound>> {
        let order = if last {
            self.key.order_by_descending()
        } else {
            self.key.order_by()
        };
        let sql = self.select(range, &order, "1");
        self.fetch_key(&sql)
    }

    fn select(&self, range: &KeyRange, order: &str, limit: &str) -> String {
        format!(
            "SELECT {} FROM {} FORCE INDEX ({}){} ORDER BY {order} LIMIT {limit}",
            self.key.select(),
            self.table,
            server::quote::ident(&self.key.index),
            range.where_clause(self.key),
        )
    }

    fn fetch_key(&mut self, sql: &str) -> Result<Option<Bound>> {
        let rows = self.conn.fetch(sql).map_err(|e| self.failed(e))?;
        Ok(rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().collect::<Option<Bound>>()))
    }

    /// The optimizer's idea of how many rows are in the range. USE, not FORCE:
    /// with a forced index MySQL saves the dive and says 1.
    fn estimate(&mut self, range: &KeyRange) -> Result<u64> {
        let sql = format!(
            "{} SELECT {} FROM {} USE INDEX ({}){}",
            self.explain,
            self.key.select(),
            self.table,
            server::quote::ident(&self.key.index),
            range.where_clause(self.key),
        );
        let mut rows = self
            .conn
            .query(&sql)
            .map_err(|e| failure::wire(self.table, e))?;
        let column = rows
            .columns()
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case("rows"));
        let mut estimate = 0;
        while let Some(row) = rows.next().map_err(|e| failure::wire(self.table, e))? {
            let cell = column.and_then(|i| row.cells().nth(i));
            if let Some(Ok(Some(text))) = cell {
                estimate = std::str::from_utf8(text)
                    .ok()
                    .and_then(|t| t.parse().ok())
                    .unwrap_or(0);
            }
        }
        Ok(estimate)
    }

    fn failed(&self, e: wire::Error) -> Error {
        failure::wire(format_args!("cannot plan {}", self.table), e)
    }
}

impl Segment {
    fn range(&self) -> KeyRange {
        KeyRange {
            from: self.from.clone(),
            to: self.to.clone(),
            nulls: self.nulls,
        }
    }
}

/// How to ask for an EXPLAIN that answers with a `rows` column: MySQL 9 answers
/// with a tree unless told otherwise, servers before 5.6 know no FORMAT.
pub fn explain(id: &server::identity::Identity) -> &'static str {
    use server::identity::Flavour;
    match id.flavour {
        Flavour::MySql if id.at_least(5, 6, 5) => "EXPLAIN FORMAT=TRADITIONAL",
        _ => "EXPLAIN",
    }
}
