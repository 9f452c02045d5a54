//! Rows of statements into tables: each loader turns a batch of INSERTs into
//! lines and sends them through LOAD DATA, in one transaction with the entry in
//! the journal. An INSERT that is more than literals is sent as it is, in its
//! place in the same transaction.

use super::super::journal::Journal;
use super::super::rows::{Counts, MOST_TRIES, add_keys, checked, is_lock};
use super::shape::Shape;
use crate::failure;
use crate::held::Watch;
use crate::run::Stop;
use base::units::printable;
use base::{Counters, Error, Event, Kind, Observer, Result, failpoint};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use dumps::Dialect;
use dumps::insert::{Header, convert};
use dumps::script::Statement;
use server::quote;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wire::{Conn, Done};

/// What a loader is given.
pub enum Task {
    /// Rows.
    Rows(Batch),
    /// Keys to be added when the rows of their table are there.
    Keys(Arc<Shape>, Vec<Vec<String>>),
}

/// Rows of one table that are stored together.
pub struct Batch {
    /// Its name in the journal.
    pub id: String,
    /// Where it was found, for messages.
    pub place: String,
    /// The table.
    pub shape: Arc<Shape>,
    /// What the script had set.
    pub context: Context,
    /// The rows.
    pub content: Content,
    /// Its share of the dump.
    pub bytes: u64,
    /// Where it is entered; `None`: nowhere.
    pub journal: Option<Arc<Journal>>,
}

/// The rows of a batch.
pub enum Content {
    /// Plain INSERTs, as far as their heads tell.
    Inserts(Vec<Statement>),
    /// Lines, and the LOAD DATA for them.
    Lines(String, Vec<u8>),
    /// A whole file of lines.
    File(String, PathBuf),
}

/// Settings of the script that change what is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Time zone; `None` is the server's own.
    pub zone: Option<String>,
    /// 0 for an AUTO_INCREMENT column is 0, and not the next number.
    pub zero_is_a_value: bool,
}

/// What all loaders share.
pub struct Loaders<'a> {
    /// Told where the time goes.
    pub watch: &'a Watch,
    /// Work to do.
    pub tasks: Receiver<Task>,
    /// Tasks that were given out and not done.
    pub open: &'a AtomicU64,
    /// Figures of the phase.
    pub counters: &'a Counters,
    /// Told what is waited for.
    pub observer: &'a dyn Observer,
    /// Whether this load goes on with one that was interrupted.
    pub resuming: bool,
}

/// What a loader's session was set to.
#[derive(Default)]
struct Session {
    context: Option<Context>,
    lines: Vec<u8>,
}

