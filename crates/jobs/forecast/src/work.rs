//! What a run has to do, in amounts that are known before its first row moves. It is kept in the history of runs, so it
//! holds no name of a schema, a table, an account, a host or a place.

use run::host;
use serde::{Deserialize, Serialize};
use store::Location;

/// Which kind of run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// Rows out of a server, or of its files.
    #[default]
    Dump,
    /// An archive into a server.
    Load,
    /// A binary log, applied by a server.
    Replay,
}

/// Tables with their rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Amount {
    /// How many tables.
    pub tables: u64,
    /// Rows of them, as far as they are known.
    pub rows: u64,
    /// Values of those rows: each row has one in each column.
    pub values: u64,
    /// Bytes of them.
    pub bytes: u64,
}

impl Amount {
    /// Values of the rows. A run that was kept without them counts as one of tables of usual width.
    pub(crate) fn values(&self) -> f64 {
        match self.values {
            0 => (self.rows * USUAL_COLUMNS) as f64,
            n => n as f64,
        }
    }
}

/// Columns of the tables that the built-in rates are from.
const USUAL_COLUMNS: u64 = 10;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// Which kind of run.
    pub job: Job,
    /// The server's flavour, in small letters.
    pub flavour: String,
    /// `here`, or a hash of where the server is.
    pub server: String,
    /// The kind of place that has the archive or the log: `directory`, `ssh`, `object`, `stream`.
    pub place: String,
    /// What else decides how fast rows move: the compression, or what the target may do without.
    pub how: String,
    /// Connections that move rows.
    pub workers: u64,
    /// Cores of this host that the run may use.
    pub cores: u64,
    /// Tables, also those without rows.
    pub tables: u64,
    /// Views, routines and events.
    pub objects: u64,
    /// Tables whose rows are read, or loaded by SQL.
    pub rows: Amount,
    /// Tables that are imported as tablespaces.
    pub tablespaces: Amount,
    /// Bytes of the largest part that only one worker can read.
    pub alone: u64,
    /// Bytes of the archive that are read, or of the log.
    pub stored: u64,
    /// Whether the server is stopped for the import.
    pub offline: bool,
    /// Whether a server is started for the run.
    pub starts_server: bool,
    /// Whether rows that were loaded by SQL are compared.
    pub compares: bool,
}

impl Work {
    /// All tables with rows.
    pub fn all(&self) -> Amount {
        let (a, b) = (self.rows, self.tablespaces);
        Amount {
            tables: a.tables.saturating_add(b.tables),
            rows: a.rows.saturating_add(b.rows),
            values: a.values.saturating_add(b.values),
            bytes: a.bytes.saturating_add(b.bytes),
        }
    }

    /// How large it is, to compare runs by.
    pub fn size(&self) -> f64 {
        (self.all().bytes.max(self.stored) as f64).max(1.0)
    }

    /// Whether its server is on this host.
    pub fn is_here(&self) -> bool {
        self.server == HERE
    }
}

const HERE: &str = "here";

/// The `server` of [`Work`].
pub fn server(endpoint: &wire::Endpoint, id: &server::Identity) -> String {
    match host::is_this_one(endpoint, id) {
        true => HERE.to_owned(),
        false => hashed(&format!("{}:{}", id.hostname, id.port)),
    }
}

/// The same of a server that was not asked yet.
pub fn server_at(endpoint: &wire::Endpoint) -> String {
    match endpoint {
        wire::Endpoint::Unix(_) => HERE.to_owned(),
        wire::Endpoint::Tcp(host, port) => hashed(&format!("{host}:{port}")),
    }
}

/// A server that this run starts itself.
pub fn own_server() -> String {
    HERE.to_owned()
}

/// A name that is recognized and not read.
pub(crate) fn hashed(name: &str) -> String {
    let digest = archive::FileRecord::of(name.as_bytes()).blake3;
    digest.chars().take(8).collect()
}

/// The `place` of [`Work`].
pub fn place(location: &Location, encrypted: bool) -> String {
    let kind = match location {
        Location::Stream => "stream",
        Location::Directory(_) => "directory",
        Location::Ssh(_) => "ssh",
        Location::Object(_) => "object",
        Location::Memory(_) => "memory",
    };
    match encrypted {
        true => format!("{kind}, encrypted"),
        false => kind.to_owned(),
    }
}
