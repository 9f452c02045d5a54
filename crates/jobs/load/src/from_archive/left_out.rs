//! Kinds of objects that are not loaded because the user does not want them (`--ddl-only`, `--no-triggers` and the like): the
//! archive is used as if it did not have them, and the summary says what it has.

use super::SchemaSelection;
use crate::options::{Only, Parts};
use archive::Archive;
use archive::open::Schema;
use base::units::things;
use std::collections::BTreeSet;

/// How many there are of each kind in the selection.
#[derive(Default)]
pub(super) struct Kinds {
    /// Tables with rows.
    tables: u64,
    views: u64,
    triggers: u64,
    routines: u64,
    events: u64,
}

impl Kinds {
    /// Adds what a schema has.
    pub(super) fn add(&mut self, schema: &Schema, part: &SchemaSelection) {
        let tables = || part.tables.iter().map(|at| &schema.tables[*at]);
        self.tables += tables().filter(|t| t.meta.includes_data).count() as u64;
        self.triggers += tables().map(|t| t.meta.triggers.len() as u64).sum::<u64>();
        self.views += part.views.len() as u64;
        if part.whole {
            let of = |names: &Option<Vec<String>>| names.as_ref().map_or(0, |n| n.len() as u64);
            let meta = &schema.meta;
            self.routines += of(&meta.functions) + of(&meta.procedures) + of(&meta.packages);
            self.events += of(&meta.events);
        }
    }

    /// What is left out, in words.
    pub(super) fn without(&self, parts: Parts) -> Vec<String> {
        if !parts.definitions {
            let others = [
                (self.views, "view"),
                (self.triggers, "trigger"),
                (self.routines, "routine"),
                (self.events, "event"),
            ];
            let others = others.into_iter().filter(|(n, _)| *n > 0);
            let others = others.map(|(n, word)| format!("{} (--data-only)", things(n, word)));
            return std::iter::once("the definitions of tables (--data-only)".to_owned())
                .chain(others)
                .collect();
        }
        let only = match parts.only {
            Some(Only::Objects) => Some("tables and their rows"),
            Some(Only::Indexes) => Some("everything but indexes and foreign keys"),
            Some(Only::Users) => Some("everything but accounts"),
            None => None,
        };
        let only = only.zip(parts.only);
        let named = |option: &&str| {
            if let Some((what, only)) = only.filter(|(_, only)| only.option() == *option) {
                return Some(format!("{what} ({})", only.option()));
            }
            let (n, word, before) = match *option {
                "--ddl-only" => (self.tables, "table", "the rows of "),
                "--no-views" => (self.views, "view", ""),
                "--no-triggers" => (self.triggers, "trigger", ""),
                "--no-routines" => (self.routines, "routine", ""),
                _ => (self.events, "event", ""),
            };
            (n > 0).then(|| format!("{before}{} ({option})", things(n, word)))
        };
        parts.options().iter().filter_map(named).collect()
    }
}

/// Takes rows and triggers out of the archive, as they are not wanted. Gives the files that nothing reads then.
pub(super) fn forget(parts: Parts, archive: &mut Archive) -> BTreeSet<String> {
    let mut unread = BTreeSet::new();
    if !parts.rows {
        unread.extend(archive.leave_out_rows());
    }
    if !parts.triggers {
        unread.extend(archive.leave_out_triggers());
    }
    unread
}
