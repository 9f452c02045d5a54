//! `penstock binlog`: the binary log of a server.

use super::connection::Connection;
use super::limits::StoreLimits;
use super::repository::Where;
use super::values::{duration, size};
use clap::{Args, Subcommand};
use std::time::Duration;

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Binlog {
    /// Follow a server's binary log and keep every byte of it in a repository
    Archive(Box<Archive>),
}

/// `penstock binlog archive`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Runs until it is stopped, and goes on where it ended when it is started again. The account needs REPLICATION SLAVE
and, to see the files of the log, REPLICATION CLIENT (MariaDB: BINLOG MONITOR).

Examples:
  penstock binlog archive shop --repository /backup/repo --socket /run/mysqld/mysqld.sock --user backup
  penstock binlog archive shop mysql://backup@db1:3306/ -p --repository s3://backups/mysql --failover mysql://db2:3306/
  penstock binlog archive shop --repository /backup/repo --once

Exit codes: 0 stopped, or with --once everything is stored, 3 the same, and something is missing (it is named); the others are listed
by penstock --help"
)]
pub struct Archive {
    /// Under which name the server's backups and binary logs are kept
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The server, as mysql://user@host:3306/ or mysql://user@localhost/?socket=/path, or use the
    /// connection options
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    #[command(flatten)]
    pub place: Where,
    /// Another server with the same GTIDs, to follow when the one before does not answer; may be given
    /// several times
    #[arg(long, value_name = "SERVER")]
    pub failover: Vec<String>,
    /// Where to begin if nothing is kept yet: oldest, newest, or the name of a file of the log [default:
    /// what the oldest backup of this server needs; without one: newest]
    #[arg(long, value_name = "FILE")]
    pub start: Option<String>,
    /// Store what came at least this often: so much can be lost with the server
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub max_age: Duration,
    /// Store what came as soon as it is this long
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub segment_size: u64,
    /// End when everything that the server has now is stored
    #[arg(long)]
    pub once: bool,
    /// Number as a replica of the server; no other replica may have it [default: made of NAME and the
    /// repository]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub server_id: Option<u32>,
    #[command(flatten)]
    pub store_limits: StoreLimits,
    #[command(flatten)]
    pub connection: Connection,
}
