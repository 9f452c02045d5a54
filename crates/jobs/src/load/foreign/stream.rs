//! The statements of a dump in their order: definitions run on the control
//! connection, rows go to the loaders, and whoever needs rows to be there waits.

use super::super::journal::Journal;
use super::super::prepare::{ForeignKeys, KEYS_BEHIND, is_there};
use super::super::{DeferKeys, Target, connections, script};
use super::batch::{Batch, Content as Rows, Context, Loaders, Task};
use super::begin;
use super::parts::{Content, Part, Parts};
use super::settings::Settings;
use super::shape::Shape;
use super::survey::{self, Survey, danger, no_schema, refused_statements, resolved};
use super::{BATCH, refused};
use crate::failure;
use crate::run::Stop;
use base::units::printable;
use base::{Counters, Error, Kind, Result, failpoint};
use crossbeam_channel::{SendTimeoutError, Sender};
use dumps::folder::Delimited;
use dumps::script::{Script, Statement};
use dumps::statement::{Kind as Sort, Name, Scope, classify};
use dumps::{Charset, Dialect};
use server::{ddl, quote, session};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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
    let loaders = Loaders {
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
    };
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
    stream.end()?;
    Ok(Loaded {
        schemas: stream.schemas.len() as u64,
        tables: stream.made.len() as u64,
        views: stream.views.len() as u64,
        rows: phase.counters.rows.get(),
        bytes: phase.counters.bytes.get(),
        seconds: phase.seconds(),
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
            if let Some(schema) = part.schema.clone() {
                self.schema(&schema)?;
                self.enter(&schema)?;
            }
            match &part.content {
                Content::Sql => self.script(part, n, stop)?,
                Content::Lines { table, form } => self.lines(part, n, table, form, stop)?,
            }
        }
        self.flush(stop)?;
        let tables: Vec<Key> = self.keys.keys().cloned().collect();
        for table in tables {
            self.complete(&table, stop)?;
        }
        self.settle(stop)
    }

    fn script(&mut self, part: &Part, n: usize, stop: &Stop<'_>) -> Result<()> {
        let dialect = Dialect {
            charset: Some(Charset::UTF8MB4),
            ..Dialect::default()
        };
        let mut script = Script::new(part.open()?)
            .with_open_end(part.open_end)
            .with_dialect(dialect);
        while let Some(s) = script.next().map_err(|e| part.error(&e))? {
            stop.check()?;
            if self.source.is_none() {
                self.source = survey::source(script.frame());
            }
            self.statement(part, n, s, stop)?;
        }
        if script.frame().is_cut() {
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
            let what = format!("{}: {why}", place());
            if !self.t.options.skip_refused {
                return Err(refused_statements(&[what]));
            }
            self.t
                .exceptions
                .push(printable(&format!("left out: {what}")));
            return Ok(());
        }
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

    /// Runs a statement on the control connection. Unless it is `needed`, a
    /// refusal is an exception and not the end.
    fn run(&mut self, text: &[u8], place: &str, needed: bool) -> Result<()> {
        failpoint::reached("a statement is about to run");
        match self.t.conn.execute(text) {
            Ok(_) => Ok(()),
            // 1065: for this server, a comment.
            Err(e) if e.code() == Some(1065) => Ok(()),
            Err(e) if self.t.resuming && (is_there(&e) || e.code() == Some(1061)) => Ok(()),
            Err(wire::Error::Server(e)) if !needed => {
                self.except(place, &e);
                Ok(())
            }
            Err(e) => Err(failure::wire(format_args!("cannot run {place}"), e)),
        }
    }

    /// Creates a view. In folders, which have them by name, it may need one that comes later.
    fn view(&mut self, s: Statement, place: String) -> Result<()> {
        failpoint::reached("a view is about to be created");
        match self.t.conn.execute(&s.text) {
            Err(wire::Error::Server(e)) if matches!(e.code, 1146 | 1305 | 1356) => {
                self.later.push(Later {
                    schema: self.current.clone(),
                    text: s.text,
                    charset: s.dialect.charset,
                    place,
                });
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(e) if self.t.resuming && is_there(&e) => Ok(()),
            Err(wire::Error::Server(e)) => {
                self.except(&place, &e);
                Ok(())
            }
            Err(e) => Err(failure::wire(format_args!("cannot run {place}"), e)),
        }
    }

    /// What the target refused and the load can do without.
    fn except(&mut self, place: &str, e: &wire::ServerError) {
        let text = printable(&format!("{place}: {e}"));
        self.t.run.observer.warn(text.clone());
        self.t.exceptions.push(text);
    }

    /// The views that lacked something, as often as that gets any of them further.
    fn views_again(&mut self) -> Result<()> {
        loop {
            let list = std::mem::take(&mut self.later);
            let before = list.len();
            if before == 0 {
                return Ok(());
            }
            for v in list {
                if let Some(schema) = &v.schema {
                    let sql = format!("USE {}", quote::ident(schema));
                    self.t.execute(&sql, "cannot use the schema")?;
                }
                let charset = v.charset.unwrap_or(Charset::UTF8MB4).name();
                let sql = format!("SET NAMES {charset}");
                self.t.execute(&sql, "cannot prepare a session")?;
                match self.t.conn.execute(&v.text) {
                    Ok(_) => {}
                    Err(wire::Error::Server(_)) => self.later.push(v),
                    Err(e) => return Err(failure::wire(format_args!("cannot run {}", v.place), e)),
                }
            }
            if self.later.len() == before {
                for v in std::mem::take(&mut self.later) {
                    if let Err(wire::Error::Server(e)) = self.t.conn.execute(&v.text) {
                        self.except(&v.place, &e);
                    }
                }
            }
        }
    }

    /// Runs a statement that may store rows, and that a second time would store them again.
    fn once(&mut self, part: &Part, n: usize, s: &Statement, place: &str) -> Result<()> {
        let id = format!("{n}@{}", s.offset);
        let Some(journal) = self.journal.clone() else {
            return self.run(&s.text, place, true);
        };
        if journal.has(&id) {
            return Ok(());
        }
        let fail = |e| {
            failure::wire(
                format_args!("cannot run {}, line {}", part.name(), s.line),
                e,
            )
        };
        self.t.conn.execute("START TRANSACTION").map_err(fail)?;
        journal.enter(&mut self.t.conn, &id).map_err(fail)?;
        self.run(&s.text, place, true)?;
        self.t.conn.execute("COMMIT").map(drop).map_err(fail)
    }

    fn create_table(
        &mut self,
        name: &Name,
        s: &Statement,
        place: &str,
        stop: &Stop<'_>,
    ) -> Result<()> {
        self.begin()?;
        let key = self.key(name)?;
        self.next_table(Some(&key), stop)?;
        let mut text = match String::from_utf8(s.text.clone()) {
            // A definition in another character set is left as it is.
            Err(_) => {
                self.made.insert(key);
                return self.run(&s.text, place, true);
            }
            Ok(text) => {
                let text = script::must_create(&text);
                self.adapted(text, &format!("table {}", quote::qualified(&key.0, &key.1)))
            }
        };
        let bytes = self.survey.and_then(|s| s.tables.get(&key)).copied();
        let behind = match self.t.options.defer_keys {
            DeferKeys::All => true,
            DeferKeys::Off => false,
            DeferKeys::Auto => bytes.is_some_and(|b| b >= KEYS_BEHIND),
        };
        if behind {
            let (rest, clauses) = ddl::strip_foreign_keys(&text);
            let (rest, groups) = ddl::strip_secondary_keys(&rest);
            text = rest;
            if !clauses.is_empty() {
                self.foreign.push(ForeignKeys {
                    table: quote::qualified(&key.0, &key.1),
                    schema: key.0.clone(),
                    name: key.1.clone(),
                    clauses,
                });
            }
            if !groups.is_empty() {
                self.keys.insert(key.clone(), groups);
            }
        }
        self.run(text.as_bytes(), place, true)?;
        self.t.touched = true;
        self.made.insert(key);
        Ok(())
    }

    /// A definition as the target needs it, if the dump says where it is from.
    fn adapted(&mut self, text: String, what: &str) -> String {
        let Some(source) = &self.source else {
            return text;
        };
        let (text, notes) = ddl::adapt(&text, source, &self.t.id);
        let notes = notes.into_iter().map(|n| format!("{what}: {n}"));
        self.t.notes.extend(notes);
        text
    }

    /// Drops what this load has made (stand-ins for views); what is not there needs no drop.
    fn drop_own(
        &mut self,
        names: &[Name],
        text: &[u8],
        place: &str,
        stop: &Stop<'_>,
    ) -> Result<()> {
        for name in names {
            let Some(key) = resolved(name, self.current.as_deref()) else {
                continue;
            };
            let ours = self.made.contains(&key) || self.views.contains(&key) || self.t.resuming;
            if ours {
                continue;
            }
            let sql = format!(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
                quote::text(&key.0),
                quote::text(&key.1)
            );
            if self.number(&sql)? > 0 {
                return Err(refused(format!(
                    "the dump drops {}, which the target has",
                    printable(&quote::qualified(&key.0, &key.1))
                ))
                .hint("nothing is ever overwritten: drop it yourself if it may go, or choose another server"));
            }
        }
        let standing: Vec<Key> = names
            .iter()
            .filter_map(|n| resolved(n, self.current.as_deref()))
            .filter(|k| {
                self.views.contains(k) || (self.made.contains(k) && !self.shapes.contains_key(k))
            })
            .collect();
        // On resuming, a table with rows is dropped by nobody: its CREATE comes right behind.
        if standing.len() < names.len() {
            return Ok(());
        }
        self.settle(stop)?;
        for key in standing {
            self.made.remove(&key);
        }
        self.run(text, place, false)
    }

    /// The target's table for rows; its keys, if they wait, wait on.
    fn shape(&mut self, name: &Name, stop: &Stop<'_>) -> Result<Arc<Shape>> {
        let key = self.key(name)?;
        self.next_table(Some(&key), stop)?;
        if let Some(shape) = self.shapes.get(&key) {
            return Ok(Arc::clone(shape));
        }
        self.begin()?;
        let shape = Arc::new(Shape::read(&mut self.t.conn, &key.0, &key.1)?);
        if shape.plain && self.t.resuming {
            // Its engine keeps what a killed batch has stored.
            let sql = format!("TRUNCATE TABLE {}", shape.name);
            self.run(sql.as_bytes(), &shape.name.clone(), true)?;
        }
        self.shapes.insert(key.clone(), Arc::clone(&shape));
        self.made.insert(key);
        Ok(shape)
    }

    /// Another table begins: what waited for the last one's rows can go on.
    fn next_table(&mut self, key: Option<&Key>, stop: &Stop<'_>) -> Result<()> {
        let done: Vec<Key> = self
            .keys
            .keys()
            .filter(|k| Some(*k) != key && self.shapes.contains_key(*k))
            .cloned()
            .collect();
        if done.is_empty() {
            return Ok(());
        }
        self.flush(stop)?;
        for table in done {
            self.complete(&table, stop)?;
        }
        Ok(())
    }

    /// The keys of a table whose rows have all been given out.
    fn complete(&mut self, table: &Key, stop: &Stop<'_>) -> Result<()> {
        let Some(groups) = self.keys.remove(table) else {
            return Ok(());
        };
        let shape = match self.shapes.get(table) {
            Some(shape) => Arc::clone(shape),
            None => Arc::new(Shape::read(&mut self.t.conn, &table.0, &table.1)?),
        };
        self.send(Task::Keys(shape, groups), stop)
    }

    fn add(
        &mut self,
        part: &Part,
        n: usize,
        shape: Arc<Shape>,
        s: Statement,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let other = |f: &Arc<Shape>| !Arc::ptr_eq(f, &shape);
        if self.filling.as_ref().is_some_and(other) {
            self.flush(stop)?;
        }
        self.bytes += s.text.len();
        self.batch.push(s);
        self.filling = Some(shape);
        self.place = (part.name(), n);
        if self.bytes >= BATCH {
            self.flush(stop)?;
        }
        Ok(())
    }

    /// Gives out the batch that is being filled.
    fn flush(&mut self, stop: &Stop<'_>) -> Result<()> {
        let Some(shape) = self.filling.take() else {
            return Ok(());
        };
        let list = std::mem::take(&mut self.batch);
        let bytes = std::mem::take(&mut self.bytes) as u64;
        let (offset, line) = list.first().map_or((0, 0), |s| (s.offset, s.line));
        let (name, n) = &self.place;
        let batch = Batch {
            id: format!("{n}@{offset}"),
            place: format!("{name}, from line {line},"),
            context: self.context.clone(),
            content: Rows::Inserts(list),
            bytes,
            journal: self.journal_for(&shape),
            shape,
        };
        self.give(batch, stop)
    }

    fn journal_for(&self, shape: &Shape) -> Option<Arc<Journal>> {
        self.journal.clone().filter(|_| !shape.plain)
    }

    fn give(&mut self, batch: Batch, stop: &Stop<'_>) -> Result<()> {
        if batch.journal.as_ref().is_some_and(|j| j.has(&batch.id)) {
            self.counters.bytes.add(batch.bytes);
            return Ok(());
        }
        batch.shape.open.fetch_add(1, Ordering::SeqCst);
        self.send(Task::Rows(batch), stop)
    }

    fn send(&mut self, task: Task, stop: &Stop<'_>) -> Result<()> {
        let Some(tasks) = &self.tasks else {
            return Err(Error::new(
                Kind::Internal,
                "the loaders have been sent home",
            ));
        };
        self.open.fetch_add(1, Ordering::SeqCst);
        let mut task = task;
        loop {
            stop.check()?;
            match tasks.send_timeout(task, Duration::from_millis(50)) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(back)) => task = back,
                Err(SendTimeoutError::Disconnected(_)) => {
                    return Err(Error::new(Kind::Internal, "the loaders have gone"));
                }
            }
        }
    }

    /// Waits until all rows that were read are stored.
    fn settle(&mut self, stop: &Stop<'_>) -> Result<()> {
        self.flush(stop)?;
        while self.open.load(Ordering::SeqCst) > 0 {
            stop.check()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn lines(
        &mut self,
        part: &Part,
        n: usize,
        table: &str,
        form: &Result<Box<Delimited>, std::path::PathBuf>,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let name = Name {
            schema: part.schema.clone(),
            name: table.to_owned(),
        };
        let shape = self.shape(&name, stop)?;
        let mut form = match form {
            Ok(form) => form.as_ref().clone(),
            Err(path) => self.form_of(path)?,
        };
        if part.may_have_names() {
            let names = shape.names();
            let found = begin::look(&mut part.open()?, &form, &names).map_err(|e| {
                Error::new(Kind::Storage, format!("cannot read {}: {e}", part.name()))
            })?;
            if found.names.is_some() {
                self.note(&format!(
                    "{}: the first line has the columns' names, and was left out",
                    part.name()
                ));
                form.columns = found.names;
                form.ignore = 1;
            }
            if found.crlf {
                form.lines = b"\r\n".to_vec();
            }
        }
        let mut reader = part.open()?;
        // Only where a line ends where a newline stands without its escape can a file be cut.
        let cuttable = form.lines == b"\n" && form.escaped == b"\\" && form.enclosed.is_empty();
        if !cuttable {
            let Some(path) = &part.path else {
                return Err(Error::new(Kind::Internal, "lines without a file"));
            };
            let sql = shape.statement_for_lines(&form)?;
            let batch = Batch {
                id: format!("{n}@0"),
                place: part.name(),
                context: self.context_of_lines(),
                content: Rows::File(sql, path.clone()),
                bytes: std::fs::metadata(path).map_or(0, |m| m.len()),
                journal: self.journal_for(&shape),
                shape,
            };
            return self.give(batch, stop);
        }
        let (mut offset, mut rest) = (0_u64, Vec::new());
        loop {
            stop.check()?;
            let mut piece = std::mem::take(&mut rest);
            let most = (BATCH as u64)
                .saturating_sub(piece.len() as u64)
                .max(1 << 20);
            let got = (&mut reader)
                .take(most)
                .read_to_end(&mut piece)
                .map_err(|e| {
                    Error::new(
                        Kind::Archive,
                        printable(&format!("cannot read {}: {e}", part.name())),
                    )
                })?;
            let last = got == 0;
            if !last {
                match last_line_end(&piece) {
                    Some(end) => rest = piece.split_off(end),
                    None => {
                        rest = piece;
                        continue;
                    }
                }
            }
            if piece.is_empty() {
                return Ok(());
            }
            let bytes = piece.len() as u64;
            let batch = Batch {
                id: format!("{n}@{offset}"),
                place: format!("{} from byte {offset}", part.name()),
                context: self.context_of_lines(),
                content: Rows::Lines(shape.statement_for_lines(&form)?, piece),
                bytes,
                journal: self.journal_for(&shape),
                shape: Arc::clone(&shape),
            };
            self.give(batch, stop)?;
            offset += bytes;
            form.ignore = 0;
            if last {
                return Ok(());
            }
        }
    }

    /// What tools that write lines have set: UTC, and nothing is counted on.
    fn context_of_lines(&self) -> Context {
        Context {
            zone: Some("+00:00".to_owned()),
            zero_is_a_value: true,
        }
    }

    /// How lines are written, from the LOAD DATA that came with them.
    fn form_of(&self, path: &std::path::Path) -> Result<Delimited> {
        let part = Part {
            path: Some(path.to_owned()),
            schema: None,
            content: Content::Sql,
            open_end: true,
        };
        let mut script = Script::new(part.open()?).with_open_end(true);
        while let Some(s) = script.next().map_err(|e| part.error(&e))? {
            if let Some(form) = Delimited::of_statement(&s.text, s.dialect) {
                return Ok(form);
            }
        }
        Err(Error::new(
            Kind::Archive,
            format!(
                "{} has no LOAD DATA statement that could be understood",
                part.name()
            ),
        ))
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
        self.t.created.push(name.to_owned());
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

    /// What comes behind all rows.
    fn end(&mut self) -> Result<()> {
        for k in std::mem::take(&mut self.foreign) {
            self.t.add_foreign_keys(&k)?;
        }
        self.views_again()?;
        match self.journal.take() {
            Some(journal) => journal.end(self.t),
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

/// Behind the last line end that no backslash escapes.
fn last_line_end(bytes: &[u8]) -> Option<usize> {
    let mut end = bytes.len();
    while let Some(at) = bytes[..end].iter().rposition(|b| *b == b'\n') {
        let escapes = bytes[..at]
            .iter()
            .rev()
            .take_while(|b| **b == b'\\')
            .count();
        if escapes % 2 == 0 {
            return Some(at + 1);
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::last_line_end;

    #[test]
    fn lines_are_cut_where_they_end() {
        assert_eq!(last_line_end(b"a\tb\nc"), Some(4));
        assert_eq!(last_line_end(b"a\nb\\\nc"), Some(2));
        assert_eq!(last_line_end(b"a\nb\\\\\nc"), Some(6));
        assert_eq!(last_line_end(b"a\\\nb"), None);
        assert_eq!(last_line_end(b""), None);
    }
}
