//! What the account cannot see: a server lists to an account only what it has a privilege on, so a schema
//! or a table that was created for somebody else would be missing without a word.
//!
//! Invariant: where the selection may take something that is not named in it, either the account is known to
//! see everything, or that is said. What this does not do: find out names.

use super::Options;
use base::{Error, Kind, Result};
use run::failure;
use server::{Catalog, Identity, Privileges, quote};
use wire::Conn;

/// What may be missing, a sentence each.
pub fn not_seen(
    conn: &mut Conn,
    id: &Identity,
    account: &Privileges,
    options: &Options,
    catalog: &Catalog,
) -> Result<Vec<String>> {
    let mut out = Vec::new();
    if options.filter.may_take_unnamed_schemas() && !account.sees_every_schema() {
        let hidden = if account.has("PROCESS") {
            Some(hidden_schemas(conn, id)?)
        } else {
            None
        };
        let what = match hidden {
            Some(0) => "hidden schemas: none that has InnoDB tables; whether there are others cannot be known".to_owned(),
            Some(1) => "hidden schemas: at least 1 that is not in the archive".to_owned(),
            Some(n) => format!("hidden schemas: at least {n} that are not in the archive"),
            None => "hidden schemas: whether there are any cannot be known".to_owned(),
        };
        out.push(format!(
            "{what}, because {} sees only schemas that it has privileges on (GRANT SHOW DATABASES ON *.* TO {} shows the others)",
            account.account, account.account
        ));
    }
    for schema in &catalog.schemas {
        let name = &schema.name;
        if options.filter.may_take_unnamed_tables(name) && !account.sees_every_table(name) {
            out.push(format!(
                "hidden tables of schema {}: whether there are any cannot be known, because {} has privileges on single tables of it only",
                quote::ident(name),
                account.account
            ));
        }
    }
    if options.require_all && !out.is_empty() {
        return Err(Error::new(
            Kind::Privilege,
            format!("the account may not see everything (--require-all): {}", out.join("; ")),
        )
        .hint(format!(
            "GRANT SELECT, SHOW DATABASES ON *.* TO {}; or name the schemas and tables that are wanted, without wildcards",
            account.account
        )));
    }
    Ok(out)
}

/// How many schemas have InnoDB tables that the account does not see; InnoDB's own list shows all of them to an account
/// that has PROCESS. File names are encoded there, so they are counted and not compared.
fn hidden_schemas(conn: &mut Conn, id: &Identity) -> Result<u64> {
    let list = if id.mysql_at_least(8, 0, 0) {
        "INNODB_TABLES"
    } else {
        "INNODB_SYS_TABLES"
    };
    let sql = format!(
        "SELECT (SELECT COUNT(DISTINCT SUBSTRING_INDEX(name, '/', 1)) FROM information_schema.{list} \
         WHERE name LIKE '%/%' AND SUBSTRING_INDEX(name, '/', 1) NOT IN ('mysql', 'sys')), \
         (SELECT COUNT(DISTINCT table_schema) FROM information_schema.tables WHERE engine = 'InnoDB' \
         AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema'))"
    );
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot count the schemas of the server", e))?;
    let number = |i: usize| -> u64 {
        let cell = rows
            .first()
            .and_then(|r| r.get(i))
            .and_then(|c| c.as_deref());
        let text = cell.and_then(|c| std::str::from_utf8(c).ok());
        text.and_then(|t| t.parse().ok()).unwrap_or(0)
    };
    Ok(number(0).saturating_sub(number(1)))
}
