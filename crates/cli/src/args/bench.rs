//! `penstock bench`: workloads that measure a server, or its disks.

use super::connection::Connection;
use super::report::Recording;
use super::values::{Engine, Tune, duration, rate, size, transactions};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// The benchmarks.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// TPC-C: an order-entry workload of five transactions on nine tables
    #[command(subcommand)]
    Tpcc(Tpcc),
    /// Measure the impact of backups on a running workload: TPC-C alone and during backups, by method
    Impact(Impact),
    /// Measure what directories can do as places of a server's files: commits, pages, files, side by side
    Disk(Disk),
    /// Compare two runs of one benchmark, and say which differences are more than noise
    Compare(Compare),
}

/// `penstock bench disk`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
In each DIR it makes a directory penstock-bench-disk, writes new files there, and removes it at the end,
also after an error or Ctrl-C; after kill -9 its next run does. Devices and existing files are never
touched. A tenth of the file system stays free.

Patterns of --pattern: sequential, random-read, random-write, commit, doublewrite, small-files, mixed.

Examples:
  penstock bench disk /srv/mysql
  penstock bench disk /mnt/ssd /mnt/cloud --record disks.json && penstock report disks.json
  penstock bench disk --of 'mysql://root@localhost/?socket=/run/mysqld/mysqld.sock' /backup
  penstock bench disk /mnt/cloud --pattern commit --measure 10m --runs 3   (do burst credits run out?)"
)]
pub struct Disk {
    /// Directories to measure, on mounted file systems of this host
    #[arg(value_name = "DIR", required_unless_present = "of")]
    pub directories: Vec<PathBuf>,
    /// A running server on this host whose directories are measured too (data, redo log, binary log,
    /// tmpdir), as mysql://user@localhost/?socket=/path
    #[arg(long, value_name = "SERVER")]
    pub of: Option<String>,
    /// Size of the file that is read and written, at least 4M [default: 1G, less where space is short]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<u64>,
    /// Pattern to measure; may be given several times [default: all]
    #[arg(long, value_name = "PATTERN", value_parser = clap::builder::PossibleValuesParser::new(bench::disk::Pattern::GROUPS), hide_possible_values = true)]
    pub pattern: Vec<String>,
    /// Runs of each pattern
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Time before each measurement
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    pub ramp: Duration,
    /// Time of each measurement
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = duration)]
    pub measure: Duration,
    /// How pages are read and written: auto, io_uring, threads
    #[arg(
        long,
        value_name = "ENGINE",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub engine: Engine,
    /// Bytes per second read and written, all together: 40M, 1.5G [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub max_rate: Option<u64>,
    /// Longest time for all of it: measurements are shortened, and what does not fit is named (code 3)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_time: Option<Duration>,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock bench compare`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each side is a file that --record of bench disk or bench tpcc run wrote, the run.json of bench impact, a
recording of ./dev bench, or a directory with several of one kind, which count as runs.

Examples:
  penstock bench compare before.json after.json --to compared.html
  penstock bench compare runs-of-monday/ runs-of-tuesday/ --json")]
pub struct Compare {
    /// The first side
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The second side, which is compared with the first
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Page to write
    #[arg(long, value_name = "FILE.html")]
    pub to: Option<PathBuf>,
}

/// `penstock bench impact`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
The server runs at full load for minutes: use one whose other users can bear it. The benchmark makes
and drops one schema and changes nothing else.

