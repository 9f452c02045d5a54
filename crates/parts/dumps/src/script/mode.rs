//! Follows what a script sets: `sql_mode` and the character set decide where
//! the strings of the next statement end, and the client learns them from the
//! server.

use crate::dialect::{Charset, Dialect};
use crate::statement::{Assignment, Scope, Value, assignments};
use std::collections::HashMap;

/// User variables that are kept; a dump needs four.
const KEPT: usize = 64;

/// A statement longer than this sets no mode.
const LONGEST: usize = 16 * 1024;

/// The dialect in force, and those put aside in user variables.
#[derive(Debug, Default)]
pub(super) struct Mode {
    now: Dialect,
    first: Dialect,
    kept: HashMap<String, Dialect>,
}

impl Mode {
    pub(super) fn beginning(first: Dialect) -> Self {
        Mode {
            now: first,
            first,
            kept: HashMap::new(),
        }
    }

    pub(super) fn now(&self) -> Dialect {
        self.now
    }

    pub(super) fn set(&mut self, dialect: Dialect) {
        self.now = dialect;
    }

    /// Takes note of a statement, if it is a SET.
    pub(super) fn follow(&mut self, statement: &[u8]) {
        if statement.len() > LONGEST || !matches!(statement.first(), Some(b's' | b'S' | b'/')) {
            return;
        }
        let Some(list) = assignments(statement, self.now) else {
            return;
        };
        for Assignment { scope, name, value } in list {
            match scope {
                Scope::User => {
                    if let Value::Variable(from) = &value
                        && self.kept.len() < KEPT
                        && matches!(from.as_str(), "sql_mode" | "character_set_client")
                    {
                        self.kept.insert(name, self.now);
                    }
                }
                Scope::Session => self.session(&name, &value),
                Scope::Global | Scope::Persist => {}
            }
        }
    }

    fn session(&mut self, name: &str, value: &Value) {
        match name {
            "sql_mode" => {
                let then = match value {
                    Value::Text(mode) => self.now.with_mode(mode),
                    Value::User(kept) => *self.kept.get(kept).unwrap_or(&self.first),
                    Value::Default => Dialect::default(),
                    // `SET sql_mode = CONCAT(@@sql_mode, ',ANSI')` adds.
                    Value::Expression(text) => {
                        let upper = text.to_ascii_uppercase();
                        Dialect {
                            no_backslash_escapes: self.now.no_backslash_escapes
                                || upper.contains("NO_BACKSLASH_ESCAPES"),
                            ansi_quotes: self.now.ansi_quotes || upper.contains("ANSI"),
                            ..self.now
                        }
                    }
                    Value::Number(_) | Value::Variable(_) => return,
                };
                self.now.no_backslash_escapes = then.no_backslash_escapes;
                self.now.ansi_quotes = then.ansi_quotes;
            }
            "names" | "character_set_client" => {
                self.now.charset = match value {
                    Value::Text(name) => Charset::named(name),
                    Value::User(kept) => self.kept.get(kept).unwrap_or(&self.first).charset,
                    Value::Default => self.first.charset,
                    _ => None,
                };
            }
            _ => {}
        }
    }
}