impl Loaders<'_> {
    /// Works until there is nothing left.
    pub fn work(&self, conn: &mut Conn, stop: &Stop<'_>) -> Result<()> {
        let mut session = Session::default();
        loop {
            stop.check()?;
            let task = match self.tasks.recv_timeout(Duration::from_millis(20)) {
                Ok(task) => task,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            self.counters.busy.add(1);
            let spell = self.watch.begin(conn);
            let (outcome, table) = match &task {
                Task::Rows(batch) => (
                    self.batch(conn, batch, &mut session, stop),
                    &batch.shape.name,
                ),
                Task::Keys(shape, groups) => (self.keys(conn, shape, groups, stop), &shape.name),
            };
            self.watch.end(&spell, conn, table);
            self.counters.busy.sub(1);
            outcome?;
            if let Task::Rows(batch) = &task {
                batch.shape.open.fetch_sub(1, Ordering::SeqCst);
            }
            self.open.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn keys(
        &self,
        conn: &mut Conn,
        shape: &Shape,
        groups: &[Vec<String>],
        stop: &Stop<'_>,
    ) -> Result<()> {
        while shape.open.load(Ordering::SeqCst) > 0 {
            stop.check()?;
            std::thread::sleep(Duration::from_millis(2));
        }
        add_keys(conn, &shape.name, groups, self.resuming)
    }

    /// Stores a batch; one that lost a fight over locks was rolled back whole, and is tried again.
    fn batch(
        &self,
        conn: &mut Conn,
        batch: &Batch,
        session: &mut Session,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let doing = format!(
            "cannot load {} into {}",
            batch.place,
            printable(&batch.shape.name)
        );
        let mut tries = 0;
        loop {
            stop.check()?;
            match attempt(conn, batch, session, &doing) {
                Ok(rows) => {
                    batch.shape.rows.fetch_add(rows, Ordering::SeqCst);
                    self.counters.rows.add(rows);
                    self.counters.bytes.add(batch.bytes);
                    return Ok(());
                }
                Err(Failed::Wire(e)) if is_lock(&e) && tries < MOST_TRIES => {
                    tries += 1;
                    conn.execute("ROLLBACK")
                        .map_err(|e| failure::wire(&doing, e))?;
                    let what = format!("locks in {}: {e}", batch.shape.name);
                    self.observer.event(Event::Waiting(Some(what)));
                    std::thread::sleep(Duration::from_millis(50 * tries));
                    self.observer.event(Event::Waiting(None));
                }
                Err(Failed::Wire(e)) => return Err(failure::wire(&doing, e)),
                Err(Failed::Other(e)) => return Err(e),
            }
        }
    }
}

enum Failed {
    Wire(wire::Error),
    Other(Error),
}

impl From<wire::Error> for Failed {
    fn from(e: wire::Error) -> Self {
        Failed::Wire(e)
    }
}

impl From<Error> for Failed {
    fn from(e: Error) -> Self {
        Failed::Other(e)
    }
}

fn attempt(
    conn: &mut Conn,
    batch: &Batch,
    session: &mut Session,
    doing: &str,
) -> Result<u64, Failed> {
    if session.context.as_ref() != Some(&batch.context) {
        set(conn, &batch.context)?;
        session.context = Some(batch.context.clone());
    }
    if let Some(journal) = &batch.journal {
        journal.enter(conn, &batch.id)?;
    }
    failpoint::reached("a batch is entered");
    let rows = match &batch.content {
        Content::Inserts(list) => inserts(conn, batch, list, session, doing)?,
        Content::Lines(sql, lines) => {
            let done = conn.load(sql, &mut lines.as_slice())?;
            stored(conn, doing, &done, &batch.shape, None)?
        }
        Content::File(sql, path) => {
            let mut file = dumps::input::open(path)
                .map_err(|e| Error::new(Kind::Archive, format!("{doing}: {e}")))?;
            let done = conn.load(sql, &mut file)?;
            stored(conn, doing, &done, &batch.shape, None)?
        }
    };
    if let Some(journal) = &batch.journal {
        journal.stored(conn, &batch.id, rows)?;
    }
    failpoint::reached("a batch is stored");
    conn.execute("COMMIT")?;
    failpoint::reached("a batch is committed");
    Ok(rows)
}

/// Puts a session into the state in which the script expects its rows to be read.
fn set(conn: &mut Conn, context: &Context) -> Result<(), wire::Error> {
    match &context.zone {
        Some(zone) => conn.execute(format!("SET SESSION time_zone = {}", quote::text(zone)))?,
        None => conn.execute("SET SESSION time_zone = @@GLOBAL.time_zone")?,
    };
    let mode = mode(context, Dialect::default());
    conn.execute(format!("SET SESSION sql_mode = '{mode}'"))
        .map(drop)
}

/// The modes under which rows of a script are stored.
fn mode(context: &Context, dialect: Dialect) -> String {
    let mut list = vec!["ALLOW_INVALID_DATES"];
    if context.zero_is_a_value {
        list.push("NO_AUTO_VALUE_ON_ZERO");
    }
    if dialect.no_backslash_escapes {
        list.push("NO_BACKSLASH_ESCAPES");
    }
    if dialect.ansi_quotes {
        list.push("ANSI_QUOTES");
    }
    list.join(",")
}

/// Statements one after the other; those that belong together as one LOAD DATA.
fn inserts(
    conn: &mut Conn,
    batch: &Batch,
    list: &[Statement],
    session: &mut Session,
    doing: &str,
) -> Result<u64, Failed> {
    let mut all = 0;
    let mut lines = std::mem::take(&mut session.lines);
    lines.clear();
    // What the collected lines are for, and how many rows they are.
    let mut collected: Option<(Option<Vec<String>>, Dialect, u64)> = None;
    for statement in list {
        let dialect = statement.dialect;
        let head = Header::parse(&statement.text, dialect);
        let converted = head.as_ref().and_then(|head| {
            let named = head.columns.as_deref();
            let other = |(n, d, _): &(Option<Vec<String>>, Dialect, u64)| {
                n.as_deref() != named || *d != dialect
            };
            if collected.as_ref().is_some_and(other) {
                return None;
            }
            let shape = batch.shape.literals(named)?;
            let values = &statement.text[head.values_at..];
            convert(values, &shape, dialect, &mut lines).ok()
        });
        if let (Some(rows), Some(head)) = (converted, head) {
            let (.., n) = collected.get_or_insert((head.columns, dialect, 0));
            *n += rows;
            continue;
        }
        all += send(conn, batch, &mut lines, collected.take(), doing)?;
        // Perhaps only another list of columns than before.
        let head = Header::parse(&statement.text, dialect);
        let again = head.and_then(|head| {
            let shape = batch.shape.literals(head.columns.as_deref())?;
            let values = &statement.text[head.values_at..];
            let rows = convert(values, &shape, dialect, &mut lines).ok()?;
            Some((head.columns, dialect, rows))
        });
        match again {
            Some(again) => collected = Some(again),
            None => all += as_it_is(conn, batch, statement, doing)?,
        }
    }
    all += send(conn, batch, &mut lines, collected.take(), doing)?;
    session.lines = lines;
    Ok(all)
}

fn send(
    conn: &mut Conn,
    batch: &Batch,
    lines: &mut Vec<u8>,
    collected: Option<(Option<Vec<String>>, Dialect, u64)>,
    doing: &str,
) -> Result<u64, Failed> {
    let Some((named, dialect, rows)) = collected else {
        return Ok(0);
    };
    let sql = batch
        .shape
        .statement(named.as_deref(), dialect)
        .ok_or_else(|| Error::new(Kind::Internal, "columns that were there are gone"))?;
    let done = conn.load(&sql, &mut lines.as_slice())?;
    lines.clear();
    stored(conn, doing, &done, &batch.shape, Some(rows)).map_err(Failed::Other)
}

/// Runs an INSERT under the settings that it was written for.
fn as_it_is(
    conn: &mut Conn,
    batch: &Batch,
    statement: &Statement,
    doing: &str,
) -> Result<u64, Failed> {
    let dialect = statement.dialect;
    // A stranger's script: literals and most functions are harmless, files of the server's host are not.
    let reads = |word: &[u8]| {
        statement
            .text
            .windows(word.len())
            .any(|w| w.eq_ignore_ascii_case(word))
    };
    if reads(b"LOAD_FILE") {
        return Err(Failed::Other(Error::new(
            Kind::Archive,
            format!(
                "{doing}: the INSERT at line {} may read a file of the server's host (LOAD_FILE), and was not run",
                statement.line
            ),
        )));
    }
    let charset = dialect.charset.map_or("utf8mb4", |c| c.name());
    conn.execute(format!("USE {}", quote::ident(&batch.shape.schema)))?;
    conn.execute(format!("SET NAMES {charset}"))?;
    conn.execute(format!(
        "SET SESSION sql_mode = '{}'",
        mode(&batch.context, dialect)
    ))?;
    let done = conn.execute(&statement.text)?;
    conn.execute("SET NAMES utf8mb4")?;
    conn.execute(format!(
        "SET SESSION sql_mode = '{}'",
        mode(&batch.context, Dialect::default())
    ))?;
    if done.warnings > 0 {
        return Err(Failed::Other(Error::new(
            Kind::Failed,
            format!(
                "{doing}: the INSERT at line {} raised {} warnings; the batch was rolled back",
                statement.line, done.warnings
            ),
        )));
    }
    Ok(done.affected)
}

/// Insists that the server stored what was sent.
fn stored(
    conn: &mut Conn,
    doing: &str,
    done: &Done,
    shape: &Shape,
    rows: Option<u64>,
) -> Result<u64> {
    if let Err(e) = checked(conn, doing, done, &shape.names(), rows) {
        let _ = conn.execute("ROLLBACK");
        return Err(e);
    }
    Ok(Counts::of(done).records)
}
