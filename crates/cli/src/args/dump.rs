//! `penstock dump`.

use super::connection::Connection;
use super::encryption::Encrypting;
use super::limits::{Limits, StoreLimits};
use super::throttle::Throttle;
use super::values::{Compression, Consistency, mysqld_option, size};
use super::{Programs, Selection, accounts, forecast, report};
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
  penstock dump --socket /run/mysqld/mysqld.sock --user root --to /backup/new --where \"shop.orders=created >= '2026-01-01'\"
  penstock dump --socket /run/mysqld/mysqld.sock --user root --to /backup/monday --resume
  penstock dump --from-files /srv/mysql-copy --to /backup/shop
  penstock dump --socket /run/mysqld/mysqld.sock --user root --to /backup/shop --from-snapshot reflink
  penstock dump --socket /run/mysqld/mysqld.sock --user root --to /backup/shop --from-replica-files

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
    /// Say what would be dumped, how large it is, how long it will take, and what would be missing or refused;
    /// lock nothing and write nothing
    #[arg(long, conflicts_with_all = ["from_files", "from_snapshot", "record"])]
    pub dry_run: bool,
    /// Continue the dump that another run has left unfinished in --to: what it has read is kept where the server's binary log proves
    /// that nothing changed it since (needs REPLICATION SLAVE), and the archive is of this run's moment. If there is
    /// nothing, begin; if this run fails, keep what it has finished
    #[arg(long, conflicts_with_all = ["from_files", "from_snapshot", "dry_run", "ddl_only", "encrypt_to", "passphrase_file"])]
    pub resume: bool,
    /// Dump definitions alone: schemas, tables without rows, and all else. Options about rows are refused
    #[arg(long, visible_alias = "no-data", conflicts_with_all = [
        "chunk_size", "compression", "max_rate", "max_impact", "min_rate", "max_lag", "replica", "max_threads_running",
        "max_history_list", "abort_if", "limit_timeout",
    ])]
    pub ddl_only: bool,
    /// Dump only the rows of a table that match a condition, as "shop.orders=created >= '2026-01-01'"; may be given several
    /// times, once for each table. Times are compared in UTC. What is left out is named, here and by list, verify and load
    #[arg(long = "where", value_name = "TABLE=CONDITION", conflicts_with_all = ["from_files", "from_snapshot", "ddl_only"])]
    pub conditions: Vec<String>,
    /// Dump only the rows of these partitions (or subpartitions) of a table, as shop.orders=p2025,p2026; may be given several
    /// times. What is left out is named, as with --where
    #[arg(long, value_name = "TABLE=NAME,…", conflicts_with_all = ["from_files", "from_snapshot", "ddl_only"])]
    pub partitions: Vec<String>,
    /// Dump no views, triggers, routines, events and accounts. Definitions of tables are in the archive all the same: rows cannot
    /// be read without them, and penstock load --data-only leaves them there
    #[arg(long, visible_alias = "no-create-info", conflicts_with_all = [
        "ddl_only", "no_views", "no_routines", "no_events", "no_triggers", "users", "no_users", "include_users", "exclude_users",
        "include_triggers", "exclude_triggers", "include_routines", "exclude_routines", "include_events", "exclude_events",
    ])]
    pub data_only: bool,
    #[command(flatten)]
    pub files: FromFiles,
    #[command(flatten)]
    pub how: Dumping,
}

/// A dump of a data directory.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Files of a server, instead of a server")]
pub struct FromFiles {
    /// Dump this data directory of a server that was shut down, or a snapshot or copy of one; it is only read.
    /// A temporary server of the same version reads the definitions, and rows are read from the files of tables
    #[arg(long, value_name = "DATADIR", conflicts_with_all = ["source", "host", "port", "socket", "user", "password", "password_fd"])]
    pub from_files: Option<PathBuf>,
    /// Take a snapshot of the files of the server, which runs on this host, by this method, have a temporary server recover a private
    /// copy, and read the rows from its files; the snapshot is removed at the end. reflink, btrfs, lvm, lvm-thin or zfs, as of
    /// penstock snapshot take
    #[arg(long, value_name = "METHOD", hide_possible_values = true, value_parser = super::snapshot::Method::to_dump_from(),
        conflicts_with_all = ["from_files", "from_replica_files"])]
    pub from_snapshot: Option<super::snapshot::Method>,
    /// With --from-snapshot: the directory in which the snapshot is made: on the file system of the data directory, and not in it
    /// [default: the one that the data directory is in]; for lvm and zfs, where it is mounted [default: the state directory]
    #[arg(long, value_name = "DIR")]
    pub at: Option<PathBuf>,
    /// With --from-snapshot: share of the file system that must stay free while the snapshot exists; with less it is given up
    /// [default: 5%]
    #[arg(long, value_name = "PERCENT", value_parser = super::values::share)]
    pub keep_free: Option<f64>,
    /// With --from-snapshot lvm: room of the snapshot [default: 20 % of the volume's]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub snapshot_size: Option<u64>,
    /// Read the rows from the files of the server, a replica on this host: its applier is stopped and its tables are locked
    /// until they are read. For an archive that costs the replica's processor nearly nothing
    #[arg(long, conflicts_with_all = ["from_files", "dry_run", "resume", "ddl_only", "conditions", "partitions"])]
    pub from_replica_files: bool,
    /// With --from-replica-files: the server's data directory, where it has another path here than the server says
    #[arg(long, value_name = "DIR", requires = "from_replica_files")]
    pub datadir: Option<PathBuf>,
    /// With --from-files, if the server was not shut down cleanly (a crash, a snapshot of a running one): copy the
    /// data directory into the scratch directory, and have the temporary server recover the copy
    #[arg(long, requires = "from_files")]
    pub recover: bool,
    /// With --recover, if the server had its binary logs outside of the data directory: their index (its log_bin_index). Which
    /// of the last transactions were committed stands in the logs
    #[arg(long, value_name = "FILE", requires = "recover")]
    pub binary_log_index: Option<PathBuf>,
    /// With --from-files or --from-snapshot: where the temporary server, and the copy, have their directory [default: /var/tmp; with a
    /// snapshot that shares blocks, beside it]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// With --from-files or --from-snapshot: the server program [default: mysqld or mariadbd, as the data directory is of]
    #[arg(long, value_name = "PROGRAM")]
    pub mysqld: Option<PathBuf>,
    /// With --from-files or --from-snapshot: an option for the temporary server that the data directory was initialized with, such
    /// as lower_case_table_names=1; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = mysqld_option)]
    pub mysqld_option: Vec<String>,
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
    #[arg(long, value_name = "MODE", default_value = "auto")]
    pub consistency: Consistency,
    /// Do not hold up changes of definitions while the dump runs (LOCK INSTANCE FOR BACKUP, MySQL): a table that is changed
    /// meanwhile fails the dump, as it does where there is no such lock
    #[arg(long)]
    pub no_backup_lock: bool,
    /// Seconds to wait for the read lock, or for snapshots that are equal [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub lock_wait: Option<u64>,
    /// Do not dump views
    #[arg(long)]
    pub no_views: bool,
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
    pub accounts: accounts::Dumped,
    #[command(flatten)]
    pub recording: report::Recording,
    #[command(flatten)]
    pub history: forecast::History,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub programs: Programs,
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
