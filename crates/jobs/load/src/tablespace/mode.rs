//! The import mode that the user chose, and the summary of what was imported as tablespaces.

use instance::ServerCommand;

/// How the rows of tables get into the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImportMode {
    /// As tablespaces where that is faster and possible, by SQL otherwise.
    #[default]
    Auto,
    /// By SQL (`LOAD DATA`).
    Sql,
    /// As tablespaces wherever that is possible.
    Tablespace,
    /// The same, but the server is stopped and started once instead of importing each tablespace.
    Offline,
}

impl ImportMode {
    /// Whether tablespaces are put in place while the server is stopped. `command` stops and starts it, if
    /// there is such a command.
    pub fn stops(self, command: Option<&ServerCommand>) -> bool {
        match self {
            ImportMode::Offline => true,
            ImportMode::Auto => command.is_some_and(ServerCommand::is_managed),
            ImportMode::Sql | ImportMode::Tablespace => false,
        }
    }

    /// The value of `--import-mode`.
    pub fn name(self) -> &'static str {
        match self {
            ImportMode::Auto => "auto",
            ImportMode::Sql => "sql",
            ImportMode::Tablespace => "tablespace",
            ImportMode::Offline => "offline",
        }
    }
}

/// Which tables were imported as tablespaces, and why the others were loaded by SQL.
#[derive(Clone, Debug, Default)]
pub struct ImportSummary {
    /// Tables that were imported as tablespaces, by quoted, qualified name.
    pub tables: Vec<String>,
    /// Bytes of their rows.
    pub raw_bytes: u64,
    /// Bytes of their tablespaces.
    pub bytes: u64,
    /// Building, importing and verifying, in seconds.
    pub seconds: f64,
    /// How many of these seconds the server was down, if it was stopped.
    pub downtime_seconds: Option<f64>,
    /// Why other tables were loaded by SQL: each reason with its tables.
    pub reasons: Vec<(String, Vec<String>)>,
    /// Indexes of imported tables that the server builds, with their tables: FULLTEXT and SPATIAL indexes,
    /// indexes on expressions, and those whose order is not known here.
    pub indexes_built_by_server: Vec<String>,
}
