//! The SQL files of an archive: which of their statements may run, and how a
//! statement is changed for a target that does not know all of it.
//!
//! This is an allow-list. Only the statements that a dump consists of may run; a
//! script with anything else, or with a global setting, is refused, and the
//! error shows the statement: an archive may come from a stranger. `dumps` splits
//! and classifies the statements. Its list of dangers, which is for the dumps of
//! other tools, refuses less and does not replace this policy.
//!
//! What a stored program does when it runs is not examined: it has the rights
//! of its definer.

use base::units::printable;
use base::{Error, Kind, Result};
use dumps::Dialect;
use dumps::script::Script;
use dumps::statement::{self, EXTERNAL_ENGINES, classify};
use dumps::tokens::{Token, Tokens};
use server::Identity;

/// The statements that an archive may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// `SET` of session variables.
    Set,
    /// `USE schema`; never run, because the load chooses the schema itself.
    Use,
    /// `DROP … IF EXISTS`, which a dump has before each CREATE; never run,
    /// because the target is known not to have the object.
    Drop,
    /// `CREATE DATABASE`, `ALTER DATABASE`.
    Database,
    /// `CREATE TABLE`.
    Table,
    /// `CREATE TABLE` with a directory of its own on the server's host; never run.
    Elsewhere,
    /// `CREATE VIEW`.
    View,
    /// `CREATE TRIGGER`.
    Trigger,
    /// `CREATE PROCEDURE`, `FUNCTION`, and `PACKAGE` of MariaDB.
    Routine,
    /// `CREATE EVENT`, `ALTER EVENT`.
    Event,
    /// `CREATE SEQUENCE`, and the `SETVAL` that follows it.
    Sequence,
    /// Only comments.
    Empty,
}

/// One statement of a script.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: Allowed,
    /// Its text.
    pub text: String,
    /// How it is read.
    pub dialect: Dialect,
    /// Names that changed without being asked for, for the user; only where names are mapped.
    pub notes: Vec<String>,
    /// Names that could not be changed, for the user; it is run all the same.
    pub left: Vec<String>,
    /// Whose rights the object had, if it gets others.
    pub definer: Option<rows::accounts::Name>,
    /// Why it must not run: which of its names change is not certain.
    pub unsure: Option<String>,
}

impl Statement {
    /// One that nothing has been changed of.
    pub fn new(kind: Allowed, text: String, dialect: Dialect) -> Self {
        Self {
            kind,
            text,
            dialect,
            notes: Vec::new(),
            left: Vec::new(),
            definer: None,
            unsure: None,
        }
    }

    /// What kind of object a statement creates after the rows, and its name without schema.
    pub fn object(&self) -> Option<(&'static str, String)> {
        // Under ANSI_QUOTES, which packages always have, names are in double quotes.
        self.object_in(self.dialect)
            .or_else(|| self.object_in(Dialect::default()))
    }

    fn object_in(&self, dialect: Dialect) -> Option<(&'static str, String)> {
        use statement::Kind as Found;
        let text = self.text.as_bytes();
        let (word, name) = match classify(text, dialect).kind {
            Found::CreateView(name) => ("view", name),
            Found::CreateRoutine(name) => {
                let kinds = [
                    ("FUNCTION", "function"),
                    ("PROCEDURE", "procedure"),
                    ("PACKAGE", "package"),
                ];
                let is = |t: Token<'_>| kinds.iter().find(|(k, _)| t.is(k));
                // Of two words that are kinds, the first: the other is a name.
                let word = Tokens::new(text, dialect).take(16).find_map(is);
                (word.map_or("routine", |(_, word)| word), name)
            }
            Found::CreateEvent(name) => ("event", name),
            Found::CreateTrigger { trigger, .. } => ("trigger", trigger),
            _ => return None,
        };
        Some((word, name.name))
    }
}

/// The statements of a file; an error if it has one that no dump contains.
#[cfg(test)]
pub fn statements(file: &str, text: &str) -> Result<Vec<Statement>> {
    statements_in(None, file, text)
}

