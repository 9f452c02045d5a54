//! The SQL files of an archive, statement by statement: which may run at all,
//! and what is changed for a target that speaks an older or newer dialect.
//!
//! Only the statements that a dump consists of are run. A script that asks for
//! anything else, or for a global setting, is refused by name: an archive may
//! come from a stranger.

use base::units::printable;
use base::{Error, Kind, Result};
use dumps::statement::FOREIGN_ENGINES;
use server::Identity;

/// What a statement is, as far as loading needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// `SET` of session variables.
    Set,
    /// `USE schema`: the loader chooses the schema itself.
    Use,
    /// `DROP … IF EXISTS`, which a dump writes before each CREATE; never run,
    /// since the target is known not to hold the object.
    Drop,
    /// `CREATE DATABASE`, `ALTER DATABASE`.
    Database,
    /// `CREATE TABLE`.
    Table,
    /// `CREATE VIEW`.
    View,
    /// `CREATE TRIGGER`.
    Trigger,
    /// `CREATE PROCEDURE` or `FUNCTION`, and MariaDB's packages.
    Routine,
    /// `CREATE EVENT`, `ALTER EVENT`.
    Event,
    /// `CREATE SEQUENCE` and the `SETVAL` that goes with it.
    Sequence,
    /// Nothing but comments.
    Empty,
}

/// One statement of a script.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it is.
    pub sort: Sort,
    /// Its text.
    pub text: String,
}

/// The statements of a file; refuses what no dump contains.
pub fn statements(file: &str, text: &str) -> Result<Vec<Statement>> {
    statements_in(None, file, text)
}

/// The same of a file that is about this schema. Servers show a trigger as it was typed, so its schema may be before its name.
pub fn statements_in(schema: Option<&str>, file: &str, text: &str) -> Result<Vec<Statement>> {
    let mut out = Vec::new();
    for statement in server::sql::statements(text.as_bytes(), server::sql::Dialect::default()) {
        let text = bare(&String::from_utf8_lossy(statement)).to_owned();
        let sort = classify(&text, schema).ok_or_else(|| {
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
        if sort != Sort::Empty {
            out.push(Statement { sort, text });
        }
    }
    Ok(out)
}

/// A statement without the comments before it: they may hold anything, quotes
/// that are never closed included.
fn bare(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let line = rest.starts_with('#')
            || rest.starts_with("-- ")
            || rest.starts_with("--\n")
            || rest == "--";
        let end = if line {
            rest.find('\n').map_or(rest.len(), |i| i + 1)
        } else if rest.starts_with("/*") && !rest.starts_with("/*!") && !rest.starts_with("/*M!") {
            rest.find("*/").map_or(rest.len(), |i| i + 2)
        } else {
            return rest;
        };
        rest = rest[end..].trim_start();
    }
}

/// `CREATE TABLE` without `IF NOT EXISTS`: a table that is there already is
/// somebody else's, and must be an error.
pub fn must_create(text: &str) -> String {
    const WORDS: &str = " IF NOT EXISTS ";
    match text.find(WORDS) {
        // Only between the keyword and the name, never inside the definition.
        Some(at) if !text[..at].contains(['`', '(', '\'', '"']) => {
            format!("{} {}", &text[..at], &text[at + WORDS.len()..])
        }
        _ => text.to_owned(),
    }
}

/// The first words of a statement in upper case, comments left out, version comments looked into.
fn words(text: &str, most: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while out.len() < most {
        rest = rest.trim_start();
        if let Some(inner) = rest
            .strip_prefix("/*!")
            .or_else(|| rest.strip_prefix("/*M!"))
        {
            rest = inner.trim_start_matches(|c: char| c.is_ascii_digit());
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |i| &rest[i + 2..]);
        } else if let Some(tail) = rest.strip_prefix("*/") {
            rest = tail;
        } else if rest.starts_with('#')
            || rest.starts_with("-- ")
            || rest.starts_with("--\n")
            || rest == "--"
        {
            rest = rest.find('\n').map_or("", |i| &rest[i + 1..]);
        } else if rest.is_empty() {
            break;
        } else if let Some(quote) = rest
            .chars()
            .next()
            .filter(|c| matches!(c, '`' | '\'' | '"'))
        {
            let end = quoted_end(rest, quote);
            out.push(rest[..end].to_owned());
            rest = &rest[end..];
        } else {
            let end = rest
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '@'))
                .unwrap_or(rest.len())
                .max(rest.chars().next().map_or(1, char::len_utf8));
            out.push(rest[..end].to_ascii_uppercase());
            rest = &rest[end..];
        }
    }
    out
}

