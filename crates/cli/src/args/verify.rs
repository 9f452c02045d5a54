//! `penstock verify`.

use super::connection::Connection;
use super::encryption::Opening;
use super::limits::Limits;
use super::names::Names;
use super::{Selection, report};
use clap::Args;
use std::path::PathBuf;

/// `penstock verify`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock verify /backup/monday
  penstock verify /backup/monday --against mysql://root@newdb:3306/ -p
  penstock verify /backup/monday --socket /run/mysqld/mysqld.sock --user root
  penstock verify --server mysql://root@old/ --server mysql://root@new/
  penstock verify --tablespace /srv/export/t.ibd

Exit codes: 0 intact or equal, 4 the sides differ, 5 the archive is damaged; the others are listed by
penstock --help"
)]
pub struct Verify {
    /// The archive: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or az://…, or - for
    /// standard input; without a server it is checked offline
    #[arg(
        value_name = "DIR",
        required_unless_present_any = ["server", "tablespace"],
        conflicts_with_all = ["server", "tablespace"]
    )]
    pub archive: Option<PathBuf>,
    /// Compare the archive with this server: rows and definitions
    #[arg(long, value_name = "SERVER", conflicts_with = "server")]
    pub against: Option<String>,
    /// Compare two servers: rows and definitions; give it twice
    #[arg(long, value_name = "SERVER")]
    pub server: Vec<String>,
    /// Check a table's InnoDB file without a server: every page, and the order of the records if
    /// FILE.cfg is beside it; may be given several times
    #[arg(long, value_name = "FILE.ibd", conflicts_with_all = ["server", "against", "files_only", "record"])]
    pub tablespace: Vec<PathBuf>,
    /// Threads, or connections to each server [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Offline: check the files only, do not decode the rows
    #[arg(long, conflicts_with_all = ["against", "server"])]
    pub files_only: bool,
    /// With a server: compare rows only
    #[arg(long, conflicts_with_all = ["files_only", "tablespace"])]
    pub no_definitions: bool,
    /// Where an archive on standard input is unpacked, and removed at the end [default: /var/tmp]
    #[arg(long, value_name = "DIR", requires = "archive")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    pub recording: report::Recording,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub names: Names,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub encryption: Opening,
    #[command(flatten)]
    pub connection: Connection,
}
