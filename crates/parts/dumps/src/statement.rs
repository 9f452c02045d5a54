//! Classifies a statement by its first words: what it is, and which object it
//! is about.
//!
//! A load uses this to route a stream: which rows go to which table, when a
//! table is complete, which settings the session gets. It does not decide what
//! may run, but says enough for a policy that does: the [`Kind`], and with
//! [`Statement::danger`] the name of what goes beyond the rows and definitions
//! of a dump. Of an INSERT only the part before VALUES is parsed. Its rows are
//! searched for one word ([`Statement::danger`]), and [`crate::insert::convert`]
//! finds functions and expressions in them.
//!
//! Version comments count as live, whatever their number.

mod danger;
mod object;
mod set;

pub use danger::{EXTERNAL_ENGINE, EXTERNAL_ENGINES, SYSTEM_TABLE, is_system};
pub use set::{Assignment, Scope, Value, assignments};

use crate::dialect::Dialect;
use crate::insert::Header;
use crate::tokens::{Token, Tokens};

/// A classified statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it is.
    pub kind: Kind,
    /// The name of what it does that a dump of rows and definitions does not
    /// need: server-wide settings, files of the server's host, accounts, code
    /// from shared libraries. `None` if nothing of the kind was found.
    pub danger: Option<&'static str>,
}

/// The name of an object, as in the statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// The schema, if the statement names it.
    pub schema: Option<String>,
    /// The name of the object.
    pub name: String,
}

/// What a statement is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `INSERT INTO t [(columns)] VALUES …` whose rows
    /// [`convert`](crate::insert::convert) can try to convert.
    Insert(Header),
    /// Any other INSERT, and REPLACE; with the table if it is known.
    InsertOther(InsertOther, Option<Name>),
    /// `CREATE TABLE`.
    CreateTable(Name),
    /// `DROP TABLE`.
    DropTable(Vec<Name>),
    /// `ALTER TABLE t DISABLE KEYS` (false) or `ENABLE KEYS` (true).
    AlterKeys(Name, bool),
    /// Any other `ALTER TABLE`, `CREATE INDEX`.
    AlterTable(Name),
    /// `TRUNCATE TABLE`.
    Truncate(Name),
    /// `CREATE DATABASE`.
    CreateDatabase(String),
    /// `DROP DATABASE`.
    DropDatabase(String),
    /// `ALTER DATABASE`, with the name if there is one.
    AlterDatabase(Option<String>),
    /// `USE`.
    Use(String),
    /// `LOCK TABLES`, with the tables.
    LockTables(Vec<Name>),
    /// `UNLOCK TABLES`.
    UnlockTables,
    /// `SET`; empty if it could not be parsed.
    Set(Vec<Assignment>),
    /// `CREATE [OR REPLACE] VIEW`.
    CreateView(Name),
    /// `DROP VIEW`.
    DropView(Vec<Name>),
    /// `CREATE TRIGGER … ON table`.
    CreateTrigger {
        /// The trigger.
        trigger: Name,
        /// The table it is on.
        table: Name,
    },
    /// `CREATE PROCEDURE`, `FUNCTION`, `PACKAGE [BODY]`.
    CreateRoutine(Name),
    /// `CREATE EVENT`, `ALTER EVENT`.
    CreateEvent(Name),
    /// `DROP TRIGGER`, `PROCEDURE`, `FUNCTION`, `PACKAGE`, `EVENT`, `SEQUENCE`.
    DropObject(Name),
    /// `CREATE SEQUENCE`, and `DO` or `SELECT` of `SETVAL`.
    Sequence(Name),
    /// `START TRANSACTION`, `BEGIN`, `COMMIT`, savepoints.
    Transaction,
    /// `ROLLBACK`, all of it or to a savepoint.
    Rollback,
    /// `LOAD DATA`, `LOAD XML`.
    LoadData {
        /// The file is read by the client.
        local: bool,
        /// The file, as in the statement.
        file: String,
        /// The table that it loads.
        table: Name,
    },
    /// `CHANGE MASTER`, `CHANGE REPLICATION SOURCE`, `START`/`STOP SLAVE`/`REPLICA`.
    ReplicationSource,
    /// `ANALYZE`, `OPTIMIZE`, `CHECK` of tables, `FLUSH`.
    Upkeep,
    /// Anything else.
    Other,
}

impl Kind {
    /// The tables and other objects that it creates, changes or fills; of a trigger its table. Those
    /// of [`Kind::Insert`] are in its header, and statements about keys and locks have none.
    pub fn objects(&self) -> &[Name] {
        match self {
            Kind::InsertOther(_, Some(name))
            | Kind::CreateTable(name)
            | Kind::AlterTable(name)
            | Kind::Truncate(name)
            | Kind::CreateView(name)
            | Kind::CreateRoutine(name)
            | Kind::CreateEvent(name)
            | Kind::DropObject(name)
            | Kind::Sequence(name)
            | Kind::LoadData { table: name, .. }
            | Kind::CreateTrigger { table: name, .. } => std::slice::from_ref(name),
            Kind::DropTable(names) | Kind::DropView(names) => names,
            _ => &[],
        }
    }
}

