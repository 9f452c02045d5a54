//! Creating a table, so that rows can be loaded into it.
//!
//! A definition that the target refuses does not end the load: the table is named, and everything else is loaded.

use super::attempt::{Attempt, Outcome};
use super::definitions::{adapted, adapted_for, statements};
use super::prepared::{DEFER_FROM, ForeignKeys, Prepared};
use super::{LoadPlan, in_tablespace};
use crate::script::{self, Allowed, Statement};
use crate::{DeferIndexes, MethodPlan, Options, Target};
use archive::open::Table;
use base::{Error, Kind, Result, failpoint};
use server::{Identity, ddl, quote, session};

/// What a table gets after its rows.
#[derive(Default)]
pub(super) struct Later {
    /// It did not exist yet.
    pub(super) created: bool,
    pub(super) foreign: Option<ForeignKeys>,
    pub(super) keys: Vec<Vec<String>>,
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
    let Some(later) = table(t, plan, this, methods, None)? else {
        return Err(Error::new(
            Kind::Failed,
            format!("the target created table {name} before, and refuses it now"),
        ));
    };
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
    let statements = statements(plan, None, file)?;
    let create = statements.iter().find(|s| s.kind == Allowed::Table);
    Ok(create.map(|s| adapted(t, plan, &s.text).0))
}

/// How a table is created on this target.
pub(super) struct Wanted {
    /// The statement, without foreign keys and without indexes that come later.
    pub(super) text: String,
    notes: Vec<String>,
    foreign: Vec<String>,
    /// All of its secondary indexes.
    all_keys: Vec<Vec<String>>,
    /// Those that come later.
    keys: Vec<Vec<String>>,
}

/// How a table is created, by the statement of the archive.
pub(super) fn wanted(
    (options, id): (&Options, &Identity),
    plan: &LoadPlan,
    table: &Table,
    methods: &MethodPlan,
    s: &Statement,
) -> Wanted {
    let name = quote::qualified(&table.schema, &table.name);
    let (text, notes) = adapted_for((options, id), plan, &s.text);
    let (mut text, foreign) = ddl::strip_foreign_keys(&script::must_create(&text));
    let all_keys = ddl::strip_secondary_keys(&text).1;
    let mut keys = Vec::new();
    if let Some(others) = methods.keys_of_server(&name) {
        (text, keys) = ddl::strip_keys_of_server(&text, others);
    } else if defers_indexes(options, plan, table) {
        (text, keys) = ddl::strip_secondary_keys(&text);
    }
    Wanted {
        text,
        notes,
        foreign,
        all_keys,
        keys,
    }
}

