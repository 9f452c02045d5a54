//! The words of a condition, as far as they say what it reads.

use dumps::dialect::Dialect;
use dumps::tokens::{Token, Tokens};
use std::collections::BTreeSet;

/// The words of a condition.
pub(super) struct Words {
    query: bool,
    /// Names and words, in small letters.
    names: BTreeSet<String>,
}

impl Words {
    pub(super) fn of(condition: &str) -> Words {
        let tokens: Vec<Token<'_>> =
            Tokens::new(condition.as_bytes(), Dialect::default()).collect();
        let query = ["SELECT", "TABLE", "WITH"];
        Words {
            query: tokens.iter().any(|t| query.iter().any(|word| t.is(word))),
            names: tokens
                .iter()
                .filter_map(Token::name)
                .map(|name| name.to_lowercase())
                .collect(),
        }
    }

    /// Whether it may read tables.
    pub(super) fn has_query(&self) -> bool {
        self.query
    }

    /// Whether a name is among its words; it may mean something else.
    pub(super) fn names(&self, name: &str) -> bool {
        self.names.contains(&name.to_lowercase())
    }

    /// Whether it may read this table or view.
    pub(super) fn may_read(&self, name: &str) -> bool {
        self.query && self.names(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_query_reads_tables() {
        let column = Words::of("customers > 5 AND note <> 'SELECT'");
        assert!(!column.has_query() && column.names("Customers"));
        assert!(!column.may_read("customers"));
        let query = Words::of("id IN (SELECT id FROM `Customers` WHERE region = 'x')");
        assert!(query.may_read("customers") && !query.may_read("orders"));
        assert!(!query.may_read("x"));
    }
}
