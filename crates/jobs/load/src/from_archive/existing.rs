//! What of a load the target has already, and what is done with it (`--existing`): the load is refused, or those objects are left
//! as they are, replaced, or, if they are tables, emptied and filled.
//!
//! Invariant: what is dropped or emptied was named to the user and agreed to, and is dropped when the archive has been checked.
//! What was made by others since the first look ends the load before its first change.

mod fit;
mod look;

pub(crate) use look::ExistingObjects;

use super::LoadPlan;
use crate::journal::{self, Journal};
use crate::options::{Existing, Only, Options};
use crate::{Target, refused};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use run::{Run, failure};
use server::{quote, session};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is done with objects that the target has, each in words, as table `a`.`b`.
#[derive(Clone, Debug, Default)]
pub struct Treated {
    /// They are left as they are.
    pub left: BTreeSet<String>,
    /// They are dropped, and loaded from the archive.
    pub replaced: BTreeSet<String>,
    /// What is lost with those that are replaced: triggers that the archive does not have, history, privileges on routines.
    pub with_them: BTreeSet<String>,
    /// They are emptied, and filled from the archive.
    pub emptied: BTreeSet<String>,
    /// They are empty, and filled from the archive.
    pub filled: BTreeSet<String>,
    /// Why tables that are filled may not take the rows.
    pub(super) doubts: BTreeMap<String, String>,
}

impl Treated {
    /// What is lost.
    fn lost(&self) -> impl Iterator<Item = &String> {
        let replaced = self.replaced.iter().chain(&self.with_them);
        replaced.chain(&self.emptied)
    }

    /// Whether anything is.
    pub fn destroys(&self) -> bool {
        self.lost().next().is_some()
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.left.iter().chain(self.lost()).chain(&self.filled)
    }

    /// What the user is shown: tables that are left alone anyway are not.
    pub(super) fn shown(&self, only: Option<Only>) -> Treated {
        let mut shown = self.clone();
        if only.is_some() {
            shown.left.retain(|what| !super::only::is_table(what));
        }
        shown
    }

    /// Whether a table, view or sequence, quoted and qualified, is left as it is.
    pub(super) fn leaves(&self, name: &str) -> bool {
        !self.left.is_empty()
            && ["table", "view", "sequence"]
                .iter()
                .any(|word| self.left.contains(&format!("{word} {name}")))
    }

    /// Whether a table, quoted and qualified, gets its rows as it is.
    pub(super) fn refills(&self, name: &str) -> bool {
        if !self.refills_any() {
            return false;
        }
        let words = format!("table {name}");
        self.emptied.contains(&words) || self.filled.contains(&words)
    }

    /// Whether any table does.
    pub(super) fn refills_any(&self) -> bool {
        !self.emptied.is_empty() || !self.filled.is_empty()
    }
}

/// Seconds that a DROP or TRUNCATE waits for other sessions.
const LOCK_WAIT: &str = "60";

/// A lock was waited for in vain.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// What of the target a load would drop or empty, each in words: to be agreed to.
pub fn lost(run: &Run, options: &Options) -> Result<Vec<String>> {
    if !options.existing.destroys() {
        return Ok(Vec::new());
    }
    // What is looked at is said by the load.
    let run = run.with_observer(Arc::new(base::events::Silent));
    let mut plan = super::precheck::plan(&run, options)?;
    if options.skip_damaged {
        super::skip_damaged::leave_out(&run, &mut plan, options.threads)?;
    }
    let mut t = Target::look(&run, options)?;
    super::precheck::target(&mut t, &plan)?;
    let identity = journal::identity(&plan)?;
    // The load goes on, or is refused.
    if Journal::find(&mut t, journal::home(&plan), &identity)?.is_some() {
        return Ok(Vec::new());
    }
    let existing = ExistingObjects::look(&mut t, &plan)?;
    let treated = treated(&mut t, &plan, &existing)?;
    let with_doubt = |what: &String| match treated.doubts.get(what) {
        Some(why) => format!("{what} ({why}: the rows may not fit)"),
        None => what.clone(),
    };
    Ok(treated.lost().map(with_doubt).collect())
}

/// Decides what is done with what the target has; refuses what may not be touched.
pub(super) fn decide(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    existing: &ExistingObjects,
) -> Result<()> {
    let treated = treated(t, plan, existing)?;
    if let Existing::Replace(Some(agreed)) | Existing::Truncate(Some(agreed)) = &t.options.existing
        && let Some(new) = treated.lost().find(|what| !agreed.contains(*what))
    {
        return Err(made_meanwhile(new));
    }
    // What is left is not what the archive has of that name.
    if matches!(t.options.existing, Existing::Skip | Existing::Truncate(_)) {
        for (what, there) in &existing.others {
            t.refused(format!(
                "{what} is not loaded: the target has {there} of that name, which is left as it is"
            ));
        }
    }
    let _ = plan.treated.set(treated);
    Ok(())
}

