//! `penstock report`, and `--record` of other verbs, which writes what it reads.

use clap::Args;
use std::path::PathBuf;

/// `penstock report`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock dump --socket /run/mysqld/mysqld.sock -u root --to /backup/monday --record monday.json
  penstock report monday.json                      writes monday.html
  penstock report before.json after.json --to compared.html

Exit codes: 0 written, 2 not a record, 8 the page cannot be written")]
pub struct Report {
    /// Files that --record wrote, or directories with a run.json
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Page to write, or - for standard output [default: next to the only RUN, as .html]
    #[arg(long, value_name = "FILE.html")]
    pub to: Option<PathBuf>,
    /// Overwrite FILE even if penstock report did not write it
    #[arg(long)]
    pub force: bool,
}

/// `--record`.
#[derive(Args, Debug, Clone, Default)]
pub struct Recording {
    /// Write a record of the run to this file, also if the run fails, for penstock report
    #[arg(long, value_name = "FILE.json")]
    pub record: Option<PathBuf>,
}
