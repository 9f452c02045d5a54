//! Shows transactions: their statements, and their rows decoded, as they were and as they are.
//!
//! What was found is read once more, one event at a time: no transaction is held in memory.

use crate::definitions::{Definitions, Known};
use crate::log::Log;
use crate::parts::{Part, Reader, RowsOf};
use crate::search::{Found, Search};
use crate::walk::{Place, Walked};
use base::Result;
use binlog::body::columns::Column;
use binlog::body::query::Role;
use binlog::body::{Cell, Change, Image};
use binlog::value::{self, Decoded};
use run::Run;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// How much of it is shown.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose rows: those of the tables and kinds that were searched for.
    pub search: Search,
    /// Rows of a transaction, at most.
    pub rows: u64,
}

/// Something to be shown.
pub enum Shown<'a> {
    /// A transaction begins.
    Transaction(&'a Found),
    /// A statement of it.
    Statement {
        /// Its default schema; empty if the log does not say.
        schema: &'a str,
        /// Its text.
        text: &'a str,
        /// Whether it is the text of the statement that changed the rows behind it, which the log has besides the rows.
        of_rows: bool,
    },
    /// A row that it changes.
    Row(&'a Row<'a>),
    /// The transaction ends.
    End(&'a Ended),
}

/// A row.
pub struct Row<'a> {
    /// Schema of its table.
    pub schema: &'a str,
    /// Its table.
    pub table: &'a str,
    /// What happened to it.
    pub change: Change,
    /// The columns, with all that is known of them.
    pub columns: &'a [Column],
    /// As it was; not of a row that is new.
    pub before: Option<Vec<Value>>,
    /// As it is; not of one that is gone.
    pub after: Option<Vec<Value>>,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The log does not have it.
    Absent,
    /// NULL.
    Null,
    /// This.
    Is(Decoded),
}

/// What a transaction has that was not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Rows that were shown.
    pub rows: u64,
    /// Rows above the limit.
    pub above_limit: u64,
    /// Rows of other tables, or of other kinds of change, than were asked for.
    pub others: u64,
    /// Whether it was rolled back; what is shown took effect only in tables without transactions.
    pub rolled_back: bool,
}

/// What was shown.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Transactions.
    pub transactions: u64,
    /// Statements.
    pub statements: u64,
    /// Rows.
    pub rows: u64,
    /// Rows that were not shown.
    pub left: u64,
    /// Where names of columns are from that the log lacks: by table.
    pub named_by: BTreeMap<String, String>,
    /// Tables whose columns have no names, and why.
    pub unnamed: BTreeMap<String, String>,
}

/// Reads transactions that were found once more: calls `each` with every event of them.
pub(crate) fn read_again(
    run: &Run,
    log: &Log<'_>,
    found: &[Found],
    each: &mut dyn FnMut(&Found, &Walked<'_>) -> Result<()>,
) -> Result<()> {
    for of_timeline in found.chunk_by(|a, b| a.timeline == b.timeline) {
        let Some(first) = of_timeline.first() else {
            continue;
        };
        let place = Place {
            file: first.file.clone(),
            offset: first.transaction.start,
        };
        // Those that have not ended, the next one first.
        let next = std::cell::Cell::new(0);
        log.walk(
            log.place_of(first.timeline),
            &place,
            &mut |head| {
                let holds = |f: &Found| {
                    f.file == head.file
                        && f.transaction.start < head.end
                        && f.transaction.end > head.start
                };
                of_timeline[next.get()..].iter().any(holds)
            },
            &mut |walked| {
                run.check()?;
                let at = walked.place();
                while let Some(now) = of_timeline.get(next.get()) {
                    let end = Place {
                        file: now.file.clone(),
                        offset: now.transaction.end,
                    };
                    if at.order() < end.order() {
                        if walked.file == now.file && walked.at >= now.transaction.start {
                            each(now, walked)?;
                        }
                        return Ok(ControlFlow::Continue(()));
                    }
                    next.set(next.get() + 1);
                }
                Ok(ControlFlow::Break(()))
            },
        )?;
    }
    Ok(())
}

/// Shows transactions that were found.
pub fn show(
    run: &Run,
    log: &Log<'_>,
    found: &[Found],
    definitions: &Definitions,
    options: &Options,
    sink: &mut dyn FnMut(Shown<'_>) -> Result<()>,
) -> Result<Summary> {
    let mut state = State {
        definitions,
        options,
        sink,
        summary: Summary::default(),
        ended: Ended::default(),
    };
    let mut now: Option<Reader> = None;
    read_again(run, log, found, &mut |of, walked| {
        let mariadb = log.is_mariadb(log.place_of(of.timeline));
        if walked.at == of.transaction.start {
            state.begin(of)?;
            now = Some(Reader::new(mariadb, log.wrong()));
        }
        if let Some(reader) = &mut now {
            let at = walked.place();
            reader.take(walked, &mut |part| state.part(of, mariadb, &at, part))?;
        }
        if walked.mark == binlog::Mark::End {
            state.end()?;
            now = None;
        }
        Ok(())
    })?;
    Ok(state.summary)
}

struct State<'s> {
    definitions: &'s Definitions,
    options: &'s Options,
    sink: &'s mut dyn FnMut(Shown<'_>) -> Result<()>,
    summary: Summary,
    ended: Ended,
}

