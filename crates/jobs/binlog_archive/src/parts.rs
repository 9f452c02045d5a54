//! What the events of a transaction say: its statements, and its rows with the tables that they belong to.

use crate::walk::Walked;
use base::{Error, Result};
use binlog::body::columns::Column;
use binlog::body::query::Role;
use binlog::body::{Image, Payload, Query, Rows, Table, columns};
use binlog::{Event, kind};
use std::collections::BTreeMap;

/// Makes the error of events of a file that cannot be read.
pub(crate) type Wrong = fn(&str, &binlog::Error) -> Error;

/// Longest event in a compressed transaction.
const LONGEST: usize = binlog::file::LONGEST;

/// Something that a transaction does.
pub(crate) enum Part<'e> {
    /// A statement, and what it is to its transaction.
    Query {
        /// It.
        query: &'e Query<'e>,
        /// A part, or one of those that begin and end a transaction.
        role: Role,
    },
    /// The text of the statement whose rows follow.
    OfRows(&'e [u8]),
    /// Changes of rows.
    Rows(RowsOf<'e>),
    /// An event of another kind that a transaction is made of: its name and its body.
    Other((binlog::kind::Kind, &'e [u8])),
}

/// A table, as its event describes it.
pub(crate) struct TableOf {
    /// Schema and name.
    pub(crate) name: (String, String),
    /// Its columns.
    pub(crate) columns: Vec<Column>,
}

/// The rows of an event.
pub(crate) struct RowsOf<'e> {
    pub(crate) table: &'e TableOf,
    pub(crate) event: &'e Rows<'e>,
    /// Its file, for errors.
    file: &'e str,
    wrong: Wrong,
}

impl RowsOf<'_> {
    /// Calls `each` with every row, as it was and as it is; an error of `each` ends it.
    pub(crate) fn each(
        &self,
        mut each: impl FnMut(Option<Image<'_>>, Option<Image<'_>>) -> Result<()>,
    ) -> Result<()> {
        let mut failed = Ok(());
        let read = self.event.each(&self.table.columns, |before, after| {
            if failed.is_ok() {
                failed = each(before, after);
            }
            Ok(())
        });
        failed?;
        read.map_err(|e| (self.wrong)(self.file, &e))
    }
}

/// Reads events, and knows the tables that they name.
pub(crate) struct Reader {
    mariadb: bool,
    wrong: Wrong,
    /// By the numbers that row events name them by.
    tables: BTreeMap<u64, TableOf>,
}

impl Reader {
    pub(crate) fn new(mariadb: bool, wrong: Wrong) -> Reader {
        Reader {
            mariadb,
            wrong,
            tables: BTreeMap::new(),
        }
    }

    /// Forgets the tables: numbers count within a transaction only.
    pub(crate) fn clear(&mut self) {
        self.tables.clear();
    }

    /// Calls `each` with what an event says.
    pub(crate) fn take(
        &mut self,
        walked: &Walked<'_>,
        each: &mut dyn FnMut(Part<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut failed = Ok(());
        let read = self.event(walked.event, walked.file, &mut |part| {
            if failed.is_ok() {
                failed = each(part);
            }
        });
        failed?;
        read.map_err(|e| (self.wrong)(walked.file, &e))
    }

    fn event(
        &mut self,
        event: &Event<'_>,
        file: &str,
        each: &mut dyn FnMut(Part<'_>),
    ) -> binlog::Result<()> {
        match event.header.kind {
            kind::TRANSACTION_PAYLOAD => {
                let payload = Payload::parse(event.body())?;
                return payload.events(LONGEST, |inner| self.event(&inner, file, each));
            }
            // A length and the text; MariaDB has no length.
            kind::ROWS_QUERY => each(Part::OfRows(event.body().get(1..).unwrap_or_default())),
            kind::ANNOTATE_ROWS => each(Part::OfRows(event.body())),
            kind::TABLE_MAP => {
                if let Some(table) = Table::parse(event)? {
                    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
                    let of = TableOf {
                        name: (text(table.schema), text(table.name)),
                        columns: columns::parse(table.columns, self.mariadb)?,
                    };
                    self.tables.insert(table.id, of);
                }
            }
            other => {
                if let Some(query) = Query::parse(event)? {
                    let role = query.role();
                    each(Part::Query {
                        query: &query,
                        role,
                    });
                } else if let Some(rows) = Rows::parse(event)? {
                    match self.tables.get(&rows.table) {
                        Some(table) => each(Part::Rows(RowsOf {
                            table,
                            event: &rows,
                            file,
                            wrong: self.wrong,
                        })),
                        // A dummy event that only ends its statement.
                        None if rows.is_empty() => {}
                        None => {
                            let why = "no event before it describes its table";
                            return Err(binlog::Error::malformed("row event", why));
                        }
                    }
                } else {
                    each(Part::Other((other, event.body())));
                }
            }
        }
        Ok(())
    }
}
