//! `penstock bench`: loads to measure a server with.

use super::connection::Connection;
use base::{Error, Kind, Result};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// The benchmarks.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// TPC-C: an order-entry workload of five transactions on nine tables
    #[command(subcommand)]
    Tpcc(Tpcc),
    /// What a backup costs the online load: TPC-C alone and while backups are taken, method by method
    Impact(Impact),
}

/// `penstock bench impact`.
#[derive(Args, Debug)]
#[command(after_help = "\
The server is put under full load for minutes: use one whose other users can bear it. A schema of its
own is made and dropped; nothing else is changed.

Methods: alone, mysqldump (through gzip), mydumper, penstock, \"penstock OPTIONS\" with any options of
penstock dump, replica (its applier stopped meanwhile), replica-applying.

Examples:
  penstock bench impact --socket /run/mysqld/mysqld.sock --user root --to price/
  penstock bench impact mysql://root@testdb:3306/ -p --warehouses 100 --connections 32 --measure 5m \\
      --method alone --method penstock --method 'penstock --max-impact 5%' --to price/")]
pub struct Impact {
    /// The server: mysql://user@host:3306/ or mysql://user@localhost/?socket=/path; or use the options below
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Folder for run.json and run.html; must not exist yet, be empty, or hold an earlier pair
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// A method to measure; may be given several times [default: all that can be measured here]
    #[arg(short = 'm', long, value_name = "METHOD")]
    pub method: Vec<String>,
    /// A throw-away replica of the server, empty but for what servers bring along: its place in the
    /// binary log is changed
    #[arg(long, value_name = "SERVER")]
    pub replica: Option<String>,
    /// Warehouses of the load, about 71 MB of rows each
    #[arg(short = 'w', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub warehouses: u32,
    /// Connections of the load
    #[arg(short = 'c', long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub connections: u16,
    /// Time that the load runs before it is measured
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub ramp: Duration,
    /// Time that it is measured alone, before and after
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub alone: Duration,
    /// Time that it is measured while backups are taken; longer until one is through
    #[arg(long, value_name = "TIME", default_value = "40s", value_parser = duration)]
    pub measure: Duration,
    /// Longest time for one backup to be through
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration)]
    pub longest: Duration,
    /// Runs of each method
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Connections of a backup that takes several
    #[arg(short = 't', long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Schema to make for the load; must not exist
    #[arg(long, value_name = "NAME", default_value = "penstock_impact")]
    pub schema: String,
    /// The dump program, with arguments of its own if need be [default: mysqldump, or mariadb-dump]
    #[arg(long, value_name = "COMMAND")]
    pub mysqldump: Option<String>,
    /// The mydumper program
    #[arg(long, value_name = "COMMAND", default_value = "mydumper")]
    pub mydumper: String,
    /// Folder with room for a backup [default: the one for temporary files]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// The server
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock bench tpcc`.
#[derive(Subcommand, Debug)]
pub enum Tpcc {
    /// Create a schema and fill it with warehouses, about 71 MB of rows each
    Load(TpccLoad),
    /// Run the transactions, measure throughput and latencies
    Run(TpccRun),
    /// Ask for the specification's consistency conditions
    Check(TpccCheck),
}

/// `penstock bench tpcc load`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock bench tpcc load --warehouses 10 --socket /run/mysqld/mysqld.sock --user root
  penstock bench tpcc load mysql://root@testdb:3306/ -p --warehouses 100 --threads 8")]
pub struct TpccLoad {
    /// The server: mysql://user@host:3306/ or mysql://user@localhost/?socket=/path; or use the options below
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Warehouses to make
    #[arg(short = 'w', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub warehouses: u32,
    /// Schema to create; must not exist yet
    #[arg(long, value_name = "NAME", default_value = bench::tpcc::SCHEMA)]
    pub schema: String,
    /// Connections that load rows [default: one per core, at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Decides every value: the same number gives the same rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Give the tables the specification's foreign keys
    #[arg(long)]
    pub foreign_keys: bool,
    /// Keep the load out of the server's binary log (needs the privilege to set sql_log_bin)
    #[arg(long)]
    pub skip_binlog: bool,
    /// off: no setting for speed; safe: session settings only; max: the server is not in service,
    /// change global settings and put them back (a crash meanwhile may cost the whole server)
    #[arg(long, value_name = "LEVEL", default_value = "safe")]
    pub tune: String,
    /// The server
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock bench tpcc run`.
#[derive(Args, Debug)]
#[command(after_help = "\
There is no keying and no think time: every connection begins its next transaction at once.

Examples:
  penstock bench tpcc run --socket /run/mysqld/mysqld.sock --user root
  penstock bench tpcc run mysql://bench@testdb:3306/ -p --connections 32 --ramp 1m --measure 10m --json")]
pub struct TpccRun {
    /// The server: mysql://user@host:3306/ or mysql://user@localhost/?socket=/path; or use the options below
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Schema that holds the tables; its warehouses are counted
    #[arg(long, value_name = "NAME", default_value = bench::tpcc::SCHEMA)]
    pub schema: String,
    /// Connections, each with one transaction at a time
    #[arg(short = 'c', long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub connections: u16,
    /// Time that runs and is not counted, for caches to fill: 10s, 2m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub ramp: Duration,
    /// Time that is measured: 60s, 10m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub measure: Duration,
    /// Transactions a second, all connections together [default: as many as the server takes]
    #[arg(long, value_name = "N", value_parser = rate)]
    pub rate: Option<f64>,
    /// Decides what the transactions ask for
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The server
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock bench tpcc check`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock bench tpcc check --socket /run/mysqld/mysqld.sock --user root")]
pub struct TpccCheck {
    /// The server: mysql://user@host:3306/ or mysql://user@localhost/?socket=/path; or use the options below
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Schema that holds the tables
    #[arg(long, value_name = "NAME", default_value = bench::tpcc::SCHEMA)]
    pub schema: String,
    /// Connections that ask [default: one per core, at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// The server
    #[command(flatten)]
    pub connection: Connection,
}

/// `60s`, `10m`, `1h`, `500ms`, `60`: seconds unless a unit is named.
pub fn duration(text: &str) -> Result<Duration> {
    let bad = || {
        Error::new(Kind::Usage, format!("{text:?} is not a time"))
            .hint("write a number with ms, s, m or h, e.g. 90s")
    };
    // More than a year is a slip.
    let seconds = base::typed::time(text).filter(|s| *s <= 3.2e7);
    seconds.map(Duration::from_secs_f64).ok_or_else(bad)
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("not a number above 0".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let seconds = |text| duration(text).map(|d| d.as_secs_f64()).ok();
        assert_eq!(seconds("90s"), Some(90.0));
        assert_eq!(seconds("2"), Some(2.0));
        assert_eq!(seconds("1.5m"), Some(90.0));
        assert_eq!(seconds("500ms"), Some(0.5));
        assert_eq!(seconds("1h"), Some(3600.0));
        for wrong in ["", "s", "-1s", "10 parsecs", "1e300", "NaN", "infs"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
