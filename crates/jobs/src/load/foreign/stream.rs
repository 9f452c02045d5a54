//! The statements of a dump in their order: definitions run on the control
//! connection, rows go to the loaders, and whoever needs rows to be there waits.

mod batches;
mod lines;
mod objects;

use super::super::journal::Journal;
use super::super::prepare::{ForeignKeys, KEYS_BEHIND, is_there};
use super::super::target::connections;
use super::super::{DeferKeys, Target, script};
use super::batch::{Batch, Content as Rows, Context, Loaders, Task};
use super::begin;
use super::parts::{Content, Part, Parts};
use super::settings::Settings;
use super::shape::Shape;
use super::survey::{self, Refused, Survey, danger, no_schema, refused_statements, resolved};
use super::{BATCH, refused};
use crate::run::Stop;
use crate::{failure, held};
use base::units::{count, printable};
use base::{Counters, Error, Kind, Result, failpoint};
use crossbeam_channel::{SendTimeoutError, Sender};
use dumps::directory::Delimited;
use dumps::script::{Script, Statement};
use dumps::statement::{Kind as Sort, Name, Scope, classify};
use dumps::{Charset, Dialect};
use server::{ddl, quote, session};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What was loaded.
pub struct Loaded {
    /// Schemas that the dump created or used.
    pub schemas: u64,
    /// Tables.
    pub tables: u64,
    /// Views.
    pub views: u64,
    /// Rows.
    pub rows: u64,
    /// Uncompressed bytes of the dump.
    pub bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// What held it back.
    pub held: Option<held::Report>,
    /// Statements that were left out, each with its reason.
    pub left_out: Vec<String>,
}

type Key = (String, String);

/// Reads the dump and gives out the work.
struct Stream<'a, 'b> {
    t: &'a mut Target<'b>,
    survey: Option<&'a Survey>,
    journal: Option<Arc<Journal>>,
    /// The server that was dumped, as far as the dump says.
    source: Option<server::Identity>,
    tasks: Option<Sender<Task>>,
    open: &'a AtomicU64,
    counters: &'a Counters,
    /// Schema for names without one.
    current: Option<String>,
    context: Context,
    settings: Settings,
    shapes: BTreeMap<Key, Arc<Shape>>,
    /// Tables that were created, and views, as far as they are known.
    made: BTreeSet<Key>,
    views: BTreeSet<Key>,
    schemas: BTreeSet<String>,
    /// The batch that is being filled.
    batch: Vec<Statement>,
    bytes: usize,
    filling: Option<Arc<Shape>>,
    /// Which file it comes from, by name and number.
    place: (String, usize),
    /// Keys that wait for the rows of their table.
    keys: BTreeMap<Key, Vec<Vec<String>>>,
    foreign: Vec<ForeignKeys>,
    /// Views that lacked something.
    later: Vec<Later>,
    /// Which tables' rows cannot be told from what was sent.
    uncounted: Uncounted,
    /// Statements that may not run.
    left_out: Vec<Refused>,
    /// The schema of --schema, as long as nothing has needed it.
    pending: Option<String>,
}

/// Tables that other statements than plain rows may have changed.
#[derive(Default)]
struct Uncounted {
    tables: BTreeSet<Key>,
    /// Any table.
    all: bool,
    /// A trigger is there: rows that come now may change any table.
    triggers: bool,
}

/// A view to be tried again.
struct Later {
    schema: Option<String>,
    text: Vec<u8>,
    charset: Option<Charset>,
    place: String,
}

enum Role<'a, 'b, 'c> {
    Stream(&'c mut Stream<'a, 'b>),
    Loader(Box<wire::Conn>),
}

