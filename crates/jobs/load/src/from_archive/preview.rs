//! What a load would do (`--dry-run`): every look that it takes before its first change, and no change.

use super::definitions::{adapted, statements};
use super::existing::{self, ExistingObjects, Treated};
use super::precheck;
use super::{LoadPlan, accounts, amounts, chosen, gtids, only, skip_damaged};
use crate::journal;
use crate::options::{Only, Options};
use crate::repair::Repairable;
use crate::script::{Allowed, Statement};
use crate::summary::display_name;
use crate::tablespace::{ImportMode, MethodPlan};
use crate::target::{Target, refused};
use archive::open::Table;
use base::Result;
use base::events::Silent;
use base::units::printable;
use run::Run;
use server::quote;
use std::sync::Arc;

/// What a load would do.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// The archive, in words.
    pub archive: String,
    /// The target, in words.
    pub target: String,
    /// Schemas.
    pub schemas: u64,
    /// Tables.
    pub tables: u64,
    /// Views.
    pub views: u64,
    /// Rows, as far as the archive says.
    pub rows: u64,
    /// Bytes of their rows.
    pub raw_bytes: u64,
    /// Bytes that are read for them.
    pub stored_bytes: u64,
    /// Tables that would be imported as tablespaces, and bytes of their rows.
    pub imported: (u64, u64),
    /// Why the others would be loaded by SQL, and which.
    pub reasons: Vec<(String, Vec<String>)>,
    /// The statement that would make GTIDs known, if that is asked for.
    pub gtids: Option<String>,
    /// Accounts that would be made, and those that are there and would be left; if they are asked for.
    pub accounts: Option<(Vec<String>, Vec<String>)>,
    /// What alone is added to a target that has the rest, and what that would be.
    pub only: Option<(Only, Vec<String>)>,
    /// What of the archive would not be loaded because its kind is not wanted, in words.
    pub left_out: Vec<String>,
    /// Accounts that would stay in the archive.
    pub accounts_left: Vec<String>,
    /// What the target has, and what would be done with it.
    pub existing: Treated,
    /// What an earlier load of the archive left out, and this one would make. Everything else is there.
    pub missing: Vec<String>,
    /// What would be adapted.
    pub notes: Vec<String>,
    /// What would be left out.
    pub exceptions: Vec<String>,
    /// What the archive lacks: the exceptions of its dump.
    pub dumped_with: Vec<String>,
    /// How much there is to do, for a forecast; not of a load that only adds what is missing.
    pub work: Option<forecast::Work>,
    /// The same by each import mode, or why none of the tables can be imported so.
    pub by_mode: Vec<(&'static str, std::result::Result<forecast::Work, String>)>,
}

/// Looks.
pub fn preview(run: &Run, options: &Options) -> Result<Preview> {
    let mut plan = precheck::plan(run, options)?;
    if options.skip_damaged {
        skip_damaged::leave_out(run, &mut plan, options.threads)?;
    }
    let mut t = Target::look(run, options)?;
    precheck::target(&mut t, &plan)?;
    if plan.parts.only == Some(Only::Users) {
        return of_users(&mut t, &plan);
    }
    let missing = there(&mut t, &plan)?;
    chosen::try_on_those_there(&mut t, &plan)?;
    let only = match plan.parts.only {
        Some(part) => Some((part, only::foreseen(&mut t, &plan, part)?)),
        None => None,
    };
    let gtids = gtids::check(&mut t, &plan)?;
    let methods = MethodPlan::choose(&mut t, &plan, None)?;
    for table in plan.tables() {
        run.check()?;
        of_table(&mut t, &plan, table)?;
    }
    others(&mut t, &plan)?;
    precheck::files(run, &plan, options.threads)?;
    let accounts = accounts::foreseen(&mut t, &plan)?;
    let imported = methods.physical_tables(&plan);
    let whole = missing.is_empty() && only.is_none();
    let stored = |t: &Table| t.chunks.iter().map(|c| c.stored_bytes).sum::<u64>();
    let mut exceptions: Vec<String> = plan.damaged.iter().map(|d| d.what.clone()).collect();
    exceptions.append(&mut t.report.exceptions);
    let mut notes = crate::rename::in_words(&options.names);
    notes.append(&mut t.report.notes);
    notes.sort();
    notes.dedup();
    Ok(Preview {
        archive: display_name(&options.from),
        target: t.described(),
        schemas: plan.schema_names().len() as u64,
        tables: plan.tables().count() as u64,
        views: plan.views(),
        rows: plan.tables().filter_map(|t| t.rows).sum(),
        raw_bytes: plan.raw_bytes(),
        stored_bytes: plan.tables().map(stored).sum(),
        imported: (
            imported.len() as u64,
            imported.iter().map(|t| super::raw_bytes(t)).sum(),
        ),
        reasons: methods.reasons(),
        gtids,
        accounts,
        accounts_left: plan.accounts_left(),
        left_out: plan.left_out.clone(),
        existing: plan.treated().shown(plan.parts.only),
        only,
        missing,
        notes,
        exceptions,
        dumped_with: ::rows::archives::dumped_with(plan.whole_archive()),
        work: whole.then(|| amounts::work(&t, &plan, &methods)),
        by_mode: match whole {
            true => by_mode(run, options, &plan)?,
            false => Vec::new(),
        },
    })
}

