//! Divides the tables into tasks, the largest first, while the readers already work on them.

use super::tables::{Series, TableState};
use super::unreadable;
use crate::SourceFiles;
use crate::from_files::sample;
use crate::from_files::table_files::{self, Piece, Unread};
use crate::postponed;
use crate::progress::Order;
use base::{Counters, Result};
use crossbeam_channel::Sender;
use rows::key_ranges::{KeyRange, Nulls, Splitter, split};
use run::Run;
use run::Stop;
use run::failure;
use server::Identity;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use wire::Conn;

/// One task for a reader.
#[derive(Debug)]
pub struct Task {
    /// The table it belongs to.
    pub table: Arc<TableState>,
    /// Which of its series.
    pub series: usize,
    /// Where it stands among those of its series.
    pub order: Order,
    /// Which rows.
    pub range: KeyRange,
    /// Where they are in files, if they are not read by SQL.
    pub piece: Option<Piece>,
    /// Whether it is the whole table, written as one file however large.
    pub single: bool,
    /// Not the rows: the values of generated columns that the server keeps. They are digested, not written.
    pub generated: bool,
}

impl Task {
    /// The series that its chunks belong to.
    pub fn series(&self) -> &Series {
        &self.table.series[self.series]
    }
}

/// Rows of a table in files that are compared with those that the server reads.
const SAMPLE: u64 = 200;

/// Rows are assumed to be at least this long, so that a table without statistics is still cut.
const SHORTEST_ROW: u64 = 20;

/// A small table with more than this many times its estimated rows …
const STALE: u64 = 4;

/// … and this many more has statistics that cannot be believed.
const STALE_ROWS: u64 = 10_000;

/// Row length to assume then, in bytes.
const UNKNOWN_ROW: u64 = 128;

/// Sends the tasks of all tables; the channel closes when the sender is dropped.
#[allow(clippy::too_many_arguments)] // one call, at the top of the phase
pub fn plan(
    conn: &mut Conn,
    id: &Identity,
    tables: &[Arc<TableState>],
    files: Option<&SourceFiles>,
    chunk_bytes: u64,
    tasks: &Sender<Task>,
    counters: &Counters,
    run: &Run,
    stop: &Stop<'_>,
) -> Result<()> {
    let mut left: VecDeque<(&Arc<TableState>, u32)> = tables.iter().map(|t| (t, 0)).collect();
    while let Some((table, tries)) = left.pop_front() {
        let out = RefCell::new(Outbox {
            tasks,
            waiting: Vec::new(),
            sent: 0,
            holds: false,
        });
        let outcome = divide(conn, id, table, files, chunk_bytes, &out, run, stop);
        let out = out.into_inner();
        if out.holds {
            let released = session(conn, "ROLLBACK");
            // An error that came first says more.
            if outcome.is_ok() {
                released?;
            }
        }
        if let Err(e) = &outcome
            && e.server_error == Some(postponed::TOO_LONG)
            && out.sent == 0
        {
            if tries == 0 {
                run.observer
                    .warn(postponed::waits(&table.table.qualified()));
            }
            stop.check()?;
            left.push_back((table, tries + 1));
            std::thread::sleep(Duration::from_millis(100));
            continue;
        }
        if outcome.is_ok() {
            for task in out.waiting {
                table.begin_task();
                tasks.send(task).map_err(|_| readers_stopped())?;
            }
        }
        unreadable::given_up(table, outcome, &*run.observer)?;
        if !table.generated.is_empty() && table.ended().iter().all(|t| t.generated.is_empty()) {
            stop.check()?;
            table.begin_task();
            let task = Task {
                table: table.clone(),
                series: 0,
                order: Order::new(),
                range: KeyRange::whole(),
                piece: None,
                single: true,
                generated: true,
            };
            tasks.send(task).map_err(|_| readers_stopped())?;
        }
        table.end_task(counters, &*run.observer);
    }
    Ok(())
}

