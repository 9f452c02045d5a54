//! What a statement does that a dump of rows and definitions has no need of.

use super::{Kind, Name, Scope};
use crate::dialect::{Charset, Dialect};
use crate::tokens::{Token, Tokens};

/// First words, and what they are called. The first line that fits counts.
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

/// Engines that read or write outside the server's own data.
pub const FOREIGN_ENGINES: [&str; 7] = [
    "FEDERATED",
    "FEDERATEDX",
    "CONNECT",
    "SPIDER",
    "S3",
    "SPHINX",
    "NDBCLUSTER",
];

/// What is wrong with a table of such an engine.
pub const OUTSIDE_ENGINE: &str = "an engine with data outside the server";

/// Session variables that reach beyond the session.
const BEYOND_SESSION: [(&str, &str); 2] = [
    ("gtid_purged", "SET GTID_PURGED"),
    ("sql_log_bin", "SET sql_log_bin"),
];

/// The name of what is dangerous about a statement of this kind.
pub(super) fn of(kind: &Kind, tokens: Tokens<'_>) -> Option<&'static str> {
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
        Kind::CreateTable(_) | Kind::AlterTable(_) => table(tokens).or_else(|| outfile(tokens)),
        Kind::CreateRoutine(_) => soname(tokens),
        Kind::InsertOther(..) => outfile(tokens).or_else(|| system(tokens)),
        Kind::Sequence(_) => outfile(tokens),
        Kind::Other => outfile(tokens)
            .or_else(|| system(tokens))
            .or_else(|| unknown(tokens)),
        _ => None,
    }
}

/// Statements of no kind that may run: people write them into scripts.
const BY_HAND: [&str; 4] = ["SELECT", "DO", "UPDATE", "DELETE"];

/// What is neither a statement of a dump nor one of [`BY_HAND`].
fn unknown(mut tokens: Tokens<'_>) -> Option<&'static str> {
    match tokens.next()? {
        Token::Symbol(b'\\') => Some("a command of the mysql client"),
        first if BY_HAND.iter().any(|w| first.is(w)) => None,
        _ => Some("a statement that no dump has"),
    }
}

/// `mysql.user` and the like.
fn system(tokens: Tokens<'_>) -> Option<&'static str> {
    let mut t = tokens;
    while let Some(token) = t.next() {
        let ours = |n: String| SYSTEM.iter().any(|s| s.eq_ignore_ascii_case(&n));
        if token.name().is_some_and(ours)
            && !token.is("INFORMATION_SCHEMA")
            && t.accept_symbol(b'.')
        {
            return Some(OF_THE_SERVER);
        }
    }
    None
}

/// What is wrong with rows and definitions of `mysql` and the like.
pub const OF_THE_SERVER: &str = "a table of the server's own";

/// Whether the rows of an INSERT call LOAD_FILE(): the word is looked for
/// first, for nearly no rows have it.
pub(super) fn reads_files(text: &[u8], dialect: Dialect) -> bool {
    let word = |at: usize| {
        let (before, behind) = (at.checked_sub(4), at + 5);
        before.is_some_and(|from| {
            text.get(from..behind)
                .is_some_and(|w| w.eq_ignore_ascii_case(b"LOAD_FILE"))
        })
    };
    if !memchr::memchr_iter(b'_', text).any(word) {
        return false;
    }
    // Where a backslash may be half of a character, strings do not end for sure where they seem to.
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

/// Options of a table that name places outside the server's data.
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
            if FOREIGN_ENGINES
                .iter()
                .any(|e| e.eq_ignore_ascii_case(&engine))
            {
                return Some(OUTSIDE_ENGINE);
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
        // The server takes a quoted name for a function too.
        if token
            .name()
            .is_some_and(|n| n.eq_ignore_ascii_case("LOAD_FILE"))
        {
            return Some("LOAD_FILE");
        }
    }
    None
}

/// Schemas that belong to the server.
const SYSTEM: [&str; 4] = ["mysql", "sys", "information_schema", "performance_schema"];

impl Name {
    /// Whether its schema is given and is one of the server's own.
    pub fn is_system(&self) -> bool {
        let system = |s: &String| SYSTEM.iter().any(|x| x.eq_ignore_ascii_case(s));
        self.schema.as_ref().is_some_and(system)
    }
}

/// Whether a schema is one of the server's own.
pub fn is_system(schema: &str) -> bool {
    SYSTEM.iter().any(|x| x.eq_ignore_ascii_case(schema))
}