/// Loads all parts.
pub fn load(
    t: &mut Target<'_>,
    parts: &Parts,
    survey: Option<&Survey>,
    journal: Option<Journal>,
) -> Result<Loaded> {
    let run = t.run;
    let mut wire = t.options.target.clone();
    wire.local_infile = true;
    let conns = connections(t, &wire)?;
    let phase = run.phase("loading", conns.len());
    if let Some(survey) = survey {
        phase.counters.bytes_expected.set(survey.bytes);
    }
    let (sender, tasks) = crossbeam_channel::bounded(conns.len());
    let open = AtomicU64::new(0);
    let job = held::Job::Load {
        skip_binlog: t.options.skip_binlog,
    };
    let watch = held::Watch::start(job, &t.options.target, &t.id, conns.len(), &t.run.observer);
    let loaders = Loaders {
        watch: &watch,
        tasks,
        open: &open,
        counters: &phase.counters,
        observer: &*run.observer,
        resuming: t.resuming,
    };
    let mut stream = Stream {
        t,
        survey,
        journal: journal.map(Arc::new),
        source: None,
        tasks: Some(sender),
        open: &open,
        counters: &phase.counters,
        current: None,
        context: Context::default(),
        settings: Settings::default(),
        shapes: BTreeMap::new(),
        made: BTreeSet::new(),
        views: BTreeSet::new(),
        schemas: BTreeSet::new(),
        batch: Vec::new(),
        bytes: 0,
        filling: None,
        place: (String::new(), 0),
        keys: BTreeMap::new(),
        foreign: Vec::new(),
        later: Vec::new(),
        uncounted: Uncounted::default(),
        left_out: Vec::new(),
        pending: None,
    };
    stream.t.notes.extend(parts.gaps.iter().cloned());
    let mut roles: Vec<Role<'_, '_, '_>> = vec![Role::Stream(&mut stream)];
    roles.extend(conns.into_iter().map(|c| Role::Loader(Box::new(c))));
    run.workers(roles, |_, role, stop| match role {
        Role::Stream(stream) => {
            let outcome = stream.all(parts, stop);
            // Without it the loaders would wait for more.
            stream.tasks = None;
            outcome
        }
        Role::Loader(mut conn) => loaders.work(&mut conn, stop),
    })?;
    stream.end(parts)?;
    Ok(Loaded {
        schemas: stream.schemas.len() as u64,
        tables: stream.made.len() as u64,
        views: stream.views.len() as u64,
        rows: stream
            .shapes
            .values()
            .map(|s| s.rows.load(Ordering::SeqCst))
            .sum(),
        bytes: phase.counters.bytes.get(),
        seconds: phase.seconds(),
        held: watch.finish(),
        left_out: stream
            .left_out
            .iter()
            .map(|r| printable(&r.to_string()))
            .collect(),
    })
}

impl Stream<'_, '_> {
    fn all(&mut self, parts: &Parts, stop: &Stop<'_>) -> Result<()> {
        for (n, part) in parts.list.iter().enumerate() {
            stop.check()?;
            self.context = Context::default();
            self.settings = Settings::default();
            self.current = None;
            if n > 0 {
                // What the last file has set is its own.
                session::for_ddl(&mut self.t.conn, &self.t.id)
                    .map_err(|e| failure::server("cannot prepare a session", e))?;
            }
            self.pending = part.schema.clone().filter(|_| part.schema_given);
            if let Some(schema) = part.schema.clone().filter(|_| !part.schema_given) {
                self.schema(&schema)?;
                self.enter(&schema)?;
            }
            match &part.content {
                Content::Sql => self.script(part, n, parts.list.len(), stop)?,
                Content::Lines { table, form } => self.lines(part, n, table, form, stop)?,
            }
        }
        if self.schemas.is_empty() && self.shapes.is_empty() && self.views.is_empty() {
            return Err(survey::empty(&self.t.options.from));
        }
        self.flush(stop)?;
        let tables: Vec<Key> = self.keys.keys().cloned().collect();
        for table in tables {
            self.complete(&table, stop)?;
        }
        self.settle(stop)
    }

