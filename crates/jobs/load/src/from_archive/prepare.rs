//! Schemas, tables without foreign keys and without deferred indexes, placeholders of views; and the LOAD
//! statement of a table.
//!
//! A load that resumes an interrupted one does all of it again: objects that exist already were created by
//! that load (see `journal`), and are left unchanged.

use super::SchemaSelection;
use super::attempt::create_on;
use super::create_tables::Creators;
use super::definitions::{adapted, statements};
use super::prepared::Prepared;
use super::{LoadPlan, create_table, tablespaces};
use crate::journal::{self, Journal};
use crate::script::{self, Allowed};
use crate::{MethodPlan, Target};
use archive::open::Table;
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use run::failure;
use server::{ddl, quote};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Creates everything that rows need; begins the journal, unless there is one to resume with.
pub fn create(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    mut journal: Option<Journal>,
    methods: &MethodPlan,
) -> Result<Prepared> {
    let defines = plan.parts.definitions && plan.parts.only.is_none();
    if defines {
        tablespaces::create(t, plan)?;
    }
    let mut foreign = Vec::new();
    let mut keys = HashMap::new();
    let mut refused = BTreeSet::new();
    let mut creators = Creators::default();
    // The schema that holds the journal comes first.
    let mut parts: Vec<&SchemaSelection> = plan.schemas.iter().collect();
    parts.sort_by_key(|part| plan.archive.schemas()[part.at].name != journal::home(plan));
    for part in parts {
        let schema = &plan.archive.schemas()[part.at];
        t.run.check()?;
        let created = defines && database(t, plan, schema)?;
        let journal = match &mut journal {
            Some(journal) => journal,
            // Its schema had to exist before it could hold the journal.
            None => {
                let identity = journal::identity(plan)?;
                t.report.touched = true;
                journal.insert(Journal::begin(
                    t,
                    journal::home(plan),
                    &identity,
                    plan.treated(),
                )?)
            }
        };
        if created {
            journal.schema(t, &schema.name)?;
        }
        t.execute(
            &format!("USE {}", quote::ident(&schema.name)),
            "cannot use the schema",
        )?;
        let tables: Vec<&Table> = part
            .tables
            .iter()
            .map(|at| &schema.tables[*at])
            .filter(|t| !plan.leaves(&t.schema, &t.name) && !plan.refills(t))
            .collect();
        let mut attempts = creators.create(t, plan, &schema.name, &tables, methods)?;
        for (number, table) in tables.into_iter().enumerate() {
            t.run.check()?;
            let attempt = attempts.remove(&number);
            let Some(later) = create_table::table(t, plan, table, methods, attempt)? else {
                refused.insert(quote::qualified(&table.schema, &table.name));
                continue;
            };
            if t.resuming && later.created {
                // It was dropped since: its journal entries are void.
                let files: Vec<&str> = table.chunks.iter().map(|c| c.file.as_str()).collect();
                journal.forget(t, &files)?;
                journal.forget_chosen(t, &quote::qualified(&table.schema, &table.name))?;
            }
            foreign.extend(later.foreign);
            if !later.keys.is_empty() {
                keys.insert(quote::qualified(&table.schema, &table.name), later.keys);
            }
        }
        for at in &part.views {
            // Only the CREATE is taken from the file: its DROP would remove an existing object.
            let view = &schema.views[*at];
            // One that an earlier load has made is no placeholder, and must not become one.
            if t.kept.contains(&quote::qualified(&schema.name, &view.name))
                || plan.leaves(&view.schema, &view.name)
            {
                continue;
            }
            for s in statements(plan, None, &view.pre)? {
                // Under its old name it would replace another one.
                if s.kind == Allowed::View && s.unsure.is_none() {
                    let doing = format!(
                        "cannot create a placeholder of view {}",
                        quote::qualified(&schema.name, &view.name)
                    );
                    if let Err(e) = t.create(&s.text, &doing)? {
                        t.refused(format!("{doing}: {e}"));
                    }
                }
            }
        }
    }
    let Some(mut journal) = journal else {
        return Err(Error::new(Kind::Internal, "a plan without a schema"));
    };
    let _ = plan.refused.set(refused);
    let nontransactional = without_transactions(t, plan)?;
    let (merged, doubtful) = looked_at(t, plan)?;
    if t.resuming {
        start_again(t, plan, &nontransactional, &mut journal)?;
    }
    Ok(Prepared {
        journal,
        foreign,
        keys,
        nontransactional,
        merged,
        doubtful,
    })
}