/// The same for a file of this schema. Servers show a trigger as it was typed, so the schema may
/// be before its name.
pub fn statements_in(schema: Option<&str>, file: &str, text: &str) -> Result<Vec<Statement>> {
    let mut out = Vec::new();
    let mut script = Script::new(text.as_bytes()).allow_unterminated(true);
    loop {
        let (statement, dialect, last) = match script.next() {
            Ok(None) => break,
            Ok(Some(s)) => (s.text, s.dialect, false),
            // A string or comment is never closed. The target decides about it: a routine in
            // another language may contain a single quote.
            Err(dumps::Error::UnexpectedEnd { offset, .. }) => {
                let rest = text.as_bytes().get(offset as usize..).unwrap_or_default();
                (rest.trim_ascii().to_vec(), script.dialect(), true)
            }
            Err(e) => {
                return Err(Error::new(
                    Kind::Archive,
                    printable(&format!("{file}: {e}")),
                ));
            }
        };
        let text = String::from_utf8_lossy(&statement).into_owned();
        let kind = allowed(text.as_bytes(), dialect, schema).ok_or_else(|| {
            let start: String = text.chars().take(80).collect();
            Error::new(
                Kind::Archive,
                format!(
                    "{file} holds a statement that no dump has: {}",
                    printable(start.trim())
                ),
            )
            .hint("leave the object out with --exclude-tables, or, if you trust it, take the statement out of the file and run it yourself")
        })?;
        if kind != Allowed::Empty {
            out.push(Statement::new(kind, text, dialect));
        }
        if last {
            break;
        }
    }
    Ok(out)
}

/// Keywords that give a SET an effect beyond the session, or make it another statement.
const NOT_IN_SET: [&str; 11] = [
    "GLOBAL",
    "PERSIST",
    "PERSIST_ONLY",
    "PASSWORD",
    "ROLE",
    "STATEMENT",
    "RESOURCE",
    "SELECT",
    "INTO",
    "FOR",
    "DEFAULT_ROLE",
];

/// Kinds of objects that are created and never replaced; a view replaces its placeholder.
const NOT_REPLACED: [&str; 9] = [
    "DATABASE",
    "SCHEMA",
    "TABLE",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "PACKAGE",
    "EVENT",
    "SEQUENCE",
];

/// The kind of a statement; `None` if it may not run.
///
/// An object must be created in the schema that the load has chosen, so its name
/// may not be qualified. Only the name of a trigger may be, with this schema.
fn allowed(text: &[u8], dialect: Dialect, schema: Option<&str>) -> Option<Allowed> {
    use statement::Kind as Found;
    let mut tokens = Tokens::new(text, dialect);
    let Some(first) = tokens.next() else {
        return Some(Allowed::Empty);
    };
    let rest = tokens;
    let second = tokens.next();
    let second_is = |word: &str| second.is_some_and(|t| t.is(word));
    let create = first.is("CREATE");
    let found = classify(text, dialect);
    let kind = match &found.kind {
        _ if first.is("DROP") => Allowed::Drop,
        Found::Set(_) => Allowed::Set,
        Found::Use(_) => Allowed::Use,
        Found::CreateDatabase(_) => Allowed::Database,
        Found::AlterDatabase(_) if second_is("DATABASE") || second_is("SCHEMA") => {
            Allowed::Database
        }
        Found::CreateTable(name) if name.schema.is_none() => Allowed::Table,
        Found::CreateView(name) if name.schema.is_none() => Allowed::View,
        Found::CreateRoutine(name) if name.schema.is_none() => Allowed::Routine,
        Found::CreateEvent(name) if create && name.schema.is_none() => Allowed::Event,
        Found::CreateEvent(_) if !create && second_is("EVENT") => Allowed::Event,
        Found::CreateTrigger { trigger, .. }
            if trigger.schema.is_none() || schema.is_some_and(|s| is_trigger_of(rest, s)) =>
        {
            Allowed::Trigger
        }
        Found::Sequence(name) if create && name.schema.is_none() => Allowed::Sequence,
        Found::Sequence(_) if is_setval(rest) => Allowed::Sequence,
        _ => return None,
    };
    let mut before_object = rest.take_while(|t| !NOT_REPLACED.iter().any(|w| t.is(w)));
    if create && kind != Allowed::View && before_object.any(|t| t.is("OR")) {
        return None;
    }
    // The only danger of a routine is that it is a loadable function.
    let outside = |danger| kind == Allowed::Routine || danger == statement::EXTERNAL_ENGINE;
    if found.danger.is_some_and(outside) {
        return None;
    }
    // A script can make the splitter believe in an sql_mode that the target does not have. So a
    // statement must be harmless in both readings.
    let both = [dialect, Dialect::default()];
    let harmless = both.iter().all(|d| !has_forbidden_words(kind, text, *d));
    let elsewhere = kind == Allowed::Table && both.iter().any(|d| has_directory(text, *d));
    harmless.then_some(if elsewhere { Allowed::Elsewhere } else { kind })
}

