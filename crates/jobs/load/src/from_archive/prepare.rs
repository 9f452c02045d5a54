//! Schemas, tables without foreign keys and without deferred indexes, placeholders of views; and the LOAD
//! statement of a table.
//!
//! A load that resumes an interrupted one does all of it again: objects that exist already were created by
//! that load (see `journal`), and are left unchanged.

use super::LoadPlan;
use crate::journal::{self, Journal};
use crate::script::{self, Allowed};
use crate::{DeferIndexes, MethodPlan, Target};
use archive::open::Table;
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use run::failure;
use server::{ddl, quote};
use std::collections::{HashMap, HashSet};

/// Bytes of rows from which on a table's indexes are deferred. A smaller table is filled before the server
/// would have begun with its ALTER.
pub const DEFER_FROM: u64 = 8 << 20;

/// What [`create`] has made ready for rows.
pub struct Prepared {
    /// Where chunks are entered.
    pub journal: Journal,
    /// To add after all rows.
    pub foreign: Vec<ForeignKeys>,
    /// By quoted, qualified table: indexes to add after its rows.
    pub keys: HashMap<String, Vec<Vec<String>>>,
    /// Quoted, qualified tables whose engine has no transactions.
    pub nontransactional: HashSet<String>,
}

/// Foreign keys that were taken out of their table's definition, to add after the rows.
pub struct ForeignKeys {
    /// Quoted, qualified table.
    pub table: String,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Clauses fit to follow `ADD`.
    pub clauses: Vec<String>,
}

/// Creates everything that rows need; begins the journal, unless there is one to resume with.
pub fn create(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    mut journal: Option<Journal>,
    methods: &MethodPlan,
) -> Result<Prepared> {
    let mut foreign = Vec::new();
    let mut keys = HashMap::new();
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at];
        t.run.check()?;
        let created = database(t, plan, schema)?;
        let journal = match &mut journal {
            Some(journal) => journal,
            // The first schema, which had to exist before it could hold the journal.
            None => {
                let identity = journal::identity(plan)?;
                journal.insert(Journal::begin(t, journal::home(plan), &identity)?)
            }
        };
        if created {
            journal.schema(t, &schema.name)?;
        }
        t.execute(
            &format!("USE {}", quote::ident(&schema.name)),
            "cannot use the schema",
        )?;
        for at in &part.tables {
            t.run.check()?;
            let later = table(t, plan, &schema.tables[*at], methods)?;
            if t.resuming && later.created {
                // It was dropped since: its journal entries are void.
                let chunks = &schema.tables[*at].chunks;
                let files: Vec<&str> = chunks.iter().map(|c| c.file.as_str()).collect();
                journal.forget(t, &files)?;
            }
            foreign.extend(later.foreign);
            if !later.keys.is_empty() {
                let table = &schema.tables[*at];
                keys.insert(quote::qualified(&table.schema, &table.name), later.keys);
            }
        }
        for at in &part.views {
            // Only the CREATE is taken from the file: its DROP would remove an existing object.
            let view = &schema.views[*at];
            for s in script::statements(&view.pre, &sql(plan, &view.pre)?)? {
                if s.kind == Allowed::View {
                    let doing = format!(
                        "cannot create a placeholder of view {}",
                        quote::qualified(&schema.name, &view.name)
                    );
                    t.create(&s.text, &doing)?;
                }
            }
        }
    }
    let Some(mut journal) = journal else {
        return Err(Error::new(Kind::Internal, "a plan without a schema"));
    };
    let nontransactional = without_transactions(t, plan)?;
    if t.resuming {
        start_again(t, plan, &nontransactional, &mut journal)?;
    }
    Ok(Prepared {
        journal,
        foreign,
        keys,
        nontransactional,
    })
}

/// The tables of the plan whose engine, on the target, has no transactions.
fn without_transactions(t: &mut Target<'_>, plan: &LoadPlan) -> Result<HashSet<String>> {
    let mut found = HashSet::new();
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at].name;
        let sql = format!(
            "SELECT t.table_name FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine \
             WHERE t.table_schema = {} AND t.table_type = 'BASE TABLE' AND e.transactions <> 'YES'",
            quote::text(schema)
        );
        let rows = t
            .conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot look at the tables' engines", e))?;
        for name in rows.into_iter().flatten().flatten() {
            found.insert(quote::qualified(schema, &String::from_utf8_lossy(&name)));
        }
    }
    Ok(found)
}

