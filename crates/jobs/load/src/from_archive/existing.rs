//! What of a load the target has already, and what is done with it (`--existing`): the load is refused, or those objects are left
//! as they are, replaced, or, if they are tables, emptied and filled.
//!
//! Invariant: what is dropped or emptied was named to the user and agreed to, and is dropped when the archive has been checked.
//! What was made by others since the first look ends the load before its first change.

use super::definitions::statements;
use super::{LoadPlan, SchemaSelection};
use crate::journal::{self, Journal};
use crate::options::{Existing, Options};
use crate::script::Allowed;
use crate::{Target, refused};
use archive::open::Table;
use base::units::printable;
use base::{Error, Result, failpoint};
use run::{Run, failure};
use server::quote;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is done with objects that the target has, each in words, as table `a`.`b`.
#[derive(Clone, Debug, Default)]
pub struct Treated {
    /// They are left as they are.
    pub left: BTreeSet<String>,
    /// They are dropped, and loaded from the archive.
    pub replaced: BTreeSet<String>,
    /// They are emptied, and filled from the archive.
    pub emptied: BTreeSet<String>,
    /// They are empty, and filled from the archive.
    pub filled: BTreeSet<String>,
}

impl Treated {
    /// What is lost.
    fn lost(&self) -> impl Iterator<Item = &String> {
        self.replaced.iter().chain(&self.emptied)
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.left.iter().chain(self.lost()).chain(&self.filled)
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
        let sets = [&self.emptied, &self.filled];
        let mut sets = sets.into_iter().filter(|set| !set.is_empty()).peekable();
        if sets.peek().is_none() {
            return false;
        }
        let words = format!("table {name}");
        sets.any(|set| set.contains(&words))
    }
}

/// Which of the objects that would be created the target already has.
#[derive(Default)]
pub(crate) struct ExistingObjects {
    /// Those that it has, in words.
    pub(crate) found: Vec<String>,
    /// The same by the names that the archive has: the target may fold them.
    ours: Vec<String>,
    /// Those that it does not have, in words.
    pub(crate) missing: Vec<String>,
    /// When each of those that it has was made or altered, as the server says it.
    pub(crate) made: BTreeMap<String, String>,
}

impl ExistingObjects {
    /// Looks for them.
    pub(crate) fn look(t: &mut Target<'_>, plan: &LoadPlan) -> Result<ExistingObjects> {
        let mut existing = ExistingObjects::default();
        for part in &plan.schemas {
            look_in_schema(t, plan, part, &mut existing)?;
        }
        Ok(existing)
    }

    /// Whether it has every one, by name, but for these.
    pub(crate) fn is_all_but(&self, missing: &[String]) -> bool {
        self.missing == missing && !self.found.is_empty()
    }

    /// Refuses a target that has any.
    pub(crate) fn refuse(&self, options: &Options) -> Result<()> {
        if self.found.is_empty() {
            return Ok(());
        }
        // A copy, and a new replica, have no such option.
        if options.feed.is_some() || options.for_replica {
            return Err(self.refusal("").hint("nothing is ever overwritten: drop them, choose others with --include-tables or --exclude-tables, or another server"));
        }
        Err(self.refusal("").hint("nothing is overwritten unless --existing says so (skip, replace or truncate); or drop them, choose others with --include-tables or --exclude-tables, or another server"))
    }

    /// The refusal as an error, with `more` at its end.
    pub(crate) fn refusal(&self, more: &str) -> Error {
        refused(format!(
            "the target already holds {}{more}",
            some(&self.found)
        ))
    }
}

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
    Ok(treated.lost().cloned().collect())
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
    let _ = plan.treated.set(treated);
    Ok(())
}

