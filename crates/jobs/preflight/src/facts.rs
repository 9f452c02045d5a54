//! What checks look at. Everything that may be unknown says why it is.

use crate::check::{Job, Seen, Severity};
use crate::host::Host;
use run::file_system::FileSystem;
use server::catalog::Table;
use server::replication::Channel;
use server::{Catalog, Identity, Privileges};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// What is known, or why it is not.
pub(crate) type Known<T> = Result<T, String>;

/// What was gathered.
#[derive(Debug)]
pub struct Facts {
    /// The server, with its variables.
    pub(crate) id: Identity,
    /// Its status.
    pub(crate) status: Known<BTreeMap<String, String>>,
    /// What the account may do.
    pub(crate) privileges: Known<Privileges>,
    /// The server's host, if it is this one.
    pub(crate) host: Known<Host>,
    /// Its directories, on that host.
    pub(crate) places: Vec<Place>,
    /// Those that could not be looked at.
    pub(crate) places_unseen: Vec<String>,
    /// Schemas and tables that the account sees.
    pub(crate) catalog: Known<Catalog>,
    /// Statements that run.
    pub(crate) statements: Known<Vec<Statement>>,
    /// Transactions that are open.
    pub(crate) transactions: Known<Vec<Transaction>>,
    /// The sources that it follows.
    pub(crate) channels: Known<Vec<Channel>>,
    /// Settings that a run of penstock left changed.
    pub(crate) left: Known<instance::doctor::Summary>,
    /// What a dump would do; or the error that it would end with.
    pub(crate) dump: Known<base::Result<dump::Preview>>,
    /// Whether a place for the dump was named.
    pub(crate) dump_place: bool,
    /// Whether a load could write at all.
    pub(crate) writable: Known<base::Result<()>>,
    /// The last backup; `None` if no repository was named.
    pub(crate) backup: Option<Known<LastBackup>>,
    /// Jobs that were asked for by name.
    pub(crate) asked: Vec<Job>,
}

/// A directory of the server.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// What it is used for: see [`run::places`].
    pub(crate) use_: &'static str,
    /// Its path, without links as far as they could be followed.
    pub(crate) path: PathBuf,
    /// What it is on.
    pub(crate) file_system: FileSystem,
}

/// A statement that runs.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    /// The connection.
    pub(crate) connection: u64,
    /// Whose it is.
    pub(crate) user: String,
    /// `Query`, `Binlog Dump`, …
    pub(crate) command: String,
    /// For how long, in seconds.
    pub(crate) seconds: u64,
    /// The beginning of its text.
    pub(crate) text: String,
}

/// A transaction that is open.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    /// The connection.
    pub(crate) connection: u64,
    /// For how long, in seconds.
    pub(crate) seconds: u64,
    /// Rows that it has changed.
    pub(crate) changed: u64,
}

/// The last backup of the server.
#[derive(Clone, Debug)]
pub(crate) struct LastBackup {
    /// Which one, as `SERVER@ID`; none if there is no backup of this server.
    pub(crate) name: Option<String>,
    /// How long ago it ended.
    pub(crate) age: Duration,
    /// How old it may be.
    pub(crate) oldest: Duration,
    /// Whether it holds a part of the server only.
    pub(crate) part: bool,
    /// How much is missing in it.
    pub(crate) exceptions: usize,
    /// Whether a drill proved it.
    pub(crate) proven: bool,
    /// The repository, in words.
    pub(crate) repository: String,
}

impl Facts {
    /// The server's host.
    pub(crate) fn host(&self) -> Known<&Host> {
        self.host.as_ref().map_err(Clone::clone)
    }

    /// Its directories; the host must be known. Those that cannot be looked at are noted in `seen`: they never count as fine.
    pub(crate) fn places(&self, seen: &mut Seen) -> Known<&[Place]> {
        self.host()?;
        if self.places.is_empty() {
            return Err(self.places_unseen.join("; "));
        }
        for why in &self.places_unseen {
            seen.not_seen(why);
        }
        Ok(&self.places)
    }

    /// A directory of this use.
    pub(crate) fn place(&self, use_: &str) -> Known<&Place> {
        self.host()?;
        let found = self.places.iter().find(|p| p.use_ == use_);
        found.ok_or_else(|| format!("the directory of its {use_} cannot be looked at"))
    }

    /// A variable, if the server has it.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.id.variable(name)
    }

    /// A variable that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.variable(name)?.parse().ok()
    }

    /// A variable that is on or off.
    pub(crate) fn on(&self, name: &str) -> Option<bool> {
        let value = self.variable(name)?;
        Some(
            ["ON", "1", "YES", "TRUE"]
                .iter()
                .any(|on| value.eq_ignore_ascii_case(on)),
        )
    }

    /// A counter.
    pub(crate) fn counter(&self, name: &str) -> Known<Option<u64>> {
        let status = self.status.as_ref().map_err(Clone::clone)?;
        Ok(status.get(name).and_then(|v| v.parse().ok()))
    }

    /// All tables, the largest first.
    pub(crate) fn tables(&self) -> Known<Vec<&Table>> {
        let catalog = self.catalog.as_ref().map_err(Clone::clone)?;
        let mut all: Vec<&Table> = catalog.tables().collect();
        all.sort_by_key(|t| std::cmp::Reverse(size(t)));
        Ok(all)
    }

    /// How much it matters that a job lacks something: more if it was asked for.
    pub(crate) fn lacking(&self, job: Job) -> Severity {
        match self.asked.contains(&job) {
            true => Severity::Serious,
            false => Severity::Warning,
        }
    }
}

/// Bytes of a table with its indexes.
pub(crate) fn size(table: &Table) -> u64 {
    table.data_bytes.saturating_add(table.index_bytes)
}
