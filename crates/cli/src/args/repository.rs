//! The verbs of a repository: init, backup, list, check, drill, restore, prune.

use super::dump::Dumping;
use super::encryption::Opening;
use super::load::Loading;
use super::point_in_time::PointInTime;
use super::snapshot::{Method, Prove};
use super::values::{duration, mysqld_option, period, share, size};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Which repository.
#[derive(Args, Debug, Clone)]
pub struct Where {
    /// The repository: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or az://…
    #[arg(long, value_name = "REPO", env = "PENSTOCK_REPOSITORY")]
    pub repository: PathBuf,
    /// When the command has ended, write the age, size and proof of each server's backups into this
    /// file, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,
}

/// `--kind`.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfKind {
    /// Definitions and rows, as penstock dump writes them
    Logical,
    /// The files of the server, as penstock snapshot takes them
    Snapshot,
}

impl From<OfKind> for repository::BackupKind {
    fn from(kind: OfKind) -> repository::BackupKind {
        match kind {
            OfKind::Logical => repository::BackupKind::Logical,
            OfKind::Snapshot => repository::BackupKind::Snapshot,
        }
    }
}

/// `penstock init`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock init /backup/repo
  penstock init ssh://backup@store/srv/mysql
  penstock init 's3://backups/mysql?endpoint=https://s3.example.org'

Exit codes: 0 made, 8 the place refused, 10 the place is not empty; the others are listed by
penstock --help")]
pub struct Init {
    /// An empty or new place: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or az://…
    #[arg(value_name = "REPO")]
    pub repository: PathBuf,
    /// Refuse backups that are not encrypted
    #[arg(long)]
    pub encrypted: bool,
}

/// `penstock backup`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock backup shop --repository /backup/repo --socket /run/mysqld/mysqld.sock --user backup
  penstock backup shop mysql://backup@db1:3306/ --repository s3://backups/mysql --max-impact 5%
  penstock backup shop --repository /backup/repo --socket /run/mysqld/mysqld.sock --user backup --incremental
  penstock backup shop --repository /backup/repo --socket /run/mysqld/mysqld.sock --user root --snapshot reflink
  penstock backup

Exit codes: 0 backed up, 3 backed up with exceptions; the others are listed by penstock --help"
)]
pub struct Backup {
    /// Under which name the server's backups are kept [default: each server of the configuration, one
    /// after the other]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// The server, as mysql://user@host:3306/ or mysql://user@localhost/?socket=/path, or use the
    /// connection options
    #[arg(value_name = "SOURCE")]
    pub source: Option<String>,
    #[command(flatten)]
    pub place: Where,
    #[command(flatten)]
    pub incremental: Incremental,
    #[command(flatten)]
    pub snapshot: SnapshotInstead,
    #[command(flatten)]
    pub how: Dumping,
}

/// A backup that takes over what did not change.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Incremental backup")]
pub struct Incremental {
    /// Take the rows of tables over from the last backup where the server's binary log proves that they did not change since,
    /// and read only the others. Needs REPLICATION SLAVE besides what a dump needs
    #[arg(long, conflicts_with = "snapshot")]
    pub incremental: bool,
    /// With --incremental: also read a sample of what is taken over, and compare it; if it differs, everything is read
    #[arg(long, requires = "incremental")]
    pub paranoid: bool,
    /// With --incremental and --encrypt-to: open the last backup with an identity in this file, as age-keygen writes it; may
    /// be given several times
    #[arg(
        long,
        value_name = "FILE",
        requires = "incremental",
        requires = "encrypt_to"
    )]
    pub identity: Vec<PathBuf>,
}

