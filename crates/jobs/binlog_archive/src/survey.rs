//! What the transactions on a route are about: the tables that they change, and the statements that they run.

use crate::kept::Kept;
use crate::route::Route;
use crate::source::of_kept;
use base::Result;
use binlog::body::query::Role;
use binlog::body::{Payload, Query, Table};
use binlog::gtid::Gtid;
use binlog::{Event, kind};
use run::Run;
use std::ops::ControlFlow;

/// Longest event in a compressed transaction.
const LONGEST: usize = binlog::file::LONGEST;

/// One thing that a transaction does.
pub struct Met<'e> {
    /// Its file.
    pub file: &'e str,
    /// Offset of its event.
    pub at: u64,
    /// The transaction.
    pub gtid: Option<&'e Gtid>,
    /// What it does.
    pub what: What<'e>,
}

/// What a transaction does, as far as an applier has to do it.
#[derive(Clone, Copy, Debug)]
pub enum What<'e> {
    /// Changes rows of a table.
    Rows {
        /// Its schema.
        schema: &'e [u8],
        /// Its name.
        table: &'e [u8],
    },
    /// Runs a statement.
    Statement {
        /// The default schema.
        schema: &'e [u8],
        /// Its text.
        text: &'e [u8],
    },
}

impl Kept {
    /// Reads a route from its beginning to its end, or until `each` has enough. What is damaged there is an error, too.
    pub fn survey(
        &self,
        run: &Run,
        route: &Route,
        mut each: impl FnMut(&Met<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let phase = run.phase("reading the binary log to be applied", 1);
        phase.counters.bytes_expected.set(route.bytes);
        for leg in &route.legs {
            let timeline = &self.timelines[leg.timeline];
            let mut from = leg.from.offset;
            let mut file = leg.from.file.clone();
            let mut enough = false;
            self.walk_events(
                timeline,
                &leg.from,
                |_| true,
                |walked| {
                    run.check()?;
                    let here = walked.place();
                    if here.order() >= leg.to.order() {
                        return Ok(ControlFlow::Break(()));
                    }
                    if file != walked.file {
                        (file, from) = (walked.file.to_owned(), 0);
                    }
                    let end = walked.at + walked.event.bytes().len() as u64;
                    phase.counters.bytes.add(end.saturating_sub(from));
                    from = end;
                    let gtid = match walked.boundaries.begun() {
                        Some(begun) => begun.gtid.as_ref(),
                        None => walked.boundaries.ended().gtid.as_ref(),
                    };
                    let mut said = Ok(ControlFlow::Continue(()));
                    let mut met = |what: What<'_>| {
                        let met = Met {
                            file: walked.file,
                            at: walked.at,
                            gtid,
                            what,
                        };
                        if matches!(said, Ok(ControlFlow::Continue(()))) {
                            said = each(&met);
                        }
                    };
                    event(walked.event, &mut met).map_err(|e| of_kept(walked.file, &e))?;
                    enough = matches!(said, Ok(ControlFlow::Break(())));
                    said
                },
            )?;
            if enough {
                break;
            }
        }
        Ok(())
    }
}

fn event(event: &Event<'_>, met: &mut dyn FnMut(What<'_>)) -> binlog::Result<()> {
    match event.header.kind {
        kind::TRANSACTION_PAYLOAD => {
            Payload::parse(event.body())?.events(LONGEST, |inner| self::event(&inner, met))
        }
        kind::TABLE_MAP => {
            if let Some(table) = Table::parse(event)? {
                met(What::Rows {
                    schema: table.schema,
                    table: table.name,
                });
            }
            Ok(())
        }
        kind::QUERY | kind::QUERY_COMPRESSED => {
            if let Some(query) = Query::parse(event)?
                && query.role() == Role::Part
            {
                met(What::Statement {
                    schema: query.schema,
                    text: &query.statement,
                });
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
