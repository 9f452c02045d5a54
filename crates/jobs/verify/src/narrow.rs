//! Which rows differ in a range whose digests do.
//!
//! Each side is read in its own snapshot: one into a table of hashes, the other against it, then the first once more for the rows
//! that differ. Only those are kept.

use super::compare::{Pair, Plans};
use base::units::count;
use base::{Error, Kind, Result};
use rows::key_ranges::KeyRange;
use rows::key_ranges::range::shown;
use run::{Run, failure};
use server::catalog::{Column, Table, chunk_key};
use std::collections::HashMap;
use wire::{Conn, Row};

/// Rows of a range that are looked at one by one.
const MOST_READ: usize = 2_000_000;
/// Rows of a table that are kept.
const MOST_ROWS: usize = 10_000;
/// Bytes of them.
const MOST_BYTES: usize = 64 << 20;
/// Places that are named for a range.
const MOST_PLACES: usize = 10;

/// The values of a row, in the order of the columns.
pub type Cells = Vec<Option<Vec<u8>>>;

/// A row that is not the same on both servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowDifference {
    /// Both have it, with other values.
    Differs {
        /// On the first server.
        left: Cells,
        /// On the second.
        right: Cells,
    },
    /// Only the first server has it.
    OnlyLeft(Cells),
    /// Only the second server has it.
    OnlyRight(Cells),
}

impl RowDifference {
    fn cells(&self) -> &Cells {
        match self {
            RowDifference::Differs { left, .. } => left,
            RowDifference::OnlyLeft(cells) | RowDifference::OnlyRight(cells) => cells,
        }
    }

    fn bytes(&self) -> usize {
        let of = |cells: &Cells| cells.iter().flatten().map(Vec::len).sum::<usize>();
        match self {
            RowDifference::Differs { left, right } => of(left) + of(right),
            other => of(other.cells()),
        }
    }
}

/// What differs in a table.
#[derive(Clone, Debug, Default)]
pub struct TableDifference {
    /// On the second server, quoted.
    pub table: String,
    /// Its columns there, in the order of [`Cells`].
    pub columns: Vec<Column>,
    /// Which of them are its key.
    pub key: Vec<usize>,
    /// Whether it has triggers there.
    pub triggers: bool,
    /// The rows.
    pub rows: Vec<RowDifference>,
    /// Why these are not all rows that differ, if they are not.
    pub incomplete: Option<String>,
}

impl TableDifference {
    /// Nothing yet, of this table of the second server, whose rows are read in this order of columns.
    pub(crate) fn of(table: &Table, names: &[String]) -> TableDifference {
        let columns: Vec<Column> = names
            .iter()
            .filter_map(|n| table.column(n).cloned())
            .collect();
        // Rows with a NULL in their key may be there several times.
        let key = chunk_key(table)
            .filter(|k| !k.nullable())
            .and_then(|k| {
                let place = |name: &str| columns.iter().position(|c| c.name == name);
                k.columns().map(place).collect::<Option<Vec<_>>>()
            })
            .unwrap_or_default();
        TableDifference {
            table: table.qualified(),
            incomplete: key
                .is_empty()
                .then(|| "it has no key that tells its rows apart".to_owned()),
            triggers: !table.triggers.is_empty(),
            columns,
            key,
            rows: Vec::new(),
        }
    }

    /// Finds the rows of a range, and names their places.
    pub(crate) fn narrow(
        &mut self,
        run: &Run,
        pair: &mut Pair,
        plans: &Plans,
        range: &KeyRange,
    ) -> Result<Vec<String>> {
        if self.incomplete.is_some() {
            return Ok(Vec::new());
        }
        let (Some(right), Some(right_plan)) = (&mut pair.right, &plans.right) else {
            return Err(Error::new(Kind::Internal, "nothing to compare with"));
        };
        let (left_sql, right_sql) = (plans.left.select(range), right_plan.select(range));
        let Some(mut known) = Known::read(run, &mut pair.left, &left_sql, &self.key)? else {
            self.give_up(format!(
                "a range has more than {} rows",
                count(MOST_READ as u64)
            ));
            return Ok(Vec::new());
        };
        let mut found = known.compare(run, right, &right_sql, &self.key)?;
        known.complete(run, &mut pair.left, &left_sql, &mut found)?;
        found.sort_by_key(|f| f.equal_before);
        let places = self.places(&found);
        self.rows.extend(found.into_iter().map(|f| f.row));
        let kept: usize = self.rows.iter().map(RowDifference::bytes).sum();
        if self.rows.len() > MOST_ROWS {
            self.give_up(format!(
                "more than {} rows of it differ",
                count(MOST_ROWS as u64)
            ));
        } else if kept > MOST_BYTES {
            self.give_up(format!(
                "the rows of it that differ have more than {}",
                base::units::bytes(MOST_BYTES as u64)
            ));
        }
        Ok(places)
    }

