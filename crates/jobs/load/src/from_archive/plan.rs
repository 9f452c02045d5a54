//! What is loaded: the part of an archive that the selection leaves.

use super::chosen::Wanted;
use super::existing::Treated;
use crate::left_out::LeftOut;
use crate::options::{Definers, Options, Parts};
use crate::rename::Names;
use crate::tablespace::MethodPlan;
use crate::target::Target;
use archive::Archive;
use archive::open::{Table, View};
use instance::tune;
use rows::accounts::Account;
use rows::feed::{Load, TableName};
use server::{Identity, NameMap, quote};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

/// A load of an archive.
pub struct LoadPlan {
    /// The archive.
    pub archive: Archive,
    /// Schemas with their tables and views, by index into the archive's.
    pub schemas: Vec<SchemaSelection>,
    /// The server that it came from, as far as the archive says.
    pub source: Option<Identity>,
    /// Tables that the target refused, quoted and qualified: known once all tables were tried.
    pub refused: OnceLock<BTreeSet<String>>,
    /// Tables whose rows the target refused, quoted and qualified: known once all rows were tried.
    pub emptied: OnceLock<BTreeSet<String>>,
    /// What is damaged and therefore left out.
    pub damaged: Vec<LeftOut>,
    /// Triggers, routines and events that are not selected: file, kind and name.
    pub unwanted: BTreeSet<(String, &'static str, String)>,
    /// Files that are damaged and that nothing reads.
    pub unread: BTreeSet<String>,
    /// The accounts that are made, if they are asked for.
    pub accounts: Option<Vec<Account>>,
    /// The dump, if it is loaded while it is written.
    pub growing: Option<Growing>,
    /// What is renamed, if anything is.
    pub renaming: Option<Renaming>,
    /// Whose rights views, triggers, routines and events have.
    pub definers: Definers,
    /// Which kinds of objects.
    pub parts: Parts,
    /// What of the archive is left out because its kind is, in words.
    pub left_out: Vec<String>,
    /// Which rows are wanted of tables of which not all are; quoted and qualified.
    pub choices: BTreeMap<String, Wanted>,
    /// What is done with objects that the target has: known once it was looked at.
    pub treated: OnceLock<Treated>,
}

/// Nothing of a load is there.
static NOTHING_THERE: Treated = Treated {
    left: BTreeSet::new(),
    replaced: BTreeSet::new(),
    with_them: BTreeSet::new(),
    emptied: BTreeSet::new(),
    filled: BTreeSet::new(),
    doubts: BTreeMap::new(),
};

/// Other names than those of the source.
pub struct Renaming {
    /// Which.
    pub map: Arc<NameMap>,
    /// By file with definitions: the schema of its objects on the source, and on the target.
    homes: HashMap<String, (String, String)>,
    /// Schemas of the archive.
    schemas: BTreeSet<String>,
    /// Functions of the archive.
    functions: BTreeSet<String>,
}

impl Renaming {
    /// Of an archive that is renamed already.
    pub fn of(archive: &Archive, map: &Arc<NameMap>) -> Option<Renaming> {
        if map.is_empty() {
            return None;
        }
        let mut homes = HashMap::new();
        for schema in archive.schemas() {
            for table in &schema.tables {
                let home = (table.source.0.clone(), schema.name.clone());
                let files = table.ddl.iter().chain(&table.triggers);
                homes.extend(files.map(|f| (f.clone(), home.clone())));
            }
            for view in &schema.views {
                let home = (view.source.0.clone(), schema.name.clone());
                homes.extend([&view.pre, &view.ddl].map(|f| (f.clone(), home.clone())));
            }
            let home = (
                schema.source.clone().unwrap_or_default(),
                schema.name.clone(),
            );
            homes.extend(schema.ddl.iter().map(|f| (f.clone(), home.clone())));
        }
        let schemas = archive.schemas().iter();
        Some(Renaming {
            map: Arc::clone(map),
            homes,
            functions: schemas
                .clone()
                .flat_map(|s| s.meta.functions.iter().flatten().cloned())
                .collect(),
            schemas: schemas.filter_map(|s| s.source.clone()).collect(),
        })
    }