/// The tables of the MERGE engine that the archive has rows of: those are the rows of other tables. And those
/// whose definition may not be the source's.
fn looked_at(t: &mut Target<'_>, plan: &LoadPlan) -> Result<(HashSet<String>, HashSet<String>)> {
    let (mut merged, mut doubtful) = (HashSet::new(), HashSet::new());
    for table in plan.tables().filter(|table| plan.may_have_rows(table)) {
        let Some(create) = create_table::definition(t, plan, table)? else {
            continue;
        };
        if create.contains('?') {
            doubtful.insert(quote::qualified(&table.schema, &table.name));
        }
        let engine = script::engine(&create).unwrap_or_default();
        if matches!(engine.as_str(), "MRG_MYISAM" | "MERGE") {
            let name = quote::qualified(&table.schema, &table.name);
            t.report.remarks.push(format!(
                "table {name} shows the rows of other tables (engine MERGE): they are loaded there, once"
            ));
            merged.insert(name);
        }
    }
    Ok((merged, doubtful))
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
        journal.forget_chosen(t, &name)?;
        t.run.observer.note(printable(&format!(
            "table {name} has an engine without transactions: it is loaded again from its beginning"
        )));
    }
    Ok(())
}

/// Creates a schema; false if it existed.
fn database(t: &mut Target<'_>, plan: &LoadPlan, schema: &archive::open::Schema) -> Result<bool> {
    let before = t.collation_of(&schema.name)?;
    let create = create_database(t, plan, schema)?;
    if create.contains("/* READ ONLY = 1 */") {
        let name = quote::ident(&schema.name);
        t.report.exceptions.push(format!(
            "schema {name} was READ ONLY on the source, and is not here: ALTER DATABASE {name} READ ONLY = 1"
        ));
    }
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
    if let Some(wanted) = &wanted
        && t.resuming
        && t.report.created.contains(&schema.name)
    {
        // The interrupted load may have been killed while it had set another one for a routine or trigger.
        let name = quote::ident(&schema.name);
        t.execute(
            &format!("ALTER DATABASE {name} COLLATE {wanted}"),
            "cannot put back the schema's collation",
        )?;
        return Ok(false);
    }
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
        for s in statements(plan, None, file)? {
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
) -> Result<String> {
    let doing = format!("cannot create schema {}", quote::ident(&schema.name));
    for file in &schema.ddl {
        for s in statements(plan, None, file)? {
            // ALTER DATABASE belongs to the routines around it.
            if s.kind == Allowed::Database && s.text.contains("CREATE") {
                let text = ddl::add_if_not_exists(&s.text);
                let (text, notes) = adapted(t, plan, &text);
                t.report.notes.extend(notes);
                t.execute(&text, &doing)?;
                return Ok(text);
            }
        }
    }
    t.execute(
        &format!(
            "CREATE DATABASE IF NOT EXISTS {}",
            quote::ident(&schema.name)
        ),
        &doing,
    )?;
    Ok(String::new())
}

impl Target<'_> {
    /// The default collation of a schema; `None` if there is no such schema.
    pub(super) fn collation_of(&mut self, schema: &str) -> Result<Option<String>> {
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
    pub(super) fn indexes(&mut self, table: &Table) -> Result<Vec<String>> {
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

    /// Creates an object, unless the interrupted load has created it; then false. The refusal of the
    /// server is the inner error.
    pub fn create(
        &mut self,
        sql: &str,
        doing: &str,
    ) -> Result<std::result::Result<bool, wire::ServerError>> {
        create_on(&mut self.conn, self.resuming, sql, doing)
    }

    /// Names an object that was refused, now and in the summary.
    pub fn refused(&mut self, what: String) {
        let what = printable(&what);
        self.run.observer.warn(what.clone());
        self.report.exceptions.push(what);
    }
}