/// Such an engine keeps what a killed chunk has stored: its table is emptied and loaded from its beginning,
/// unless all of it is loaded.
fn start_again(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    nontransactional: &HashSet<String>,
    journal: &mut Journal,
) -> Result<()> {
    for table in plan.tables() {
        let name = quote::qualified(&table.schema, &table.name);
        let files: Vec<&str> = table.chunks.iter().map(|c| c.file.as_str()).collect();
        if !nontransactional.contains(&name) || files.iter().all(|f| journal.has(f)) {
            continue;
        }
        t.execute(
            &format!("TRUNCATE TABLE {name}"),
            &format!("cannot empty table {name}"),
        )?;
        journal.forget(t, &files)?;
        t.run.observer.note(printable(&format!(
            "table {name} has an engine without transactions: it is loaded again from its beginning"
        )));
    }
    Ok(())
}

/// The text of a file, checked against the manifest.
pub fn sql(plan: &LoadPlan, file: &str) -> Result<String> {
    plan.archive
        .sql(file)
        .map_err(|e| failure::archive("cannot read a definition", &e))
}

/// Creates a schema; false if it existed.
fn database(t: &mut Target<'_>, plan: &LoadPlan, schema: &archive::open::Schema) -> Result<bool> {
    let before = t.collation_of(&schema.name)?;
    create_database(t, plan, schema)?;
    let Some(before) = before else {
        failpoint::reached("a schema is created");
        if !t.report.created.contains(&schema.name) {
            t.report.created.push(schema.name.clone());
        }
        t.report.touched = true;
        return Ok(true);
    };
    // It existed: its default stays, and tables created later without a collation would differ from the
    // source.
    let wanted = schema_collation(t, plan, schema)?;
    if let Some(wanted) = wanted.filter(|w| !w.eq_ignore_ascii_case(&before)) {
        t.report.exceptions.push(format!(
            "schema {} existed already, with default collation {before} instead of {wanted}: it was left unchanged",
            quote::ident(&schema.name)
        ));
    }
    Ok(false)
}

/// The default collation that the archive's CREATE DATABASE names, as this target spells it.
fn schema_collation(
    t: &Target<'_>,
    plan: &LoadPlan,
    schema: &archive::open::Schema,
) -> Result<Option<String>> {
    for file in &schema.ddl {
        for s in script::statements(file, &sql(plan, file)?)? {
            if s.kind == Allowed::Database && s.text.contains("CREATE") {
                let (text, _) = adapted(t, plan, &s.text);
                let at = text.to_ascii_uppercase().rfind(" COLLATE ");
                let name = at.map(|at| text[at + 9..].trim_start());
                return Ok(name.map(|n| {
                    n.chars()
                        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                        .collect()
                }));
            }
        }
    }
    Ok(None)
}

fn create_database(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    schema: &archive::open::Schema,
) -> Result<()> {
    let doing = format!("cannot create schema {}", quote::ident(&schema.name));
    for file in &schema.ddl {
        for s in script::statements(file, &sql(plan, file)?)? {
            // ALTER DATABASE belongs to the routines around it.
            if s.kind == Allowed::Database && s.text.contains("CREATE") {
                let text = ddl::add_if_not_exists(&s.text);
                let (text, notes) = adapted(t, plan, &text);
                t.report.notes.extend(notes);
                t.execute(&text, &doing)?;
                return Ok(());
            }
        }
    }
    t.execute(
        &format!(
            "CREATE DATABASE IF NOT EXISTS {}",
            quote::ident(&schema.name)
        ),
        &doing,
    )
}

fn adapted(t: &Target<'_>, plan: &LoadPlan, text: &str) -> (String, Vec<String>) {
    match &plan.source {
        Some(source) => ddl::adapt(text, source, &t.id),
        None => (text.to_owned(), Vec::new()),
    }
}

