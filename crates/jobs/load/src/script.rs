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
}

/// The statements of a file; an error if it has one that no dump contains.
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
            out.push(Statement { kind, text });
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
    harmless.then_some(kind)
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
        Allowed::Table => {
            has("DIRECTORY") || has("SELECT") || EXTERNAL_ENGINES.into_iter().any(has)
        }
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
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dump_has() {
        let kind_of = |t: &str| allowed(t.as_bytes(), Dialect::default(), None);
        assert_eq!(
            kind_of("/*!50503 SET character_set_client = utf8mb4 */"),
            Some(Allowed::Set)
        );
        assert_eq!(
            kind_of("-- x\nCREATE TABLE IF NOT EXISTS `a` (b int)"),
            Some(Allowed::Table)
        );
        assert_eq!(
            kind_of(
                "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`a`@`%` SQL SECURITY DEFINER */ /*!50001 VIEW `v` AS select 1 */"
            ),
            Some(Allowed::View)
        );
        assert_eq!(
            kind_of("CREATE DEFINER=`r`@`%` TRIGGER t AFTER INSERT ON `x` FOR EACH ROW SET @a = 1"),
            Some(Allowed::Trigger)
        );
        assert_eq!(
            kind_of("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `a`"),
            Some(Allowed::Database)
        );
        assert_eq!(kind_of("-- nothing"), Some(Allowed::Empty));
        assert_eq!(kind_of("DO SETVAL(`s`, -12, 0)"), Some(Allowed::Sequence));
        assert_eq!(
            kind_of("CREATE TABLE `GLOBAL` (`SELECT` int DEFAULT 1 COMMENT 'DIRECTORY (SELECT')"),
            Some(Allowed::Table)
        );
        assert_eq!(
            kind_of("SET @saved = @@character_set_client, time_zone = '+00:00'"),
            Some(Allowed::Set)
        );
        for bad in [
            "SET GLOBAL x = 1",
            "SET @@GLOBAL.x = 1",
            "SET x = 1, PERSIST y = 2",
            "INSTALL PLUGIN p SONAME 'x.so'",
            "GRANT ALL ON *.* TO x",
            "LOAD DATA INFILE '/etc/passwd' INTO TABLE t",
            "CREATE USER x",
            "DELETE FROM t",
            "CREATE FUNCTION f RETURNS STRING SONAME 'x.so'",
            "SELECT 1 INTO OUTFILE 'x'",
            "/*!50000 SET GLOBAL x=1*/",
            "SHUTDOWN",
            "CREATE EVENT other.e ON SCHEDULE EVERY 1 DAY DO SET @a = 1",
            "CREATE TABLE other.t (a int)",
            "CREATE TABLE IF other.t (a int)",
            "CREATE OR REPLACE TABLE t (a int)",
            "CREATE TABLE t (a int) DATA DIRECTORY = '/x'",
            "CREATE TABLE t (a int) ENGINE = CONNECT",
            "CREATE TABLE t (a int) ENGINE = 'federated'",
            "CREATE TABLE t SELECT * FROM mysql.user",
            "CREATE TABLE t (a int) \u{3000}SELECT 1",
            "CREATE FUNCTION f RETURNS STRING SONAME 'x.so' /*!99999 BEGIN */",
            "SET x = f(1)",
            "SET x = @@global.y",
            "SET @a = 1 /*/ ' */, GLOBAL b = 2 /* ' */",
            "DO SETVAL(mysql.`s`, 1)",
            "DO SETVAL(`s`, 1), SLEEP(9)",
            "ALTER SEQUENCE s RESTART",
            "ALTER TABLE t ADD a int",
            "ALTER DEFINER=x EVENT e DISABLE",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')",
        ] {
            assert_eq!(kind_of(bad), None, "{bad}");
        }
    }

    /// The target may be in another mode than the script seems to set. If the two modes read a
    /// statement differently, it must be harmless in both.
    #[test]
    fn a_mode_hides_nothing() {
        let hidden = [
            // A string up to the last quote, or one with a backslash and then a setting.
            (
                "NO_BACKSLASH_ESCAPES",
                r"SET @a = '\', GLOBAL b = 2, @c = ' '",
            ),
            (
                "ANSI_QUOTES",
                r#"SET @a = "x\" , @b = " , GLOBAL y = 1, @c = "z""#,
            ),
            ("NO_BACKSLASH_ESCAPES", r"SET @a = '\' , @b = ' GLOBAL \'"),
        ];
        for (mode, set) in hidden {
            let script = format!("SET sql_mode = '{mode}';\n{set};\n");
            let error = statements("x", &script).unwrap_err();
            assert_eq!(error.kind, Kind::Archive, "{script}");
        }
        let body = "SET sql_mode = 'ANSI_QUOTES';CREATE DEFINER=\"a\"@\"b\" PROCEDURE \"p\"() SELECT '\\';'";
        assert_eq!(statements("x", body).unwrap()[1].kind, Allowed::Routine);
    }

    /// A routine in another language may contain a single quote: the target refuses it, and the
    /// rest loads.
    #[test]
    fn the_target_decides_about_unclosed_strings() {
        let kinds = |text: &str| -> Vec<Allowed> {
            let list = statements("x", text).unwrap();
            list.into_iter().map(|s| s.kind).collect()
        };
        let text = "USE a;\nCREATE FUNCTION `f`() RETURNS int LANGUAGE JAVASCRIPT AS $$ // don't\n $$;\nUSE b;";
        assert_eq!(kinds(text), [Allowed::Use, Allowed::Routine]);
        assert_eq!(kinds("USE a;\n/* b"), [Allowed::Use]);
        assert!(statements("x", "DELETE FROM t WHERE a = 'b").is_err());
    }

    #[test]
    fn a_trigger_may_name_its_own_schema() {
        let kind_of = |t: &str| allowed(t.as_bytes(), Dialect::default(), Some("a`b"));
        for good in ["`a``b`.tr", "tr", "`a``b` . `tr`"] {
            let text = format!("CREATE TRIGGER {good} AFTER INSERT ON t FOR EACH ROW SET @a = 1");
            assert_eq!(kind_of(&text), Some(Allowed::Trigger), "{good}");
        }
        for bad in ["mysql.tr", "`a`.tr", "`A``B`.tr"] {
            let text = format!("CREATE TRIGGER {bad} AFTER INSERT ON t FOR EACH ROW SET @a = 1");
            assert_eq!(kind_of(&text), None, "{bad}");
        }
        assert_eq!(kind_of("CREATE VIEW `a``b`.v AS SELECT 1"), None);
        let shop = |t: &str| allowed(t.as_bytes(), Dialect::default(), Some("shop"));
        assert_eq!(
            shop("CREATE TRIGGER shop.tr BEFORE INSERT ON shop.t FOR EACH ROW SET @a = 1"),
            Some(Allowed::Trigger)
        );
    }

    #[test]
    fn comments_before_a_statement_are_not_part_of_it() {
        let s = statements(
            "x",
            "-- Database: b`t\n--\n\nCREATE TABLE IF NOT EXISTS `a` (b int);",
        )
        .unwrap();
        assert_eq!(s.len(), 1);
        assert_eq!(must_create(&s[0].text), "CREATE TABLE `a` (b int)");
        assert_eq!(
            must_create("CREATE TABLE `a IF NOT EXISTS b` (c int)"),
            "CREATE TABLE `a IF NOT EXISTS b` (c int)"
        );
    }

    #[test]
    fn a_view_replaces_its_placeholder() {
        assert_eq!(
            or_replace("CREATE VIEW `v` AS select 1"),
            "CREATE OR REPLACE VIEW `v` AS select 1"
        );
        assert_eq!(
            or_replace("create or replace view v as select 1"),
            "create or replace view v as select 1"
        );
    }
}
