//! What a server holds: schemas, tables with their columns, keys and
//! partitions, views, routines, events, as far as moving them needs it.
//!
//! Read in bulk: a handful of queries per set of schemas, whatever the number
//! of tables. Sizes and row counts are the engine's estimates and decide only
//! how work is cut up, never what is moved. Definitions are read by
//! [`crate::ddl`], not here.

mod columns;
mod histograms;
mod keys;
mod members;
mod read;

pub use columns::Column;
pub use histograms::Histogram;
pub use keys::{Key, KeyPart, chunk_key};

/// All schemas that a filter lets through.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// In the order of their names.
    pub schemas: Vec<Schema>,
    /// Whether the histograms of the tables are known: they were asked for, and the account may read them.
    pub histograms_seen: bool,
}

/// A schema (database) and what is in it; every list is in the order of names.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Its name.
    pub name: String,
    /// Default character set.
    pub charset: String,
    /// Default collation.
    pub collation: String,
    /// `CREATE DATABASE …` as the server gives it.
    pub create_sql: String,
    /// Whether the filter takes all of it: routines and events belong to no table, so they come only then.
    pub whole: bool,
    /// Sequences first, for tables may take defaults from them; then tables.
    pub tables: Vec<Table>,
    /// Views.
    pub views: Vec<View>,
    /// Procedures, functions, packages.
    pub routines: Vec<Routine>,
    /// Names of events.
    pub events: Vec<String>,
}

/// The kind of table it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// An ordinary table.
    #[default]
    Base,
    /// A MariaDB sequence: one row, written by `SETVAL`, never by rows.
    Sequence,
    /// A MariaDB table with system versioning; its history rows need care.
    SystemVersioned,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its schema's name.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The kind.
    pub kind: TableKind,
    /// Storage engine as the server spells it; empty when the server cannot open the table.
    pub engine: String,
    /// Whether a snapshot protects its rows.
    pub transactional: bool,
    /// The engine's estimate (exact for MyISAM and Aria).
    pub rows_estimate: u64,
    /// Bytes of the rows (for InnoDB: of the clustered index).
    pub data_bytes: u64,
    /// Bytes of the other indexes.
    pub index_bytes: u64,
    /// Average bytes of a row, 0 for an empty table.
    pub avg_row_length: u64,
    /// `CREATE_OPTIONS`, e.g. `row_format=COMPRESSED partitioned`.
    pub create_options: String,
    /// `Dynamic`, `Compact`, …
    pub row_format: String,
    /// Default collation.
    pub collation: String,
    /// Next AUTO_INCREMENT value.
    pub auto_increment: Option<u64>,
    /// In table order.
    pub columns: Vec<Column>,
    /// The primary key first, then by name.
    pub keys: Vec<Key>,
    /// The partitions, or the subpartitions where there are any, in order.
    pub partitions: Vec<Partition>,
    /// Its histograms, where they were asked for.
    pub histograms: Vec<Histogram>,
    /// Names of the triggers in the order in which they fire and must be created.
    pub triggers: Vec<String>,
    /// Why the server cannot read the table, in its own words.
    pub problem: Option<String>,
}

/// A partition of a table, or a subpartition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its name, which no other of the table has.
    pub name: String,
    /// The engine's estimate of its rows.
    pub rows_estimate: u64,
    /// Bytes of them.
    pub data_bytes: u64,
}

impl Table {
    /// The columns that a dump holds: all but generated ones.
    pub fn data_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|c| !c.generated)
    }

    /// A column by its exact name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// The primary key.
    pub fn primary_key(&self) -> Option<&Key> {
        self.keys.iter().find(|k| k.primary)
    }

    /// Names of the primary key's columns; empty without one.
    pub fn primary_columns(&self) -> Vec<&str> {
        self.primary_key()
            .map(|k| k.parts.iter().filter_map(|p| p.column.as_deref()).collect())
            .unwrap_or_default()
    }

    /// Its two names in backticks, for SQL and messages.
    pub fn qualified(&self) -> String {
        crate::quote::qualified(&self.schema, &self.name)
    }
}

/// A view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Its schema's name.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Names of its columns, in order; empty when the server cannot resolve the view.
    pub columns: Vec<String>,
}

/// The kind of stored routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoutineKind {
    /// `CREATE FUNCTION`.
    Function,
    /// `CREATE PROCEDURE`.
    Procedure,
    /// MariaDB, Oracle mode: the declaration of a package.
    Package,
    /// MariaDB, Oracle mode: its body.
    PackageBody,
    /// MySQL 9.2 and later: a library of JavaScript.
    Library,
}

/// A stored routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routine {
    /// The kind.
    pub kind: RoutineKind,
    /// Its schema's name.
    pub schema: String,
    /// Its name.
    pub name: String,
}

impl Catalog {
    /// All tables of all schemas.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.schemas.iter().flat_map(|s| &s.tables)
    }

    /// A schema by its exact name.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        self.schemas.iter().find(|s| s.name == name)
    }

    /// A table by its exact names.
    pub fn table(&self, schema: &str, name: &str) -> Option<&Table> {
        self.schema(schema)?.tables.iter().find(|t| t.name == name)
    }

    /// The same, however capitals are written if a server folds them.
    pub fn table_folded(&self, schema: &str, name: &str, folds: bool) -> Option<&Table> {
        self.table(schema, name).or_else(|| {
            let folded = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
            let same = |t: &&Table| folds && folded(&t.schema, schema) && folded(&t.name, name);
            self.tables().find(same)
        })
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.schemas.is_empty()
    }
}
