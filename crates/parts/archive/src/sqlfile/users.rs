//! `@.users.sql`: accounts, a statement a line, between the marks by which MySQL Shell finds the account of each.

use super::{Header, printable};
use std::fmt::Write;

/// The statements of one account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountSql {
    /// As `'user'@'host'`.
    pub name: String,
    /// What creates it.
    pub create: Option<String>,
    /// What it may do.
    pub grants: Vec<String>,
    /// What sets its default roles.
    pub default_roles: Option<String>,
}

/// All users, then all grants, then all default roles: each may need what is before it.
pub fn users_sql(header: &Header<'_>, accounts: &[AccountSql]) -> String {
    let mut out = header.text("", "");
    out.push_str("--\n-- Dumping user accounts\n--\n\n");
    for account in accounts {
        block(&mut out, "user", &account.name, account.create.as_slice());
    }
    for account in accounts {
        block(&mut out, "grants", &account.name, &account.grants);
    }
    for account in accounts {
        let roles = account.default_roles.as_slice();
        block(&mut out, "default role", &account.name, roles);
    }
    out.push_str("-- End of dumping user accounts\n\n");
    out
}

fn block(out: &mut String, what: &str, name: &str, statements: &[String]) {
    if statements.is_empty() {
        return;
    }
    let name = printable(name);
    let _ = writeln!(out, "-- begin {what} {name}");
    for statement in statements {
        let _ = writeln!(out, "{statement};");
    }
    let _ = writeln!(out, "-- end {what} {name}\n");
}