/// A backup of the server's files.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Snapshot of the server's files, instead of a dump")]
pub struct SnapshotInstead {
    /// Store the server's files, taken at one moment, instead of a dump; on the server's host, as root or as the
    /// server's account. Options of a dump that do not apply are refused
    #[arg(long, value_name = "METHOD", conflicts_with_all = [
        "chunk_size", "consistency", "no_backup_lock", "users", "no_users", "include_users", "exclude_users", "no_views", "no_routines", "no_events", "no_triggers", "require_all", "record", "no_history",
        "include_schemas", "exclude_schemas", "include_tables", "exclude_tables",
        "include_triggers", "exclude_triggers", "include_routines", "exclude_routines", "include_events", "exclude_events", "max_impact", "min_rate", "max_lag",
        "replica", "max_threads_running", "max_history_list", "abort_if", "limit_timeout",
    ])]
    pub snapshot: Option<Method>,
    /// With --snapshot: the directory in which the snapshot is made, on the file system of the data directory and not
    /// in it [default: the one that the data directory is in]
    #[arg(long, value_name = "DIR", requires = "snapshot")]
    pub at: Option<PathBuf>,
    /// With --snapshot copy: the data directory of a server that does not run
    #[arg(long, value_name = "DIR", requires = "snapshot", conflicts_with_all = ["source", "host", "socket", "port"])]
    pub datadir: Option<PathBuf>,
    /// With --snapshot: share of the file system that must stay free while the snapshot exists; with less it is given
    /// up [default: 5%]
    #[arg(long, value_name = "PERCENT", requires = "snapshot", value_parser = share)]
    pub keep_free: Option<f64>,
    /// With --snapshot lvm: room of the snapshot [default: 20 % of the volume's]
    #[arg(long, value_name = "SIZE", requires = "snapshot", value_parser = size)]
    pub snapshot_size: Option<u64>,
}

/// `penstock list`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock list /backup/monday
  penstock list --repository /backup/repo
  penstock list --repository s3://backups/mysql --server-name shop --json
  penstock list --repository s3://backups/mysql --html /var/www/html/backups.html -q")]
pub struct List {
    /// An archive, of penstock or of MySQL Shell, to say what is in it, from when and from where; or a
    /// repository
    #[arg(value_name = "PLACE", conflicts_with_all = ["repository", "metrics_file", "html", "server_name", "kind"])]
    pub archive: Option<PathBuf>,
    /// The repository: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or az://… [default:
    /// PENSTOCK_REPOSITORY]
    #[arg(long, value_name = "REPO")]
    pub repository: Option<PathBuf>,
    /// When the command has ended, write the age, size and proof of each server's backups into this
    /// file, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,
    #[command(flatten)]
    pub encryption: Opening,
    /// Also write a page: backups and drills over time, sizes, durations, costs; - writes only the page, to
    /// standard output
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,
    /// Only the backups of this server
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// Only backups of this kind
    #[arg(long, value_name = "KIND")]
    pub kind: Option<OfKind>,
}

/// `penstock check`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock check --repository /backup/repo
  penstock check latest --server-name shop --repository /backup/repo --files-only

Exit codes: 0 every backup is intact, 5 at least one is not; the others are listed by penstock --help")]
pub struct Check {
    /// The backup, by its identifier, the beginning of one, or `latest` [default: all]
    #[arg(value_name = "BACKUP")]
    pub backup: Option<String>,
    #[command(flatten)]
    pub place: Where,
    /// Only the backups of this server
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// Only backups of this kind
    #[arg(long, value_name = "KIND")]
    pub kind: Option<OfKind>,
    /// Check the files against their digests only, do not decode the rows; needs no key
    #[arg(long)]
    pub files_only: bool,
    /// Threads [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub encryption: Opening,
}

/// `penstock restore`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock restore --repository /backup/repo --into mysql://root@newdb:3306/ -p
  penstock restore 20261125T02 --server-name shop --repository s3://backups/mysql --datadir /srv/mysql-new
  penstock restore --repository /backup/repo --datadir /srv/mysql-new --to-time '2026-11-21 12:00:00+09:00'
  penstock restore --kind snapshot --repository /backup/repo --datadir /srv/mysql-new

A snapshot is restored with --datadir, and options that are for rows are refused.

Exit codes: as of penstock load: 0 restored and verified, 3 restored with exceptions, 4 the rows differ,
10 the target holds the objects already; the others are listed by penstock --help"
)]
pub struct Restore {
    /// The backup, by its identifier or the beginning of one [default: latest]
    #[arg(
        value_name = "BACKUP",
        default_value = "latest",
        hide_default_value = true
    )]
    pub backup: String,
    #[command(flatten)]
    pub place: Where,
    /// The server whose backup it is
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// Only backups of this kind
    #[arg(long, value_name = "KIND")]
    pub kind: Option<OfKind>,
    /// How a restored snapshot is proven [default: check]
    #[arg(long, value_name = "HOW", requires = "datadir")]
    pub prove: Option<Prove>,
    #[command(flatten)]
    pub moment: PointInTime,
    #[command(flatten)]
    pub how: Loading,
}

