//! The objects that the SQL files of an archive define. What a server shows is written in the same form first, so that both
//! sides are read by this.

use dumps::script::Script;
use dumps::statement::{Kind, Value, classify};
use dumps::tokens::{Token, Tokens};
use dumps::{Dialect, Error};
use server::ddl::CreateTable;
use std::collections::BTreeMap;

/// Sorts of objects, in the order in which differences are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    Schema,
    Sequence,
    Table,
    View,
    Trigger,
    Function,
    Procedure,
    Package,
    PackageBody,
    Event,
}

impl Sort {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Sort::Schema => "schema",
            Sort::Sequence => "sequence",
            Sort::Table => "table",
            Sort::View => "view",
            Sort::Trigger => "trigger",
            Sort::Function => "function",
            Sort::Procedure => "procedure",
            Sort::Package => "package",
            Sort::PackageBody => "package body",
            Sort::Event => "event",
        }
    }
}

/// A definition, line by line, so that two can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// Of a table: head, columns in their order, keys and constraints in the order of their text, tail. Else as it is.
    pub lines: Vec<String>,
    /// The settings that it was made with, each as `name = value`.
    pub settings: Vec<String>,
}

/// The name of a setting that is no variable.
const COLLATION: &str = "collation of the schema";

/// What a file of definitions has. A statement that is none, and what it sets, is passed over.
pub fn objects(text: &str) -> Result<Vec<(Sort, String, Definition)>, Error> {
    let mut out = Vec::new();
    let mut settings: BTreeMap<String, String> = BTreeMap::new();
    let mut script = Script::new(text.as_bytes()).allow_unterminated(true);
    loop {
        let (statement, dialect, last) = match script.next() {
            Ok(None) => break,
            Ok(Some(s)) => (s.text, s.dialect, false),
            // A routine in another language may hold a single quote.
            Err(Error::UnexpectedEnd { offset, .. }) => {
                let rest = text.as_bytes().get(offset as usize..).unwrap_or_default();
                (rest.trim_ascii().to_vec(), script.dialect(), true)
            }
            Err(e) => return Err(e),
        };
        match classify(&statement, dialect).kind {
            Kind::Set(list) => {
                for a in list {
                    match a.value {
                        // Put back after the object.
                        Value::User(_) | Value::Variable(_) => settings.remove(&a.name),
                        Value::Text(v) | Value::Number(v) | Value::Expression(v) => {
                            settings.insert(a.name, v)
                        }
                        Value::Default => settings.insert(a.name, "default".to_owned()),
                    };
                }
            }
            // Once before an object, and once after it.
            Kind::AlterDatabase(_) => {
                if settings.remove(COLLATION).is_none() {
                    let word = statement.rsplit(|b| *b == b' ').next().unwrap_or_default();
                    let word = String::from_utf8_lossy(word).into_owned();
                    settings.insert(COLLATION.to_owned(), word);
                }
            }
            kind => {
                if let Some((sort, name)) = object(&kind, &statement, dialect) {
                    let text = String::from_utf8_lossy(&statement);
                    let definition = Definition {
                        lines: lines(sort, text.trim()),
                        settings: settings.iter().map(|(n, v)| format!("{n} = {v}")).collect(),
                    };
                    out.push((sort, name, definition));
                }
            }
        }
        if last {
            break;
        }
    }
    Ok(out)
}

fn object(kind: &Kind, statement: &[u8], dialect: Dialect) -> Option<(Sort, String)> {
    let mut tokens = Tokens::new(statement, dialect);
    if !tokens.next()?.is("CREATE") {
        return None;
    }
    match kind {
        Kind::CreateDatabase(name) => Some((Sort::Schema, name.clone())),
        Kind::CreateTable(name) => Some((Sort::Table, name.name.clone())),
        Kind::Sequence(name) => Some((Sort::Sequence, name.name.clone())),
        Kind::CreateView(name) => Some((Sort::View, name.name.clone())),
        Kind::CreateEvent(name) => Some((Sort::Event, name.name.clone())),
        Kind::CreateTrigger { trigger, .. } => Some((Sort::Trigger, trigger.name.clone())),
        Kind::CreateRoutine(name) => {
            let all: Vec<Token<'_>> = tokens.take(16).collect();
            let words = ["FUNCTION", "PROCEDURE", "PACKAGE"];
            let at = all.iter().position(|t| words.iter().any(|w| t.is(w)))?;
            let sort = match (all.get(at)?, all.get(at + 1)) {
                (t, _) if t.is("FUNCTION") => Sort::Function,
                (t, _) if t.is("PROCEDURE") => Sort::Procedure,
                (_, Some(next)) if next.is("BODY") => Sort::PackageBody,
                _ => Sort::Package,
            };
            Some((sort, name.name.clone()))
        }
        _ => None,
    }
}

/// What a dump adds to a definition so that it can run twice.
const ADDED: [&str; 2] = ["/*!32312 IF NOT EXISTS*/ ", "IF NOT EXISTS "];

