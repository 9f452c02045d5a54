//! `penstock copy`.

use super::connection::Connection;
use super::limits::{Limits, StoreLimits};
use super::names::Names;
use super::throttle::Throttle;
use super::values::{Consistency, DeferIndexes, Tune, VerifyMode, size};
use super::{Programs, Selection};
use clap::Args;
use std::path::PathBuf;

/// `penstock copy`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock copy /backup/monday s3://backups/monday
  penstock copy s3://backups/monday /restore/monday --max-rate-disk 40M
  penstock dump mysql://root@localhost/ --to - | ssh store penstock copy - /backup/monday
  penstock copy mysql://backup@db/ mysql://root@newdb/ -p --max-impact 5%
  penstock copy mysql://backup@db/ mysql://root@a/ mysql://root@b/ -p --schemas shop
  penstock copy mysql://backup@db/ mysql://root@localhost/ -p --via /srv/copy

Archives: every file is compared with the digest that the archive has of it. An encrypted archive is copied as it is,
without a key. Servers: the rows never reach a disk of this host, except with --via; they are compared on each target with
what was read.

Exit codes: 0 all of it is there, 3 copied with exceptions, 4 the rows differ, 5 the archive is damaged, or the stream
was cut, 10 the place or the target is not empty; the others are listed by penstock --help"
)]
pub struct Copy {
    /// The archive: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://…, az://…, or - for standard
    /// input; or a server: mysql://user@host:3306/
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    /// Where to: a place of the same kinds that is empty or does not exist yet, or - for standard output; for a
    /// server one or more servers
    #[arg(value_name = "TO", required = true, num_args = 1..)]
    pub to: Vec<PathBuf>,
    /// Files at the same time, or connections to each server [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub store_limits: StoreLimits,
    #[command(flatten)]
    pub servers: Servers,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub programs: Programs,
    #[command(flatten)]
    pub names: Names,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub throttle: Throttle,
    #[command(flatten)]
    pub connection: Connection,
}

/// How rows get from server to server. Nothing has a default here, so that an option that does not apply is seen.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "From server to server")]
pub struct Transfer {
    /// Row bytes per chunk, as a target [default: 16M; with --via 32M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub chunk_size: Option<u64>,
    /// Most row bytes that wait in memory for the slowest target; each connection that reads has up to two chunks
    /// more [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Dump into an archive here first, and load that: big tables are then imported as tablespaces if this is the target's host,
    /// and --resume continues what was interrupted. A new or empty directory, or a URL as of archives; the archive is removed at
    /// the end
    #[arg(long, value_name = "PLACE")]
    pub via: Option<PathBuf>,
    /// Seconds to wait for the read lock before the copy fails [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub lock_wait: Option<u64>,
    /// Give tables that are in a general tablespace (MySQL) files of their own, and create no tablespace
    #[arg(long)]
    pub strip_tablespaces: bool,
    /// Which tables get their secondary indexes after the rows [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub defer_indexes: Option<DeferIndexes>,
    /// Which settings of the targets may change during the copy [default: safe]
    #[arg(long, value_name = "LEVEL")]
    pub tune: Option<Tune>,
    /// Option file with the account and password for the targets, where they are not the source's
    #[arg(long, value_name = "FILE")]
    pub target_defaults_file: Option<PathBuf>,
}

/// What is copied from server to server, and how it is compared.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "From server to server")]
pub struct Servers {
    #[command(flatten)]
    pub transfer: Transfer,
    /// How the connections to the source get one consistent snapshot [default: auto]
    #[arg(long, value_name = "MODE")]
    pub consistency: Option<Consistency>,
    /// Do not hold up changes of definitions while rows are copied (LOCK INSTANCE FOR BACKUP, MySQL): a table that is changed
    /// meanwhile fails the copy, as it does where there is no such lock
    #[arg(long)]
    pub no_backup_lock: bool,
    /// Do not copy stored procedures and functions
    #[arg(long)]
    pub no_routines: bool,
    /// Do not copy events
    #[arg(long)]
    pub no_events: bool,
    /// Do not copy triggers
    #[arg(long)]
    pub no_triggers: bool,
    /// Refuse to copy with an account that may not see every schema and table that is selected, instead of
    /// saying so in the summary
    #[arg(long)]
    pub require_all: bool,
    /// How the rows of each target are compared with what was read: auto and sql are the same without --via, none counts
    /// them only [default: auto]
    #[arg(long, value_name = "HOW")]
    pub verify: Option<VerifyMode>,
    /// Do not write the rows to the targets' binary logs (needs the privilege to set sql_log_bin)
    #[arg(long)]
    pub skip_binlog: bool,
    /// Continue a copy with --via that was interrupted: its dump, or its loads; where nothing was begun, it begins
    #[arg(long)]
    pub resume: bool,
}
