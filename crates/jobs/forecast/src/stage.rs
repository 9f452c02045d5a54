//! The stages of runs, and which phases they are made of.

use serde::{Deserialize, Serialize};

/// A part of a run whose time is forecast, and learned, by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The catalog, the snapshot, the definitions of a dump.
    Definitions,
    /// Rows out of a server into an archive.
    DumpRows,
    /// The end of an archive: what is left is made durable.
    Finish,
    /// Files of an archive are compared with their digests.
    CheckArchive,
    /// A data directory is made, a server started and shut down.
    OwnServer,
    /// Settings of the target are changed and put back.
    Settings,
    /// Schemas and tables of a load.
    CreateTables,
    /// Tablespaces are built and imported.
    Tablespaces,
    /// The target is stopped for them, started, and its tables compared.
    Offline,
    /// Rows by SQL, with the indexes that are added afterwards.
    LoadRows,
    /// Foreign keys, views, routines.
    Objects,
    /// Rows that were loaded by SQL are read and compared.
    Compare,
    /// A binary log is applied.
    Replay,
    /// Everything else: connections, prechecks.
    Rest,
}

impl Stage {
    /// The stage that a phase belongs to; `None`: to none of its own.
    pub fn of_phase(name: &str) -> Option<Stage> {
        Some(match name {
            "reading the catalog" | "taking the snapshot" | "reading definitions" => {
                Stage::Definitions
            }
            "dumping rows" => Stage::DumpRows,
            "finishing the archive" => Stage::Finish,
            "checking the archive" | "checking the encrypted files" => Stage::CheckArchive,
            "initializing the data directory"
            | "shutting the server down"
            | "starting a temporary server"
            | "copying the data directory"
            | "recovering the copy" => Stage::OwnServer,
            "tuning the server" | "reverting settings" | "restarting the server" => Stage::Settings,
            "creating tables" => Stage::CreateTables,
            "building tablespaces" => Stage::Tablespaces,
            "stopping the server for the offline import" | "verifying imported tables" => {
                Stage::Offline
            }
            "loading rows" => Stage::LoadRows,
            "creating foreign keys, routines, views" => Stage::Objects,
            "comparing rows" | "comparing generated columns" => Stage::Compare,
            "replaying" => Stage::Replay,
            _ => return None,
        })
    }

    /// What it does, for people.
    pub fn words(self) -> &'static str {
        match self {
            Stage::Definitions => "reading definitions",
            Stage::DumpRows => "reading and compressing rows",
            Stage::Finish => "making the archive durable",
            Stage::CheckArchive => "checking the archive",
            Stage::OwnServer => "starting and stopping the temporary server",
            Stage::Settings => "changing settings",
            Stage::CreateTables => "creating tables",
            Stage::Tablespaces => "building and importing tablespaces",
            Stage::Offline => "restarting the server and comparing its tables",
            Stage::LoadRows => "loading rows by SQL",
            Stage::Objects => "creating foreign keys, views and routines",
            Stage::Compare => "comparing rows",
            Stage::Replay => "applying the binary log",
            Stage::Rest => "connecting and checking",
        }
    }

    /// Its name in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Definitions => "definitions",
            Stage::DumpRows => "dump_rows",
            Stage::Finish => "finish",
            Stage::CheckArchive => "check_archive",
            Stage::OwnServer => "own_server",
            Stage::Settings => "settings",
            Stage::CreateTables => "create_tables",
            Stage::Tablespaces => "tablespaces",
            Stage::Offline => "offline",
            Stage::LoadRows => "load_rows",
            Stage::Objects => "objects",
            Stage::Compare => "compare",
            Stage::Replay => "replay",
            Stage::Rest => "rest",
        }
    }
}