/// What a table gets after its rows.
#[derive(Default)]
struct Later {
    /// It did not exist yet.
    created: bool,
    foreign: Option<ForeignKeys>,
    keys: Vec<Vec<String>>,
}

/// Drops a table whose rows are going to be loaded by another method, and creates it again. What it gets
/// after its rows may be different now.
pub fn again(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    this: &Table,
    methods: &MethodPlan,
    prepared: &mut Prepared,
) -> Result<()> {
    let name = quote::qualified(&this.schema, &this.name);
    t.execute(
        &format!("DROP TABLE IF EXISTS {name}"),
        &format!("cannot drop table {name}"),
    )?;
    t.execute(
        &format!("USE {}", quote::ident(&this.schema)),
        "cannot use the schema",
    )?;
    let later = table(t, plan, this, methods)?;
    prepared.keys.remove(&name);
    if !later.keys.is_empty() {
        prepared.keys.insert(name, later.keys);
    }
    Ok(())
}

/// The statement that creates a table, adapted to this target.
pub fn definition(t: &Target<'_>, plan: &LoadPlan, table: &Table) -> Result<Option<String>> {
    let Some(file) = &table.ddl else {
        return Ok(None);
    };
    let statements = script::statements(file, &sql(plan, file)?)?;
    let create = statements.iter().find(|s| s.kind == Allowed::Table);
    Ok(create.map(|s| adapted(t, plan, &s.text).0))
}

fn table(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    table: &Table,
    methods: &MethodPlan,
) -> Result<Later> {
    let name = quote::qualified(&table.schema, &table.name);
    let Some(file) = &table.ddl else {
        return Err(Error::new(
            Kind::Archive,
            format!("the archive has no definition of table {name}"),
        )
        .hint("loading into a table that was created by hand is not supported; take a dump with definitions"));
    };
    let mut later = Later::default();
    for s in script::statements(file, &sql(plan, file)?)? {
        match s.kind {
            Allowed::Table => {
                let (text, notes) = adapted(t, plan, &s.text);
                t.report
                    .notes
                    .extend(notes.into_iter().map(|n| format!("table {name}: {n}")));
                let (mut text, clauses) = ddl::strip_foreign_keys(&script::must_create(&text));
                let all_keys = ddl::strip_secondary_keys(&text).1;
                if let Some(others) = methods.keys_of_server(&name) {
                    (text, later.keys) = ddl::strip_keys_of_server(&text, others);
                } else if defers_indexes(t, table) {
                    (text, later.keys) = ddl::strip_secondary_keys(&text);
                }
                failpoint::reached("a table is about to be created");
                later.created = t.create(&text, &format!("cannot create table {name}"))?;
                if !later.created {
                    // The interrupted load may have created it with other indexes.
                    let existing = t.indexes(table)?;
                    later.keys = ddl::missing_keys(all_keys, &existing);
                }
                failpoint::reached("a table is created");
                t.report.touched = true;
                if !clauses.is_empty() {
                    later.foreign = Some(ForeignKeys {
                        table: name.clone(),
                        schema: table.schema.clone(),
                        name: table.name.clone(),
                        clauses,
                    });
                }
            }
            Allowed::Sequence => {
                t.create(&s.text, &format!("cannot create sequence {name}"))?;
            }
            Allowed::Set => t.execute(&s.text, "cannot prepare the session")?,
            _ => {}
        }
    }
    Ok(later)
}

/// Whether a table's indexes are better added after its rows.
fn defers_indexes(t: &Target<'_>, table: &Table) -> bool {
    let bytes: u64 = table.chunks.iter().filter_map(|c| c.raw_bytes).sum();
    match t.options.defer_indexes {
        DeferIndexes::All => true,
        DeferIndexes::Off => false,
        DeferIndexes::Auto => bytes >= DEFER_FROM,
    }
}

