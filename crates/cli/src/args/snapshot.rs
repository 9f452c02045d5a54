//! `penstock snapshot`: the files of a server, taken at one moment.

use super::connection::Connection;
use super::encryption::{Encrypting, Opening};
use super::limits::StoreLimits;
use super::values::{Compression, mysqld_option, rate, share, size};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Snapshot {
    /// Take a snapshot of a server's files, and store it or keep it where it was made
    Take(Box<Take>),
    /// List the snapshots on this host: those that were kept, and what killed runs left
    List(List),
    /// Restore a snapshot into a new data directory: every digest is checked, a temporary server
    /// recovers the files, and every table is checked
    Restore(Restore),
    /// Remove what killed runs left, and the snapshots that are named
    Clean(Clean),
}

/// `--method`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Each file is cloned within its file system (XFS, btrfs); commits wait only while the redo log
    /// is cloned
    Reflink,
    /// A read-only snapshot of the subvolume that the data directory is
    Btrfs,
    /// A snapshot of the logical volume
    Lvm,
    /// The same in a thin pool
    LvmThin,
    /// A snapshot of the dataset
    Zfs,
    /// MySQL's CLONE plugin writes a copy
    Clone,
    /// The files of a server that does not run (--datadir), or mariadb-backup for one that does
    Copy,
}

impl Method {
    /// Whether the server, or a program of its makers, writes a copy: its place in the binary log is in the copied files.
    pub fn copies(self) -> bool {
        matches!(self, Method::Clone | Method::Copy)
    }

    /// The value of `dump --from-snapshot`. A method whose place in the binary log is not known at once is taken, so that its
    /// error can say why, and is not listed.
    pub fn to_dump_from() -> impl TypedValueParser<Value = Method> {
        let all = Method::value_variants().iter();
        let shown = |m: &Method| m.to_possible_value().map(|v| v.hide(m.copies()));
        PossibleValuesParser::new(all.filter_map(shown))
            .try_map(|name| Method::from_str(&name, false))
    }
}

/// `--prove`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prove {
    /// CHECK TABLE of every table
    Check,
    /// Every table is opened
    Open,
    /// The server recovers the files, and nothing more
    Start,
}

/// `penstock snapshot take`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Runs on the host of the server, as root or as the server's account; lvm, zfs and btrfs need root.

Examples:
  penstock snapshot take --method reflink --socket /run/mysqld/mysqld.sock --user root --to /backup/monday
  penstock snapshot take --method lvm mysql://backup@localhost/ -p --to s3://backups/monday --max-rate 80M
  penstock snapshot take --method btrfs --socket /run/mysqld/mysqld.sock --user root --keep
  penstock snapshot take --method copy --datadir /var/lib/mysql --to /backup/monday

Exit codes: 0 taken, 3 taken with exceptions, 11 a lock was not granted in time; the others are listed by
penstock --help"
)]
pub struct Take {
    /// The server, as mysql://user@localhost/?socket=/path, or use the connection options
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    /// How the files are taken
    #[arg(long, value_name = "METHOD")]
    pub method: Method,
    /// Store the files here: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or az://…; it
    /// must be empty, or not exist yet
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present = "keep",
        conflicts_with = "keep"
    )]
    pub to: Option<PathBuf>,
    /// Store nothing; leave the snapshot where it was made
    #[arg(long)]
    pub keep: bool,
    /// The directory in which the snapshot is made: on the file system of the data directory, and not
    /// in it [default: the one that the data directory is in]; for lvm and zfs, where it is mounted
    /// [default: the state directory]
    #[arg(long, value_name = "DIR")]
    pub at: Option<PathBuf>,
    /// The data directory of a server that does not run, for --method copy
    #[arg(long, value_name = "DIR", conflicts_with_all = ["source", "host", "socket", "port"])]
    pub datadir: Option<PathBuf>,
    /// Seconds to wait for locks before the snapshot is given up [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub lock_wait: Option<u64>,
    /// Share of the file system that must stay free while the snapshot exists; with less it is given up
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    pub keep_free: f64,
    /// Room of the snapshot, for --method lvm [default: 20 % of the volume's]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub snapshot_size: Option<u64>,
    /// Compression of the files [default: zstd:1]
    #[arg(long, value_name = "METHOD", value_parser = Compression)]
    pub compression: Option<dump::Compression>,
    /// Files that are read and stored at a time [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Bytes per second read from the snapshot, over all files together [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = "Limits (change them while it runs: penstock set)")]
    pub max_rate: Option<u64>,
    #[command(flatten)]
    pub store_limits: StoreLimits,
    #[command(flatten)]
    pub encryption: Encrypting,
    #[command(flatten)]
    pub connection: Connection,
}

/// `penstock snapshot list`.
#[derive(Args, Debug)]
#[command(after_help = "\
Snapshots are found by the records in the state directory of this user (PENSTOCK_STATE).")]
pub struct List {}

/// `penstock snapshot restore`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock snapshot restore /backup/monday --datadir /srv/mysql-new
  penstock snapshot restore s3://backups/monday --datadir /srv/mysql-new --mysqld /opt/mysql/bin/mysqld

Exit codes: 0 restored and proven, 4 a table is not well, 5 the snapshot is damaged, 10 the data directory is not
empty; the others are listed by penstock --help")]
pub struct Restore {
    /// The snapshot: where penstock snapshot take --to stored it, or the directory of one that was kept
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    /// The new data directory: empty, or not there yet
    #[arg(long, value_name = "DIR")]
    pub datadir: PathBuf,
    /// The server's program [default: searched for]
    #[arg(long, value_name = "PROGRAM")]
    pub mysqld: Option<PathBuf>,
    /// Option of the temporary server, as lower_case_table_names=1; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = mysqld_option)]
    pub mysqld_option: Vec<String>,
    /// How the restored files are proven
    #[arg(long, value_name = "HOW", default_value = "check")]
    pub prove: Prove,
    /// Files, and tables, at the same time [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Bytes per second written to the data directory, over all files together [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub max_rate: Option<u64>,
    #[command(flatten)]
    pub encryption: Opening,
}

/// `penstock snapshot clean`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without arguments it removes what killed runs left: files, mounts, volumes. A snapshot that was
kept is removed when its identifier is given. Logical volumes and ZFS snapshots of penstock that no
record speaks of, and with --at DIR directories, are named (code 3), and removed in the same way.

Examples:
  penstock snapshot clean
  penstock snapshot clean 20261126T021500Z-3f9a
  penstock snapshot clean --at /srv/mysql
  penstock snapshot clean --all --dry-run")]
pub struct Clean {
    /// Identifiers of snapshots that were kept, or that have no record
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub id: Vec<String>,
    /// All snapshots that were kept, too
    #[arg(long)]
    pub all: bool,
    /// Also search this directory for snapshots without a record
    #[arg(long, value_name = "DIR")]
    pub at: Option<PathBuf>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
}
