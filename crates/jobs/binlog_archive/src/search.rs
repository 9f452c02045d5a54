//! Searches the transactions that are kept: which one dropped that table?

use crate::kept::{Kept, KeptTimeline};
use crate::segment::Head;
use crate::source::of_kept;
use crate::walk::Walked;
use base::Result;
use binlog::body::query::Role;
use binlog::body::{Change, Payload, Query, Rows, Table, columns};
use binlog::gtid::{Executed, Gtid};
use binlog::{Event, Mark, Transaction, kind};
use run::Run;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Longest event in a compressed transaction.
const LONGEST: usize = binlog::file::LONGEST;
/// A segment's first transaction is not always its earliest one: times before it by as much are looked for in it.
const SLACK: u64 = 3_600_000_000;
/// Longer statements are cut, in bytes.
const STATEMENT: usize = 2000;

/// What is looked for; everything that is given must fit.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// A schema that is changed, or that is the default one of a statement.
    pub schema: Option<String>,
    /// A table that is changed, or whose name stands in a statement.
    pub table: Option<String>,
    /// What is done.
    pub kind: Option<Kind>,
    /// Committed at this time or later: microseconds since 1970.
    pub after: Option<u64>,
    /// Committed at this time or earlier.
    pub before: Option<u64>,
    /// This transaction.
    pub gtid: Option<Gtid>,
    /// Of this session.
    pub thread: Option<u32>,
    /// A statement that holds this text, in either case.
    pub text: Option<String>,
    /// The first so many.
    pub limit: usize,
}

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows are inserted.
    Insert,
    /// Rows are changed.
    Update,
    /// Rows are deleted.
    Delete,
    /// Definitions, accounts or settings are changed, or rows by a statement.
    Statement,
}

/// A transaction that was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Its timeline.
    pub timeline: u32,
    /// Its file.
    pub file: String,
    /// Where it is, when it was committed, its name.
    pub transaction: Transaction,
    /// The session that ran it, if the log says so.
    pub thread: Option<u32>,
    /// Its statements: each with its default schema.
    pub statements: Vec<(String, String)>,
    /// The rows that it changes.
    pub changes: BTreeMap<(String, String), Changes>,
}

/// Numbers of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New ones.
    pub inserted: u64,
    /// Changed ones.
    pub updated: u64,
    /// Deleted ones.
    pub deleted: u64,
}

/// What came of a search.
#[derive(Clone, Debug, Default)]
pub struct Searched {
    /// In the order of the log.
    pub found: Vec<Found>,
    /// Whether there may be more.
    pub more: bool,
    /// Transactions that were looked at.
    pub looked_at: u64,
    /// Bytes of the log that are kept.
    pub kept: u64,
}

impl Search {
    fn wants(&self, head: &Head, mariadb: bool) -> bool {
        let too_early = self
            .after
            .zip(head.last_time)
            .is_some_and(|(after, last)| last < after);
        let first = head.first_time.map(|t| t.saturating_sub(SLACK));
        let too_late = self
            .before
            .zip(first)
            .is_some_and(|(before, first)| first > before);
        let named = self.gtid.as_ref().is_none_or(|gtid| {
            Executed::parse(mariadb, &head.gtids).is_none_or(|all| all.contains(gtid))
        });
        !too_early && !too_late && named
    }

    fn fits(&self, found: &Found) -> bool {
        let t = &found.transaction;
        let same =
            |a: &str, b: &Option<String>| b.as_ref().is_none_or(|b| a.eq_ignore_ascii_case(b));
        self.after.is_none_or(|after| t.time >= after)
            && self.before.is_none_or(|before| t.time <= before)
            && self
                .gtid
                .as_ref()
                .is_none_or(|gtid| t.gtid.as_ref() == Some(gtid))
            && self
                .thread
                .is_none_or(|thread| found.thread == Some(thread))
            && self.text.as_ref().is_none_or(|text| found.says(text))
            && self.kind.is_none_or(|kind| found.does(kind))
            && (self.schema.is_none() && self.table.is_none()
                || found
                    .changes
                    .keys()
                    .any(|(s, t)| same(s, &self.schema) && same(t, &self.table))
                || found.statements.iter().any(|(default, statement)| {
                    let named = |name: &String| holds_name(statement, name);
                    let schema = self.schema.as_ref();
                    schema.is_none_or(|s| default.eq_ignore_ascii_case(s) || named(s))
                        && self.table.as_ref().is_none_or(named)
                }))
    }
}

impl Found {
    fn says(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.statements
            .iter()
            .any(|(_, s)| s.to_lowercase().contains(&text))
    }

    fn does(&self, kind: Kind) -> bool {
        let any = |f: fn(&Changes) -> u64| self.changes.values().any(|c| f(c) > 0);
        match kind {
            Kind::Insert => any(|c| c.inserted),
            Kind::Update => any(|c| c.updated),
            Kind::Delete => any(|c| c.deleted),
            Kind::Statement => self.changes.is_empty() && !self.statements.is_empty(),
        }
    }
}

