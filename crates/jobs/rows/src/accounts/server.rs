//! Reads the accounts of a server.

use super::name::Name;
use super::statement::{Clause, Create, Grant, Statement, Topic, What};
use super::{Account, OF_THE_SERVER};
use base::Result;
use base::units::printable;
use run::failure;
use server::{Identity, quote};
use wire::Conn;

/// What a server has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Its accounts but those of the server itself: users first, in the order of their names.
    pub accounts: Vec<Account>,
    /// What cannot be written down as statements, of which account and in words.
    pub exceptions: Vec<(Name, String)>,
}

/// All accounts of a server but its own. The account that asks needs SELECT on all of the schema `mysql`.
pub fn read(conn: &mut Conn, id: &Identity) -> Result<Found> {
    let mut found = Found::default();
    if id.mysql_at_least(8, 0, 17) {
        // Hashes are bytes, which a statement cannot hold as they are.
        conn.execute("SET SESSION print_identified_with_as_hex = ON")
            .map_err(wrong)?;
    }
    for (name, second_password) in names(conn, id)? {
        let has_none = |e: &wire::Error| matches!(e, wire::Error::Server(e) if e.code == 1141);
        let shown = conn.fetch(format!("SHOW GRANTS FOR {}", name.sql()));
        let lines: Vec<String> = match shown {
            Ok(rows) => rows.iter().filter_map(|r| r.first()).map(text).collect(),
            // MariaDB has a line for PUBLIC also where nothing was granted to it.
            Err(e) if name.is_public() && has_none(&e) => continue,
            Err(e) => return Err(wrong(e)),
        };
        let create = match (name.is_public(), &name.host) {
            (true, _) => None,
            (false, None) => Some(Create {
                role: true,
                clauses: Vec::new(),
            }),
            (false, Some(_)) if !shows_users(id) => Some(old_user(&lines)),
            (false, Some(_)) => {
                let rows = conn
                    .fetch(format!("SHOW CREATE USER {}", name.sql()))
                    .map_err(wrong)?;
                let shown = rows.first().and_then(|r| r.first()).map(text);
                match Statement::read(&shown.unwrap_or_default()) {
                    Some(Statement::Create(_, create)) => Some(create),
                    _ => {
                        let why = not_understood(&name);
                        found.exceptions.push((name, why));
                        continue;
                    }
                }
            }
        };
        let mut account = Account::new(name, create);
        if let Some(create) = &mut account.create {
            account.default_roles = create.take_default_roles();
        }
        for line in &lines {
            match Statement::read(line) {
                // A role of MariaDB shows the grants of its own roles too.
                Some(Statement::Grant(grant)) if grant.to != account.name => {}
                Some(Statement::Grant(grant)) => account.grants.push(grant),
                Some(Statement::DefaultRoles(_, roles)) => account.default_roles = Some(roles),
                _ => {
                    let why = printable(&format!(
                        "a grant of account {} is not understood, and left out: look at SHOW GRANTS FOR {}",
                        account.name,
                        account.name.sql()
                    ));
                    found.exceptions.push((account.name.clone(), why));
                }
            }
        }
        // MariaDB lists them in any order; a privilege is given before a part of it is taken.
        account.grants.sort_by_cached_key(|g| {
            let role = matches!(g.what, What::Roles(_));
            (role, g.revoke, !g.is_global(), g.sql())
        });
        if has_line_break(&account) {
            let why = not_understood(&account.name);
            found.exceptions.push((account.name, why));
            continue;
        }
        if second_password {
            let why = printable(&format!(
                "account {} has a second password (RETAIN CURRENT PASSWORD), which no statement shows: the archive does not have that",
                account.name
            ));
            found.exceptions.push((account.name.clone(), why));
        }
        found.accounts.push(account);
    }
    found.accounts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn not_understood(name: &Name) -> String {
    printable(&format!(
        "account {name} is left out: its definition has a line break, or is not understood; create it by hand"
    ))
}

/// A line of the file is a statement.
fn has_line_break(account: &Account) -> bool {
    let create = account.create.iter().map(|c| c.sql(&account.name));
    let grants = account.grants.iter().map(Grant::sql);
    create.chain(grants).any(|sql| sql.contains('\n'))
}

fn wrong(e: wire::Error) -> base::Error {
    failure::wire("cannot read the accounts of the source", e)
}

fn text(cell: &Option<Vec<u8>>) -> String {
    String::from_utf8_lossy(cell.as_deref().unwrap_or_default()).into_owned()
}

/// Whether the server has SHOW CREATE USER.
fn shows_users(id: &Identity) -> bool {
    match id.is_mariadb() {
        true => id.mariadb_at_least(10, 2, 0),
        false => id.mysql_at_least(5, 7, 6),
    }
}

/// The names, each with whether it has a second password.
fn names(conn: &mut Conn, id: &Identity) -> Result<Vec<(Name, bool)>> {
    let sql = if id.is_mariadb() {
        "SELECT User, Host, is_role, 'N' FROM mysql.user"
    } else if id.mysql_at_least(8, 0, 14) {
        "SELECT User, Host, 'N', IF(JSON_CONTAINS_PATH(IFNULL(User_attributes, '{}'), 'one', '$.additional_password'), 'Y', 'N') FROM mysql.user"
    } else {
        "SELECT User, Host, 'N', 'N' FROM mysql.user"
    };
    let mut all = Vec::new();
    for row in conn.fetch(sql).map_err(wrong)? {
        let [user, host, role, second] = &row[..] else {
            continue;
        };
        let user = text(user);
        if OF_THE_SERVER.contains(&user.as_str()) {
            continue;
        }
        let name = match text(role).as_str() {
            "Y" => Name::role(user),
            _ => Name::account(user, text(host)),
        };
        all.push((name, text(second) == "Y"));
    }
    Ok(all)
}

/// A server that has no SHOW CREATE USER says in a GRANT how an account logs in.
fn old_user(lines: &[String]) -> Create {
    let mut clauses = Vec::new();
    let global = lines.iter().find(|l| l.contains(" ON *.* TO "));
    let tail = global
        .and_then(|l| l.split_once(" ON *.* TO "))
        .map(|t| t.1);
    // As a statement that is read by its parts.
    let tail = tail.map(|t| {
        t.replace("WITH GRANT OPTION", "WITH")
            .replace("GRANT OPTION ", "")
    });
    let read = tail.map(|t| {
        let t = t.trim_end();
        Statement::read(&format!(
            "CREATE USER {}",
            t.strip_suffix(" WITH").unwrap_or(t)
        ))
    });
    if let Some(Some(Statement::Create(_, create))) = read {
        clauses = create.clauses;
    }
    for clause in &mut clauses {
        if let Some(hash) = clause.text.strip_prefix("IDENTIFIED BY PASSWORD ") {
            *clause = Clause {
                topic: Topic::Identified,
                text: format!(
                    "IDENTIFIED WITH {} AS {hash}",
                    quote::text("mysql_native_password")
                ),
            };
        }
    }
    Create {
        role: false,
        clauses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_of_old_servers_say_how_an_account_logs_in() {
        for (line, wanted) in [
            (
                "GRANT USAGE ON *.* TO 'a'@'%' IDENTIFIED BY PASSWORD '*14E6' REQUIRE SSL WITH GRANT OPTION MAX_QUERIES_PER_HOUR 3",
                "CREATE USER `a`@`%` IDENTIFIED WITH 'mysql_native_password' AS '*14E6' REQUIRE SSL WITH MAX_QUERIES_PER_HOUR 3",
            ),
            (
                "GRANT ALL PRIVILEGES ON *.* TO 'a'@'%' WITH GRANT OPTION",
                "CREATE USER `a`@`%`",
            ),
            ("GRANT USAGE ON *.* TO 'a'@'%'", "CREATE USER `a`@`%`"),
        ] {
            let lines = [
                line.to_owned(),
                "GRANT SELECT ON `s`.* TO 'a'@'%'".to_owned(),
            ];
            assert_eq!(old_user(&lines).sql(&Name::account("a", "%")), wanted);
        }
    }
}
