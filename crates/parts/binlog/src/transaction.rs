//! Where transactions begin and end in a log.
//!
//! Every event is either a part of a transaction or stands between two. Only at an end may a log be cut off: what is
//! before it is whole, what follows begins with the next transaction.

use crate::body::query::Role;
use crate::body::{Begin, Query};
use crate::event::Event;
use crate::gtid::Gtid;
use crate::{Result, kind};

/// A transaction, or a statement that is one by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// Offset of its first event.
    pub start: u64,
    /// Offset behind its last one.
    pub end: u64,
    /// Its name, if it has one.
    pub gtid: Option<Gtid>,
    /// When it was committed, in microseconds since 1970, as exactly as the log knows it. Where that is only the second
    /// in which its statement began, see [`Transaction::exact`].
    pub time: u64,
    /// Whether `time` is the time of the commit itself (MySQL since 8.0.1).
    pub exact: bool,
}

/// What an event is to the transactions of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Between transactions.
    Between,
    /// A part of one, but not its last.
    Inside,
    /// The last one: [`Boundaries::ended`] has the transaction.
    End,
}

/// Finds transactions in the events of one file.
#[derive(Clone, Debug, Default)]
pub struct Boundaries {
    open: Option<Open>,
    ended: Transaction,
}

#[derive(Clone, Debug)]
struct Open {
    transaction: Transaction,
    /// It has an event of its own that ends it.
    until_end: bool,
}

impl Boundaries {
    /// Before the first event of a file, or between two transactions.
    pub fn new() -> Boundaries {
        Boundaries::default()
    }

    /// Inside a transaction whose first events are known already; `until_end`: an event of its own ends it.
    pub fn resume(transaction: Transaction, until_end: bool) -> Boundaries {
        Boundaries {
            open: Some(Open {
                transaction,
                until_end,
            }),
            ended: Transaction::default(),
        }
    }

    /// What [`Boundaries::resume`] needs to go on from here.
    pub fn open(&self) -> Option<(&Transaction, bool)> {
        let open = self.open.as_ref()?;
        Some((&open.transaction, open.until_end))
    }

    /// The transaction that has ended last.
    pub fn ended(&self) -> &Transaction {
        &self.ended
    }

    /// The transaction that has begun and not ended.
    pub fn begun(&self) -> Option<&Transaction> {
        self.open.as_ref().map(|open| &open.transaction)
    }

    /// Takes the next event, which begins at `at`.
    pub fn take(&mut self, at: u64, event: &Event<'_>) -> Result<Mark> {
        let end = at + event.bytes().len() as u64;
        if let Some(begin) = Begin::parse(event)? {
            // One that was begun and never ended (a source that ended in the middle of it) counts for nothing.
            self.open = Some(Open {
                until_end: false,
                transaction: Transaction {
                    start: at,
                    end,
                    gtid: begin.gtid,
                    time: begin.committed.unwrap_or_else(|| seconds(event)),
                    exact: begin.committed.is_some(),
                },
            });
            // MariaDB's own event stands for BEGIN.
            if event.header.kind == kind::MARIADB_GTID && !begin.standalone {
                self.inside(at, event).until_end = true;
            }
            return Ok(Mark::Inside);
        }
        Ok(match event.header.kind {
            kind::QUERY | kind::QUERY_COMPRESSED => {
                let role = Query::parse(event)?.map_or(Role::Part, |query| query.role());
                let open = self.inside(at, event);
                match role {
                    Role::Begin => {
                        open.until_end = true;
                        Mark::Inside
                    }
                    Role::Part if open.until_end => Mark::Inside,
                    Role::Part | Role::End => self.end(end, event),
                }
            }
            kind::XID | kind::XA_PREPARE | kind::TRANSACTION_PAYLOAD => {
                self.inside(at, event);
                self.end(end, event)
            }
            // LOAD DATA as a statement: inside BEGIN and COMMIT.
            kind::INTVAR
            | kind::RAND
            | kind::USER_VAR
            | kind::LOAD
            | kind::CREATE_FILE
            | kind::APPEND_BLOCK
            | kind::EXEC_LOAD
            | kind::DELETE_FILE
            | kind::NEW_LOAD
            | kind::BEGIN_LOAD_QUERY
            | kind::EXECUTE_LOAD_QUERY
            | kind::TABLE_MAP
            | kind::ROWS_QUERY
            | kind::ANNOTATE_ROWS
            | kind::PARTIAL_UPDATE_ROWS
            | kind::TRANSACTION_CONTEXT
            | kind::PRE_GA_WRITE_ROWS..=kind::DELETE_ROWS_V1
            | kind::WRITE_ROWS..=kind::DELETE_ROWS
            | kind::WRITE_ROWS_COMPRESSED_V1..=kind::DELETE_ROWS_COMPRESSED => {
                self.inside(at, event);
                Mark::Inside
            }
            // A group's change of members has a GTID, and is all of its transaction.
            kind::VIEW_CHANGE if self.open.is_some() => self.end(end, event),
            kind::FORMAT_DESCRIPTION | kind::ROTATE | kind::STOP => {
                self.open = None;
                Mark::Between
            }
            // Of an unknown kind, or without a place of its own.
            _ if self.open.is_some() => Mark::Inside,
            _ => Mark::Between,
        })
    }

    /// The transaction that is open; a log without GTIDs opens one with any event.
    fn inside(&mut self, at: u64, event: &Event<'_>) -> &mut Open {
        self.open.get_or_insert_with(|| Open {
            until_end: false,
            transaction: Transaction {
                start: at,
                end: at,
                gtid: None,
                time: seconds(event),
                exact: false,
            },
        })
    }

    fn end(&mut self, end: u64, event: &Event<'_>) -> Mark {
        let Some(open) = self.open.take() else {
            return Mark::Between;
        };
        self.ended = Transaction {
            end,
            ..open.transaction
        };
        if !self.ended.exact {
            // The statement that commits is later than the first one.
            self.ended.time = self.ended.time.max(seconds(event));
        }
        Mark::End
    }
}

fn seconds(event: &Event<'_>) -> u64 {
    u64::from(event.header.timestamp) * 1_000_000
}
