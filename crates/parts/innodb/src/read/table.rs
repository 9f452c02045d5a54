//! A table as its file has it: columns, and for each index the fields of its records.
//!
//! Made from one of three sources (`exported`, `sdi`, `mariadb`); whoever made it, the rest of the reader takes it as
//! possibly wrong, and says so where records contradict it.

use super::prefix::Cut;
use super::types::{Server, Type};

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name, as the source has it.
    pub name: String,
    /// Whose it is.
    pub server: Server,
    /// Whether its rows are of the format REDUNDANT.
    pub redundant: bool,
    /// Its columns in their order, without those of the system.
    pub columns: Vec<Column>,
    /// The index that holds the rows.
    pub clustered: Index,
    /// The others that can be read.
    pub secondary: Vec<Index>,
    /// Those that cannot: name, and why.
    pub unread: Vec<(String, String)>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// How its values lie in rows.
    pub values: Values,
    /// Whether a statement does not see it, and the server made it.
    pub hidden: bool,
}

/// Where a column's values are.
#[derive(Clone, Debug)]
pub enum Values {
    /// In each row.
    Stored(Type),
    /// In each row, in a way that is not read; why.
    Unread(String),
    /// Nowhere: computed when they are asked for.
    Virtual,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Number of its root page.
    pub root: u32,
    /// The fields of a record at the leaves, in the order in which records hold them.
    pub fields: Vec<Field>,
    /// How many of them, from the first, a record above the leaves has.
    pub branch: usize,
    /// How records of before and after an instant ALTER differ.
    pub history: History,
}

/// A field of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// The place of its column in [`Table::columns`]; `None`: of the system, or dropped.
    pub column: Option<usize>,
    /// The place of its column as InnoDB counts them, those of the system included; `None`: dropped.
    pub stored: Option<usize>,
    /// Bytes that it always has in COMPACT and DYNAMIC; `None`: the record says.
    pub fixed: Option<usize>,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether its length may take two bytes.
    pub big: bool,
    /// Bytes at most of the column that it holds; 0: all.
    pub prefix: u32,
    /// How values of its column are cut where there is a prefix.
    pub cut: Cut,
    /// MySQL: the version of rows that brought it; 0: there from the first.
    pub added: u8,
    /// MySQL: the version of rows from which on it is not in records. MariaDB: that its column was dropped.
    pub dropped: Option<u8>,
    /// What it is in records that do not have it yet.
    pub absent: Absent,
}

/// The value of a field that a record does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Absent {
    /// That cannot be.
    #[default]
    Never,
    /// NULL.
    Null,
    /// These bytes, as records hold them.
    Bytes(Vec<u8>),
}

/// How the records of an index differ after columns were added or dropped without a rebuild.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum History {
    /// They do not.
    Same,
    /// MySQL: records name the version of rows they have (since 8.0.29), or how many fields (8.0.12 to 8.0.28).
    MySql {
        /// Fields of a record that says neither.
        first: usize,
        /// The highest version.
        versions: u8,
    },
    /// MariaDB: records say how many fields they have more than at first.
    MariaDb {
        /// Fields at first.
        core: usize,
        /// Bytes of the null bitmap of a record that has no more.
        core_nulls: usize,
    },
}

impl Table {
    /// The place of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// The field of the clustered index that holds all of a column.
    pub fn field(&self, column: usize) -> Option<usize> {
        let whole = |f: &Field| f.column == Some(column) && f.prefix == 0 && f.dropped.is_none();
        self.clustered.fields.iter().position(whole)
    }
}

impl Index {
    /// Bytes of the null bitmap of records above the leaves, and of those at the leaves that say nothing of a version.
    pub fn first_nulls(&self) -> usize {
        let count = |n: usize| {
            let at_first = |f: &&Field| f.nullable && f.added == 0;
            self.fields[..n.min(self.fields.len())]
                .iter()
                .filter(at_first)
                .count()
                .div_ceil(8)
        };
        match self.history {
            History::Same => count(self.fields.len()),
            History::MySql { first, .. } => count(first),
            History::MariaDb { core_nulls, .. } => core_nulls,
        }
    }
}
