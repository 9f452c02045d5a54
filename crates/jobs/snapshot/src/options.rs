//! What a user asks for.

use archive::chunk::Compression;
use encryption::Place;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a snapshot is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Each file is cloned within its file system.
    Reflink,
    /// A read-only snapshot of the subvolume.
    Btrfs,
    /// A snapshot of the logical volume.
    Lvm,
    /// The same in a thin pool.
    LvmThin,
    /// A snapshot of the dataset.
    Zfs,
    /// MySQL's CLONE plugin.
    Clone,
    /// The files of a stopped server, or mariadb-backup for one that runs.
    Copy,
}

impl Method {
    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Method::Reflink => "reflink",
            Method::Btrfs => "btrfs",
            Method::Lvm => "lvm",
            Method::LvmThin => "lvm-thin",
            Method::Zfs => "zfs",
            Method::Clone => "clone",
            Method::Copy => "copy",
        }
    }

    /// Whether the snapshot shares blocks with the data directory, so that it costs room as that is written to.
    pub fn shares_blocks(self) -> bool {
        !matches!(self, Method::Clone | Method::Copy)
    }
}

/// Whose files.
#[derive(Clone, Debug)]
pub enum Server {
    /// A server that runs on this host.
    Running(Box<wire::Options>),
    /// The data directory of one that does not.
    Stopped(PathBuf),
}

/// What to take.
#[derive(Clone, Debug)]
pub struct TakeOptions {
    /// What it shall be called; a new identifier if it is not given.
    pub id: Option<String>,
    /// Whose files.
    pub server: Server,
    /// How.
    pub method: Method,
    /// Where the files are stored; `None` keeps the snapshot where it was made.
    pub to: Option<Place>,
    /// The directory in which the snapshot gets its own.
    pub at: Option<PathBuf>,
    /// Where records are kept.
    pub state: PathBuf,
    /// Longest wait for the locks, together.
    pub lock_wait: Duration,
    /// Pieces at the same time.
    pub threads: usize,
    /// Of the pieces.
    pub compression: Compression,
    /// The share of the file system that must stay free while the snapshot exists: 0 to 1.
    pub keep_free: f64,
    /// Room of an LVM snapshot, in bytes.
    pub size: Option<u64>,
}

/// How restored files are proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prove {
    /// `CHECK TABLE` of every table.
    Check,
    /// Every table is opened.
    Open,
    /// The server recovers, and nothing more.
    Start,
}

/// What to restore.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// The snapshot: a place that one was stored in, or the directory of one that was kept.
    pub from: Place,
    /// The data directory: empty, or not there yet.
    pub datadir: PathBuf,
    /// The server's program; searched for if it is not given.
    pub program: Option<PathBuf>,
    /// Options of the temporary server, each `name=value`.
    pub options: Vec<String>,
    /// How it is proven.
    pub prove: Prove,
    /// Pieces, and tables, at the same time.
    pub threads: usize,
    /// What is done with the proven files while their server still runs.
    pub when_proven: Option<WhenProven>,
}

/// Uses the server of restored files; gets how it is connected to.
#[derive(Clone)]
pub struct WhenProven(pub Arc<dyn Fn(&wire::Options) + Send + Sync>);

impl std::fmt::Debug for WhenProven {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WhenProven")
    }
}
