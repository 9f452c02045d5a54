//! What a caller asks of the tuning of a server, and what it gets back. Data only.

use crate::command::ServerCommand;
use base::{Error, Kind};
use std::path::PathBuf;

/// How far a load may go to be fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Sessions are set as correctness needs, no further.
    Off,
    /// Session variables only.
    #[default]
    Safe,
    /// The server has no other users: global settings too, durability among them.
    Max,
}

impl Level {
    /// As it is typed and shown.
    pub fn name(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Safe => "safe",
            Level::Max => "max",
        }
    }
}

/// What the user allows.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The level.
    pub level: Level,
    /// The directory of journals; without one, nothing global is changed.
    pub state: Option<PathBuf>,
    /// How the server is restarted, if that is allowed.
    pub restart: Option<Restart>,
}

/// What the user gave to restart the server with.
#[derive(Clone, Debug)]
pub struct Restart {
    /// Restarts it.
    pub command: ServerCommand,
    /// A directory whose `.cnf` files the server reads when it starts.
    pub config: PathBuf,
}

/// What is going to be loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadProfile {
    /// Bytes of rows, as text.
    pub bytes: u64,
    /// Whether several workers may load one table.
    pub split: bool,
    /// Whether the load goes into the binary log.
    pub binlog: bool,
    /// Whether the redo log must stay on: imported tablespaces rely on it.
    pub redo: bool,
    /// The connection that the load has by now, which is not another user's.
    pub session: u32,
}

/// A setting before, during and after the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSetting {
    /// The variable, or `innodb_redo_log`.
    pub name: String,
    /// What it was.
    pub before: String,
    /// What it was while rows were loaded.
    pub during: String,
    /// What it is now; `None` if that could not be found out.
    pub after: Option<String>,
}

/// What was done, for the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The level that was asked for.
    pub level: Level,
    /// What was changed.
    pub changes: Vec<ChangedSetting>,
    /// What was not, and why.
    pub not_changed: Vec<String>,
    /// Lines of a `my.cnf` that would help after a restart.
    pub restart: Vec<String>,
    /// How often the server was restarted.
    pub restarts: u32,
    /// What is not as it was, in words.
    pub not_reverted: Vec<String>,
}

/// The error of a target that accepts no rows from a client.
pub fn local_infile_off() -> Error {
    Error::new(
        Kind::Privilege,
        "LOAD DATA LOCAL is off on the target (local_infile = OFF)",
    )
    .hint("SET GLOBAL local_infile = ON; and OFF again after the load")
}