fn made_meanwhile(what: &str) -> Error {
    refused(printable(&format!(
        "{what} was made by another session since this load looked at the target"
    )))
    .hint("nothing was touched: run the same command again")
}

/// Looks again, when checking the archive has taken its time.
pub(super) fn check_again(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    let existing = ExistingObjects::look(t, plan)?;
    if t.options.existing == Existing::Refuse && plan.parts.definitions {
        return existing.refuse(t.options);
    }
    // A trigger may be there now; what is doubtful was said before.
    fit::check(t, plan, plan.treated())?;
    let known: BTreeSet<&String> = plan.treated().all().collect();
    let with_them = lost_with(t, plan, &plan.treated().replaced)?;
    let mut now = existing.ours.iter().chain(&with_them);
    match now.find(|what| !known.contains(what)) {
        Some(new) => Err(made_meanwhile(new)),
        None => Ok(()),
    }
}

/// Drops and empties what was decided, before the journal of the load begins: whoever repeats a load that was killed here
/// looks at the target again.
pub(super) fn clear(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    let treated = plan.treated();
    if treated.lost().next().is_none() {
        return Ok(());
    }
    let referring = referring(t, plan)?;
    t.report.remarks.extend(referring);
    t.report.touched = true;
    let way = |e: Error| {
        let hint =
            "what was dropped or emptied so far is in the archive: the same command continues";
        match e.server_error {
            Some(LOCK_WAIT_TIMEOUT) => Error {
                kind: Kind::Lock,
                ..e
            }
            .hint(format!(
                "another session uses it (SHOW PROCESSLIST); {hint}"
            )),
            _ => e.hint(hint),
        }
    };
    // Statements of other sessions queue behind one that waits for a table.
    let wait = |t: &mut Target<'_>, seconds: &str| {
        let sql = format!("SET SESSION lock_wait_timeout = {seconds}");
        t.execute(&sql, "cannot prepare the session")
    };
    let sql_mode = |t: &mut Target<'_>, mode: &str| {
        let sql = format!("SET SESSION sql_mode = {}", quote::text(mode));
        t.execute(&sql, "cannot prepare the session")
    };
    wait(t, LOCK_WAIT)?;
    for what in &treated.replaced {
        let Some((kind, name)) = what.split_once(' ') else {
            continue;
        };
        t.run.check()?;
        failpoint::reached("an object is about to be dropped");
        // Dropping a table drops its triggers.
        let sql = format!("DROP {} IF EXISTS {name}", kind.to_uppercase());
        // Other modes of MariaDB do not know the word.
        let mode = (kind == "package").then_some("ORACLE");
        if let Some(mode) = mode {
            sql_mode(t, mode)?;
        }
        t.execute(&sql, &format!("cannot drop {what}"))
            .map_err(way)?;
        if mode.is_some() {
            sql_mode(t, session::DDL_SQL_MODE)?;
        }
    }
    for what in &treated.emptied {
        t.run.check()?;
        failpoint::reached("a table is about to be emptied");
        let sql = format!("TRUNCATE {what}");
        t.execute(&sql, &format!("cannot empty {what}"))
            .map_err(way)?;
    }
    Ok(())
}

fn treated(t: &mut Target<'_>, plan: &LoadPlan, existing: &ExistingObjects) -> Result<Treated> {
    if plan.parts.only.is_some() {
        return super::only::treated(t, plan, existing);
    }
    let mut treated = Treated::default();
    match &t.options.existing {
        _ if !plan.parts.definitions => return rows_only(t, plan, existing),
        Existing::Refuse => existing.refuse(t.options)?,
        Existing::Skip => treated.left.extend(existing.ours.iter().cloned()),
        Existing::Replace(_) => {
            treated.replaced.extend(existing.ours.iter().cloned());
            treated.with_them = lost_with(t, plan, &treated.replaced)?;
        }
        Existing::Truncate(_) => {
            let with_rows = with_rows(plan);
            for what in &existing.ours {
                match with_rows.contains(what) {
                    true => treated.emptied.insert(what.clone()),
                    false => treated.left.insert(what.clone()),
                };
            }
            say_doubts(t, plan, &mut treated)?;
        }
    }
    Ok(treated)
}

