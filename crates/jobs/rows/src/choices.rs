//! Which rows of a table are wanted (`--where schema.table=CONDITION`, `--partitions schema.table=NAME,…`), as it was typed.
//!
//! A condition is put into parentheses behind `WHERE`, as it was typed, so it has to be one expression: what would end the
//! parentheses or the statement is refused here.

use crate::archives;
use crate::table_plan::RowChoice;
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::dialect::Dialect;
use dumps::tokens::{Token, Tokens};
use server::{name_map, quote};
use std::collections::BTreeMap;

/// The choices, by schema and table.
#[derive(Clone, Debug, Default)]
pub struct Choices(Vec<((String, String), RowChoice)>);

impl Choices {
    /// Of lines `schema.table=CONDITION` and `schema.table=NAME,…`.
    pub fn new(conditions: &[String], partitions: &[String]) -> Result<Choices> {
        let mut all = Choices::default();
        for line in conditions {
            let (table, condition) = name_map::table_and_rest(line)
                .map_err(|e| refused(format_args!("--where: {e}")))?;
            let (name, condition) = (quote::qualified(&table.0, &table.1), condition.trim());
            if let Some(why) = is_wrong(condition) {
                return Err(refused(format_args!("--where of {name}: {why}")));
            }
            let choice = all.entry(table);
            if choice.condition.is_some() {
                return Err(refused(format_args!("--where of {name} is given twice"))
                    .hint("join the conditions with AND or OR"));
            }
            choice.condition = Some(condition.to_owned());
        }
        for line in partitions {
            let (table, names) = name_map::table_and_rest(line)
                .map_err(|e| refused(format_args!("--partitions: {e}")))?;
            let name = quote::qualified(&table.0, &table.1);
            let names: Vec<String> = list(names).into_iter().map(unquoted).collect();
            if names.iter().any(String::is_empty) {
                return Err(refused(format_args!(
                    "--partitions of {name} has an empty name"
                )));
            }
            let choice = all.entry(table);
            for partition in names {
                if !choice.partitions.contains(&partition) {
                    choice.partitions.push(partition);
                }
            }
        }
        Ok(all)
    }

    fn entry(&mut self, table: (String, String)) -> &mut RowChoice {
        let at = self.0.iter().position(|(t, _)| *t == table);
        let at = at.unwrap_or_else(|| {
            self.0.push((table, RowChoice::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// The rows of a table that are wanted; none: all of them are.
    pub fn of(&self, schema: &str, table: &str) -> Option<&RowChoice> {
        let found = self.0.iter().find(|((s, t), _)| s == schema && t == table);
        found.map(|(_, choice)| choice)
    }

    /// All of them, by schema and table.
    pub fn iter(&self) -> impl Iterator<Item = &((String, String), RowChoice)> {
        self.0.iter()
    }

    /// Whether all rows of all tables are wanted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        self.0.first().map(|(_, choice)| choice.option())
    }

    /// Conditions by table, quoted, as an archive's options have them.
    pub fn conditions(&self) -> BTreeMap<String, &str> {
        let all = self.0.iter();
        all.filter_map(|((s, t), choice)| {
            Some((quote::qualified(s, t), choice.condition.as_deref()?))
        })
        .collect()
    }

    /// Partitions by table, quoted, as an archive's options have them.
    pub fn partitions(&self) -> BTreeMap<String, &[String]> {
        let some = self.0.iter().filter(|(_, c)| !c.partitions.is_empty());
        some.map(|((s, t), choice)| (quote::qualified(s, t), choice.partitions.as_slice()))
            .collect()
    }

    /// What is left out, in words.
    pub fn left_out(&self) -> Vec<String> {
        let all = self.0.iter();
        all.flat_map(|((s, t), choice)| archives::not_chosen(s, t, choice))
            .collect()
    }
}

/// A list, split at the commas outside of backticks.
fn list(names: &str) -> Vec<&str> {
    let mut quoted = false;
    let parts = names.split(|c| {
        quoted ^= c == '`';
        c == ',' && !quoted
    });
    parts.collect()
}

/// A name, which may be in backticks.
fn unquoted(name: &str) -> String {
    let name = name.trim();
    let quoted = name.strip_prefix('`').and_then(|n| n.strip_suffix('`'));
    quoted.map_or_else(|| name.to_owned(), |n| n.replace("``", "`"))
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

    fn of(typed: &[&str]) -> Result<Choices> {
        let typed: Vec<String> = typed.iter().map(|t| (*t).to_owned()).collect();
        Choices::new(&typed, &[])
    }

    fn condition<'a>(all: &'a Choices, schema: &str, table: &str) -> Option<&'a str> {
        all.of(schema, table)?.condition.as_deref()
    }

    #[test]
    fn partitions_are_of_one_table() {
        let typed = [
            "shop.orders=p1, `p,2`".to_owned(),
            "shop.orders=p1,p3".into(),
        ];
        let odd = Choices::new(&[], &typed[..1]).expect("two");
        let partitions = odd.of("shop", "orders").map(|c| c.partitions.clone());
        assert_eq!(partitions, Some(vec!["p1".to_owned(), "p,2".to_owned()]));
        let all = Choices::new(&["shop.orders=id > 5".to_owned()], &typed[1..]).expect("both");
        let choice = all.of("shop", "orders").expect("a choice");
        assert_eq!(
            choice.within("`shop`.`orders`"),
            "`shop`.`orders` PARTITION (`p1`, `p3`)"
        );
        assert_eq!(all.left_out().len(), 2);
        for bad in [
            "orders=p1",
            "shop.orders=",
            "shop.orders=p1,,p2",
            "shop.orders",
        ] {
            assert!(Choices::new(&[], &[bad.to_owned()]).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_condition_is_of_one_table() {
        let all = of(&["shop.orders=id >= 5 AND note <> 'a;)'", "`x.y`.`t=1`=a=b"]).expect("two");
        assert_eq!(
            condition(&all, "shop", "orders"),
            Some("id >= 5 AND note <> 'a;)'")
        );
        assert_eq!(condition(&all, "x.y", "t=1"), Some("a=b"));
        assert_eq!(condition(&all, "shop", "other"), None);
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
