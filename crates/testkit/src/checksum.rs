//! A second opinion on "equal" that is independent of penstock: the server's own CHECKSUM TABLE on
//! every table of two servers.
//!
//! Both sides must be of one flavour and series: the checksum depends on how a server stores rows.
//!
//! Tables with generated columns or with expressions in keys get a sum by a query instead: for
//! those, CHECKSUM TABLE returns different values from one time to the next while nothing changes
//! (MariaDB: MDEV-32079, sometimes also for a STORED column).

use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use wire::{Conn, Options};

/// Schemas that belong to the server.
const SYSTEM: &str = "'mysql','sys','information_schema','performance_schema'";

/// The checksum of every base table, by `schema.table`; of `schemas` only, if any are named.
pub fn tables(options: &Options, schemas: &[String]) -> Result<BTreeMap<String, String>> {
    let mut conn = Conn::connect(options)?;
    let all = names(
        &mut conn,
        &format!(
            "SELECT table_schema, table_name FROM information_schema.tables \
             WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ({SYSTEM})"
        ),
    )?;
    let computed = computed(&mut conn)?;
    let mut sums = BTreeMap::new();
    for (schema, table) in all {
        if !schemas.is_empty() && !schemas.contains(&schema) {
            continue;
        }
        let quoted = format!("{}.{}", quoted(&schema), quoted(&table));
        let name = format!("{schema}.{table}");
        let sql = if computed.contains(&(schema, table)) {
            by_query(&mut conn, &quoted)?
        } else {
            format!("CHECKSUM TABLE {quoted}")
        };
        let answer = conn.fetch(sql).map_err(Error::doing(&quoted))?;
        let sum = answer
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().nth(1).flatten());
        sums.insert(name, sum.map_or("NULL".to_owned(), text));
    }
    Ok(sums)
}

/// Tables with values that the server computes.
fn computed(conn: &mut Conn) -> Result<BTreeSet<(String, String)>> {
    let mut sql = format!(
        "SELECT table_schema, table_name FROM information_schema.columns \
         WHERE extra LIKE '%GENERATED%' AND table_schema NOT IN ({SYSTEM})"
    );
    // Columns for expressions in keys are not shown, and not every server has them.
    let expressions = "SELECT table_schema, table_name FROM information_schema.columns \
         WHERE table_schema = 'information_schema' AND table_name = 'STATISTICS' AND column_name = 'EXPRESSION'";
    if !conn.fetch(expressions)?.is_empty() {
        sql += " UNION SELECT table_schema, table_name FROM information_schema.statistics WHERE expression IS NOT NULL";
    }
    Ok(names(conn, &sql)?.into_iter().collect())
}

/// A query whose second column is a sum over all rows, whatever their order.
pub(crate) fn by_query(conn: &mut Conn, table: &str) -> Result<String> {
    let columns = conn.fetch(format!("SHOW COLUMNS FROM {table}"));
    let cells = columns
        .map_err(Error::doing(table))?
        .into_iter()
        .map(|row| {
            let name = row.into_iter().next().flatten().map_or(String::new(), text);
            format!("IFNULL(HEX(CONCAT('', {})), 'NULL')", quoted(&name))
        });
    let cells = cells.collect::<Vec<_>>().join(", ");
    Ok(format!(
        "SELECT '', CONCAT(COUNT(*), ' rows, ', IFNULL(SUM(CRC32(CONCAT_WS('/', {cells}))), 0)) FROM {table}"
    ))
}

fn names(conn: &mut Conn, sql: &str) -> Result<Vec<(String, String)>> {
    let rows = conn.fetch(sql)?.into_iter().filter_map(|row| {
        let mut cells = row.into_iter().map(|c| text(c.unwrap_or_default()));
        Some((cells.next()?, cells.next()?))
    });
    Ok(rows.collect())
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
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