/// What would come of the accounts alone.
fn of_users(t: &mut Target<'_>, plan: &LoadPlan) -> Result<Preview> {
    let accounts = accounts::foreseen(t, plan)?;
    Ok(Preview {
        archive: display_name(&t.options.from),
        target: t.described(),
        only: Some((Only::Users, Vec::new())),
        left_out: plan.left_out.clone(),
        exceptions: std::mem::take(&mut t.report.exceptions),
        dumped_with: ::rows::archives::dumped_with(&plan.archive),
        accounts,
        ..Preview::default()
    })
}

/// How much there is to do by each import mode.
fn by_mode(
    run: &Run,
    options: &Options,
    plan: &LoadPlan,
) -> Result<Vec<(&'static str, std::result::Result<forecast::Work, String>)>> {
    // The user has been told which server it is.
    let run = run.with_observer(Arc::new(Silent));
    let modes = [ImportMode::Sql, ImportMode::Tablespace, ImportMode::Offline];
    type ByMode = (&'static str, std::result::Result<forecast::Work, String>);
    let one = |mode: ImportMode| -> Result<ByMode> {
        let options = Options {
            import_mode: mode,
            ..options.clone()
        };
        let mut t = Target::look(&run, &options)?;
        let methods = MethodPlan::choose(&mut t, plan, None)?;
        let reasons = methods.reasons();
        let most = reasons.into_iter().max_by_key(|(_, tables)| tables.len());
        Ok((
            mode.name(),
            match (mode, methods.any(), most) {
                (ImportMode::Tablespace | ImportMode::Offline, false, Some((why, _))) => Err(why),
                _ => Ok(amounts::work(&t, plan, &methods)),
            },
        ))
    };
    modes.into_iter().map(one).collect()
}

/// Refuses a target that holds some of it, unless an earlier load of the archive left out only what is missing: that is
/// returned.
fn there(t: &mut Target<'_>, plan: &LoadPlan) -> Result<Vec<String>> {
    journal::name_is_free(plan)?;
    let identity = journal::identity(plan)?;
    if journal::Journal::find(t, journal::home(plan), &identity)?.is_some() {
        return Err(
            refused("a load of this archive into this target was interrupted").hint(
                "penstock load --resume continues it, and loads nothing twice; there is no preview of that",
            ),
        );
    }
    let existing = ExistingObjects::look(t, plan)?;
    let earlier = Repairable::find(t, &identity);
    if let Some(earlier) = earlier
        && !t.options.existing.destroys()
        && !existing.found.is_empty()
        && existing.missing.iter().all(|m| earlier.left_out(m))
    {
        if plan.parts.only.is_some() {
            let _ = plan.treated.set(only::repeated(plan, &existing));
        }
        return Ok(existing.missing);
    }
    existing::decide(t, plan, &existing)?;
    Ok(Vec::new())
}

/// What would be adapted in a table, or why it would be left out.
fn of_table(t: &mut Target<'_>, plan: &LoadPlan, table: &Table) -> Result<()> {
    let name = quote::qualified(&table.schema, &table.name);
    let Some(file) = &table.ddl else {
        return Ok(());
    };
    for s in statements(plan, None, file)? {
        let left_out = match (&s.unsure, s.kind) {
            (Some(why), _) => Some(why.as_str()),
            (None, Allowed::Elsewhere) => {
                Some("its definition names a directory on the server's host (DATA DIRECTORY)")
            }
            _ => None,
        };
        if let Some(why) = left_out {
            t.report.exceptions.push(printable(&format!(
                "table {name} would not be loaded, nor its rows and triggers: {why}"
            )));
            return Ok(());
        }
        if s.kind == Allowed::Table {
            let notes = s.notes.iter().cloned().chain(adapted(t, plan, &s.text).1);
            let notes: Vec<String> = notes.map(|n| format!("table {name}: {n}")).collect();
            t.report.notes.extend(notes);
        }
    }
    let statements = match &table.triggers {
        Some(file) => statements(plan, Some(&table.schema), file)?,
        None => Vec::new(),
    };
    uncertain(t, &statements, &format!("a trigger of table {name}"));
    Ok(())
}

/// Views, routines and events whose names cannot be carried along.
fn others(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at];
        for at in &part.views {
            let view = &schema.views[*at];
            if plan.leaves(&view.schema, &view.name) {
                continue;
            }
            let name = quote::qualified(&view.schema, &view.name);
            let statements = statements(plan, None, &view.ddl)?;
            uncertain(t, &statements, &format!("view {name}"));
        }
        for file in schema.ddl.iter().filter(|_| part.whole) {
            let mut statements = statements(plan, None, file)?;
            statements.retain(|s| plan.parts.has(s.kind));
            let name = quote::ident(&schema.name);
            uncertain(
                t,
                &statements,
                &format!("a routine or event of schema {name}"),
            );
        }
    }
    Ok(())
}

fn uncertain(t: &mut Target<'_>, statements: &[Statement], what: &str) {
    let why = statements.iter().filter_map(|s| s.unsure.as_ref());
    let all = why.map(|why| printable(&format!("{what} would not be created: {why}")));
    t.report.exceptions.extend(all);
}
