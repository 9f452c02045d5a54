//! Tables that a server does not show to an account, which looks as if they were not there.
//!
//! Only what the account may not read is named here. What it may read and is not there differs, and is named by the
//! comparison.

use base::units::printable;
use base::{Error, Kind, Result};
use run::{Run, connect, failure};
use server::privileges::Scope;
use server::{Catalog, Identity, Privileges, quote};

/// Refuses if `missing`, tables that the catalog does not have, are there or not as far as the account can see.
pub fn check(
    run: &Run,
    server: &wire::Options,
    id: &Identity,
    catalog: &Catalog,
    missing: &[(&str, &str)],
) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let mut conn = connect::connection(run, server)?;
    let account = Privileges::read(&mut conn, id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    let hidden: Vec<_> = missing
        .iter()
        .filter(|(schema, table)| !account.has_on(schema, table, "SELECT"))
        .collect();
    if hidden.is_empty() {
        return Ok(());
    }
    let needs: Vec<_> = hidden
        .iter()
        .map(|(schema, table)| {
            let partly = catalog.schemas.iter().any(|s| s.name == *schema);
            let scope = if partly {
                Scope::Table((*schema).to_owned(), (*table).to_owned())
            } else {
                Scope::Schema((*schema).to_owned())
            };
            (scope, vec!["SELECT"])
        })
        .collect();
    let names = hidden.iter().take(5).map(|(s, t)| quote::qualified(s, t));
    let more = match hidden.len().saturating_sub(5) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Err(Error::new(
        Kind::Privilege,
        printable(&format!(
            "account {} may not see {}{more} on {}, so it is not known whether they are there",
            account.account,
            names.collect::<Vec<_>>().join(", "),
            server.endpoint
        )),
    )
    .hint(account.missing(&needs).join(";\n") + ";"))
}
