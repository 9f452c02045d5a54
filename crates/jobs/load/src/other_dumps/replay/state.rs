//! What a replay knows: the state of the script it reads, the objects it has created or filled, and what
//! waits until rows are stored.

use super::super::files::InputFile;
use super::super::settings::{RowSettings, Settings};
use super::super::statement_policy::resolved;
use super::super::target_table::TargetTable;
use crate::from_archive::prepared::ForeignKeys;
use dumps::Charset;
use dumps::statement::Kind as StatementKind;
use server::Identity;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Schema and name.
pub(super) type Key = (String, String);

/// The script that is being read.
#[derive(Default)]
pub(super) struct ScriptState {
    /// The server that was dumped, as far as the dump says; it holds for all files.
    pub source: Option<Identity>,
    /// The schema that is in use on the target, for names without one.
    pub schema: Option<String>,
    /// The schema of the dump for names without one, whether it is loaded or not.
    pub home: Option<String>,
    /// The schema of --schema, until a statement needs it.
    pub flag_schema: Option<String>,
    /// The settings under which the next rows are stored.
    pub row_settings: RowSettings,
    /// All that the script has set of them.
    pub settings: Settings,
}

impl ScriptState {
    /// Forgets what the last file has set: it does not hold for the next one.
    pub fn next_file(&mut self, file: &InputFile) {
        *self = ScriptState {
            source: self.source.take(),
            flag_schema: file.schema.clone().filter(|_| file.schema_given),
            ..ScriptState::default()
        };
    }
}

/// Objects of the target that the dump has created or filled.
#[derive(Default)]
pub(super) struct KnownObjects {
    pub schemas: BTreeSet<String>,
    pub tables: BTreeSet<Key>,
    /// Those of the tables that rows were read for.
    pub filled: BTreeMap<Key, Arc<TargetTable>>,
    /// As far as statements name them.
    pub views: BTreeSet<Key>,
    pub uncounted: Uncounted,
}

/// Tables whose rows may not be just those that were sent, because other statements than plain INSERTs may
/// have changed them.
#[derive(Default)]
pub(super) struct Uncounted {
    pub tables: BTreeSet<Key>,
    /// Any table.
    pub all: bool,
    /// A trigger exists: rows that are stored from now on may change any table.
    triggers: bool,
}

impl Uncounted {
    /// Records what a statement may change.
    pub fn follow(&mut self, kind: &StatementKind, schema: Option<&str>) {
        match kind {
            StatementKind::Insert(_) => self.all |= self.triggers,
            StatementKind::CreateTrigger { .. } => self.triggers = true,
            StatementKind::InsertOther(_, Some(name))
            | StatementKind::AlterTable(name)
            | StatementKind::Truncate(name) => {
                self.tables.extend(resolved(name, schema));
                self.all |= self.triggers;
            }
            StatementKind::InsertOther(_, None)
            | StatementKind::LoadData { .. }
            | StatementKind::Other => self.all = true,
            _ => {}
        }
    }
}

/// What is created after rows.
#[derive(Default)]
pub(super) struct Deferred {
    /// After the rows of their table.
    pub indexes: BTreeMap<Key, Vec<Vec<String>>>,
    /// After all rows.
    pub foreign_keys: Vec<ForeignKeys>,
    /// At the end, once what they need exists.
    pub views: Vec<DeferredView>,
    /// At the end: rows of their tables come later in the dump.
    pub triggers: Vec<DeferredTrigger>,
}

/// A trigger that must not act on the rows that are loaded.
pub(super) struct DeferredTrigger {
    pub schema: Option<String>,
    pub text: Vec<u8>,
    /// The statement that gives the session the settings under which the dump creates it.
    pub settings: String,
    pub place: String,
}

/// A view that needed an object which did not exist yet.
pub(super) struct DeferredView {
    pub schema: Option<String>,
    pub text: Vec<u8>,
    pub charset: Option<Charset>,
    pub place: String,
}