    fn give_up(&mut self, why: String) {
        self.rows = Vec::new();
        self.incomplete = Some(why);
    }

    /// Where the rows are: those without an equal row in between are one place.
    fn places(&self, found: &[Found]) -> Vec<String> {
        let groups = found.chunk_by(|a, b| a.equal_before == b.equal_before);
        let all: Vec<String> = groups.map(|g| self.place(g)).collect();
        let more = all.len().saturating_sub(MOST_PLACES);
        let mut places: Vec<String> = all.into_iter().take(MOST_PLACES).collect();
        if more > 0 {
            places.push(format!("… and {} more places", count(more as u64)));
        }
        places
    }

    fn place(&self, rows: &[Found]) -> String {
        let names: Vec<&str> = self.key.iter().map(|i| &*self.columns[*i].name).collect();
        let names = names.join(", ");
        let tuple = |row: &RowDifference| {
            let values = self.key_of(row).map(shown).collect::<Vec<_>>();
            format!("({})", values.join(", "))
        };
        if let [one] = rows {
            let what = match &one.row {
                RowDifference::OnlyLeft(_) => "only on the first server".to_owned(),
                RowDifference::OnlyRight(_) => "only on the second server".to_owned(),
                RowDifference::Differs { left, right } => {
                    let columns = self.columns.iter().zip(left.iter().zip(right));
                    let differ = columns.filter(|(_, (a, b))| a != b).map(|(c, _)| &*c.name);
                    format!("differs in {}", server::quote::ident_list(differ))
                }
            };
            return format!("({names}) {}: {what}", tuple(&one.row));
        }
        let number = |is: fn(&RowDifference) -> bool| rows.iter().filter(|f| is(&f.row)).count();
        let counts = [
            (
                number(|r| matches!(r, RowDifference::Differs { .. })),
                "differ",
            ),
            (
                number(|r| matches!(r, RowDifference::OnlyLeft(_))),
                "only on the first server",
            ),
            (
                number(|r| matches!(r, RowDifference::OnlyRight(_))),
                "only on the second server",
            ),
        ];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{} {what}", count(*n as u64)))
            .collect();
        let mut sorted: Vec<&RowDifference> = rows.iter().map(|f| &f.row).collect();
        sorted.sort_by(|a, b| {
            let pairs = self.key_of(a).zip(self.key_of(b));
            let orders = pairs.map(|(a, b)| order(a, b));
            orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        let ends = (sorted.first(), sorted.last());
        let (Some(first), Some(last)) = ends else {
            return String::new();
        };
        format!(
            "({names}) from {} to {}: {}",
            tuple(first),
            tuple(last),
            counts.join(", ")
        )
    }

    fn key_of<'r>(&'r self, row: &'r RowDifference) -> impl Iterator<Item = &'r [u8]> {
        let cells = row.cells();
        self.key
            .iter()
            .map(|i| cells.get(*i).and_then(Option::as_deref).unwrap_or_default())
    }
}

/// Numbers by their value, all else by its bytes: good enough to name the ends of a place.
fn order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    let number = |v: &[u8]| std::str::from_utf8(v).ok()?.parse::<i128>().ok();
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.cmp(b),
    }
}

/// A row that differs, and how many equal rows of its range come before it.
struct Found {
    equal_before: u64,
    row: RowDifference,
}

type Hash = [u8; 16];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unseen,
    Equal,
    /// With the place in what was found, where the other side's values are.
    Differs(usize),
}

/// The rows of the first server.
struct Known {
    rows: Vec<(Hash, State)>,
    by_key: HashMap<Hash, usize>,
}

impl Known {
    /// `None`: too many.
    fn read(run: &Run, conn: &mut Conn, sql: &str, key: &[usize]) -> Result<Option<Known>> {
        let mut known = Known {
            rows: Vec::new(),
            by_key: HashMap::new(),
        };
        let mut too_many = false;
        each_row(run, conn, sql, "the first server", |row| {
            too_many = known.rows.len() >= MOST_READ;
            if !too_many {
                let place = known.rows.len();
                known.by_key.insert(key_hash(&row, key)?, place);
                known.rows.push((hash(row.payload()), State::Unseen));
            }
            Ok(())
        })?;
        Ok((!too_many).then_some(known))
    }

