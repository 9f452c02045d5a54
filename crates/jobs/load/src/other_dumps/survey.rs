//! One pass over a dump before the target is touched: whether it is complete, what it creates, how big its
//! tables are, and whether all of it may run.

use super::chosen::{Chosen, Fate};
use super::files::{Content, InputFiles};
use super::statement_policy::{self, Unsupported, resolved, why_unsupported};
use crate::{Options, Target, refused};
use base::units::printable;
use base::{Counters, Error, Kind, Result};
use dumps::script::ScriptInfo;
use dumps::statement::{Kind as StatementKind, Name, classify, is_system};
use run::Run;
use run::failure;
use server::{Identity, quote};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::{Arc, Mutex};

/// What a dump contains, of the part that is chosen and under the names that it gets.
#[derive(Default)]
pub struct Survey {
    /// Schemas that it creates or uses, in order.
    pub schemas: Vec<String>,
    /// Tables that it creates or fills, with the bytes of their rows.
    pub tables: BTreeMap<(String, String), u64>,
    /// Other objects that it creates: schema and name.
    pub objects: BTreeSet<(String, String)>,
    /// All of the dump, under its own names.
    pub whole: Whole,
    /// Whether it says itself which schema it is for, so that `--schema` cannot.
    pub names_schema: bool,
    /// Uncompressed bytes in all.
    pub bytes: u64,
    /// Distinguishes this dump from any other.
    pub identity: String,
}

/// What a dump names, whether it is chosen or not.
#[derive(Default)]
pub struct Whole {
    /// Schemas.
    pub schemas: BTreeSet<String>,
    /// Tables, with the views that are created as tables first.
    pub tables: BTreeSet<(String, String)>,
    /// Views.
    pub views: BTreeSet<(String, String)>,
    /// Procedures and functions, without their schemas.
    pub functions: BTreeSet<String>,
    /// Tables with a trigger so far.
    triggers: BTreeSet<(String, String)>,
    /// Tables with rows so far.
    filled: BTreeSet<(String, String)>,
    /// Tables of which rows are stored when their triggers are there.
    fired: BTreeSet<(String, String)>,
}

impl Whole {
    /// A table gets rows.
    fn fill(&mut self, table: (String, String)) {
        if self.triggers.contains(&table) {
            self.fired.insert(table.clone());
        }
        // Large dumps have many statements of one table.
        if !self.filled.contains(&table) {
            self.tables.insert(table.clone());
            self.filled.insert(table);
        }
    }

    /// Why a statement cannot be run that undoes what is loaded already.
    pub fn undone(&self, kind: &StatementKind, home: Option<&str>) -> Option<&'static str> {
        let filled = |n: &Name| resolved(n, home).is_some_and(|t| self.filled.contains(&t));
        match kind {
            StatementKind::Rollback => Some("ROLLBACK: the rows before it are stored already"),
            StatementKind::DropTable(names) if names.iter().any(filled) => {
                Some("it drops a table that the dump has filled")
            }
            StatementKind::Truncate(name) if filled(name) => {
                Some("it empties a table that the dump has filled")
            }
            _ => None,
        }
    }

    /// Whether a statement creates a trigger that rows fire which come later in the dump.
    pub fn fires(&self, kind: &StatementKind, home: Option<&str>) -> bool {
        match kind {
            StatementKind::CreateTrigger { table, .. } => {
                resolved(table, home).is_some_and(|t| self.fired.contains(&t))
            }
            _ => false,
        }
    }

    /// Records what a statement names; `home` is the schema for names without one.
    pub fn take(&mut self, kind: &StatementKind, home: Option<&str>) {
        let filled = match kind {
            StatementKind::Insert(head) => {
                let schema = head.schema.as_deref().or(home);
                schema.map(|s| (s.to_owned(), head.table.clone()))
            }
            StatementKind::InsertOther(_, Some(name)) => resolved(name, home),
            _ => None,
        };
        if let Some(table) = filled {
            self.fill(table);
        }
        match kind {
            StatementKind::CreateTrigger { table, .. } => {
                self.triggers.extend(resolved(table, home));
            }
            StatementKind::CreateTable(name)
            | StatementKind::InsertOther(_, Some(name))
            | StatementKind::LoadData { table: name, .. }
            | StatementKind::Sequence(name) => self.tables.extend(resolved(name, home)),
            StatementKind::Insert(head) => {
                let schema = head.schema.as_deref().or(home);
                self.tables
                    .extend(schema.map(|s| (s.to_owned(), head.table.clone())));
                self.schemas.extend(head.schema.clone());
            }
            StatementKind::CreateView(name) => self.views.extend(resolved(name, home)),
            StatementKind::CreateRoutine(name) => {
                self.functions.insert(name.name.clone());
            }
            StatementKind::CreateDatabase(name) | StatementKind::Use(name) => {
                self.schemas.insert(name.clone());
            }
            _ => {}
        }
        let of_objects = kind.objects().iter().filter_map(|n| n.schema.as_deref());
        self.schemas.extend(of_objects.map(str::to_owned));
    }
}