/// `--log` of a drill.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrillLog {
    /// To its end
    Latest,
    /// To a random moment behind the backup
    Random,
}

/// `penstock drill`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock drill --repository /backup/repo
  penstock drill --repository s3://backups/mysql --server-name shop --random --scratch /var/tmp \\
    --check 'SELECT COUNT(*) > 1000 FROM shop.orders' --identity /etc/penstock/key.txt
  penstock drill --repository /backup/repo --random --log random

A check is a statement that returns rows, and no 0, NULL or empty text in their first column.

Exit codes: 0 every backup that was tried is proven, 3 proven, with exceptions of the restore, 4 the rows
differ or a check is not true, 5 the archive is damaged; the others are listed by penstock --help")]
pub struct Drill {
    /// The backup, by its identifier or the beginning of one [default: of each server the newest logical one and the
    /// newest snapshot]
    #[arg(value_name = "BACKUP")]
    pub backup: Option<String>,
    #[command(flatten)]
    pub place: Where,
    /// Only the backups of this server
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// Only backups of this kind
    #[arg(long, value_name = "KIND")]
    pub kind: Option<OfKind>,
    /// A random backup instead of the newest
    #[arg(long, conflicts_with = "backup")]
    pub random: bool,
    /// Apply the archived binary log behind the backup, too: to its end, or to a random moment
    #[arg(long, value_name = "TO")]
    pub log: Option<DrillLog>,
    /// Where the temporary server gets its data directory, which is removed at the end; it needs room for
    /// all of the backup [default: /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// A statement that must be true of what was restored; may be given several times
    #[arg(long, value_name = "SQL")]
    pub check: Vec<String>,
    /// A file of such statements, one on each line
    #[arg(long, value_name = "FILE")]
    pub check_file: Option<PathBuf>,
    /// How long each of these statements may take; one that takes longer is not true: 30s, 10m
    /// [default: as long as it takes]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub check_timeout: Option<Duration>,
    /// Connections that load rows [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// The server program [default: mysqld or mariadbd, as the source was]
    #[arg(long, value_name = "PROGRAM")]
    pub mysqld: Option<PathBuf>,
    /// An option for the temporary server, such as lower_case_table_names=1; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = mysqld_option)]
    pub mysqld_option: Vec<String>,
    #[command(flatten)]
    pub encryption: Opening,
}

/// `penstock prune`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock prune --repository /backup/repo --keep-daily 7 --keep-monthly 12 --dry-run
  penstock prune --repository s3://backups/mysql --server-name shop --keep-within 30d

Each rule keeps the newest backup of each hour, day, week, month or year (UTC) that has one,
up to its number; a backup that any rule keeps stays. Rules apply to the logical backups of a server, and to its
snapshots, each by themselves; the newest of each always stays.")]
pub struct Prune {
    #[command(flatten)]
    pub place: Where,
    /// Only the backups of this server
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// Only backups of this kind
    #[arg(long, value_name = "KIND")]
    pub kind: Option<OfKind>,
    /// Keep the last N backups
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_last: Option<u32>,
    /// Keep one backup of each of the last N hours that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_hourly: Option<u32>,
    /// Keep one backup of each of the last N days that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_daily: Option<u32>,
    /// Keep one backup of each of the last N weeks that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_weekly: Option<u32>,
    /// Keep one backup of each of the last N months that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_monthly: Option<u32>,
    /// Keep one backup of each of the last N years that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_yearly: Option<u32>,
    /// Keep every backup that is not older than this, counted from the newest: 36h, 30d, 8w
    #[arg(long, value_name = "TIME", value_parser = period)]
    pub keep_within: Option<Duration>,
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Remove even if that is most of a server's backups at once, or if clocks disagree
    #[arg(long)]
    pub force: bool,
}

impl Prune {
    /// The rules.
    pub fn policy(&self) -> repository::Policy {
        repository::Policy {
            last: self.keep_last,
            hourly: self.keep_hourly,
            daily: self.keep_daily,
            weekly: self.keep_weekly,
            monthly: self.keep_monthly,
            yearly: self.keep_yearly,
            within: self.keep_within,
        }
    }
}
