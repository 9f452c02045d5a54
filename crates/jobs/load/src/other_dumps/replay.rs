//! Replays a dump: its statements in their order. Definitions run on the control connection, rows go to the
//! loaders, and a statement that needs rows waits until they are stored.

mod batches;
mod finish;
mod lines;
mod objects;
mod part;
mod state;

use super::batch::Loaders;
use super::chosen::{Chosen, Fate};
use super::files::{Content, InputFile, InputFiles};
use super::statement_policy::resolved;
use super::statement_policy::{self, Unsupported, why_unsupported};
use super::survey::{self, Survey, Whole, no_schema};
use crate::from_archive::Treated;
use crate::journal::Journal;
use crate::rename;
use crate::target::connections;
use crate::{Target, refused, script};
use base::units::printable;
use base::{Error, Kind, Result};
use batches::{OpenBatch, Queue};
use dumps::script::Statement;
use dumps::statement::{InsertOther, Kind as StatementKind, Name, classify};
use dumps::{Charset, Dialect};
use run::Stop;
use run::bottleneck;
use run::failure;
use server::{quote, session};
use state::{Deferred, Key, KnownObjects, ScriptState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// What limited its speed.
    pub bottleneck: Option<bottleneck::Report>,
    /// Statements that were skipped, each with its reason.
    pub skipped: Vec<String>,
}

/// Reads the dump and queues the work.
struct Replay<'a, 'b> {
    t: &'a mut Target<'b>,
    survey: Option<&'a Survey>,
    chosen: &'a Chosen<'a>,
    /// Whether the dump is several files in a directory.
    in_directory: bool,
    journal: Option<Arc<Journal>>,
    script: ScriptState,
    /// What the statements so far have named.
    so_far: Whole,
    known: KnownObjects,
    batch: OpenBatch,
    queue: Queue<'a>,
    deferred: Deferred,
    /// Schemas that were there, with the character set and collation that they had.
    defaults: BTreeMap<String, String>,
    /// Statements that may not run, and were skipped.
    skipped: Vec<Unsupported>,
}

/// What a worker does.
enum Role<'a, 'b, 'c> {
    Replay(&'c mut Replay<'a, 'b>),
    Loader(Box<wire::Conn>),
}

/// Loads all files.
pub fn load(
    t: &mut Target<'_>,
    files: &InputFiles,
    survey: Option<&Survey>,
    chosen: &Chosen<'_>,
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
    let job = bottleneck::Job::Load {
        skip_binlog: t.options.skip_binlog,
    };
    let profiler =
        bottleneck::Profiler::start(job, &t.options.target, &t.id, conns.len(), &run.observer);
    let loaders = Loaders {
        profiler: &profiler,
        tasks,
        open: &open,
        counters: &phase.counters,
        observer: &*run.observer,
        resuming: t.resuming,
    };
    t.report.remarks.extend(files.gaps.iter().cloned());
    let mut replay = Replay {
        t,
        survey,
        chosen,
        in_directory: files.in_directory,
        journal: journal.map(Arc::new),
        script: ScriptState::default(),
        so_far: Whole::default(),
        known: KnownObjects::default(),
        batch: OpenBatch::default(),
        queue: Queue::new(sender, &open, &phase.counters),
        deferred: Deferred::default(),
        defaults: BTreeMap::new(),
        skipped: Vec::new(),
    };
    let mut roles: Vec<Role<'_, '_, '_>> = vec![Role::Replay(&mut replay)];
    roles.extend(conns.into_iter().map(|c| Role::Loader(Box::new(c))));
    let all = run.workers(roles, |_, role, stop| match role {
        Role::Replay(replay) => {
            let outcome = replay.all(files, stop);
            // Otherwise the loaders would wait for more.
            replay.queue.close();
            outcome
        }
        Role::Loader(mut conn) => loaders.work(&mut conn, stop),
    });
    if let Err(e) = all.and_then(|()| replay.finish(files)) {
        // The error that ended it says more than one of this.
        let _ = replay.give_defaults_back();
        return Err(e);
    }
    Ok(Loaded {
        schemas: replay.known.schemas.len() as u64,
        tables: replay.known.tables.len() as u64,
        views: replay.known.views.len() as u64,
        rows: replay
            .known
            .filled
            .values()
            .map(|t| t.rows.load(Ordering::SeqCst))
            .sum(),
        bytes: phase.counters.bytes.get(),
        seconds: phase.seconds(),
        bottleneck: profiler.finish(),
        skipped: replay
            .skipped
            .iter()
            .map(|s| printable(&s.to_string()))
            .collect(),
    })
}