    /// Reads the other side. Values of the first server are not known yet, and empty.
    fn compare(
        &mut self,
        run: &Run,
        conn: &mut Conn,
        sql: &str,
        key: &[usize],
    ) -> Result<Vec<Found>> {
        let (mut found, mut equal) = (Vec::new(), 0);
        each_row(run, conn, sql, "the second server", |row| {
            let at = self.by_key.get(&key_hash(&row, key)?).copied();
            let row = match at.and_then(|at| self.rows.get_mut(at)) {
                None => RowDifference::OnlyRight(cells(&row)?),
                Some((known, state)) if *known == hash(row.payload()) => {
                    *state = State::Equal;
                    equal += 1;
                    return Ok(());
                }
                Some((_, state)) => {
                    *state = State::Differs(found.len());
                    RowDifference::Differs {
                        left: Cells::new(),
                        right: cells(&row)?,
                    }
                }
            };
            found.push(Found {
                equal_before: equal,
                row,
            });
            Ok(())
        })?;
        Ok(found)
    }

    /// Reads the first server's values of the rows that differ.
    fn complete(
        &self,
        run: &Run,
        conn: &mut Conn,
        sql: &str,
        found: &mut Vec<Found>,
    ) -> Result<()> {
        if self.rows.iter().all(|(_, state)| *state == State::Equal) {
            return Ok(());
        }
        let (mut at, mut equal) = (0, 0);
        each_row(run, conn, sql, "the first server", |row| {
            let state = self.rows.get(at).map_or(State::Unseen, |(_, state)| *state);
            at += 1;
            match state {
                State::Equal => equal += 1,
                State::Unseen => found.push(Found {
                    equal_before: equal,
                    row: RowDifference::OnlyLeft(cells(&row)?),
                }),
                State::Differs(place) => {
                    if let Some(Found {
                        equal_before,
                        row: RowDifference::Differs { left, .. },
                    }) = found.get_mut(place)
                    {
                        *equal_before = equal;
                        *left = cells(&row)?;
                    }
                }
            }
            Ok(())
        })
    }
}

fn hash(bytes: &[u8]) -> Hash {
    let mut short = Hash::default();
    short.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    short
}

fn key_hash(row: &Row<'_>, key: &[usize]) -> Result<Hash> {
    let cells = cells(row)?;
    let mut all = Vec::new();
    for at in key {
        let cell = cells
            .get(*at)
            .and_then(Option::as_deref)
            .unwrap_or_default();
        all.extend_from_slice(&(cell.len() as u64).to_le_bytes());
        all.extend_from_slice(cell);
    }
    Ok(hash(&all))
}

fn cells(row: &Row<'_>) -> Result<Cells> {
    row.cells()
        .map(|cell| cell.map(|c| c.map(<[u8]>::to_vec)))
        .collect::<Result<_, _>>()
        .map_err(|e| failure::wire("cannot read a row", e))
}

fn each_row(
    run: &Run,
    conn: &mut Conn,
    sql: &str,
    who: &str,
    mut take: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let wrong = |e| failure::of_server(who, failure::wire("cannot read the rows that differ", e));
    let mut rows = conn.query_bulk(sql).map_err(wrong)?;
    while let Some(row) = rows.next().map_err(wrong)? {
        run.check()?;
        take(row)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Cells {
        let bytes = |c: &&str| Some(c.as_bytes().to_vec());
        cells.iter().map(bytes).collect()
    }

    fn table() -> TableDifference {
        let column = |name: &str| Column {
            name: name.to_owned(),
            data_type: "int".to_owned(),
            ..Column::default()
        };
        TableDifference {
            table: "`s`.`t`".to_owned(),
            columns: vec![column("id"), column("v")],
            key: vec![0],
            ..TableDifference::default()
        }
    }

    #[test]
    fn neighbours_are_one_place() {
        let found = |equal_before, row| Found { equal_before, row };
        let all = [
            found(
                3,
                RowDifference::Differs {
                    left: row(&["4", "a"]),
                    right: row(&["4", "b"]),
                },
            ),
            found(7, RowDifference::OnlyRight(row(&["10", "x"]))),
            found(7, RowDifference::OnlyLeft(row(&["9", "x"]))),
            found(7, RowDifference::OnlyLeft(row(&["11", "x"]))),
            found(8, RowDifference::OnlyRight(row(&["20", "x"]))),
        ];
        assert_eq!(
            table().places(&all),
            [
                "(id) (4): differs in `v`",
                "(id) from (9) to (11): 2 only on the first server, 1 only on the second server",
                "(id) (20): only on the second server",
            ]
        );
    }

    #[test]
    fn only_so_many_places_are_named() {
        let all: Vec<Found> = (0..13)
            .map(|n| Found {
                equal_before: n,
                row: RowDifference::OnlyLeft(row(&["1", "x"])),
            })
            .collect();
        let places = table().places(&all);
        assert_eq!(places.len(), MOST_PLACES + 1);
        assert_eq!(places[MOST_PLACES], "… and 3 more places");
    }
}