impl Survey {
    /// The schema in which the journal is kept.
    pub fn home(&self) -> Option<&str> {
        self.schemas.first().map(String::as_str)
    }

    fn schema(&mut self, name: &str) {
        if !is_system(name) && !self.schemas.iter().any(|s| s == name) {
            self.schemas.push(name.to_owned());
        }
    }
}

/// Reads all of a dump; `passed_over` is what the files have that are not read.
pub fn survey(
    run: &Run,
    options: &Options,
    files: &InputFiles,
    chosen: &Chosen<'_>,
    passed_over: Whole,
) -> Result<Survey> {
    let phase = run.phase("scanning dump", 1);
    let mut found = Survey {
        whole: passed_over,
        ..Survey::default()
    };
    let hasher = Arc::new(Mutex::new(blake3::Hasher::new()));
    let mut unsupported = Vec::new();
    for file in &files.list {
        run.check()?;
        let reader = Hashed {
            inner: file.open()?,
            hasher: hasher.clone(),
            counters: phase.counters.clone(),
        };
        let mut current = file.schema.clone();
        found.whole.schemas.extend(current.clone());
        if let Some(schema) = &current
            && !file.schema_given
            && chosen.takes_schema(schema)
        {
            found.schema(&chosen.schema(schema));
        }
        let mut own_schema = None;
        match &file.content {
            Content::Lines { table, .. } => {
                let key = (current.unwrap_or_default(), table.clone());
                found.whole.fill(key.clone());
                let key = chosen.table(&key.0, &key.1);
                found.schema(&key.0);
                let mut reader = reader;
                let bytes = std::io::copy(&mut reader, &mut std::io::sink()).map_err(|e| {
                    Error::new(Kind::Storage, format!("cannot read {}: {e}", file.name()))
                })?;
                *found.tables.entry(key).or_default() += bytes;
            }
            Content::Sql => {
                let mut script = file.script(reader);
                while let Some(s) = script.next().map_err(|e| file.error(&e))? {
                    run.check()?;
                    let c = classify(&s.text, s.dialect);
                    let home = current.as_deref();
                    found.whole.take(&c.kind, home);
                    if let StatementKind::Use(name) = &c.kind {
                        found.names_schema = true;
                        own_schema.get_or_insert((name.clone(), s.line));
                    }
                    let fate = chosen.fate(&s, &c.kind, home);
                    if fate == Fate::LeftOut {
                        if let StatementKind::Use(name) = c.kind {
                            current = Some(name);
                        }
                        script.recycle(s.text);
                        continue;
                    }
                    let why = why_unsupported(&c, home)
                        .or_else(|| found.whole.undone(&c.kind, home))
                        .or_else(|| fate.why());
                    if let Some(why) = why {
                        unsupported.push(Unsupported {
                            place: format!("{}, line {}", file.name(), s.line),
                            why,
                        });
                        script.recycle(s.text);
                        continue;
                    }
                    found
                        .take(chosen, &c.kind, &mut current, s.text.len() as u64)
                        .map_err(|name| {
                            no_schema(&name, &format!("{}, line {}", file.name(), s.line))
                        })?;
                    script.recycle(s.text);
                }
                if let Some(given) = file.schema.as_ref().filter(|_| file.schema_given)
                    && !found.schemas.contains(&chosen.schema(given))
                    && let Some((own, line)) = own_schema
                {
                    return Err(not_for(
                        given,
                        &own,
                        &format!("{}, line {line}", file.name()),
                    ));
                }
                if script.info().is_truncated() {
                    return Err(Error::new(
                        Kind::Archive,
                        format!(
                            "{} is cut: it begins as a dump and does not end with the line that marks it complete",
                            file.name()
                        ),
                    )
                    .hint("nothing was loaded; fetch the file again, or take the dump again"));
                }
            }
        }
    }
    found.bytes = phase.counters.bytes.get();
    if !chosen.is_whole() {
        chosen.check(&found.whole)?;
        let mut hasher = base::lock(&hasher);
        for word in chosen.words() {
            hasher.update(&[0]).update(word.as_bytes());
        }
    }
    if found.schemas.is_empty() && unsupported.is_empty() {
        return Err(empty(&options.from));
    }
    if !unsupported.is_empty() && !options.skip_unsupported {
        return Err(statement_policy::refusal(&unsupported, "nothing was run"));
    }
    let digest = base::lock(&hasher).finalize().to_hex();
    found.identity = format!("1 sql {digest} {}", super::BATCH);
    Ok(found)
}