impl Replay<'_, '_> {
    fn all(&mut self, files: &InputFiles, stop: &Stop<'_>) -> Result<()> {
        for (n, file) in files.list.iter().enumerate() {
            stop.check()?;
            self.script.next_file(file);
            if n > 0 {
                // What the last file has set does not hold for this one.
                session::for_ddl(&mut self.t.conn, &self.t.id)
                    .map_err(|e| failure::server("cannot prepare a session", e))?;
            }
            self.script.home = file.schema.clone();
            if let Some(schema) = file.schema.as_deref().filter(|_| !file.schema_given) {
                let schema = self.chosen.schema(schema);
                if self.has_part_in(&schema) {
                    self.create_schema(&schema)?;
                    self.use_schema(&schema)?;
                }
            }
            match &file.content {
                Content::Sql => self.sql_file(file, n, files.list.len(), stop)?,
                Content::Lines { table, form } => self.file_of_lines(file, n, table, form, stop)?,
            }
        }
        if self.known.schemas.is_empty()
            && self.known.filled.is_empty()
            && self.known.views.is_empty()
        {
            return Err(survey::empty(&self.t.options.from));
        }
        self.flush(stop)?;
        let tables: Vec<Key> = self.deferred.indexes.keys().cloned().collect();
        for table in tables {
            self.queue_indexes(&table, stop)?;
        }
        self.wait_for_rows(stop)
    }

    fn sql_file(
        &mut self,
        file: &InputFile,
        n: usize,
        files: usize,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let dialect = Dialect {
            charset: Some(Charset::UTF8MB4),
            ..Dialect::default()
        };
        let mut script = file.script(file.open()?).with_dialect(dialect);
        while let Some(s) = script.next().map_err(|e| file.error(&e))? {
            stop.check()?;
            if self.script.source.is_none() {
                self.script.source = survey::source(script.info());
            }
            self.statement(file, n, s, stop)?;
        }
        if script.info().headers == 0 && files == 1 && !file.open_end {
            self.t.report.remarks.push(format!(
                "{} has no line that marks its end (--compact, --skip-comments): a cut between two statements cannot be detected",
                file.name()
            ));
        }
        if script.info().is_truncated() {
            return Err(Error::new(
                Kind::Archive,
                format!(
                    "{} is cut: the line that marks it complete is missing",
                    file.name()
                ),
            ));
        }
        // Rows of the next file may be in another character set, or under other settings.
        self.flush(stop)
    }

