//! `penstock warm`: the hot part of a buffer pool, carried to another server.

use super::Selection;
use super::connection::Connection;
use super::values::{rate, share};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Warm {
    /// Write the hot part of a server's buffer pool into a file, as ranges of keys
    Save(Save),
    /// Read the ranges of such a file on another server, so that they are in its buffer pool
    Load(Load),
    /// Show what such a file holds
    Status(Status),
}

/// `penstock warm save`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Runs on the host of the server, as root or as the server's account: the levels of the indexes above the leaves are read
from its files. The server is asked for a list of the pages in its buffer pool; the two settings for that are put back at
once (after a kill: penstock doctor --revert). The file holds values of keys.

Examples:
  penstock warm save --socket /run/mysqld/mysqld.sock --user root --to hot.warm
  penstock warm save mysql://root@localhost/?socket=/run/mysqld/mysqld.sock --to hot.warm --include-schemas shop
  penstock warm save --socket /s --list /var/lib/mysql/ib_buffer_pool --to hot.warm

Exit codes: 0 every hot leaf has a range or is too new for one, 3 tables or indexes are left out and are listed; the
others are listed by penstock --help"
)]
pub struct Save {
    /// The server, as mysql://user@localhost/?socket=/path, or use the connection options
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    /// The file to write; one that is there is replaced
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// The server's data directory as it is seen from here [default: as the server names it]
    #[arg(long, value_name = "DIR")]
    pub datadir: Option<PathBuf>,
    /// A list of pages that the server has written already, its innodb_buffer_pool_filename; no setting is changed then
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,
    /// Tables that are read at the same time [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock warm load`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
The hottest ranges come first; Ctrl-C ends it, and what was read stays in memory. The sessions are read-only, and no
setting is changed but by --one-reading. The server may be of another version or flavour, and loaded in any way.

Examples:
  penstock warm load mysql://root@newdb/ -p --from hot.warm
  penstock warm load --socket /run/mysqld/mysqld.sock --user root --from hot.warm --max-rate 200M --threads 4
  penstock warm load --socket /run/mysqld/mysqld.sock --user root --whole-indexes

Exit codes: 0 all of it was read, or as much as the pool holds, 3 the server lacks some of it, which is listed; the
others are listed by penstock --help"
)]
pub struct Load {
    /// The server, as mysql://user@host:port/, or use the connection options
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,
    /// The file that penstock warm save wrote
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "whole_indexes",
        conflicts_with = "whole_indexes"
    )]
    pub from: Option<PathBuf>,
    /// Read all indexes of all tables instead, the smallest table first
    #[arg(long)]
    pub whole_indexes: bool,
    /// Share of the buffer pool that may be filled; of a file with more, the coldest ranges are left out [default: 90%]
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub budget: Option<f64>,
    /// Set innodb_old_blocks_time to 0 meanwhile, and put it back: then no range has to be read twice to stay in memory.
    /// Needs SYSTEM_VARIABLES_ADMIN (MariaDB: SUPER); after a kill: penstock doctor --revert
    #[arg(long, conflicts_with = "whole_indexes")]
    pub one_reading: bool,
    /// Connections that read at the same time [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Bytes of pages per second, over all connections together [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Limits (change them while it runs: penstock set)")]
    pub max_rate: Option<u64>,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock warm status`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock warm status hot.warm

Exit codes: 0 shown; the others are listed by penstock --help")]
pub struct Status {
    /// The file that penstock warm save wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}