/// Behind the closing quote of what begins with `quote`; a doubled quote and,
/// except in names, a backslash keep it open.
fn quoted_end(text: &str, quote: char) -> usize {
    let bytes = text.as_bytes();
    let mut i = 1;
    while i < bytes.len() {
        if bytes[i] == b'\\' && quote != '`' {
            i += 1;
        } else if bytes[i] == quote as u8 {
            if bytes.get(i + 1) != Some(&(quote as u8)) {
                return i + 1;
            }
            i += 1;
        }
        i += 1;
    }
    text.len()
}

/// Whether a word is this name; one without quotes has lost its case.
fn is_name(word: &str, name: &str) -> bool {
    match word.strip_prefix('`').and_then(|w| w.strip_suffix('`')) {
        Some(quoted) => quoted.replace("``", "`") == name,
        None => word.eq_ignore_ascii_case(name),
    }
}

/// Words that make a SET one of the server, or more than a SET.
const NOT_IN_SET: [&str; 12] = [
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
    "(",
];

fn classify(text: &str, schema: Option<&str>) -> Option<Sort> {
    let words = words(text, usize::MAX);
    let word = |i: usize| words.get(i).map(String::as_str).unwrap_or_default();
    match word(0) {
        "" => Some(Sort::Empty),
        "USE" => Some(Sort::Use),
        "SET" => {
            // Only session variables, and only plain values: no call, no sub-select.
            let other = words.iter().any(|w| {
                NOT_IN_SET.contains(&w.as_str())
                    || w.starts_with("@@GLOBAL")
                    || w.starts_with("@@PERSIST")
            });
            (!other).then_some(Sort::Set)
        }
        "DROP" => Some(Sort::Drop),
        "ALTER" if matches!(word(1), "DATABASE" | "SCHEMA") => Some(Sort::Database),
        "ALTER" if word(1) == "EVENT" => Some(Sort::Event),
        "DO" | "SELECT" if is_setval(&words[1..]) => Some(Sort::Sequence),
        "CREATE" => create(&words, schema),
        _ => None,
    }
}

/// `SETVAL(name, number[, number[, number]])` and nothing behind it.
fn is_setval(words: &[String]) -> bool {
    let [call, open, name, middle @ .., close] = words else {
        return false;
    };
    let number = |w: &String| w == "," || w == "-" || w.bytes().all(|b| b.is_ascii_digit());
    call == "SETVAL"
        && open == "("
        && close == ")"
        && name.starts_with('`')
        && middle.iter().all(number)
}