/// Sends the tasks of one table's rows.
#[allow(clippy::too_many_arguments)] // the same as above, for one table
fn divide(
    conn: &mut Conn,
    id: &Identity,
    table: &Arc<TableState>,
    files: Option<&SourceFiles>,
    chunk_bytes: u64,
    out: &RefCell<Outbox<'_>>,
    run: &Run,
    stop: &Stop<'_>,
) -> Result<()> {
    for (n, series) in table.series.iter().enumerate() {
        stop.check()?;
        // Where the next task stands: behind this one.
        let (before, number) = (RefCell::new(Order::new()), Cell::new(0));
        let send_task = |range: KeyRange, piece: Option<Piece>, single: bool| -> Result<()> {
            number.set(number.get() + 1);
            let task = Task {
                table: table.clone(),
                series: n,
                order: [&before.borrow()[..], &[number.get()]].concat(),
                range,
                piece,
                single,
                generated: false,
            };
            out.borrow_mut().add(task)
        };
        if let Some(pieces) = from_files(conn, id, table, n, files, chunk_bytes, run)? {
            let single = pieces.len() == 1;
            for piece in pieces {
                send_task(piece.range.clone(), Some(piece), single)?;
            }
            continue;
        }
        let send = |range, single| send_task(range, None, single);
        let ended = table.ended_ranges(n);
        if ended.iter().any(|(_, range)| range.is_whole()) {
            continue;
        }
        let small = series.data_bytes < chunk_bytes + chunk_bytes / 4;
        let Some(key) = &series.plan.key else {
            send(KeyRange::whole(), small)?;
            continue;
        };
        let row = (series.data_bytes / series.rows_estimate.max(1)).max(SHORTEST_ROW);
        let mut splitter = Splitter {
            conn,
            cancel: &run.cancel,
            table: &series.plan.name,
            key,
            target: (chunk_bytes / row).max(1),
            explain: split::explain(id),
        };
        if !ended.is_empty() || !small {
            out.borrow_mut().hold(splitter.conn, &series.plan.name)?;
        }
        if !ended.is_empty() {
            for (behind, gap) in gaps(ended, key.nullable()) {
                before.replace(behind);
                number.set(0);
                splitter.split(&gap, &mut |range, _| send(range, false))?;
            }
        } else if !small {
            splitter.split(&KeyRange::whole(), &mut |range, _| send(range, false))?;
        } else if splitter.has_more_than(STALE * series.rows_estimate + STALE_ROWS)? {
            // Just loaded, or never analysed: its statistics are useless.
            out.borrow_mut().hold(splitter.conn, &series.plan.name)?;
            splitter.target = (chunk_bytes / UNKNOWN_ROW).max(1);
            splitter.walk_all(&mut |range, _| send(range, false))?;
        } else {
            send(KeyRange::whole(), true)?;
        }
    }
    Ok(())
}

fn session(conn: &mut Conn, sql: &str) -> Result<()> {
    conn.execute(sql)
        .map(drop)
        .map_err(|e| failure::wire("cannot plan the reading of a table", e))
}

/// Tasks of one table on their way to the readers. The planner keeps the table locked while it divides it: whoever waits for the
/// table must not have to wait until readers have room for tasks. What they have no room for is sent behind that.
struct Outbox<'a> {
    tasks: &'a Sender<Task>,
    waiting: Vec<Task>,
    /// How many were sent at once.
    sent: u64,
    /// Whether the planner keeps the table as it is, so that it will not have to begin again with it.
    holds: bool,
}

impl Outbox<'_> {
    /// Begins a transaction and reads of the table, which nobody can change from then on. One statement is enough for a table that
    /// is not divided; without the transaction each further one could have to wait for a change that waits for a reader.
    fn hold(&mut self, conn: &mut Conn, table: &str) -> Result<()> {
        if self.holds {
            return Ok(());
        }
        session(conn, "START TRANSACTION")?;
        self.holds = true;
        session(conn, &format!("SELECT 1 FROM {table} LIMIT 0"))
    }

    fn add(&mut self, task: Task) -> Result<()> {
        // Nobody else sends.
        if !self.holds || !self.waiting.is_empty() || self.tasks.is_full() {
            self.waiting.push(task);
            return Ok(());
        }
        self.sent += 1;
        task.table.begin_task();
        self.tasks.send(task).map_err(|_| readers_stopped())
    }
}

/// What is left to be read between ranges that were read: each gap with the place of what is in front of it. Ranges are planned in
/// the order of the key, and are contiguous: where one does not begin where the one before it ends, something is missing.
fn gaps(ended: &[(Order, KeyRange)], nullable: bool) -> Vec<(Order, KeyRange)> {
    let nulls = match nullable {
        true => Nulls::Excluded,
        false => Nulls::Included,
    };
    let mut gaps = Vec::new();
    let (of_nulls, ranges): (Vec<_>, Vec<_>) = ended
        .iter()
        .partition(|(_, range)| range.nulls == Nulls::Only);
    if nullable && of_nulls.is_empty() {
        let range = KeyRange {
            nulls: Nulls::Only,
            ..KeyRange::default()
        };
        gaps.push((vec![0, 0], range));
    }
    let (mut at, mut behind) = (None, vec![0]);
    for (order, range) in &ranges {
        if range.from != at {
            let gap = KeyRange {
                from: at,
                to: range.from.clone(),
                nulls,
            };
            gaps.push((behind, gap));
        }
        (at, behind) = (range.to.clone(), order.clone());
    }
    if ranges.is_empty() || at.is_some() {
        let gap = KeyRange {
            from: at,
            to: None,
            nulls,
        };
        gaps.push((behind, gap));
    }
    gaps
}