fn lines(sort: Sort, text: &str) -> Vec<String> {
    let mut text = text.to_owned();
    if matches!(sort, Sort::Schema | Sort::Table | Sort::Sequence) {
        for added in ADDED {
            let at = text.find(added).filter(|at| !text[..*at].contains('`'));
            if let Some(at) = at {
                text.replace_range(at..at + added.len(), "");
            }
        }
    }
    let parsed = (sort == Sort::Table).then(|| CreateTable::parse(&text));
    let Some(create) = parsed.flatten() else {
        return text.lines().map(|l| l.trim_end().to_owned()).collect();
    };
    // A column begins with its name; keys may have been added in another order.
    let column = |e: &&&str| e.starts_with('`');
    let columns = create.elements.iter().filter(column);
    let mut keys: Vec<String> = create
        .elements
        .iter()
        .filter(|e| !column(e))
        .map(|e| (*e).to_owned())
        .collect();
    keys.sort();
    let tail = create.tail.lines();
    std::iter::once(create.head.trim_end().to_owned())
        .chain(columns.map(|c| collation_alone(c)))
        .chain(keys)
        .chain(tail.map(|l| without_counter(l.trim_end())))
        .collect()
}

/// A column with its collation alone: MySQL shows the character set beside it, or not, by what the column went through.
fn collation_alone(column: &str) -> String {
    const WORDS: &str = " CHARACTER SET ";
    let Some((before, rest)) = column.split_once(WORDS) else {
        return column.to_owned();
    };
    match rest.split_once(' ') {
        Some((_, after)) if after.starts_with("COLLATE ") => format!("{before} {after}"),
        _ => column.to_owned(),
    }
}

/// Without ` AUTO_INCREMENT=n`, which is no part of how a table is defined.
fn without_counter(tail: &str) -> String {
    const WORD: &str = " AUTO_INCREMENT=";
    // A comment of the table comes after the counter, and may hold the word.
    let comment = tail.find(" COMMENT='").unwrap_or(tail.len());
    match tail.find(WORD).filter(|at| *at < comment) {
        Some(at) => {
            let rest = tail[at + WORD.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{}{rest}", &tail[..at])
        }
        None => tail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::sqlfile::{Header, Program, ProgramKind, schema_sql, table_sql};

    fn of(text: &str) -> Vec<(Sort, String, Definition)> {
        objects(text).expect("definitions")
    }

    fn program(kind: ProgramKind, name: &str, create: &str) -> Program {
        Program {
            kind,
            name: name.to_owned(),
            create: create.to_owned(),
            sql_mode: "ANSI".to_owned(),
            character_set_client: "utf8mb4".to_owned(),
            collation_connection: "utf8mb4_bin".to_owned(),
            database_collation: "latin1_bin".to_owned(),
            time_zone: String::new(),
        }
    }

    #[test]
    fn a_table_without_its_counter_and_with_keys_in_any_order() {
        let header = Header::default();
        let one = "CREATE TABLE `t` (\n  `a` int NOT NULL,\n  PRIMARY KEY (`a`),\n  KEY `x` (`a`),\n  KEY `b` (`a`)\n) ENGINE=InnoDB AUTO_INCREMENT=12 COMMENT='AUTO_INCREMENT=5'";
        let two = "CREATE TABLE `t` (\n  `a` int NOT NULL,\n  PRIMARY KEY (`a`),\n  KEY `b` (`a`),\n  KEY `x` (`a`)\n) ENGINE=InnoDB COMMENT='AUTO_INCREMENT=5'";
        let read = |sql: &str| of(&table_sql(&header, "s", "t", sql));
        assert_eq!(read(one), read(two));
        assert_eq!(read(one)[0].0, Sort::Table);
        assert_ne!(read(one), read(&two.replace("int NOT NULL", "int")));
        let shown = two.replace(
            "int NOT NULL",
            "text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        );
        let other = two.replace("int NOT NULL", "text COLLATE utf8mb4_bin");
        assert_eq!(read(&shown), read(&other));
        // The words in a comment are no counter.
        let tail = read(one)[0].2.lines.last().cloned().unwrap_or_default();
        assert!(tail.ends_with("COMMENT='AUTO_INCREMENT=5'"), "{tail}");
    }

    #[test]
    fn programs_come_with_the_settings_they_were_made_with() {
        let header = Header::default();
        let events = [program(
            ProgramKind::Event,
            "e",
            "CREATE EVENT `e` ON SCHEDULE EVERY 1 DAY DO SELECT 1",
        )];
        let routines = [
            program(
                ProgramKind::Function,
                "f",
                "CREATE FUNCTION `f`() RETURNS int\nRETURN 1 -- one",
            ),
            program(
                ProgramKind::Procedure,
                "f",
                "CREATE PROCEDURE `f`() SELECT 1",
            ),
        ];
        let text = schema_sql(
            &header,
            "s",
            "CREATE DATABASE `s`",
            "utf8mb4_bin",
            &events,
            &routines,
        );
        let all = of(&text);
        let names: Vec<(Sort, &str)> = all.iter().map(|(s, n, _)| (*s, n.as_str())).collect();
        let expected = [
            (Sort::Schema, "s"),
            (Sort::Event, "e"),
            (Sort::Function, "f"),
            (Sort::Procedure, "f"),
        ];
        assert_eq!(names, expected);
        for (_, _, definition) in &all[1..] {
            assert_eq!(
                definition.settings,
                [
                    "character_set_client = utf8mb4",
                    "collation of the schema = latin1_bin",
                    "collation_connection = utf8mb4_bin",
                    "sql_mode = ANSI",
                ]
            );
        }
        assert!(all[0].2.settings.is_empty());
    }
}
