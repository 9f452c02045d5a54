//! Searches the transactions of a log: which one dropped that table?

use crate::layout::order;
use crate::live::First;
use crate::log::Log;
use crate::parts::{Part, Reader, Wrong};
use crate::segment::Head;
use crate::walk::{Place, Walked};
use base::units::printable;
use base::{Error, Result};
use binlog::body::query::Role;
use binlog::gtid::{Executed, Gtid};
use binlog::{Mark, Transaction, body::Change};
use run::Run;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
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
    /// Those from here on.
    pub from: Option<Bound>,
    /// Those up to here.
    pub to: Option<Bound>,
    /// The first so many.
    pub limit: usize,
    /// Nothing may be missing: also what a statement may have done, whatever kind of change is looked for.
    pub complete: bool,
}

/// Where a search begins or ends, in the order of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Transactions that begin there or later, or end there or earlier.
    Place(Place),
    /// With this transaction.
    Gtid(Gtid),
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
    /// Tables among them of whose columns the log has no names.
    pub unnamed: BTreeSet<(String, String)>,
    /// Whether a statement may be about the schema and table that are looked for. Judged before it is cut.
    about: bool,
    /// Whether a statement holds the text that is looked for.
    says: bool,
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
    /// Where the transaction is that `from` names.
    pub from: Option<Place>,
    /// Where the one ends that `to` names.
    pub to: Option<Place>,
    /// Transactions that were looked at.
    pub looked_at: u64,
    /// Bytes of the log.
    pub kept: u64,
    /// Whether it is a server's own log, which is read as a whole.
    pub live: bool,
}

/// How far a search is between its two ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// Before the transaction that it begins with.
    Before,
    /// Between the two.
    Inside,
    /// Behind the transaction that it ends with.
    Behind,
}

impl Search {
    /// Whether a segment may hold what is looked for.
    fn wants(&self, head: &Head, mariadb: bool, reached: Reached) -> bool {
        let too_early = self
            .after
            .zip(head.last_time)
            .is_some_and(|(after, last)| last < after);
        let first = head.first_time.map(|t| t.saturating_sub(SLACK));
        let too_late = self
            .before
            .zip(first)
            .is_some_and(|(before, first)| first > before);
        let holds = |gtid: &Gtid| {
            Executed::parse(mariadb, &head.gtids).is_none_or(|all| all.contains(gtid))
        };
        let named = self.gtid.as_ref().is_none_or(holds);
        let begun = match (&self.from, reached) {
            (Some(Bound::Gtid(gtid)), Reached::Before) => holds(gtid),
            _ => true,
        };
        !too_early && !too_late && named && begun
    }

    /// Whether a transaction is the one that `bound` names.
    fn is_at(bound: &Option<Bound>, t: &Transaction) -> bool {
        matches!(bound, Some(Bound::Gtid(gtid)) if t.gtid.as_ref() == Some(gtid))
    }

    /// Whether a transaction is between the places that were given.
    fn is_between(&self, found: &Found) -> bool {
        let order_of = |offset| (order(&found.file), offset);
        let from = match &self.from {
            Some(Bound::Place(p)) => {
                order_of(found.transaction.start) >= (order(&p.file), p.offset)
            }
            _ => true,
        };
        let to = match &self.to {
            Some(Bound::Place(p)) => order_of(found.transaction.end) <= (order(&p.file), p.offset),
            _ => true,
        };
        from && to
    }

    /// What a server's log is read for.
    pub fn first(&self) -> First<'_> {
        First {
            place: match &self.from {
                Some(Bound::Place(place)) => Some(place),
                _ => None,
            },
            gtid: match &self.from {
                Some(Bound::Gtid(gtid)) => Some(gtid),
                _ => self.gtid.as_ref(),
            },
            after: self.after,
        }
    }

    /// Whether the rows of a table are among what is looked for.
    pub(crate) fn is_about(&self, schema: &str, table: &str) -> bool {
        same(schema, &self.schema) && same(table, &self.table)
    }

    /// Whether changes of rows of this kind are.
    pub(crate) fn is_about_change(&self, change: Change) -> bool {
        match self.kind {
            None => true,
            Some(Kind::Insert) => change == Change::Insert,
            Some(Kind::Update) => change == Change::Update,
            Some(Kind::Delete) => change == Change::Delete,
            Some(Kind::Statement) => false,
        }
    }

    /// Whether a statement may be about what is looked for.
    pub(crate) fn is_about_statement(&self, default: &str, statement: &str) -> bool {
        let named = |name: &String| holds_name(statement, name);
        let schema = self.schema.as_ref();
        schema.is_none_or(|s| default.eq_ignore_ascii_case(s) || named(s))
            && self.table.as_ref().is_none_or(named)
    }

    fn fits(&self, found: &Found) -> bool {
        let t = &found.transaction;
        self.is_between(found)
            && self.after.is_none_or(|after| t.time >= after)
            && self.before.is_none_or(|before| t.time <= before)
            && self
                .gtid
                .as_ref()
                .is_none_or(|gtid| t.gtid.as_ref() == Some(gtid))
            && self
                .thread
                .is_none_or(|thread| found.thread == Some(thread))
            && (self.text.is_none() || found.says)
            && self.kind.is_none_or(|kind| {
                found.does(kind) || self.complete && !found.statements.is_empty()
            })
            && (self.schema.is_none() && self.table.is_none()
                || found.changes.keys().any(|(s, t)| self.is_about(s, t))
                || found.about)
    }
}

