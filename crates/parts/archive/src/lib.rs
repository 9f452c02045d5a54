//! The dump on disk: MySQL Shell's dump format 2.0.1 as a set of files in a
//! [`store::Store`], and beside it penstock's own manifest, which accounts for
//! every byte.
//!
//! The way of a row when dumping: payload as the server sent it → [`digest`]
//! and [`row`] → [`chunk::ChunkWriter`] → store. When loading, a
//! [`chunk::ChunkReader`] gives the bytes back and fails if they are not the
//! bytes that were written. [`open::Archive`] reads the metadata of archives
//! written here or by MySQL Shell; [`check()`] proves an archive without a server.
//!
//! This crate knows no server and no network, starts no threads outside
//! [`check()`], and decides nothing about what is dumped.

pub mod check;
pub mod chunk;
pub mod digest;
pub mod error;
pub mod file;
pub mod manifest;
pub mod marker;
pub mod meta;
pub mod names;
pub mod open;
pub mod references;
pub mod row;
pub mod sqlfile;

/// Name of the manifest of a snapshot of a server's files: a place that has it holds no archive.
pub const SNAPSHOT: &str = "penstock-snapshot.json";

/// The table in which a load notes what it has loaded, on the target, until it is complete.
pub const LOAD_JOURNAL: &str = "penstock_load_journal";

pub use check::{
    CheckOptions, Problem, ProblemKind, Progress, Report, check, stray_warning, strays,
};
pub use chunk::{
    ChunkReader, ChunkRecord, ChunkWriter, Compression, Expected, Scratch, WriteOptions,
};
pub use digest::RowDigest;
pub use error::{ArchiveError, Result};
pub use file::FileRecord;
pub use manifest::Manifest;
pub use names::Basenames;
pub use open::Archive;
pub use references::References;
pub use row::{Encoding, RowError, RowPlan};
