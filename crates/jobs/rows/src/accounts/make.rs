//! Makes accounts on a server.
//!
//! Invariant: an account that is there is left as it is. What the server refuses is named, without the statement, which may
//! have a password's hash in it, and everything else is made.

use super::adapt::Adapted;
use super::name::Name;
use super::statement::{Clause, Create, Grant, Statement, Topic, What};
use base::units::printable;
use base::{Result, failpoint};
use run::failure;
use server::Identity;
use std::collections::BTreeSet;
use wire::Conn;

/// The way to log in is not one of this server: "plugin is not loaded", "does not support password expiration" (of one that
/// is not loaded), "hash doesn't have the expected format".
const OF_LOGIN: [u16; 3] = [1524, 3671, 1827];

/// The accounts of a server by user and host, as [`Name::key`] has them.
pub type Existing = BTreeSet<(String, String)>;

/// What came of accounts.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Those that were made.
    pub made: Vec<Name>,
    /// Those of them that cannot log in.
    pub locked: Vec<Name>,
    /// Those that the server did not take.
    pub refused: Vec<Name>,
    /// What could not be made or given.
    pub exceptions: Vec<String>,
}

/// The accounts that a server has.
pub fn existing(conn: &mut Conn) -> Result<Existing> {
    let wrong = |e| failure::wire("cannot read the accounts of the target", e);
    let rows = conn
        .fetch("SELECT User, Host FROM mysql.user")
        .map_err(wrong)?;
    let text = |cell: Option<&Option<Vec<u8>>>| {
        let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let key = |row: Vec<Option<Vec<u8>>>| (text(row.first()), text(row.get(1)).to_lowercase());
    Ok(rows.into_iter().map(key).collect())
}

/// Whether a server with these accounts has this one. A role of MariaDB is an account for all hosts on MySQL, and a name can
/// be that of a user or of a role, but not of both.
pub fn has(existing: &Existing, name: &Name) -> bool {
    let (user, host) = name.key();
    match name.host {
        Some(_) => existing.contains(&(user, host)),
        None => ["", "%"]
            .iter()
            .any(|h| existing.contains(&(user.clone(), (*h).to_owned()))),
    }
}

/// Creates accounts, without what they may do. `about_to` is asked before each.
pub fn create(
    conn: &mut Conn,
    target: &Identity,
    accounts: &[&Adapted],
    about_to: &mut dyn FnMut(&mut Conn, &Name) -> Result<()>,
) -> Result<Made> {
    let mut made = Made::default();
    for adapted in accounts {
        let name = &adapted.account.name;
        let Some(wanted) = &adapted.account.create else {
            continue;
        };
        about_to(conn, name)?;
        let mut why = adapted.cannot_log_in.clone();
        if why.is_none() {
            match attempt(conn, &wanted.sql(name))? {
                None => {
                    made.made.push(name.clone());
                    failpoint::reached("an account is made");
                    continue;
                }
                Some(e) if OF_LOGIN.contains(&e.code) => why = Some(plain(&e)),
                Some(e) => {
                    made.refuse(name, &plain(&e));
                    continue;
                }
            }
        }
        let (why, locked) = (why.unwrap_or_default(), adapted.locked(target));
        let Some(locked) = locked else {
            made.refuse(name, &why);
            continue;
        };
        match attempt(conn, &locked.sql(name))? {
            None => {
                made.made.push(name.clone());
                made.locked.push(name.clone());
                made.exceptions.push(cannot_log_in(name, &why));
                failpoint::reached("an account is made");
            }
            Some(e) => made.refuse(
                name,
                &format!("{why}; and not without it either: {}", plain(&e)),
            ),
        }
    }
    Ok(made)
}

/// Tries again to give an account that was made locked its own way to log in; none if it has it now.
pub fn unlock(conn: &mut Conn, adapted: &Adapted) -> Result<Option<String>> {
    let name = &adapted.account.name;
    if name.host.is_none() {
        return Ok(None);
    }
    let shown = conn.fetch(format!("SHOW CREATE USER {}", name.sql()));
    let shown = match shown {
        Ok(rows) => rows
            .into_iter()
            .flatten()
            .flatten()
            .next()
            .unwrap_or_default(),
        Err(wire::Error::Server(e)) => return Ok(Some(cannot_log_in(name, &plain(&e)))),
        Err(e) => return Err(failure::wire("cannot look at an account", e)),
    };
    if !String::from_utf8_lossy(&shown).contains("ACCOUNT LOCK") {
        // Whoever unlocked it has given it a password.
        return Ok(None);
    }
    let why = match (&adapted.cannot_log_in, &adapted.account.create) {
        (None, Some(create)) => {
            let mut create: Create = create.clone();
            if create.about(Topic::Account).is_none() {
                create.clauses.push(Clause {
                    topic: Topic::Account,
                    text: "ACCOUNT UNLOCK".to_owned(),
                });
            }
            match attempt(conn, &create.alter_sql(name))? {
                None => return Ok(None),
                Some(e) => plain(&e),
            }
        }
        (why, _) => why.clone().unwrap_or_default(),
    };
    Ok(Some(cannot_log_in(name, &why)))
}

fn cannot_log_in(name: &Name, why: &str) -> String {
    let sql = name.sql();
    printable(&format!(
        "account {name} is locked: {why}; give it a new password: ALTER USER {sql} IDENTIFIED BY '…'; ALTER USER {sql} ACCOUNT UNLOCK"
    ))
}

/// A statement that the server refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// It, without a hash.
    pub statement: String,
    /// What that means, in words.
    pub text: String,
}