    /// What the names in a file mean.
    pub(crate) fn names<'a>(&'a self, file: &str) -> Option<Names<'a>> {
        let (home, to) = self.homes.get(file)?;
        Some(Names {
            map: &self.map,
            home,
            to,
            schemas: &self.schemas,
            functions: &self.functions,
            printed: true,
        })
    }
}

/// An archive that is being written while it is loaded.
pub struct Growing {
    /// Where its rows come from.
    pub feed: Arc<Load>,
    /// Bytes of each table's rows, as the source estimates them.
    pub estimates: Arc<HashMap<TableName, u64>>,
    /// Identifies the load in its journal: the manifest changes meanwhile.
    pub identity: String,
    /// The archive, once all of it is written.
    pub whole: OnceLock<Archive>,
}

/// The selected part of one schema.
pub struct SchemaSelection {
    /// Index into [`Archive::schemas`].
    pub at: usize,
    /// Whether its routines and events are selected too.
    pub whole: bool,
    /// Indexes of its tables.
    pub tables: Vec<usize>,
    /// Indexes of its views.
    pub views: Vec<usize>,
}

impl LoadPlan {
    /// Whether loaded rows are compared by SQL: that is wanted, and there are any.
    pub(super) fn compares_sql(&self, options: &Options) -> bool {
        self.parts.rows && options.verify.compares_sql()
    }

    /// Which rows of a table are wanted, if not all are.
    pub fn wanted(&self, table: &Table) -> Option<&Wanted> {
        if self.choices.is_empty() {
            return None;
        }
        self.choices
            .get(&quote::qualified(&table.schema, &table.name))
    }

    /// Whether rows of a table are loaded that are deleted afterwards.
    pub(super) fn leaves_rows_out(&self, table: &Table) -> bool {
        self.wanted(table).is_some_and(|w| !w.rest.is_all())
    }

    /// What is done with objects that the target has.
    pub fn treated(&self) -> &Treated {
        self.treated.get().unwrap_or(&NOTHING_THERE)
    }

    /// The views of the plan, without those that are left as they are on the target.
    pub fn selected_views(&self) -> impl Iterator<Item = &View> {
        let all = self.schemas.iter().flat_map(|p| {
            p.views
                .iter()
                .map(|v| &self.archive.schemas()[p.at].views[*v])
        });
        all.filter(|v| !self.leaves(&v.schema, &v.name))
    }

