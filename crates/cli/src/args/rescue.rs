//! `penstock rescue`.

use super::encryption::Encrypting;
use super::limits::StoreLimits;
use super::values::{Compression, size};
use super::{Selection, report};
use clap::Args;
use std::path::PathBuf;

/// `penstock rescue`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock rescue /srv/broken/shop/orders.ibd --to /rescued/orders
  penstock rescue /srv/broken --to /rescued/all --exclude-schemas test
  penstock rescue t.ibd --definition t.sql --schema shop --to /rescued/t
  penstock load /rescued/orders mysql://root@localhost/

The files are only read, page by page: a page that is damaged costs its own rows and no others. The redo log is not
applied: where the server can still start or recover, penstock dump --from-files gives more.

Exit codes: 0 every row of every file is whole, 3 something is lost or left out and is listed, 5 nothing can be read,
11 a server uses the files; the others are listed by penstock --help")]
pub struct Rescue {
    /// Files of tables (.ibd), directories of schemas, data directories; a .frm file is read where it lies
    #[arg(value_name = "PATH", required = true)]
    pub from: Vec<PathBuf>,
    /// Archive to write: a directory, ssh://USER@HOST/PATH, s3://BUCKET/PREFIX, gs://… or az://…; it must be empty, or
    /// not exist yet, and may not be inside a PATH
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Script with the CREATE TABLE of tables that nothing else describes; may be given several times
    #[arg(long, value_name = "FILE.sql")]
    pub definition: Vec<PathBuf>,
    /// Schema of all tables in the archive [default: as the files or their directories say]
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// Also rescue deleted rows that are still in the pages, as tables NAME__deleted
    #[arg(long)]
    pub deleted: bool,
    /// Also rescue the rows of pages that are not in use any more, which may be old versions or copies of others, as
    /// tables NAME__old_pages
    #[arg(long)]
    pub old_pages: bool,
    /// Tables that are read at the same time [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Compression of the row data
    #[arg(long, value_name = "METHOD", default_value = "zstd:1", value_parser = Compression)]
    pub compression: dump::Compression,
    /// Row bytes per chunk, as a target
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = size)]
    pub chunk_size: u64,
    #[command(flatten)]
    pub recording: report::Recording,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub store_limits: StoreLimits,
    #[command(flatten)]
    pub encryption: Encrypting,
}
