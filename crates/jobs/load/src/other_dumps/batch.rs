//! Batches of a dump's rows, and the loaders that store them: a loader turns the INSERTs of a batch into
//! lines and sends them through LOAD DATA, in one transaction with the batch's entry in the journal.
//!
//! An INSERT that has more than literals is sent unchanged, in its order within the same transaction.

use super::settings::RowSettings;
use super::target_table::TargetTable;
use crate::journal::Journal;
use base::units::{printable, things};
use base::{Counters, Error, Kind, Observer, Result, failpoint};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use dumps::Dialect;
use dumps::insert::{Header, convert};
use dumps::script::Statement;
use rows::load_data::{self, Executor, Failed, add_indexes};
use run::Stop;
use run::bottleneck::Profiler;
use server::quote;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wire::Conn;

/// Work for a loader.
pub enum Task {
    /// Rows.
    Rows(Batch),
    /// Indexes to add when the rows of their table are stored.
    Indexes(Arc<TargetTable>, Vec<Vec<String>>),
}

/// Rows of one table that are stored together.
pub struct Batch {
    /// Its name in the journal.
    pub id: String,
    /// Where it was found, for messages.
    pub place: String,
    /// The table.
    pub table: Arc<TargetTable>,
    /// What the script had set for them.
    pub settings: RowSettings,
    /// The rows.
    pub content: Content,
    /// Its share of the dump.
    pub bytes: u64,
    /// Where it is entered, if anywhere.
    pub journal: Option<Arc<Journal>>,
}

/// The rows of a batch.
pub enum Content {
    /// Plain INSERTs, judged by what precedes their values.
    Inserts(Vec<Statement>),
    /// Lines, and the LOAD DATA for them.
    Lines(String, Vec<u8>),
    /// A whole file of lines.
    File(String, PathBuf),
}

/// What all loaders share.
pub struct Loaders<'a> {
    /// Records where the time goes.
    pub profiler: &'a Profiler,
    /// Work to do.
    pub tasks: Receiver<Task>,
    /// Tasks in the queue or with a loader.
    pub open: &'a AtomicU64,
    /// Figures of the phase.
    pub counters: &'a Counters,
    /// Receives what a loader waits for.
    pub observer: &'a dyn Observer,
    /// Whether this load resumes an interrupted one.
    pub resuming: bool,
}

/// What a loader's session was set to.
#[derive(Default)]
struct Session {
    settings: Option<RowSettings>,
    lines: Vec<u8>,
}

impl Loaders<'_> {
    /// Works until nothing is left.
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
            let span = self.profiler.begin(conn);
            let (outcome, name) = match &task {
                Task::Rows(batch) => (
                    self.batch(conn, batch, &mut session, stop),
                    &batch.table.name,
                ),
                Task::Indexes(table, groups) => {
                    (self.indexes(conn, table, groups, stop), &table.name)
                }
            };
            self.profiler.end(&span, conn, name);
            self.counters.busy.sub(1);
            outcome?;
            if let Task::Rows(batch) = &task {
                batch.table.open.fetch_sub(1, Ordering::SeqCst);
            }
            self.open.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn indexes(
        &self,
        conn: &mut Conn,
        table: &TargetTable,
        groups: &[Vec<String>],
        stop: &Stop<'_>,
    ) -> Result<()> {
        while table.open.load(Ordering::SeqCst) > 0 {
            stop.check()?;
            std::thread::sleep(Duration::from_millis(2));
        }
        add_indexes(conn, &table.name, groups, self.resuming)
    }

    /// Stores a batch.
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
            printable(&batch.table.name)
        );
        let executor = Executor {
            table: &batch.table.name,
            doing: &doing,
            bulk: false,
            // Its bytes are counted when it is stored.
            sent: 0,
            counters: self.counters,
            observer: self.observer,
            stop,
        };
        let rows = executor.run(conn, |conn| attempt(conn, batch, session, &doing))?;
        batch.table.rows.fetch_add(rows, Ordering::SeqCst);
        self.counters.rows.add(rows);
        self.counters.bytes.add(batch.bytes);
        Ok(())
    }
}

