//! The accounts of a server: users, roles, what they may do, and how they log in.
//!
//! `server` reads them, `file` reads `@.users.sql` of an archive, `adapt` changes them for a server of the other flavour,
//! `make` creates them, `choice` is the user's selection; `statement` and `name` are what all of these are written in.
//!
//! Invariants: an account that a server has already is never changed; a statement of an archive is run only if it is about an
//! account that the archive itself creates; no message has a password or its hash in it.

pub mod adapt;
mod choice;
pub mod file;
pub mod make;
mod name;
mod server;
mod statement;

pub use choice::Choice;
pub use name::Name;
pub use server::{Found, read};
pub use statement::{Create, Grant, Statement, What};

/// Accounts that belong to the server itself.
pub const OF_THE_SERVER: [&str; 4] = [
    "mysql.sys",
    "mysql.session",
    "mysql.infoschema",
    "mariadb.sys",
];

/// An account or a role, and the statements that make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: Name,
    /// What creates it; none for `PUBLIC` of MariaDB, which is there by itself.
    pub create: Option<Create>,
    /// What it may do.
    pub grants: Vec<Grant>,
    /// Roles that are active when it logs in, as they stand in a statement.
    pub default_roles: Option<String>,
}

impl Account {
    /// An account that may do nothing yet.
    pub fn new(name: Name, create: Option<Create>) -> Account {
        Account {
            name,
            create,
            grants: Vec::new(),
            default_roles: None,
        }
    }

    /// The statement that sets its default roles, on MariaDB or on MySQL.
    pub fn set_default_roles(&self, mariadb: bool) -> Option<String> {
        let roles = self.default_roles.as_ref()?;
        let word = if mariadb { "FOR" } else { "TO" };
        Some(format!(
            "SET DEFAULT ROLE {roles} {word} {}",
            self.name.sql()
        ))
    }
}
