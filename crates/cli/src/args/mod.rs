//! The command line: what was typed. What it means is worked out in
//! `commands`, so that jobs never see a flag.

pub mod bench;
pub mod connection;
pub mod limits;
pub mod optionfile;
pub mod report;
pub mod steer;
pub mod throttle;

use base::{Error, Kind, Result};
use clap::{Args, Parser, Subcommand};
use connection::Connection;
use limits::{Limits, StoreLimits};
use std::path::PathBuf;

/// Takes MySQL and MariaDB data out of a live server, puts it back, and proves it equal.
#[derive(Parser, Debug)]
#[command(
    name = "penstock",
    version,
    disable_help_flag = true,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
    /// Print help
    // `-h` is the host, as in the mysql client.
    #[arg(long, global = true, action = clap::ArgAction::Help)]
    pub help: Option<bool>,
    /// One JSON object per line on standard output instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress, only warnings, errors and the summary
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Dump a live server into a new folder, from one consistent moment
    Dump(Dump),
    /// Load an archive into a server, and prove that it arrived whole
    Load(Load),
    /// Check an archive offline, against a server, or one server against another
    Verify(Verify),
    /// Show the dumps, loads and verifications that run, and how they stand
    Status(steer::Which),
    /// Change a limit of one that runs
    Set(steer::Set),
    /// Hold one that runs: its connections stay open, no rows pass
    Pause(steer::Which),
    /// Let one that is paused go on
    Resume(steer::Which),
    /// Stop one that runs, cleanly, as Ctrl-C does
    Stop(steer::Which),
    /// Find settings that a killed load left changed on a server, and put them back
    Doctor(Doctor),
    /// Measure a server with a load of its own
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Make an HTML page of what a run recorded with --record
    Report(report::Report),
}

/// Which objects.
#[derive(Args, Debug, Clone, Default)]
#[command(
    next_help_heading = "Selection (`*` and `?` are wildcards; a pattern that matches nothing is an error)"
)]
pub struct Selection {
    /// Only these schemas
    #[arg(long, visible_alias = "schemas", value_name = "PATTERN,…")]
    pub include_schemas: Vec<String>,
    /// All schemas but these
    #[arg(long, value_name = "PATTERN,…")]
    pub exclude_schemas: Vec<String>,
    /// Only these tables and views, as schema.table
    #[arg(long, visible_alias = "tables", value_name = "PATTERN,…")]
    pub include_tables: Vec<String>,
    /// All tables and views but these, as schema.table
    #[arg(long, value_name = "PATTERN,…")]
    pub exclude_tables: Vec<String>,
}

impl Selection {
    /// Whether nothing was selected or excluded.
    pub fn is_empty(&self) -> bool {
        [
            &self.include_schemas,
            &self.exclude_schemas,
            &self.include_tables,
            &self.exclude_tables,
        ]
        .iter()
        .all(|l| l.is_empty())
    }
}

/// `penstock dump`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock dump --socket /run/mysqld/mysqld.sock --user root --to /backup/monday
  penstock dump mysql://backup@db.example:3306/ -p --to /backup/shop --schemas shop
  penstock dump -h db -u backup -p --to /backup/part --tables 'shop.order*' --compression none")]