Methods: alone, mysqldump (through gzip), mydumper, penstock, \"penstock OPTIONS\" with any options of
penstock dump (\"penstock --from-snapshot reflink\"), \"snapshot OPTIONS\" with those of penstock snapshot take,
replica (its applier is stopped meanwhile), replica-applying, replica-files (with --from-replica-files),
binlog-archive (it follows the server's log meanwhile; \"binlog-archive --semisync\" with any options of it).

Examples:
  penstock bench impact --socket /run/mysqld/mysqld.sock --user root --to impact/
  penstock bench impact mysql://root@testdb:3306/ -p --warehouses 100 --connections 32 --measure 5m \\
      --method alone --method penstock --method 'penstock --max-impact 5%' --to impact/"
)]
pub struct Impact {
    /// The server, as mysql://user@host:3306/ or mysql://user@localhost/?socket=/path, or use the
    /// connection options
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Directory for run.json and run.html; it may hold an earlier pair, but nothing else
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Method to measure; may be given several times [default: all whose programs are installed]
    #[arg(short = 'm', long, value_name = "METHOD")]
    pub method: Vec<String>,
    /// Disposable replica of the server, without schemas of its own: its position in the binary log
    /// is changed
    #[arg(long, value_name = "SERVER")]
    pub replica: Option<String>,
    /// Warehouses of the workload, about 71 MB of rows each
    #[arg(short = 'w', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub warehouses: u32,
    /// Connections of the workload
    #[arg(short = 'c', long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub connections: u16,
    /// Time the workload runs before it is measured
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub ramp: Duration,
    /// Time it is measured alone, before the backups and after them
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub alone: Duration,
    /// Time it is measured during backups; longer, until one backup is complete
    #[arg(long, value_name = "TIME", default_value = "40s", value_parser = duration)]
    pub measure: Duration,
    /// Longest time for one backup [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub longest: Option<Duration>,
    /// Runs of each method
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Connections of a backup program that can use several [default: 2]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Schema to create for the workload; it must not exist
    #[arg(long, value_name = "NAME", default_value = "penstock_impact")]
    pub schema: String,
    /// The dump program, with arguments if needed [default: mysqldump, or mariadb-dump]
    #[arg(long, value_name = "COMMAND")]
    pub mysqldump: Option<String>,
    /// The mydumper program [default: mydumper]
    #[arg(long, value_name = "COMMAND")]
    pub mydumper: Option<String>,
    /// Directory with room for a backup [default: the one for temporary files]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock bench tpcc`.
#[derive(Subcommand, Debug)]
pub enum Tpcc {
    /// Create a schema and fill it with warehouses, about 71 MB of rows each
    Load(TpccLoad),
    /// Run the transactions, and measure throughput and latencies
    Run(TpccRun),
    /// Check the specification's consistency conditions
    Check(TpccCheck),
}

/// `penstock bench tpcc load`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock bench tpcc load --warehouses 10 --socket /run/mysqld/mysqld.sock --user root
  penstock bench tpcc load mysql://root@testdb:3306/ -p --warehouses 100 --threads 8"
)]
pub struct TpccLoad {
    /// The server, as mysql://user@host:3306/ or mysql://user@localhost/?socket=/path, or use the
    /// connection options
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Warehouses to create, about 71 MB of rows each
    #[arg(short = 'w', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub warehouses: u32,
    /// Schema to create; it must not exist yet
    #[arg(long, value_name = "NAME", default_value = bench::tpcc::SCHEMA)]
    pub schema: String,
    /// Connections that load rows [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Seed of all values: the same number gives the same rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Create the specification's foreign keys
    #[arg(long)]
    pub foreign_keys: bool,
    /// Do not write the fill to the server's binary log (needs the privilege to set sql_log_bin)
    #[arg(long)]
    pub skip_binlog: bool,
    /// Which settings of the server may change during the fill
    #[arg(long, value_name = "LEVEL", default_value = "safe")]
    pub tune: Tune,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock bench tpcc run`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
There is no keying and no think time: every connection starts its next transaction at once.

Examples:
  penstock bench tpcc run --socket /run/mysqld/mysqld.sock --user root
  penstock bench tpcc run mysql://bench@testdb:3306/ -p --connections 32 --ramp 1m --measure 10m --json"
)]
pub struct TpccRun {
    /// The server, as mysql://user@host:3306/ or mysql://user@localhost/?socket=/path, or use the
    /// connection options
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Schema with the tables; its warehouses are counted
    #[arg(long, value_name = "NAME", default_value = bench::tpcc::SCHEMA)]
    pub schema: String,
    /// Connections, each with one transaction at a time
    #[arg(short = 'c', long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub connections: u16,
    /// Time that is not measured, for caches to fill: 10s, 2m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub ramp: Duration,
    /// Time that is measured: 60s, 10m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub measure: Duration,
    /// Transactions per second, over all connections together [default: as many as possible]
    #[arg(long, value_name = "N", value_parser = transactions)]
    pub rate: Option<f64>,
    /// Seed of the transactions' inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock bench tpcc check`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock bench tpcc check --socket /run/mysqld/mysqld.sock --user root"
)]
pub struct TpccCheck {
    /// The server, as mysql://user@host:3306/ or mysql://user@localhost/?socket=/path, or use the
    /// connection options
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Schema with the tables
    #[arg(long, value_name = "NAME", default_value = bench::tpcc::SCHEMA)]
    pub schema: String,
    /// Connections [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub connection: Connection,
}