/// Whether a definition says where on the server's host the table, or a partition of it, shall be.
fn has_directory(text: &[u8], dialect: Dialect) -> bool {
    let words = keywords(text, dialect);
    words.iter().any(|w| w.eq_ignore_ascii_case("DIRECTORY"))
}

/// Whether a statement of this kind has keywords that no dump needs in it.
fn has_forbidden_words(kind: Allowed, text: &[u8], dialect: Dialect) -> bool {
    let words = keywords(text, dialect);
    let has = |word: &str| words.iter().any(|w| w.eq_ignore_ascii_case(word));
    match kind {
        // Only session variables, and only simple values: no call, no subquery.
        Allowed::Set => {
            Tokens::new(text, dialect).any(|t| t == Token::Symbol(b'('))
                || NOT_IN_SET.into_iter().any(has)
                || words.iter().any(|w| {
                    let w = w.to_ascii_uppercase();
                    w.starts_with("@@GLOBAL") || w.starts_with("@@PERSIST")
                })
        }
        Allowed::Table => has("SELECT") || EXTERNAL_ENGINES.into_iter().any(has),
        // A loadable function is code from a shared library on the server's host.
        Allowed::Routine => has("SONAME") && !has("BEGIN") && !has("RETURN"),
        _ => false,
    }
}

/// All words of a statement that may be keywords, and the names of its variables. The character
/// set decides which other characters belong to a word, so every other character ends one here.
fn keywords(text: &[u8], dialect: Dialect) -> Vec<String> {
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'@');
    Tokens::new(text, dialect)
        .filter_map(|token| match token {
            Token::Word(word) | Token::Variable(word) => Some(word),
            Token::Text(_) | Token::Name(_) | Token::Symbol(_) => None,
        })
        .flat_map(|word| word.split(move |b| !part(b)))
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// Whether it is `SETVAL(name, number[, number[, number]])` and nothing more.
fn is_setval(tokens: Tokens<'_>) -> bool {
    let tokens: Vec<Token<'_>> = tokens.collect();
    let [
        call,
        Token::Symbol(b'('),
        Token::Name(_),
        middle @ ..,
        Token::Symbol(b')'),
    ] = &tokens[..]
    else {
        return false;
    };
    let number = |t: &Token<'_>| match t {
        Token::Word(w) => w.iter().all(u8::is_ascii_digit),
        other => matches!(other, Token::Symbol(b',' | b'-')),
    };
    call.is("SETVAL") && middle.iter().all(number)
}

/// Whether this schema is before the name of a trigger; without quotes it may differ in case.
fn is_trigger_of(mut tokens: Tokens<'_>, schema: &str) -> bool {
    if !tokens.any(|t| t.is("TRIGGER")) {
        return false;
    }
    tokens.accept_all(&["IF", "NOT", "EXISTS"]);
    match tokens.next() {
        Some(Token::Word(w)) => w.eq_ignore_ascii_case(schema.as_bytes()),
        Some(token) => token.name().is_some_and(|name| name == schema),
        None => false,
    }
}

/// Removes `IF NOT EXISTS` from a `CREATE TABLE`: a table that already exists
/// does not belong to this load, and must be an error.
pub fn must_create(text: &str) -> String {
    const WORDS: &str = " IF NOT EXISTS ";
    match text.find(WORDS) {
        // Only between the keyword and the name, not inside the definition.
        Some(at) if !text[..at].contains(['`', '(', '\'', '"']) => {
            format!("{} {}", &text[..at], &text[at + WORDS.len()..])
        }
        _ => text.to_owned(),
    }
}