/// The server that was dumped, from the script's first lines: the server's version, or else that of the
/// tool that came with it.
pub fn source(info: &ScriptInfo) -> Option<Identity> {
    let distribution = || {
        let (_, rest) = info.header.as_deref()?.split_once("Distrib ")?;
        rest.split([',', ' ']).next()
    };
    let version = info.server_version.as_deref().or_else(distribution)?;
    let variables = BTreeMap::from([("version".to_owned(), version.to_owned())]);
    Identity::from_variables(variables)
}

/// A name whose schema neither USE nor --schema gives.
pub fn no_schema(name: &str, place: &str) -> Error {
    Error::new(
        Kind::Usage,
        printable(&format!(
            "{place}: the dump does not name the schema of {}",
            quote::ident(name)
        )),
    )
    .hint("name it with --schema NAME")
}

/// A dump that names its schema is not redirected by a flag for names without a schema.
pub fn not_for(given: &str, own: &str, place: &str) -> Error {
    Error::new(
        Kind::Usage,
        printable(&format!(
            "--schema {}: nothing would be loaded there, the dump names its own schema ({place}: USE {})",
            quote::ident(given),
            quote::ident(own)
        )),
    )
    .hint("omit --schema; it is for names without a schema and does not rename schemas")
}

/// A dump that creates and fills nothing: most likely the tool that wrote it failed.
pub fn empty(from: &store::Location) -> Error {
    let name = if *from == store::Location::Stream {
        "standard input".to_owned()
    } else {
        from.to_string()
    };
    Error::new(
        Kind::Archive,
        printable(&format!(
            "{name} contains nothing to load: no schema, no table, no rows"
        )),
    )
    .hint("check the output of the tool that wrote it")
}