/// Refuses tables that the rows cannot go into, and warns of those that may not take them.
fn say_doubts(t: &mut Target<'_>, plan: &LoadPlan, treated: &mut Treated) -> Result<()> {
    let doubtful = fit::check(t, plan, treated)?;
    let said = doubtful.iter().map(|(name, why)| format!("{name} ({why})"));
    let said: Vec<String> = said.collect();
    let of_table = |(name, why)| (format!("table {name}"), why);
    treated.doubts = doubtful.into_iter().map(of_table).collect();
    if !said.is_empty() {
        t.run.observer.warn(printable(&format!(
            "the rows of the archive may not fit into {}: then these stay empty, and are named at the end",
            some(&said)
        )));
    }
    Ok(())
}

/// The tables that get rows, in words.
fn with_rows(plan: &LoadPlan) -> BTreeSet<String> {
    plan.tables()
        .filter(|t| t.meta.includes_data)
        .map(|t| format!("table {}", quote::qualified(&t.schema, &t.name)))
        .collect()
}

/// Rows go into tables that are there, and empty unless they may be emptied.
fn rows_only(t: &mut Target<'_>, plan: &LoadPlan, existing: &ExistingObjects) -> Result<Treated> {
    let there: BTreeSet<&String> = existing.ours.iter().collect();
    let wanted = with_rows(plan);
    if wanted.is_empty() {
        return Err(refused(
            "--data-only loads rows, and the archive has none of what is selected",
        )
        .hint("leave it out to load the definitions"));
    }
    let missing: Vec<&String> = wanted.iter().filter(|what| !there.contains(what)).collect();
    if !missing.is_empty() {
        return Err(refused(format!(
            "the target does not have {}, and --data-only creates none",
            some(&missing)
        ))
        .hint("nothing was touched: create them first (--ddl-only), choose others with --include-tables or --exclude-tables, or leave --data-only out"));
    }
    let mut treated = Treated {
        left: existing
            .ours
            .iter()
            .filter(|what| !wanted.contains(*what))
            .cloned()
            .collect(),
        ..Treated::default()
    };
    if let Existing::Truncate(_) = t.options.existing {
        treated.emptied = wanted;
    } else {
        let mut with = Vec::new();
        for what in &wanted {
            let name = what.strip_prefix("table ").unwrap_or(what);
            let sql = format!("SELECT 1 FROM {name} LIMIT 1");
            let rows = t
                .conn
                .fetch(sql)
                .map_err(|e| failure::wire(printable(&format!("cannot look into {what}")), e))?;
            if !rows.is_empty() {
                with.push(what);
            }
        }
        if !with.is_empty() {
            return Err(refused(format!("there are rows in {} already", some(&with)))
                .hint("nothing was touched: --existing truncate empties such tables first; --exclude-tables leaves them out"));
        }
        treated.filled = wanted;
    }
    say_doubts(t, plan, &mut treated)?;
    Ok(treated)
}

/// Some of them, and how many more there are.
fn some<S: AsRef<str>>(names: &[S]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(5)
        .map(|n| printable(n.as_ref()))
        .collect();
    match names.len().saturating_sub(5) {
        0 => shown.join(", "),
        n => format!("{} and {n} more", shown.join(", ")),
    }
}

/// Tables that are not loaded and whose foreign keys refer to one that is replaced or emptied: no server compares their
/// rows with the new ones.
fn referring(t: &mut Target<'_>, plan: &LoadPlan) -> Result<Vec<String>> {
    let treated = plan.treated();
    let loaded: BTreeSet<String> = plan
        .tables()
        .map(|t| quote::qualified(&t.schema, &t.name))
        .collect();
    let mut found = BTreeSet::new();
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at].name;
        let sql = format!(
            "SELECT table_schema, table_name, referenced_table_name FROM information_schema.key_column_usage \
             WHERE referenced_table_schema = {}",
            quote::text(schema)
        );
        for [of, child, parent] in rows_of(t, &sql)? {
            let child = quote::qualified(&of, &child);
            let parent = quote::qualified(schema, &parent);
            let new = [&treated.replaced, &treated.emptied]
                .iter()
                .any(|set| set.contains(&format!("table {parent}")));
            if new && !loaded.contains(&child) {
                found.insert(format!(
                    "table {child} has a foreign key to {parent}: whether its rows fit the rows there now was not checked"
                ));
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// What is lost with these objects, besides what is named anyway: triggers of tables that the load does not create, the history of
/// tables that keep it, and privileges on routines, which servers revoke when the routine is dropped.
pub(super) fn lost_with(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    replaced: &BTreeSet<String>,
) -> Result<BTreeSet<String>> {
    let mut lost = BTreeSet::new();
    if replaced.is_empty() {
        return Ok(lost);
    }
    let folds = t.id.lower_case_table_names != 0;
    let folded: BTreeSet<String> = replaced.iter().map(|r| r.to_lowercase()).collect();
    let has = |words: String| match folds {
        true => folded.contains(&words.to_lowercase()),
        false => replaced.contains(&words),
    };
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at].name;
        let name = quote::text(schema);
        let sql = format!(
            "SELECT event_object_table, trigger_name FROM information_schema.triggers WHERE event_object_schema = {name}"
        );
        for [table, trigger] in rows_of(t, &sql)? {
            let (table, trigger) = (
                quote::qualified(schema, &table),
                quote::qualified(schema, &trigger),
            );
            if has(format!("table {table}")) && !has(format!("trigger {trigger}")) {
                lost.insert(format!("trigger {trigger}, with table {table}"));
            }
        }
        let sql = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = {name} AND table_type = 'SYSTEM VERSIONED'"
        );
        for [table] in rows_of(t, &sql)? {
            let table = quote::qualified(schema, &table);
            if has(format!("table {table}")) {
                lost.insert(format!("the history of table {table}"));
            }
        }
    }
    let is_routine = |what: &&String| ROUTINES.iter().any(|word| what.starts_with(word));
    if replaced.iter().any(|what| is_routine(&what)) {
        lost.extend(privileges_on_routines(t, has)?);
    }
    Ok(lost)
}