/// Gives accounts what they may do, and sets their default roles. What is refused is returned.
pub fn grant(conn: &mut Conn, target: &Identity, accounts: &[&Adapted]) -> Result<Vec<Refused>> {
    let mut refused = Vec::new();
    for adapted in accounts {
        for given in adapted.account.grants.iter().filter(|g| !g.is_nothing()) {
            give(conn, given, &mut refused)?;
        }
    }
    // A role must be granted before it can be a default.
    for adapted in accounts {
        let name = &adapted.account.name;
        let Some(sql) = adapted.account.set_default_roles(target.is_mariadb()) else {
            continue;
        };
        set(conn, &sql, name, &mut refused)?;
    }
    Ok(refused)
}

/// Runs what an earlier load had refused; what is still refused is returned.
pub fn again(conn: &mut Conn, statements: &[String]) -> Result<Vec<Refused>> {
    let mut refused = Vec::new();
    for sql in statements {
        match Statement::read(sql) {
            Some(Statement::Grant(grant)) => give(conn, &grant, &mut refused)?,
            Some(Statement::DefaultRoles(name, _)) => set(conn, sql, &name, &mut refused)?,
            _ => {}
        }
    }
    Ok(refused)
}

fn set(conn: &mut Conn, sql: &str, name: &Name, refused: &mut Vec<Refused>) -> Result<()> {
    if let Some(e) = attempt(conn, sql)? {
        refused.push(Refused {
            statement: sql.to_owned(),
            text: printable(&format!(
                "the default roles of account {name} are not set: {}",
                plain(&e)
            )),
        });
    }
    Ok(())
}

/// A list of privileges of which the server refuses one is refused as a whole: those that it takes are given.
fn give(conn: &mut Conn, grant: &Grant, refused: &mut Vec<Refused>) -> Result<()> {
    let Some(why) = attempt(conn, &grant.sql())? else {
        return Ok(());
    };
    // A syntax error, a privilege of another kind, or no right to give it: it may be about one of them.
    const OF_ONE: [u16; 9] = [1044, 1045, 1064, 1142, 1144, 1149, 1221, 1227, 3619];
    let mut failed = vec![grant.clone()];
    let mut error = plain(&why);
    match &grant.what {
        What::Privileges { list, on } if list.len() > 1 && OF_ONE.contains(&why.code) => {
            failed.clear();
            for privilege in list {
                let one = Grant {
                    what: What::Privileges {
                        list: vec![privilege.clone()],
                        on: on.clone(),
                    },
                    ..grant.clone()
                };
                if let Some(e) = attempt(conn, &one.sql())? {
                    error = plain(&e);
                    failed.push(one);
                }
            }
        }
        What::Roles(roles) if roles.len() > 1 => {
            failed.clear();
            for role in roles {
                let one = Grant {
                    what: What::Roles(vec![role.clone()]),
                    ..grant.clone()
                };
                if let Some(e) = attempt(conn, &one.sql())? {
                    error = plain(&e);
                    failed.push(one);
                }
            }
        }
        _ => {}
    }
    let mut names: Vec<String> = Vec::new();
    for one in &failed {
        match &one.what {
            What::Privileges { list, .. } => names.extend(list.iter().cloned()),
            What::Roles(roles) => names.extend(roles.iter().map(Name::sql)),
        }
    }
    let on = match &grant.what {
        What::Privileges { on, .. } => format!(" on {on}"),
        What::Roles(_) => String::new(),
    };
    let word = if grant.revoke { "has" } else { "lacks" };
    let text = printable(&format!(
        "account {} {word} {}{on}: {error}",
        grant.to,
        names.join(", ")
    ));
    // The words are those of all of them.
    let mut first = Some(text);
    refused.extend(failed.iter().map(|one| Refused {
        statement: one.sql(),
        text: first.take().unwrap_or_default(),
    }));
    Ok(())
}

impl Made {
    fn refuse(&mut self, name: &Name, why: &str) {
        self.refused.push(name.clone());
        self.exceptions
            .push(printable(&format!("account {name} was not made: {why}")));
    }
}

/// What the server says. A syntax error quotes the statement, and there may be a hash in it.
fn plain(e: &wire::ServerError) -> String {
    match e.code {
        1064 | 1149 => format!("the target does not know that (error {})", e.code),
        _ => e.to_string(),
    }
}

/// Runs a statement; what the server says against it.
fn attempt(conn: &mut Conn, sql: &str) -> Result<Option<wire::ServerError>> {
    // A random password comes as a row, which is of no use.
    match conn.fetch(sql) {
        Ok(_) => Ok(None),
        Err(wire::Error::Server(e)) => Ok(Some(e)),
        Err(e) => Err(failure::wire("cannot make an account", e)),
    }
}