    fn statement(
        &mut self,
        file: &InputFile,
        n: usize,
        s: Statement,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let mut s = s;
        let (name, line) = (file.name(), s.line);
        let place = || format!("{name}, line {line}");
        let mut found = classify(&s.text, s.dialect);
        if let StatementKind::Use(name) = &found.kind {
            self.script.home = Some(name.clone());
        }
        let home = self.script.home.clone();
        self.so_far.take(&found.kind, home.as_deref());
        let undone = self.so_far.undone(&found.kind, home.as_deref());
        let fires = self
            .survey
            .is_some_and(|s| s.whole.fires(&found.kind, home.as_deref()));
        let fate = self.choose(&mut s, &found.kind, home.as_deref(), &place())?;
        if fate == Fate::LeftOut {
            return Ok(());
        }
        if !self.chosen.is_whole() {
            found = classify(&s.text, s.dialect);
        }
        let why = why_unsupported(&found, self.script.schema.as_deref());
        if let Some(why) = why.or(undone).or_else(|| fate.why()) {
            let skipped = Unsupported {
                place: place(),
                why,
            };
            if !self.t.options.skip_unsupported {
                return Err(statement_policy::refusal(
                    &[skipped],
                    "the statements before it were run",
                ));
            }
            self.skipped.push(skipped);
            return Ok(());
        }
        // A loader has neither the script's variables nor the rows that come before.
        if let StatementKind::Insert(head) = &found.kind {
            let needs = rename::script::needs_session(&s.text[head.values_at..], s.dialect);
            if needs {
                let name = Name {
                    schema: head.schema.clone(),
                    name: head.table.clone(),
                };
                found.kind = StatementKind::InsertOther(InsertOther::Form, Some(name));
            }
        }
        if let StatementKind::Use(own) = &found.kind
            && let Some(given) = self.script.flag_schema.take()
        {
            return Err(survey::not_for(&given, own, &place()));
        }
        if survey::needs_schema(&found.kind)
            && let Some(given) = self.script.flag_schema.take()
        {
            self.create_schema(&given)?;
            self.use_schema(&given)?;
        }
        let schema = self.script.schema.as_deref();
        self.known.uncounted.follow(&found.kind, schema);
        match found.kind {
            StatementKind::Insert(head) => {
                let name = Name {
                    schema: head.schema,
                    name: head.table,
                };
                let table = self.target_table(&name, stop)?;
                self.add(file, n, table, s, stop)
            }
            StatementKind::Set(list) => {
                let skipped = list
                    .iter()
                    .any(|a| a.name == "gtid_purged" || a.name == "sql_log_bin");
                if skipped {
                    self.note("the script's GTIDs and sql_log_bin are left as the target has them");
                    return Ok(());
                }
                let settings = self.script.settings.follow(&list);
                if settings != self.script.row_settings {
                    // The open batch was written under the old ones.
                    self.flush(stop)?;
                    self.script.row_settings = settings;
                }
                let text = String::from_utf8_lossy(&s.text);
                let (text, note) = script::adapt_set(&text, &self.t.id);
                self.t.report.notes.extend(note);
                self.execute(text.as_bytes(), &place(), false)
            }
            StatementKind::Use(name) => self.use_schema(&name),
            StatementKind::CreateDatabase(name) => {
                if self.survey.is_none_or(|s| s.home() != Some(&name)) {
                    self.begin_journal()?;
                }
                let exists = self.exists(&name)?;
                if !exists {
                    let text = match String::from_utf8(s.text.clone()) {
                        Ok(text) => self.adapted(text, &quote::ident(&name)).into_bytes(),
                        Err(_) => s.text.clone(),
                    };
                    self.execute(&text, &place(), true)?;
                    self.schema_created(&name)?;
                }
                self.known.schemas.insert(name.clone());
                self.begin_journal()
            }
            StatementKind::CreateTable(name) => self.create_table(&name, &s, &place(), stop),
            StatementKind::DropTable(names) | StatementKind::DropView(names) => {
                self.drop_own(&names, &s.text, &place(), stop)
            }
            StatementKind::DropObject(_) => Ok(()),
            StatementKind::DropDatabase(name) => {
                if self.exists(&name)? && !self.t.resuming {
                    return Err(refused(format!(
                        "the dump drops schema {}, which the target has",
                        printable(&quote::ident(&name))
                    ))
                    .hint("nothing is ever overwritten: drop it yourself if it may go"));
                }
                Ok(())
            }
            StatementKind::LockTables(_)
            | StatementKind::UnlockTables
            | StatementKind::AlterKeys(..)
            | StatementKind::Transaction
            // Unsupported, and so never here.
            | StatementKind::Rollback => Ok(()),
            StatementKind::Upkeep => Ok(()),
            StatementKind::ReplicationSource => {
                self.note("the script's replication source is left for you to set");
                Ok(())
            }
            StatementKind::CreateView(name) => {
                if let Some(key) = resolved(&name, self.script.schema.as_deref()) {
                    self.known.views.insert(key);
                }
                self.begin_journal()?;
                let place = place();
                self.view(s, place)
            }
            StatementKind::CreateRoutine(_) | StatementKind::CreateEvent(_) => {
                self.begin_journal()?;
                self.execute(&s.text, &place(), false)
            }
            // Rows must be stored before what acts on them.
            StatementKind::CreateTrigger { .. } => {
                self.begin_journal()?;
                // In a directory the definitions come first, and were not there when the rows were written.
                if fires && (self.in_directory || self.chosen.may_reach_others()) {
                    return self.defer_trigger(s, &place());
                }
                self.wait_for_rows(stop)?;
                self.execute(&s.text, &place(), false)
            }
            StatementKind::Sequence(name) => {
                self.begin_journal()?;
                if let Some(key) = resolved(&name, self.script.schema.as_deref()) {
                    self.known.tables.insert(key);
                }
                self.execute(&s.text, &place(), true)
            }
            StatementKind::InsertOther(..)
            | StatementKind::LoadData { .. }
            | StatementKind::Other => {
                self.begin_journal()?;
                self.wait_for_rows(stop)?;
                self.once(file, n, &s, &place())
            }
            StatementKind::AlterTable(_) => {
                self.begin_journal()?;
                self.wait_for_rows(stop)?;
                self.execute(&s.text, &place(), true)
            }
            // The rows that this load has stored would not be sent again.
            StatementKind::Truncate(_) if self.t.resuming => Ok(()),
            StatementKind::Truncate(_) => self.execute(&s.text, &place(), true),
            StatementKind::AlterDatabase(name) => {
                self.begin_journal()?;
                self.wait_for_rows(stop)?;
                if let Some(schema) = name.or_else(|| self.script.schema.clone()) {
                    self.keep_default(&schema)?;
                }
                self.execute(&s.text, &place(), true)
            }
        }
    }

