//! What is ready for rows once tables are created, and what waits until the rows are there.

use crate::journal::Journal;
use std::collections::{HashMap, HashSet};

/// Bytes of rows from which on a table's indexes are deferred. A smaller table is filled before the server
/// would have begun with its ALTER.
pub const DEFER_FROM: u64 = 8 << 20;

/// What was made ready for rows.
pub struct Prepared {
    /// Where chunks are entered.
    pub journal: Journal,
    /// To add after all rows.
    pub foreign: Vec<ForeignKeys>,
    /// By quoted, qualified table: indexes to add after its rows.
    pub keys: HashMap<String, Vec<Vec<String>>>,
    /// Quoted, qualified tables whose engine has no transactions.
    pub nontransactional: HashSet<String>,
    /// Quoted, qualified tables that show the rows of others, and get none.
    pub merged: HashSet<String>,
    /// Quoted, qualified tables whose definition has a `?`, which a server also writes for what it cannot show.
    pub doubtful: HashSet<String>,
}

/// Foreign keys that were taken out of their table's definition, to add after the rows.
pub struct ForeignKeys {
    /// Quoted, qualified table.
    pub table: String,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Clauses fit to follow `ADD`.
    pub clauses: Vec<String>,
}
