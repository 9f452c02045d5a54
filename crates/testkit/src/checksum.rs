//! A second opinion on "equal" that owes nothing to penstock: the server's own
//! CHECKSUM TABLE on every table of two servers.
//!
//! Both sides must be of one flavour and series: the checksum depends on how a
//! server stores rows.

use crate::{Error, Result};
use std::collections::BTreeMap;
use wire::{Conn, Options};

/// Schemas that belong to the server.
const SYSTEM: &str = "'mysql','sys','information_schema','performance_schema'";

/// The checksum of every base table, by `schema.table`; of `schemas` only, if any are named.
pub fn tables(options: &Options, schemas: &[String]) -> Result<BTreeMap<String, String>> {
    let mut conn = Conn::connect(options)?;
    let sql = format!(
        "SELECT table_schema, table_name FROM information_schema.tables \
         WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ({SYSTEM})"
    );
    let mut sums = BTreeMap::new();
    for row in conn.fetch(sql)? {
        let mut names = row
            .into_iter()
            .map(|c| String::from_utf8_lossy(&c.unwrap_or_default()).into_owned());
        let (Some(schema), Some(table)) = (names.next(), names.next()) else {
            continue;
        };
        if !schemas.is_empty() && !schemas.contains(&schema) {
            continue;
        }
        let quoted = format!(
            "`{}`.`{}`",
            schema.replace('`', "``"),
            table.replace('`', "``")
        );
        let answer = conn
            .fetch(format!("CHECKSUM TABLE {quoted}"))
            .map_err(Error::doing(&quoted))?;
        let sum = answer
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().nth(1).flatten());
        let sum = sum.map_or("NULL".to_owned(), |s| {
            String::from_utf8_lossy(&s).into_owned()
        });
        sums.insert(format!("{schema}.{table}"), sum);
    }
    Ok(sums)
}

/// What differs between two servers, one line for each table; empty when they are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Tables on both sides.
    pub compared: usize,
    /// One line for each table that differs or is on one side only.
    pub differences: Vec<String>,
}

/// Compares every table of two servers, reading both at the same time.
pub fn compare(a: &Options, b: &Options, schemas: &[String]) -> Result<Comparison> {
    let (a, b) = std::thread::scope(|scope| {
        let other = scope.spawn(|| tables(b, schemas));
        let one = tables(a, schemas);
        (
            one,
            other
                .join()
                .unwrap_or_else(|_| Err(Error::new("the comparing thread panicked"))),
        )
    });
    let (a, b) = (a?, b?);
    let mut result = Comparison::default();
    for (table, sum) in &a {
        match b.get(table) {
            Some(other) if other == sum => {}
            Some(other) => result
                .differences
                .push(format!("{table}: {sum} and {other}")),
            None => result
                .differences
                .push(format!("{table}: only on the first server")),
        }
        result.compared += usize::from(b.contains_key(table));
    }
    let extra = b.keys().filter(|t| !a.contains_key(*t));
    result
        .differences
        .extend(extra.map(|t| format!("{t}: only on the second server")));
    Ok(result)
}