/// Creates a table without its foreign keys; `None` if that is impossible: it is named, and left out of the rest of the
/// load. `first`: what came of the statement, if it was sent already.
pub(super) fn table(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    table: &Table,
    methods: &MethodPlan,
    first: Option<Attempt>,
) -> Result<Option<Later>> {
    let name = quote::qualified(&table.schema, &table.name);
    let Some(file) = &table.ddl else {
        return Err(Error::new(
            Kind::Archive,
            format!("the archive has no definition of table {name}"),
        )
        .hint("loading into a table that was created by hand is not supported; take a dump with definitions"));
    };
    let mut later = Later::default();
    let sent = first.is_some();
    let (all, mut first) = match first {
        Some(Attempt {
            statements,
            outcome,
        }) => (statements, Some(outcome)),
        None => (statements(plan, None, file)?, None),
    };
    for s in all {
        if let Some(why) = &s.unsure {
            t.refused(format!(
                "table {name} is not loaded, nor its rows and triggers: {why}"
            ));
            return Ok(None);
        }
        match s.kind {
            Allowed::Table => {
                let wanted = wanted((t.options, &t.id), plan, table, methods, &s);
                let text = wanted.text;
                later.keys = wanted.keys;
                let notes = s.notes.iter().cloned().chain(wanted.notes);
                t.report
                    .notes
                    .extend(notes.map(|n| format!("table {name}: {n}")));
                if !sent {
                    failpoint::reached("a table is about to be created");
                }
                let has_rows = table.rows.unwrap_or(1) > 0;
                let created = attempt(t, &name, &text, has_rows, first.take())?;
                let Some(created) = created else {
                    return Ok(None);
                };
                later.created = created;
                if !later.created {
                    in_tablespace::move_into(t, table, &text)?;
                    // The interrupted load may have created it with other indexes.
                    let existing = t.indexes(table)?;
                    later.keys = ddl::missing_keys(wanted.all_keys, &existing);
                }
                if !sent {
                    failpoint::reached("a table is created");
                }
                t.report.touched = true;
                if !wanted.foreign.is_empty() {
                    later.foreign = Some(ForeignKeys {
                        table: name.clone(),
                        schema: table.schema.clone(),
                        name: table.name.clone(),
                        clauses: wanted.foreign,
                    });
                }
            }
            Allowed::Elsewhere => {
                t.refused(format!(
                    "table {name} is not loaded: its definition names a directory on the server's host (DATA DIRECTORY), which an archive may not do; create it by hand, from {file}"
                ));
                return Ok(None);
            }
            Allowed::Sequence => {
                let doing = format!("cannot create sequence {name}");
                if let Err(e) = t.create(&s.text, &doing)? {
                    t.refused(format!("{doing}: {e}"));
                    return Ok(None);
                }
            }
            Allowed::Set if sent => {}
            Allowed::Set => t.execute(&s.text, "cannot prepare the session")?,
            _ => {}
        }
    }
    Ok(Some(later))
}

/// An ENUM or SET has two equal members.
const EQUAL_MEMBERS: u16 = 1291;

/// There is no general tablespace of this name.
const NO_TABLESPACE: u16 = 3510;

/// Creates a table; false if it is there already, `None` if the server refuses it. Where the server names a reason
/// that can be met, it is created otherwise, and that is named. `first`: what the server has said already.
fn attempt(
    t: &mut Target<'_>,
    name: &str,
    text: &str,
    has_rows: bool,
    first: Option<Outcome>,
) -> Result<Option<bool>> {
    let doing = format!("cannot create table {name}");
    let first = match first {
        Some(outcome) => outcome,
        None => t.create(text, &doing)?,
    };
    let refusal = match first {
        Ok(created) => return Ok(Some(created)),
        Err(refusal) => refusal,
    };
    let again = match refusal.code {
        EQUAL_MEMBERS => {
            let mode = |t: &mut Target<'_>, mode: &str| {
                let set = format!("SET SESSION sql_mode = {}", quote::text(mode));
                t.execute(&set, "cannot prepare the session")
            };
            // The source let it pass for the same reason.
            mode(t, session::LOAD_SQL_MODE)?;
            let again = t.create(text, &doing);
            mode(t, session::DDL_SQL_MODE)?;
            let what = format!(
                "table {name} has an ENUM or SET with two equal members: a value that was the second of them is the first one now"
            );
            Some((again?, what, has_rows))
        }
        NO_TABLESPACE => match ddl::without_tablespaces(text) {
            Some(text) => {
                t.report.repairable = true;
                let what = in_tablespace::has_own_file(name, &refusal.to_string());
                Some((t.create(&text, &doing)?, what, true))
            }
            None => None,
        },
        _ => None,
    };
    match again {
        Some((Ok(created), what, true)) => {
            t.refused(what);
            Ok(Some(created))
        }
        Some((Ok(created), what, false)) => {
            t.report.notes.push(what);
            Ok(Some(created))
        }
        Some((Err(_), ..)) | None => {
            t.refused(format!(
                "table {name} is not loaded, nor its rows and triggers: {refusal}"
            ));
            Ok(None)
        }
    }
}

/// Whether a table's indexes are better added after its rows.
fn defers_indexes(options: &Options, plan: &LoadPlan, table: &Table) -> bool {
    match options.defer_indexes {
        DeferIndexes::All => true,
        DeferIndexes::Off => false,
        DeferIndexes::Auto => plan.bytes_of(table) >= DEFER_FROM,
    }
}
