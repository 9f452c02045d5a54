//! One pass over a dump before the target is touched: whether it is whole, what
//! it creates, how big its tables are, and whether all of it may run.

use super::super::Options;
use super::super::{Target, refused};
use super::parts::{Content, Parts};
use super::stream::is_of_a_dump;
use crate::{Run, failure};
use base::units::printable;
use base::{Counters, Error, Kind, Result};
use dumps::script::ScriptInfo;
use dumps::statement::{
    Kind as Sort, Name, SYSTEM_TABLE, Statement as Classified, classify, is_system,
};
use server::{Identity, quote};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

/// What a dump was found to be.
#[derive(Default)]
pub struct Survey {
    /// Schemas that it creates or uses, in order.
    pub schemas: Vec<String>,
    /// Tables that it creates or fills, with the bytes of their rows.
    pub tables: BTreeMap<(String, String), u64>,
    /// Other objects that it creates: schema and name.
    pub objects: BTreeSet<(String, String)>,
    /// Uncompressed bytes in all.
    pub bytes: u64,
    /// Tells this dump from any other.
    pub identity: String,
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

/// Reads all of a dump.
pub fn survey(run: &Run, options: &Options, parts: &Parts) -> Result<Survey> {
    let phase = run.phase("looking through the dump", 1);
    let mut found = Survey::default();
    let hasher = Arc::new(Mutex::new(blake3::Hasher::new()));
    let mut unsafe_ones = Vec::new();
    for part in &parts.list {
        run.check()?;
        let reader = Hashed {
            inner: part.open()?,
            hasher: hasher.clone(),
            counters: phase.counters.clone(),
        };
        let mut current = part.schema.clone();
        if let Some(schema) = &current
            && !part.schema_given
        {
            found.schema(schema);
        }
        let mut names_its_own = None;
        match &part.content {
            Content::Lines { table, .. } => {
                let mut reader = reader;
                let bytes = std::io::copy(&mut reader, &mut std::io::sink()).map_err(|e| {
                    Error::new(Kind::Storage, format!("cannot read {}: {e}", part.name()))
                })?;
                let key = (current.unwrap_or_default(), table.clone());
                *found.tables.entry(key).or_default() += bytes;
            }
            Content::Sql => {
                let mut script = part.script(reader);
                while let Some(s) = script.next().map_err(|e| part.error(&e))? {
                    run.check()?;
                    let c = classify(&s.text, s.dialect);
                    if let Some(danger) = danger(&c, current.as_deref()) {
                        unsafe_ones.push(Refused {
                            place: format!("{}, line {}", part.name(), s.line),
                            why: danger,
                        });
                        script.recycle(s.text);
                        continue;
                    }
                    if let Sort::Use(name) = &c.kind {
                        names_its_own.get_or_insert((name.clone(), s.line));
                    }
                    found
                        .take(&c.kind, &mut current, s.text.len() as u64)
                        .map_err(|name| {
                            no_schema(&name, &format!("{}, line {}", part.name(), s.line))
                        })?;
                    script.recycle(s.text);
                }
                if let Some(given) = part.schema.as_ref().filter(|_| part.schema_given)
                    && !found.schemas.contains(given)
                    && let Some((own, line)) = names_its_own
                {
                    return Err(not_for(
                        given,
                        &own,
                        &format!("{}, line {line}", part.name()),
                    ));
                }
                if script.info().is_truncated() {
                    return Err(Error::new(
                        Kind::Archive,
                        format!(
                            "{} is cut: it begins as a dump and does not end with the line that says it is complete",
                            part.name()
                        ),
                    )
                    .hint("nothing was loaded; fetch the file again, or take the dump again"));
                }
            }
        }
    }
    found.bytes = phase.counters.bytes.get();
    if found.schemas.is_empty() && unsafe_ones.is_empty() {
        return Err(empty(&options.from));
    }
    if !unsafe_ones.is_empty() && !options.skip_refused {
        return Err(refused_statements(&unsafe_ones, "nothing of it was run"));
    }
    let digest = hasher
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .finalize()
        .to_hex();
    found.identity = format!("1 sql {digest} {}", super::BATCH);
    Ok(found)
}

/// The server that a script was taken from, by what its first lines say: the
/// server's version, or else that of the tool that came with it.
pub fn source(info: &ScriptInfo) -> Option<Identity> {
    let distribution = || {
        let (_, rest) = info.header.as_deref()?.split_once("Distrib ")?;
        rest.split([',', ' ']).next()
    };
    let version = info.server_version.as_deref().or_else(distribution)?;
    let variables = BTreeMap::from([("version".to_owned(), version.to_owned())]);
    Identity::from_variables(variables)
}

/// Why a statement may not run, if it may not.
pub fn danger(c: &Classified, current: Option<&str>) -> Option<&'static str> {
    let file = c
        .danger
        .is_some_and(|d| d == "LOAD_FILE" || d == "INTO OUTFILE");
    if is_of_a_dump(&c.kind) && !file {
        return None;
    }
    let own = |name: &Name| {
        let key = resolved(name, current);
        key.is_some_and(|(schema, _)| is_system(&schema))
    };
    let of_the_server = match &c.kind {
        Sort::Insert(head) => head.schema.as_deref().or(current).is_some_and(is_system),
        Sort::InsertOther(_, Some(name))
        | Sort::CreateTable(name)
        | Sort::AlterTable(name)
        | Sort::CreateView(name)
        | Sort::CreateRoutine(name)
        | Sort::CreateEvent(name)
        | Sort::DropObject(name)
        | Sort::Sequence(name)
        | Sort::LoadData { table: name, .. }
        | Sort::CreateTrigger { table: name, .. } => own(name),
        Sort::DropTable(names) | Sort::DropView(names) => names.iter().any(own),
        Sort::CreateDatabase(name) | Sort::DropDatabase(name) => {
            // A dump of all schemas has `CREATE DATABASE IF NOT EXISTS mysql`.
            matches!(c.kind, Sort::DropDatabase(_)) && is_system(name)
        }
        Sort::AlterDatabase(name) => name.as_deref().or(current).is_some_and(is_system),
        Sort::Other => current.is_some_and(is_system),
        _ => false,
    };
    c.danger.or(of_the_server.then_some(SYSTEM_TABLE))
}

