//! `penstock warm`: the hot part of a buffer pool, carried to another server.

use super::Selection;
use super::connection::Connection;
use super::report::Recording;
use super::throttle::Impact;
use super::values::{duration, rate, share};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Warm {
    /// Write the hot part of a server's buffer pool into a file, as ranges of keys
    Save(Save),
    /// Read the ranges of such a file on another server, so that they are in its buffer pool
    Load(Load),
    /// Save and load in one: what is hot on one server is read on another one
    Copy(Copy),
    /// Show what such a file holds, or what is in a server's memory now
    Status(Status),
    /// Replay queries of the live server, there and on a new server: how long they take, and what they read from disk
    Check(Check),
    /// Have a new server take traffic step by step, as fast as its latency and its disk reads allow
    Ramp(Ramp),
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
  penstock warm save --socket /run/mysqld/mysqld.sock --user root --pages --to pages.warm

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
    /// Save the numbers of the pages instead of ranges of keys: for a server whose files are a physical copy
    #[arg(long)]
    pub pages: bool,
    /// Tables that are read at the same time [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), conflicts_with = "pages")]
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
  penstock warm load mysql://root@newdb/ -p --from hot.warm --max-impact 5%
  penstock warm load --socket /run/mysqld/mysqld.sock --user root --whole-indexes
  penstock warm load --socket /run/mysqld/mysqld.sock --user root --from pages.warm --pages

With --pages it runs on the host of the server, whose files have to be a physical copy of those that the list is of.

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
    /// The file has numbers of pages (penstock warm save --pages): if the files here are a physical copy of those that
    /// they are of, the server loads them by itself
    #[arg(long, conflicts_with = "whole_indexes")]
    pub pages: bool,
    /// The server's data directory as it is seen from here [default: as the server names it]
    #[arg(
        long,
        value_name = "DIR",
        requires = "pages",
        conflicts_with = "whole_indexes"
    )]
    pub datadir: Option<PathBuf>,
    /// Share of the buffer pool that may be filled; of a file with more, the coldest ranges are left out [default: 90%]
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub budget: Option<f64>,
    /// Set innodb_old_blocks_time to 0 meanwhile, and put it back: then no range has to be read twice to stay in memory.
    /// Needs SYSTEM_VARIABLES_ADMIN (MariaDB: SUPER); after a kill: penstock doctor --revert
    #[arg(long, conflicts_with_all = ["whole_indexes", "pages"])]
    pub one_reading: bool,
    /// Connections that read at the same time [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), conflicts_with = "pages")]
    pub threads: Option<u16>,
    /// Bytes of pages per second, over all connections together [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with = "pages", help_heading = "Limits (change them while it runs: penstock set)")]
    pub max_rate: Option<u64>,
    #[command(flatten)]
    pub impact: Impact,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock warm status`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock warm status hot.warm
  penstock warm status --socket /run/mysqld/mysqld.sock --user root
  penstock warm status mysql://root@newdb/ -p --from hot.warm

Exit codes: 0 shown, 3 the server lacks some of the file, which is listed; the others are listed by penstock --help"
)]
pub struct Status {
    /// A file that penstock warm save wrote; or a server, as mysql://user@host:port/ or by the connection options
    #[arg(value_name = "FILE|SERVER")]
    pub what: Option<PathBuf>,
    /// Of a server: how much of this file is in its memory. A sample of its ranges is read for that
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock warm copy`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
What penstock warm save and then penstock warm load do. It runs on the host of SOURCE, as root or as the server's account.

Examples:
  penstock warm copy 'mysql://root@localhost/?socket=/run/mysqld/mysqld.sock' mysql://root@newdb/ -p
  penstock warm copy mysql://root@127.0.0.1/ mysql://root@newdb/ -p --include-schemas shop --max-rate 200M