impl Survey {
    /// Records a statement; `Err` is a name without a schema.
    fn take(
        &mut self,
        chosen: &Chosen<'_>,
        kind: &StatementKind,
        current: &mut Option<String>,
        bytes: u64,
    ) -> Result<(), String> {
        let table = |found: &mut Survey, name: &Name, bytes: u64| {
            let key = resolved(name, current.as_deref()).ok_or_else(|| name.name.clone())?;
            let key = chosen.table(&key.0, &key.1);
            found.schema(&key.0);
            *found.tables.entry(key).or_default() += bytes;
            Ok::<(), String>(())
        };
        match kind {
            StatementKind::Insert(head) => {
                let name = Name {
                    schema: head.schema.clone(),
                    name: head.table.clone(),
                };
                table(self, &name, bytes)?;
            }
            StatementKind::InsertOther(_, Some(name))
            | StatementKind::LoadData { table: name, .. } => {
                table(self, name, bytes)?;
            }
            StatementKind::CreateTable(name) | StatementKind::Sequence(name) => {
                table(self, name, 0)?;
            }
            StatementKind::CreateView(name) => {
                let key = resolved(name, current.as_deref()).ok_or_else(|| name.name.clone())?;
                let key = chosen.table(&key.0, &key.1);
                self.schema(&key.0);
                self.objects.insert(key);
            }
            StatementKind::CreateTrigger { trigger, table } => {
                let of = resolved(table, current.as_deref()).ok_or_else(|| table.name.clone())?;
                let (schema, _) = chosen.table(&of.0, &of.1);
                let trigger = chosen.trigger(&of.0, &of.1, &trigger.name);
                self.schema(&schema);
                self.objects.insert((schema, trigger));
            }
            StatementKind::CreateRoutine(name) | StatementKind::CreateEvent(name) => {
                let key = resolved(name, current.as_deref()).ok_or_else(|| name.name.clone())?;
                let schema = chosen.schema(&key.0);
                self.schema(&schema);
                self.objects.insert((schema, key.1));
            }
            StatementKind::CreateDatabase(name) if chosen.takes_schema(name) => {
                self.schema(&chosen.schema(name));
            }
            StatementKind::Use(name) => {
                if chosen.takes_schema(name) {
                    self.schema(&chosen.schema(name));
                }
                *current = Some(name.clone());
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether a statement that runs has a name without a schema.
pub fn needs_schema(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Insert(head) => head.schema.is_none(),
        StatementKind::AlterDatabase(name) => name.is_none(),
        StatementKind::InsertOther(_, None) | StatementKind::Other => true,
        // Those do not run: the target is known not to have the object.
        StatementKind::DropObject(_) => false,
        kind => kind.objects().iter().any(|n| n.schema.is_none()),
    }
}

/// Refuses a target that already has an object of the dump.
pub fn nothing_there(t: &mut Target<'_>, survey: &Survey) -> Result<()> {
    let mut found = Vec::new();
    for schema in &survey.schemas {
        let name = quote::text(schema);
        let ours = |(s, n): &(String, String)| (s == schema).then(|| n.to_lowercase());
        let tables: BTreeSet<String> = survey
            .tables
            .keys()
            .chain(&survey.objects)
            .filter_map(ours)
            .collect();
        let sql = format!(
            "SELECT 'table', table_name FROM information_schema.tables WHERE table_schema = {name} \
             UNION ALL SELECT 'routine', routine_name FROM information_schema.routines WHERE routine_schema = {name} \
             UNION ALL SELECT 'event', event_name FROM information_schema.events WHERE event_schema = {name}"
        );
        let rows = t
            .conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot look at the target's objects", e))?;
        for row in rows {
            let mut cells = row
                .into_iter()
                .map(|c| String::from_utf8_lossy(&c.unwrap_or_default()).into_owned());
            let (word, object) = (
                cells.next().unwrap_or_default(),
                cells.next().unwrap_or_default(),
            );
            if tables.contains(&object.to_lowercase()) {
                found.push(format!("{word} {}", quote::qualified(schema, &object)));
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    let more = if found.len() > 5 {
        format!(" and {} more", found.len() - 5)
    } else {
        String::new()
    };
    found.truncate(5);
    Err(refused(printable(&format!(
        "the target already holds {}{more}",
        found.join(", ")
    )))
    .hint(if survey.names_schema {
        "nothing is ever overwritten: drop them, choose another server, or other names (--map-schema, --map-table)"
    } else {
        "nothing is ever overwritten: drop them, or choose another server, another --schema, or other names (--map-schema, --map-table)"
    }))
}

/// Counts and hashes what is read.
struct Hashed {
    inner: Box<dyn Read + Send>,
    hasher: Arc<Mutex<blake3::Hasher>>,
    counters: Arc<Counters>,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        base::lock(&self.hasher).update(&buffer[..n]);
        self.counters.bytes.add(n as u64);
        Ok(n)
    }
}