/// How words of routines begin.
const ROUTINES: [&str; 3] = ["function ", "procedure ", "package "];

/// Access denied: to a schema, a table, a column.
const DENIED: [u16; 3] = [1044, 1142, 1143];

/// The privileges of accounts on those routines that `has` says are replaced.
fn privileges_on_routines(t: &mut Target<'_>, has: impl Fn(String) -> bool) -> Result<Vec<String>> {
    let sql = "SELECT LOWER(routine_type), db, routine_name, user, host FROM mysql.procs_priv";
    let rows = match t.conn.fetch(sql) {
        Ok(rows) => rows,
        Err(e) if e.code().is_some_and(|code| DENIED.contains(&code)) => {
            return Ok(vec![
                "privileges of accounts on these routines, if there are any: this account may not read mysql.procs_priv".to_owned(),
            ]);
        }
        Err(e) => {
            return Err(failure::wire(
                "cannot look at the privileges on routines",
                e,
            ));
        }
    };
    let found = cells(&rows)
        .into_iter()
        .filter_map(|[kind, db, name, user, host]| {
            let routine = format!("{kind} {}", quote::qualified(&db, &name));
            has(routine.clone()).then(|| {
                let (user, host) = (quote::text(&user), quote::text(&host));
                format!("privileges of {user}@{host} on {routine}")
            })
        });
    Ok(found.collect())
}

/// Rows of tables that keep their definitions may break a CHECK constraint that the source did not have: MariaDB does not look at
/// them during a load (MySQL does). Those that do are exceptions.
pub(super) fn check_constraints(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    let treated = plan.treated();
    if !t.id.is_mariadb() || !treated.refills_any() {
        return Ok(());
    }
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at].name;
        let sql = format!(
            "SELECT table_name, constraint_name, check_clause FROM information_schema.check_constraints WHERE constraint_schema = {}",
            quote::text(schema)
        );
        for [table, constraint, clause] in rows_of(t, &sql)? {
            let name = quote::qualified(schema, &table);
            if !treated.refills(&name) {
                continue;
            }
            let sql = format!("SELECT COUNT(*) FROM {name} WHERE NOT ({clause})");
            let rows = t.number(&sql, "cannot look for rows that break a CHECK constraint")?;
            if rows > 0 {
                t.refused(format!(
                    "table {name}: {} its CHECK constraint {}, which its definition on the source did not have or did not enforce",
                    base::units::things(rows, "row") + if rows == 1 { " breaks" } else { " break" },
                    quote::ident(&constraint)
                ));
            }
        }
    }
    Ok(())
}

/// Rows of so many cells.
fn rows_of<const N: usize>(t: &mut Target<'_>, sql: &str) -> Result<Vec<[String; N]>> {
    let rows = t
        .conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look at the target's objects", e))?;
    Ok(cells(&rows))
}

/// The cells of rows, as text.
fn cells<const N: usize>(rows: &[Vec<Option<Vec<u8>>>]) -> Vec<[String; N]> {
    let text = |cell: Option<&Option<Vec<u8>>>| {
        let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    rows.iter()
        .map(|row| std::array::from_fn(|n| text(row.get(n))))
        .collect()
}