/// Whether a statement holds a name as a word of its own.
fn holds_name(statement: &str, name: &str) -> bool {
    let (statement, name) = (statement.to_lowercase(), name.to_lowercase());
    let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    statement.match_indices(&name).any(|(at, _)| {
        let before = statement[..at].chars().next_back();
        let after = statement[at + name.len()..].chars().next();
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

/// Searches what is kept, from the oldest timeline on.
pub fn search(run: &Run, kept: &Kept, search: &Search) -> Result<Searched> {
    let mut done = Searched::default();
    let phase = run.phase("searching", 1);
    for timeline in &kept.timelines {
        let all = timeline.files.iter().flat_map(|f| &f.segments);
        done.kept += all.map(|h| h.end - h.start).sum::<u64>();
    }
    phase.counters.bytes_expected.set(done.kept);
    for file in kept.timelines.iter().flat_map(|t| &t.files) {
        for why in &file.unreadable {
            run.observer.warn(format!("not searched: {why}"));
        }
    }
    for timeline in &kept.timelines {
        let Some(begin) = timeline.begin() else {
            continue;
        };
        let mariadb = timeline.timeline.is_mariadb();
        let mut collector = Collector::new(timeline);
        let enough = kept.walk_events(
            timeline,
            &begin,
            |head| {
                phase.counters.bytes.add(head.end - head.start);
                search.wants(head, mariadb)
            },
            |walked| {
                run.check()?;
                let Some(found) = collector.take(walked)? else {
                    return Ok(ControlFlow::Continue(()));
                };
                done.looked_at += 1;
                if search.fits(&found) {
                    if done.found.len() == search.limit {
                        done.more = true;
                        return Ok(ControlFlow::Break(()));
                    }
                    done.found.push(found);
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        if enough {
            break;
        }
    }
    Ok(done)
}

/// Puts transactions together out of their events.
struct Collector {
    timeline: u32,
    now: Found,
    /// Tables of the transaction, by the numbers that row events name them by.
    tables: BTreeMap<u64, ((String, String), Vec<columns::Column>)>,
}

impl Collector {
    fn new(timeline: &KeptTimeline) -> Collector {
        Collector {
            timeline: timeline.timeline.number,
            now: Found::default(),
            tables: BTreeMap::new(),
        }
    }

    /// Takes an event; gives the transaction that it ends.
    fn take(&mut self, walked: &Walked<'_>) -> Result<Option<Found>> {
        let wrong = |e: binlog::Error| of_kept(walked.file, &e);
        if walked.mark == Mark::Between {
            return Ok(None);
        }
        let begins = walked
            .boundaries
            .begun()
            .is_some_and(|t| t.start == walked.at);
        if begins {
            self.now = Found::default();
            self.tables.clear();
        }
        self.add(walked.event).map_err(wrong)?;
        if walked.mark != Mark::End {
            return Ok(None);
        }
        self.tables.clear();
        Ok(Some(Found {
            timeline: self.timeline,
            file: walked.file.to_owned(),
            transaction: walked.boundaries.ended().clone(),
            ..std::mem::take(&mut self.now)
        }))
    }

    fn add(&mut self, event: &Event<'_>) -> binlog::Result<()> {
        match event.header.kind {
            kind::TRANSACTION_PAYLOAD => {
                let payload = Payload::parse(event.body())?;
                return payload.events(LONGEST, |inner| self.add(&inner));
            }
            // A length and the text; MariaDB has no length.
            kind::ROWS_QUERY => self.statement("", event.body().get(1..).unwrap_or_default()),
            kind::ANNOTATE_ROWS => self.statement("", event.body()),
            _ => {}
        }
        if let Some(query) = Query::parse(event)? {
            self.now.thread = Some(query.thread);
            if query.role() == Role::Part {
                let schema = String::from_utf8_lossy(query.schema).into_owned();
                self.statement(&schema, &query.statement);
            }
        } else if let Some(table) = Table::parse(event)? {
            let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
            let name = (text(table.schema), text(table.name));
            self.tables
                .insert(table.id, (name, columns::parse(table.columns)?));
        } else if let Some(rows) = Rows::parse(event)? {
            let Some((name, columns)) = self.tables.get(&rows.table) else {
                return Ok(());
            };
            let changes = self.now.changes.entry(name.clone()).or_default();
            let count = match rows.change {
                Change::Insert => &mut changes.inserted,
                Change::Update => &mut changes.updated,
                Change::Delete => &mut changes.deleted,
            };
            rows.each(columns, |_, _| {
                *count += 1;
                Ok(())
            })?;
        }
        Ok(())
    }

    fn statement(&mut self, schema: &str, text: &[u8]) {
        let text = &text[..text.len().min(STATEMENT)];
        let text = String::from_utf8_lossy(text).into_owned();
        self.now.statements.push((schema.to_owned(), text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        assert!(holds_name("DROP TABLE `d`.`Orders` /* x */", "orders"));
        assert!(holds_name("drop table orders", "orders"));
        assert!(!holds_name("DROP TABLE old_orders", "orders"));
        assert!(!holds_name("DROP TABLE orders2", "orders"));
    }
}
