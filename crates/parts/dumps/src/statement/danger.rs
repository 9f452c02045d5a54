//! Finds what a statement does that a dump of rows and definitions does not need.

use super::{Kind, Name, Scope};
use crate::dialect::{Charset, Dialect};
use crate::tokens::{Token, Tokens};

/// First words of a statement, and how messages name them. The first match counts.
const VERBS: [(&[&str], &str); 34] = [
    (&["INSTALL", "PLUGIN"], "INSTALL PLUGIN"),
    (&["INSTALL", "SONAME"], "INSTALL SONAME"),
    (&["INSTALL", "COMPONENT"], "INSTALL COMPONENT"),
    (&["UNINSTALL"], "UNINSTALL"),
    (&["CREATE", "USER"], "CREATE USER"),
    (&["CREATE", "ROLE"], "CREATE ROLE"),
    (&["CREATE", "SERVER"], "CREATE SERVER"),
    (&["CREATE", "TABLESPACE"], "CREATE TABLESPACE"),
    (&["CREATE", "UNDO"], "CREATE TABLESPACE"),
    (&["CREATE", "LOGFILE"], "CREATE LOGFILE GROUP"),
    (&["CREATE", "RESOURCE"], "CREATE RESOURCE GROUP"),
    (&["ALTER", "USER"], "ALTER USER"),
    (&["ALTER", "SERVER"], "ALTER SERVER"),
    (&["ALTER", "INSTANCE"], "ALTER INSTANCE"),
    (&["ALTER", "TABLESPACE"], "ALTER TABLESPACE"),
    (&["DROP", "USER"], "DROP USER"),
    (&["DROP", "ROLE"], "DROP ROLE"),
    (&["DROP", "SERVER"], "DROP SERVER"),
    (&["RENAME", "USER"], "RENAME USER"),
    (&["GRANT"], "GRANT"),
    (&["REVOKE"], "REVOKE"),
    (&["RESET"], "RESET"),
    (&["PURGE"], "PURGE"),
    (&["SHUTDOWN"], "SHUTDOWN"),
    (&["RESTART"], "RESTART"),
    (&["KILL"], "KILL"),
    (&["CLONE"], "CLONE"),
    (&["IMPORT"], "IMPORT TABLE"),
    (&["PREPARE"], "PREPARE"),
    (&["EXECUTE"], "EXECUTE"),
    (&["BINLOG"], "BINLOG"),
    (&["HANDLER"], "HANDLER"),
    (&["CALL"], "CALL"),
    (&["FLUSH"], "FLUSH"),
];

/// Engines that read or write data outside the server.
pub const EXTERNAL_ENGINES: [&str; 7] = [
    "FEDERATED",
    "FEDERATEDX",
    "CONNECT",
    "SPIDER",
    "S3",
    "SPHINX",
    "NDBCLUSTER",
];

/// The danger of a table with such an engine.
pub const EXTERNAL_ENGINE: &str = "an engine with data outside the server";

/// Session variables with an effect beyond the session.
const BEYOND_SESSION: [(&str, &str); 2] = [
    ("gtid_purged", "SET GTID_PURGED"),
    ("sql_log_bin", "SET sql_log_bin"),
];

