//! Which rows of a table are dumped (`--where schema.table=CONDITION`, `--partitions schema.table=NAME,…`).
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
use rows::table_plan::{RowChoice, narrowed};
use run::failure;
use server::catalog::{Table, TableKind};
use server::{Catalog, Identity, name_map, quote};
use std::collections::BTreeMap;
use wire::Conn;

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

/// Fails if a choice is of no table that is dumped, or is not understood by the server.
pub fn check(conn: &mut Conn, id: &Identity, catalog: &Catalog, options: &Options) -> Result<()> {
    // As the readers do it, which change nothing.
    let begin = match id.has_read_only_transactions() {
        true => "START TRANSACTION READ ONLY",
        false => "START TRANSACTION",
    };
    for ((schema, name), choice) in &options.choices.0 {
        let given = match choice.partitions.is_empty() {
            true => "--where",
            false => "--partitions",
        };
        let table = catalog.table(schema, name);
        let Some(table) = table.filter(|t| has_rows(t)) else {
            return Err(refused(format_args!(
                "{given}: {} is no table with rows that this dump takes",
                quote::qualified(schema, name)
            ))
            .hint(format!("the name has to be spelt as the server does, and the table to be selected; a view, a sequence and a MERGE table have no rows of their own; what stands in an option file or in penstock.toml ({}) is for every dump", &given[2..])));
        };
        let from = table.qualified();
        let mut tried = |choice: &RowChoice, given: &str, hint: &str| {
            let sql = format!(
                "SELECT 1 FROM {}{} LIMIT 0",
                choice.within(&from),
                narrowed(String::new(), choice.condition.as_deref())
            );
            let tried = conn.execute(begin).and_then(|_| conn.execute(&sql));
            let ended = conn.execute("ROLLBACK");
            match tried.and(ended) {
                Ok(_) => Ok(()),
                Err(wire::Error::Server(e)) => Err(refused(format_args!(
                    "{given} of {from}: the server does not take it: {e}"
                ))
                .hint(hint.to_owned())),
                Err(e) => Err(failure::wire(format_args!("cannot read {from}"), e)),
            }
        };
        if !choice.partitions.is_empty() {
            let partitions = RowChoice {
                condition: None,
                ..choice.clone()
            };
            let there: Vec<&str> = table.partitions.iter().map(|p| p.name.as_str()).collect();
            let hint = match there.is_empty() {
                true => "the table has no partitions; nothing was written".to_owned(),
                false => format!("it has {}; nothing was written", there.join(", ")),
            };
            tried(&partitions, "--partitions", &printable(&hint))?;
        }
        let hint = "try it first: SELECT COUNT(*) FROM … WHERE …; nothing was written";
        tried(choice, "--where", hint)?;
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