/// Why an INSERT is not a plain one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertOther {
    /// `INSERT IGNORE`.
    Ignore,
    /// `REPLACE`.
    Replace,
    /// `ON DUPLICATE KEY UPDATE`.
    OnDuplicate,
    /// `INSERT … SELECT`, `SET`, PARTITION, a priority, or something unknown.
    Form,
}

impl Name {
    fn from_parts((schema, name): (Option<String>, String)) -> Self {
        Name { schema, name }
    }
}

/// Classifies `text`, which is one statement without its delimiter.
pub fn classify(text: &[u8], dialect: Dialect) -> Statement {
    if let Some(head) = Header::parse(text, dialect) {
        let kind = if ends_on_duplicate(text) {
            let (schema, name) = (head.schema, head.table);
            Kind::InsertOther(InsertOther::OnDuplicate, Some(Name { schema, name }))
        } else {
            Kind::Insert(head)
        };
        let danger = danger::reads_files(text, dialect).then_some("LOAD_FILE");
        return Statement { kind, danger };
    }
    let tokens = Tokens::new(text, dialect);
    let kind = kind(tokens, text, dialect);
    let danger = danger::find(&kind, tokens);
    Statement { kind, danger }
}

/// Whether the statement may end in `ON DUPLICATE KEY`. The words may also be in
/// the last row: then the statement runs unchanged, which is slower but correct.
fn ends_on_duplicate(text: &[u8]) -> bool {
    const TAIL: usize = 1024;
    const WORDS: &[u8] = b"ON DUPLICATE KEY";
    text[text.len().saturating_sub(TAIL)..]
        .windows(WORDS.len())
        .any(|w| w.eq_ignore_ascii_case(WORDS))
}

fn kind(mut t: Tokens<'_>, text: &[u8], dialect: Dialect) -> Kind {
    let Some(Token::Word(first)) = t.next() else {
        return Kind::Other;
    };
    let first = String::from_utf8_lossy(first).to_ascii_uppercase();
    let found = match first.as_str() {
        "INSERT" | "REPLACE" => Some(insert(&first, t)),
        "SET" => Some(Kind::Set(assignments(text, dialect).unwrap_or_default())),
        "CREATE" => object::create(t),
        "DROP" => object::drop(t),
        "ALTER" => object::alter(t),
        "TRUNCATE" => {
            t.accept("TABLE");
            t.qualified().map(|n| Kind::Truncate(Name::from_parts(n)))
        }
        "USE" => t.next().and_then(|n| n.name()).map(Kind::Use),
        "LOCK" if t.accept("TABLES") || t.accept("TABLE") => Some(Kind::LockTables(locked(t))),
        "UNLOCK" => Some(Kind::UnlockTables),
        "BEGIN" | "COMMIT" | "SAVEPOINT" => Some(Kind::Transaction),
        "ROLLBACK" => Some(Kind::Rollback),
        "START" if t.accept("TRANSACTION") => Some(Kind::Transaction),
        "RELEASE" if t.accept("SAVEPOINT") => Some(Kind::Transaction),
        "START" | "STOP"
            if ["SLAVE", "REPLICA", "ALL", "GROUP_REPLICATION"]
                .iter()
                .any(|w| t.accept(w)) =>
        {
            Some(Kind::ReplicationSource)
        }
        "CHANGE" => Some(Kind::ReplicationSource),
        "LOAD" => load(t),
        "DO" | "SELECT" if t.accept("SETVAL") && t.accept_symbol(b'(') => {
            t.qualified().map(|n| Kind::Sequence(Name::from_parts(n)))
        }
        "ANALYZE" | "OPTIMIZE" | "CHECK" | "FLUSH" => Some(Kind::Upkeep),
        _ => None,
    };
    found.unwrap_or(Kind::Other)
}

fn insert(first: &str, mut t: Tokens<'_>) -> Kind {
    let mut why = if first == "REPLACE" {
        InsertOther::Replace
    } else {
        InsertOther::Form
    };
    loop {
        if t.accept("IGNORE") {
            why = InsertOther::Ignore;
        } else if !["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED"]
            .iter()
            .any(|w| t.accept(w))
        {
            break;
        }
    }
    t.accept("INTO");
    Kind::InsertOther(why, t.qualified().map(Name::from_parts))
}

fn locked(mut t: Tokens<'_>) -> Vec<Name> {
    let mut list = Vec::new();
    while let Some(name) = t.qualified() {
        list.push(Name::from_parts(name));
        // The alias and the kind of lock.
        for token in t.by_ref() {
            if token == Token::Symbol(b',') {
                break;
            }
        }
    }
    list
}

fn load(mut t: Tokens<'_>) -> Option<Kind> {
    if !t.accept("DATA") && !t.accept("XML") {
        return None;
    }
    let _ = t.accept("LOW_PRIORITY") || t.accept("CONCURRENT");
    let local = t.accept("LOCAL");
    if !t.accept("INFILE") {
        return None;
    }
    let Some(Token::Text(file)) = t.next() else {
        return None;
    };
    let _ = t.accept("REPLACE") || t.accept("IGNORE");
    if !t.accept_all(&["INTO", "TABLE"]) {
        return None;
    }
    Some(Kind::LoadData {
        local,
        file: String::from_utf8_lossy(&crate::tokens::unquoted(file, true)).into_owned(),
        table: Name::from_parts(t.qualified()?),
    })
}

#[cfg(test)]
mod tests;