fn same(a: &str, b: &Option<String>) -> bool {
    b.as_ref().is_none_or(|b| a.eq_ignore_ascii_case(b))
}

impl Found {
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
pub(crate) fn holds_name(statement: &str, name: &str) -> bool {
    let (statement, name) = (statement.to_lowercase(), name.to_lowercase());
    let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let quoted = name.replace('`', "``");
    if quoted != name && statement.contains(&format!("`{quoted}`")) {
        return true;
    }
    statement.match_indices(&name).any(|(at, _)| {
        let before = statement[..at].chars().next_back();
        let after = statement[at + name.len()..].chars().next();
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

/// A place that is none, or an end before the beginning: what was found would not be what was meant.
fn check_places(log: &Log<'_>, search: &Search) -> Result<()> {
    let files = log.files();
    for (option, bound) in [("--from", &search.from), ("--to", &search.to)] {
        let Some(Bound::Place(place)) = bound else {
            continue;
        };
        if files.iter().any(|f| **f == place.file) {
            continue;
        }
        let what = format!("{option}: the log has no file {}", place.file);
        let error = Error::new(base::Kind::Usage, printable(&what));
        return Err(match (files.first(), files.last()) {
            (Some(first), Some(last)) => {
                error.hint(printable(&format!("it has {first} to {last}")))
            }
            _ => error.hint("nothing is kept of it yet"),
        });
    }
    match (&search.from, &search.to) {
        (Some(Bound::Place(from)), Some(Bound::Place(to))) if to.order() < from.order() => {
            Err(Error::new(
                base::Kind::Usage,
                printable(&format!(
                    "--to {}:{} is before --from {}:{}",
                    to.file, to.offset, from.file, from.offset
                )),
            )
            .hint("exchange the two"))
        }
        _ => Ok(()),
    }
}

/// Searches a log, from the oldest timeline on.
pub fn search(run: &Run, log: &Log<'_>, search: &Search) -> Result<Searched> {
    check_places(log, search)?;
    let mut done = Searched {
        kept: log.bytes(),
        live: matches!(log, Log::Live(_)),
        ..Searched::default()
    };
    let phase = run.phase("searching", 1);
    phase.counters.bytes_expected.set(done.kept);
    for why in log.unreadable() {
        run.observer.warn(format!("not searched: {why}"));
    }
    for timeline in 0..log.timelines() {
        let begin = match (&search.from, log) {
            // Inside of an event nothing could be read.
            (Some(Bound::Place(place)), Log::Kept(_)) => Some(place.clone()),
            _ => log.begin(timeline),
        };
        let Some(begin) = begin else { continue };
        let mut collector = Collector::new(
            search,
            log.number(timeline),
            log.is_mariadb(timeline),
            log.wrong(),
        );
        let reached = Cell::new(match &search.from {
            Some(Bound::Gtid(_)) => Reached::Before,
            _ => Reached::Inside,
        });
        let enough = log.walk(
            timeline,
            &begin,
            &mut |head| {
                phase.counters.bytes.add(head.end - head.start);
                search.wants(head, log.is_mariadb(timeline), reached.get())
            },
            &mut |walked| {
                run.check()?;
                if matches!(log, Log::Live(_)) {
                    phase.counters.bytes.add(walked.event.bytes().len() as u64);
                }
                let Some(mut found) = collector.take(walked)? else {
                    return Ok(ControlFlow::Continue(()));
                };
                done.looked_at += 1;
                let place = |offset| Place {
                    file: found.file.clone(),
                    offset,
                };
                if Search::is_at(&search.from, &found.transaction) {
                    reached.set(Reached::Inside);
                    done.from = Some(place(found.transaction.start));
                }
                let inside = reached.get() == Reached::Inside;
                if Search::is_at(&search.to, &found.transaction) {
                    reached.set(Reached::Behind);
                    done.to = Some(place(found.transaction.end));
                }
                if inside && search.fits(&found) {
                    if done.found.len() == search.limit {
                        done.more = true;
                        return Ok(ControlFlow::Break(()));
                    }
                    // They are read again, one transaction at a time: all of a long range do not fit into memory.
                    if search.complete {
                        found.statements = Vec::new();
                    }
                    done.found.push(found);
                }
                match reached.get() {
                    Reached::Behind => Ok(ControlFlow::Break(())),
                    _ => Ok(ControlFlow::Continue(())),
                }
            },
        )?;
        if enough {
            break;
        }
    }
    check_gtids(search, &done)?;
    Ok(done)
}

/// A transaction that is none, or an end before the beginning: what was found would not be what was meant.
fn check_gtids(search: &Search, done: &Searched) -> Result<()> {
    // With these, segments are passed over that may have it.
    if done.more || search.before.is_some() || search.after.is_some() || search.gtid.is_some() {
        return Ok(());
    }
    let error = |what: String, hint: &str| Err(Error::new(base::Kind::Usage, what).hint(hint));
    if let (Some(Bound::Gtid(gtid)), None) = (&search.from, &done.from) {
        return match done.to {
            Some(_) => error("--to is before --from".to_owned(), "exchange the two"),
            None => error(
                format!("--from: the log has no transaction {gtid}"),
                "penstock binlog find lists them",
            ),
        };
    }
    if let (Some(Bound::Gtid(gtid)), None) = (&search.to, &done.to) {
        return error(
            format!("--to: the log has no transaction {gtid} behind that place"),
            "penstock binlog find lists them; exchange the two if it is before --from",
        );
    }
    Ok(())
}

/// Puts transactions together out of their events.
struct Collector<'s> {
    search: &'s Search,
    timeline: u32,
    now: Found,
    reader: Reader,
}

impl Collector<'_> {
    fn new(search: &Search, timeline: u32, mariadb: bool, wrong: Wrong) -> Collector<'_> {
        Collector {
            search,
            timeline,
            now: Found::default(),
            reader: Reader::new(mariadb, wrong),
        }
    }

    /// Takes an event; gives the transaction that it ends.
    fn take(&mut self, walked: &Walked<'_>) -> Result<Option<Found>> {
        if walked.mark == Mark::Between {
            return Ok(None);
        }
        let begins = walked
            .boundaries
            .begun()
            .is_some_and(|t| t.start == walked.at);
        if begins {
            self.now = Found::default();
            self.reader.clear();
        }
        let now = &mut self.now;
        let search = self.search;
        self.reader
            .take(walked, &mut |part| now.add(&part, search))?;
        if walked.mark != Mark::End {
            return Ok(None);
        }
        self.reader.clear();
        Ok(Some(Found {
            timeline: self.timeline,
            file: walked.file.to_owned(),
            transaction: walked.boundaries.ended().clone(),
            ..std::mem::take(&mut self.now)
        }))
    }
}

impl Found {
    fn add(&mut self, part: &Part<'_>, search: &Search) -> Result<()> {
        match part {
            Part::Query { query, role } => {
                self.thread = Some(query.thread);
                if *role == Role::Part {
                    let schema = String::from_utf8_lossy(query.schema).into_owned();
                    self.statement(&schema, &query.statement, search);
                }
            }
            Part::OfRows(text) => self.statement("", text, search),
            Part::Rows(rows) => {
                let changes = self.changes.entry(rows.table.name.clone()).or_default();
                let count = match rows.event.change {
                    Change::Insert => &mut changes.inserted,
                    Change::Update => &mut changes.updated,
                    Change::Delete => &mut changes.deleted,
                };
                rows.each(|_, _| {
                    *count += 1;
                    Ok(())
                })?;
                if rows.table.columns.iter().any(|c| c.name.is_none()) {
                    self.unnamed.insert(rows.table.name.clone());
                }
            }
            Part::Other(_) => {}
        }
        Ok(())
    }

    fn statement(&mut self, schema: &str, text: &[u8], search: &Search) {
        let whole = String::from_utf8_lossy(text);
        self.about |= search.is_about_statement(schema, &whole);
        let holds = |wanted: &String| whole.to_lowercase().contains(&wanted.to_lowercase());
        self.says |= search.text.as_ref().is_some_and(holds);
        let cut = &text[..text.len().min(STATEMENT)];
        let cut = String::from_utf8_lossy(cut).into_owned();
        self.statements.push((schema.to_owned(), cut));
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
        // A backtick in a name stands there twice.
        assert!(holds_name("DELETE FROM `a``b`", "a`b"));
    }
}