fn made_meanwhile(what: &str) -> base::Error {
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
    let known: BTreeSet<&String> = plan.treated().all().collect();
    match existing.ours.iter().find(|what| !known.contains(what)) {
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
    let way = |e: base::Error| {
        e.hint("what was dropped or emptied so far is in the archive: the same command goes on")
    };
    for what in &treated.replaced {
        let Some((kind, name)) = what.split_once(' ') else {
            continue;
        };
        t.run.check()?;
        failpoint::reached("an object is about to be dropped");
        // Dropping a table drops its triggers.
        let sql = format!("DROP {} IF EXISTS {name}", kind.to_uppercase());
        t.execute(&sql, &format!("cannot drop {what}"))
            .map_err(way)?;
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
    let mut treated = Treated::default();
    match &t.options.existing {
        _ if !plan.parts.definitions => return rows_only(t, plan, existing),
        Existing::Refuse => existing.refuse(t.options)?,
        Existing::Skip => treated.left.extend(existing.ours.iter().cloned()),
        Existing::Replace(_) => treated.replaced.extend(existing.ours.iter().cloned()),
        Existing::Truncate(_) => {
            let with_rows = with_rows(plan);
            for what in &existing.ours {
                match with_rows.contains(what) {
                    true => treated.emptied.insert(what.clone()),
                    false => treated.left.insert(what.clone()),
                };
            }
            check_fit(t, plan, &treated)?;
        }
    }
    Ok(treated)
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
    check_fit(t, plan, &treated)?;
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

/// Engines of which a table's rows are its own: TRUNCATE of another empties tables elsewhere.
const OWN_ROWS: [&str; 8] = [
    "InnoDB", "MyISAM", "Aria", "MEMORY", "CSV", "ROCKSDB", "ARCHIVE", "TokuDB",
];

/// Refuses tables that cannot be emptied and then filled with exactly the rows of the archive.
fn check_fit(t: &mut Target<'_>, plan: &LoadPlan, treated: &Treated) -> Result<()> {
    let mut unfit = Vec::new();
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at];
        let refilled =
            |table: &&Table| treated.refills(&quote::qualified(&table.schema, &table.name));
        let tables: Vec<&Table> = part.tables.iter().map(|at| &schema.tables[*at]).collect();
        let tables: Vec<&Table> = tables.into_iter().filter(refilled).collect();
        if tables.is_empty() {
            continue;
        }
        let there = There::look(t, &schema.name)?;
        for table in tables {
            if let Some(why) = there.why_unfit(table) {
                let name = quote::qualified(&table.schema, &table.name);
                unfit.push(format!("{name} ({why})"));
            }
        }
    }
    if unfit.is_empty() {
        return Ok(());
    }
    Err(refused(format!(
        "these tables cannot be filled with exactly the rows of the archive: {}",
        some(&unfit)
    ))
    .hint("nothing was touched: --existing replace drops tables and loads them as they are in the archive; --exclude-tables leaves them out"))
}

/// What is known of a schema's tables on the target; names as the server folds them.
struct There {
    fold: bool,
    /// By table: its engine and its type.
    tables: BTreeMap<String, (String, String)>,
    /// By table: its columns, and whether each is generated.
    columns: BTreeMap<String, BTreeMap<String, bool>>,
    /// By table: one of its triggers that fire for new rows.
    triggers: BTreeMap<String, String>,
}

impl There {
    fn look(t: &mut Target<'_>, schema: &str) -> Result<There> {
        let name = quote::text(schema);
        let fold = t.id.lower_case_table_names != 0;
        let named = |n: &str| if fold { n.to_lowercase() } else { n.to_owned() };
        let mut there = There {
            fold,
            tables: BTreeMap::new(),
            columns: BTreeMap::new(),
            triggers: BTreeMap::new(),
        };
        let sql = format!(
            "SELECT table_name, IFNULL(engine, ''), table_type FROM information_schema.tables WHERE table_schema = {name}"
        );
        for [table, engine, kind] in rows_of(t, &sql)? {
            there.tables.insert(named(&table), (engine, kind));
        }
        let sql = format!(
            "SELECT table_name, column_name, extra RLIKE '(VIRTUAL|STORED) GENERATED|VIRTUAL$|PERSISTENT' FROM information_schema.columns WHERE table_schema = {name}"
        );
        for [table, column, generated] in rows_of(t, &sql)? {
            let columns = there.columns.entry(named(&table)).or_default();
            columns.insert(column.to_lowercase(), generated == "1");
        }
        let sql = format!(
            "SELECT event_object_table, trigger_name, '' FROM information_schema.triggers \
             WHERE event_object_schema = {name} AND event_manipulation = 'INSERT'"
        );
        for [table, trigger, _] in rows_of(t, &sql)? {
            there.triggers.insert(named(&table), trigger);
        }
        Ok(there)
    }

    fn why_unfit(&self, table: &Table) -> Option<String> {
        let name = match self.fold {
            true => table.name.to_lowercase(),
            false => table.name.clone(),
        };
        let (engine, kind) = self.tables.get(&name)?;
        if kind == "SYSTEM VERSIONED" {
            return Some("it keeps its history, and the server empties no such table".to_owned());
        }
        if !OWN_ROWS.iter().any(|own| own.eq_ignore_ascii_case(engine)) {
            return Some(format!(
                "its engine is {engine}: its rows may be those of other tables"
            ));
        }
        if let Some(trigger) = self.triggers.get(&name) {
            let trigger = quote::qualified(&table.schema, trigger);
            return Some(format!("its trigger {trigger} would run for each row"));
        }
        let empty = BTreeMap::new();
        let columns = self.columns.get(&name).unwrap_or(&empty);
        for column in &table.meta.options.columns {
            match columns.get(&column.to_lowercase()) {
                None => {
                    return Some(format!("it has no column {}", quote::ident(column)));
                }
                Some(true) => {
                    return Some(format!("its column {} is generated", quote::ident(column)));
                }
                Some(false) => {}
            }
        }
        // Other names of columns than in the archive would be filled by their place.
        match table.meta.options.columns.is_empty() {
            true => Some("the archive does not name its columns".to_owned()),
            false => None,
        }
    }
}

/// Rows of three cells.
fn rows_of(t: &mut Target<'_>, sql: &str) -> Result<Vec<[String; 3]>> {
    let rows = t
        .conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look at the target's objects", e))?;
    let text = |cell: Option<&Option<Vec<u8>>>| {
        let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    Ok(rows
        .iter()
        .map(|row| [text(row.first()), text(row.get(1)), text(row.get(2))])
        .collect())
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

/// The packages of a schema (MariaDB): the metadata of an archive does not name them.
fn packages(plan: &LoadPlan, schema: &archive::open::Schema) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for file in &schema.ddl {
        let all = statements(plan, None, file)?;
        let routines = all.iter().filter(|s| s.kind == Allowed::Routine);
        let named = routines.filter_map(|s| s.object());
        names.extend(
            named
                .filter(|(word, _)| *word == "package")
                .map(|(_, name)| name),
        );
    }
    Ok(names.into_iter().collect())
}

fn look_in_schema(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    part: &SchemaSelection,
    existing: &mut ExistingObjects,
) -> Result<()> {
    let (parts, schema) = (plan.parts, &plan.archive.schemas()[part.at]);
    let packages = match part.whole && parts.routines && t.id.is_mariadb() {
        true => packages(plan, schema)?,
        false => Vec::new(),
    };
    let name = quote::text(&schema.name);
    let fold = t.id.lower_case_table_names != 0;
    // A row is a name, the word for what the target has of that name, and when it was made.
    let mut look = |sql: String, word: &str, wanted: &[&String]| -> Result<()> {
        let named = |n: &str| if fold { n.to_lowercase() } else { n.to_owned() };
        let mut wanted: BTreeMap<String, &String> = wanted.iter().map(|w| (named(w), *w)).collect();
        let rows = t
            .conn
            .fetch(sql)
            .map_err(|e| failure::wire("cannot look at the target's objects", e))?;
        for row in rows {
            let text = |cell: Option<&Option<Vec<u8>>>| {
                let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
                String::from_utf8_lossy(bytes).into_owned()
            };
            let object = text(row.first());
            if let Some(ours) = wanted.remove(&named(&object)) {
                let kind = text(row.get(1));
                let ours = quote::qualified(&schema.name, ours);
                existing.ours.push(format!("{kind} {ours}"));
                let object = quote::qualified(&schema.name, &object);
                let words = format!("{kind} {object}");
                existing.made.insert(words.clone(), text(row.get(2)));
                existing.found.push(words);
            }
        }
        let names = wanted.keys().map(|w| quote::qualified(&schema.name, w));
        existing
            .missing
            .extend(names.map(|name| format!("{word} {name}")));
        Ok(())
    };
    let tables = part.tables.iter().map(|i| &schema.tables[*i].name);
    let views = part.views.iter().map(|i| &schema.views[*i].name);
    look(
        format!(
            "SELECT table_name, IF(table_type = 'VIEW', 'view', IF(table_type = 'SEQUENCE', 'sequence', 'table')), \
             create_time FROM information_schema.tables WHERE table_schema = {name}"
        ),
        "table",
        &tables.chain(views).collect::<Vec<_>>(),
    )?;
    let triggers = part.tables.iter().map(|i| &schema.tables[*i]);
    let triggers = triggers.filter(|t| t.triggers.is_some());
    look(
        format!(
            "SELECT trigger_name, 'trigger', created FROM information_schema.triggers WHERE trigger_schema = {name}"
        ),
        "trigger",
        &triggers.flat_map(|t| &t.meta.triggers).collect::<Vec<_>>(),
    )?;
    if part.whole && parts.routines {
        let meta = &schema.meta;
        // A function and a procedure may have one name. MySQL compares the type with its case.
        for (word, names) in [
            ("function", &meta.functions),
            ("procedure", &meta.procedures),
        ] {
            look(
                format!(
                    "SELECT routine_name, '{word}', last_altered FROM information_schema.routines \
                     WHERE routine_schema = {name} AND routine_type = UPPER('{word}')"
                ),
                word,
                &names.iter().flatten().collect::<Vec<_>>(),
            )?;
        }
    }
    if !packages.is_empty() {
        look(
            format!(
                "SELECT routine_name, 'package', last_altered FROM information_schema.routines \
                 WHERE routine_schema = {name} AND routine_type = 'PACKAGE'"
            ),
            "package",
            &packages.iter().collect::<Vec<_>>(),
        )?;
    }
    if part.whole && parts.events {
        look(
            format!(
                "SELECT event_name, 'event', last_altered FROM information_schema.events WHERE event_schema = {name}"
            ),
            "event",
            &schema.meta.events.iter().flatten().collect::<Vec<_>>(),
        )?;
    }
    Ok(())
}