Exit codes: 0 all of it was read, or as much as the pool holds, 3 something is left out, which is listed; the others are
listed by penstock --help"
)]
pub struct Copy {
    /// The live server, on this host, as mysql://user@localhost/?socket=/path
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// The new server, as mysql://user@host:port/
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// The data directory of SOURCE as it is seen from here [default: as the server names it]
    #[arg(long, value_name = "DIR")]
    pub datadir: Option<PathBuf>,
    /// A list of pages that SOURCE has written already, its innodb_buffer_pool_filename; no setting of it is changed then
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,
    /// Share of the buffer pool of TARGET that may be filled [default: 90%]
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub budget: Option<f64>,
    /// Set innodb_old_blocks_time of TARGET to 0 meanwhile, as penstock warm load does
    #[arg(long)]
    pub one_reading: bool,
    /// Connections that read at the same time [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Bytes of pages per second, over all connections together [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Limits (change them while it runs: penstock set)")]
    pub max_rate: Option<u64>,
    #[command(flatten)]
    pub impact: Impact,
    /// Option file with the account and password for TARGET, where they are not those of SOURCE
    #[arg(long, value_name = "FILE")]
    pub target_defaults_file: Option<PathBuf>,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock warm check`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Only queries are replayed that read tables, lock nothing and call no function that may have an effect; the sessions are
read-only. What else a log has is counted. A list (--queries) with anything else is refused before the first query is sent.
Each query runs on both servers before the next one does.

Examples:
  penstock warm check mysql://root@live/ mysql://root@new/ -p --slow-log slow.log
  penstock warm check mysql://root@live/ mysql://root@new/ -p --samples
  penstock warm check --socket /run/mysqld/mysqld.sock --user root --queries sample.sql --schema shop

Exit codes: 0 every query was answered, 2 a list has something that is not replayed, 3 a server refused queries, which are
listed; the others are listed by penstock --help"
)]
pub struct Check {
    /// The live server, as mysql://user@host:port/; where there is no NEW, the connection options do as well
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// The new server, to compare with
    #[arg(value_name = "NEW")]
    pub new: Option<String>,
    #[command(flatten)]
    pub from: Queries,
    #[command(flatten)]
    pub how: Replay,
    /// Option file with the account and password for NEW, where they are not the live server's
    #[arg(long, value_name = "FILE", requires = "new")]
    pub target_defaults_file: Option<PathBuf>,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub connection: Connection,
}

/// Where queries come from.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct Queries {
    /// Queries, one a line or separated by semicolons
    #[arg(long, value_name = "FILE")]
    pub queries: Option<PathBuf>,
    /// A slow log of the live server
    #[arg(long, value_name = "FILE")]
    pub slow_log: Option<PathBuf>,
    /// A general log of the live server
    #[arg(long, value_name = "FILE")]
    pub general_log: Option<PathBuf>,
    /// What the live server remembers of its last statements, in performance_schema
    #[arg(long)]
    pub samples: bool,
}

/// How queries are replayed.
#[derive(Args, Debug)]
pub struct Replay {
    /// The schema of queries that do not say it
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// Queries that are replayed at most; of more, that many are chosen evenly [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub most: Option<u32>,
    /// Longest time of a query, after which the server ends it [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub query_timeout: Option<Duration>,
}

/// `penstock warm ramp`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
The command is run by the shell with 10, 25, 50 and 100 as its last argument, or as $1 where it has that: the share of the
traffic, in percent, that SERVER shall get. It is called with the next share when the server was within the limits for the
steady time, and with the one before when it is beyond them in two intervals that follow each other. At the end the last call
stands; docs/warm.md has commands for ProxySQL, HAProxy and MaxScale.

Examples:
  penstock warm ramp mysql://root@new/ -p --hook ./share.sh --max-latency 5ms --max-reads 2000
  penstock warm ramp mysql://root@new/ -p --hook './share.sh new $1' --max-latency 5ms --queries sample.sql --schema shop

Exit codes: 0 at 100, steady; 1 the command failed, 12 not steady at 100 in time; the others are listed by penstock --help"
)]
pub struct Ramp {
    /// The new server, as mysql://user@host:port/, or use the connection options
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// The command that sends a share of the traffic to SERVER
    #[arg(long, value_name = "CMD")]
    pub hook: String,
    /// Longest time of the command, after which it is ended [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub hook_timeout: Option<Duration>,
    #[command(flatten)]
    pub allowed: Allowed,
    /// Measure with these queries, one a line or separated by semicolons [default: all SELECTs, by performance_schema]
    #[arg(long, value_name = "FILE")]
    pub queries: Option<PathBuf>,
    /// The schema of queries that do not say it
    #[arg(long, value_name = "NAME", requires = "queries")]
    pub schema: Option<String>,
    /// Longest time of a query, after which the server ends it [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "queries")]
    pub query_timeout: Option<Duration>,
    /// Time of one measurement [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub interval: Option<Duration>,
    /// How long the server has to be within the limits before the next step [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub steady: Option<Duration>,
    /// Longest time of all of it [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub give_up: Option<Duration>,
    #[command(flatten)]
    pub connection: Connection,
}

/// What is allowed during a ramp.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub struct Allowed {
    /// Latency that is allowed: of the sample queries, 95 % take at most that; of all SELECTs, the mean
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_latency: Option<Duration>,
    /// Pages that the server may read from disk a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_reads: Option<u32>,
}