/// `LOAD DATA LOCAL INFILE` for the chunks of a table.
pub fn load_statement(table: &Table) -> Result<String> {
    let o = &table.meta.options;
    let name = quote::qualified(&table.schema, &table.name);
    let charset: String = o
        .default_character_set
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    let mut columns = Vec::new();
    let mut sets = Vec::new();
    for (i, column) in o.columns.iter().enumerate() {
        let quoted = quote::ident(column);
        match o.decode_columns.get(column) {
            None => columns.push(quoted),
            Some(function) => {
                let value = decoded(function, column, i).ok_or_else(|| {
                    Error::new(
                        Kind::Archive,
                        format!("table {name}: column {quoted} needs the decoding function {}, which is not supported", printable(function)),
                    )
                })?;
                columns.push(format!("@p{i}"));
                sets.push(format!("{quoted} = {value}"));
            }
        }
    }
    let d = &o.dialect;
    let optionally = if d.fields_optionally_enclosed {
        "OPTIONALLY "
    } else {
        ""
    };
    let mut sql = format!(
        "LOAD DATA LOCAL INFILE 'penstock' INTO TABLE {name} CHARACTER SET {charset} \
         FIELDS TERMINATED BY {} {optionally}ENCLOSED BY {} ESCAPED BY {} LINES TERMINATED BY {}",
        literal(&d.fields_terminated_by),
        literal(&d.fields_enclosed_by),
        literal(&d.fields_escaped_by),
        literal(&d.lines_terminated_by),
    );
    if !columns.is_empty() {
        sql += &format!(" ({})", columns.join(", "));
    }
    if !sets.is_empty() {
        sql += &format!(" SET {}", sets.join(", "));
    }
    Ok(sql)
}

/// The expression that gives a column its value. Only the two functions of the format and the one
/// expression that MySQL Shell is known to write: nothing else in an archive becomes SQL.
fn decoded(function: &str, column: &str, i: usize) -> Option<String> {
    match function.to_ascii_uppercase().as_str() {
        "FROM_BASE64" => Some(format!("FROM_BASE64(@p{i})")),
        "UNHEX" => Some(format!("UNHEX(@p{i})")),
        _ if function == format!("STRING_TO_VECTOR(@{})", quote::ident(column)) => {
            Some(format!("STRING_TO_VECTOR(@p{i})"))
        }
        _ => None,
    }
}

/// A separator as a literal; the grammar takes strings and hexadecimal here.
fn literal(text: &str) -> String {
    if text.is_empty() {
        "''".to_owned()
    } else {
        let hex: String = text.bytes().map(|b| format!("{b:02x}")).collect();
        format!("0x{hex}")
    }
}

impl Target<'_> {
    /// The default collation of a schema; `None` if there is no such schema.
    fn collation_of(&mut self, schema: &str) -> Result<Option<String>> {
        let sql = format!(
            "SELECT default_collation_name FROM information_schema.schemata WHERE schema_name = {}",
            quote::text(schema)
        );
        let rows = self
            .conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot look for the schema", e))?;
        let cell = rows
            .into_iter()
            .next()
            .and_then(|r| r.into_iter().next().flatten());
        Ok(cell.map(|c| String::from_utf8_lossy(&c).into_owned()))
    }

    /// Names of the indexes of a table.
    fn indexes(&mut self, table: &Table) -> Result<Vec<String>> {
        let sql = format!(
            "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = {} AND table_name = {}",
            quote::text(&table.schema),
            quote::text(&table.name)
        );
        let rows = self
            .conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot look at the table's keys", e))?;
        let names = rows.into_iter().flatten().flatten();
        Ok(names
            .map(|n| String::from_utf8_lossy(&n).into_owned())
            .collect())
    }

    /// Creates an object, unless the interrupted load has created it; then false.
    pub fn create(&mut self, sql: &str, doing: &str) -> Result<bool> {
        match self.conn.execute(sql) {
            Err(e) if self.resuming && is_there(&e) => Ok(false),
            done => done
                .map(|_| true)
                .map_err(|e| failure::wire(printable(doing), e)),
        }
    }
}

/// Whether the server refused to create an object because it exists: a table or view, a routine, a trigger,
/// an event.
pub fn is_there(e: &wire::Error) -> bool {
    matches!(e.code(), Some(1050 | 1304 | 1359 | 1537))
}