    fn key(&self, name: &Name) -> Result<Key> {
        resolved(name, self.script.schema.as_deref())
            .ok_or_else(|| no_schema(&name.name, &self.batch.file.0))
    }

    /// Makes this the schema for names without one.
    fn use_schema(&mut self, name: &str) -> Result<()> {
        self.t.execute(
            &format!("USE {}", quote::ident(name)),
            "cannot use the schema",
        )?;
        self.script.schema = Some(name.to_owned());
        self.known.schemas.insert(name.to_owned());
        self.begin_journal()
    }

    /// Creates a schema that no statement creates.
    fn create_schema(&mut self, name: &str) -> Result<()> {
        if self.exists(name)? {
            return Ok(());
        }
        self.t.execute(
            &format!("CREATE DATABASE {}", quote::ident(name)),
            "cannot create the schema",
        )?;
        self.schema_created(name)
    }

    fn schema_created(&mut self, name: &str) -> Result<()> {
        if !self.t.report.created.iter().any(|c| c == name) {
            self.t.report.created.push(name.to_owned());
        }
        self.t.report.touched = true;
        self.begin_journal()?;
        match self.journal.clone() {
            Some(journal) => journal.schema(self.t, name),
            None => Ok(()),
        }
    }

    /// Begins the journal, as soon as its schema exists.
    fn begin_journal(&mut self) -> Result<()> {
        let Some(survey) = self.survey.filter(|_| self.journal.is_none()) else {
            return Ok(());
        };
        let Some(home) = survey.home() else {
            return Ok(());
        };
        if self.exists(home)? {
            let journal = Journal::begin(self.t, home, &survey.identity, &Treated::default())?;
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
        self.t.number(sql, "cannot look at the target")
    }

    fn note(&mut self, text: &str) {
        self.t.report.notes.push(text.to_owned());
    }
}
