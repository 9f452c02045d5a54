//! GTIDs: the names that servers give to transactions, and sets of them.
//!
//! MySQL's are `UUID[:TAG]:NUMBER`, and what a server has executed is a set with holes. MariaDB's are
//! `DOMAIN-SERVER-SEQUENCE`, and what a server has executed is the last one of each domain.

pub mod mariadb;
pub mod mysql;

use std::fmt;

/// The name of a transaction, of either flavour.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gtid {
    /// Of MySQL.
    MySql(mysql::Gtid),
    /// Of MariaDB.
    MariaDb(mariadb::Gtid),
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gtid::MySql(gtid) => gtid.fmt(f),
            Gtid::MariaDb(gtid) => gtid.fmt(f),
        }
    }
}

impl Gtid {
    /// Reads one of either flavour; their forms cannot be mistaken for each other.
    pub fn parse(text: &str) -> Option<Gtid> {
        let text = text.trim();
        mysql::Gtid::parse(text)
            .map(Gtid::MySql)
            .or_else(|| mariadb::Gtid::parse(text).map(Gtid::MariaDb))
    }
}

/// What a server has executed, of either flavour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executed {
    /// Of MySQL.
    MySql(mysql::Set),
    /// Of MariaDB.
    MariaDb(mariadb::Position),
}

impl Executed {
    /// Nothing, of this flavour.
    pub fn empty(mariadb: bool) -> Executed {
        match mariadb {
            true => Executed::MariaDb(mariadb::Position::default()),
            false => Executed::MySql(mysql::Set::default()),
        }
    }

    /// Reads what the server of this flavour prints.
    pub fn parse(mariadb: bool, text: &str) -> Option<Executed> {
        match mariadb {
            true => mariadb::Position::parse(text).map(Executed::MariaDb),
            false => mysql::Set::parse(text).map(Executed::MySql),
        }
    }

    /// Whether the transaction is among them. For MariaDB: whether its domain has come as far.
    pub fn contains(&self, gtid: &Gtid) -> bool {
        match (self, gtid) {
            (Executed::MySql(set), Gtid::MySql(gtid)) => set.contains(gtid),
            (Executed::MariaDb(position), Gtid::MariaDb(gtid)) => position.reached(gtid),
            _ => false,
        }
    }

    /// Adds a transaction.
    pub fn add(&mut self, gtid: &Gtid) {
        match (self, gtid) {
            (Executed::MySql(set), Gtid::MySql(gtid)) => set.add(gtid),
            (Executed::MariaDb(position), Gtid::MariaDb(gtid)) => position.set(*gtid),
            _ => {}
        }
    }

    /// Whether all of these are among `other`.
    pub fn is_within(&self, other: &Executed) -> bool {
        match (self, other) {
            (Executed::MySql(a), Executed::MySql(b)) => a.is_within(b),
            (Executed::MariaDb(a), Executed::MariaDb(b)) => a.is_within(b),
            _ => false,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        match self {
            Executed::MySql(set) => set.is_empty(),
            Executed::MariaDb(position) => position.is_empty(),
        }
    }

    /// What is here and not in `other`, as text: of MariaDB each domain's last one that `other` has not reached.
    pub fn without(&self, other: &Executed) -> Executed {
        match (self, other) {
            (Executed::MySql(a), Executed::MySql(b)) => Executed::MySql(a.without(b)),
            (Executed::MariaDb(a), Executed::MariaDb(b)) => Executed::MariaDb(a.without(b)),
            _ => self.clone(),
        }
    }
}

impl fmt::Display for Executed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Executed::MySql(set) => set.fmt(f),
            Executed::MariaDb(position) => position.fmt(f),
        }
    }
}
