//! `penstock report`, and the option of other verbs that records what it reads.

use clap::Args;
use std::path::PathBuf;

/// `penstock report`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock dump --socket /run/mysqld/mysqld.sock -u root --to /backup/monday --record monday.json
  penstock report monday.json                      writes monday.html
  penstock report before.json after.json --to compared.html")]
pub struct Report {
    /// What --record wrote, or a folder with a run.json
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// The page to write; - for standard output [default: beside the only RUN, as .html]
    #[arg(long, value_name = "FILE.html")]
    pub to: Option<PathBuf>,
    /// Replace FILE even if it is no page of penstock report
    #[arg(long)]
    pub force: bool,
}

/// `--record`.
#[derive(Args, Debug, Clone, Default)]
pub struct Recording {
    /// Write what this run was, also if it fails, for `penstock report`
    #[arg(long, value_name = "FILE.json")]
    pub record: Option<PathBuf>,
}
