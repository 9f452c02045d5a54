//! `penstock dump`.

use super::connection::Connection;
use super::encryption::Encrypting;
use super::limits::{Limits, StoreLimits};
use super::throttle::Throttle;
use super::values::{Compression, Consistency, size};
use super::{Selection, report};
use clap::Args;
use std::path::PathBuf;

/// `penstock dump`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock dump --socket /run/mysqld/mysqld.sock --user root --to /backup/monday
  penstock dump mysql://backup@db.example:3306/ -p --to /backup/shop --schemas shop
  penstock dump -h db -u backup -p --to /backup/part --tables 'shop.order*' --compression none

Exit codes: 0 dumped, 3 dumped with exceptions; the others are listed by penstock --help"
)]
pub struct Dump {
    /// The server, as mysql://user@host:3306/ or mysql://user@localhost/?socket=/path, or use the
    /// connection options
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    /// Archive to write: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or az://…; it must
    /// be empty, or not exist yet. - writes it to standard output, as one stream
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    #[command(flatten)]
    pub how: Dumping,
}

/// What a dump into a place and a backup into a repository share.
#[derive(Args, Debug, Clone)]
pub struct Dumping {
    /// Connections that read rows [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Compression of the row data
    #[arg(long, value_name = "METHOD", default_value = "zstd:1", value_parser = Compression)]
    pub compression: dump::Compression,
    /// Row bytes per chunk, as a target
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = size)]
    pub chunk_size: u64,
    /// How the workers get one consistent snapshot
    #[arg(long, value_name = "MODE", default_value = "lock")]
    pub consistency: Consistency,
    /// Seconds to wait for the read lock before the dump fails [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub lock_wait: Option<u64>,
    /// Do not dump stored procedures and functions
    #[arg(long)]
    pub no_routines: bool,
    /// Do not dump events
    #[arg(long)]
    pub no_events: bool,
    /// Do not dump triggers
    #[arg(long)]
    pub no_triggers: bool,
    /// Refuse to dump with an account that may not see every schema and table that is selected,
    /// instead of saying so in the summary
    #[arg(long)]
    pub require_all: bool,
    #[command(flatten)]
    pub recording: report::Recording,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub store_limits: StoreLimits,
    #[command(flatten)]
    pub throttle: Throttle,
    #[command(flatten)]
    pub encryption: Encrypting,
    #[command(flatten)]
    pub connection: Connection,
}