/// A CREATE of an object of the script's own schema: the name stands alone (that of a trigger may have that schema before it),
/// and nothing that exists is replaced (a view replaces its own stand-in).
fn create(words: &[String], schema: Option<&str>) -> Option<Sort> {
    let (at, sort) = words.iter().enumerate().skip(1).find_map(|(i, w)| {
        let sort = match w.as_str() {
            "DATABASE" | "SCHEMA" => Sort::Database,
            "TABLE" => Sort::Table,
            "VIEW" => Sort::View,
            "TRIGGER" => Sort::Trigger,
            "PROCEDURE" | "FUNCTION" | "PACKAGE" => Sort::Routine,
            "EVENT" => Sort::Event,
            "SEQUENCE" => Sort::Sequence,
            _ => return None,
        };
        Some((i, sort))
    })?;
    if sort != Sort::View && words[1..at].iter().any(|w| w == "OR") {
        return None;
    }
    let mut rest = words[at + 1..]
        .iter()
        .skip_while(|w| matches!(w.as_str(), "IF" | "NOT" | "EXISTS" | "BODY"));
    let name = rest.next()?;
    let behind = rest.next().map(String::as_str);
    let own = sort == Sort::Trigger && schema.is_some_and(|schema| is_name(name, schema));
    if sort != Sort::Database && behind == Some(".") && !own {
        return None;
    }
    let has = |w: &str| words.iter().any(|x| x == w);
    match sort {
        // A loadable function is a shared library of the server's host.
        Sort::Routine if has("SONAME") && !has("BEGIN") && !has("RETURN") => None,
        Sort::Table
            if has("DIRECTORY") || words.iter().any(|w| FOREIGN_ENGINES.contains(&w.as_str())) =>
        {
            None
        }
        Sort::Table if has("SELECT") => None,
        _ => Some(sort),
    }
}

/// A `SET` of a script without the modes and collations that the target does not know; names what was changed.
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

/// `CREATE … VIEW` as `CREATE OR REPLACE … VIEW`, to take the place of the stand-in.
pub fn or_replace(text: &str) -> String {
    let words = words(text, 3);
    if words.get(1).is_some_and(|w| w == "OR") {
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
        let sort = |t: &str| classify(t, None);
        assert_eq!(
            sort("/*!50503 SET character_set_client = utf8mb4 */"),
            Some(Sort::Set)
        );
        assert_eq!(
            sort("-- x\nCREATE TABLE IF NOT EXISTS `a` (b int)"),
            Some(Sort::Table)
        );
        assert_eq!(
            sort(
                "/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`a`@`%` SQL SECURITY DEFINER */ /*!50001 VIEW `v` AS select 1 */"
            ),
            Some(Sort::View)
        );
        assert_eq!(
            sort("CREATE DEFINER=`r`@`%` TRIGGER t AFTER INSERT ON `x` FOR EACH ROW SET @a = 1"),
            Some(Sort::Trigger)
        );
        assert_eq!(
            sort("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `a`"),
            Some(Sort::Database)
        );
        assert_eq!(sort("-- nothing"), Some(Sort::Empty));
        assert_eq!(sort("DO SETVAL(`s`, -12, 0)"), Some(Sort::Sequence));
        assert_eq!(
            sort("CREATE TABLE `GLOBAL` (`SELECT` int DEFAULT 1 COMMENT 'DIRECTORY (SELECT')"),
            Some(Sort::Table)
        );
        assert_eq!(
            sort("SET @saved = @@character_set_client, time_zone = '+00:00'"),
            Some(Sort::Set)
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
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')",
        ] {
            assert_eq!(sort(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_trigger_may_name_its_own_schema() {
        let sort = |t: &str| classify(t, Some("a`b"));
        for good in ["`a``b`.tr", "tr", "`a``b` . `tr`"] {
            let text = format!("CREATE TRIGGER {good} AFTER INSERT ON t FOR EACH ROW SET @a = 1");
            assert_eq!(sort(&text), Some(Sort::Trigger), "{good}");
        }
        for bad in ["mysql.tr", "`a`.tr", "`A``B`.tr"] {
            let text = format!("CREATE TRIGGER {bad} AFTER INSERT ON t FOR EACH ROW SET @a = 1");
            assert_eq!(sort(&text), None, "{bad}");
        }
        assert_eq!(sort("CREATE VIEW `a``b`.v AS SELECT 1"), None);
        let shop = |t: &str| classify(t, Some("shop"));
        assert_eq!(
            shop("CREATE TRIGGER shop.tr BEFORE INSERT ON shop.t FOR EACH ROW SET @a = 1"),
            Some(Sort::Trigger)
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
    fn a_view_replaces_its_stand_in() {
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
