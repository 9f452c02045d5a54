//! Conditions that rows are chosen by (`--where schema.table=CONDITION`).
//!
//! A condition is put into parentheses behind `WHERE`, as it was typed, so it has to be one expression: what would end the
//! parentheses or the statement is refused here, and what the server does not understand before anything is locked.

use crate::Options;
use crate::definitions::is_merge;
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::dialect::Dialect;
use dumps::tokens::{Token, Tokens};
use rows::archives;
use rows::table_plan::narrowed;
use run::failure;
use server::catalog::{Table, TableKind};
use server::{Catalog, Identity, name_map, quote};
use std::collections::BTreeMap;
use wire::Conn;

/// The conditions, by schema and table.
#[derive(Clone, Debug, Default)]
pub struct Conditions(Vec<((String, String), String)>);

impl Conditions {
    /// Of lines `schema.table=CONDITION`.
    pub fn new(typed: &[String]) -> Result<Conditions> {
        let mut all = Conditions::default();
        for line in typed {
            let (table, condition) = name_map::table_and_rest(line)
                .map_err(|e| refused(format_args!("--where: {e}")))?;
            let (name, condition) = (quote::qualified(&table.0, &table.1), condition.trim());
            if let Some(why) = is_wrong(condition) {
                return Err(refused(format_args!("--where of {name}: {why}")));
            }
            if all.of(&table.0, &table.1).is_some() {
                return Err(refused(format_args!("--where of {name} is given twice"))
                    .hint("join the conditions with AND or OR"));
            }
            all.0.push((table, condition.to_owned()));
        }
        Ok(all)
    }

    /// Whether all rows are wanted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The condition of a table; none: all of its rows are wanted.
    pub fn of(&self, schema: &str, table: &str) -> Option<&str> {
        let found = self.0.iter().find(|((s, t), _)| s == schema && t == table);
        found.map(|(_, condition)| condition.as_str())
    }

    /// By table, quoted, as an archive's options have them.
    pub fn by_name(&self) -> BTreeMap<String, &str> {
        let all = self.0.iter();
        all.map(|((s, t), condition)| (quote::qualified(s, t), condition.as_str()))
            .collect()
    }

    /// What is left out, in words.
    pub fn left_out(&self) -> Vec<String> {
        let all = self.0.iter();
        all.map(|((s, t), condition)| archives::not_chosen(s, t, condition))
            .collect()
    }
}

/// Fails if a condition is of no table that is dumped, or is not understood by the server.
pub fn check(conn: &mut Conn, id: &Identity, catalog: &Catalog, options: &Options) -> Result<()> {
    // As the readers do it, which change nothing.
    let begin = match id.has_read_only_transactions() {
        true => "START TRANSACTION READ ONLY",
        false => "START TRANSACTION",
    };
    for ((schema, name), condition) in &options.conditions.0 {
        let table = catalog.table(schema, name);
        let Some(table) = table.filter(|t| has_rows(t)) else {
            return Err(refused(format_args!(
                "--where: {} is no table with rows that this dump takes",
                quote::qualified(schema, name)
            ))
            .hint("the name has to be spelt as the server does, and the table to be selected; a view, a sequence and a MERGE table have no rows of their own; a where in an option file or in penstock.toml is for every dump"));
        };
        let from = table.qualified();
        let sql = format!(
            "SELECT 1 FROM {from}{} LIMIT 0",
            narrowed(String::new(), Some(condition))
        );
        let tried = conn.execute(begin).and_then(|_| conn.execute(&sql));
        let ended = conn.execute("ROLLBACK");
        match tried.and(ended) {
            Ok(_) => {}
            Err(wire::Error::Server(e)) => {
                return Err(refused(format_args!(
                    "--where of {from}: the server does not take it: {e}"
                ))
                .hint("try it first: SELECT COUNT(*) FROM … WHERE …; nothing was written"));
            }
            Err(e) => return Err(failure::wire(format_args!("cannot read {from}"), e)),
        }
    }
    Ok(())
}

fn has_rows(table: &Table) -> bool {
    table.kind != TableKind::Sequence && !is_merge(table)
}

fn refused(what: std::fmt::Arguments<'_>) -> Error {
    Error::new(Kind::Usage, printable(&what.to_string()))
}

/// Why a text is not one expression.
fn is_wrong(condition: &str) -> Option<&'static str> {
    let (mut depth, mut empty) = (0usize, true);
    for token in Tokens::new(condition.as_bytes(), Dialect::default()) {
        empty = false;
        match token {
            Token::Symbol(b'(') => depth += 1,
            Token::Symbol(b')') if depth == 0 => {
                return Some("a parenthesis is closed that was not opened");
            }
            Token::Symbol(b')') => depth -= 1,
            Token::Symbol(b';') => return Some("a condition has no semicolon"),
            _ => {}
        }
    }
    match (empty, depth) {
        (true, _) => Some("the condition is empty"),
        (_, 0) => None,
        _ => Some("a parenthesis is not closed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(typed: &[&str]) -> Result<Conditions> {
        let typed: Vec<String> = typed.iter().map(|t| (*t).to_owned()).collect();
        Conditions::new(&typed)
    }

    #[test]
    fn a_condition_is_of_one_table() {
        let all = of(&["shop.orders=id >= 5 AND note <> 'a;)'", "`x.y`.`t=1`=a=b"]).expect("two");
        assert_eq!(all.of("shop", "orders"), Some("id >= 5 AND note <> 'a;)'"));
        assert_eq!(all.of("x.y", "t=1"), Some("a=b"));
        assert_eq!(all.of("shop", "other"), None);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for bad in [
            "shop.orders",
            "orders=id > 5",
            "shop.*=id > 5",
            "shop.orders=",
            "shop.orders= -- all",
            "shop.orders=1) OR (1",
            "shop.orders=id IN (1, 2",
            "shop.orders=1; DROP TABLE shop.orders",
        ] {
            assert!(of(&[bad]).is_err(), "{bad}");
        }
        assert!(of(&["a.b=1", "a.b=2"]).is_err());
    }
}
