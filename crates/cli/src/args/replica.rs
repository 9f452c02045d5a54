//! `penstock replica`.

use super::connection::Connection;
use super::copy::Transfer;
use super::encryption::Opening;
use super::limits::Limits;
use super::throttle::Throttle;
use super::values::duration;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Replica {
    /// Make a new server a replica: copied, attached, caught up, and compared with its source
    Create(Box<Create>),
    /// Show how far a replica is
    Status(Box<Status>),
    /// Compare a replica with its source at one moment, while both are in use
    Verify(Box<Verify>),
    /// Remove what penstock replica create has made
    Abort(Box<Abort>),
}

/// `penstock replica create`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock replica create mysql://root@db1:3306/ mysql://root@db2:3306/ -p
  penstock replica create mysql://root@db1/ mysql://root@db2/ -p --max-impact 5% --source-address 10.0.0.1:3306
  penstock replica create mysql://root@db1/ mysql://root@db2/ -p --from-archive /backup/monday
  penstock replica create mysql://root@db1/ mysql://root@localhost/ -p --via /srv/copy
  penstock replica create mysql://root@db1/ mysql://root@db2/ -p --warm=hot.warm
  penstock replica create mysql://root@db1/ mysql://root@db2/ -p --resume

Exit codes: 0 it follows its source, caught up and equal; 3 the same, with exceptions; 4 the rows differ, 10 a server
cannot be used as it is, 12 it has not caught up in time; the others are listed by penstock --help"
)]
pub struct Create {
    /// The server to follow, as mysql://user@host:3306/
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// The new server, which has no data yet
    #[arg(value_name = "NEW")]
    pub new: String,
    /// Connections to each server [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Copy the data from this replica of the source, to spare the source
    #[arg(long, value_name = "SERVER")]
    pub from_replica: Option<String>,
    /// Load the data from this archive of the source, or of a replica of it, and continue from where it was made: a
    /// directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or az://…
    #[arg(long, value_name = "PLACE", conflicts_with = "from_replica")]
    pub from_archive: Option<PathBuf>,
    /// Continue what an earlier run has begun, if its copy was complete, or came from an archive (also one of --via); where
    /// nothing was begun, it begins, and says so
    #[arg(long)]
    pub resume: bool,
    /// Do not compare the servers at the end
    #[arg(long)]
    pub no_verify: bool,
    /// Read what is hot on the source into the new server's memory at the end: as it is then, where the source's
    /// files are on this host, or as a file of penstock warm save says
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub warm: Option<Option<PathBuf>>,
    #[command(flatten)]
    pub following: Following,
    #[command(flatten)]
    pub transfer: Transfer,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub throttle: Throttle,
    #[command(flatten)]
    pub encryption: Opening,
    #[command(flatten)]
    pub connection: Connection,
}

/// How the new server follows its source.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Replication")]
pub struct Following {
    /// Where the new server finds its source [default: as penstock does]
    #[arg(long, value_name = "HOST:PORT")]
    pub source_address: Option<String>,
    /// An account of the source that may replicate [default: one is made, with a random password]
    #[arg(long, value_name = "NAME", requires = "replication_password_file")]
    pub replication_user: Option<String>,
    /// A file whose first line is the password of that account
    #[arg(long, value_name = "FILE", requires = "replication_user")]
    pub replication_password_file: Option<PathBuf>,
    /// From which hosts the account that is made may come [default: %]
    #[arg(long, value_name = "HOST", conflicts_with = "replication_user")]
    pub replication_host: Option<String>,
    /// Name of the channel (on MariaDB, of the connection) [default: the unnamed one]
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub channel: String,
    /// Longest wait until the new server has caught up
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub catch_up_timeout: Duration,
    /// How far behind it may be to count as caught up
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub max_behind: Duration,
    /// Also a new server that is open for the writes of others (read_only is OFF)
    #[arg(long)]
    pub allow_writable: bool,
}

/// `penstock replica status`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock replica status mysql://root@db2/ -p
  penstock replica status --socket /run/mysqld/mysqld.sock --user root --json

Exit codes: 0 every channel runs and is connected, or it is no replica; 1 one is not; the others are listed by
penstock --help"
)]
pub struct Status {
    /// The replica, as mysql://user@host:3306/, or use the connection options
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock replica verify`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock replica verify mysql://root@db1/ mysql://root@db2/ -p
  penstock replica verify mysql://root@db1/ mysql://root@db2/ -p --schemas shop --max-rate 50M
  penstock replica verify mysql://root@db1/ mysql://root@db2/ -p --repair-sql repair.sql

The applier of the replica waits while rows are compared.

Exit codes: 0 equal, 4 the rows differ; the others are listed by penstock --help"
)]
pub struct Verify {
    /// The source, as mysql://user@host:3306/
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Its replica
    #[arg(value_name = "REPLICA")]
    pub replica: String,
    /// Connections to each server [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Name of the channel [default: the unnamed one]
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub channel: String,
    /// Write the SQL that makes the replica equal again to FILE (- for standard output); it is never run. What it is
    /// about, and how to run it, is at its beginning
    #[arg(long, value_name = "FILE")]
    pub repair_sql: Option<PathBuf>,
    /// Longest wait until the replica has come to the moment that is compared
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub catch_up_timeout: Duration,
    /// Seconds to wait for the read lock before it fails [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub lock_wait: Option<u64>,
    /// Option file with the account and password for the replica, where they are not the source's
    #[arg(long, value_name = "FILE")]
    pub target_defaults_file: Option<PathBuf>,
    #[command(flatten)]
    pub selection: super::Selection,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock replica abort`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock replica abort mysql://root@db2/ --source mysql://root@db1/ -p
  penstock replica abort mysql://root@db2/ --source mysql://root@db1/ -p --drop-data

Exit codes: 0 what was asked for is removed (without --drop-data the copy is kept, and named), 3 something of it could
not be removed, 10 nothing is recorded of that server; the others are listed by penstock --help"
)]
pub struct Abort {
    /// The server that was to become a replica, named as it was then
    #[arg(value_name = "NEW")]
    pub new: String,
    /// Its source, where the account for replication is removed
    #[arg(long, value_name = "SERVER")]
    pub source: Option<String>,
    /// Also drop the data and the accounts that were copied
    #[arg(long)]
    pub drop_data: bool,
    /// Option file with the account and password for the new server, where they are not the source's
    #[arg(long, value_name = "FILE")]
    pub target_defaults_file: Option<PathBuf>,
    #[command(flatten)]
    pub connection: Connection,
}
