//! What to dump, and how: the resolved options of a dump.

use crate::from_replica::ExportLock;
use crate::unchanged::Base;
use archive::chunk::Compression;
use base::units::printable;
use rows::choices::Choices;
use run::throttle;
use server::{Filter, Identity, Position};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How much consistency is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// The best of the others but the last two that server and account allow.
    Auto,
    /// One snapshot for all workers, under the global read lock.
    Lock,
    /// One snapshot for all workers, proven without a lock.
    Compare,
    /// One snapshot for all workers, under locks on the tables.
    Tables,
    /// One snapshot of one worker.
    Transaction,
    /// No lock is needed: nobody else uses the server.
    Unused,
    /// None; for accounts that may not lock.
    None,
}

/// Which accounts are dumped.
#[derive(Clone, Debug)]
pub enum Accounts {
    /// All, if all schemas are dumped and the account may read them.
    Usual,
    /// These.
    Chosen(Arc<rows::accounts::Choice>),
    /// None.
    None,
}

/// A data directory that rows are read from.
#[derive(Clone, Debug)]
pub struct SourceFiles {
    /// Where it is: absolute, without links.
    pub datadir: PathBuf,
    /// Where it is read: there, or in a copy that was recovered.
    pub read_from: PathBuf,
    /// The last binary log and its size, if it has any.
    pub binary_log: Option<(String, u64)>,
    /// MariaDB: the last transaction of each domain in the binary log.
    pub gtid_binlog_pos: Option<String>,
    /// What keeps the files of a server that runs as they are.
    pub lock: Option<Arc<ExportLock>>,
    /// The server that runs whose snapshot they are.
    pub snapshot_of: Option<Arc<SnapshotOf>>,
}

/// A server that runs, of which a snapshot was taken.
#[derive(Clone, Debug)]
pub struct SnapshotOf {
    /// The server.
    pub id: Identity,
    /// How it is called, for people.
    pub name: String,
    /// The place in its binary log: exact.
    pub position: Position,
    /// How the snapshot was taken, for people.
    pub mode: String,
    /// How long commits waited, in milliseconds.
    pub lock_ms: f64,
    /// How long locks were waited for, in milliseconds.
    pub wait_ms: f64,
}

impl SourceFiles {
    /// Whether a temporary server reads what is not in files.
    pub(crate) fn has_own_server(&self) -> bool {
        self.lock.is_none()
    }
}

/// What to dump, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server.
    pub source: wire::Options,
    /// The files that rows are read from where that is possible.
    pub files: Option<SourceFiles>,
    /// Whether it goes on with a dump that was left unfinished in the place, if there is one, and leaves what it has finished if it fails.
    pub resume: bool,
    /// An earlier dump, whose rows are taken over where they did not change.
    pub base: Option<Base>,
    /// Loads that take the rows while they are read; `to` is then memory.
    pub feed: Option<Arc<rows::feed::Feed>>,
    /// The directory to write.
    pub to: encryption::Place,
    /// Connections that read rows.
    pub threads: usize,
    /// How chunks are compressed.
    pub compression: Compression,
    /// Target size of a chunk, in bytes of rows.
    pub chunk_bytes: u64,
    /// How much consistency.
    pub consistency: Consistency,
    /// Whether definitions are locked where the server can do that.
    pub backup_lock: bool,
    /// Longest wait for locks.
    pub lock_wait: Duration,
    /// Whether the archive is only in between, for a copy that removes it.
    pub in_between: bool,
    /// Whether to dump views.
    pub views: bool,
    /// Whether to dump procedures and functions.
    pub routines: bool,
    /// Whether to dump events.
    pub events: bool,
    /// Whether to dump triggers.
    pub triggers: bool,
    /// Whether to dump rows, and not only the definitions of tables.
    pub rows: bool,
    /// Which rows of tables.
    pub choices: Choices,
    /// Which accounts to dump.
    pub accounts: Accounts,
    /// Refuse an account that may not see everything that is selected.
    pub require_all: bool,
    /// Which schemas and tables.
    pub filter: Arc<Filter>,
    /// The limits on its impact on other sessions.
    pub throttle: throttle::Options,
}

impl Options {
    /// What is not wanted, besides the rows of all tables, in words.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let kinds = [
            (self.views, "views (--no-views)"),
            (self.triggers, "triggers (--no-triggers)"),
            (self.routines, "procedures and functions (--no-routines)"),
            (self.events, "events (--no-events)"),
        ];
        let kinds = kinds.into_iter().filter(|(wanted, _)| !wanted);
        let mut all = self.choices.left_out();
        all.extend(kinds.map(|(_, what)| what.to_owned()));
        all
    }

    /// The server that is dumped, where another one reads the snapshot of its files.
    pub(crate) fn snapshot_of(&self) -> Option<&SnapshotOf> {
        self.files.as_ref()?.snapshot_of.as_deref()
    }

    /// What is dumped, for people.
    pub(crate) fn source_name(&self, id: &Identity) -> String {
        match &self.files {
            Some(SourceFiles {
                snapshot_of: Some(of),
                ..
            }) => of.name.clone(),
            Some(files) => printable(&format!("{id}, files in {}", files.datadir.display())),
            None => format!("{id} at {}", self.source.endpoint),
        }
    }
}