    /// Notes which tables will not hold just the rows that were sent.
    fn uncount(&mut self, kind: &Sort) {
        let u = &mut self.uncounted;
        match kind {
            Sort::Insert(_) => u.all |= u.triggers,
            Sort::CreateTrigger { .. } => u.triggers = true,
            Sort::InsertOther(_, Some(name)) | Sort::AlterTable(name) => {
                u.tables.extend(resolved(name, self.current.as_deref()));
                u.all |= u.triggers;
            }
            Sort::InsertOther(_, None) | Sort::LoadData { .. } | Sort::Other => u.all = true,
            _ => {}
        }
    }

    fn script(&mut self, part: &Part, n: usize, parts: usize, stop: &Stop<'_>) -> Result<()> {
        let dialect = Dialect {
            charset: Some(Charset::UTF8MB4),
            ..Dialect::default()
        };
        let mut script = part.script(part.open()?).with_dialect(dialect);
        while let Some(s) = script.next().map_err(|e| part.error(&e))? {
            stop.check()?;
            if self.source.is_none() {
                self.source = survey::source(script.info());
            }
            self.statement(part, n, s, stop)?;
        }
        if script.info().headers == 0 && parts == 1 && !part.open_end {
            self.note(&format!(
                "{} has no line that says where it ends (--compact, --skip-comments): if it was cut between two statements, nobody can tell",
                part.name()
            ));
        }
        if script.info().is_truncated() {
            return Err(Error::new(
                Kind::Archive,
                format!(
                    "{} is cut: the line that says that it is complete is missing",
                    part.name()
                ),
            ));
        }
        // Rows of the next file may be in another character set, or under other settings.
        self.flush(stop)
    }

    fn statement(&mut self, part: &Part, n: usize, s: Statement, stop: &Stop<'_>) -> Result<()> {
        let found = classify(&s.text, s.dialect);
        let place = || format!("{}, line {}", part.name(), s.line);
        if let Some(why) = danger(&found, self.current.as_deref()) {
            let what = Refused {
                place: place(),
                why,
            };
            if !self.t.options.skip_refused {
                return Err(refused_statements(&[what], "what stands before it was run"));
            }
            self.left_out.push(what);
            return Ok(());
        }
        if let Sort::Use(own) = &found.kind
            && let Some(given) = self.pending.take()
        {
            return Err(survey::not_for(&given, own, &place()));
        }
        if survey::needs_schema(&found.kind)
            && let Some(given) = self.pending.take()
        {
            self.schema(&given)?;
            self.enter(&given)?;
        }
        self.uncount(&found.kind);
        match found.kind {
            Sort::Insert(head) => {
                let name = Name {
                    schema: head.schema,
                    name: head.table,
                };
                let shape = self.shape(&name, stop)?;
                self.add(part, n, shape, s, stop)
            }
            Sort::Set(list) => {
                let skipped = list
                    .iter()
                    .any(|a| a.name == "gtid_purged" || a.name == "sql_log_bin");
                if skipped {
                    self.note("the script's GTIDs and sql_log_bin are left as the target has them");
                    return Ok(());
                }
                let context = self.settings.follow(&list);
                if context != self.context {
                    // What is waiting was written under the old ones.
                    self.flush(stop)?;
                    self.context = context;
                }
                let text = String::from_utf8_lossy(&s.text);
                let (text, note) = script::adapt_set(&text, &self.t.id);
                self.t.notes.extend(note);
                self.run(text.as_bytes(), &place(), false)
            }
            Sort::Use(name) => self.enter(&name),
            Sort::CreateDatabase(name) => {
                if self.survey.is_none_or(|s| s.home() != Some(&name)) {
                    self.begin()?;
                }
                let there = self.exists(&name)?;
                if !there {
                    let text = match String::from_utf8(s.text.clone()) {
                        Ok(text) => self.adapted(text, &quote::ident(&name)).into_bytes(),
                        Err(_) => s.text.clone(),
                    };
                    self.run(&text, &place(), true)?;
                    self.created(&name)?;
                }
                self.schemas.insert(name.clone());
                self.begin()
            }
            Sort::CreateTable(name) => self.create_table(&name, &s, &place(), stop),
            Sort::DropTable(names) | Sort::DropView(names) => {
                self.drop_own(&names, &s.text, &place(), stop)
            }
            Sort::DropObject(_) => Ok(()),
            Sort::DropDatabase(name) => {
                if self.exists(&name)? && !self.t.resuming {
                    return Err(refused(format!(
                        "the dump drops schema {}, which the target has",
                        printable(&quote::ident(&name))
                    ))
                    .hint("nothing is ever overwritten: drop it yourself if it may go"));
                }
                Ok(())
            }
            Sort::LockTables(_) | Sort::UnlockTables | Sort::AlterKeys(..) | Sort::Transaction => {
                Ok(())
            }
            Sort::Upkeep => Ok(()),
            Sort::ReplicationSource => {
                self.note("the script's replication source is left for you to set");
                Ok(())
            }
            Sort::CreateView(name) => {
                if let Some(key) = resolved(&name, self.current.as_deref()) {
                    self.views.insert(key);
                }
                self.begin()?;
                let place = place();
                self.view(s, place)
            }
            Sort::CreateRoutine(_) | Sort::CreateEvent(_) => {
                self.begin()?;
                self.run(&s.text, &place(), false)
            }
            // Rows must be there before what acts on them.
            Sort::CreateTrigger { .. } => {
                self.begin()?;
                self.settle(stop)?;
                self.run(&s.text, &place(), false)
            }
            Sort::Sequence(name) => {
                self.begin()?;
                if let Some(key) = resolved(&name, self.current.as_deref()) {
                    self.made.insert(key);
                }
                self.run(&s.text, &place(), true)
            }
            Sort::InsertOther(..) | Sort::LoadData { .. } | Sort::Other => {
                self.begin()?;
                self.settle(stop)?;
                self.once(part, n, &s, &place())
            }
            Sort::AlterTable(_) | Sort::AlterDatabase(_) => {
                self.begin()?;
                self.settle(stop)?;
                self.run(&s.text, &place(), true)
            }
        }
    }