    /// The tables that are loaded, without those that the target refused, and those that are left as they are there.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        let all = self.selected_tables();
        all.filter(|t| !self.is_refused(t) && !self.leaves(&t.schema, &t.name))
    }

    /// The tables that are selected.
    pub(super) fn selected_tables(&self) -> impl Iterator<Item = &Table> {
        self.schemas.iter().flat_map(|p| {
            p.tables
                .iter()
                .map(|t| &self.archive.schemas()[p.at].tables[*t])
        })
    }

    /// Whether a table or view is left as it is on the target.
    pub(super) fn leaves(&self, schema: &str, name: &str) -> bool {
        let treated = self.treated();
        !treated.left.is_empty() && treated.leaves(&quote::qualified(schema, name))
    }

    /// Whether a table is there, and gets its rows as it is.
    pub fn refills(&self, table: &Table) -> bool {
        self.treated()
            .refills(&quote::qualified(&table.schema, &table.name))
    }

    /// Whether a table is there, and empty, and gets its rows as it is.
    pub fn fills(&self, table: &Table) -> bool {
        let words = format!("table {}", quote::qualified(&table.schema, &table.name));
        self.treated().filled.contains(&words)
    }

    /// Whether every table that is selected was loaded: none is damaged, and the target refused none of them, nor its rows.
    pub(super) fn has_all_rows(&self) -> bool {
        let none =
            |tables: &OnceLock<BTreeSet<String>>| tables.get().is_none_or(BTreeSet::is_empty);
        let lost = self.damaged.iter().any(|d| d.object.is_some());
        !lost && none(&self.refused) && none(&self.emptied)
    }

    /// Whether the target refused a table.
    pub fn is_refused(&self, table: &Table) -> bool {
        self.refused.get().is_some_and(|refused| {
            !refused.is_empty() && refused.contains(&quote::qualified(&table.schema, &table.name))
        })
    }

    /// Whether the target refused the rows of a table.
    pub fn is_emptied(&self, table: &Table) -> bool {
        self.emptied.get().is_some_and(|emptied| {
            !emptied.is_empty() && emptied.contains(&quote::qualified(&table.schema, &table.name))
        })
    }

    /// The accounts that the archive holds and that stay there.
    pub(super) fn accounts_left(&self) -> Vec<String> {
        match self.accounts {
            Some(_) => Vec::new(),
            None => self.archive.root().users.clone().unwrap_or_default(),
        }
    }

    /// How much it is, for tuning.
    pub(super) fn profile(&self, target: &Target<'_>, methods: &MethodPlan) -> tune::LoadProfile {
        let size = |c: &archive::open::Chunk| c.raw_bytes.unwrap_or(c.stored_bytes);
        let bytes = match self.growing {
            Some(_) => self.raw_bytes(),
            None => self.tables().flat_map(|t| &t.chunks).map(size).sum(),
        };
        tune::LoadProfile {
            bytes,
            split: self.growing.is_some() || self.tables().any(|t| t.chunks.len() > 1),
            binlog: !target.options.skip_binlog,
            redo: methods.any(),
            session: target.conn.id(),
        }
    }

    /// Bytes of the rows of all tables, as far as the archive says.
    pub fn raw_bytes(&self) -> u64 {
        self.tables().map(|t| self.bytes_of(t)).sum()
    }

    /// Bytes of a table's rows, as far as they are known.
    pub fn bytes_of(&self, table: &Table) -> u64 {
        let Some(growing) = &self.growing else {
            return raw_bytes(table);
        };
        growing.estimates.get(&table.source).copied().unwrap_or(0)
    }

    /// Whether the archive has rows of a table, or may get some.
    pub(super) fn may_have_rows(&self, table: &Table) -> bool {
        !table.chunks.is_empty() || self.growing.is_some() && table.meta.includes_data
    }

    /// The archive with the digests of its rows.
    pub fn whole_archive(&self) -> &Archive {
        let whole = self.growing.as_ref().and_then(|g| g.whole.get());
        whole.unwrap_or(&self.archive)
    }

    /// The options that say which names change.
    pub fn options_of_names(&self) -> Vec<String> {
        let renaming = self.renaming.as_ref();
        renaming.map_or(Vec::new(), |r| r.map.options())
    }

    /// Schemas that are loaded, by name.
    pub(super) fn schema_names(&self) -> BTreeSet<&str> {
        let schemas = self.schemas.iter().map(|p| &self.archive.schemas()[p.at]);
        schemas.map(|s| s.name.as_str()).collect()
    }

    /// Whether nothing is loaded under the name that it has on the source.
    pub(super) fn is_all_renamed(&self) -> bool {
        let same_table = |t: &Table| t.source.0 == t.schema && t.source.1 == t.name;
        let same_view = |v: &View| v.source.0 == v.schema && v.source.1 == v.name;
        let same_schema = |p: &SchemaSelection| {
            let schema = &self.archive.schemas()[p.at];
            p.whole && schema.source.as_ref() == Some(&schema.name)
        };
        self.renaming.is_some()
            && !self.schemas.iter().any(same_schema)
            && !self.tables().any(same_table)
            && !self.selected_views().any(same_view)
    }

    /// Whether something of the archive is not selected.
    pub(super) fn is_part(&self) -> bool {
        let all = self.archive.schemas();
        let whole = |p: &SchemaSelection| {
            let schema = &all[p.at];
            p.whole && p.tables.len() == schema.tables.len() && p.views.len() == schema.views.len()
        };
        !self.left_out.is_empty()
            || !self.unwanted.is_empty()
            || !self.treated().left.is_empty()
            || self.schemas.len() < all.len()
            || !self.schemas.iter().all(whole)
    }

    /// Views that are loaded.
    pub(super) fn views(&self) -> u64 {
        self.selected_views().count() as u64
    }
}

/// Bytes of a table's rows, as far as the archive says.
pub fn raw_bytes(table: &Table) -> u64 {
    table.chunks.iter().filter_map(|c| c.raw_bytes).sum()
}
