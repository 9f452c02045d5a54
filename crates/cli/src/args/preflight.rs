//! `penstock preflight`.

use super::connection::Connection;
use super::report::Recording;
use super::values::duration;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// `penstock preflight`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock preflight --socket /run/mysqld/mysqld.sock --user root
  penstock preflight mysql://backup@db1/ -p --for dump --to /backup/monday
  penstock preflight --socket /run/mysqld/mysqld.sock --user root --repository /backup/repo --silence swap
  penstock preflight --list
  penstock preflight --stripe /dev/sdb,/dev/sdc

Nothing is changed on the server or its host. The host is looked at only where penstock runs on it, best as root.

Exit codes: 0 every check was made and nothing serious was found, 3 something serious was found, or a check
could not be made; the others are listed by penstock --help"
)]
pub struct Preflight {
    /// The server, as mysql://user@host:3306/ or mysql://user@localhost/?socket=/path, or use the
    /// connection options
    #[arg(value_name = "SERVER", conflicts_with_all = ["list", "stripe"])]
    pub server: Option<String>,
    /// Only checks of this kind; may be given several times [default: all]
    #[arg(long, value_name = "KIND", conflicts_with_all = ["list", "stripe"])]
    pub only: Vec<Only>,
    /// Only what this job needs, of all that jobs need; what it lacks is serious. May be given several times
    /// [default: all jobs, and what one lacks is a warning]
    #[arg(long = "for", value_name = "JOB", conflicts_with_all = ["list", "stripe"])]
    pub job: Vec<For>,
    /// Leave this check out; may be given several times
    #[arg(long, value_name = "CHECK", conflicts_with_all = ["list", "stripe"])]
    pub silence: Vec<String>,
    /// Where a dump would be written, to see whether it fits
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "stripe"])]
    pub to: Option<PathBuf>,
    /// The repository with the server's backups: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or
    /// az://… [default: PENSTOCK_REPOSITORY]
    #[arg(long, value_name = "REPO", conflicts_with_all = ["list", "stripe"])]
    pub repository: Option<PathBuf>,
    /// Under which name its backups are kept there [default: found by the server's UUID]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["list", "stripe"])]
    pub server_name: Option<String>,
    /// How old the last backup may be [default: 26h]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with_all = ["list", "stripe"])]
    pub max_backup_age: Option<Duration>,
    /// Say what is looked at, why, and where that stands
    #[arg(long, conflicts_with = "stripe")]
    pub list: bool,
    /// Write down how these devices are made into one striped volume by LVM; nothing is run, and devices in use
    /// are refused
    #[arg(long, value_name = "DEVICE,…", value_delimiter = ',')]
    pub stripe: Vec<PathBuf>,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub connection: Connection,
}

/// What checks are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// The server's host: disks, memory, the kernel's settings
    Host,
    /// The server's settings, what other runs left, the last backup
    Server,
    /// What jobs need, and would miss
    Jobs,
}

/// A job on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum For {
    /// A dump, a backup, a copy from it
    Dump,
    /// A load, a restore, a copy into it
    Load,
    /// A replica of it, or out of it
    Replica,
    /// An archive of its binary log
    Binlog,
}