/// A name that no USE and no --schema completes.
pub fn no_schema(name: &str, place: &str) -> Error {
    Error::new(
        Kind::Usage,
        printable(&format!(
            "{place}: the dump does not say to which schema {} belongs",
            quote::ident(name)
        )),
    )
    .hint("name it with --schema NAME")
}

/// A dump that says itself where it goes is not sent elsewhere by a flag for names without a schema.
pub fn not_for(given: &str, own: &str, place: &str) -> Error {
    Error::new(
        Kind::Usage,
        printable(&format!(
            "--schema {}: nothing would go there, the dump itself says where it goes ({place}: USE {})",
            quote::ident(given),
            quote::ident(own)
        )),
    )
    .hint("leave --schema out; it is for names without a schema, and renames none")
}

/// A dump that creates and fills nothing is none: the tool that wrote it failed, most likely.
pub fn empty(from: &std::path::Path) -> Error {
    let name = if from.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        from.display().to_string()
    };
    Error::new(
        Kind::Archive,
        printable(&format!(
            "{name} holds nothing to load: no schema, no table, no rows"
        )),
    )
    .hint("see what the tool that wrote it said")
}

/// A statement that may not run.
pub struct Refused {
    /// File and line.
    pub place: String,
    /// Why.
    pub why: &'static str,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

/// So many of one kind are still listed each.
const FEW: u64 = 3;

/// One line for many that are refused for one reason: a dump of all schemas has dozens.
pub fn grouped(list: &[Refused]) -> Vec<String> {
    let mut groups: Vec<(&Refused, u64)> = Vec::new();
    for one in list {
        match groups.iter_mut().find(|(first, _)| first.why == one.why) {
            Some((_, n)) => *n += 1,
            None => groups.push((one, 1)),
        }
    }
    let lines = groups.into_iter().flat_map(|(first, n)| {
        if n > FEW {
            vec![format!("{first}, and {} more like it", n - 1)]
        } else {
            let same = list.iter().filter(|one| one.why == first.why);
            same.map(Refused::to_string).collect()
        }
    });
    lines.collect()
}

/// What may not run, by name; `so_far` says what of the dump was run.
pub fn refused_statements(list: &[Refused], so_far: &str) -> Error {
    let mut text = "the dump holds what no dump of rows and definitions needs:".to_owned();
    let lines = grouped(list);
    for one in lines.iter().take(20) {
        text += &format!("\n  {}", printable(one));
    }
    if lines.len() > 20 {
        text += &format!("\n  … and {} more", lines.len() - 20);
    }
    Error::new(Kind::Archive, text).hint(format!(
        "{so_far}; --skip-refused leaves these statements out and names them at the end"
    ))
}

impl Survey {
    /// Takes note of a statement; `Err` names what has no schema.
    fn take(
        &mut self,
        kind: &Sort,
        current: &mut Option<String>,
        bytes: u64,
    ) -> Result<(), String> {
        let table = |found: &mut Survey, name: &Name, bytes: u64| {
            let key = resolved(name, current.as_deref()).ok_or_else(|| name.name.clone())?;
            found.schema(&key.0);
            *found.tables.entry(key).or_default() += bytes;
            Ok::<(), String>(())
        };
        match kind {
            Sort::Insert(head) => {
                let name = Name {
                    schema: head.schema.clone(),
                    name: head.table.clone(),
                };
                table(self, &name, bytes)?;
            }
            Sort::InsertOther(_, Some(name)) | Sort::LoadData { table: name, .. } => {
                table(self, name, bytes)?;
            }
            Sort::CreateTable(name) => table(self, name, 0)?,
            Sort::CreateView(name)
            | Sort::CreateRoutine(name)
            | Sort::CreateEvent(name)
            | Sort::CreateTrigger { trigger: name, .. } => {
                let key = resolved(name, current.as_deref()).ok_or_else(|| name.name.clone())?;
                self.schema(&key.0);
                self.objects.insert(key);
            }
            Sort::CreateDatabase(name) => self.schema(name),
            Sort::Use(name) => {
                self.schema(name);
                *current = Some(name.clone());
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether a statement that runs has a name that a schema must complete.
pub fn needs_schema(kind: &Sort) -> bool {
    match kind {
        Sort::Insert(head) => head.schema.is_none(),
        Sort::InsertOther(_, Some(name))
        | Sort::CreateTable(name)
        | Sort::AlterTable(name)
        | Sort::CreateView(name)
        | Sort::CreateRoutine(name)
        | Sort::CreateEvent(name)
        | Sort::Sequence(name)
        | Sort::LoadData { table: name, .. }
        | Sort::CreateTrigger { trigger: name, .. } => name.schema.is_none(),
        Sort::AlterDatabase(name) => name.is_none(),
        Sort::DropTable(names) | Sort::DropView(names) => names.iter().any(|n| n.schema.is_none()),
        Sort::InsertOther(_, None) | Sort::Other => true,
        _ => false,
    }
}

/// Schema and name; `None` without any schema.
pub fn resolved(name: &Name, current: Option<&str>) -> Option<(String, String)> {
    let schema = name.schema.as_deref().or(current)?;
    Some((schema.to_owned(), name.name.clone()))
}

/// Refuses a target that holds anything that the dump creates.
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
    .hint("nothing is ever overwritten: drop them, or choose another server or --schema"))
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
        self.hasher
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .update(&buffer[..n]);
        self.counters.bytes.add(n as u64);
        Ok(n)
    }
}