    fn key(&self, name: &Name) -> Result<Key> {
        resolved(name, self.current.as_deref()).ok_or_else(|| no_schema(&name.name, &self.place.0))
    }

    /// Makes a schema the one for names without one.
    fn enter(&mut self, name: &str) -> Result<()> {
        self.t.execute(
            &format!("USE {}", quote::ident(name)),
            "cannot use the schema",
        )?;
        self.current = Some(name.to_owned());
        self.schemas.insert(name.to_owned());
        self.begin()
    }

    /// Creates a schema that no statement creates.
    fn schema(&mut self, name: &str) -> Result<()> {
        if self.exists(name)? {
            return Ok(());
        }
        self.t.execute(
            &format!("CREATE DATABASE {}", quote::ident(name)),
            "cannot create the schema",
        )?;
        self.created(name)
    }

    fn created(&mut self, name: &str) -> Result<()> {
        if !self.t.created.iter().any(|c| c == name) {
            self.t.created.push(name.to_owned());
        }
        self.t.touched = true;
        self.begin()?;
        match self.journal.clone() {
            Some(journal) => journal.schema(self.t, name),
            None => Ok(()),
        }
    }

    /// Begins the journal, as soon as its schema is there.
    fn begin(&mut self) -> Result<()> {
        let Some(survey) = self.survey.filter(|_| self.journal.is_none()) else {
            return Ok(());
        };
        let Some(home) = survey.home() else {
            return Ok(());
        };
        if self.exists(home)? {
            let journal = Journal::begin(self.t, home, &survey.identity)?;
            self.journal = Some(Arc::new(journal));
        }
        Ok(())
    }

    fn exists(&mut self, schema: &str) -> Result<bool> {
        let sql = format!(
            "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = {}",
            quote::text(schema)
        );
        Ok(self.number(&sql)? > 0)
    }

