//! `penstock binlog`: the binary log of a server.

use super::connection::Connection;
use super::encryption::{Encrypting, Opening};
use super::limits::StoreLimits;
use super::repository::Where;
use super::values::{Point, duration, gtid, moment, point, size};
use binlog::gtid::Gtid;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Binlog {
    /// Follow a server's binary log and keep every byte of it in a repository
    Archive(Box<Archive>),
    /// Find transactions in a kept binary log, or a server's: which one dropped that table?
    Find(Box<Find>),
    /// Show transactions with their statements and rows, or write what takes them back
    Show(Box<Show>),
}

/// `--kind`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Inserts rows
    Insert,
    /// Changes rows
    Update,
    /// Deletes rows
    Delete,
    /// A statement: changes definitions or accounts, or rows in a log of statements
    Statement,
}

/// Which log is read, and how.
#[derive(Args, Debug)]
pub struct OfLog {
    /// Under which name the server's binary log is kept in the repository; or a server whose own log is read, as
    /// mysql://user@host:3306/ or mysql://user@localhost/?socket=/path, or use the connection options
    #[arg(value_name = "NAME|SERVER")]
    pub log: Option<String>,
    /// The repository: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or az://… [default:
    /// PENSTOCK_REPOSITORY]
    #[arg(long, value_name = "REPO")]
    pub repository: Option<PathBuf>,
    #[command(flatten)]
    pub encryption: Opening,
    #[command(flatten)]
    pub connection: Connection,
}

/// Which transactions.
#[derive(Args, Debug)]
#[command(next_help_heading = "Transactions: what is given must fit")]
pub struct Selecting {
    /// Of this table, as TABLE or SCHEMA.TABLE
    #[arg(long, value_name = "TABLE")]
    pub table: Option<String>,
    /// Of this schema
    #[arg(long, value_name = "SCHEMA")]
    pub schema: Option<String>,
    /// What is done
    #[arg(long, value_name = "KIND")]
    pub kind: Option<Kind>,
    /// Committed at this time or later: '2026-11-21 12:00:00+09:00', or without a zone in that of this host
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub after: Option<u64>,
    /// Committed at this time or earlier
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub before: Option<u64>,
    /// From here on: a place (binlog.000012:345), a GTID, or a time
    #[arg(long, value_name = "FROM", value_parser = point)]
    pub from: Option<Point>,
    /// Up to here: a place, a GTID, or a time
    #[arg(long, value_name = "TO", value_parser = point)]
    pub to: Option<Point>,
    /// This transaction
    #[arg(long, value_name = "GTID", value_parser = gtid)]
    pub gtid: Option<Gtid>,
    /// Of the session with this number
    #[arg(long, value_name = "N")]
    pub thread: Option<u32>,
    /// A statement that holds this text, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// At most this number of transactions [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
}

/// `penstock binlog find`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock binlog find shop --repository /backup/repo --table shop.orders --kind statement
  penstock binlog find shop --repository /backup/repo --text 'drop table' --after '2026-11-21 09:00:00+09:00'
  penstock binlog find shop --repository s3://backups/mysql --table orders --kind delete --json
  penstock binlog find mysql://backup@db1:3306/ -p --table shop.orders --after '2026-11-21 09:00:00+09:00'

Exit codes: 0 searched; the others are listed by penstock --help"
)]
pub struct Find {
    #[command(flatten)]
    pub of: OfLog,
    #[command(flatten)]
    pub which: Selecting,
    /// When the command has ended, write the age, size and proof of each server's backups into this
    /// file, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,
}

/// `penstock binlog show`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Names of columns come from the log if it has them (binlog_row_metadata=FULL), else from the nearest dump in the repository, or of a server's
own log from the server; where none fits they are @1, @2, and why is said. With --json, each transaction, statement and row is an object on a
line of its own.

--undo writes the statements that take row changes back, the last change first, into a new file. It runs nothing. The whole range must be
possible: statements, DDL and incomplete row images in it are named, and then there is no file.

Examples:
  penstock binlog show shop --repository /backup/repo --gtid 0-1-4711
  penstock binlog show shop --repository /backup/repo --table shop.orders --kind delete --after '2026-11-21 09:00:00+09:00'
  penstock binlog show mysql://backup@db1:3306/ -p --from binlog.000012:345 --json
  penstock binlog show shop --repository /backup/repo --table shop.orders --gtid 0-1-4711 --undo orders-back.sql

Exit codes: 0 shown, or written, 2 a range that cannot be taken back, 10 the file exists; the others are listed by penstock --help"
)]
pub struct Show {
    #[command(flatten)]
    pub of: OfLog,
    #[command(flatten)]
    pub which: Selecting,
    /// At most this number of rows of each transaction [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub rows: Option<u64>,
    /// Write the statements that take these changes back into this new file, and run nothing; one of the
    /// options that select transactions must be given
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rows", "limit"])]
    pub undo: Option<PathBuf>,
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
    /// Store what came at least this often: what could be lost with the server
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub max_age: Duration,
    /// Store what came as soon as it is this long
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    pub segment_size: u64,
    /// End when everything that the server has now is stored
    #[arg(long)]
    pub once: bool,
    /// A commit on the server waits until it is stored here: as a replica with semi-synchronous replication
    #[arg(long)]
    pub semisync: bool,
    /// Read everything that is archived through first, and archive again what is damaged, as long as the
    /// server has it. What is seen to be missing is archived again without this, too
    #[arg(long)]
    pub repair: bool,
    /// Number as a replica of the server; no other replica may have it [default: made of NAME and the
    /// repository]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub server_id: Option<u32>,
    #[command(flatten)]
    pub encryption: Encrypting,
    #[command(flatten)]
    pub store_limits: StoreLimits,
    #[command(flatten)]
    pub connection: Connection,
}
