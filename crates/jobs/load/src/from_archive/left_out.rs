//! Kinds of objects that are not loaded because the user does not want them (`--ddl-only`, `--no-triggers` and the like): the
//! archive is used as if it did not have them, and the summary says what it has.

use super::SchemaSelection;
use crate::options::Parts;
use archive::Archive;
use archive::open::Schema;
use base::units::count;
use std::collections::BTreeSet;

/// What of the selection is left out.
pub(super) struct Kinds {
    parts: Parts,
    tables: usize,
    views: usize,
    triggers: usize,
    routines: usize,
    events: usize,
}

impl Kinds {
    pub(super) fn new(parts: Parts) -> Kinds {
        Kinds {
            parts,
            tables: 0,
            views: 0,
            triggers: 0,
            routines: 0,
            events: 0,
        }
    }

    /// Counts what a schema has of each kind.
    pub(super) fn count(&mut self, schema: &Schema, part: &SchemaSelection) {
        let tables = || part.tables.iter().map(|at| &schema.tables[*at]);
        self.tables += tables().filter(|t| t.meta.includes_data).count();
        self.triggers += tables().map(|t| t.meta.triggers.len()).sum::<usize>();
        self.views += part.views.len();
        if part.whole {
            let of = |names: &Option<Vec<String>>| names.as_ref().map_or(0, Vec::len);
            let meta = &schema.meta;
            self.routines += of(&meta.functions) + of(&meta.procedures);
            self.events += of(&meta.events);
        }
    }

    /// Takes rows and triggers out of the archive. Gives the files that nothing reads then, and what is left out, in words.
    pub(super) fn forget(self, archive: &mut Archive) -> (BTreeSet<String>, Vec<String>) {
        let mut unread = BTreeSet::new();
        if !self.parts.rows {
            unread.extend(archive.leave_out_rows());
        }
        if !self.parts.triggers {
            unread.extend(archive.leave_out_triggers());
        }
        let rows = match self.tables {
            1 => "the rows of 1 table".to_owned(),
            n => format!("the rows of {} tables", count(n as u64)),
        };
        let kinds = [
            (self.parts.rows, self.tables, rows, "--ddl-only"),
            (
                self.parts.views,
                self.views,
                things(self.views, "view"),
                "--no-views",
            ),
            (
                self.parts.triggers,
                self.triggers,
                things(self.triggers, "trigger"),
                "--no-triggers",
            ),
            (
                self.parts.routines,
                self.routines,
                things(self.routines, "routine"),
                "--no-routines",
            ),
            (
                self.parts.events,
                self.events,
                things(self.events, "event"),
                "--no-events",
            ),
        ];
        let left_out = kinds
            .into_iter()
            .filter(|(loaded, n, ..)| !loaded && *n > 0);
        let words = left_out.map(|(_, _, what, option)| format!("{what} ({option})"));
        (unread, words.collect())
    }
}

fn things(n: usize, word: &str) -> String {
    format!(
        "{} {word}{}",
        count(n as u64),
        if n == 1 { "" } else { "s" }
    )
}