    fn number(&mut self, sql: &str) -> Result<u64> {
        let rows = self
            .t
            .conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot look at the target", e))?;
        let cell = rows.into_iter().flatten().flatten().next();
        Ok(cell
            .and_then(|c| String::from_utf8_lossy(&c).parse().ok())
            .unwrap_or(0))
    }

    fn note(&mut self, text: &str) {
        self.t.notes.push(text.to_owned());
    }

    /// Insists that each table holds the rows that were sent: the only thing
    /// that tells of rows that were changed while a load was interrupted.
    fn count(&mut self) -> Result<()> {
        if !self.t.options.verify || self.uncounted.all {
            return Ok(());
        }
        let tables: Vec<&Arc<Shape>> = self
            .shapes
            .iter()
            .filter(|(key, _)| !self.uncounted.tables.contains(*key))
            .map(|(_, shape)| shape)
            .collect();
        let conns = connections(self.t, &self.t.options.target)?;
        let phase = self.t.run.phase("counting rows", conns.len());
        let next = AtomicU64::new(0);
        let wrong = Mutex::new(Vec::new());
        self.t.run.workers(conns, |_, mut conn, stop| {
            while let Some(shape) = tables.get(next.fetch_add(1, Ordering::SeqCst) as usize) {
                stop.check()?;
                let sql = format!("SELECT COUNT(*) FROM {}", shape.name);
                let rows = conn
                    .fetch(sql)
                    .map_err(|e| failure::wire(format_args!("cannot count {}", shape.name), e))?;
                let cell = rows
                    .into_iter()
                    .flatten()
                    .flatten()
                    .next()
                    .unwrap_or_default();
                let there: u64 = String::from_utf8_lossy(&cell).parse().unwrap_or(0);
                let sent = shape.rows.load(Ordering::SeqCst);
                phase.counters.rows.add(there);
                if there != sent {
                    let name = printable(&shape.name);
                    let text = format!(
                        "{name} holds {} rows, {} were sent",
                        count(there),
                        count(sent)
                    );
                    wrong
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(text);
                }
            }
            Ok(())
        })?;
        let mut wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
        if wrong.is_empty() {
            return Ok(());
        }
        wrong.sort();
        Err(Error::new(
            Kind::Differs,
            format!(
                "the target does not hold what was loaded:\n  {}",
                wrong.join("\n  ")
            ),
        ))
    }

    /// Names tables of which fewer or more rows came than the tool that dumped them counted.
    fn missed(&mut self, parts: &Parts) {
        for (key, counted) in &parts.counted {
            let rows = self
                .shapes
                .get(key)
                .map_or(0, |s| s.rows.load(Ordering::SeqCst));
            if rows != *counted {
                self.t.exceptions.push(printable(&format!(
                    "table {}: the dump says that it has {} rows, and its files hold {}: one of them is missing, or was changed",
                    quote::qualified(&key.0, &key.1),
                    count(*counted),
                    count(rows)
                )));
            }
        }
    }

    /// What comes behind all rows.
    fn end(&mut self, parts: &Parts) -> Result<()> {
        for k in std::mem::take(&mut self.foreign) {
            self.t.add_foreign_keys(&k)?;
        }
        self.views_again()?;
        self.count()?;
        self.missed(parts);
        let left_out = survey::grouped(&self.left_out);
        let left_out = left_out
            .iter()
            .map(|l| printable(&format!("left out: {l}")));
        self.t.exceptions.extend(left_out);
        match self.journal.take() {
            Some(journal) => {
                let own = self.t.options.own.is_some();
                journal.end(self.t, own.then(Vec::new))
            }
            None => Ok(()),
        }
    }
}

/// What reaches beyond rows and definitions, stands in ordinary dumps, and is
/// not run: where the dump stands in its server's log, and upkeep.
pub fn is_of_a_dump(kind: &Sort) -> bool {
    match kind {
        Sort::Set(list) => list
            .iter()
            .all(|a| a.name == "gtid_purged" || a.name == "sql_log_bin" || a.scope == Scope::User),
        Sort::ReplicationSource | Sort::Upkeep => true,
        _ => false,
    }
}
