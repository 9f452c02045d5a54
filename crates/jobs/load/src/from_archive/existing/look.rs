//! Which objects of a load the target has already.

use super::some;
use crate::from_archive::only::{is_table, table_name};
use crate::from_archive::{LoadPlan, SchemaSelection};
use crate::options::Options;
use crate::{Target, refused};
use base::{Error, Result};
use run::failure;
use server::quote;
use std::collections::{BTreeMap, BTreeSet};

/// Which of the objects that would be created the target already has.
#[derive(Default)]
pub(crate) struct ExistingObjects {
    /// Those that it has, in words.
    pub(crate) found: Vec<String>,
    /// The same by the names that the archive has: the target may fold them.
    pub(in crate::from_archive) ours: Vec<String>,
    /// Those that are of another kind there, or triggers of another table, in words: by what the archive has.
    pub(in crate::from_archive) others: Vec<(String, String)>,
    /// Those that it does not have, in words.
    pub(crate) missing: Vec<String>,
    /// When each of those that it has was made or altered, as the server says it.
    pub(crate) made: BTreeMap<String, String>,
}

impl ExistingObjects {
    /// Looks for them; where a part is added to tables that are there, for all but those.
    pub(crate) fn look(t: &mut Target<'_>, plan: &LoadPlan) -> Result<ExistingObjects> {
        let mut existing = ExistingObjects::default();
        for part in &plan.schemas {
            look_in_schema(t, plan, part, &mut existing)?;
        }
        if plan.parts.only.is_some() {
            existing = existing.without_tables(plan);
        }
        Ok(existing)
    }

    /// The same without the tables and sequences of the plan.
    fn without_tables(mut self, plan: &LoadPlan) -> ExistingObjects {
        let tables: BTreeSet<String> = plan.selected_tables().map(table_name).collect();
        // Where the target lacks a view, a table is said to be missing.
        self.missing.retain(|what| {
            let name = what.strip_prefix("table ");
            name.is_none_or(|name| !tables.contains(name))
        });
        // A view whose name a table has is missing.
        let instead = self.others.iter().filter(|(_, there)| there == "a table");
        let instead = instead.filter_map(|(what, _)| what.strip_prefix("view "));
        self.missing
            .extend(instead.map(|name| format!("table {name}")));
        // Nor what has the name of one, a view say.
        let other = |what: &str| {
            let name = what.split_once(' ').map_or(what, |(_, name)| name);
            let stands_in = what.starts_with("view ") && tables.contains(name);
            !is_table(what) && !stands_in
        };
        self.found.retain(|what| other(what));
        self.ours.retain(|what| other(what));
        self.made.retain(|what, _| other(what));
        self
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
        if options.is_step {
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

fn look_in_schema<'a>(
    t: &mut Target<'_>,
    plan: &'a LoadPlan,
    part: &SchemaSelection,
    existing: &mut ExistingObjects,
) -> Result<()> {
    let (parts, schema) = (plan.parts, &plan.archive.schemas()[part.at]);
    let name = quote::text(&schema.name);
    let fold = t.id.lower_case_table_names != 0;
    // A row is a name, the word for what the target has of that name, when it was made, and what it is about; `wanted` is names
    // with what they are about in the archive, if that matters.
    let mut look = |sql: String, word: &str, wanted: Vec<(&String, &str)>| -> Result<()> {
        let named = |n: &str| if fold { n.to_lowercase() } else { n.to_owned() };
        let mut wanted: BTreeMap<String, (&String, &str)> =
            wanted.into_iter().map(|w| (named(w.0), w)).collect();
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
            if let Some((ours, about)) = wanted.remove(&named(&object)) {
                let (kind, of) = (text(row.get(1)), text(row.get(3)));
                let ours = quote::qualified(&schema.name, ours);
                if named(about) != named(&of) {
                    let there = match word {
                        "trigger" => {
                            format!("a trigger of {}", quote::qualified(&schema.name, &of))
                        }
                        _ => format!("a {kind}"),
                    };
                    let what = match word {
                        "trigger" => word,
                        _ => about,
                    };
                    existing.others.push((format!("{what} {ours}"), there));
                }
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
    let tables = part
        .tables
        .iter()
        .map(|i| (&schema.tables[*i].name, "table"));
    let views = part.views.iter().map(|i| (&schema.views[*i].name, "view"));
    look(
        format!(
            "SELECT table_name, IF(table_type = 'VIEW', 'view', IF(table_type = 'SEQUENCE', 'sequence', 'table')), \
             create_time, IF(table_type = 'VIEW', 'view', 'table') FROM information_schema.tables WHERE table_schema = {name}"
        ),
        "table",
        tables.chain(views).collect(),
    )?;
    let triggers = part.tables.iter().map(|i| &schema.tables[*i]);
    let triggers = triggers.filter(|t| t.triggers.is_some());
    look(
        format!(
            "SELECT trigger_name, 'trigger', created, event_object_table FROM information_schema.triggers WHERE trigger_schema = {name}"
        ),
        "trigger",
        triggers
            .flat_map(|t| t.meta.triggers.iter().map(|name| (name, t.name.as_str())))
            .collect(),
    )?;
    let alone = |names: &'a Option<Vec<String>>| -> Vec<(&'a String, &'a str)> {
        names.iter().flatten().map(|name| (name, "")).collect()
    };
    // Damaged definitions are left out, and what is there of them stays.
    let whole = part.whole && !schema.ddl.is_empty();
    if whole && parts.routines {
        let meta = &schema.meta;
        // A function and a procedure may have one name. MySQL compares the type with its case.
        for (word, names) in [
            ("function", &meta.functions),
            ("procedure", &meta.procedures),
            ("package", &meta.packages),
        ] {
            look(
                format!(
                    "SELECT routine_name, '{word}', last_altered, '' FROM information_schema.routines \
                     WHERE routine_schema = {name} AND routine_type = UPPER('{word}')"
                ),
                word,
                alone(names),
            )?;
        }
    }
    if whole && parts.events {
        look(
            format!(
                "SELECT event_name, 'event', last_altered, '' FROM information_schema.events WHERE event_schema = {name}"
            ),
            "event",
            alone(&schema.meta.events),
        )?;
    }
    Ok(())
}