pub struct Dump {
    /// The server: mysql://user@host:3306/ or mysql://user@localhost/?socket=/path; or use the options below
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    /// Folder to write; must not exist yet, or be empty
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Connections that read rows [default: one per core, at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// zstd, zstd:LEVEL (1 to 22), or none
    #[arg(long, value_name = "METHOD", default_value = "zstd:1")]
    pub compression: String,
    /// Row bytes that one chunk aims at
    #[arg(long, value_name = "SIZE", default_value = "32M")]
    pub chunk_size: String,
    /// lock: one moment for all workers, proven by a read lock held for milliseconds;
    /// none: no lock and no promise, for accounts that may not lock
    #[arg(long, value_name = "MODE", default_value = "lock")]
    pub consistency: String,
    /// Longest wait for the read lock, in seconds, before giving up
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub lock_wait: u64,
    /// Leave out stored procedures and functions
    #[arg(long)]
    pub no_routines: bool,
    /// Leave out events
    #[arg(long)]
    pub no_events: bool,
    /// Leave out triggers
    #[arg(long)]
    pub no_triggers: bool,
    /// What the run was
    #[command(flatten)]
    pub recording: report::Recording,
    /// Which objects
    #[command(flatten)]
    pub selection: Selection,
    /// How fast
    #[command(flatten)]
    pub limits: Limits,
    /// How fast to the store
    #[command(flatten)]
    pub store_limits: StoreLimits,
    /// At what price
    #[command(flatten)]
    pub throttle: throttle::Throttle,
    /// The server
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock load`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock load /backup/monday --socket /run/mysqld/mysqld.sock --user root
  penstock load /backup/shop --into mysql://root@newdb:3306/ -p --threads 8
  penstock load /backup/shop --datadir /srv/mysql-new")]
pub struct Load {
    /// What to load: a folder that penstock dump, MySQL Shell, MariaDB Shell, mydumper, mysqldump --tab
    /// or mariadb-dump --dir wrote, or one of CSV files; a script of mysqldump or mariadb-dump, as it is
    /// or compressed (gzip, zstd, bzip2, xz); or - for a script on standard input
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    /// The target server; or use the options below
    #[arg(long, value_name = "SERVER")]
    pub into: Option<String>,
    /// Connections that load rows [default: one per core, at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Do not compare the target's rows with the archive at the end
    #[arg(long)]
    pub no_verify: bool,
    /// Load into the very server that the archive was taken from
    #[arg(long)]
    pub allow_same_server: bool,
    /// Keep the load out of the target's binary log (needs the privilege to set sql_log_bin)
    #[arg(long)]
    pub skip_binlog: bool,
    /// Go on with a load of the same archive that was interrupted; what is there is not loaded again
    #[arg(long)]
    pub resume: bool,
    /// In dumps of other tools: the schema for names without one; created if it is not there
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// In dumps of other tools: leave out, and name, statements that no dump needs (SET GLOBAL,
    /// INSTALL PLUGIN, …) instead of refusing the dump
    #[arg(long)]
    pub skip_refused: bool,
    /// Secondary keys added behind the rows: auto (of big tables), all, off
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    pub defer_keys: DeferKeys,
    /// How rows get into tables: auto (big ones as files of InnoDB, built here and handed to the server,
    /// where server and table allow it), rows, tablespace (all that can come as files), cold (the same,
    /// but the server is stopped and started for them: --server-command)
    #[arg(long, value_name = "ROAD", default_value = "auto")]
    pub road: Road,
    /// Memory for sorting the keys of tables that come as files; what does not fit is sorted on disk
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub memory: String,
    /// off: no setting for speed; safe: session settings only; max: the server is not in service,
    /// change global settings and put them back (a crash meanwhile may cost the whole server)
    #[arg(long, value_name = "LEVEL", default_value = "safe")]
    pub tune: String,
    /// What the run was
    #[command(flatten)]
    pub recording: report::Recording,
    /// With --tune=max: restart the server for the settings that need it, and again at the end; with
    /// --road cold: stop it and start it. A shell line; $1 in it is restart, start or stop (added at its
    /// end if it is not there): 'systemctl "$1" mysql'
    #[arg(long, value_name = "CMD")]
    pub server_command: Option<String>,
    /// For --server-command with --tune=max: a folder on this host of which the server reads every .cnf file
    /// (!includedir); one file is written there and removed at the end
    #[arg(
        long,
        value_name = "DIR",
        requires = "server_command",
        conflicts_with = "datadir"
    )]
    pub server_config: Option<PathBuf>,
    /// Instead of a target: make a data folder here (empty, or not there yet), load it with a server of
    /// the load's own, and shut that down: a service can be started on the folder. A password that is
    /// given becomes root's
    #[arg(long, value_name = "DIR", conflicts_with_all = ["into", "host", "port", "socket", "user", "server_command"])]
    pub datadir: Option<PathBuf>,
    /// With --datadir: the server's program [default: mysqld or mariadbd, as the source was]
    #[arg(long, value_name = "PROGRAM", requires = "datadir")]
    pub server_program: Option<PathBuf>,
    /// With --datadir: an option that the server has from the first, for what a data folder is made with
    /// once and for all (lower_case_table_names=1, innodb_data_file_path=…); may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "datadir", value_parser = instance::managed::options::checked)]
    pub server_option: Vec<String>,
    /// Which objects
    #[command(flatten)]
    pub selection: Selection,
    /// How fast
    #[command(flatten)]
    pub limits: Limits,
    /// The server
    #[command(flatten)]
    pub connection: Connection,
}

/// `--road`.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub enum Road {
    /// As files where that is quicker and possible
    Auto,
    /// As rows
    Rows,
    /// As files wherever it is possible
    Tablespace,
    /// As files wherever it is possible, put in while the server is stopped
    Cold,
}

/// `--defer-keys`.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub enum DeferKeys {
    /// Of tables that are big enough for it to be quicker
    Auto,
    /// Of every table
    All,
    /// Of none
    Off,
}

/// `penstock verify`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock verify /backup/monday
  penstock verify /backup/monday --against mysql://root@newdb:3306/ -p
  penstock verify /backup/monday --socket /run/mysqld/mysqld.sock --user root
  penstock verify --server mysql://root@old/ --server mysql://root@new/
  penstock verify --tablespace /srv/export/t.ibd")]
pub struct Verify {
    /// The archive; alone, it is checked without any server
    #[arg(
        value_name = "DIR",
        required_unless_present_any = ["server", "tablespace"],
        conflicts_with_all = ["server", "tablespace"]
    )]
    pub archive: Option<PathBuf>,
    /// Compare the archive's rows with this server's
    #[arg(long, value_name = "SERVER", conflicts_with = "server")]
    pub against: Option<String>,
    /// Compare two servers' rows: give it twice
    #[arg(long, value_name = "SERVER")]
    pub server: Vec<String>,
    /// Check InnoDB's file of a table without a server: every page and where records lie, with FILE.cfg beside it
    /// their order too; may be given several times
    #[arg(long, value_name = "FILE.ibd", conflicts_with_all = ["server", "against", "files_only", "record"])]
    pub tablespace: Vec<PathBuf>,
    /// Threads, or connections to each server [default: one per core, at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Offline: check files only, do not decode the rows
    #[arg(long, conflicts_with_all = ["against", "server"])]
    pub files_only: bool,
    /// What the run was
    #[command(flatten)]
    pub recording: report::Recording,
    /// Which objects
    #[command(flatten)]
    pub selection: Selection,
    /// How fast
    #[command(flatten)]
    pub limits: Limits,
    /// The server
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock doctor`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock doctor
  penstock doctor --socket /run/mysqld/mysqld.sock --user root
  penstock doctor --revert mysql://root@newdb:3306/ -p")]
pub struct Doctor {
    /// The server; or use the options below. Without one, all journals of this host are listed
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Put back what is left changed
    #[arg(long)]
    pub revert: bool,
    /// The server
    #[command(flatten)]
    pub connection: Connection,
}

/// The number of workers when none was asked for.
pub fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(
        || std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8)),
        usize::from,
    )
}

/// `64M`, `1G`, `500k`, `1000000`: binary multiples, as in the server's own options.
pub fn size(text: &str) -> Result<u64> {
    let bad = || {
        Error::new(Kind::Usage, format!("{text:?} is not a size"))
            .hint("write a number with k, M or G, e.g. 64M")
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = base::typed::multiple(&text[digits.len()..]).ok_or_else(bad)?;
    digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(factor))
        .ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes() {
        assert_eq!(size("64M").unwrap(), 64 << 20);
        assert_eq!(size("1000").unwrap(), 1000);
        assert!(size("M").is_err());
        assert!(size("12X").is_err());
        assert!(size("99999999999G").is_err());
    }
}
