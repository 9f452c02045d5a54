//! Follows the settings of a script: `sql_mode` and the character set decide
//! where the strings of the next statement end. A client learns them from the
//! server; here the SET statements are all there is.

use crate::dialect::{Charset, Dialect};
use crate::statement::{Assignment, Scope, Value, assignments};
use std::collections::HashMap;

/// Most user variables that are remembered; a dump needs four.
const MOST_SAVED: usize = 64;

/// A longer statement is not examined: it sets no mode in any dump.
const LONGEST: usize = 16 * 1024;

/// The dialect in force, and those saved in user variables.
#[derive(Debug, Default)]
pub(super) struct Mode {
    current: Dialect,
    initial: Dialect,
    saved: HashMap<String, Dialect>,
}

impl Mode {
    pub(super) fn starting_in(initial: Dialect) -> Self {
        Mode {
            current: initial,
            initial,
            saved: HashMap::new(),
        }
    }

    pub(super) fn current(&self) -> Dialect {
        self.current
    }

    pub(super) fn set(&mut self, dialect: Dialect) {
        self.current = dialect;
    }

    /// Applies a statement, if it is a SET.
    pub(super) fn follow(&mut self, statement: &[u8]) {
        if statement.len() > LONGEST || !matches!(statement.first(), Some(b's' | b'S' | b'/')) {
            return;
        }
        let Some(list) = assignments(statement, self.current) else {
            return;
        };
        for Assignment { scope, name, value } in list {
            match scope {
                Scope::User => {
                    if let Value::Variable(from) = &value
                        && self.saved.len() < MOST_SAVED
                        && matches!(from.as_str(), "sql_mode" | "character_set_client")
                    {
                        self.saved.insert(name, self.current);
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
                let new = match value {
                    Value::Text(mode) => self.current.with_mode(mode),
                    Value::User(name) => *self.saved.get(name).unwrap_or(&self.initial),
                    Value::Default => Dialect::default(),
                    // `SET sql_mode = CONCAT(@@sql_mode, ',ANSI')` adds.
                    Value::Expression(text) => {
                        let upper = text.to_ascii_uppercase();
                        Dialect {
                            no_backslash_escapes: self.current.no_backslash_escapes
                                || upper.contains("NO_BACKSLASH_ESCAPES"),
                            ansi_quotes: self.current.ansi_quotes || upper.contains("ANSI"),
                            ..self.current
                        }
                    }
                    Value::Number(_) | Value::Variable(_) => return,
                };
                self.current.no_backslash_escapes = new.no_backslash_escapes;
                self.current.ansi_quotes = new.ansi_quotes;
            }
            "names" | "character_set_client" => {
                self.current.charset = match value {
                    Value::Text(name) => Charset::named(name),
                    Value::User(name) => self.saved.get(name).unwrap_or(&self.initial).charset,
                    Value::Default => self.initial.charset,
                    _ => None,
                };
            }
            _ => {}
        }
    }
}
