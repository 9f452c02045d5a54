//! `penstock copy`.

use super::limits::StoreLimits;
use clap::Args;
use std::path::PathBuf;

/// `penstock copy`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock copy /backup/monday s3://backups/monday
  penstock copy s3://backups/monday /restore/monday --max-rate-disk 40M
  penstock dump mysql://root@localhost/ --to - | ssh store penstock copy - /backup/monday

Every file is compared with the digest that the archive has of it. An encrypted archive is copied as it is, without a
key.

Exit codes: 0 all of it is there, 5 the archive is damaged, or the stream was cut, 10 the place is not empty; the
others are listed by penstock --help")]
pub struct Copy {
    /// The archive: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://…, az://…, or - for standard
    /// input
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    /// Where to: a place of the same kinds that is empty or does not exist yet, or - for standard output
    #[arg(value_name = "TO")]
    pub to: PathBuf,
    /// Files at the same time [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub store_limits: StoreLimits,
}