impl State<'_> {
    fn begin(&mut self, found: &Found) -> Result<()> {
        self.ended = Ended::default();
        self.summary.transactions += 1;
        (self.sink)(Shown::Transaction(found))
    }

    fn end(&mut self) -> Result<()> {
        self.summary.left += self.ended.above_limit + self.ended.others;
        (self.sink)(Shown::End(&self.ended))
    }

    fn part(&mut self, found: &Found, mariadb: bool, at: &Place, part: Part<'_>) -> Result<()> {
        match part {
            Part::Query { query, role } => {
                if role == Role::End && query.statement.eq_ignore_ascii_case(b"ROLLBACK") {
                    self.ended.rolled_back = true;
                }
                if role != Role::Part {
                    return Ok(());
                }
                let schema = String::from_utf8_lossy(query.schema);
                self.statement(&schema, &query.statement, false)
            }
            Part::OfRows(text) => self.statement("", text, true),
            Part::Rows(rows) => self.rows(found, mariadb, at, &rows),
            Part::Other(_) => Ok(()),
        }
    }

    fn statement(&mut self, schema: &str, text: &[u8], of_rows: bool) -> Result<()> {
        self.summary.statements += 1;
        let text = &String::from_utf8_lossy(text);
        (self.sink)(Shown::Statement {
            schema,
            text,
            of_rows,
        })
    }

    fn rows(&mut self, found: &Found, mariadb: bool, at: &Place, rows: &RowsOf<'_>) -> Result<()> {
        let (schema, table) = &rows.table.name;
        let search = &self.options.search;
        let change = rows.event.change;
        if !search.is_about(schema, table) || !search.is_about_change(change) {
            return rows.each(|_, _| {
                self.ended.others += 1;
                Ok(())
            });
        }
        let mut columns = rows.table.columns.clone();
        if columns.iter().any(|c| c.name.is_none()) {
            let name = format!("{schema}.{table}");
            let of =
                self.definitions
                    .of(found.timeline, &rows.table.name, at, &mut columns, mariadb);
            match of {
                Known::Defined(definition) => {
                    self.summary.named_by.insert(name, definition.by.clone());
                }
                Known::Not(why) => {
                    self.summary.unnamed.insert(name, why);
                }
            }
        }
        rows.each(|before, after| {
            if self.ended.rows == self.options.rows {
                self.ended.above_limit += 1;
                return Ok(());
            }
            self.ended.rows += 1;
            self.summary.rows += 1;
            let row = Row {
                schema,
                table,
                change,
                columns: &columns,
                before: before.map(|image| values(&columns, &image)),
                after: after.map(|image| values(&columns, &image)),
            };
            (self.sink)(Shown::Row(&row))
        })
    }
}

/// The values of an image.
pub(crate) fn values(columns: &[Column], image: &Image<'_>) -> Vec<Value> {
    let one = |(column, cell): (&Column, &Cell<'_>)| match cell {
        Cell::Absent => Value::Absent,
        Cell::Null => Value::Null,
        Cell::Value(stored) => Value::Is(value::decode(column, stored)),
        Cell::Changes(stored) => Value::Is(value::json_changes(stored)),
    };
    columns.iter().zip(image).map(one).collect()
}
