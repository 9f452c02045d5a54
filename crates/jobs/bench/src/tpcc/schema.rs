//! Finds the nine tables on a server, and whether the account may use them.

use super::Table;
use base::units::{count, printable};
use base::{Error, Kind, Result};
use run::failure;
use server::privileges::{Privileges, Scope};
use server::{Identity, quote};
use wire::Conn;

/// Fails with the GRANT that is missing if the account may not do `wanted` with the tables.
pub(super) fn allowed(
    conn: &mut Conn,
    id: &Identity,
    schema: &str,
    wanted: &[&'static str],
) -> Result<()> {
    let held = Privileges::read(conn, id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    let each = |privilege: &&str| {
        Table::ALL
            .iter()
            .all(|t| held.has_on(schema, t.name(), privilege))
    };
    if wanted.iter().all(each) {
        return Ok(());
    }
    let needs: Vec<_> = wanted
        .iter()
        .map(|p| (Scope::Schema(schema.to_owned()), vec![*p]))
        .collect();
    Err(denied(&held, &held.missing(&needs)))
}

/// An account that lacks privileges, and the statements that give them.
pub(super) fn denied(held: &Privileges, missing: &[String]) -> Error {
    Error::new(
        Kind::Privilege,
        format!(
            "account {} may not do what this benchmark needs",
            held.account
        ),
    )
    .hint(missing.join(";\n") + ";")
}

/// The number of warehouses; an error if tables or rows are missing.
pub(super) fn warehouses(conn: &mut Conn, schema: &str) -> Result<u32> {
    let name = quote::ident(schema);
    let sql = format!(
        "SELECT LOWER(table_name) FROM information_schema.tables WHERE table_schema = {}",
        quote::text(schema)
    );
    let there: Vec<Vec<u8>> = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look for the tables", e))?
        .into_iter()
        .filter_map(|row| row.into_iter().next().flatten())
        .collect();
    let missing: Vec<&str> = Table::ALL
        .iter()
        .map(|t| t.name())
        .filter(|t| !there.iter().any(|name| name == t.as_bytes()))
        .collect();
    if !missing.is_empty() {
        let what = if missing.len() == Table::ALL.len() {
            format!("schema {name} holds no tables of TPC-C")
        } else {
            format!(
                "schema {name} lacks tables of TPC-C: {}",
                missing.join(", ")
            )
        };
        return Err(unfit(&what).hint(fill(schema)));
    }
    let sql = format!(
        "SELECT COUNT(*), COALESCE(MIN(w_id), 0), COALESCE(MAX(w_id), 0) FROM {name}.warehouse"
    );
    let doing = format!("cannot count the warehouses of {name}");
    let row = conn.fetch(sql).map_err(|e| failure::wire(&doing, e))?;
    let mut numbers = row.into_iter().flatten().map(|cell| {
        let text = cell.unwrap_or_default();
        String::from_utf8_lossy(&text).parse::<u32>().ok()
    });
    match [numbers.next(), numbers.next(), numbers.next()].map(Option::flatten) {
        [Some(0), ..] => Err(unfit(&format!("schema {name} has no warehouse")).hint(fill(schema))),
        [Some(count), Some(1), Some(last)] if last == count => Ok(count),
        _ => Err(unfit(&format!(
            "the warehouses of schema {name} are not numbered from 1 without a gap"
        ))
        .hint(fill(schema))),
    }
}

/// `10 warehouses in `tpcc``.
pub(super) fn described(schema: &str, warehouses: u32) -> String {
    format!(
        "{} warehouse{} in {}",
        count(warehouses.into()),
        if warehouses == 1 { "" } else { "s" },
        quote::ident(schema)
    )
}

fn unfit(what: &str) -> Error {
    Error::new(Kind::Target, printable(what))
}

fn fill(schema: &str) -> String {
    printable(&format!(
        "penstock bench tpcc load --schema {schema} --warehouses N makes them, in a schema that does not exist yet"
    ))
}