/// A `SET` of a script without the modes and collations that the target does not know, and a note
/// of the change.
pub fn adapt_set(text: &str, target: &Identity) -> (String, Option<String>) {
    let lower = text.to_ascii_lowercase();
    if let Some(at) = lower.find("collation_connection") {
        let value = &text[at + "collation_connection".len()..];
        let value = value
            .trim_start()
            .strip_prefix('=')
            .unwrap_or_default()
            .trim_start();
        let end = value
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(value.len());
        let known = server::ddl::collation_for(target, &value[..end]);
        if end > 0 && known != value[..end] {
            let note = format!(
                "collation {} becomes {known}, which the target knows",
                &value[..end]
            );
            return (text.replacen(&value[..end], &known, 1), Some(note));
        }
        return (text.to_owned(), None);
    }
    let Some(at) = lower.find("sql_mode") else {
        return (text.to_owned(), None);
    };
    let Some(open) = text[at..].find('\'').map(|i| at + i + 1) else {
        return (text.to_owned(), None);
    };
    let Some(close) = text[open..].find('\'').map(|i| open + i) else {
        return (text.to_owned(), None);
    };
    let (mode, dropped) = server::ddl::sql_mode_for(target, &text[open..close]);
    if dropped.is_empty() {
        return (text.to_owned(), None);
    }
    let note = format!(
        "sql_mode without {}, which the target does not know",
        dropped.join(", ")
    );
    (
        format!("{}{mode}{}", &text[..open], &text[close..]),
        Some(note),
    )
}

/// An `ALTER DATABASE … COLLATE` with a collation that the target knows, and a note of the change.
pub fn adapt_database(text: &str, target: &Identity) -> (String, Option<String>) {
    const WORD: &str = " COLLATE ";
    let Some(at) = text.rfind(WORD).map(|at| at + WORD.len()) else {
        return (text.to_owned(), None);
    };
    let name = text[at..].trim_end();
    let known = server::ddl::collation_for(target, name);
    if known == name {
        return (text.to_owned(), None);
    }
    let note = format!("collation {name} becomes {known}, which the target knows");
    (format!("{}{known}", &text[..at]), Some(note))
}

/// Whether a `CREATE EVENT` says that the event is enabled.
pub fn is_enabled(event: &str) -> bool {
    let words = Tokens::new(event.as_bytes(), Dialect::default());
    let mut before_body = words.take_while(|t| !t.is("DO"));
    before_body.all(|t| !t.is("DISABLE"))
}

/// A `CREATE EVENT` as a replica has it: not run there, because what it does on the source comes with the log.
pub fn for_replica(event: &str) -> String {
    let mut words = Tokens::new(event.as_bytes(), Dialect::default());
    while let Some(word) = words.next() {
        if word.is("DO") {
            break;
        }
        if word.is("ENABLE") {
            let end = words.position();
            let begin = end - "ENABLE".len();
            // MySQL has another word for it since 8.3, and takes this one.
            return format!("{}DISABLE ON SLAVE{}", &event[..begin], &event[end..]);
        }
    }
    event.to_owned()
}

/// The engine that a `CREATE TABLE` names, in capitals.
pub fn engine(table: &str) -> Option<String> {
    let mut words = Tokens::new(table.as_bytes(), Dialect::default());
    while let Some(word) = words.next() {
        if word.is("ENGINE") {
            return words.find_map(|t| match t {
                Token::Word(w) => Some(String::from_utf8_lossy(w).to_ascii_uppercase()),
                _ => None,
            });
        }
    }
    None
}

/// `CREATE … VIEW` as `CREATE OR REPLACE … VIEW`, to replace the placeholder.
pub fn or_replace(text: &str) -> String {
    let mut words = Tokens::new(text.as_bytes(), Dialect::default());
    if words.nth(1).is_some_and(|w| w.is("OR")) {
        return text.to_owned();
    }
    match text.to_ascii_uppercase().find("CREATE") {
        Some(at) => format!("{} OR REPLACE{}", &text[..at + 6], &text[at + 6..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