fn attempt(
    conn: &mut Conn,
    batch: &Batch,
    session: &mut Session,
    doing: &str,
) -> Result<u64, Failed> {
    if session.settings.as_ref() != Some(&batch.settings) {
        set(conn, &batch.settings)?;
        session.settings = Some(batch.settings.clone());
    }
    if let Some(journal) = &batch.journal {
        journal.enter(conn, &batch.id)?;
    }
    failpoint::reached("a batch is entered");
    let rows = match &batch.content {
        Content::Inserts(list) => inserts(conn, batch, list, session, doing)?,
        Content::Lines(sql, lines) => {
            let done = conn.load(sql, &mut lines.as_slice())?;
            load_data::stored(conn, doing, &done, &batch.table.names(), None)?
        }
        Content::File(sql, path) => {
            let mut file = dumps::input::open(path)
                .map_err(|e| Error::new(Kind::Archive, format!("{doing}: {e}")))?;
            let done = conn.load(sql, &mut file)?;
            load_data::stored(conn, doing, &done, &batch.table.names(), None)?
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

/// Gives a session the settings under which the script expects its rows to be read.
fn set(conn: &mut Conn, settings: &RowSettings) -> Result<(), wire::Error> {
    match &settings.time_zone {
        Some(zone) => conn.execute(format!("SET SESSION time_zone = {}", quote::text(zone)))?,
        None => conn.execute("SET SESSION time_zone = @@GLOBAL.time_zone")?,
    };
    let mode = mode(settings, Dialect::default());
    conn.execute(format!("SET SESSION sql_mode = '{mode}'"))
        .map(drop)
}

/// The modes under which rows of a script are stored.
fn mode(settings: &RowSettings, dialect: Dialect) -> String {
    let mut list = vec!["ALLOW_INVALID_DATES"];
    if settings.zero_is_a_value {
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

/// Stores statements in their order; consecutive ones with the same columns become one LOAD DATA.
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
    // The columns and the dialect of the collected lines, and how many rows they are.
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
            let literals = batch.table.literals(named)?;
            let values = &statement.text[head.values_at..];
            convert(values, &literals, dialect, &mut lines).ok()
        });
        if let (Some(rows), Some(head)) = (converted, head) {
            let (.., n) = collected.get_or_insert((head.columns, dialect, 0));
            *n += rows;
            continue;
        }
        all += send(conn, batch, &mut lines, collected.take(), doing)?;
        // Perhaps only the list of columns differs from the one before.
        let head = Header::parse(&statement.text, dialect);
        let again = head.and_then(|head| {
            let literals = batch.table.literals(head.columns.as_deref())?;
            let values = &statement.text[head.values_at..];
            let rows = convert(values, &literals, dialect, &mut lines).ok()?;
            Some((head.columns, dialect, rows))
        });
        match again {
            Some(again) => collected = Some(again),
            None => all += unchanged(conn, batch, statement, doing)?,
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
        .table
        .statement(named.as_deref(), dialect)
        .ok_or_else(|| Error::new(Kind::Internal, "columns that were converted are gone"))?;
    let done = conn.load(&sql, &mut lines.as_slice())?;
    lines.clear();
    load_data::stored(conn, doing, &done, &batch.table.names(), Some(rows))
}

/// Runs an INSERT unchanged, under the settings that it was written for.
fn unchanged(
    conn: &mut Conn,
    batch: &Batch,
    statement: &Statement,
    doing: &str,
) -> Result<u64, Failed> {
    let dialect = statement.dialect;
    // The script may be a stranger's: literals and most functions are harmless, files of the server's host
    // are not.
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
                "{doing}: the INSERT at line {} may read a file on the server's host (LOAD_FILE), and was not run",
                statement.line
            ),
        )));
    }
    let charset = dialect.charset.map_or("utf8mb4", |c| c.name());
    conn.execute(format!("USE {}", quote::ident(&batch.table.schema)))?;
    conn.execute(format!("SET NAMES {charset}"))?;
    conn.execute(format!(
        "SET SESSION sql_mode = '{}'",
        mode(&batch.settings, dialect)
    ))?;
    let done = conn.execute(&statement.text)?;
    let warnings = match done.warnings {
        0 => Vec::new(),
        raised => load_data::warnings_about_values(conn, raised.into())?,
    };
    conn.execute("SET NAMES utf8mb4")?;
    conn.execute(format!(
        "SET SESSION sql_mode = '{}'",
        mode(&batch.settings, Dialect::default())
    ))?;
    if !warnings.is_empty() {
        let mut text = format!(
            "{doing}: the INSERT at line {} raised {}; the batch was rolled back",
            statement.line,
            things(u64::from(done.warnings), "warning")
        );
        for warning in warnings.iter().take(5) {
            text += &format!("\n  {warning}");
        }
        return Err(Failed::Other(Error::new(Kind::Failed, text)));
    }
    Ok(done.affected)
}