/// The pieces of a series in its files; `None`: its rows are read by SQL.
fn from_files(
    conn: &mut Conn,
    id: &Identity,
    table: &TableState,
    series: usize,
    files: Option<&SourceFiles>,
    chunk_bytes: u64,
    run: &Run,
) -> Result<Option<Vec<Piece>>> {
    let Some(files) = files else { return Ok(None) };
    let of = &table.series[series];
    let opened = table_files::open(
        &files.read_from,
        &table.table,
        of.partition.as_deref(),
        &of.plan,
        &run.limiter,
        id.is_mariadb(),
        files.lock.as_deref(),
    );
    let pieces = opened.and_then(|files| {
        let [first, ..] = &files[..] else {
            return Err("it has no file".into());
        };
        let leaves = table_files::leaves(&files);
        // With long values, which lie outside of the leaves.
        let each = (of.data_bytes / leaves.max(1)).max(1);
        let sample = first.first_rows(SAMPLE).map_err(|e| first.unread(e))?;
        let mut plan = of.plan.clone();
        // A server that reads all rows reads them in the order of the clustered index.
        plan.key
            .take_if(|key| !files.iter().all(|f| f.is_in_order_of(key)));
        let pieces = table_files::divide(&files, &of.plan, chunk_bytes, each);
        let pieces = pieces.map_err(|e| first.unread(e))?;
        Ok((sample, plan, files.len(), pieces))
    });
    let why = match pieces {
        Ok((sample, plan, 1, pieces)) => match sample::has_first_rows(conn, &plan, &sample)? {
            true => return Ok(Some(pieces)),
            false => "its first rows are not those that the server reads".to_owned(),
        },
        // The server reads several partitions in another order, so nothing proves the definition; MySQL's files have it.
        Ok((_, _, _, pieces)) if !id.is_mariadb() => return Ok(Some(pieces)),
        Ok(_) => "it has many small partitions, whose first rows cannot be compared".to_owned(),
        Err(Unread::Damaged(why)) => {
            unreadable::give_up(table, &why, &*run.observer);
            return Ok(Some(Vec::new()));
        }
        Err(Unread::BySql(why)) => why,
    };
    table.read_by_sql(&why);
    Ok(None)
}

/// Readers that failed have closed the channel; theirs is the error to show.
fn readers_stopped() -> base::Error {
    base::Error::new(base::Kind::Interrupted, "the readers have stopped")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: Option<&str>, to: Option<&str>, nulls: Nulls) -> KeyRange {
        let bound = |text: &str| vec![text.as_bytes().to_vec()];
        KeyRange {
            from: from.map(bound),
            to: to.map(bound),
            nulls,
        }
    }

    fn ended(
        list: &[(&[u32], Option<&str>, Option<&str>)],
        nulls: Nulls,
    ) -> Vec<(Order, KeyRange)> {
        let one = |(order, from, to): &(&[u32], Option<&str>, Option<&str>)| {
            (order.to_vec(), range(*from, *to, nulls))
        };
        list.iter().map(one).collect()
    }

    #[test]
    fn what_was_not_read_is_planned() {
        let plain = Nulls::Included;
        // All of it, in three ranges.
        let all = [
            (&[1][..], None, Some("5")),
            (&[2], Some("5"), Some("9")),
            (&[3], Some("9"), None),
        ];
        assert_eq!(gaps(&ended(&all, plain), false), []);
        // The planner was behind the second one.
        let found = gaps(&ended(&all[..2], plain), false);
        assert_eq!(found, ended(&[(&[2], Some("9"), None)], plain));
        // The first and one in the middle are missing.
        let some = [
            (&[2][..], Some("5"), Some("6")),
            (&[4], Some("8"), Some("9")),
            (&[4, 1], Some("9"), None),
        ];
        let found = gaps(&ended(&some, plain), false);
        let wanted = [(&[0][..], None, Some("5")), (&[2], Some("6"), Some("8"))];
        assert_eq!(found, ended(&wanted, plain));
        assert_eq!(gaps(&[], false), ended(&[(&[0], None, None)], plain));
    }

    /// A run that plans behind a range again has to find its own numbers in between.
    #[test]
    fn numbers_of_later_runs_stay_in_order() {
        let kept = ended(
            &[(&[1], None, Some("2")), (&[2], Some("4"), Some("6"))],
            Nulls::Included,
        );
        let found = gaps(&kept, false);
        assert_eq!(found.len(), 2);
        let first = [&found[0].0[..], &[7]].concat();
        assert!(kept[0].0 < first && first < kept[1].0);
        assert!([&found[1].0[..], &[1]].concat() > kept[1].0);
    }

    #[test]
    fn rows_with_nulls_are_a_range_of_their_own() {
        let without = Nulls::Excluded;
        let nulls = (vec![0, 0], range(None, None, Nulls::Only));
        let tail = ended(&[(&[2], Some("5"), None)], without);
        let found = gaps(&ended(&[(&[2], None, Some("5"))], without), true);
        assert_eq!(found, [vec![nulls.clone()], tail].concat());
        let only = vec![(vec![1], range(None, None, Nulls::Only))];
        assert_eq!(gaps(&only, true), ended(&[(&[0], None, None)], without));
    }
}