/// The name of the danger of a statement of this kind.
pub(super) fn find(kind: &Kind, tokens: Tokens<'_>) -> Option<&'static str> {
    let verb = VERBS
        .iter()
        .find(|(words, _)| tokens.begins(words))
        .map(|(_, name)| *name);
    if verb.is_some() {
        return verb;
    }
    match kind {
        Kind::Set(list) => set(list).or_else(|| outfile(tokens)),
        Kind::LoadData { local: false, .. } => Some("LOAD DATA INFILE"),
        Kind::LoadData { local: true, .. } => Some("LOAD DATA LOCAL INFILE"),
        Kind::ReplicationSource => Some("replication settings"),
        Kind::CreateTable(_) | Kind::AlterTable(_) | Kind::Truncate(_) => {
            table(tokens).or_else(|| outfile(tokens))
        }
        Kind::CreateRoutine(_) => soname(tokens),
        Kind::InsertOther(..) => outfile(tokens).or_else(|| system_table(tokens)),
        Kind::Sequence(_) => outfile(tokens),
        Kind::Other => outfile(tokens)
            .or_else(|| system_table(tokens))
            .or_else(|| unknown(tokens)),
        _ => None,
    }
}

/// Statements without a [`Kind`] that are not dangerous: people add them to scripts.
const ADDED_BY_HAND: [&str; 4] = ["SELECT", "DO", "UPDATE", "DELETE"];

/// The danger of a statement that is neither of a dump nor one of [`ADDED_BY_HAND`].
fn unknown(mut tokens: Tokens<'_>) -> Option<&'static str> {
    match tokens.next()? {
        Token::Symbol(b'\\') => Some("a command of the mysql client"),
        first if ADDED_BY_HAND.iter().any(|w| first.is(w)) => None,
        _ => Some("a statement that no dump has"),
    }
}

/// Names like `mysql.user`.
fn system_table(tokens: Tokens<'_>) -> Option<&'static str> {
    let mut t = tokens;
    while let Some(token) = t.next() {
        let is_system = |n: String| SYSTEM.iter().any(|s| s.eq_ignore_ascii_case(&n));
        if token.name().is_some_and(is_system)
            && !token.is("INFORMATION_SCHEMA")
            && t.accept_symbol(b'.')
        {
            return Some(SYSTEM_TABLE);
        }
    }
    None
}

/// The danger of rows and definitions of `mysql` and other system schemas.
pub const SYSTEM_TABLE: &str = "a system table";

/// Whether the rows of an INSERT call LOAD_FILE(). A fast search for the word
/// comes first, because hardly any rows contain it.
pub(super) fn reads_files(text: &[u8], dialect: Dialect) -> bool {
    let word = |at: usize| {
        let (start, end) = (at.checked_sub(4), at + 5);
        start.is_some_and(|start| {
            text.get(start..end)
                .is_some_and(|w| w.eq_ignore_ascii_case(b"LOAD_FILE"))
        })
    };
    if !memchr::memchr_iter(b'_', text).any(word) {
        return false;
    }
    // In these character sets a wrong guess about the end of a string could hide the call.
    dialect.charset.is_some_and(Charset::hides_backslash)
        || Tokens::new(text, dialect).any(|t| {
            t.name()
                .is_some_and(|n| n.eq_ignore_ascii_case("LOAD_FILE"))
        })
}

impl Tokens<'_> {
    fn begins(&self, words: &[&str]) -> bool {
        let mut ahead = *self;
        words.iter().all(|w| {
            ahead.accept_all(&["OR", "REPLACE"]);
            ahead.accept(w)
        })
    }
}

fn set(list: &[super::Assignment]) -> Option<&'static str> {
    if list.is_empty() {
        return Some("SET of an unknown form");
    }
    list.iter().find_map(|a| match a.scope {
        // SET @@GLOBAL.GTID_PURGED is what every dump with GTIDs has.
        Scope::Global | Scope::Persist if a.name == "gtid_purged" => Some("SET GTID_PURGED"),
        Scope::Global => Some("SET GLOBAL"),
        Scope::Persist => Some("SET PERSIST"),
        Scope::User => None,
        Scope::Session => match a.name.as_str() {
            "password" => Some("SET PASSWORD"),
            "role" => Some("SET ROLE"),
            "resource" => Some("SET RESOURCE GROUP"),
            name => BEYOND_SESSION
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, what)| *what),
        },
    })
}

/// Table options that use data outside the server.
fn table(tokens: Tokens<'_>) -> Option<&'static str> {
    let mut t = tokens;
    while let Some(token) = t.next() {
        if token.is("DATA") && t.accept("DIRECTORY") {
            return Some("DATA DIRECTORY");
        }
        if token.is("INDEX") && t.accept("DIRECTORY") {
            return Some("INDEX DIRECTORY");
        }
        if token.is("ENGINE") {
            t.accept_symbol(b'=');
            let engine = match t.peek() {
                Some(Token::Text(s)) => {
                    crate::tokens::lossy(s).trim_matches(['\'', '"']).to_owned()
                }
                Some(other) => other.name().unwrap_or_default(),
                None => String::new(),
            };
            if EXTERNAL_ENGINES
                .iter()
                .any(|e| e.eq_ignore_ascii_case(&engine))
            {
                return Some(EXTERNAL_ENGINE);
            }
        }
        if token.is("INTO") && (t.accept("OUTFILE") || t.accept("DUMPFILE")) {
            return Some("INTO OUTFILE");
        }
    }
    None
}

/// `CREATE FUNCTION x RETURNS STRING SONAME 'x.so'`.
fn soname(tokens: Tokens<'_>) -> Option<&'static str> {
    let mut t = tokens;
    while let Some(token) = t.next() {
        if token.is("BEGIN") || token.is("RETURN") {
            return None;
        }
        if token.is("SONAME") && matches!(t.peek(), Some(Token::Text(_))) {
            return Some("CREATE FUNCTION SONAME");
        }
    }
    None
}

/// `SELECT … INTO OUTFILE`, LOAD_FILE().
fn outfile(tokens: Tokens<'_>) -> Option<&'static str> {
    let mut t = tokens;
    while let Some(token) = t.next() {
        if token.is("INTO") && (t.accept("OUTFILE") || t.accept("DUMPFILE")) {
            return Some("INTO OUTFILE");
        }
        // The server also accepts a function name in quotes.
        if token
            .name()
            .is_some_and(|n| n.eq_ignore_ascii_case("LOAD_FILE"))
        {
            return Some("LOAD_FILE");
        }
    }
    None
}

/// Schemas of the server itself.
const SYSTEM: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];

impl Name {
    /// Whether its schema is given and is a system schema.
    pub fn is_system(&self) -> bool {
        let system = |s: &String| SYSTEM.iter().any(|x| x.eq_ignore_ascii_case(s));
        self.schema.as_ref().is_some_and(system)
    }
}

/// Whether a schema is a system schema.
pub fn is_system(schema: &str) -> bool {
    SYSTEM.iter().any(|x| x.eq_ignore_ascii_case(schema))
}
